/* attention_split.c: attention's products on AMX, of sides in three components (split.h). What comes of scores is split as it is
 * multiplied: a block of it is in the first cache. */
#include "ops/cpu/attention.h"

/* Tiles of 32 rows, one after the other. */
void CPU(attention_split_left)(const attention_work *w, int64_t rows, const float *x, int64_t stride, char *to) {
  for (int64_t r = 0; r < rows; r += SPLIT_SIDE)
    CPU(split_left)(least(SPLIT_SIDE, rows - r), w->a->head_size, x + r * stride, stride, to + r * attention_split_row(w));
}

/* Panels of 32 columns. */
attention_right CPU(attention_split_right)(const attention_work *w, int64_t rows, const float *x, int64_t stride, char *to) {
  const int64_t size = w->a->head_size, panel = split_steps(rows) * SPLIT_STEP;
  for (int64_t i = 0; i < size; i += SPLIT_SIDE)
    split_right(&(split_panel){
        .columns = least(SPLIT_SIDE, size - i), .depth = rows, .x = x + i, .stride = stride, .to = to + i / SPLIT_SIDE * panel});
  return (attention_right){to, SPLIT_STEP / SPLIT_K, panel};
}

void CPU(attention_split_turn)(const attention_work *w, const attention_block *b, const float *rows, char *panels) {
  split_right(&(split_panel){
      .columns = b->queries, .depth = w->a->head_size, .x = rows, .stride = w->head_room, .turned = true, .to = panels});
}

void CPU(attention_split_scores)(const attention_work *w, int64_t keys, const char *left, const char *panels, float *out) {
  for (int64_t r = 0; r < keys; r += SPLIT_SIDE) {
    const split_tile t = {.steps = split_steps(w->a->head_size),
                          .a = left + r * attention_split_row(w),
                          .b = panels,
                          .c = out + r * QUERY_BLOCK,
                          .c_row = QUERY_BLOCK};
    w->split.run(&t);
  }
}

/* A left side by all panels. */
static void multiply(const attention_work *w, int64_t steps, const char *left, attention_right right, bool add, float *to) {
  for (int64_t i = 0; i < w->a->head_size; i += SPLIT_SIDE, right.at += right.panel) {
    const split_tile t = {.steps = steps, .a = left, .b = right.at, .c = to + i, .c_row = w->head_room, .accumulates = add};
    w->split.run(&t);
  }
}

void CPU(attention_split_sum)(const attention_work *w, const attention_block *b, int64_t keys, const float *p,
                              attention_right rows, bool add, float *to) {
  char left[SCORE_ROOM / SPLIT_K * SPLIT_STEP] __attribute__((aligned(64)));
  CPU(split_left_turned)(b->queries, keys, p, QUERY_BLOCK, left, NULL);
  multiply(w, split_steps(keys), left, rows, add, to);
}

void CPU(attention_split_add)(const attention_work *w, const attention_block *b, int64_t keys, const float *p,
                              attention_right rows, bool add, float *to) {
  char left[SPLIT_STEP] __attribute__((aligned(64)));
  for (int64_t r = 0; r < keys; r += SPLIT_SIDE) {
    CPU(split_left)(least(SPLIT_SIDE, keys - r), b->queries, p + r * QUERY_BLOCK, QUERY_BLOCK, left);
    multiply(w, 1, left, rows, add, to + r * w->head_room);
  }
}
