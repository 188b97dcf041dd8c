/* nfx.h: the four Unicode normalisation forms on runes. */
#ifndef BRIM_TEXT_NFX_H
#define BRIM_TEXT_NFX_H
#include "text/runes.h"

typedef struct brim_form {
  bool compose, compatible;
} brim_form;

/* Appends the form of in[0..count) to out. `origin`: where the text begins. `work` is scratch. Linear time. */
int brim_normalize_form(brim_form form, const brim_rune *in, size_t count, uint32_t origin, brim_runes *work, brim_runes *out,
                        brim_error *err) BRIM_CHECK;

#endif
