/* offsets.c: encodings with the origin of every token, and stride windows. */
#include "base/memory.h"
#include "base/status.h"
#include "text/encode.h"
#include "text/tokenizer.h"
#include "text/unicode.h"
#include "text/windows.h"

/* One of the two texts: its tokens are exact.at[first .. first + count). */
typedef struct source {
  const char *text;
  size_t first, count;
} source;

typedef struct builder {
  const brim_tokenizer *tokenizer;
  brim_scratch *scratch;
  const brim_template *template;
  bool special;
  source sources[2];
  brim_encoding *out;
  brim_offsets *offsets; /* may be NULL */
  brim_windows *windows; /* may be NULL */
  brim_error *err;
} builder;

void brim_offsets_free(brim_offsets *offsets) {
  if (!offsets || !offsets->runtime)
    return;
  brim_release(offsets->runtime, offsets->from);
  brim_release(offsets->runtime, offsets->to);
  brim_release(offsets->runtime, offsets->words);
  brim_release(offsets->runtime, offsets->sources);
  *offsets = (brim_offsets){0};
}

void brim_windows_free(brim_windows *windows) {
  if (!windows || !windows->runtime)
    return;
  brim_release(windows->runtime, windows->starts);
  *windows = (brim_windows){0};
}

/* ---- growing ---------------------------------------------------------------------------------------------- */

static int reserve_offsets(brim_offsets *o, size_t length, brim_error *err) {
  if (length <= o->capacity)
    return BRIM_OK;
  size_t capacity = o->capacity ? o->capacity : 64;
  while (capacity < length)
    capacity += capacity / 2;
  uint32_t *from = brim_resize_array(o->runtime, o->from, capacity, sizeof *from);
  if (from)
    o->from = from;
  uint32_t *to = brim_resize_array(o->runtime, o->to, capacity, sizeof *to);
  if (to)
    o->to = to;
  int32_t *words = brim_resize_array(o->runtime, o->words, capacity, sizeof *words);
  if (words)
    o->words = words;
  int8_t *sources = brim_resize(o->runtime, o->sources, capacity);
  if (sources)
    o->sources = sources;
  if (!from || !to || !words || !sources)
    return BRIM_NOMEM(err);
  o->capacity = capacity;
  return BRIM_OK;
}

static int put(builder *b, int32_t id, uint8_t type_id, uint32_t from, uint32_t to, int32_t word, int8_t from_source) {
  size_t n = b->out->length;
  BRIM_TRY(brim_encoding_reserve(b->out, n + 1, b->err));
  b->out->ids[n] = id;
  b->out->type_ids[n] = type_id;
  b->out->length = n + 1;
  if (!b->offsets)
    return BRIM_OK;
  BRIM_TRY(reserve_offsets(b->offsets, n + 1, b->err));
  b->offsets->from[n] = from;
  b->offsets->to[n] = to;
  b->offsets->words[n] = word;
  b->offsets->sources[n] = from_source;
  b->offsets->length = n + 1;
  return BRIM_OK;
}

/* ---- trimming: byte-level post-processors take the spaces off offsets --------------------------------------- */

static bool is_blank(uint32_t code) {
  return code == brim_byte_char(' ') || brim_char_is(code, BRIM_CHAR_WHITE);
}

/* Spaces at the beginning and at the end of a token's text. Added tokens, and what Unigram does not know, count by the
 * text that they cover. */
static void count_blanks(const builder *b, const source *s, const brim_exact_token *token, size_t *leading, size_t *trailing) {
  size_t length = token->to - token->from;
  const char *text = s->text + token->from;
  const brim_token_model *model = &b->tokenizer->model;
  if (!token->added && (model->family != BRIM_UNIGRAM || token->id != model->unigram.unknown))
    text = brim_tokenizer_token(b->tokenizer, token->id, &length);
  bool inside = false;
  *leading = *trailing = 0;
  for (size_t i = 0; i < length;) {
    uint32_t code;
    i += (size_t)brim_utf8_next(text + i, &code);
    bool blank = is_blank(code);
    inside = inside || !blank;
    if (!inside)
      ++*leading;
    *trailing = blank ? *trailing + 1 : 0;
  }
}

