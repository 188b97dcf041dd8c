/* encode.c: scratch memory, and the way from a text or pair to its ids: tokens, truncation, template. */
#include "text/encode.h"
#include "base/memory.h"
#include "base/status.h"
#include "text/beginning.h"
#include "text/fast.h"
#include "text/prompt.h"
#include "text/tokenizer.h"
#include "text/windows.h"
#include <string.h>

int brim_scratch_new(brim_runtime *runtime, const brim_tokenizer *tokenizer, brim_scratch **out, brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_GIVEN(err, runtime, tokenizer);
  brim_scratch *s = brim_alloc_zero(runtime, sizeof *s);
  if (!s)
    return BRIM_NOMEM(err);
  s->runtime = s->work.runtime = s->piece_tokens.runtime = s->exact.runtime = runtime;
  s->ids[0].runtime = s->ids[1].runtime = runtime;
  brim_runes_init(&s->section, runtime);
  brim_runes_init(&s->spare, runtime);
  brim_runes_init(&s->form, runtime);
  brim_pieces_init(&s->pieces, runtime);
  brim_pieces_init(&s->spare_pieces, runtime);
  brim_text_init(&s->bytes, runtime);
  brim_text_init(&s->clean[0], runtime);
  brim_text_init(&s->clean[1], runtime);
  brim_text_init(&s->prompted, runtime);
  int status = brim_cache_init(&s->cache, runtime, tokenizer->fingerprint, err);
  if (status == BRIM_OK)
    *out = s;
  else
    brim_scratch_free(s);
  return status;
}

void brim_scratch_free(brim_scratch *s) {
  if (!s)
    return;
  brim_token_model_work_free(&s->work);
  brim_runes_free(&s->section);
  brim_runes_free(&s->spare);
  brim_runes_free(&s->form);
  brim_pieces_free(&s->pieces);
  brim_pieces_free(&s->spare_pieces);
  brim_text_free(&s->bytes);
  brim_text_free(&s->clean[0]);
  brim_text_free(&s->clean[1]);
  brim_text_free(&s->prompted);
  brim_release(s->runtime, s->piece_tokens.at);
  brim_release(s->runtime, s->exact.at);
  brim_release(s->runtime, s->rune_of);
  brim_cache_free(&s->cache);
  brim_release(s->runtime, s->ids[0].at);
  brim_release(s->runtime, s->ids[1].at);
  brim_release(s->runtime, s);
}

int brim_encode_options_check(const brim_tokenizer *tokenizer, const brim_encode_options *options, bool pair, brim_error *err) {
  BRIM_GIVEN(err, tokenizer, options);
  int32_t added = options->no_special_tokens ? 0 : brim_tokenizer_added(tokenizer, pair);
  if (options->max_length < 0)
    return brim_error_set(err, BRIM_E_USAGE, "max_length is %d: it must not be negative", (int)options->max_length);
  if (options->truncation < BRIM_TRUNCATION_OF_TOKENIZER || options->truncation > BRIM_ONLY_SECOND)
    return brim_error_set(err, BRIM_E_USAGE, "unknown truncation strategy");
  if (options->truncation_side < BRIM_SIDE_OF_TOKENIZER || options->truncation_side > BRIM_SIDE_LEFT)
    return brim_error_set(err, BRIM_E_USAGE, "unknown truncation side");
  if ((unsigned)options->numbering > BRIM_NUMBER_WORDS)
    return brim_error_set(err, BRIM_E_USAGE, "numbering %d does not exist", (int)options->numbering);
  if (options->max_windows < 0 || options->window_overlap < 0)
    return brim_error_set(err, BRIM_E_USAGE, "max_windows is %d and window_overlap %d: they must not be negative",
                          (int)options->max_windows, (int)options->window_overlap);
  if (options->max_length && options->max_length < added)
    return brim_error_set(err, BRIM_E_USAGE, "max_length %d has no room for the %d special tokens of a %s",
                          (int)options->max_length, (int)added, pair ? "pair" : "text");
  return brim_makes_windows(options) && !pair ? brim_windows_check(tokenizer, options, err) : BRIM_OK;
}

