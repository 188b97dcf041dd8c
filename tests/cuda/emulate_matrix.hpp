// emulate_matrix.hpp: matrix.cuh's words for g++: products of a warp's fragments, and copies into shared memory.
//
// A copy is done when its thread waits for its group, and not before: what is read earlier is a problem, even if it was to come.
#ifndef BRIM_EMULATE_MATRIX_HPP
#define BRIM_EMULATE_MATRIX_HPP
#include "emulate.hpp"

namespace emulate {
// y += a b. Each of a warp's lanes gives and gets its elements of the matrices.
void multiply_add(int line, bool fp16, float y[4], const uint32_t a[4], uint32_t b0, uint32_t b1);
// What a lane gets of four matrices of 8 x 8, whose rows the lanes say.
void fetch(int line, const array *a, long long row, bool turned, uint32_t got[4]);
// So far, by all threads.
long copied();
void copy_row(const array *a, long long to, const unsigned short *from, bool there);
void close_copies();
void await_copies(unsigned but);

inline unsigned packed(bool fp16, float x, float y) {
  const unsigned low = fp16 ? half_of(x) : bfloat_of(x), high = fp16 ? half_of(y) : bfloat_of(y);
  return low | high << 16;
}

inline global<unsigned> word_at(const global<unsigned short> &x) {
  return {static_cast<unsigned *>(static_cast<void *>(x.at))};
}
} // namespace emulate

using emulate::await_copies;
using emulate::close_copies;
using emulate::packed;
using emulate::word_at;

struct fragment;
struct sums;

template <class Y = sums, class A = fragment>
void multiply_add(bool fp16, Y &y, const A &a, unsigned b0, unsigned b1, int line = __builtin_LINE()) {
  emulate::multiply_add(line, fp16, y.of, a.of, b0, b1);
}

template <class F = fragment> F fetch(const emulate::shared<unsigned> &row, int line = __builtin_LINE()) {
  F f;
  emulate::fetch(line, row.a, row.first, false, f.of);
  return f;
}

template <class F = fragment> F fetch_turned(const emulate::shared<unsigned> &row, int line = __builtin_LINE()) {
  F f;
  emulate::fetch(line, row.a, row.first, true, f.of);
  return f;
}

inline void copy_row(const emulate::shared<unsigned> &to, const emulate::global<unsigned short> &from, bool there) {
  emulate::copy_row(to.a, to.first, from.at, there);
}
#endif
