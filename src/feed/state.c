/* state.c: where a feed stands, as JSON; and what it must find when it comes back. */
#include <stdlib.h>
#include <string.h>

#include "base/hashmap.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/status.h"
#include "data/describe.h"
#include "feed/feed.h"

#define VERSION 3

/* ---- configuration ---------------------------------------------------------------------------------------- */

/* world_size only where it decides which rows make a step; never what is shared out among ranks and parts later. */
static void put_plan(brim_text *out, const brim_plan_options *o) {
  int64_t accumulate = o->accumulate ? o->accumulate : o->batch_size ? 0 : o->world_size > 1 ? o->world_size : 1;
  brim_text_printf(out, "plan %d %d %lld %lld %lld %lld %d %d %lld %lld %d %d %llu %d ", (int)o->batching, (int)o->padding,
                   (long long)o->batch_size, (long long)o->max_tokens, (long long)o->max_rows, (long long)accumulate,
                   (int)o->max_length, (int)o->pad_to_multiple_of, (long long)o->read_ahead,
                   (long long)o->required_batch_size_multiple, o->drop_last, (int)o->oversize, (unsigned long long)o->seed,
                   (int)o->tail);
  brim_text_json_number(out, o->cost_linear);
  brim_text_json_number(out, o->cost_square);
}

int brim_state_configuration(brim_feed *feed, const brim_tokenizer *tokenizer, brim_error *err) {
  const brim_feed_options *o = &feed->options;
  brim_text text;
  brim_text_init(&text, feed->runtime);
  brim_describe_encoding(&text, tokenizer, &o->encode);
  brim_text_printf(&text, "window %llu repeat %d ", (unsigned long long)o->window, o->repeat);
  if (o->rank_slices)
    brim_text_string(&text, "rank slices ");
  for (int i = 0; o->weights && i < feed->shards.source_count; i++) {
    brim_text_printf(&text, "source of %zu weight ", feed->shards.first[i + 1] - feed->shards.first[i]);
    brim_text_json_number(&text, o->weights[i]);
  }
  brim_describe_source(&text, &o->source);
  put_plan(&text, &o->plan);
  brim_describe_labels(&text, o->labels);
  int status = brim_text_status(&text, err);
  if (status == BRIM_OK)
    feed->configuration = brim_hash64(text.data, text.length, 0);
  brim_text_free(&text);
  return status;
}

/* ---- writing ---------------------------------------------------------------------------------------------- */

static void put_hex(brim_text *out, uint64_t value) {
  brim_text_printf(out, "\"%016llx\"", (unsigned long long)value);
}

/* The counts of a ledger that a window's beginning needs, in this order. */
enum { COUNTS = 12 };
static void list_counts(brim_feed_ledger *l, uint64_t *out[COUNTS]) {
  uint64_t *all[COUNTS] = {&l->rows_read,    &l->rows_excluded, &l->rows_damaged,   &l->rows_yielded,
                           &l->rows_dropped, &l->rows_waiting,  &l->rows_truncated, &l->tokens_lost,
                           &l->tokens,       &l->slots,         &l->batches,        &l->steps};
  memcpy(out, all, sizeof all);
}

int brim_state_write(const brim_feed *feed, const brim_feed_place *place, brim_text *out, brim_error *err) {
  const brim_beginning *b = &place->beginning;
  brim_feed_ledger ledger = b->ledger;
  uint64_t *counts[COUNTS];
  brim_text_printf(out, "{\"brim_feed\":%d,\"configuration\":", VERSION);
  put_hex(out, feed->configuration);
  brim_text_string(out, ",\"shards\":[");
  for (size_t i = 0; i < feed->shards.count; i++) {
    brim_text_string(out, i ? "," : "");
    put_hex(out, feed->shards.prints[i]);
  }
  brim_text_printf(out, "],\"epoch\":%llu,\"window\":%llu,\"step\":%llu,\"part\":%llu,\"world_size\":%llu",
                   (unsigned long long)b->epoch, (unsigned long long)b->window, (unsigned long long)place->step,
                   (unsigned long long)place->part, (unsigned long long)place->world);
  brim_text_printf(out, ",\"taken\":%llu,\"places\":[", (unsigned long long)b->taken);
  for (int i = 0; i < feed->shards.source_count; i++) {
    const brim_place *at = &b->places[i].place;
    brim_text_printf(out, "%s[%lld,%lld,%lld,%llu,%llu,%llu]", i ? "," : "", (long long)at->file, (long long)at->byte,
                     (long long)at->line, (unsigned long long)at->row, (unsigned long long)at->file_row,
                     (unsigned long long)b->places[i].pass);
  }
  if (feed->slices.world) {
    brim_text_printf(out, "],\"rank\":%d,\"given\":[", (int)feed->slices.rank);
    for (int i = 0; i < feed->shards.source_count; i++)
      brim_text_printf(out, "%s%llu", i ? "," : "", (unsigned long long)b->places[i].rows);
  }
  brim_text_string(out, "],\"waiting\":[");
  for (size_t i = 0; i < b->waiting_count; i++)
    brim_text_printf(out, "%s[%lld,%llu,%lld,%lld]", i ? "," : "", (long long)brim_feed_file(b->waiting[i].row),
                     (unsigned long long)brim_feed_record(b->waiting[i].row), (long long)b->waiting[i].spot.byte,
                     (long long)b->waiting[i].spot.line);
  brim_text_string(out, "],\"ledger\":[");
  list_counts(&ledger, counts);
  for (int i = 0; i < COUNTS; i++)
    brim_text_printf(out, "%s%llu", i ? "," : "", (unsigned long long)*counts[i]);
  brim_text_string(out, "],\"hash\":");
  put_hex(out, ledger.hash);
  brim_text_string(out, "}");
  return brim_text_status(out, err);
}

