#include "base/status.h"
#include "batch/plan.h"
#include "batch/recipe.h"
#include <math.h>
#include <string.h>

static const char *const batching_names[] = {"sequential", "random", "uniform", "sorted", "bucketed", "packed"};
static const char *const padding_names[] = {"none", "longest", "max_length"};
static const char *const oversize_names[] = {"error", "truncate", "alone"};
static const char *const tail_names[] = {"resplit", "fill", "drop"};

#define COUNT(names) ((int)(sizeof(names) / sizeof *(names)))

static const char *name_of(const char *const *names, int count, int value) {
  return value >= 0 && value < count ? names[value] : "unknown";
}

/* The position of `name`, or -1; '-' counts as '_'. */
static int parse(const char *const *names, int count, const char *name) {
  for (int i = 0; name && i < count; i++) {
    const char *a = name, *b = names[i];
    while (*a && (*a == *b || (*a == '-' && *b == '_')))
      a++, b++;
    if (!*a && !*b)
      return i;
  }
  return -1;
}

const char *brim_batching_name(brim_batching batching) {
  return name_of(batching_names, COUNT(batching_names), (int)batching);
}

const char *brim_padding_name(brim_padding padding) {
  return name_of(padding_names, COUNT(padding_names), (int)padding);
}

const char *brim_oversize_name(brim_oversize oversize) {
  return name_of(oversize_names, COUNT(oversize_names), (int)oversize);
}

const char *brim_tail_name(brim_tail tail) {
  return name_of(tail_names, COUNT(tail_names), (int)tail);
}

bool brim_batching_parse(const char *name, brim_batching *out) {
  int value = parse(batching_names, COUNT(batching_names), name);
  if (value >= 0)
    *out = (brim_batching)value;
  return value >= 0;
}

bool brim_padding_parse(const char *name, brim_padding *out) {
  int value = parse(padding_names, COUNT(padding_names), name);
  if (value >= 0)
    *out = (brim_padding)value;
  return value >= 0;
}

bool brim_oversize_parse(const char *name, brim_oversize *out) {
  int value = parse(oversize_names, COUNT(oversize_names), name);
  if (value >= 0)
    *out = (brim_oversize)value;
  return value >= 0;
}

bool brim_tail_parse(const char *name, brim_tail *out) {
  int value = parse(tail_names, COUNT(tail_names), name);
  if (value >= 0)
    *out = (brim_tail)value;
  return value >= 0;
}

void brim_plan_cost_shape(brim_plan_options *options, double parameters, int32_t layers, int32_t hidden) {
  options->cost_linear = 6.0 * parameters;
  options->cost_square = 12.0 * layers * hidden;
}

static int check_ranges(const brim_plan_options *o, brim_error *err) {
  if ((int)o->batching < 0 || (int)o->batching >= COUNT(batching_names) || (int)o->padding < 0 ||
      (int)o->padding >= COUNT(padding_names) || (int)o->oversize < 0 || (int)o->oversize >= COUNT(oversize_names) ||
      (int)o->tail < 0 || (int)o->tail >= COUNT(tail_names))
    return brim_error_set(err, BRIM_E_USAGE, "batching, padding, oversize or tail is none of the values in brim/batch.h");
  const struct {
    const char *name;
    int64_t value, most;
  } fields[] = {
      {"batch_size", o->batch_size, UINT32_MAX}, {"max_tokens", o->max_tokens, INT64_MAX},
      {"max_rows", o->max_rows, INT64_MAX},      {"accumulate", o->accumulate, UINT32_MAX},
      {"max_length", o->max_length, INT32_MAX},  {"pad_to_multiple_of", o->pad_to_multiple_of, 1 << 20},
      {"read_ahead", o->read_ahead, INT64_MAX},  {"required_batch_size_multiple", o->required_batch_size_multiple, UINT32_MAX},
      {"world_size", o->world_size, 1 << 20},    {"slices", o->slices, BRIM_MOST_SLICES},
  };
  for (int i = 0; i < COUNT(fields); i++) {
    if (fields[i].value < 0 || fields[i].value > fields[i].most)
      return brim_error_set(err, BRIM_E_USAGE, "%s is %lld: it must be from 0 to %lld", fields[i].name,
                            (long long)fields[i].value, (long long)fields[i].most);
  }
  if (!(o->cost_linear >= 0 && o->cost_square >= 0 && isfinite(o->cost_linear) && isfinite(o->cost_square)))
    return brim_error_set(err, BRIM_E_USAGE, "cost_linear and cost_square must be finite and not negative");
  return BRIM_OK;
}

