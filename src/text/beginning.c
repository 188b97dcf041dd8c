/* beginning.c: which tokenizers read a text word by word.
 *
 * At "a b" nothing before the space depends on what follows it if the pre-tokenizer splits there whatever is around it, if no
 * normalizer looks over a space (forms of Unicode, case, charsmaps and marks do not: a letter and a space never combine, and are
 * graphemes), and if no added token reaches over it. */
#include "text/beginning.h"

#include <string.h>

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

size_t brim_beginning(const char *text, size_t length, size_t wanted) {
  for (size_t at = wanted > 0 ? wanted : 1; at + 1 < length; at++) {
    const char *space = memchr(text + at, ' ', length - 1 - at);
    if (!space)
      break;
    at = (size_t)(space - text);
    if (is_letter(space[-1]) && is_letter(space[1]))
      return at;
  }
  return length;
}

/* A token that begins before such a space and ends after it. */
static bool has_space_inside(const char *text, size_t length) {
  for (size_t i = 0; text && i + 1 < length; i++)
    if (is_letter(text[i]) && text[i + 1] == ' ')
      return true;
  return false;
}

/* Of Llama 3 and EuroBERT. */
#define LLAMA3_PATTERN                                                                                                           \
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| "                                                     \
  "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

static bool splits(const brim_split_step *s) {
  if (s->kind == BRIM_SPLIT_PATTERN)
    return s->behavior == BRIM_ISOLATED && !s->invert &&
           (brim_pattern_is(s->pattern, BRIM_GPT2_PATTERN) || brim_pattern_is(s->pattern, LLAMA3_PATTERN));
  return s->kind == BRIM_SPLIT_WHITE || s->kind == BRIM_SPLIT_WORDS || (s->kind == BRIM_SPLIT_METASPACE && s->split);
}

/* Replacements may look at anything: known ones turn runs of white space into one character. */
static bool looks_over_spaces(const brim_normal_step *s) {
  return s->kind == BRIM_NORMAL_REPLACE && !brim_pattern_is(s->pattern, " {2,}") &&
         !brim_pattern_is(s->pattern, "\\s{2,}|[\\n\\r\\t]");
}

bool brim_ends_at_spaces(const brim_tokenizer *t) {
  bool found = false;
  for (size_t i = 0; i < t->added.count; i++)
    if (has_space_inside(t->added.tokens[i].content, t->added.tokens[i].length) ||
        has_space_inside(t->added.tokens[i].normalized, t->added.tokens[i].normalized_length))
      return false;
  for (size_t i = 0; i < t->normalizer.count; i++)
    if (looks_over_spaces(&t->normalizer.steps[i]) || t->normalizer.steps[i].kind == BRIM_NORMAL_BYTES)
      return false;
  for (size_t i = 0; i < t->pretokenizer.count; i++) {
    const brim_split_step *s = &t->pretokenizer.steps[i];
    found = found || splits(s);
    const bool is_unknown = s->kind == BRIM_SPLIT_PATTERN && !splits(s);
    if (is_unknown || (!found && s->kind == BRIM_SPLIT_BYTES)) /* spaces are other characters from here on */
      return false;
  }
  return found;
}
