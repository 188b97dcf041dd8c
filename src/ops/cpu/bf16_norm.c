/* bf16_norm.c: the norm's output once more, and its gradient, from sums that were kept in 16 bits. */
#include "ops/cpu/cpu.h"
#include "ops/cpu/half.h"

enum { ROWS_PER_TASK = 16 };

static void again_task(void *context, int64_t task, int worker) {
  (void)worker;
  const brim_bf16_norm *n = context;
  const int64_t width = n->width, first = task * ROWS_PER_TASK, end = least(first + ROWS_PER_TASK, n->rows);
  for (int64_t r = first; r < end; r++) {
    const vec center = vset(n->mean[r]), factor = vset(n->rstd[r]);
    for (int64_t i = 0; i < width; i += VEC) {
      const vec x = (hload_n(n->sum + r * width + i, width - i) - center) * factor;
      hstore_n(n->y + r * width + i, vmadd(x, vload_n(n->gamma + i, width - i), vload_n(n->beta + i, width - i)), width - i);
    }
  }
}

void CPU(bf16_norm_again)(brim_ops_context *c, const brim_bf16_norm *of) {
  brim_bf16_norm n = *of;
  CPU(run)(c, divided(n.rows, ROWS_PER_TASK), again_task, &n);
}

/* ---- backward */

typedef struct norm_gradient {
  const brim_bf16_norm_gradient *of;
  int64_t blocks;
  float *lines; /* of sums; NULL: dgamma and dbeta are not wanted */
  float *rows;  /* one a worker */
} norm_gradient;

static int64_t room(int64_t width) {
  return divided(width, VEC) * VEC;
}

static void norm_task(void *context, int64_t task, int worker) {
  const norm_gradient *g = context;
  const brim_bf16_norm_gradient *n = g->of;
  const int64_t width = n->width;
  int64_t first, end;
  CPU(norm_block)(&n->slices, n->at.count, task, &first, &end);
  float *sums = g->lines ? g->lines + 2 * task * width : NULL, *row = g->rows + worker * room(width);
  if (sums)
    memset(sums, 0, 2 * (size_t)width * sizeof *sums);
  for (int64_t r = first; r < end; r++) {
    const int64_t at = r * width;
    for (int64_t i = 0; i < width; i += VEC)
      vstore_n(row + i, hload_n(n->sum + at + i, width - i), width - i);
    CPU(norm_row_backward)(width, row, n->mean[r], n->rstd[r], n->gamma, n->dy + at, n->dsum + at, sums,
                           sums ? sums + width : NULL);
    CPU(dropout_slot)(&n->dropout, &n->layout, &n->at, r, width, n->dsum + at, row);
    store_row((brim_typed){BRIM_TYPE_BF16, n->dbranch}, at, width, row);
  }
}

void CPU(bf16_norm_backward)(brim_ops_context *c, const brim_bf16_norm_gradient *n) {
  const bool wanted = n->dgamma || n->dbeta;
  norm_gradient g = {.of = n, .blocks = CPU(norm_blocks)(&n->slices, n->at.count), .rows = c->workspace};
  g.lines = wanted ? g.rows + brim_runtime_threads(c->runtime) * room(n->width) : NULL;
  CPU(run)(c, g.blocks, norm_task, &g);
  if (wanted)
    CPU(norm_sum_blocks)(c, &n->slices, n->at.count, n->width, g.lines, n->dgamma, n->dbeta);
}

size_t CPU(bf16_norm_workspace)(int threads, const brim_ops_limits *limits) {
  return (size_t)threads * (size_t)room(limits->hidden) * sizeof(float) + CPU(norm_workspace)(limits);
}
