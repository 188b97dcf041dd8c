/* ops_device.c: the tables by name, what brim doctor prints, and what operations leave in the statistics. */
#include "brim/device.h"
#define BRIM_CASE_ALONE
#include "ops_case.h"
#include <time.h>

static void check_names(brim_runtime *runtime) {
  const brim_ops *best = brim_ops_cpu(brim_runtime_cpu(runtime));
  ok(brim_ops_find(runtime, best->name) == best, "%s is found by its name", best->name);
  ok(brim_ops_find(runtime, "cpu-plain") == brim_ops_cpu(BRIM_CPU_PLAIN), "so is the plain table");
  ok(brim_ops_find(runtime, "ref") == brim_ops_ref(), "and the reference");
  ok(brim_ops_find(runtime, "cpu-unheard-of") == NULL, "an unknown name is refused");
}

/* ---- speeds: by a clock that the test moves ---------------------------------------------------------------- */

enum { MOST_RUNS = 64, MILLISECONDS = 1000 };

/* Milliseconds that a product takes in the n-th run: forward, of the input's gradient, of the weight's. */
static double took(int product, int run) {
  static const int from[] = {3, 13, 29}, by[] = {5, 3, 2};
  return from[product] + (run + 2) * by[product] % 7;
}

static struct {
  bool moved;
  int products; /* of a run */
  int looks;    /* at the clock: when a run begins, and after each of its products */
  double now;   /* seconds */
} hands;

int __real_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out) {
  if (!hands.moved)
    return __real_clock_gettime(clock, out);
  const int run = hands.looks / (hands.products + 1), product = hands.looks % (hands.products + 1) - 1;
  hands.now += product < 0 ? 1.0 : took(product, run) / MILLISECONDS;
  hands.looks++;
  out->tv_sec = (time_t)hands.now;
  out->tv_nsec = (long)((hands.now - (double)out->tv_sec) * 1e9);
  return 0;
}

/* GFLOP/s of the quickest of so many runs. */
static double best_speed(int product, int runs, double operations) {
  double least = took(product, 0);
  for (int run = 1; run < runs; run++)
    least = fmin(least, took(product, run));
  return operations / (least / MILLISECONDS) / 1e9;
}

static void check_speed(brim_runtime *runtime, brim_product_kind kind) {
  const int32_t rows = 64, in = 96, out = 128;
  const double operations = 2.0 * rows * in * out;
  brim_gemm_speed speed = {0};
  brim_error err = {0};
  hands.products = kind == BRIM_PRODUCT_INT8 ? 1 : 3, hands.looks = 0, hands.moved = true;
  const int status = brim_device_gemm_speed(runtime, kind, rows, in, out, &speed, &err);
  hands.moved = false;
  const int runs = hands.looks / (hands.products + 1);
  ok(status == BRIM_OK && runs >= 3 && runs <= MOST_RUNS, "a product of kind %d is timed %d times", (int)kind, runs);
  ok_near(speed.forward, best_speed(0, runs, operations), 1e-3, "forward: operations by the time of the quickest run");
  if (kind == BRIM_PRODUCT_INT8) {
    ok(speed.input_gradient == 0 && speed.weight_gradient == 0, "no gradients");
    return;
  }
  ok_near(speed.input_gradient, best_speed(1, runs, operations), 1e-3, "the input's gradient");
  ok_near(speed.weight_gradient, best_speed(2, runs, operations), 1e-3, "the weight's gradient");
}

static void check_description(brim_runtime *runtime) {
  const brim_device_info info = brim_device_describe(runtime);
  ok(info.threads == brim_runtime_threads(runtime) && strcmp(info.kernels, brim_ops_cpu(brim_runtime_cpu(runtime))->name) == 0 &&
         strlen(info.products) > 0 && strlen(info.bf16) > 0,
     "%s: %s; 16 bits: %s; %d threads", info.kernels, info.products, info.bf16, info.threads);
}

static void check_speeds(void) {
  const brim_runtime_options alone = {.threads = 1}; /* nobody else looks at the clock */
  brim_runtime *runtime = NULL;
  brim_gemm_speed speed;
  brim_error err = {0};
  if (brim_runtime_new(&alone, &runtime, NULL))
    exit(1);
  for (int kind = BRIM_PRODUCT_FP32; kind <= BRIM_PRODUCT_INT8; kind++)
    check_speed(runtime, (brim_product_kind)kind);
  ok_int(brim_device_gemm_speed(runtime, BRIM_PRODUCT_FP32, 0, 96, 128, &speed, &err), BRIM_E_USAGE, "no rows: refused");
  brim_runtime_cancel(runtime);
  ok_int(brim_device_gemm_speed(runtime, BRIM_PRODUCT_FP32, 64, 96, 128, &speed, &err), BRIM_E_CANCELLED,
         "Ctrl-C ends the timing");
  brim_runtime_free(runtime);
}

/* Other tests see by these that no padding is computed: no product may be taller than the rows it was given. */
static void check_statistics(brim_runtime *runtime) {
  const brim_ops_limits limits = {
      .max_slots = 50, .max_sequences = 1, .max_length = 1, .hidden = 8, .intermediate = 16, .heads = 1};
  const brim_ops *all_ops[] = {brim_ops_ref(), brim_ops_cpu(brim_runtime_cpu(runtime))};
  for (int i = 0; i < 2; i++) {
    case_memory m = {0};
    brim_ops_context c = {.runtime = runtime};
    c.workspace_size = all_ops[i]->workspace(&c, &limits);
    c.workspace = case_alloc(&m, c.workspace_size);
    real *x = case_fill(&m, 50 * 8, 1), *w = case_fill(&m, 16 * 8, 1), *y = case_fill(&m, 50 * 16, 0),
         *dw = case_fill(&m, 16 * 8, 0);
    all_ops[i]->linear_forward(
        &c, &(brim_linear){.rows = 37, .in = 8, .out = 16, .x = x, .x_stride = 8, .w = w, .y = y, .y_stride = 16});
    all_ops[i]->linear_backward(&c, &(brim_linear_gradient){.rows = 41,
                                                            .in = 8,
                                                            .out = 16,
                                                            .x = x,
                                                            .x_stride = 8,
                                                            .w = w,
                                                            .dy = y,
                                                            .dy_stride = 16,
                                                            .dx = x,
                                                            .dx_stride = 8,
                                                            .dw = dw});
    ok_int(c.stats.gemm_max_rows, 41, "the tallest product is counted");
    ok_near(c.stats.gemm_flops, 2.0 * (37 + 2 * 41) * 8 * 16, 0, "and all operations");
    case_free(&m);
  }
}

int main(void) {
  const brim_runtime_options options = {.threads = 2};
  brim_runtime *runtime = NULL;
  check_speeds(); /* before there are threads that look at the clock while they wait */
  if (brim_runtime_new(&options, &runtime, NULL))
    return 1;
  check_names(runtime);
  check_description(runtime);
  check_statistics(runtime);
  brim_runtime_free(runtime);
  return tap_done();
}
