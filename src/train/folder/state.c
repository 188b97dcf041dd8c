/* state.c: state.json of a checkpoint. Members are listed in tables, so that what is written is what is read and compared.
 *
 *   {"version":3,"brim":"0.1.0","model":{..},"data":{..},"options":{..},"state":{..},"hashes":{..},"digest":".."}
 *
 * The digest is the hash of all bytes before it; version 2 had none and is still read. Hashes are hexadecimal text, seeds are
 * signed 64-bit numbers of the same bits. */
#include "train/folder/state.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/hashmap.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/status.h"
#include "model/run/ask.h"
#include "train/folder/fields.h"

#define STATE_VERSION 3
#define STATE_OLDEST  2
#define STATE_LIMIT   (1u << 20) /* bytes of a state.json, far more than one has */

typedef enum member_kind {
  MEMBER_REAL,
  MEMBER_I64,
  MEMBER_U64,
  MEMBER_I32,
  MEMBER_BOOL,
  MEMBER_TEXT,
  MEMBER_BATCHING,
  MEMBER_PADDING,
  MEMBER_OVERSIZE,
  MEMBER_TAIL,
  MEMBER_SCHEDULE,
  MEMBER_PRECISION,
  MEMBER_OPEN = 0x100,   /* with a kind of number: 0 means nothing given, and is written as null */
  MEMBER_FREE = 0x200,   /* may be another when the run is resumed */
  MEMBER_LENGTH = 0x400, /* how long the run is: whoever resumes it compares it */
  MEMBER_LATER = 0x800   /* states that are older than the option lack it: it was not given */
} member_kind;

/* A member of a struct, as a named value. */
typedef struct member {
  const char *name;
  int kind; /* member_kind */
  size_t offset;
} member;

/* The name of an enumeration's value. */
static const char *member_name(int kind, const void *at) {
  switch (kind) {
  case MEMBER_BATCHING:
    return brim_batching_name(*(const brim_batching *)at);
  case MEMBER_PADDING:
    return brim_padding_name(*(const brim_padding *)at);
  case MEMBER_OVERSIZE:
    return brim_oversize_name(*(const brim_oversize *)at);
  case MEMBER_PRECISION:
    return brim_precision_name(*(const brim_precision *)at);
  case MEMBER_SCHEDULE:
    return brim_schedule_name(*(const brim_schedule *)at);
  default:
    return brim_tail_name(*(const brim_tail *)at);
  }
}

static brim_field member_value(const member *m, const void *at) {
  const char *text;
  switch (m->kind & 0xff) {
  case MEMBER_REAL:
    return BRIM_FIELD_REAL(m->name, *(const double *)at);
  case MEMBER_I64:
    return BRIM_FIELD_INT(m->name, *(const int64_t *)at);
  case MEMBER_U64:
    return BRIM_FIELD_UNSIGNED(m->name, *(const uint64_t *)at);
  case MEMBER_I32:
    return BRIM_FIELD_INT(m->name, *(const int32_t *)at);
  case MEMBER_BOOL:
    return BRIM_FIELD_BOOL(m->name, *(const bool *)at);
  case MEMBER_TEXT:
    text = *(const char *const *)at;
    return text && *text ? BRIM_FIELD_TEXT(m->name, text) : BRIM_FIELD_JSON(m->name, "null");
  default:
    return BRIM_FIELD_TEXT(m->name, member_name(m->kind & 0xff, at));
  }
}

static brim_field member_field(const member *m, const void *object) {
  brim_field field = member_value(m, (const char *)object + m->offset);
  bool zero = field.kind == BRIM_VALUE_REAL ? field.real == 0.0 : field.integer == 0;
  return m->kind & MEMBER_OPEN && zero ? BRIM_FIELD_JSON(m->name, "null") : field;
}

/* ---- the tables ------------------------------------------------------------------------------------------- */

