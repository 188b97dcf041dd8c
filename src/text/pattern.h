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
/* Looks for the matches in runes[0..count) one after another; `at` may be moved. The steps that all of them take together are
 * bounded, so that no pattern keeps a thread: BRIM_E_UNSUPPORTED. BRIM_E_CANCELLED once the pattern's runtime was cancelled. */
typedef struct brim_pattern_search {
  const brim_pattern *pattern;
  const brim_rune *runes;
  size_t count, at; /* at: where the next match is looked for */
  size_t from, to;  /* the match */
  uint64_t steps_left;
} brim_pattern_search;
brim_pattern_search brim_pattern_start(const brim_pattern *pattern, const brim_rune *runes, size_t count);
/* *found: there was another match. */
int brim_pattern_next(brim_pattern_search *search, bool *found, brim_error *err) BRIM_CHECK;
/* The text it was made from. */
bool brim_pattern_is(const brim_pattern *pattern, const char *text);
/* Both are NULL, or made from the same text in the same way. */
bool brim_pattern_same(const brim_pattern *a, const brim_pattern *b);

#endif
