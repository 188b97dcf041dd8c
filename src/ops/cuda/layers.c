/* layers.c: the operations of a layer as kernels: embeddings, products, norms, activations, attention. */
#include "ops/cuda/cuda.h"

enum { THREADS = 256, PAIR_TILE = BRIM_CUDA_PAIRS, MOST_HEAD_SIZE = 128, MOST_TYPES = 4 };

/* ---- embeddings */

void brim_cuda_embed_forward(brim_ops_context *c, const brim_embed *op) {
  const int32_t slots = op->layout.slots;
  launch_embed_forward(c, brim_cuda_blocks(slots, BRIM_CUDA_ROWS), 1, 0,
                       &(cu_embed){.layout = brim_cuda_layout_of(&op->layout),
                                   .dropout = brim_cuda_dropout_of(&op->dropout),
                                   .slots = slots,
                                   .width = op->hidden,
                                   .eps = op->eps,
                                   .ids = op->ids,
                                   .positions = op->positions,
                                   .types = op->type_ids,
                                   .word = op->word,
                                   .position = op->position,
                                   .type = op->type,
                                   .gamma = op->gamma,
                                   .beta = op->beta,
                                   .sum = op->sum,
                                   .mean = op->mean,
                                   .rstd = op->rstd,
                                   .y = op->out});
}

/* ---- sums of columns */

/* Many rows are summed in pieces, which keep a card busy. How many there are depends on the sum's shape alone. */
typedef struct pieces {
  int64_t count, each;
  real *sums; /* NULL: there is one piece */
} pieces;

static pieces pieces_of(const brim_ops_context *c, int64_t rows, int64_t width) {
  const int64_t all = brim_cuda_blocks(rows, BRIM_CUDA_SUMMED_ROWS), most = BRIM_CUDA_ROW_SUMS / width,
                count = all < most ? all : most, each = count > 1 ? brim_cuda_blocks(rows, count) : rows;
  if (count <= 1 || (size_t)(count * width) * sizeof(real) > c->workspace_size)
    return (pieces){1, rows, NULL};
  return (pieces){brim_cuda_blocks(rows, each), each, c->workspace};
}

static void add_pieces(brim_ops_context *c, const pieces *p, const real *sums, int64_t stride, int32_t width, real *y) {
  launch_column_sums(
      c, brim_cuda_blocks(width, BRIM_CUDA_COLUMNS), 1, 0,
      &(cu_columns){.rows = p->count, .stride = stride, .each = p->count, .width = width, .x = brim_cuda_real(sums), .y = y});
}

/* All but `each` and `block_sums`. */
static void sum_columns(brim_ops_context *c, cu_columns a) {
  const pieces p = pieces_of(c, a.rows, a.width);
  a.each = p.each;
  a.block_sums = p.sums;
  launch_column_sums(c, brim_cuda_blocks(a.width, BRIM_CUDA_COLUMNS), p.count, 0, &a);
  if (p.sums)
    add_pieces(c, &p, p.sums, a.width, a.width, a.y);
}

void brim_cuda_norm_columns(brim_ops_context *c, const cu_norm_gradient *g) {
  const pieces p = pieces_of(c, g->at.count, 2 * (int64_t)g->width);
  cu_norm_gradient of = *g;
  of.each = (int)p.each;
  of.block_sums = p.sums;
  launch_norm_columns(c, brim_cuda_blocks(g->width, BRIM_CUDA_COLUMNS), p.count, 0, &of);
  if (p.sums && g->dgamma)
    add_pieces(c, &p, p.sums, 2 * (int64_t)g->width, g->width, g->dgamma);
  if (p.sums && g->dbeta)
    add_pieces(c, &p, p.sums + g->width, 2 * (int64_t)g->width, g->width, g->dbeta);
}

/* ---- embeddings, backward */

static void embedding_gradient(brim_ops_context *c, const brim_embed *op, const int32_t *index, const uint8_t *bytes,
                               real *embedding) {
  if (embedding)
    launch_embedding_gradient(c, op->layout.slots, brim_cuda_blocks(op->hidden, THREADS), 0,
                              &(cu_embedding_gradient){.slots = op->layout.slots,
                                                       .width = op->hidden,
                                                       .index = index,
                                                       .bytes = bytes,
                                                       .dsum = op->dsum,
                                                       .embedding = embedding});
}

/* Most slots share a row of this embedding, which is a sum of columns where it has few. */
static void type_gradient(brim_ops_context *c, const brim_embed *op) {
  const int32_t rows = op->type_ids ? op->types : 1;
  if (!op->type || !op->dtype)
    return;
  if (rows < 1 || rows > MOST_TYPES) {
    embedding_gradient(c, op, NULL, op->type_ids, op->dtype);
    return;
  }
  for (int32_t i = 0; i < rows; i++)
    sum_columns(c, (cu_columns){.rows = op->layout.slots,
                                .stride = op->hidden,
                                .width = op->hidden,
                                .only = i,
                                .x = brim_cuda_real(op->dsum),
                                .bytes = op->type_ids,
                                .y = op->dtype + (int64_t)i * op->hidden});
}

