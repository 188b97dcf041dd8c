/* The run folder. What is not brim's own is never removed, whatever stands beside it. And a process may be killed, as by kill -9,
 * at any of the calls that change it: the run that was to be replaced is never taken for one that never began, what is begun
 * again ends with it as it was, and foreign files are where they were. */
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/path.h"
#include "train/folder/folder.h"
#include "train/folder/state.h"
#include "train_case.h"

enum { KILLED = 77, FAILED = 78, MOST_CALLS = 200 };

#define OLD_LOG "{\"event\":\"start\"}\n{\"event\":\"end\"}\n"
#define NEW_LOG "{\"event\":\"start\",\"of\":\"the new run, whose line is longer than all of the old one's\"}\n"

static brim_runtime *runtime;

/* ---- calls that change files -------------------------------------------------------------------------------- */

static int calls_left = -1; /* the process ends after so many calls; -1: all are made */

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
static bool read_only; /* folders cannot be made */
int __real_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode) {
  count_call();
  if (!read_only || access(path, F_OK) == 0)
    return __real_mkdir(path, mode);
  errno = EROFS;
  return -1;
}

ssize_t __real_write(int file, const void *bytes, size_t size);
ssize_t __wrap_write(int file, const void *bytes, size_t size);
ssize_t __wrap_write(int file, const void *bytes, size_t size) {
  count_call();
  return __real_write(file, bytes, size);
}

/* A process is killed here, the machine is not: nothing need reach the disk. */
int fsync(int file) {
  (void)file;
  return 0;
}

/* ---- a run, and another that is to replace it --------------------------------------------------------------- */

static void put(const char *folder, const char *name, const char *text) {
  case_write(case_path(folder, name), text, strlen(text));
}

static bool says(const char *folder, const char *name, const char *want) {
  char *text = case_read(case_path(folder, name), NULL);
  bool same = text && strcmp(text, want) == 0;
  free(text);
  return same;
}

static void make(const char *folder, const char *name) {
  if (mkdir(name ? case_path(folder, name) : folder, 0777))
    abort();
}

static void point(const char *to, const char *folder, const char *name) {
  if (symlink(to, case_path(folder, name)))
    abort();
}

/* A state.json that its digest proves. */
static const char *state_text(const char *what) {
  static char kept[256];
  brim_text text;
  brim_text_init(&text, runtime);
  brim_text_printf(&text, "{\"version\":3,\"state\":\"%s\"", what);
  brim_train_state_seal(&text);
  snprintf(kept, sizeof kept, "%s", text.data);
  brim_text_free(&text);
  return kept;
}

static void make_checkpoint(const char *path, const char *name) {
  char file[64];
  snprintf(file, sizeof file, "%s/state.json", name);
  make(path, name);
  put(path, file, state_text(name));
}

/* Beside the run, and named much as it is: nothing of it is brim's. */
static bool with_strangers;

/* In a checkpoint of brim's: a file, and a folder that looks like a module's. */
static void make_strangers_in(const char *path, const char *checkpoint) {
  char within[512];
  snprintf(within, sizeof within, "%s", case_path(path, checkpoint));
  put(within, "predictions.jsonl", "mine");
  make(within, "eval");
  put(within, "eval/config.json", "mine");
}

static bool strangers_are_in(const char *path, const char *checkpoint) {
  char within[512];
  snprintf(within, sizeof within, "%s", case_path(path, checkpoint));
  return says(within, "predictions.jsonl", "mine") && says(within, "eval/config.json", "mine");
}

/* And nothing else. */
static bool only_strangers_are_in(const char *path, const char *checkpoint) {
  return strangers_are_in(path, checkpoint) && strcmp(case_names(case_path(path, checkpoint)), "eval predictions.jsonl") == 0;
}

