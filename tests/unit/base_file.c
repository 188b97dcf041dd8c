/* Files and folders that are complete or absent, whatever goes wrong. */
#include "base/file.h"
#include "base/folder.h"
#include "base/leftovers.h"
#include "base/memory.h"
#include "base/path.h"
#include "scratch.h"
#include "tap.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static brim_runtime *runtime;

static bool holds(const char *path, const char *want) {
  char *bytes;
  size_t length;
  brim_error err;
  if (brim_file_read_all(runtime, path, 0, &bytes, &length, &err) != BRIM_OK)
    return false;
  bool same = length == strlen(want) && memcmp(bytes, want, length + 1) == 0;
  brim_runtime_release(runtime, bytes);
  return same;
}

static size_t names_in(const char *path) {
  char **names;
  size_t count = SIZE_MAX;
  brim_error err;
  if (brim_list_folder(runtime, path, &names, &count, &err) == BRIM_OK)
    brim_names_free(runtime, names, count);
  return count;
}

static void complete_or_absent(void) {
  brim_file *file;
  brim_error err;
  char path[512];
  snprintf(path, sizeof path, "%s/a", scratch_make_folder("atomic"));
  ok_int(brim_file_create(runtime, path, &file, &err), BRIM_OK, "created");
  ok(brim_file_write(file, "one", 3, &err) == BRIM_OK && !brim_path_exists(path), "absent while it is written");
  brim_file_free(file);
  ok_int(names_in(scratch_file("atomic")), 0, "freed without commit: nothing is left");
  ok_int(brim_file_write_all(runtime, path, "two", 3, &err), BRIM_OK, "written whole");
  ok(holds(path, "two") && names_in(scratch_file("atomic")) == 1, "and it is all there is");
  struct stat info;
  umask(027);
  ok(brim_file_write_all(runtime, scratch_file("mode"), "", 0, &err) == BRIM_OK && stat(scratch_file("mode"), &info) == 0 &&
         (info.st_mode & 0777) == 0640,
     "a new file has the mode that open() gives");
  chmod(path, 0604);
  ok(brim_file_create(runtime, path, &file, &err) == BRIM_OK && brim_file_write(file, "three", 5, &err) == BRIM_OK &&
         holds(path, "two"),
     "the old file is there until the new one is");
  ok(brim_file_commit(file, &err) == BRIM_OK && holds(path, "three"), "committed");
  ok(brim_file_commit(file, &err) == BRIM_OK, "twice is once");
  brim_file_free(file);
  ok(stat(path, &info) == 0 && (info.st_mode & 0777) == 0604, "a file that is replaced keeps its mode");
  umask(022);
}

static void large(void) {
  enum { N = 3 << 20 };
  char *bytes = malloc(N), *back = NULL;
  size_t length = 0;
  brim_error err;
  brim_file *file;
  const char *path = scratch_file("large");
  for (size_t i = 0; i < N; i++)
    bytes[i] = (char)(i * 2654435761u >> 13);
  bool good = brim_file_create(runtime, path, &file, &err) == BRIM_OK;
  for (size_t at = 0, step = 1; at < N; at += step, step = step * 3 % 700001 + 1)
    good = good && brim_file_write(file, bytes + at, at + step < N ? step : N - at, &err) == BRIM_OK;
  good = good && brim_file_commit(file, &err) == BRIM_OK;
  brim_file_free(file);
  good = good && brim_file_read_all(runtime, path, 0, &back, &length, &err) == BRIM_OK && length == N &&
         memcmp(bytes, back, N) == 0;
  ok(good, "pieces of many sizes arrive in order");
  brim_runtime_release(runtime, back);
  ok(brim_file_read_all(runtime, path, N - 1, &back, &length, &err) == BRIM_E_UNSUPPORTED && !back &&
         strstr(err.message, "larger"),
     "a file over the limit is refused");
  ok(brim_file_read_all(runtime, path, N, &back, &length, &err) == BRIM_OK, "one at the limit is not");
  brim_runtime_release(runtime, back);
  ok(brim_copy_file(runtime, path, scratch_file("copy"), &err) == BRIM_OK &&
         brim_file_read_all(runtime, scratch_file("copy"), 0, &back, &length, &err) == BRIM_OK && length == N &&
         memcmp(bytes, back, N) == 0,
     "a copy");
  brim_runtime_release(runtime, back);
  free(bytes);
}

