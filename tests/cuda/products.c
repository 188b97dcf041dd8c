/* products.c: products by cuBLASLt, a false one that computes on the processor and checks what it is asked: every kind of product
 * of a layer, near the reference; one algorithm for a weight, whatever the number of rows; shapes that it does not take. */
#include "ops_case.h"

typedef struct setting {
  int32_t rows, in, out;
} setting;

static brim_bfloat *half_values(case_memory *m, inputs *in, int64_t n) {
  brim_bfloat *x = case_alloc(m, (size_t)n * sizeof *x);
  for (int64_t i = 0; i < n; i++) {
    const float value = (float)(2 * next_unit(in) - 1);
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    x[i] = (brim_bfloat)(bits >> 16);
  }
  return x;
}

static void emit_half(record *out, const char *name, const brim_bfloat *x, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    const uint32_t bits = (uint32_t)x[i] << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    emit(out, name, &(real){value}, 1);
    out->parts--;
  }
  out->name[out->parts] = name;
  out->end[out->parts++] = out->count;
}

/* Rows of x, y, dx and dy are farther apart than they are long. */
static void linear(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  const setting *s = parameters;
  case_memory m = {0};
  inputs in = {51};
  const int64_t x_stride = s->in + 8, y_stride = s->out + 4;
  const real *x = case_values(&m, &in, s->rows * x_stride, 1), *w = case_values(&m, &in, (int64_t)s->in * s->out, 1);
  const real *b = case_values(&m, &in, s->out, 1), *dy = case_values(&m, &in, s->rows * y_stride, 1);
  real *y = case_values(&m, &in, s->rows * y_stride, 1), *dx = case_values(&m, &in, s->rows * x_stride, 1);
  real *dw = case_values(&m, &in, (int64_t)s->in * s->out, 1), *db = case_values(&m, &in, s->out, 1);
  brim_linear f = {
      .rows = s->rows, .in = s->in, .out = s->out, .x = x, .x_stride = x_stride, .w = w, .b = b, .y = y, .y_stride = y_stride};
  brim_linear_gradient g = {.rows = s->rows,
                            .in = s->in,
                            .out = s->out,
                            .x = x,
                            .x_stride = x_stride,
                            .w = w,
                            .dy = dy,
                            .dy_stride = y_stride,
                            .dx = dx,
                            .dx_stride = x_stride,
                            .dw = dw,
                            .db = db};
  for (int add = 0; add < 2; add++) {
    f.add = g.add = add;
    f.b = add ? NULL : b;
    ops->linear_forward(c, &f);
    emit(out, "y", y, s->rows * y_stride);
    ops->linear_backward(c, &g);
    emit(out, "dx", dx, s->rows * x_stride);
    emit(out, "dw", dw, (int64_t)s->in * s->out);
    emit(out, "db", db, s->out);
  }
  case_free(&m);
}

/* The same of 16-bit values: with a bias the result is of 16 bits, and so is the bias that cuBLASLt sees; added to, of 32. */
static void half_linear(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  const setting *s = parameters;
  case_memory m = {0};
  inputs in = {53};
  const int64_t xs = (int64_t)s->rows * s->in, ws = (int64_t)s->in * s->out, ys = (int64_t)s->rows * s->out;
  const brim_bfloat *x = half_values(&m, &in, xs), *w = half_values(&m, &in, ws), *dy = half_values(&m, &in, ys);
  const real *b = case_values(&m, &in, s->out, 1);
  brim_bfloat *y = half_values(&m, &in, ys), *dx = half_values(&m, &in, xs);
  real *wide_y = case_values(&m, &in, ys, 1), *dw = case_values(&m, &in, ws, 1), *db = case_values(&m, &in, s->out, 1);
  brim_bf16_linear f = {
      .rows = s->rows, .in = s->in, .out = s->out, .x = x, .x_stride = s->in, .w = w, .b = b, .y_stride = s->out};
  f.y = (brim_typed){BRIM_TYPE_BF16, y};
  ops->bf16_forward(c, &f);
  emit_half(out, "y", y, ys);
  f.y = (brim_typed){BRIM_TYPE_REAL, wide_y};
  f.add = true;
  ops->bf16_forward(c, &f);
  emit(out, "y of 32 bits", wide_y, ys);
  ops->bf16_backward(c, &(brim_bf16_linear_gradient){.rows = s->rows,
                                                     .in = s->in,
                                                     .out = s->out,
                                                     .x = x,
                                                     .x_stride = s->in,
                                                     .w = w,
                                                     .dy = dy,
                                                     .dy_stride = s->out,
                                                     .dx = {BRIM_TYPE_BF16, dx},
                                                     .dx_stride = s->in,
                                                     .dw = dw,
                                                     .db = db});
  emit_half(out, "dx", dx, xs);
  emit(out, "dw", dw, ws);
  emit(out, "db", db, s->out);
  case_free(&m);
}

/* A line per shape: how many of its ten products cuBLASLt did in each order. */
static void check_as(const char *what, case_fn fn, double tolerance, const setting *s, long products) {
  const brim_ops_limits limits = {
      .max_slots = 512, .max_sequences = 1, .max_length = 1, .hidden = 64, .intermediate = 64, .heads = 1};
  const long before = fake_cuda_products();
  char name[80];
  snprintf(name, sizeof name, "%s: %d rows, %d to %d", what, s->rows, s->in, s->out);
  check_case(name, &limits, fn, s, tolerance);
  ok(fake_cuda_products() - before == products * CASE_ORDERS, "%s: %ld products of cuBLASLt, expected %ld", name,
     fake_cuda_products() - before, products * CASE_ORDERS);
}

