/* encoder.c: the steps of a layer of BERT, and how weights are declared.
 *
 *   embedded = dropout(norm(word + position + type))
 *   layer:  q, k, v = x W      context = attention(q, k, v)
 *           y  = norm(x + dropout(context W))
 *           x' = norm(y + dropout(act(y W) W))
 *   head:   first token, or pooled -> [dropout] -> dense -> activation -> dropout -> scores
 *
 * Post-layer-norm, as in "Attention is all you need" and BERT. */
#include "model/families/encoder.h"

#include <stdio.h>

#include "task/task.h"

enum { SITE_EMBEDDING = 0, SITE_HEAD_INPUT = 1, SITE_HEAD_HIDDEN = 2 };

uint32_t brim_site_of_layer(int32_t layer, uint32_t site) {
  return ((uint32_t)layer + 1) << 16 | site;
}

brim_writing brim_writing_of(brim_program *p, const brim_config *config) {
  return (brim_writing){.p = p, .config = config, .names = config->family->names, .layer = BRIM_NONE, .shared = BRIM_NONE};
}

/* ---- weights -------------------------------------------------------------------------------------------------- */

enum { NAME_SIZE = 128 };

int32_t brim_declare_named(const brim_writing *w, const char *module, const char *suffix, int64_t rows, int64_t columns,
                           int flags) {
  const bool is_shared = w->shared != BRIM_NONE;
  char of_layer[64] = "", name[NAME_SIZE];
  if (w->layer >= 0) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(of_layer, sizeof of_layer, w->names->layer, is_shared ? w->shared : w->layer);
#pragma GCC diagnostic pop
  }
  const bool bare = w->outside || brim_task_shape(w->config->labels.task)->bare; /* whose files are of a bare encoder */
  snprintf(name, sizeof name, "%s%s%s%s", bare ? "" : w->config->family->prefix, of_layer, module, suffix);
  return brim_declare(w->p, name, rows, columns, flags | (is_shared ? BRIM_WEIGHT_SHARED : 0));
}

int32_t brim_declare_embedding(const brim_writing *w, const char *module, int32_t rows, int32_t width) {
  return brim_declare_named(w, module, ".weight", rows, width, BRIM_WEIGHT_DECAY | BRIM_WEIGHT_SPARSE);
}

int32_t brim_declare_linear(const brim_writing *w, const char *module, int32_t out, int32_t in, int flags) {
  const int32_t weight = brim_declare_named(w, module, ".weight", out, in, BRIM_WEIGHT_DECAY | flags);
  if (!(flags & BRIM_WEIGHT_BARE))
    brim_declare_named(w, module, ".bias", out, 0, flags);
  return weight;
}

brim_normed brim_declare_norm(const brim_writing *w, const char *module, int32_t width) {
  const bool bare = w->config->bare_norms;
  const int32_t weight = brim_declare_named(w, module, ".weight", width, 0, BRIM_WEIGHT_ONE | (bare ? BRIM_WEIGHT_BARE : 0));
  if (!bare)
    brim_declare_named(w, module, ".bias", width, 0, 0);
  return (brim_normed){.norm = weight, .eps = w->config->norm_eps, .rms = w->config->rms};
}

/* ---- steps ---------------------------------------------------------------------------------------------------- */

static brim_embeddings declare_embeddings(const brim_writing *w) {
  const brim_config *c = w->config;
  const brim_family_names *names = w->names;
  const int sparse = brim_config_ties(c) ? 0 : BRIM_WEIGHT_SPARSE;
  const int32_t word = brim_declare_named(w, names->word, ".weight", c->vocab_size, c->embedding, BRIM_WEIGHT_DECAY | sparse),
                position = names->position ? brim_declare_embedding(w, names->position, c->positions, c->embedding) : BRIM_NONE;
  return (brim_embeddings){.word = word,
                           .position = position,
                           .type = c->types > 0 ? brim_declare_embedding(w, names->type, c->types, c->embedding) : BRIM_NONE,
                           .empty_word = c->pad_id >= 0 ? c->pad_id : BRIM_NONE,
                           .empty_position = c->family->pad_positions && c->pad_id >= 0 ? c->pad_id : BRIM_NONE};
}

