/* brim/task.h: what a model is trained for: what a label is, and what outputs are worth. */
#ifndef BRIM_TASK_H
#define BRIM_TASK_H
#include "brim/base.h"
#ifdef __cplusplus
extern "C" {
#endif

/* The tasks: a constant, the file of src/target that says what the task is, and its name. Numbers are written into caches:
 * append, never reorder. */
#define BRIM_EACH_TASK(X)                                                                                                        \
  X(CLASSIFICATION, classification, "classification") /* one class a row */                                                      \
  X(REGRESSION, regression, "regression")             /* a value a row, or several */                                            \
  X(MULTI_LABEL, multi_label, "multi-label")          /* any number of labels a row, none too */                                 \
  X(TOKENS, tokens, "tokens")                         /* one class a token, or none */                                           \
  X(MASKED, masked, "mlm")             /* masked words: which token of the vocabulary was there. Labels are made of the texts */ \
  X(EMBEDDING, embedding, "embedding") /* a vector of each text; a row is several texts, with a score or without */              \
  X(RERANK, rerank, "rerank")          /* a score of a query and a document */

typedef enum brim_task {
  BRIM_TASK_AUTO = 0,
#define BRIM_TASK_CONSTANT(constant, file, name) BRIM_TASK_##constant,
  BRIM_EACH_TASK(BRIM_TASK_CONSTANT)
#undef BRIM_TASK_CONSTANT
} brim_task;
enum { BRIM_NO_LABEL = -100 };                       /* of a token */
BRIM_API const char *brim_task_name(brim_task task); /* as above; "auto" of any other */
/* False for any other name. */
BRIM_API bool brim_task_parse(const char *name, brim_task *out);

/* Of what a model has outputs. */
typedef enum brim_outputs_of {
  BRIM_OUTPUTS_OF_TEXTS = 0,
  BRIM_OUTPUTS_OF_TOKENS,
  BRIM_OUTPUTS_OF_LABELLED /* tokens that have a label: the device says what became of each, and nobody reads logits */
} brim_outputs_of;

/* The shape of a task: what its rows, labels and outputs are. Whoever reads rows, takes memory or shows results asks for what it
 * needs to know of them, and never which task it is. */
typedef struct brim_shape {
  bool words;         /* texts are lists of words with a label each */
  bool several_texts; /* a row may be several texts */
  bool joins_pairs;   /* a row of two texts is one, as classifiers of pairs read it */
  bool named;         /* outputs are classes, which have names; else values */
  bool one_class;     /* a label is one class; else a number for each output */
  bool made;          /* labels are made of the texts: none are read */
  bool optional;      /* rows may lack a label */
  bool bare;          /* outputs are the encoder's vectors, as wide as it makes them: there is no head */
  bool judged;        /* outputs answer a row, so that its label can say that they are wrong */
  brim_outputs_of outputs;
  const char *counted; /* what evaluations call the labels that they count besides rows; NULL: there is one a row */
} brim_shape;
/* Of AUTO all is false. */
BRIM_API const brim_shape *brim_task_shape(brim_task task);
/* What a model of so many outputs is to learn, in words: "classification of 2 classes (good, bad)", of at most four
 * names; "" where its loss says more. Returns why, if nobody asked for it: "because the labels are lists"; NULL: it was asked
 * for. `names`: [outputs], or NULL. */
BRIM_API const char *brim_task_describe(brim_task task, int32_t outputs, const char *const *names, char *text, size_t size);

/* What two vectors are to each other: the larger the more alike. */
typedef enum brim_similarity {
  BRIM_SIMILARITY_COSINE = 0,
  BRIM_SIMILARITY_DOT,
  BRIM_SIMILARITY_EUCLIDEAN, /* -|a - b| */
  BRIM_SIMILARITY_MANHATTAN, /* -sum |a - b| */
  BRIM_SIMILARITIES
} brim_similarity;
/* What a model's outputs are, as its folder says. */
typedef struct brim_meaning {
  bool values;                /* scores are values, not logits of probabilities */
  bool unit;                  /* vectors are brought to length 1, */
  int32_t dimensions;         /* cut to their first so many numbers then; 0: to none, */
  brim_similarity similarity; /* and compared by it */
} brim_meaning;

/* What the label of a row is: one class; any number of classes; values. None of AUTO, nor of labels of tokens. */
BRIM_API bool brim_task_has_classes(brim_task task);
BRIM_API bool brim_task_has_lists(brim_task task);
BRIM_API bool brim_task_has_values(brim_task task);
BRIM_API bool brim_task_has_tokens(brim_task task); /* labels are of tokens */
/* Whether a label is one class, of a row or of a token: what such a model makes of it is a brim_outcome, and not its logits. */
BRIM_API bool brim_task_has_outcomes(brim_task task);
/* The task of classes whose names alone are known: `task` itself where it has classes, else one class a row. */
BRIM_API brim_task brim_task_of_names(brim_task task);
/* The task of a model whose folder lists modules (modules.json): vectors of texts, whatever its config.json says. */
BRIM_API brim_task brim_task_of_modules(void);
/* The first task that has a loss of this name (brim_loss_options); AUTO: none has. */
BRIM_API brim_task brim_task_of_loss(const char *name);

/* ---- blocks ----------------------------------------------------------------------------------------------- */

/* Numbers that come with rows besides their ids: a label, a teacher's vector. They are copied wherever rows go, and who copies
 * them asks for nothing but this. */
typedef enum brim_per { BRIM_PER_ROW = 0, BRIM_PER_TEXT, BRIM_PER_TOKEN } brim_per;
enum { BRIM_MOST_BLOCKS = 3, BRIM_BLOCK_NAME = 24 };
typedef struct brim_block_shape {
  char name[BRIM_BLOCK_NAME]; /* a NUL after it; "label" is the first block of all rows */
  brim_per per;               /* what has `width` numbers: a row, each of its texts, each of its tokens */
  bool integers;              /* int32, BRIM_NO_LABEL is none; else float, NaN is none */
  int32_t width;              /* 1 at least; 0 where rows are still to be read: the first of them says */
} brim_block_shape;
/* The number of the block of that name; -1: there is none. */
BRIM_API int brim_block_find(const brim_block_shape *shapes, int count, const char *name);

/* ---- outcomes and metrics --------------------------------------------------------------------------------- */

/* What a classifier made of one row or labelled token: 32 bytes each, however many classes there are. */
typedef struct brim_outcome {
  int32_t label, predicted;  /* classes; of equal logits the first is predicted */
  double loss;               /* cross entropy, -log softmax(logits)[label]; NaN where a logit is not finite */
  double score, label_score; /* probabilities of the predicted class and of the label */
} brim_outcome;

typedef struct brim_metrics {
  uint64_t rows, tokens, slots;
  double loss;                    /* mean over rows, or over labelled tokens */
  double accuracy, f1, matthews;  /* classification; f1: of class 1 for two classes, macro otherwise. NaN where undefined.
                                     Multi-label: accuracy is the share of rows with every label right */
  double f1_micro, f1_macro;      /* multi-label, a label given where its logit is above 0. micro: of all labels counted
                                     together; macro: mean over all labels. 0 where neither data nor predictions have
                                     one, as scikit-learn has it. Tokens: of classes, macro of those that occur; micro
                                     counts all of them but the one that is named O */
  double perplexity;              /* masked words: e to the loss */
  double rmse, pearson, spearman; /* regression; of several values: rmse over all, the others the mean over the outputs */
  double entity_precision, entity_recall, entity_f1; /* tokens whose classes are named O, B-X, I-X (and E-X, S-X): of whole
                                                        entities, right where kind, begin and end are, as seqeval counts them;
                                                        NaN where classes are named otherwise, or where undefined */
  /* Of embeddings. Pairs with scores: pearson and spearman, above, of their cosines, and Spearman of other similarities. Pairs of
   * 0 and 1: f1, at the threshold of the cosine that is best for it, accuracy at its own, average_precision. Rows of a positive
   * and negatives: accuracy is the share where the positive's cosine is above that of each. Pairs without a label: accuracy and
   * mrr of the positive among the positives of all rows, equal texts being one. */
  double spearman_dot, spearman_euclidean, spearman_manhattan;
  double average_precision;
  double mrr, ndcg, map; /* of rerankers: means over queries with a relevant document (one whose label is above 0): of the first
                            10 the reciprocal rank of the first that is relevant and NDCG; average precision */
  double seconds;
} brim_metrics;

typedef struct brim_class_count {
  uint64_t rows, predicted, both; /* with this label in the data, in the predictions, in both */
} brim_class_count;

/* Which loss embeddings and rerankers are trained with: docs/users/embeddings.md. NULL and 0: that loss's own, which are those of
 * sentence-transformers. */
typedef struct brim_loss_options {
  const char *name;       /* embedding: in-batch, cosent, cosine, contrastive, triplet, margin-mse, distill-kl; rerank: bce, mse,
                             in-group, list-net, margin-mse. NULL: by the rows */
  double scale;           /* of in-batch (20), cosent (20), in-group (10) */
  double margin;          /* of triplet (5), contrastive (0.5) */
  double temperature;     /* of distill-kl (1) */
  double positive_weight; /* of bce (1) */
  const char *distance;   /* of triplet (euclidean) and contrastive (cosine): cosine, euclidean, manhattan */
  const char *directions; /* of in-batch: query-to-doc and, with commas between, query-to-query, doc-to-query, doc-to-doc */
  const char *partition;  /* of in-batch: joint; per-direction: a softmax for each direction, not one of all */
  const char *similarity; /* of in-batch: cosine; dot: products of vectors as they are */
  const char *hardness;   /* of in-batch: which negatives weigh more the more alike they are: in-batch, own, all; NULL: none */
  double hardness_strength; /* 0: 9 of in-batch, 5 else */
  const char *matryoshka;   /* "384,256,128": the sum of the loss of the first so many numbers of each vector; NULL: of all */
  const char *matryoshka_weights; /* of each of them, with commas between; NULL: 1 */
} brim_loss_options;

/* Whether labels of words seem to say where entities are, by an O or by prefixes such as U-, but not in the way that the metrics
 * of entities are counted. `names` may be NULL. False of other tasks. */
BRIM_API bool brim_entities_meant(brim_task task, const char *const *names, int32_t count);
/* The metrics of a task, loss first, as fields (of which NaN is written as null). Returns their number. */
enum { BRIM_METRIC_FIELDS = 10 }; /* at most */
BRIM_API int brim_metrics_fields(brim_task task, const brim_metrics *metrics, brim_field fields[BRIM_METRIC_FIELDS]);
BRIM_API const char *brim_task_best_metric(brim_task task); /* by which checkpoints are compared; NULL of AUTO */

#ifdef __cplusplus
}
#endif
#endif