static void failures(void) {
  brim_file *file;
  brim_error err = {0};
  char path[512];
  snprintf(path, sizeof path, "%s/x/y", scratch_folder());
  ok(brim_file_create(runtime, path, &file, &err) == BRIM_E_IO && !file && strstr(err.message, "No such file") &&
         strstr(err.file, "x/y"),
     "a folder that is not there");
  ok(brim_file_create(runtime, scratch_folder(), &file, &err) == BRIM_E_IO && strstr(err.message, "directory"),
     "a folder itself");
  char *bytes;
  size_t length;
  ok(brim_file_read_all(runtime, scratch_folder(), 0, &bytes, &length, &err) == BRIM_E_IO && !bytes, "a folder cannot be read");
  ok(brim_file_read_all(runtime, path, 0, &bytes, &length, &err) == BRIM_E_IO, "nor what is absent");
  ok(brim_file_read_all(runtime, "/proc/self/stat", 0, &bytes, &length, &err) == BRIM_OK && length > 10,
     "a file that says it is empty is read to its end");
  brim_runtime_release(runtime, bytes);
  if (brim_path_exists("/dev/full")) {
    ok(brim_file_create(runtime, "/dev/full", &file, &err) == BRIM_OK, "a device is written through");
    ok_int(brim_file_write(file, "x", 1, &err), BRIM_OK, "buffered");
    ok(brim_file_commit(file, &err) == BRIM_E_IO && strstr(err.message, "No space left") && strcmp(err.file, "/dev/full") == 0,
       "a full disk is told (%s)", err.message);
    ok(brim_file_write(file, "x", 1, &err) == BRIM_E_IO && brim_file_commit(file, &err) == BRIM_E_IO, "and never forgotten");
    brim_file_free(file);
  } else {
    tap_skip("a full disk", "there is no /dev/full");
  }
}

/* The limit on file sizes makes write() come back short, then fail: as a disk that fills up. */
static void disk_fills_up(void) {
  struct rlimit old, small = {100000, 100000};
  brim_error err = {0};
  const char *path = scratch_file("limited");
  char *bytes = calloc(1, 500000);
  signal(SIGXFSZ, SIG_IGN);
  getrlimit(RLIMIT_FSIZE, &old);
  ok_int(brim_file_write_all(runtime, path, "old", 3, &err), BRIM_OK, "an old file");
  size_t before = names_in(scratch_folder());
  small.rlim_max = old.rlim_max;
  setrlimit(RLIMIT_FSIZE, &small);
  int status = brim_file_write_all(runtime, path, bytes, 500000, &err);
  setrlimit(RLIMIT_FSIZE, &old);
  ok(status == BRIM_E_IO && strstr(err.message, "File too large"), "a disk that fills up is told (%s)", err.message);
  ok(holds(path, "old") && names_in(scratch_folder()) == before, "the old file is untouched, nothing half-written is left");
  free(bytes);
}

static void links(void) {
  brim_error err;
  char target[512], link[512];
  snprintf(target, sizeof target, "%s", scratch_write("target", "old"));
  snprintf(link, sizeof link, "%s", scratch_file("link"));
  struct stat info;
  ok(symlink(target, link) == 0 && brim_file_write_all(runtime, link, "new", 3, &err) == BRIM_OK, "written where a link is");
  ok(holds(target, "old") && holds(link, "new") && lstat(link, &info) == 0 && S_ISREG(info.st_mode),
     "the link is replaced, its target stays");
}

static void standard_output(void) {
  brim_file *file;
  brim_error err;
  const char *path = scratch_file("stdout");
  fflush(stdout);
  int keep = dup(STDOUT_FILENO), fd = open(path, O_WRONLY | O_CREAT, 0600);
  dup2(fd, STDOUT_FILENO);
  bool good = brim_file_create(runtime, "-", &file, &err) == BRIM_OK && brim_file_write(file, "line\n", 5, &err) == BRIM_OK &&
              brim_file_commit(file, &err) == BRIM_OK && brim_file_write(file, "more\n", 5, &err) == BRIM_OK &&
              brim_file_commit(file, &err) == BRIM_OK;
  brim_file_free(file);
  dup2(keep, STDOUT_FILENO);
  close(keep);
  close(fd);
  ok(good && holds(path, "line\nmore\n"), "standard output: commit flushes, and more may come");
}