#define OPTION(name, kind)       {#name, kind, offsetof(brim_train_options, name)}
#define LOSS(name, kind)         {#name, kind, offsetof(brim_train_options, loss.name)}
#define PLAN(name, kind)         {#name, kind, offsetof(brim_train_options, plan.name)}
#define EVAL(name, member, kind) {name, kind, offsetof(brim_train_options, eval.member)}
enum { FREE_I64 = MEMBER_I64 | MEMBER_OPEN | MEMBER_FREE };
enum { OPEN_I64 = MEMBER_I64 | MEMBER_OPEN, OPEN_I32 = MEMBER_I32 | MEMBER_OPEN, OPEN_REAL = MEMBER_REAL | MEMBER_OPEN };
static const member option_members[] = {
    PLAN(batching, MEMBER_BATCHING),
    PLAN(padding, MEMBER_PADDING),
    PLAN(batch_size, OPEN_I64),
    PLAN(max_tokens, OPEN_I64),
    PLAN(max_rows, OPEN_I64),
    PLAN(accumulate, OPEN_I64),
    PLAN(max_length, OPEN_I32),
    PLAN(pad_to_multiple_of, OPEN_I32),
    PLAN(read_ahead, OPEN_I64),
    PLAN(required_batch_size_multiple, OPEN_I64),
    PLAN(drop_last, MEMBER_BOOL),
    PLAN(oversize, MEMBER_OVERSIZE),
    PLAN(tail, MEMBER_TAIL),
    PLAN(slices, OPEN_I32),
    PLAN(cost_linear, OPEN_REAL),
    PLAN(cost_square, OPEN_REAL),
    {"plan_seed", MEMBER_U64, offsetof(brim_train_options, plan.seed)},
    OPTION(epochs, OPEN_REAL | MEMBER_LENGTH),
    OPTION(max_steps, OPEN_I64 | MEMBER_LENGTH),
    OPTION(lr, MEMBER_REAL),
    OPTION(beta1, MEMBER_REAL),
    OPTION(beta2, MEMBER_REAL),
    OPTION(eps, MEMBER_REAL),
    OPTION(weight_decay, MEMBER_REAL),
    OPTION(optimizer, MEMBER_TEXT | MEMBER_LATER),
    OPTION(momentum, OPEN_REAL | MEMBER_LATER),
    OPTION(decay_towards, MEMBER_TEXT | MEMBER_LATER),
    OPTION(mixout, OPEN_REAL | MEMBER_LATER),
    OPTION(clip, OPEN_REAL),
    OPTION(schedule, MEMBER_SCHEDULE),
    OPTION(warmup_steps, MEMBER_I64),
    OPTION(warmup_ratio, OPEN_REAL),
    OPTION(class_weights, MEMBER_TEXT),
    OPTION(mask_rate, MEMBER_TEXT | MEMBER_LATER),
    OPTION(label_smoothing, MEMBER_REAL),
    {"loss", MEMBER_TEXT | MEMBER_LATER, offsetof(brim_train_options, loss.name)},
    LOSS(scale, OPEN_REAL | MEMBER_LATER),
    LOSS(margin, OPEN_REAL | MEMBER_LATER),
    LOSS(temperature, OPEN_REAL | MEMBER_LATER),
    LOSS(positive_weight, OPEN_REAL | MEMBER_LATER),
    LOSS(distance, MEMBER_TEXT | MEMBER_LATER),
    LOSS(directions, MEMBER_TEXT | MEMBER_LATER),
    LOSS(partition, MEMBER_TEXT | MEMBER_LATER),
    LOSS(similarity, MEMBER_TEXT | MEMBER_LATER),
    LOSS(hardness, MEMBER_TEXT | MEMBER_LATER),
    LOSS(hardness_strength, OPEN_REAL | MEMBER_LATER),
    LOSS(matryoshka, MEMBER_TEXT | MEMBER_LATER),
    LOSS(matryoshka_weights, MEMBER_TEXT | MEMBER_LATER),
    OPTION(freeze, MEMBER_TEXT),
    OPTION(train_only, MEMBER_TEXT | MEMBER_LATER),
    OPTION(layer_lr_decay, MEMBER_REAL),
    OPTION(precision, MEMBER_PRECISION),
    OPTION(loss_scale, OPEN_REAL),
    OPTION(loss_scale_steps, OPEN_I64),
    OPTION(checkpoint_activations, MEMBER_BOOL | MEMBER_FREE),
    OPTION(seed, MEMBER_U64),
    OPTION(log_every, FREE_I64),
    OPTION(eval_every, FREE_I64),
    OPTION(save_every, FREE_I64),
    OPTION(keep_checkpoints, MEMBER_I32 | MEMBER_FREE),
    OPTION(best_metric, MEMBER_TEXT),
    OPTION(patience, OPEN_I64),
    OPTION(min_delta, MEMBER_REAL),
    OPTION(swa_start, OPEN_REAL),
    OPTION(swa_every, OPEN_I64),
    EVAL("eval_batching", batching, MEMBER_BATCHING | MEMBER_FREE),
    EVAL("eval_padding", padding, MEMBER_PADDING | MEMBER_FREE),
    EVAL("eval_batch_size", batch_size, FREE_I64),
    EVAL("eval_max_tokens", max_tokens, FREE_I64),
};
_Static_assert(sizeof option_members / sizeof *option_members == BRIM_TRAIN_OPTION_FIELDS, "the header's count is wrong");

