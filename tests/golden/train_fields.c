/* Every event of a log has exactly the fields that docs/developers/events.md says, in that order; and memory is what was planned.
 */
#include <sys/resource.h>
#include <sys/wait.h>

#include "train_case.h"

static const char *model_folder;

/* "a b c": the fields of the table below "## kind" in the manual. */
static void documented(const char *manual, const char *kind, char *out, size_t size) {
  char heading[64];
  snprintf(heading, sizeof heading, "\n## %s\n", kind);
  const char *at = strstr(manual, heading);
  *out = 0;
  if (!at)
    return;
  at += strlen(heading);
  const char *end = strstr(at, "\n## ");
  for (at = strstr(at, "\n| `"); at && (!end || at < end); at = strstr(at + 1, "\n| `")) {
    size_t used = strlen(out), length = strcspn(at + 4, "`");
    snprintf(out + used, size - used, "%s%.*s", used ? " " : "", (int)length, at + 4);
  }
}

/* "a b c": the names of an object's members, its first left out if `skip`. Strings of these logs hold no escapes that matter. */
static void members(const char *object, bool skip, char *out, size_t size) {
  int depth = 0;
  *out = 0;
  for (const char *at = object; *at; at++) {
    if (*at == '{' || *at == '[')
      depth++;
    if ((*at == '}' || *at == ']') && --depth == 0)
      return;
    if (*at != '"')
      continue;
    size_t length = strcspn(at + 1, "\""), used = strlen(out);
    if (depth == 1 && at[length + 2] == ':') {
      if (!skip)
        snprintf(out + used, size - used, "%s%.*s", used ? " " : "", (int)length, at + 1);
      skip = false;
    }
    at += length + 1;
  }
}

static void fields(void) {
  static const char *const kinds[] = {"start", "step", "eval", "epoch", "checkpoint", "end"};
  char path[1024], want[4096], got[4096], start[32];
  snprintf(path, sizeof path, "%s/docs/developers/events.md", getenv("BRIM_SOURCE"));
  char *manual = case_read(path, NULL);
  if (!ok(manual != NULL, "there is a manual of events"))
    return;
  case_job job = case_open(model_folder, 1);
  brim_train_options options = case_options(scratch_file("fields"));
  brim_train_result result;
  options.swa_start = 0.5;
  ok_int(case_train(&job, &options, &result, NULL), BRIM_OK, "a run");
  case_close(&job);
  char *log = case_log(options.output);
  for (int i = 0; i < 6; i++) {
    snprintf(start, sizeof start, "{\"event\":\"%s\"", kinds[i]);
    int lines = 0, wrong = 0;
    documented(manual, kinds[i], want, sizeof want);
    for (const char *at = log; (at = strstr(at, start)); at++) {
      members(at, true, got, sizeof got);
      if (strcmp(got, want) != 0 && wrong++ == 0)
        printf("# %s has  %s\n# manual: %s\n", kinds[i], got, want);
      lines++;
    }
    ok(lines > 0 && wrong == 0, "%d events of kind %s are as the manual says", lines, kinds[i]);
  }
  documented(manual, "options", want, sizeof want);
  members(strstr(log, "\"options\":") + 10, false, got, sizeof got);
  ok_string(got, want, "the options of a run are as the manual says");
  free(log), free(manual);
}

/* ---- memory ------------------------------------------------------------------------------------------------ */

static int note_planned(void *context, const brim_event *event) {
  if (strcmp(event->kind, "start") == 0)
    *(int64_t *)context = brim_event_field(event, "memory_planned")->integer;
  return 0;
}

/* A run in a process of its own, with long rows so that activations weigh: 0 when its peak is what was planned, within a tenth
 * and two megabytes (the threads' stacks, the C library). */
static int peak_run(uint64_t limit) {
  brim_error err = {0};
  int64_t planned = 0;
  case_job job = case_open(model_folder, 2);
  brim_dataset_free(job.train);
  job.train = case_dataset(job.runtime, 400, 60, 500, 3, 5);
  brim_train_options options = case_options(scratch_file("memory"));
  brim_train_result result;
  struct rusage usage;
  options.plan.batch_size = 200;
  options.overwrite = true;
  options.memory_limit = limit;
  options.event = note_planned, options.event_context = &planned;
  if (case_train(&job, &options, &result, &err)) {
    printf("# %s\n", err.message);
    return 2;
  }
  getrusage(RUSAGE_SELF, &usage);
  double peak = (double)usage.ru_maxrss * 1024;
  printf("# planned %.1f MB, peak %.1f MB\n", (double)planned / 1e6, peak / 1e6);
  fflush(stdout);
  return peak <= 1.1 * (double)planned + 2e6 && peak >= 0.9 * (double)planned - 2e6 && (!limit || planned <= (int64_t)limit) ? 0
                                                                                                                             : 1;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = true };