int32_t brim_write_embeddings(const brim_writing *w) {
  const brim_config *c = w->config;
  const char *norm_name = w->names->embed_norm;
  brim_begin_section(w->p, "embeddings", false, BRIM_NONE);
  const brim_embeddings embeddings = declare_embeddings(w);
  const brim_normed norm = norm_name ? brim_declare_norm(w, norm_name, c->embedding) : (brim_normed){BRIM_NONE, 0, 0};
  return brim_append_lookup(w->p, embeddings, norm, (brim_drop_at){c->hidden_dropout, SITE_EMBEDDING});
}

int32_t brim_write_projected_embeddings(const brim_writing *w, const char *module) {
  const brim_config *c = w->config;
  brim_begin_section(w->p, "embeddings", false, BRIM_NONE);
  const brim_embeddings embeddings = declare_embeddings(w);
  const int32_t sum = brim_append_lookup(w->p, embeddings, (brim_normed){BRIM_NONE, 0, 0}, (brim_drop_at){0});
  const int32_t matrix = brim_declare_linear(w, module, c->hidden, c->embedding, BRIM_WEIGHT_BARE);
  const int32_t wide = brim_append_dense(w->p, sum, matrix, BRIM_ACT_NONE);
  const int32_t normed = brim_append_norm(w->p, wide, brim_declare_norm(w, w->names->embed_norm, c->hidden));
  return brim_append_drop(w->p, normed, (brim_drop_at){c->hidden_dropout, SITE_EMBEDDING});
}

void brim_begin_layer(const brim_writing *w, int32_t x) {
  char name[32];
  snprintf(name, sizeof name, "layer %d", w->layer);
  brim_begin_section(w->p, name, true, x);
}

int32_t brim_declare_heads(const brim_writing *w, int32_t *bias) {
  const char *modules[3] = {w->names->query, w->names->key, w->names->value};
  const int32_t hidden = w->config->hidden;
  int32_t weights[3], biases[3];
  for (int i = 0; i < 3; i++)
    weights[i] = brim_declare_named(w, modules[i], ".weight", hidden, hidden, BRIM_WEIGHT_DECAY | (i ? BRIM_WEIGHT_ADJOINS : 0));
  for (int i = 0; i < 3; i++)
    biases[i] = brim_declare_named(w, modules[i], ".bias", hidden, 0, i ? BRIM_WEIGHT_ADJOINS : 0);
  *bias = biases[0];
  return weights[0];
}

brim_projected brim_write_project(const brim_writing *w, int32_t x) {
  int32_t bias;
  const int32_t weight = brim_declare_heads(w, &bias);
  return brim_append_project(w->p, x, weight, bias);
}

int32_t brim_write_attend(const brim_writing *w, brim_projected heads) {
  return brim_append_attend(w->p, heads, w->config->heads,
                            (brim_drop_at){w->config->attention_dropout, brim_site_of_layer(w->layer, BRIM_SITE_ATTENTION)});
}

int32_t brim_write_join(const brim_writing *w, int32_t context, int32_t x, double dropout) {
  const int32_t hidden = w->config->hidden, projection = brim_declare_linear(w, w->names->attention_output, hidden, hidden, 0);
  return brim_append_join(w->p, context, x, projection,
                          (brim_drop_at){dropout, brim_site_of_layer(w->layer, BRIM_SITE_ATTENTION_OUTPUT)},
                          brim_declare_norm(w, w->names->attention_norm, hidden));
}

int32_t brim_write_feed_forward(const brim_writing *w, int32_t attended, double dropout) {
  const brim_config *c = w->config;
  const int32_t up = brim_declare_linear(w, w->names->up, c->intermediate, c->hidden, 0),
                down = brim_declare_linear(w, w->names->down, c->hidden, c->intermediate, 0);
  return brim_append_feed_forward(w->p, attended, up, c->activation, down,
                                  (brim_drop_at){dropout, brim_site_of_layer(w->layer, BRIM_SITE_OUTPUT)},
                                  brim_declare_norm(w, w->names->output_norm, c->hidden));
}

