/* Collation: rows of a dataset into a ragged batch, cut rows, the padded view, and plans that do not belong to the data. */
#include "batch/collate.h"
#include "batch/weight.h"
#include "tap.h"

static brim_runtime *runtime;
static brim_dataset *dataset;

static const int32_t ids0[] = {101, 7, 8, 9, 102}, ids1[] = {101, 5, 102}, ids2[] = {101, 1, 2, 102, 3, 4, 5, 102};
static const uint8_t types2[] = {0, 0, 0, 0, 1, 1, 1, 1};

static void make_dataset(void) {
  brim_sample samples[] = {{.ids = ids0, .length = 5, .label = 1},
                           {.ids = ids1, .length = 3, .label = 0},
                           {.ids = ids2, .type_ids = types2, .length = 8, .label = 2.5f}};
  if (brim_dataset_from_samples(runtime, samples, 3, NULL, &dataset, NULL))
    exit(99);
}

static brim_plan *plan_of(brim_plan_options options) {
  brim_plan *plan;
  if (brim_plan_new(runtime, brim_dataset_lengths(dataset), brim_dataset_rows(dataset), &options, 0, &plan, NULL))
    exit(99);
  return plan;
}

static void fill(brim_batch *batch, const brim_plan *plan, int32_t rank, uint64_t index) {
  brim_planned part;
  brim_plan_part(plan, rank, index, &part);
  ok_int(brim_batch_fill(batch, runtime, dataset, &part, NULL), BRIM_OK, "fill");
}

static void ragged(void) {
  brim_batch batch = {0};
  brim_plan *plan = plan_of((brim_plan_options){.batch_size = 2});
  fill(&batch, plan, 0, 0);
  ok(batch.count == 2 && batch.tokens == 8 && batch.slots == 8 && batch.width == 0 && batch.step_rows == 2, "counts");
  ok(!memcmp(batch.offsets, (int32_t[]){0, 5, 8}, 12), "offsets");
  ok(!memcmp(batch.ids, ids0, sizeof ids0) && !memcmp(batch.ids + 5, ids1, sizeof ids1), "ids");
  ok(batch.rows[1] == 1 && batch.places[1] == 1 && batch.labels[0] == 1, "rows, places, labels");
  ok(!memcmp(batch.type_ids, (uint8_t[8]){0}, 8), "types of rows that have none");
  fill(&batch, plan, 0, 1);
  ok(batch.count == 1 && batch.step == 1 && !memcmp(batch.type_ids, types2, 8) && batch.labels[0] == 2.5f, "the next fill");
  ok_int(brim_batch_width(&batch), 8, "width of the padded view");
  brim_plan_free(plan);
  brim_batch_free(&batch);
  brim_batch_free(&batch);
  brim_batch_free(NULL);
}

static void cut(void) {
  brim_batch batch = {0};
  brim_plan *plan = plan_of((brim_plan_options){.batch_size = 3, .max_length = 4, .padding = BRIM_PAD_LONGEST});
  fill(&batch, plan, 0, 0);
  ok(batch.tokens == 11 && batch.slots == 12 && batch.width == 4, "cut lengths");
  ok(!memcmp(batch.ids, (int32_t[]){101, 7, 8, 102, 101, 5, 102, 101, 1, 2, 102}, 44), "a cut row keeps its last token");
  ok(!memcmp(batch.type_ids + 7, (uint8_t[]){0, 0, 0, 1}, 4), "and its type");
  int32_t ids[15];
  uint8_t types[15], mask[15];
  brim_batch_pad(&batch, 5, 77, ids, types, mask);
  ok(!memcmp(ids, (int32_t[]){101, 7, 8, 102, 77, 101, 5, 102, 77, 77, 101, 1, 2, 102, 77}, sizeof ids), "padded ids");
  ok(!memcmp(mask, (uint8_t[]){1, 1, 1, 1, 0, 1, 1, 1, 0, 0, 1, 1, 1, 1, 0}, 15) && types[13] == 1 && types[14] == 0,
     "mask, types");
  brim_batch_pad(&batch, 5, 0, NULL, NULL, NULL);
  brim_plan_free(plan);
  brim_batch_free(&batch);
}

static double divisor_of(const brim_dataset *of, const brim_planned *part, const double *weights) {
  brim_class_counter counter = {0};
  if (brim_class_counter_weigh(&counter, runtime, weights, 2, NULL))
    exit(99);
  brim_class_counter_add(&counter, of, part);
  const double divisor = brim_class_counter_divisor(&counter);
  brim_class_counter_free(&counter);
  return divisor;
}

