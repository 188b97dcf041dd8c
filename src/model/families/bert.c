/* bert.c: BERT, RoBERTa, CamemBERT, XLM-R and DistilBERT.
 *
 *   embedded = dropout(norm(word + position + type))
 *   layer:  q, k, v = x W      context = attention(q, k, v)
 *           y  = norm(x + dropout(context W))
 *           x' = norm(y + dropout(act(y W) W))
 *   head:   first token, or pooled -> [dropout] -> dense -> activation -> dropout -> scores
 *
 * Post-layer-norm, as in "Attention is all you need" and BERT. DistilBERT drops nothing out after the attention's projection. The
 * slope of the head's activation follows from its output. */
#include <stdio.h>

#include "model/families/families.h"
#include "model/kinds/kinds.h"

/* Sites of dropout: stable, since they are part of what makes a run reproducible. */
enum { SITE_EMBEDDING = 0, SITE_HEAD_INPUT = 1, SITE_HEAD_HIDDEN = 2 };
enum { SITE_ATTENTION_OUTPUT = 0, SITE_OUTPUT = 1, SITE_ATTENTION = 0x100 /* + head */ };

static uint32_t site_of_layer(int32_t layer, uint32_t site) {
  return ((uint32_t)layer + 1) << 16 | site;
}

/* ---- weights: "PREFIX" + "encoder.layer.3." + "output.dense" + ".weight" -------------------------------------- */

enum { NAME_SIZE = 128 };

typedef struct writing {
  brim_program *p;
  const brim_config *config;
  const brim_family_names *names;
  int32_t layer;   /* < 0: none */
  bool in_encoder; /* names have the encoder's prefix */
} writing;

static int32_t declare(const writing *w, const char *part, const char *suffix, int64_t rows, int64_t columns, int flags) {
  char of_layer[48] = "", name[NAME_SIZE];
  if (w->layer >= 0) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(of_layer, sizeof of_layer, w->names->layer, w->layer);
#pragma GCC diagnostic pop
  }
  snprintf(name, sizeof name, "%s%s%s%s", w->in_encoder ? w->config->family->prefix : "", of_layer, part, suffix);
  return brim_declare(w->p, name, rows, columns, flags);
}

static int32_t table(const writing *w, const char *part, int32_t rows) {
  return declare(w, part, ".weight", rows, w->config->hidden, BRIM_WEIGHT_DECAY | BRIM_WEIGHT_SPARSE);
}

static int32_t flagged_linear(const writing *w, const char *part, int32_t out, int32_t in, int flags) {
  const int32_t weight = declare(w, part, ".weight", out, in, BRIM_WEIGHT_DECAY | flags);
  declare(w, part, ".bias", out, 0, flags);
  return weight;
}

static int32_t linear(const writing *w, const char *part, int32_t out, int32_t in) {
  return flagged_linear(w, part, out, in, 0);
}

static brim_normed norm(const writing *w, const char *part) {
  const int32_t weight = declare(w, part, ".weight", w->config->hidden, 0, BRIM_WEIGHT_ONE);
  declare(w, part, ".bias", w->config->hidden, 0, 0);
  return (brim_normed){weight, w->config->norm_eps};
}

/* ---- operations ------------------------------------------------------------------------------------------------ */

static int32_t embeddings(const writing *w) {
  const brim_config *c = w->config;
  brim_begin_part(w->p, "embeddings", false, BRIM_NONE);
  const int32_t word = table(w, w->names->word, c->vocab_size), position = table(w, w->names->position, c->positions);
  const brim_tables tables = {.word = word,
                              .position = position,
                              .type = c->types > 0 ? table(w, w->names->type, c->types) : BRIM_NONE,
                              .empty_word = c->pad_id >= 0 ? c->pad_id : BRIM_NONE,
                              .empty_position = c->family->pad_positions && c->pad_id >= 0 ? c->pad_id : BRIM_NONE};
  return brim_append_lookup(w->p, tables, norm(w, w->names->embed_norm), (brim_drop_at){c->hidden_dropout, SITE_EMBEDDING});
}

