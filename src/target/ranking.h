/* ranking.h: how good an order of documents is, for one query. Formulas: sentence-transformers 6.2
 * (InformationRetrievalEvaluator, CrossEncoderRerankingEvaluator) and what they call of scikit-learn. */
#ifndef BRIM_TARGET_RANKING_H
#define BRIM_TARGET_RANKING_H
#include "brim/task.h"

/* Of the first k documents of a ranking. */
typedef struct brim_retrieval {
  double accuracy;  /* 1: one of them is relevant */
  double precision; /* hits / k */
  double recall;    /* hits / relevant documents, those that are not in the corpus too */
  double ndcg;      /* sum over hits of 1 / log2(rank + 1), over that of min(relevant, k) hits in front */
  double mrr;       /* 1 / rank of the first hit */
  double map;       /* sum over hits of the precision at their rank, over min(relevant, k) */
} brim_retrieval;
/* hits [count]: whether the document at each rank is relevant; `relevant`, at least 1: how many are. */
brim_retrieval brim_retrieval_at(const bool *hits, uint64_t count, uint64_t relevant, uint64_t k);

/* Of documents with scores and gains (0 and less: not relevant). */
typedef struct brim_reranking {
  double mrr;  /* at k; NaN where scores are tied, which say no order */
  double ndcg; /* at k, with the gains as they are, those below 0 as 0; tied documents share the mean of theirs */
  double map;  /* average precision; tied documents are one step */
} brim_reranking;
/* order: room for [count]. No relevant document: all 0. */
brim_reranking brim_reranking_of(const double *scores, const double *gains, uint64_t count, uint64_t k, uint64_t *order);

double brim_similarity_of(brim_similarity similarity, const double *a, const double *b, int32_t width);

#endif