static void folders(void) {
  brim_folder *folder;
  brim_error err;
  char base[300], path[400], inside[500];
  snprintf(base, sizeof base, "%s/deep/er/still", scratch_folder());
  ok(brim_make_folder(runtime, base, &err) == BRIM_OK && brim_path_is_folder(base), "a folder with its parents");
  ok_int(brim_make_folder(runtime, base, &err), BRIM_OK, "again is fine");
  char climbing[1100];
  snprintf(climbing, sizeof climbing, "%s/missing/../other", base);
  ok(brim_make_folder(runtime, climbing, &err) == BRIM_E_IO && strstr(err.message, "No such file"),
     "nor what is reached through a missing one");
  snprintf(climbing, sizeof climbing, "%s/missing", base);
  ok(!brim_path_exists(climbing), "which is not made");
  snprintf(climbing, sizeof climbing, "%s/../climbed/x..y", base);
  ok(brim_make_folder(runtime, climbing, &err) == BRIM_OK && brim_path_is_folder(climbing), "through one that is there it is");
  snprintf(path, sizeof path, "%s/file", base);
  ok(brim_file_write_all(runtime, path, "", 0, &err) == BRIM_OK && brim_make_folder(runtime, path, &err) == BRIM_E_IO,
     "not where a file is");
  snprintf(path, sizeof path, "%s/file/below", base);
  ok(brim_make_folder(runtime, path, &err) == BRIM_E_IO && strstr(err.message, "Not a directory"), "nor below one");
  ok_int(brim_make_folder(runtime, "", &err), BRIM_E_IO, "nor without a name");

  snprintf(path, sizeof path, "%s/checkpoint", base);
  for (int round = 0; round < 2; round++) {
    const char *words = round ? "second" : "first";
    ok_int(brim_folder_create(runtime, path, &folder, &err), BRIM_OK, "a folder is begun");
    snprintf(inside, sizeof inside, "%s/sub/%s", brim_folder_path(folder), words);
    char *sub = brim_path_join(runtime, brim_folder_path(folder), "sub");
    bool good = brim_make_folder(runtime, sub, &err) == BRIM_OK &&
                brim_file_write_all(runtime, inside, words, strlen(words), &err) == BRIM_OK;
    brim_release(runtime, sub);
    snprintf(inside, sizeof inside, "%s/sub/first", path);
    ok(good && brim_path_exists(inside) == (round == 1), "what was there stays until then");
    char *former = NULL, *none = NULL;
    ok_int(round ? brim_folder_replace(folder, &former, &err) : brim_folder_commit_new(folder, &err), BRIM_OK, "committed");
    ok_int(round ? brim_folder_replace(folder, &none, &err) : brim_folder_commit_new(folder, &err), BRIM_OK, "twice is once");
    brim_folder_free(folder);
    snprintf(inside, sizeof inside, "%s/sub/first", former ? former : "");
    ok(!none && (round == 0 ? !former : former && holds(inside, "first") && !brim_remove_tree(runtime, former, &err)),
       "what was there is the caller's to remove");
    brim_release(runtime, former);
    snprintf(inside, sizeof inside, "%s/sub/%s", path, words);
    ok(holds(inside, words), "the %s one is there", words);
  }
  ok(!brim_path_exists(path) || names_in(base) == 2, "nothing else is left beside it");
  snprintf(inside, sizeof inside, "%s/sub", path);
  ok_int(names_in(inside), 1, "the old one is gone");
  ok_int(brim_folder_create(runtime, path, &folder, &err), BRIM_OK, "a third is begun");
  brim_folder_free(folder);
  ok_int(names_in(base), 2, "and given up without a trace");
  snprintf(inside, sizeof inside, "%s/absent/checkpoint", base);
  ok(brim_folder_create(runtime, inside, &folder, &err) == BRIM_E_IO && !folder, "not below a folder that is not there");
  snprintf(inside, sizeof inside, "%s/sub/link", path);
  ok(symlink("/", inside) == 0 && brim_remove_tree(runtime, path, &err) == BRIM_OK && !brim_path_exists(path),
     "a tree is removed, links are not followed");
  ok_int(brim_remove_tree(runtime, path, &err), BRIM_OK, "removing what is absent is fine");
}

