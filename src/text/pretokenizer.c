/* pretokenizer.c: loading and running pre-tokenizers. */
#include "text/pretokenizer.h"
#include "base/memory.h"
#include "base/status.h"
#include "text/fields.h"
#include "text/unicode.h"
#include <string.h>

typedef struct loader {
  const brim_json_document *document;
  brim_pretokenizer *out;
  int depth;
  brim_error *err;
} loader;

/* ---- loading ---------------------------------------------------------------------------------------------- */

static brim_split_step *add(loader *l, brim_split_kind kind, brim_behavior behavior) {
  brim_pretokenizer *p = l->out;
  if (brim_grow(p->runtime, (void **)&p->steps, &p->capacity, p->count + 1, sizeof *p->steps, l->err) != BRIM_OK)
    return NULL;
  brim_split_step *step = &p->steps[p->count++];
  *step = (brim_split_step){.kind = kind, .behavior = behavior, .split = true};
  return step;
}

static int add_pattern(loader *l, const char *text, size_t length, bool regex, brim_behavior behavior, bool invert) {
  brim_split_step *step = add(l, BRIM_SPLIT_PATTERN, behavior);
  if (!step)
    return BRIM_E_MEMORY;
  step->invert = invert;
  return brim_pattern_compile(l->out->runtime, text, length, regex, &step->pattern, l->err);
}

static int load_behavior(loader *l, const brim_json_value *value, brim_behavior *out) {
  static const char *const names[] = {"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"};
  const char *text = NULL;
  size_t length = 0;
  BRIM_TRY(brim_json_read_string(l->document, value, "behavior", &text, &length, l->err));
  if (!text)
    return BRIM_OK;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (brim_fields_is(text, length, names[i])) {
      *out = (brim_behavior)i;
      return BRIM_OK;
    }
  return brim_json_error(l->document, brim_json_get(value, "behavior"), l->err, BRIM_E_UNSUPPORTED,
                         "this behavior is not supported");
}

static int load_bytes(loader *l, const brim_json_value *value) {
  bool prefix = false, regex = true, trim = true;
  BRIM_TRY(brim_fields_known(l->document, value, "ByteLevel pre-tokenizer", "add_prefix_space trim_offsets use_regex", l->err));
  BRIM_TRY(brim_json_read_bool(l->document, value, "add_prefix_space", &prefix, l->err));
  BRIM_TRY(brim_json_read_bool(l->document, value, "trim_offsets", &trim, l->err));
  BRIM_TRY(brim_json_read_bool(l->document, value, "use_regex", &regex, l->err));
  if (prefix && !add(l, BRIM_SPLIT_PREFIX_SPACE, BRIM_ISOLATED))
    return BRIM_E_MEMORY;
  if (regex)
    BRIM_TRY(add_pattern(l, BRIM_GPT2_PATTERN, strlen(BRIM_GPT2_PATTERN), true, BRIM_ISOLATED, false));
  return add(l, BRIM_SPLIT_BYTES, BRIM_ISOLATED) ? BRIM_OK : BRIM_E_MEMORY;
}

static int load_metaspace(loader *l, const brim_json_value *value) {
  static const char *const schemes[] = {"always", "first", "never"};
  const char *scheme = "always";
  size_t length = 6, known = sizeof schemes / sizeof *schemes, i = 0;
  bool split = true, prefix = true;
  uint32_t replacement;
  BRIM_TRY(brim_fields_known(l->document, value, "Metaspace pre-tokenizer",
                             "replacement prepend_scheme split add_prefix_space str_rep", l->err));
  BRIM_TRY(brim_fields_character(l->document, value, "replacement", &replacement, l->err));
  BRIM_TRY(brim_json_read_string(l->document, value, "prepend_scheme", &scheme, &length, l->err));
  BRIM_TRY(brim_json_read_bool(l->document, value, "split", &split, l->err));
  BRIM_TRY(brim_json_read_bool(l->document, value, "add_prefix_space", &prefix, l->err));
  while (i < known && !brim_fields_is(scheme, length, schemes[i]))
    i++;
  if (i == known)
    return brim_json_error(l->document, value, l->err, BRIM_E_UNSUPPORTED, "this prepend_scheme of Metaspace is not supported");
  if (!prefix && brim_json_get(value, "prepend_scheme") && i != BRIM_PREPEND_NEVER)
    return brim_json_error(l->document, value, l->err, BRIM_E_FORMAT,
                           "Metaspace's add_prefix_space contradicts its prepend_scheme");
  if (!prefix)
    return brim_json_error(l->document, value, l->err, BRIM_E_FORMAT,
                           "Metaspace with add_prefix_space false needs a prepend_scheme");
  brim_split_step *step = add(l, BRIM_SPLIT_METASPACE, BRIM_MERGED_WITH_NEXT);
  if (!step)
    return BRIM_E_MEMORY;
  step->prepend = (brim_prepend)i;
  step->replacement = replacement;
  step->split = split;
  return BRIM_OK;
}

