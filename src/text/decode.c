/* decode.c: from ids back to text: a list of strings goes through the decoder's steps and is joined. */
#include "base/memory.h"
#include "base/status.h"
#include "base/utf8.h"
#include "text/decoder.h"
#include "text/tokenizer.h"
#include "text/unicode.h"
#include <string.h>

/* Steps that double what they get, one after another, would fill the memory. */
enum { GROWTH = 100, GROWTH_OF_ALL = 1 << 16 };

void brim_strings_init(brim_strings *strings, brim_runtime *runtime) {
  *strings = (brim_strings){0};
  brim_text_init(&strings->bytes, runtime);
}

void brim_strings_free(brim_strings *strings) {
  if (strings->bytes.runtime)
    brim_release(strings->bytes.runtime, strings->ends);
  brim_text_free(&strings->bytes);
}

int brim_strings_end(brim_strings *strings, brim_error *err) {
  if (strings->count == strings->capacity)
    BRIM_TRY(
        brim_grow(strings->bytes.runtime, (void **)&strings->ends, &strings->capacity, strings->count + 1, sizeof(size_t), err));
  strings->ends[strings->count++] = strings->bytes.length;
  return brim_text_status(&strings->bytes, err);
}

typedef struct view {
  const char *text;
  size_t length;
} view;

static view string_at(const brim_strings *s, size_t index) {
  size_t begin = index ? s->ends[index - 1] : 0;
  return (view){s->bytes.data ? s->bytes.data + begin : "", s->ends[index] - begin};
}

/* ---- WordPiece -------------------------------------------------------------------------------------------- */

/* Replaces every `from` in *bytes, in place (`to` is never longer). */
static void replace_all(char *bytes, size_t *length, const char *from, const char *to) {
  size_t n = strlen(from), m = strlen(to), out = 0;
  for (size_t i = 0; i < *length;) {
    if (*length - i >= n && memcmp(bytes + i, from, n) == 0) {
      memcpy(bytes + out, to, m);
      out += m;
      i += n;
    } else {
      bytes[out++] = bytes[i++];
    }
  }
  *length = out;
}

/* The reference tidies each token by itself (`tokens`), and transformers whole texts, without one of the rules. */
static void clean_up(brim_text *bytes, size_t begin, bool tokens) {
  static const char *const rules[][2] = {{" .", "."},     {" ?", "?"},     {" !", "!"},          {" ,", ","},
                                         {" ' ", "'"},    {" n't", "n't"}, {" 'm", "'m"},        {" 's", "'s"},
                                         {" 've", "'ve"}, {" 're", "'re"}, {" do not", " don't"}};
  const size_t count = sizeof rules / sizeof *rules - !tokens;
  size_t length = bytes->length - begin;
  for (size_t i = 0; i < count; i++)
    replace_all(bytes->data + begin, &length, rules[i][0], rules[i][1]);
  bytes->length = begin + length;
}

static int decode_wordpiece(const brim_decode_step *step, const brim_strings *in, brim_strings *out, brim_error *err) {
  for (size_t i = 0; i < in->count; i++) {
    view v = string_at(in, i);
    size_t begin = out->bytes.length;
    if (i && v.length >= step->length && memcmp(v.text, step->text, step->length) == 0)
      v = (view){v.text + step->length, v.length - step->length};
    else if (i)
      brim_text_append(&out->bytes, " ", 1);
    brim_text_append(&out->bytes, v.text, v.length);
    BRIM_TRY(brim_text_status(&out->bytes, err));
    if (step->cleanup && out->bytes.length > begin)
      clean_up(&out->bytes, begin, true);
    BRIM_TRY(brim_strings_end(out, err));
  }
  return BRIM_OK;
}

/* ---- bytes ------------------------------------------------------------------------------------------------ */

/* Appends bytes[0..length) with U+FFFD for what is malformed. */
static void append_lossy(brim_text *out, const char *bytes, size_t length) {
  for (size_t at = 0;;) {
    size_t valid = brim_utf8_valid(bytes + at, length - at);
    brim_text_append(out, bytes + at, valid);
    at += valid;
    if (at == length)
      return;
    brim_text_append(out, "\xEF\xBF\xBD", 3);
    at += brim_malformed_length((const uint8_t *)bytes + at, length - at);
  }
}

/* All strings become one. One that holds a character which encodes no byte is taken as it is. */
static int decode_bytes(const brim_strings *in, brim_strings *out, brim_error *err) {
  brim_text raw;
  brim_text_init(&raw, in->bytes.runtime);
  for (size_t i = 0; i < in->count; i++) {
    view v = string_at(in, i);
    size_t begin = raw.length;
    for (size_t j = 0; j < v.length;) {
      uint32_t code;
      j += (size_t)brim_utf8_next(v.text + j, &code);
      int byte = brim_char_byte(code);
      char c = (char)byte;
      if (byte < 0) {
        raw.length = begin;
        brim_text_append(&raw, v.text, v.length);
        break;
      }
      brim_text_append(&raw, &c, 1);
    }
  }
  int status = brim_text_status(&raw, err);
  if (status == BRIM_OK && raw.length)
    append_lossy(&out->bytes, raw.data, raw.length);
  brim_text_free(&raw);
  return status == BRIM_OK ? brim_strings_end(out, err) : status;
}

