/* backward.c: from the loss back to every parameter. Formulas: encoder.c, differentiated. Five buffers serve all layers:
 *
 *   gradient, branch, x, y [R, H] and wide [R, max(F, 3H)] */
#include "base/runtime.h"
#include "base/status.h"
#include "model/model.h"

/* One layer while it is differentiated. */
typedef struct step {
  brim_model *m;
  const brim_slots *s;
  const brim_layer_slots *l;
  const brim_layer_at *at;
  int32_t layer;
  brim_rows rows;
  int32_t hidden, intermediate;
  const real *v;
  bool lowest; /* nothing below is trained: nobody needs the gradient of the layer's input */
} step;

/* Gradient of a weight or bias. */
static real *grad(const step *t, int64_t offset) {
  return brim_model_gradient(t->m, offset);
}

/* The layer's input, if it was kept; else the norm before it is made anew into slots.x. */
static const real *layer_input(const step *t) {
  if (t->l->input)
    return t->l->input;
  if (t->l->narrow.input) {
    brim_layer_recall_input(t->m, t->layer);
    return t->s->x;
  }
  const brim_layer_slots *before = &t->s->layers[t->layer - 1];
  const brim_pair_at *norm = &t->m->parameters.layers[t->layer - 1].output_norm;
  t->m->ops->norm_forward(&t->m->context, &(brim_norm){.rows = t->m->tape.layout.slots,
                                                       .width = t->hidden,
                                                       .sum = before->output_sum,
                                                       .mean = before->output_mean,
                                                       .rstd = before->output_rstd,
                                                       .gamma = t->v + norm->weight,
                                                       .beta = t->v + norm->bias,
                                                       .y = t->s->x});
  return t->s->x;
}

/* From the gradient of a norm's output to that of the residual (`residual`) and of the branch (slots.branch). */
static void norm_backward(const step *t, brim_dropout dropout, const real *sum, const real *mean, const real *rstd,
                          brim_pair_at norm, const real *dy, real *residual) {
  t->m->ops->norm_backward(&t->m->context, &(brim_norm_gradient){.layout = t->m->tape.layout,
                                                                 .at = t->rows,
                                                                 .dropout = dropout,
                                                                 .width = t->hidden,
                                                                 .sum = sum,
                                                                 .mean = mean,
                                                                 .rstd = rstd,
                                                                 .gamma = t->v + norm.weight,
                                                                 .dy = dy,
                                                                 .dsum = residual,
                                                                 .dbranch = t->s->branch,
                                                                 .dgamma = grad(t, norm.weight),
                                                                 .dbeta = grad(t, norm.bias)});
}

/* Gradients of y = x w^T + b of parameters that follow each other: to dx unless NULL, and to w and b. */
static void linear_backward(const step *t, int64_t rows, int32_t in, int32_t out, const real *x, brim_pair_at at, const real *dy,
                            real *dx, bool add) {
  t->m->ops->linear_backward(&t->m->context, &(brim_linear_gradient){.rows = rows,
                                                                     .in = in,
                                                                     .out = out,
                                                                     .x = x,
                                                                     .x_stride = in,
                                                                     .w = t->v + at.weight,
                                                                     .dy = dy,
                                                                     .dy_stride = out,
                                                                     .dx = dx,
                                                                     .dx_stride = in,
                                                                     .add = add,
                                                                     .dw = grad(t, at.weight),
                                                                     .db = grad(t, at.bias)});
}

