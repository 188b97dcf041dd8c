/* Masked words with a large vocabulary: what a run holds at most is what was planned, evaluation included. Neither grows with the
 * masked tokens times the vocabulary, nor with the rows that are evaluated. */
#include <sys/resource.h>
#include <sys/wait.h>

#include "model/files/safetensors.h"
#include "train_case.h"

enum { VOCABULARY = 50368, SMALL = 3000, HIDDEN = 16, ROWS = 400, WORDS = 22 };

static char folder[512];
static const char *source;

/* ---- the model: that of the golden folder, whose words come again and again -------------------------------------- */

static void must(int status, const brim_error *err) {
  if (status == BRIM_OK)
    return;
  printf("Bail out! %s\n", err->message);
  exit(99);
}

static void write_config(void) {
  char *config = case_read(case_path(source, "config.json"), NULL), *at = strstr(config, "\"vocab_size\": 3000");
  char *out = malloc(strlen(config) + 16);
  sprintf(out, "%.*s\"vocab_size\": %d%s", (int)(at - config), config, VOCABULARY, at + strlen("\"vocab_size\": 3000"));
  case_write(case_path(folder, "config.json"), out, strlen(out));
  free(config), free(out);
}

static float *larger(const float *values, int64_t width) {
  float *all = malloc(sizeof *all * (size_t)(VOCABULARY * width));
  for (int64_t i = 0; i < VOCABULARY * width; i++)
    all[i] = values[i % (SMALL * width)];
  return all;
}

static void write_model(brim_runtime *runtime) {
  enum { MOST = 100 };
  brim_tensor tensors[MOST];
  brim_model *model;
  brim_error err = {0};
  int count = 0;
  snprintf(folder, sizeof folder, "%s", scratch_file("large"));
  if (mkdir(folder, 0777))
    exit(99);
  must(brim_model_load(runtime, source, NULL, &model, &err), &err);
  for (; count < brim_model_parameter_count(model) && count < MOST; count++) {
    const brim_parameter *p = brim_model_parameter(model, count);
    const float *values = brim_model_values(model) + p->offset;
    const bool words = p->shape[0] == SMALL;
    tensors[count] = (brim_tensor){p->name,
                                   p->rank,
                                   {words ? VOCABULARY : p->shape[0], p->shape[1]},
                                   words ? larger(values, p->rank == 2 ? p->shape[1] : 1) : values};
  }
  write_config();
  must(brim_tensors_write(runtime, case_path(folder, "model.safetensors"), tensors, count, &err), &err);
  for (int i = 0; i < count; i++)
    if (tensors[i].shape[0] == VOCABULARY)
      free((void *)tensors[i].data);
  brim_model_free(model);
  for (int i = 0; i < 2; i++) {
    static const char *const names[] = {"tokenizer.json", "tokenizer_config.json"};
    size_t length;
    char *bytes = case_read(case_path(source, names[i]), &length);
    case_write(case_path(folder, names[i]), bytes, length);
    free(bytes);
  }
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

static int get_text(void *context, uint64_t row, brim_text_row *out, brim_error *err) {
  static const char *const words[] = {"the", "film", "is", "a", "quiet", "triumph", "and", "twice"};
  static char text[WORDS * 10];
  uint64_t state = row + 1;
  (void)context, (void)err;
  *text = 0;
  for (int w = 0; w < WORDS; w++)
    sprintf(text + strlen(text), "%s%s", w ? " " : "", words[(int)(case_unit(&state) * 8)]);
  *out = (brim_text_row){.text = text, .text_length = strlen(text)};
  return BRIM_OK;
}

static int note_planned(void *context, const brim_event *event) {
  if (strcmp(event->kind, "start") == 0)
    *(int64_t *)context = brim_event_field(event, "memory_planned")->integer;
  return 0;
}

static double peak(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)usage.ru_maxrss * 1024;
}

/* In another process: 0 where the peak is what was planned, within a tenth and two megabytes. */
static int peak_run(brim_precision precision, uint64_t evaluated) {
  brim_error err = {0};
  brim_runtime *runtime;
  brim_tokenizer *tokenizer;
  brim_model *model;
  brim_dataset *rows, *held;
  int64_t planned = 0;
  const brim_dataset_options how = {.encode = {.max_length = 30, .numbering = BRIM_NUMBER_TOKENS}};
  brim_train_options options = case_options(scratch_file("memory"));
  brim_train_result result;
  must(brim_runtime_new(&(brim_runtime_options){.threads = 1}, &runtime, &err), &err);
  must(brim_tokenizer_load(runtime, folder, &tokenizer, &err), &err);
  must(brim_model_load(runtime, folder, NULL, &model, &err), &err);
  must(brim_dataset_from_texts(runtime, get_text, NULL, ROWS, tokenizer, &how, &rows, &err), &err);
  must(brim_dataset_from_texts(runtime, get_text, NULL, evaluated, tokenizer, &how, &held, &err), &err);
  const brim_named_dataset eval = {"dev", held};
  options.plan.batch_size = 200, options.max_steps = 2, options.mask_rate = "0.3", options.overwrite = true;
  options.precision = precision;
  options.event = note_planned, options.event_context = &planned;
  must(brim_train(runtime, model, tokenizer, rows, &eval, 1, &options, &result, &err), &err);
  printf("# planned %.1f MB, peak %.1f MB; logits would be %.1f MB\n", (double)planned / 1e6, peak() / 1e6,
         0.3 * 200 * 22 * VOCABULARY * 4 / 1e6);
  fflush(stdout);
  return peak() <= 1.1 * (double)planned + 2e6 && peak() >= 0.9 * (double)planned - 2e6 ? 0 : 1;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = true };
#else
enum { SANITIZED = false };
#endif

static void check(const char *name, brim_precision precision, uint64_t evaluated) {
  int state = 0;
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0)
    _exit(peak_run(precision, evaluated));
  waitpid(child, &state, 0);
  ok(WIFEXITED(state) && WEXITSTATUS(state) == 0, "%s: the peak of a run is what was planned", name);
}

int main(void) {
  brim_runtime *runtime;
  source = case_path(tap_source(), "tests/golden/tasks/folders/fill-mask");
  if (SANITIZED) {
    tap_skip("memory", "a sanitizer takes its own memory");
    return tap_done();
  }
  if (brim_runtime_new(NULL, &runtime, NULL))
    return 99;
  write_model(runtime);
  brim_runtime_free(runtime);
  check("a vocabulary of 50,368", BRIM_PRECISION_FP32, 40);
  check("in bf16", BRIM_PRECISION_BF16, 40);
  check("with 8,000 rows evaluated", BRIM_PRECISION_FP32, 8000);
  return tap_done();
}