static int load_bert(loader *l, const brim_json_value *value) {
  BRIM_TRY(brim_fields_known(l->document, value, "BertPreTokenizer", "", l->err));
  return add(l, BRIM_SPLIT_WHITE, BRIM_REMOVED) && add(l, BRIM_SPLIT_PUNCTUATION, BRIM_ISOLATED) ? BRIM_OK : BRIM_E_MEMORY;
}

static int load_white(loader *l, const brim_json_value *value) {
  BRIM_TRY(brim_fields_known(l->document, value, "WhitespaceSplit", "", l->err));
  return add(l, BRIM_SPLIT_WHITE, BRIM_REMOVED) ? BRIM_OK : BRIM_E_MEMORY;
}

static int load_words(loader *l, const brim_json_value *value) {
  BRIM_TRY(brim_fields_known(l->document, value, "Whitespace pre-tokenizer", "", l->err));
  return add(l, BRIM_SPLIT_WORDS, BRIM_REMOVED) ? BRIM_OK : BRIM_E_MEMORY;
}

static int load_punctuation(loader *l, const brim_json_value *value) {
  brim_behavior behavior = BRIM_ISOLATED;
  BRIM_TRY(brim_fields_known(l->document, value, "Punctuation pre-tokenizer", "behavior", l->err));
  BRIM_TRY(load_behavior(l, value, &behavior));
  return add(l, BRIM_SPLIT_PUNCTUATION, behavior) ? BRIM_OK : BRIM_E_MEMORY;
}

static int load_digits(loader *l, const brim_json_value *value) {
  bool single = false;
  BRIM_TRY(brim_fields_known(l->document, value, "Digits pre-tokenizer", "individual_digits", l->err));
  BRIM_TRY(brim_json_read_bool(l->document, value, "individual_digits", &single, l->err));
  return add(l, BRIM_SPLIT_NUMERIC, single ? BRIM_ISOLATED : BRIM_CONTIGUOUS) ? BRIM_OK : BRIM_E_MEMORY;
}

static int load_split(loader *l, const brim_json_value *value) {
  const char *text;
  size_t length;
  bool regex, invert = false;
  brim_behavior behavior = BRIM_REMOVED;
  BRIM_TRY(brim_fields_known(l->document, value, "Split pre-tokenizer", "pattern behavior invert", l->err));
  BRIM_TRY(brim_fields_pattern(l->document, value, "pattern", &regex, &text, &length, l->err));
  BRIM_TRY(load_behavior(l, value, &behavior));
  BRIM_TRY(brim_json_read_bool(l->document, value, "invert", &invert, l->err));
  return add_pattern(l, text, length, regex, behavior, invert);
}

static int load_delimiter(loader *l, const brim_json_value *value) {
  uint32_t code;
  const char *text;
  size_t length;
  BRIM_TRY(brim_fields_known(l->document, value, "CharDelimiterSplit", "delimiter", l->err));
  BRIM_TRY(brim_fields_character(l->document, value, "delimiter", &code, l->err));
  BRIM_TRY(brim_fields_string(l->document, value, "delimiter", &text, &length, l->err));
  return add_pattern(l, text, length, false, BRIM_REMOVED, false);
}

static int load_step(loader *l, const brim_json_value *value);

static int load_sequence(loader *l, const brim_json_value *value) {
  const brim_json_value *list;
  BRIM_TRY(brim_fields_sequence(l->document, value, "Sequence pre-tokenizer", "pretokenizers", &l->depth, &list, l->err));
  for (const brim_json_value *v = brim_json_first(list); v; v = brim_json_after(list, v))
    BRIM_TRY(load_step(l, v));
  l->depth--;
  return BRIM_OK;
}