/* ---- reading ---------------------------------------------------------------------------------------------- */

static int malformed(brim_error *err) {
  return brim_error_set(err, BRIM_E_FORMAT, "the state of the feed is damaged: it is not what brim_feed_save wrote");
}

static bool read_hex(const brim_json_value *value, uint64_t *out) {
  char digits[17];
  if (!value || value->kind != BRIM_JSON_STRING || value->length != 16)
    return false;
  memcpy(digits, value->as.text, 16);
  digits[16] = 0;
  char *end;
  *out = strtoull(digits, &end, 16);
  return *end == 0;
}

/* An array of exactly `count` numbers from 0. */
static bool read_numbers(const brim_json_value *array, int64_t *out, uint32_t count) {
  if (!array || array->kind != BRIM_JSON_ARRAY || array->length != count)
    return false;
  for (const brim_json_value *v = brim_json_first(array); v; v = brim_json_after(array, v)) {
    if (v->kind != BRIM_JSON_INT || v->as.integer < 0)
      return false;
    *out++ = v->as.integer;
  }
  return true;
}

static bool read_count(const brim_json_value *root, const char *key, uint64_t *out) {
  const brim_json_value *value = brim_json_get(root, key);
  if (!value || value->kind != BRIM_JSON_INT || value->as.integer < 0)
    return false;
  *out = (uint64_t)value->as.integer;
  return true;
}

static int compare_shards(const brim_feed *feed, const brim_json_value *array, brim_error *err) {
  size_t i = 0;
  if (!array || array->kind != BRIM_JSON_ARRAY)
    return malformed(err);
  if (array->length != feed->shards.count)
    return brim_error_set(err, BRIM_E_MISMATCH, "the state was saved over %u files, here are %zu: give the same, or begin anew",
                          (unsigned)array->length, feed->shards.count);
  for (const brim_json_value *v = brim_json_first(array); v; v = brim_json_after(array, v), i++) {
    uint64_t print;
    if (!read_hex(v, &print))
      return malformed(err);
    if (print != feed->shards.prints[i])
      return brim_error_at(err, BRIM_E_MISMATCH, feed->shards.paths[i], 0, -1,
                           "is not the file that it was when the state was saved (its name, size or content differ)");
  }
  return BRIM_OK;
}

static int read_waiting(const brim_feed *feed, const brim_json_value *array, brim_beginning *b, brim_error *err) {
  if (!array || array->kind != BRIM_JSON_ARRAY)
    return malformed(err);
  BRIM_TRY(brim_grow(feed->runtime, (void **)&b->waiting, &b->waiting_room, array->length, sizeof *b->waiting, err));
  for (const brim_json_value *v = brim_json_first(array); v; v = brim_json_after(array, v)) {
    int64_t numbers[4];
    if (!read_numbers(v, numbers, 4) || (uint64_t)numbers[0] >= feed->shards.count || numbers[1] >> BRIM_FEED_RECORD_BITS)
      return malformed(err);
    b->waiting[b->waiting_count++] = (brim_waiting){.row = (uint64_t)numbers[0] << BRIM_FEED_RECORD_BITS | (uint64_t)numbers[1],
                                                    .spot = {numbers[2], numbers[3]}};
  }
  return BRIM_OK;
}

