/* vectors.h: models that give vectors of texts: what `brim embed` and `brim evaluate` share. */
#ifndef BRIM_CLI_VECTORS_H
#define BRIM_CLI_VECTORS_H
#include "cli.h"

/* Loads --model, and fills in what --max-length, --batch-size, --max-tokens, --precision, --dimensions and --normalize say. */
int cli_embedder_open(cli_call *cli, brim_embedder **embedder, brim_embed_options *options);
/* The text of a prompt by its name ("none": ""; NULL: *text stays as it is); `option` is what messages call it. */
int cli_pick_prompt(cli_call *cli, brim_embedder *embedder, const char *option, const char *name, const char **text);
void cli_note_cut_texts(cli_call *cli, const brim_embedder *embedder, const brim_embed_options *options,
                        const brim_embed_counts *counts);

/* brim evaluate: of retrieval and of scored pairs. */
extern const cli_option cli_retrieval_options[];
bool cli_evaluates_vectors(const cli_call *cli);
int cli_evaluate_vectors(cli_call *cli);

#endif
