/* views_fit.c: rows that were encoded for something else than the model that sees them: other classes, in another order, fewer;
 * another task, tokenizer, kind of texts. What fits gives what rows in the model's own numbering give; the rest is one line. */
#include "data/dataset.h"
#include "data/relabel.h"
#include "train_case.h"
#include "views_case.h"

enum { ROWS = 30, OUTPUTS = 3 };
static const char *const own_names[OUTPUTS] = {"neg", "neutral", "pos"};
static brim_runtime *runtime;
static brim_model *model;

static brim_labels labels_of(brim_task task, const char *const *names, int32_t count) {
  brim_labels labels;
  if (brim_labels_make(runtime, task, names, count, &labels, NULL))
    exit(99);
  return labels;
}

/* The rows of case_dataset with classes 0 to classes - 1, under another mapping: class i is named `names`[i]. */
static brim_dataset *rows_of(brim_task task, const char *const *names, int32_t count, const int32_t *class_of) {
  brim_dataset *plain = case_dataset(runtime, ROWS, 20, brim_model_vocab_size(model), 2, 5), *out;
  brim_sample samples[ROWS];
  float many[ROWS][8] = {{0}};
  brim_labels labels = labels_of(task, names, count);
  brim_error err;
  for (int i = 0; i < ROWS; i++) {
    brim_dataset_sample(plain, (uint64_t)i, &samples[i]);
    const int32_t class = class_of[(int)*samples[i].labels];
    samples[i].label = (float)class, samples[i].labels = NULL, samples[i].label_width = 0;
    if (task == BRIM_TASK_MULTI_LABEL)
      many[i][class] = 1, samples[i].labels = many[i], samples[i].label_width = count;
  }
  if (brim_dataset_from_samples(runtime, samples, ROWS, &labels, &out, &err)) {
    printf("Bail out! %s\n", err.message);
    exit(99);
  }
  brim_labels_free(&labels);
  brim_dataset_free(plain);
  return out;
}

/* Of the model's own numbering: classes neg and pos. */
static brim_dataset *own_rows(void) {
  return rows_of(BRIM_TASK_CLASSIFICATION, own_names, OUTPUTS, (const int32_t[]){0, 2});
}

static brim_dataset *swapped_rows(void) {
  return rows_of(BRIM_TASK_CLASSIFICATION, (const char *const[]){"pos", "neg"}, 2, (const int32_t[]){1, 0});
}

static void evaluated(void) {
  brim_dataset *own = own_rows(), *swapped = swapped_rows();
  uint64_t counts[2][OUTPUTS * OUTPUTS];
  brim_metrics metrics[2];
  brim_judged judged[2];
  brim_error err = {0};
  for (int i = 0; i < 2; i++) {
    brim_eval_options options;
    brim_eval_options_init(&options);
    options.confusion = counts[i];
    ok_int(brim_evaluate(runtime, model, i ? swapped : own, &options, &metrics[i], &err), BRIM_OK, "evaluated");
    ok_int(brim_judge_dataset(runtime, model, i ? swapped : own, NULL, NULL, &judged[i], &err), BRIM_OK, "and judged");
  }
  ok(metrics[0].loss == metrics[1].loss && metrics[0].accuracy == metrics[1].accuracy &&
         memcmp(counts[0], counts[1], sizeof *counts) == 0,
     "with two classes in another order the same loss %g and confusion", metrics[0].loss);
  ok(judged[1].outputs == OUTPUTS && judged[0].classes[2].rows == judged[1].classes[2].rows && judged[1].classes[1].rows == 0 &&
         strcmp(judged[0].wrong[0].label, judged[1].wrong[0].label) == 0,
     "and what is judged has the model's classes");
  brim_judged_free(&judged[0]), brim_judged_free(&judged[1]);
  brim_dataset_free(own), brim_dataset_free(swapped);
}

typedef struct run {
  brim_train_result result;
  double eval_loss;
  int32_t outputs;
  uint64_t rows;
} run;

static int on_event(void *context, const brim_event *event) {
  run *r = context;
  if (strcmp(event->kind, "eval") == 0)
    r->eval_loss = brim_event_field(event, "loss")->real;
  return BRIM_OK;
}

static brim_views *views;

static void on_evaluated(void *context, const brim_evaluation *evaluation) {
  (void)context;
  brim_views_evaluated(views, evaluation);
}

