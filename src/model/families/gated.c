/* gated.c: see gated.h. */
#include "model/families/gated.h"

int32_t brim_declare_biased(const brim_writing *w, const char *module, int32_t out, int32_t in, bool bias) {
  return brim_declare_linear(w, module, out, in, bias ? 0 : BRIM_WEIGHT_BARE);
}

brim_drop_at brim_drop_in_layer(const brim_writing *w, double rate, uint32_t site) {
  return (brim_drop_at){rate, brim_site_of_layer(w->layer, site)};
}

/* Two matrices that adjoin, and then their biases. */
static int32_t declare_apart(const brim_writing *w, bool bias) {
  const brim_config *c = w->config;
  const char *const modules[] = {w->names->gate, w->names->up};
  const int flags = BRIM_WEIGHT_DECAY | (bias ? 0 : BRIM_WEIGHT_BARE);
  const int32_t first = brim_declare_named(w, modules[0], ".weight", c->intermediate, c->hidden, flags);
  brim_declare_named(w, modules[1], ".weight", c->intermediate, c->hidden, flags | BRIM_WEIGHT_ADJOINS);
  for (int i = 0; i < 2 && bias; i++)
    brim_declare_named(w, modules[i], ".bias", c->intermediate, 0, i ? BRIM_WEIGHT_ADJOINS : 0);
  return first;
}

int32_t brim_write_gate(const brim_writing *w, int32_t x, bool bias, bool second) {
  const brim_config *c = w->config;
  const bool apart = w->names->gate;
  const int32_t linear = apart ? declare_apart(w, bias)
                               : brim_declare_biased(w, w->names->up, 2 * c->intermediate, c->hidden, bias);
  return brim_append_gate(w->p, x,
                          (brim_gating){.linear = linear,
                                        .matrices = apart ? 2 : 1,
                                        .second = second,
                                        .activation = c->activation,
                                        .drop = brim_drop_in_layer(w, c->inner_dropout, BRIM_SITE_INNER)});
}

int32_t brim_write_turned_attention(const brim_writing *w, int32_t x) {
  const brim_config *c = w->config;
  const brim_family_names *names = w->names;
  const brim_heads heads = {.count = c->heads, .theta = c->theta[0], .factor = c->factor[0]};
  brim_begin_layer(w, x);
  const int32_t qkv = brim_declare_biased(w, names->query, 3 * c->hidden, c->hidden, c->attention_bias);
  const brim_projected projected = brim_append_project_heads(w->p, x, qkv, 1, brim_bias_of(w->p, qkv), heads);
  const int32_t context = brim_append_attend_heads(w->p, projected, heads,
                                                   brim_drop_in_layer(w, c->attention_dropout, BRIM_SITE_ATTENTION));
  return brim_append_join(w->p, context, x,
                          brim_declare_biased(w, names->attention_output, c->hidden, c->hidden, c->attention_bias),
                          brim_drop_in_layer(w, c->hidden_dropout, BRIM_SITE_ATTENTION_OUTPUT),
                          brim_declare_norm(w, names->attention_norm, c->hidden));
}

int32_t brim_write_gated_layer(const brim_writing *w, int32_t x, bool second) {
  const brim_config *c = w->config;
  const brim_family_names *names = w->names;
  const int32_t attended = brim_write_turned_attention(w, x);
  const int32_t gated = brim_write_gate(w, attended, false, second);
  return brim_append_join(w->p, gated, attended, brim_declare_biased(w, names->down, c->hidden, c->intermediate, c->inner_bias),
                          brim_drop_in_layer(w, c->hidden_dropout, BRIM_SITE_OUTPUT),
                          brim_declare_norm(w, names->output_norm, c->hidden));
}
