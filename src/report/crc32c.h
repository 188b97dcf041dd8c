/* crc32c.h: the checksum of TensorBoard's files (polynomial 0x1EDC6F41, reflected). */
#ifndef BRIM_REPORT_CRC32C_H
#define BRIM_REPORT_CRC32C_H
#include <stddef.h>
#include <stdint.h>

uint32_t brim_crc32c(const void *bytes, size_t length);

#endif