static int load_step(loader *l, const brim_json_value *value) {
  static const struct {
    const char *name;
    int (*load)(loader *, const brim_json_value *);
  } loaders[] = {{"BertPreTokenizer", load_bert}, {"ByteLevel", load_bytes},  {"Metaspace", load_metaspace},
                 {"WhitespaceSplit", load_white}, {"Whitespace", load_words}, {"Punctuation", load_punctuation},
                 {"Digits", load_digits},         {"Split", load_split},      {"CharDelimiterSplit", load_delimiter},
                 {"Sequence", load_sequence}};
  const char *type;
  size_t length;
  BRIM_TRY(brim_fields_type(l->document, value, "pre-tokenizer", &type, &length, l->err));
  for (size_t i = 0; i < sizeof loaders / sizeof *loaders; i++)
    if (brim_fields_is(type, length, loaders[i].name))
      return loaders[i].load(l, value);
  return brim_json_error(l->document, value, l->err, BRIM_E_UNSUPPORTED, "the pre-tokenizer \"%.*s\" is not supported",
                         (int)(length < 100 ? length : 100), type);
}

int brim_pretokenizer_load(brim_runtime *runtime, const brim_json_document *document, const brim_json_value *value,
                           brim_pretokenizer *out, brim_error *err) {
  *out = (brim_pretokenizer){.runtime = runtime};
  if (!value || value->kind == BRIM_JSON_NULL)
    return BRIM_OK;
  loader l = {.document = document, .out = out, .err = err};
  int status = load_step(&l, value);
  return status == BRIM_E_MEMORY ? BRIM_NOMEM(err) : status;
}

void brim_pretokenizer_free(brim_pretokenizer *pretokenizer) {
  for (size_t i = 0; i < pretokenizer->count; i++)
    brim_pattern_free(pretokenizer->steps[i].pattern);
  if (pretokenizer->runtime)
    brim_release(pretokenizer->runtime, pretokenizer->steps);
  *pretokenizer = (brim_pretokenizer){0};
}

/* ---- comparing ----------------------------------------------------------------------------------------------- */

static bool same_step(const brim_split_step *a, const brim_split_step *b) {
  return a->kind == b->kind && a->behavior == b->behavior && a->invert == b->invert && a->split == b->split &&
         a->prepend == b->prepend && a->replacement == b->replacement && brim_pattern_same(a->pattern, b->pattern);
}

static bool same_steps(const brim_pretokenizer *a, const brim_pretokenizer *b) {
  bool same = a->count == b->count;
  for (size_t i = 0; same && i < a->count; i++)
    same = same_step(&a->steps[i], &b->steps[i]);
  return same;
}

int brim_pretokenizer_compare(brim_runtime *runtime, const brim_json_document *a_document, const brim_json_value *a,
                              const brim_json_document *b_document, const brim_json_value *b, bool *same, brim_error *err) {
  brim_pretokenizer x = {0}, y = {0};
  int status = brim_pretokenizer_load(runtime, a_document, a, &x, err);
  if (status == BRIM_OK)
    status = brim_pretokenizer_load(runtime, b_document, b, &y, err);
  *same = status == BRIM_OK && same_steps(&x, &y);
  brim_pretokenizer_free(&x);
  brim_pretokenizer_free(&y);
  return status;
}

/* ---- pieces ----------------------------------------------------------------------------------------------- */

void brim_pieces_init(brim_pieces *pieces, brim_runtime *runtime) {
  *pieces = (brim_pieces){0};
  brim_runes_init(&pieces->runes, runtime);
}

void brim_pieces_free(brim_pieces *pieces) {
  brim_runtime *runtime = pieces->runes.runtime;
  if (runtime)
    brim_release(runtime, pieces->spans);
  brim_runes_free(&pieces->runes);
  brim_pieces_init(pieces, runtime);
}

int brim_pieces_add(brim_pieces *pieces, brim_span span, brim_error *err) {
  if (pieces->count == pieces->capacity)
    BRIM_TRY(brim_grow(pieces->runes.runtime, (void **)&pieces->spans, &pieces->capacity, pieces->count + 1, sizeof span, err));
  pieces->spans[pieces->count++] = span;
  return BRIM_OK;
}

/* ---- splitting: matches are folded into spans one by one --------------------------------------------------- */

typedef struct folder {
  brim_behavior behavior;
  const brim_rune *runes;
  brim_pieces *out;
  brim_span held; /* the last span, while it can still grow */
  bool holds, previous;
  brim_error *err;
} folder;

