/* Masked words: which tokens of a row are to be found, and what is read in their place; numbers of tokens and of words. */
#include <math.h>

#include "base/json.h"
#include "base/memory.h"
#include "brim/train.h"
#include "data/facts.h"
#include "data_tokenizer.h"
#include "tap.h"
#include "text/encode.h"
#include "train/masks.h"

enum { ROWS = 10000, MOST = 40, WORDS = 20 };

static char texts[ROWS][400];

static int get_text(void *context, uint64_t row, brim_text_row *out, brim_error *err) {
  (void)context, (void)err;
  *out = (brim_text_row){.text = texts[row], .text_length = strlen(texts[row])};
  return BRIM_OK;
}

/* Row r has r % 20 words, some of which are long. */
static void make_texts(void) {
  static const char *const words[] = {"the",   "a",      "believe", "unbelievably", "supercalifragilistic",
                                      "quiet", "film's", "3.14",    "stop,"};
  uint64_t state = 7;
  for (int r = 0; r < ROWS; r++) {
    texts[r][0] = 0;
    for (int w = 0; w < r % WORDS; w++) {
      state = state * 6364136223846793005ull + 1442695040888963407ull;
      snprintf(texts[r] + strlen(texts[r]), 30, "%s%s", w ? " " : "", words[(state >> 33) % (sizeof words / sizeof *words)]);
    }
  }
}

static brim_dataset *encode(const brim_tokenizer *tokenizer, brim_numbering numbering, uint64_t rows) {
  brim_dataset *dataset = NULL;
  brim_error err = {0};
  const brim_dataset_options options = {.encode = {.max_length = MOST, .numbering = numbering}};
  if (brim_dataset_from_texts(data_runtime, get_text, NULL, rows, tokenizer, &options, &dataset, &err)) {
    printf("Bail out! %s\n", err.message);
    exit(99);
  }
  return dataset;
}

/* ---- what must hold of any row ------------------------------------------------------------------------------ */

typedef struct masked_row {
  int32_t ids[MOST], labels[MOST];
  int32_t length, chosen;
} masked_row;

static masked_row mask_row(brim_masks *masks, const brim_sample *row, uint64_t name) {
  masked_row m = {.length = row->length};
  memcpy(m.ids, row->ids, (size_t)row->length * sizeof *m.ids);
  memcpy(m.labels, row->token_labels, (size_t)row->length * sizeof *m.labels);
  brim_masks_row(masks, name, m.ids, m.labels, m.length);
  for (int32_t i = 0; i < m.length; i++)
    m.chosen += m.labels[i] != BRIM_NO_LABEL;
  return m;
}

static int32_t ordinary_of(const brim_sample *row) {
  int32_t count = 0;
  for (int32_t i = 0; i < row->length; i++)
    count += row->token_labels[i] != BRIM_NO_LABEL;
  return count;
}

/* A row without a word that is short enough: the first tokens of one of its words are chosen. */
static bool has_short_word(const brim_sample *row, int32_t wanted) {
  for (int32_t i = 0, end; i < row->length; i = end) {
    for (end = i + 1; end < row->length && row->token_labels[end] == row->token_labels[i];)
      end++;
    if (row->token_labels[i] != BRIM_NO_LABEL && end - i <= wanted)
      return true;
  }
  return false;
}

/* Special tokens are never chosen, a label is what was there, what is not chosen stays; and a word is chosen `whole`, or else a
 * chosen token comes after no other of its word. */
static bool is_right(const brim_sample *row, const masked_row *m, bool whole) {
  for (int32_t i = 0; i < m->length; i++) {
    const bool chosen = m->labels[i] != BRIM_NO_LABEL;
    if (chosen ? row->token_labels[i] == BRIM_NO_LABEL || m->labels[i] != row->ids[i] : m->ids[i] != row->ids[i])
      return false;
    const bool goes_on = i > 0 && row->token_labels[i] != BRIM_NO_LABEL && row->token_labels[i] == row->token_labels[i - 1];
    const bool before = i > 0 && m->labels[i - 1] != BRIM_NO_LABEL;
    if (goes_on && (whole ? chosen != before : chosen && !before))
      return false;
  }
  return true;
}