/* The ids of one text of valid UTF-8. */
static int tokenize(const brim_tokenizer *t, brim_scratch *s, int which, brim_string text, brim_error *err) {
  brim_ids *ids = &s->ids[which];
  ids->count = 0;
  return brim_fast_run(t, s, text.bytes, text.length, ids, err);
}

/* Appends the row to *out. */
static int assemble(const brim_tokenizer *t, const brim_scratch *s, bool pair, const brim_encode_options *options,
                    brim_encoding *out, brim_error *err) {
  const brim_template *template = pair ? &t->processor.pair : &t->processor.single;
  const brim_ids *a = &s->ids[0], *b = &s->ids[1];
  size_t counts[2] = {a->count, pair ? b->count : 0}, special = options->no_special_tokens ? 0 : (size_t)template->added;
  brim_kept kept = {counts[0], counts[1]};
  if (options->max_length)
    BRIM_TRY(
        brim_truncate(brim_cuts_text(t, options), pair, counts[0], counts[1], (size_t)options->max_length - special, &kept, err));
  BRIM_TRY(brim_encoding_reserve(out, out->length + kept.a + kept.b + special, err));
  const bool left = brim_cuts_left(t, options);
  size_t skip_a = left ? counts[0] - kept.a : 0, skip_b = left ? counts[1] - kept.b : 0;
  out->lost = counts[0] - kept.a + counts[1] - kept.b;
  for (size_t i = 0; i < template->count; i++) {
    const brim_template_piece *piece = &template->pieces[i];
    if (piece->kind == BRIM_PIECE_A)
      brim_encoding_put(out, a->at + skip_a, kept.a, piece->type_id);
    else if (piece->kind == BRIM_PIECE_B)
      brim_encoding_put(out, b->at + skip_b, kept.b, piece->type_id);
    else if (special)
      brim_encoding_put(out, &piece->id, 1, piece->type_id);
  }
  return BRIM_OK;
}

int brim_encode_valid(const brim_tokenizer *tokenizer, brim_scratch *scratch, brim_string text, brim_string pair,
                      const brim_encode_options *options, brim_encoding *out, brim_error *err) {
  BRIM_TRY(brim_encode_options_check(tokenizer, options, pair.bytes != NULL, err));
  out->unread = 0;
  BRIM_TRY(tokenize(tokenizer, scratch, 0, text, err));
  if (pair.bytes)
    BRIM_TRY(tokenize(tokenizer, scratch, 1, pair, err));
  return assemble(tokenizer, scratch, pair.bytes != NULL, options, out, err);
}

/* Ids of all words, and in the place of a second text's the number of each one's word. */
static int tokenize_words(const brim_tokenizer *t, brim_scratch *s, brim_string words, brim_error *err) {
  brim_ids *ids = &s->ids[0], *numbers = &s->ids[1];
  int32_t number = 0;
  ids->count = numbers->count = 0;
  for (const char *at = words.bytes, *end = at + words.length; at < end; number++) {
    const size_t length = strlen(at);
    BRIM_TRY(brim_fast_run(t, s, at, length, ids, err));
    BRIM_TRY(brim_ids_reserve(numbers, ids->count - numbers->count, err));
    while (numbers->count < ids->count)
      numbers->at[numbers->count++] = number;
    at += length + 1;
  }
  return BRIM_OK;
}

/* Those of the row that assemble has put at out->ids + first. */
static int assemble_numbers(const brim_tokenizer *t, const brim_scratch *s, const brim_encode_options *options,
                            const brim_encoding *out, size_t first, brim_word_numbers *numbers, brim_error *err) {
  const brim_template *template = &t->processor.single;
  const size_t kept = s->ids[1].count - out->lost, skip = brim_cuts_left(t, options) ? out->lost : 0;
  BRIM_TRY(brim_grow(out->runtime, (void **)&numbers->at, &numbers->capacity, out->length, sizeof *numbers->at, err));
  int32_t *to = numbers->at + first;
  for (size_t i = 0; i < template->count; i++) {
    if (template->pieces[i].kind == BRIM_PIECE_SPECIAL && !options->no_special_tokens)
      *to++ = -1;
    if (template->pieces[i].kind != BRIM_PIECE_A || kept == 0)
      continue;
    memcpy(to, s->ids[1].at + skip, kept * sizeof *to);
    to += kept;
  }
  return BRIM_OK;
}

