/* half.c: the operations on values of 16 bits as kernels: those of layers.c with other types. What a product and the kernel
 * after it make between them is stored, and so rounded, as the result is. */
#include "ops/cuda/cuda.h"

/* x w^T + b. */
static void linear(brim_ops_context *c, int64_t rows, int32_t in, int32_t out, const brim_bfloat *x, const brim_bfloat *w,
                   const real *b, cu_typed y) {
  brim_cuda_linear_queue(c, &(brim_cuda_linear){.rows = rows,
                                                .in = in,
                                                .out = out,
                                                .x = brim_cuda_half_of(c, x),
                                                .x_stride = in,
                                                .w = brim_cuda_half_of(c, w),
                                                .b = b,
                                                .y = y,
                                                .y_stride = out});
}

void brim_cuda_bf16_forward(brim_ops_context *c, const brim_bf16_linear *op) {
  brim_cuda_linear_queue(c, &(brim_cuda_linear){.rows = op->rows,
                                                .in = op->in,
                                                .out = op->out,
                                                .x = brim_cuda_half_of(c, op->x),
                                                .x_stride = op->x_stride,
                                                .w = brim_cuda_half_of(c, op->w),
                                                .b = op->b,
                                                .y = brim_cuda_typed_of(c, op->y),
                                                .y_stride = op->y_stride,
                                                .add = op->add});
}

void brim_cuda_bf16_act_forward(brim_ops_context *c, const brim_bf16_linear_act *op) {
  const cu_typed pre = brim_cuda_half_of(c, op->pre ? op->pre : op->y);
  linear(c, op->rows, op->in, op->out, op->x, op->w, op->b, pre);
  brim_cuda_activate(c, op->rows * op->out, op->act, pre, brim_cuda_half_of(c, op->y));
}

void brim_cuda_bf16_norm_forward(brim_ops_context *c, const brim_bf16_linear_norm *op) {
  const cu_typed y = brim_cuda_typed_of(c, op->y);
  linear(c, op->at.count, op->in, op->out, op->x, op->w, op->b, y);
  launch_join_forward(c, brim_cuda_blocks(op->at.count, BRIM_CUDA_ROWS), 1, 0,
                      &(cu_join){.layout = brim_cuda_layout_of(&op->layout),
                                 .at = brim_cuda_rows_of(&op->at),
                                 .dropout = brim_cuda_dropout_of(&op->dropout),
                                 .width = op->out,
                                 .eps = op->eps,
                                 .residual = brim_cuda_typed_of(c, op->residual),
                                 .branch = y,
                                 .gamma = op->gamma,
                                 .beta = op->beta,
                                 .sum = brim_cuda_typed_of(c, op->sum),
                                 .mean = op->mean,
                                 .rstd = op->rstd,
                                 .y = y,
                                 .copy = brim_cuda_half_of(c, op->rounded_y)});
}

void brim_cuda_bf16_backward(brim_ops_context *c, const brim_bf16_linear_gradient *op) {
  brim_cuda_linear_back_queue(c, &(brim_cuda_linear_back){.rows = op->rows,
                                                          .in = op->in,
                                                          .out = op->out,
                                                          .x = brim_cuda_half_of(c, op->x),
                                                          .x_stride = op->x_stride,
                                                          .w = brim_cuda_half_of(c, op->w),
                                                          .dy = brim_cuda_half_of(c, op->dy),
                                                          .dy_stride = op->dy_stride,
                                                          .dx = brim_cuda_typed_of(c, op->dx),
                                                          .dx_stride = op->dx_stride,
                                                          .add = op->add,
                                                          .dw = op->dw,
                                                          .db = op->db});
}

void brim_cuda_bf16_act_backward(brim_ops_context *c, const brim_bf16_linear_act_gradient *op) {
  const cu_typed dpre = brim_cuda_half_of(c, op->dpre);
  brim_cuda_linear_back_queue(c, &(brim_cuda_linear_back){.rows = op->rows,
                                                          .in = op->in,
                                                          .out = op->out,
                                                          .w = brim_cuda_half_of(c, op->w),
                                                          .dy = brim_cuda_half_of(c, op->dz),
                                                          .dy_stride = op->out,
                                                          .dx = dpre,
                                                          .dx_stride = op->in});
  brim_cuda_activate_turn(c, op->rows * op->in, op->act, brim_cuda_half_of(c, op->pre), dpre);
}

/* ---- attention */

static cu_attention attention_of(brim_ops_context *c, const brim_bf16_attention *op) {
  cu_attention a = brim_cuda_attention_of(c, &op->of);
  a.q = brim_cuda_half_of(c, op->q);
  a.k = brim_cuda_half_of(c, op->k);
  a.v = brim_cuda_half_of(c, op->v);
  a.out = brim_cuda_half_of(c, op->out);
  a.dout = brim_cuda_half_of(c, op->dout);
  a.dq = brim_cuda_half_of(c, op->dq);
  a.dk = brim_cuda_half_of(c, op->dk);
  a.dv = brim_cuda_half_of(c, op->dv);
  return a;
}

void brim_cuda_bf16_attention_forward(brim_ops_context *c, const brim_bf16_attention *op) {
  cu_attention a = attention_of(c, op);
  (brim_cuda_by_matrices(c->device, &a) ? brim_cuda_matrix_forward : brim_cuda_attend)(c, &op->of, &a);
}

void brim_cuda_bf16_attention_backward(brim_ops_context *c, const brim_bf16_attention *op) {
  cu_attention a = attention_of(c, op);
  (brim_cuda_by_matrices(c->device, &a) ? brim_cuda_matrix_backward : brim_cuda_attend_back)(c, &op->of, &a);
}