/* Among what a higher rate chooses, with the same in its place. */
static bool is_part(const masked_row *m, const masked_row *of) {
  for (int32_t i = 0; i < m->length; i++)
    if (m->labels[i] != BRIM_NO_LABEL && (of->labels[i] != m->labels[i] || of->ids[i] != m->ids[i]))
      return false;
  return true;
}

typedef struct totals {
  int64_t tokens, chosen, mask, random, kept;
  double random_sum;
  int wrong, uncounted, apart, same, parts;
} totals;

static void add_row(totals *t, brim_masks *masks, const brim_sample *row, uint64_t name, bool words) {
  const masked_row m = mask_row(masks, row, name);
  const int32_t all = ordinary_of(row);
  const int32_t wanted = all == 0 ? 0 : (int32_t)fmax(1, floor(masks->rate * all + 0.5));
  brim_masks higher = *masks, later = *masks;
  const bool whole = !words || has_short_word(row, wanted);
  t->wrong += !is_right(row, &m, whole) ||
              (words && whole ? m.chosen > wanted || (all > 0 && m.chosen == 0) : m.chosen != wanted);
  t->parts += all > 0 && !whole;
  t->uncounted += brim_masks_count(masks, name, row->token_labels, row->length, row->length) != m.chosen;
  higher.rate = 2 * masks->rate;
  later.epoch++;
  const masked_row more = mask_row(&higher, row, name), other = mask_row(&later, row, name);
  t->apart += !words && !is_part(&m, &more);
  t->same += all > 10 && memcmp(m.labels, other.labels, (size_t)m.length * sizeof *m.labels) == 0;
  t->tokens += all, t->chosen += m.chosen;
  for (int32_t i = 0; i < m.length; i++)
    if (m.labels[i] != BRIM_NO_LABEL) {
      const bool masked = m.ids[i] == masks->mask_id, kept = m.ids[i] == m.labels[i];
      t->mask += masked, t->kept += kept && !masked, t->random += !masked && !kept;
      t->random_sum += !masked && !kept ? (double)m.ids[i] : 0;
    }
}

/* Within five standard deviations. */
static bool is_near(int64_t count, int64_t all, double share) {
  return fabs((double)count - share * (double)all) < 5 * sqrt((double)all * share * (1 - share)) + 1;
}

static void properties(const brim_tokenizer *tokenizer, const char *name, brim_numbering numbering) {
  const bool words = numbering == BRIM_NUMBER_WORDS;
  brim_error err = {0};
  brim_masks masks;
  totals t = {0};
  brim_dataset *dataset = encode(tokenizer, numbering, ROWS);
  const int32_t ids = brim_tokenizer_vocab_size(tokenizer);
  if (brim_masks_init(&masks, data_runtime, tokenizer, ids, NULL, &err) || brim_masks_reserve(&masks, MOST, &err))
    printf("# %s\n", err.message);
  masks.seed = 42;
  for (uint64_t r = 0; r < brim_dataset_rows(dataset); r++) {
    brim_sample row;
    brim_dataset_sample(dataset, r, &row);
    add_row(&t, &masks, &row, r, words);
  }
  ok(brim_dataset_is_numbered(dataset) && t.wrong == 0 && t.uncounted == 0 && t.apart == 0,
     "%s: %lld of %lld tokens are chosen, as many as rows say, never none, and nothing else changes (%d rows of long words)",
     name, (long long)t.chosen, (long long)t.tokens, t.parts);
  ok(t.same < (words ? ROWS / 3 : ROWS / 50), /* of long words few fit */
     "%s: another epoch has others (%d rows as before)", name, t.same);
  ok(is_near(t.mask, t.chosen, 0.8) && is_near(t.kept, t.chosen, 0.1) && is_near(t.random, t.chosen, 0.1),
     "%s: %lld masked, %lld random, %lld kept", name, (long long)t.mask, (long long)t.random, (long long)t.kept);
  const double mean = t.random_sum / (double)t.random, middle = (ids - 1) / 2.0;
  ok(fabs(mean - middle) < 6 * ids / sqrt(12.0 * (double)t.random), "%s: random tokens are any of %d (mean %.0f)", name, (int)ids,
     mean);
  brim_masks_free(&masks);
  brim_dataset_free(dataset);
}

/* ---- batches, and sets for evaluation ------------------------------------------------------------------------ */