/* The windows of the text, and room for the numbers of their tokens. */
static int put_numbered_windows(const brim_tokenizer *t, brim_scratch *s, const brim_encode_options *options, brim_encoding *out,
                                brim_word_numbers *numbers, brim_text_lengths *lengths, brim_error *err) {
  BRIM_TRY(brim_windows_put(t, s, options, out, lengths, err));
  return brim_grow(out->runtime, (void **)&numbers->at, &numbers->capacity, out->length, sizeof *numbers->at, err);
}

int brim_encode_words(const brim_tokenizer *tokenizer, brim_scratch *scratch, brim_string words,
                      const brim_encode_options *options, brim_encoding *out, brim_word_numbers *numbers,
                      brim_text_lengths *lengths, brim_error *err) {
  const size_t first = out->length;
  BRIM_TRY(brim_tokenizer_of_words(tokenizer, &tokenizer, err));
  BRIM_TRY(brim_encode_options_check(tokenizer, options, false, err));
  BRIM_TRY(brim_clean_utf8(scratch, 0, &words.bytes, &words.length, err));
  BRIM_TRY(tokenize_words(tokenizer, scratch, words, err));
  if (brim_makes_windows(options)) {
    BRIM_TRY(put_numbered_windows(tokenizer, scratch, options, out, numbers, lengths, err));
    brim_windows_number_words(tokenizer, scratch, options, numbers->at + first);
    return BRIM_OK;
  }
  BRIM_TRY(assemble(tokenizer, scratch, false, options, out, err));
  BRIM_TRY(assemble_numbers(tokenizer, scratch, options, out, first, numbers, err));
  return brim_text_lengths_add(out->runtime, lengths, out->length - first, err);
}

/* ---- numbers of tokens, or of their words ------------------------------------------------------------------------ */

/* Where the exact tokens of a text and of its pair begin. */
typedef struct numbered {
  const brim_tokenizer *tokenizer;
  const brim_scratch *scratch;
  const brim_encode_options *options;
  size_t firsts[2];
} numbered;

static int tokenize_exact(const brim_tokenizer *t, brim_scratch *s, int which, brim_string text, size_t *first, brim_error *err) {
  brim_ids *ids = &s->ids[which];
  *first = s->exact.count;
  BRIM_TRY(brim_exact_run(t, s, text.bytes, text.length, err));
  ids->count = 0;
  BRIM_TRY(brim_ids_reserve(ids, s->exact.count - *first, err));
  for (size_t i = *first; i < s->exact.count; i++)
    ids->at[ids->count++] = s->exact.at[i].id;
  return BRIM_OK;
}

/* Writes those of a text of which `kept` tokens are left, the first of them `from`; returns the number after the last. */
static int32_t put_numbers(const numbered *n, int which, size_t skip, size_t kept, int32_t from, int32_t *to) {
  const bool words = n->options->numbering == BRIM_NUMBER_WORDS;
  const brim_exact_token *tokens = words ? n->scratch->exact.at + n->firsts[which] + skip : NULL;
  for (size_t i = 0; i < kept; i++)
    to[i] = from + (int32_t)(words ? tokens[i].word - tokens[0].word : i);
  return kept ? to[kept - 1] + 1 : from;
}

/* Of the row at `to`, which assemble has put together of kept[0] and kept[1] tokens. */
static void number_row(const numbered *n, bool pair, const size_t kept[2], int32_t *to) {
  const brim_processor *processor = &n->tokenizer->processor;
  const brim_template *template = pair ? &processor->pair : &processor->single;
  const bool left = brim_cuts_left(n->tokenizer, n->options);
  int32_t next = 0;
  for (size_t i = 0; i < template->count; i++) {
    const brim_piece_kind kind = template->pieces[i].kind;
    const int which = kind == BRIM_PIECE_B;
    if (kind == BRIM_PIECE_SPECIAL) {
      if (!n->options->no_special_tokens)
        *to++ = -1;
      continue;
    }
    next = put_numbers(n, which, left ? n->scratch->ids[which].count - kept[which] : 0, kept[which], next, to);
    to += kept[which];
  }
}

static int refuse_texts(brim_error *err) {
  return brim_error_set(err, BRIM_E_USAGE, "windows are of rows of one text each: leave them out, or the other texts");
}