int32_t brim_write_layer(const brim_writing *w, int32_t x) {
  brim_begin_layer(w, x);
  const int32_t context = brim_write_attend(w, brim_write_project(w, x));
  const int32_t attended = brim_write_join(w, context, x, w->config->hidden_dropout);
  return brim_write_feed_forward(w, attended, w->config->hidden_dropout);
}

/* The last layers as one value, whose weights are by this name. What section i takes is what the one before gave: the head, which
 * has begun, takes the last layer's. */
static int32_t write_mixed(const brim_writing *outside, int32_t x, const char *name) {
  const brim_mixed mixed = outside->config->mixed;
  const brim_program *p = outside->p;
  int32_t layers[BRIM_MOST_LISTED];
  if (mixed.count == 0 || p->status)
    return x;
  for (int32_t i = 0; i < mixed.count; i++)
    layers[i] = p->sections[(int32_t)p->section_count - mixed.count + i].input;
  return brim_append_layers(outside->p, layers, mixed.count,
                            mixed.joined ? BRIM_NONE : brim_declare_named(outside, name, "", mixed.count, 0, BRIM_WEIGHT_ONE));
}

static int32_t pool(const brim_writing *w, int32_t x) {
  const brim_pooling pooling = w->config->pooling;
  if (w->config->skips_prompts || !brim_pooling_is_simple(pooling))
    return brim_append_pool_joined(w->p, x, brim_pooling_modes(pooling));
  return pooling == BRIM_POOLING_CLS ? brim_append_choose(w->p, x) : brim_append_pool(w->p, x, pooling == BRIM_POOLING_MAX);
}

/* Pooled tokens, and dense layers where the folder has them. Backward begins with the gradient that the host gives: the loss is
 * none of the device's. */
static void write_vector_head(const brim_writing *w, int32_t x) {
  brim_begin_section(w->p, "head", false, x);
  brim_writing outside = *w;
  outside.layer = outside.shared = BRIM_NONE;
  w->p->hidden = write_mixed(&outside, x, BRIM_LAYERS_MODULE "/" BRIM_LAYER_SHARES);
  int32_t text = pool(w, w->p->hidden);
  for (int32_t i = 0; i < w->config->dense_count; i++) {
    const brim_dense_module *d = &w->config->dense[i];
    char name[sizeof d->path + 8];
    snprintf(name, sizeof name, "%s/linear", d->path);
    text = brim_append_dense(w->p, text, brim_declare_linear(&outside, name, d->out, d->in, d->biased ? 0 : BRIM_WEIGHT_BARE),
                             d->activation);
  }
  w->p->logits = text;
  brim_append_loss(w->p, text, w->config->labels.task);
}

/* Token -> dropout -> classifier, by this name in all families. */
static void write_token_head(const brim_writing *w, int32_t x, double dropout) {
  const brim_config *c = w->config;
  brim_writing outside = *w;
  outside.layer = outside.shared = BRIM_NONE;
  outside.outside = true;
  brim_begin_section(w->p, "head", false, x);
  const int32_t token = dropout < 0 ? x : brim_append_drop(w->p, x, (brim_drop_at){dropout, SITE_HEAD_HIDDEN});
  const int32_t output = brim_declare_linear(&outside, "classifier", c->labels.count, c->hidden, BRIM_WEIGHT_LABELS);
  brim_append_loss(w->p, brim_append_scores(w->p, token, output), c->labels.task);
}