/* From the same weights; what it comes to, with its views. */
static run train(const brim_dataset *rows, const brim_dataset *eval) {
  run r = {0};
  brim_error err = {0};
  int count;
  const int64_t size = brim_model_flat_size(model);
  float *weights = malloc((size_t)size * sizeof *weights);
  brim_train_options options = case_options(NULL);
  options.epochs = 1, options.event = on_event, options.event_context = &r, options.evaluated = on_evaluated;
  const brim_named_dataset sets[] = {{"dev", eval}};
  ok(brim_model_read(model, BRIM_VALUES, 0, size, weights, &err) == BRIM_OK &&
         brim_views_new(runtime, NULL, NULL, NULL, &views, &err) == BRIM_OK &&
         brim_train(runtime, model, NULL, rows, sets, 1, &options, &r.result, &err) == BRIM_OK,
     "trained%s%s", *err.message ? ": " : "", err.message);
  const brim_judged *sets_judged = brim_views_judged(views, &count);
  r.outputs = count == 1 ? sets_judged->outputs : 0;
  r.rows = count == 1 ? sets_judged->classes[2].rows : 0;
  brim_views_close(views, false);
  if (brim_model_write(model, BRIM_VALUES, 0, size, weights, &err))
    exit(99);
  free(weights);
  return r;
}

static void trained(void) {
  brim_dataset *own = own_rows(), *swapped = swapped_rows();
  const run a = train(own, own), b = train(swapped, swapped);
  ok(a.result.loss == b.result.loss && a.result.loss > 0, "training on classes in another order has the same loss, %g",
     a.result.loss);
  ok(a.eval_loss == b.eval_loss && b.outputs == OUTPUTS && a.rows == b.rows && a.rows > 0, "its evaluations and views too");
  brim_folds folds;
  brim_folds_result results[2];
  brim_error err = {0};
  for (int i = 0; i < 2; i++) {
    brim_train_options options = case_options(NULL);
    options.epochs = 1;
    const brim_named_dataset sets[] = {{"test", i ? own : swapped}};
    ok(brim_folds_shuffle(runtime, ROWS, 2, 1, &folds, &err) == BRIM_OK &&
           brim_train_folds(runtime, model, NULL, i ? swapped : own, &folds, sets, 1, &options, &results[i], &err) == BRIM_OK,
       "in folds %s", err.message);
    brim_folds_free(&folds);
  }
  ok(results[0].metrics.loss == results[1].metrics.loss &&
         results[0].averages[0].metrics.loss == results[1].averages[0].metrics.loss,
     "and folds");
  brim_folds_result_free(&results[0]), brim_folds_result_free(&results[1]);
  brim_dataset_free(own), brim_dataset_free(swapped);
}

/* "!code message", or "fits" and whether it was mapped. */
static const char *fit(const brim_dataset *rows, bool labels) {
  static char out[1200];
  brim_dataset *mapped;
  brim_error err = {0};
  const int status = brim_dataset_fit(runtime, model, rows, 0, labels, "dev", &mapped, &err);
  if (!status)
    snprintf(out, sizeof out, "fits%s", mapped ? ", mapped" : "");
  else
    snprintf(out, sizeof out, "!%d %s", status, err.message);
  brim_dataset_free(mapped);
  return out;
}

/* Of a caller who mixes labels up, a line and nothing else. */
static void judged_by_hand(void) {
  brim_dataset *own = own_rows();
  brim_labels two = labels_of(BRIM_TASK_CLASSIFICATION, own_names, 2), values = labels_of(BRIM_TASK_REGRESSION, NULL, 1);
  brim_outcome outcomes[ROWS];
  brim_judged out;
  brim_error err = {0};
  for (int i = 0; i < ROWS; i++)
    outcomes[i] = (brim_outcome){.label = i % 2, .predicted = 2 * (i == 7)};
  const brim_metrics metrics = {.rows = ROWS};
  brim_verdict verdict = {
      .name = "dev", .task = two.task, .labels = &two, .dataset = own, .metrics = &metrics, .outcomes = outcomes};
  ok_int(brim_judge(runtime, &verdict, &out, &err), BRIM_E_MISMATCH, "a prediction outside of the labels");
  ok_string(err.message, "dev: what was predicted is not of the 2 labels of the task classification", "is reported");
  brim_judged_free(&out);
  verdict.task = values.task, verdict.labels = &values;
  ok_int(brim_judge(runtime, &verdict, &out, &err), BRIM_E_MISMATCH, "outcomes of a regression");
  brim_judged_free(&out);
  brim_labels_free(&two);
  brim_labels_free(&values);
  brim_dataset_free(own);
}