static int flush(folder *f) {
  if (!f->holds)
    return BRIM_OK;
  f->holds = false;
  f->held.origin = f->runes[f->held.begin].from;
  return brim_pieces_add(f->out, f->held, f->err);
}

/* One stretch of the text: a delimiter (match) or what lies between. begin < end. */
static int fold(folder *f, size_t begin, size_t end, bool match) {
  bool grows = false, previous = f->previous;
  f->previous = match;
  switch (f->behavior) {
  case BRIM_REMOVED:
    if (match)
      return BRIM_OK;
    break;
  case BRIM_ISOLATED:
    break;
  case BRIM_CONTIGUOUS:
    grows = f->holds && match == previous;
    break;
  case BRIM_MERGED_WITH_PREVIOUS:
    grows = f->holds && match && !previous;
    break;
  case BRIM_MERGED_WITH_NEXT:
    grows = f->holds && previous && !match;
    break;
  }
  if (!grows) {
    BRIM_TRY(flush(f));
    f->held = (brim_span){begin, end, 0, -1};
    f->holds = true;
  } else {
    f->held.end = end;
  }
  return BRIM_OK;
}

static bool delimiter(brim_split_kind kind, uint32_t replacement, uint32_t code) {
  if (kind == BRIM_SPLIT_METASPACE)
    return code == replacement;
  uint32_t bit = kind == BRIM_SPLIT_WHITE     ? BRIM_CHAR_WHITE
                 : kind == BRIM_SPLIT_NUMERIC ? BRIM_CHAR_NUMERIC
                                              : BRIM_CHAR_PUNCTUATION;
  return brim_char_is(code, bit);
}

/* Each delimiter is one code point. */
static int split_characters(const brim_split_step *step, folder *f, size_t begin, size_t end) {
  for (size_t i = begin; i < end;) {
    size_t j = i;
    while (j < end && !delimiter(step->kind, step->replacement, f->runes[j].code))
      j++;
    if (j > i)
      BRIM_TRY(fold(f, i, j, false));
    if (j < end)
      BRIM_TRY(fold(f, j, j + 1, true));
    i = j + 1;
  }
  return BRIM_OK;
}

/* \w+|[^\w\s]+ with the rest removed. */
static int split_words(folder *f, size_t begin, size_t end) {
  for (size_t i = begin; i < end;) {
    uint32_t kind = brim_char_record(f->runes[i].code) & (BRIM_CHAR_WORD | BRIM_CHAR_WHITE);
    size_t j = i + 1;
    while (j < end) {
      uint32_t next = brim_char_record(f->runes[j].code) & (BRIM_CHAR_WORD | BRIM_CHAR_WHITE);
      if ((next & BRIM_CHAR_WORD) != (kind & BRIM_CHAR_WORD) || (!(kind & BRIM_CHAR_WORD) && next != kind))
        break;
      j++;
    }
    BRIM_TRY(fold(f, i, j, !(kind & BRIM_CHAR_WORD) && (kind & BRIM_CHAR_WHITE)));
    i = j;
  }
  return BRIM_OK;
}

static int split_pattern(const brim_split_step *step, folder *f, size_t begin, size_t end) {
  brim_pattern_search s = brim_pattern_start(step->pattern, f->runes + begin, end - begin);
  for (size_t at = begin;; at = begin + s.to) {
    bool found;
    BRIM_TRY(brim_pattern_next(&s, &found, f->err));
    const size_t plain = found ? begin + s.from : end;
    if (plain > at)
      BRIM_TRY(fold(f, at, plain, step->invert));
    if (!found)
      return BRIM_OK;
    BRIM_TRY(fold(f, begin + s.from, begin + s.to, !step->invert));
  }
}

static int split_span(const brim_split_step *step, const brim_runes *runes, size_t begin, size_t end, brim_pieces *out,
                      brim_error *err) {
  folder f = {.behavior = step->behavior, .runes = runes->at, .out = out, .err = err};
  if (begin == end)
    return BRIM_OK;
  switch (step->kind) {
  case BRIM_SPLIT_WORDS:
    BRIM_TRY(split_words(&f, begin, end));
    break;
  case BRIM_SPLIT_PATTERN:
    BRIM_TRY(split_pattern(step, &f, begin, end));
    break;
  default:
    BRIM_TRY(split_characters(step, &f, begin, end));
    break;
  }
  return flush(&f);
}

