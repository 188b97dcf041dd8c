/* target.h: where the loss of a model's outputs is computed.
 *
 * On the device, from logits and labels of a part: the losses of rows that have one text and a class or values. Or on the host:
 * from the outputs of a part, or from those of all texts of an optimizer step, whatever it is cut into and however many ranks
 * compute it. Then the trainer reads outputs, and backward begins with the gradient that `loss` gives (model/run/logits.h). */
#ifndef BRIM_TARGET_TARGET_H
#define BRIM_TARGET_TARGET_H
#include "brim/task.h"
#include "target/found.h"
#include "target/score_loss.h"
#include "target/vector_rows.h"
#include "task/rules.h"

typedef enum brim_loss_scope { BRIM_LOSS_ON_DEVICE = 0, BRIM_LOSS_OF_PART, BRIM_LOSS_OF_STEP } brim_loss_scope;

/* What rows have, by which a loss is chosen. */
typedef enum brim_label_range {
  BRIM_RANGE_NONE = 0,
  BRIM_RANGE_BINARY, /* 0 and 1 alone */
  BRIM_RANGE_UNIT,   /* from 0 to 1 */
  BRIM_RANGE_SIGNED, /* from -1 to 1 */
  BRIM_RANGE_ANY
} brim_label_range;
typedef struct brim_row_facts {
  int32_t least_texts, most_texts;
  uint64_t least_row; /* the first of so few, as its data counts it */
  bool possible;      /* of a stream: rows may have so few and so many, and a step looks at each */
  int32_t width;      /* of the model's outputs */
  brim_label_range labels;
  int block_count; /* as brim_dataset_blocks has them: the label's, then further ones */
  brim_block_shape shapes[BRIM_MOST_BLOCKS];
} brim_row_facts;
/* The fewest texts that a row is sure to be checked for: of a stream a step refuses rows of fewer. */
static inline int32_t brim_facts_fewest(const brim_row_facts *facts) {
  return facts->possible ? facts->most_texts : facts->least_texts;
}
/* Widens `range` by a label. */
brim_label_range brim_label_range_with(brim_label_range range, float label);

/* Which loss, once it is chosen. */
typedef struct brim_loss_how {
  brim_vector_loss vectors; /* of embeddings */
  bool normalized;          /* of vectors brought to length 1 */
  brim_score_loss scores;   /* of rerankers */
  brim_label_range labels;  /* the widest range of labels that it takes; NONE: whatever there is */
  bool ignores_labels;      /* what comes first is the positive, whatever its label */
  bool orders_labels;       /* it compares rows of which one has the larger label: of equal ones there is nothing to learn */
} brim_loss_how;

/* What a loss found besides. */
typedef struct brim_loss_found {
  uint64_t negatives; /* in-batch: documents that anchors were compared with, besides their positives */
  uint64_t left_out;  /* of them, since they say what the anchor or its positive says; not counted above */
} brim_loss_found;

/* What a loss on the host is computed from. Rows are whole, and their texts in order. Of a step, rows are in order of place, and
 * the same on every rank. */
typedef struct brim_outputs {
  int32_t rows, texts, width;
  const int32_t *firsts; /* [rows + 1] row i has the texts firsts[i] .. firsts[i + 1] - 1; NULL: row i is text i */
  const float *values;   /* [texts, width] */
  int32_t label_width;
  const float *labels; /* [rows, label_width] */
  /* Further blocks of the rows, from 1 on, which are of rows, [rows, shapes[b].width], or of texts, [texts, width]. Of a step
   * those of floats alone are there; NULL: it is not. */
  int block_count;
  const brim_block_shape *shapes;
  const void *blocks[BRIM_MOST_BLOCKS];
  const uint64_t *same; /* [texts] of a step: equal for texts with the same tokens; of a part NULL */
  const brim_loss_how *how;
  brim_loss_found *found; /* NULL: nobody asks */
} brim_outputs;

typedef struct brim_target {
  brim_loss_scope scope;
  /* Chooses the loss: *target becomes the one with its scope. BRIM_E_USAGE and BRIM_E_MISMATCH say what the rows lack. NULL:
   * there is nothing to choose. */
  int (*choose)(const brim_loss_options *options, const brim_row_facts *facts, brim_loss_how *how,
                const struct brim_target **target, brim_error *err);
  /* What the chosen loss is called; whether there is one of this name; and the metric that is the best of such rows, by which
   * checkpoints are compared: NULL is the task's own. */
  const char *(*loss_name)(const brim_loss_how *how);
  bool (*has_loss)(const char *name);
  const char *(*best)(const brim_row_facts *facts, brim_similarity own); /* NULL: it does not depend on rows */
  /* Whether outputs are what labels are, and not logits of probabilities; NULL: a model does not say. */
  bool (*gives_labels)(const brim_loss_how *how);
  /* The similarity that the chosen loss compares outputs by; NULL, or gives it: a model has none, or keeps its own. */
  const char *(*similarity)(const brim_loss_how *how);
  /* The loss, a share of the step's, and its gradient by the outputs, [texts, width], which is written: sums over rows divided by
   * `divisor`, the step's rows or the sum of their weights. Equal outputs give equal bits. NULL on the device. */
  int (*loss)(brim_runtime *runtime, const brim_outputs *outputs, double divisor, float *gradient, double *loss, brim_error *err);
  /* Bytes that it takes meanwhile, for so many rows and texts; NULL: none worth counting. */
  uint64_t (*room)(const brim_loss_how *how, uint64_t rows, uint64_t texts, int32_t width, int32_t label_width);
  /* What became of single rows (found.h). NULL: their outputs and labels say it, text by text. */
  int (*find)(const brim_scored *s, uint64_t every, brim_row_found *out, brim_error *err);
  void (*say)(const brim_row_found *found, bool own, char *label, char *predicted, size_t size);
  int (*nearest)(const brim_scored *s, uint64_t row, int most, brim_near *out); /* NULL: rows have no neighbours */
} brim_target;

/* That of a model with this task; NULL: there is no such task. */
const brim_target *brim_target_of(brim_task task);
/* For them: words of a list with commas between, the index of each among `names` (NULL ends them) into *out; '-' and '_' are the
 * same. Returns their number; -1: one of them is none, or there are more than `most`. */
int brim_words_of(const char *text, const char *const *names, int *out, int most);
/* That of rows whose texts are windows of one and whose answer is the mean of theirs (windows.c); NULL: the task has none. */
const brim_target *brim_target_of_windows(brim_task task);
/* Whether such rows may be windows: labels of words are each in one of them, as for rows of one text. */
bool brim_target_has_windows(brim_task task);
/* The mean of the first of a row's outputs [windows, width], added up in their order. */
double brim_mean_of_windows(const float *values, int32_t windows, int32_t width);

#endif
