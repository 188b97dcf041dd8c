/* cuda.h: a card, from open to close of a context, and how kernels get to it. The operations are brim_ops_cuda of ops.h. */
#ifndef BRIM_CUDA_CUDA_H
#define BRIM_CUDA_CUDA_H
#include "ops/cuda/driver.h"
#include "ops/cuda/kernels/args.h"
#include "ops/cuda/kernels/list.h"
#include "ops/cuda/numbers.h"
#include "ops/ops.h"

#define BRIM_CUDA_NUMBER(name, ...) CU_##name,
typedef enum brim_cuda_kernel { BRIM_CUDA_KERNELS(BRIM_CUDA_NUMBER) CU_KERNELS } brim_cuda_kernel;
#undef BRIM_CUDA_NUMBER

/* Kernels that may take all of a block's shared memory when they are launched: they declare none themselves. */
#define BRIM_CUDA_WIDE(X)                                                                                                        \
  X(attention_forward)                                                                                                           \
  X(attention_queries)                                                                                                           \
  X(attention_keys)                                                                                                              \
  X(relative_forward)                                                                                                            \
  X(relative_queries)                                                                                                            \
  X(relative_keys)                                                                                                               \
  X(matrix_forward_32)                                                                                                           \
  X(matrix_forward_64)                                                                                                           \
  X(matrix_forward_128)                                                                                                          \
  X(matrix_queries_32)                                                                                                           \
  X(matrix_queries_64)                                                                                                           \
  X(matrix_queries_128)                                                                                                          \
  X(matrix_keys_128)

/* Shapes of products that have an algorithm: three of each weight's shape, and what else a family multiplies. */
enum { BRIM_CUDA_PLANS = 96 };
typedef struct brim_cuda_plan brim_cuda_plan;

/* Of what goes to the card and comes back (transfer.c): memory that is used in turn, and pieces of one of them. */
enum { BRIM_CUDA_SLOTS = 32, BRIM_CUDA_PIECES = 32 };
typedef struct brim_cuda_slot {
  void *sent, *taken; /* events: its transfer is done; its pieces are in their places */
  bool used;
} brim_cuda_slot;
typedef struct brim_cuda_piece {
  void *at; /* on the card, or the caller's */
  size_t offset, size;
} brim_cuda_piece;
typedef struct brim_cuda_transfer {
  void *stream;
  char *pinned, *answers;   /* one block of pinned memory: the slots', and of what is read */
  brim_cuda_address mirror; /* of the slots, on the card */
  brim_cuda_slot slots[BRIM_CUDA_SLOTS];
  int slot; /* the one that is being filled */
  size_t filled, answered;
  brim_cuda_piece pieces[BRIM_CUDA_PIECES], reads[BRIM_CUDA_PIECES];
  int piece_count, answer_count;
} brim_cuda_transfer;

/* Graphs of small parts (graph.c), one a class: the same kernels in the same order. */
enum { BRIM_CUDA_CLASSES = 16 };
typedef struct brim_cuda_graph {
  uint64_t class;
  void *made; /* NULL: none */
} brim_cuda_graph;
typedef struct brim_cuda_graphs {
  int64_t most; /* slots of a part that becomes a graph; 0: none does, as after one that came to nothing */
  bool capturing;
  uint64_t class; /* of what is being captured, so far */
  brim_cuda_graph of[BRIM_CUDA_CLASSES];
  int next;
} brim_cuda_graphs;

/* Events around what the card does, where a profile asks (clock.c). */
typedef struct brim_cuda_clock {
  struct brim_cuda_mark *marks; /* NULL: nobody asked yet */
  int count;
  bool open, stopped; /* between two events; one of them failed */
} brim_cuda_clock;

/* Sums over several cards (ranks.c). */
typedef struct brim_cuda_ranks {
  void *joined;            /* NCCL's communicator; NULL: none */
  void *stream;            /* of sums */
  void *complete, *summed; /* events: what is to be summed is there; all sums are */
  bool under_way;          /* sums for which nothing waits yet */
} brim_cuda_ranks;

/* What only tests of a real card ask for. */
typedef struct brim_cuda_tested {
  bool shares; /* the card's memory is the host's too, and tests look into it */
  bool keeps;  /* the context stays: tests open a card a thousand times, and a context takes most of a second */
} brim_cuda_tested;

