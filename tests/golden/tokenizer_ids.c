/* tokenizer_ids: ids of texts in ten scripts, and of texts that hurt, are the reference's, byte for byte
 * (tools/make_text_golden.py). With --data DIR: those of collected texts, by the tokenizers of DIR too. */
#include "base/json.h"
#include "base/text.h"
#include "brim/brim.h"
#include "gzip_file.h"
#include "tap.h"

/* One run: a tokenizer, a text file, a maximum length. */
typedef struct job {
  brim_runtime *runtime;
  const brim_tokenizer *tokenizer;
  brim_scratch *scratch;
  brim_encode_options options;
  brim_encoding encoding;
  brim_text line;
} job;

static int encode_line(job *j, const char *json, size_t length, brim_error *err) {
  brim_json_document *document;
  int status = brim_json_parse(j->runtime, json, length, NULL, &document, err);
  if (status != BRIM_OK)
    return status;
  const brim_json_value *root = brim_json_root(document);
  const brim_json_value *text = brim_json_get(root, "text"), *pair = brim_json_get(root, "text_pair");
  status = brim_tokenizer_encode(j->tokenizer, j->scratch, text->as.text, text->length, pair ? pair->as.text : NULL,
                                 pair ? pair->length : 0, &j->options, &j->encoding, err);
  brim_json_free(document);
  brim_text_clear(&j->line);
  brim_text_string(&j->line, "{\"ids\":[");
  for (size_t i = 0; i < j->encoding.length; i++) {
    if (i)
      brim_text_string(&j->line, ",");
    brim_text_integer(&j->line, j->encoding.ids[i]);
  }
  brim_text_string(&j->line, "],\"type_ids\":[");
  for (size_t i = 0; i < j->encoding.length; i++) {
    if (i)
      brim_text_string(&j->line, ",");
    brim_text_integer(&j->line, j->encoding.type_ids[i]);
  }
  brim_text_string(&j->line, "]}");
  return status;
}

/* Lines that differ from the expected ones; the first is shown. */
static int count_differences(job *j, const char *texts, const char *wanted, int *lines) {
  int differ = 0;
  *lines = 0;
  while (*texts && *wanted) {
    const char *text_end = strchr(texts, '\n'), *wanted_end = strchr(wanted, '\n');
    if (!text_end || !wanted_end)
      return differ + 1;
    brim_error err = {0};
    int status = encode_line(j, texts, (size_t)(text_end - texts), &err);
    bool same = status == BRIM_OK && j->line.length == (size_t)(wanted_end - wanted) &&
                memcmp(j->line.data, wanted, j->line.length) == 0;
    if (!same && differ++ == 0) {
      printf("# line %d: %.300s\n#  want %.300s\n", *lines + 1, texts, wanted);
      printf("#  got %.300s %s\n", status == BRIM_OK ? j->line.data : "failure", err.message);
    }
    texts = text_end + 1;
    wanted = wanted_end + 1;
    ++*lines;
  }
  return differ + (*texts != *wanted);
}

/* Where the texts, the ids and the tokenizers are. */
typedef struct place {
  const char *golden, *tokenizers;
  const char *const *kinds; /* [3] files of texts */
} place;

static void check_file(job *j, const place *p, const char *name, const char *kind, int max_length) {
  char path[600];
  size_t length;
  int lines = 0;
  snprintf(path, sizeof path, "%s/texts/%s.jsonl.gz", p->golden, kind);
  char *texts = read_gz(path, &length);
  snprintf(path, sizeof path, "%s/ids/%s/%s%s.jsonl.gz", p->golden, name, kind, max_length ? ".max64" : "");
  char *wanted = read_gz(path, &length);
  j->options = (brim_encode_options){.max_length = max_length};
  int differ = texts && wanted ? count_differences(j, texts, wanted, &lines) : -1;
  ok(differ == 0 && lines > 0, "%s, %s, maximum %d: %d lines, %d differ", name, kind, max_length, lines, differ);
  free(texts);
  free(wanted);
}

static void check_tokenizer(brim_runtime *runtime, const place *p, const char *name) {
  char path[600];
  brim_error err = {0};
  brim_tokenizer *tokenizer;
  snprintf(path, sizeof path, "%s/%s", p->tokenizers, name);
  int status = brim_tokenizer_load(runtime, path, &tokenizer, &err);
  if (!ok(status == BRIM_OK, "%s loads", name)) {
    printf("# %s (byte %lld)\n", err.message, (long long)err.byte);
    return;
  }
  job j = {.runtime = runtime, .tokenizer = tokenizer};
  brim_text_init(&j.line, runtime);
  ok(brim_scratch_new(runtime, tokenizer, &j.scratch, &err) == BRIM_OK, "scratch");
  for (int k = 0; k < 3; k++) {
    check_file(&j, p, name, p->kinds[k], 0);
    check_file(&j, p, name, p->kinds[k], 64);
  }
  brim_scratch_free(j.scratch);
  brim_encoding_free(&j.encoding);
  brim_text_free(&j.line);
  brim_tokenizer_free(tokenizer);
}

int main(int argc, char **argv) {
  static const char *const small[] = {"wordpiece-uncased", "wordpiece-cased", "byte-bpe", "unigram", NULL};
  static const char *const real[] = {"bert-base-uncased",
                                     "bert-base-cased",
                                     "bert-base-multilingual-cased",
                                     "bert-base-chinese",
                                     "roberta-base",
                                     "modernbert",
                                     "camembert-base",
                                     NULL};
  static const char *const made[] = {"made", "made-pairs", "nasty"}, *const collected[] = {"plain", "pairs", "nasty"};
  const char *data = tap_data(argc, argv);
  char golden[500], tokenizers[520];
  brim_runtime *runtime;
  if (brim_runtime_new(NULL, &runtime, NULL) != BRIM_OK)
    return 1;
  snprintf(golden, sizeof golden, "%s/%s", data ? data : tap_source(), data ? "golden" : "tests/golden");
  snprintf(tokenizers, sizeof tokenizers, "%s/tokenizers", golden);
  place p = {.golden = golden, .tokenizers = tokenizers, .kinds = data ? collected : made};
  for (int i = 0; small[i]; i++)
    check_tokenizer(runtime, &p, small[i]);
  snprintf(tokenizers, sizeof tokenizers, "%s/tokenizers", data ? data : "");
  for (int i = 0; data && real[i]; i++)
    check_tokenizer(runtime, &p, real[i]);
  brim_runtime_free(runtime);
  return tap_done();
}