static void make_strangers(const char *path) {
  const char *other = scratch_file("other");
  case_remove(other);
  make(other, NULL);
  put(other, "state.json", state_text("of somebody's link"));
  put(path, "notes.txt", "note");
  make(path, "3_Dense"); /* modules.json does not list it */
  put(path, "3_Dense/config.json", "{}");
  make(path, "mine"); /* it does, but there is more in it */
  put(path, "mine/config.json", "{}");
  put(path, "mine/notes.txt", "note");
  make(path, "checkpoints/mine");
  put(path, "checkpoints/mine/w.pt", "w");
  put(path, "checkpoints/best.pt", "b");
  put(path, "checkpoints/step-1.tmp-backup", "t");
  make(path, "checkpoints/step-4.tmp-old2");
  make(path, "checkpoints/step-9");
  put(path, "checkpoints/step-9/w.pt", "9");
  make(path, "checkpoints/step-8");
  put(path, "checkpoints/step-8/state.json", "{\"step\":8}");
  point(other, path, "checkpoints/step-7");
  make_strangers_in(path, "checkpoints/step-3");
}

static bool strangers_are_there(const char *path) {
  char linked[512];
  snprintf(linked, sizeof linked, "%s", case_path(scratch_file("other"), "state.json"));
  return case_exists(linked) && says(path, "notes.txt", "note") && says(path, "3_Dense/config.json", "{}") &&
         says(path, "mine/config.json", "{}") && says(path, "mine/notes.txt", "note") &&
         says(path, "checkpoints/mine/w.pt", "w") && says(path, "checkpoints/best.pt", "b") &&
         says(path, "checkpoints/step-1.tmp-backup", "t") && case_exists(case_path(path, "checkpoints/step-4.tmp-old2")) &&
         says(path, "checkpoints/step-9/w.pt", "9") && says(path, "checkpoints/step-8/state.json", "{\"step\":8}") &&
         case_exists(case_path(path, "checkpoints/step-7/state.json"));
}

static void make_old_run(const char *path) {
  case_remove(path);
  make(path, NULL);
  make(path, "checkpoints");
  make_checkpoint(path, "checkpoints/step-3");
  point("step-3", path, "checkpoints/best");
  put(path, "log.jsonl", OLD_LOG);
  put(path, "config.json", "{}");
  put(path, "model.safetensors", "weights");
  put(path, "vocab.txt", "a");
  put(path, "modules.json",
      "[{\"path\":\"\"},{\"path\":\"2_Dense\"},{\"path\":\"projection\"},{\"path\":\"mine\"},{\"path\":\"../x\"}]");
  make(path, "2_Dense");
  put(path, "2_Dense/config.json", "two");
  make(path, "projection");
  put(path, "projection/model.safetensors", "p");
  if (with_strangers)
    make_strangers(path);
}

static bool is_old_run(const char *path) {
  const char
      *names = with_strangers
                   ? "2_Dense 3_Dense checkpoints config.json log.jsonl mine model.safetensors modules.json notes.txt projection "
                     "vocab.txt"
                   : "2_Dense checkpoints config.json log.jsonl model.safetensors modules.json projection vocab.txt";
  return strcmp(case_names(path), names) == 0 && (!with_strangers || strangers_are_there(path)) &&
         (!with_strangers || strangers_are_in(path, "checkpoints/step-3")) && says(path, "log.jsonl", OLD_LOG) &&
         says(path, "checkpoints/step-3/state.json", state_text("checkpoints/step-3")) &&
         says(path, "checkpoints/best/state.json", state_text("checkpoints/step-3")) && says(path, "config.json", "{}") &&
         says(path, "model.safetensors", "weights") && says(path, "2_Dense/config.json", "two") &&
         says(path, "projection/model.safetensors", "p");
}

