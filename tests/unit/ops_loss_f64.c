/* Losses in double precision against PyTorch's numbers. */
#define BRIM_REAL_DOUBLE
#include "loss_case.h"

int main(void) {
  check_losses(brim_ops_ref(), 1e-14);
  return tap_done();
}
