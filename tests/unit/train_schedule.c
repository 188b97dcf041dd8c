/* The learning rate against Hugging Face's formula written out, and the judge of training options. */
#include "brim/train.h"
#include "tap.h"

/* transformers, get_linear_schedule_with_warmup: lambda of the steps done before. */
static double lambda(uint64_t done, uint64_t warmup, uint64_t total) {
  if (done < warmup)
    return (double)done / fmax(1.0, (double)warmup);
  return fmax(0.0, ((double)total - (double)done) / fmax(1.0, (double)total - (double)warmup));
}

static void schedule_matches(uint64_t warmup, uint64_t total) {
  bool same = true;
  for (uint64_t step = 1; step <= total + 2; step++) {
    double got = brim_linear_schedule(2e-5, step, warmup, total), want = 2e-5 * lambda(step - 1, warmup, total);
    same = same && fabs(got - want) <= 1e-20;
  }
  ok(same, "the schedule of %d warm-up steps and %d steps is Hugging Face's", (int)warmup, (int)total);
}

static void schedule_points(void) {
  ok_near(brim_linear_schedule(0.001, 1, 3, 12), 0.0, 0.0, "the first warm-up step moves nothing");
  ok_near(brim_linear_schedule(0.001, 2, 3, 12), 0.001 / 3, 1e-18, "the second has a third");
  ok_near(brim_linear_schedule(0.001, 4, 3, 12), 0.001, 0.0, "the first step behind the warm-up has all of it");
  ok_near(brim_linear_schedule(0.001, 12, 3, 12), 0.001 / 9, 1e-18, "the last step is not zero yet");
  ok_near(brim_linear_schedule(0.001, 13, 3, 12), 0.0, 0.0, "behind the last it is");
  ok_near(brim_linear_schedule(0.001, 1, 0, 10), 0.001, 0.0, "without warm-up the first step has all of it");
}

/* ---- options ---------------------------------------------------------------------------------------------- */

static void refused(const brim_train_options *options, const char *name) {
  brim_error err = {0};
  int status = brim_train_options_check(options, &err);
  ok(status == BRIM_E_USAGE && strstr(err.message, name) == err.message, "refused, by name: %s", err.message);
}

#define REFUSED(field, value, name)                                                                                              \
  do {                                                                                                                           \
    brim_train_options o;                                                                                                        \
    brim_train_options_init(&o);                                                                                                 \
    o.field = (value);                                                                                                           \
    refused(&o, name);                                                                                                           \
  } while (0)

static void options_defaults(void) {
  brim_train_options o;
  brim_error err;
  brim_train_options_init(&o);
  ok_int(brim_train_options_check(&o, &err), BRIM_OK, "the defaults are fine");
  ok(o.plan.batch_size == 16 && o.plan.batching == BRIM_RANDOM && o.plan.padding == BRIM_PAD_NONE, "16 random rows, ragged");
  ok(o.lr == 5e-5 && o.beta1 == 0.9 && o.beta2 == 0.999 && o.eps == 1e-8 && o.weight_decay == 0.0 && o.clip == 1.0, "AdamW's");
  ok(o.epochs == 1.0 && o.max_steps == 0 && o.warmup_steps == 0 && o.warmup_ratio == 0.0 && o.seed == 42 && o.plan.seed == 42,
     "one epoch, no warm-up, seed 42");
  o.epochs = -1.0;
  o.max_steps = 5;
  ok_int(brim_train_options_check(&o, &err), BRIM_OK, "epochs are not looked at with max_steps");
  o.lr = 0.0;
  ok_int(brim_train_options_check(&o, &err), BRIM_OK, "lr 0 trains nothing, but is a number");
}

static void options_refused(void) {
  REFUSED(lr, (double)NAN, "lr ");
  REFUSED(lr, -1e-5, "lr ");
  REFUSED(lr, HUGE_VAL, "lr ");
  REFUSED(beta1, 1.0, "beta1 ");
  REFUSED(beta2, -0.1, "beta2 ");
  REFUSED(eps, 0.0, "eps ");
  REFUSED(weight_decay, (double)NAN, "weight_decay ");
  REFUSED(clip, -1.0, "clip ");
  REFUSED(warmup_ratio, 1.5, "warmup_ratio ");
  REFUSED(keep_checkpoints, -1, "keep_checkpoints ");
  REFUSED(epochs, 0.0, "epochs ");
  REFUSED(epochs, (double)NAN, "epochs ");
  REFUSED(plan.batch_size, 0, "neither batch_size nor max_tokens");
  REFUSED(plan.batch_size, -4, "batch_size ");
  REFUSED(best_metric, "acuracy", "best_metric ");
  REFUSED(group.rank, 3, "rank ");
}

int main(void) {
  schedule_matches(0, 10);
  schedule_matches(3, 12);
  schedule_matches(7, 7);
  schedule_matches(20, 10);
  schedule_matches(1, 1000);
  schedule_points();
  options_defaults();
  options_refused();
  return tap_done();
}
