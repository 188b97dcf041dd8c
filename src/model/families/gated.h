/* gated.h: steps that families with gated feed-forwards share. */
#ifndef BRIM_MODEL_GATED_H
#define BRIM_MODEL_GATED_H
#include "model/families/encoder.h"

/* A linear layer of w->names, with a bias or without. */
int32_t brim_declare_biased(const brim_writing *w, const char *module, int32_t out, int32_t in, bool bias);
/* Rate, and site in the layer. */
brim_drop_at brim_drop_in_layer(const brim_writing *w, double rate, uint32_t site);
/* dropout(activation(u) * g) of x, in one matrix (names->up) or two (names->gate, which is activated, and names->up). `second`:
 * in one matrix the second half is activated. */
int32_t brim_write_gate(const brim_writing *w, int32_t x, bool bias, bool second);
/* norm(x + dropout(attention(x) W)), with rotary positions and one matrix for queries, keys and values (names->query). Begins the
 * layer. */
int32_t brim_write_turned_attention(const brim_writing *w, int32_t x);
/* A layer of BERT with rotary positions in place of an embedding, one matrix for queries, keys and values (names->query), and a
 * gate.
 */
int32_t brim_write_gated_layer(const brim_writing *w, int32_t x, bool second);

#endif
