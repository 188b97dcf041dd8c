/* text_models: the three models against the obvious way of writing them down: tokens are looked up as text, everything is tried,
 * nothing is remembered. Pieces are random strings of characters that the vocabularies know, and some that they do not. */
#include "base/memory.h"
#include "base/random.h"
#include "tap.h"
#include "text/tokenizer.h"
#include "text/unicode.h"
#include <math.h>

enum { PIECES = 4000, MOST_CHARS = 24, MOST_BYTES = 4 * MOST_CHARS + 8 };

static brim_runtime *runtime;
static const brim_token_model *model;

static int32_t id_of(const char *text, size_t length) {
  return brim_hashmap_get(&model->ids, text, length, -1);
}

/* ---- WordPiece: the longest token that fits, from the left ------------------------------------------------------ */

static size_t wordpiece(const char *piece, size_t length, int32_t *ids) {
  size_t count = 0;
  for (size_t at = 0, end; at < length; at = end) {
    int32_t id = -1;
    for (end = length; end > at; end--) {
      char text[MOST_BYTES + 2];
      size_t n = (size_t)sprintf(text, "%s%.*s", at ? "##" : "", (int)(end - at), piece + at);
      id = id_of(text, n);
      if (id >= 0)
        break;
    }
    if (id < 0) {
      ids[0] = model->wordpiece.unknown;
      return 1;
    }
    ids[count++] = id;
  }
  return count;
}

/* ---- BPE: all neighbours, the merge of the lowest rank, the leftmost of equals; again ------------------------------- */

/* Rank of left + right among the merges of the file, or -1. */
static int64_t rank_of(const brim_json_value *merges, const char *left, const char *right) {
  int64_t rank = 0, found = -1;
  for (const brim_json_value *m = brim_json_first(merges); m; m = brim_json_after(merges, m), rank++) {
    const brim_json_value *a = brim_json_first(m), *b = brim_json_after(m, a);
    if (strlen(left) == a->length && strlen(right) == b->length && memcmp(left, a->as.text, a->length) == 0 &&
        memcmp(right, b->as.text, b->length) == 0)
      found = rank;
  }
  return found;
}

static size_t bpe(const brim_json_value *merges, const char *piece, size_t length, int32_t *ids) {
  char parts[MOST_CHARS][MOST_BYTES];
  size_t count = 0;
  for (size_t i = 0; i < length; count++) {
    uint32_t code;
    int n = brim_utf8_next(piece + i, &code);
    sprintf(parts[count], "%.*s", n, piece + i);
    i += (size_t)n;
    count -= id_of(parts[count], strlen(parts[count])) < 0; /* unknown characters are dropped */
  }
  for (;;) {
    int64_t best = INT64_MAX;
    size_t place = 0;
    for (size_t i = 0; i + 1 < count; i++) {
      int64_t rank = rank_of(merges, parts[i], parts[i + 1]);
      if (rank >= 0 && rank < best) {
        best = rank;
        place = i;
      }
    }
    if (best == INT64_MAX)
      break;
    size_t n = strlen(parts[place]);
    memcpy(parts[place] + n, parts[place + 1], MOST_BYTES - n);
    for (size_t i = place + 1; i + 1 < count; i++)
      memcpy(parts[i], parts[i + 1], MOST_BYTES);
    count--;
  }
  for (size_t i = 0; i < count; i++)
    ids[i] = id_of(parts[i], strlen(parts[i]));
  return count;
}

/* ---- Unigram: the best of all ways to cut the piece ------------------------------------------------------------- */

static size_t unigram(const char *piece, size_t length, int32_t *ids) {
  double best[MOST_BYTES + 1];
  size_t from[MOST_BYTES + 1];
  bool unknown[MOST_BYTES + 1];
  for (size_t i = 0; i <= length; i++)
    best[i] = i ? -INFINITY : 0;
  for (size_t at = 0; at < length;) {
    uint32_t code;
    size_t size = (size_t)brim_utf8_next(piece + at, &code);
    for (size_t end = at + 1; end <= length; end++) {
      int32_t id = id_of(piece + at, end - at);
      double score = id >= 0 ? model->unigram.scores[id] : end == at + size ? model->unigram.unknown_score : -INFINITY;
      if (best[at] + score > best[end]) {
        best[end] = best[at] + score;
        from[end] = at;
        unknown[end] = id < 0 || id == model->unigram.unknown;
      }
    }
    at += size;
  }
  size_t cuts[MOST_BYTES + 1], parts = 0, count = 0;
  for (size_t end = length; end > 0; end = from[end])
    cuts[parts++] = end;
  for (size_t i = parts; i-- > 0;) { /* from the left; unknown neighbours become one */
    size_t begin = from[cuts[i]];
    bool fused = unknown[cuts[i]];
    while (fused && i > 0 && unknown[cuts[i - 1]])
      i--;
    int32_t id = id_of(piece + begin, cuts[i] - begin);
    ids[count++] = id >= 0 ? id : model->unigram.unknown;
  }
  return count;
}

