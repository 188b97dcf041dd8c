/* keep.c: bf16. All arithmetic is that of fp32; what a layer's forward leaves for backward is kept rounded to 16 bits, and so is
 * what goes from one layer to the next. Weights, softmax, norms, loss, gradients and moments are not rounded. */
#include "model/model.h"

typedef struct piece {
  real *wide;
  brim_bfloat *narrow;
  int64_t count;
} piece;

enum { OF_ATTENTION = 2, PIECES = 5 };

/* Those of attention are the first: where there are copies, the later ones lie in the same memory. */
static void list_pieces(const brim_model *m, int32_t layer, piece out[PIECES]) {
  const brim_layer_slots *l = &m->tape.stage->slots.layers[layer];
  const int64_t hidden = m->config.hidden, rows = brim_model_layer_rows(m, layer).count, slots = m->tape.layout.slots;
  out[0] = (piece){l->qkv, l->narrow.qkv, slots * (brim_model_first_only(m, layer) ? 2 : 3) * hidden};
  out[1] = (piece){l->context, l->narrow.context, rows * hidden};
  out[2] = (piece){l->attention_sum, l->narrow.attention_sum, rows * hidden};
  out[3] = (piece){l->pre, l->narrow.pre, rows * m->config.intermediate};
  out[4] = (piece){l->output_sum, l->narrow.output_sum, rows * hidden};
}

static void narrow(brim_model *m, int64_t count, const real *x, brim_bfloat *y) {
  m->ops->narrow(&m->context, &(brim_to_bfloat){.count = count, .x = x, .y = y});
}

static void widen(brim_model *m, int64_t count, const brim_bfloat *x, real *y) {
  m->ops->widen(&m->context, &(brim_from_bfloat){.count = count, .x = x, .y = y});
}

static int64_t hidden_count(const brim_model *m) {
  return (int64_t)m->tape.layout.slots * m->config.hidden;
}

void brim_embedding_keep(brim_model *model) {
  const brim_slots *s = &model->tape.stage->slots;
  if (s->narrow_embed_sum)
    narrow(model, hidden_count(model), s->embed_sum, s->narrow_embed_sum);
}

void brim_embedding_recall(brim_model *model) {
  const brim_slots *s = &model->tape.stage->slots;
  if (s->narrow_embed_sum)
    widen(model, hidden_count(model), s->narrow_embed_sum, s->x);
}

void brim_layer_keep_input(brim_model *model, int32_t layer) {
  const brim_slots *s = &model->tape.stage->slots;
  if (!s->layers[layer].narrow.input)
    return;
  narrow(model, hidden_count(model), s->x, s->layers[layer].narrow.input);
  brim_layer_recall_input(model, layer);
}

void brim_layer_recall_input(brim_model *model, int32_t layer) {
  const brim_slots *s = &model->tape.stage->slots;
  if (s->layers[layer].narrow.input)
    widen(model, hidden_count(model), s->layers[layer].narrow.input, s->x);
}

static void keep(brim_model *m, int32_t layer, int from, int to) {
  piece pieces[PIECES];
  if (!m->tape.stage->slots.layers[layer].narrow.qkv)
    return;
  list_pieces(m, layer, pieces);
  for (int i = from; i < to; i++)
    narrow(m, pieces[i].count, pieces[i].wide, pieces[i].narrow);
}

void brim_layer_keep_attention(brim_model *model, int32_t layer) {
  keep(model, layer, 0, OF_ATTENTION);
}

void brim_layer_keep_output(brim_model *model, int32_t layer) {
  keep(model, layer, OF_ATTENTION, PIECES);
}

/* Without a copy the set is rounded by way of the memory of `wide`, which nobody needs just then. */
static void recall(brim_model *m, int32_t layer, int first, int end) {
  const brim_slots *s = &m->tape.stage->slots;
  const bool copied = s->layers[layer].narrow.qkv != NULL;
  piece pieces[PIECES];
  if (!s->layers[layer].narrow.input)
    return;
  list_pieces(m, layer, pieces);
  for (int i = first; i < end; i++) {
    brim_bfloat *from = copied ? pieces[i].narrow : (brim_bfloat *)s->wide;
    if (!copied)
      narrow(m, pieces[i].count, pieces[i].wide, from);
    widen(m, pieces[i].count, from, pieces[i].wide);
  }
}

void brim_layer_recall_output(brim_model *model, int32_t layer) {
  recall(model, layer, OF_ATTENTION, PIECES);
}

void brim_layer_recall_attention(brim_model *model, int32_t layer) {
  recall(model, layer, 0, OF_ATTENTION);
}