/* What the new run has when it has begun. */
static bool is_new_run(const char *path) {
  const char *names = with_strangers ? "3_Dense checkpoints log.jsonl mine notes.txt vocab.txt"
                                     : "checkpoints log.jsonl vocab.txt";
  const char *steps = with_strangers ? "best.pt mine step-1.tmp-backup step-3 step-4.tmp-old2 step-5 step-7 step-8 step-9"
                                     : "step-5";
  return strcmp(case_names(path), names) == 0 && says(path, "log.jsonl", NEW_LOG) &&
         (!with_strangers || (strangers_are_there(path) && only_strangers_are_in(path, "checkpoints/step-3"))) &&
         strcmp(case_names(case_path(path, "checkpoints")), steps) == 0;
}

/* Opens the folder to replace what is there, has a checkpoint, and lets go of what was there. */
static int replace(const char *path, int calls) {
  brim_run_folder folder;
  brim_error err;
  int status = brim_run_folder_open(runtime, path, false, true, &folder, &err);
  if (!status)
    status = brim_log_replace(&folder.log, NEW_LOG, strlen(NEW_LOG), &err);
  if (!status) {
    mkdir(folder.checkpoints, 0777);
    make_checkpoint(path, "checkpoints/step-5");
  }
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
  if (!settling && case_exists(case_path(path, "checkpoints/step-3")) && !says(path, "log.jsonl", OLD_LOG))
    return "checkpoints have another run's log";
  if (with_strangers && !strangers_are_there(path))
    return "foreign files are gone";
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
  ok(bad == 0 && calls > 6 && calls < MOST_CALLS,
     "killed while %s, at each of %d calls%s%s: a run is there, whole, or comes back", doing[when], calls - 1,
     announced ? "" : ", before the first line of the log", with_strangers ? ", among foreign files" : "");
  case_remove(path);
}

/* A process that was killed while it moved the run aside: `resume` finds the run as it was. */
static void resumed_half_moved(void) {
  const char *path = scratch_file("run");
  int calls = 0, bad = 0;
  for (; calls < MOST_CALLS; calls++) {
    brim_run_folder folder;
    brim_error err;
    make_old_run(path);
    if (!is_killed(path, true, OPENING, calls))
      break;
    const bool moving = !case_exists(case_path(path, "replaced-run/complete"));
    int status = brim_run_folder_open(runtime, path, true, false, &folder, &err);
    bad += status != BRIM_OK || (moving && !is_old_run(path)) || !strangers_are_there(path);
    if (!status)
      brim_run_folder_close(&folder);
  }
  ok(bad == 0 && calls > 6, "killed while a run is moved aside, at each of %d calls: resume finds it whole", calls);
  case_remove(path);
}

/* And who replaces it then finds all of it to move: what lists the modules goes last. */
static void replaced_half_moved(void) {
  const char *path = scratch_file("run");
  int calls = 0, bad = 0;
  for (; calls < MOST_CALLS; calls++) {
    make_old_run(path);
    if (!is_killed(path, true, OPENING, calls))
      break;
    if (replace(path, -1) != BRIM_OK || !is_new_run(path))
      bad++, printf("# killed in front of call %d: %s\n", calls + 1, case_names(path));
  }
  ok(bad == 0 && calls > 6, "killed at each of %d calls: another replaces all that was the run's", calls);
  case_remove(path);
}

static bool is_refused(const char *path, bool overwrite, const char *words) {
  brim_run_folder folder;
  brim_error err;
  int status = brim_run_folder_open(runtime, path, false, overwrite, &folder, &err);
  if (status == BRIM_OK)
    brim_run_folder_close(&folder);
  if (status == BRIM_E_USAGE && strstr(err.message, words))
    return true;
  printf("# status %d: %s\n", status, status ? err.message : "");
  return false;
}

/* A run that was killed before its first line. */
static void begun(const char *path) {
  brim_run_folder folder;
  brim_error err;
  make(path, NULL);
  put(path, "log.jsonl", "");
  make(path, "tensorboard");
  put(path, "tensorboard/events.out.tfevents.1700000000.brim.000", "");
  const int status = brim_run_folder_open(runtime, path, true, false, &folder, &err);
  brim_run_folder_close(&folder);
  ok(!status, "a run that had only begun is resumed from its start");
  case_remove(path);
}