static void refused(void) {
  brim_dataset *unknown = rows_of(BRIM_TASK_CLASSIFICATION, (const char *const[]){"neg", "fine"}, 2, (const int32_t[]){0, 1});
  brim_dataset *unused = rows_of(BRIM_TASK_CLASSIFICATION, (const char *const[]){"fine", "pos", "neg"}, 3,
                                 (const int32_t[]){2, 1});
  brim_dataset *many = rows_of(BRIM_TASK_MULTI_LABEL, own_names, OUTPUTS, (const int32_t[]){0, 2});
  brim_dataset *values = rows_of(BRIM_TASK_REGRESSION, NULL, 1, (const int32_t[]){0, 2});
  const char *said = fit(unknown, true);
  ok(!strncmp(said, "!7 dev: row ", 12) &&
         strstr(said, "has the label \"fine\", which is not among the 3 of the model: neg, neutral, pos"),
     "a class that the model does not know: %s", said);
  ok_string(fit(unknown, false), "fits", "which predictions do not look at");
  ok_string(fit(unused, true), "fits, mapped", "one that no row has does not matter");
  ok_string(fit(many, true),
            "!7 dev: the rows are labelled for multi-label (neg, neutral, pos), and the model is of classification (neg, "
            "neutral, pos): "
            "give it rows with its labels",
            "another task");
  ok_string(
      fit(values, true),
      "!7 dev: the rows are labelled for regression, and the model is of classification (neg, neutral, pos): give it rows with "
      "its labels",
      "values");
  brim_dataset_set_tokenizer(unused, 17);
  ok_string(fit(unused, false), "fits", "a tokenizer, where the model's is not known");
  brim_model_set_tokenizer(model, 18);
  ok_string(
      fit(unused, false),
      "!7 dev: another tokenizer encoded the rows (its content is 0000000000000011) than the model's (0000000000000012): encode "
      "them with the model's own",
      "another tokenizer");
  ok_string(fit(many, false), "fits", "rows of an unknown one");
  brim_model_set_tokenizer(model, 0);
  brim_dataset *own = own_rows(), *singles = own_rows();
  singles->from_texts = true, singles->pairs = false;
  brim_train_options options = case_options(NULL);
  brim_error err = {0};
  const brim_named_dataset sets[] = {{"dev", singles}};
  ok(brim_train(runtime, model, NULL, own, sets, 1, &options, NULL, &err) == BRIM_E_MISMATCH &&
         !strcmp(err.message, "dev: the rows are single texts, and those of the training data are pairs of texts: give the "
                              "second text too (pair_column)"),
     "single texts with pairs: %s", err.message);
  brim_dataset *all[] = {unknown, unused, many, values, own, singles};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    brim_dataset_free(all[i]);
}

/* brim_train of own rows, with one option changed. */
static const char *trained_with(void (*change)(brim_train_options *options)) {
  static char out[1200];
  brim_dataset *own = own_rows();
  brim_train_options options = case_options(NULL);
  brim_error err = {0};
  change(&options);
  const int status = brim_train(runtime, model, NULL, own, NULL, 0, &options, NULL, &err);
  brim_error_text(&err, out, sizeof out);
  brim_dataset_free(own);
  return status ? out : "trained";
}

static void precise(brim_train_options *o) {
  o->precision = (brim_precision)9;
}

static void averaging(brim_train_options *o) {
  o->swa_every = 2;
}

static void resuming(brim_train_options *o) {
  o->resume_anyway = true;
}

static void recording(brim_train_options *o) {
  o->options_json = "{bad";
}

