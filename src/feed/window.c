/* window.c: windows of encoded rows with their plans, one after another. */
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/status.h"
#include "data/encoder.h"
#include "data/source.h"
#include "feed/feed.h"

void brim_beginning_free(brim_runtime *runtime, brim_beginning *beginning) {
  brim_release(runtime, beginning->waiting);
  *beginning = (brim_beginning){0};
}

/* Reuses the memory of *to. */
int brim_beginning_copy(brim_runtime *runtime, const brim_beginning *from, brim_beginning *to, brim_error *err) {
  brim_waiting *waiting = to->waiting;
  size_t room = to->waiting_room;
  BRIM_TRY(brim_grow(runtime, (void **)&waiting, &room, from->waiting_count, sizeof *waiting, err));
  *to = *from;
  to->waiting = waiting;
  to->waiting_room = room;
  if (from->waiting_count)
    memcpy(waiting, from->waiting, from->waiting_count * sizeof *waiting);
  return BRIM_OK;
}

void brim_window_free(brim_runtime *runtime, brim_window *window) {
  if (!window)
    return;
  brim_beginning_free(runtime, &window->beginning);
  brim_dataset_free(window->dataset);
  brim_plan_free(window->plan);
  brim_exclusions_free(&window->damage);
  brim_release(runtime, window->names);
  brim_release(runtime, window->spots);
  brim_release(runtime, window);
}

void brim_window_clear(brim_runtime *runtime, brim_window *w) {
  brim_window empty = {
      .dataset = w->dataset, .names = w->names, .name_room = w->name_room, .spots = w->spots, .spot_room = w->spot_room};
  brim_beginning_free(runtime, &w->beginning);
  brim_plan_free(w->plan);
  brim_exclusions_free(&w->damage);
  brim_dataset_clear(w->dataset);
  *w = empty;
}

/* ---- rows ------------------------------------------------------------------------------------------------- */

int brim_producer_sample(brim_producer *p, const brim_encoded *row, uint64_t name, brim_dataset *dataset, brim_sample *out,
                         brim_error *err) {
  BRIM_TRY(brim_dataset_sample_of(dataset, row, name, out, err));
  if (p->plain && !row->pair)
    out->type_ids = NULL;
  if (!p->options->source.need_label)
    return BRIM_OK;
  const brim_label_source label = {row->label, row->label_length, row->label_is_list, row->file, row->line, row->label_forms};
  if (row->words) { /* with their labels they have done their part */
    out->words = row->words;
    BRIM_TRY(brim_label_taker_words(&p->taker, &label, out, err));
    out->words = NULL;
    return BRIM_OK;
  }
  BRIM_TRY(brim_label_taker_add(&p->taker, &label, err));
  brim_label_taker_pop(&p->taker, out);
  return BRIM_OK;
}

/* Room for `count` more rows. */
static int make_room(brim_producer *p, brim_window *w, size_t count, brim_error *err) {
  const size_t rows = w->dataset->rows + count;
  BRIM_TRY(brim_grow(p->runtime, (void **)&w->names, &w->name_room, rows, sizeof *w->names, err));
  return brim_grow(p->runtime, (void **)&w->spots, &w->spot_room, rows, sizeof *w->spots, err);
}

static int add_waiting(brim_producer *p, brim_window *w, const brim_waiting *waiting, brim_error *err) {
  BRIM_TRY(make_room(p, w, 1, err));
  w->names[w->dataset->rows] = waiting->row;
  w->spots[w->dataset->rows] = waiting->spot;
  return BRIM_OK;
}

/* Rows that waited come first, so that sequential batching keeps the order. */
static int add_held(brim_producer *p, brim_window *w, brim_error *err) {
  for (size_t i = 0; i < p->next.waiting_count; i++) {
    brim_sample sample;
    brim_dataset_sample(p->waiting_rows, i, &sample);
    sample.row = w->dataset->rows; /* its number is its name */
    BRIM_TRY(add_waiting(p, w, &p->next.waiting[i], err));
    BRIM_TRY(brim_dataset_add(w->dataset, &sample, 0, p->options->source.need_label, err));
  }
  return BRIM_OK;
}

