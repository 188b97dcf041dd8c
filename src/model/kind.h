/* kind.h: what a kind of operation is. How it writes down the device's calls is in calls.h.
 *
 * A kind is as large as a step of the formula. One file of kinds/ holds all that is known of it: how a family appends it, which
 * rows of its inputs it needs, what its backward reads, how many numbers it multiplies, and its calls forward and backward. */
#ifndef BRIM_MODEL_KIND_H
#define BRIM_MODEL_KIND_H
#include "brim/model.h"

struct brim_call_schedule;
struct brim_lowering;
struct brim_operation;
struct brim_program;

/* Rows of an input that are needed for some rows of the outputs. */
enum { BRIM_NEEDS = 3 };
typedef enum brim_need { BRIM_NEED_SAME = 0, BRIM_NEED_ALL, BRIM_NEED_CHOSEN } brim_need;

/* A product of activations with a weight that int8 may quantize; those that are adjoined in the flat buffers are one. */
enum { BRIM_MOST_PRODUCTS = 2 };
typedef struct brim_product {
  int32_t in, out;
  int64_t weight, bias; /* elements of the flat buffers; bias < 0: there is none */
} brim_product;

typedef struct brim_kind {
  const char *name;
  bool attends;                /* its calls are attention, which may have a window */
  bool sums_texts;             /* its backward adds up over texts without regard to slices: they cannot be computed at once */
  brim_need needs[BRIM_NEEDS]; /* of each input; any further one is as the last */
  /* What backward reads: a bit for each input, output and inner value. */
  struct {
    unsigned in, out, inner;
  } reads;
  /* 16 bits: which inputs it reads with brim_read_half, forward and backward, and which outputs and inner values it can write
   * as they are stored, a bit for each; and which weights its products read in 16 bits. A value whose writer and readers all have
   * their bit is stored in 16 bits with --precision bf16, and so is its gradient; any other is fp32, and those who read it in 16
   * bits have a copy. `alike`: these inputs and outputs all have 16 bits, or none has; the inputs are read with brim_read, as
   * they are stored. A kind that says nothing computes in fp32. `far`: inputs whose values may be beyond what fp16 has (65,504),
   * which bf16 alone reads in 16 bits. */
  struct {
    unsigned in, out, inner, weights, far;
  } half;
  struct {
    unsigned in, out;
  } alike;
  void (*forward)(struct brim_lowering *l, const struct brim_operation *o);
  /* NULL: there is nothing to do (what `forward` has done is enough). */
  void (*backward)(struct brim_lowering *l, const struct brim_operation *o);
  /* Makes the output again from the inner values, cheaply; NULL: it cannot. */
  void (*again)(struct brim_lowering *l, const struct brim_operation *o);
  /* Multiplications and additions of forward for so many rows of each kind, in texts of `length` tokens; NULL: next to none. */
  double (*flops)(const struct brim_call_schedule *s, const struct brim_operation *o, const double *rows, double length);
  int (*products)(const struct brim_program *p, const struct brim_operation *o, brim_product out[BRIM_MOST_PRODUCTS]);
} brim_kind;

/* Which inputs it reads in 16 bits in this precision. */
static inline unsigned brim_half_inputs(const brim_kind *kind, brim_precision precision) {
  return precision == BRIM_PRECISION_FP16 ? kind->half.in & ~kind->half.far : kind->half.in;
}

#endif
