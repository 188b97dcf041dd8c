/* host_loss.h: one step's outputs on the host, where a target computes its loss: of this rank's parts, or of all ranks'. */
#ifndef BRIM_TRAIN_HOST_LOSS_H
#define BRIM_TRAIN_HOST_LOSS_H
#include "brim/dist.h"
#include "brim/model.h"
#include "target/target.h"

typedef struct brim_host_loss {
  brim_runtime *runtime;
  const brim_target *target;
  brim_loss_how how;     /* which loss, where the target has several */
  brim_loss_found found; /* of the step that is under way */
  int32_t width, label_width;
  uint32_t rows; /* of the step */
  float *values; /* [rows, width] by place; the others [rows, label_width], [rows, width], [rows] */
  float *labels;
  float *gradient;
  uint64_t *same;
  double *halves;   /* [rows, 2] of `same`, on their way to all ranks */
  float *part;      /* [rows, width] of a part: outputs, then their gradient. It stays until the device was waited for */
  size_t room;      /* rows that there is memory for */
  brim_batch *kept; /* [kept_room] this rank's parts of the step, of which kept_count hold rows */
  int32_t kept_count;
  size_t kept_room;
} brim_host_loss;

void brim_host_loss_init(brim_host_loss *h, brim_runtime *runtime, const brim_target *target, const brim_model *model);
void brim_host_loss_free(brim_host_loss *h);
/* Bytes for steps of so many rows, besides the parts that are kept. */
uint64_t brim_host_loss_memory(const brim_host_loss *h, uint64_t rows);

/* A step of so many rows begins. */
int brim_host_loss_begin(brim_host_loss *h, uint32_t rows, brim_error *err) BRIM_CHECK;
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
