/* status.h: shorthand for passing failures on. */
#ifndef BRIM_BASE_STATUS_H
#define BRIM_BASE_STATUS_H
#include "brim/base.h"

/* Returns from the enclosing function when `call` gives anything but BRIM_OK (BRIM_END too). */
#define BRIM_TRY(call)                                                                                                           \
  do {                                                                                                                           \
    int brim_try_ = (call);                                                                                                      \
    if (brim_try_ != BRIM_OK)                                                                                                    \
      return brim_try_;                                                                                                          \
  } while (0)

/* Jumps to `label` when `call` fails; `status` (an int in scope) keeps the code for the clean-up's return. */
#define BRIM_TRY_GOTO(status, label, call)                                                                                       \
  do {                                                                                                                           \
    (status) = (call);                                                                                                           \
    if ((status) != BRIM_OK)                                                                                                     \
      goto label;                                                                                                                \
  } while (0)

/* return BRIM_NOMEM(err); */
#define BRIM_NOMEM(err) brim_error_memory(err)
int brim_error_memory(brim_error *err);
/* BRIM_E_IO with the system's words: "path: cannot DOING: No space left on device". `number` is an errno. */
int brim_error_system(brim_error *err, const char *path, const char *doing, int number);
/* BRIM_E_CANCELLED with its message. */
int brim_error_cancelled(brim_error *err);

#endif