#define STATE(name, kind) {#name, kind, offsetof(brim_train_state, name)}
#define TALLY(prefix, tally)                                                                                                     \
  {prefix "_loss", MEMBER_REAL, offsetof(brim_train_state, tally.loss)},                                                         \
      {prefix "_weight", MEMBER_REAL, offsetof(brim_train_state, tally.weight)},                                                 \
      {prefix "_rows", MEMBER_I64, offsetof(brim_train_state, tally.rows)},                                                      \
      {prefix "_tokens", MEMBER_I64, offsetof(brim_train_state, tally.tokens)}, {                                                \
    prefix "_slots", MEMBER_I64, offsetof(brim_train_state, tally.slots)                                                         \
  }
static const member state_members[] = {
    STATE(step, MEMBER_I64),      STATE(epoch, MEMBER_I64),      STATE(epoch_step, MEMBER_I64),
    STATE(pending, MEMBER_BOOL),  STATE(scheduled, MEMBER_BOOL), TALLY("run", run),
    TALLY("epoch", since_epoch),  TALLY("log", since_log),       STATE(last_loss, MEMBER_REAL),
    STATE(best, MEMBER_REAL),     STATE(best_step, MEMBER_I64),  STATE(seconds, MEMBER_REAL),
    STATE(log_bytes, MEMBER_I64), STATE(reference, MEMBER_REAL), STATE(waited, MEMBER_I64),
    STATE(stopped, MEMBER_BOOL),  STATE(averaged, MEMBER_I64),   STATE(loss_scale, MEMBER_REAL),
    STATE(scaled, MEMBER_I64),    STATE(skipped, MEMBER_I64),    STATE(negatives, MEMBER_I64),
    STATE(left_out, MEMBER_I64),
};
enum { STATE_MEMBERS = sizeof state_members / sizeof *state_members };

int brim_train_option_fields(const brim_train_options *options, brim_field fields[BRIM_TRAIN_OPTION_FIELDS]) {
  for (int i = 0; i < BRIM_TRAIN_OPTION_FIELDS; i++)
    fields[i] = member_field(&option_members[i], options);
  return BRIM_TRAIN_OPTION_FIELDS;
}

/* ---- writing ---------------------------------------------------------------------------------------------- */

void brim_fields_put(brim_json_writer *json, const char *name, const brim_field *fields, int count) {
  brim_json_open_object(json, name);
  for (int i = 0; i < count; i++)
    brim_json_put_field(json, &fields[i], true);
  brim_json_close_object(json);
}

/* A group of members, on a new line. */
static void group_put(brim_json_writer *json, const char *name, const brim_field *fields, int count) {
  brim_json_begin_line(json);
  brim_fields_put(json, name, fields, count);
}

/* Hashes travel as text: they use all 64 bits, which few JSON readers keep. */
typedef struct hash_text {
  char hex[17];
} hash_text;

static hash_text hash_hex(uint64_t hash) {
  hash_text text;
  snprintf(text.hex, sizeof text.hex, "%016" PRIx64, hash);
  return text;
}

/* What the numbers of labels mean: the same rows under other names are another job. */
static uint64_t labels_hash(const brim_train_identity *identity) {
  const brim_labels *labels = brim_model_labels(identity->model);
  uint64_t hash = (uint64_t)labels->task;
  for (int32_t i = 0; labels->names && i < labels->count; i++)
    hash = brim_hash64(labels->names[i], strlen(labels->names[i]) + 1, hash);
  return hash;
}

