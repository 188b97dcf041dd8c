/* Blocks of numbers of rows, texts and tokens against a slow and obvious copy: in data sets, subsets and caches, and in batches
 * of any strategy, padding and number of ranks. Each number says which block, row, unit and column it is. */
#include "data/cache.h"
#include "data/dataset.h"
#include "plan_case.h"
#include "scratch.h"

enum { CASES = 250, MOST_TEXTS = 4, ALL_TOKENS = MOST_ROWS * 60, MOST_WIDTH = 5, CLASSES = 50 };

typedef struct blocks_case {
  plan_case plan;
  uint64_t firsts[MOST_ROWS + 1];
  int32_t texts[MOST_ROWS * MOST_TEXTS];
  bool several;
  brim_block_shape shapes[BRIM_MOST_BLOCKS]; /* the label's first */
  int count;
  bool labelled;
} blocks_case;

/* ---- what numbers are ---------------------------------------------------------------------------------------- */

static int32_t number_of(int block, uint64_t row, int32_t unit, int32_t column) {
  return (int32_t)((row * 131 + (uint64_t)unit * 17 + (uint64_t)column * 7 + (uint64_t)block * 3) % CLASSES);
}

/* Some are none. */
static bool is_none(int block, uint64_t row, int32_t unit) {
  return block > 0 && (row + (uint64_t)unit) % 5 == 0;
}

static void write_unit(const brim_block_shape *shape, int block, uint64_t row, int32_t unit, void *to) {
  for (int32_t k = 0; k < shape->width; k++)
    if (shape->integers)
      ((int32_t *)to)[k] = is_none(block, row, unit) ? BRIM_NO_LABEL : number_of(block, row, unit, k);
    else
      ((float *)to)[k] = is_none(block, row, unit) ? __builtin_nanf("") : (float)number_of(block, row, unit, k);
}

static int32_t units_of(const blocks_case *c, int block, uint64_t row) {
  const brim_per per = c->shapes[block].per;
  return per == BRIM_PER_ROW ? 1 : per == BRIM_PER_TEXT ? (int32_t)(c->firsts[row + 1] - c->firsts[row]) : c->plan.lengths[row];
}

/* The row's unit i of those at `at`; a cut row's last is that of the whole row. */
static int wrong_units(const blocks_case *c, int block, uint64_t row, const void *at, int32_t units) {
  const brim_block_shape *shape = &c->shapes[block];
  const int32_t whole = units_of(c, block, row);
  int32_t wanted[MOST_WIDTH];
  int wrong = 0;
  for (int32_t i = 0; i < units; i++) {
    write_unit(shape, block, row, i == units - 1 ? whole - 1 : i, wanted);
    wrong += memcmp((const char *)at + (size_t)i * (size_t)shape->width * 4, wanted, (size_t)shape->width * 4) != 0;
  }
  return wrong;
}

/* ---- cases --------------------------------------------------------------------------------------------------- */

static void draw_blocks(blocks_case *c) {
  static const char *const names[] = {"label", "teacher", "weight"};
  plan_case *p = &c->plan;
  const uint64_t kind = draw(p, 4);
  c->labelled = kind > 0;
  c->count = 1 + (int)draw(p, BRIM_MOST_BLOCKS);
  for (int b = 0; b < c->count; b++) {
    brim_block_shape *s = &c->shapes[b];
    *s = (brim_block_shape){.per = (brim_per)draw(p, 3), .integers = draw(p, 2), .width = 1 + (int32_t)draw(p, MOST_WIDTH)};
    strcpy(s->name, names[b]);
  }
  brim_block_shape *label = &c->shapes[0];
  label->per = kind == 3 ? BRIM_PER_TOKEN : BRIM_PER_ROW;
  label->integers = kind == 3;
  label->width = kind == 2 ? label->width : 1;
}

