/* Datasets from texts in memory: the same rows, labels and fingerprint as from a file, for any number of threads, after a fork
 * and after a cancellation too. */
#include "data_tokenizer.h"

#include <sys/wait.h>
#include <unistd.h>

typedef struct rows {
  const char *const (*all)[3]; /* text, pair, label */
} rows;

static int row_of(void *context, uint64_t index, brim_text_row *out, brim_error *err) {
  const rows *r = context;
  const char *const *row = r->all[index];
  (void)err;
  *out = (brim_text_row){.text = row[0], .text_length = strlen(row[0])};
  if (row[1])
    out->pair = row[1], out->pair_length = strlen(row[1]);
  if (row[2])
    out->label = row[2], out->label_length = strlen(row[2]);
  return BRIM_OK;
}

static const char *const few[][3] = {{"abc", "", "pos"}, {"b", "cd", "neg"}, {"", "e", "pos"}};

static void as_from_a_file(const brim_tokenizer *tokenizer) {
  const char *path = scratch_write("a.csv", "text,label,text_pair\nabc,pos,\nb,neg,cd\n,pos,e\n");
  brim_dataset_options options = {.source.need_label = true, .encode.max_length = 5};
  brim_dataset *file, *memory;
  rows r = {few};
  ok_int(brim_dataset_load(data_runtime, &path, 1, tokenizer, &options, &file, NULL), BRIM_OK, "from a file");
  ok_int(brim_dataset_from_texts(data_runtime, row_of, &r, 3, tokenizer, &options, &memory, NULL), BRIM_OK, "from memory");
  ok(brim_dataset_fingerprint(file) == brim_dataset_fingerprint(memory), "are the same rows");
  ok_string(brim_dataset_labels(memory)->names[1], "pos", "with the same labels");
  ok(brim_dataset_has_pairs(memory) && brim_dataset_lost(memory) == brim_dataset_lost(file), "and the same counts");
  brim_dataset_free(memory);
  options.source.min_chars = 1;
  ok_int(brim_dataset_from_texts(data_runtime, row_of, &r, 3, tokenizer, &options, &memory, NULL), BRIM_OK, "min_chars");
  uint64_t excluded;
  const brim_exclusion *list = brim_dataset_excluded(memory, &excluded);
  ok(excluded == 2 && list[0].row == 0 && list[1].row == 2 && !strcmp(list[0].reason, "fewer than 1 character"),
     "leaves out rows that lack a text and says so");
  brim_dataset_free(memory);
  brim_dataset_free(file);
}

static void refused(const brim_tokenizer *tokenizer) {
  static const char *const unlabelled[][3] = {{"a", NULL, "1"}, {"b", NULL, NULL}};
  static const char *const mixed[][3] = {{"a", NULL, "1"}, {"b", NULL, "x"}};
  static const char *const empty[][3] = {{"a", NULL, "1"}, {"", NULL, "0"}};
  brim_dataset_options options = {.source.need_label = true};
  brim_dataset *d;
  brim_error err = {0};
  ok_int(brim_dataset_from_texts(data_runtime, row_of, &(rows){unlabelled}, 2, tokenizer, &options, &d, &err), BRIM_E_FORMAT,
         "a label is missing");
  ok_string(err.message, "row 1 has no label: fill it in, or leave such rows out (missing_label skip)", "its row");
  ok(!d, "nothing comes out");
  ok_int(brim_dataset_from_texts(data_runtime, row_of, &(rows){mixed}, 2, tokenizer, &options, &d, &err), BRIM_E_FORMAT,
         "labels of two kinds");
  ok(!strncmp(err.message, "row 1: ", 7), "the row: %s", err.message);
  options.encode.no_special_tokens = true;
  ok_int(brim_dataset_from_texts(data_runtime, row_of, &(rows){empty}, 2, tokenizer, &options, &d, &err), BRIM_E_FORMAT,
         "a row without tokens");
  ok(!strncmp(err.message, "row 1: the text gives no token", 30), "the row: %s", err.message);
  ok_int(brim_dataset_from_texts(data_runtime, row_of, &(rows){few}, 0, tokenizer, &options, &d, &err), BRIM_E_USAGE, "no rows");
}

/* ---- many rows -------------------------------------------------------------------------------------------- */

enum { MANY = 30000 };

static int made_row(void *context, uint64_t index, brim_text_row *out, brim_error *err) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz";
  (void)context, (void)err;
  *out = (brim_text_row){
      .text = letters + index % 26, .text_length = 1 + index * 7 % 26, .label = index % 3 ? "a" : "b", .label_length = 1};
  return BRIM_OK;
}

static uint64_t fingerprint(brim_runtime *runtime, const brim_tokenizer *tokenizer) {
  brim_dataset_options options = {.source.need_label = true, .encode.max_length = 20};
  brim_dataset *d;
  if (brim_dataset_from_texts(runtime, made_row, NULL, MANY, tokenizer, &options, &d, NULL) != BRIM_OK)
    return 0;
  uint64_t hash = brim_dataset_fingerprint(d);
  brim_dataset_free(d);
  return hash;
}

static void threads(const brim_tokenizer *tokenizer) {
  static const int counts[] = {1, 2, 5};
  uint64_t hashes[3];
  for (int i = 0; i < 3; i++) {
    brim_runtime *runtime;
    if (brim_runtime_new(&(brim_runtime_options){.threads = counts[i]}, &runtime, NULL) != BRIM_OK)
      return;
    hashes[i] = fingerprint(runtime, tokenizer);
    brim_runtime_free(runtime);
  }
  ok(hashes[0] && hashes[0] == hashes[1] && hashes[0] == hashes[2], "the same rows for any number of threads");
}

/* The child of a fork continues with one thread and comes to the same rows. */
static void forked(const brim_tokenizer *tokenizer) {
  uint64_t parent = fingerprint(data_runtime, tokenizer);
  pid_t child = fork();
  if (child == 0) {
    brim_runtime_forked(data_runtime);
    bool same = brim_runtime_threads(data_runtime) == 1 && fingerprint(data_runtime, tokenizer) == parent;
    brim_runtime_free(data_runtime);
    _exit(same ? 0 : 1);
  }
  int status = -1;
  ok(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0,
     "a child of fork comes to the same rows");
}

static void resumed(const brim_tokenizer *tokenizer) {
  uint64_t before = fingerprint(data_runtime, tokenizer);
  brim_runtime_cancel(data_runtime);
  ok(fingerprint(data_runtime, tokenizer) == 0, "a cancelled runtime does nothing more");
  brim_runtime_resume(data_runtime);
  ok(before && fingerprint(data_runtime, tokenizer) == before, "until it is resumed");
}

int main(void) {
  data_start(2);
  brim_tokenizer *tokenizer = data_tokenizer();
  as_from_a_file(tokenizer);
  refused(tokenizer);
  threads(tokenizer);
  forked(tokenizer);
  resumed(tokenizer);
  brim_tokenizer_free(tokenizer);
  brim_runtime_free(data_runtime);
  return tap_done();
}