static void refused(void) {
  const char *path = scratch_file("foreign");
  case_remove(path);
  make(path, NULL);
  make(path, "checkpoints");
  put(path, "config.json", "MY");
  make(path, "checkpoints/mine");
  put(path, "checkpoints/mine/w.pt", "w");
  ok(is_refused(path, false, "something that is not a run"), "a folder `checkpoints` makes no run");
  case_remove(case_path(path, "config.json"));
  ok(is_refused(path, false, "\"checkpoints\""), "nor does it alone");
  make(path, "tensorboard");
  put(path, "tensorboard/events.out.tfevents.1700000000.host", "e");
  case_remove(case_path(path, "checkpoints"));
  ok(is_refused(path, false, "\"tensorboard\""), "another program's files for TensorBoard are a stranger's");
  case_remove(path);
  make(path, NULL);
  make(path, "tensorboard");
  make(path, "tensorboard/events.out.tfevents.1700000000.brim.000");
  ok(is_refused(path, false, "\"tensorboard\""), "so is a folder that has such a file's name");
  case_remove(path);
  begun(path);
  make(path, NULL);
  make(path, "checkpoints");
  make(path, "checkpoints/mine");
  put(path, "checkpoints/mine/w.pt", "w");
  brim_run_folder folder;
  brim_error err;
  int status = brim_run_folder_open(runtime, path, false, true, &folder, &err);
  if (!status)
    status = brim_run_folder_settle(&folder, &err);
  brim_run_folder_close(&folder);
  ok(!status && says(path, "checkpoints/mine/w.pt", "w"), "with overwrite its files stay");
  put(path, "log.jsonl", "{\"loss\":1}\n");
  ok(is_refused(path, false, "something that is not a run") && is_refused(path, true, "\"log.jsonl\"") &&
         says(path, "log.jsonl", "{\"loss\":1}\n"),
     "another program's log.jsonl is refused, with overwrite too");
  case_remove(case_path(path, "log.jsonl"));
  make(path, "replaced-run");
  put(path, "replaced-run/w.pt", "w");
  ok(is_refused(path, true, "\"replaced-run\"") && says(path, "replaced-run/w.pt", "w"), "and so is its replaced-run");
  case_remove(path);
  make(path, NULL);
  make(path, "fold-0");
  put(path, "folds.csv", "row,fold\n0,0\n");
  put(path, "predictions-mine.jsonl", "{}");
  put(path, "fold-0/log.jsonl", OLD_LOG);
  put(path, "fold-0/notes.txt", "note");
  ok(is_refused(path, false, "holds a run already") && is_refused(path, true, "\"notes.txt\"") &&
         says(path, "fold-0/notes.txt", "note"),
     "a fold's folder is replaced as a whole: with something else in it that is refused");
  case_remove(case_path(path, "fold-0/notes.txt"));
  make(path, "fold-0/checkpoints");
  make_checkpoint(path, "fold-0/checkpoints/step-2");
  put(path, "fold-0/checkpoints/step-2/notes.txt", "note");
  ok(is_refused(path, true, "\"checkpoints/step-2/notes.txt\"") && says(path, "fold-0/checkpoints/step-2/notes.txt", "note"),
     "and so it is in one of its checkpoints");
  case_remove(case_path(path, "fold-0/checkpoints/step-2/notes.txt"));
  status = brim_run_folder_open(runtime, path, false, true, &folder, &err);
  if (!status)
    status = brim_run_folder_settle(&folder, &err);
  brim_run_folder_close(&folder);
  ok(!status && strcmp(case_names(path), "predictions-mine.jsonl") == 0, "without it is replaced: %s", case_names(path));
  case_remove(path);
}

static void found(void) {
  const char *path = scratch_file("run");
  brim_checkpoint_info info;
  brim_error err;
  make_old_run(path);
  int status = brim_checkpoint_find(runtime, path, &info, &err);
  ok(!status && info.step == 7, "%s: what is another program's is no checkpoint; a link to one is read",
     status ? err.message : "found");
  brim_checkpoint_info_free(&info);
  case_remove(path);
}

