/* feed.c: the consuming side: the batches of one window after another. */
#include "feed/feed.h"

#include <string.h>

#include "base/hashmap.h"
#include "base/memory.h"
#include "base/status.h"
#include "batch/plan.h"
#include "data/facts.h"
#include "data/source.h"
#include "feed/steps.h"
#include "text/encode.h"
#include "text/tokenizer.h"

#define DEFAULT_WINDOW 100000
#define MOST_PREFETCH  1000

/* ---- opening ---------------------------------------------------------------------------------------------- */

static int check_options(const brim_feed_options *o, brim_error *err) {
  int32_t world = o->plan.world_size > 1 ? o->plan.world_size : 1;
  BRIM_TRY(brim_plan_options_check(&o->plan, err));
  if (o->plan.rows_for)
    return brim_error_set(err, BRIM_E_USAGE,
                          "a feed cannot plan with rows_for: a saved state could not say whether it is the same");
  if (o->rank < 0 || o->rank >= world)
    return brim_error_set(err, BRIM_E_USAGE, "rank %d: with a world_size of %d ranks go from 0 to %d", (int)o->rank, (int)world,
                          (int)world - 1);
  if (o->source.need_label && !o->labels)
    return brim_error_set(err, BRIM_E_USAGE, "a feed with labels needs their mapping beforehand: give labels");
  for (int b = 0; b < o->source.block_count; b++)
    if (o->source.blocks[b].shape.width < 1)
      return brim_error_set(err, BRIM_E_USAGE, "block %.*s: a feed needs to know beforehand how many numbers it has",
                            BRIM_BLOCK_NAME, o->source.blocks[b].shape.name);
  if (o->repeat && o->epochs)
    return brim_error_set(err, BRIM_E_USAGE, "sources that repeat have no epochs: give epochs 0, or leave out repeat");
  if (o->rank_slices && o->plan.batch_size == 0)
    return brim_error_set(err, BRIM_E_USAGE,
                          "rank_slices needs batch_size too: with max_tokens alone no rank knows how many steps the others make");
  if (o->rank_slices && o->plan.batch_size % world)
    return brim_error_set(
        err, BRIM_E_USAGE,
        "rank_slices: %lld rows of a batch cannot be shared equally by %d ranks: give a batch_size that is a multiple of %d",
        (long long)o->plan.batch_size, (int)world, (int)world);
  if (o->rank_slices && o->plan.slices)
    return brim_error_set(err, BRIM_E_USAGE,
                          "slices: ranks that read their own slices have their own steps: leave out rank_slices or slices");
  if (o->rank_slices && o->encode.numbering && o->encode.max_windows > 1)
    return brim_error_set(
        err, BRIM_E_USAGE,
        "rank_slices: how many windows a rank's texts have is known only when they are read, and the ranks would "
        "not make as many steps: leave out rank_slices, or set max_windows to 1");
  if (o->prefetch < 0 || o->prefetch > MOST_PREFETCH)
    return brim_error_set(err, BRIM_E_USAGE, "prefetch is %d: it must be from 0 to %d", (int)o->prefetch, (int)MOST_PREFETCH);
  if (o->window > UINT32_MAX / 2)
    return brim_error_set(err, BRIM_E_USAGE, "a window has at most %u rows", UINT32_MAX / 2);
  return BRIM_OK;
}

static int check_sources(const brim_feed *feed, brim_error *err) {
  const brim_feed_options *o = &feed->options;
  for (int i = 0; o->weights && i < feed->shards.source_count; i++)
    if (!(o->weights[i] > 0 && o->weights[i] < 1e30))
      return brim_error_set(err, BRIM_E_USAGE, "the weight of source %d is %g: give a number above 0", i + 1, o->weights[i]);
  if (feed->shards.once && o->epochs != 1)
    return brim_error_set(err, BRIM_E_USAGE,
                          "standard input and pipes can be read only once: ask for one epoch, or write the data to a file first");
  if (feed->shards.once && o->rank_slices)
    return brim_error_set(
        err, BRIM_E_USAGE,
        "standard input and pipes cannot be read in slices: leave out rank_slices, or write the data to a file first");
  return BRIM_OK;
}

