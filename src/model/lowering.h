/* lowering.h: the state of a schedule that is being written: between schedule.c, lowering.c and gradients.c. */
#ifndef BRIM_MODEL_LOWERING_H
#define BRIM_MODEL_LOWERING_H
#include "model/kind.h"

/* Where a value is now. */
typedef struct brim_held {
  int32_t leader; /* the value whose versions it lies in: itself, or the one beside it */
  int32_t column; /* in those */
  int32_t width;  /* of a leader's versions */
  int32_t now;    /* the version that can be read, or BRIM_NONE; of leaders, like the next two */
  int32_t stored; /* its copy in 16 bits */
  int32_t gradient;
  bool rounded;      /* to 16 bits where it is */
  bool has_gradient; /* something was written to it */
  /* its chosen rows alone, while all are computed */
  int32_t chosen, chosen_gradient;
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
  int status;
  brim_pending pending[BRIM_MOST_FILLS];
  int pending_count;
};

/* ---- lowering.c */
brim_at brim_new_version(brim_lowering *l, brim_value_version version);
/* Forgets what backward may not read as it is. */
void brim_forget(brim_lowering *l);
/* y = x rounded to 16 bits; and back. */
void brim_call_narrow(brim_lowering *l, brim_at from, brim_at to);
void brim_call_widen(brim_lowering *l, brim_at from, brim_at to);
/* Rounds a part's input, and keeps the copy if backward wants it. */
void brim_round_input(brim_lowering *l, int32_t value);
/* Makes the copies in 16 bits that the backward of `o` will read. */
void brim_store_narrow(brim_lowering *l, const brim_operation *o);

/* ---- gradients.c: after the backward of `o`, gradients of chosen rows that it made join those of all rows */
void brim_join_chosen(brim_lowering *l, const brim_operation *o);

#endif
