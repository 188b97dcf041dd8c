/* unicode_tables.h: generated together with unicode_tables.c; see unicode.h for what the tables mean. */
#ifndef BRIM_TEXT_UNICODE_TABLES_H
#define BRIM_TEXT_UNICODE_TABLES_H
#include <stdint.h>

#define BRIM_UNICODE_BLOCK 128
#define BRIM_UNICODE_PAIRS 940

extern const char brim_unicode_profile[];
extern const uint16_t brim_unicode_records_block[8704];
extern const uint8_t brim_unicode_records_index[36992];
extern const uint8_t brim_unicode_lower_block[8704];
extern const uint16_t brim_unicode_lower_index[4864];
extern const uint8_t brim_unicode_canonical_block[8704];
extern const uint16_t brim_unicode_canonical_index[6912];
extern const uint8_t brim_unicode_compatible_block[8704];
extern const uint16_t brim_unicode_compatible_index[13056];
extern const uint8_t brim_unicode_combining_block[8704];
extern const uint8_t brim_unicode_combining_index[9728];
extern const uint32_t brim_unicode_record[106];
extern const uint32_t brim_unicode_sequence[13055];
extern const uint32_t brim_unicode_pair_first[940];
extern const uint32_t brim_unicode_pair_second[940];
extern const uint32_t brim_unicode_pair_composite[940];
#endif
