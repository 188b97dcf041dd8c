/* golden_tensors.h: tensors that transformers wrote, found among those that brim writes or holds. */
#ifndef BRIM_TESTS_GOLDEN_TENSORS_H
#define BRIM_TESTS_GOLDEN_TENSORS_H
#include "base/folder.h"
#include "base/json.h"
#include "base/path.h"
#include "base/runtime.h"
#include "model/files/safetensors.h"
#include "tap.h"

static brim_runtime *runtime;

_Noreturn static void stop(const char *what, const brim_error *err) {
  char text[1200];
  brim_error_text(err, text, sizeof text);
  printf("Bail out! %s: %s\n", what, text);
  exit(99);
}

static const char *join(const char *folder, const char *name) {
  static char paths[8][700];
  static int next;
  char *path = paths[next++ % 8];
  snprintf(path, sizeof paths[0], "%s/%s", folder, name);
  return path;
}

static brim_store *open_store(const char *path) {
  brim_error err;
  brim_store *store;
  if (brim_store_open(runtime, path, &store, &err))
    stop(path, &err);
  return store;
}

/* ---- names ---- */

/* A tensor of a file, or one of the equal parts of its rows. */
typedef struct in_file {
  char name[200];
  int part, parts;
} in_file;

/* transformers holds some families' tensors by other names than files have, and those of fused matrices apart
 * (conversion_mapping.py of transformers 5.23); what it says of gradients may have either. */
typedef struct renaming {
  const char *prefix, *held, *filed; /* of the model, and parts of names */
  int part, parts;
} renaming;

static const renaming renamings[] = {
    {"nomic_bert.", "self_attn.q_proj", "attn.Wqkv", 0, 3},
    {"nomic_bert.", "self_attn.k_proj", "attn.Wqkv", 1, 3},
    {"nomic_bert.", "self_attn.v_proj", "attn.Wqkv", 2, 3},
    {"nomic_bert.", "self_attn.o_proj", "attn.out_proj", 0, 1},
    {"nomic_bert.", "mlp.up_proj", "mlp.fc11", 0, 1},
    {"nomic_bert.", "mlp.gate_proj", "mlp.fc12", 0, 1},
    {"nomic_bert.", "mlp.down_proj", "mlp.fc2", 0, 1},
    {"nomic_bert.", "post_attention_layernorm", "norm1", 0, 1},
    {"nomic_bert.", "post_mlp_layernorm", "norm2", 0, 1},
    {"nomic_bert.", "embeddings.LayerNorm", "emb_ln", 0, 1},
    {"nomic_bert.", "bert.layers.", "bert.encoder.layers.", 0, 1},
    {"gte.", "self_attn.q_proj", "attention.qkv_proj", 0, 3},
    {"gte.", "self_attn.k_proj", "attention.qkv_proj", 1, 3},
    {"gte.", "self_attn.v_proj", "attention.qkv_proj", 2, 3},
    {"gte.", "self_attn.o_proj", "attention.o_proj", 0, 1},
    {"gte.", "mlp.up_proj", "mlp.up_gate_proj", 0, 2},
    {"gte.", "mlp.gate_proj", "mlp.up_gate_proj", 1, 2},
    {"gte.", "post_attention_layernorm", "attn_ln", 0, 1},
    {"gte.", "post_mlp_layernorm", "mlp_ln", 0, 1},
    {"gte.", "gte.layers.", "gte.encoder.layer.", 0, 1},
};

static void rename_part(in_file *t, const renaming *r) {
  char text[sizeof t->name];
  char *at = strstr(t->name, r->held);
  if (!at)
    return;
  snprintf(text, sizeof text, "%.*s%s%s", (int)(at - t->name), t->name, r->filed, at + strlen(r->held));
  memcpy(t->name, text, sizeof text);
  if (r->parts > 1) {
    t->part = r->part;
    t->parts = r->parts;
  }
}

