/* mix.c: rows of several sources, one after another.
 *
 * Each source (tap) has its own files, order and position, and its next row is always at hand: so where a window begins is known
 * for every source, and a saved state needs nothing of what was read ahead. Which source the k-th row of an epoch comes from is a
 * function of (seed, epoch, k) and of which sources have rows left. */
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "batch/order.h"
#include "data/encoder.h"
#include "data/reader.h"
#include "feed/feed.h"

/* ---- passes ----------------------------------------------------------------------------------------------- */

static int open_files(brim_producer *p, const brim_tap *tap, brim_reader **out, brim_error *err) {
  size_t count = tap->slice.end - tap->slice.first;
  const char **paths = brim_alloc_array(p->runtime, count, sizeof *paths);
  if (!paths)
    return BRIM_NOMEM(err);
  for (size_t i = 0; i < count; i++)
    paths[i] = p->shards->paths[p->order[tap->first + tap->slice.first + i]];
  int status = brim_reader_open_stoppable(p->runtime, paths, (int)count, &p->options->source, &p->stop, out, err);
  brim_release(p->runtime, paths);
  return status;
}

static int order_files(brim_producer *p, const brim_tap *tap, uint64_t pass, brim_error *err) {
  const brim_feed_options *o = p->options;
  brim_random random = brim_random_make(o->plan.seed, pass, BRIM_PURPOSE_SHARDS);
  if (o->plan.batching == BRIM_SEQUENTIAL)
    brim_order_identity(p->order + tap->first, tap->count);
  else
    BRIM_TRY(brim_order_shuffle(p->runtime, &random, tap->first, p->order + tap->first, tap->count, err));
  for (size_t i = 0; i < tap->count; i++)
    p->order[tap->first + i] += (uint32_t)tap->first;
  return BRIM_OK;
}

static int changed(const brim_producer *p, const brim_tap *tap, brim_error *err) {
  return brim_error_at(err, BRIM_E_MISMATCH, p->shards->paths[p->order[tap->first + tap->slice.first]], 0, -1,
                       "the rows from here on are not those that were counted at first: the file has changed; begin again");
}

/* Passes over the rows of earlier ranks, which nobody encodes here. */
static int pass_rows(const brim_producer *p, const brim_tap *tap, brim_reader *reader, brim_error *err) {
  brim_record record;
  for (uint64_t left = tap->slice.skip; left > 0; left -= !record.damage) {
    if (atomic_load(&p->stop.set))
      return brim_error_cancelled(err);
    int status = brim_reader_next(reader, &record, err);
    if (status != BRIM_OK)
      return status == BRIM_END ? changed(p, tap, err) : status;
  }
  return BRIM_OK;
}

/* Brings the reader to the pass's first row, or to a position in it. */
static int go_to_position(const brim_producer *p, brim_tap *tap, brim_reader *reader, const brim_mix_position *at,
                          brim_error *err) {
  brim_position position = {0};
  brim_reader_forget_excluded(reader);
  if (at) {
    position = at->position;
    position.file -= (int64_t)tap->slice.first;
    BRIM_TRY(brim_reader_seek(reader, &position, err));
  } else {
    BRIM_TRY(pass_rows(p, tap, reader, err));
    brim_reader_tell(reader, &position);
  }
  tap->next_row = position.row;
  if (p->slices->world && !tap->slice.to_end)
    brim_reader_end_after(reader, tap->slice.rows - tap->rows_given);
  return BRIM_OK;
}

/* Opens the files of a pass in its order. `at` NULL: at their beginning. */
static int begin_pass(brim_producer *p, brim_tap *tap, uint64_t pass, const brim_mix_position *at, brim_error *err) {
  brim_reader *reader = NULL;
  BRIM_TRY(brim_shards_check(p->runtime, p->shards, tap->first, tap->count, err));
  BRIM_TRY(order_files(p, tap, pass, err));
  tap->slice = (brim_reader_range){.end = tap->count};
  if (p->slices->world)
    brim_rank_readers_cut(p->slices, (int)(tap - p->taps), p->order + tap->first, tap->count, &tap->slice);
  tap->pass = pass;
  tap->rows_given = at ? at->rows_given : 0;
  tap->next_row = at ? at->position.row : 0;
  tap->pending = false;
  /* Of a slice that is used up there may be no file left to open. */
  tap->read_all = p->slices->world && (tap->slice.first == tap->slice.end || (at && at->position.file == (int64_t)tap->count));
  if (tap->read_all)
    return BRIM_OK;
  BRIM_TRY(open_files(p, tap, &reader, err));
  int status = go_to_position(p, tap, reader, at, err);
  if (status != BRIM_OK) {
    brim_reader_close(reader);
    return status;
  }
  if (tap->encoder) /* of an earlier pass */
    return brim_encoder_restart(tap->encoder, reader, err);
  return brim_encoder_new(p->runtime, reader, p->tokenizer, &p->options->encode, &tap->encoder, err);
}

/* The rows up to number `end` were passed over. */
static void pass_excluded(brim_tap *tap, brim_window *w, uint64_t end) {
  w->rows_excluded += end - tap->next_row;
  w->rows_read += end - tap->next_row;
  tap->next_row = end;
}

