/* poison.h: memory that nobody may touch, where AddressSanitizer watches; nothing elsewhere. */
#ifndef BRIM_BASE_POISON_H
#define BRIM_BASE_POISON_H
#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#define BRIM_POISONING 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BRIM_POISONING 1
#endif
#endif

#ifdef BRIM_POISONING
#include <sanitizer/asan_interface.h>
enum { BRIM_RED_ZONE = 64 }; /* bytes worth leaving between pieces */
static inline void brim_poison(const void *p, size_t size) {
  ASAN_POISON_MEMORY_REGION(p, size);
}
static inline void brim_unpoison(const void *p, size_t size) {
  ASAN_UNPOISON_MEMORY_REGION(p, size);
}
#else
enum { BRIM_RED_ZONE = 0 };
static inline void brim_poison(const void *p, size_t size) {
  (void)p, (void)size;
}
static inline void brim_unpoison(const void *p, size_t size) {
  (void)p, (void)size;
}
#endif

#endif