/* ---- steps that rewrite ----------------------------------------------------------------------------------- */

/* Copies a span, rewritten, after the runes of out; *begin says where. */
static int rewrite(const brim_split_step *step, const brim_pieces *in, const brim_span *span, brim_runes *out, brim_error *err) {
  const brim_rune *first = in->runes.at + span->begin;
  size_t count = span->end - span->begin;
  uint32_t lead = 0;
  if (step->kind == BRIM_SPLIT_PREFIX_SPACE && first->code != ' ')
    lead = ' ';
  if (step->kind == BRIM_SPLIT_METASPACE && first->code != step->replacement && first->code != ' ' &&
      (step->prepend == BRIM_PREPEND_ALWAYS || (step->prepend == BRIM_PREPEND_FIRST && span->origin == 0)))
    lead = step->replacement;
  BRIM_TRY(brim_runes_reserve(out, 1 + count * 4, err));
  if (lead)
    out->at[out->count++] = (brim_rune){lead, first->from, first->to};
  for (size_t i = 0; i < count; i++) {
    brim_rune rune = first[i];
    if (step->kind == BRIM_SPLIT_BYTES) {
      char bytes[4];
      int n = brim_utf8_put(rune.code, bytes);
      for (int j = 0; j < n; j++)
        out->at[out->count++] = (brim_rune){brim_byte_char((uint8_t)bytes[j]), rune.from, rune.to};
      continue;
    }
    if (step->kind == BRIM_SPLIT_METASPACE && rune.code == ' ')
      rune.code = step->replacement;
    out->at[out->count++] = rune;
  }
  return BRIM_OK;
}

static bool rewrites(brim_split_kind kind) {
  return kind == BRIM_SPLIT_METASPACE || kind == BRIM_SPLIT_PREFIX_SPACE || kind == BRIM_SPLIT_BYTES;
}

static int run_rewrite(const brim_split_step *step, const brim_pieces *in, brim_pieces *out, brim_error *err) {
  for (size_t i = 0; i < in->count; i++) {
    brim_span span = in->spans[i];
    size_t begin = out->runes.count;
    if (span.id >= 0) {
      BRIM_TRY(brim_runes_reserve(&out->runes, span.end - span.begin, err));
      memcpy(out->runes.at + begin, in->runes.at + span.begin, (span.end - span.begin) * sizeof *out->runes.at);
      out->runes.count += span.end - span.begin;
    } else if (span.end > span.begin) {
      BRIM_TRY(rewrite(step, in, &span, &out->runes, err));
      if (step->kind == BRIM_SPLIT_METASPACE && step->split) {
        BRIM_TRY(split_span(step, &out->runes, begin, out->runes.count, out, err));
        continue;
      }
    }
    span.begin = begin;
    span.end = out->runes.count;
    BRIM_TRY(brim_pieces_add(out, span, err));
  }
  return BRIM_OK;
}

static int run_split(const brim_split_step *step, const brim_pieces *in, brim_pieces *out, brim_error *err) {
  for (size_t i = 0; i < in->count; i++) {
    const brim_span *span = &in->spans[i];
    if (span->id >= 0)
      BRIM_TRY(brim_pieces_add(out, *span, err));
    else
      BRIM_TRY(split_span(step, &in->runes, span->begin, span->end, out, err));
  }
  return BRIM_OK;
}

int brim_pretokenizer_run(const brim_pretokenizer *pretokenizer, brim_pieces *pieces, brim_pieces *spare, brim_error *err) {
  brim_runes_bound(&pieces->runes, pieces->runes.count);
  brim_runes_bound(&spare->runes, pieces->runes.count);
  for (size_t i = 0; i < pretokenizer->count; i++) {
    const brim_split_step *step = &pretokenizer->steps[i];
    BRIM_TRY(brim_runes_check(&pieces->runes, err));
    spare->count = spare->runes.count = 0;
    BRIM_TRY(rewrites(step->kind) ? run_rewrite(step, pieces, spare, err) : run_split(step, pieces, spare, err));
    if (!rewrites(step->kind)) { /* the runes stay where they are */
      brim_runes swap = pieces->runes;
      pieces->runes = spare->runes;
      spare->runes = swap;
    }
    brim_pieces swap = *pieces;
    *pieces = *spare;
    *spare = swap;
  }
  return BRIM_OK;
}
