/* Batches that do not fit are refused with the row's name; those that do are laid out as Hugging Face pads them. */
#include "model_case.h"

static void check_refused(brim_model *model, const tiny *t, int code, const char *words) {
  const brim_pass pass = {.training = true};
  brim_error err = {0};
  double loss;
  const int status = brim_model_forward(model, &t->batch, &pass, &loss, NULL, &err);
  if (!ok(status == code && strstr(err.message, words), "refused: %s", words))
    printf("# %d: %s\n", status, err.message);
  ok(brim_model_backward(model, &t->batch, &pass, &err) == BRIM_E_USAGE, "no backward after it");
}

static void check_bad_batches(void) {
  brim_model *model = case_load(case_golden("bert-pair-3"), "cpu-plain");
  brim_error err;
  const brim_model_limits limits = {.max_slots = 200, .max_sequences = 2, .max_length = 90, .training = true};
  tiny t;
  make_tiny(&t);
  check_refused(model, &t, BRIM_E_USAGE, "not prepared");
  if (brim_model_prepare(model, &limits, &err))
    case_stop("prepare", &err);
  t.ids[3] = 500;
  check_refused(model, &t, BRIM_E_MISMATCH, "row 42 has token id 500");
  make_tiny(&t);
  t.ids[0] = -1;
  check_refused(model, &t, BRIM_E_MISMATCH, "row 17 has token id -1");
  make_tiny(&t);
  t.types[4] = 2;
  check_refused(model, &t, BRIM_E_MISMATCH, "row 42 has token type 2");
  make_tiny(&t);
  t.labels[1] = 3;
  check_refused(model, &t, BRIM_E_MISMATCH, "row 42 has label 3");
  make_tiny(&t);
  t.labels[0] = 0.5f;
  check_refused(model, &t, BRIM_E_MISMATCH, "row 17 has label 0.5");
  make_tiny(&t);
  t.labels[0] = NAN;
  check_refused(model, &t, BRIM_E_MISMATCH, "row 17 has no label");
  make_tiny(&t);
  t.offsets[1] = 0;
  check_refused(model, &t, BRIM_E_FORMAT, "row 17 has no tokens");
  make_tiny(&t);
  t.batch.width = 97;
  check_refused(model, &t, BRIM_E_USAGE, "padded to 97 tokens, but the model has positions for 96");
  make_tiny(&t);
  t.batch.width = 2;
  check_refused(model, &t, BRIM_E_USAGE, "row 42 has 3 tokens, more than the width 2");
  make_tiny(&t);
  t.batch.width = 96;
  check_refused(model, &t, BRIM_E_USAGE, "longer than the model was prepared for");
  const brim_model_limits narrow = {.max_slots = 4, .max_sequences = 2, .max_length = 90, .training = true},
                          absurd = {.max_slots = 4, .max_sequences = 2, .max_length = 97, .training = true};
  if (brim_model_prepare(model, &narrow, &err))
    case_stop("prepare", &err);
  make_tiny(&t);
  check_refused(model, &t, BRIM_E_USAGE, "2 rows and 5 slots");
  ok(brim_model_prepare(model, &absurd, &err) == BRIM_E_USAGE && strstr(err.message, "96"), "longer than the positions");
  brim_model_free(model);
}

static void check_long_row(void) {
  static int32_t ids[97];
  brim_model *model = case_load(case_golden("bert-pair-3"), "cpu-plain");
  const brim_model_limits limits = {.max_slots = 200, .max_sequences = 2, .max_length = 90, .training = true};
  brim_error err;
  tiny t;
  make_tiny(&t);
  t.batch.ids = ids;
  t.batch.type_ids = NULL;
  t.offsets[1] = 1;
  t.offsets[2] = 98;
  if (brim_model_prepare(model, &limits, &err))
    case_stop("prepare", &err);
  check_refused(model, &t, BRIM_E_MISMATCH, "row 42 has 97 tokens, but the model has positions for 96");
  brim_model_free(model);
}

/* A rank may have nothing to do in a part. */
static void check_empty_batch(void) {
  brim_model *model = case_load(case_golden("bert-pair-3"), "cpu-plain");
  int32_t offsets[1] = {0};
  const brim_batch none = {.offsets = offsets, .step_rows = 4};
  const brim_pass pass = {.training = true};
  const brim_model_limits limits = {.max_slots = 8, .max_sequences = 2, .max_length = 8, .training = true};
  brim_error err;
  double loss = 1, norm = 1;
  const brim_adamw adamw = {.lr = 1, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .step = 1};
  int status = brim_model_prepare(model, &limits, &err);
  status |= brim_model_forward(model, &none, &pass, &loss, NULL, &err);
  status |= brim_model_backward(model, &none, &pass, &err);
  status |= brim_model_update(model, &adamw, &norm, &err);
  ok(status == 0 && loss == 0 && norm == 0, "an empty batch adds nothing");
  brim_model_free(model);
}

/* ---- slots ---- */

static bool same_ints(const int32_t *got, const int32_t *want, int count) {
  return memcmp(got, want, (size_t)count * sizeof *got) == 0;
}

/* Lays out two texts, the second with the padding token in it, four slots each. */
static const brim_slots *lay_out(brim_model *model, int32_t pad) {
  const brim_pass pass = {.training = true};
  brim_error err;
  tiny t;
  make_tiny(&t);
  t.ids[3] = pad;
  t.types[4] = model->config.types > 1;
  t.batch.width = 4;
  t.batch.slots = 8;
  const brim_model_limits limits = case_limits(&t.batch, true);
  if (brim_model_prepare(model, &limits, &err) || brim_model_lay_out(model, &t.batch, &pass, true, &err))
    case_stop("layout", &err);
  return &model->tape.stage->slots;
}

static void check_padded(void) {
  static const int32_t ids[] = {5, 6, 0, 0, 7, 0, 9, 0}, from_zero[] = {0, 1, 2, 3, 0, 1, 2, 3};
  static const int32_t roberta_ids[] = {5, 6, 1, 1, 7, 1, 9, 1}, from_pad[] = {2, 3, 1, 1, 2, 1, 3, 1};
  static const int32_t offsets[] = {0, 4, 8}, lengths[] = {2, 3}, first[] = {0, 4}, sequence[] = {0, 0, 0, 0, 1, 1, 1, 1};
  static const uint8_t types[] = {0, 0, 0, 0, 0, 0, 1, 0};
  brim_model *model = case_load(case_golden("bert-pair-3"), NULL);
  const brim_slots *s = lay_out(model, 0);
  ok(same_ints(s->ids, ids, 8) && same_ints(s->positions, from_zero, 8) && memcmp(s->types, types, 8) == 0,
     "BERT: padding has id 0 and type 0; positions continue");
  ok(same_ints(s->offsets, offsets, 3) && same_ints(s->lengths, lengths, 2) && same_ints(s->first, first, 2) &&
         same_ints(s->sequence, sequence, 8) && model->tape.layout.slots == 8 && model->tape.layout.tokens == 5,
     "slots, keys and first tokens");
  brim_model_free(model);
  model = case_load(case_golden("roberta-regression"), NULL);
  s = lay_out(model, 1);
  ok(same_ints(s->ids, roberta_ids, 8) && same_ints(s->positions, from_pad, 8),
     "RoBERTa: positions count the tokens that are not padding, from pad_token_id + 1");
  brim_model_free(model);
}

int main(void) {
  case_start(1);
  check_bad_batches();
  check_long_row();
  check_empty_batch();
  check_padded();
  brim_runtime_free(case_runtime);
  return tap_done();
}