/* Of a single text, whose exact tokens begin at `from`. */
static int number_windows(const brim_tokenizer *t, brim_scratch *s, size_t from, const brim_encode_options *options,
                          brim_encoding *out, brim_word_numbers *numbers, brim_text_lengths *lengths, brim_error *err) {
  const size_t first = out->length, count = s->ids[0].count;
  brim_ids *of = &s->ids[1];
  of->count = 0;
  BRIM_TRY(brim_ids_reserve(of, count, err));
  for (size_t i = 0; i < count; i++)
    of->at[i] = options->numbering == BRIM_NUMBER_WORDS ? (int32_t)s->exact.at[from + i].word : (int32_t)i;
  BRIM_TRY(put_numbered_windows(t, s, options, out, numbers, lengths, err));
  brim_windows_number(t, s, options, numbers->at + first);
  return BRIM_OK;
}

int brim_encode_numbered(const brim_tokenizer *tokenizer, brim_scratch *scratch, brim_string text, brim_string pair,
                         const brim_encode_options *options, brim_encoding *out, brim_word_numbers *numbers,
                         brim_text_lengths *lengths, brim_error *err) {
  const size_t first = out->length, room = (size_t)options->max_length;
  brim_string texts[2] = {text, pair};
  numbered n = {tokenizer, scratch, options, {0}};
  size_t counts[2] = {0};
  BRIM_TRY(brim_encode_options_check(tokenizer, options, pair.bytes != NULL, err));
  if (brim_makes_windows(options) && pair.bytes && !options->cut_pairs)
    return refuse_texts(err);
  out->unread = 0;
  scratch->exact.count = 0;
  for (int which = 0; which < 1 + (pair.bytes != NULL); which++) {
    BRIM_TRY(brim_clean_utf8(scratch, which, &texts[which].bytes, &texts[which].length, err));
    BRIM_TRY(options->numbering == BRIM_NUMBER_WORDS
                 ? tokenize_exact(tokenizer, scratch, which, texts[which], &n.firsts[which], err)
                 : tokenize(tokenizer, scratch, which, texts[which], err));
    counts[which] = scratch->ids[which].count;
  }
  if (brim_makes_windows(options) && !pair.bytes)
    return number_windows(tokenizer, scratch, n.firsts[0], options, out, numbers, lengths, err);
  BRIM_TRY(assemble(tokenizer, scratch, pair.bytes != NULL, options, out, err));
  BRIM_TRY(brim_grow(out->runtime, (void **)&numbers->at, &numbers->capacity, out->length, sizeof *numbers->at, err));
  const brim_template *template = pair.bytes ? &tokenizer->processor.pair : &tokenizer->processor.single;
  brim_kept kept = {counts[0], counts[1]};
  if (options->max_length)
    BRIM_TRY(brim_truncate(brim_cuts_text(tokenizer, options), pair.bytes != NULL, counts[0], counts[1],
                           room - (options->no_special_tokens ? 0 : (size_t)template->added), &kept, err));
  number_row(&n, pair.bytes != NULL, (size_t[]){kept.a, kept.b}, numbers->at + first);
  return brim_text_lengths_add(out->runtime, lengths, out->length - first, err);
}

/* Of a long text as much as gives more tokens than are kept. A part that turned out too short is read again with more. */
static int encode_beginning(const brim_tokenizer *tokenizer, brim_scratch *scratch, brim_string text,
                            const brim_encode_options *options, brim_encoding *out, brim_error *err) {
  const size_t kept = (size_t)options->max_length - (options->no_special_tokens ? 0 : (size_t)tokenizer->processor.single.added);
  size_t wanted = BRIM_COUNTED / 16 + kept * 8, end;
  do {
    end = brim_beginning(text.bytes, text.length, wanted);
    brim_string part = {text.bytes, end};
    BRIM_TRY(brim_clean_utf8(scratch, 0, &part.bytes, &part.length, err));
    BRIM_TRY(tokenize(tokenizer, scratch, 0, part, err));
    wanted = end * 4;
  } while (end < text.length && scratch->ids[0].count <= kept);
  BRIM_TRY(assemble(tokenizer, scratch, false, options, out, err));
  out->unread = text.length - end;
  return BRIM_OK;
}

