/* The model's gradient against central differences of its loss, in double precision, for every tensor of every family, with
 * dropout on: (L(w + h u) - L(w - h u)) / 2h = g . u for a random direction u. */
#define BRIM_REAL_DOUBLE
#include "base/random.h"
#include "model_case.h"

static double loss_of(brim_model *model, const brim_batch *batch, const brim_pass *pass) {
  brim_error err = {0};
  double loss;
  if (brim_model_forward(model, batch, pass, &loss, NULL, &err))
    case_stop("forward", &err);
  return loss;
}

/* A direction of length 1, or one element. */
static void make_direction(double *u, int64_t count, uint64_t key, int64_t element) {
  const brim_random random = brim_random_make(key, 0, BRIM_PURPOSE_SAMPLE);
  double size = 0;
  for (int64_t i = 0; i < count; i++) {
    u[i] = element < 0 ? brim_random_normal(&random, (uint64_t)i) : (double)(i == element);
    size += u[i] * u[i];
  }
  for (int64_t i = 0; i < count; i++)
    u[i] /= sqrt(size);
}

/* Difference between the slope along u and the gradient's, relative to the tensor's gradient. */
static double slope_error(brim_model *model, const brim_batch *batch, const brim_pass *pass, const brim_parameter *p,
                          const double *gradient, const double *u) {
  const double h = 1e-5;
  double *values = model->values + p->offset, dot = 0, size = 0, loss[2];
  double *kept = malloc((size_t)p->count * sizeof *kept);
  if (!kept)
    abort();
  memcpy(kept, values, (size_t)p->count * sizeof *kept);
  for (int side = 0; side < 2; side++) {
    for (int64_t i = 0; i < p->count; i++)
      values[i] = kept[i] + (side ? h : -h) * u[i];
    loss[side] = loss_of(model, batch, pass);
  }
  memcpy(values, kept, (size_t)p->count * sizeof *kept);
  for (int64_t i = 0; i < p->count; i++) {
    dot += gradient[i] * u[i];
    size += gradient[i] * gradient[i];
  }
  free(kept);
  return fabs((loss[1] - loss[0]) / (2 * h) - dot) / (sqrt(size) + 1e-3);
}

static int64_t largest(const double *x, int64_t count) {
  int64_t best = 0;
  for (int64_t i = 1; i < count; i++)
    if (fabs(x[i]) > fabs(x[best]))
      best = i;
  return best;
}

static void check(const char *golden, const char *name, const char *extra, int32_t width, bool all_tokens) {
  brim_model *model = case_load(case_variant(golden, name, extra), NULL);
  brim_dataset *rows = case_rows(golden);
  brim_batch batch = {0};
  const uint32_t count = (uint32_t)brim_dataset_rows(rows);
  const brim_pass pass = {.training = true, .dropout = true, .seed = 3, .optimizer_step = 5, .all_tokens = all_tokens};
  case_fill(&batch, rows, 0, count < 3 ? count : 3, width);
  case_step(model, &batch, &pass);
  const size_t bytes = (size_t)model->program.flat_size * sizeof(double);
  double *gradient = malloc(bytes), *u = malloc(bytes), worst = 0;
  if (!gradient || !u)
    abort();
  memcpy(gradient, model->gradients, bytes);
  const char *where = "";
  for (int32_t i = 0; i < (int32_t)model->program.weight_count; i++) {
    const brim_parameter *p = &model->program.weights[i].is;
    for (int one = 0; one < 2; one++) {
      make_direction(u, p->count, (uint64_t)i, one ? largest(gradient + p->offset, p->count) : -1);
      const double error = slope_error(model, &batch, &pass, p, gradient + p->offset, u);
      where = error > worst ? p->name : where;
      worst = fmax(worst, error);
    }
  }
  ok(worst <= 1e-7, "%s: %d tensors of %s agree with differences to %.1e (%s)", name, (int32_t)model->program.weight_count,
     golden, worst, where);
  free(gradient);
  free(u);
  brim_batch_free(&batch);
  brim_dataset_free(rows);
  brim_model_free(model);
}

