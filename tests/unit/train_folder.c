/* A run folder whose process is killed, as by kill -9, at any of the calls that change it: the run that was to be replaced is
 * never taken for one that never began, and what is begun anew ends with it as it was. */
#include <sys/wait.h>
#include <unistd.h>

#include "train/folder.h"
#include "train_case.h"

enum { KILLED = 77, FAILED = 78, MOST_CALLS = 200 };

#define OLD_LOG "{\"event\":\"start\"}\n{\"event\":\"end\"}\n"
#define NEW_LOG "{\"event\":\"start\",\"of\":\"the new run, whose line is longer than all of the old one's\"}\n"

static brim_runtime *runtime;

/* ---- calls that change files -------------------------------------------------------------------------------- */

static int calls_left = -1; /* the process ends in front of the call behind these; -1: all are made */

static void count_call(void) {
  if (calls_left == 0)
    _exit(KILLED);
  calls_left -= calls_left > 0;
}

#define COUNTED(name, parameters, arguments)                                                                                     \
  int __real_##name parameters;                                                                                                  \
  int __wrap_##name parameters;                                                                                                  \
  int __wrap_##name parameters {                                                                                                 \
    count_call();                                                                                                                \
    return __real_##name arguments;                                                                                              \
  }
COUNTED(rename, (const char *from, const char *to), (from, to))
COUNTED(ftruncate, (int file, off_t length), (file, length))
COUNTED(ftruncate64, (int file, off_t length), (file, length))
COUNTED(unlink, (const char *path), (path))
COUNTED(unlinkat, (int folder, const char *name, int flags), (folder, name, flags))
COUNTED(rmdir, (const char *path), (path))
COUNTED(mkdir, (const char *path, mode_t mode), (path, mode))

ssize_t __real_write(int file, const void *bytes, size_t size);
ssize_t __wrap_write(int file, const void *bytes, size_t size);
ssize_t __wrap_write(int file, const void *bytes, size_t size) {
  count_call();
  return __real_write(file, bytes, size);
}

/* ---- a run, and another that is to replace it --------------------------------------------------------------- */

static void put(const char *folder, const char *name, const char *text) {
  case_write(case_path(folder, name), text, strlen(text));
}

static void make_old_run(const char *path) {
  case_remove(path);
  if (mkdir(path, 0777) || mkdir(case_path(path, "checkpoints"), 0777) || mkdir(case_path(path, "checkpoints/step-3"), 0777))
    abort();
  put(path, "log.jsonl", OLD_LOG);
  put(path, "checkpoints/step-3/state.json", "3");
  put(path, "config.json", "{}");
  put(path, "model.safetensors", "weights");
  put(path, "vocab.txt", "a");
}

static bool says(const char *folder, const char *name, const char *want) {
  char *text = case_read(case_path(folder, name), NULL);
  bool same = text && strcmp(text, want) == 0;
  free(text);
  return same;
}

static bool is_old_run(const char *path) {
  return strcmp(case_names(path), "checkpoints config.json log.jsonl model.safetensors vocab.txt") == 0 &&
         says(path, "log.jsonl", OLD_LOG) && says(path, "checkpoints/step-3/state.json", "3") &&
         says(path, "config.json", "{}") && says(path, "model.safetensors", "weights");
}

/* What the new run has when it has begun. */
static bool is_new_run(const char *path) {
  return strcmp(case_names(path), "checkpoints log.jsonl vocab.txt") == 0 && says(path, "log.jsonl", NEW_LOG) &&
         strcmp(case_names(case_path(path, "checkpoints")), "step-5") == 0;
}

/* Opens the folder to replace what is there, has a checkpoint, and lets go of what was there. */
static int replace(const char *path, int calls) {
  brim_run_folder folder;
  brim_error err;
  int status = brim_run_folder_open(runtime, path, false, true, &folder, &err);
  if (!status)
    status = brim_log_replace(&folder.log, NEW_LOG, strlen(NEW_LOG), &err);
  if (!status && (mkdir(folder.checkpoints, 0777) || mkdir(case_path(path, "checkpoints/step-5"), 0777)))
    abort();
  calls_left = calls;
  if (!status)
    status = brim_run_folder_settle(&folder, &err);
  calls_left = -1;
  brim_run_folder_close(&folder);
  return status;
}

