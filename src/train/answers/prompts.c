/* prompts.c: what texts begin with in training. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/text.h"
#include "base/utf8.h"
#include "brim/embed.h"
#include "model/files/modules.h"
#include "model/run/ask.h"
#include "text/prompt.h"

static char *copy(brim_runtime *runtime, const char *text, size_t length) {
  char *out = brim_alloc(runtime, length + 1);
  if (out) {
    memcpy(out, text, length);
    out[length] = 0;
  }
  return out;
}

static int no_such_prompt(brim_modules *m, const char *folder, const char *name, brim_error *err) {
  brim_text names;
  brim_text_init(&names, m->runtime);
  brim_modules_prompt_names(m, &names);
  const int status = brim_error_at(err, BRIM_E_USAGE, folder, 0, -1,
                                   "there is no prompt \"%.60s\" (there %s%.200s): NAME=TEXT gives one", name,
                                   names.length > 0 ? "are " : "is none", names.length > 0 ? names.data : "");
  brim_text_free(&names);
  return status;
}

static void put(brim_prompts *p, int place, char *name, char *text) {
  brim_release(p->runtime, p->names[place]);
  brim_release(p->runtime, p->texts[place]);
  p->names[place] = name;
  p->texts[place] = text;
}

/* Of a prompt that is given for other texts, or the folder's. */
static const char *text_of(const brim_prompts *p, brim_modules *m, const char *name) {
  for (int i = 0; i < BRIM_MOST_PROMPTS; i++)
    if (p->names[i] && strcmp(p->names[i], name) == 0)
      return p->texts[i];
  return brim_modules_prompt(m, name);
}

/* "NAME" or "NAME=TEXT", of the texts first .. last - 1 of a row. */
static int find_one(brim_prompts *p, int first, int last, brim_modules *m, const char *folder, const char *wanted,
                    brim_error *err) {
  const char *equals = strchr(wanted, '='), *text = equals ? equals + 1 : text_of(p, m, wanted);
  const size_t length = equals ? (size_t)(equals - wanted) : strlen(wanted);
  if (length == 0)
    return brim_error_set(err, BRIM_E_USAGE, "the prompt \"%.60s\" has no name: NAME=TEXT is expected", wanted);
  if (length == strlen(BRIM_NO_PROMPT) && memcmp(wanted, BRIM_NO_PROMPT, length) == 0)
    return brim_error_set(err, BRIM_E_USAGE,
                          "the prompt \"%.60s\" has the name that means no prompt where prompts are used: give it another",
                          wanted);
  if (!text)
    return no_such_prompt(m, folder, wanted, err);
  if (brim_utf8_valid(text, strlen(text)) != strlen(text) || brim_utf8_valid(wanted, length) != length)
    return brim_error_set(err, BRIM_E_USAGE, "a prompt is not UTF-8");
  char *kept = copy(p->runtime, text, strlen(text)); /* it may be that of a text whose prompt is replaced */
  bool enough = kept != NULL;
  for (int i = first; i < last && enough; i++) {
    put(p, i, copy(p->runtime, wanted, length), copy(p->runtime, kept, strlen(kept)));
    enough = p->names[i] && p->texts[i];
  }
  brim_release(p->runtime, kept);
  return enough ? BRIM_OK : BRIM_NOMEM(err);
}

/* One name has one text. */
static int check_names(const brim_prompts *p, brim_error *err) {
  for (int i = 0; i < BRIM_MOST_PROMPTS; i++)
    for (int k = 0; k < i && p->names[i]; k++)
      if (p->names[k] && strcmp(p->names[i], p->names[k]) == 0 && strcmp(p->texts[i], p->texts[k]) != 0)
        return brim_error_set(err, BRIM_E_USAGE, "two prompts have the name \"%.60s\": give each its own", p->names[i]);
  return BRIM_OK;
}

int brim_prompts_find(brim_runtime *runtime, const char *folder, const char *first, const char *others, brim_prompts *out,
                      brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_GIVEN(err, runtime, folder);
  brim_modules modules;
  *out = (brim_prompts){.runtime = runtime};
  if (!first && !others)
    return BRIM_OK;
  int status = brim_modules_find_encoder(runtime, folder, &modules, err);
  if (!status)
    status = brim_modules_load_settings(&modules, err);
  if (!status && first)
    status = find_one(out, 0, 1, &modules, folder, first, err);
  if (!status && others)
    status = find_one(out, 1, BRIM_MOST_PROMPTS, &modules, folder, others, err);
  brim_modules_free(&modules);
  if (!status)
    status = check_names(out, err);
  if (status)
    brim_prompts_free(out);
  return status;
}

/* ---- by columns ---------------------------------------------------------------------------------------------- */

/* `placed`: rows before these had it. */
static int no_such_column(const char *given, const char *const *columns, int count, bool placed, brim_error *err) {
  char names[300] = "";
  for (int i = 0, at = 0; i < count && at < (int)sizeof names; i++)
    at += snprintf(names + at, sizeof names - (size_t)at, "%s%s", i ? ", " : "", columns[i]);
  if (placed)
    return brim_error_set(
        err, BRIM_E_MISMATCH,
        "a prompt is given as \"%.80s\", of a column that the rows before have, but the texts of these rows are "
        "in %s: give both the same columns in one order",
        given, *names ? names : "no columns with names");
  return brim_error_set(err, BRIM_E_USAGE,
                        "a prompt is given as \"%.80s\": COLUMN=NAME or COLUMN=NAME=TEXT is expected, and the texts are in %s",
                        given, *names ? names : "no columns with names");
}

static size_t column_length(const char *given) {
  return strcspn(given, "=");
}

