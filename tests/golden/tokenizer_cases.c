/* tokenizer_cases: ids, type ids, offsets, words, windows and decoding of nasty texts for the small tokenizers beside this file,
 * and for made-up ones that together have every component that brim knows. */
#include "base/json.h"
#include "base/memory.h"
#include "brim/brim.h"
#include "gzip_file.h"
#include "scratch.h"
#include "tap.h"
#include "text/encode.h"
#include "text/windows.h"

typedef struct job {
  brim_runtime *runtime;
  brim_tokenizer *tokenizer;
  brim_scratch *scratch;
  brim_encoding encoding, plain;
  brim_offsets offsets;
  brim_windows windows;
  brim_encoding row; /* of windows */
  brim_text_lengths lengths;
  int cases, wrong;
} job;

static void wrong(job *j, const char *what, const brim_json_value *root) {
  const brim_json_value *text = brim_json_get(root, "text");
  if (j->wrong++ < 5)
    printf("# %s differs: %.*s\n", what, (int)(text->length < 200 ? text->length : 200), text->as.text);
}

static bool same_numbers(const brim_json_value *list, const int64_t *got, size_t count) {
  if (list->length != count)
    return false;
  size_t i = 0;
  for (const brim_json_value *v = brim_json_first(list); v; v = brim_json_after(list, v))
    if (v->as.integer != got[i++])
      return false;
  return true;
}

/* Copies `count` items of one of the result's arrays as int64. */
#define NUMBERS(name, array, begin, count)                                                                                       \
  int64_t *name = malloc(((count) + 1) * sizeof *name);                                                                          \
  for (size_t i_ = 0; i_ < (count); i_++)                                                                                        \
  name[i_] = (array)[(begin) + i_]

static void check_arrays(job *j, const brim_json_value *root, size_t count) {
  NUMBERS(ids, j->encoding.ids, 0, count);
  NUMBERS(types, j->encoding.type_ids, 0, count);
  NUMBERS(from, j->offsets.from, 0, count);
  NUMBERS(to, j->offsets.to, 0, count);
  NUMBERS(words, j->offsets.words, 0, count);
  if (!same_numbers(brim_json_get(root, "ids"), ids, count))
    wrong(j, "ids", root);
  else if (!same_numbers(brim_json_get(root, "types"), types, count))
    wrong(j, "type ids", root);
  else if (!same_numbers(brim_json_get(root, "from"), from, count))
    wrong(j, "from", root);
  else if (!same_numbers(brim_json_get(root, "to"), to, count))
    wrong(j, "to", root);
  else if (!same_numbers(brim_json_get(root, "words"), words, count))
    wrong(j, "words", root);
  free(ids);
  free(types);
  free(from);
  free(to);
  free(words);
}

static void check_windows(job *j, const brim_json_value *root) {
  const brim_json_value *list = brim_json_get(root, "windows");
  if (j->windows.count != list->length + 1) {
    wrong(j, "the number of windows", root);
    return;
  }
  size_t w = 1;
  for (const brim_json_value *v = brim_json_first(list); v; v = brim_json_after(list, v), w++) {
    size_t begin = j->windows.starts[w], count = j->windows.starts[w + 1] - begin;
    NUMBERS(ids, j->encoding.ids, begin, count);
    if (!same_numbers(v, ids, count))
      wrong(j, "a window", root);
    free(ids);
  }
}

/* Rows of a data set have the same windows, in the order of the text. */
static void check_rows(job *j, const brim_json_value *root, const brim_json_value *text, const brim_encode_options *given,
                       int32_t stride) {
  brim_encode_options options = *given;
  const size_t windows = j->windows.count;
  const bool left = options.truncation_side == BRIM_SIDE_LEFT;
  brim_error err = {0};
  options.max_windows = windows > 1 ? (int32_t)windows : 2;
  options.window_overlap = stride;
  j->row.length = j->lengths.count = 0;
  bool same = !brim_encode_texts(j->tokenizer, j->scratch, (brim_string){text->as.text, text->length}, (brim_string){0}, NULL, 0,
                                 false, &options, &j->row, &j->lengths, &err) &&
              j->lengths.count == windows && j->row.lost == 0;
  for (size_t i = 0, at = 0; i < windows && same; at += (size_t)j->lengths.at[i++]) {
    const size_t w = left ? windows - 1 - i : i, begin = j->windows.starts[w], count = j->windows.starts[w + 1] - begin;
    same = (size_t)j->lengths.at[i] == count && memcmp(j->row.ids + at, j->encoding.ids + begin, count * sizeof(int32_t)) == 0;
  }
  if (!same)
    wrong(j, "windows of a row", root);
}

