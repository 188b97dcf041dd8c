/* prompts.c: what texts begin with in training. */
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

/* "NAME" or "NAME=TEXT". */
static int find_one(brim_prompts *p, int which, brim_modules *m, const char *folder, const char *wanted, brim_error *err) {
  const char *equals = strchr(wanted, '='), *text = equals ? equals + 1 : brim_modules_prompt(m, wanted);
  const size_t length = equals ? (size_t)(equals - wanted) : strlen(wanted);
  if (length == 0)
    return brim_error_set(err, BRIM_E_USAGE, "the prompt \"%.60s\" has no name: NAME=TEXT is expected", wanted);
  if (!text)
    return no_such_prompt(m, folder, wanted, err);
  if (brim_utf8_valid(text, strlen(text)) != strlen(text) || brim_utf8_valid(wanted, length) != length)
    return brim_error_set(err, BRIM_E_USAGE, "a prompt is not UTF-8");
  p->names[which] = copy(p->runtime, wanted, length);
  p->texts[which] = copy(p->runtime, text, strlen(text));
  return p->names[which] && p->texts[which] ? BRIM_OK : BRIM_NOMEM(err);
}

/* One name has one text. */
static int check_names(const brim_prompts *p, brim_error *err) {
  if (!p->names[0] || !p->names[1] || strcmp(p->names[0], p->names[1]) != 0 || strcmp(p->texts[0], p->texts[1]) == 0)
    return BRIM_OK;
  return brim_error_set(err, BRIM_E_USAGE, "two prompts have the name \"%.60s\": give each its own", p->names[0]);
}

int brim_prompts_find(brim_runtime *runtime, const char *folder, const char *first, const char *others, brim_prompts *out,
                      brim_error *err) {
  const char *const wanted[2] = {first, others};
  brim_modules modules;
  *out = (brim_prompts){.runtime = runtime};
  if (!first && !others)
    return BRIM_OK;
  int status = brim_modules_find_encoder(runtime, folder, &modules, err);
  if (!status)
    status = brim_modules_load_settings(&modules, folder, err);
  for (int i = 0; i < 2 && !status; i++)
    status = wanted[i] ? find_one(out, i, &modules, folder, wanted[i], err) : BRIM_OK;
  brim_modules_free(&modules);
  if (!status)
    status = check_names(out, err);
  if (status)
    brim_prompts_free(out);
  return status;
}

int brim_prompts_use(const brim_prompts *prompts, const brim_tokenizer *tokenizer, brim_model *model, brim_error *err) {
  int32_t tokens[2] = {0};
  if (!prompts->texts[0] && !prompts->texts[1])
    return BRIM_OK;
  for (int i = 0; i < 2; i++)
    if (prompts->texts[i])
      BRIM_TRY(brim_prompt_tokens(prompts->runtime, tokenizer, prompts->texts[i], &tokens[i], err));
  return brim_model_set_prompts(model, (const char *const *)prompts->names, (const char *const *)prompts->texts, tokens, err);
}

void brim_prompts_free(brim_prompts *prompts) {
  for (int i = 0; i < 2 && prompts->runtime; i++) {
    brim_release(prompts->runtime, prompts->names[i]);
    brim_release(prompts->runtime, prompts->texts[i]);
  }
  *prompts = (brim_prompts){0};
}
