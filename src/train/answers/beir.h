/* beir.h: texts with ids, and which documents are relevant to which queries, from files as BEIR has them. */
#ifndef BRIM_TRAIN_BEIR_H
#define BRIM_TRAIN_BEIR_H
#include "base/hashmap.h"
#include "base/json.h"
#include "base/stream.h"

/* A file of JSON lines {"_id", "title"?, "text"}. */
typedef struct brim_beir_file {
  brim_runtime *runtime;
  const char *path;
  brim_stream *stream;
  brim_json_reader json;
  brim_hashmap ids;          /* value: number of the text */
  uint64_t count;            /* of texts so far */
  brim_text id, title, text; /* of the last one: "title text", or the text alone */
} brim_beir_file;

int brim_beir_open(brim_runtime *runtime, const char *path, brim_beir_file *out, brim_error *err) BRIM_CHECK;
/* The next text; BRIM_END after the last. An id that was there already is BRIM_E_FORMAT. */
int brim_beir_next(brim_beir_file *file, brim_error *err) BRIM_CHECK;
void brim_beir_close(brim_beir_file *file);

/* For each query the documents that are relevant to it, as numbers of `documents`, ascending, each once. */
typedef struct brim_relevant {
  brim_runtime *runtime;
  brim_hashmap documents; /* those that a line names; value: their number */
  brim_hashmap judged;    /* pairs, as below; value: whether a line says that it is relevant */
  uint64_t *pairs;        /* [count] those that are: query << 32 | document, ascending */
  size_t count, capacity;
} brim_relevant;
/* A tsv file with the header query-id, corpus-id, score. A pair with two verdicts is BRIM_E_FORMAT. */
int brim_relevant_load(brim_runtime *runtime, const char *path, const brim_hashmap *queries, brim_relevant *out,
                       brim_error *err) BRIM_CHECK;
void brim_relevant_free(brim_relevant *relevant);
/* Those of a query: relevant->pairs[*first .. *end). */
void brim_relevant_of(const brim_relevant *relevant, uint64_t query, size_t *first, size_t *end);

#endif
