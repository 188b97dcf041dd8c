/* half_weights.c: a copy in 16 bits of the weights that products in bf16 read. Which these are, the kinds say. The block spans
 * all from the first to the last of them: embeddings come before the layers, and are not in it. AdamW writes the copy as it goes;
 * who changes values in another way has it made again before the next pass. */
#include "base/memory.h"
#include "base/status.h"
#include "model/run/model.h"

static void find_span(const brim_program *p, int64_t *from, int64_t *end) {
  *from = *end = 0;
  for (size_t i = 0; i < p->weight_count; i++) {
    const brim_weight *w = &p->weights[i];
    if (!w->half)
      continue;
    *from = *end == 0 ? w->is.offset : *from;
    *end = w->is.offset + w->is.count;
  }
}

size_t brim_model_half_size(const brim_model *model) {
  enum { LINE = 64 };
  int64_t from, end;
  find_span(&model->program, &from, &end);
  return (size_t)(end - from) * sizeof(brim_bfloat) + LINE;
}

/* Copies of adjoining weights adjoin, and each begins where a line may begin, as the values do. */
int brim_model_take_half(brim_model *model, brim_error *err) {
  enum { LINE = 64 };
  void *block = model->ops->alloc(&model->context, brim_model_half_size(model), false);
  if (!block)
    return brim_model_no_memory(model, brim_model_half_size(model), err);
  model->half_block = block;
  model->half = (brim_bfloat *)(((uintptr_t)block + LINE - 1) / LINE * LINE);
  find_span(&model->program, &model->half_from, &model->half_end);
  model->half_made = false;
  return BRIM_OK;
}

void brim_model_release_half(brim_model *model) {
  model->ops->release(&model->context, model->half_block);
  model->half_block = NULL;
  model->half = NULL;
}

brim_bfloat *brim_model_half_copy(const brim_model *model, const brim_weight *weight) {
  return model->half && weight->half ? model->half + (weight->is.offset - model->half_from) : NULL;
}

void brim_model_make_half(brim_model *model) {
  const brim_program *p = &model->program;
  for (size_t i = 0; !model->half_made && i < p->weight_count; i++)
    if (p->weights[i].half)
      model->ops->narrow(&model->context, &(brim_to_bfloat){.count = p->weights[i].is.count,
                                                            .x = model->values + p->weights[i].is.offset,
                                                            .y = brim_model_half_copy(model, &p->weights[i])});
  model->half_made = true;
}