static int read_places(const brim_feed *feed, const brim_json_value *array, brim_beginning *b, brim_error *err) {
  if (!array || array->kind != BRIM_JSON_ARRAY || (int)array->length != feed->shards.source_count)
    return malformed(err);
  int i = 0;
  for (const brim_json_value *v = brim_json_first(array); v; v = brim_json_after(array, v)) {
    int64_t n[6];
    if (!read_numbers(v, n, 6) || n[4] > n[3])
      return malformed(err);
    b->places[i++] = (brim_mix_place){
        .place = {.file = n[0], .byte = n[1], .line = n[2], .row = (uint64_t)n[3], .file_row = (uint64_t)n[4]},
        .pass = (uint64_t)n[5]};
  }
  return BRIM_OK;
}

/* The rows that each source of a slice has given. */
static int read_given(const brim_feed *feed, const brim_json_value *array, brim_beginning *b, brim_error *err) {
  int64_t rows[BRIM_FEED_SOURCES];
  if (!read_numbers(array, rows, (uint32_t)feed->shards.source_count))
    return malformed(err);
  for (int i = 0; i < feed->shards.source_count; i++) {
    b->places[i].rows = (uint64_t)rows[i];
    if (b->places[i].rows > feed->slices.rows[i])
      return malformed(err);
  }
  return BRIM_OK;
}

/* A slice is that of a rank among so many, and no other's. */
static int compare_slice(const brim_feed *feed, const brim_json_value *root, uint64_t world, brim_error *err) {
  uint64_t rank;
  if (!read_count(root, "rank", &rank))
    return malformed(err);
  if (world == (uint64_t)feed->slices.world && rank == (uint64_t)feed->slices.rank)
    return BRIM_OK;
  return brim_error_set(
      err, BRIM_E_MISMATCH,
      "the state is of the slice of rank %llu of %llu, not of rank %d of %d: with rank_slices neither can change",
      (unsigned long long)rank, (unsigned long long)world, (int)feed->slices.rank, (int)feed->slices.world);
}

static int read_beginning(const brim_feed *feed, const brim_json_value *root, brim_beginning *b, brim_error *err) {
  int64_t numbers[COUNTS];
  uint64_t *counts[COUNTS];
  if (!read_count(root, "epoch", &b->epoch) || !read_count(root, "window", &b->window) || !read_count(root, "taken", &b->taken) ||
      !read_numbers(brim_json_get(root, "ledger"), numbers, COUNTS) || !read_hex(brim_json_get(root, "hash"), &b->ledger.hash))
    return malformed(err);
  BRIM_TRY(read_places(feed, brim_json_get(root, "places"), b, err));
  if (feed->slices.world)
    BRIM_TRY(read_given(feed, brim_json_get(root, "given"), b, err));
  b->ledger.epoch = b->epoch;
  list_counts(&b->ledger, counts);
  for (int i = 0; i < COUNTS; i++)
    *counts[i] = (uint64_t)numbers[i];
  return read_waiting(feed, brim_json_get(root, "waiting"), b, err);
}

static int read_state(const brim_feed *feed, const brim_json_value *root, brim_feed_place *place, brim_error *err) {
  uint64_t version = 0, configuration = 0,
           world = feed->options.plan.world_size > 1 ? (uint64_t)feed->options.plan.world_size : 1;
  if (!read_count(root, "brim_feed", &version) || !read_hex(brim_json_get(root, "configuration"), &configuration))
    return malformed(err);
  if (version != VERSION)
    return brim_error_set(err, BRIM_E_MISMATCH, "the state has version %llu, this brim reads version %d",
                          (unsigned long long)version, VERSION);
  BRIM_TRY(compare_shards(feed, brim_json_get(root, "shards"), err));
  if (configuration != feed->configuration)
    return brim_error_set(
        err, BRIM_E_MISMATCH,
        "the state was saved with another tokenizer or other options (columns, selection, lengths, batches, window, "
        "seed): use the same, or begin anew");
  BRIM_TRY(read_beginning(feed, root, &place->beginning, err));
  if (!read_count(root, "step", &place->step) || !read_count(root, "part", &place->part) ||
      !read_count(root, "world_size", &place->world))
    return malformed(err);
  if (feed->slices.world)
    return compare_slice(feed, root, place->world, err);
  if (place->part && place->world != world)
    return brim_error_set(err, BRIM_E_MISMATCH,
                          "the state stands inside a step of %llu ranks: another world_size can begin only between two steps",
                          (unsigned long long)place->world);
  return BRIM_OK;
}

int brim_state_read(const brim_feed *feed, const char *state, size_t length, brim_feed_place *place, brim_error *err) {
  brim_json_document *document = NULL;
  BRIM_TRY(brim_json_parse(feed->runtime, state, length, NULL, &document, err));
  int status = read_state(feed, brim_json_root(document), place, err);
  brim_json_free(document);
  return status;
}
