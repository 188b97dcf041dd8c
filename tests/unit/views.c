/* views.c: rows judged by hand; what is kept of them and read again; a run with its views. */
#include "views_case.h"

static brim_runtime *runtime;
static const char *const names[] = {"bad", "good \"film\"", "so so"};
static const float classes[] = {0, 1, 2, 1, 1};
/* right, wrong, very wrong, right, wrong */
static const float class_logits[] = {2, 0, 0, 1, 0, 0, 9, 0, 0, 0, 3, 0, 0, 0, 2};

static void one_class(void) {
  brim_dataset *d = views_rows(runtime, BRIM_TASK_CLASSIFICATION, names, 3, classes, 5, 1);
  brim_judged j;
  brim_error err = {0};
  ok_int(views_judge(runtime, "dev", d, class_logits, &j, &err), BRIM_OK, "rows with one class each");
  ok(j.rows == 5 && j.step == 7 && j.outputs == 3 && j.metrics[0] == 0.5 && j.metrics[1] == 0.25, "their number and metrics");
  ok(j.classes[1].rows == 3 && j.classes[1].predicted == 1 && j.classes[1].both == 1, "a class is counted in both");
  ok(j.confused_count == 5 && j.confused[0].label == 0 && j.confused[0].predicted == 0 && j.confused[0].rows == 1 &&
         j.confused[3].label == 1 && j.confused[3].predicted == 2,
     "pairs in the order of the classes");
  ok(j.wrong_count == 3 && j.wrong[0].row == 2 && j.wrong[1].row == 4 && j.wrong[2].row == 1, "the largest loss first");
  ok_string(j.wrong[0].label, "so so", "its label");
  ok_string(j.wrong[0].predicted, "bad", "and what was predicted");
  ok(fabs(j.wrong[0].loss - log(2 + exp(9))) < 1e-9 && fabs(j.wrong[0].score - exp(9) / (2 + exp(9))) < 1e-9 &&
         fabs(j.wrong[0].label_score - 1 / (2 + exp(9))) < 1e-12,
     "loss and probabilities");
  brim_judged_free(&j);
  brim_dataset_free(d);
}

/* Row i has class i % 3 of very many, and is taken for class 99 where i % 3 is 1, for 98 where it is 2. */
static void many_classes(void) {
  enum { CLASSES = 100, ROWS = 90 };
  char text[CLASSES][16];
  const char *many[CLASSES];
  float *labels = calloc(ROWS, sizeof *labels), *logits = calloc(ROWS * CLASSES, sizeof *logits);
  brim_judged j;
  brim_error err = {0};
  for (int i = 0; i < CLASSES; i++) {
    snprintf(text[i], sizeof text[i], "c%02d", i);
    many[i] = text[i];
  }
  for (int i = 0; i < ROWS; i++) {
    labels[i] = (float)(i % 3);
    logits[i * CLASSES + (i % 3 == 0 ? 0 : i % 3 == 1 || i < 45 ? 99 : 98)] = 5;
  }
  brim_dataset *d = views_rows(runtime, BRIM_TASK_CLASSIFICATION, many, CLASSES, labels, ROWS, 1);
  ok_int(views_judge(runtime, "dev", d, logits, &j, &err), BRIM_OK, "a hundred classes");
  ok(j.confused_count == 3 && j.confused[0].label == 1 && j.confused[0].predicted == 99 && j.confused[0].rows == 30 &&
         j.confused[1].label == 2 && j.confused[1].predicted == 98 && j.confused[1].rows == 15 && j.confused[2].predicted == 99,
     "only wrong pairs, the most frequent first");
  ok_int(j.wrong_count, BRIM_MOST_WRONG, "no more wrong rows than are kept");
  brim_judged_free(&j);
  brim_dataset_free(d);
  free(labels), free(logits);
}