/* What an option cannot do is refused, also where a program is the caller. */
static void options_refused(void) {
  brim_dataset *own = own_rows();
  brim_eval_options eval;
  brim_metrics metrics;
  brim_error err = {0};
  ok_string(trained_with(precise), "precision 9 does not exist: use one of brim/model.h", "a precision that there is not");
  ok_string(trained_with(averaging), "swa_every has no effect without swa_start: add it, or leave both out", "swa_every alone");
  ok_string(trained_with(resuming), "resume_anyway has no effect without resume: add it, or leave both out",
            "resume_anyway alone");
  ok_string(trained_with(recording), "options_json: line 1, byte 1: not valid JSON: expected a key in quotes, but here is 'b'",
            "what is to be recorded and is no JSON");
  brim_eval_options_init(&eval);
  eval.batch_size = -1;
  ok_int(brim_evaluate(runtime, model, own, &eval, &metrics, &err), BRIM_E_USAGE, "a negative batch size of an evaluation");
  brim_eval_options_init(&eval);
  eval.precision = (brim_precision)77;
  ok_int(brim_evaluate(runtime, model, own, &eval, &metrics, &err), BRIM_E_USAGE, "and a precision that there is not");
  brim_dataset_free(own);
}

/* Sets without a name or rows, and what a call that was refused leaves of the model. */
static void sets_refused(void) {
  brim_dataset *own = own_rows();
  brim_train_options options = case_options(NULL);
  brim_tokenizer *tokenizer;
  brim_folds folds;
  brim_folds_result result;
  brim_error err = {0};
  const brim_named_dataset nameless[] = {{"dev", own}, {NULL, own}}, empty[] = {{"dev", NULL}};
  ok(brim_train(runtime, model, NULL, own, nameless, 2, &options, NULL, &err) == BRIM_E_USAGE &&
         !strcmp(err.message, "evaluation set 1 has no name: give both"),
     "a set without a name: %s", err.message);
  ok(brim_train(runtime, model, NULL, own, empty, 1, &options, NULL, &err) == BRIM_E_USAGE &&
         !strcmp(err.message, "evaluation set 0 has no rows: give both"),
     "a set without rows: %s", err.message);
  ok(brim_folds_shuffle(runtime, ROWS, 2, 1, &folds, &err) == BRIM_OK &&
         brim_train_folds(runtime, model, NULL, own, &folds, nameless, 2, &options, &result, &err) == BRIM_E_USAGE,
     "in folds, too: %s", err.message);
  brim_folds_result_free(&result);
  scratch_write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n");
  if (brim_tokenizer_load(runtime, scratch_file("vocab.txt"), &tokenizer, &err))
    exit(99);
  brim_dataset_set_tokenizer(own, 17);
  ok_int(brim_train(runtime, model, tokenizer, own, NULL, 0, &options, NULL, &err), BRIM_E_MISMATCH, "another tokenizer's rows");
  ok(!brim_model_tokenizer(model), "leave the model without that tokenizer");
  ok_int(brim_train_folds(runtime, model, tokenizer, own, &folds, NULL, 0, &options, &result, &err), BRIM_E_MISMATCH, "in folds");
  ok(!brim_model_tokenizer(model), "likewise");
  brim_folds_result_free(&result);
  brim_folds_free(&folds);
  brim_tokenizer_free(tokenizer);
  brim_dataset_free(own);
}

/* A score is of pairs: single texts, and texts each by itself, are other rows. */
static void joined(void) {
  brim_model *usual = model;
  brim_labels score = labels_of(BRIM_TASK_RERANK, NULL, 1);
  brim_dataset *rows = own_rows();
  brim_error err = {0};
  if (brim_model_load(runtime, case_model_folder("bert-pair-3"), &(brim_model_options){.seed = 1, .labels = &score}, &model,
                      &err))
    exit(99);
  rows->from_texts = true, rows->pairs = true;
  ok_string(fit(rows, false), "fits", "pairs are scored");
  rows->from_texts = false, rows->pairs = false;
  ok_string(fit(rows, false), "fits", "rows of which it is not known too");
  rows->from_texts = true;
  ok_string(fit(rows, false),
            "!7 dev: the rows are single texts, and the model is of rerank, which reads two texts as one: encode pairs",
            "single texts are not");
  brim_model_free(model);
  model = usual;
  brim_dataset_free(rows);
  brim_labels_free(&score);
}

