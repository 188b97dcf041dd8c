/* product.c: matrix products: by cuBLASLt where it was found and takes the shape, else by the plain kernel.
 *
 * A product's algorithm must not depend on how many rows happen to come first: bits would depend on it, and a run that is resumed
 * begins in the middle. So it is asked for once for each weight's shape, for ROWS rows, and serves any number. Sums that are
 * split are added in a fixed order (no reduction in place), and the library's version and the card's multiprocessors are part of
 * the recorded kernels.
 *
 * Values of 16 bits are multiplied as they are, with sums in single precision. A result of 16 bits wants a bias of 16 bits, of
 * which a copy is made before the product. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "ops/cuda/cuda.h"

enum { PRODUCT_TILE = 64, ROWS = 4096, WORKSPACE = 32 << 20, ALIGNED = 16, CONVERT_THREADS = 256 };
enum { MOST_BIASES = 1 << 16 }; /* of a result of 16 bits */
enum { TF32_CAPABILITY = 80 };

/* cuBLASLt has columns first: what we call y[m, n] = a[m, k] b[k, n] is its D[n, m] = op(B)[n, k] op(A)[k, m]. */
typedef struct shape {
  int64_t m, n, k;
  int64_t a, b, y; /* leading dimensions */
  int32_t a_turned, b_turned, add, bias;
  int32_t type, y_type; /* of a and b; of y and the bias */
} shape;

struct brim_cuda_plan {
  shape of; /* m, or k, is 0: the number of rows */
  void *desc, *a, *b, *y;
  brim_lt_algorithm algorithm;
  bool usable;
  int64_t checked; /* rows for which the algorithm was looked at, and whether it serves them */
  bool serves;
};

/* ---- opening */

/* How many multiprocessors a card has is what else an algorithm, and how it splits sums, may be chosen by. */
static void name_products(brim_cuda *d) {
  const size_t length = strlen(d->name);
  int processors = 0;
  if (d->driver.cuDeviceGetAttribute(&processors, CUDA_ATTRIBUTE_PROCESSORS, d->device))
    processors = 0;
  snprintf(d->name + length, sizeof d->name - length, "-cublaslt%zux%d%s", d->lt.cublasLtGetVersion(), processors,
           d->tf32 ? BRIM_TF32_NAME : "");
}

static void open_cublaslt(brim_ops_context *c) {
  brim_cuda *d = c->device;
  brim_cuda_address memory = 0;
  if (!brim_cublaslt_open(&d->lt))
    return;
  d->plans = brim_alloc_zero(c->runtime, BRIM_CUDA_PLANS * sizeof *d->plans);
  if (d->plans && d->driver.cuMemAlloc_v2(&memory, WORKSPACE + MOST_BIASES * sizeof(brim_bfloat)) == 0 &&
      d->lt.cublasLtCreate(&d->lt_handle) == 0) {
    d->lt_workspace = memory;
    name_products(d);
    return;
  }
  if (memory)
    d->driver.cuMemFree_v2(memory);
  d->lt_handle = NULL;
  brim_cuda_close_products(c);
}

int brim_cuda_open_products(brim_ops_context *c, brim_error *err) {
  brim_cuda *d = c->device;
  d->tf32 = c->tf32;
  if (d->tf32 && d->capability < TF32_CAPABILITY)
    return brim_error_set(err, BRIM_E_UNSUPPORTED,
                          "the GPU has no TF32: its compute capability is %d.%d, and 8.0 or later is needed", d->capability / 10,
                          d->capability % 10);
  open_cublaslt(c);
  if (d->tf32 && !d->lt_handle)
    return brim_error_set(err, BRIM_E_UNSUPPORTED,
                          "products in TF32 need cuBLASLt, which was not found: pip install nvidia-cublas");
  return BRIM_OK;
}

void brim_cuda_close_products(brim_ops_context *c) {
  brim_cuda *d = c->device;
  const brim_cublaslt *lt = &d->lt;
  for (int i = 0; i < d->plan_count; i++) {
    const brim_cuda_plan *p = &d->plans[i];
    lt->cublasLtMatrixLayoutDestroy(p->a);
    lt->cublasLtMatrixLayoutDestroy(p->b);
    lt->cublasLtMatrixLayoutDestroy(p->y);
    lt->cublasLtMatmulDescDestroy(p->desc);
  }
  if (d->lt_handle) {
    lt->cublasLtDestroy(d->lt_handle);
    d->driver.cuMemFree_v2(d->lt_workspace);
  }
  brim_release(c->runtime, d->plans);
  d->plans = NULL;
  d->plan_count = 0;
  d->lt_handle = NULL;
  brim_cublaslt_close(&d->lt);
}

/* ---- plans */

static const void *address_of(cu_typed x) {
  return x.half ? (const void *)x.half : x.wide;
}

