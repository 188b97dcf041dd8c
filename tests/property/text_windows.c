/* Rows of words in windows: which tokens each window has, and in which one a word has its number, next to a slow version that
 * looks at every window for every word. Words with emoji, combining marks and letters of several bytes are at the borders too. */
#include "base/memory.h"
#include "data_case.h"
#include "text/encode.h"

enum { ROUNDS = 1500, MOST_WORDS = 24, MOST_TOKENS = 2048, MOST_WINDOWS = 8 };

static const char *const words[] = {"the",
                                    "a",
                                    "unbelievably",
                                    "Zurich,",
                                    "e\xCC\x81t\xC3\xA9",
                                    "\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA7",
                                    "film",
                                    "U.S.A.",
                                    "\xE6\x97\xA5\xE6\x9C\xAC",
                                    "n\xCC\x83\xCC\xA3o",
                                    "\xF0\x9F\x8F\xB3\xEF\xB8\x8F",
                                    "x"};

static uint64_t state = 1;

static int draw(int below) {
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return (int)((state >> 33) % (uint64_t)below);
}

typedef struct row {
  char text[1024];
  size_t length;
} row;

static row make_row(void) {
  row r = {.length = 0};
  for (int w = draw(MOST_WORDS); w > 0; w--) {
    const char *word = words[draw(sizeof words / sizeof *words)];
    memcpy(r.text + r.length, word, strlen(word) + 1);
    r.length += strlen(word) + 1;
  }
  return r;
}

/* ---- the slow version ---------------------------------------------------------------------------------------- */

typedef struct plain_row {
  int32_t ids[MOST_TOKENS], numbers[MOST_TOKENS];
  int count, lead, trail; /* special tokens before and after */
} plain_row;

typedef struct window {
  int begin, end;
} window;

static int find_windows(int count, int room, int overlap, int most, bool left, window *out) {
  int found = 0;
  for (int at = left ? count : 0; found < most; found++) {
    window w = left ? (window){at > room ? at - room : 0, at} : (window){at, at + room < count ? at + room : count};
    if (left)
      memmove(out + 1, out, (size_t)found * sizeof *out);
    out[left ? 0 : found] = w;
    if (left ? w.begin == 0 : w.end == count)
      return found + 1;
    at = left ? w.begin + overlap : w.end - overlap;
  }
  return found;
}

/* The window of a word: that with most tokens on its poorer side, the first of several. */
static int best_of(const window *windows, int count, int first, int last) {
  int best = -1, most = 0;
  for (int i = 0; i < count; i++) {
    if (first < windows[i].begin || first >= windows[i].end)
      continue;
    const int before = first - windows[i].begin, after = windows[i].end - 1 - last;
    const int context = before < after ? before : after;
    if (best < 0 || context > most)
      best = i, most = context;
  }
  return best;
}

/* Numbers of a row's tokens as they are to be, and the ids; returns how many. */
static int expect(const plain_row *p, const window *windows, int count, int32_t *ids, int32_t *numbers, const int32_t *special) {
  int at = 0;
  for (int i = 0; i < count; i++) {
    for (int k = 0; k < p->lead; k++)
      ids[at] = special[k], numbers[at++] = -1;
    for (int t = windows[i].begin; t < windows[i].end; t++) {
      int first = t, last = t;
      while (first > 0 && p->numbers[first - 1] == p->numbers[t])
        first--;
      while (last + 1 < p->count && p->numbers[last + 1] == p->numbers[t])
        last++;
      ids[at] = p->ids[t];
      numbers[at++] = best_of(windows, count, first, last) == i && first >= windows[i].begin ? p->numbers[t] : -1;
    }
    for (int k = 0; k < p->trail; k++)
      ids[at] = special[p->lead + k], numbers[at++] = -1;
  }
  return at;
}

/* ---- next to brim_encode_words ------------------------------------------------------------------------------- */

typedef struct tools {
  const brim_tokenizer *tokenizer;
  brim_scratch *scratch;
  brim_encoding encoding;
  brim_word_numbers numbers;
  brim_text_lengths lengths;
  brim_error err;
} tools;

static int encode(tools *t, const row *r, const brim_encode_options *o) {
  t->encoding.length = t->lengths.count = 0;
  return brim_encode_words(t->tokenizer, t->scratch, (brim_string){r->text, r->length}, o, &t->encoding, &t->numbers, &t->lengths,
                           &t->err);
}

