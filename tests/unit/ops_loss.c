/* Losses of every float table against PyTorch's numbers. */
#include "loss_case.h"

int main(void) {
  check_losses(brim_ops_ref(), 1e-7);
  for (int level = BRIM_CPU_PLAIN; level <= BRIM_CPU_AVX512; level++) {
    const brim_ops *ops = brim_ops_cpu((brim_cpu_level)level);
    if (ops)
      check_losses(ops, 1e-7);
  }
  return tap_done();
}
