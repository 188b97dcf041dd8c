/* decoder.c: loading decoders. */
#include "text/decoder.h"
#include "base/memory.h"
#include "base/status.h"
#include "text/fields.h"
#include <string.h>

typedef struct loader {
  const brim_json_document *document;
  brim_decoder *out;
  int depth;
  brim_error *err;
} loader;

static int add(loader *l, brim_decode_kind kind, brim_decode_step **step) {
  brim_decoder *d = l->out;
  BRIM_TRY(brim_grow(d->runtime, (void **)&d->steps, &d->capacity, d->count + 1, sizeof *d->steps, l->err));
  *step = &d->steps[d->count++];
  **step = (brim_decode_step){.kind = kind};
  return BRIM_OK;
}

static int copy_text(loader *l, const brim_json_value *value, const char *key, const char *fallback, brim_decode_step *step) {
  const char *text = fallback;
  step->length = fallback ? strlen(fallback) : 0;
  BRIM_TRY(brim_json_read_string(l->document, value, key, &text, &step->length, l->err));
  if (!text)
    return brim_json_error(l->document, value, l->err, BRIM_E_FORMAT, "\"%s\" is missing", key);
  step->text = brim_copy_string(l->out->runtime, text, step->length);
  return step->text ? BRIM_OK : BRIM_NOMEM(l->err);
}

static int load_wordpiece(loader *l, const brim_json_value *value) {
  brim_decode_step *step;
  BRIM_TRY(brim_fields_known(l->document, value, "WordPiece decoder", "prefix cleanup", l->err));
  BRIM_TRY(add(l, BRIM_DECODE_WORDPIECE, &step));
  step->cleanup = true;
  BRIM_TRY(brim_json_read_bool(l->document, value, "cleanup", &step->cleanup, l->err));
  return copy_text(l, value, "prefix", "##", step);
}

static int load_bytes(loader *l, const brim_json_value *value) {
  brim_decode_step *step;
  BRIM_TRY(brim_fields_known(l->document, value, "ByteLevel decoder", "add_prefix_space trim_offsets use_regex", l->err));
  return add(l, BRIM_DECODE_BYTES, &step);
}

static int load_metaspace(loader *l, const brim_json_value *value) {
  brim_decode_step *step;
  BRIM_TRY(brim_fields_known(l->document, value, "Metaspace decoder", "replacement prepend_scheme split add_prefix_space str_rep",
                             l->err));
  BRIM_TRY(add(l, BRIM_DECODE_METASPACE, &step));
  step->never = brim_json_is_string(brim_json_get(value, "prepend_scheme"), "never");
  return brim_fields_character(l->document, value, "replacement", &step->character, l->err);
}

static int load_suffix(loader *l, const brim_json_value *value) {
  brim_decode_step *step;
  BRIM_TRY(brim_fields_known(l->document, value, "BPEDecoder", "suffix", l->err));
  BRIM_TRY(add(l, BRIM_DECODE_SUFFIX, &step));
  return copy_text(l, value, "suffix", NULL, step);
}

static int load_replace(loader *l, const brim_json_value *value) {
  const char *text;
  size_t length;
  bool regex;
  brim_decode_step *step;
  BRIM_TRY(brim_fields_known(l->document, value, "Replace decoder", "pattern content", l->err));
  BRIM_TRY(brim_fields_pattern(l->document, value, "pattern", &regex, &text, &length, l->err));
  BRIM_TRY(add(l, BRIM_DECODE_REPLACE, &step));
  BRIM_TRY(copy_text(l, value, "content", NULL, step));
  return brim_pattern_compile(l->out->runtime, text, length, regex, &step->pattern, l->err);
}

static int load_strip(loader *l, const brim_json_value *value) {
  brim_decode_step *step;
  BRIM_TRY(brim_fields_known(l->document, value, "Strip decoder", "content start stop", l->err));
  BRIM_TRY(add(l, BRIM_DECODE_STRIP, &step));
  BRIM_TRY(brim_json_read_int(l->document, value, "start", 0, INT32_MAX, &step->start, l->err));
  BRIM_TRY(brim_json_read_int(l->document, value, "stop", 0, INT32_MAX, &step->stop, l->err));
  return brim_fields_character(l->document, value, "content", &step->character, l->err);
}

static int load_step(loader *l, const brim_json_value *value);

static int load_sequence(loader *l, const brim_json_value *value) {
  const brim_json_value *list;
  BRIM_TRY(brim_fields_sequence(l->document, value, "Sequence decoder", "decoders", &l->depth, &list, l->err));
  for (const brim_json_value *v = brim_json_first(list); v; v = brim_json_after(list, v))
    BRIM_TRY(load_step(l, v));
  l->depth--;
  return BRIM_OK;
}

static int load_step(loader *l, const brim_json_value *value) {
  static const struct {
    const char *name;
    int (*load)(loader *, const brim_json_value *);
  } loaders[] = {{"WordPiece", load_wordpiece}, {"ByteLevel", load_bytes}, {"Metaspace", load_metaspace},
                 {"BPEDecoder", load_suffix},   {"Replace", load_replace}, {"Strip", load_strip},
                 {"Sequence", load_sequence}};
  const char *type;
  size_t length;
  brim_decode_step *step;
  BRIM_TRY(brim_fields_type(l->document, value, "decoder", &type, &length, l->err));
  for (size_t i = 0; i < sizeof loaders / sizeof *loaders; i++)
    if (brim_fields_is(type, length, loaders[i].name))
      return loaders[i].load(l, value);
  BRIM_TRY(brim_fields_known(l->document, value, "decoder", "", l->err));
  if (brim_fields_is(type, length, "Fuse"))
    return add(l, BRIM_DECODE_FUSE, &step);
  if (brim_fields_is(type, length, "ByteFallback"))
    return add(l, BRIM_DECODE_BYTE_FALLBACK, &step);
  return brim_json_error(l->document, value, l->err, BRIM_E_UNSUPPORTED, "the decoder \"%.*s\" is not supported",
                         (int)(length < 100 ? length : 100), type);
}

int brim_decoder_load(brim_runtime *runtime, const brim_json_document *document, const brim_json_value *value, brim_decoder *out,
                      brim_error *err) {
  *out = (brim_decoder){.runtime = runtime};
  out->none = !value || value->kind == BRIM_JSON_NULL;
  loader l = {.document = document, .out = out, .err = err};
  return out->none ? BRIM_OK : load_step(&l, value);
}

void brim_decoder_free(brim_decoder *decoder) {
  if (!decoder->runtime)
    return;
  for (size_t i = 0; i < decoder->count; i++) {
    brim_release(decoder->runtime, decoder->steps[i].text);
    brim_pattern_free(decoder->steps[i].pattern);
  }
  brim_release(decoder->runtime, decoder->steps);
  *decoder = (brim_decoder){0};
}