static void identity_put(brim_json_writer *json, const brim_train_identity *identity) {
  hash_text weights = hash_hex(identity->initial_weights), data = hash_hex(identity->data_fingerprint),
            labels = hash_hex(labels_hash(identity)), judged_by = hash_hex(identity->judged_by);
  char dense[BRIM_DENSE_NAMES];
  const brim_field model[] = {BRIM_FIELD_TEXT("type", identity->model_type),
                              BRIM_FIELD_TEXT("kernels", identity->kernels),
                              BRIM_FIELD_TEXT("pooling", identity->pooling),
                              BRIM_FIELD_BOOL("type_ids", identity->type_ids),
                              BRIM_FIELD_TEXT("dense", brim_model_dense(identity->model, dense)),
                              BRIM_FIELD_TEXT("initial_weights", weights.hex)};
  const brim_field dataset[] = {BRIM_FIELD_INT("rows", identity->data_rows), BRIM_FIELD_TEXT("fingerprint", data.hex),
                                BRIM_FIELD_TEXT("labels", labels.hex), BRIM_FIELD_TEXT("judged_by", judged_by.hex)};
  brim_field options[BRIM_TRAIN_OPTION_FIELDS], config[BRIM_MODEL_CONFIG_FIELDS];
  brim_train_option_fields(identity->options, options);
  for (int i = 0; i < BRIM_TRAIN_OPTION_FIELDS; i++) /* a state has these 64 bits as JSON readers keep them: with a sign */
    options[i].kind = options[i].kind == BRIM_VALUE_UNSIGNED ? BRIM_VALUE_INT : options[i].kind;
  group_put(json, "model", model, sizeof model / sizeof *model);
  group_put(json, "data", dataset, sizeof dataset / sizeof *dataset);
  group_put(json, "options", options, BRIM_TRAIN_OPTION_FIELDS);
  group_put(json, "config", config, brim_model_config_fields(identity->model, config));
}

/* The object stays open for the digest. */
static void state_text(brim_text *out, const brim_train_state *state, const brim_train_identity *identity,
                       const brim_train_hashes *hashes) {
  hash_text weights = hash_hex(hashes->values), moments = hash_hex(hashes->optimizer), average = hash_hex(hashes->average);
  const brim_field of_files[] = {BRIM_FIELD_TEXT("weights", weights.hex), BRIM_FIELD_TEXT("moments", moments.hex),
                                 BRIM_FIELD_TEXT("average", average.hex)};
  brim_field fields[STATE_MEMBERS];
  for (int i = 0; i < STATE_MEMBERS; i++)
    fields[i] = member_field(&state_members[i], state);
  brim_json_writer json = {.out = out};
  brim_json_open_object(&json, NULL);
  brim_json_put_integer(&json, "version", STATE_VERSION);
  brim_json_put_string(&json, "brim", brim_version());
  brim_json_put_integer(&json, "world_size", identity->options->group.world_size);
  identity_put(&json, identity);
  group_put(&json, "state", fields, STATE_MEMBERS);
  group_put(&json, "hashes", of_files, sizeof of_files / sizeof *of_files);
  brim_train_state_seal(out);
}

int brim_train_state_write(brim_runtime *runtime, const char *path, const brim_train_state *state,
                           const brim_train_identity *identity, const brim_train_hashes *hashes, brim_error *err) {
  brim_text text;
  brim_text_init(&text, runtime);
  state_text(&text, state, identity, hashes);
  int status = brim_text_status(&text, err);
  if (!status)
    status = brim_file_write_own(runtime, path, text.data, text.length, err);
  brim_text_free(&text);
  return status;
}

/* ---- the digest ------------------------------------------------------------------------------------------- */

#define DIGEST_BEFORE ",\"digest\":\""
#define DIGEST_AFTER  "\"}\n"
enum { DIGEST_LENGTH = sizeof DIGEST_BEFORE - 1 + 16 + sizeof DIGEST_AFTER - 1 };

static void digest_text(const char *bytes, size_t length, char text[DIGEST_LENGTH + 1]) {
  snprintf(text, DIGEST_LENGTH + 1, DIGEST_BEFORE "%s" DIGEST_AFTER, hash_hex(brim_hash64(bytes, length, STATE_VERSION)).hex);
}

void brim_train_state_seal(brim_text *text) {
  char digest[DIGEST_LENGTH + 1];
  digest_text(text->data ? text->data : "", text->length, digest);
  brim_text_string(text, digest);
}

static bool digest_fits(const char *bytes, size_t length) {
  char digest[DIGEST_LENGTH + 1];
  if (length < DIGEST_LENGTH)
    return false;
  digest_text(bytes, length - DIGEST_LENGTH, digest);
  return memcmp(bytes + length - DIGEST_LENGTH, digest, DIGEST_LENGTH) == 0;
}

static int state_parses(brim_runtime *runtime, const char *path, bool *parses, brim_error *err) {
  brim_json_document *document = NULL;
  int status = brim_json_load(runtime, path, STATE_LIMIT, &document, err);
  *parses = !status && brim_json_get(brim_json_root(document), "hashes") != NULL;
  brim_json_free(document);
  return status == BRIM_E_FORMAT ? BRIM_OK : status;
}

