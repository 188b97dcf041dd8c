/* describe.h: what decides the rows that come out of a source, as text: hashed where a saved state or a cache must fit. */
#ifndef BRIM_DATA_DESCRIBE_H
#define BRIM_DATA_DESCRIBE_H
#include "brim/data.h"

/* A string that no other pair of strings can imitate; NULL differs from "". */
void brim_describe_string(brim_text *out, const char *string);
void brim_describe_source(brim_text *out, const brim_source_options *options);
void brim_describe_encoding(brim_text *out, const brim_tokenizer *tokenizer, const brim_encode_options *options);
/* Nothing when `labels` is NULL. */
void brim_describe_labels(brim_text *out, const brim_labels *labels);

#endif