/* A folder that is new or empty: what comes there in the meantime is somebody's. */
static void new_folders(void) {
  brim_folder *folder;
  brim_error err = {0};
  char path[400], inside[450];
  snprintf(path, sizeof path, "%s/new", scratch_make_folder("new_folders"));
  snprintf(inside, sizeof inside, "%s/mine", path);
  ok(brim_make_folder(runtime, path, &err) == BRIM_OK && brim_folder_create(runtime, path, &folder, &err) == BRIM_OK &&
         brim_folder_commit_new(folder, &err) == BRIM_OK && brim_folder_commit_new(folder, &err) == BRIM_OK,
     "an empty folder is taken");
  brim_folder_free(folder);
  ok(brim_folder_create(runtime, path, &folder, &err) == BRIM_OK &&
         brim_file_write_all(runtime, inside, "mine", 4, &err) == BRIM_OK,
     "something comes while another is made");
  ok_int(brim_folder_commit_new(folder, &err), BRIM_E_USAGE, "which is refused");
  brim_folder_free(folder);
  ok(holds(inside, "mine") && names_in(scratch_file("new_folders")) == 1, "and stays, alone: %s", err.message);
}

static void cancel(int number) {
  (void)number;
  brim_runtime_cancel(runtime);
}

static bool takes_nothing;
ssize_t __real_write(int fd, const void *bytes, size_t length);
ssize_t __wrap_write(int fd, const void *bytes, size_t length);
ssize_t __wrap_write(int fd, const void *bytes, size_t length) {
  return takes_nothing ? 0 : __real_write(fd, bytes, length);
}

/* A pipe that nobody reads any more, and a device that takes no byte: neither is written to for ever. */
static void stuck(void) {
  static char bytes[1 << 18];
  int ends[2];
  brim_file *file;
  brim_error err = {0};
  const struct itimerval soon = {{0, 20000}, {0, 20000}}, never = {{0, 0}, {0, 0}};
  const struct sigaction ask = {.sa_handler = cancel};
  ok(pipe(ends) == 0 && brim_file_over(runtime, ends[1], &file, &err) == BRIM_OK && sigaction(SIGALRM, &ask, NULL) == 0 &&
         setitimer(ITIMER_REAL, &soon, NULL) == 0,
     "a pipe that is not read");
  ok_int(brim_file_write(file, bytes, sizeof bytes, &err), BRIM_E_CANCELLED, "is waited for until a signal");
  setitimer(ITIMER_REAL, &never, NULL);
  brim_runtime_resume(runtime);
  brim_file_free(file);
  close(ends[0]), close(ends[1]);
  takes_nothing = true;
  ok_int(brim_file_write_all(runtime, "/dev/null", "x", 1, &err), BRIM_E_IO, "a device that takes no byte is an error");
  takes_nothing = false;
}

/* A process that ends while it writes a file and a folder. */
static void leave(const char *file_path, const char *folder_path) {
  const pid_t child = fork();
  brim_file *file;
  brim_folder *folder;
  if (child == 0) {
    bool good = brim_file_create(runtime, file_path, &file, NULL) == BRIM_OK &&
                brim_file_write(file, "half", 4, NULL) == BRIM_OK &&
                brim_folder_create(runtime, folder_path, &folder, NULL) == BRIM_OK;
    char *inside = good ? brim_path_join(runtime, brim_folder_path(folder), "inside") : NULL;
    _exit(inside && brim_file_write_all(runtime, inside, "x", 1, NULL) == BRIM_OK ? 0 : 1);
  }
  int ended = 1;
  ok(waitpid(child, &ended, 0) == child && ended == 0, "a process ends in the middle");
}

static void leftovers(void) {
  static const char *const foreign[] = {"a.tmp-abcdef", "a.tmp-abcdefghijkl", "x.tmp-vocab1abcdef"};
  brim_file *living, *file;
  brim_error err;
  char base[300], one[400], other[400], folder[400];
  snprintf(base, sizeof base, "%s", scratch_make_folder("leftovers"));
  snprintf(one, sizeof one, "%s/a", base);
  snprintf(other, sizeof other, "%s/other", base);
  snprintf(folder, sizeof folder, "%s/f", base);
  for (int i = 0; i < 3; i++) {
    char path[400];
    snprintf(path, sizeof path, "%s/%s", base, foreign[i]);
    ok(brim_file_write_all(runtime, path, "mine", 4, &err) == BRIM_OK, "somebody's own file, %s", foreign[i]);
  }
  leave(one, folder);
  ok_int(names_in(base), 3 + 2, "what it was writing is left");
  ok(brim_file_create(runtime, one, &living, &err) == BRIM_OK && names_in(base) == 3 + 2,
     "who writes there next clears the file");
  ok(brim_file_create(runtime, one, &file, &err) == BRIM_OK && names_in(base) == 3 + 3, "but not one that is being written");
  brim_file_free(file);
  ok(brim_file_write_all(runtime, other, "", 0, &err) == BRIM_OK && names_in(base) == 3 + 3,
     "nor what was made for another path");
  brim_folder *made;
  ok(brim_folder_create(runtime, folder, &made, &err) == BRIM_OK && names_in(base) == 3 + 3, "a folder with what is in it");
  brim_folder_free(made);
  leave(one, folder);
  brim_clear_leftovers_in(base);
  ok(brim_file_commit(living, &err) == BRIM_OK && names_in(base) == 3 + 2, "all that is left, and nothing that is in use");
  brim_file_free(living);
}

