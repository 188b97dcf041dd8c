/* position.h: where a reader is. */
#ifndef BRIM_DATA_POSITION_H
#define BRIM_DATA_POSITION_H
#include "brim/data.h"

/* Where a reader is: what a saved state holds. */
typedef struct brim_position {
  int64_t file;       /* index into the files, in reading order */
  int64_t byte, line; /* of the next record; byte 0 is the beginning of the file, header included */
  uint64_t row;       /* of the next record */
  uint64_t file_row;  /* the same within its file */
} brim_position;
/* Bytes of input consumed and in total (compressed size; total 0 if unknown): for progress. */
void brim_reader_progress(const brim_reader *reader, uint64_t *consumed, uint64_t *total);
/* tell gives the position of the next record; seek goes to a position that tell gave on the same files (gz and zst are read up to
 * it). Seek forgets the exclusions. Standard input cannot go backwards. */
void brim_reader_tell(const brim_reader *reader, brim_position *position);
int brim_reader_seek(brim_reader *reader, const brim_position *position, brim_error *err) BRIM_CHECK;
const char *brim_reader_file(const brim_reader *reader, int64_t index); /* its path */

#endif
