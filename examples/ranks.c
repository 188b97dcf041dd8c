/* ranks.c: one plan, several processes. Every rank computes the whole plan for itself and takes its part: no rank asks another,
 * all take the same number of steps, and their costs are as equal as the rows allow.
 *
 *   cc ranks.c $(pkg-config --cflags --libs brim) -o ranks
 *   seq 5 300 | ./ranks 4        (one process plays all ranks here) */
#include <brim/brim.h>

#include <stdio.h>
#include <stdlib.h>

enum { MOST = 100000 };

typedef struct program {
  brim_runtime *runtime;
  int32_t lengths[MOST];
  int seen[MOST]; /* how often each row came */
  uint64_t rows;
  brim_error error;
} program;

/* What process `rank` of `world` does; returns its cost through *cost. */
static int run_rank(program *p, brim_plan_options options, int32_t rank, double *cost) {
  brim_plan *plan;
  int status = brim_plan_new(p->runtime, p->lengths, p->rows, &options, 0, &plan, &p->error);
  if (status)
    return status;
  *cost = 0;
  uint64_t rows = 0;
  for (uint64_t i = 0; i < brim_plan_parts(plan); i++) {
    brim_planned part;
    brim_plan_part(plan, rank, i, &part); /* count may be 0: the rank then has nothing to add to this step */
    for (uint32_t k = 0; k < part.count; k++)
      p->seen[part.rows[k]]++;
    rows += part.count;
    *cost += part.cost;
  }
  printf("rank %d: %llu steps in %llu parts, %llu rows\n", (int)rank, (unsigned long long)brim_plan_steps(plan),
         (unsigned long long)brim_plan_parts(plan), (unsigned long long)rows);
  brim_plan_free(plan);
  return BRIM_OK;
}

int main(int argc, char **argv) {
  static program p;
  int32_t world = argc == 2 ? (int32_t)strtol(argv[1], NULL, 10) : 0;
  if (world < 1) {
    fprintf(stderr, "usage: ranks WORLD_SIZE <numbers\n");
    return 2;
  }
  while (p.rows < MOST && scanf("%d", &p.lengths[p.rows]) == 1)
    p.rows++;
  /* For evaluation the same plan will do: drop_last is off, so each row comes once, whatever the number of ranks. */
  brim_plan_options options = {.batching = BRIM_RANDOM, .batch_size = 32, .world_size = world, .seed = 42};
  brim_plan_cost_shape(&options, 85e6, 12, 768); /* costs are FLOPs of a BERT of twelve layers, attention included */
  double all = 0, most = 0;
  int status = brim_runtime_new(&(brim_runtime_options){0}, &p.runtime, &p.error);
  for (int32_t rank = 0; !status && rank < world; rank++) {
    double cost = 0;
    status = run_rank(&p, options, rank, &cost);
    all += cost;
    most = cost > most ? cost : most;
  }
  uint64_t once = 0;
  for (uint64_t i = 0; i < p.rows; i++)
    once += p.seen[i] == 1;
  if (status)
    fprintf(stderr, "ranks: %s\n", p.error.message);
  else
    printf("%llu of %llu rows once; the costliest rank does %.3f of the mean\n", (unsigned long long)once,
           (unsigned long long)p.rows, all > 0 ? most * world / all : 1.0);
  brim_runtime_free(p.runtime);
  return status ? 1 : 0;
}