int brim_train_state_is_ours(brim_runtime *runtime, const char *path, bool *ours, brim_error *err) {
  static const char oldest[] = "{\"version\":2,\"brim\":\"";
  char *bytes = NULL;
  size_t length = *ours = 0;
  struct stat info;
  if (stat(path, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size > STATE_LIMIT)
    return BRIM_OK;
  BRIM_TRY(brim_file_read_plain(runtime, path, STATE_LIMIT, &bytes, &length, err));
  *ours = digest_fits(bytes, length);
  bool old = !*ours && length > sizeof oldest && memcmp(bytes, oldest, sizeof oldest - 1) == 0;
  brim_runtime_release(runtime, bytes);
  return old ? state_parses(runtime, path, ours, err) : BRIM_OK;
}

bool brim_train_state_begins_well(const char *path) {
  static const char begin[] = "{\"version\":";
  char head[sizeof begin] = "";
  const size_t got = brim_file_head(path, head, sizeof begin - 1);
  return brim_path_exists(path) && memcmp(head, begin, got) == 0;
}

/* ---- reading ---------------------------------------------------------------------------------------------- */

static int member_read(const brim_json_document *document, const brim_json_value *object, const member *m, void *target,
                       brim_error *err) {
  void *at = (char *)target + m->offset;
  if (m->kind == MEMBER_REAL)
    return brim_json_read_real(document, object, m->name, at, err);
  if (m->kind == MEMBER_BOOL)
    return brim_json_read_bool(document, object, m->name, at, err);
  return brim_json_read_int(document, object, m->name, INT64_MIN, INT64_MAX, at, err);
}

static int hash_read(const brim_json_document *document, const brim_json_value *object, const char *key, uint64_t *out,
                     brim_error *err) {
  const char *text = NULL;
  size_t length = 0;
  BRIM_TRY(brim_json_read_string(document, object, key, &text, &length, err));
  *out = 0;
  for (size_t i = 0; i < length; i++) {
    const char *digits = "0123456789abcdef", *digit = memchr(digits, text[i], 16);
    if (length != 16 || !digit)
      return brim_json_error(document, object, err, BRIM_E_FORMAT, "\"%s\" is not a hash: the state is damaged", key);
    *out = *out << 4 | (uint64_t)(digit - digits);
  }
  if (length == 0)
    return brim_json_error(document, object, err, BRIM_E_FORMAT, "\"%s\" is missing: the state is damaged", key);
  return BRIM_OK;
}

static bool field_equals(const brim_json_value *value, const brim_field *field) {
  switch (field->kind) {
  case BRIM_VALUE_TEXT:
    return brim_json_is_string(value, field->text);
  case BRIM_VALUE_INT:
  case BRIM_VALUE_UNSIGNED:
    return value->kind == BRIM_JSON_INT && value->as.integer == field->integer;
  case BRIM_VALUE_JSON:
    return value->kind == BRIM_JSON_NULL;
  case BRIM_VALUE_BOOL:
    return value->kind == BRIM_JSON_BOOL && (value->as.integer != 0) == (field->integer != 0);
  default:
    return (value->kind == BRIM_JSON_INT || value->kind == BRIM_JSON_REAL) && brim_json_number(value) == field->real;
  }
}

typedef struct short_text {
  char text[40];
} short_text;

static short_text value_text(const brim_json_value *value) {
  short_text out;
  int length = (int)(value->length < 32 ? value->length : 32);
  if (value->kind == BRIM_JSON_STRING)
    snprintf(out.text, sizeof out.text, "%.*s", length, value->as.text);
  else if (value->kind == BRIM_JSON_NULL)
    snprintf(out.text, sizeof out.text, "not given");
  else if (value->kind == BRIM_JSON_BOOL)
    snprintf(out.text, sizeof out.text, "%s", value->as.integer ? "true" : "false");
  else
    snprintf(out.text, sizeof out.text, "%.9g", brim_json_number(value));
  return out;
}

static short_text field_short(const brim_field *field) {
  short_text out;
  if (field->kind == BRIM_VALUE_TEXT)
    snprintf(out.text, sizeof out.text, "%.32s", field->text);
  else if (field->kind == BRIM_VALUE_JSON)
    snprintf(out.text, sizeof out.text, "not given");
  else if (field->kind == BRIM_VALUE_BOOL)
    snprintf(out.text, sizeof out.text, "%s", field->integer ? "true" : "false");
  else if (field->kind == BRIM_VALUE_UNSIGNED)
    snprintf(out.text, sizeof out.text, "%" PRIu64, (uint64_t)field->integer);
  else
    snprintf(out.text, sizeof out.text, "%.9g", field->kind == BRIM_VALUE_INT ? (double)field->integer : field->real);
  return out;
}

/* What a state has for an option. */
static short_text stored_text(const brim_json_value *value, const brim_field *now) {
  if (now->kind != BRIM_VALUE_UNSIGNED || value->kind != BRIM_JSON_INT)
    return value_text(value);
  return field_short(&BRIM_FIELD_UNSIGNED(now->name, value->as.integer));
}

const char *brim_train_option_name(const char *field) {
  return strcmp(field, "plan_seed") == 0 ? "seed" : field;
}

static int state_compare_options(const brim_json_document *document, const brim_train_options *options, brim_error *err) {
  const brim_json_value *stored = brim_json_get(brim_json_root(document), "options");
  brim_field fields[BRIM_TRAIN_OPTION_FIELDS];
  brim_train_option_fields(options, fields);
  for (int i = 0; i < BRIM_TRAIN_OPTION_FIELDS; i++) {
    const brim_json_value *value = brim_json_get(stored, fields[i].name);
    const bool is_younger = !value && fields[i].kind == BRIM_VALUE_JSON; /* than the run, or not given then and now */
    if (!value && !is_younger && option_members[i].kind & MEMBER_LATER)
      return brim_json_error(document, stored, err, BRIM_E_MISMATCH,
                             "the run was begun without %s, now it is %s: leave it out to resume, or give another output folder",
                             brim_train_option_name(fields[i].name), field_short(&fields[i]).text);
    if (!value && !is_younger)
      return brim_json_error(document, stored, err, BRIM_E_FORMAT, "the option \"%s\" is missing: the state is damaged",
                             fields[i].name);
    if (is_younger)
      continue;
    if (option_members[i].kind & (MEMBER_FREE | MEMBER_LENGTH) || field_equals(value, &fields[i]))
      continue;
    return brim_json_error(document, value, err, BRIM_E_MISMATCH,
                           "the run was begun with %s %s, now it is %s: give the same value to resume, or another output folder",
                           brim_train_option_name(fields[i].name), stored_text(value, &fields[i]).text,
                           field_short(&fields[i]).text);
  }
  return BRIM_OK;
}

/* Of layers that began with the same weights. A state of before says nothing of them. */
static int state_compare_dense(const brim_json_document *document, const brim_json_value *model,
                               const brim_train_identity *identity, brim_error *err) {
  const brim_json_value *stored = brim_json_get(model, "dense");
  char now[BRIM_DENSE_NAMES];
  if (!stored || brim_json_is_string(stored, brim_model_dense(identity->model, now)))
    return BRIM_OK;
  return brim_json_error(document, stored, err, BRIM_E_MISMATCH,
                         "the run was begun with dense_activation %s, now it is %s (of all dense layers): give the same value to "
                         "resume, or another output folder",
                         value_text(stored).text, now);
}

static int state_compare_model(const brim_json_document *document, const brim_train_identity *identity, brim_error *err) {
  const brim_json_value *model = brim_json_get(brim_json_root(document), "model");
  const char *kernels = "";
  size_t length = 0;
  uint64_t weights;
  if (!brim_json_is_string(brim_json_get(model, "type"), identity->model_type))
    return brim_json_error(document, model, err, BRIM_E_MISMATCH,
                           "the checkpoint is of another kind of model, not \"%s\": give the model that the run began with",
                           identity->model_type);
  BRIM_TRY(brim_json_read_string(document, model, "kernels", &kernels, &length, err));
  const bool same = length == strlen(identity->kernels) && memcmp(kernels, identity->kernels, length) == 0;
  if (!same && !identity->options->resume_anyway)
    return brim_json_error(document, model, err, BRIM_E_MISMATCH,
                           "the run was begun with the kernels %.*s, but the model was loaded with %s: load it with those of the "
                           "run, or continue with other bits (resume_anyway)",
                           (int)length, kernels, identity->kernels);
  bool types = false;
  BRIM_TRY(brim_json_read_bool(document, model, "type_ids", &types, err));
  const brim_json_value *pooling = brim_json_get(model, "pooling");
  if (!pooling || !brim_json_is_string(pooling, identity->pooling))
    return brim_json_error(document, model, err, BRIM_E_MISMATCH,
                           "the run was begun with pooling %s, now it is %.60s: give the same pooling and layers to resume, or "
                           "another output folder",
                           pooling ? value_text(pooling).text : "not given", identity->pooling);
  if (types != identity->type_ids)
    return brim_json_error(
        document, model, err, BRIM_E_MISMATCH,
        "the run was begun with no_type_ids %s, now it is %s: give the same value to resume, or another output folder",
        types ? "false" : "true", identity->type_ids ? "false" : "true");
  BRIM_TRY(hash_read(document, model, "initial_weights", &weights, err));
  if (weights == identity->initial_weights)
    return state_compare_dense(document, model, identity, err);
  return brim_json_error(
      document, model, err, BRIM_E_MISMATCH,
      "the run was begun from other weights: give the model and the seed that it began with, and the same reinit_layers, "
      "keep_head and new dense layer");
}

/* A state of before says nothing of it. */
static int state_compare_config(const brim_json_document *document, const brim_train_identity *identity, brim_error *err) {
  const brim_json_value *stored = brim_json_get(brim_json_root(document), "config");
  brim_field fields[BRIM_MODEL_CONFIG_FIELDS];
  const int count = stored ? brim_model_config_fields(identity->model, fields) : 0;
  for (int i = 0; i < count; i++) {
    const brim_json_value *value = brim_json_get(stored, fields[i].name);
    const bool own = fields[i].kind == BRIM_VALUE_UNSIGNED; /* a number that says nothing to people */
    if (value && !field_equals(value, &fields[i]))
      return brim_json_error(document, value, err, BRIM_E_MISMATCH,
                             "the run was begun with a config.json where %s is %s%s%s: give the model that it began with",
                             fields[i].name, own ? "another" : value_text(value).text, own ? "" : ", now it is ",
                             own ? "" : field_short(&fields[i]).text);
  }
  return BRIM_OK;
}

/* 0, which a state of before lacks too: there is none. */
static int state_compare_hash(const brim_json_document *document, const brim_json_value *data, const char *key, uint64_t now,
                              const char *what, brim_error *err) {
  uint64_t before = 0;
  if (brim_json_get(data, key))
    BRIM_TRY(hash_read(document, data, key, &before, err));
  return before == 0 || now == 0 || before == now
             ? BRIM_OK
             : brim_json_error(document, data, err, BRIM_E_MISMATCH, "the run was begun with %s, or another output folder", what);
}

/* The best checkpoint and the end of patience are of evaluations of one set; a run may begin or cease to evaluate. */
static int state_compare_meaning(const brim_json_document *document, const brim_json_value *data,
                                 const brim_train_identity *identity, brim_error *err) {
  BRIM_TRY(state_compare_hash(document, data, "labels", labels_hash(identity),
                              "classes of other names: give the same labels to resume", err));
  return state_compare_hash(document, data, "judged_by", identity->judged_by,
                            "other evaluation rows, which its best checkpoint was chosen by: give the same to resume", err);
}

static int state_compare_data(const brim_json_document *document, const brim_train_identity *identity, brim_error *err) {
  const brim_json_value *data = brim_json_get(brim_json_root(document), "data");
  int64_t rows = 0;
  uint64_t fingerprint;
  BRIM_TRY(brim_json_read_int(document, data, "rows", 0, INT64_MAX, &rows, err));
  BRIM_TRY(hash_read(document, data, "fingerprint", &fingerprint, err));
  if ((uint64_t)rows == identity->data_rows && fingerprint == identity->data_fingerprint)
    return state_compare_meaning(document, data, identity, err);
  if ((rows == 0) != (identity->data_rows == 0)) /* a stream's rows are not known beforehand */
    return brim_json_error(document, data, err, BRIM_E_MISMATCH,
                           "the run was begun on %s, now it is %s: resume it as it was begun",
                           rows ? "data in memory" : "a stream", rows ? "a stream" : "data in memory");
  return brim_json_error(
      document, data, err, BRIM_E_MISMATCH,
      "the run was begun on other training data (%" PRId64 " rows, now %" PRIu64
      "%s): give the same file and max_length (of masked words whole_words too) to resume, or another output folder",
      rows, identity->data_rows, (uint64_t)rows == identity->data_rows ? " with other contents" : "");
}

static int state_load(brim_runtime *runtime, const char *path, brim_json_document **document, brim_error *err) {
  BRIM_TRY(brim_json_load(runtime, path, STATE_LIMIT, document, err));
  int64_t version = 0;
  int status = brim_json_read_int(*document, brim_json_root(*document), "version", 0, INT64_MAX, &version, err);
  bool ours = false;
  if (!status && (version < STATE_OLDEST || version > STATE_VERSION))
    status = brim_json_error(*document, NULL, err, BRIM_E_UNSUPPORTED,
                             "this checkpoint has version %" PRId64
                             ", this brim reads versions %d and %d: resume with the brim that wrote it",
                             version, STATE_OLDEST, STATE_VERSION);
  if (!status)
    status = brim_train_state_is_ours(runtime, path, &ours, err);
  if (!status && !ours)
    status = brim_error_at(err, BRIM_E_FORMAT, path, 0, -1,
                           "the state of this checkpoint is damaged: remove its folder to resume from an older one");
  if (!status)
    return BRIM_OK;
  brim_json_free(*document);
  *document = NULL;
  return status;
}

static bool is_number(const brim_json_value *value) {
  return value->kind == BRIM_JSON_INT || value->kind == BRIM_JSON_REAL;
}

/* After the comparisons, which have seen that the members are there. */
static int former_read(const brim_json_document *d, brim_train_former *former, brim_error *err) {
  const brim_json_value *root = brim_json_root(d), *o = brim_json_get(root, "options"), *data = brim_json_get(root, "data");
  const brim_json_value *epochs = brim_json_get(o, "epochs"), *steps = brim_json_get(o, "max_steps");
  const char *kernels = "";
  size_t length = 0;
  BRIM_TRY(brim_json_read_string(d, brim_json_get(root, "model"), "kernels", &kernels, &length, err));
  *former = (brim_train_former){.epochs = is_number(epochs) ? brim_json_number(epochs) : 0.0,
                                .max_steps = steps->kind == BRIM_JSON_INT ? (uint64_t)steps->as.integer : 0};
  snprintf(former->kernels, sizeof former->kernels, "%.*s", (int)length, kernels);
  return brim_json_get(data, "judged_by") ? hash_read(d, data, "judged_by", &former->judged_by, err) : BRIM_OK;
}

static int state_parse(const brim_json_document *document, const brim_train_identity *identity, brim_train_state *state,
                       brim_train_hashes *hashes, brim_train_former *former, brim_error *err) {
  BRIM_TRY(state_compare_data(document, identity, err));
  BRIM_TRY(state_compare_options(document, identity->options, err));
  BRIM_TRY(state_compare_model(document, identity, err));
  BRIM_TRY(state_compare_config(document, identity, err));
  if (former)
    BRIM_TRY(former_read(document, former, err));
  const brim_json_value *root = brim_json_root(document);
  const brim_json_value *sums = brim_json_get(root, "state"), *stored = brim_json_get(root, "hashes");
  *state = (brim_train_state){.best = (double)NAN, .last_loss = (double)NAN, .reference = (double)NAN};
  for (int i = 0; i < STATE_MEMBERS; i++)
    BRIM_TRY(member_read(document, sums, &state_members[i], state, err));
  BRIM_TRY(hash_read(document, stored, "weights", &hashes->values, err));
  BRIM_TRY(hash_read(document, stored, "average", &hashes->average, err));
  return hash_read(document, stored, "moments", &hashes->optimizer, err);
}

int brim_train_state_read(brim_runtime *runtime, const char *path, const brim_train_identity *identity, brim_train_state *state,
                          brim_train_hashes *hashes, brim_train_former *former, brim_error *err) {
  brim_json_document *document;
  BRIM_TRY(state_load(runtime, path, &document, err));
  int status = state_parse(document, identity, state, hashes, former, err);
  brim_json_free(document);
  return status;
}

int brim_train_state_kernels(brim_runtime *runtime, const char *path, char **kernels, int64_t *max_tokens, brim_error *err) {
  brim_json_document *document;
  *kernels = NULL;
  BRIM_TRY(state_load(runtime, path, &document, err));
  const char *text = "";
  size_t length = 0;
  int status = brim_json_read_string(document, brim_json_get(brim_json_root(document), "model"), "kernels", &text, &length, err);
  const brim_json_value *slots = brim_json_get(brim_json_get(brim_json_root(document), "options"), "max_tokens");
  *max_tokens = slots && slots->kind == BRIM_JSON_INT ? slots->as.integer : 0;
  if (!status && !(*kernels = brim_copy_string(runtime, text, length)))
    status = BRIM_NOMEM(err);
  brim_json_free(document);
  return status;
}
