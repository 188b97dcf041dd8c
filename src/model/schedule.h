/* schedule.h: a program written out as calls of the device, forward and backward, with what each reads and writes.
 *
 * A schedule is made for one way of running the program (brim_variant), before any batch is seen. Each call holds the device's
 * operands as they are known then, and a list of the fields that a run fills in: addresses in the model's memory, weights, counts
 * of rows, dropout. Running it decides nothing and takes no memory. */
#ifndef BRIM_MODEL_SCHEDULE_H
#define BRIM_MODEL_SCHEDULE_H
#include "model/program.h"
#include "model/ready.h"
#include "model/trained.h"

/* One way of running a program. */
typedef struct brim_variant {
  bool training;
  bool all_rows;    /* every token's hidden state is wanted; else only what the head reads is computed in the last layer */
  bool logits;      /* of masked words: predictions give their logits, not outcomes */
  bool checkpoints; /* layers keep their input alone, and backward runs their forward again */
  brim_precision precision;
  const brim_trained *trained; /* borrowed */
} brim_variant;

/* The device's operations, in the order of its list. */
#define BRIM_OP_NAME(name, ...) BRIM_OP_##name,
typedef enum brim_device_op { BRIM_OPS_LIST(BRIM_OP_NAME) BRIM_OP_COUNT } brim_device_op;
#undef BRIM_OP_NAME

/* ---- versions of values: the first one, the one that is made again for backward, the copy in 16 bits, the gradient; or memory
 * that one operation needs for itself */
typedef enum brim_role { BRIM_FIRST = 0, BRIM_AGAIN, BRIM_STORED, BRIM_GRADIENT, BRIM_SCRATCH } brim_role;

/* Kept values have another region than those that come and go, whose memory stays in the caches. */
typedef enum brim_region { BRIM_TEMPORARY = 0, BRIM_KEPT, BRIM_REGIONS } brim_region;

typedef struct brim_value_version {
  int32_t value; /* BRIM_NONE: scratch */
  brim_role role;
  brim_row_kind rows;
  brim_value_type type;
  brim_region region;
  int32_t width;
  int32_t first, last;   /* calls that use it; with the calls between them its memory is its own */
  int32_t replaces;      /* version whose memory it may have, or BRIM_NONE */
  int32_t unit;          /* versions with the same unit share memory: see passes/placement.c */
  uint64_t offset, size; /* bytes in its region */
} brim_value_version;

/* ---- calls */

/* What a run fills into a field of a call. */
typedef enum brim_origin {
  BRIM_FROM_VERSION,         /* address of version `index`, `offset` elements on */
  BRIM_FROM_WEIGHT,          /* address of the value at `offset` */
  BRIM_FROM_WEIGHT_HALF,     /* of the value's copy in 16 bits */
  BRIM_FROM_WEIGHT_GRADIENT, /* of the gradient at `offset` */
  BRIM_FROM_PACKED,          /* address of packed weight `index` */
  BRIM_FROM_COUNT,           /* rows of kind `index`, `offset` times */
  BRIM_FROM_ROWS,            /* brim_rows of kind `index` */
  BRIM_FROM_DROPOUT,         /* on or off, and the key */
  BRIM_FROM_FRAME            /* `index` bytes at `offset` of the frame */
} brim_origin;

typedef enum brim_access { BRIM_READS = 1, BRIM_WRITES = 2, BRIM_CHANGES = 3 } brim_access;

typedef struct brim_fill_in {
  uint16_t field;         /* offset in the operands */
  uint8_t source, access; /* brim_origin, brim_access */
  bool reached;           /* a version of distances: from the first row on that the batch reaches */
  int32_t index;
  int64_t offset;
} brim_fill_in;

typedef enum brim_phase { BRIM_FORWARD = 0, BRIM_FORWARD_AGAIN, BRIM_BACKWARD } brim_phase;

typedef struct brim_call {
  uint8_t op;    /* brim_device_op */
  uint8_t phase; /* brim_phase */
  bool only_with_loss;
  uint16_t size; /* of the operands */
  int32_t operation, section;
  int64_t changes_to; /* it adds to the gradient before this offset alone; 0: nowhere */
  int64_t complete;   /* of backward: after it nothing is added to the gradient from this offset on */
  uint32_t operands;  /* offset in the schedule's bytes */
  int32_t first_fill, fill_count;
} brim_call;