static int32_t type_of(cu_typed x) {
  return !x.half ? LT_R_32F : x.fp16 ? LT_R_16F : LT_R_16BF;
}

/* Whether rows that are so many values apart begin at multiples of 16 bytes. */
static bool has_aligned_rows(cu_typed x, int64_t stride) {
  return (uintptr_t)address_of(x) % ALIGNED == 0 && stride % (x.half ? ALIGNED / 2 : ALIGNED / 4) == 0;
}

/* False: it is not one for cuBLASLt, whose rows and addresses are multiples of 16 bytes here. */
static bool shape_of(const cu_product *p, bool rows_are_k, shape *out) {
  *out = (shape){.m = rows_are_k ? p->m : 0,
                 .n = p->n,
                 .k = rows_are_k ? 0 : p->k,
                 .a = p->a_k == 1 ? p->a_m : p->a_k,
                 .b = p->b_n == 1 ? p->b_k : p->b_n,
                 .y = p->y_m,
                 .a_turned = p->a_k != 1,
                 .b_turned = p->b_n != 1,
                 .add = p->add,
                 .bias = p->bias != NULL,
                 .type = type_of(p->a),
                 .y_type = type_of(p->y)};
  return has_aligned_rows(p->a, out->a) && has_aligned_rows(p->b, out->b) && has_aligned_rows(p->y, out->y) &&
         (uintptr_t)p->bias % ALIGNED == 0 && (!p->bias || !p->y.half || p->n <= MOST_BIASES);
}

/* The layouts for so many rows. */
static bool set_rows(const brim_cublaslt *lt, const brim_cuda_plan *p, int64_t rows) {
  const uint64_t count = (uint64_t)rows;
  const bool in_sum = p->of.k == 0; /* else in the result */
  const int of_a = p->of.a_turned == in_sum ? LT_LAYOUT_COLUMNS : LT_LAYOUT_ROWS;
  return lt->cublasLtMatrixLayoutSetAttribute(p->a, of_a, &count, sizeof count) == 0 &&
         (in_sum ? lt->cublasLtMatrixLayoutSetAttribute(p->b, p->of.b_turned ? LT_LAYOUT_ROWS : LT_LAYOUT_COLUMNS, &count,
                                                        sizeof count)
                 : lt->cublasLtMatrixLayoutSetAttribute(p->y, LT_LAYOUT_COLUMNS, &count, sizeof count)) == 0;
}

static bool make_layouts(const brim_cublaslt *lt, brim_cuda_plan *p) {
  const shape *s = &p->of;
  const uint64_t m = s->m ? (uint64_t)s->m : ROWS, n = (uint64_t)s->n, k = s->k ? (uint64_t)s->k : ROWS;
  return lt->cublasLtMatrixLayoutCreate(&p->a, s->type, s->a_turned ? m : k, s->a_turned ? k : m, s->a) == 0 &&
         lt->cublasLtMatrixLayoutCreate(&p->b, s->type, s->b_turned ? k : n, s->b_turned ? n : k, s->b) == 0 &&
         lt->cublasLtMatrixLayoutCreate(&p->y, s->y_type, n, m, s->y) == 0;
}

static bool make_desc(const brim_cuda *d, brim_cuda_plan *p, const void *bias) {
  const brim_cublaslt *lt = &d->lt;
  const int compute = d->tf32 && p->of.type == LT_R_32F ? LT_COMPUTE_TF32 : LT_COMPUTE_32F;
  const int32_t first = p->of.b_turned ? LT_OP_T : LT_OP_N, second = p->of.a_turned ? LT_OP_T : LT_OP_N;
  const uint32_t epilogue = LT_EPILOGUE_BIAS;
  bool made = lt->cublasLtMatmulDescCreate(&p->desc, compute, LT_R_32F) == 0 &&
              lt->cublasLtMatmulDescSetAttribute(p->desc, LT_DESC_TRANSA, &first, sizeof first) == 0 &&
              lt->cublasLtMatmulDescSetAttribute(p->desc, LT_DESC_TRANSB, &second, sizeof second) == 0;
  if (made && bias)
    made = lt->cublasLtMatmulDescSetAttribute(p->desc, LT_DESC_EPILOGUE, &epilogue, sizeof epilogue) == 0 &&
           lt->cublasLtMatmulDescSetAttribute(p->desc, LT_DESC_BIAS, &bias, sizeof bias) == 0;
  return made;
}