static void batches(const brim_tokenizer *tokenizer) {
  enum { SOME = 100 };
  brim_error err = {0};
  brim_masks masks;
  brim_dataset *dataset = encode(tokenizer, BRIM_NUMBER_WORDS, SOME), *evals[2] = {0};
  brim_batch batch = {0};
  brim_plan *plan;
  int wrong = 0;
  uint64_t rows = 0;
  const brim_plan_options how = {.batching = BRIM_RANDOM, .batch_size = 7, .seed = 3, .world_size = 1};
  if (brim_masks_init(&masks, data_runtime, tokenizer, brim_tokenizer_vocab_size(tokenizer), "0.3:0.15", &err) ||
      brim_masks_reserve(&masks, MOST, &err) ||
      brim_plan_new(data_runtime, brim_dataset_lengths(dataset), SOME, &how, 0, &plan, &err))
    printf("# %s\n", err.message);
  brim_masks_at_step(&masks, 0, 11);
  const double first = masks.rate;
  brim_masks_at_step(&masks, 5, 11);
  const double middle = masks.rate;
  brim_masks_at_step(&masks, 10, 11);
  ok(first == 0.3 && fabs(middle - 0.225) < 1e-12 && masks.rate == 0.15 && brim_masks_highest(&masks) == 0.3,
     "the rate falls from step to step");
  for (uint64_t i = 0; i < brim_plan_parts(plan); i++) {
    brim_planned part;
    brim_plan_part(plan, 0, i, &part);
    wrong += brim_batch_fill(&batch, data_runtime, dataset, &part, &err) != BRIM_OK;
    brim_masks_make(&masks, &batch);
    for (int32_t k = 0; k < batch.count; k++, rows++) {
      brim_sample row;
      brim_dataset_sample(dataset, batch.rows[k], &row);
      const masked_row m = mask_row(&masks, &row, batch.rows[k]);
      wrong += memcmp(batch.ids + batch.offsets[k], m.ids, (size_t)m.length * sizeof *m.ids) != 0 ||
               memcmp(batch.token_labels + batch.offsets[k], m.labels, (size_t)m.length * sizeof *m.labels) != 0;
    }
  }
  ok(rows == SOME && wrong == 0, "a row is masked alike in every batch");
  masks.seed = 1;
  const int status = brim_masks_dataset(&masks, dataset, "dev", &evals[0], &err);
  masks.seed = 2, masks.epoch = 5, masks.rate = 0.3;
  ok(status == BRIM_OK && brim_masks_dataset(&masks, dataset, "dev", &evals[1], &err) == BRIM_OK &&
         brim_dataset_fingerprint(evals[0]) == brim_dataset_fingerprint(evals[1]) && !brim_dataset_is_numbered(evals[0]),
     "evaluation masks the same whatever the run does %s", err.message);
  brim_dataset *again;
  ok(brim_masks_dataset(&masks, evals[0], "dev", &again, &err) == BRIM_E_MISMATCH, "what is masked is not masked again: %s",
     err.message);
  brim_plan_free(plan);
  brim_batch_free(&batch);
  brim_masks_free(&masks);
  brim_dataset_free(evals[1]);
  brim_dataset_free(evals[0]);
  brim_dataset_free(dataset);
}

/* Of the tokens that are chosen at the same places of two rows: how many, and how many of them are masked in both or in none. */
static void compare_kinds(const masked_row *a, const masked_row *b, int mask_id, int *both, int *same) {
  for (int32_t i = 0; i < a->length; i++)
    if (a->labels[i] != BRIM_NO_LABEL && b->labels[i] != BRIM_NO_LABEL)
      ++*both, *same += (a->ids[i] == mask_id) == (b->ids[i] == mask_id);
}

/* ---- windows --------------------------------------------------------------------------------------------------- */

/* Windows of a long text are rows, with numbers that continue, and each with its own masks; what is beyond them is cut and
 * counted. */
