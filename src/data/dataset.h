/* dataset.h: the inside of brim_dataset, and how its rows are put in.
 *
 * Tokens lie in chunks that never move, each twice as large as the one before up to a limit, so that growing neither copies
 * tokens nor ever needs twice the memory. A row lies in one chunk. */
#ifndef BRIM_DATA_DATASET_H
#define BRIM_DATA_DATASET_H
#include "brim/data.h"
#include "data/select.h"

typedef struct brim_chunk {
  struct brim_chunk *before;
  size_t used, size; /* bytes */
  unsigned char bytes[];
} brim_chunk;

struct brim_dataset {
  brim_runtime *runtime;
  brim_chunk *tokens, *types;
  uint64_t rows;
  /* [rows] each; they grow together. */
  const int32_t **ids;
  int32_t *lengths;
  const uint8_t **type_ids; /* NULL as long as all are 0; rows of which all are 0 have NULL */
  float *values;            /* labels; NULL if there are none */
  uint64_t *origins;        /* NULL as long as row i comes from record i */
  size_t ids_room, lengths_room, types_room, values_room, origins_room;

  uint64_t token_count, truncated, lost, fingerprint;
  int32_t longest, highest_id;
  uint8_t highest_type;
  bool pairs, labelled, mapped;
  brim_labels labels; /* when mapped */
  brim_exclusions excluded;
};

brim_dataset *brim_dataset_new(brim_runtime *runtime, brim_error *err);
/* Adds a row: copies. sample->row is its origin; sample->label is kept if `labelled` (for all rows or for none). The caller has
 * checked that length > 0 and ids >= 0. */
int brim_dataset_add(brim_dataset *dataset, const brim_sample *sample, uint64_t lost, bool labelled, brim_error *err) BRIM_CHECK;
/* Gives back spare room and computes the fingerprint: the last step. */
int brim_dataset_seal(brim_dataset *dataset, brim_error *err) BRIM_CHECK;

#endif