/* How windows are planned: with slices each rank plans its own share of every step, by itself. */
static int choose_plan(brim_feed *feed, brim_error *err) {
  const brim_feed_options *o = &feed->options;
  feed->own = o->plan;
  feed->own_rank = o->rank;
  if (!o->rank_slices)
    return BRIM_OK;
  BRIM_TRY(brim_rank_readers_find(feed->runtime, &feed->shards, o, &feed->slices, err));
  int64_t world = feed->slices.world;
  feed->own.batch_size = (int64_t)feed->slices.step_rows;
  feed->own.accumulate = (o->plan.accumulate + world - 1) / world;
  feed->own.world_size = 1;
  feed->own_rank = 0;
  return BRIM_OK;
}

/* Takes the beginning. */
static int start(brim_feed *feed, const brim_tokenizer *tokenizer, brim_beginning *beginning, brim_error *err) {
  brim_producer *p = &feed->producer;
  *p = (brim_producer){.runtime = feed->runtime,
                       .tokenizer = tokenizer,
                       .options = &feed->options,
                       .plan = &feed->own,
                       .shards = &feed->shards,
                       .slices = &feed->slices,
                       .empty = &feed->empty,
                       .stop = {.wake = -1},
                       .plain = brim_template_is_plain(&tokenizer->processor.single),
                       .next = *beginning};
  *beginning = (brim_beginning){0};
  if (feed->shards.once) /* files do not keep a read waiting */
    BRIM_TRY(brim_stop_init(&p->stop, err));
  BRIM_TRY(brim_producer_start(p, err));
  BRIM_TRY(brim_beginning_copy(feed->runtime, &p->next, &feed->resume_at, err));
  feed->ledger = p->next.ledger;
  return BRIM_OK;
}

/* Closing waits neither until a window is full nor for what may come through a pipe. */
static void interrupt_producer(void *context) {
  brim_producer *p = context;
  brim_stop_set(&p->stop);
}

static void discard_window(void *context, void *window) {
  const brim_producer *p = context;
  brim_window_free(p->runtime, window);
}

/* Starts the thread, which must not outlive a failed start. */
static int begin_producing(brim_feed *feed, brim_error *err) {
  int32_t prefetch = feed->options.prefetch;
  return brim_ordered_new(feed->runtime,
                          &(brim_ordered_options){.threads = prefetch > 0,
                                                  .queue = prefetch > 0 ? prefetch : 1,
                                                  .produce = brim_producer_next,
                                                  .discard = discard_window,
                                                  .interrupt = interrupt_producer,
                                                  .context = &feed->producer},
                          &feed->windows, err);
}

static void stop(brim_feed *feed) {
  brim_ordered_free(feed->windows);
  feed->windows = NULL;
  brim_producer_free(&feed->producer);
  brim_window_free(feed->runtime, feed->window);
  brim_exclusions_free(&feed->damage);
  feed->window = NULL;
  feed->part = feed->step = 0;
}

/* What the tokenizer makes of an empty text: its special tokens. */
static int count_least(brim_feed *feed, const brim_tokenizer *tokenizer, brim_error *err) {
  brim_encoding encoding = {0};
  brim_scratch *scratch;
  BRIM_TRY(brim_scratch_new(feed->runtime, tokenizer, &scratch, err));
  int status = brim_tokenizer_encode(tokenizer, scratch, "", 0, NULL, 0, &feed->options.encode, &encoding, err);
  feed->least = encoding.length > 1 ? (int64_t)encoding.length : 1;
  brim_encoding_free(&encoding);
  brim_scratch_free(scratch);
  return status;
}

