/* What the processor can do and the system lets it: AVX state must be saved by the system (XCR0), or using it would fault. */
#include "base/runtime.h"
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

static uint64_t extended_control(void) {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t)high << 32 | low;
}

/* Without tiles. */
static brim_cpu_level detect_vectors(void) {
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
  if (level >= BRIM_CPU_AVX512)
    return (c & AVX512_VNNI) != 0;
  return leaves >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & AVX_VNNI) != 0;
}

brim_cpu_model brim_cpu_describe(void) {
  enum { BF16 = 1 << 5 /* leaf 7.1, eax */, AMX_BF16 = 1 << 22, AMX_TILE = 1 << 24 /* leaf 7, edx */ };
  brim_cpu_model m = {0};
  unsigned leaves, a, b, c, d;
  if (!__get_cpuid(0, &a, &b, &c, &d))
    return m;
  memcpy(m.vendor, &b, 4);
  memcpy(m.vendor + 4, &d, 4);
  memcpy(m.vendor + 8, &c, 4);
  if (__get_cpuid(1, &a, &b, &c, &d)) {
    m.family = (a >> 8 & 15) + (a >> 20 & 255);
    m.model = (a >> 4 & 15) | (a >> 12 & 0xf0);
    m.stepping = a & 15;
  }
  m.amx_tile = m.amx_bf16 = BRIM_WIDE_IN_C; /* for tests: in C, see src/ops/meson.build */
  if (BRIM_WIDE_IN_C || detect_vectors() < BRIM_CPU_AVX512 || !__get_cpuid_count(7, 0, &leaves, &b, &c, &d))
    return m;
  m.amx_tile = (d & AMX_TILE) != 0;
  m.amx_bf16 = (d & AMX_BF16) != 0;
  m.avx512_bf16 = leaves >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & BF16) != 0;
  return m;
}

/* Linux saves the tiles' registers (8 KiB a thread) only for a process that asked for them, from 5.16 on. */
static bool allow_tiles(void) {
#if defined(__linux__) && defined(SYS_arch_prctl)
  enum { ASK_FOR_PERMISSION = 0x1023, TILE_DATA = 18, TILE_STATE = 3 << 17 };
  return (extended_control() & TILE_STATE) == TILE_STATE && syscall(SYS_arch_prctl, ASK_FOR_PERMISSION, TILE_DATA) == 0;
#else
  return false;
#endif
}

brim_cpu_level brim_cpu_detect(void) {
  const brim_cpu_model m = brim_cpu_describe();
  return BRIM_TILES && m.amx_tile && m.amx_bf16 && (BRIM_WIDE_IN_C || allow_tiles()) ? BRIM_CPU_AMX : detect_vectors();
}

brim_bf16_way brim_cpu_bf16(brim_cpu_level level) {
  const brim_cpu_model m = brim_cpu_describe();
  if (level < BRIM_CPU_AVX512)
    return BRIM_BF16_WIDENED;
  return brim_cpu_bf16_of(&m, level == BRIM_CPU_AMX && brim_cpu_detect() == BRIM_CPU_AMX);
}
#else
brim_cpu_model brim_cpu_describe(void) {
  return (brim_cpu_model){0};
}
brim_bf16_way brim_cpu_bf16(brim_cpu_level level) {
  (void)level;
  return BRIM_BF16_WIDENED;
}
brim_cpu_level brim_cpu_detect(void) {
  return BRIM_CPU_PLAIN;
}
bool brim_cpu_dots_bytes(brim_cpu_level level) {
  (void)level;
  return false;
}
#endif

/* Where vdpbf16ps is fast: all of AMD's that have it (from Zen 4 on), at twice the products of fp32, and Intel's Cooper Lake
 * (family 6, model 85, stepping 10 and above). On Sapphire Rapids and all Intel after it the instruction is there but runs at
 * half the speed of fp32; these have AMX, and where a system withholds that, values are better widened. A processor of a vendor
 * that is not known is taken to be like Intel's. */
static bool pairs_are_fast(const brim_cpu_model *m) {
  if (!m->avx512_bf16 || m->amx_tile)
    return false;
  if (strcmp(m->vendor, "AuthenticAMD") == 0 || strcmp(m->vendor, "HygonGenuine") == 0)
    return true;
  return strcmp(m->vendor, "GenuineIntel") == 0 && m->family == 6 && m->model == 85 && m->stepping >= 10;
}

brim_bf16_way brim_cpu_bf16_of(const brim_cpu_model *model, bool tiles_allowed) {
  if (model->amx_tile && model->amx_bf16 && tiles_allowed)
    return BRIM_BF16_TILES;
  return pairs_are_fast(model) ? BRIM_BF16_PAIRS : BRIM_BF16_WIDENED;
}

const char *brim_cpu_name(brim_cpu_level level) {
  static const char *const names[] = {"plain", "avx2", "avx512", "amx"};
  return (unsigned)level <= BRIM_CPU_AMX ? names[level] : "unknown";
}