void brim_cuda_norm_gradient(brim_ops_context *c, const cu_norm_gradient *g) {
  if (g->dgamma || g->dbeta)
    brim_cuda_norm_columns(c, g);
  launch_norm_rows(c, brim_cuda_blocks(g->at.count, BRIM_CUDA_ROWS), 1, 0, g);
}

void brim_cuda_embed_backward(brim_ops_context *c, const brim_embed *op) {
  const cu_layout layout = brim_cuda_layout_of(&op->layout);
  const cu_rows all = {.count = op->layout.slots};
  launch_drop(c, brim_cuda_blocks(all.count, BRIM_CUDA_ROWS), 1, 0,
              &(cu_drop){.layout = layout,
                         .at = all,
                         .dropout = brim_cuda_dropout_of(&op->dropout),
                         .width = op->hidden,
                         .x = op->dout,
                         .y = op->dsum});
  if (op->gamma)
    brim_cuda_norm_gradient(c, &(cu_norm_gradient){.layout = layout,
                                                   .at = all,
                                                   .width = op->hidden,
                                                   .sum = brim_cuda_real(op->sum),
                                                   .mean = op->mean,
                                                   .rstd = op->rstd,
                                                   .gamma = op->gamma,
                                                   .dy = brim_cuda_real(op->dsum),
                                                   .dsum = op->dsum,
                                                   .dgamma = op->dgamma,
                                                   .dbeta = op->dbeta});
  embedding_gradient(c, op, op->ids, NULL, op->dword);
  embedding_gradient(c, op, op->positions, NULL, op->dposition);
  type_gradient(c, op);
}

/* ---- products */

static void count_product(brim_ops_context *c, int64_t rows, int32_t in, int32_t out) {
  c->stats.gemm_max_rows = rows > c->stats.gemm_max_rows ? rows : c->stats.gemm_max_rows;
  c->stats.gemm_flops += 2.0 * (double)rows * in * out;
}

void brim_cuda_linear_queue(brim_ops_context *c, const brim_cuda_linear *l) {
  count_product(c, l->rows, l->in, l->out);
  brim_cuda_multiply(c,
                     &(cu_product){.m = l->rows,
                                   .n = l->out,
                                   .k = l->in,
                                   .a = l->x,
                                   .a_m = l->x_stride,
                                   .a_k = 1,
                                   .b = l->w,
                                   .b_k = 1,
                                   .b_n = l->in,
                                   .bias = l->b,
                                   .add = l->add,
                                   .y = l->y,
                                   .y_m = l->y_stride},
                     false);
}

void brim_cuda_linear_back_queue(brim_ops_context *c, const brim_cuda_linear_back *l) {
  if (l->dx.wide || l->dx.half) {
    count_product(c, l->rows, l->in, l->out);
    brim_cuda_multiply(c,
                       &(cu_product){.m = l->rows,
                                     .n = l->in,
                                     .k = l->out,
                                     .a = l->dy,
                                     .a_m = l->dy_stride,
                                     .a_k = 1,
                                     .b = l->w,
                                     .b_k = l->in,
                                     .b_n = 1,
                                     .add = l->add,
                                     .y = l->dx,
                                     .y_m = l->dx_stride},
                       false);
  }
  if (l->dw) {
    count_product(c, l->rows, l->in, l->out);
    brim_cuda_multiply(c,
                       &(cu_product){.m = l->out,
                                     .n = l->in,
                                     .k = l->rows,
                                     .a = l->dy,
                                     .a_m = 1,
                                     .a_k = l->dy_stride,
                                     .b = l->x,
                                     .b_k = l->x_stride,
                                     .b_n = 1,
                                     .add = true,
                                     .y = brim_cuda_real(l->dw),
                                     .y_m = l->in},
                       true);
  }
  if (l->db)
    sum_columns(c, (cu_columns){.rows = l->rows, .stride = l->dy_stride, .width = l->out, .x = l->dy, .y = l->db});
}

void brim_cuda_activate(brim_ops_context *c, int64_t count, brim_activation act, cu_typed pre, cu_typed y) {
  launch_activate(c, brim_cuda_blocks(count, THREADS * CU_EACH), 1, 0,
                  &(cu_activate){.count = count, .act = (int)act, .pre = pre, .y = y});
}

void brim_cuda_activate_turn(brim_ops_context *c, int64_t count, brim_activation act, cu_typed pre, cu_typed y) {
  launch_activate_turn(c, brim_cuda_blocks(count, THREADS * CU_EACH), 1, 0,
                       &(cu_activate){.count = count, .act = (int)act, .pre = pre, .y = y});
}