typedef struct brim_cuda {
  brim_cuda_driver driver;
  int device, capability, most_shared; /* most_shared: bytes of shared memory that a block may ask for */
  char name[48];                       /* "cuda-sm90", "cuda-sm90-cublaslt130100x132" */
  char half_name[64];                  /* of runs in 16 bits: "cuda-sm90-mma" */
  bool matrices;                       /* attention in 16 bits is by tensor cores, where the heads' shape allows it */
  void *context, *stream, *module;
  void *kernels[CU_KERNELS];
  brim_cublaslt lt; /* product.c: none, or open with a handle */
  void *lt_handle;
  bool tf32; /* products of fp32 round what they multiply */
  brim_cuda_address lt_workspace;
  brim_cuda_plan *plans;
  int plan_count;
  brim_cuda_tested tested;
  brim_cuda_transfer transfer;
  brim_cuda_graphs graphs;
  brim_cuda_clock clock;
  brim_nccl nccl;
  brim_cuda_ranks ranks;
  int status; /* the first failure since the last sync: nothing is queued after it */
  brim_error error;
} brim_cuda;

/* ---- tested.c: nothing; or the function that a test program has instead (tests/cuda/tested.c) */
brim_cuda_tested brim_cuda_how_tested(void);

/* ---- device.c */
/* A card of an open driver (0: the process's own; 1: the first), and how many there are. */
int brim_cuda_find_card(brim_cuda *d, int32_t card, int *cards, brim_error *err) BRIM_CHECK;
int brim_cuda_open(brim_ops_context *c, brim_error *err) BRIM_CHECK;
void brim_cuda_close(brim_ops_context *c);
/* The failure that the next sync returns. BRIM_E_UNSUPPORTED and so on, with its message. */
void brim_cuda_fail(brim_ops_context *c, int code, const char *format, ...) BRIM_PRINTF(3, 4);
/* False after a failure, or where `code`, a CUresult, is one. */
bool brim_cuda_check(brim_ops_context *c, int code, const char *doing);
/* Queues x * y blocks; `args` is copied. No blocks: nothing to do. */
void brim_cuda_launch(brim_ops_context *c, brim_cuda_kernel kernel, int64_t x, int64_t y, size_t shared, const void *args);

/* ---- transfer.c */
/* The name of the call that failed with *code, or NULL. */
const char *brim_cuda_open_transfers(brim_cuda *d, int *code);
void brim_cuda_close_transfers(brim_cuda *d);
/* The card, ready for a call: what was written before is on its way. False after a failure. */
bool brim_cuda_ready(brim_ops_context *c);
void brim_cuda_write(brim_ops_context *c, void *to, const void *from, size_t size);
void brim_cuda_read(brim_ops_context *c, void *to, const void *from, size_t size);
int brim_cuda_sync(brim_ops_context *c, brim_error *err);

/* ---- clock.c: nothing without a profile. What is queued in between counts under the name, which lives as long as the profile.
 */
void brim_cuda_clock_begin(brim_ops_context *c, const char *name);
void brim_cuda_clock_end(brim_ops_context *c);
/* After the host has waited for the card. */
void brim_cuda_clock_read(brim_ops_context *c);
void brim_cuda_clock_close(brim_ops_context *c);

/* ---- ranks.c */
int brim_cuda_ranks_key(brim_ops_context *c, char key[BRIM_RANKS_KEY], brim_error *err) BRIM_CHECK;
int brim_cuda_ranks_join(brim_ops_context *c, const char key[BRIM_RANKS_KEY], int32_t rank, int32_t world,
                         brim_error *err) BRIM_CHECK;
void brim_cuda_ranks_sum(brim_ops_context *c, real *x, int64_t count);
void brim_cuda_ranks_wait(brim_ops_context *c);
void brim_cuda_ranks_leave(brim_ops_context *c, bool broken);

/* ---- graph.c */
void brim_cuda_open_graphs(brim_cuda *d);
bool brim_cuda_begin(brim_ops_context *c, int64_t slots);
bool brim_cuda_end(brim_ops_context *c);
/* Which kernel, or which algorithm of a product: what makes the class. */
void brim_cuda_note_call(brim_cuda *d, uint64_t what);
void brim_cuda_close_graphs(brim_cuda *d);

