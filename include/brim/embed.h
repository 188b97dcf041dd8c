/* brim/embed.h: vectors of texts, from folders of sentence-transformers. */
#ifndef BRIM_EMBED_H
#define BRIM_EMBED_H
#include "brim/data.h"
#include "brim/model.h"
#include "brim/text.h"
#ifdef __cplusplus
extern "C" {
#endif

/* An encoder with what sentence-transformers puts after it: pooling, dense layers, a norm, prompts (modules.json and what it
 * names). A folder without modules.json is an encoder whose tokens are averaged, as there. For one thread at a time. */
typedef struct brim_embedder brim_embedder;
/* Loads encoder, tokenizer and modules. `options` NULL: all zero. BRIM_E_UNSUPPORTED names a module that brim lacks. */
BRIM_API int brim_embedder_load(brim_runtime *runtime, const char *folder, const brim_model_options *options, brim_embedder **out,
                                brim_error *err) BRIM_CHECK;
/* The same over a model and a tokenizer that the caller has, and keeps for as long. Each run prepares the model again, for
 * predictions. A model of embeddings has the pooling and the dense layers that it has now, whatever its folder says: after
 * training, open another. */
BRIM_API int brim_embedder_over(brim_runtime *runtime, brim_model *model, const brim_tokenizer *tokenizer, const char *folder,
                                brim_embedder **out, brim_error *err) BRIM_CHECK;
BRIM_API void brim_embedder_free(brim_embedder *embedder);
/* Appends the path of the encoder within a folder: the folder itself, or the one below that modules.json lists first. */
BRIM_API int brim_encoder_folder(brim_runtime *runtime, const char *folder, brim_text *out, brim_error *err) BRIM_CHECK;

BRIM_API brim_model *brim_embedder_model(const brim_embedder *embedder);               /* borrowed */
BRIM_API const brim_tokenizer *brim_embedder_tokenizer(const brim_embedder *embedder); /* borrowed */
BRIM_API bool brim_embedder_has_modules(const brim_embedder *embedder);                /* the folder lists them */
/* The folder is of a CrossEncoder, which scores pairs: vectors are then the mean of its encoder's tokens, as in
 * sentence-transformers. */
BRIM_API bool brim_embedder_is_of_reranker(const brim_embedder *embedder);
BRIM_API int32_t brim_embedder_width(const brim_embedder *embedder); /* numbers of a vector */
/* Of a vector as brim_embedder_run gives it where `wanted`, its option dimensions, is 0: the folder's truncate_dim, or all. */
BRIM_API int32_t brim_embedder_dimensions(const brim_embedder *embedder, int32_t wanted);
/* Tokens of a text at most: what the folder says, or else the tokenizer, where the model has positions for that many. */
BRIM_API int32_t brim_embedder_max_length(const brim_embedder *embedder);
/* What the folder has texts begin with under this name; of NULL its default. NULL: there is none. "query" and "document" are in
 * every folder, as in sentence-transformers, and empty where it does not say them. */
BRIM_API const char *brim_embedder_prompt(brim_embedder *embedder, const char *name);

/* The name that means no prompt, where a folder's default is not wanted: no prompt has it. */
#define BRIM_NO_PROMPT "none"
/* What texts begin with in training, with the names under which the run's folder keeps them, for each text of a row, and for
 * further ones the last. NULL: nothing. */
typedef struct brim_prompts {
  char *names[BRIM_MOST_PROMPTS], *texts[BRIM_MOST_PROMPTS];
  bool placed; /* private, as the next */
  brim_runtime *runtime;
} brim_prompts;
/* `first` and `others`, of the first text of each row and of all others: "NAME" of a prompt that the model's folder has, or
 * "NAME=TEXT" of another; NULL: none. BRIM_E_USAGE names the prompts that there are. */
BRIM_API int brim_prompts_find(brim_runtime *runtime, const char *folder, const char *first, const char *others,
                               brim_prompts *out, brim_error *err) BRIM_CHECK;
/* What the texts of some columns begin with instead: "COLUMN=NAME", of one that is given or the folder's, or "COLUMN=NAME=TEXT"
 * each. `columns`: those of the texts of a row, in their order. A second call, for other rows, must come to the same, or is
 * BRIM_E_MISMATCH, and leaves names and texts where they are. */
BRIM_API int brim_prompts_of_columns(brim_prompts *prompts, const char *folder, const char *const *given, int given_count,
                                     const char *const *columns, int column_count, brim_error *err) BRIM_CHECK;
/* For a model of embeddings whose rows were encoded with these texts (brim_encode_options.prompts) and cut to max_length (0:
 * not): their tokens are not pooled where the folder says so, and what is saved has the prompts among its own. */
BRIM_API int brim_prompts_use(const brim_prompts *prompts, const brim_tokenizer *tokenizer, int32_t max_length, brim_model *model,
                              brim_error *err) BRIM_CHECK;
BRIM_API void brim_prompts_free(brim_prompts *prompts);

/* All zero is a good default. */
typedef struct brim_embed_options {
  int64_t batch_size, max_tokens; /* computed at once; 0: 32 rows, no limit of tokens */
  brim_precision precision;       /* not FP16 on a processor */
  int32_t max_length;             /* tokens of a text, special ones included; 0: brim_embedder_max_length */
  int32_t dimensions;             /* the first so many numbers of each vector; 0: brim_embedder_dimensions */
  bool normalize;                 /* these brought to length 1 */
  const char *prompt;             /* each text begins with it; NULL: with nothing. Not pooled where the folder says so */
  const uint64_t *numbers;        /* [count] what errors call the texts; NULL: 0, 1, .. */
} brim_embed_options;

/* What became of texts; calls add to it. */
typedef struct brim_embed_counts {
  uint64_t texts;
  uint64_t cut;    /* texts that were cut */
  uint64_t lost;   /* tokens that this took */
  uint64_t unread; /* bytes of very long texts after these, which were not tokenized (brim_encode_options.stops) */
} brim_embed_counts;

/* vectors [count, dimensions] in the order of the texts. A text's vector does not depend on the others: in any company, and for
 * any batch_size, max_tokens and number of threads, it has the same bits. Texts are computed sorted by length. `options` NULL:
 * all zero; `counts` may be NULL. A text without any token is BRIM_E_FORMAT. */
BRIM_API int brim_embedder_run(brim_embedder *embedder, const brim_string *texts, uint64_t count,
                               const brim_embed_options *options, float *vectors, brim_embed_counts *counts,
                               brim_error *err) BRIM_CHECK;

/* ---- into a file ------------------------------------------------------------------------------------------- */

typedef enum brim_vector_form {
  BRIM_VECTORS_JSON = 0, /* {"index":0,"embedding":[..]} a line: the record's number */
  BRIM_VECTORS_NUMPY     /* float32 [texts, numbers] for numpy.load */
} brim_vector_form;

typedef struct brim_embed_file_options {
  brim_embed_options embed; /* without numbers */
  brim_vector_form form;
  bool resume; /* continues where an earlier call with the same model, options and texts was killed */
} brim_embed_file_options;

typedef struct brim_embed_file_result {
  brim_embed_counts counts; /* of all texts */
  uint64_t resumed;         /* texts whose vectors were there */
  uint64_t kept;            /* after a failure: texts whose vectors are there for a later call with `resume` */
} brim_embed_file_result;

/* The vectors of all records of a reader, in their order, a window of 8,192 texts at a time: memory does not grow with their
 * number. `output` is complete or absent; "-", pipes and devices are written through. After each window the vectors so far are
 * synced, in OUTPUT.partial, a whole file of numpy with that many rows, and what made them is noted in OUTPUT.partial.json; these
 * two stay after a failure. With `resume` the call continues with them, to the bytes of a call that was never killed: what
 * differs then is BRIM_E_MISMATCH and named (model, kernels, precision, max_length, dimensions, normalize, prompt, form, texts).
 * Without it their presence is BRIM_E_USAGE. Records with two texts are BRIM_E_USAGE. */
BRIM_API int brim_embed_file(brim_embedder *embedder, brim_reader *reader, const char *output,
                             const brim_embed_file_options *options, brim_embed_file_result *result, brim_error *err) BRIM_CHECK;

/* ---- how good vectors are ---------------------------------------------------------------------------------- */

/* What two vectors are to each other, the larger the more alike: "cosine|dot|euclidean|manhattan", distances negative. */
BRIM_API const char *brim_similarity_names(void);

enum { BRIM_MOST_CUTS = 16, BRIM_SIMILARITY_KINDS = 4 };

/* Retrieval: files as BEIR has them. corpus: JSON lines {"_id", "title"?, "text"}, a document is its title, a space and its text;
 * queries: {"_id", "text"}; relevant: tsv with the header query-id, corpus-id, score; above 0 is relevant. */
typedef struct brim_retrieval_options {
  const char *corpus, *queries, *relevant;
  brim_embed_options embed; /* without prompt and numbers */
  const char *query_prompt,
      *document_prompt;        /* texts begin with these; NULL: with the folder's of the names query and document */
  const char *similarity;      /* NULL: the folder's, or cosine */
  uint64_t at[BRIM_MOST_CUTS]; /* where rankings are cut, ending with 0; none: 1, 3, 5, 10, 100 */
} brim_retrieval_options;

/* Means over queries, of the first k documents. */
typedef struct brim_ranking_metrics {
  uint64_t k;
  double accuracy;  /* queries with a relevant document among them */
  double precision; /* relevant ones of them / k */
  double recall;    /* relevant ones of them / all that are relevant, also those that the corpus lacks */
  double ndcg;      /* sum of 1 / log2(rank + 1) of relevant ones, over the best possible */
  double mrr;       /* 1 / rank of the first relevant one */
  double map;       /* sum of the precision at each relevant one, over min(k, all that are relevant) */
} brim_ranking_metrics;

typedef struct brim_retrieval_report {
  uint64_t documents, queries; /* queries: that have a relevant document */
  uint64_t without;            /* queries without one, which are left out */
  uint64_t relevant, missing;  /* pairs of a query and a relevant document; of these such that the corpus lacks */
  const char *similarity;      /* static */
  brim_ranking_metrics at[BRIM_MOST_CUTS];
  int at_count;
  brim_embed_counts counts; /* of queries and documents */
  double seconds;
} brim_retrieval_report;

/* Looks through all documents: exact. Documents of one score are ordered by their ids, as strings. Memory holds the queries'
 * vectors, the best documents of each, and all ids; documents pass through it a window at a time. BRIM_E_FORMAT names file and
 * line: an id twice, a document or a query without one, an unknown query, no relevant document at all. */
BRIM_API int brim_evaluate_retrieval(brim_embedder *embedder, const brim_retrieval_options *options, brim_retrieval_report *out,
                                     brim_error *err) BRIM_CHECK;
/* Correlation of similarities with scores, of pairs of texts. */
typedef struct brim_similarity_report {
  uint64_t pairs;
  struct {
    const char *name;         /* static */
    double pearson, spearman; /* NaN where all scores, or all similarities, are equal */
  } of[BRIM_SIMILARITY_KINDS];
  brim_embed_counts counts; /* of texts */
  double seconds;
} brim_similarity_report;
/* Of the records of a reader, whose text and pair are compared, and whose label is the score (need_label). `options` without
 * numbers; NULL: all zero. */
BRIM_API int brim_evaluate_similarity(brim_embedder *embedder, brim_reader *reader, const brim_embed_options *options,
                                      brim_similarity_report *out, brim_error *err) BRIM_CHECK;

#ifdef __cplusplus
}
#endif
#endif