/* x' = norm(y + dropout(act(y W) W)): from the gradient of x' to that of y, both in slots.gradient's and slots.y's memory. */
static void feed_forward_backward(const step *t) {
  const brim_ops *ops = t->m->ops;
  brim_ops_context *c = &t->m->context;
  const brim_slots *s = t->s;
  const brim_layer_slots *l = t->l;
  const brim_layer_at *at = t->at;
  const int32_t hidden = t->hidden, intermediate = t->intermediate;
  const int64_t rows = t->rows.count;
  norm_backward(t, brim_model_output_dropout(t->m, t->layer), l->output_sum, l->output_mean, l->output_rstd, at->output_norm,
                s->gradient, s->y);
  ops->linear_act_backward(c, &(brim_linear_act_gradient){.rows = rows,
                                                          .in = intermediate,
                                                          .out = hidden,
                                                          .w = t->v + at->down.weight,
                                                          .dz = s->branch,
                                                          .act = t->m->config.activation,
                                                          .pre = l->pre,
                                                          .dpre = s->wide});
  linear_backward(t, rows, intermediate, hidden, l->pre, at->down, s->branch, NULL, false);
  ops->norm_forward(c, &(brim_norm){.rows = rows,
                                    .width = hidden,
                                    .sum = l->attention_sum,
                                    .mean = l->attention_mean,
                                    .rstd = l->attention_rstd,
                                    .gamma = t->v + at->attention_norm.weight,
                                    .beta = t->v + at->attention_norm.bias,
                                    .y = s->x});
  linear_backward(t, rows, hidden, intermediate, s->x, at->up, s->wide, s->y, true);
}

/* y = norm(x + dropout(context W)): from the gradient of y (slots.y) to that of x on the residual path (slots.gradient) and of
 * the context (slots.y). */
static void projection_backward(const step *t) {
  const brim_slots *s = t->s;
  const brim_layer_slots *l = t->l;
  norm_backward(t, brim_model_attention_output_dropout(t->m, t->layer), l->attention_sum, l->attention_mean, l->attention_rstd,
                t->at->attention_norm, s->y, s->gradient);
  linear_backward(t, t->rows.count, t->hidden, t->hidden, l->context, t->at->attention_output, s->branch, s->y, false);
}

/* q, k, v = x W for all tokens: adds to the gradient of x. */
static void attention_backward(const step *t) {
  const brim_slots *s = t->s;
  const int32_t hidden = t->hidden;
  brim_attention a = brim_model_attention(t->m, t->layer);
  a.dout = s->y;
  a.dq = s->wide;
  a.dk = s->wide + hidden;
  a.dv = s->wide + 2 * hidden;
  t->m->ops->attention_backward(&t->m->context, &a);
  linear_backward(t, t->rows.count, hidden, 3 * hidden, layer_input(t), t->at->query, s->wide, t->lowest ? NULL : s->gradient,
                  true);
}

/* The same where only first tokens have queries: their gradient [n, H] goes on as one of all tokens [R, H]. */
static void first_attention_backward(const step *t) {
  const brim_slots *s = t->s;
  const brim_ops *ops = t->m->ops;
  brim_ops_context *c = &t->m->context;
  const int32_t hidden = t->hidden, slots = t->m->tape.layout.slots;
  brim_attention a = brim_model_attention(t->m, t->layer);
  a.dout = s->y;
  a.dq = s->branch;
  a.dk = s->wide;
  a.dv = s->wide + hidden;
  ops->attention_backward(c, &a);
  const real *x = layer_input(t);
  real *first_x = s->y, *first_gradient = s->head_gradient;
  ops->gather_rows(c, &(brim_gather){.at = t->rows, .width = hidden, .x = x, .x_stride = hidden, .y = first_x});
  real *dx = t->lowest ? NULL : s->gradient;
  linear_backward(t, t->rows.count, hidden, hidden, first_x, t->at->query, s->branch, dx, true);
  const brim_rows all = {.count = t->rows.count};
  if (dx)
    ops->gather_rows(c, &(brim_gather){.at = all, .width = hidden, .x = dx, .x_stride = hidden, .y = first_gradient});
  linear_backward(t, slots, hidden, 2 * hidden, x, t->at->key, s->wide, dx, false);
  if (dx)
    ops->scatter_rows(c, &(brim_scatter){.at = t->rows, .width = hidden, .dy = first_gradient, .dx = dx, .dx_stride = hidden});
}

static void layer_backward(brim_model *m, int32_t layer) {
  const step t = {.m = m,
                  .s = &m->tape.stage->slots,
                  .l = &m->tape.stage->slots.layers[layer],
                  .at = &m->parameters.layers[layer],
                  .layer = layer,
                  .rows = brim_model_layer_rows(m, layer),
                  .hidden = m->config.hidden,
                  .intermediate = m->config.intermediate,
                  .v = m->values,
                  .lowest = m->frozen > 0 && layer == brim_model_lowest_layer(m)};
  brim_layer_recall_output(m, layer);
  feed_forward_backward(&t);
  brim_layer_recall_attention(m, layer);
  projection_backward(&t);
  if (brim_model_first_only(m, layer))
    first_attention_backward(&t);
  else
    attention_backward(&t);
}

