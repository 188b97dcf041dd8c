/* Everything in base when the n-th allocation fails: one clear error, no block lost, nothing half-written. */
#include "base/arena.h"
#include "base/folder.h"
#include "base/hashmap.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/ordered.h"
#include "base/path.h"
#include "base/runtime.h"
#include "base/status.h"
#include "base/stream.h"
#include "brim/profile.h"
#include "fault.h"
#include <sys/stat.h>
#include <zstd.h>

static int hashmap(brim_runtime *runtime, void *context, brim_error *err) {
  brim_hashmap map;
  int status = BRIM_OK;
  (void)context;
  brim_hashmap_init(&map, runtime);
  for (int i = 0; i < 300 && status == BRIM_OK; i++) {
    char key[16];
    int n = snprintf(key, sizeof key, "key number %d", i);
    status = brim_hashmap_put(&map, key, (size_t)n, i, NULL, NULL, err);
    bool there = brim_hashmap_get(&map, key, (size_t)n, -1) == i;
    if (there != (status == BRIM_OK))
      status = BRIM_E_INTERNAL;
  }
  brim_hashmap_free(&map);
  return status;
}

static int text(brim_runtime *runtime, void *context, brim_error *err) {
  brim_text t;
  (void)context;
  brim_text_init(&t, runtime);
  for (int i = 0; i < 400; i++)
    brim_text_printf(&t, "%0100d", i);
  int status = brim_text_status(&t, err);
  if (status == BRIM_OK && t.length != 40000)
    status = BRIM_E_INTERNAL;
  brim_text_free(&t);
  return status;
}

static int arena(brim_runtime *runtime, void *context, brim_error *err) {
  brim_arena a;
  (void)context;
  brim_arena_init(&a, runtime, 256);
  int status = brim_arena_reserve(&a, 1000, err);
  for (int i = 0; i < 20 && status == BRIM_OK; i++) {
    brim_arena_mark mark = brim_arena_mark_now(&a);
    if (!brim_arena_alloc(&a, 300) || !brim_arena_copy_string(&a, "text", 4))
      status = BRIM_NOMEM(err);
    if (i % 3 == 0)
      brim_arena_reset(&a, mark);
  }
  brim_arena_free(&a);
  return status;
}

static int document(brim_runtime *runtime, void *context, brim_error *err) {
  brim_json_document *d;
  BRIM_TRY(brim_json_load(runtime, context, 0, &d, err));
  int status = brim_json_get(brim_json_root(d), "k")->length == 40 ? BRIM_OK : BRIM_E_INTERNAL;
  brim_json_free(d);
  return status;
}

static int stream(brim_runtime *runtime, void *context, brim_error *err) {
  brim_stream *s;
  const char *line;
  size_t length;
  int status = brim_stream_open(runtime, context, &s, err);
  if (status != BRIM_OK)
    return s ? BRIM_E_INTERNAL : status;
  while ((status = brim_stream_line(s, 0, &line, &length, err)) == BRIM_OK)
    continue;
  brim_stream_free(s);
  return status == BRIM_END ? BRIM_OK : status;
}

static int file(brim_runtime *runtime, void *context, brim_error *err) {
  char *bytes = NULL;
  size_t length;
  BRIM_TRY(brim_file_write_all(runtime, context, "new", 3, err));
  BRIM_TRY(brim_file_read_all(runtime, context, 0, &bytes, &length, err));
  brim_runtime_release(runtime, bytes);
  return BRIM_OK;
}

static int copy(brim_runtime *runtime, void *context, brim_error *err) {
  char to[600];
  snprintf(to, sizeof to, "%s.copy", (char *)context);
  return brim_copy_file(runtime, context, to, err);
}

static int fill_folder(brim_runtime *runtime, const char *path, brim_error *err) {
  static const char *const names[] = {"one", "sub", "sub/two"};
  for (int i = 0; i < 3; i++) {
    char *inside = brim_path_join(runtime, path, names[i]);
    int status = !inside  ? BRIM_NOMEM(err)
                 : i == 1 ? brim_make_folder(runtime, inside, err)
                          : brim_file_write_all(runtime, inside, "x", 1, err);
    brim_release(runtime, inside);
    BRIM_TRY(status);
  }
  return BRIM_OK;
}