static void paths(void) {
  char *joined = brim_path_join(runtime, "a/", "b");
  ok_string(joined, "a/b", "one slash");
  brim_release(runtime, joined);
  joined = brim_path_join(runtime, "", "b");
  ok_string(joined, "b", "no folder");
  brim_release(runtime, joined);
  ok_string(brim_path_name("x/y.txt"), "y.txt", "the name");
  char *one = brim_temporary_name(runtime, "a/b/"), *two = brim_temporary_name(runtime, "a/b/");
  ok(strncmp(one, "a/b.tmp-", 8) == 0 && strlen(one) == 20 && strcmp(one, two) != 0, "temporary names differ");
  ok(brim_is_temporary(one + 2) && brim_is_temporary_of(one + 2, "a/b/") && !brim_is_temporary_of(one + 2, "a/c") &&
         !brim_is_temporary("b.tmp-abcdef") && !brim_is_temporary("b.tmp-abcdefghijkl"),
     "and prove that they are brim's, and of which path");
  brim_release(runtime, one);
  brim_release(runtime, two);
  char **names = NULL;
  size_t count = 0;
  brim_error err;
  char base[300];
  snprintf(base, sizeof base, "%s", scratch_make_folder("sorted"));
  bool good = true;
  for (const char *p = "cabd"; *p; p++) {
    char path[400];
    snprintf(path, sizeof path, "%s/%c", base, *p);
    good = good && brim_file_write_all(runtime, path, "", 0, &err) == BRIM_OK;
  }
  good = good && brim_list_folder(runtime, base, &names, &count, &err) == BRIM_OK && count == 4;
  ok(good && *names[0] == 'a' && *names[1] == 'b' && *names[2] == 'c' && *names[3] == 'd', "names are sorted");
  brim_names_free(runtime, names, count);
  ok(brim_list_folder(runtime, "/nowhere/at/all", &names, &count, &err) == BRIM_E_IO && !names && !count, "an absent folder");
}

/* Between open and lock the process that wrote the file may have committed it: then the name is free, and the file is not ours.
 */
static const char *committed; /* whose partial file is committed at the next lock; NULL: none is */
int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);
int __wrap_flock(int fd, int operation) {
  char partial[528];
  if (committed) {
    snprintf(partial, sizeof partial, "%s.partial", committed);
    ok(rename(partial, committed) == 0, "another process commits while this one waits for the lock");
    committed = NULL;
  }
  return __real_flock(fd, operation);
}

static void committed_meanwhile(void) {
  brim_file *file;
  brim_error err = {0};
  char path[512], partial[528];
  snprintf(path, sizeof path, "%s/a", scratch_make_folder("meanwhile"));
  snprintf(partial, sizeof partial, "%s.partial", path);
  ok(brim_file_write_all(runtime, partial, "theirs", 6, &err) == BRIM_OK, "a partial file of another process");
  committed = path;
  ok(brim_file_continue(runtime, path, BRIM_FILE_ALL, &file, &err) == BRIM_OK && brim_file_cut(file, 0, &err) == BRIM_OK &&
         brim_file_write(file, "ours", 4, &err) == BRIM_OK && holds(path, "theirs"),
     "what it committed is left alone");
  ok(brim_file_commit(file, &err) == BRIM_OK && holds(path, "ours"), "and replaced when this one commits");
  brim_file_free(file);
}