static int open_feed(brim_feed *feed, const char *const *paths, int path_count, const brim_tokenizer *tokenizer,
                     brim_error *err) {
  brim_beginning none = {.epoch = feed->options.first_epoch, .ledger.epoch = feed->options.first_epoch};
  BRIM_TRY(check_options(&feed->options, err));
  BRIM_TRY(brim_encode_options_check(tokenizer, &feed->options.encode, false, err));
  BRIM_TRY(count_least(feed, tokenizer, err));
  BRIM_TRY(brim_empty_texts_init(feed->runtime, tokenizer, &feed->empty, err));
  BRIM_TRY(brim_shards_find(feed->runtime, paths, path_count, &feed->options.source, feed->options.weights != NULL, &feed->shards,
                            err));
  if (feed->options.weights) {
    memcpy(feed->weights, feed->options.weights, (size_t)path_count * sizeof *feed->weights);
    feed->options.weights = feed->weights;
  }
  BRIM_TRY(check_sources(feed, err));
  BRIM_TRY(choose_plan(feed, err));
  BRIM_TRY(brim_state_configuration(feed, tokenizer, err));
  return start(feed, tokenizer, &none, err);
}

int brim_feed_open(brim_runtime *runtime, const char *const *paths, int path_count, const brim_tokenizer *tokenizer,
                   const brim_feed_options *options, brim_feed **out, brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_GIVEN(err, runtime, tokenizer, options);
  BRIM_STRINGS(err, paths, path_count);
  brim_feed *feed = brim_alloc_zero(runtime, sizeof *feed);
  if (!feed)
    return BRIM_NOMEM(err);
  feed->runtime = runtime;
  feed->options = *options;
  if (feed->options.window == 0)
    feed->options.window = DEFAULT_WINDOW;
  if (options->labels)
    brim_label_type_read(options->labels->task, &feed->options.source);
  feed->options.source.most_texts = brim_source_most_texts(&options->source); /* a feed's K is known beforehand */
  if (!options->encode.numbering && options->encode.max_windows > feed->options.source.most_texts)
    feed->options.source.most_texts = options->encode.max_windows;
  feed->options.source.none_labels |= options->labels ? brim_labels_none(options->labels) : 0;
  int status = brim_tokenizer_content(tokenizer, feed->options.source.words, &feed->tokenizer, err);
  if (status == BRIM_OK)
    status = open_feed(feed, paths, path_count, tokenizer, err);
  if (status != BRIM_OK) {
    brim_feed_close(feed);
    return status;
  }
  *out = feed;
  return BRIM_OK;
}

void brim_feed_close(brim_feed *feed) {
  if (!feed)
    return;
  brim_runtime *runtime = feed->runtime;
  stop(feed);
  brim_beginning_free(runtime, &feed->resume_at);
  brim_rank_readers_free(runtime, &feed->slices);
  brim_shards_free(runtime, &feed->shards);
  brim_batch_free(&feed->batch);
  brim_empty_texts_free(&feed->empty);
  brim_class_counter_free(&feed->counter);
  brim_release(runtime, feed->ids);
  brim_release(runtime, feed);
}

/* ---- the ledger ------------------------------------------------------------------------------------------- */

static uint64_t world_of(const brim_feed *feed) {
  return feed->options.plan.world_size > 1 ? (uint64_t)feed->options.plan.world_size : 1;
}

/* The parts of a window are those of its plan, or one without rows. */
static uint64_t parts_of(const brim_window *w) {
  return brim_plan_parts(w->plan) + w->idle;
}

static void get_part(const brim_window *w, int32_t rank, uint64_t index, brim_planned *out) {
  if (w->idle)
    *out = (brim_planned){.rank = rank};
  else
    brim_plan_part(w->plan, rank, index, out);
}

/* The step that a part belongs to, the same for every rank. */
static uint64_t step_of(const brim_window *w, uint64_t index) {
  return w->idle ? 0 : brim_plan_step_of(w->plan, index);
}

/* What is read but neither yielded nor left out. */
static void count_waiting(brim_feed_ledger *l) {
  l->rows_waiting = l->rows_read - l->rows_excluded - l->rows_damaged - l->rows_yielded - l->rows_dropped;
}

