/* Runtime, status and message, memory, arena. */
#include "base/arena.h"
#include "base/memory.h"
#include "base/runtime.h"
#include "base/status.h"
#include "base/utf8.h"
#include "fault.h"

static void options(void) {
  brim_runtime *runtime = NULL;
  brim_error err;
  ok_int(brim_runtime_new(&(brim_runtime_options){.threads = -1}, &runtime, &err), BRIM_E_USAGE, "a negative number of threads");
  ok(runtime == NULL && strstr(err.message, "-1 threads"), "the message says it");
  ok_int(brim_runtime_new(&(brim_runtime_options){.cpu = "mmx"}, &runtime, &err), BRIM_E_USAGE, "an unknown CPU level");
  ok_int(brim_runtime_new(&(brim_runtime_options){.threads = 3, .cpu = "plain"}, &runtime, &err), BRIM_OK,
         "plain is always there");
  ok_int(brim_runtime_threads(runtime), 3, "threads as asked");
  ok_int(brim_runtime_cpu(runtime), BRIM_CPU_PLAIN, "level as asked");
  ok(!brim_runtime_cancelled(runtime) && brim_check_cancel(runtime, &err) == BRIM_OK, "not cancelled");
  brim_runtime_cancel(runtime);
  ok(brim_runtime_cancelled(runtime) && brim_check_cancel(runtime, &err) == BRIM_E_CANCELLED, "cancelled");
  brim_runtime_free(runtime);
  brim_runtime_free(NULL);
}

static void cpu_levels(void) {
  brim_runtime *runtime = NULL;
  brim_error err;
  brim_cpu_level best = brim_cpu_detect();
  unsetenv("BRIM_CPU");
  if (brim_runtime_new(NULL, &runtime, &err) == BRIM_OK)
    ok(brim_runtime_cpu(runtime) == best && brim_runtime_threads(runtime) == brim_cores_allowed(),
       "defaults: all the machine has");
  brim_runtime_free(runtime);
  setenv("BRIM_CPU", "plain", 1);
  if (brim_runtime_new(NULL, &runtime, &err) == BRIM_OK)
    ok_int(brim_runtime_cpu(runtime), BRIM_CPU_PLAIN, "the environment lowers the level");
  brim_runtime_free(runtime);
  setenv("BRIM_CPU", "fast", 1);
  ok_int(brim_runtime_new(NULL, &runtime, &err), BRIM_E_USAGE, "an unknown level in the environment");
  ok(strstr(err.message, "BRIM_CPU") && strstr(err.message, "fast"), "the message names the variable");
  unsetenv("BRIM_CPU");
  for (int level = BRIM_CPU_PLAIN; level <= BRIM_CPU_AMX; level++) {
    brim_runtime_options wanted = {.threads = 1, .cpu = brim_cpu_name((brim_cpu_level)level)};
    int want = level <= (int)best ? BRIM_OK : BRIM_E_UNSUPPORTED;
    ok_int(brim_runtime_new(&wanted, &runtime, &err), want, wanted.cpu);
    brim_runtime_free(runtime);
  }
}

static void errors(void) {
  brim_error err;
  char text[1200], path[400];
  ok_int(brim_error_set(NULL, BRIM_E_IO, "nobody listens"), BRIM_E_IO, "a NULL error is fine");
  brim_error_at(&err, BRIM_E_FORMAT, "a.csv", 3, 17, "bad %s", "quote\nhere");
  brim_error_text(&err, text, sizeof text);
  ok_string(text, "a.csv: line 3, byte 17: bad quote here", "all parts, on one line");
  brim_error_at(&err, BRIM_E_FORMAT, "a\xE2\x80\xAE.csv", 3, 17, "bad \033[31m%s \xD7\xA9", "\xC2\x9B\xE2\x81\xA6");
  brim_error_text(&err, text, sizeof text);
  ok_string(text, "a?.csv: line 3, byte 17: bad  [31m?? \xD7\xA9", "nothing steers a terminal or turns the text around it");
  brim_error_at(&err, BRIM_E_FORMAT, NULL, 0, -1, "bad");
  brim_error_text(&err, text, sizeof text);
  ok_string(text, "bad", "no place");
  brim_error_at(&err, BRIM_E_FORMAT, "a.csv", 0, 5, "bad");
  brim_error_text(&err, text, sizeof text);
  ok_string(text, "a.csv: byte 5: bad", "only a byte");
  memset(path, 'x', sizeof path);
  memcpy(path + sizeof path - 10, "/end.jsonl", 10);
  path[sizeof path - 1] = 0;
  brim_error_at(&err, BRIM_E_IO, path, 0, -1, "%s", "");
  ok(strlen(err.file) == sizeof err.file - 1 && strstr(err.file, "/end.json") && strncmp(err.file, "...", 3) == 0,
     "a long path keeps its end");
  char many[2000];
  for (size_t i = 0; i + 2 < sizeof many; i += 2)
    memcpy(many + i, "\xC3\xA9", 3);
  brim_error_set(&err, BRIM_E_IO, ".%s", many);
  ok(brim_utf8_valid(err.message, strlen(err.message)) == strlen(err.message) && strlen(err.message) > 700,
     "a cut message ends at a character");
  brim_error_system(&err, "f", "open the file", 2);
  brim_error_text(&err, text, sizeof text);
  ok_string(text, "f: cannot open the file: No such file or directory", "the system's words");
  ok(brim_error_text(&err, text, 4) == strlen("f: cannot open the file: No such file or directory") && strlen(text) == 3,
     "a small buffer is not overrun");
}