/* "<0x61>" */
static int fallback_byte(view v) {
  if (v.length != 6 || memcmp(v.text, "<0x", 3) != 0 || v.text[5] != '>')
    return -1;
  int value = 0;
  for (int i = 3; i < 5; i++) {
    char c = v.text[i];
    int d = c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (d < 0)
      return -1;
    value = value * 16 + d;
  }
  return value;
}

static int decode_fallback(const brim_strings *in, brim_strings *out, brim_error *err) {
  for (size_t i = 0; i < in->count;) {
    size_t begin = out->bytes.length, n = 0;
    for (int byte; i + n < in->count && (byte = fallback_byte(string_at(in, i + n))) >= 0; n++)
      brim_text_append(&out->bytes, &(char){(char)byte}, 1);
    BRIM_TRY(brim_text_status(&out->bytes, err));
    if (n && brim_utf8_valid(out->bytes.data + begin, n) != n) {
      out->bytes.length = begin;
      for (size_t j = 0; j < n; j++)
        brim_text_append(&out->bytes, "\xEF\xBF\xBD", 3);
    }
    if (n) {
      BRIM_TRY(brim_strings_end(out, err));
      i += n;
      continue;
    }
    view v = string_at(in, i++);
    brim_text_append(&out->bytes, v.text, v.length);
    BRIM_TRY(brim_strings_end(out, err));
  }
  return BRIM_OK;
}

/* ---- the rest --------------------------------------------------------------------------------------------- */

static void put_character(brim_text *out, uint32_t code) {
  char bytes[4];
  brim_text_append(out, bytes, (size_t)brim_utf8_put(code, bytes));
}

static int decode_metaspace(const brim_decode_step *step, const brim_strings *in, brim_strings *out, brim_error *err) {
  for (size_t i = 0; i < in->count; i++) {
    view v = string_at(in, i);
    for (size_t j = 0; j < v.length;) {
      uint32_t code;
      j += (size_t)brim_utf8_next(v.text + j, &code);
      if (code != step->character)
        put_character(&out->bytes, code);
      else if (i || step->never)
        brim_text_append(&out->bytes, " ", 1);
    }
    BRIM_TRY(brim_strings_end(out, err));
  }
  return BRIM_OK;
}

static int decode_suffix(const brim_decode_step *step, const brim_strings *in, brim_strings *out, brim_error *err) {
  for (size_t i = 0; i < in->count; i++) {
    view v = string_at(in, i);
    for (size_t j = 0; j < v.length;) {
      bool found = step->length && v.length - j >= step->length && memcmp(v.text + j, step->text, step->length) == 0;
      if (!found)
        brim_text_append(&out->bytes, v.text + j, 1);
      else if (i + 1 < in->count)
        brim_text_append(&out->bytes, " ", 1);
      j += found ? step->length : 1;
    }
    BRIM_TRY(brim_strings_end(out, err));
  }
  return BRIM_OK;
}

static int replace_in(const brim_decode_step *step, const brim_runes *runes, brim_text *out, brim_error *err) {
  brim_pattern_search s = brim_pattern_start(step->pattern, runes->at, runes->count);
  for (size_t at = 0;; at = s.to) {
    bool found;
    BRIM_TRY(brim_pattern_next(&s, &found, err));
    for (const size_t end = found ? s.from : runes->count; at < end; at++)
      put_character(out, runes->at[at].code);
    if (!found)
      return BRIM_OK;
    brim_text_append(out, step->text, step->length);
  }
}

static int decode_replace(const brim_decode_step *step, const brim_strings *in, brim_strings *out, brim_error *err) {
  brim_runes runes;
  brim_runes_init(&runes, in->bytes.runtime);
  int status = BRIM_OK;
  for (size_t i = 0; i < in->count && status == BRIM_OK; i++) {
    view v = string_at(in, i);
    runes.count = 0;
    status = brim_runes_decode(&runes, v.text, v.length, 0, err);
    if (status == BRIM_OK)
      status = replace_in(step, &runes, &out->bytes, err);
    if (status == BRIM_OK)
      status = brim_strings_end(out, err);
  }
  brim_runes_free(&runes);
  return status;
}

