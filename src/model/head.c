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

void brim_head_forward(brim_model *model) {
  const brim_slots *s = &model->tape.stage->slots;
  const brim_parameters *p = &model->parameters;
  const brim_layout *layout = &model->tape.layout;
  const brim_rows first = brim_model_first_rows(model);
  const int32_t width = model->config.hidden;
  const brim_dropout before = input_dropout(model), after = hidden_dropout(model);
  if (before.on)
    model->ops->dropout(&model->context, layout, &first, width, &before, s->head_input, s->head_input);
  model->ops->linear_act_forward(&model->context, first.count, width, width, s->head_input, model->values + p->dense.weight,
                                 model->values + p->dense.bias, model->config.family->head_activation, NULL, s->head_hidden);
  model->ops->dropout(&model->context, layout, &first, width, &after, s->head_hidden, s->head_dropped);
  model->ops->linear_forward(&model->context, first.count, width, model->config.labels.count, s->head_dropped, width,
                             model->values + p->output.weight, model->values + p->output.bias, s->logits,
                             model->config.labels.count);
}

/* The slope of tanh and ReLU follows from the output as well as from the input, so the input is not kept. */
void brim_head_backward(brim_model *model) {
  const brim_slots *s = &model->tape.stage->slots;
  const brim_parameters *p = &model->parameters;
  const brim_layout *layout = &model->tape.layout;
  const brim_rows first = brim_model_first_rows(model);
  const int32_t width = model->config.hidden, outputs = model->config.labels.count;
  const brim_dropout before = input_dropout(model), after = hidden_dropout(model);
  real *d = s->head_gradient;
  model->ops->linear_backward(&model->context, first.count, width, outputs, s->head_dropped, width,
                              model->values + p->output.weight, s->dlogits, outputs, d, width, false,
                              brim_model_gradient(model, p->output.weight), brim_model_gradient(model, p->output.bias));
  if (after.on)
    model->ops->dropout(&model->context, layout, &first, width, &after, d, d);
  model->ops->act_backward(&model->context, (int64_t)first.count * width, model->config.family->head_activation, s->head_hidden,
                           d, d);
  model->ops->linear_backward(&model->context, first.count, width, width, s->head_input, width, model->values + p->dense.weight,
                              d, width, s->gradient, width, false, brim_model_gradient(model, p->dense.weight),
                              brim_model_gradient(model, p->dense.bias));
  if (before.on && s->gradient)
    model->ops->dropout(&model->context, layout, &first, width, &before, s->gradient, s->gradient);
}