static void trim(const builder *b, const source *s, bool first, brim_exact_token *token) {
  size_t leading, trailing;
  count_blanks(b, s, token, &leading, &trailing);
  if ((first || token->from == 0) && b->tokenizer->processor.add_prefix_space && leading == 1)
    leading = 0;
  uint32_t code;
  for (; leading && token->from < token->to; leading--)
    token->from += (uint32_t)brim_utf8_next(s->text + token->from, &code);
  for (; trailing && token->to > token->from; trailing--)
    do
      token->to--;
    while (token->to > token->from && ((uint8_t)s->text[token->to] & 0xC0) == 0x80);
}

/* ---- windows ---------------------------------------------------------------------------------------------- */

static int put_source(builder *b, int which, brim_token_range r, uint8_t type_id) {
  const source *s = &b->sources[which];
  for (size_t i = r.begin; i < r.end; i++) {
    brim_exact_token token = b->scratch->exact.at[s->first + i];
    if (b->offsets && b->tokenizer->processor.trim_offsets)
      trim(b, s, i == r.begin, &token);
    BRIM_TRY(put(b, token.id, type_id, token.from, token.to, (int32_t)token.word, (int8_t)which));
  }
  return BRIM_OK;
}

static int put_window(builder *b, brim_token_range first, brim_token_range second) {
  for (size_t i = 0; i < b->template->count; i++) {
    const brim_template_piece *piece = &b->template->pieces[i];
    if (piece->kind == BRIM_PIECE_A)
      BRIM_TRY(put_source(b, 0, first, piece->type_id));
    else if (piece->kind == BRIM_PIECE_B)
      BRIM_TRY(put_source(b, 1, second, piece->type_id));
    else if (b->special)
      BRIM_TRY(put(b, piece->id, piece->type_id, 0, 0, -1, -1));
  }
  brim_windows *w = b->windows;
  if (!w)
    return BRIM_OK;
  if (w->count + 2 > w->capacity)
    BRIM_TRY(brim_grow(w->runtime, (void **)&w->starts, &w->capacity, w->count + 2, sizeof *w->starts, b->err));
  w->starts[w->count] = w->count ? w->starts[w->count] : 0;
  w->starts[++w->count] = b->out->length;
  return BRIM_OK;
}

/* Whether the template puts the pair before the text. */
static bool second_comes_first(const brim_template *template) {
  for (size_t i = 0; i < template->count; i++)
    if (template->pieces[i].kind != BRIM_PIECE_SPECIAL)
      return template->pieces[i].kind == BRIM_PIECE_B;
  return false;
}

/* How a text and its pair are cut. */
typedef struct cuts {
  size_t all[2], kept[2], stride;
  bool left;
  int outer; /* the one that is first in the template */
} cuts;

/* Window i of the outer text with window j of the other. */
static int put_numbered(builder *b, const cuts *how, size_t i, size_t j) {
  brim_token_range ranges[2];
  for (int which = 0; which < 2; which++)
    ranges[which] = brim_window_at(which == how->outer ? i : j, how->all[which], how->kept[which], how->stride, how->left);
  return put_window(b, ranges[0], ranges[1]);
}

static int put_windows(builder *b, brim_kept kept, size_t stride, bool left) {
  size_t a = b->sources[0].count, c = b->sources[1].count;
  if (kept.a > a)
    kept.a = a;
  if ((kept.a < a && kept.a <= stride) || (kept.b < c && kept.b <= stride))
    return brim_error_set(b->err, BRIM_E_USAGE,
                          "windows of %zu tokens cannot overlap by %zu; raise the maximum length or lower the stride",
                          kept.a < a ? kept.a : kept.b, stride);
  cuts how = {{a, c}, {kept.a, kept.b}, stride, left, second_comes_first(b->template)};
  size_t firsts = brim_window_count(how.all[how.outer], how.kept[how.outer], stride);
  size_t others = brim_window_count(how.all[!how.outer], how.kept[!how.outer], stride);
  /* The reference's order: the first of both; then for each further one of the text that is first all of the other; then its
   * first with the rest of the other. */
  BRIM_TRY(put_numbered(b, &how, 0, 0));
  for (size_t i = 1; b->windows && i < firsts; i++)
    for (size_t j = 0; j < others; j++)
      BRIM_TRY(put_numbered(b, &how, i, j));
  for (size_t j = 1; b->windows && j < others; j++)
    BRIM_TRY(put_numbered(b, &how, 0, j));
  return BRIM_OK;
}