/* The embedding of words, which is declared, or its own matrix; and its bias. */
static void write_decoder(const brim_writing *inside, const brim_writing *outside, int32_t x) {
  const brim_config *c = inside->config;
  const brim_word_names *names = &inside->names->words;
  const bool tied = c->tied || !names->decoder;
  const char *bias = tied ? names->bias : names->untied_bias;
  const int32_t weight = tied ? brim_declare_named(inside, inside->names->word, ".weight", c->vocab_size, c->embedding,
                                                   BRIM_WEIGHT_DECAY | BRIM_WEIGHT_SHARED)
                              : brim_declare_named(outside, names->decoder, ".weight", c->vocab_size, c->embedding,
                                                   BRIM_WEIGHT_DECAY | BRIM_WEIGHT_BARE);
  brim_append_vocabulary(inside->p, x, weight,
                         bias && c->has_decoder_bias ? brim_declare_named(outside, bias, "", c->vocab_size, 0, 0) : BRIM_NONE);
}

static void write_words_head(const brim_writing *w, int32_t x, const brim_head *head) {
  const brim_config *c = w->config;
  const brim_word_names *names = &w->names->words;
  brim_writing inside = *w, outside;
  inside.layer = inside.shared = BRIM_NONE;
  outside = inside;
  outside.outside = true;
  brim_begin_section(w->p, "head", false, x);
  int32_t token = brim_append_masked(w->p, x);
  if (names->dense) {
    const int32_t dense = brim_declare_linear(&outside, names->dense, c->embedding, c->hidden, head->bare ? BRIM_WEIGHT_BARE : 0);
    token = brim_append_dense(w->p, token, dense, head->words);
    token = brim_append_norm(w->p, token, brim_declare_norm(&outside, names->norm, c->embedding));
  }
  write_decoder(&inside, &outside, token);
}

static void write_text_head(const brim_writing *w, int32_t x, const brim_head *head, bool tokens) {
  const brim_config *c = w->config;
  brim_writing outside = *w, dense_at = *w;
  outside.layer = dense_at.layer = outside.shared = dense_at.shared = BRIM_NONE;
  outside.outside = true;
  dense_at.outside = !w->names->head_dense_in_encoder;
  brim_begin_section(w->p, "head", false, x);
  const int32_t seen = tokens ? x : write_mixed(&outside, x, BRIM_LAYER_SHARES);
  int32_t text = c->late || tokens ? seen : pool(w, seen);
  if (!tokens && c->mixed.joined) /* back to the width that the head knows */
    text = brim_append_dense(
        w->p, text, brim_declare_linear(&outside, BRIM_JOINED_WEIGHT, c->hidden, brim_config_seen_width(c), 0), BRIM_ACT_NONE);
  if (head->drops_input)
    text = brim_append_drop(w->p, text, (brim_drop_at){head->input_dropout, SITE_HEAD_INPUT});
  const int32_t dense = brim_declare_linear(&dense_at, w->names->head_dense, c->hidden, c->hidden,
                                            head->bare ? BRIM_WEIGHT_BARE : 0);
  text = brim_append_dense(w->p, text, dense, head->activation);
  if (head->norm)
    text = brim_append_norm(w->p, text, brim_declare_norm(&dense_at, head->norm, c->hidden));
  if (c->late) /* scores are linear: those of the mean are the mean of the tokens' */
    text = pool(w, text);
  if (head->dropout >= 0)
    text = brim_append_drop(w->p, text, (brim_drop_at){head->dropout, SITE_HEAD_HIDDEN});
  const int32_t output = brim_declare_linear(&outside, w->names->head_output, brim_config_outputs(c), c->hidden,
                                             BRIM_WEIGHT_LABELS);
  brim_append_loss(w->p, brim_append_scores(w->p, text, output), c->labels.task);
}

void brim_write_head(const brim_writing *w, int32_t x, brim_head head) {
  switch (brim_task_rules_of(w->config->labels.task)->head) {
  case BRIM_HEAD_OF_WORDS:
    write_words_head(w, x, &head);
    break;
  case BRIM_HEAD_OF_VECTORS:
    write_vector_head(w, x);
    break;
  case BRIM_HEAD_OF_TOKENS:
    if (head.norm) /* a head with a norm is the same for tokens */
      write_text_head(w, x, &head, true);
    else
      write_token_head(w, x, head.dropout);
    break;
  case BRIM_HEAD_OF_TEXTS:
    write_text_head(w, x, &head, false);
  }
}
