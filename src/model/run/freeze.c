/* freeze.c: what training leaves as it is: sections from below, and tensors by name. */
#include "model/run/freeze.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "model/run/model.h"

/* ---- words ------------------------------------------------------------------------------------------------- */

#define SEPARATORS ", "
enum { MOST_LAYERS = 1 << 20, ENCODER = MOST_LAYERS + 2 };

/* Of a tensor: their names have dots, or are of several words, as layer_weights is. */
static bool is_pattern(const char *word, size_t length) {
  return strcspn(word, ".*?[_/") < length;
}

/* Digits alone, from 1 on. */
static bool read_layers(const char *text, size_t length, int32_t *out) {
  int64_t count = 0;
  if (!brim_number_integer(text, length, &count) || count < 1 || count > MOST_LAYERS)
    return false;
  *out = (int32_t)count;
  return true;
}

static bool is_word(const char *word, size_t length, const char *other) {
  return length == strlen(other) && memcmp(word, other, length) == 0;
}

/* "embeddings" -> 1, "layers:N" or "N" -> 1 + N, "encoder" -> ENCODER. */
static int read_sections(const char *word, size_t length, int32_t *out, brim_error *err) {
  static const char prefix[] = "layers:";
  const size_t skip = strncmp(word, prefix, strlen(prefix)) == 0 ? strlen(prefix) : 0;
  int32_t layers = 0;
  if (is_word(word, length, "encoder")) {
    *out = ENCODER;
    return BRIM_OK;
  }
  if (!is_word(word, length, "embeddings") && !read_layers(word + skip, length - skip, &layers))
    return brim_error_set(err, BRIM_E_USAGE,
                          "freeze is \"%.*s\": use embeddings, layers:N (the embeddings and the lowest N layers, from 1 on), "
                          "encoder (all but the head), or names of tensors, such as *.bias",
                          length < 40 ? (int)length : 40, word);
  *out = 1 + layers;
  return BRIM_OK;
}

/* *word: the next one; returns its length, or 0. */
static size_t next_word(const char **word) {
  *word += strspn(*word, SEPARATORS);
  return strcspn(*word, SEPARATORS);
}

int brim_freeze_check(const char *words, brim_error *err) {
  const char *word = words ? words : "";
  int32_t sections;
  for (size_t length; (length = next_word(&word)) > 0; word += length)
    if (!is_pattern(word, length))
      BRIM_TRY(read_sections(word, length, &sections, err));
  return BRIM_OK;
}

int brim_train_only_check(const char *words, brim_error *err) {
  const char *word = words ? words : "";
  for (size_t length; (length = next_word(&word)) > 0; word += length)
    if (!is_pattern(word, length))
      return brim_error_set(err, BRIM_E_USAGE, "train_only is \"%.*s\": use names of tensors, such as *.bias",
                            length < 40 ? (int)length : 40, word);
  return BRIM_OK;
}

/* ---- one list of words ---------------------------------------------------------------------------------------- */

typedef struct word_list {
  char *copy;            /* cut into words */
  const char **patterns; /* [count] in order, each once */
  int32_t count, sections;
} word_list;