static void check_decoded(job *j, const brim_json_value *root, const char *key, bool skip) {
  const brim_json_value *want = brim_json_get(root, key);
  brim_text text;
  if (!want)
    return;
  brim_text_init(&text, j->runtime);
  int status = brim_tokenizer_decode(j->tokenizer, j->plain.ids, j->plain.length, skip, &text, NULL);
  if (status != BRIM_OK || text.length != want->length || (want->length && memcmp(text.data, want->as.text, want->length) != 0))
    wrong(j, key, root);
  brim_text_free(&text);
}

static void check_case(job *j, const brim_json_value *root) {
  const brim_json_value *text = brim_json_get(root, "text"), *pair = brim_json_get(root, "pair"),
                        *o = brim_json_get(root, "options");
  brim_encode_options options = {.max_length = (int32_t)brim_json_number(brim_json_get(o, "max_length"))};
  const brim_json_value *left = brim_json_get(o, "left"), *special = brim_json_get(o, "special"),
                        *stride = brim_json_get(o, "stride");
  options.truncation_side = left && left->as.integer ? BRIM_SIDE_LEFT : BRIM_SIDE_RIGHT;
  options.no_special_tokens = special && !special->as.integer;
  if (brim_json_is_string(brim_json_get(o, "strategy"), "only_first"))
    options.truncation = BRIM_ONLY_FIRST;
  if (brim_json_is_string(brim_json_get(o, "strategy"), "only_second"))
    options.truncation = BRIM_ONLY_SECOND;
  const char *second = pair ? pair->as.text : NULL;
  size_t second_length = pair ? pair->length : 0;
  brim_error err = {0};
  j->cases++;
  int plain = brim_tokenizer_encode(j->tokenizer, j->scratch, text->as.text, text->length, second, second_length, &options,
                                    &j->plain, &err);
  int status = brim_tokenizer_encode_windows(j->tokenizer, j->scratch, text->as.text, text->length, second, second_length,
                                             &options, stride ? (int32_t)stride->as.integer : 0, &j->encoding, &j->offsets,
                                             stride ? &j->windows : NULL, &err);
  if (brim_json_get(root, "refused")) {
    if (status == BRIM_OK || (plain == BRIM_OK && !stride))
      wrong(j, "what must be refused", root);
    return;
  }
  if (status != BRIM_OK || plain != BRIM_OK) {
    wrong(j, err.message, root);
    return;
  }
  size_t count = stride ? j->windows.starts[1] : j->encoding.length;
  check_arrays(j, root, count);
  if (j->plain.length != count || (count && memcmp(j->plain.ids, j->encoding.ids, count * sizeof(int32_t)) != 0))
    wrong(j, "encode without offsets", root);
  if (stride)
    check_windows(j, root);
  if (stride && !pair && options.max_length > 0)
    check_rows(j, root, text, &options, (int32_t)stride->as.integer);
  check_decoded(j, root, "decoded", false);
  check_decoded(j, root, "decoded_plain", true);
}

static void end_tokenizer(job *j) {
  brim_scratch_free(j->scratch);
  brim_tokenizer_free(j->tokenizer);
  j->scratch = NULL;
  j->tokenizer = NULL;
}

static bool begin_tokenizer(job *j, const char *path, const char *name) {
  brim_error err = {0};
  end_tokenizer(j);
  if (brim_tokenizer_load(j->runtime, path, &j->tokenizer, &err) == BRIM_OK &&
      brim_scratch_new(j->runtime, j->tokenizer, &j->scratch, &err) == BRIM_OK)
    return true;
  ok(false, "%s loads %s", name, err.message);
  return false;
}

/* ---- variants --------------------------------------------------------------------------------------------- */

enum { BASES = 3 };