#else
enum { SANITIZED = false };
#endif

static void memory(void) {
  if (SANITIZED)
    tap_skip("memory", "a sanitizer takes its own memory");
  for (int limited = 0; limited < 2 && !SANITIZED; limited++) {
    int state = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
      _exit(peak_run(limited ? 20000000 : 0));
    waitpid(child, &state, 0);
    ok(WIFEXITED(state) && WEXITSTATUS(state) == 0, "%s: the peak of a run is what was planned",
       limited ? "within 20 MB" : "without a limit");
  }
}

/* ---- replacing a run --------------------------------------------------------------------------------------- */

static int stop_at_once(void *context, const brim_event *event) {
  (void)context;
  return strcmp(event->kind, "step") == 0 ? BRIM_E_IO : 0;
}

/* A run that fails before its first checkpoint leaves the one that it was to replace. */
static void replaced(void) {
  char output[512], aside[600];
  snprintf(output, sizeof output, "%s", scratch_file("replaced"));
  snprintf(aside, sizeof aside, "%s/replaced-run", output);
  brim_train_options options = case_options(output);
  brim_train_result result;
  case_job job = case_open(model_folder, 1);
  int status = case_train(&job, &options, &result, NULL);
  char *log = case_log(output);
  options.overwrite = true;
  options.event = stop_at_once;
  for (int i = 0; i < 2; i++) {
    case_job again = case_open(model_folder, 1);
    int failed = case_train(&again, &options, &result, NULL);
    char *kept = case_log(aside);
    ok(status == BRIM_OK && failed == BRIM_E_IO && case_exists(case_path(aside, "checkpoints/step-12/state.json")) &&
           case_exists(case_path(aside, "model.safetensors")) && strcmp(kept, log) == 0,
       "replacing that fails (%d) leaves the old run in replaced-run", i + 1);
    free(kept);
    case_close(&again);
  }
  options.event = NULL;
  case_job last = case_open(model_folder, 1);
  ok(case_train(&last, &options, &result, NULL) == BRIM_OK && !case_exists(aside), "a run with a checkpoint takes its place");
  free(log);
  case_close(&last);
  case_close(&job);
}

/* ---- options ---------------------------------------------------------------------------------------------- */

/* What docs/command-line.md shows as the program's defaults are the library's. */
static void defaults(void) {
  brim_train_options o;
  brim_train_options_init(&o);
  ok(o.epochs == 1 && o.max_steps == 0 && o.plan.batch_size == 16 && o.plan.batching == BRIM_RANDOM && o.seed == 42 &&
         o.plan.seed == 42,
     "one epoch of random batches of 16");
  ok(o.lr == 5e-5 && o.beta1 == 0.9 && o.beta2 == 0.999 && o.eps == 1e-8 && o.clip == 1 && o.layer_lr_decay == 1,
     "the optimizer's defaults");
  ok(o.log_every == 1 && o.keep_checkpoints == 1 && o.eval.batching == BRIM_SORTED, "log, checkpoints, evaluation");
}

/* What is frozen has the weights that it had; the rest is trained. */
static void frozen(void) {
  case_job job = case_open(model_folder, 1);
  float *before = case_weights(&job);
  brim_train_options options = case_options(scratch_file("frozen"));
  brim_train_result result;
  int64_t held = 0, changed = 0;
  options.freeze = "embeddings";
  ok_int(case_train(&job, &options, &result, NULL), BRIM_OK, "a run with frozen embeddings");
  float *after = case_weights(&job);
  for (int32_t i = 0; i < brim_model_parameter_count(job.model); i++) {
    const brim_parameter *p = brim_model_parameter(job.model, i);
    const bool same = memcmp(before + p->offset, after + p->offset, (size_t)p->count * sizeof *before) == 0;
    if (strstr(p->name, "embeddings"))
      held += same ? 1 : -1000;
    else
      changed += !same;
  }
  ok(held >= 3 && changed > 10, "the embeddings keep their weights (%d tensors), the rest is trained (%d)", (int)held,
     (int)changed);
  free(before);
  free(after);
  case_close(&job);
}

int main(void) {
  model_folder = case_model_folder("bert-pair-3");
  if (!model_folder) {
    tap_skip("fields", "there are no golden models");
    return tap_done();
  }
  memory();
  fields();
  replaced();
  defaults();
  frozen();
  return tap_done();
}
