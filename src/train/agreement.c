#include "train/agreement.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hashmap.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/status.h"
#include "data/facts.h"
#include "dist/group.h"
#include "feed/steps.h"
#include "model/config.h"
#include "model/run/ask.h"

enum { MOST_EVALS = 64, MOST_ITEMS = 40 + BRIM_TRAIN_OPTION_FIELDS + 4 * MOST_EVALS, SHOWN = 40, MOST_LISTED = 4 };

/* Something that must be the same on all ranks, in words. */
typedef struct item {
  char name[64], value[SHOWN];
  uint64_t hash; /* of the whole value */
} item;

typedef struct items {
  item list[MOST_ITEMS];
  int count;
} items;

static void put(items *all, const char *name, const char *value) {
  if (all->count == MOST_ITEMS)
    return;
  item *it = &all->list[all->count++];
  snprintf(it->name, sizeof it->name, "%.60s", name);
  snprintf(it->value, sizeof it->value, "%.36s", value);
  it->hash = brim_hash64(value, strlen(value), (uint64_t)all->count);
}

static void put_number(items *all, const char *name, uint64_t value) {
  char text[24];
  snprintf(text, sizeof text, "%" PRIu64, value);
  put(all, name, text);
}

static void put_hash(items *all, const char *name, uint64_t value) {
  char text[24];
  snprintf(text, sizeof text, "%016" PRIx64, value);
  put(all, name, text);
}

static void put_flag(items *all, const char *name, bool value) {
  put(all, name, value ? "true" : "false");
}

/* "each epoch": what eval_when and save_when say. */
static void put_rhythm(items *all, const char *name, brim_rhythm rhythm) {
  put(all, name, rhythm == BRIM_NEVER ? "never" : rhythm == BRIM_EVERY_STEPS ? "every so many steps" : "each epoch");
}

/* Each option's value, as JSON. */
static int put_options(items *all, const brim_trainer *t, brim_error *err) {
  brim_field fields[BRIM_TRAIN_OPTION_FIELDS];
  brim_text text;
  brim_text_init(&text, t->runtime);
  const int count = brim_train_option_fields(&t->options, fields);
  for (int i = 0; i < count; i++) {
    brim_text_clear(&text);
    brim_json_put_field(&(brim_json_writer){.out = &text}, &fields[i], false);
    if (text.length)
      put(all, brim_train_option_name(fields[i].name), text.data);
  }
  const int status = brim_text_status(&text, err);
  brim_text_free(&text);
  return status;
}

static void put_evals(items *all, const brim_trainer *t) {
  char name[160];
  put_number(all, "number of evaluation sets", (uint64_t)t->eval_count);
  for (int i = 0; i < t->eval_count && i < MOST_EVALS; i++) {
    const brim_eval_set *set = &t->evals[i];
    put(all, "name of an evaluation set", set->name);
    snprintf(name, sizeof name, "rows of the evaluation set %.30s", set->name);
    put_number(all, name, brim_dataset_rows(set->dataset));
    snprintf(name, sizeof name, "texts or labels of the evaluation set %.20s", set->name);
    put_hash(all, name, brim_dataset_fingerprint(set->dataset));
  }
}

/* A feed's state before its first step: its files and how they are read. With slices each rank has its own. */
static int put_feed(items *all, const brim_trainer *t, brim_error *err) {
  brim_text text;
  if (!t->supply.feed || brim_feed_how(t->supply.feed)->rank_slices)
    return BRIM_OK;
  brim_text_init(&text, t->runtime);
  const int status = brim_feed_save(t->supply.feed, &text, err);
  if (!status)
    put_hash(all, "files of the stream, or the way they are read", brim_hash64(text.data, text.length, 0));
  brim_text_free(&text);
  return status;
}

/* "64,32": numbers of what dense layers give. */
static void put_dense(items *all, const brim_config *config) {
  char widths[12 * BRIM_MOST_DENSE + 8] = "none", *end = widths;
  for (int32_t i = 0; i < config->dense_count; i++)
    end += snprintf(end, 12, "%s%d", i ? "," : "", (int)config->dense[i].out);
  put(all, "dense", widths);
}

/* Options first, then what follows from them. */
static void put_model(items *all, const brim_trainer *t) {
  char dense[BRIM_DENSE_NAMES], pooling[BRIM_POOLING_NAME], layers[BRIM_LAYERS_NAME];
  put(all, "kernels", t->identity.kernels);
  put(all, "model", t->identity.model_type);
  put(all, "task", brim_task_name(brim_model_task(t->model)));
  put(all, "pooling", brim_pooling_name(brim_model_pooling(t->model), pooling));
  put(all, "layers", brim_model_layers(t->model, layers));
  put_dense(all, brim_model_config(t->model));
  put(all, "dense_activation", brim_model_dense(t->model, dense));
  put_flag(all, "no_type_ids", !t->identity.type_ids);
  put_number(all, "number of the model's outputs", (uint64_t)brim_model_outputs(t->model));
  put_number(all, "number of the model's weights", (uint64_t)brim_model_flat_size(t->model));
  put_hash(all, "weights of the model", t->identity.initial_weights);
}