static int add_damaged(brim_window *w, const brim_encoded *row, const brim_waiting *waiting, brim_error *err) {
  if (w->rows_damaged++ >= BRIM_FEED_DAMAGE)
    return BRIM_OK;
  return brim_exclusions_add_damaged(&w->damage, row->damage, waiting->row, row->line, row->file, err);
}

/* Slots of a row and its padding are a multiple of this. */
static int64_t multiple_of(const brim_plan_options *o) {
  return o->padding != BRIM_PAD_NONE && o->pad_to_multiple_of > 1 ? o->pad_to_multiple_of : 1;
}

/* A row of more tokens is over the budget by itself. */
static int64_t longest_row(const brim_plan_options *o) {
  const int64_t most = o->max_tokens / multiple_of(o) * multiple_of(o);
  const bool any = !o->max_tokens || o->oversize != BRIM_OVERSIZE_ERROR || (o->max_length && o->max_length <= most);
  return any ? INT64_MAX : most;
}

/* A row of several texts, of which none is cut. */
static int check_texts(const brim_producer *p, const brim_encoded *row, brim_error *err) {
  const brim_plan_options *o = p->plan;
  int64_t width = o->padding == BRIM_PAD_MAX_LENGTH ? o->max_length : 0;
  for (int32_t i = 0; i < row->text_count && o->padding != BRIM_PAD_MAX_LENGTH; i++)
    width = row->text_lengths[i] > width ? row->text_lengths[i] : width;
  width = (width + multiple_of(o) - 1) / multiple_of(o) * multiple_of(o);
  const int64_t slots = o->padding == BRIM_PAD_NONE ? (int64_t)row->length : width * row->text_count;
  if (o->oversize != BRIM_OVERSIZE_ERROR || !o->max_tokens || slots <= o->max_tokens)
    return BRIM_OK;
  return brim_error_at(
      err, BRIM_E_USAGE, row->file, row->line, row->byte,
      "the row's %d texts take %lld slots, more than max_tokens %lld: raise it, lower max_length, or choose alone "
      "(oversize)",
      (int)row->text_count, (long long)slots, (long long)o->max_tokens);
}

/* The plan would refuse such a row too, but knows neither file nor line. */
static int check_budget(const brim_producer *p, const brim_encoded *row, brim_error *err) {
  const brim_plan_options *o = p->plan;
  int64_t slots = (int64_t)row->length;
  if (row->text_lengths)
    return check_texts(p, row, err);
  if (slots <= longest_row(o))
    return BRIM_OK;
  if (o->max_length && slots > o->max_length)
    slots = o->max_length;
  slots = (slots + multiple_of(o) - 1) / multiple_of(o) * multiple_of(o);
  return brim_error_at(err, BRIM_E_USAGE, row->file, row->line, row->byte,
                       "the row takes %lld slots, more than max_tokens %lld: raise it, lower max_length, or choose truncate "
                       "or alone (oversize)",
                       (long long)slots, (long long)o->max_tokens);
}

static uint64_t row_name(const brim_producer *p, const brim_tap *tap, int64_t file_number, uint64_t file_row) {
  uint64_t file = p->order[tap->first + tap->slice.first + (size_t)file_number];
  return file << BRIM_FEED_RECORD_BITS | file_row;
}

