/* tell.c: what a feed reports of itself. */
#include "feed/feed.h"

#include "base/status.h"
#include "batch/collate.h"
#include "data/source.h"
#include "feed/steps.h"
#include "task/task.h"

double brim_feed_share(const brim_feed *feed) {
  const brim_window *w = feed->window;
  if (!w)
    return 0;
  uint64_t steps = brim_plan_steps(w->plan) + w->idle - (w->waiting_step != UINT64_MAX);
  return steps ? w->share_before + (w->share_after - w->share_before) * ((double)feed->step / (double)steps) : w->share_after;
}

void brim_feed_limits(const brim_feed *feed, int64_t *slots, int64_t *rows, int32_t *width) {
  const brim_plan_options *p = &feed->own;
  int64_t longest = feed->options.encode.max_length, multiple = p->pad_to_multiple_of > 1 ? p->pad_to_multiple_of : 1;
  if (p->max_length && (longest == 0 || p->max_length < longest))
    longest = p->max_length;
  if (p->padding == BRIM_PAD_MAX_LENGTH)
    longest = p->max_length;
  if (p->padding != BRIM_PAD_NONE)
    longest = (longest + multiple - 1) / multiple * multiple;
  *slots = *rows = 0;
  *width = (int32_t)longest;
  if (longest == 0)
    return;
  const int64_t texts = brim_source_most_texts(&feed->options.source);
  *rows = p->max_tokens ? p->max_tokens / feed->least : p->batch_size * texts;
  if (p->batch_size && p->batch_size * texts < *rows)
    *rows = p->batch_size * texts;
  if (p->max_rows && p->max_rows < *rows)
    *rows = p->max_rows;
  if (*rows < texts) /* a row may be over the budget alone */
    *rows = texts;
  *slots = *rows * longest;
  if (p->max_tokens && p->max_tokens < *slots)
    *slots = p->max_tokens;
  if (*slots < texts * longest) /* likewise */
    *slots = texts * longest;
}

int64_t brim_feed_step_rows(const brim_feed *feed) {
  const brim_plan_options *p = &feed->options.plan;
  const int64_t parts = p->accumulate ? p->accumulate : p->world_size > 1 ? p->world_size : 1;
  return p->batch_size ? p->batch_size : parts * (p->max_tokens / feed->least > 1 ? p->max_tokens / feed->least : 1);
}

uint64_t brim_feed_tokenizer(const brim_feed *feed) {
  return feed->tokenizer;
}

const brim_feed_options *brim_feed_how(const brim_feed *feed) {
  return &feed->options;
}

int brim_feed_blocks(const brim_feed *feed, brim_block_shape shapes[BRIM_MOST_BLOCKS]) {
  const brim_feed_options *o = &feed->options;
  shapes[BRIM_LABEL_BLOCK] = o->encode.numbering                 ? brim_token_label_shape()
                             : o->source.need_label && o->labels ? brim_labels_shape(o->labels)
                                                                 : brim_row_label_shape(1);
  for (int b = 0; b < o->source.block_count; b++)
    shapes[b + 1] = o->source.blocks[b].shape;
  return 1 + o->source.block_count;
}

int brim_feed_weigh(brim_feed *feed, const double *class_weights, brim_error *err) {
  const brim_feed_options *o = &feed->options;
  if (class_weights && (!o->source.need_label || !o->labels || !brim_task_has_outcomes(o->labels->task)))
    return brim_error_set(err, BRIM_E_USAGE,
                          "the feed has no classes that could have weights: give need_label and labels of a classification");
  return brim_class_counter_weigh(&feed->counter, feed->runtime, class_weights, o->labels ? o->labels->count : 0, err);
}

void brim_feed_make(brim_feed *feed, const brim_feed_maker *maker) {
  feed->make = maker ? maker->make : NULL;
  feed->counter.units = maker ? maker->units : NULL;
  feed->counter.context = maker ? maker->context : NULL;
}

uint64_t brim_feed_epoch(const brim_feed *feed) {
  return feed->ledger.epoch;
}

void brim_feed_tell(const brim_feed *feed, brim_feed_ledger *out) {
  *out = feed->ledger;
}

bool brim_feed_finished(const brim_feed *feed, brim_feed_ledger *out) {
  *out = feed->finished;
  return feed->has_finished;
}

const brim_exclusion *brim_feed_damage(const brim_feed *feed, uint64_t *count) {
  *count = feed->damage.count;
  return feed->damage.items;
}

uint64_t brim_feed_memory(const brim_feed *feed) {
  const brim_feed_options *o = &feed->options;
  uint64_t other = 256; /* of a row: pointers, lengths, places, the plan and what making it takes */
  const uint64_t texts = (uint64_t)brim_source_most_texts(&o->source);
  const uint64_t token = sizeof(int32_t) + 1 + (o->encode.numbering ? sizeof(int32_t) : 0);
  uint64_t row = texts * (uint64_t)o->encode.max_length * token + other;
  row += texts > 1 ? texts * sizeof(int32_t) : 0; /* their lengths */
  const uint64_t windows = o->encode.numbering && o->encode.max_windows > 1 ? (uint64_t)o->encode.max_windows : 1;
  brim_block_shape shapes[BRIM_MOST_BLOCKS];
  const int count = brim_feed_blocks(feed, shapes);
  row += brim_blocks_memory(shapes + 1, count - 1, 1, texts, 0);
  return o->encode.max_length ? ((uint64_t)o->prefetch + 2) * (o->window + windows - 1) * row : 0;
}

int64_t brim_feed_file_count(const brim_feed *feed) {
  return (int64_t)feed->shards.count;
}

const char *brim_feed_file_name(const brim_feed *feed, int64_t file) {
  return feed->shards.paths[file];
}
