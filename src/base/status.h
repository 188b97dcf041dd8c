/* status.h: shorthand for passing failures on. */
#ifndef BRIM_BASE_STATUS_H
#define BRIM_BASE_STATUS_H
#include "brim/base.h"

#include <string.h>

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

/* What a caller has to give. The enclosing function fails with BRIM_E_USAGE where one of these pointers is NULL, and names it. */
#define BRIM_GIVEN(err, ...) BRIM_GIVEN_AS(err, #__VA_ARGS__, __VA_ARGS__)
/* The same where the header calls them otherwise: "first, second". */
#define BRIM_GIVEN_AS(err, names, ...)                                                                                           \
  BRIM_TRY(                                                                                                                      \
      brim_given(err, names, (const void *const[]){__VA_ARGS__}, sizeof((const void *const[]){__VA_ARGS__}) / sizeof(void *)))
/* An array, which may be NULL where it has no items; the number of items can be one. */
#define BRIM_ARRAY(err, array, count) BRIM_TRY(brim_given_array(err, #array, array, #count, (int64_t)(count)))
/* The same of strings, each of which is given. */
#define BRIM_STRINGS(err, strings, count) BRIM_TRY(brim_given_strings(err, #strings, strings, #count, count))
/* Where a result goes: given, and zero until there is one. */
#define BRIM_OUT(err, out)                                                                                                       \
  do {                                                                                                                           \
    BRIM_GIVEN(err, out);                                                                                                        \
    memset(out, 0, sizeof *(out));                                                                                               \
  } while (0)
int brim_given(brim_error *err, const char *names, const void *const *pointers, size_t count);
int brim_given_array(brim_error *err, const char *name, const void *array, const char *count_name, int64_t count);
int brim_given_strings(brim_error *err, const char *name, const char *const *strings, const char *count_name, int64_t count);
/* NAME, which may be a function, is NULL. */
int brim_not_given(brim_error *err, const char *name);

/* return BRIM_NOMEM(err); */
#define BRIM_NOMEM(err) brim_error_memory(err)
int brim_error_memory(brim_error *err);
/* BRIM_E_IO with the system's words: "path: cannot DOING: No space left on device". `number` is an errno. */
int brim_error_system(brim_error *err, const char *path, const char *doing, int number);
/* BRIM_E_CANCELLED with its message. */
int brim_error_cancelled(brim_error *err);

#endif
