/* ops_device.c: the tables by name, what brim doctor prints, and what operations leave in the statistics. */
#include "brim/device.h"
#include "ops_case.h"

static void check_names(brim_runtime *runtime) {
  const brim_ops *best = brim_ops_cpu(brim_runtime_cpu(runtime));
  ok(brim_ops_find(runtime, best->name) == best, "%s is found by its name", best->name);
  ok(brim_ops_find(runtime, "cpu-plain") == brim_ops_cpu(BRIM_CPU_PLAIN), "so is the plain table");
  ok(brim_ops_find(runtime, "ref") == brim_ops_ref(), "and the reference");
  ok(brim_ops_find(runtime, "cpu-unheard-of") == NULL, "an unknown name is refused");
}

static void check_speed(brim_runtime *runtime) {
  const brim_device_info info = brim_device_describe(runtime);
  brim_gemm_speed speed = {0};
  brim_error err = {0};
  ok(info.threads == brim_runtime_threads(runtime) && strlen(info.kernels) > 0 && strlen(info.products) > 0 &&
         strlen(info.bf16) > 0,
     "%s: %s; 16 bits: %s; %d threads", info.kernels, info.products, info.bf16, info.threads);
  for (int kind = BRIM_PRODUCT_FP32; kind <= BRIM_PRODUCT_INT8; kind++) {
    const bool gradients = kind != BRIM_PRODUCT_INT8;
    ok_int(brim_device_gemm_speed(runtime, (brim_product_kind)kind, 64, 96, 128, &speed, &err), BRIM_OK, "a product is timed");
    ok(speed.forward > 0 && isfinite(speed.forward) && (speed.input_gradient > 0) == gradients &&
           (speed.weight_gradient > 0) == gradients,
       "speeds of numbers of kind %d", kind);
  }
  ok_int(brim_device_gemm_speed(runtime, BRIM_PRODUCT_FP32, 0, 96, 128, &speed, &err), BRIM_E_USAGE, "no rows: refused");
}

/* Other tests see by these that no padding is computed: no product may be taller than the rows it was given. */
static void check_statistics(brim_runtime *runtime) {
  const brim_ops_limits limits = {
      .max_slots = 50, .max_sequences = 1, .max_length = 1, .hidden = 8, .intermediate = 16, .heads = 1};
  const brim_ops *tables[] = {brim_ops_ref(), brim_ops_cpu(brim_runtime_cpu(runtime))};
  for (int i = 0; i < 2; i++) {
    case_memory m = {0};
    brim_ops_context c = {.runtime = runtime};
    c.workspace_size = tables[i]->workspace(&c, &limits);
    c.workspace = case_alloc(&m, c.workspace_size);
    real *x = case_fill(&m, 50 * 8, 1), *w = case_fill(&m, 16 * 8, 1), *y = case_fill(&m, 50 * 16, 0),
         *dw = case_fill(&m, 16 * 8, 0);
    tables[i]->linear_forward(
        &c, &(brim_linear){.rows = 37, .in = 8, .out = 16, .x = x, .x_stride = 8, .w = w, .y = y, .y_stride = 16});
    tables[i]->linear_backward(&c, &(brim_linear_gradient){.rows = 41,
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
  if (brim_runtime_new(&options, &runtime, NULL))
    return 1;
  check_names(runtime);
  check_speed(runtime);
  check_statistics(runtime);
  brim_runtime_free(runtime);
  return tap_done();
}