static void make_blocks(blocks_case *c, uint64_t number) {
  plan_case *p = &c->plan;
  memset(c, 0, sizeof *c);
  make_case(p, number);
  p->rows = p->rows ? p->rows : 1;
  c->several = draw(p, 2);
  for (uint64_t row = 0; row < p->rows; row++) {
    const uint64_t count = c->several ? 1 + draw(p, MOST_TEXTS) : 1;
    c->firsts[row + 1] = c->firsts[row] + count;
    p->lengths[row] = 0;
    for (uint64_t t = c->firsts[row]; t < c->firsts[row + 1]; t++)
      p->lengths[row] += c->texts[t] = (int32_t)(1 + draw(p, 14));
  }
  brim_plan_options *o = &p->options;
  o->max_length = c->several || draw(p, 2) ? 60 : 9;
  o->oversize = BRIM_OVERSIZE_ALONE;
  o->world_size = 1 + (int32_t)draw(p, 4);
  o->rows_for = NULL, o->required_batch_size_multiple = 0;
  o->max_tokens = o->max_tokens ? 200 : 0;
  draw_blocks(c);
}

static brim_labels labels_of(const blocks_case *c) {
  static char names[CLASSES][16];
  const char *list[CLASSES];
  brim_labels labels;
  brim_error err;
  for (int i = 0; i < CLASSES; i++)
    snprintf(names[i], sizeof names[i], "c%d", i), list[i] = names[i];
  const bool tokens = c->shapes[0].per == BRIM_PER_TOKEN, values = c->shapes[0].width > 1;
  const brim_task task = tokens ? BRIM_TASK_TOKENS : values ? BRIM_TASK_REGRESSION : BRIM_TASK_CLASSIFICATION;
  if (brim_labels_make(runtime, task, values ? NULL : list, values ? c->shapes[0].width : CLASSES, &labels, &err))
    exit(1);
  return labels;
}

/* The numbers of a block, all rows after each other, and where each row's begin. */
typedef struct block_numbers {
  int32_t *at;
  size_t begins[MOST_ROWS];
} block_numbers;

static void make_numbers(const blocks_case *c, int block, block_numbers *n) {
  const brim_block_shape *shape = &c->shapes[block];
  size_t used = 0;
  n->at = malloc((size_t)ALL_TOKENS * MOST_WIDTH * 4);
  for (uint64_t row = 0; row < c->plan.rows; row++) {
    n->begins[row] = used;
    for (int32_t i = 0; i < units_of(c, block, row); i++, used += (size_t)shape->width)
      write_unit(shape, block, row, i, n->at + used);
  }
}

static brim_dataset *dataset_of(const blocks_case *c, const brim_labels *labels) {
  static brim_sample samples[MOST_ROWS];
  static int32_t ids[ALL_TOKENS];
  static block_numbers all[BRIM_MOST_BLOCKS];
  brim_dataset *dataset;
  brim_error err = {0};
  int32_t at = 0;
  for (int b = 0; b < c->count; b++)
    make_numbers(c, b, &all[b]);
  for (uint64_t row = 0; row < c->plan.rows; row++) {
    samples[row] = (brim_sample){.ids = ids + at, .length = c->plan.lengths[row], .label = __builtin_nanf("")};
    if (c->several)
      samples[row].text_lengths = c->texts + c->firsts[row],
      samples[row].text_count = (int32_t)(c->firsts[row + 1] - c->firsts[row]);
    for (int32_t i = 0; i < c->plan.lengths[row]; i++, at++)
      ids[at] = at;
    for (int b = 1; b < c->count; b++)
      samples[row].blocks[b] = all[b].at + all[b].begins[row];
    if (c->labelled && c->shapes[0].per == BRIM_PER_TOKEN)
      samples[row].token_labels = all[0].at + all[0].begins[row];
    else if (c->labelled)
      samples[row].labels = (const float *)all[0].at + all[0].begins[row], samples[row].label_width = c->shapes[0].width;
  }
  if (brim_dataset_from_rows(runtime, samples, c->plan.rows, c->labelled ? labels : NULL, c->shapes + 1, c->count - 1, &dataset,
                             &err)) {
    printf("# %s\n", err.message);
    exit(1);
  }
  for (int b = 0; b < c->count; b++)
    free(all[b].at);
  return dataset;
}

/* ---- data sets ----------------------------------------------------------------------------------------------- */

