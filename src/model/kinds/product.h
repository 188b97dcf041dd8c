/* product.h: products of values with weights, in fp32, of bytes or of 16-bit values: what the kinds of layers write. */
#ifndef BRIM_MODEL_PRODUCT_H
#define BRIM_MODEL_PRODUCT_H
#include "model/calls.h"

/* A value that is multiplied, for all of its rows or the chosen ones: in 16 bits where products are of them. */
brim_at brim_read_factor(brim_lowering *l, int32_t value);
brim_at brim_read_chosen_factor(brim_lowering *l, int32_t value);
/* The gradient of a product's output, likewise; and memory for one call that is a factor of the next. */
brim_at brim_gradient_factor(brim_lowering *l, int32_t value);
brim_at brim_spare_factor(brim_lowering *l, brim_row_kind rows, int32_t width);

/* y = x w^T + b, of `out` columns from `first` on: those of the weight, and of weights and biases that adjoin. The bias may be
 * BRIM_NONE. `in`, `out` 0: the weight's. x is a factor. */
typedef struct brim_product_call {
  int32_t weight, bias;
  int64_t first;
  int32_t in, out;
  brim_row_kind rows;
  brim_at x, y;
} brim_product_call;
void brim_product_forward(brim_lowering *l, const brim_product_call *call);
/* In fp32 in any precision: x and y are no factors but values as they are. */
void brim_product_forward_real(brim_lowering *l, const brim_product_call *call);
/* The same of bytes, in a prediction that has them: the weight is the `which`-th product of the operation. */
void brim_product_of_bytes(brim_lowering *l, const brim_operation *o, int which, brim_at x, brim_at y, brim_row_kind rows);

/* Its backward. x and dy are factors; dx may be nowhere; `add`: dx has a gradient already. */
typedef struct brim_product_gradient {
  int32_t weight, bias;
  int64_t first;
  int32_t in, out;
  brim_row_kind rows;
  brim_at x, dy, dx;
  bool add;
} brim_product_gradient;
void brim_product_backward(brim_lowering *l, const brim_product_gradient *call);
void brim_product_backward_real(brim_lowering *l, const brim_product_gradient *call);

/* Of a kind whose one product is by its first weight: what brim_kind asks for. */
int brim_one_product(const brim_program *p, const brim_operation *o, brim_product out[BRIM_MOST_PRODUCTS]);
double brim_one_product_flops(const brim_call_schedule *s, const brim_operation *o, const double rows[BRIM_ROW_KINDS],
                              double length);

#endif
