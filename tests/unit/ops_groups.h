/* ops_groups.h: the cases of operations: a file ops_NAME.c for each group, and ops.c, which runs a group by its name and counts
 * what was called. They are two programs: unit_ops has them in float, unit_ops_double (OPS_WITH_DOUBLE) in double too. */
#ifndef BRIM_TESTS_OPS_GROUPS_H
#define BRIM_TESTS_OPS_GROUPS_H
#include <stdbool.h>
#include <stddef.h>

/* BOTH: in float and in double; FLOAT: they are of float alone. */
#define OPS_GROUPS(BOTH, FLOAT)                                                                                                  \
  BOTH(attention)                                                                                                                \
  BOTH(bf16)                                                                                                                     \
  BOTH(bf16_layers)                                                                                                              \
  BOTH(dropout)                                                                                                                  \
  FLOAT(int8)                                                                                                                    \
  BOTH(linear)                                                                                                                   \
  BOTH(loss)                                                                                                                     \
  BOTH(pooling)                                                                                                                  \
  BOTH(relative)                                                                                                                 \
  BOTH(rows)                                                                                                                     \
  BOTH(slices)                                                                                                                   \
  FLOAT(split)                                                                                                                   \
  BOTH(stream)                                                                                                                   \
  BOTH(update)                                                                                                                   \
  BOTH(vocabulary)                                                                                                               \
  FLOAT(window)

#define OPS_DECLARE(name)      void ops_cases_##name(void);
#define OPS_DECLARE_BOTH(name) OPS_DECLARE(name) void ops_cases64_##name(void);
OPS_GROUPS(OPS_DECLARE_BOTH, OPS_DECLARE)

/* The program has the cases in double. */
bool ops_has_double(void);

/* What a case gave: parts with names, one after the other. */
enum { RECORD_PARTS = 24 };
typedef struct record {
  double *value;
  size_t count, room;
  size_t end[RECORD_PARTS];
  const char *name[RECORD_PARTS];
  int parts;
  double loss;                    /* sum over the outputs of weight * value: the function whose gradients are checked */
  double *gradient[RECORD_PARTS]; /* of the loss, of so many elements of an input; in double only */
  int64_t gradient_count[RECORD_PARTS];
  int gradient_of[RECORD_PARTS];
  int gradients;
} record;

/* ---- ops.c. One test point; what double precision gave, for the case of this name */
bool ops_ok(bool pass, const char *file, int line, const char *format, ...) __attribute__((format(printf, 4, 5)));
void ops_keep(const char *name, const record *r); /* takes what the record holds */
const record *ops_kept(const char *name);         /* NULL: the group has no such case in double */

/* An operation, by its place in the list, is called by a table: its name, or "ref64" for the reference in double. The gradients
 * of the operations of this case are compared: those of 16 bits (`narrow`) with the same in single precision, others with
 * differences. */
void ops_begin_case(void);
void ops_called(const char *table, int operation);
void ops_compared(bool half);
/* The operations are to be called once: nothing else counts. */
bool ops_only_calls(void);
#endif
