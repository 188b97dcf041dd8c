/* normalizer.c: loading and running normalizers. */
#include "text/normalizer.h"
#include "base/memory.h"
#include "base/status.h"
#include "text/fields.h"
#include "text/unicode.h"
#include <string.h>

typedef struct loader {
  const brim_json_document *document;
  brim_normalizer *out;
  int depth;
  brim_error *err;
} loader;

/* ---- loading ---------------------------------------------------------------------------------------------- */

static brim_normal_step *add(loader *l, brim_normal_kind kind) {
  brim_normalizer *n = l->out;
  if (brim_grow(n->runtime, (void **)&n->steps, &n->capacity, n->count + 1, sizeof *n->steps, l->err) != BRIM_OK)
    return NULL;
  brim_normal_step *step = &n->steps[n->count++];
  *step = (brim_normal_step){.kind = kind};
  brim_runes_init(&step->content, n->runtime);
  return step;
}

static int add_form(loader *l, bool compose, bool compatible) {
  brim_normal_step *step = add(l, BRIM_NORMAL_FORM);
  if (!step)
    return BRIM_E_MEMORY;
  step->form = (brim_form){compose, compatible};
  return BRIM_OK;
}

static int load_bert(loader *l, const brim_json_value *value) {
  bool clean = true, chinese = true, lower = true;
  BRIM_TRY(
      brim_fields_known(l->document, value, "BertNormalizer", "clean_text handle_chinese_chars strip_accents lowercase", l->err));
  BRIM_TRY(brim_json_read_bool(l->document, value, "clean_text", &clean, l->err));
  BRIM_TRY(brim_json_read_bool(l->document, value, "handle_chinese_chars", &chinese, l->err));
  BRIM_TRY(brim_json_read_bool(l->document, value, "lowercase", &lower, l->err));
  bool strip = lower;
  BRIM_TRY(brim_json_read_bool(l->document, value, "strip_accents", &strip, l->err));
  if (clean && !add(l, BRIM_NORMAL_CLEAN))
    return BRIM_E_MEMORY;
  if (chinese && !add(l, BRIM_NORMAL_CJK))
    return BRIM_E_MEMORY;
  if (strip) {
    BRIM_TRY(add_form(l, false, false));
    if (!add(l, BRIM_NORMAL_DROP_NONSPACING))
      return BRIM_E_MEMORY;
  }
  return lower && !add(l, BRIM_NORMAL_LOWER) ? BRIM_E_MEMORY : BRIM_OK;
}

static int load_strip(loader *l, const brim_json_value *value) {
  bool left = false, right = false;
  BRIM_TRY(brim_fields_known(l->document, value, "Strip normalizer", "strip_left strip_right", l->err));
  BRIM_TRY(brim_json_read_bool(l->document, value, "strip_left", &left, l->err));
  BRIM_TRY(brim_json_read_bool(l->document, value, "strip_right", &right, l->err));
  brim_normal_step *step = add(l, BRIM_NORMAL_STRIP);
  if (!step)
    return BRIM_E_MEMORY;
  step->strip_left = left;
  step->strip_right = right;
  return BRIM_OK;
}

static int load_replace(loader *l, const brim_json_value *value) {
  const char *text, *content;
  size_t length, content_length;
  bool regex;
  BRIM_TRY(brim_fields_known(l->document, value, "Replace normalizer", "pattern content", l->err));
  BRIM_TRY(brim_fields_pattern(l->document, value, "pattern", &regex, &text, &length, l->err));
  BRIM_TRY(brim_fields_string(l->document, value, "content", &content, &content_length, l->err));
  brim_normal_step *step = add(l, BRIM_NORMAL_REPLACE);
  if (!step)
    return BRIM_E_MEMORY;
  BRIM_TRY(brim_runes_decode(&step->content, content, content_length, 0, l->err));
  return brim_pattern_compile(l->out->runtime, text, length, regex, &step->pattern, l->err);
}

static int load_prepend(loader *l, const brim_json_value *value) {
  const char *content;
  size_t length;
  BRIM_TRY(brim_fields_known(l->document, value, "Prepend normalizer", "prepend", l->err));
  BRIM_TRY(brim_fields_string(l->document, value, "prepend", &content, &length, l->err));
  brim_normal_step *step = add(l, BRIM_NORMAL_PREPEND);
  return step ? brim_runes_decode(&step->content, content, length, 0, l->err) : BRIM_E_MEMORY;
}