static void windows(const brim_tokenizer *tokenizer, brim_numbering numbering) {
  enum { LENGTH = 9, OVERLAP = 2, MOST_OF = 5, SOME = 400 };
  const brim_dataset_options options = {
      .encode = {.max_length = LENGTH, .max_windows = MOST_OF, .window_overlap = OVERLAP, .numbering = numbering}};
  const bool words = numbering == BRIM_NUMBER_WORDS;
  brim_dataset *whole, *cut = NULL, *part = NULL, *again = NULL;
  brim_error err = {0};
  brim_masks masks;
  int wrong = 0, alike = 0, pairs = 0, both = 0, same = 0;
  uint64_t row = 0, lost = 0, many = 0;
  const brim_dataset_options uncut = {.encode = {.max_length = 1000, .numbering = numbering}};
  if (brim_dataset_from_texts(data_runtime, get_text, NULL, SOME, tokenizer, &uncut, &whole, &err) ||
      brim_dataset_from_texts(data_runtime, get_text, NULL, SOME, tokenizer, &options, &cut, &err) ||
      brim_masks_init(&masks, data_runtime, tokenizer, brim_tokenizer_vocab_size(tokenizer), NULL, &err) ||
      brim_masks_reserve(&masks, MOST, &err))
    printf("# %s\n", err.message);
  masks.rate = 0.5;
  for (uint64_t r = 0; r < SOME; r++) {
    brim_sample text, window;
    int32_t from = 0, last = -1;
    brim_dataset_sample(whole, r, &text);
    const int32_t tokens = text.length - 2;
    for (int k = 0, done = 0; !done; k++, row++, from += LENGTH - 2 - OVERLAP) {
      brim_dataset_sample(cut, row, &window);
      const int32_t held = tokens - from < LENGTH - 2 ? tokens - from : LENGTH - 2;
      wrong += brim_dataset_origin(cut, row) != r || window.length != held + 2;
      wrong += held > 0 && memcmp(window.ids + 1, text.ids + 1 + from, (size_t)held * sizeof *text.ids) != 0;
      wrong += held > 0 && window.token_labels[1] != last + 1;
      last = held > 0 ? window.token_labels[held] : last;
      const masked_row m = mask_row(&masks, &window, 7);
      const int32_t wanted = held == 0 ? 0 : (int32_t)fmax(1, floor(0.5 * held + 0.5));
      wrong += words ? m.chosen > wanted || (held > 0 && m.chosen == 0) : m.chosen != wanted;
      if (k > 0 && held == LENGTH - 2) {
        brim_dataset_sample(cut, row - 1, &text);
        const masked_row before = mask_row(&masks, &text, 7);
        brim_dataset_sample(whole, r, &text);
        alike += memcmp(before.labels, m.labels, sizeof m.labels) == 0, pairs++;
        compare_kinds(&before, &m, masks.mask_id, &both, &same);
      }
      done = from + held >= tokens || k == MOST_OF - 1;
      lost += done ? (uint64_t)(tokens - from - held) : 0, many += k > 0;
    }
  }
  ok(wrong == 0 && row == brim_dataset_rows(cut) && brim_dataset_lost(cut) == lost && lost > 0 && many > 100,
     "windows of %d tokens: %llu rows of %d texts, %llu tokens lost %s", LENGTH, (unsigned long long)row, SOME,
     (unsigned long long)lost, err.message);
  ok(alike < pairs / 10, "windows of one name are masked each by themselves (%d of %d alike)", alike, pairs);
  ok(both > 100 && same < both * 9 / 10, "also by the same chance: %d of %d tokens at the same places", same, both);
  ok(brim_dataset_is_numbered(cut) && brim_dataset_most_texts(cut) == 1 && !brim_dataset_firsts(cut), "each is a row");
  const uint64_t some[] = {1, 2, 5};
  brim_mask_options how;
  brim_mask_options_init(&how);
  ok(brim_dataset_subset(data_runtime, cut, some, 3, &part, &err) == BRIM_OK && brim_dataset_is_numbered(part), "some rows %s",
     err.message);
  brim_dataset_free(part);
  part = NULL;
  ok(brim_dataset_mask(data_runtime, cut, tokenizer, 0, &how, &again, &err) == BRIM_OK &&
         brim_dataset_subset(data_runtime, again, some, 3, &part, &err) == BRIM_OK && !brim_dataset_is_numbered(part),
     "some of masked rows are masked already %s", err.message);
  brim_dataset_free(part);
  brim_dataset_free(again);
  brim_dataset_free(cut);
  brim_dataset_free(whole);
  brim_masks_free(&masks);
}

static void rates(void) {
  static const char *const bad[] = {"", "0", "1", "x", "0.1:", "0.3:0.15:0.1", "-0.1", "nan", "0.15 "};
  brim_error err = {0};
  double first, last;
  int accepted = 0;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    accepted += brim_mask_rates(bad[i], &first, &last, &err) != BRIM_E_USAGE;
  ok(accepted == 0, "other rates are refused: %s", err.message);
  ok(brim_mask_rates(NULL, &first, &last, &err) == BRIM_OK && first == 0.15 && last == 0.15, "usually 15 %%");
}