static int compare_words(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void sort_patterns(word_list *l) {
  int32_t kept = 0;
  qsort(l->patterns, (size_t)l->count, sizeof *l->patterns, compare_words);
  for (int32_t i = 0; i < l->count; i++)
    if (i == 0 || strcmp(l->patterns[i], l->patterns[kept - 1]) != 0)
      l->patterns[kept++] = l->patterns[i];
  l->count = kept;
}

static int read_words(word_list *l, brim_runtime *runtime, const char *words, brim_error *err) {
  const size_t length = words ? strlen(words) : 0;
  char *state = NULL;
  *l = (word_list){.copy = brim_alloc(runtime, length + 1),
                   .patterns = brim_alloc_array(runtime, length / 2 + 1, sizeof *l->patterns)};
  if (!l->copy || !l->patterns)
    return BRIM_NOMEM(err);
  memcpy(l->copy, words ? words : "", length + 1);
  for (char *word = strtok_r(l->copy, SEPARATORS, &state); word; word = strtok_r(NULL, SEPARATORS, &state)) {
    int32_t sections = 0;
    if (is_pattern(word, strlen(word)))
      l->patterns[l->count++] = word;
    else
      BRIM_TRY(read_sections(word, strlen(word), &sections, err));
    l->sections = sections > l->sections ? sections : l->sections;
  }
  sort_patterns(l);
  return BRIM_OK;
}

static void free_words(word_list *l, brim_runtime *runtime) {
  brim_release(runtime, l->copy);
  brim_release(runtime, l->patterns);
}

/* The words as a model remembers them: the same for the same words in any order. */
static char *canonical(const word_list *l, brim_runtime *runtime, int32_t layers) {
  enum { SECTIONS = 24 };
  size_t size = SECTIONS, used = 0;
  for (int32_t i = 0; i < l->count; i++)
    size += strlen(l->patterns[i]) + 1;
  char *text = brim_alloc(runtime, size);
  if (!text)
    return NULL;
  text[0] = 0;
  if (l->sections > 1 && l->sections <= layers)
    used = (size_t)snprintf(text, size, "layers:%d", l->sections - 1);
  else if (l->sections > 0)
    used = (size_t)snprintf(text, size, "%s", l->sections > layers ? "encoder" : "embeddings");
  for (int32_t i = 0; i < l->count; i++)
    used += (size_t)snprintf(text + used, size - used, "%s%s", used ? "," : "", l->patterns[i]);
  return text;
}

/* ---- of a model ---------------------------------------------------------------------------------------------- */

typedef struct choice {
  word_list only, frozen;
  char *only_text, *frozen_text;
  bool *weights; /* [weights of the program]: trained */
} choice;

static int count_matches(const brim_program *p, const char *pattern) {
  int count = 0;
  for (size_t i = 0; i < p->weight_count; i++)
    count += fnmatch(pattern, p->weights[i].is.name, 0) == 0;
  return count;
}

/* It may be part of a name. */
static int no_match(const brim_program *p, const char *option, const char *pattern, brim_error *err) {
  char wider[200];
  const int length = snprintf(wider, sizeof wider, "*%s*", pattern);
  const bool helps = length < (int)sizeof wider && count_matches(p, wider) > 0;
  return brim_error_set(err, BRIM_E_USAGE,
                        "no tensor is called %.100s (%s)%s%s; names are like %.100s (brim inspect model --tensors)", pattern,
                        option, helps ? ": did you mean " : "", helps ? wider : "", p->weights[p->weight_count - 1].is.name);
}

static int mark(const brim_program *p, const char *option, const word_list *l, bool trained, bool *weights, brim_error *err) {
  for (int32_t k = 0; k < l->count; k++) {
    if (count_matches(p, l->patterns[k]) == 0)
      return no_match(p, option, l->patterns[k], err);
    for (size_t i = 0; i < p->weight_count; i++)
      if (fnmatch(l->patterns[k], p->weights[i].is.name, 0) == 0)
        weights[i] = trained;
  }
  return BRIM_OK;
}

static int check_sections(const brim_model *m, int32_t *sections, brim_error *err) {
  const int32_t layers = brim_layer_count(&m->program);
  if (*sections == ENCODER)
    *sections = 1 + layers;
  if (*sections > 1 + layers)
    return brim_error_set(err, BRIM_E_USAGE, "%d layers cannot be frozen: the model has %d", *sections - 1, layers);
  if (*sections - 1 > layers - m->reinit_layers)
    return brim_error_set(
        err, BRIM_E_USAGE,
        "%d of %d layers cannot be frozen: the top %d are new (reinit_layers), and would stay random; freeze fewer",
        *sections - 1, layers, m->reinit_layers);
  if (brim_program_shares(&m->program, *sections))
    return brim_error_set(err, BRIM_E_USAGE,
                          "%d layers cannot be frozen alone: layers above have the same weights; take embeddings or encoder",
                          *sections - 1);
  return BRIM_OK;
}

/* What is new is trained, and something is. */
static int check_weights(const brim_model *m, const choice *c, brim_error *err) {
  const brim_program *p = &m->program;
  bool any = false;
  for (size_t i = 0; i < p->weight_count; i++) {
    const brim_weight *w = &p->weights[i];
    any = any || (c->weights[i] && w->used);
    if (!c->weights[i] && w->used && w->section >= c->frozen.sections && !brim_model_is_pretrained(m, &w->is))
      return brim_error_set(err, BRIM_E_USAGE, "%s is new, and would stay random: train it, too (%s)", w->is.name,
                            c->only.count > 0 ? "train_only" : "freeze");
  }
  return any ? BRIM_OK : brim_error_set(err, BRIM_E_USAGE, "nothing would be trained: freeze less");
}

static int choose(const brim_model *m, const char *only, const char *frozen, choice *c, brim_error *err) {
  const brim_program *p = &m->program;
  BRIM_TRY(brim_train_only_check(only, err));
  BRIM_TRY(read_words(&c->only, m->runtime, only, err));
  BRIM_TRY(read_words(&c->frozen, m->runtime, frozen, err));
  BRIM_TRY(check_sections(m, &c->frozen.sections, err));
  c->weights = brim_alloc_array(m->runtime, p->weight_count, sizeof *c->weights);
  c->only_text = canonical(&c->only, m->runtime, brim_layer_count(p));
  c->frozen_text = canonical(&c->frozen, m->runtime, brim_layer_count(p));
  if (!c->weights || !c->only_text || !c->frozen_text)
    return BRIM_NOMEM(err);
  for (size_t i = 0; i < p->weight_count; i++)
    c->weights[i] = c->only.count == 0;
  BRIM_TRY(mark(p, "train_only", &c->only, true, c->weights, err));
  for (size_t i = 0; i < p->weight_count; i++)
    c->weights[i] = c->weights[i] && p->weights[i].section >= c->frozen.sections;
  BRIM_TRY(mark(p, "freeze", &c->frozen, false, c->weights, err));
  return check_weights(m, c, err);
}

/* A text that stays the same stays where it is: options of a run point to it. */
static void remember(char **words, char **others) {
  char *before = *words;
  if (before && strcmp(before, *others) == 0)
    return;
  *words = *others;
  *others = before;
}

/* Gradients and states of others are given back. */
static void take(brim_model *m, choice *c) {
  remember(&m->frozen_words, &c->frozen_text);
  remember(&m->only_words, &c->only_text);
  if (!brim_trained_differs(&m->trained, &m->program, c->weights))
    return;
  brim_model_catch_up(m);
  brim_model_release_state(m);
  m->tape = (brim_tape){0};
  brim_trained_set(&m->trained, &m->program, c->weights);
}

int brim_model_train_only(brim_model *model, const char *tensors, const char *frozen, brim_error *err) {
  BRIM_GIVEN(err, model);
  choice c = {0};
  const int status = choose(model, tensors, frozen, &c, err);
  if (!status)
    take(model, &c);
  free_words(&c.only, model->runtime);
  free_words(&c.frozen, model->runtime);
  brim_release(model->runtime, c.only_text);
  brim_release(model->runtime, c.frozen_text);
  brim_release(model->runtime, c.weights);
  return status;
}

int brim_model_freeze(brim_model *model, const char *parts, brim_error *err) {
  return brim_model_train_only(model, NULL, parts, err);
}

const char *brim_model_frozen(const brim_model *model) {
  return model->frozen_words ? model->frozen_words : "";
}

const char *brim_model_trained_only(const brim_model *model) {
  return model->only_words ? model->only_words : "";
}

bool brim_model_is_trained(const brim_model *model, int32_t parameter) {
  return model->trained.weights[parameter];
}