/* Brings the tap's next row to hand; read_all is set after the last. With `repeat` another pass begins there. */
static int look(brim_producer *p, brim_tap *tap, brim_window *w, brim_error *err) {
  while (!tap->pending && !tap->read_all) {
    int status = brim_encoder_next(tap->encoder, &tap->row, err);
    tap->pending = status == BRIM_OK;
    if (status == BRIM_OK)
      break;
    if (status != BRIM_END)
      return status;
    BRIM_TRY(brim_shards_check(p->runtime, p->shards, tap->first, tap->count, err)); /* one may have changed meanwhile */
    pass_excluded(tap, w, brim_encoder_rows(tap->encoder));
    if (p->slices->world && tap->rows_given != tap->slice.rows)
      return changed(p, tap, err);
    tap->read_all = !p->options->repeat;
    if (tap->read_all)
      break;
    if (!tap->given)
      return brim_error_at(err, BRIM_E_FORMAT, p->shards->paths[tap->first], 0, -1, "there are no rows to repeat");
    tap->given = false;
    BRIM_TRY(begin_pass(p, tap, tap->pass + 1, NULL, err));
  }
  return BRIM_OK;
}

/* ---- epochs ----------------------------------------------------------------------------------------------- */

int brim_mix_begin(brim_producer *p, brim_window *w, brim_error *err) {
  for (int i = 0; i < p->tap_count; i++) {
    brim_tap *tap = &p->taps[i];
    const brim_mix_position *at = &p->next.positions[i];
    uint64_t pass = p->options->repeat ? at->pass : p->next.epoch;
    tap->given = p->next.window > 0; /* a pass that is resumed may have given its rows before */
    BRIM_TRY(begin_pass(p, tap, pass, p->next.window > 0 ? at : NULL, err));
    BRIM_TRY(look(p, tap, w, err));
  }
  p->epoch_begun = true;
  return BRIM_OK;
}

void brim_mix_end(brim_producer *p) {
  for (int i = 0; i < p->tap_count; i++)
    if (p->taps[i].encoder)
      brim_encoder_rest(p->taps[i].encoder);
  p->epoch_begun = false;
}

/* ---- rows ------------------------------------------------------------------------------------------------- */

brim_tap *brim_mix_choose(brim_producer *p) {
  double all = 0;
  brim_tap *chosen = NULL;
  int live = 0;
  for (int i = 0; i < p->tap_count; i++) {
    if (!p->taps[i].pending)
      continue;
    all += p->taps[i].weight;
    chosen = &p->taps[i];
    live++;
  }
  if (live < 2)
    return chosen;
  brim_random random = brim_random_make(p->options->plan.seed, p->next.epoch, BRIM_PURPOSE_MIX);
  uint64_t number = p->slices->world ? p->rows_taken * (uint64_t)p->slices->world + (uint64_t)p->slices->rank : p->rows_taken;
  double u = (double)(brim_random_u64(&random, number) >> 11) * 0x1p-53 * all;
  for (int i = 0; i < p->tap_count; i++) {
    brim_tap *tap = &p->taps[i];
    if (!tap->pending)
      continue;
    u -= tap->weight;
    if (u < 0)
      return tap;
  }
  return chosen; /* rounding */
}

int brim_mix_taken(brim_producer *p, brim_tap *tap, brim_window *w, uint64_t count, uint64_t last, brim_error *err) {
  pass_excluded(tap, w, last + 1);
  w->rows_excluded -= count;
  tap->pending = false;
  tap->given = true;
  if (p->slices->world && !tap->row.damage)
    tap->rows_given += count;
  p->rows_taken += count;
  return look(p, tap, w, err);
}

/* Excluded rows before the one that is next are this window's. */
void brim_mix_positions(brim_producer *p, brim_window *w, brim_mix_position *out) {
  for (int i = 0; i < p->tap_count; i++) {
    brim_tap *tap = &p->taps[i];
    const brim_encoded *row = &tap->row;
    out[i] = (brim_mix_position){
        .pass = tap->pass, .rows_given = tap->rows_given, .position = {.file = (int64_t)tap->count, .row = tap->next_row}};
    if (!tap->pending)
      continue;
    pass_excluded(tap, w, row->row);
    out[i].position = (brim_position){.file = (int64_t)tap->slice.first + row->file_number,
                                      .byte = row->byte,
                                      .line = row->line,
                                      .row = row->row,
                                      .file_row = row->file_row};
  }
}

uint64_t brim_mix_rows(const brim_producer *p) {
  uint64_t rows = 0;
  for (int i = 0; i < p->tap_count; i++)
    rows += p->taps[i].rows_given;
  return rows;
}

/* With slices by rows, which are counted; else by bytes. */
static double slice_share(const brim_producer *p, const brim_mix_position *positions) {
  uint64_t rows = 0, all = brim_rank_readers_rows(p->slices, p->slices->rank);
  for (int i = 0; i < p->tap_count; i++)
    rows += positions[i].rows_given;
  return p->options->repeat ? 0 : all > 0 ? (double)rows / (double)all : 1;
}

double brim_mix_share(const brim_producer *p, const brim_mix_position *positions) {
  double before = 0;
  if (p->slices->world)
    return slice_share(p, positions);
  for (int i = 0; i < p->tap_count; i++)
    before += brim_shards_before(p->shards, p->order + p->taps[i].first, p->taps[i].count, &positions[i].position);
  return p->options->repeat ? 0 : p->shards->bytes > 0 ? before / p->shards->bytes : 1;
}

/* ---- sources ---------------------------------------------------------------------------------------------- */

int brim_mix_taps(brim_producer *p, brim_error *err) {
  const brim_feed_options *o = p->options;
  p->taps = brim_alloc_array_zero(p->runtime, BRIM_FEED_SOURCES, sizeof *p->taps);
  if (!p->taps)
    return BRIM_NOMEM(err);
  p->tap_count = p->shards->source_count;
  for (int i = 0; i < p->tap_count; i++) {
    size_t first = p->shards->first[i];
    p->taps[i] = (brim_tap){.first = first, .count = p->shards->first[i + 1] - first, .weight = o->weights ? o->weights[i] : 1};
  }
  return BRIM_OK;
}