static int folder(brim_runtime *runtime, void *context, brim_error *err) {
  brim_folder *f;
  BRIM_TRY(brim_folder_create(runtime, context, &f, err));
  int status = fill_folder(runtime, brim_folder_path(f), err);
  char *former = NULL;
  if (status == BRIM_OK)
    status = brim_path_is_folder(context) ? brim_folder_replace(f, &former, err) : brim_folder_commit_new(f, err);
  brim_folder_free(f);
  brim_error ignored;
  const int removed = former ? brim_remove_tree(runtime, former, status ? &ignored : err) : BRIM_OK;
  brim_release(runtime, former);
  return status ? status : removed;
}

static bool no_temporary(void *context) {
  DIR *open = opendir(context);
  bool none = open;
  for (struct dirent *entry; none && (entry = readdir(open));)
    none = !strstr(entry->d_name, "tmp-");
  if (open)
    closedir(open);
  return none;
}

static char folders_folder[300];

static bool whole_folder(void *context) {
  char one[600], two[600];
  struct stat info;
  snprintf(one, sizeof one, "%s/one", (char *)context);
  snprintf(two, sizeof two, "%s/sub/two", (char *)context);
  if (!no_temporary(folders_folder))
    return false;
  return stat(context, &info) != 0 || (stat(one, &info) == 0 && stat(two, &info) == 0 && info.st_size == 1);
}

static char files_folder[300], file_path[400];

static bool clean_files(void *context) {
  (void)context;
  return no_temporary(files_folder);
}

static int profile(brim_runtime *runtime, void *context, brim_error *err) {
  brim_profile *p;
  BRIM_TRY(brim_profile_new(runtime, &p, err));
  brim_profile_begin(p, BRIM_WORK_LOG, "name");
  brim_profile_end(p, 0);
  int status = brim_profile_write(p, context, err);
  brim_profile_free(p);
  return status;
}

typedef struct blocks {
  brim_runtime *runtime;
  int next;
} blocks;

static int produce(void *context, void **out, brim_error *err) {
  blocks *b = context;
  if (b->next == 30)
    return BRIM_END;
  *out = brim_alloc(b->runtime, sizeof(int));
  if (!*out)
    return BRIM_NOMEM(err);
  *(int *)*out = b->next++;
  return BRIM_OK;
}

static int work(void *context, void *block, int worker, brim_error *err) {
  blocks *b = context;
  (void)block, (void)worker;
  void *p = brim_alloc(b->runtime, 100);
  brim_release(b->runtime, p);
  return p ? BRIM_OK : BRIM_NOMEM(err);
}

static void discard(void *context, void *block) {
  brim_release(((blocks *)context)->runtime, block);
}

static int ordered(brim_runtime *runtime, void *context, brim_error *err) {
  blocks b = {.runtime = runtime};
  brim_ordered_options options = {
      .threads = *(int *)context, .produce = produce, .work = work, .discard = discard, .context = &b};
  brim_ordered *o;
  void *block;
  int status, want = 0;
  BRIM_TRY(brim_ordered_new(runtime, &options, &o, err));
  while ((status = brim_ordered_next(o, &block, err)) == BRIM_OK) {
    want = *(int *)block == want ? want + 1 : -1000;
    discard(&b, block);
  }
  brim_ordered_free(o);
  return status == BRIM_END ? (want == 30 ? BRIM_OK : BRIM_E_INTERNAL) : status;
}

static int runtime_itself(brim_runtime *outer, void *context, brim_error *err) {
  brim_runtime *runtime;
  (void)context;
  int status = brim_runtime_new(&(brim_runtime_options){.threads = 3, .allocator = &outer->allocator}, &runtime, err);
  brim_runtime_free(runtime);
  return status;
}

static const char *write_compressed(const char *name) {
  static char plain[60000], packed[70000];
  for (size_t i = 0; i < sizeof plain; i++)
    plain[i] = i % 61 ? (char)('a' + i * i % 23) : '\n';
  memset(plain + 5000, 'l', 50000);
  return scratch_write_bytes(name, packed, ZSTD_compress(packed, sizeof packed, plain, sizeof plain, 1));
}

