/* rules.h: what a task is. */
#ifndef BRIM_TASK_RULES_H
#define BRIM_TASK_RULES_H
#include "brim/task.h"
#include "task/loss.h"

/* Labels and outputs of rows, to be measured. */
typedef struct brim_scored {
  brim_runtime *runtime;
  uint64_t rows;
  int32_t outputs;
  const float *logits; /* [rows, outputs] */
  const float *labels; /* [rows, width]; NULL: there are none */
  int32_t width;
  const uint64_t *firsts; /* [rows + 1]: a row's texts, of each of which logits has outputs; NULL: one each */
  const uint64_t *same;   /* [texts] equal for equal texts; NULL: not known */
  const uint64_t *groups; /* [rows] equal for rows of one query; NULL: not known */
  const char *set;        /* as messages name it; NULL: they do not */
  bool values;            /* scores are values, not logits of probabilities */
} brim_scored;

/* Outcomes of rows, or of the labelled tokens of rows, to be measured. */
typedef struct brim_outcomes {
  brim_runtime *runtime;
  int32_t outputs;
  const brim_outcome *at;
  uint64_t count, rows;
  const uint64_t *firsts;   /* [rows + 1] where each row's begin; NULL: each row has one */
  const char *const *names; /* [outputs] of the classes; NULL: they have none */
} brim_outcomes;

typedef struct brim_task_rules {
  const char *name;    /* as options and files call it */
  const char *problem; /* config.json's problem_type; NULL: the class of the model says it */
  const char *class;   /* what follows the family in names of architectures: "ForSequenceClassification" */
  /* labels */
  bool named;        /* outputs are classes, which have names; else values */
  bool one_class;    /* a label is one number, a class; else a number for each output */
  bool tokens;       /* labels are of tokens: int32, BRIM_NO_LABEL where there is none; else floats, of rows */
  bool masks;        /* labels of tokens are made of the texts; outputs are the model's vocabulary, without names */
  bool vectors;      /* outputs are a vector of each text, as wide as the encoder; a label is one value, or there is none */
  bool scores;       /* an output is a score, by which the documents of a query are sorted */
  int32_t least;     /* outputs that a model must have */
  const char *valid; /* what a number must be, in words */
  bool (*fits)(int32_t outputs, float number);
  /* the loss. Of one class: with weights of classes it is divided by the sum of the labels' weights */
  brim_loss_kind loss;
  /* weights of classes, "balanced". NULL: there are none */
  void (*count)(const float *label, int32_t outputs, uint64_t *counts); /* adds the row's classes; NULL for labels of tokens */
  double (*balance)(double own, double rows, int32_t outputs);
  /* metrics */
  const char *metrics[BRIM_METRIC_FIELDS]; /* loss first */
  const char *best;                        /* of them, by which checkpoints are compared */
  size_t measuring;                        /* bytes a row that `measure` takes */
  int (*measure)(const brim_scored *s, brim_metrics *out, brim_error *err);
  int (*judge)(const brim_outcomes *outcomes, brim_metrics *out, brim_error *err); /* of one class; others are measured */
  int (*confuse)(const brim_scored *s, uint64_t *counts, brim_error *err);         /* NULL: there is nothing to confuse */
  /* predictions of several models are averaged as opinions: probabilities or values; `logit` is the output that gives a mean of
   * them */
  void (*opinion)(const float *logits, int32_t outputs, double *out);
  float (*logit)(float mean);
} brim_task_rules;

#endif
