/* precision.c: names of precisions. */
#include <string.h>

#include "brim/model.h"

static const char *const names[] = {[BRIM_PRECISION_FP32] = "fp32",
                                    [BRIM_PRECISION_BF16] = "bf16",
                                    [BRIM_PRECISION_FP16] = "fp16",
                                    [BRIM_PRECISION_INT8] = "int8"};
enum { NAMES = sizeof names / sizeof *names };

const char *brim_precision_name(brim_precision precision) {
  return (unsigned)precision < NAMES ? names[precision] : "unknown";
}

bool brim_precision_parse(const char *name, brim_precision *out) {
  for (int i = 0; name && i < NAMES; i++)
    if (strcmp(name, names[i]) == 0) {
      *out = (brim_precision)i;
      return true;
    }
  return false;
}