static void on_read_only(void) {
  brim_run_folder folder;
  brim_error err;
  read_only = true;
  ok(brim_run_folder_open(runtime, scratch_file("none"), false, false, &folder, &err) == BRIM_E_IO &&
         strstr(err.message, "Read-only file system"),
     "on a read-only file system: %s", err.message);
  read_only = false;
}

static void kept_by_prune(void) {
  const char *path = scratch_file("run");
  brim_run_folder folder;
  brim_error err;
  make_old_run(path);
  make_checkpoint(path, "checkpoints/step-20");
  make_checkpoint(path, "checkpoints/step-21");
  brim_run_found found = {0};
  int status = brim_run_folder_open(runtime, path, true, false, &folder, &err);
  if (!status)
    status = brim_checkpoint_prune(&folder, 1, 0, &found, &err);
  brim_run_folder_close(&folder);
  ok(!status && strangers_are_there(path) && !case_exists(case_path(path, "checkpoints/step-20")) &&
         case_exists(case_path(path, "checkpoints/step-21")),
     "old checkpoints are removed, what is named like one stays");
  ok(only_strangers_are_in(path, "checkpoints/step-3") && found.other_count == 2 && found.others.data &&
         strcmp(found.others.data, "checkpoints/step-3/eval, checkpoints/step-3/predictions.jsonl") == 0,
     "and what others have put into one: %s", found.others.data ? found.others.data : "nothing is said");
  brim_run_found_free(&found);
  uint64_t *steps = NULL;
  size_t count = 0;
  status = brim_checkpoint_steps(runtime, case_path(path, "checkpoints"), &steps, &count, &err);
  ok(!status && count > 0 && steps[0] != 3, "its folder is no checkpoint any more");
  brim_release(runtime, steps);
  case_remove(path);
}

/* A process that is killed while it removes a checkpoint, or removes what it replaced: what others had in it is there in the end.
 */
static void killed_in_prune(void) {
  const char *path = scratch_file("run");
  int calls = 0, bad = 0;
  for (int ended = KILLED; ended == KILLED && calls < MOST_CALLS; calls++) {
    make_old_run(path);
    make_checkpoint(path, "checkpoints/step-21");
    fflush(stdout);
    const pid_t child = fork();
    brim_run_folder folder;
    brim_run_found found;
    brim_error err;
    if (child == 0) {
      int status = brim_run_folder_open(runtime, path, true, false, &folder, &err);
      calls_left = calls;
      _exit(status || brim_checkpoint_prune(&folder, 1, 0, &found, &err) ? FAILED : 0);
    }
    if (child < 0 || waitpid(child, &ended, 0) != child || !WIFEXITED(ended) || WEXITSTATUS(ended) == FAILED)
      abort();
    ended = WEXITSTATUS(ended);
    int status = brim_run_folder_open(runtime, path, true, false, &folder, &err);
    if (!status) {
      status = brim_checkpoint_prune(&folder, 1, 0, &found, &err);
      brim_run_found_free(&found);
      brim_run_folder_close(&folder);
    }
    if (status || !only_strangers_are_in(path, "checkpoints/step-3") || !strangers_are_there(path))
      bad++, printf("# killed in front of call %d: %s\n", calls + 1, case_names(case_path(path, "checkpoints")));
  }
  ok(bad == 0 && calls > 4 && calls < MOST_CALLS, "killed at each of %d calls: foreign files of a removed checkpoint stay",
     calls - 1);
  case_remove(path);
}

/* "FOLDER/NAME.tmp-..." as brim makes it, without the run's folder. */
static const char *temporary(const char *name) {
  static char kept[4][256];
  static int next;
  char *made = brim_temporary_name(runtime, name), *out = kept[next++ % 4];
  snprintf(out, sizeof kept[0], "%s", made ? made : "");
  brim_release(runtime, made);
  return out;
}