/* What passes find out about each value, operation and section. */
typedef enum brim_keep {
  BRIM_KEEP_NOT = 0,
  BRIM_KEEP_AGAIN, /* backward makes it again from what is kept */
  BRIM_KEEP_AS_IS, /* kept as it is stored */
  BRIM_KEEP_HALF   /* kept as the copy in 16 bits that products read */
} brim_keep;

typedef struct brim_value_plan {
  brim_row_kind rows; /* that are computed */
  brim_value_type type;
  brim_keep keep;
} brim_value_plan;

typedef struct brim_section_plan {
  bool trained; /* takes part in backward */
  bool again;   /* backward begins with its forward */
} brim_section_plan;

typedef struct brim_call_schedule {
  brim_runtime *runtime;
  const brim_program *program;
  brim_variant variant;
  brim_value_plan *values;     /* [values of the program] */
  bool *trained;               /* [operations]: takes part in backward */
  brim_section_plan *sections; /* [sections] */
  brim_call *calls;
  brim_fill_in *fills;
  brim_value_version *versions;
  char *operands;
  struct brim_held *held;             /* [values]: while calls are written down */
  int32_t *order, *by_offset, *lasts; /* [versions]: while offsets are found */
  size_t call_count, fill_count, version_count, operand_count;
  size_t value_room, operation_room, section_room, call_room, fill_room, version_room, operand_room, held_room, order_room,
      by_offset_room, last_room;
  int32_t forward_count;              /* calls of forward; those of backward follow */
  int32_t hidden, logits, outcomes;   /* versions that the caller may read after forward; BRIM_NONE: not there */
  int32_t seed;                       /* version of the logits' gradient, which the caller may write instead of the loss */
  uint64_t region_size[BRIM_REGIONS]; /* bytes; see brim_schedule_assign_offsets */
  uint32_t features;                  /* BRIM_FEATURE_... that its calls need of the device */
} brim_call_schedule;

/* Writes a schedule, in memory that it keeps for the next time: zeroed, or an earlier schedule. */
int brim_schedule_make(brim_call_schedule *s, const brim_program *program, const brim_variant *variant,
                       brim_error *err) BRIM_CHECK;
/* Takes memory for any schedule of this program, so that making one takes none. */
int brim_schedule_reserve(brim_call_schedule *s, const brim_program *program, brim_error *err) BRIM_CHECK;
/* Gives versions their offsets for at most so many rows of each kind, and says how large the regions are. */
void brim_schedule_assign_offsets(brim_call_schedule *s, const int64_t rows[BRIM_ROW_KINDS]);
void brim_schedule_free(brim_call_schedule *s);

/* ---- passes over the program, in this order */
void brim_pass_rows(brim_call_schedule *s);
void brim_pass_gradient(brim_call_schedule *s);
void brim_pass_types(brim_call_schedule *s);
void brim_pass_keep(brim_call_schedule *s);

/* ---- a run */

/* A batch, laid out, and where everything is. */
typedef struct brim_frame {
  brim_layout layout;
  brim_rows rows[BRIM_ROW_KINDS];
  brim_row_slices slices[BRIM_ROW_KINDS];
  int32_t first_reached; /* of BRIM_ROW_REACHED: its row of BRIM_ROW_DISTANCES */
  const int32_t *ids, *positions;
  const uint8_t *types;
  const int32_t *skipped; /* [n] tokens at the beginning of each text that are not pooled; NULL: none */
  bool dropout;
  uint32_t key[2];
  const real *values;
  const brim_bfloat *half; /* copies of the values from `narrowed` on */
  int64_t narrowed;
  real *gradients; /* of what is trained */
  void *const *packed;
  char *memory[BRIM_REGIONS];
  /* of the loss */
  const float *labels;
  const int32_t *classes; /* of slots, where labels are of tokens, or of masked tokens; else NULL */
  const double *class_weights;
  double smoothing, divisor;
  double *loss;                 /* NULL: not wanted. One for each slice */
  const brim_ready_hook *ready; /* of backward, or NULL */
} brim_frame;

/* Calls of forward, or of backward. Cancelling is looked at before each. */
int brim_schedule_run(const brim_call_schedule *s, const brim_ops *ops, brim_ops_context *c, const brim_frame *frame,
                      bool backward, brim_error *err) BRIM_CHECK;
/* Address of a version in a frame's memory. */
void *brim_version_address(const brim_call_schedule *s, int32_t version, const brim_frame *frame);

/* What writes calls down; see calls.h. */
typedef struct brim_lowering brim_lowering;
/* Elements of a version are so large. */
size_t brim_type_size(brim_value_type type);

#endif
