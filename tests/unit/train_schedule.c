/* The learning rate against Hugging Face's formula written out, and the judge of training options. */
#include "brim/train.h"
#include "tap.h"
#include "train/schedule.h"

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
  ok_near(brim_linear_schedule(0.001, 4, 3, 12), 0.001, 0.0, "the first step after the warm-up has all of it");
  ok_near(brim_linear_schedule(0.001, 12, 3, 12), 0.001 / 9, 1e-18, "the last step is not zero yet");
  ok_near(brim_linear_schedule(0.001, 13, 3, 12), 0.0, 0.0, "after the last it is");
  ok_near(brim_linear_schedule(0.001, 1, 0, 10), 0.001, 0.0, "without warm-up the first step has all of it");
}

/* torch 2.15 with transformers 5.23: get_last_lr() of get_linear_, get_cosine_ and get_constant_schedule_with_warmup, lr 2e-5. */
typedef struct golden_schedule {
  brim_schedule schedule;
  uint64_t warmup, total;
  double lr[10]; /* of every step */
} golden_schedule;
static const golden_schedule golden_schedules[] = {
    {BRIM_SCHEDULE_LINEAR,
     0,
     5,
     {2.0000000000000002e-05, 1.6000000000000003e-05, 1.2e-05, 8.0000000000000013e-06, 4.0000000000000007e-06}},
    {BRIM_SCHEDULE_LINEAR,
     3,
     10,
     {0, 6.6666666666666666e-06, 1.3333333333333333e-05, 2.0000000000000002e-05, 1.7142857142857142e-05, 1.4285714285714287e-05,
      1.1428571428571429e-05, 8.5714285714285709e-06, 5.7142857142857145e-06, 2.8571428571428573e-06}},
    {BRIM_SCHEDULE_COSINE,
     0,
     5,
     {2.0000000000000002e-05, 1.8090169943749477e-05, 1.3090169943749475e-05, 6.909830056250527e-06, 1.9098300562505266e-06}},
    {BRIM_SCHEDULE_COSINE,
     3,
     10,
     {0, 6.6666666666666666e-06, 1.3333333333333333e-05, 2.0000000000000002e-05, 1.9009688679024192e-05, 1.6234898018587336e-05,
      1.2225209339563144e-05, 7.7747906604368573e-06, 3.7651019814126656e-06, 9.9031132097580975e-07}},
    {BRIM_SCHEDULE_COSINE, 4, 4, {0, 5.0000000000000004e-06, 1.0000000000000001e-05, 1.5000000000000002e-05}},
    {BRIM_SCHEDULE_COSINE,
     7,
     5,
     {0, 2.8571428571428573e-06, 5.7142857142857145e-06, 8.5714285714285709e-06, 1.1428571428571429e-05}},
    {BRIM_SCHEDULE_CONSTANT,
     0,
     5,
     {2.0000000000000002e-05, 2.0000000000000002e-05, 2.0000000000000002e-05, 2.0000000000000002e-05, 2.0000000000000002e-05}},
    {BRIM_SCHEDULE_CONSTANT,
     3,
     6,
     {0, 6.6666666666666666e-06, 1.3333333333333333e-05, 2.0000000000000002e-05, 2.0000000000000002e-05, 2.0000000000000002e-05}},
};

static void schedules_golden(void) {
  for (size_t i = 0; i < sizeof golden_schedules / sizeof *golden_schedules; i++) {
    const golden_schedule *g = &golden_schedules[i];
    double worst = 0;
    for (uint64_t step = 1; step <= g->total; step++)
      worst = fmax(worst, fabs(brim_learning_rate(g->schedule, 2e-5, step, g->warmup, g->total) - g->lr[step - 1]));
    ok(worst <= 1e-20, "%s, %d of %d steps of warm-up: transformers' numbers (%.1e apart)", brim_schedule_name(g->schedule),
       (int)g->warmup, (int)g->total, worst);
  }
  ok_near(brim_learning_rate(BRIM_SCHEDULE_COSINE, 1, 11, 3, 10), 0.0, 0.0, "after the last step a cosine does not rise again");
  ok_near(brim_learning_rate(BRIM_SCHEDULE_CONSTANT, 1, 11, 3, 10), 1.0, 0.0, "a constant stays");
}

static void schedule_names(void) {
  for (int i = BRIM_SCHEDULE_LINEAR; i <= BRIM_SCHEDULE_CONSTANT; i++) {
    brim_schedule parsed = (brim_schedule)-1;
    ok(brim_schedule_parse(brim_schedule_name((brim_schedule)i), &parsed) && (int)parsed == i, "%s is read as it is written",
       brim_schedule_name((brim_schedule)i));
  }
  brim_schedule untouched = BRIM_SCHEDULE_COSINE;
  ok(!brim_schedule_parse("cosin", &untouched) && untouched == BRIM_SCHEDULE_COSINE, "a name that is none");
  ok_string(brim_schedule_name((brim_schedule)3), "unknown", "a schedule that is none");
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

/* What the optimizer does not look at is not passed over. */
static void options_idle(void) {
  REFUSED(momentum, 0.5, "momentum is 0.5, but adamw has none");
  REFUSED(decay_towards, "pretrained", "decay_towards has no effect without weight_decay");
  brim_train_options o;
  brim_error err;
  brim_train_options_init(&o);
  o.optimizer = "sgd", o.momentum = 0.5;
  ok_int(brim_train_options_check(&o, &err), BRIM_OK, "sgd has a momentum");
  o.beta2 = 0.9;
  refused(&o, "beta2 is 0.9, but sgd has none");
  o.beta2 = 0.999, o.eps = 1e-4;
  refused(&o, "eps is 0.0001, but sgd has none");
  o.optimizer = "madgrad";
  ok_int(brim_train_options_check(&o, &err), BRIM_OK, "madgrad has both");
  o.beta1 = 0.5;
  refused(&o, "beta1 is 0.5, but madgrad has none");
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
  REFUSED(schedule, (brim_schedule)3, "schedule ");
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
  schedules_golden();
  schedule_names();
  options_defaults();
  options_refused();
  options_idle();
  return tap_done();
}
