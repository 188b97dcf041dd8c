/* What the processor can do and the system lets it: AVX state must be saved by the system (XCR0), or using it would fault. */
#include "base/runtime.h"
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>

static uint64_t extended_control(void) {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t)high << 32 | low;
}

brim_cpu_level brim_cpu_detect(void) {
  enum { XSAVE = 1 << 27, AVX = 1 << 28, FMA = 1 << 12, F16C = 1 << 29 };            /* leaf 1, ecx */
  enum { AVX2 = 1 << 5, AVX512F = 1 << 16, AVX512DQ = 1 << 17, AVX512BW = 1 << 30 }; /* leaf 7, ebx */
  const uint32_t avx512vl = 1u << 31, first = XSAVE | AVX | FMA | F16C;
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || (c & first) != first)
    return BRIM_CPU_PLAIN;
  uint64_t saved = extended_control();
  if ((saved & 0x06) != 0x06)
    return BRIM_CPU_PLAIN; /* xmm, ymm */
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & AVX2))
    return BRIM_CPU_PLAIN;
  const uint32_t wide = AVX512F | AVX512DQ | AVX512BW | avx512vl;
  if ((b & wide) != wide || (saved & 0xE0) != 0xE0)
    return BRIM_CPU_AVX2; /* opmask, zmm */
  return BRIM_CPU_AVX512;
}

bool brim_cpu_dots_bytes(brim_cpu_level level) {
  enum { AVX512_VNNI = 1 << 11 /* leaf 7, ecx */, AVX_VNNI = 1 << 4 /* leaf 7.1, eax */ };
  unsigned leaves, a, b, c, d;
  if (level == BRIM_CPU_PLAIN || level > brim_cpu_detect() || !__get_cpuid_count(7, 0, &leaves, &b, &c, &d))
    return false;
  if (level == BRIM_CPU_AVX512)
    return (c & AVX512_VNNI) != 0;
  return leaves >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & AVX_VNNI) != 0;
}
#else
brim_cpu_level brim_cpu_detect(void) {
  return BRIM_CPU_PLAIN;
}
bool brim_cpu_dots_bytes(brim_cpu_level level) {
  (void)level;
  return false;
}
#endif

const char *brim_cpu_name(brim_cpu_level level) {
  return level == BRIM_CPU_AVX512 ? "avx512" : level == BRIM_CPU_AVX2 ? "avx2" : "plain";
}