/* A process was killed while it wrote a module of a checkpoint. */
static void killed_in_module(void) {
  static const char *const modules[] = {"1_Pooling", "1_WeightedLayerPooling", "2_Dense"};
  static const char *const files[] = {"config.json", "model.safetensors", NULL}; /* NULL: the folder alone was made */
  const char *path = scratch_file("run");
  char within[300], file[600];
  int bad = 0;
  for (int i = 0; i < 18; i++) {
    const char *name = files[i / 2 % 3];
    const bool overwrite = i % 2;
    brim_run_folder folder;
    brim_error err;
    with_strangers = false;
    make_old_run(path);
    const char *half = temporary("checkpoints/step-4");
    make(path, half);
    snprintf(within, sizeof within, "%s/%s", half, modules[i / 6]);
    make(path, within);
    snprintf(file, sizeof file, "%s/model.safetensors", half);
    put(path, file, "half");
    snprintf(file, sizeof file, "%s/%s", within, name ? temporary(name) : "");
    if (name)
      put(path, file, "half");
    const int status = brim_run_folder_open(runtime, path, !overwrite, overwrite, &folder, &err);
    const char *left = case_names(case_path(path, overwrite ? "replaced-run/checkpoints" : "checkpoints"));
    if (status || strcmp(left, "best step-3") != 0 || case_exists(case_path(path, "checkpoints/step-4")))
      bad++, printf("# %s of %s: %s\n", name ? name : "nothing", modules[i / 6], left);
    if (!status)
      brim_run_folder_close(&folder);
  }
  with_strangers = true;
  ok(bad == 0, "half of a module in half a checkpoint is removed with it");
  case_remove(path);
}

/* While the run that was replaced is still there. */
static void put_into_replaced_run(void) {
  const char *path = scratch_file("run");
  for (int fails = 0; fails < 2; fails++) {
    brim_run_folder folder;
    brim_error err;
    make_old_run(path);
    int status = brim_run_folder_open(runtime, path, false, true, &folder, &err);
    put(path, "replaced-run/predictions.jsonl", "p");
    put(path, "replaced-run/checkpoints/mine.txt", "m");
    put(path, "replaced-run/2_Dense/notes.txt", "n");
    mkdir(case_path(path, "checkpoints"), 0777);
    mkdir(case_path(path, "checkpoints/step-3"), 0777);
    make(path, "checkpoints/step-3/later");
    if (!status)
      status = fails ? brim_run_folder_restore(&folder, &err) : brim_run_folder_settle(&folder, &err);
    brim_run_folder_close(&folder);
    ok(!status && says(path, "predictions.jsonl", "p") && says(path, "checkpoints/mine.txt", "m") &&
           says(path, "2_Dense/notes.txt", "n") && strangers_are_in(path, "checkpoints/step-3") &&
           case_exists(case_path(path, "checkpoints/step-3/later")) && !case_exists(case_path(path, "replaced-run")) &&
           case_exists(case_path(path, "checkpoints/step-3/state.json")) == fails,
       "what comes into replaced-run stays when the run is %s", fails ? "put back" : "let go of");
    case_remove(path);
  }
}

int main(void) {
  brim_error err;
  const brim_runtime_options alone = {.threads = 1};
  if (brim_runtime_new(&alone, &runtime, &err))
    return 99;
  for (int strangers = 0; strangers < 2; strangers++) {
    with_strangers = strangers;
    for (int announced = 0; announced < 2; announced++) {
      killed_anywhere(announced, OPENING);
      killed_anywhere(announced, RESTORING);
    }
    killed_anywhere(true, SETTLING);
  }
  with_strangers = true;
  resumed_half_moved();
  replaced_half_moved();
  refused();
  found();
  on_read_only();
  kept_by_prune();
  killed_in_prune();
  killed_in_module();
  put_into_replaced_run();
  brim_runtime_free(runtime);
  return tap_done();
}
