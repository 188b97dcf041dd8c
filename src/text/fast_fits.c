/* fast_fits.c: which tokenizers the fused pipelines fit, and what these need to know of them. A pipeline fits only when it does
 * exactly what the file says. */
#include "base/memory.h"
#include "base/status.h"
#include "text/fast.h"
#include "text/unicode.h"
#include <string.h>

/* ---- fast_bert.c ------------------------------------------------------------------------------------------ */
static bool is_step(const brim_tokenizer *t, size_t index, brim_normal_kind kind) {
  return index < t->normalizer.count && t->normalizer.steps[index].kind == kind;
}

bool brim_bert_fits(const brim_tokenizer *t) {
  if (t->model.family != BRIM_WORDPIECE || t->added.normalized.count)
    return false;
  if (t->pretokenizer.count != 2 || t->pretokenizer.steps[0].kind != BRIM_SPLIT_WHITE ||
      t->pretokenizer.steps[1].kind != BRIM_SPLIT_PUNCTUATION || t->pretokenizer.steps[1].behavior != BRIM_ISOLATED)
    return false;
  size_t i = 0;
  i += is_step(t, i, BRIM_NORMAL_CLEAN);
  i += is_step(t, i, BRIM_NORMAL_CJK);
  if (is_step(t, i, BRIM_NORMAL_FORM)) {
    brim_form form = t->normalizer.steps[i].form;
    if (form.compose || form.compatible || !is_step(t, i + 1, BRIM_NORMAL_DROP_NONSPACING))
      return false;
    i += 2;
  }
  i += is_step(t, i, BRIM_NORMAL_LOWER);
  return i == t->normalizer.count && t->model.wordpiece.unknown >= 0;
}

void brim_bert_prepare(brim_tokenizer *t) {
  brim_bert *b = &t->bert;
  for (size_t i = 0; i < t->normalizer.count; i++) {
    b->clean = b->clean || t->normalizer.steps[i].kind == BRIM_NORMAL_CLEAN;
    b->chinese = b->chinese || t->normalizer.steps[i].kind == BRIM_NORMAL_CJK;
    b->strip = b->strip || t->normalizer.steps[i].kind == BRIM_NORMAL_FORM;
    b->lower = b->lower || t->normalizer.steps[i].kind == BRIM_NORMAL_LOWER;
  }
  for (int c = 0; c < 256; c++) {
    bool word = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    bool punctuation = c < 0x80 && brim_char_is((uint32_t)c, BRIM_CHAR_PUNCTUATION);
    b->kinds[c] = word ? BRIM_BYTE_WORD : blank ? BRIM_BYTE_BLANK : punctuation ? BRIM_BYTE_PUNCTUATION : BRIM_BYTE_OTHER;
  }
}

/* ---- fast_bytes.c ----------------------------------------------------------------------------------------- */

bool brim_bytes_fits(const brim_tokenizer *t) {
  const brim_bpe *m = &t->model.bpe;
  if (t->model.family != BRIM_BPE || m->prefix_length || m->suffix_length || m->ignore_merges)
    return false;
  for (int byte = 0; byte < 256 && (m->unknown != -1 || m->byte_fallback); byte++)
    if (m->symbols[byte] < 0)
      return false;
  const brim_pretokenizer *p = &t->pretokenizer;
  if (p->count != 2 || p->steps[0].kind != BRIM_SPLIT_PATTERN || p->steps[0].behavior != BRIM_ISOLATED || p->steps[0].invert ||
      !brim_pattern_is(p->steps[0].pattern, BRIM_GPT2_PATTERN) || p->steps[1].kind != BRIM_SPLIT_BYTES)
    return false;
  const brim_normalizer *n = &t->normalizer;
  return n->count == 0 ||
         (n->count == 1 && n->steps[0].kind == BRIM_NORMAL_FORM && n->steps[0].form.compose && !n->steps[0].form.compatible);
}

/* The bytes that a token encodes; false when it holds a character that encodes none. */
static bool raw_bytes(const char *token, size_t length, char *out, size_t *out_length) {
  *out_length = 0;
  for (size_t i = 0; i < length;) {
    uint32_t code;
    i += (size_t)brim_utf8_next(token + i, &code);
    int byte = brim_char_byte(code);
    if (byte < 0)
      return false;
    out[(*out_length)++] = (char)byte;
  }
  return true;
}

/* Collects the tokens that come out when their own bytes are merged: a pre-token that is one of them needs no merging. */
static int collect_known(brim_tokenizer *t, brim_token_model_work *work, brim_trie_key *keys, char *bytes, brim_error *err) {
  size_t count = 0;
  for (int32_t id = 0; id < t->model.size; id++) {
    size_t length;
    if (!t->model.tokens[id] || !raw_bytes(t->model.tokens[id], t->model.lengths[id], bytes, &length) || length == 0)
      continue;
    BRIM_TRY(brim_bpe_merge_bytes(&t->model.bpe, work, bytes, length, err));
    if (work->symbol_count == length && work->symbols[0].next < 0 && work->symbols[0].id == id) {
      keys[count++] = (brim_trie_key){bytes, (uint32_t)length, id};
      bytes += length;
    }
  }
  return brim_trie_build(t->runtime, keys, count, &t->known, err);
}

