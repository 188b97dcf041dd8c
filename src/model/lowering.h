/* lowering.h: the state of a schedule that is being written: between schedule_make.c, lowering.c and gradients.c. */
#ifndef BRIM_MODEL_LOWERING_H
#define BRIM_MODEL_LOWERING_H
#include "model/calls.h"

/* Where a value is now. */
typedef struct brim_held {
  int32_t leader; /* the value whose versions it lies in: itself, or the one that shares its memory */
  int32_t column; /* in those */
  int32_t width;  /* of a leader's versions */
  int32_t now;    /* the version that can be read, or BRIM_NONE; of leaders, like the next two */
  int32_t half;   /* its copy in 16 bits */
  int32_t gradient;
  bool has_gradient; /* something was written to it */
  /* its chosen rows alone, while all are computed */
  int32_t chosen, chosen_half, chosen_gradient;
  int32_t chosen_by; /* the operation that first wanted them; after its backward their gradient joins that of all rows */
  bool has_chosen_gradient;
} brim_held;

enum { BRIM_MOST_FILLS = 40 };

/* A field to be filled, by its address in the caller's operands. */
typedef struct brim_pending {
  const void *field;
  brim_fill_in as;
} brim_pending;

struct brim_lowering {
  const brim_program *program;
  brim_call_schedule *schedule;
  brim_held *held; /* [values] */
  int32_t operation;
  brim_phase phase;
  bool wants_wide; /* what is being made again is read as floats */
  int status;
  brim_pending pending[BRIM_MOST_FILLS];
  int pending_count;
  int64_t changes_to; /* of the call that is being written */
};

/* ---- lowering.c */
brim_at brim_new_version(brim_lowering *l, brim_value_version version);
/* Forgets what backward may not read as it is. */
void brim_forget(brim_lowering *l);
/* Whole tensors: y = x rounded to 16 bits. */
void brim_call_narrow(brim_lowering *l, brim_at from, brim_at to);

/* ---- gradients.c: after the backward of `o`, gradients of chosen rows that it made join those of all rows */
void brim_join_chosen(brim_lowering *l, const brim_operation *o);

#endif