/* The list of damaged rows continues, or begins again with the epoch. */
static int list_damage(brim_feed *feed, const brim_window *w, brim_error *err) {
  if (w->beginning.window == 0 || !feed->damage.runtime) {
    brim_exclusions_free(&feed->damage);
    feed->damage.runtime = feed->runtime;
  }
  for (size_t i = 0; i < w->damage.count && feed->damage.count < BRIM_FEED_DAMAGE; i++) {
    const brim_exclusion *row = &w->damage.items[i];
    BRIM_TRY(brim_exclusions_add_damaged(&feed->damage, row->reason, row->row, row->line, row->file, err));
  }
  return BRIM_OK;
}

/* A window has come: its rows are read, and at the end of an epoch some are dropped. */
static void enter_window(brim_feed *feed, brim_window *w) {
  brim_ledger plan;
  brim_plan_ledger(w->plan, &plan);
  if (w->beginning.window == 0)
    feed->ledger = (brim_feed_ledger){.epoch = w->beginning.epoch};
  w->beginning.ledger = feed->ledger;
  feed->ledger.rows_read += w->rows_read;
  feed->ledger.rows_excluded += w->rows_excluded;
  feed->ledger.rows_damaged += w->rows_damaged;
  feed->ledger.rows_truncated += w->rows_truncated;
  feed->ledger.tokens_lost += w->tokens_lost;
  feed->ledger.rows_empty += w->rows_empty;
  feed->ledger.rows_dropped += w->rows_surplus;
  if (w->last)
    feed->ledger.rows_dropped += plan.dropped;
  count_waiting(&feed->ledger);
  feed->entered = true;
  feed->pairs |= w->dataset->pairs;
}

int brim_feed_pairs(const brim_feed *feed) {
  return feed->entered ? feed->pairs : -1;
}

/* Otherwise the loss divides by the rows. */
static bool is_weighed(const brim_feed *feed) {
  return feed->counter.weights || feed->counter.units || (feed->options.source.words && feed->options.source.need_label);
}

/* Puts the rows of a part at their places in the step. */
static int note_part(brim_feed *feed, const brim_planned *part, brim_error *err) {
  brim_feed_ledger *l = &feed->ledger;
  BRIM_TRY(brim_grow(feed->runtime, (void **)&feed->ids, &feed->id_room, part->step_rows, sizeof *feed->ids, err));
  for (uint32_t i = 0; i < part->count; i++) {
    feed->ids[part->places[i]] = feed->window->names[part->rows[i]];
    l->tokens_repeated += brim_dataset_row_repeated(feed->window->dataset, part->rows[i]);
  }
  if (is_weighed(feed))
    brim_class_counter_add(&feed->counter, feed->window->dataset, part);
  l->batches += part->count > 0;
  l->tokens += (uint64_t)part->tokens;
  l->slots += (uint64_t)part->slots;
  return BRIM_OK;
}

/* The step that begins with part `first` goes into the ledger, whole. */
static int note_step(brim_feed *feed, uint64_t first, brim_error *err) {
  const brim_window *w = feed->window;
  uint64_t world = feed->slices.world ? 1 : world_of(feed);
  brim_planned part = {0};
  brim_class_counter_clear(&feed->counter);
  feed->counter.names = w->names;
  for (uint64_t r = 0; r < world; r++) {
    for (uint64_t i = first; i < parts_of(w) && step_of(w, i) == step_of(w, first); i++) {
      get_part(w, (int32_t)r, i, &part);
      BRIM_TRY(note_part(feed, &part, err));
    }
  }
  feed->ledger.hash = brim_hash_mix(feed->ledger.hash, part.step_rows);
  for (uint32_t i = 0; i < part.step_rows; i++)
    feed->ledger.hash = brim_hash_mix(feed->ledger.hash, feed->ids[i]);
  feed->ledger.rows_yielded += part.step_rows;
  feed->ledger.steps++;
  feed->step++;
  count_waiting(&feed->ledger);
  return BRIM_OK;
}

/* ---- batches ---------------------------------------------------------------------------------------------- */