static const char *write_gzip(const char *name) {
  char command[1200];
  const char *path = scratch_file(name);
  snprintf(command, sizeof command, "seq 20000 | tr '\\n' ' ' | gzip > '%s'", path);
  return system(command) == 0 ? path : NULL;
}

/* A model of the hub's cache, by its name. */
static int hub(brim_runtime *runtime, void *context, brim_error *err) {
  char *folder;
  int status = brim_hub_find(runtime, "owner/name@v1", NULL, BRIM_HUB_TOKENIZER, &folder, err);
  if (status == BRIM_OK && strcmp(folder, context) != 0)
    status = BRIM_E_INTERNAL;
  brim_runtime_release(runtime, folder);
  return status;
}

/* The folder of the only snapshot of a cache that is made for it. */
static const char *make_hub(void) {
  scratch_make_folder("hub");
  scratch_make_folder("hub/models--owner--name");
  scratch_make_folder("hub/models--owner--name/refs");
  scratch_write("hub/models--owner--name/refs/v1", "abc");
  scratch_make_folder("hub/models--owner--name/snapshots");
  scratch_make_folder("hub/models--owner--name/snapshots/abc");
  scratch_write("hub/models--owner--name/snapshots/abc/vocab.txt", "a");
  setenv("HF_HUB_CACHE", scratch_file("hub"), 1);
  return scratch_file("hub/models--owner--name/snapshots/abc");
}

int main(void) {
  int none = 0, two = 2;
  char path[400];
  fault_check("hash map", 1, hashmap, NULL, NULL);
  fault_check("text", 1, text, NULL, NULL);
  fault_check("arena", 1, arena, NULL, NULL);
  brim_runtime *runtime;
  brim_text t;
  if (brim_runtime_new(&(brim_runtime_options){.threads = 1}, &runtime, NULL) != BRIM_OK)
    return 1;
  brim_text_init(&t, runtime);
  for (int i = 0; i < 40; i++)
    brim_text_printf(&t, "%s{\"a\\n\":[%d,2.5,\"x\\ty\"]}", i ? "," : "{\"k\":[", i);
  brim_text_string(&t, "]}");
  snprintf(path, sizeof path, "%s", scratch_write_bytes("document.json", t.data, t.length));
  brim_text_free(&t);
  fault_check("JSON document", 1, document, NULL, path);
  snprintf(path, sizeof path, "%s", write_compressed("text.zst"));
  fault_check("zstd stream", 1, stream, NULL, path);
  snprintf(path, sizeof path, "%s", write_gzip("text.gz"));
  fault_check("gzip stream", 1, stream, NULL, path);
  static const char *const packed[][2] = {{"xz", "xz_streams"}, {"bz2", "bzip2_streams"}};
  for (int i = 0; i < 2; i++) {
    snprintf(path, sizeof path, "%s/tests/fuzz/corpus/base_stream/%s", tap_source(), packed[i][1]);
    if (brim_reads_packed(packed[i][0]))
      fault_check(packed[i][0], 1, stream, NULL, path);
  }
  snprintf(files_folder, sizeof files_folder, "%s", fault_file("files"));
  mkdir(files_folder, 0777);
  snprintf(file_path, sizeof file_path, "%s/file", files_folder);
  fault_check("atomic file", 1, file, clean_files, file_path);
  fault_check("copy of a file", 1, copy, clean_files, file_path);
  snprintf(folders_folder, sizeof folders_folder, "%s", fault_file("folders"));
  mkdir(folders_folder, 0777);
  snprintf(path, sizeof path, "%s/folder", folders_folder);
  fault_check("atomic folder", 1, folder, whole_folder, path);
  fault_check("atomic folder that replaces one", 1, folder, whole_folder, path);
  fault_check("ordered map without threads", 1, ordered, NULL, &none);
  fault_check("ordered map with threads", 1, ordered, NULL, &two);
  fault_check("profile", 1, profile, clean_files, file_path);
  fault_check("a model by its name", 1, hub, NULL, (void *)make_hub());
  fault_check("runtime", 1, runtime_itself, NULL, NULL);
  brim_runtime_free(runtime);
  return tap_done();
}
