/* state.c: where a feed is, as JSON; and what it must find when it comes back. */
#include <stdlib.h>
#include <string.h>

#include "base/hashmap.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/text.h"
#include "data/describe.h"
#include "feed/feed.h"
#include "text/encode.h"

#define VERSION 5
#define FORMER  4 /* without a digest, and still read */

/* ---- configuration ---------------------------------------------------------------------------------------- */

/* world_size only where it decides which rows make a step; never what is shared out among ranks and parts later. */
static void put_plan(brim_text *out, const brim_plan_options *o) {
  const int64_t one_a_rank = o->world_size > 1 && o->slices == 0 ? o->world_size : 1;
  int64_t accumulate = o->accumulate ? o->accumulate : o->batch_size ? 0 : one_a_rank;
  brim_text_printf(out, "plan %d %d %lld %lld %lld %lld %d %d %lld %lld %d %d %llu %d ", (int)o->batching, (int)o->padding,
                   (long long)o->batch_size, (long long)o->max_tokens, (long long)o->max_rows, (long long)accumulate,
                   (int)o->max_length, (int)o->pad_to_multiple_of, (long long)o->read_ahead,
                   (long long)o->required_batch_size_multiple, o->drop_last, (int)o->oversize, (unsigned long long)o->seed,
                   (int)o->tail);
  brim_text_json_number(out, o->cost_linear);
  brim_text_json_number(out, o->cost_square);
  if (o->slices)
    brim_text_printf(out, " slices %d", (int)o->slices);
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

/* A 64-bit number, not negative, and its name in the state. */
typedef struct named {
  const char *name;
  size_t at;
} named;

static const named POSITION[] = {
    {"file", offsetof(brim_mix_position, position.file)},         {"byte", offsetof(brim_mix_position, position.byte)},
    {"line", offsetof(brim_mix_position, position.line)},         {"row", offsetof(brim_mix_position, position.row)},
    {"file_row", offsetof(brim_mix_position, position.file_row)}, {"pass", offsetof(brim_mix_position, pass)},
    {"rows_given", offsetof(brim_mix_position, rows_given)}};

/* A row of an earlier window: its name is taken to pieces. */
typedef struct waiting_position {
  uint64_t file, record;
  int64_t byte, line, number;
} waiting_position;

static const named WAITING[] = {{"file", offsetof(waiting_position, file)},
                                {"record", offsetof(waiting_position, record)},
                                {"byte", offsetof(waiting_position, byte)},
                                {"line", offsetof(waiting_position, line)},
                                {"number", offsetof(waiting_position, number)}};

/* What of a ledger a window begins with; the epoch and the hash are written separately. */
static const named LEDGER[] = {{"rows_read", offsetof(brim_feed_ledger, rows_read)},
                               {"rows_excluded", offsetof(brim_feed_ledger, rows_excluded)},
                               {"rows_damaged", offsetof(brim_feed_ledger, rows_damaged)},
                               {"rows_yielded", offsetof(brim_feed_ledger, rows_yielded)},
                               {"rows_dropped", offsetof(brim_feed_ledger, rows_dropped)},
                               {"rows_waiting", offsetof(brim_feed_ledger, rows_waiting)},
                               {"rows_truncated", offsetof(brim_feed_ledger, rows_truncated)},
                               {"tokens_lost", offsetof(brim_feed_ledger, tokens_lost)},
                               {"tokens", offsetof(brim_feed_ledger, tokens)},
                               {"slots", offsetof(brim_feed_ledger, slots)},
                               {"batches", offsetof(brim_feed_ledger, batches)},
                               {"steps", offsetof(brim_feed_ledger, steps)}};

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* A row's number in its record is written where records give several. */
static size_t waiting_fields(const brim_feed *feed) {
  const brim_encode_options *encode = &feed->options.encode;
  return encode->numbering && brim_makes_windows(encode) ? COUNT(WAITING) : COUNT(WAITING) - 1;
}

static void put_named(brim_json_writer *json, const char *name, const named *fields, size_t count, const void *from) {
  brim_json_open_object(json, name);
  for (size_t i = 0; i < count; i++) {
    uint64_t value;
    memcpy(&value, (const char *)from + fields[i].at, sizeof value);
    brim_json_put_count(json, fields[i].name, value);
  }
  brim_json_close_object(json);
}

static void put_hex(brim_json_writer *json, const char *name, uint64_t value) {
  brim_json_put_printf(json, name, "\"%016llx\"", (unsigned long long)value);
}

static void put_beginning(brim_json_writer *json, const brim_feed *feed, const brim_beginning *b) {
  brim_json_put_count(json, "epoch", b->epoch);
  brim_json_put_count(json, "window", b->window);
  brim_json_put_count(json, "rows_taken", b->rows_taken);
  brim_json_open_array(json, "places");
  for (int i = 0; i < feed->shards.source_count; i++)
    put_named(json, NULL, POSITION, COUNT(POSITION), &b->positions[i]);
  brim_json_close_array(json);
  brim_json_open_array(json, "waiting");
  for (size_t i = 0; i < b->waiting_count; i++) {
    const brim_waiting *w = &b->waiting[i];
    const waiting_position position = {(uint64_t)brim_feed_file(w->row), brim_feed_record(w->row), w->spot.byte, w->spot.line,
                                       w->spot.number};
    put_named(json, NULL, WAITING, waiting_fields(feed), &position);
  }
  brim_json_close_array(json);
  put_named(json, "ledger", LEDGER, COUNT(LEDGER), &b->ledger);
  put_hex(json, "hash", b->ledger.hash);
  if (b->ledger.tokens_repeated)
    brim_json_put_count(json, "tokens_repeated", b->ledger.tokens_repeated);
}

/* The object stays open. */
static int put_state(const brim_feed *feed, const brim_feed_position *position, brim_json_writer *json, brim_error *err) {
  brim_json_open_object(json, NULL);
  brim_json_put_integer(json, "brim_feed", VERSION);
  put_hex(json, "configuration", feed->configuration);
  brim_json_open_array(json, "shards");
  for (size_t i = 0; i < feed->shards.count; i++)
    put_hex(json, NULL, feed->shards.prints[i]);
  brim_json_close_array(json);
  brim_json_put_count(json, "steps_done", position->step);
  brim_json_put_count(json, "parts_done", position->part);
  brim_json_put_count(json, "world_size", position->world);
  if (feed->slices.world)
    brim_json_put_integer(json, "rank", feed->slices.rank);
  put_beginning(json, feed, &position->beginning);
  return brim_text_status(json->out, err);
}

/* Of the state as it is written: white space and the order of members, which are others after a way through Python, do not count.
 */
static uint64_t digest_of(const brim_text *text, size_t from) {
  return brim_hash64(text->data + from, text->length - from, VERSION);
}

int brim_state_write(const brim_feed *feed, const brim_feed_position *position, brim_text *out, brim_error *err) {
  brim_json_writer json = {.out = out};
  const size_t from = out->length;
  BRIM_TRY(put_state(feed, position, &json, err));
  put_hex(&json, "digest", digest_of(out, from));
  brim_json_close_object(&json);
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

static bool read_count(const brim_json_value *root, const char *key, uint64_t *out) {
  const brim_json_value *value = brim_json_get(root, key);
  if (!value || value->kind != BRIM_JSON_INT || value->as.integer < 0)
    return false;
  *out = (uint64_t)value->as.integer;
  return true;
}

/* An object of exactly these numbers. */
static bool read_named(const brim_json_value *object, const named *fields, size_t count, void *to) {
  if (!object || object->kind != BRIM_JSON_OBJECT || object->length != count)
    return false;
  for (size_t i = 0; i < count; i++) {
    uint64_t value;
    if (!read_count(object, fields[i].name, &value))
      return false;
    memcpy((char *)to + fields[i].at, &value, sizeof value);
  }
  return true;
}

static int compare_shards(const brim_feed *feed, const brim_json_value *array, brim_error *err) {
  size_t i = 0;
  if (!array || array->kind != BRIM_JSON_ARRAY)
    return malformed(err);
  if (array->length != feed->shards.count)
    return brim_error_set(err, BRIM_E_MISMATCH,
                          "the state was saved with %u files, but %zu are given: give the same files, or begin again",
                          (unsigned)array->length, feed->shards.count);
  for (const brim_json_value *v = brim_json_first(array); v; v = brim_json_after(array, v), i++) {
    uint64_t print;
    if (!read_hex(v, &print))
      return malformed(err);
    if (print != feed->shards.prints[i])
      return brim_error_at(err, BRIM_E_MISMATCH, feed->shards.paths[i], 0, -1,
                           "this file differs from the one that the state was saved with (name, size or content): give the same "
                           "files, or begin again");
  }
  return BRIM_OK;
}

static int read_waiting(const brim_feed *feed, const brim_json_value *array, brim_beginning *b, brim_error *err) {
  if (!array || array->kind != BRIM_JSON_ARRAY)
    return malformed(err);
  BRIM_TRY(brim_grow(feed->runtime, (void **)&b->waiting, &b->waiting_room, array->length, sizeof *b->waiting, err));
  for (const brim_json_value *v = brim_json_first(array); v; v = brim_json_after(array, v)) {
    waiting_position position = {0};
    if (!read_named(v, WAITING, waiting_fields(feed), &position) || position.file >= feed->shards.count ||
        position.record >> BRIM_FEED_RECORD_BITS)
      return malformed(err);
    b->waiting[b->waiting_count++] = (brim_waiting){.row = position.file << BRIM_FEED_RECORD_BITS | position.record,
                                                    .spot = {position.byte, position.line, position.number}};
  }
  return BRIM_OK;
}

static int read_positions(const brim_feed *feed, const brim_json_value *array, brim_beginning *b, brim_error *err) {
  if (!array || array->kind != BRIM_JSON_ARRAY || (int)array->length != feed->shards.source_count)
    return malformed(err);
  int i = 0;
  for (const brim_json_value *v = brim_json_first(array); v; v = brim_json_after(array, v), i++) {
    brim_mix_position *position = &b->positions[i];
    const uint64_t rows = feed->slices.world ? feed->slices.source_rows[i]
                                             : 0; /* of the source; nothing is counted without slices */
    if (!read_named(v, POSITION, COUNT(POSITION), position) || position->position.file_row > position->position.row ||
        position->rows_given > rows)
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
  return brim_error_set(err, BRIM_E_MISMATCH,
                        "the state was saved by rank %llu of %llu, but this is rank %d of %d: with rank_slices, resume with the "
                        "same number of ranks",
                        (unsigned long long)rank, (unsigned long long)world, (int)feed->slices.rank, (int)feed->slices.world);
}

static int read_beginning(const brim_feed *feed, const brim_json_value *root, brim_beginning *b, brim_error *err) {
  if (!read_count(root, "epoch", &b->epoch) || !read_count(root, "window", &b->window) ||
      !read_count(root, "rows_taken", &b->rows_taken) ||
      !read_named(brim_json_get(root, "ledger"), LEDGER, COUNT(LEDGER), &b->ledger) ||
      !read_hex(brim_json_get(root, "hash"), &b->ledger.hash))
    return malformed(err);
  if (!read_count(root, "tokens_repeated", &b->ledger.tokens_repeated)) /* where none is, nothing is said of it */
    b->ledger.tokens_repeated = 0;
  b->ledger.epoch = b->epoch;
  BRIM_TRY(read_positions(feed, brim_json_get(root, "places"), b, err));
  return read_waiting(feed, brim_json_get(root, "waiting"), b, err);
}

/* What was read is what was written, in every number. */
static int compare_digest(const brim_feed *feed, const brim_feed_position *position, const brim_json_value *digest,
                          brim_error *err) {
  uint64_t written = 0;
  brim_text text;
  brim_text_init(&text, feed->runtime);
  brim_json_writer json = {.out = &text};
  int status = put_state(feed, position, &json, err);
  if (!status && !(read_hex(digest, &written) && written == digest_of(&text, 0)))
    status = malformed(err);
  brim_text_free(&text);
  return status;
}

static int read_state(const brim_feed *feed, const brim_json_value *root, brim_feed_position *position, brim_error *err) {
  uint64_t version = 0, configuration = 0,
           world = feed->options.plan.world_size > 1 ? (uint64_t)feed->options.plan.world_size : 1;
  if (!read_count(root, "brim_feed", &version) || !read_hex(brim_json_get(root, "configuration"), &configuration))
    return malformed(err);
  if (version != VERSION && version != FORMER)
    return brim_error_set(err, BRIM_E_MISMATCH, "the state has version %llu, this brim reads version %d: begin again",
                          (unsigned long long)version, VERSION);
  BRIM_TRY(compare_shards(feed, brim_json_get(root, "shards"), err));
  if (configuration != feed->configuration)
    return brim_error_set(
        err, BRIM_E_MISMATCH,
        "the state was saved with another tokenizer or other options (columns, selection, lengths, batches, window, "
        "seed): use the same, or begin again");
  BRIM_TRY(read_beginning(feed, root, &position->beginning, err));
  if (!read_count(root, "steps_done", &position->step) || !read_count(root, "parts_done", &position->part) ||
      !read_count(root, "world_size", &position->world))
    return malformed(err);
  if (feed->slices.world)
    BRIM_TRY(compare_slice(feed, root, position->world, err));
  else if (position->part && position->world != world)
    return brim_error_set(err, BRIM_E_MISMATCH,
                          "the state was saved inside a step of %llu ranks: another world_size can begin only between two steps",
                          (unsigned long long)position->world);
  const brim_json_value *digest = brim_json_get(root, "digest");
  if (version == FORMER)
    return digest ? malformed(err) : BRIM_OK;
  return compare_digest(feed, position, digest, err);
}

int brim_state_read(const brim_feed *feed, const char *state, size_t length, brim_feed_position *position, brim_error *err) {
  brim_json_document *document = NULL;
  BRIM_TRY(brim_json_parse(feed->runtime, state, length, NULL, &document, err));
  int status = read_state(feed, brim_json_root(document), position, err);
  brim_json_free(document);
  return status;
}