static int decode_strip(const brim_decode_step *step, const brim_strings *in, brim_strings *out, brim_error *err) {
  char character[4];
  size_t size = (size_t)brim_utf8_put(step->character, character);
  for (size_t i = 0; i < in->count; i++) {
    view v = string_at(in, i);
    for (int64_t n = 0; n < step->start && v.length >= size && memcmp(v.text, character, size) == 0; n++)
      v = (view){v.text + size, v.length - size};
    for (int64_t n = 0; n < step->stop && v.length >= size && memcmp(v.text + v.length - size, character, size) == 0; n++)
      v.length -= size;
    brim_text_append(&out->bytes, v.text, v.length);
    BRIM_TRY(brim_strings_end(out, err));
  }
  return BRIM_OK;
}

static int decode_fuse(const brim_strings *in, brim_strings *out, brim_error *err) {
  if (in->bytes.length)
    brim_text_append(&out->bytes, in->bytes.data, in->bytes.length);
  return brim_strings_end(out, err);
}

static int run_step(const brim_decode_step *step, const brim_strings *in, brim_strings *out, brim_error *err) {
  switch (step->kind) {
  case BRIM_DECODE_WORDPIECE:
    return decode_wordpiece(step, in, out, err);
  case BRIM_DECODE_BYTES:
    return decode_bytes(in, out, err);
  case BRIM_DECODE_METASPACE:
    return decode_metaspace(step, in, out, err);
  case BRIM_DECODE_SUFFIX:
    return decode_suffix(step, in, out, err);
  case BRIM_DECODE_REPLACE:
    return decode_replace(step, in, out, err);
  case BRIM_DECODE_STRIP:
    return decode_strip(step, in, out, err);
  case BRIM_DECODE_FUSE:
    return decode_fuse(in, out, err);
  default:
    return decode_fallback(in, out, err);
  }
}

int brim_decoder_run(const brim_decoder *decoder, brim_strings *strings, brim_error *err) {
  brim_strings spare;
  brim_strings_init(&spare, strings->bytes.runtime);
  const size_t most = GROWTH_OF_ALL + GROWTH * strings->bytes.length;
  int status = BRIM_OK;
  for (size_t i = 0; i < decoder->count && status == BRIM_OK; i++) {
    if (strings->bytes.length > most) {
      status = brim_error_set(err, BRIM_E_UNSUPPORTED, "the tokenizer's decoder makes more than %zu bytes of these ids", most);
      break;
    }
    brim_text_clear(&spare.bytes);
    spare.count = 0;
    status = run_step(&decoder->steps[i], strings, &spare, err);
    brim_strings swap = *strings;
    *strings = spare;
    spare = swap;
  }
  brim_strings_free(&spare);
  return status;
}

/* As the reference sees it: by the text that is put out, which is no special token's where normalising changed it. */
static bool is_special(const brim_added *added, const char *text, size_t length) {
  const brim_added_token *token = brim_added_find(added, text, length);
  return token && token->special;
}

static int collect(const brim_tokenizer *t, const int32_t *ids, size_t count, bool skip_special, brim_strings *strings,
                   brim_error *err) {
  for (size_t i = 0; i < count; i++) {
    const brim_added_token *added = brim_added_by_id(&t->added, ids[i]);
    size_t length;
    const char *token = brim_tokenizer_token(t, ids[i], &length);
    if (!token)
      continue;
    if (added && added->normalized) {
      token = added->normalized;
      length = added->normalized_length;
    }
    if (skip_special && is_special(&t->added, token, length))
      continue;
    if (t->decoder.none && strings->count)
      brim_text_append(&strings->bytes, " ", 1);
    brim_text_append(&strings->bytes, token, length);
    BRIM_TRY(brim_strings_end(strings, err));
  }
  return BRIM_OK;
}

/* clean_up_tokenization_spaces, which transformers ignores for BPE unless it is asked for twice. */
static bool tidies(const brim_tokenizer *t) {
  return t->facts.tidies && (t->model.family != BRIM_BPE || t->facts.tidies_bpe);
}

int brim_tokenizer_decode(const brim_tokenizer *tokenizer, const int32_t *ids, size_t count, bool skip_special_tokens,
                          brim_text *out, brim_error *err) {
  BRIM_GIVEN(err, tokenizer, out);
  BRIM_ARRAY(err, ids, count);
  brim_strings strings;
  brim_strings_init(&strings, tokenizer->runtime);
  int status = collect(tokenizer, ids, count, skip_special_tokens, &strings, err);
  if (status == BRIM_OK)
    status = brim_decoder_run(&tokenizer->decoder, &strings, err);
  if (status == BRIM_OK && strings.bytes.length && tidies(tokenizer))
    clean_up(&strings.bytes, 0, false);
  if (status == BRIM_OK && strings.bytes.length)
    brim_text_append(out, strings.bytes.data, strings.bytes.length);
  brim_strings_free(&strings);
  return status == BRIM_OK ? brim_text_status(out, err) : status;
}
