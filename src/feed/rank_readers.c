/* rank_readers.c: which rows of an epoch are a rank's, where each rank reads only its own.
 *
 * The rows of a source that are left (neither excluded nor damaged) follow one another in the order of its files, and are
 * cut into as many runs as there are ranks: fewer files than ranks and files without rows need no separate rule. Every rank
 * counts the rows of all files when it opens, so each knows the runs of all others, and with them their steps: nobody asks. */
#include "feed/feed.h"

#include "base/memory.h"
#include "base/status.h"
#include "data/reader.h"

/* ---- counting --------------------------------------------------------------------------------------------- */

static int count_rows(brim_reader *reader, brim_rank_readers *s, brim_error *err) {
  brim_record record;
  int status;
  brim_reader_forget_excluded(reader);
  while ((status = brim_reader_next(reader, &record, err)) == BRIM_OK) {
    s->rows_kept[record.file_number] += !record.damage;
    s->rows_damaged += record.damage != NULL;
  }
  s->rows_read = reader->row;
  return status == BRIM_END ? BRIM_OK : status;
}

/* One pass over the records, in which nothing is tokenized. */
static int count_files(brim_runtime *runtime, const brim_shards *shards, const brim_source_options *options, brim_rank_readers *s,
                       brim_error *err) {
  brim_reader *reader;
  BRIM_TRY(brim_reader_open(runtime, (const char *const *)shards->paths, (int)shards->count, options, &reader, err));
  int status = count_rows(reader, s, err);
  brim_reader_close(reader);
  return status;
}

static int check_rows(const brim_rank_readers *s, const brim_shards *shards, const brim_feed_options *o, brim_error *err) {
  if (s->rows_all == 0 && s->rows_read == 0)
    return brim_error_at(err, BRIM_E_FORMAT, shards->paths[0], 0, -1, "there are no rows");
  if (s->rows_all == 0)
    return brim_error_at(err, BRIM_E_FORMAT, shards->paths[0], 0, -1,
                         "no rows are left: min_chars and where exclude %llu, %llu are damaged",
                         (unsigned long long)(s->rows_read - s->rows_damaged), (unsigned long long)s->rows_damaged);
  for (int i = 0; o->repeat && i < shards->source_count; i++)
    if (s->source_rows[i] < (uint64_t)s->world)
      return brim_error_at(err, BRIM_E_USAGE, shards->paths[shards->first[i]], 0, -1,
                           "a source of %llu rows cannot repeat on each of %d ranks that read slices: leave out rank_slices",
                           (unsigned long long)s->source_rows[i], (int)s->world);
  if (!o->repeat && s->steps == 0)
    return brim_error_set(err, BRIM_E_USAGE, "an epoch of %llu rows has no full step: drop_last, or tail=drop, drops them all",
                          (unsigned long long)s->rows_all);
  return BRIM_OK;
}

int brim_rank_readers_find(brim_runtime *runtime, const brim_shards *shards, const brim_feed_options *o, brim_rank_readers *s,
                           brim_error *err) {
  *s = (brim_rank_readers){.world = o->plan.world_size > 1 ? o->plan.world_size : 1, .rank = o->rank};
  s->step_rows = (uint64_t)(o->plan.batch_size / s->world);
  s->rows_kept = brim_alloc_array_zero(runtime, shards->count, sizeof *s->rows_kept);
  if (!s->rows_kept)
    return BRIM_NOMEM(err);
  BRIM_TRY(count_files(runtime, shards, &o->source, s, err));
  for (int i = 0; i < shards->source_count; i++) {
    for (size_t f = shards->first[i]; f < shards->first[i + 1]; f++)
      s->source_rows[i] += s->rows_kept[f];
    s->rows_all += s->source_rows[i];
  }
  uint64_t least = s->rows_all / (uint64_t)s->world, most = least + (s->rows_all % (uint64_t)s->world > 0);
  bool drop = o->plan.drop_last || o->plan.tail == BRIM_TAIL_DROP;
  s->drop = drop && !o->repeat;
  s->fill = !drop && !o->repeat;
  s->steps = s->drop ? least / s->step_rows : (most + s->step_rows - 1) / s->step_rows;
  s->rows_to_take = s->drop ? least : brim_rank_readers_rows(s, s->rank);
  return check_rows(s, shards, o, err);
}

