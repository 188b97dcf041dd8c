/* build.c: which build this is: a hash of the code itself, so that compilers and options count as well as sources do.
 *
 * Code has no relocations and no paths in it: it is the same wherever it is loaded, and on every machine that builds the same
 * sources with the same compiler. */
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "brim/dist.h"

#if defined(__SANITIZE_ADDRESS__)
#define CONSTANTS false /* there are zones between them that may not be read */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CONSTANTS false
#endif
#endif
#ifndef CONSTANTS
#define CONSTANTS true
#endif

static bool is_inside(const struct dl_phdr_info *info, const ElfW(Phdr) * segment, uintptr_t address) {
  const uintptr_t begin = info->dlpi_addr + segment->p_vaddr;
  return segment->p_type == PT_LOAD && (segment->p_flags & PF_X) && address >= begin && address - begin < segment->p_filesz;
}

/* Each step can be undone, so nothing that comes later forgets an earlier difference. The hash of hash maps, brim_hash64, forgets
 * what came before where a word equals its own constant, and a program's code holds that constant. */
static uint64_t mix(uint64_t hash, const unsigned char *bytes, size_t count) {
  for (size_t i = 0; i < count; i += sizeof(uint64_t)) {
    uint64_t word = 0;
    memcpy(&word, bytes + i, count - i < sizeof word ? count - i : sizeof word);
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 32;
  }
  return (hash ^ count) * 0x9E3779B97F4A7C15u;
}

/* The program or library that this function is in: its code, and the constants after it. Before it lie names and relocations. */
static int hash_object(struct dl_phdr_info *info, size_t size, void *context) {
  (void)size;
  const ElfW(Phdr) *code = NULL;
  for (int i = 0; i < info->dlpi_phnum && !code; i++)
    if (is_inside(info, &info->dlpi_phdr[i], (uintptr_t)brim_build))
      code = &info->dlpi_phdr[i];
  if (!code)
    return 0;
  uint64_t *hash = context;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    const bool constants = CONSTANTS && segment->p_type == PT_LOAD && !(segment->p_flags & PF_W) &&
                           segment->p_vaddr > code->p_vaddr;
    if (segment == code || constants)
      *hash = mix(*hash, (const void *)(info->dlpi_addr + segment->p_vaddr), segment->p_filesz);
  }
  return 1;
}

void brim_build(char text[BRIM_BUILD_SIZE]) {
  uint64_t hash = 0;
  dl_iterate_phdr(hash_object, &hash);
  snprintf(text, BRIM_BUILD_SIZE, "%016llx", (unsigned long long)hash);
}
