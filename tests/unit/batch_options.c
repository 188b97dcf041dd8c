/* Plan options: names, checks that name the field, and rows that a plan refuses. */
#include "batch/plan.h"
#include "brim/batch.h"
#include "tap.h"

static brim_runtime *runtime;

static void names(void) {
  for (int i = BRIM_SEQUENTIAL; i <= BRIM_PACKED; i++) {
    brim_batching batching = BRIM_SEQUENTIAL;
    ok(brim_batching_parse(brim_batching_name((brim_batching)i), &batching) && batching == (brim_batching)i, "batching %s",
       brim_batching_name((brim_batching)i));
  }
  for (int i = BRIM_PAD_NONE; i <= BRIM_PAD_MAX_LENGTH; i++) {
    brim_padding padding = BRIM_PAD_NONE;
    ok(brim_padding_parse(brim_padding_name((brim_padding)i), &padding) && padding == (brim_padding)i, "padding %s",
       brim_padding_name((brim_padding)i));
  }
  brim_padding padding = BRIM_PAD_NONE;
  ok(brim_padding_parse("max-length", &padding) && padding == BRIM_PAD_MAX_LENGTH, "max-length is max_length");
  ok(!brim_padding_parse("max", &padding) && !brim_padding_parse("max_lengths", &padding) && !brim_padding_parse(NULL, &padding),
     "no prefix, nothing longer, no NULL");
  brim_oversize oversize = BRIM_OVERSIZE_ERROR;
  brim_tail tail = BRIM_TAIL_RESPLIT;
  ok(brim_oversize_parse("alone", &oversize) && oversize == BRIM_OVERSIZE_ALONE, "oversize");
  ok(brim_tail_parse("fill", &tail) && tail == BRIM_TAIL_FILL, "tail");
  ok_string(brim_batching_name((brim_batching)77), "unknown", "no such batching");
}

/* Checks that the options are refused with a message that holds `word`. */
static void refuse(brim_plan_options options, const char *word) {
  brim_error err = {0};
  int status = brim_plan_options_check(&options, &err);
  if (!ok(status == BRIM_E_USAGE && strstr(err.message, word), "refused: %s", word))
    printf("# status %d, message \"%s\"\n", status, err.message);
}

static void checks(void) {
  ok_int(brim_plan_options_check(&(brim_plan_options){.batch_size = 16}, NULL), BRIM_OK, "batch_size alone");
  ok_int(brim_plan_options_check(&(brim_plan_options){.max_tokens = 16}, NULL), BRIM_OK, "max_tokens alone");
  refuse((brim_plan_options){0}, "neither batch_size nor max_tokens");
  refuse((brim_plan_options){.batch_size = -1}, "batch_size is -1");
  refuse((brim_plan_options){.batch_size = 1, .max_tokens = -5}, "max_tokens is -5");
  refuse((brim_plan_options){.batch_size = 1, .world_size = -1}, "world_size");
  refuse((brim_plan_options){.batch_size = 1, .read_ahead = -1}, "read_ahead");
  refuse((brim_plan_options){.batch_size = 1, .batching = (brim_batching)9}, "brim/batch.h");
  refuse((brim_plan_options){.batch_size = 1, .padding = BRIM_PAD_MAX_LENGTH}, "needs max_length");
  refuse((brim_plan_options){.batch_size = 1, .batching = BRIM_PACKED}, "packed batching needs max_tokens");
  refuse((brim_plan_options){.batch_size = 20, .required_batch_size_multiple = 8}, "20 is not a multiple");
  refuse((brim_plan_options){.max_tokens = 20, .max_rows = 4, .required_batch_size_multiple = 8}, "max_rows 4 is less");
  refuse((brim_plan_options){.batch_size = 1, .cost_square = -1}, "cost_linear and cost_square");
  refuse((brim_plan_options){.batch_size = 1, .cost_linear = (double)INFINITY}, "cost_linear and cost_square");
  refuse((brim_plan_options){.max_tokens = 300, .max_length = 400, .padding = BRIM_PAD_MAX_LENGTH},
         "400 slots of one padded row");
  refuse(
      (brim_plan_options){
          .max_tokens = 5, .pad_to_multiple_of = 8, .padding = BRIM_PAD_LONGEST, .oversize = BRIM_OVERSIZE_TRUNCATE},
      "holds no row");
}