static bool same_judged(const brim_judged *a, const brim_judged *b) {
  bool same = strcmp(a->name, b->name) == 0 && a->step == b->step && a->rows == b->rows && a->task == b->task &&
              a->outputs == b->outputs && a->confused_count == b->confused_count && a->points == b->points &&
              a->wrong_count == b->wrong_count;
  for (int32_t i = 0; same && a->classes && i < a->outputs; i++)
    same = strcmp(a->names[i], b->names[i]) == 0 && memcmp(&a->classes[i], &b->classes[i], sizeof *a->classes) == 0;
  for (size_t i = 0; same && i < a->confused_count; i++)
    same = memcmp(&a->confused[i], &b->confused[i], sizeof *a->confused) == 0;
  for (size_t i = 0; same && i < a->points * (size_t)a->outputs; i++)
    same = a->labels[i] == b->labels[i] && a->values[i] == b->values[i];
  for (int i = 0; same && i < a->wrong_count; i++) {
    const brim_wrong_row *x = &a->wrong[i], *y = &b->wrong[i];
    same = x->row == y->row && x->word == y->word && strcmp(x->word_text, y->word_text) == 0 && x->loss == y->loss &&
           strcmp(x->label, y->label) == 0 && strcmp(x->predicted, y->predicted) == 0 && !x->text == !y->text &&
           (!x->text || strcmp(x->text, y->text) == 0);
  }
  return same;
}

/* Three rows of words. Of the first the second word has two tokens and the third no label; of the second all are cut off but one,
 * whose name is long. Of the third a token is labelled that is of no word. */
static void words(void) {
  enum { NONE = BRIM_NO_LABEL, LONG = 98 };
  static const int32_t ids[] = {1, 2, 2, 2, 2, 1}, own[] = {-1, 0, 1, 1, 2, 3, -1},
                       classes_of[] = {NONE, 0, 1, NONE, NONE, 2, NONE};
  static const int32_t other[] = {-1, 0, -1}, other_classes[] = {NONE, 0, NONE}, special_classes[] = {NONE, NONE, 0};
  static const char first[] = "a\0b b\0c\0d";
  static const float logits[] = {9, 0, 0, 0, 0, 4, 0, 9,
                                 0, 0, 2, 0, 0, 1, 0}; /* right; the word of two tokens; the last; the long one; none */
  static const int32_t right[] = {0, 1, 2, 0, 0};
  char text[LONG + 5] = "";
  memset(text, 'x', LONG);
  memcpy(text + LONG, "é", 3); /* the last of its bytes has no room */
  const brim_sample samples[] = {
      {.ids = (int32_t[]){1, 2, 2, 2, 2, 2, 1},
       .length = 7,
       .token_labels = classes_of,
       .words = own,
       .word_text = first,
       .word_text_length = sizeof first},
      {.ids = ids, .length = 3, .token_labels = other_classes, .words = other, .word_text = text, .word_text_length = LONG + 3},
      {.ids = ids, .length = 3, .token_labels = special_classes, .words = other, .word_text = "a", .word_text_length = 2}};
  brim_outcome outcomes[5];
  brim_labels labels;
  brim_dataset *d = NULL;
  brim_judged j;
  brim_error err = {0};
  for (int i = 0; i < 5; i++)
    outcomes[i] = brim_outcome_of(logits + 3 * i, 3, right[i]);
  ok(brim_labels_make(runtime, BRIM_TASK_TOKENS, names, 3, &labels, &err) == BRIM_OK &&
         brim_dataset_from_samples(runtime, samples, 3, &labels, &d, &err) == BRIM_OK,
     "rows of words");
  const brim_metrics metrics = {.rows = 3};
  const brim_verdict verdict = {
      .name = "dev", .task = BRIM_TASK_TOKENS, .labels = &labels, .dataset = d, .metrics = &metrics, .outcomes = outcomes};
  ok_int(brim_judge(runtime, &verdict, &j, &err), BRIM_OK, "are judged");
  ok_int(j.wrong_count, 4, "three words are wrong, and a token of none");
  ok(j.wrong[0].row == 0 && j.wrong[0].word == 3 && !strcmp(j.wrong[0].word_text, "d"),
     "words are named: one after others without a label");
  ok(j.wrong[1].row == 0 && j.wrong[1].word == 1 && !strcmp(j.wrong[1].word_text, "b b"), "one of two tokens");
  ok(j.wrong[2].row == 1 && j.wrong[2].word == 0 && strlen(j.wrong[2].word_text) == LONG,
     "of a long one there are whole characters");
  ok(j.wrong[3].row == 2 && j.wrong[3].word == 2 && !j.wrong[3].word_text[0], "a token of no word is named by its place");
  brim_judged *again = NULL;
  int count = 0;
  const char *folder = scratch_file("words");
  mkdir(folder, 0777);
  ok(brim_judged_write(runtime, folder, &j, 1, &err) == BRIM_OK &&
         brim_judged_read(runtime, folder, &again, &count, &err) == BRIM_OK && count == 1 && same_judged(&again[0], &j),
     "a run keeps them");
  brim_judged_free_all(runtime, again, count);
  brim_judged_free(&j);
  brim_dataset_free(d);
  brim_labels_free(&labels);
}

