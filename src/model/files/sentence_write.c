/* sentence_write.c: the files that make sentence-transformers open a folder. */
#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/status.h"
#include "base/text.h"
#include "model/files/sentence.h"
#include "task/task.h"

static int write_file(brim_runtime *runtime, const char *folder, const char *name, const char *text, size_t length,
                      brim_error *err) {
  char *path = brim_path_join(runtime, folder, name);
  const int status = path ? brim_file_write_all(runtime, path, text, length, err) : BRIM_NOMEM(err);
  brim_release(runtime, path);
  return status;
}

static int write_text(brim_runtime *runtime, const char *folder, const char *name, brim_text *text, brim_error *err) {
  int status = brim_text_status(text, err);
  if (!status)
    status = write_file(runtime, folder, name, text->data, text->length, err);
  brim_text_free(text);
  return status;
}

/* ---- embeddings ---------------------------------------------------------------------------------------------- */

static void put_module(brim_text *out, int number, const char *path, const char *class) {
  brim_text_printf(out,
                   "%s  {\n    \"idx\": %d,\n    \"name\": \"%d\",\n    \"path\": \"%s\",\n    \"type\": "
                   "\"sentence_transformers.models.%s\"\n  }",
                   number ? ",\n" : "", number, number, path, class);
}

static int write_modules(const brim_sentence *s, brim_runtime *runtime, const char *folder, brim_error *err) {
  brim_text out;
  brim_text_init(&out, runtime);
  brim_text_string(&out, "[\n");
  put_module(&out, 0, "", "Transformer");
  put_module(&out, 1, "1_Pooling", "Pooling");
  if (s->normalizes)
    put_module(&out, 2, "2_Normalize", "Normalize");
  brim_text_string(&out, "\n]\n");
  return write_text(runtime, folder, "modules.json", &out, err);
}

/* Members that an old version does not know stop it: only those that say something are written. */
static int write_pooling(const brim_sentence *s, brim_runtime *runtime, const brim_config *config, const char *folder,
                         brim_error *err) {
  static const struct {
    brim_pooling pooling;
    const char *name;
  } flags[] = {{BRIM_POOLING_CLS, "cls_token"}, {BRIM_POOLING_MEAN, "mean_tokens"}, {BRIM_POOLING_MAX, "max_tokens"}};
  brim_text out;
  char *inner = brim_path_join(runtime, folder, "1_Pooling");
  if (!inner)
    return BRIM_NOMEM(err);
  brim_text_init(&out, runtime);
  brim_text_printf(&out, "{\n  \"word_embedding_dimension\": %d", (int)config->hidden);
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
    brim_text_printf(&out, ",\n  \"pooling_mode_%s\": %s", flags[i].name, flags[i].pooling == config->pooling ? "true" : "false");
  brim_text_string(&out, ",\n  \"pooling_mode_mean_sqrt_len_tokens\": false");
  brim_text_string(&out, s->without_prompt ? ",\n  \"include_prompt\": false\n}\n" : "\n}\n");
  int status = brim_make_folder(runtime, inner, err);
  if (!status)
    status = write_text(runtime, inner, "config.json", &out, err);
  else
    brim_text_free(&out);
  brim_release(runtime, inner);
  return status;
}

/* How long texts may be is in tokenizer_config.json. */
static int write_settings(const brim_sentence *s, brim_runtime *runtime, const char *folder, brim_error *err) {
  static const char plain[] =
      "{\n  \"model_type\": \"SentenceTransformer\",\n  \"prompts\": {},\n  \"default_prompt_name\": null,\n"
      "  \"similarity_fn_name\": \"cosine\"\n}\n";
  static const char lengths[] = "{\n  \"do_lower_case\": false\n}\n";
  BRIM_TRY(write_file(runtime, folder, "sentence_bert_config.json", lengths, strlen(lengths), err));
  return write_file(runtime, folder, "config_sentence_transformers.json", s->settings ? s->settings : plain,
                    s->settings ? s->settings_length : strlen(plain), err);
}

/* ---- rerankers ----------------------------------------------------------------------------------------------- */

static int write_reranker(brim_runtime *runtime, const brim_config *config, const char *folder, brim_error *err) {
  brim_text out;
  brim_text_init(&out, runtime);
  brim_text_printf(&out,
                   "{\n  \"model_type\": \"CrossEncoder\",\n  \"activation_fn\": \"%s\",\n  \"prompts\": {},\n"
                   "  \"default_prompt_name\": null\n}\n",
                   brim_sentence_activation(config));
  return write_text(runtime, folder, "config_sentence_transformers.json", &out, err);
}

int brim_sentence_save(const brim_sentence *s, brim_runtime *runtime, const brim_config *config, const char *folder,
                       brim_error *err) {
  if (brim_task_has_scores(config->labels.task))
    return write_reranker(runtime, config, folder, err);
  if (!brim_task_has_vectors(config->labels.task))
    return BRIM_OK;
  BRIM_TRY(write_modules(s, runtime, folder, err));
  BRIM_TRY(write_pooling(s, runtime, config, folder, err));
  return write_settings(s, runtime, folder, err);
}