int brim_bytes_prepare(brim_tokenizer *t, brim_error *err) {
  size_t total = 0;
  for (int32_t id = 0; id < t->model.size; id++)
    total += t->model.lengths[id];
  brim_token_model_work work = {.runtime = t->runtime};
  brim_trie_key *keys = brim_alloc_array(t->runtime, (size_t)t->model.size + 1, sizeof *keys);
  char *bytes = brim_alloc(t->runtime, total + 1);
  int status = keys && bytes ? collect_known(t, &work, keys, bytes, err) : BRIM_NOMEM(err);
  brim_release(t->runtime, keys);
  brim_release(t->runtime, bytes);
  brim_token_model_work_free(&work);
  return status;
}

/* ---- fast_spaced.c ---------------------------------------------------------------------------------------- */

/* A normalizer of a shape. A replacement's content is one character: a space, or (0) that of the metaspace. */
typedef struct shape_step {
  brim_normal_kind kind;
  const char *pattern;
  uint32_t content;
} shape_step;

/* What the files of some models have in common: splitting ends with a metaspace, and these steps come before it. */
typedef struct shape {
  const char *like; /* a model that has it */
  bool white_first; /* white space separates, before the metaspace does */
  int step_count;
  shape_step steps[3];
  bool guard_inner; /* runs of spaces within a text become one */
} shape;

static const shape shapes[] = {
    {.like = "XLM-R without a charsmap", .white_first = true},
    {.like = "XLM-R", .white_first = true, .step_count = 1, .steps = {{.kind = BRIM_NORMAL_CHARSMAP}}},
    {.like = "CamemBERT",
     .step_count = 2,
     .steps = {{BRIM_NORMAL_REPLACE, "\\s{2,}|[\\n\\r\\t]", ' '}, {.kind = BRIM_NORMAL_STRIP}}},
    {.like = "what transformers converts from SentencePiece",
     .step_count = 3,
     .steps = {{.kind = BRIM_NORMAL_CHARSMAP}, {.kind = BRIM_NORMAL_STRIP}, {BRIM_NORMAL_REPLACE, " {2,}", 0}},
     .guard_inner = true},
};

static bool is_shape_step(const brim_normal_step *step, const shape_step *want, uint32_t metaspace) {
  if (step->kind != want->kind)
    return false;
  if (step->kind == BRIM_NORMAL_STRIP)
    return step->strip_right && !step->strip_left;
  if (step->kind != BRIM_NORMAL_REPLACE)
    return true;
  return brim_pattern_is(step->pattern, want->pattern) && step->content.count == 1 &&
         step->content.at[0].code == (want->content ? want->content : metaspace);
}

static const shape *find_shape(const brim_tokenizer *t) {
  const brim_pretokenizer *p = &t->pretokenizer;
  if (t->model.family != BRIM_UNIGRAM || t->added.normalized.count || p->count == 0 || p->count > 2)
    return NULL;
  const brim_split_step *last = &p->steps[p->count - 1];
  if (last->kind != BRIM_SPLIT_METASPACE || !last->split || last->prepend != BRIM_PREPEND_ALWAYS || last->replacement < 0x80)
    return NULL;
  if (p->count == 2 && p->steps[0].kind != BRIM_SPLIT_WHITE)
    return NULL;
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    const shape *s = &shapes[i];
    bool same = s->white_first == (p->count == 2) && (size_t)s->step_count == t->normalizer.count;
    for (int k = 0; k < s->step_count && same; k++)
      same = is_shape_step(&t->normalizer.steps[k], &s->steps[k], last->replacement);
    if (same)
      return s;
  }
  return NULL;
}

static bool maps_to(const brim_charsmap *map, char from, const char *to) {
  size_t length;
  const char *text = brim_charsmap_find(map, &from, 1, &length);
  return text && length == strlen(to) && memcmp(text, to, length) == 0;
}
static bool maps(const brim_charsmap *map, char from) {
  size_t length;
  return brim_charsmap_find(map, &from, 1, &length) != NULL;
}

/* What a charsmap does to ASCII. False when it touches the space, or makes of other white space what does not separate. */
static bool apply_charsmap(brim_spaced *s, const shape *like, const brim_charsmap *map) {
  s->guard_joining = true;
  for (int c = 0x21; c < 0x7F; c++)
    s->plain[c] = s->plain[c] && !maps(map, (char)c);
  for (const char *c = "\t\n\r"; *c; c++) {
    if (!like->white_first)
      s->blanks[(uint8_t)*c] = maps_to(map, *c, " ");
    else if (maps(map, *c) && !maps_to(map, *c, " "))
      return false;
  }
  return !maps(map, ' ');
}

static bool apply_shape(brim_tokenizer *t, const shape *like) {
  brim_spaced *s = &t->spaced;
  const brim_normal_step *first = t->normalizer.steps;
  s->lead_length = (size_t)brim_utf8_put(t->pretokenizer.steps[t->pretokenizer.count - 1].replacement, s->lead);
  for (int c = 0x21; c < 0x7F; c++)
    s->plain[c] = true;
  s->blanks[' '] = s->blanks['\t'] = s->blanks['\n'] = s->blanks['\r'] = true;
  s->guard_white = !like->white_first;
  s->guard_inner = like->guard_inner;
  return like->step_count == 0 || first->kind != BRIM_NORMAL_CHARSMAP || apply_charsmap(s, like, &first->charsmap);
}

bool brim_spaced_fits(brim_tokenizer *t) {
  const shape *like = find_shape(t);
  if (!like || !apply_shape(t, like))
    return false;
  t->spaced.ascii_plain = true;
  for (int c = 0x21; c < 0x7F; c++)
    t->spaced.ascii_plain = t->spaced.ascii_plain && t->spaced.plain[c];
  return true;
}