static int plan(const int32_t *lengths, uint64_t rows, brim_plan_options options, brim_error *err) {
  brim_plan *plan;
  int status = brim_plan_new(runtime, lengths, rows, &options, 0, &plan, err);
  ok(status == BRIM_OK || !plan, "no plan without success");
  brim_plan_free(plan);
  return status;
}

static void rows(void) {
  brim_error err = {0};
  ok_int(plan((int32_t[]){5, 0, 3}, 3, (brim_plan_options){.batch_size = 2}, &err), BRIM_E_FORMAT, "a row without tokens");
  ok(strstr(err.message, "row 1 has length 0") != NULL, "is named: %s", err.message);
  ok_int(plan((int32_t[]){5, 4, -3}, 3, (brim_plan_options){.batch_size = 2}, &err), BRIM_E_FORMAT, "a negative length");
  ok(strstr(err.message, "row 2 has length -3") != NULL, "is named");
  ok_int(plan((int32_t[]){5, 64}, 2, (brim_plan_options){.max_tokens = 60}, &err), BRIM_E_MISMATCH, "a row over the budget");
  ok(strstr(err.message, "row 1 with 64 tokens takes 64 slots, more than max_tokens 60") != NULL, "is named: %s", err.message);
  brim_plan_options rounded = {.max_tokens = 60, .padding = BRIM_PAD_LONGEST, .pad_to_multiple_of = 16};
  ok_int(plan((int32_t[]){5, 50}, 2, rounded, &err), BRIM_E_MISMATCH, "a row over the budget once rounded up");
  ok(strstr(err.message, "row 1 with 50 tokens takes 64 slots") != NULL, "is named");
  rounded.oversize = BRIM_OVERSIZE_TRUNCATE;
  ok_int(plan((int32_t[]){5, 50}, 2, rounded, &err), BRIM_OK, "or cut");
  rounded.oversize = BRIM_OVERSIZE_ALONE;
  ok_int(plan((int32_t[]){5, 50}, 2, rounded, &err), BRIM_OK, "or alone");
  ok_int(plan((int32_t[]){5}, UINT32_MAX, (brim_plan_options){.batch_size = 2}, &err), BRIM_E_UNSUPPORTED, "too many rows");
  ok_int(plan((int32_t[]){INT32_MAX, 1}, 2, (brim_plan_options){.batch_size = 2}, &err), BRIM_OK, "the longest row there is");
  rounded.max_tokens = 0, rounded.batch_size = 2;
  ok_int(plan((int32_t[]){INT32_MAX, 1}, 2, rounded, &err), BRIM_E_FORMAT, "but not rounded up");
  ok_int(plan(NULL, 0, (brim_plan_options){.batch_size = 2}, &err), BRIM_OK, "no rows");
}

static void cost_shape(void) {
  brim_plan_options options = {.batch_size = 1, .padding = BRIM_PAD_LONGEST};
  brim_plan_cost_shape(&options, 85e6, 12, 768);
  ok(options.cost_linear == 6 * 85e6 && options.cost_square == 12.0 * 12 * 768, "6 N s + 12 L H s^2");
  brim_plan *made;
  brim_planned part;
  if (brim_plan_new(runtime, (int32_t[]){100}, 1, &options, 0, &made, NULL))
    return;
  brim_plan_part(made, 0, 0, &part);
  ok_near(part.cost, 6 * 85e6 * 100 + 12.0 * 12 * 768 * 100 * 100, 1, "the cost of a part");
  brim_plan_free(made);
}

int main(void) {
  if (brim_runtime_new(NULL, &runtime, NULL))
    return 1;
  names();
  checks();
  rows();
  cost_shape();
  brim_runtime_free(runtime);
  return tap_done();
}