/* Row `row` of a table has no gradient, as with PyTorch's padding_idx. */
static void clear_row(brim_model *m, int64_t table, int32_t row) {
  if (row >= 0)
    m->ops->zero(&m->context,
                 &(brim_zero){.count = m->config.hidden, .x = brim_model_gradient(m, table + (int64_t)row * m->config.hidden)});
}

static void embedding_backward(brim_model *m) {
  const brim_slots *s = &m->tape.stage->slots;
  const brim_parameters *p = &m->parameters;
  brim_embed embed = brim_model_embed(m);
  real *g = m->gradients; /* of all values, since those of the embeddings are the first */
  if (s->narrow_embed_sum)
    embed.sum = s->x;
  embed.dout = s->gradient;
  embed.dsum = s->y;
  embed.dword = g + p->word;
  embed.dposition = g + p->position;
  embed.dtype = p->type < 0 ? NULL : g + p->type;
  embed.dgamma = g + p->embed_norm.weight;
  embed.dbeta = g + p->embed_norm.bias;
  m->ops->embed_backward(&m->context, &embed);
  clear_row(m, p->word, m->config.pad_id);
  if (m->config.family->pad_positions)
    clear_row(m, p->position, m->config.pad_id);
}

/* The head's gradient is that of the first tokens, or of what was pooled; an all-token last layer needs it for all. */
static void spread_head_gradient(brim_model *m) {
  const brim_slots *s = &m->tape.stage->slots;
  const int32_t hidden = m->config.hidden;
  const brim_rows first = brim_model_first_rows(m), all = {.count = first.count};
  m->ops->gather_rows(&m->context,
                      &(brim_gather){.at = all, .width = hidden, .x = s->gradient, .x_stride = hidden, .y = s->head_gradient});
  if (m->config.pooling != BRIM_POOLING_CLS) {
    m->ops->pool_backward(
        &m->context,
        &(brim_pool_gradient){
            .layout = m->tape.layout, .width = hidden, .dy = s->head_gradient, .chosen = s->chosen, .dx = s->gradient});
    return;
  }
  m->ops->zero(&m->context, &(brim_zero){.count = (int64_t)m->tape.layout.slots * hidden, .x = s->gradient});
  m->ops->scatter_rows(
      &m->context, &(brim_scatter){.at = first, .width = hidden, .dy = s->head_gradient, .dx = s->gradient, .dx_stride = hidden});
}

/* From the head down to the lowest part that is trained. What checkpoints did not keep is still there for the last layer, since
 * its forward was the last one, and made anew for those below. */
static int run(brim_model *m, brim_error *err) {
  const int32_t last = m->config.layers - 1, lowest = brim_model_lowest_layer(m);
  const brim_slots *s = &m->tape.stage->slots;
  brim_head_backward(m);
  if (lowest <= last && !brim_model_first_only(m, last))
    spread_head_gradient(m);
  for (int32_t layer = last; layer >= lowest; layer--) {
    BRIM_TRY(brim_check_cancel(m->runtime, err));
    if (m->tape.stage->limits.checkpoint_activations && layer < last) {
      brim_layer_recall_input(m, layer);
      brim_layer_forward(m, layer, s->layers[layer].input ? s->layers[layer].input : s->x, s->x);
    }
    layer_backward(m, layer);
  }
  if (m->frozen == 0) {
    brim_embedding_recall(m);
    embedding_backward(m);
  }
  return BRIM_OK;
}

int brim_model_backward(brim_model *model, const brim_batch *batch, const brim_pass *pass, brim_error *err) {
  brim_tape *tape = &model->tape;
  (void)pass;
  if (!tape->stage || !tape->training || tape->backward_done || tape->layout.n != batch->count ||
      tape->layout.tokens != batch->offsets[batch->count])
    return brim_error_set(err, BRIM_E_USAGE, "backward needs a training forward of the same batch before it");
  tape->backward_done = true;
  if (batch->count == 0)
    return BRIM_OK;
  brim_model_touch(model);
  return run(model, err);
}
