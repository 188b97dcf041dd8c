// emulate.hpp: CUDA's words for g++, so that the text of the kernels runs on the processor.
//
// The threads of a block are fibers. They run one after the other, in another order each time, up to a barrier, an exchange
// within their warp, or their end. What shared and global memory see is noted for each element: who wrote it, who read it, and
// when. Two threads of a block that meet at an element with no barrier between them, one of them writing, are a race, whatever the
// order was; two blocks of a launch that do so are one at any time. Memory that is not there, or not written yet (shared), is not
// read or written. Each of these is a problem: it is noted, the launch ends, and the driver's next sync fails.
//
// What this cannot see: speed, conflicts of banks, registers, rounding of the card's own expf, erfcf and so on, weak memory order.
#ifndef BRIM_EMULATE_HPP
#define BRIM_EMULATE_HPP
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "emulate_notes.hpp"

namespace emulate {

void problem(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Waits for all threads of the block; whether one of them said so.
bool barrier(int line, bool said);
// Waits for the 32 threads of the warp. What each gave is in the result.
const uint64_t *exchange(int line, uint64_t given);

// ---- global memory

template <class T> struct reference {
  typedef std::remove_const_t<T> value;
  T *at;
  operator value() const {
    return may_read<sizeof(T)>(at) ? *at : value();
  }
  const reference &operator=(value x) const {
    if (may_write<sizeof(T)>(at))
      *at = x;
    return *this;
  }
  const reference &operator=(const reference &x) const {
    return *this = static_cast<value>(x);
  }
  reference(const reference &) = default;
  explicit reference(T *address) : at(address) {}
  const reference &operator+=(value x) const {
    return *this = static_cast<value>(*this) + x;
  }
  const reference &operator*=(value x) const {
    return *this = static_cast<value>(*this) * x;
  }
};

template <class T> struct global {
  T *at;
  reference<T> operator[](long long i) const {
    return reference<T>(at + i);
  }
  global operator+(long long i) const {
    return {at + i};
  }
  explicit operator bool() const {
    return at != nullptr;
  }
  template <class U, class = std::enable_if_t<std::is_same<U, const T>::value && !std::is_const<T>::value>>
  operator global<U>() const {
    return {at};
  }
};

// ---- shared memory

array *static_array(size_t count, size_t size);
array *dynamic_array();
// A copy to the element is under way, and there: nobody may use it between.
bool may_send(const array *a, long long i);
void arrives(const array *a, long long i);

template <class T> struct shared_reference {
  array *a;
  long long i;
  shared_reference(array *of, long long index) : a(of), i(index) {}
  shared_reference(const shared_reference &) = default;
  operator T() const {
    return may_read(a, i) ? static_cast<const T *>(a->data)[i] : T();
  }
  const shared_reference &operator=(T x) const {
    if (may_write(a, i))
      static_cast<T *>(a->data)[i] = x;
    return *this;
  }
  const shared_reference &operator=(const shared_reference &x) const {
    return *this = static_cast<T>(x);
  }
};

template <class T> struct shared {
  array *a;
  long long first;
  shared_reference<T> operator[](long long i) const {
    return shared_reference<T>(a, first + i);
  }
  shared operator+(long long i) const {
    return {a, first + i};
  }
};

// ---- within a warp

template <class T> T shuffle_xor(int line, T x, int apart) {
  uint64_t given = 0;
  std::memcpy(&given, &x, sizeof x);
  const uint64_t *all = exchange(line, given);
  std::memcpy(&x, &all[now.thread.x % 32 ^ static_cast<unsigned>(apart)], sizeof x);
  return x;
}

inline unsigned ballot(int line, bool said) {
  const uint64_t *all = exchange(line, said);
  unsigned bits = 0;
  for (int i = 0; i < 32; i++)
    bits |= static_cast<unsigned>(all[i]) << i;
  return bits;
}

inline unsigned bits_of(float x) {
  unsigned bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

inline float float_of(unsigned bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

// ---- numbers of 16 bits: to the nearest, to even between two

inline unsigned short bfloat_of(float x) {
  const unsigned bits = bits_of(x);
  return static_cast<unsigned short>(x != x ? bits >> 16 | 0x40 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// IEEE's half precision: ten bits after the point, exponents from -14 to 15, smaller numbers in steps of 2^-24.
inline unsigned short half_of(float x) {
  const unsigned sign = bits_of(x) >> 16 & 0x8000;
  const float size = std::fabs(x);
  if (x != x)
    return 0x7fff;
  if (size >= 65520)
    return static_cast<unsigned short>(sign | 0x7c00);
  int exponent = size > 0 ? std::ilogb(size) : -14;
  exponent = exponent < -14 ? -14 : exponent;
  const unsigned steps = static_cast<unsigned>(std::nearbyint(std::ldexp(size, 10 - exponent))); // 1024: the exponent's own bit
  return static_cast<unsigned short>(sign | (static_cast<unsigned>(exponent + 14) * 1024 + steps));
}

inline float of_half(unsigned short x) {
  const int exponent = x >> 10 & 31, steps = x & 1023;
  const float size = exponent == 31 ? (steps ? NAN : INFINITY)
                     : exponent     ? std::ldexp(static_cast<float>(1024 + steps), exponent - 25)
                                    : std::ldexp(static_cast<float>(steps), -24);
  return x & 0x8000 ? -size : size;
}
} // namespace emulate

using emulate::half_of;
using emulate::of_half;

#define BRIM_EMULATED
#define DEVICE                           static inline
#define KERNEL(name, args)               static void brim_##name(const args a)
#define KERNEL_SHARED(name, args, count) KERNEL(name, args)
#define UNROLL
#define ROLLED
#define GLOBAL(type)                     emulate::global<type>
#define SHARED_AT(type)                  emulate::shared<type>
#define SHARED(type, name, count)        const emulate::shared<type> name = {emulate::static_array(count, sizeof(type)), 0}
#define DYNAMIC_SHARED(type, name)       const emulate::shared<type> name = {emulate::dynamic_array(), 0}
#define threadIdx                        (emulate::now.thread)
#define blockIdx                         (emulate::now.block)
#define blockDim                         (emulate::now.threads)
#define gridDim                          (emulate::now.blocks)
#define __syncthreads()                  (void)emulate::barrier(__LINE__, false)
#define __syncthreads_or(said)           emulate::barrier(__LINE__, (said) != 0)
#define __shfl_xor_sync(mask, x, apart)  emulate::shuffle_xor(__LINE__, x, apart)
#define __ballot_sync(mask, said)        emulate::ballot(__LINE__, said)
#define __popc(bits)                     __builtin_popcount(bits)
#define __float_as_uint(x)               emulate::bits_of(x)
#define __uint_as_float(x)               emulate::float_of(x)
#endif
