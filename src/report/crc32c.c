#include "report/crc32c.h"

uint32_t brim_crc32c(const void *bytes, size_t length) {
  const uint8_t *at = bytes;
  uint32_t crc = 0xFFFFFFFFu;
  for (size_t i = 0; i < length; i++) {
    crc ^= at[i];
    for (int bit = 0; bit < 8; bit++)
      crc = (crc >> 1) ^ (0x82F63B78u & (0u - (crc & 1)));
  }
  return ~crc;
}