#define BERT_DROPOUT       "\"hidden_dropout_prob\":0.2,\"attention_probs_dropout_prob\":0.3,\"classifier_dropout\":0.25"
#define ALBERT_DROPOUT     "\"hidden_dropout_prob\":0.2,\"attention_probs_dropout_prob\":0.3,\"classifier_dropout_prob\":0.25"
#define EURO_DROPOUT       "\"attention_dropout\":0.3"
#define MODERN_DROPOUT     "\"embedding_dropout\":0.2,\"attention_dropout\":0.3,\"mlp_dropout\":0.15,\"classifier_dropout\":0.25"
#define DISTILBERT_DROPOUT "\"dropout\":0.2,\"attention_dropout\":0.3,\"seq_classif_dropout\":0.25"
#define DEBERTA_DROPOUT                                                                                                          \
  "\"hidden_dropout_prob\":0.2,\"attention_probs_dropout_prob\":0.3,\"pooler_dropout\":0.15,\"cls_dropout\":0.25"

int main(void) {
  case_start(1);
  check("bert-pair-3", "ragged", BERT_DROPOUT, 0, false);
  check("bert-pair-3", "padded", BERT_DROPOUT, 70, false);
  check("bert-pair-3", "all-tokens", BERT_DROPOUT, 0, true);
  check("bert-pair-3", "mean", BERT_DROPOUT ",\"brim_pooling\":\"mean\"", 0, false);
  check("roberta-regression", "padded-mean", BERT_DROPOUT ",\"brim_pooling\":\"mean\"", 67, true);
  check("bert-pair-3", "padded-max", BERT_DROPOUT ",\"brim_pooling\":\"max\"", 70, false);
  check("distilbert-4", "max", DISTILBERT_DROPOUT ",\"brim_pooling\":\"max\"", 0, false);
  check("bert-pair-3", "layers", BERT_DROPOUT ",\"brim_layers\":\"weighted\"", 0, false);
  check("bert-pair-3", "layers-mean", BERT_DROPOUT ",\"brim_layers\":\"weighted:3\",\"brim_pooling\":\"mean\"", 70, true);
  check("distilbert-4", "layers-joined", DISTILBERT_DROPOUT ",\"brim_layers\":\"joined:2\",\"brim_pooling\":\"max\"", 0, false);
  check("deberta-v3-cls", "deberta-layers", DEBERTA_DROPOUT ",\"brim_layers\":\"joined:2\"", 0, false);
  check("albert-regression", "albert-layers", ALBERT_DROPOUT ",\"brim_layers\":\"weighted:3\"", 0, false);
  check("modernbert-cls", "modernbert-layers", MODERN_DROPOUT ",\"brim_layers\":\"weighted:2\"", 0, false);
  check("eurobert-cls", "eurobert-layers", EURO_DROPOUT ",\"brim_layers\":\"joined:2\"", 0, false);
  check("bert-odd-regression", "regression", BERT_DROPOUT, 0, false);
  check("bert-odd-regression", "gelu-new", BERT_DROPOUT ",\"hidden_act\":\"gelu_new\"", 0, false);
  check("bert-odd-regression", "relu", BERT_DROPOUT ",\"hidden_act\":\"relu\"", 0, false);
  check("roberta-regression", "roberta", BERT_DROPOUT, 0, false);
  check("distilbert-4", "distilbert", DISTILBERT_DROPOUT, 0, false);
  check("electra-cls", "electra", BERT_DROPOUT, 0, false);
  check("albert-regression", "albert", ALBERT_DROPOUT, 0, false);
  check("mpnet-cls", "mpnet", BERT_DROPOUT, 0, false);
  check("deberta-v3-cls", "deberta", DEBERTA_DROPOUT, 0, false);
  check("deberta-v3-cls", "deberta-plain", "\"norm_rel_ebd\":\"none\",\"position_buckets\":-1,\"max_relative_positions\":16", 0,
        false);
  check("modernbert-cls", "modernbert", MODERN_DROPOUT, 0, false);
  check("modernbert-cls", "modernbert-padded", MODERN_DROPOUT ",\"classifier_pooling\":\"mean\",\"local_attention\":4", 60,
        false);
  check("nomic-cls", "nomic", BERT_DROPOUT, 0, false);
  check("gte-cls", "gte", BERT_DROPOUT ",\"hidden_act\":\"relu\"", 0, false);
  check("eurobert-cls", "eurobert", EURO_DROPOUT, 0, false);
  check("eurobert-cls", "eurobert-first", EURO_DROPOUT ",\"classifier_pooling\":\"bos\"", 40, true);
  brim_runtime_free(case_runtime);
  return tap_done();
}