/* After an epoch that had nothing to give. */
static int no_rows(const brim_feed *feed, brim_error *err) {
  const brim_feed_ledger *l = &feed->ledger;
  const char *path = feed->shards.paths[0];
  if (l->rows_read == 0)
    return brim_error_at(err, BRIM_E_FORMAT, path, 0, -1, "there are no rows");
  if (feed->damage.count == 0)
    return brim_error_at(err, BRIM_E_FORMAT, path, 0, -1, "no rows are left: min_chars and where exclude all of %llu",
                         (unsigned long long)l->rows_read);
  return brim_error_at(err, BRIM_E_FORMAT, path, 0, -1,
                       "no rows are left: %llu are excluded, %llu damaged, the first because of: %s",
                       (unsigned long long)l->rows_excluded, (unsigned long long)l->rows_damaged, feed->damage.items[0].reason);
}

/* After a window that is used up. */
static int leave_window(brim_feed *feed, brim_error *err) {
  brim_window *w = feed->window;
  if (!w)
    return BRIM_OK;
  if (w->last) {
    feed->finished = feed->ledger;
    feed->has_finished = true;
    if (feed->ledger.steps == 0 && feed->ledger.rows_dropped == 0)
      return no_rows(feed, err);
    if (feed->ledger.steps == 0)
      return brim_error_set(err, BRIM_E_USAGE, "an epoch of %llu rows has no full step: drop_last, or tail=drop, drops them all",
                            (unsigned long long)feed->ledger.rows_dropped);
  }
  return BRIM_OK;
}

static int next_window(brim_feed *feed, brim_error *err) {
  void *next = NULL;
  BRIM_TRY(leave_window(feed, err));
  if (!feed->windows) /* not sooner: a feed may be opened only to continue elsewhere */
    BRIM_TRY(begin_producing(feed, err));
  BRIM_TRY(brim_ordered_next(feed->windows, &next, err)); /* at the end the last window stays, for save */
  brim_producer_take_back(&feed->producer, feed->window);
  feed->window = next;
  feed->part = feed->step = 0;
  enter_window(feed, feed->window);
  return list_damage(feed, feed->window, err);
}

/* Finds the part to hand out and notes its step when that begins. Passes over the step that waits for the next window. */
static int next_part(brim_feed *feed, brim_planned *part, brim_error *err) {
  for (;;) {
    if (!feed->window || feed->part == parts_of(feed->window)) {
      BRIM_TRY(next_window(feed, err));
      continue;
    }
    uint64_t step = step_of(feed->window, feed->part), skipped = feed->window->waiting_step;
    if (step == skipped) {
      feed->part++;
      continue;
    }
    if (step - (skipped < step) == feed->step)
      BRIM_TRY(note_step(feed, feed->part, err));
    get_part(feed->window, feed->own_rank, feed->part++, part);
    return BRIM_OK;
  }
}

/* A rank that planned its share of a step alone puts it after those of the ranks before. */
static void place_in_step(brim_feed *feed) {
  uint64_t before, all;
  if (feed->slices.world == 0)
    return;
  brim_rank_readers_step(&feed->slices, feed->batch.step, &before, &all);
  feed->batch.step_rows = (uint32_t)all;
  for (int32_t i = 0; i < feed->batch.count; i++)
    feed->batch.places[i] += (uint32_t)before * (uint32_t)feed->window->dataset->most_texts;
}

/* As an act of go_on, which sets nothing through `over`. */
static int next_batch(brim_feed *feed, bool *over, brim_error *err) {
  (void)over;
  brim_planned part;
  BRIM_TRY(next_part(feed, &part, err));
  BRIM_TRY(brim_batch_fill(&feed->batch, feed->runtime, feed->window->dataset, &part, err));
  feed->batch.step = feed->ledger.steps - 1;
  if (is_weighed(feed))
    feed->batch.divisor = brim_class_counter_divisor(&feed->counter);
  for (uint32_t i = 0; i < part.count; i++)
    feed->batch.rows[i] = feed->ids[part.places[i]];
  place_in_step(feed);
  if (feed->make)
    feed->make(feed->counter.context, &feed->batch);
  return BRIM_OK;
}

