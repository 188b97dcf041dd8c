/* ops_vocabulary.c: the loss over a vocabulary, of every table: blocks that cut it anywhere, no bias, no rows, what is frozen, 16
 * bits, a logit that is no number; gradients against differences. */
#include "ops_case.h"

typedef struct setting {
  int rows, in, out, block;
  double spread;
  bool bias, half, frozen, damaged;
} setting;

/* The classes, the first and the last of the vocabulary among them. */
static const int32_t *classes_of(case_memory *m, inputs *in, const setting *s) {
  int32_t *classes = case_alloc(m, (size_t)s->rows * sizeof *classes);
  for (int r = 0; r < s->rows; r++)
    classes[r] = r == 0 ? 0 : r == 1 ? s->out - 1 : (int32_t)(next_unit(in) * s->out);
  return classes;
}

static void emit_outcomes(record *out, case_memory *m, const brim_vocabulary *v) {
  real *predicted = case_fill(m, v->rows, 0), *losses = case_fill(m, v->rows, 0), *scores = case_fill(m, 2 * v->rows, 0);
  for (int64_t r = 0; r < v->rows; r++) {
    const brim_outcome *o = &v->outcomes[r];
    predicted[r] = o->label == v->classes[r] ? (real)o->predicted : (real)NAN;
    losses[r] = isnan(o->loss) ? 12345 : (real)o->loss;
    scores[2 * r] = isnan(o->score) ? 1 : (real)o->score;
    scores[2 * r + 1] = isnan(o->label_score) ? 1 : (real)o->label_score;
  }
  emit(out, "predicted", predicted, v->rows);
  emit(out, "losses", losses, v->rows);
  emit(out, "scores", scores, 2 * v->rows);
}

static void vocabulary(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  static const real one = 1;
  const setting *s = parameters;
  case_memory m = {0};
  inputs in = {61};
  double loss = -1;
  real *x = case_values(&m, &in, (int64_t)s->rows * s->in, s->spread), *w = case_values(&m, &in, (int64_t)s->out * s->in, 1),
       *b = case_values(&m, &in, s->out, 1), *dx = case_fill(&m, (int64_t)s->rows * s->in, 7),
       *dw = case_values(&m, &in, (int64_t)s->out * s->in, 1), *db = case_values(&m, &in, s->out, 1);
  const brim_bfloat *half_x = rounded(&m, x, (int64_t)s->rows * s->in), *half_w = rounded(&m, w, (int64_t)s->out * s->in);
  if (s->damaged)
    x[s->in] = (real)NAN;
  const brim_vocabulary v = {.rows = s->rows,
                             .in = s->in,
                             .out = s->out,
                             .block = s->block,
                             .x = s->half ? case_half(half_x) : case_real(x),
                             .w = s->half ? case_half(half_w) : case_real(w),
                             .b = s->bias ? b : NULL,
                             .classes = classes_of(&m, &in, s),
                             .divisor = 8.5,
                             .logits = case_fill(&m, (int64_t)s->rows * s->block, 7),
                             .half = case_alloc(&m, (size_t)s->rows * (size_t)s->block * sizeof(brim_bfloat)),
                             .lse = case_fill(&m, s->rows, 7),
                             .outcomes = case_alloc(&m, (size_t)s->rows * sizeof(brim_outcome)),
                             .loss = &loss,
                             .dx = dx,
                             .dw = s->frozen ? NULL : dw,
                             .db = s->frozen || !s->bias ? NULL : db};
  ops->vocabulary_forward(c, &v);
  const real value = s->damaged && isnan(loss) ? 12345 : (real)loss;
  emit_output(out, "loss", &value, 1, &one);
  emit_outcomes(out, &m, &v);
  if (!s->damaged) {
    ops->vocabulary_backward(c, &v);
    emit(out, "dx", dx, (int64_t)s->rows * s->in);
    emit(out, "dw", dw, (int64_t)s->out * s->in);
    emit(out, "db", db, s->out);
  }
  if (!s->damaged && !s->half) {
    check_gradient(out, dx, (int64_t)s->rows * s->in, x, false);
    if (v.dw)
      check_gradient(out, dw, (int64_t)s->out * s->in, w, true);
    if (v.db)
      check_gradient(out, db, s->out, b, true);
  }
  case_free(&m);
}

CASES(vocabulary) {
  static const setting settings[] = {
      {3, 8, 5, 3, 1, true, false, false, false},        {7, 24, 130, 64, 2, true, false, false, false},
      {33, 40, 517, 128, 4, false, false, false, false}, {9, 17, 70, 2048, 1, true, false, true, false},
      {0, 16, 40, 16, 1, true, false, false, false},     {2, 16, 33, 32, 12, true, false, false, false},
      {7, 24, 130, 64, 2, true, true, false, false},     {33, 40, 517, 128, 2, false, true, false, false},
      {3, 8, 5, 3, 1, true, true, true, false},          {4, 8, 50, 16, 1, true, false, false, true}};
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
    const setting *s = &settings[i];
    char name[120];
    snprintf(name, sizeof name, "%d rows of %d, %d words in blocks of %d%s%s%s%s", s->rows, s->in, s->out, s->block,
             s->bias ? ", bias" : "", s->half ? ", 16 bits" : "", s->frozen ? ", frozen" : "", s->damaged ? ", damaged" : "");
    const brim_ops_limits limits = {.max_slots = 64,
                                    .max_sequences = 1,
                                    .max_length = 64,
                                    .hidden = s->in,
                                    .intermediate = s->in,
                                    .heads = 1,
                                    .bf16 = s->half,
                                    .longest = s->block,
                                    .weight = (int64_t)s->block * ((s->in + 63) / 64 * 64)};
    check_case(name, &limits, vocabulary, s, s->half ? 2e-2 : 4e-6);
  }
}
