/* fake_cuda.h: what tests ask of the false libcuda besides what brim does. */
#ifndef BRIM_FAKE_CUDA_H
#define BRIM_FAKE_CUDA_H
#include <stdbool.h>
#include <stdint.h>
#ifdef __cplusplus
#pragma GCC visibility push(default)
extern "C" {
#endif
void fake_cuda_seed(uint64_t value);                      /* of the order of threads and blocks */
void fake_cuda_fail(long n);                              /* the n-th call from now on (0: the next) fails; -1: none does */
long fake_cuda_calls(void);                               /* so far */
long fake_cuda_launches(void);                            /* kernels that were queued so far */
bool fake_cuda_has(const void *at, unsigned long size);   /* whether that is memory of the card */
long fake_cuda_left(void);                                /* memory and contexts that were not given back */
void fake_cuda_be(int capability, int shared, int count); /* 90 and so on, bytes of shared memory of a block; cards */
long fake_cuda_products(void);                            /* products that were asked of cuBLASLt so far */
long fake_cuda_chosen(void);                              /* and algorithms */
/* What the driver was asked for so far: to wait for a stream; to wait until memory for transfers is free again; memory, the
 * card's and the host's; transfers from and to pinned memory, and other; captures, graphs that were made, and launches of graphs;
 * and what ran. Of the kernels: pieces of 16 bytes that they copied into shared memory. */
typedef enum fake_cuda_what {
  FAKE_SYNCS,
  FAKE_SLOT_WAITS,
  FAKE_ALLOCATIONS,
  FAKE_PINNED,
  FAKE_PAGEABLE,
  FAKE_CAPTURES,
  FAKE_GRAPHS,
  FAKE_GRAPH_LAUNCHES,
  FAKE_RUN,
  FAKE_COPIES,
  FAKE_COUNTS
} fake_cuda_what;
long fake_cuda_count(fake_cuda_what what);
uint64_t fake_cuda_digest(void); /* of the kernels, products and transfers that ran since it was last asked, in their order */
void fake_cuda_graphs(
    bool there, long broken); /* whether there are any; the n-th capture from now on (0: the next) comes to nothing, -1: none */
void fake_cuda_uncaptured(long n); /* in the n-th capture from now on no kernel can be launched; -1: in none */
/* Of a library with faults in its kernels (mutants.py): how many; the one that is there from now on (0: none); whether its place
 * was reached since that call. */
int fake_cuda_faults(void);
void fake_cuda_fault(int number);
bool fake_cuda_reached(int number);
enum { FAKE_REFUSED_ROWS = 93 }; /* of a result, which no algorithm takes */
#ifdef __cplusplus
}
#pragma GCC visibility pop
#endif
#endif