/* The tensor that files have for one that transformers holds by this name, without "grad.". */
__attribute__((unused)) static in_file filed(const char *name) {
  in_file t = {.parts = 1};
  snprintf(t.name, sizeof t.name, "%s", name);
  for (size_t i = 0; i < sizeof renamings / sizeof *renamings; i++)
    if (strncmp(name, renamings[i].prefix, strlen(renamings[i].prefix)) == 0)
      rename_part(&t, &renamings[i]);
  return t;
}

/* Files of GTE's masked words call a norm otherwise than RoBERTa's: whether that makes another name of it. */
__attribute__((unused)) static bool filed_otherwise(in_file *t) {
  const bool is_norm = strstr(t->name, "lm_head.layer_norm") != NULL;
  rename_part(t, &(renaming){"", "lm_head.layer_norm", "lm_head.norm", 0, 1});
  return is_norm;
}

/* ---- values ---- */

static float *read_tensor(const brim_store *store, const char *name, int64_t *count) {
  brim_error err;
  const brim_stored *t = brim_store_find(store, name, strlen(name));
  if (!t)
    return NULL;
  float *values = malloc(((size_t)t->count + 1) * sizeof *values);
  if (!values || brim_store_read(store, t, values, &err))
    stop(name, &err);
  *count = t->count;
  return values;
}

/* |got - want| / |want|, L2; absolute where `want` is zero. */
static double apart_from(const float *got, const float *want, int64_t count) {
  double difference = 0, size = 0;
  for (int64_t i = 0; i < count; i++) {
    difference += pow((double)got[i] - (double)want[i], 2);
    size += pow((double)want[i], 2);
  }
  return size > 0 ? sqrt(difference / size) : sqrt(difference);
}

/* The largest difference; NaN counts as infinite. */
static double farthest_from(const float *got, const float *want, int64_t count) {
  double worst = 0;
  for (int64_t i = 0; i < count; i++) {
    const double d = fabs((double)got[i] - (double)want[i]);
    worst = d <= worst ? worst : isnan(d) ? (double)INFINITY : d;
  }
  return worst;
}

/* A key's bias adds the same to all scores of a query: its gradient is zero but for rounding. */
__attribute__((unused)) static bool is_key_bias(const char *name) {
  return strstr(name, ".key.bias") || strstr(name, ".k_lin.bias") || strstr(name, ".attn.k.bias") ||
         strstr(name, ".pos_key_proj.bias");
}

/* ---- folders ---- */

/* Whether the folder's model is one for a task that brim has; the others' names are printed. */
__attribute__((unused)) static bool has_task(const char *folder) {
  brim_error err;
  brim_json_document *document;
  if (brim_json_load(runtime, join(folder, "config.json"), 0, &document, &err))
    stop(folder, &err);
  const brim_json_value *list = brim_json_get(brim_json_root(document), "architectures"), *first = brim_json_first(list);
  char text[100];
  snprintf(text, sizeof text, "%.*s", first ? (int)first->length : 0, first ? first->as.text : "");
  const bool has = strstr(text, "ForSequenceClassification") || strstr(text, "ForTokenClassification") ||
                   strstr(text, "ForMaskedLM");
  if (!has)
    printf("# left out: %s: %s\n", folder, text);
  brim_json_free(document);
  return has;
}

/* Calls `use` for each model of the repository, or of DIR/golden/models and models2 where there is a DIR; how many there were. */
__attribute__((unused)) static int each_golden(const char *data, void (*use)(const char *folder, const char *name)) {
  static const char *const given[] = {"golden/models", "golden/models2"}, *const own[] = {"tests/golden/models"};
  int models = 0;
  for (int k = 0; k < (data ? 2 : 1); k++) {
    brim_error err;
    char **names, folder[512];
    size_t count;
    snprintf(folder, sizeof folder, "%s/%s", data ? data : tap_source(), data ? given[k] : own[k]);
    if (brim_list_folder(runtime, folder, &names, &count, &err))
      stop(folder, &err);
    for (size_t i = 0; i < count; i++) {
      char path[600];
      snprintf(path, sizeof path, "%s/%s", folder, names[i]);
      if (!brim_path_exists(join(path, "config.json")) || !has_task(path))
        continue;
      use(path, names[i]);
      models++;
    }
    brim_names_free(runtime, names, count);
  }
  return models;
}
#endif