static void check(const setting *s, long products) {
  check_as("fp32", linear, 2e-6, s, products);
}

/* A bias of 16 bits may move a result by the half of its last bit, before it is rounded. */
static void check_half(const setting *s, long products) {
  check_as("bf16", half_linear, 8e-3, s, products);
}

/* Ten bits after the point: a product of numbers to 1 is off by 2^-11 of each, and sums of so few are not farther than this. That
 * they are rounded at all is seen by the bound of fp32. */
static void check_tf32(const setting *s) {
  const brim_ops_limits limits = {
      .max_slots = 512, .max_sequences = 1, .max_length = 1, .hidden = 64, .intermediate = 64, .heads = 1};
  const brim_ops synced = synced_ops();
  const char *where = "";
  record want = run_case(brim_ops_ref(), &limits, linear, s);
  case_tf32 = true;
  record got = run_case(&synced, &limits, linear, s);
  const double apart = record_difference(&got, &want, &where);
  ok(apart > 1e-5 && apart < 3e-3 && case_failures == 0, "tf32: %d rows, %d to %d: %.1e from the reference", s->rows, s->in,
     s->out, apart);
  record_free(&got);
  record_free(&want);
  check_as("bf16 beside tf32", half_linear, 8e-3, s, 4);
  case_tf32 = false;
}

static int opens(int capability, const char *lt, brim_error *err) {
  brim_ops_context c = {.tf32 = true};
  if (brim_runtime_new(&(brim_runtime_options){.threads = 1}, &c.runtime, NULL))
    abort();
  char kept[600];
  snprintf(kept, sizeof kept, "%s", getenv("BRIM_CUBLASLT"));
  setenv("BRIM_CUBLASLT", lt ? lt : kept, 1);
  fake_cuda_be(capability, 227 << 10, 1);
  const int status = brim_ops_cuda()->open(&c, err);
  if (!status) {
    ok_string(brim_ops_cuda()->exact_name(&c, false), "cuda-sm80-cublaslt130100x132-tf32", "products in tf32 are recorded");
    brim_ops_cuda()->close(&c);
  }
  fake_cuda_be(90, 227 << 10, 1);
  setenv("BRIM_CUBLASLT", kept, 1);
  brim_runtime_free(c.runtime);
  return status;
}

static void check_tf32_refusals(void) {
  brim_error err = {0};
  ok(opens(80, NULL, &err) == BRIM_OK, "tf32 on a card that has it");
  ok(opens(75, NULL, &err) == BRIM_E_UNSUPPORTED && strstr(err.message, "7.5"), "tf32, an older card: %s", err.message);
  ok(opens(80, "none", &err) == BRIM_E_UNSUPPORTED && strstr(err.message, "cuBLASLt"), "tf32 without cuBLASLt: %s", err.message);
  ok(fake_cuda_left() == 0, "nothing is left");
}

/* One model's life: weights of two shapes, batches of many sizes. */
static void check_algorithms(void) {
  enum { SIZES = 9 };
  brim_ops_context c = {0};
  brim_error err = {0};
  const brim_runtime_options options = {.threads = 1};
  if (brim_runtime_new(&options, &c.runtime, NULL) || brim_ops_cuda()->open(&c, &err)) {
    printf("Bail out! %s\n", err.message);
    exit(99);
  }
  ok(strstr(brim_ops_cuda()->exact_name(&c, false), "-cublaslt130100x132") != NULL, "what multiplies is recorded: %s",
     brim_ops_cuda()->exact_name(&c, false));
  case_context = &c;
  case_memory m = {0};
  inputs in = {52};
  const long before = fake_cuda_chosen();
  const real *x = case_values(&m, &in, 64 * 40, 1), *w = case_values(&m, &in, 32 * 40, 1);
  real *y = case_fill(&m, 64 * 40, 7);
  for (int i = 0; i < SIZES; i++)
    for (int turn = 0; turn < 2; turn++)
      brim_ops_cuda()->linear_forward(&c, &(brim_linear){.rows = 1 + i * 7,
                                                         .in = turn ? 32 : 40,
                                                         .out = turn ? 40 : 32,
                                                         .x = x,
                                                         .x_stride = turn ? 32 : 40,
                                                         .w = w,
                                                         .y = y,
                                                         .y_stride = turn ? 40 : 32});
  const int status = brim_ops_cuda()->sync(&c, &err);
  ok(status == BRIM_OK && fake_cuda_chosen() - before == 2, "%ld algorithms for two weights and %d numbers of rows",
     fake_cuda_chosen() - before, SIZES);
  case_free(&m);
  case_context = NULL;
  brim_ops_cuda()->close(&c);
  brim_runtime_free(c.runtime);
  ok(fake_cuda_left() == 0, "nothing is left");
}

int main(void) {
  const setting even = {37, 24, 32}, one = {1, 8, 8}, heads = {19, 24, 2}, odd = {19, 21, 32},
                refused = {FAKE_REFUSED_ROWS, 24, 32};
  check(&even, 2 * 3);
  check(&one, 2 * 3);
  check(&heads, 0); /* rows of w^T y are not of 16 bytes */
  check(&odd, 0);
  check(&refused, 2 * 1); /* the gradient of the weight sums over the rows, which is another thing */
  const setting half_even = {37, 20, 32};
  check_half(&even, 4);
  check_half(&one, 4);
  check_half(&heads, 0);
  check_half(&half_even, 0); /* rows of 40 bytes */
  check_half(&refused, 1);
  check_tf32(&even);
  check_tf32_refusals();
  check_algorithms();
  return tap_done();
}