int brim_encode_append(const brim_tokenizer *tokenizer, brim_scratch *scratch, brim_string text, brim_string pair,
                       const brim_encode_options *options, brim_encoding *out, brim_error *err) {
  if (options->stops && options->max_length && !pair.bytes && text.length > BRIM_COUNTED && tokenizer->ends_at_spaces &&
      !brim_cuts_left(tokenizer, options)) {
    BRIM_TRY(brim_encode_options_check(tokenizer, options, false, err));
    return encode_beginning(tokenizer, scratch, text, options, out, err);
  }
  BRIM_TRY(brim_clean_utf8(scratch, 0, &text.bytes, &text.length, err));
  if (pair.bytes)
    BRIM_TRY(brim_clean_utf8(scratch, 1, &pair.bytes, &pair.length, err));
  return brim_encode_valid(tokenizer, scratch, text, pair, options, out, err);
}

/* ---- rows of several texts -------------------------------------------------------------------------------- */

static int encode_each(const brim_tokenizer *tokenizer, brim_scratch *scratch, brim_string text, brim_string pair,
                       const brim_string *further, size_t further_count, bool valid, const brim_encode_options *options,
                       brim_encoding *out, brim_text_lengths *lengths, brim_error *err) {
  size_t lost = 0;
  for (size_t i = 0; i <= further_count; i++) {
    const size_t before = out->length;
    const char *prompt = options->prompts[i < BRIM_MOST_PROMPTS ? i : BRIM_MOST_PROMPTS - 1];
    brim_string own = i == 0 || pair.bytes ? text : further[i - 1], second = i == 0 || !pair.bytes ? pair : further[i - 1];
    if (prompt && !pair.bytes)
      BRIM_TRY(brim_prompt_put(prompt, &scratch->prompted, &own, err));
    BRIM_TRY((valid ? brim_encode_valid : brim_encode_append)(tokenizer, scratch, own, second, options, out, err));
    BRIM_TRY(brim_text_lengths_add(out->runtime, lengths, out->length - before, err));
    lost += out->lost;
  }
  out->lost = lost;
  return BRIM_OK;
}

/* The row's one text. */
static int encode_windows(const brim_tokenizer *tokenizer, brim_scratch *scratch, brim_string text, bool more, bool valid,
                          const brim_encode_options *options, brim_encoding *out, brim_text_lengths *lengths, brim_error *err) {
  if (more)
    return refuse_texts(err);
  BRIM_TRY(brim_encode_options_check(tokenizer, options, false, err));
  if (!valid)
    BRIM_TRY(brim_clean_utf8(scratch, 0, &text.bytes, &text.length, err));
  BRIM_TRY(tokenize(tokenizer, scratch, 0, text, err));
  return brim_windows_put(tokenizer, scratch, options, out, lengths, err);
}

int brim_encode_texts(const brim_tokenizer *tokenizer, brim_scratch *scratch, brim_string text, brim_string pair,
                      const brim_string *further, size_t further_count, bool valid, const brim_encode_options *options,
                      brim_encoding *out, brim_text_lengths *lengths, brim_error *err) {
  const size_t first = out->length, texts = lengths->count;
  const int status = brim_makes_windows(options)
                         ? encode_windows(tokenizer, scratch, text, pair.bytes || further_count > 0, valid, options, out, lengths,
                                          err)
                         : encode_each(tokenizer, scratch, text, pair, further, further_count, valid, options, out, lengths, err);
  if (status != BRIM_OK)
    out->length = first, lengths->count = texts;
  return status;
}

int brim_tokenizer_encode(const brim_tokenizer *tokenizer, brim_scratch *scratch, const char *text, size_t text_length,
                          const char *pair, size_t pair_length, const brim_encode_options *options, brim_encoding *out,
                          brim_error *err) {
  BRIM_GIVEN(err, tokenizer, scratch, out);
  BRIM_ARRAY(err, text, text_length);
  static const brim_encode_options defaults = {0};
  if (!out->runtime)
    out->runtime = scratch->runtime;
  out->length = out->lost = out->unread = 0;
  return brim_encode_append(tokenizer, scratch, (brim_string){text, text_length}, (brim_string){pair, pair_length},
                            options ? options : &defaults, out, err);
}