static brim_projected project(const writing *w, int32_t x) {
  const char *parts[3] = {w->names->query, w->names->key, w->names->value};
  const int32_t hidden = w->config->hidden;
  int32_t weight[3], bias[3];
  for (int i = 0; i < 3; i++)
    weight[i] = declare(w, parts[i], ".weight", hidden, hidden, BRIM_WEIGHT_DECAY | (i ? BRIM_WEIGHT_ADJOINS : 0));
  for (int i = 0; i < 3; i++)
    bias[i] = declare(w, parts[i], ".bias", hidden, 0, i ? BRIM_WEIGHT_ADJOINS : 0);
  return brim_append_project(w->p, x, weight[0], bias[0]);
}

static int32_t layer(const writing *w, int32_t x) {
  const brim_config *c = w->config;
  const brim_family_names *names = w->names;
  const double attended_rate = c->family->attention_output_dropout ? c->hidden_dropout : 0;
  char name[32];
  snprintf(name, sizeof name, "layer %d", w->layer);
  brim_begin_part(w->p, name, true, x);
  const brim_projected heads = project(w, x);
  const int32_t context = brim_append_attend(w->p, heads, c->heads,
                                             (brim_drop_at){c->attention_dropout, site_of_layer(w->layer, SITE_ATTENTION)});
  const int32_t projection = linear(w, names->attention_output, c->hidden, c->hidden);
  const int32_t attended = brim_append_join(w->p, context, x, projection,
                                            (brim_drop_at){attended_rate, site_of_layer(w->layer, SITE_ATTENTION_OUTPUT)},
                                            norm(w, names->attention_norm));
  const int32_t up = linear(w, names->up, c->intermediate, c->hidden), down = linear(w, names->down, c->hidden, c->intermediate);
  return brim_append_feed_forward(w->p, attended, up, c->activation, down,
                                  (brim_drop_at){c->hidden_dropout, site_of_layer(w->layer, SITE_OUTPUT)},
                                  norm(w, names->output_norm));
}

static void head(const writing *w, int32_t x) {
  static const brim_loss_kind losses[] = {[BRIM_TASK_CLASSIFICATION] = BRIM_LOSS_CROSS_ENTROPY,
                                          [BRIM_TASK_REGRESSION] = BRIM_LOSS_SQUARED_ERROR,
                                          [BRIM_TASK_MULTI_LABEL] = BRIM_LOSS_BINARY};
  const brim_config *c = w->config;
  const brim_family *family = c->family;
  const writing outside = {w->p, c, w->names, -1, false}, dense_in = {w->p, c, w->names, -1, w->names->head_dense_in_encoder};
  brim_begin_part(w->p, "head", false, x);
  int32_t text = c->pooling == BRIM_POOLING_CLS ? brim_append_choose(w->p, x)
                                                : brim_append_pool(w->p, x, c->pooling == BRIM_POOLING_MAX);
  if (family->head_input_dropout)
    text = brim_append_drop(w->p, text, (brim_drop_at){c->head_dropout, SITE_HEAD_INPUT});
  const int32_t dense = linear(&dense_in, w->names->head_dense, c->hidden, c->hidden);
  text = brim_append_dense(w->p, text, dense, family->head_activation);
  text = brim_append_drop(w->p, text, (brim_drop_at){c->head_dropout, SITE_HEAD_HIDDEN});
  const int32_t output = flagged_linear(&outside, w->names->head_output, c->labels.count, c->hidden, BRIM_WEIGHT_LABELS);
  brim_append_loss(w->p, brim_append_scores(w->p, text, output), losses[c->labels.task]);
}

void brim_bert_append(brim_program *p, const brim_config *config) {
  writing w = {p, config, config->family->names, -1, true};
  int32_t x = embeddings(&w);
  for (w.layer = 0; w.layer < config->layers; w.layer++)
    x = layer(&w, x);
  p->hidden = x;
  head(&w, x);
}

void brim_family_append(brim_program *p, const brim_config *config) {
  brim_bert_append(p, config);
}