/* However a step is shared out, the sum of its rows' weights has the same bits: weights of "balanced", which no double is. */
static void weights_in_parts(void) {
  enum { ROWS = 61, CLASSES = 3 };
  static const double weights[CLASSES] = {1000.0 / (3 * 137), 1000.0 / (3 * 411), 1000.0 / (3 * 452)};
  brim_sample samples[ROWS];
  uint64_t rows[ROWS];
  for (uint64_t i = 0; i < ROWS; i++) {
    samples[i] = (brim_sample){.ids = ids0, .length = 5, .label = (float)(i * i % CLASSES)};
    rows[i] = i * 17 % ROWS;
  }
  brim_dataset *classes;
  brim_class_counter counter = {0};
  if (brim_dataset_from_samples(runtime, samples, ROWS, NULL, &classes, NULL) ||
      brim_class_counter_weigh(&counter, runtime, weights, CLASSES, NULL))
    exit(99);
  double whole = 0.0;
  int32_t others = 0;
  for (uint32_t size = ROWS; size > 0; size--) {
    brim_class_counter_clear(&counter);
    for (uint32_t from = (ROWS - 1) / size * size, part = 0; part * size < ROWS; part++, from -= size) /* the last one first */
      brim_class_counter_add(&counter, classes,
                             &(brim_planned){.rows = rows + from, .count = ROWS - from < size ? ROWS - from : size});
    const double divisor = brim_class_counter_divisor(&counter);
    whole = size == ROWS ? divisor : whole;
    others += divisor != whole;
  }
  ok(others == 0 && whole > ROWS * weights[2], "the weight of a step in parts of 1 to 61 rows: %.17g", whole);
  brim_class_counter_clear(&counter);
  ok(brim_class_counter_divisor(&counter) == 1.0, "1 of nothing");
  brim_class_counter_free(&counter);
  brim_dataset_free(classes);
}

/* What a loss divides by goes with what is computed: a cut row has its last token's label, not that of the place. */
static void weights_of_tokens(void) {
  enum { NONE = BRIM_NO_LABEL };
  static const int32_t labels[] = {NONE, 0, 1, 1, NONE};
  static const double weights[] = {0.5, 3};
  brim_sample sample = {.ids = ids0, .length = 5, .token_labels = labels};
  brim_dataset *tokens;
  brim_batch batch = {0};
  brim_planned part;
  brim_plan *plan = plan_of((brim_plan_options){.batch_size = 3, .max_length = 3});
  if (brim_dataset_from_samples(runtime, &sample, 1, NULL, &tokens, NULL))
    exit(99);
  brim_plan_part(plan, 0, 0, &part);
  part.count = 1, part.tokens = part.slots = 3;
  ok_int(brim_batch_fill(&batch, runtime, tokens, &part, NULL), BRIM_OK, "a cut row of labelled tokens");
  ok(!memcmp(batch.token_labels, (int32_t[]){NONE, 0, NONE}, 12), "has its last token's label");
  ok(divisor_of(tokens, &part, NULL) == 1 && divisor_of(tokens, &part, weights) == 0.5, "and counts so");
  part.cut = 0;
  ok(divisor_of(tokens, &part, NULL) == 3 && divisor_of(tokens, &part, weights) == 6.5, "a whole one counts all");
  brim_plan_free(plan);
  brim_batch_free(&batch);
  brim_dataset_free(tokens);
}

