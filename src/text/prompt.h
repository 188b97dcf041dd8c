/* prompt.h: texts that begin with a prompt. */
#ifndef BRIM_TEXT_PROMPT_H
#define BRIM_TEXT_PROMPT_H
#include "brim/text.h"

/* Tokens of a prompt alone, cut as texts are (max_length; 0: not), special ones included, less the last if that is special: what
 * sentence-transformers leaves out of the pooling where include_prompt is false. A tokenizer that joins the prompt's last space
 * with the text's first word has that word among them, as there. */
int brim_prompt_tokens(brim_runtime *runtime, const brim_tokenizer *tokenizer, const char *prompt, int32_t max_length,
                       int32_t *out, brim_error *err) BRIM_CHECK;
/* *text becomes prompt and text, in memory of *bytes that the next call overwrites. */
int brim_prompt_put(const char *prompt, brim_text *bytes, brim_string *text, brim_error *err) BRIM_CHECK;

#endif
