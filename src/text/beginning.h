/* beginning.h: where a long text can be cut so that the ids of its beginning are the first ids of the whole. */
#ifndef BRIM_TEXT_BEGINNING_H
#define BRIM_TEXT_BEGINNING_H
#include "text/tokenizer.h"

/* Whether every "a b" is such a place: a single space between two ASCII letters, at which the beginning ends before the space. */
bool brim_ends_at_spaces(const brim_tokenizer *tokenizer);
/* Length of a beginning of at least `wanted` bytes that ends at such a place; the whole text's where there is none. */
size_t brim_beginning(const char *text, size_t length, size_t wanted);

#endif
