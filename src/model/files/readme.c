/* readme.c: how transformers computes a model that pools otherwise than it does, or ignores types of tokens: README.md beside the
 * model, with lines of Python. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/status.h"
#include "model/files/parts.h"
#include "task/task.h"

#define MARK "<!-- written by brim -->\n" /* the first line: a README.md without it is somebody else's, and stays */

static bool is_ours(const char *path) {
  char head[sizeof MARK] = "";
  const size_t got = brim_path_is_link(path) ? 0 : brim_file_head(path, head, sizeof head - 1);
  return got == strlen(MARK) && memcmp(head, MARK, got) == 0;
}

int brim_readme_is_ours(brim_runtime *runtime, const char *folder, bool *ours, brim_error *err) {
  char *path = brim_path_join(runtime, folder, "README.md");
  *ours = path && is_ours(path);
  brim_release(runtime, path);
  return path ? BRIM_OK : BRIM_NOMEM(err);
}

/* transformers' tokenizers give a second text its own type. */
static bool hides_types(const brim_config *config) {
  return config->ignores_types && config->types > 1 && brim_task_rules_of(config->labels.task)->head == BRIM_HEAD_OF_TEXTS;
}

bool brim_readme_wanted(const brim_config *config) {
  return brim_config_pools(config) || brim_config_mixes(config) || hides_types(config);
}

/* "the last layer", "the weighted mean of the last 4 layers" */
static void put_layers(brim_text *out, const brim_config *config) {
  brim_text_string(out, config->mixed.joined ? "the last" : "the weighted mean of the last");
  if (config->mixed.count > 1)
    brim_text_printf(out, " %d layers", (int)config->mixed.count);
  else
    brim_text_string(out, " layer");
}

static void put_windows(brim_text *out, brim_windowing windows) {
  if (windows.most > 1)
    brim_text_printf(
        out,
        "\nOf a longer text they take one window. brim looks at up to %d windows that overlap by %d tokens, and takes the "
        "mean of their\nlogits.\n",
        (int)windows.most, (int)windows.overlap);
}

static void put_reasons(brim_text *out, const brim_config *config) {
  const bool mean = config->pooling == BRIM_POOLING_MEAN;
  char name[BRIM_POOLING_NAME], layers[BRIM_LAYERS_NAME];
  if (brim_config_pools(config))
    brim_text_printf(out,
                     "Its head looks at %s of all tokens (`\"brim_pooling\": \"%s\"` in config.json). transformers opens it, but "
                     "gives the\nhead the first token, and so other numbers.",
                     mean ? "the mean" : "the largest values", brim_pooling_name(config->pooling, name));
  if (brim_config_mixes(config)) {
    brim_text_printf(out, "%sIts head looks at ", brim_config_pools(config) ? "\n\n" : "");
    put_layers(out, config);
    brim_text_printf(out,
                     " (`\"brim_layers\": \"%s\"` in config.json). transformers opens it, but gives the\nhead the last one as "
                     "it is, and so other numbers.",
                     brim_mixed_name(config->mixed, layers));
  }
  if (hides_types(config))
    brim_text_printf(
        out,
        "%sEvery token has type 0, also those of a second text (`\"brim_type_ids\": false` in config.json). transformers "
        "opens it,\nbut its tokenizer gives a second text type 1, and pairs so other numbers.",
        brim_config_pools(config) || brim_config_mixes(config) ? "\n\n" : "");
  brim_text_string(out, " These lines compute what brim computes:\n\n");
}

static void put_hidden(brim_text *out, const brim_config *config) {
  const int count = (int)config->mixed.count;
  if (!brim_config_mixes(config)) {
    brim_text_string(out, "    hidden = model.base_model(**batch).last_hidden_state\n");
    return;
  }
  brim_text_printf(out,
                   "    tensors = load_file(\"model.safetensors\")\n"
                   "    layers = model.base_model(**batch, output_hidden_states=True).hidden_states[-%d:]\n",
                   count);
  brim_text_string(out, config->mixed.joined ? "    hidden = torch.cat(layers, dim=-1)\n"
                                             : "    shares = tensors[\"layer_weights\"] / tensors[\"layer_weights\"].sum()\n"
                                               "    hidden = sum(share * layer for share, layer in zip(shares, layers))\n");
}