/* Likewise. */
static void put_rows(items *all, const brim_trainer *t) {
  const brim_feed *feed = t->supply.feed;
  const brim_windowing windows = brim_supply_windows(&t->supply);
  put_flag(all, "whole_words",
           feed ? brim_feed_how(feed)->encode.numbering == BRIM_NUMBER_WORDS : brim_dataset_numbers_words(t->supply.dataset));
  put_number(all, "max_windows", (uint64_t)windows.most);
  put_number(all, "windows", (uint64_t)windows.overlap);
  put_number(all, "rows of the training data", t->identity.data_rows);
  put_hash(all, "texts or labels of the training data", t->identity.data_fingerprint);
}

static int put_all(items *all, const brim_trainer *t, brim_error *err) {
  char build[BRIM_BUILD_SIZE];
  brim_build(build);
  put(all, "version of brim", brim_version());
  put(all, "build of brim", build);
  BRIM_TRY(put_options(all, t, err)); /* before what follows from them, as kernels do from the precision */
  put_model(all, t);
  put_rows(all, t);
  put(all, "sums of gradients", t->options.group.apart ? "after backward" : "during backward");
  put_flag(all, "resume", t->options.resume);
  put_flag(all, "resume_anyway", t->options.resume_anyway);
  put_flag(all, "overwrite", t->options.overwrite);
  put(all, "output", t->options.output ? "given" : "not given");
  put(all, "keep", brim_final_name(t->options.final));
  put_rhythm(all, "eval_when", t->options.eval_when);
  put_rhythm(all, "save_when", t->options.save_when);
  put_number(all, "number of steps", t->outlook.total_steps);
  put_number(all, "number of warm-up steps", t->warmup);
  put_number(all, "tokens computed at once", (uint64_t)t->outlook.limits.max_slots);
  BRIM_TRY(put_feed(all, t, err));
  put_evals(all, t);
  return BRIM_OK;
}

/* "rank 2 has 32, rank 0 has 16": with the values that each rank gives for it. */
static int say_difference(const brim_trainer *t, const item *it, brim_error *err) {
  const brim_group *group = &t->options.group;
  const size_t world = (size_t)group->world_size;
  char own[SHOWN] = "", ranks[160] = "";
  snprintf(own, sizeof own, "%s", it ? it->value : "");
  char *values = brim_alloc_array(t->runtime, world, SHOWN);
  int status = values ? brim_group_gather(group, t->runtime, own, SHOWN, values, err) : BRIM_NOMEM(err);
  size_t used = 0, differ = 0, first = 0;
  for (size_t r = world; r-- > 1 && !status;)
    if (strcmp(values + r * SHOWN, values) != 0)
      first = r;
  for (size_t r = 1; r < world && !status; r++)
    if (strcmp(values + r * SHOWN, values) != 0 && differ++ < MOST_LISTED)
      used += (size_t)snprintf(ranks + used, sizeof ranks - used, "%s%zu", differ > 1 ? ", " : "", r);
  if (differ > MOST_LISTED)
    snprintf(ranks + used, sizeof ranks - used, " and %zu more", differ - MOST_LISTED);
  if (!status)
    status = brim_error_set(
        err, BRIM_E_MISMATCH,
        "the ranks would not train the same: %s: %s on rank%s %s, %s on rank 0; start every rank with the same "
        "program, options, model and data",
        it->name, values + first * SHOWN, differ == 1 ? "" : "s", ranks, values);
  brim_release(t->runtime, values);
  return status;
}

/* Counts first: where they differ, so does everything after that; then the first item that is not rank 0's everywhere. */
static int compare(const brim_trainer *t, const items *all, brim_error *err) {
  const brim_group *group = &t->options.group;
  const size_t world = (size_t)group->world_size;
  uint64_t *hashes = brim_alloc_array(t->runtime, world, MOST_ITEMS * sizeof *hashes), own[MOST_ITEMS] = {0};
  for (int i = 0; i < all->count; i++)
    own[i] = all->list[i].hash;
  int status = hashes ? BRIM_OK : BRIM_NOMEM(err);
  status = brim_group_agree(group, status, err);
  if (!status)
    status = brim_group_gather(group, t->runtime, own, sizeof own, hashes, err);
  int differs = MOST_ITEMS;
  for (int i = MOST_ITEMS - 1; i >= 0 && !status; i--)
    for (size_t r = 1; r < world; r++)
      if (hashes[r * MOST_ITEMS + (size_t)i] != hashes[i])
        differs = i;
  brim_release(t->runtime, hashes);
  if (status || differs == MOST_ITEMS)
    return status;
  static const item beyond = {.name = "what is trained", .value = "nothing more"};
  return say_difference(t, differs < all->count ? &all->list[differs] : &beyond, err);
}

int brim_trainer_agree(const brim_trainer *t, brim_error *err) {
  const brim_group *group = &t->options.group;
  if (group->world_size <= 1)
    return BRIM_OK;
  items *all = brim_alloc_zero(t->runtime, sizeof *all);
  int status = all ? put_all(all, t, err) : BRIM_NOMEM(err);
  status = brim_group_agree(group, status, err);
  if (!status)
    status = compare(t, all, err);
  brim_release(t->runtime, all);
  return status;
}
