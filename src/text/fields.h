/* fields.h: reading the objects of a tokenizer.json, where anything unknown is an error that names it. */
#ifndef BRIM_TEXT_FIELDS_H
#define BRIM_TEXT_FIELDS_H
#include "base/json.h"
#include "brim/base.h"

/* The "type" of a component; *type borrows from the document. */
int brim_fields_type(const brim_json_document *document, const brim_json_value *object, const char *what, const char **type,
                     size_t *length, brim_error *err) BRIM_CHECK;
/* Refuses what is no object, and keys that are not among the space-separated `known` ("type" always is). */
int brim_fields_known(const brim_json_document *document, const brim_json_value *object, const char *what, const char *known,
                      brim_error *err) BRIM_CHECK;
bool brim_fields_is(const char *text, size_t length, const char *string);
/* The bytes that a value has in its file, *length of them; NULL only for want of memory. */
const char *brim_fields_raw(brim_runtime *runtime, const char *file, size_t file_length, const brim_json_value *value,
                            size_t *length);
/* A string that must be there. */
int brim_fields_string(const brim_json_document *document, const brim_json_value *object, const char *key, const char **text,
                       size_t *length, brim_error *err) BRIM_CHECK;
/* A string of exactly one character that must be there. */
int brim_fields_character(const brim_json_document *document, const brim_json_value *object, const char *key, uint32_t *code,
                          brim_error *err) BRIM_CHECK;
/* {"String": text} or {"Regex": text} under `key`. */
int brim_fields_pattern(const brim_json_document *document, const brim_json_value *object, const char *key, bool *regex,
                        const char **text, size_t *length, brim_error *err) BRIM_CHECK;

/* The array `key` of a Sequence, one level deeper; the caller lowers *depth again after it. */
int brim_fields_sequence(const brim_json_document *document, const brim_json_value *object, const char *what, const char *key,
                         int *depth, const brim_json_value **list, brim_error *err) BRIM_CHECK;

#endif