/* One function a kernel, so that each takes its own struct: launch_add(c, x, y, shared, &args). */
#define BRIM_CUDA_LAUNCH(name, args, ...)                                                                                        \
  static inline void launch_##name(brim_ops_context *c, int64_t x, int64_t y, size_t shared, const args *a) {                    \
    brim_cuda_launch(c, CU_##name, x, y, shared, a);                                                                             \
  }
BRIM_CUDA_KERNELS(BRIM_CUDA_LAUNCH)
#undef BRIM_CUDA_LAUNCH

/* ---- operands as kernels take them */
cu_layout brim_cuda_layout_of(const brim_layout *layout);
cu_rows brim_cuda_rows_of(const brim_rows *rows);
cu_dropout brim_cuda_dropout_of(const brim_dropout *dropout);
/* Tensors of either type; what 16 bits are, the context says. */
cu_typed brim_cuda_real(const real *x);
cu_typed brim_cuda_half_of(const brim_ops_context *c, const brim_bfloat *x);
cu_typed brim_cuda_typed_of(const brim_ops_context *c, brim_typed x);

static inline int64_t brim_cuda_blocks(int64_t count, int64_t each) {
  return (count + each - 1) / each;
}

/* Rows of a block whose warps have a row each, and columns of one that sums columns up. */
enum { BRIM_CUDA_ROWS = 4, BRIM_CUDA_COLUMNS = 32 };
/* Rows of a block that sums columns up, and how many values the sums of all blocks are at most, which another launch adds up. */
enum { BRIM_CUDA_SUMMED_ROWS = 256, BRIM_CUDA_ROW_SUMS = 1 << 20 };

/* ---- product.c */
/* Finds cuBLASLt; without it the plain kernel multiplies, but not in TF32. */
int brim_cuda_open_products(brim_ops_context *c, brim_error *err) BRIM_CHECK;
void brim_cuda_close_products(brim_ops_context *c);
/* Queues a product. The number of rows, which batches change, is that of the result, or of the terms of its sums. */
void brim_cuda_multiply(brim_ops_context *c, const cu_product *p, bool rows_are_k);

/* What a layer multiplies, counted, and queued with what follows it (layers.c); y may be what the sum is added to. */
typedef struct brim_cuda_linear {
  int64_t rows;
  int32_t in, out;
  cu_typed x, w, y;
  int64_t x_stride, y_stride;
  const real *b; /* NULL: none */
  bool add;
} brim_cuda_linear;
void brim_cuda_linear_queue(brim_ops_context *c, const brim_cuda_linear *l);

/* dx = dy w; dw += dy^T x; db += column sums of dy; each where it is there. */
typedef struct brim_cuda_linear_back {
  int64_t rows;
  int32_t in, out;
  cu_typed x, w, dy, dx;
  int64_t x_stride, dy_stride, dx_stride;
  bool add; /* dx */
  real *dw, *db;
} brim_cuda_linear_back;
void brim_cuda_linear_back_queue(brim_ops_context *c, const brim_cuda_linear_back *l);
/* y = act(pre); and dpre in y, act(pre) in pre. */
void brim_cuda_activate(brim_ops_context *c, int64_t count, brim_activation act, cu_typed pre, cu_typed y);
void brim_cuda_activate_turn(brim_ops_context *c, int64_t count, brim_activation act, cu_typed pre, cu_typed y);
void brim_cuda_norm_gradient(brim_ops_context *c, const cu_norm_gradient *g);
/* Those of columns alone. */
void brim_cuda_norm_columns(brim_ops_context *c, const cu_norm_gradient *g);