static int wrong_shapes(const blocks_case *c, const brim_block_shape *shapes, int count) {
  int wrong = count != c->count;
  for (int b = c->labelled ? 0 : 1; b < count && !wrong; b++)
    wrong += strcmp(shapes[b].name, c->shapes[b].name) != 0 || shapes[b].per != c->shapes[b].per ||
             shapes[b].integers != c->shapes[b].integers || shapes[b].width != c->shapes[b].width ||
             brim_block_find(shapes, count, shapes[b].name) != b;
  return wrong;
}

static int wrong_rows(const blocks_case *c, const brim_dataset *dataset, const uint64_t *rows) {
  const brim_block_shape *shapes;
  int wrong = wrong_shapes(c, shapes, brim_dataset_blocks(dataset, &shapes));
  for (uint64_t i = 0; i < brim_dataset_rows(dataset) && !wrong; i++) {
    const uint64_t row = rows ? rows[i] : i;
    brim_sample s;
    brim_dataset_sample(dataset, i, &s);
    for (int b = 1; b < c->count; b++)
      wrong += wrong_units(c, b, row, s.blocks[b], units_of(c, b, row));
    if (!c->labelled)
      wrong += s.blocks[0] != NULL || s.labels || s.token_labels;
    else
      wrong += wrong_units(c, 0, row, s.blocks[0], units_of(c, 0, row)) ||
               (c->shapes[0].per == BRIM_PER_ROW ? (const void *)s.labels : s.token_labels) != s.blocks[0];
  }
  return wrong;
}

static int wrong_subset(blocks_case *c, const brim_dataset *dataset) {
  uint64_t rows[MOST_ROWS];
  const uint64_t count = 1 + draw(&c->plan, c->plan.rows);
  brim_dataset *subset;
  brim_error err;
  for (uint64_t i = 0; i < count; i++)
    rows[i] = draw(&c->plan, c->plan.rows);
  if (brim_dataset_subset(runtime, dataset, rows, count, &subset, &err))
    return 1;
  const int wrong = wrong_rows(c, subset, rows);
  brim_dataset_free(subset);
  return wrong;
}

static int wrong_cache(const blocks_case *c, const brim_dataset *dataset) {
  const brim_cache_origin nothing = {0};
  const char *path = scratch_file("blocks.rows");
  brim_dataset *back = NULL;
  brim_error err = {0};
  if (brim_cache_write(runtime, path, &nothing, dataset, &err) || brim_cache_read(runtime, path, NULL, &back, &err)) {
    printf("# %s\n", err.message);
    return 1;
  }
  const int wrong = wrong_rows(c, back, NULL) + (brim_dataset_fingerprint(back) != brim_dataset_fingerprint(dataset));
  brim_dataset_free(back);
  return wrong;
}

/* ---- batches ------------------------------------------------------------------------------------------------- */

static int wrong_batch(const blocks_case *c, const brim_planned *part, const brim_batch *batch) {
  int wrong = wrong_shapes(c, batch->shapes, batch->block_count) || batch->row_count != (int32_t)part->count;
  for (int32_t i = 0; i < batch->row_count && !wrong; i++) {
    const uint64_t row = batch->rows[i];
    int32_t first;
    const int32_t texts = brim_batch_texts(batch, i, &first), token = batch->offsets[first],
                  tokens = batch->offsets[first + texts] - token;
    for (int b = 0; b < c->count; b++) {
      const brim_block_shape *shape = &batch->shapes[b];
      const int32_t at = shape->per == BRIM_PER_ROW ? i : shape->per == BRIM_PER_TEXT ? first : token;
      const int32_t units = shape->per == BRIM_PER_ROW ? 1 : shape->per == BRIM_PER_TEXT ? texts : tokens;
      const char *numbers = (const char *)batch->blocks[b] + (size_t)at * (size_t)shape->width * 4;
      if (b > 0 || c->labelled)
        wrong += wrong_units(c, b, row, numbers, units);
      else
        wrong += *(const float *)(const void *)numbers == *(const float *)(const void *)numbers; /* no label is NaN */
    }
  }
  const bool of_rows = batch->shapes[0].per == BRIM_PER_ROW;
  return wrong + (batch->labels != (of_rows ? batch->blocks[0] : NULL)) +
         (batch->token_labels != (of_rows ? NULL : batch->blocks[0]));
}