static void many_labels(void) {
  static const float labels[] = {1, 1, 0, 0, 0, 0}, logits[] = {1, -1, 4, -1, -2, -3};
  brim_dataset *d = views_rows(runtime, BRIM_TASK_MULTI_LABEL, names, 3, labels, 2, 3);
  brim_judged j;
  brim_error err = {0};
  ok_int(views_judge(runtime, "dev", d, logits, &j, &err), BRIM_OK, "rows with several labels");
  ok_int(j.wrong_count, 1, "the row without labels is right");
  ok_string(j.wrong[0].label, "bad, good \"film\"", "labels by name");
  ok_string(j.wrong[0].predicted, "bad, so so", "and predictions");
  ok(isnan(j.wrong[0].score) && j.classes[0].both == 1 && j.classes[2].predicted == 1 && j.classes[2].rows == 0, "counts");
  brim_judged_free(&j);
  brim_dataset_free(d);
}

static void values(void) {
  static const float labels[] = {1, 2, 3}, logits[] = {1, 4, 2.5f};
  brim_dataset *d = views_rows(runtime, BRIM_TASK_REGRESSION, NULL, 1, labels, 3, 1);
  brim_judged j;
  brim_error err = {0};
  ok_int(views_judge(runtime, "dev", d, logits, &j, &err), BRIM_OK, "values");
  ok(j.points == 3 && j.labels[1] == 2 && j.values[1] == 4 && !j.classes, "labels beside predictions");
  ok(j.wrong_count == 2 && j.wrong[0].row == 1 && j.wrong[0].loss == 4, "the squared distance is the loss");
  ok_string(j.wrong[1].predicted, "2.5", "a value as text");
  brim_judged_free(&j);
  brim_dataset_free(d);
}

static void texts(brim_judged *j) {
  static char book[BRIM_MOST_PASSAGE + 100];
  brim_error err = {0};
  memset(book, 'x', sizeof book);
  book[7] = 0;
  ok_int(brim_judged_set_text(j, 0, "a \"text\"\n", 9, "and another", 11, &err), BRIM_OK, "a text of the caller's");
  ok_string(j->wrong[0].text, "a \"text\"\n\n\nand another", "its pair follows after an empty line");
  ok_int(brim_judged_set_text(j, 1, book, sizeof book, NULL, 0, &err), BRIM_OK, "a long text");
  ok(strlen(j->wrong[1].text) == j->wrong[1].length && strncmp(j->wrong[1].text, "xxxxxxx x", 9) == 0 &&
         strstr(j->wrong[1].text, "x … (cut here; it has 6,100 bytes)"),
     "ends early, and says so");
  ok_int(brim_judged_set_text(j, 3, "a", 1, NULL, 0, &err), BRIM_E_USAGE, "a row that is not there");
  ok_string(err.message, "there are 3 wrong rows, not one of number 3", "which it says");
}

static void kept(void) {
  static const float reals[] = {1, 2, 3, 4}, real_logits[] = {1, 4, 2.5f, 8};
  const char *folder = scratch_file("kept");
  brim_dataset *d = views_rows(runtime, BRIM_TASK_CLASSIFICATION, names, 3, classes, 5, 1);
  brim_dataset *v = views_rows(runtime, BRIM_TASK_REGRESSION, NULL, 2, reals, 2, 2);
  brim_judged sets[2], *again;
  brim_error err = {0};
  int count = -1;
  mkdir(folder, 0777);
  ok(brim_judged_read(runtime, folder, &again, &count, &err) == BRIM_OK && count == 0, "a run that keeps nothing");
  brim_judged_free_all(runtime, again, count);
  ok(views_judge(runtime, "dev", d, class_logits, &sets[0], &err) == BRIM_OK &&
         views_judge(runtime, "a \"set\"", v, real_logits, &sets[1], &err) == BRIM_OK,
     "two sets");
  texts(&sets[0]);
  ok_int(brim_judged_write(runtime, folder, sets, 2, &err), BRIM_OK, "are written");
  ok_int(brim_judged_read(runtime, folder, &again, &count, &err), BRIM_OK, "and read");
  ok(count == 2 && same_judged(&sets[0], &again[0]) && same_judged(&sets[1], &again[1]), "as they were");
  brim_judged_free_all(runtime, again, count);
  case_write(case_path(folder, "evaluation.jsonl"), "{\"event\":\"set\",\"set\":0,\"name\":\"dev\"}\n", 37);
  ok_int(brim_judged_read(runtime, folder, &again, &count, &err), BRIM_E_FORMAT, "a file of somebody else's");
  ok(strstr(err.message, "this is not what a run keeps of its evaluation"), "is called that: %s", err.message);
  brim_judged_free_all(runtime, again, count);
  brim_judged_free(&sets[0]), brim_judged_free(&sets[1]);
  brim_dataset_free(d), brim_dataset_free(v);
}

