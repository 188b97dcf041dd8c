/* rules.h: what a task is: a file of src/target with one brim_task_rules, and its line in brim/task.h. */
#ifndef BRIM_TASK_RULES_H
#define BRIM_TASK_RULES_H
#include "brim/task.h"
#include "task/loss.h"

/* Labels and outputs of rows, to be measured. */
typedef struct brim_scored {
  brim_runtime *runtime;
  brim_task task;
  uint64_t rows;
  int32_t outputs;
  const float *logits; /* [rows, outputs] */
  const float *labels; /* [rows, width]; NULL: there are none */
  int32_t width;
  const uint64_t *firsts; /* [rows + 1]: a row's texts, of each of which logits has outputs; NULL: one each */
  const uint64_t *same;   /* [texts] equal for equal texts; NULL: not known */
  const uint64_t *groups; /* [rows] equal for rows of one query; NULL: not known */
  const char *set;        /* as messages name it; NULL: they do not */
  brim_meaning meaning;   /* of logits */
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

/* What a model made of one row or labelled token, as it is shown. */
typedef struct brim_answer {
  int32_t outputs;
  const char *const *names;    /* [outputs] of the classes; NULL: they have none */
  bool literal;                /* the names are numbers or booleans, as the data have them: predictions give them so */
  bool bare;                   /* a score is shown as the model gives it, else its sigmoid */
  const brim_outcome *outcome; /* where a label is one class, of data with labels */
  const float *label;          /* [outputs] where it is not */
  const float *logits;         /* [outputs] */
  double *scores;              /* [outputs] room for what `put` finds */
} brim_answer;

/* What a family puts after the encoder, in its own way and under its own names. */
typedef enum brim_head_form {
  BRIM_HEAD_OF_TEXTS = 0, /* scores of pooled texts */
  BRIM_HEAD_OF_TOKENS,    /* scores of all tokens */
  BRIM_HEAD_OF_WORDS,     /* the vocabulary, of the tokens that have a label */
  BRIM_HEAD_OF_VECTORS    /* pooled texts, and modules of the folder */
} brim_head_form;

/* What else is in a model's folder. */
typedef enum brim_folder_form {
  BRIM_FOLDER_PLAIN = 0,
  BRIM_FOLDER_OF_ENCODER,       /* sentence-transformers' modules */
  BRIM_FOLDER_OF_CROSS_ENCODER, /* its members for scores of pairs */
  BRIM_FOLDER_FORMS
} brim_folder_form;

struct brim_target; /* target/target.h */

typedef struct brim_task_rules {
  brim_shape shape;
  const char *problem; /* config.json's problem_type; NULL: the class of the model says it */
  const char *class;   /* what follows the family in names of architectures: "ForSequenceClassification" */
  brim_head_form head;
  brim_folder_form folder;
  int32_t width;     /* outputs of a head, however many labels a row has; 0: as many */
  int32_t least;     /* outputs that a model must have */
  const char *valid; /* what a number must be, in words */
  bool (*fits)(int32_t outputs, float number);
  /* the loss. Of one class: with weights of classes it is divided by the sum of the labels' weights */
  brim_loss_kind loss;              /* on the device */
  const struct brim_target *target; /* where the host computes it; NULL: the device does */
  /* weights of classes, "balanced". NULL: there are none */
  void (*count)(const float *label, int32_t outputs, uint64_t *counts); /* adds the row's classes; NULL for labels of tokens */
  double (*balance)(double own, double rows, int32_t outputs);
  /* metrics */
  const char *metrics[BRIM_METRIC_FIELDS]; /* loss first */
  const char *best;                        /* of them, by which checkpoints are compared */
  size_t measuring;                        /* bytes a row that `measure` takes, */
  size_t measuring_output;                 /* and bytes an output of it */
  /* Whether the rows of a data set can be measured, before there are outputs. NULL: where labels fit. Else `measure` gets the
   * rows' texts too. */
  int (*check)(const brim_scored *s, brim_error *err);
  /* Which metrics they then have, without outputs: a number of any size, or NaN. NULL: `measure` is cheap enough to find out. */
  int (*possible)(const brim_scored *s, brim_metrics *out, brim_error *err);
  int (*measure)(const brim_scored *s, brim_metrics *out, brim_error *err);
  int (*judge)(const brim_outcomes *outcomes, brim_metrics *out, brim_error *err); /* of one class; others are measured */
  int (*confuse)(const brim_scored *s, uint64_t *counts, brim_error *err);         /* NULL: there is nothing to confuse */
  /* predictions of several models are averaged as opinions: probabilities or values; `logit` is the output that gives a mean of
   * them */
  void (*opinion)(const float *logits, int32_t outputs, double *out);
  float (*logit)(float mean);
  /* what people read: brim_task_describe, whose names are "good, bad"; and of a row or a labelled token (brim_answer). NULL
   * where shape.judged is false */
  const char *(*describe)(int32_t outputs, const char *names, char *text, size_t size); /* NULL: the loss says more */
  double (*cost)(const brim_answer *a,
                 brim_class_count *classes); /* the loss, 0 where it is right; counts its classes [outputs] */
  void (*say)(const brim_answer *a, bool predicted, char *text, size_t size); /* the label, or what was predicted */
  void (*put)(brim_json_writer *json, const brim_answer *a);                  /* "label", and scores into a->scores [outputs] */
} brim_task_rules;

#endif