static void put_pooled(brim_text *out, const brim_config *config) {
  put_hidden(out, config);
  if (config->pooling != BRIM_POOLING_CLS)
    brim_text_string(out, "    real = batch[\"attention_mask\"].unsqueeze(-1)\n");
  brim_text_string(out, config->pooling == BRIM_POOLING_CLS ? "    pooled = hidden[:, 0]\n"
                        : config->pooling == BRIM_POOLING_MEAN
                            ? "    pooled = (hidden * real).sum(1) / real.sum(1)\n"
                            : "    pooled = hidden.masked_fill(real == 0, -torch.inf).max(1).values\n");
  if (brim_config_mixes(config) && config->mixed.joined)
    brim_text_string(out, "    pooled = torch.nn.functional.linear(pooled, tensors[\"joined_layers.weight\"], "
                          "tensors[\"joined_layers.bias\"])\n");
  brim_text_printf(out, "    logits = %s\n", config->family->pooled_logits);
}

/* The tokenizer's files say how long a text may be and which end of it is cut; which text of a pair, they say to brim alone. */
static void put_batch(brim_text *out, const brim_config *config, brim_truncation truncation) {
  const bool longest = truncation <= BRIM_LONGEST_FIRST;
  brim_text_printf(
      out,
      "texts = [\"a text\", \"another, longer text\"]\n"
      "pairs = %s  # second texts, or None\n"
      "batch = tokenizer(texts, pairs, padding=True, truncation=%s%s%s, max_length=min(tokenizer.model_max_length, %d), "
      "return_tensors=\"pt\")\n",
      hides_types(config) ? "[\"its pair\", \"a second text\"]" : "None", longest ? "True" : "\"",
      longest ? "" : brim_truncation_name(truncation), longest ? "" : "\" if pairs else True",
      (int)brim_config_max_length(config));
}

static void put_readme(brim_text *out, const brim_config *config, const brim_saving *saving) {
  brim_text_string(out, MARK "# This model in transformers\n\n");
  put_reasons(out, config);
  brim_text_printf(out,
                   "```python\nimport torch\n%sfrom transformers import AutoModelForSequenceClassification, AutoTokenizer\n\n"
                   "tokenizer = AutoTokenizer.from_pretrained(\".\")  # this folder\n"
                   "model = AutoModelForSequenceClassification.from_pretrained(\".\").eval()\n",
                   brim_config_mixes(config) ? "from safetensors.torch import load_file\n" : "");
  put_batch(out, config, saving->cutting.truncation);
  if (config->ignores_types)
    brim_text_string(out, "batch[\"token_type_ids\"] = torch.zeros_like(batch[\"input_ids\"])\n");
  brim_text_string(out, "with torch.no_grad():\n");
  if (brim_config_pools(config) || brim_config_mixes(config))
    put_pooled(out, config);
  else
    brim_text_string(out, "    logits = model(**batch).logits\n");
  brim_text_string(out, "print(logits)\n```\n");
  put_windows(out, saving->windows);
}

static int write_readme(brim_runtime *runtime, const brim_config *config, const brim_saving *saving, const char *path,
                        brim_error *err) {
  brim_text out;
  brim_text_init(&out, runtime);
  put_readme(&out, config, saving);
  int status = brim_text_status(&out, err);
  if (!status)
    status = brim_file_write_own(runtime, path, out.data, out.length, err);
  brim_text_free(&out);
  return status;
}

int brim_readme_save(brim_runtime *runtime, const brim_config *config, const brim_saving *saving, const char *folder,
                     brim_error *err) {
  const bool wanted = brim_readme_wanted(config);
  char *path = brim_path_join(runtime, folder, "README.md");
  int status = path ? BRIM_OK : BRIM_NOMEM(err);
  const bool there = path && brim_path_is_taken(path), ours = there && is_ours(path);
  if (!status && wanted && (!there || ours))
    status = write_readme(runtime, config, saving, path, err);
  else if (!status && !wanted && ours)
    unlink(path); /* of a model that was here before; if it cannot be removed, it is no reason to fail */
  brim_release(runtime, path);
  return status;
}