/* ---- attention (layers.c), with or without terms by distance */
/* All but `tiles`. */
cu_attention brim_cuda_attention_of(brim_ops_context *c, const brim_attention *op);
void brim_cuda_attend(brim_ops_context *c, const brim_attention *op, cu_attention *a);
void brim_cuda_attend_back(brim_ops_context *c, const brim_attention *op, cu_attention *a);
/* Bytes of a block's shared memory: so many tiles of rows and of pairs, and room for rows of a distance embedding. */
size_t brim_cuda_pair_memory(const brim_attention *op, int tiles, int pairs, bool embedding);
/* Rows of a tile of the kernels without tensor cores. */
enum { BRIM_CUDA_PAIRS = 32 };
/* Of the longest text: its tokens, or its slots where texts are padded, which have the same number then. */
int32_t brim_cuda_longest(const brim_layout *layout);
int brim_cuda_slot_tiles(const brim_layout *layout, int tile);
int brim_cuda_query_tiles(const brim_attention *op, int tile);
/* matrix.c: attention in 16 bits by tensor cores. Whether a card does it, which `open` settles; whether it takes these operands.
 */
void brim_cuda_open_matrices(brim_cuda *d);
bool brim_cuda_by_matrices(const brim_cuda *d, const cu_attention *a);
void brim_cuda_matrix_forward(brim_ops_context *c, const brim_attention *op, cu_attention *a);
void brim_cuda_matrix_backward(brim_ops_context *c, const brim_attention *op, cu_attention *a);

/* ---- the operations that have kernels (layers.c, half.c, rest.c, stream.c) */
#define BRIM_CUDA_HAS_embed_forward           ~,
#define BRIM_CUDA_HAS_embed_backward          ~,
#define BRIM_CUDA_HAS_linear_forward          ~,
#define BRIM_CUDA_HAS_linear_act_forward      ~,
#define BRIM_CUDA_HAS_linear_norm_forward     ~,
#define BRIM_CUDA_HAS_linear_backward         ~,
#define BRIM_CUDA_HAS_linear_act_backward     ~,
#define BRIM_CUDA_HAS_norm_forward            ~,
#define BRIM_CUDA_HAS_norm_backward           ~,
#define BRIM_CUDA_HAS_act_backward            ~,
#define BRIM_CUDA_HAS_prenorm_forward         ~,
#define BRIM_CUDA_HAS_prenorm_backward        ~,
#define BRIM_CUDA_HAS_stream_sum              ~,
#define BRIM_CUDA_HAS_gate_forward            ~,
#define BRIM_CUDA_HAS_gate_backward           ~,
#define BRIM_CUDA_HAS_rotate                  ~,
#define BRIM_CUDA_HAS_relative_forward        ~,
#define BRIM_CUDA_HAS_relative_backward       ~,
#define BRIM_CUDA_HAS_attention_forward       ~,
#define BRIM_CUDA_HAS_attention_backward      ~,
#define BRIM_CUDA_HAS_gather_rows             ~,
#define BRIM_CUDA_HAS_scatter_rows            ~,
#define BRIM_CUDA_HAS_pool_forward            ~,
#define BRIM_CUDA_HAS_pool_backward           ~,
#define BRIM_CUDA_HAS_dropout                 ~,
#define BRIM_CUDA_HAS_add                     ~,
#define BRIM_CUDA_HAS_zero                    ~,
#define BRIM_CUDA_HAS_narrow                  ~,
#define BRIM_CUDA_HAS_widen                   ~,
#define BRIM_CUDA_HAS_loss                    ~,
#define BRIM_CUDA_HAS_bf16_forward            ~,
#define BRIM_CUDA_HAS_bf16_act_forward        ~,
#define BRIM_CUDA_HAS_bf16_norm_forward       ~,
#define BRIM_CUDA_HAS_bf16_backward           ~,
#define BRIM_CUDA_HAS_bf16_act_backward       ~,
#define BRIM_CUDA_HAS_bf16_attention_forward  ~,
#define BRIM_CUDA_HAS_bf16_attention_backward ~,
#define BRIM_CUDA_HAS_gradient_square         ~,
#define BRIM_CUDA_HAS_adamw                   ~,
#define BRIM_CUDA_HAS_mark_alive              ~,
#define BRIM_CUDA_HAS_catch_up                ~,

#define BRIM_CUDA_DECLARE(name, operands, ...) void brim_cuda_##name(brim_ops_context *c, const operands *op);
BRIM_OPS_LIST(BRIM_CUDA_DECLARE)
#undef BRIM_CUDA_DECLARE
#endif