static int load_charsmap(loader *l, const brim_json_value *value) {
  const char *text;
  size_t length;
  BRIM_TRY(brim_fields_known(l->document, value, "Precompiled normalizer", "precompiled_charsmap", l->err));
  BRIM_TRY(brim_fields_string(l->document, value, "precompiled_charsmap", &text, &length, l->err));
  brim_normal_step *step = add(l, BRIM_NORMAL_CHARSMAP);
  return step ? brim_charsmap_load(l->out->runtime, text, length, &step->charsmap, l->err) : BRIM_E_MEMORY;
}

static int load_step(loader *l, const brim_json_value *value);

static int load_sequence(loader *l, const brim_json_value *value) {
  const brim_json_value *list;
  BRIM_TRY(brim_fields_sequence(l->document, value, "Sequence normalizer", "normalizers", &l->depth, &list, l->err));
  for (const brim_json_value *v = brim_json_first(list); v; v = brim_json_after(list, v))
    BRIM_TRY(load_step(l, v));
  l->depth--;
  return BRIM_OK;
}

static int load_plain(loader *l, const brim_json_value *value, const char *type, size_t length) {
  static const struct {
    const char *name;
    brim_normal_kind kind;
    brim_form form;
  } plain[] = {{"NFC", BRIM_NORMAL_FORM, {true, false}}, {"NFD", BRIM_NORMAL_FORM, {false, false}},
               {"NFKC", BRIM_NORMAL_FORM, {true, true}}, {"NFKD", BRIM_NORMAL_FORM, {false, true}},
               {"Lowercase", BRIM_NORMAL_LOWER, {0}},    {"StripAccents", BRIM_NORMAL_DROP_COMBINING, {0}},
               {"Nmt", BRIM_NORMAL_NMT_DROP, {0}},       {"ByteLevel", BRIM_NORMAL_BYTES, {0}}};
  for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
    if (!brim_fields_is(type, length, plain[i].name))
      continue;
    BRIM_TRY(brim_fields_known(l->document, value, plain[i].name, "", l->err));
    brim_normal_step *step = add(l, plain[i].kind);
    if (!step)
      return BRIM_E_MEMORY;
    step->form = plain[i].form;
    return plain[i].kind == BRIM_NORMAL_NMT_DROP && !add(l, BRIM_NORMAL_NMT_BLANK) ? BRIM_E_MEMORY : BRIM_OK;
  }
  return brim_json_error(l->document, value, l->err, BRIM_E_UNSUPPORTED, "the normalizer \"%.*s\" is not supported",
                         (int)(length < 100 ? length : 100), type);
}

static int load_step(loader *l, const brim_json_value *value) {
  static const struct {
    const char *name;
    int (*load)(loader *, const brim_json_value *);
  } loaders[] = {{"BertNormalizer", load_bert}, {"Strip", load_strip},          {"Replace", load_replace},
                 {"Prepend", load_prepend},     {"Precompiled", load_charsmap}, {"Sequence", load_sequence}};
  const char *type;
  size_t length;
  BRIM_TRY(brim_fields_type(l->document, value, "normalizer", &type, &length, l->err));
  for (size_t i = 0; i < sizeof loaders / sizeof *loaders; i++)
    if (brim_fields_is(type, length, loaders[i].name))
      return loaders[i].load(l, value);
  return load_plain(l, value, type, length);
}

int brim_normalizer_load(brim_runtime *runtime, const brim_json_document *document, const brim_json_value *value,
                         brim_normalizer *out, brim_error *err) {
  *out = (brim_normalizer){.runtime = runtime};
  if (!value || value->kind == BRIM_JSON_NULL)
    return BRIM_OK;
  loader l = {.document = document, .out = out, .err = err};
  int status = load_step(&l, value);
  return status == BRIM_E_MEMORY ? BRIM_NOMEM(err) : status;
}

void brim_normalizer_free(brim_normalizer *normalizer) {
  for (size_t i = 0; i < normalizer->count; i++) {
    brim_pattern_free(normalizer->steps[i].pattern);
    brim_runes_free(&normalizer->steps[i].content);
    brim_charsmap_free(&normalizer->steps[i].charsmap);
  }
  if (normalizer->runtime)
    brim_release(normalizer->runtime, normalizer->steps);
  *normalizer = (brim_normalizer){0};
}

