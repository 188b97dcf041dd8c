/* hooks.c: what tests ask of the false driver (fake_cuda.h), where there is a real one: a library of its name without the calls
 * of CUDA, which CUDA's own libraries might take for theirs. */
#pragma GCC visibility push(default)
#include "fake_cuda.h"

void fake_cuda_seed(uint64_t value) {
  (void)value;
}
void fake_cuda_fail(long n) {
  (void)n;
}
long fake_cuda_calls(void) {
  return 0;
}
long fake_cuda_launches(void) {
  return 0;
}
bool fake_cuda_has(const void *at, unsigned long size) {
  return at && size > 0;
}
long fake_cuda_left(void) {
  return 0;
}
void fake_cuda_be(int capability, int shared, int count) {
  (void)capability, (void)shared, (void)count;
}
long fake_cuda_products(void) {
  return 0;
}
long fake_cuda_chosen(void) {
  return 0;
}
long fake_cuda_count(fake_cuda_what what) {
  (void)what;
  return 0;
}
uint64_t fake_cuda_digest(void) {
  return 0;
}
void fake_cuda_graphs(bool there, long broken) {
  (void)there, (void)broken;
}
void fake_cuda_uncaptured(long n) {
  (void)n;
}
int fake_cuda_faults(void) {
  return 0;
}
void fake_cuda_fault(int number) {
  (void)number;
}
bool fake_cuda_reached(int number) {
  (void)number;
  return false;
}