static void log_line(void *context, brim_log_level level, const char *text) {
  snprintf(context, 64, "%d %s", level, text);
}

static void logs(void) {
  char got[64] = "";
  brim_runtime *runtime;
  if (brim_runtime_new(&(brim_runtime_options){.threads = 1, .log = log_line, .log_context = got}, &runtime, NULL) != BRIM_OK)
    return;
  brim_log(runtime, BRIM_LOG_WARNING, "%d rows", 5);
  ok_string(got, "2 5 rows", "a log line reaches the callback");
  brim_runtime_free(runtime);
}

static void memory(brim_runtime *runtime) {
  void *p = brim_alloc_array(runtime, SIZE_MAX / 2, 3);
  ok(p == NULL, "a product that overflows gets nothing");
  bool aligned = true;
  for (size_t size = 0; size < 300; size += 7) {
    p = brim_alloc_aligned(runtime, size);
    aligned = aligned && p && (uintptr_t)p % 64 == 0;
    if (p)
      memset(p, 1, size);
    brim_release_aligned(runtime, p);
  }
  ok(aligned, "aligned blocks are");
  char *copy = brim_copy_string(runtime, "a\0b", 3);
  ok(copy && memcmp(copy, "a\0b", 4) == 0, "copies carry NULs");
  brim_release(runtime, copy);
  int *items = NULL;
  size_t capacity = 0;
  bool grown = true;
  for (size_t i = 0; i < 1000; i++) {
    grown = grown && brim_grow(runtime, (void **)&items, &capacity, i + 1, sizeof *items, NULL) == BRIM_OK;
    items[i] = (int)i;
  }
  ok(grown && items[999] == 999 && items[0] == 0, "an array grows");
  ok(brim_grow(runtime, (void **)&items, &capacity, SIZE_MAX / 2, sizeof *items, NULL) == BRIM_E_MEMORY && items[999] == 999,
     "and stays when it cannot");
  brim_release(runtime, items);
}

static void arenas(brim_runtime *runtime, fault_memory *memory_counts) {
  brim_arena arena;
  brim_arena_init(&arena, runtime, 1024);
  ok_int(brim_arena_reserve(&arena, 100, NULL), BRIM_OK, "room in advance");
  char *a = brim_arena_alloc(&arena, 100);
  memset(a, 'a', 100);
  brim_arena_mark mark = brim_arena_mark_now(&arena);
  long before = 0;
  bool aligned = true;
  for (int round = 0; round < 3; round++) {
    for (size_t size = 1; size < 3000; size += 100) {
      char *p = brim_arena_alloc(&arena, size);
      aligned = aligned && p && (uintptr_t)p % 64 == 0;
      memset(p, 'b', size);
    }
    if (round == 1)
      before = atomic_load(&memory_counts->live);
    brim_arena_reset(&arena, mark);
  }
  ok(aligned, "pieces are aligned");
  ok_int(atomic_load(&memory_counts->live), before, "a second round allocates nothing");
  ok(a[0] == 'a' && a[99] == 'a', "what lies before the mark stays");
  size_t peak = arena.peak;
  ok(peak >= 43530 && arena.used < peak, "peak %zu is kept", peak);
  char *copy = brim_arena_copy_string(&arena, "text", 4);
  ok_string(copy, "text", "a string");
  ok(brim_arena_alloc(&arena, SIZE_MAX - 10) == NULL && brim_arena_alloc_array(&arena, SIZE_MAX / 4, 8) == NULL,
     "absurd sizes get nothing");
  brim_arena_clear(&arena);
  ok_int(arena.used, 0, "cleared");
  brim_arena_free(&arena);
}

int main(void) {
  fault_memory counts = {0};
  atomic_init(&counts.left, -1);
  brim_allocator allocator = {fault_allocate, fault_resize, fault_release, &counts};
  brim_runtime *runtime;
  ok(strlen(brim_version()) >= 5, "a version");
  options();
  cpu_levels();
  errors();
  logs();
  if (brim_runtime_new(&(brim_runtime_options){.threads = 2, .allocator = &allocator}, &runtime, NULL) != BRIM_OK)
    return 1;
  memory(runtime);
  arenas(runtime, &counts);
  brim_runtime_free(runtime);
  ok_int(atomic_load(&counts.live), 0, "every block came back");
  return tap_done();
}