/* ---- comparing ----------------------------------------------------------------------------------------------- */

static bool same_content(const brim_runes *a, const brim_runes *b) {
  bool same = a->count == b->count;
  for (size_t i = 0; same && i < a->count; i++)
    same = a->at[i].code == b->at[i].code;
  return same;
}

static bool same_charsmap(const brim_charsmap *a, const brim_charsmap *b) {
  return a->unit_count == b->unit_count && a->texts_length == b->texts_length &&
         (a->unit_count == 0 || memcmp(a->units, b->units, a->unit_count * sizeof *a->units) == 0) &&
         (a->texts_length == 0 || memcmp(a->texts, b->texts, a->texts_length) == 0);
}

static bool same_step(const brim_normal_step *a, const brim_normal_step *b) {
  return a->kind == b->kind && a->form.compose == b->form.compose && a->form.compatible == b->form.compatible &&
         a->strip_left == b->strip_left && a->strip_right == b->strip_right && brim_pattern_same(a->pattern, b->pattern) &&
         same_content(&a->content, &b->content) && same_charsmap(&a->charsmap, &b->charsmap);
}

static bool same_steps(const brim_normalizer *a, const brim_normalizer *b) {
  bool same = a->count == b->count;
  for (size_t i = 0; same && i < a->count; i++)
    same = same_step(&a->steps[i], &b->steps[i]);
  return same;
}

int brim_normalizer_compare(brim_runtime *runtime, const brim_json_document *a_document, const brim_json_value *a,
                            const brim_json_document *b_document, const brim_json_value *b, bool *same, brim_error *err) {
  brim_normalizer x = {0}, y = {0};
  int status = brim_normalizer_load(runtime, a_document, a, &x, err);
  if (status == BRIM_OK)
    status = brim_normalizer_load(runtime, b_document, b, &y, err);
  *same = status == BRIM_OK && same_steps(&x, &y);
  brim_normalizer_free(&x);
  brim_normalizer_free(&y);
  return status;
}

/* ---- running: each step reads `in` and appends to `out` ----------------------------------------------------- */