/* Lines that hold the parts of a tokenizer.json; variants replace some of them. */
typedef struct bases {
  brim_json_document *documents[BASES];
  int count, variants;
} bases;

static bool same_text(const brim_json_value *a, const brim_json_value *b) {
  return a && b && a->length == b->length && memcmp(a->as.text, b->as.text, a->length) == 0;
}

/* Writes the tokenizer.json of a variant. */
static const char *write_variant(const bases *b, const brim_json_value *root) {
  const char *path = scratch_file("tokenizer.json");
  const brim_json_value *parts = NULL, *changes = brim_json_get(root, "parts");
  for (int i = 0; i < b->count; i++)
    if (same_text(brim_json_get(brim_json_root(b->documents[i]), "base"), brim_json_get(root, "variant")))
      parts = brim_json_get(brim_json_root(b->documents[i]), "parts");
  FILE *f = fopen(path, "w");
  if (!f || !parts)
    exit(99);
  for (const brim_json_value *key = brim_json_first(parts); key; key = brim_json_after(parts, key)) {
    const brim_json_value *value = brim_json_member(key);
    for (const brim_json_value *other = brim_json_first(changes); other; other = brim_json_after(changes, other))
      if (same_text(key, other))
        value = brim_json_member(other);
    fprintf(f, "%c\"%.*s\":%.*s", key == brim_json_first(parts) ? '{' : ',', (int)key->length, key->as.text, (int)value->length,
            value->as.text);
  }
  if (fputs("}", f) < 0 || fclose(f) != 0)
    exit(99);
  return path;
}

/* ---- files ------------------------------------------------------------------------------------------------ */

/* A case, a base or a variant; false when the document must be kept. */
static bool take_line(job *j, bases *b, brim_json_document *document) {
  const brim_json_value *root = brim_json_root(document);
  if (brim_json_get(root, "base")) {
    if (b->count == BASES)
      exit(99);
    b->documents[b->count++] = document;
    return false;
  }
  if (brim_json_get(root, "variant")) {
    b->variants++;
    if (!begin_tokenizer(j, write_variant(b, root), "a variant"))
      exit(99);
  } else {
    check_case(j, root);
  }
  return true;
}

static void check_file(job *j, const char *source, const char *name, int least) {
  char path[600];
  size_t length = 0;
  brim_error err = {0};
  bases b = {0};
  j->cases = j->wrong = 0;
  snprintf(path, sizeof path, "%s/tests/golden/tokenizer_cases/%s.jsonl.gz", source, name);
  char *bytes = read_gz(path, &length);
  ok(bytes, "cases of %s", name);
  for (const char *at = bytes, *end; at && (end = strchr(at, '\n')); at = end + 1) {
    brim_json_document *document;
    if (brim_json_parse(j->runtime, at, (size_t)(end - at), NULL, &document, &err) != BRIM_OK)
      break;
    if (take_line(j, &b, document))
      brim_json_free(document);
  }
  ok(j->cases > least && j->wrong == 0, "%s: %d variants, %d cases, %d differences", name, b.variants, j->cases, j->wrong);
  for (int i = 0; i < b.count; i++)
    brim_json_free(b.documents[i]);
  free(bytes);
  end_tokenizer(j);
}

int main(void) {
  static const char *const names[] = {"wordpiece-uncased", "wordpiece-cased", "byte-bpe", "unigram"};
  const char *source = getenv("BRIM_SOURCE");
  job j = {0};
  if (!source || brim_runtime_new(NULL, &j.runtime, NULL) != BRIM_OK)
    return 1;
  j.row.runtime = j.runtime;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char path[600];
    snprintf(path, sizeof path, "%s/tests/golden/tokenizers/%s", source, names[i]);
    if (begin_tokenizer(&j, path, names[i]))
      check_file(&j, source, names[i], 100);
  }
  check_file(&j, source, "variants", 200);
  brim_encoding_free(&j.encoding);
  brim_encoding_free(&j.plain);
  brim_offsets_free(&j.offsets);
  brim_windows_free(&j.windows);
  brim_encoding_free(&j.row);
  brim_release(j.runtime, j.lengths.at);
  brim_runtime_free(j.runtime);
  return tap_done();
}