void brim_cuda_linear_forward(brim_ops_context *c, const brim_linear *op) {
  brim_cuda_linear_queue(c, &(brim_cuda_linear){.rows = op->rows,
                                                .in = op->in,
                                                .out = op->out,
                                                .x = brim_cuda_real(op->x),
                                                .x_stride = op->x_stride,
                                                .w = brim_cuda_real(op->w),
                                                .b = op->b,
                                                .y = brim_cuda_real(op->y),
                                                .y_stride = op->y_stride,
                                                .add = op->add});
}

/* y = x w^T + b, contiguous. */
static void linear(brim_ops_context *c, int64_t rows, int32_t in, int32_t out, const real *x, const real *w, const real *b,
                   real *y) {
  brim_cuda_linear_forward(
      c, &(brim_linear){.rows = rows, .in = in, .out = out, .x = x, .x_stride = in, .w = w, .b = b, .y = y, .y_stride = out});
}

void brim_cuda_linear_act_forward(brim_ops_context *c, const brim_linear_act *op) {
  real *pre = op->pre ? op->pre : op->y;
  linear(c, op->rows, op->in, op->out, op->x, op->w, op->b, pre);
  brim_cuda_activate(c, op->rows * op->out, op->act, brim_cuda_real(pre), brim_cuda_real(op->y));
}

void brim_cuda_linear_norm_forward(brim_ops_context *c, const brim_linear_norm *op) {
  const brim_residual *to = &op->residual;
  linear(c, to->at.count, op->in, op->out, op->x, op->w, op->b, op->y);
  launch_join_forward(c, brim_cuda_blocks(to->at.count, BRIM_CUDA_ROWS), 1, 0,
                      &(cu_join){.layout = brim_cuda_layout_of(&to->layout),
                                 .at = brim_cuda_rows_of(&to->at),
                                 .dropout = brim_cuda_dropout_of(&to->dropout),
                                 .width = op->out,
                                 .eps = to->eps,
                                 .residual = brim_cuda_real(to->residual),
                                 .branch = brim_cuda_real(op->y),
                                 .gamma = to->gamma,
                                 .beta = to->beta,
                                 .sum = brim_cuda_real(op->sum),
                                 .mean = op->mean,
                                 .rstd = op->rstd,
                                 .y = brim_cuda_real(op->y)});
}

void brim_cuda_linear_backward(brim_ops_context *c, const brim_linear_gradient *op) {
  brim_cuda_linear_back_queue(c, &(brim_cuda_linear_back){.rows = op->rows,
                                                          .in = op->in,
                                                          .out = op->out,
                                                          .x = brim_cuda_real(op->x),
                                                          .x_stride = op->x_stride,
                                                          .w = brim_cuda_real(op->w),
                                                          .dy = brim_cuda_real(op->dy),
                                                          .dy_stride = op->dy_stride,
                                                          .dx = brim_cuda_real(op->dx),
                                                          .dx_stride = op->dx_stride,
                                                          .add = op->add,
                                                          .dw = op->dw,
                                                          .db = op->db});
}

void brim_cuda_linear_act_backward(brim_ops_context *c, const brim_linear_act_gradient *op) {
  brim_cuda_linear_back_queue(c, &(brim_cuda_linear_back){.rows = op->rows,
                                                          .in = op->in,
                                                          .out = op->out,
                                                          .w = brim_cuda_real(op->w),
                                                          .dy = brim_cuda_real(op->dz),
                                                          .dy_stride = op->out,
                                                          .dx = brim_cuda_real(op->dpre),
                                                          .dx_stride = op->in});
  brim_cuda_activate_turn(c, op->rows * op->in, op->act, brim_cuda_real(op->pre), brim_cuda_real(op->dpre));
}

/* ---- norms and activations */

void brim_cuda_norm_forward(brim_ops_context *c, const brim_norm *op) {
  launch_norm_forward(c, brim_cuda_blocks(op->rows, BRIM_CUDA_ROWS), 1, 0,
                      &(cu_norm){.rows = (int)op->rows,
                                 .width = op->width,
                                 .sum = brim_cuda_typed_of(c, op->sum),
                                 .mean = op->mean,
                                 .rstd = op->rstd,
                                 .gamma = op->gamma,
                                 .beta = op->beta,
                                 .y = brim_cuda_typed_of(c, op->y)});
}