/* A column has one prompt. */
static int check_columns(const char *const *given, int count, brim_error *err) {
  for (int i = 0; i < count; i++)
    for (int k = 0; k < i; k++)
      if (column_length(given[i]) == column_length(given[k]) && memcmp(given[i], given[k], column_length(given[i])) == 0)
        return brim_error_set(err, BRIM_E_USAGE, "the column \"%.*s\" is given two prompts: leave out one of them",
                              (int)(column_length(given[i]) < 80 ? column_length(given[i]) : 80), given[i]);
  return BRIM_OK;
}

/* A prompt of first or other texts that columns have replaced in all of them would do nothing. */
static int check_idle(const brim_prompts *before, const brim_prompts *placed, brim_error *err) {
  for (int i = 0; i < BRIM_MOST_PROMPTS; i++) {
    bool used = !before->names[i];
    for (int k = 0; k < BRIM_MOST_PROMPTS && !used; k++)
      used = placed->names[k] && strcmp(placed->names[k], before->names[i]) == 0;
    if (!used)
      return brim_error_set(err, BRIM_E_USAGE, "the prompt \"%.60s\" is of no text, since columns have their own: leave it out",
                            before->names[i]);
  }
  return BRIM_OK;
}

static int place_one(brim_prompts *p, brim_modules *m, const char *folder, const char *given, const char *const *columns,
                     int count, bool placed, brim_error *err) {
  const char *equals = strchr(given, '=');
  const size_t length = column_length(given);
  int place = 0;
  while (place < count && !(strlen(columns[place]) == length && memcmp(columns[place], given, length) == 0))
    place++;
  if (place == count || !equals)
    return no_such_column(given, columns, count, placed && equals, err);
  const bool is_last = place + 1 == count;
  if (place >= BRIM_MOST_PROMPTS || (place + 1 == BRIM_MOST_PROMPTS && !is_last))
    return brim_error_set(err, BRIM_E_USAGE, "a prompt is given as \"%.80s\": the first %d texts of a row may have their own",
                          given, BRIM_MOST_PROMPTS - 1);
  return find_one(p, place, is_last ? BRIM_MOST_PROMPTS : place + 1, m, folder, equals + 1, err);
}

static bool is_same(const char *a, const char *b) {
  return a && b ? strcmp(a, b) == 0 : a == b;
}

static int copy_of(const brim_prompts *p, brim_prompts *out, brim_error *err) {
  *out = (brim_prompts){.runtime = p->runtime};
  for (int i = 0; i < BRIM_MOST_PROMPTS; i++) {
    if (!p->names[i])
      continue;
    put(out, i, copy(p->runtime, p->names[i], strlen(p->names[i])), copy(p->runtime, p->texts[i], strlen(p->texts[i])));
    if (!out->names[i] || !out->texts[i])
      return BRIM_NOMEM(err);
  }
  return BRIM_OK;
}

int brim_prompts_of_columns(brim_prompts *prompts, const char *folder, const char *const *given, int given_count,
                            const char *const *columns, int column_count, brim_error *err) {
  BRIM_GIVEN(err, prompts, folder);
  BRIM_STRINGS(err, given, given_count);
  BRIM_STRINGS(err, columns, column_count);
  brim_prompts placed;
  brim_modules modules;
  if (given_count == 0)
    return BRIM_OK;
  BRIM_TRY(check_columns(given, given_count, err));
  int status = copy_of(prompts, &placed, err);
  const int found = brim_modules_find_encoder(prompts->runtime, folder, &modules, err);
  if (!status)
    status = found ? found : brim_modules_load_settings(&modules, err);
  for (int i = 0; i < given_count && !status; i++)
    status = place_one(&placed, &modules, folder, given[i], columns, column_count, prompts->placed, err);
  if (!status)
    status = check_names(&placed, err);
  if (!status && !prompts->placed)
    status = check_idle(prompts, &placed, err);
  for (int i = 0; i < BRIM_MOST_PROMPTS && prompts->placed && !status; i++)
    if (!is_same(prompts->names[i], placed.names[i]) || !is_same(prompts->texts[i], placed.texts[i]))
      status = brim_error_set(err, BRIM_E_MISMATCH,
                              "prompts are by column, and text %d of these rows begins with another than in the "
                              "rows before: give both their columns in one order",
                              i + 1);
  brim_modules_free(&modules);
  if (status || prompts->placed) { /* what encodes earlier rows keeps pointers to the first */
    brim_prompts_free(&placed);
    return status;
  }
  brim_prompts_free(prompts);
  placed.placed = true;
  *prompts = placed;
  return BRIM_OK;
}

/* ---- their use ----------------------------------------------------------------------------------------------- */

int brim_prompts_use(const brim_prompts *prompts, const brim_tokenizer *tokenizer, int32_t max_length, brim_model *model,
                     brim_error *err) {
  BRIM_GIVEN(err, prompts, tokenizer, model);
  int32_t tokens[BRIM_MOST_PROMPTS] = {0};
  bool any = false;
  for (int i = 0; i < BRIM_MOST_PROMPTS; i++)
    if (prompts->texts[i]) {
      BRIM_TRY(brim_prompt_tokens(prompts->runtime, tokenizer, prompts->texts[i], max_length, &tokens[i], err));
      any = true;
    }
  if (!any)
    return BRIM_OK;
  return brim_model_set_prompts(model, (const char *const *)prompts->names, (const char *const *)prompts->texts, tokens, err);
}

void brim_prompts_free(brim_prompts *prompts) {
  if (!prompts || !prompts->runtime)
    return;
  for (int i = 0; i < BRIM_MOST_PROMPTS; i++)
    put(prompts, i, NULL, NULL);
  *prompts = (brim_prompts){0};
}