static bool nmt_dropped(uint32_t c) {
  return (c >= 1 && c <= 8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F;
}
static bool nmt_blank(uint32_t c) {
  return c == 9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 || (c >= 0x200B && c <= 0x200F) || c == 0x2028 ||
         c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
}

/* Steps that look at one code point at a time and never write more than they read. */
static void run_map(brim_normal_kind kind, const brim_runes *in, brim_runes *out) {
  for (size_t i = 0; i < in->count; i++) {
    brim_rune rune = in->at[i];
    uint32_t record = brim_char_record(rune.code);
    if (kind == BRIM_NORMAL_CLEAN && (record & BRIM_CHAR_DROPPED))
      continue;
    if (kind == BRIM_NORMAL_DROP_NONSPACING && (record & BRIM_CHAR_NONSPACING))
      continue;
    if (kind == BRIM_NORMAL_DROP_COMBINING && (record & BRIM_CHAR_COMBINING))
      continue;
    if (kind == BRIM_NORMAL_NMT_DROP && nmt_dropped(rune.code))
      continue;
    if (kind == BRIM_NORMAL_CLEAN && (record & BRIM_CHAR_WHITE))
      rune.code = ' ';
    if (kind == BRIM_NORMAL_NMT_BLANK && nmt_blank(rune.code))
      rune.code = ' ';
    out->at[out->count++] = rune;
  }
}

static void run_strip(const brim_normal_step *step, const brim_runes *in, brim_runes *out) {
  size_t begin = 0, end = in->count;
  while (step->strip_left && begin < end && brim_char_is(in->at[begin].code, BRIM_CHAR_WHITE))
    begin++;
  while (step->strip_right && end > begin && brim_char_is(in->at[end - 1].code, BRIM_CHAR_WHITE))
    end--;
  if (end > begin)
    memcpy(out->at, in->at + begin, (end - begin) * sizeof *out->at);
  out->count = end - begin;
}

/* Steps that write several code points for one, all with its origin. */
static int run_spread(brim_normal_kind kind, const brim_runes *in, brim_runes *out, brim_error *err) {
  for (size_t i = 0; i < in->count; i++) {
    brim_rune rune = in->at[i];
    uint32_t codes[8] = {rune.code}, n = 1;
    if (kind == BRIM_NORMAL_CJK && brim_char_is(rune.code, BRIM_CHAR_CJK)) {
      codes[0] = codes[2] = ' ';
      codes[1] = rune.code;
      n = 3;
    } else if (kind == BRIM_NORMAL_LOWER) {
      const uint32_t *lower = brim_char_lower(rune.code);
      n = lower ? lower[0] : 1;
      for (uint32_t j = 0; lower && j < n; j++)
        codes[j] = lower[1 + j];
    } else if (kind == BRIM_NORMAL_BYTES) {
      char bytes[4];
      n = (uint32_t)brim_utf8_put(rune.code, bytes);
      for (uint32_t j = 0; j < n; j++)
        codes[j] = brim_byte_char((uint8_t)bytes[j]);
    }
    for (uint32_t j = 0; j < n; j++)
      BRIM_TRY(brim_runes_add(out, (brim_rune){codes[j], rune.from, rune.to}, err));
  }
  return BRIM_OK;
}

static int run_replace(const brim_normal_step *step, const brim_runes *in, brim_runes *out, brim_error *err) {
  brim_pattern_search s = brim_pattern_start(step->pattern, in->at, in->count);
  for (size_t at = 0;; at = s.to) {
    bool found;
    BRIM_TRY(brim_pattern_next(&s, &found, err));
    for (const size_t end = found ? s.from : in->count; at < end; at++)
      BRIM_TRY(brim_runes_add(out, in->at[at], err));
    if (!found)
      return BRIM_OK;
    const brim_rune last = in->at[s.to - 1];
    for (size_t i = 0; i < step->content.count; i++)
      BRIM_TRY(brim_runes_add(out, (brim_rune){step->content.at[i].code, last.from, last.to}, err));
  }
}

static int run_prepend(const brim_normal_step *step, const brim_runes *in, brim_runes *out, brim_error *err) {
  for (size_t i = 0; in->count && i < step->content.count; i++)
    BRIM_TRY(brim_runes_add(out, (brim_rune){step->content.at[i].code, in->at[0].from, in->at[0].to}, err));
  for (size_t i = 0; i < in->count; i++)
    BRIM_TRY(brim_runes_add(out, in->at[i], err));
  return BRIM_OK;
}

static int run_step(const brim_normal_step *step, const brim_runes *in, uint32_t origin, brim_runes *work, brim_runes *out,
                    brim_error *err) {
  out->count = 0;
  BRIM_TRY(brim_runes_reserve(out, in->count, err));
  switch (step->kind) {
  case BRIM_NORMAL_FORM:
    return brim_normalize_form(step->form, in->at, in->count, origin, work, out, err);
  case BRIM_NORMAL_CHARSMAP:
    return brim_charsmap_run(&step->charsmap, in->at, in->count, origin, out, err);
  case BRIM_NORMAL_REPLACE:
    return run_replace(step, in, out, err);
  case BRIM_NORMAL_PREPEND:
    return run_prepend(step, in, out, err);
  case BRIM_NORMAL_STRIP:
    run_strip(step, in, out);
    return BRIM_OK;
  case BRIM_NORMAL_CJK:
  case BRIM_NORMAL_LOWER:
  case BRIM_NORMAL_BYTES:
    return run_spread(step->kind, in, out, err);
  default:
    run_map(step->kind, in, out);
    return BRIM_OK;
  }
}

int brim_normalizer_run(const brim_normalizer *normalizer, brim_runes *text, uint32_t origin, brim_runes *spare, brim_runes *work,
                        brim_error *err) {
  brim_runes_bound(text, text->count);
  brim_runes_bound(spare, text->count);
  for (size_t i = 0; i < normalizer->count; i++) {
    BRIM_TRY(run_step(&normalizer->steps[i], text, origin, work, spare, err));
    BRIM_TRY(brim_runes_check(spare, err));
    brim_runes swap = *text;
    *text = *spare;
    *spare = swap;
  }
  return BRIM_OK;
}