/* ---- numbers of words ----------------------------------------------------------------------------------------- */

static brim_string text_of(const brim_json_value *v) {
  return v && v->kind == BRIM_JSON_STRING ? (brim_string){v->as.text, v->length} : (brim_string){0};
}

static bool same_words(const brim_tokenizer *tokenizer, brim_scratch *scratch, const brim_json_value *entry) {
  const brim_json_value *text = brim_json_get(entry, "text"), *words = brim_json_get(brim_json_get(entry, "words"), "tokenizer");
  const bool pair = text->kind == BRIM_JSON_ARRAY;
  const brim_json_value *one = pair ? brim_json_first(text) : text, *two = pair ? brim_json_after(text, one) : NULL;
  const brim_encode_options options = {.numbering = BRIM_NUMBER_WORDS};
  brim_encoding encoding = {.runtime = data_runtime};
  brim_word_numbers numbers = {0};
  brim_text_lengths lengths = {0};
  brim_error err = {0};
  int status = brim_encode_numbered(tokenizer, scratch, text_of(one), text_of(two), &options, &encoding, &numbers, &lengths,
                                    &err);
  bool same = status == BRIM_OK && encoding.length == words->length;
  size_t i = 0;
  for (const brim_json_value *v = brim_json_first(words); v && same; v = brim_json_after(words, v))
    same = numbers.at[i++] == v->as.integer;
  if (!same)
    printf("# %.*s %s\n", (int)one->length, one->as.text, err.message);
  brim_release(data_runtime, numbers.at);
  brim_release(data_runtime, lengths.at);
  brim_encoding_free(&encoding);
  return same;
}

static void words_of(const brim_tokenizer *tokenizer, const char *name, const brim_json_value *entries) {
  brim_error err;
  brim_scratch *scratch;
  int count = 0, wrong = 0;
  if (brim_scratch_new(data_runtime, tokenizer, &scratch, &err))
    printf("# %s\n", err.message);
  for (const brim_json_value *e = brim_json_first(entries); e; e = brim_json_after(entries, e), count++)
    wrong += !same_words(tokenizer, scratch, e);
  ok(count > 0 && wrong == 0, "%s: which tokens are a word, in %d texts", name, count);
  brim_scratch_free(scratch);
}

static void of_tokenizer(const brim_tokenizer *tokenizer, const char *name) {
  char whole[100];
  snprintf(whole, sizeof whole, "%s, whole words", name);
  properties(tokenizer, name, BRIM_NUMBER_TOKENS);
  properties(tokenizer, whole, BRIM_NUMBER_WORDS);
}

int main(int argc, char **argv) {
  static const char *const names[] = {"wordpiece-uncased", "wordpiece-cased", "byte-bpe", "unigram"};
  char path[1024];
  brim_error err = {0};
  brim_json_document *document;
  (void)argc, (void)argv;
  data_start(2);
  make_texts();
  snprintf(path, sizeof path, "%s/tests/golden/tasks/masking/words.json", tap_source());
  if (brim_json_load(data_runtime, path, 0, &document, &err)) {
    printf("Bail out! %s\n", err.message);
    return 99;
  }
  const brim_json_value *all = brim_json_get(brim_json_root(document), "tokenizers");
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    brim_tokenizer *tokenizer;
    snprintf(path, sizeof path, "%s/tests/golden/tokenizers/%s", tap_source(), names[i]);
    if (brim_tokenizer_load(data_runtime, path, &tokenizer, &err)) {
      printf("Bail out! %s\n", err.message);
      return 99;
    }
    words_of(tokenizer, names[i], brim_json_get(all, names[i]));
    of_tokenizer(tokenizer, names[i]);
    if (i == 2)
      batches(tokenizer);
    windows(tokenizer, i % 2 ? BRIM_NUMBER_TOKENS : BRIM_NUMBER_WORDS);
    brim_tokenizer_free(tokenizer);
  }
  brim_tokenizer *letters = data_tokenizer();
  of_tokenizer(letters, "letters");
  brim_tokenizer_free(letters);
  rates();
  brim_json_free(document);
  brim_runtime_free(data_runtime);
  return tap_done();
}