static int check_together(const brim_plan_options *o, brim_error *err) {
  if (!o->batch_size && !o->max_tokens && !o->rows_for)
    return brim_error_set(err, BRIM_E_USAGE, "neither batch_size nor max_tokens is set: give one of them (or both)");
  if (o->padding == BRIM_PAD_MAX_LENGTH && !o->max_length)
    return brim_error_set(err, BRIM_E_USAGE, "padding max_length needs max_length, the width of every row");
  if (o->batching == BRIM_PACKED && !o->max_tokens)
    return brim_error_set(err, BRIM_E_USAGE, "packed batching needs max_tokens, the budget that rows are packed into");
  int64_t multiple = o->required_batch_size_multiple;
  if (multiple > 1 && o->batch_size % multiple)
    return brim_error_set(err, BRIM_E_USAGE, "batch_size %lld is not a multiple of required_batch_size_multiple %lld",
                          (long long)o->batch_size, (long long)multiple);
  if (multiple > 1 && o->max_rows && o->max_rows < multiple)
    return brim_error_set(err, BRIM_E_USAGE, "max_rows %lld is less than required_batch_size_multiple %lld",
                          (long long)o->max_rows, (long long)multiple);
  return BRIM_OK;
}

/* Without TRUNCATE the limit is max_length; with it rows are also cut to what max_tokens holds. */
static int set_limit(const brim_plan_options *o, brim_budget *budget, brim_error *err) {
  int32_t rounding = budget->rounding;
  int64_t width = ((int64_t)o->max_length + rounding - 1) / rounding * rounding;
  if (width > INT32_MAX)
    return brim_error_set(err, BRIM_E_USAGE, "max_length rounded up to pad_to_multiple_of is too large");
  budget->limit = o->max_length ? o->max_length : INT32_MAX;
  budget->full_width = (int32_t)width;
  if (o->oversize == BRIM_OVERSIZE_TRUNCATE && o->max_tokens) {
    int64_t fit = o->padding == BRIM_PAD_NONE ? o->max_tokens : o->max_tokens / rounding * rounding;
    if (fit < 1)
      return brim_error_set(err, BRIM_E_USAGE, "max_tokens %lld holds no row: pad_to_multiple_of is %d", (long long)o->max_tokens,
                            (int)rounding);
    if (fit < budget->limit)
      budget->limit = (int32_t)fit;
    if (fit < budget->full_width)
      budget->full_width = (int32_t)fit;
  }
  bool wide = o->padding == BRIM_PAD_MAX_LENGTH && o->oversize == BRIM_OVERSIZE_ERROR && o->max_tokens;
  if (wide && budget->full_width > o->max_tokens)
    return brim_error_set(err, BRIM_E_USAGE,
                          "max_tokens %lld is less than the %d slots of one padded row: raise it, lower max_length, or choose "
                          "truncate or alone (oversize)",
                          (long long)o->max_tokens, (int)budget->full_width);
  return BRIM_OK;
}

/* With batch_size, `accumulate` cuts a full step into at least so many parts: a cap on their rows. */
static int64_t part_rows(const brim_plan_options *o) {
  if (!o->batch_size || o->accumulate <= 1)
    return INT64_MAX;
  int64_t share = (o->batch_size + o->accumulate - 1) / o->accumulate;
  int64_t multiple = o->required_batch_size_multiple > 1 ? o->required_batch_size_multiple : 1;
  return (share + multiple - 1) / multiple * multiple;
}

int brim_recipe_make(const brim_plan_options *o, uint64_t epoch, brim_recipe *recipe, brim_error *err) {
  if (!o)
    return brim_error_set(err, BRIM_E_USAGE, "no plan options");
  BRIM_TRY(check_ranges(o, err));
  BRIM_TRY(check_together(o, err));
  memset(recipe, 0, sizeof *recipe);
  recipe->options = *o;
  recipe->epoch = epoch;
  recipe->world = o->world_size ? o->world_size : 1;
  recipe->accumulate = o->accumulate ? (uint64_t)o->accumulate : o->slices ? 1 : (uint64_t)recipe->world;
  recipe->drop = o->drop_last || o->tail == BRIM_TAIL_DROP;
  bool plain_cost = o->cost_linear > 0 || o->cost_square > 0;
  brim_budget *budget = &recipe->budget;
  *budget = (brim_budget){.padding = o->padding,
                          .slots = o->max_tokens ? o->max_tokens : INT64_MAX,
                          .rows = part_rows(o),
                          .texts = o->max_rows ? o->max_rows : INT64_MAX,
                          .multiple = o->required_batch_size_multiple > 1 ? o->required_batch_size_multiple : 1,
                          .rounding = o->pad_to_multiple_of > 1 ? o->pad_to_multiple_of : 1,
                          .linear = plain_cost ? o->cost_linear : 4608,
                          .square = plain_cost ? o->cost_square : 1,
                          .rows_for = o->rows_for,
                          .rows_context = o->rows_context};
  BRIM_TRY(set_limit(o, budget, err));
  recipe->compose = *budget;
  if (o->batch_size) {
    recipe->compose.limit = o->max_length ? o->max_length : INT32_MAX;
    recipe->compose.slots = recipe->compose.texts = INT64_MAX;
    recipe->compose.rows = o->batch_size;
    recipe->compose.multiple = 1;
    recipe->compose.rows_for = NULL;
  }
  return BRIM_OK;
}

int brim_plan_options_check(const brim_plan_options *options, brim_error *err) {
  brim_recipe recipe;
  return brim_recipe_make(options, 0, &recipe, err);
}

brim_random brim_recipe_random(const brim_recipe *recipe, brim_purpose purpose) {
  return brim_random_make(recipe->options.seed, recipe->epoch, purpose);
}
