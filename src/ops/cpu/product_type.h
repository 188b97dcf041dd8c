/* product_type.h: a whole product, as the kernels get it. */
#ifndef BRIM_OPS_CPU_PRODUCT_TYPE_H
#define BRIM_OPS_CPU_PRODUCT_TYPE_H
#include "ops/cpu/cpu.h"

typedef struct product product;
/* What follows in the same task: rows first .. first + rows - 1, columns from .. to - 1 of c are done. */
typedef void (*product_after_fn)(const product *p, int64_t first, int64_t rows, int64_t from, int64_t to);

struct product {
  int64_t rows, depth, columns;
  const float *a, *w, *start; /* start: [columns] or NULL */
  float *c;
  int64_t a_stride, w_stride, c_stride;
  bool transposed, add;
  product_after_fn after; /* may be NULL */
  const void *context;    /* its own */
  float *scratch;         /* from here on filled by product_run */
  int64_t panels, blocks, groups;
};
#endif
