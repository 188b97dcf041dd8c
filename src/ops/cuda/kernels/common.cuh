/* common.cuh: what all kernels have in common. NVRTC compiles these words as they stand; the emulation (tests/cuda/emulate.hpp)
 * defines them for g++ before it includes the same text.
 *
 * Sums have a fixed order: no kernel adds with atomics. Where a product and a sum are to be one rounding, fmaf says so; else
 * they are two, on every device (--fmad=false). */
#ifndef BRIM_EMULATED
#define DEVICE                    static __device__ __forceinline__
#define KERNEL(name, args)        KERNEL_SHARED(name, args, 1)
/* So many blocks share the registers of a multiprocessor. */
#define KERNEL_SHARED(name, args, blocks)                                                                                        \
  extern "C" __global__ void __launch_bounds__(BRIM_THREADS_##name, blocks) brim_##name(const args a)
#define SHARED(type, name, count) __shared__ type name[count]
#define DYNAMIC_SHARED(type, name) extern __shared__ __align__(16) type name[]
#define SHARED_AT(type)           type *
#define UNROLL                    _Pragma("unroll")
#define ROLLED                    _Pragma("unroll 1")
#define INFINITY                  __uint_as_float(0x7f800000u)

/* IEEE's half precision: to the nearest, to even between two; and back. */
DEVICE unsigned short half_of(float x) {
  unsigned short y;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x));
  return y;
}

DEVICE float of_half(unsigned short x) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x));
  return y;
}
#endif

enum { WARP = 32, BATCH = 8 }; /* BATCH: values that are on their way to a thread before the first is looked at, in sums of many */
#define ALL_LANES        0xffffffffu
#define ROWS_OF(threads) ((threads) / WARP) /* rows of a block whose warps have a row each */

/* The row of a warp, in kernels whose warps have a row each. */
#define ROW_OF_WARP(row, lane, count)                                                                                            \
  const int row = blockIdx.x * ROWS_OF(blockDim.x) + threadIdx.x / WARP, lane = threadIdx.x % WARP;                              \
  if (row >= (count))                                                                                                            \
  return

/* ---- numbers of 16 bits. Which type a tensor has is alike for all threads */

/* bfloat16: to the nearest, to even between two; NaN stays NaN. */
DEVICE unsigned short bfloat_of(float x) {
  const unsigned bits = __float_as_uint(x);
  if (x != x)
    return (unsigned short)(bits >> 16 | 0x40);
  return (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

DEVICE unsigned short narrowed(float x, int fp16) {
  return fp16 ? half_of(x) : bfloat_of(x);
}

DEVICE float widened(unsigned short x, int fp16) {
  return fp16 ? of_half(x) : __uint_as_float((unsigned)x << 16);
}

DEVICE bool is_there(const cu_typed &t) {
  return t.wide || t.half;
}

/* A value in two steps, so that several are on their way before the first is looked at. */
DEVICE unsigned bits_at(const cu_typed &t, long long i) {
  return t.half ? (unsigned)t.half[i] : __float_as_uint((float)t.wide[i]);
}

DEVICE float value_of(const cu_typed &t, unsigned bits) {
  return t.half ? widened((unsigned short)bits, t.fp16) : __uint_as_float(bits);
}

DEVICE float get(const cu_typed &t, long long i) {
  return value_of(t, bits_at(t, i));
}

/* x as it will be read from there. */
DEVICE float as_stored(const cu_typed &t, float x) {
  return t.half ? widened(narrowed(x, t.fp16), t.fp16) : x;
}

DEVICE void put(const cu_typed &t, long long i, float x) {
  if (t.half)
    t.half[i] = narrowed(x, t.fp16);
  else
    t.wide[i] = x;
}

DEVICE float warp_sum(float x) {
  for (int apart = WARP / 2; apart > 0; apart /= 2)
    x += __shfl_xor_sync(ALL_LANES, x, apart);
  return x;
}

DEVICE double warp_sum(double x) {
  for (int apart = WARP / 2; apart > 0; apart /= 2)
    x += __shfl_xor_sync(ALL_LANES, x, apart);
  return x;
}

/* ---- dropout: Philox4x32 with 7 rounds; which bits a column has is said in ops.h */

struct words {
  unsigned of[4];
};

DEVICE words philox(unsigned place, unsigned site, unsigned token, unsigned block, unsigned key0, unsigned key1) {
  unsigned c0 = place, c1 = site, c2 = token, c3 = block;
  for (int round = 0; round < 7; round++) {
    const unsigned long long a = c0 * 0xD2511F53ull, b = c2 * 0xCD9E8D57ull;
    const unsigned n0 = (unsigned)(b >> 32) ^ c1 ^ key0, n2 = (unsigned)(a >> 32) ^ c3 ^ key1;
    c0 = n0;
    c1 = (unsigned)b;
    c2 = n2;
    c3 = (unsigned)a;
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  const words w = {{c0, c1, c2, c3}};
  return w;
}

/* Where the masks of a row come from. */
struct mask_row {
  unsigned place, token;
};

DEVICE mask_row mask_of(const cu_dropout &d, const cu_layout &layout, int slot) {
  mask_row m = {0, (unsigned)slot};
  if (d.on && layout.sequence) { /* else rows are of no text */
    const int s = layout.sequence[slot];
    m.place = layout.places[s];
    m.token = (unsigned)(slot - layout.offsets[s]);
  }
  return m;
}

/* Bits of columns `lane` (below) and `lane + 32` (above) of a stretch of 64. */
DEVICE unsigned mask_bits(const cu_dropout &d, mask_row m, int stretch, int lane) {
  if (!d.on)
    return 0;
  const words w = philox(m.place, d.site, m.token, (unsigned)(stretch * 8 + lane % 16 / 2), d.key0, d.key1);
  const unsigned even = lane < 16 ? w.of[1] : w.of[3], odd = lane < 16 ? w.of[0] : w.of[2];
  return lane % 2 ? odd : even;
}

DEVICE float dropped(const cu_dropout &d, unsigned bits, int half, float x) {
  if (!d.on)
    return x;
  return (bits >> (16 * half) & 0xffff) < d.threshold ? 0 : x * d.scale;
}

DEVICE int slot_of(const cu_rows &at, int row) {
  return at.slot ? (int)at.slot[row] : row;
}

/* For each column of this lane in a row: does `each(column, bits, half)`, whose last two say to `dropped` whether it is kept. */
template <class EACH>
DEVICE void each_column(const cu_dropout &d, const cu_layout &layout, const cu_rows &at, int row, int width, int lane,
                        EACH each) {
  const mask_row mask = mask_of(d, layout, slot_of(at, row));
  for (int first = 0; first < width; first += 2 * WARP) {
    const unsigned bits = mask_bits(d, mask, first / (2 * WARP), lane);
    for (int half = 0, column = first + lane; half < 2 && column < width; half++, column += WARP)
      each(column, bits, half);
  }
}
