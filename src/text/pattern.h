/* pattern.h: the regular expressions that tokenizer files hold, with Oniguruma's meaning.
 *
 * Alternatives of sequences; an atom is a character, ".", a class, \s \S \d \D \w \W \p{..} \P{..}, or a plain group of
 * alternatives; quantifiers ? * + {n} {n,} {n,m} on atoms (greedy, or possessive with +); (?=..) (?!..) ; (?:..) (..) (?i:..); ^
 * $ are not known. What is not known, and a pattern that matches the empty text, is BRIM_E_UNSUPPORTED. */
#ifndef BRIM_TEXT_PATTERN_H
#define BRIM_TEXT_PATTERN_H
#include "brim/base.h"
#include "text/runes.h"

typedef struct brim_pattern brim_pattern;

/* `regex` false: the text itself is searched for. */
int brim_pattern_compile(brim_runtime *runtime, const char *text, size_t length, bool regex, brim_pattern **out,
                         brim_error *err) BRIM_CHECK;
void brim_pattern_free(brim_pattern *pattern);
/* The first match at or after `at` within runes[0..count): *from and *to; false when there is none. */
bool brim_pattern_find(const brim_pattern *pattern, const brim_rune *runes, size_t count, size_t at, size_t *from, size_t *to);
/* The text it was made from. */
bool brim_pattern_is(const brim_pattern *pattern, const char *text);

#endif