void brim_rank_readers_free(brim_runtime *runtime, brim_rank_readers *s) {
  brim_release(runtime, s->rows_kept);
  *s = (brim_rank_readers){0};
}

/* ---- runs ------------------------------------------------------------------------------------------------- */

uint64_t brim_rank_readers_rows(const brim_rank_readers *s, int32_t rank) {
  uint64_t world = (uint64_t)s->world;
  return s->rows_all / world + ((uint64_t)rank < s->rows_all % world);
}

/* The rows of a source that come before a rank's. What is over when all have equally many goes to one rank after another, and the
 * next source continues with the rank where this one stopped: over all sources, ranks differ by a row at most. */
static uint64_t rows_before(const brim_rank_readers *s, int source, int32_t rank) {
  uint64_t world = (uint64_t)s->world, over = s->source_rows[source] % world, turn = 0, before;
  for (int i = 0; i < source; i++)
    turn = (turn + s->source_rows[i]) % world;
  before = (uint64_t)rank * (s->source_rows[source] / world);
  for (uint64_t r = 0; r < (uint64_t)rank; r++)
    before += (r + world - turn) % world < over;
  return before;
}

/* Passes over files, in a pass's order, up to the one that holds row number `end` - 1; *before: the rows in front of that file.
 */
static size_t file_of(const brim_rank_readers *s, const uint32_t *order, uint64_t end, uint64_t *before) {
  size_t file = 0;
  for (*before = 0; *before + s->rows_kept[order[file]] < end; file++)
    *before += s->rows_kept[order[file]];
  return file;
}

/* Excluded and damaged rows after a row are of the same rank only where they end the file: else they are the next one's. */
void brim_rank_readers_cut(const brim_rank_readers *s, int source, const uint32_t *order, size_t count, brim_reader_range *out) {
  uint64_t from = rows_before(s, source, s->rank), to = rows_before(s, source, s->rank + 1), before;
  *out = (brim_reader_range){.rows = to - from};
  if (s->source_rows[source] == 0 && s->rank == 0)
    *out = (brim_reader_range){.end = count, .to_end = true};
  if (from == to)
    return;
  if (from > 0) {
    out->first = file_of(s, order, from, &before);
    out->skip = from - before;
    if (out->skip == s->rows_kept[order[out->first]]) {
      out->first++;
      out->skip = 0;
    }
  }
  size_t last = file_of(s, order, to, &before);
  out->to_end = before + s->rows_kept[order[last]] == to;
  out->end = to == s->source_rows[source] ? count : last + 1;
}

/* ---- steps ------------------------------------------------------------------------------------------------ */

/* Only the last step of an epoch can be short. */
void brim_rank_readers_step(const brim_rank_readers *s, uint64_t step, uint64_t *before, uint64_t *all) {
  uint64_t first = step * s->step_rows;
  if (!s->fill || first + s->step_rows <= s->rows_all / (uint64_t)s->world) {
    *before = (uint64_t)s->rank * s->step_rows;
    *all = (uint64_t)s->world * s->step_rows;
    return;
  }
  *before = *all = 0;
  for (int32_t r = 0; r < s->world; r++) {
    uint64_t rows = brim_rank_readers_rows(s, r);
    uint64_t left = rows > first ? rows - first : 0;
    if (left > s->step_rows)
      left = s->step_rows;
    *before += r < s->rank ? left : 0;
    *all += left;
  }
}

bool brim_rank_readers_idle(const brim_rank_readers *s) {
  if (!s->fill)
    return false;
  uint64_t rows = brim_rank_readers_rows(s, s->rank);
  return rows % s->step_rows == 0 && rows / s->step_rows < s->steps;
}
