/* windows.c: a long text as windows: the tokens of each, and the numbers of its words or tokens. */
#include "text/windows.h"

#include "base/status.h"
#include "text/tokenizer.h"

int brim_windows_check(const brim_tokenizer *t, const brim_encode_options *o, brim_error *err) {
  const int32_t added = o->no_special_tokens ? 0 : brim_tokenizer_added(t, false);
  if (o->max_length == 0)
    return brim_error_set(err, BRIM_E_USAGE, "windows need a max_length, which each of them has at most");
  if (o->window_overlap >= o->max_length - added)
    return brim_error_set(
        err, BRIM_E_USAGE,
        "windows that overlap by %d tokens: of a max_length of %d there are %d without the special ones, and each "
        "window needs a new one",
        (int)o->window_overlap, (int)o->max_length, (int)(o->max_length - added));
  return BRIM_OK;
}

/* ---- which tokens ------------------------------------------------------------------------------------------ */

size_t brim_window_count(size_t count, size_t kept, size_t stride) {
  return count <= kept ? 1 : 1 + (count - kept + (kept - stride) - 1) / (kept - stride);
}

brim_token_range brim_window_at(size_t index, size_t count, size_t kept, size_t stride, bool left) {
  size_t shift = index * (kept - stride);
  if (left)
    return (brim_token_range){count - shift > kept ? count - shift - kept : 0, count - shift};
  return (brim_token_range){shift, shift + kept < count ? shift + kept : count};
}

/* How a text is cut. */
typedef struct cutting {
  size_t all, kept, skipped; /* tokens; skipped: before the first window */
  size_t room, overlap, count;
  bool left, special;
} cutting;

static cutting cut(const brim_tokenizer *t, const brim_scratch *s, const brim_encode_options *o) {
  cutting c = {.all = s->ids[0].count,
               .overlap = (size_t)o->window_overlap,
               .left = brim_cuts_left(t, o),
               .special = !o->no_special_tokens};
  c.room = (size_t)(o->max_length - (c.special ? brim_tokenizer_added(t, false) : 0));
  const size_t most = brim_windows_hold(c.room, c.overlap, o->max_windows);
  c.kept = c.all < most ? c.all : most;
  c.skipped = c.left ? c.all - c.kept : 0;
  c.count = brim_window_count(c.kept, c.room, c.overlap);
  return c;
}

/* Tokens of the text, whose windows are in its order. */
static brim_token_range range_of(const cutting *c, size_t i) {
  const brim_token_range r = brim_window_at(c->left ? c->count - 1 - i : i, c->kept, c->room, c->overlap, c->left);
  return (brim_token_range){c->skipped + r.begin, c->skipped + r.end};
}

static int put_window(const brim_tokenizer *t, const brim_scratch *s, brim_token_range r, bool special, brim_encoding *out,
                      brim_error *err) {
  const brim_template *template = &t->processor.single;
  const size_t count = r.end - r.begin;
  BRIM_TRY(brim_encoding_reserve(out, out->length + count + (special ? (size_t)template->added : 0), err));
  for (size_t i = 0; i < template->count; i++) {
    const brim_template_piece *piece = &template->pieces[i];
    if (piece->kind == BRIM_PIECE_A)
      brim_encoding_put(out, s->ids[0].at + r.begin, count, piece->type_id);
    else if (piece->kind != BRIM_PIECE_B && special)
      brim_encoding_put(out, &piece->id, 1, piece->type_id);
  }
  return BRIM_OK;
}

int brim_windows_put(const brim_tokenizer *t, const brim_scratch *s, const brim_encode_options *o, brim_encoding *out,
                     brim_text_lengths *lengths, brim_error *err) {
  const cutting c = cut(t, s, o);
  out->lost = c.all - c.kept;
  for (size_t i = 0; i < c.count; i++) {
    const size_t before = out->length;
    BRIM_TRY(put_window(t, s, range_of(&c, i), c.special, out, err));
    BRIM_TRY(brim_text_lengths_add(out->runtime, lengths, out->length - before, err));
  }
  return BRIM_OK;
}

/* ---- numbers ----------------------------------------------------------------------------------------------- */

/* Special tokens of a window before its text. */
static size_t lead_of(const brim_tokenizer *t, const cutting *c) {
  const brim_template *template = &t->processor.single;
  size_t lead = 0;
  while (c->special && lead < template->count && template->pieces[lead].kind == BRIM_PIECE_SPECIAL)
    lead++;
  return lead;
}

static size_t length_of(const brim_tokenizer *t, const cutting *c, brim_token_range r) {
  return r.end - r.begin + (c->special ? (size_t)t->processor.single.added : 0);
}

void brim_windows_number(const brim_tokenizer *t, const brim_scratch *s, const brim_encode_options *o, int32_t *to) {
  const cutting c = cut(t, s, o);
  const size_t lead = lead_of(t, &c);
  const int32_t *of = s->ids[1].at;
  int32_t next = 0;
  for (size_t i = 0; i < c.count; i++) {
    const brim_token_range r = range_of(&c, i);
    const size_t length = length_of(t, &c, r);
    for (size_t k = 0; k < length; k++)
      to[k] = -1;
    for (size_t k = r.begin; k < r.end; k++)
      to[lead + k - r.begin] = of[k] - of[r.begin] + next;
    next = r.end > r.begin ? to[lead + r.end - r.begin - 1] + 1 : next;
    to += length;
  }
}

/* Tokens between the word [first, end) and the nearer border of the window; below 0: the window cuts off its last ones. */
static int64_t context_of(brim_token_range r, size_t first, size_t end) {
  const int64_t before = (int64_t)first - (int64_t)r.begin, after = (int64_t)r.end - (int64_t)end;
  return before < after ? before : after;
}

/* A window, and where its tokens begin in the row. */
typedef struct spot {
  size_t window, at;
} spot;

static void step(const brim_tokenizer *t, const cutting *c, spot *s) {
  s->at += length_of(t, c, range_of(c, s->window++));
}

/* The window where the word has most context, of equal ones the first; window c->count: its first token is in none. *low: the
 * first window that ends after the word's first token. */
static spot best_window(const brim_tokenizer *t, const cutting *c, size_t first, size_t end, spot *low) {
  spot best = {c->count, 0};
  int64_t most = 0;
  while (low->window < c->count && range_of(c, low->window).end <= first)
    step(t, c, low);
  for (spot s = *low; s.window < c->count && range_of(c, s.window).begin <= first; step(t, c, &s)) {
    const int64_t context = context_of(range_of(c, s.window), first, end);
    if (best.window == c->count || context > most)
      best = s, most = context;
  }
  return best;
}

void brim_windows_number_words(const brim_tokenizer *t, const brim_scratch *s, const brim_encode_options *o, int32_t *to) {
  const cutting c = cut(t, s, o);
  const int32_t *of = s->ids[1].at;
  const size_t lead = lead_of(t, &c);
  spot low = {0};
  size_t tokens = 0;
  for (size_t i = 0; i < c.count; i++)
    tokens += length_of(t, &c, range_of(&c, i));
  for (size_t i = 0; i < tokens; i++)
    to[i] = -1;
  for (size_t first = 0, end; first < c.all; first = end) {
    for (end = first + 1; end < c.all && of[end] == of[first];)
      end++;
    const spot own = best_window(t, &c, first, end, &low);
    if (own.window == c.count)
      continue;
    const brim_token_range r = range_of(&c, own.window);
    for (size_t k = first; k < end && k < r.end; k++)
      to[own.at + lead + k - r.begin] = of[k];
  }
}