/* ---- a run ------------------------------------------------------------------------------------------------ */

static int failures;
static char failed[300];

static void on_failure(void *context, const char *what, const brim_error *err) {
  (void)context;
  snprintf(failed + strlen(failed), sizeof failed - strlen(failed), "%s (%s); ", what, *err->message ? "why" : "no reason");
  failures++;
}

static int train(case_job *job, const char *output, brim_views *views, brim_dataset *eval, brim_error *err) {
  const brim_named_dataset sets = {"dev", eval};
  brim_train_options options = case_options(output);
  brim_train_result result;
  options.max_steps = 2;
  options.event = brim_views_event, options.evaluated = brim_views_evaluated, options.event_context = views;
  return brim_train(job->runtime, job->model, NULL, job->train, &sets, 1, &options, &result, err);
}

static const char *const *own_names(const brim_model *model) {
  return (const char *const *)brim_model_labels(model)->names;
}

static void run(void) {
  const char *output = scratch_file("run");
  case_job job = case_open(case_model_folder("bert-pair-3"), 1);
  const int32_t outputs = brim_model_outputs(job.model);
  brim_dataset *eval = views_rows(job.runtime, BRIM_TASK_CLASSIFICATION, own_names(job.model), outputs, classes, 5, 1);
  brim_views *views;
  brim_judged own;
  brim_metrics metrics;
  brim_error err = {0};
  int count;
  ok_int(brim_views_new(job.runtime, output, on_failure, NULL, &views, &err), BRIM_OK, "views of a run that is not there yet");
  ok_int(train(&job, output, views, eval, &err), BRIM_OK, "it trains");
  brim_judged *sets = brim_views_judged(views, &count);
  ok(count == 1 && strcmp(sets->name, "dev") == 0 && sets->step == 2 && sets->rows == 5, "its evaluation is held");
  ok_int(brim_judge_dataset(job.runtime, job.model, eval, NULL, &metrics, &own, &err), BRIM_OK, "the model judges by itself");
  ok(own.wrong_count == sets->wrong_count && own.metrics[0] == sets->metrics[0] && metrics.rows == 5 && metrics.tokens == 10,
     "and finds the same");
  for (int i = 0; i < sets->wrong_count; i++)
    ok_int(brim_judged_set_text(sets, i, "what <nobody> saw", 17, NULL, 0, &err), BRIM_OK, "a text");
  brim_views_close(views, true);
  char *page = case_read(case_path(output, "report.html"), NULL);
  static const char *const parts[] = {"Most wrong: dev", "Norm of the gradient", "loss of the last epoch", "best accuracy, step"};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    ok(page && strstr(page, parts[i]), "the report has \"%s\"", parts[i]);
  ok(page && (!own.wrong_count || strstr(page, "what &lt;nobody&gt; saw")), "and the texts");
  ok(case_exists(case_path(output, "evaluation.jsonl")) && case_exists(case_path(output, "tensorboard")),
     "the rest is there too");
  ok_int(failures, 0, "nothing failed");
  free(page);
  brim_judged_free(&own);
  brim_dataset_free(eval);
  case_close(&job);
}

