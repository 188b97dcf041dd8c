/* embed.h: what the library's other files ask of an embedder. */
#ifndef BRIM_TRAIN_EMBED_H
#define BRIM_TRAIN_EMBED_H
#include "brim/embed.h"

brim_runtime *brim_embedder_runtime(const brim_embedder *embedder);
/* The folder's similarity_fn_name, or "cosine". */
const char *brim_embedder_similarity(brim_embedder *embedder);
/* A hash of all that decides vectors but the options: weights, modules, tokenizer. */
int brim_embedder_identity(brim_embedder *embedder, uint64_t *out, brim_error *err) BRIM_CHECK;

#endif