/* ---- public ----------------------------------------------------------------------------------------------- */

static int add_source(builder *b, int which, const char *text, size_t length) {
  BRIM_TRY(brim_clean_utf8(b->scratch, which, &text, &length, b->err));
  size_t first = b->scratch->exact.count;
  BRIM_TRY(brim_exact_run(b->tokenizer, b->scratch, text, length, b->err));
  b->sources[which] = (source){text, first, b->scratch->exact.count - first};
  return BRIM_OK;
}

int brim_tokenizer_encode_windows(const brim_tokenizer *tokenizer, brim_scratch *scratch, const char *text, size_t text_length,
                                  const char *pair, size_t pair_length, const brim_encode_options *options, int32_t stride,
                                  brim_encoding *out, brim_offsets *offsets, brim_windows *windows, brim_error *err) {
  static const brim_encode_options defaults = {0};
  if (!options)
    options = &defaults;
  builder b = {.tokenizer = tokenizer, .scratch = scratch, .out = out, .offsets = offsets, .windows = windows, .err = err};
  b.template = pair ? &tokenizer->processor.pair : &tokenizer->processor.single;
  b.special = !options->no_special_tokens;
  if (!out->runtime)
    out->runtime = scratch->runtime;
  if (offsets && !offsets->runtime)
    offsets->runtime = scratch->runtime;
  if (windows && !windows->runtime)
    windows->runtime = scratch->runtime;
  out->length = out->lost = scratch->exact.count = 0;
  if (offsets)
    offsets->length = 0;
  if (windows)
    windows->count = 0;
  BRIM_TRY(brim_encode_options_check(tokenizer, options, pair != NULL, err));
  if (stride < 0)
    return brim_error_set(err, BRIM_E_USAGE, "the stride must not be negative");
  BRIM_TRY(add_source(&b, 0, text, text_length));
  if (pair)
    BRIM_TRY(add_source(&b, 1, pair, pair_length));
  size_t counts[2] = {b.sources[0].count, b.sources[1].count}, added = b.special ? (size_t)b.template->added : 0;
  brim_kept kept = {counts[0], counts[1]};
  if (options->max_length)
    BRIM_TRY(brim_truncate(brim_cuts_text(tokenizer, options), pair != NULL, counts[0], counts[1],
                           (size_t)options->max_length - added, &kept, err));
  if (windows)
    return put_windows(&b, kept, (size_t)stride, brim_cuts_left(tokenizer, options));
  out->lost = counts[0] - kept.a + counts[1] - kept.b;
  const bool left = brim_cuts_left(tokenizer, options);
  size_t skip_a = left ? counts[0] - kept.a : 0, skip_b = left ? counts[1] - kept.b : 0;
  return put_window(&b, (brim_token_range){skip_a, skip_a + kept.a}, (brim_token_range){skip_b, skip_b + kept.b});
}

int brim_tokenizer_encode_offsets(const brim_tokenizer *tokenizer, brim_scratch *scratch, const char *text, size_t text_length,
                                  const char *pair, size_t pair_length, const brim_encode_options *options, brim_encoding *out,
                                  brim_offsets *offsets, brim_error *err) {
  BRIM_GIVEN(err, tokenizer, scratch, out, offsets);
  BRIM_ARRAY(err, text, text_length);
  return brim_tokenizer_encode_windows(tokenizer, scratch, text, text_length, pair, pair_length, options, 0, out, offsets, NULL,
                                       err);
}
