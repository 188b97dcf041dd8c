/* mix.c: rows of several sources, one after another.
 *
 * Each source (tap) has its own files, order and place, and its next row is always at hand: so where a window begins is known for
 * every source, and a saved state needs nothing of what was read ahead. Which source the k-th row of an epoch comes from is a
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
  const char **paths = brim_alloc_array(p->runtime, tap->count, sizeof *paths);
  if (!paths)
    return BRIM_NOMEM(err);
  for (size_t i = 0; i < tap->count; i++)
    paths[i] = p->shards->paths[p->order[tap->first + i]];
  int status = brim_reader_open(p->runtime, paths, (int)tap->count, &p->options->source, out, err);
  brim_release(p->runtime, paths);
  return status;
}

/* Opens the files of a pass in its order. `place` NULL: at their beginning. */
static int begin_pass(brim_producer *p, brim_tap *tap, uint64_t pass, const brim_place *place, brim_error *err) {
  const brim_feed_options *o = p->options;
  brim_random random = brim_random_make(o->plan.seed, pass, BRIM_PURPOSE_SHARDS);
  brim_reader *reader = NULL;
  if (o->plan.batching == BRIM_SEQUENTIAL)
    brim_order_identity(p->order + tap->first, tap->count);
  else
    BRIM_TRY(brim_order_shuffle(p->runtime, &random, tap->first, p->order + tap->first, tap->count, err));
  for (size_t i = 0; i < tap->count; i++)
    p->order[tap->first + i] += (uint32_t)tap->first;
  BRIM_TRY(open_files(p, tap, &reader, err));
  int status = place ? brim_reader_seek(reader, place, err) : BRIM_OK;
  if (status != BRIM_OK) {
    brim_reader_close(reader);
    return status;
  }
  brim_reader_forget_excluded(reader);
  tap->pass = pass;
  tap->next_row = place ? place->row : 0;
  tap->pending = tap->read_all = false;
  if (tap->encoder) /* of an earlier pass */
    return brim_encoder_restart(tap->encoder, reader, err);
  return brim_encoder_new(p->runtime, reader, p->tokenizer, &o->encode, &tap->encoder, err);
}

/* The rows up to number `end` were passed over. */
static void pass_excluded(brim_tap *tap, brim_window *w, uint64_t end) {
  w->excluded += end - tap->next_row;
  w->read += end - tap->next_row;
  tap->next_row = end;
}

/* Brings the tap's next row to hand; read_all is set behind the last. With `repeat` another pass begins there. */
static int look(brim_producer *p, brim_tap *tap, brim_window *w, brim_error *err) {
  while (!tap->pending && !tap->read_all) {
    int status = brim_encoder_next(tap->encoder, &tap->row, err);
    tap->pending = status == BRIM_OK;
    if (status == BRIM_OK)
      break;
    if (status != BRIM_END)
      return status;
    pass_excluded(tap, w, brim_encoder_rows(tap->encoder));
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
    const brim_mix_place *at = &p->next.places[i];
    uint64_t pass = p->options->repeat ? at->pass : p->next.epoch;
    tap->given = p->next.window > 0; /* a pass that is gone on with may have given its rows before */
    BRIM_TRY(begin_pass(p, tap, pass, p->next.window > 0 ? &at->place : NULL, err));
    BRIM_TRY(look(p, tap, w, err));
  }
  p->begun = true;
  return BRIM_OK;
}

void brim_mix_end(brim_producer *p) {
  for (int i = 0; i < p->tap_count; i++)
    if (p->taps[i].encoder)
      brim_encoder_rest(p->taps[i].encoder);
  p->begun = false;
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
  double u = (double)(brim_random_u64(&random, p->taken) >> 11) * 0x1p-53 * all;
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

int brim_mix_taken(brim_producer *p, brim_tap *tap, brim_window *w, brim_error *err) {
  pass_excluded(tap, w, tap->row.row);
  w->read++;
  tap->next_row++;
  tap->pending = false;
  tap->given = true;
  p->taken++;
  return look(p, tap, w, err);
}

/* Excluded rows before the one that is next are this window's. */
void brim_mix_places(brim_producer *p, brim_window *w, brim_mix_place *out) {
  for (int i = 0; i < p->tap_count; i++) {
    brim_tap *tap = &p->taps[i];
    const brim_encoded *row = &tap->row;
    out[i] = (brim_mix_place){.pass = tap->pass, .place = {.file = (int64_t)tap->count, .row = tap->next_row}};
    if (!tap->pending)
      continue;
    pass_excluded(tap, w, row->row);
    out[i].place =
        (brim_place){.file = row->file_number, .byte = row->byte, .line = row->line, .row = row->row, .file_row = row->file_row};
  }
}

double brim_mix_share(const brim_producer *p, const brim_mix_place *places) {
  double before = 0;
  for (int i = 0; i < p->tap_count; i++)
    before += brim_shards_before(p->shards, p->order + p->taps[i].first, p->taps[i].count, &places[i].place);
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
