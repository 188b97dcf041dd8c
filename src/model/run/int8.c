/* int8.c: predictions whose products multiply bytes. What is quantized the kinds say; embeddings, attention, norms and the head
 * are those of fp32. */
#include "base/memory.h"
#include "base/poison.h"
#include "model/kind.h"
#include "model/run/model.h"

void brim_model_release_int8(brim_model *model) {
  if (model->int8_block)
    brim_unpoison(model->int8_block, model->int8_size);
  model->ops->release(&model->context, model->int8_block);
  model->int8_block = NULL;
}

void brim_model_make_int8(brim_model *model) {
  const brim_program *p = &model->program;
  int32_t next = 0;
  for (size_t i = 0; !model->int8_made && i < p->operation_count; i++) {
    brim_product products[BRIM_MOST_PRODUCTS];
    const brim_operation *o = &p->operations[i];
    const int count = o->kind->products && o->first_packed == next ? o->kind->products(p, o, products) : 0;
    next += count;
    for (int k = 0; k < count; k++)
      model->ops->int8_pack(&model->context,
                            &(brim_int8_pack){.w = model->values + products[k].weight,
                                              .b = products[k].bias < 0 ? NULL : model->values + products[k].bias,
                                              .to = {products[k].in, products[k].out, model->packed[o->first_packed + k]}});
  }
  model->int8_made = true;
}
