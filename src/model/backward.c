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
  t->m->ops->norm_forward(&t->m->context, t->m->tape.layout.slots, t->hidden, before->output_sum, before->output_mean,
                          before->output_rstd, t->v + norm->weight, t->v + norm->bias, t->s->x);
  return t->s->x;
}

/* x' = norm(y + dropout(act(y W) W)): from the gradient of x' to that of y, both in slots.gradient's and slots.y's memory. */
static void feed_forward_backward(const step *t) {
  const brim_ops *ops = t->m->ops;
  brim_ops_context *c = &t->m->context;
  const brim_slots *s = t->s;
  const int32_t hidden = t->hidden, intermediate = t->intermediate;
  const int64_t rows = t->rows.count;
  const brim_dropout dropout = brim_model_output_dropout(t->m, t->layer);
  ops->norm_backward(c, &t->m->tape.layout, &t->rows, hidden, t->l->output_sum, t->l->output_mean, t->l->output_rstd,
                     t->v + t->at->output_norm.weight, &dropout, s->gradient, s->y, s->branch, grad(t, t->at->output_norm.weight),
                     grad(t, t->at->output_norm.bias));
  ops->linear_act_backward(c, rows, intermediate, hidden, t->v + t->at->down.weight, s->branch, t->m->config.activation,
                           t->l->pre, s->wide);
  ops->linear_backward(c, rows, intermediate, hidden, t->l->pre, intermediate, NULL, s->branch, hidden, NULL, 0, false,
                       grad(t, t->at->down.weight), grad(t, t->at->down.bias));
  ops->norm_forward(c, rows, hidden, t->l->attention_sum, t->l->attention_mean, t->l->attention_rstd,
                    t->v + t->at->attention_norm.weight, t->v + t->at->attention_norm.bias, s->x);
  ops->linear_backward(c, rows, hidden, intermediate, s->x, hidden, t->v + t->at->up.weight, s->wide, intermediate, s->y, hidden,
                       true, grad(t, t->at->up.weight), grad(t, t->at->up.bias));
}

/* y = norm(x + dropout(context W)): from the gradient of y (slots.y) to that of x on the residual path (slots.gradient) and of
 * the context (slots.y). */
static void projection_backward(const step *t) {
  const brim_slots *s = t->s;
  const brim_dropout dropout = brim_model_attention_output_dropout(t->m, t->layer);
  t->m->ops->norm_backward(&t->m->context, &t->m->tape.layout, &t->rows, t->hidden, t->l->attention_sum, t->l->attention_mean,
                           t->l->attention_rstd, t->v + t->at->attention_norm.weight, &dropout, s->y, s->gradient, s->branch,
                           grad(t, t->at->attention_norm.weight), grad(t, t->at->attention_norm.bias));
  t->m->ops->linear_backward(&t->m->context, t->rows.count, t->hidden, t->hidden, t->l->context, t->hidden,
                             t->v + t->at->attention_output.weight, s->branch, t->hidden, s->y, t->hidden, false,
                             grad(t, t->at->attention_output.weight), grad(t, t->at->attention_output.bias));
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
  t->m->ops->linear_backward(&t->m->context, t->rows.count, hidden, 3 * hidden, layer_input(t), hidden,
                             t->v + t->at->query.weight, s->wide, 3 * hidden, t->lowest ? NULL : s->gradient, hidden, true,
                             grad(t, t->at->query.weight), grad(t, t->at->query.bias));
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
  ops->gather_rows(c, &t->rows, hidden, x, hidden, first_x);
  real *dx = t->lowest ? NULL : s->gradient;
  ops->linear_backward(c, t->rows.count, hidden, hidden, first_x, hidden, t->v + t->at->query.weight, s->branch, hidden, dx,
                       hidden, true, grad(t, t->at->query.weight), grad(t, t->at->query.bias));
  const brim_rows all = {.count = t->rows.count};
  if (dx)
    ops->gather_rows(c, &all, hidden, dx, hidden, first_gradient);
  ops->linear_backward(c, slots, hidden, 2 * hidden, x, hidden, t->v + t->at->key.weight, s->wide, 2 * hidden, dx, hidden, false,
                       grad(t, t->at->key.weight), grad(t, t->at->key.bias));
  if (dx)
    ops->scatter_rows(c, &t->rows, hidden, first_gradient, dx, hidden);
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
    m->ops->zero(&m->context, m->config.hidden, brim_model_gradient(m, table + (int64_t)row * m->config.hidden));
}

static void embedding_backward(brim_model *m) {
  const brim_slots *s = &m->tape.stage->slots;
  const brim_parameters *p = &m->parameters;
  const brim_embed embed = brim_model_embed(m);
  real *g = m->gradients; /* of all values, since those of the embeddings are the first */
  m->ops->embed_backward(&m->context, &embed, s->narrow_embed_sum ? s->x : s->embed_sum, s->embed_mean, s->embed_rstd,
                         s->gradient, s->y, g + p->word, g + p->position, p->type < 0 ? NULL : g + p->type,
                         g + p->embed_norm.weight, g + p->embed_norm.bias);
  clear_row(m, p->word, m->config.pad_id);
  if (m->config.family->pad_positions)
    clear_row(m, p->position, m->config.pad_id);
}

/* The head's gradient is that of the first tokens, or of what was pooled; an all-token last layer needs it for all. */
static void spread_head_gradient(brim_model *m) {
  const brim_slots *s = &m->tape.stage->slots;
  const int32_t hidden = m->config.hidden;
  const brim_rows first = brim_model_first_rows(m), all = {.count = first.count};
  m->ops->gather_rows(&m->context, &all, hidden, s->gradient, hidden, s->head_gradient);
  if (m->config.pooling != BRIM_POOLING_CLS) {
    m->ops->pool_backward(&m->context, &m->tape.layout, hidden, s->head_gradient, s->chosen, s->gradient);
    return;
  }
  m->ops->zero(&m->context, (int64_t)m->tape.layout.slots * hidden, s->gradient);
  m->ops->scatter_rows(&m->context, &first, hidden, s->head_gradient, s->gradient, hidden);
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
