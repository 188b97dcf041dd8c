/* head.c: from the first token of each text to its logits.
 *
 *   BERT        dense (the pooler), tanh, dropout, classifier
 *   RoBERTa     dropout, dense, tanh, dropout, out_proj; CamemBERT and XLM-R alike
 *   DistilBERT  pre_classifier, ReLU, dropout, classifier */
#include "model/model.h"

static brim_dropout input_dropout(const brim_model *m) {
  return brim_model_dropout(m, m->config.family->head_input_dropout ? m->config.head_dropout : 0, BRIM_SITE_HEAD_INPUT);
}

static brim_dropout hidden_dropout(const brim_model *m) {
  return brim_model_dropout(m, m->config.head_dropout, BRIM_SITE_HEAD_HIDDEN);
}

/* y = dropout(x), a row a text. */
static void drop_rows(brim_model *m, brim_dropout dropout, const real *x, real *y) {
  m->ops->dropout(&m->context, &(brim_dropout_rows){.layout = m->tape.layout,
                                                    .at = brim_model_first_rows(m),
                                                    .width = m->config.hidden,
                                                    .dropout = dropout,
                                                    .x = x,
                                                    .y = y});
}

void brim_head_forward(brim_model *model) {
  const brim_slots *s = &model->tape.stage->slots;
  const brim_parameters *p = &model->parameters;
  const int32_t width = model->config.hidden, outputs = model->config.labels.count, rows = model->tape.layout.n;
  const brim_dropout before = input_dropout(model);
  if (before.on)
    drop_rows(model, before, s->head_input, s->head_input);
  model->ops->linear_act_forward(&model->context, &(brim_linear_act){.rows = rows,
                                                                     .in = width,
                                                                     .out = width,
                                                                     .x = s->head_input,
                                                                     .w = model->values + p->dense.weight,
                                                                     .b = model->values + p->dense.bias,
                                                                     .act = model->config.family->head_activation,
                                                                     .y = s->head_hidden});
  drop_rows(model, hidden_dropout(model), s->head_hidden, s->head_dropped);
  model->ops->linear_forward(&model->context, &(brim_linear){.rows = rows,
                                                             .in = width,
                                                             .out = outputs,
                                                             .x = s->head_dropped,
                                                             .x_stride = width,
                                                             .w = model->values + p->output.weight,
                                                             .b = model->values + p->output.bias,
                                                             .y = s->logits,
                                                             .y_stride = outputs});
}

/* The slope of tanh and ReLU follows from the output as well as from the input, so the input is not kept. */
void brim_head_backward(brim_model *model) {
  const brim_slots *s = &model->tape.stage->slots;
  const brim_parameters *p = &model->parameters;
  const int32_t width = model->config.hidden, outputs = model->config.labels.count, rows = model->tape.layout.n;
  const brim_dropout before = input_dropout(model), after = hidden_dropout(model);
  real *d = s->head_gradient;
  model->ops->linear_backward(&model->context, &(brim_linear_gradient){.rows = rows,
                                                                       .in = width,
                                                                       .out = outputs,
                                                                       .x = s->head_dropped,
                                                                       .x_stride = width,
                                                                       .w = model->values + p->output.weight,
                                                                       .dy = s->dlogits,
                                                                       .dy_stride = outputs,
                                                                       .dx = d,
                                                                       .dx_stride = width,
                                                                       .dw = brim_model_gradient(model, p->output.weight),
                                                                       .db = brim_model_gradient(model, p->output.bias)});
  if (after.on)
    drop_rows(model, after, d, d);
  model->ops->act_backward(&model->context, &(brim_act_gradient){.count = (int64_t)rows * width,
                                                                 .act = model->config.family->head_activation,
                                                                 .pre = s->head_hidden,
                                                                 .dy = d,
                                                                 .dpre = d});
  model->ops->linear_backward(&model->context, &(brim_linear_gradient){.rows = rows,
                                                                       .in = width,
                                                                       .out = width,
                                                                       .x = s->head_input,
                                                                       .x_stride = width,
                                                                       .w = model->values + p->dense.weight,
                                                                       .dy = d,
                                                                       .dy_stride = width,
                                                                       .dx = s->gradient,
                                                                       .dx_stride = width,
                                                                       .dw = brim_model_gradient(model, p->dense.weight),
                                                                       .db = brim_model_gradient(model, p->dense.bias)});
  if (before.on && s->gradient)
    drop_rows(model, before, s->gradient, s->gradient);
}