/* What is there is looked at before anything is cut. */
static void looked_at(void) {
  brim_file *file;
  brim_error err = {0};
  char path[512], partial[528];
  snprintf(path, sizeof path, "%s/a", scratch_make_folder("looked-at"));
  snprintf(partial, sizeof partial, "%s.partial", path);
  ok(brim_file_write_all(runtime, partial, "three", 5, &err) == BRIM_OK &&
         brim_file_continue(runtime, path, BRIM_FILE_ALL, &file, &err) == BRIM_OK,
     "a partial file is held");
  brim_file_free(file);
  ok(holds(partial, "three"), "and left as it was");
  ok(brim_file_continue(runtime, path, BRIM_FILE_ALL, &file, &err) == BRIM_OK && brim_file_cut(file, 6, &err) == BRIM_E_MISMATCH,
     "more than there is: %s", err.message);
  brim_file_free(file);
  ok(holds(partial, "three"), "is no reason to remove it");
}

/* What is continued or begun under a second name becomes another file: the first keeps what it has. */
static void linked(void) {
  brim_file *file;
  brim_error err = {0};
  char path[512], partial[528], second[528];
  snprintf(path, sizeof path, "%s/a", scratch_make_folder("linked"));
  snprintf(partial, sizeof partial, "%s.partial", path);
  snprintf(second, sizeof second, "%s.second", path);
  ok(brim_file_write_all(runtime, second, "one two", 7, &err) == BRIM_OK, "a file");
  for (uint64_t keep = 0; keep <= 4; keep += 4) {
    ok(link(second, partial) == 0 && brim_file_continue(runtime, path, keep, &file, &err) == BRIM_OK &&
           brim_file_write(file, "three", 5, &err) == BRIM_OK && brim_file_commit(file, &err) == BRIM_OK,
       "continued after %d bytes", (int)keep);
    brim_file_free(file);
    ok(holds(path, keep ? "one three" : "three") && holds(second, "one two") && names_in(scratch_file("linked")) == 2,
       "its other name has what it had");
  }
  ok(symlink(second, partial) == 0 && brim_file_continue(runtime, path, 4, &file, &err) == BRIM_E_USAGE &&
         holds(second, "one two"),
     "a link is refused: %s", err.message);
}

/* Another process continues with what a killed one had synced. */
static void continued(void) {
  brim_file *file, *other;
  brim_error err = {0};
  char path[512], partial[528];
  snprintf(path, sizeof path, "%s/a", scratch_make_folder("continued"));
  snprintf(partial, sizeof partial, "%s.partial", path);
  ok(brim_file_continue(runtime, path, 0, &file, &err) == BRIM_OK && brim_file_write(file, "one two", 7, &err) == BRIM_OK,
     "a file that can be continued");
  ok(brim_file_continue(runtime, path, 0, &other, &err) == BRIM_E_USAGE, "one process writes it: %s", err.message);
  brim_file_free(file);
  ok_int(names_in(scratch_file("continued")), 0, "what was not synced is not kept");
  ok(brim_file_continue(runtime, path, 0, &file, &err) == BRIM_OK && brim_file_write(file, "one two", 7, &err) == BRIM_OK &&
         brim_file_sync(file, &err) == BRIM_OK && brim_file_write(file, " lost", 5, &err) == BRIM_OK,
     "synced");
  brim_file_free(file);
  ok(holds(partial, "one two") && !brim_path_exists(path), "what was synced is kept, under another name");
  ok(brim_file_continue(runtime, path, 8, &file, &err) == BRIM_E_MISMATCH, "more than there is: %s", err.message);
  ok(brim_file_continue(runtime, path, 4, &file, &err) == BRIM_OK && brim_file_write(file, "three", 5, &err) == BRIM_OK &&
         brim_file_rewrite(file, "O", 1, &err) == BRIM_OK && brim_file_commit(file, &err) == BRIM_OK,
     "continued");
  brim_file_free(file);
  ok(holds(path, "One three") && names_in(scratch_file("continued")) == 1, "what came after is cut off");
  ok(brim_file_continue(runtime, "-", 0, &file, &err) == BRIM_E_USAGE, "no pipe: %s", err.message);
}

int main(void) {
  if (brim_runtime_new(&(brim_runtime_options){.threads = 1}, &runtime, NULL) != BRIM_OK)
    return 1;
  complete_or_absent();
  continued();
  linked();
  committed_meanwhile();
  looked_at();
  large();
  failures();
  disk_fills_up();
  links();
  standard_output();
  folders();
  new_folders();
  stuck();
  leftovers();
  paths();
  brim_runtime_free(runtime);
  return tap_done();
}