static int wrong_batches(const blocks_case *c, const brim_dataset *dataset) {
  static brim_batch batch, copy; /* from case to case */
  const brim_lengths lengths = brim_lengths_of(dataset);
  brim_plan *plan;
  brim_error err = {0};
  int wrong = 0;
  if (brim_plan_new_of(runtime, &lengths, &c->plan.options, 0, &plan, &err)) {
    say(&c->plan, err.message);
    return 1;
  }
  for (uint64_t i = 0; i < brim_plan_parts(plan) && !wrong; i++)
    for (int32_t rank = 0; rank < c->plan.options.world_size; rank++) {
      brim_planned part;
      brim_plan_part(plan, rank, i, &part);
      wrong += brim_batch_fill(&batch, runtime, dataset, &part, &err) || brim_batch_copy(&copy, runtime, &batch, &err);
      wrong += wrong_batch(c, &part, &batch) + wrong_batch(c, &part, &copy);
    }
  brim_plan_free(plan);
  if (c->plan.number == CASES - 1)
    brim_batch_free(&batch), brim_batch_free(&copy);
  return wrong;
}

static void test_cases(void) {
  static blocks_case c;
  int rows = 0, subsets = 0, caches = 0, batches = 0;
  for (uint64_t number = 0; number < CASES; number++) {
    make_blocks(&c, number);
    brim_labels labels = labels_of(&c);
    brim_dataset *dataset = dataset_of(&c, &labels);
    rows += wrong_rows(&c, dataset, NULL);
    subsets += wrong_subset(&c, dataset);
    caches += wrong_cache(&c, dataset);
    batches += wrong_batches(&c, dataset);
    brim_dataset_free(dataset);
    brim_labels_free(&labels);
  }
  ok(rows == 0, "data sets hold the numbers of rows, texts and tokens, in %d random cases", CASES);
  ok(subsets == 0, "subsets do");
  ok(caches == 0, "caches give them back");
  ok(batches == 0, "batches of any plan hold those of their rows, cut as these are, and copies do");
}

/* ---- what is refused ----------------------------------------------------------------------------------------- */

static void test_refusals(void) {
  const int32_t ids[] = {1, 2};
  const float numbers[] = {1, 2};
  brim_sample samples[] = {{.ids = ids, .length = 2, .label = 0, .blocks = {NULL, numbers}},
                           {.ids = ids, .length = 2, .label = 0}};
  brim_block_shape shapes[] = {{.name = "teacher", .width = 2}, {.name = "teacher", .width = 2}, {.name = "other", .width = 1}};
  brim_dataset *dataset;
  brim_error err = {0};
  ok(brim_dataset_from_rows(runtime, samples, 2, NULL, shapes, 1, &dataset, &err) && strstr(err.message, "row 1 has no teacher"),
     "%s", err.message);
  ok(brim_dataset_from_rows(runtime, samples, 1, NULL, shapes, 2, &dataset, &err) && strstr(err.message, "two blocks are named"),
     "%s", err.message);
  ok(brim_dataset_from_rows(runtime, samples, 1, NULL, shapes, 3, &dataset, &err) && strstr(err.message, "at most 2 blocks"),
     "%s", err.message);
  strcpy(shapes[0].name, "label");
  ok(brim_dataset_from_rows(runtime, samples, 1, NULL, shapes, 1, &dataset, &err) && strstr(err.message, "the first one's"), "%s",
     err.message);
  strcpy(shapes[0].name, "teacher"), shapes[0].width = 0;
  ok(brim_dataset_from_rows(runtime, samples, 1, NULL, shapes, 1, &dataset, &err) && strstr(err.message, "how many numbers"),
     "%s", err.message);
}

int main(void) {
  if (brim_runtime_new(NULL, &runtime, NULL))
    return 1;
  test_cases();
  test_refusals();
  brim_runtime_free(runtime);
  return tap_done();
}