static int add_rows(brim_producer *p, brim_window *w, const brim_encoded *record, brim_waiting waiting, brim_error *err) {
  for (; waiting.spot.number < brim_masked_rows(record); waiting.spot.number++) {
    brim_encoded own;
    brim_sample sample;
    const brim_encoded *row = brim_masked_row(record, (int32_t)waiting.spot.number, &own);
    BRIM_TRY(check_budget(p, row, err));
    BRIM_TRY(brim_producer_sample(p, row, w->dataset->rows, w->dataset, &sample, err));
    BRIM_TRY(add_waiting(p, w, &waiting, err));
    BRIM_TRY(brim_dataset_add(w->dataset, &sample, 0, p->options->source.need_label, err)); /* what was cut counts below */
  }
  w->dataset->pairs |= record->pair;
  w->rows_read += (uint64_t)waiting.spot.number - 1; /* the record is one already */
  w->rows_truncated += record->lost > 0;
  w->tokens_lost += record->lost;
  return BRIM_OK;
}

static int add_row(brim_producer *p, brim_window *w, const brim_tap *tap, brim_error *err) {
  const brim_encoded *row = &tap->row;
  if (row->file_row >> BRIM_FEED_RECORD_BITS)
    return brim_error_at(err, BRIM_E_UNSUPPORTED, row->file, row->line, row->byte, "a file has too many rows");
  const brim_waiting waiting = {.row = row_name(p, tap, row->file_number, row->file_row), .spot = {row->byte, row->line, 0}};
  if (row->damage)
    return add_damaged(w, row, &waiting, err);
  if (p->slices->drop && brim_mix_rows(p) == p->slices->rows_to_take) {
    w->rows_surplus++;
    return BRIM_OK;
  }
  return add_rows(p, w, row, waiting, err);
}

/* The row at hand and those after it that have nothing but ids, all at once. *added: how many. */
static int add_run(brim_producer *p, brim_window *w, brim_tap *tap, uint64_t most, uint64_t *added, brim_error *err) {
  brim_coded_run run = {0};
  uint64_t truncated = 0, lost = 0;
  *added = 0;
  if (p->tap_count == 1 && p->plain && !p->options->source.need_label && !p->slices->drop)
    brim_encoder_run(tap->encoder, most, longest_row(p->plan), &run);
  if (run.count < 2 || run.rows[run.count - 1].file_row >> BRIM_FEED_RECORD_BITS)
    return BRIM_OK;
  BRIM_TRY(make_room(p, w, run.count, err));
  for (size_t i = 0, at = w->dataset->rows; i < run.count; i++, at++) {
    const brim_coded_row *row = &run.rows[i];
    w->names[at] = row_name(p, tap, row->file_number, row->file_row);
    w->spots[at] = (brim_spot){row->byte, row->line, 0};
    truncated += row->lost > 0;
    lost += row->lost;
  }
  BRIM_TRY(brim_dataset_add_run(w->dataset, run.ids, run.lengths, run.count, truncated, lost, err));
  w->rows_truncated += truncated;
  w->tokens_lost += lost;
  brim_encoder_pass(tap->encoder, &run);
  *added = run.count;
  return brim_mix_taken(p, tap, w, run.count, run.rows[run.count - 1].row, err);
}

static int fill_window(brim_producer *p, brim_window *w, brim_error *err) {
  brim_tap *tap;
  uint64_t fresh, added, held;
  BRIM_TRY(brim_dataset_expect(w->dataset, &p->options->source, &p->options->encode, p->tokenizer, err));
  BRIM_TRY(add_held(p, w, err));
  held = w->dataset->rows;
  for (fresh = 0; (tap = brim_mix_choose(p)) && fresh < p->options->window; fresh += added) {
    if (atomic_load(&p->stop.set))
      return brim_error_cancelled(err);
    BRIM_TRY(add_run(p, w, tap, p->options->window - fresh, &added, err));
    if (added > 0)
      continue;
    added = (uint64_t)brim_masked_rows(&tap->row);
    BRIM_TRY(add_row(p, w, tap, err));
    BRIM_TRY(brim_mix_taken(p, tap, w, 1, tap->row.row, err));
  }
  w->rows_empty = brim_empty_texts_count(p->empty, w->dataset, held);
  /* With slices, what fills no step on this rank is a separate window: the short step is then the last on every rank. */
  w->last = !tap && (!p->slices->fill || fresh == 0);
  w->idle = w->last && brim_rank_readers_idle(p->slices);
  return BRIM_OK;
}

