/* host_loss.h: one step's outputs on the host, where a target computes its loss: of this rank's parts, or of all ranks'. */
#ifndef BRIM_TRAIN_HOST_LOSS_H
#define BRIM_TRAIN_HOST_LOSS_H
#include "brim/dist.h"
#include "brim/model.h"
#include "target/target.h"

/* Of a whole step all arrays but `part` are by place (p * K + t) while outputs come, and by text from brim_host_loss_share on: of
 * rows with fewer than K texts the places are not all there. */
typedef struct brim_host_loss {
  brim_runtime *runtime;
  const brim_target *target;
  brim_loss_how how;     /* which loss, where the target has several */
  brim_loss_found found; /* of the step that is under way */
  int32_t width, label_width;
  int block_count; /* of the rows: the label's, then further ones */
  brim_block_shape shapes[BRIM_MOST_BLOCKS];
  int32_t most_texts; /* K of the rows that are trained on; 1: each row is a text */
  uint32_t rows;      /* of the step */
  uint64_t texts;     /* of it, once they are shared */
  float *values;      /* [rows * K, width]; the others [rows, label_width], [rows * K, width], [rows * K] */
  float *labels;
  float *blocks[BRIM_MOST_BLOCKS]; /* further ones of floats: of rows [rows, width], of texts [rows * K, width] */
  float *gradient;                 /* of a part: [its texts, width] */
  uint64_t *same;
  double *halves;       /* [rows * K, 2] of `same`, on their way to all ranks */
  double *counts;       /* [rows] texts of each, likewise; these two where K is more than 1 */
  int32_t *firsts;      /* [rows + 1] */
  float *part;          /* [texts of a part, width]: outputs, then their gradient. It stays until the device was waited for */
  int32_t *part_firsts; /* [rows of a part + 1] of those whose loss is computed */
  size_t room;          /* rows that there is memory for */
  size_t part_room;     /* texts of a part */
  size_t first_room;
  brim_batch *kept; /* [kept_room] this rank's parts of the step, of which kept_count hold rows */
  int32_t kept_count;
  size_t kept_room;
} brim_host_loss;

void brim_host_loss_init(brim_host_loss *h, brim_runtime *runtime, const brim_target *target, const brim_model *model,
                         int32_t most_texts);
/* The rows have these blocks; without it the label alone. */
void brim_host_loss_expect(brim_host_loss *h, const brim_block_shape *shapes, int count);
void brim_host_loss_free(brim_host_loss *h);
/* Bytes for steps of so many rows, in at most so many parts within these limits on each rank. */
uint64_t brim_host_loss_memory(const brim_host_loss *h, uint64_t rows, uint64_t parts, const brim_model_limits *limits);

/* A step of so many rows begins. */
int brim_host_loss_begin(brim_host_loss *h, uint32_t rows, brim_error *err) BRIM_CHECK;
/* The first of the part's labels, [rows, width], that is out of the loss's range; -1: there is none. Of a stream nobody has
 * looked before. */
int32_t brim_host_loss_misfit(const brim_host_loss *h, const brim_batch *part);
/* The part stays, in separate memory: *kept is borrowed until the next step begins. */
int brim_host_loss_keep(brim_host_loss *h, const brim_batch *part, const brim_batch **kept, brim_error *err) BRIM_CHECK;
/* Takes the outputs of the model's last forward, which was of this batch; *finite: all are numbers. */
int brim_host_loss_take(brim_host_loss *h, brim_model *model, const brim_batch *part, bool *finite, brim_error *err) BRIM_CHECK;
/* Every rank gets the outputs of all. */
int brim_host_loss_share(brim_host_loss *h, const brim_group *group, brim_error *err) BRIM_CHECK;
/* The loss of the whole step. */
int brim_host_loss_of_step(brim_host_loss *h, double divisor, double *loss, brim_error *err) BRIM_CHECK;
/* The loss of the last part that was taken, its rows first .. first + count - 1. */
int brim_host_loss_of_rows(brim_host_loss *h, const brim_batch *part, int32_t first, int32_t count, double divisor, double *loss,
                           brim_error *err) BRIM_CHECK;
/* Backward of the model's last forward, which was of this batch, begins with `scale` times the gradient. */
int brim_host_loss_seed(brim_host_loss *h, brim_model *model, const brim_batch *part, double scale, brim_error *err) BRIM_CHECK;

#endif