static bool plain(tools *t, const row *r, bool specials, plain_row *out, int32_t *special) {
  const brim_encode_options o = {.no_special_tokens = !specials};
  int found = 0;
  *out = (plain_row){0};
  if (encode(t, r, &o) != BRIM_OK)
    return false;
  for (size_t i = 0; i < t->encoding.length; i++)
    if (t->numbers.at[i] < 0) {
      special[found++] = t->encoding.ids[i];
      out->lead += out->count == 0 && found == 1;
    } else {
      out->ids[out->count] = t->encoding.ids[i], out->numbers[out->count++] = t->numbers.at[i];
    }
  out->trail = found - out->lead;
  return true;
}

static int wrong_row(tools *t, int *cut) {
  static plain_row p;
  static int32_t ids[MOST_TOKENS * 4], numbers[MOST_TOKENS * 4];
  const row r = make_row();
  const bool specials = draw(4) > 0, left = draw(2);
  int32_t special[8];
  window windows[MOST_WINDOWS];
  if (!plain(t, &r, specials, &p, special))
    return 1;
  const int room = 1 + draw(9), overlap = draw(room), most = 2 + draw(MOST_WINDOWS - 1);
  const brim_encode_options o = {.max_length = room + (specials ? brim_tokenizer_added(t->tokenizer, false) : 0),
                                 .no_special_tokens = !specials,
                                 .max_windows = most,
                                 .window_overlap = overlap,
                                 .truncation_side = left ? BRIM_SIDE_LEFT : BRIM_SIDE_RIGHT};
  const int count = find_windows(p.count, room, overlap, most, left, windows);
  const int length = expect(&p, windows, count, ids, numbers, special);
  const int lost = p.count - (windows[count - 1].end - windows[0].begin);
  *cut += lost > 0;
  return encode(t, &r, &o) != BRIM_OK || (int)t->encoding.length != length || (int)t->lengths.count != count ||
         (int)t->encoding.lost != lost || memcmp(t->encoding.ids, ids, (size_t)length * sizeof *ids) != 0 ||
         memcmp(t->numbers.at, numbers, (size_t)length * sizeof *numbers) != 0;
}

/* Each word that is there has its number in one run of tokens, and numbers rise over the row's windows. */
static int wrong_order(const tools *t) {
  int wrong = 0;
  int32_t last = -1;
  for (size_t i = 0; i < t->encoding.length; i++) {
    const int32_t own = t->numbers.at[i];
    wrong += own >= 0 && own < last;
    wrong += own >= 0 && own == last && t->numbers.at[i - 1] != own;
    last = own >= 0 ? own : last;
  }
  return wrong;
}

static void of_tokenizer(const char *name) {
  char path[1024];
  brim_tokenizer *tokenizer;
  tools t = {.encoding.runtime = data_runtime};
  int wrong = 0, cut = 0, order = 0;
  snprintf(path, sizeof path, "%s/tests/golden/tokenizers/%s", tap_source(), name);
  if (brim_tokenizer_load(data_runtime, path, &tokenizer, &t.err) ||
      brim_scratch_new(data_runtime, tokenizer, &t.scratch, &t.err)) {
    printf("Bail out! %s\n", t.err.message);
    exit(99);
  }
  t.tokenizer = tokenizer;
  for (int i = 0; i < ROUNDS; i++) {
    wrong += wrong_row(&t, &cut);
    order += wrong_order(&t);
  }
  ok(wrong == 0 && cut > ROUNDS / 10, "%s: %d of %d rows in windows have other tokens, or words elsewhere (%d are cut) %s", name,
     wrong, ROUNDS, cut, t.err.message);
  ok(order == 0, "%s: words come in their order, each once", name);
  const brim_encode_options wide = {.max_length = 6, .max_windows = 3, .window_overlap = 6};
  const row one = {"a", 2};
  ok(encode(&t, &one, &wide) == BRIM_E_USAGE && strstr(t.err.message, "each window needs a new one"), "%s: %s", name,
     t.err.message);
  brim_encoding_free(&t.encoding);
  brim_release(data_runtime, t.numbers.at);
  brim_release(data_runtime, t.lengths.at);
  brim_scratch_free(t.scratch);
  brim_tokenizer_free(tokenizer);
}

int main(void) {
  static const char *const names[] = {"wordpiece-uncased", "wordpiece-cased", "byte-bpe", "unigram"};
  data_start(1);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    of_tokenizer(names[i]);
  brim_runtime_free(data_runtime);
  return tap_done();
}