/* ---- positions -------------------------------------------------------------------------------------------- */

/* Parts of the present step that were handed out, 0 when all were. */
static uint64_t parts_of_open_step(const brim_feed *feed) {
  uint64_t done = 0;
  if (feed->cancelled)
    return feed->parts_done;
  if (!feed->window || feed->part == 0 || (feed->part == parts_of(feed->window) && !feed->put_back))
    return 0;
  const uint64_t next = feed->part - feed->put_back, behind = step_of(feed->window, next);
  while (done < next && step_of(feed->window, next - 1 - done) == behind)
    done++;
  return done;
}

bool brim_feed_step_over(const brim_feed *feed) {
  return parts_of_open_step(feed) == 0;
}

/* The beginning stays the feed's. */
static void find_position(const brim_feed *feed, brim_feed_position *position) {
  *position = (brim_feed_position){.beginning = feed->window ? feed->window->beginning : feed->resume_at,
                                   .world = world_of(feed)};
  position->part = parts_of_open_step(feed);
  position->step = feed->cancelled ? feed->steps_done : feed->step - (feed->put_back || position->part > 0);
}

/* The feed is there, and has to go there before its next batch. */
static void leave(brim_feed *feed, const brim_feed_position *position) {
  feed->cancelled = true;
  feed->steps_done = position->step;
  feed->parts_done = position->part;
}

/* Goes forward in the first window, without batches. */
static int pass_over(brim_feed *feed, const brim_feed_position *position, brim_error *err) {
  brim_planned part;
  if (position->step == 0 && position->part == 0)
    return BRIM_OK;
  BRIM_TRY(next_window(feed, err));
  while (feed->step < position->step) {
    int status = feed->part < parts_of(feed->window) ? next_part(feed, &part, err) : BRIM_END;
    if (status != BRIM_OK)
      return status != BRIM_END
                 ? status
                 : brim_error_set(
                       err, BRIM_E_MISMATCH,
                       "this window has fewer steps than when the state was saved: the data have changed; begin again");
  }
  /* The rest of the last step that is done, then the parts of the one that is not. */
  uint64_t parts = parts_of(feed->window);
  while (feed->part < parts) {
    const uint64_t step = step_of(feed->window, feed->part), skipped = feed->window->waiting_step;
    if (step != skipped && step - (skipped < step) >= position->step)
      break;
    feed->part++;
  }
  for (uint64_t i = 0; i < position->part; i++) {
    if (feed->part == parts)
      return brim_error_set(err, BRIM_E_MISMATCH,
                            "this step has fewer parts than when the state was saved: the data have changed; begin again");
    BRIM_TRY(next_part(feed, &part, err));
  }
  return BRIM_OK;
}

static int go_to(brim_feed *feed, brim_feed_position *position, brim_error *err) {
  const brim_tokenizer *tokenizer = feed->producer.tokenizer;
  BRIM_TRY(brim_beginning_copy(feed->runtime, &position->beginning, &feed->resume_at, err));
  stop(feed);
  feed->has_finished = false;
  leave(feed, position);
  feed->put_back = false;
  BRIM_TRY(start(feed, tokenizer, &position->beginning, err));
  BRIM_TRY(pass_over(feed, position, err));
  feed->cancelled = false;
  return BRIM_OK;
}

/* Cancelled before anything changed, the feed is where it was, but what was read ahead may be lost. */
static int come_back(brim_feed *feed, brim_error *err) {
  brim_feed_position position;
  brim_beginning own = {0};
  bool finished = feed->has_finished;
  find_position(feed, &position);
  int status = brim_beginning_copy(feed->runtime, &position.beginning, &own, err);
  position.beginning = own;
  if (status == BRIM_OK)
    status = go_to(feed, &position, err);
  feed->has_finished = finished;
  brim_beginning_free(feed->runtime, &position.beginning);
  return status;
}

/* Notes how a call ended. True: it is to be done again, since the cancellation was another call's, which the thread of this feed
 * happened to see. What comes through a pipe is lost for good. */