/* ---- plans ------------------------------------------------------------------------------------------------ */

/* Packing without padding makes no short last batch: the least filled step waits instead. */
static uint64_t step_to_skip(const brim_plan_options *how, const brim_plan *plan) {
  brim_ledger ledger;
  brim_plan_ledger(plan, &ledger);
  if (how->batching != BRIM_PACKED || how->batch_size || how->padding != BRIM_PAD_NONE || ledger.dropped || ledger.steps < 2)
    return UINT64_MAX;
  uint64_t skip = 0, parts = brim_plan_parts(plan), world = how->world_size > 1 ? (uint64_t)how->world_size : 1;
  int64_t least = INT64_MAX, tokens = 0;
  for (uint64_t i = 0; i < parts; i++) {
    brim_planned part, next = {.step = UINT64_MAX};
    for (uint64_t r = 0; r < world; r++) {
      brim_plan_part(plan, (int32_t)r, i, &part);
      tokens += part.tokens;
    }
    if (i + 1 < parts)
      brim_plan_part(plan, 0, i + 1, &next);
    if (next.step == part.step)
      continue;
    if (tokens < least) {
      least = tokens;
      skip = part.step;
    }
    tokens = 0;
  }
  return skip;
}

/* Each window has its own random numbers. Only the last one of an epoch may end short: what others drop waits. */
static int plan_window(brim_producer *p, brim_window *w, brim_error *err) {
  const brim_rank_readers *s = p->slices;
  brim_plan_options how = *p->plan;
  brim_random random = brim_random_make(how.seed, p->next.epoch, BRIM_PURPOSE_WINDOW);
  how.seed = brim_random_u64(&random, s->world ? p->next.window * (uint64_t)s->world + (uint64_t)s->rank : p->next.window);
  how.drop_last |= !w->last;
  const brim_lengths lengths = brim_lengths_of(w->dataset);
  BRIM_TRY(brim_plan_new_of(p->runtime, &lengths, &how, p->next.epoch, &w->plan, err));
  w->waiting_step = w->last ? UINT64_MAX : step_to_skip(&how, w->plan);
  return BRIM_OK;
}

/* ---- what waits ------------------------------------------------------------------------------------------- */

/* Marks the rows of the window that no step of it takes. */
static void mark_waiting(const brim_producer *p, const brim_window *w, bool *waits) {
  brim_ledger ledger;
  brim_plan_ledger(w->plan, &ledger);
  uint64_t world = p->plan->world_size > 1 ? (uint64_t)p->plan->world_size : 1;
  for (uint64_t i = 0; i < ledger.dropped; i++)
    waits[ledger.drops[i].row] = true;
  for (uint64_t i = 0; w->waiting_step != UINT64_MAX && i < brim_plan_parts(w->plan); i++) {
    for (uint64_t r = 0; r < world; r++) {
      brim_planned part;
      brim_plan_part(w->plan, (int32_t)r, i, &part);
      for (uint32_t k = 0; part.step == w->waiting_step && k < part.count; k++)
        waits[part.rows[k]] = true;
    }
  }
}

/* Copies the rows that wait, in the window's order, to `held` and to the list of the next beginning. */
static int hold_rows(brim_producer *p, const brim_window *w, const bool *waits, brim_dataset *held, brim_error *err) {
  brim_beginning *next = &p->next;
  next->waiting_count = 0;
  for (uint64_t row = 0; row < w->dataset->rows; row++) {
    if (!waits[row])
      continue;
    brim_sample sample;
    brim_dataset_sample(w->dataset, row, &sample);
    sample.row = held->rows;
    BRIM_TRY(
        brim_grow(p->runtime, (void **)&next->waiting, &next->waiting_room, next->waiting_count + 1, sizeof *next->waiting, err));
    next->waiting[next->waiting_count++] = (brim_waiting){w->names[row], w->spots[row]};
    BRIM_TRY(brim_dataset_add(held, &sample, 0, p->options->source.need_label, err));
  }
  return BRIM_OK;
}