/* Several labels, and labels of words, are mapped as single ones are. */
static void mapped(void) {
  brim_labels own = labels_of(BRIM_TASK_MULTI_LABEL, own_names, OUTPUTS);
  brim_dataset *two = rows_of(BRIM_TASK_MULTI_LABEL, (const char *const[]){"pos", "neg"}, 2, (const int32_t[]){1, 0}), *out;
  brim_error err = {0};
  ok_int(brim_dataset_relabel(runtime, two, &own, "dev", &out, &err), BRIM_OK, "several labels");
  bool right = true;
  for (uint64_t row = 0; row < ROWS; row++) {
    brim_sample a, b;
    brim_dataset_sample(two, row, &a);
    brim_dataset_sample(out, row, &b);
    right = right && b.label_width == OUTPUTS && b.labels[0] == a.labels[1] && b.labels[1] == 0 && b.labels[2] == a.labels[0] &&
            a.ids == b.ids;
  }
  ok(right, "are in the places of the model's, and tokens are not copied");
  brim_dataset_free(out);
  brim_dataset_free(two);
  brim_labels_free(&own);
  brim_labels tags = labels_of(BRIM_TASK_TOKENS, (const char *const[]){"B", "I", "O"}, 3);
  brim_labels known = labels_of(BRIM_TASK_TOKENS, (const char *const[]){"O", "B"}, 2);
  const int32_t ids[] = {1, 2, 3}, classes[] = {2, 0, BRIM_NO_LABEL}, other[] = {2, 1, BRIM_NO_LABEL};
  const brim_sample sample = {.ids = ids, .length = 3, .token_labels = classes},
                    bad = {.ids = ids, .length = 3, .token_labels = other};
  brim_sample back;
  brim_dataset *rows;
  ok_int(brim_dataset_from_samples(runtime, &sample, 1, &tags, &rows, &err), BRIM_OK, "labels of tokens");
  ok_int(brim_dataset_relabel(runtime, rows, &known, "dev", &out, &err), BRIM_OK, "are mapped");
  brim_dataset_sample(out, 0, &back);
  ok(back.token_labels[0] == 0 && back.token_labels[1] == 1 && back.token_labels[2] == BRIM_NO_LABEL &&
         brim_dataset_token_labels(out)[1] == 2,
     "and none stays none");
  brim_dataset_free(out);
  brim_dataset_free(rows);
  ok(brim_dataset_from_samples(runtime, &bad, 1, &tags, &rows, &err) == BRIM_OK &&
         brim_dataset_relabel(runtime, rows, &known, "dev", &out, &err) == BRIM_E_MISMATCH && !out,
     "a tag that is not known: %s", err.message);
  brim_dataset_free(rows);
  brim_labels_free(&tags);
  brim_labels_free(&known);
}

/* A value that is whole is a decimal in what is predicted: read again it is one, and no class. */
static void written(void) {
  brim_model *values;
  brim_labels two = labels_of(BRIM_TASK_REGRESSION, NULL, 2);
  brim_dataset *rows = own_rows();
  brim_text out;
  brim_error err = {0};
  double scores[2];
  if (brim_model_load(runtime, case_model_folder("bert-pair-3"), &(brim_model_options){.seed = 1, .labels = &two}, &values, &err))
    exit(99);
  brim_text_init(&out, runtime);
  brim_prediction_put(&out, values, rows, 0, 7, (const float[]){1, -0.25f}, scores);
  ok_string(out.data, "{\"index\":7,\"label\":[1.0,-0.25],\"scores\":[1,-0.25]}\n", "whole values are decimals");
  brim_text_free(&out);
  brim_dataset_free(rows);
  brim_labels_free(&two);
  brim_model_free(values);
}

int main(void) {
  brim_error err = {0};
  if (brim_runtime_new(&(brim_runtime_options){.threads = 1}, &runtime, &err))
    exit(99);
  brim_labels own = labels_of(BRIM_TASK_CLASSIFICATION, own_names, OUTPUTS);
  if (brim_model_load(runtime, case_model_folder("bert-pair-3"), &(brim_model_options){.seed = 1, .labels = &own}, &model,
                      &err)) {
    printf("Bail out! %s\n", err.message);
    exit(99);
  }
  evaluated();
  trained();
  refused();
  options_refused();
  sets_refused();
  joined();
  judged_by_hand();
  mapped();
  written();
  brim_labels_free(&own);
  brim_model_free(model);
  brim_runtime_free(runtime);
  return tap_done();
}
