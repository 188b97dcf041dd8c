/* parts.h: what a folder of a model is made of, by name. Who writes, moves or replaces a part asks here. */
#ifndef BRIM_MODEL_PARTS_H
#define BRIM_MODEL_PARTS_H
#include "model/config.h"

typedef struct brim_part {
  const char *name; /* lives as long as the config */
  bool folder;      /* of a module: config.json in it, and weights if it has any */
} brim_part;
enum { BRIM_MOST_PARTS = 12 + BRIM_MOST_DENSE };
/* Those that a model of this config is written as, README.md only where it says something. Returns their number. */
int brim_config_parts(const brim_config *config, brim_part parts[BRIM_MOST_PARTS]);
/* Is it the name of a part of some model, whatever its dense layers are called? Of a file, but README.md: brim_readme_is_ours? */
bool brim_is_model_part(const char *name);
bool brim_is_model_file(const char *name);
/* "1_Pooling", "2_Dense": a folder of a module as brim calls a new one. Others keep the name that modules.json has for them. */
bool brim_is_module_name(const char *name);
/* The folders of modules that modules.json of a folder lists, without "" and what is no name; to be freed with
 * brim_names_free. Without modules.json, or where it cannot be read, there is none. */
int brim_listed_modules(brim_runtime *runtime, const char *folder, char ***names, size_t *count, brim_error *err) BRIM_CHECK;

/* Whether README.md is to say how transformers computes the model. */
bool brim_readme_wanted(const brim_config *config);
/* Whether a folder's README.md is a file of brim's, and no link: it may be replaced, or removed. */
int brim_readme_is_ours(brim_runtime *runtime, const char *folder, bool *ours, brim_error *err) BRIM_CHECK;

/* What brim_model_save refuses, and what it would find, before anything is written. */
int brim_model_look(const brim_model *model, const brim_tokenizer *tokenizer, const char *folder, brim_saved *found,
                    brim_error *err) BRIM_CHECK;
#endif