static int hold(brim_producer *p, const brim_window *w, brim_error *err) {
  brim_dataset *held = brim_dataset_new(p->runtime, err);
  if (!held)
    return BRIM_E_MEMORY;
  int status = brim_dataset_expect(held, &p->options->source, &p->options->encode, p->tokenizer, err);
  bool *waits = brim_alloc_array_zero(p->runtime, w->dataset->rows + 1, sizeof *waits);
  if (!status && !waits)
    status = BRIM_NOMEM(err);
  if (status == BRIM_OK && !w->last)
    mark_waiting(p, w, waits);
  if (status == BRIM_OK)
    status = hold_rows(p, w, waits, held, err);
  brim_release(p->runtime, waits);
  brim_dataset_free(p->waiting_rows);
  p->waiting_rows = held;
  return status;
}

/* ---- the producer ----------------------------------------------------------------------------------------- */

static int make_window(brim_producer *p, brim_window *w, brim_error *err) {
  BRIM_TRY(brim_beginning_copy(p->runtime, &p->next, &w->beginning, err));
  w->damage.runtime = p->runtime;
  if (!w->dataset && !(w->dataset = brim_dataset_new(p->runtime, err)))
    return BRIM_E_MEMORY;
  if (!p->epoch_begun) {
    p->rows_taken = p->next.rows_taken;
    BRIM_TRY(brim_mix_begin(p, w, err));
  }
  BRIM_TRY(fill_window(p, w, err));
  BRIM_TRY(plan_window(p, w, err));
  BRIM_TRY(hold(p, w, err));
  w->share_before = p->next.window ? brim_mix_share(p, p->next.positions) : 0;
  brim_mix_positions(p, w, p->next.positions);
  w->share_after = w->last ? 1 : brim_mix_share(p, p->next.positions);
  p->next.window++;
  p->next.rows_taken = p->rows_taken;
  if (w->last) {
    brim_mix_end(p);
    p->next.epoch++;
    p->next.window = p->next.rows_taken = 0;
    memset(p->next.positions, 0, sizeof p->next.positions);
  }
  return BRIM_OK;
}

int brim_producer_next(void *context, void **out, brim_error *err) {
  brim_producer *p = context;
  if (p->options->epochs && p->next.epoch >= p->options->first_epoch + p->options->epochs)
    return BRIM_END;
  brim_window *w = atomic_exchange(&p->spare, NULL);
  if (!w && !(w = brim_alloc_zero(p->runtime, sizeof *w)))
    return BRIM_NOMEM(err);
  int status = make_window(p, w, err);
  if (status != BRIM_OK) {
    brim_window_free(p->runtime, w);
    return status;
  }
  *out = w;
  return BRIM_OK;
}

void brim_producer_take_back(brim_producer *p, brim_window *window) {
  if (!window)
    return;
  brim_window_clear(p->runtime, window);
  brim_window_free(p->runtime, atomic_exchange(&p->spare, window));
}

void brim_producer_free(brim_producer *p) {
  if (!p->runtime)
    return;
  brim_window_free(p->runtime, atomic_load(&p->spare));
  for (int i = 0; i < p->tap_count; i++)
    brim_encoder_close(p->taps[i].encoder);
  brim_release(p->runtime, p->taps);
  brim_dataset_free(p->waiting_rows);
  brim_label_taker_free(&p->taker);
  brim_release(p->runtime, p->order);
  brim_beginning_free(p->runtime, &p->next);
  brim_stop_free(&p->stop);
  *p = (brim_producer){0};
}