/* Opens the folder to replace what is there, and fails before the first step: with a line in the log, or before that. */
static int replace_and_fail(const char *path, bool announced, int calls_of_opening, int calls_of_restoring) {
  brim_run_folder folder;
  brim_error err;
  calls_left = calls_of_opening;
  int status = brim_run_folder_open(runtime, path, false, true, &folder, &err);
  calls_left = -1;
  if (!status && announced)
    status = brim_log_replace(&folder.log, NEW_LOG, strlen(NEW_LOG), &err);
  calls_left = calls_of_restoring;
  if (!status)
    status = brim_run_folder_restore(&folder, &err);
  calls_left = -1;
  brim_run_folder_close(&folder);
  return status;
}

typedef enum moment { OPENING, RESTORING, SETTLING } moment;

/* That or the other in another process: whether it was killed on the way. */
static bool is_killed(const char *path, bool announced, moment when, int calls) {
  int ended;
  fflush(stdout);
  pid_t child = fork();
  if (child == 0 && when == SETTLING)
    _exit(replace(path, calls) ? FAILED : 0);
  if (child == 0)
    _exit(replace_and_fail(path, announced, when == OPENING ? calls : -1, when == RESTORING ? calls : -1) ? FAILED : 0);
  if (child < 0 || waitpid(child, &ended, 0) != child || !WIFEXITED(ended) || WEXITSTATUS(ended) == FAILED)
    abort();
  return WEXITSTATUS(ended) == KILLED;
}

/* ---- what is there afterwards ------------------------------------------------------------------------------- */

static const char *judge(const char *path, bool announced, bool settling) {
  brim_run_folder folder;
  brim_error err;
  int status = brim_run_folder_open(runtime, path, false, false, &folder, &err);
  if (status == BRIM_OK)
    brim_run_folder_close(&folder);
  if (status != BRIM_E_USAGE || !strstr(err.message, "holds a run already"))
    return "the folder is that of a run that never began";
  if (!settling && case_exists(case_path(path, "checkpoints")) && !says(path, "log.jsonl", OLD_LOG))
    return "checkpoints have another run's log";
  if (replace_and_fail(path, announced, -1, -1) != BRIM_OK || !(is_old_run(path) || (settling && is_new_run(path))))
    return "the run that was there is not as it was";
  return NULL;
}

static void killed_anywhere(bool announced, moment when) {
  static const char *const doing[] = {"a run is moved aside", "it is put back", "it is let go of"};
  const char *path = scratch_file("run");
  int calls = 0, bad = 0;
  for (bool killed = true; killed && calls < MOST_CALLS && bad < 5; calls++) {
    make_old_run(path);
    killed = is_killed(path, announced, when, calls);
    const char *wrong = killed                                               ? judge(path, announced, when == SETTLING)
                        : (when == SETTLING ? is_new_run : is_old_run)(path) ? NULL
                                                                             : "it is not as it should be in the end";
    if (wrong)
      bad++, printf("# killed in front of call %d: %s: %s\n", calls + 1, wrong, case_names(path));
  }
  ok(bad == 0 && calls > 6 && calls < MOST_CALLS, "killed while %s, at each of %d calls%s: a run is there, whole, or comes back",
     doing[when], calls - 1, announced ? "" : ", before the first line of the log");
  case_remove(path);
}

int main(void) {
  brim_error err;
  const brim_runtime_options alone = {.threads = 1};
  if (brim_runtime_new(&alone, &runtime, &err))
    return 99;
  for (int announced = 0; announced < 2; announced++) {
    killed_anywhere(announced, OPENING);
    killed_anywhere(announced, RESTORING);
  }
  killed_anywhere(true, SETTLING);
  brim_runtime_free(runtime);
  return tap_done();
}