static bool choose(const brim_cuda *d, brim_cuda_plan *p) {
  const brim_cublaslt *lt = &d->lt;
  const uint64_t workspace = WORKSPACE;
  const uint32_t reduction = LT_REDUCTION_NOT_IN_PLACE, aligned = ALIGNED;
  brim_lt_heuristic found = {0};
  void *preference = NULL;
  int count = 0;
  if (lt->cublasLtMatmulPreferenceCreate(&preference))
    return false;
  bool chosen = lt->cublasLtMatmulPreferenceSetAttribute(preference, LT_PREFER_WORKSPACE, &workspace, sizeof workspace) == 0 &&
                lt->cublasLtMatmulPreferenceSetAttribute(preference, LT_PREFER_REDUCTION, &reduction, sizeof reduction) == 0;
  for (int of = LT_PREFER_ALIGNED_A; chosen && of <= LT_PREFER_ALIGNED_D; of++)
    chosen = lt->cublasLtMatmulPreferenceSetAttribute(preference, of, &aligned, sizeof aligned) == 0;
  chosen = chosen &&
           lt->cublasLtMatmulAlgoGetHeuristic(d->lt_handle, p->desc, p->b, p->a, p->y, p->y, preference, 1, &found, &count) ==
               0 &&
           count == 1 && found.state == 0 && found.workspace <= WORKSPACE;
  p->algorithm = found.algorithm;
  lt->cublasLtMatmulPreferenceDestroy(preference);
  return chosen;
}

/* NULL: there is no room for more. */
static brim_cuda_plan *plan_of(brim_cuda *d, const shape *s, const void *bias) {
  for (int i = 0; i < d->plan_count; i++)
    if (memcmp(&d->plans[i].of, s, sizeof *s) == 0)
      return &d->plans[i];
  if (d->plan_count == BRIM_CUDA_PLANS)
    return NULL;
  brim_cuda_plan *p = &d->plans[d->plan_count++];
  p->of = *s;
  p->usable = make_layouts(&d->lt, p) && make_desc(d, p, bias) && choose(d, p);
  return p;
}

/* Whether the plan's algorithm does so many rows; its layouts are for them then. */
static bool serves(const brim_cuda *d, brim_cuda_plan *p, int64_t rows) {
  brim_lt_heuristic result = {0};
  if (p->checked == rows)
    return p->serves;
  p->checked = rows;
  p->serves = set_rows(&d->lt, p, rows) &&
              d->lt.cublasLtMatmulAlgoCheck(d->lt_handle, p->desc, p->b, p->a, p->y, p->y, &p->algorithm, &result) == 0 &&
              result.workspace <= WORKSPACE;
  return p->serves;
}

/* Where cuBLASLt finds the bias: of the result's type. */
static const void *bias_for(brim_ops_context *c, const cu_product *p) {
  const brim_cuda *d = c->device;
  if (!p->bias || !p->y.half)
    return p->bias;
  const cu_typed copy = {.half = (brim_bfloat *)(uintptr_t)(d->lt_workspace + WORKSPACE), .fp16 = p->y.fp16};
  launch_convert(c, brim_cuda_blocks(p->n, CONVERT_THREADS), 1, 0,
                 &(cu_convert){.count = p->n, .x = brim_cuda_real(p->bias), .y = copy});
  return copy.half;
}

/* False: the plain kernel has to do it. */
static bool multiply(brim_ops_context *c, const cu_product *p, bool rows_are_k) {
  brim_cuda *d = c->device;
  const float one = 1, kept = p->add ? 1 : 0;
  shape s;
  if (!d->lt_handle || d->status || !shape_of(p, rows_are_k, &s))
    return false;
  if (!brim_cuda_ready(c))
    return true;
  const brim_cublaslt *lt = &d->lt;
  brim_cuda_plan *plan = plan_of(d, &s, p->bias);
  if (!plan || !plan->usable || !serves(d, plan, rows_are_k ? p->k : p->m))
    return false;
  const void *a = address_of(p->a), *b = address_of(p->b), *bias = bias_for(c, p);
  void *y = (void *)(uintptr_t)address_of(p->y);
  brim_cuda_clock_begin(c, "cublasLtMatmul");
  int code = bias ? lt->cublasLtMatmulDescSetAttribute(plan->desc, LT_DESC_BIAS, &bias, sizeof bias) : 0;
  if (!code)
    code = lt->cublasLtMatmul(d->lt_handle, plan->desc, &one, b, plan->b, a, plan->a, &kept, y, plan->y, y, plan->y,
                              &plan->algorithm, (void *)(uintptr_t)d->lt_workspace, WORKSPACE, d->stream);
  brim_cuda_clock_end(c);
  brim_cuda_note_call(d, (uint64_t)(CU_KERNELS + (plan - d->plans)));
  if (code)
    brim_cuda_fail(c, BRIM_E_UNSUPPORTED, "cuBLASLt failed with %d in a product of %lld x %lld x %lld", code, (long long)p->m,
                   (long long)p->n, (long long)p->k);
  return true;
}

void brim_cuda_multiply(brim_ops_context *c, const cu_product *p, bool rows_are_k) {
  if (p->m > 0 && p->n > 0 && p->k > 0 && multiply(c, p, rows_are_k))
    return;
  launch_product(c, brim_cuda_blocks(p->m, PRODUCT_TILE), brim_cuda_blocks(p->n, PRODUCT_TILE), 0, p);
}