/* A run is worth keeping where nothing can be written of it. */
static void pictures_fail(void) {
  case_job job = case_open(case_model_folder("bert-pair-3"), 1);
  brim_dataset *eval = views_rows(job.runtime, BRIM_TASK_CLASSIFICATION, own_names(job.model), brim_model_outputs(job.model),
                                  classes, 5, 1);
  brim_views *views;
  brim_error err = {0};
  ok_int(brim_views_new(job.runtime, "/dev/null/run", on_failure, NULL, &views, &err), BRIM_OK, "views that cannot be written");
  ok_int(train(&job, scratch_file("other"), views, eval, &err), BRIM_OK, "stop no run");
  brim_views_close(views, true);
  ok_string(failed, "no more events for TensorBoard (why); predictions are not kept (why); no report (why); ", "and all is told");
  brim_views_close(NULL, true);
  brim_dataset_free(eval);
  case_close(&job);
}

/* What rounds say of speeds, in words. */
static void speeds(void) {
  static const struct {
    double speed, low, high;
    int rounds;
    const char *text;
  } cases[] = {{2.314, 2.2, 2.5, 12, "2.31 x"},
               {2.314, 2.2, 2.5, 4, "2.31 x (2.20–2.50)"},
               {1.08, 1.02, 1.21, 12, "1.08 x (1.02–1.21)"},
               {0.68, 0.5, 0.9, 12, "0.68 x (0.50–0.90)"},
               {0.68, 0.6, 0.7, 12, "0.68 x"},
               {0.68, 0.5, 1.0, 12, "not clear (0.50–1.00)"},
               {1.3, 0.8, 1.6, 12, "not clear (0.80–1.60)"},
               {1.02, 0.97, 1.04, 12, "about the same (0.97–1.04)"},
               {1.004, 1.001, 1.006, 12, "about the same (1.00–1.01)"},
               {1.5, (double)NAN, (double)NAN, 2, "too few rounds"},
               {(double)NAN, (double)NAN, (double)NAN, 12, "too few rounds"}};
  char text[48];
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const brim_mode_result results[] = {
        {.speed = 1, .speed_low = 1, .speed_high = 1, .round_count = 12},
        {.speed = cases[i].speed, .speed_low = cases[i].low, .speed_high = cases[i].high, .round_count = cases[i].rounds}};
    brim_speed_text(results, 1, text, sizeof text);
    ok_string(text, cases[i].text, "a speed as the table says it");
    brim_speed_text(results, 0, text, sizeof text);
    ok_string(text, "1.00 x", "the first mode is what others are measured by");
  }
}

static const char *shown(brim_task task, const brim_metrics *metrics) {
  const brim_mode_result result = {.evaluated = metrics != NULL, .metrics = metrics ? *metrics : brim_metrics_none(0)};
  return brim_comparison_metric(task, BRIM_SIMILARITY_COSINE, &result, 1);
}

/* Of modes that are compared the best metric of the task, or the one that the rows have. */
static void metrics_shown(void) {
  brim_metrics m = brim_metrics_none(4);
  m.accuracy = m.rmse = m.f1_micro = 0.5;
  ok_string(shown(BRIM_TASK_CLASSIFICATION, &m), "accuracy", "of classes");
  ok_string(shown(BRIM_TASK_REGRESSION, &m), "rmse", "of values");
  ok_string(shown(BRIM_TASK_TOKENS, &m), "f1_micro", "of words");
  ok_string(shown(BRIM_TASK_EMBEDDING, &m), "accuracy", "of rows with negatives");
  m.mrr = 0.5;
  ok_string(shown(BRIM_TASK_EMBEDDING, &m), "mrr", "of pairs without labels");
  m.spearman = 0.5;
  ok_string(shown(BRIM_TASK_EMBEDDING, &m), "spearman", "of pairs with scores");
  m.average_precision = 0.5;
  ok_string(shown(BRIM_TASK_EMBEDDING, &m), "average_precision", "of pairs of 0 and 1");
  ok_string(shown(BRIM_TASK_RERANK, &m), "average_precision", "of scores that have no order");
  m.ndcg = 0.5;
  ok_string(shown(BRIM_TASK_RERANK, &m), "ndcg", "and of those that have one");
  ok_string(shown(BRIM_TASK_REGRESSION, NULL), "rmse", "nothing was evaluated");
}

int main(void) {
  brim_error err;
  if (brim_runtime_new(&(brim_runtime_options){.threads = 1}, &runtime, &err))
    return 99;
  one_class();
  many_classes();
  words();
  many_labels();
  values();
  kept();
  run();
  pictures_fail();
  speeds();
  metrics_shown();
  brim_runtime_free(runtime);
  return tap_done();
}