static bool settle(brim_feed *feed, int status) {
  bool cancelled = status == BRIM_E_CANCELLED && !feed->shards.once;
  brim_feed_position position;
  feed->broken = status != BRIM_OK && status != BRIM_END && !cancelled;
  if (!cancelled)
    return false;
  find_position(feed, &position);
  leave(feed, &position);
  return !brim_runtime_cancelled(feed->runtime);
}

/* ---- the next batch --------------------------------------------------------------------------------------- */

static int refuse_broken(brim_error *err) {
  return brim_error_set(err, BRIM_E_USAGE, "the feed has failed: only brim_feed_close can follow");
}

/* Goes back to where a feed was cancelled, if it was, and continues from there. */
static int go_on(brim_feed *feed, int (*act)(brim_feed *feed, bool *over, brim_error *err), bool *over, brim_error *err) {
  if (feed->broken)
    return refuse_broken(err);
  int status;
  do {
    status = feed->cancelled ? come_back(feed, err) : BRIM_OK;
    if (status == BRIM_OK)
      status = act(feed, over, err);
  } while (settle(feed, status));
  return status;
}

int brim_feed_next(brim_feed *feed, const brim_batch **batch, brim_error *err) {
  BRIM_OUT(err, batch);
  BRIM_GIVEN(err, feed);
  int status = feed->put_back ? BRIM_OK : go_on(feed, next_batch, NULL, err);
  feed->put_back = false;
  *batch = status == BRIM_OK ? &feed->batch : NULL;
  return status;
}

void brim_feed_put_back(brim_feed *feed) {
  feed->put_back = feed->window && feed->part > 0 && !feed->cancelled && !feed->broken;
}

/* ---- for those who compute steps -------------------------------------------------------------------------- */

/* Parts of the window that are still to come, the step that waits passed over. */
static bool has_parts(brim_feed *feed) {
  const brim_window *w = feed->window;
  while (w && feed->part < parts_of(w) && step_of(w, feed->part) == w->waiting_step)
    feed->part++;
  return w && feed->part < parts_of(w);
}

static int find_epoch_end(brim_feed *feed, bool *over, brim_error *err) {
  while (!has_parts(feed)) {
    *over = feed->window && feed->window->last;
    if (*over)
      return BRIM_OK;
    BRIM_TRY(next_window(feed, err));
  }
  return BRIM_OK;
}

double brim_feed_weight(const brim_feed *feed) {
  return is_weighed(feed) ? brim_class_counter_sum(&feed->counter) : 0;
}

int brim_feed_epoch_over(brim_feed *feed, bool *over, brim_error *err) {
  *over = false;
  return feed->put_back ? BRIM_OK : go_on(feed, find_epoch_end, over, err);
}

/* ---- save and restore ------------------------------------------------------------------------------------- */

int brim_feed_save(const brim_feed *feed, brim_text *out, brim_error *err) {
  BRIM_GIVEN(err, feed, out);
  brim_feed_position position;
  find_position(feed, &position);
  return brim_state_write(feed, &position, out, err);
}

static int check_again(const brim_feed *feed, brim_error *err) {
  if (feed->broken)
    return refuse_broken(err);
  if (feed->shards.once)
    return brim_error_set(err, BRIM_E_USAGE,
                          "standard input and pipes cannot be read again, so a saved state cannot be resumed: begin again");
  return BRIM_OK;
}

int brim_feed_restore(brim_feed *feed, const char *state, size_t length, brim_error *err) {
  BRIM_GIVEN(err, feed);
  BRIM_ARRAY(err, state, length);
  brim_feed_position position = {0};
  int status = check_again(feed, err);
  if (status == BRIM_OK)
    status = brim_state_read(feed, state, length, &position, err);
  if (status == BRIM_OK) {
    status = go_to(feed, &position, err);
    feed->broken = status != BRIM_OK && status != BRIM_E_CANCELLED;
  }
  brim_beginning_free(feed->runtime, &position.beginning);
  return status;
}