void brim_cuda_norm_backward(brim_ops_context *c, const brim_norm_gradient *op) {
  brim_cuda_norm_gradient(c, &(cu_norm_gradient){.layout = brim_cuda_layout_of(&op->layout),
                                                 .at = brim_cuda_rows_of(&op->at),
                                                 .dropout = brim_cuda_dropout_of(&op->dropout),
                                                 .width = op->width,
                                                 .sum = brim_cuda_typed_of(c, op->sum),
                                                 .mean = op->mean,
                                                 .rstd = op->rstd,
                                                 .gamma = op->gamma,
                                                 .dy = brim_cuda_real(op->dy),
                                                 .dsum = op->dsum,
                                                 .dbranch = brim_cuda_typed_of(c, op->dbranch),
                                                 .dgamma = op->dgamma,
                                                 .dbeta = op->dbeta});
}

void brim_cuda_act_backward(brim_ops_context *c, const brim_act_gradient *op) {
  launch_activate_backward(c, brim_cuda_blocks(op->count, THREADS * CU_EACH), 1, 0,
                           &(cu_activate){.count = op->count,
                                          .act = (int)op->act,
                                          .pre = brim_cuda_real(op->pre),
                                          .dy = brim_cuda_real(op->dy),
                                          .y = brim_cuda_real(op->dpre)});
}

/* ---- attention */

/* Tiles of rows, and of pairs, in a block's shared memory, and of the rows of an embedding that the distances within a tile have.
 */
size_t brim_cuda_pair_memory(const brim_attention *op, int tiles, int pairs, bool embedding) {
  const int rows = tiles * PAIR_TILE + (embedding ? 2 * PAIR_TILE - 1 : 0);
  return (size_t)(rows * (op->head_size + 1) + pairs * PAIR_TILE * (PAIR_TILE + 1)) * sizeof(float);
}

cu_attention brim_cuda_attention_of(brim_ops_context *c, const brim_attention *op) {
  if (op->head_size > MOST_HEAD_SIZE)
    brim_cuda_fail(c, BRIM_E_UNSUPPORTED, "attention with %d columns a head is not made for the GPU: at most %d", op->head_size,
                   MOST_HEAD_SIZE);
  return (cu_attention){.layout = brim_cuda_layout_of(&op->layout),
                        .dropout = brim_cuda_dropout_of(&op->dropout),
                        .texts = op->layout.n,
                        .head_size = op->head_size,
                        .first_only = op->first_only,
                        .group = op->group > 0 ? op->group : 1,
                        .window = op->window,
                        .scale = op->scale,
                        .rows = op->first_only ? op->layout.n : op->layout.slots,
                        .q_stride = op->q_stride,
                        .kv_stride = op->kv_stride,
                        .out_stride = op->out_stride,
                        .q = brim_cuda_real(op->q),
                        .k = brim_cuda_real(op->k),
                        .v = brim_cuda_real(op->v),
                        .out = brim_cuda_real(op->out),
                        .lse = op->lse,
                        .dout = brim_cuda_real(op->dout),
                        .dq = brim_cuda_real(op->dq),
                        .dk = brim_cuda_real(op->dk),
                        .dv = brim_cuda_real(op->dv),
                        .delta = c->workspace};
}

int32_t brim_cuda_longest(const brim_layout *layout) {
  const int32_t width = layout->n ? (int32_t)brim_cuda_blocks(layout->slots, layout->n) : 0;
  return layout->max_length > width ? layout->max_length : width;
}

int brim_cuda_slot_tiles(const brim_layout *layout, int tile) {
  return (int)brim_cuda_blocks(brim_cuda_longest(layout), tile);
}

int brim_cuda_query_tiles(const brim_attention *op, int tile) {
  return op->first_only ? 1 : brim_cuda_slot_tiles(&op->layout, tile);
}

void brim_cuda_attend(brim_ops_context *c, const brim_attention *op, cu_attention *a) {
  a->tiles = brim_cuda_query_tiles(op, PAIR_TILE);
  launch_attention_forward(c, (int64_t)a->texts * a->tiles, op->heads, brim_cuda_pair_memory(op, 3, 1, false), a);
}

void brim_cuda_attend_back(brim_ops_context *c, const brim_attention *op, cu_attention *a) {
  a->tiles = brim_cuda_query_tiles(op, PAIR_TILE);
  launch_attention_queries(c, (int64_t)a->texts * a->tiles, op->heads, brim_cuda_pair_memory(op, 4, 1, false), a);
  a->tiles = brim_cuda_slot_tiles(&op->layout, PAIR_TILE);
  launch_attention_keys(c, (int64_t)a->texts * a->tiles, op->heads / a->group, brim_cuda_pair_memory(op, 4, 2, false), a);
}

void brim_cuda_attention_forward(brim_ops_context *c, const brim_attention *op) {
  cu_attention a = brim_cuda_attention_of(c, op);
  brim_cuda_attend(c, op, &a);
}

void brim_cuda_attention_backward(brim_ops_context *c, const brim_attention *op) {
  cu_attention a = brim_cuda_attention_of(c, op);
  brim_cuda_attend_back(c, op, &a);
}