/* ---- comparing -------------------------------------------------------------------------------------------- */

static size_t make_piece(const brim_random *random, uint64_t index, bool lead, char *out) {
  static const char *const chars[] = {"a", "e",      "i", "o", "t", "n", "s",      "r",      "h",     "l",
                                      "d", "u",      "c", "m", "g", "y", "w",      "b",      "p",     "k",
                                      "v", "\u00e9", "1", "2", ".", "'", "\u0120", "\u4e2d", "\u0436"};
  size_t length = 0, count = 1 + brim_random_below(random, index * 100, MOST_CHARS - 2);
  if (lead)
    length += (size_t)sprintf(out, "\u2581");
  for (uint64_t i = 1; i <= count; i++) {
    uint64_t which = brim_random_below(random, index * 100 + i, 2 * sizeof chars / sizeof *chars);
    length += (size_t)sprintf(out + length, "%s", chars[which % (which < 40 ? 12 : sizeof chars / sizeof *chars)]);
  }
  return length;
}

static void check_model(const char *name) {
  char path[600];
  brim_tokenizer *t;
  brim_json_document *document;
  brim_error err = {0};
  snprintf(path, sizeof path, "%s/tests/golden/tokenizers/%s/tokenizer.json", getenv("BRIM_SOURCE"), name);
  if (brim_tokenizer_load(runtime, path, &t, &err) != BRIM_OK || brim_json_load(runtime, path, 0, &document, &err) != BRIM_OK)
    exit(99);
  model = &t->model;
  const brim_json_value *merges = brim_json_get(brim_json_get(brim_json_root(document), "model"), "merges");
  brim_random random = brim_random_make(11, model->family, BRIM_PURPOSE_SAMPLE);
  brim_piece_tokens tokens = {.runtime = runtime};
  brim_token_model_work work = {.runtime = runtime};
  int wrong = 0, pieces = 0;
  for (int i = 0; i < (model->family == BRIM_BPE ? PIECES / 20 : PIECES); i++) {
    if (!tap_takes(name, (uint64_t)i))
      continue;
    pieces++;
    char piece[MOST_BYTES];
    int32_t ids[MOST_BYTES];
    size_t length = make_piece(&random, (uint64_t)i, model->family == BRIM_UNIGRAM, piece), count = 0;
    switch (model->family) {
    case BRIM_WORDPIECE:
      count = wordpiece(piece, length, ids);
      break;
    case BRIM_BPE:
      count = bpe(merges, piece, length, ids);
      break;
    case BRIM_UNIGRAM:
      count = unigram(piece, length, ids);
      break;
    }
    tokens.count = 0;
    bool same = brim_token_model_run(model, &work, piece, length, &tokens, &err) == BRIM_OK && tokens.count == count;
    for (size_t j = 0; same && j < count; j++)
      same = tokens.at[j].id == ids[j];
    if (!same && wrong++ < 3)
      printf("# differs: %s\n", piece);
  }
  ok(wrong == 0, "%s: %d pieces, %d differ", name, pieces, wrong);
  brim_release(runtime, tokens.at);
  brim_token_model_work_free(&work);
  brim_json_free(document);
  brim_tokenizer_free(t);
}

int main(void) {
  if (!getenv("BRIM_SOURCE") || brim_runtime_new(NULL, &runtime, NULL) != BRIM_OK)
    return 99;
  check_model("wordpiece-uncased");
  check_model("wordpiece-cased");
  check_model("byte-bpe");
  check_model("unigram");
  brim_runtime_free(runtime);
  return tap_done();
}