/* A copy has what its batch has, in its own memory, and is reused for the next. */
static void copies(void) {
  static const int32_t labels[] = {BRIM_NO_LABEL, 0, 1, 1, BRIM_NO_LABEL};
  static const brim_sample sample = {.ids = ids0, .length = 5, .token_labels = labels};
  brim_dataset *tokens;
  brim_batch batch = {0}, labelled = {0}, copy = {0};
  brim_plan *plan = plan_of((brim_plan_options){.batch_size = 3, .slices = 2});
  brim_planned part;
  if (brim_dataset_from_samples(runtime, &sample, 1, NULL, &tokens, NULL))
    exit(99);
  brim_plan_part(plan, 0, 0, &part);
  ok_int(brim_batch_fill(&batch, runtime, dataset, &part, NULL), BRIM_OK, "a batch with slices");
  ok_int(brim_batch_copy(&copy, runtime, &batch, NULL), BRIM_OK, "is copied");
  const size_t rows = (size_t)batch.count, slots = (size_t)batch.tokens;
  ok(rows == 3 && copy.count == 3 && copy.tokens == batch.tokens && copy.slots == batch.slots && copy.width == batch.width &&
         copy.step == batch.step && copy.step_rows == 3 && copy.ids != batch.ids && !memcmp(copy.ids, batch.ids, slots * 4) &&
         !memcmp(copy.type_ids, batch.type_ids, slots) && !memcmp(copy.offsets, batch.offsets, (rows + 1) * 4) &&
         !memcmp(copy.rows, batch.rows, rows * 8) && !memcmp(copy.places, batch.places, rows * 4) &&
         !memcmp(copy.labels, batch.labels, rows * 4),
     "its rows");
  ok(batch.slices && copy.slices && copy.slices != batch.slices && !memcmp(copy.slices, batch.slices, rows) && !copy.token_labels,
     "their slices");
  part = (brim_planned){.rows = (uint64_t[]){0}, .places = (uint32_t[]){0}, .count = 1, .tokens = 5, .slots = 5, .step_rows = 1};
  ok_int(brim_batch_fill(&labelled, runtime, tokens, &part, NULL), BRIM_OK, "a row of labelled tokens");
  ok(brim_batch_copy(&copy, runtime, &labelled, NULL) == BRIM_OK && copy.token_labels != labelled.token_labels &&
         !memcmp(copy.token_labels, labels, sizeof labels) && !copy.slices,
     "takes the copy's place, with its labels");
  labelled.count = 0, labelled.tokens = labelled.slots = 0;
  ok(brim_batch_copy(&copy, runtime, &labelled, NULL) == BRIM_OK && copy.count == 0 && copy.offsets[0] == 0, "so does none");
  part.count = 0, part.tokens = part.slots = 0;
  brim_batch_free(&labelled);
  labelled = (brim_batch){0};
  ok(brim_batch_fill(&labelled, runtime, tokens, &part, NULL) == BRIM_OK && labelled.token_labels &&
         brim_batch_copy(&copy, runtime, &labelled, NULL) == BRIM_OK && copy.token_labels,
     "a part without rows says that tokens have labels, and its copy does");
  brim_plan_free(plan);
  brim_batch_free(&batch), brim_batch_free(&labelled), brim_batch_free(&copy);
  brim_dataset_free(tokens);
}

static void empty_part(void) {
  brim_batch batch = {0};
  brim_plan *plan = plan_of((brim_plan_options){.batch_size = 3, .world_size = 5});
  fill(&batch, plan, 4, 0);
  ok(batch.count == 0 && batch.tokens == 0 && batch.offsets[0] == 0 && batch.step_rows == 3, "a rank with nothing to do");
  ok_int(brim_batch_width(&batch), 0, "has no width");
  brim_plan_free(plan);
  brim_batch_free(&batch);
}

static void reserved(void) {
  brim_batch batch = {0};
  brim_plan *plan = plan_of((brim_plan_options){.batch_size = 3});
  const brim_block_shape label = {.name = "label", .width = 1};
  ok_int(brim_batch_reserve(&batch, runtime, 16, 3, false, &label, 1, NULL), BRIM_OK, "reserve");
  const void *ids = batch.ids, *types = batch.type_ids, *offsets = batch.offsets, *rows = batch.rows;
  fill(&batch, plan, 0, 0);
  ok(batch.ids == ids && batch.type_ids == types && batch.offsets == offsets && batch.rows == rows,
     "a fill within it moves nothing");
  brim_plan_free(plan);
  brim_batch_free(&batch);
}

static void mismatch(void) {
  brim_batch batch = {0};
  brim_plan *plan;
  brim_planned part;
  brim_error err = {0};
  brim_plan_options options = {.batch_size = 8};
  if (brim_plan_new(runtime, (int32_t[]){5, 3, 8, 4}, 4, &options, 0, &plan, NULL))
    exit(99);
  brim_plan_part(plan, 0, 0, &part);
  ok_int(brim_batch_fill(&batch, runtime, dataset, &part, &err), BRIM_E_MISMATCH, "a row that the data has not");
  ok(strstr(err.message, "row 3") != NULL, "is named: %s", err.message);
  brim_plan_free(plan);
  if (brim_plan_new(runtime, (int32_t[]){5, 3, 7}, 3, &options, 0, &plan, NULL))
    exit(99);
  brim_plan_part(plan, 0, 0, &part);
  ok_int(brim_batch_fill(&batch, runtime, dataset, &part, &err), BRIM_E_MISMATCH, "other lengths");
  ok(strstr(err.message, "15 tokens where the data has 16") != NULL, "are said: %s", err.message);
  brim_plan_free(plan);
  brim_batch_free(&batch);
}

int main(void) {
  if (brim_runtime_new(NULL, &runtime, NULL))
    return 1;
  make_dataset();
  ragged();
  cut();
  weights_of_tokens();
  weights_in_parts();
  copies();
  empty_part();
  reserved();
  mismatch();
  brim_dataset_free(dataset);
  brim_runtime_free(runtime);
  return tap_done();
}
