/* What brim_compare says of speeds does not depend on who else uses the machine, and it says no more than its rounds do. */
#include "study/rounds.h"

#include "train_case.h"

static const char *model_folder;

/* ---- a clock that counts what is computed ------------------------------------------------------------------- */

typedef double (*load_fn)(double step); /* how many times as long a step takes, by how many of all were made before */

static struct {
  bool fake;
  double now;
  const double *costs; /* seconds of a slot, by mode; NULL: 1 ms */
  load_fn load;
  int mode, steps, turns;
  int64_t kept, rounds;
  bool fits;
} hands;

int __real_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out) {
  if (!hands.fake)
    return __real_clock_gettime(clock, out);
  out->tv_sec = (time_t)hands.now;
  out->tv_nsec = (long)((hands.now - (double)out->tv_sec) * 1e9);
  return 0;
}

static int64_t integer_of(const brim_event *event, const char *name) {
  const brim_field *field = brim_event_field(event, name);
  return field ? field->integer : -1;
}

static int on_event(void *context, const brim_event *event) {
  (void)context;
  if (strcmp(event->kind, "rounds") == 0)
    hands.kept = integer_of(event, "memory_kept"), hands.rounds = integer_of(event, "rounds"),
    hands.fits = integer_of(event, "fits") == 1;
  if (strcmp(event->kind, "mode") == 0)
    hands.mode = (int)integer_of(event, "index"), hands.turns++;
  if (strcmp(event->kind, "step") == 0) {
    const double cost = hands.costs ? hands.costs[hands.mode] : 1e-3;
    hands.now += cost * (double)integer_of(event, "slots") * (hands.load ? hands.load(hands.steps) : 1);
    hands.steps++;
  }
  return BRIM_OK;
}

/* ---- what rounds say ---------------------------------------------------------------------------------------- */

enum { MODES = 4, STEPS = 12 };
static const brim_mode modes[MODES] = {{"fixed", BRIM_RANDOM, BRIM_PAD_MAX_LENGTH, NULL},
                                       {"dynamic", BRIM_RANDOM, BRIM_PAD_LONGEST, NULL},
                                       {"uniform", BRIM_UNIFORM, BRIM_PAD_LONGEST, NULL},
                                       {"brim", BRIM_RANDOM, BRIM_PAD_NONE, NULL}};
static const brim_mode alike[2] = {{"one", BRIM_RANDOM, BRIM_PAD_NONE, NULL}, {"other", BRIM_RANDOM, BRIM_PAD_NONE, NULL}};

static brim_train_options turns_options(void) {
  brim_train_options options = case_options(NULL);
  options.plan.max_length = 30;
  options.event = on_event;
  return options;
}

/* Seconds are those of the clock above. */
static void compare(const brim_mode *of, int count, const double *costs, load_fn load, uint64_t max_steps,
                    brim_mode_result *results) {
  case_job job = case_open(model_folder, 1);
  brim_train_options options = turns_options();
  brim_error err = {0};
  options.max_steps = max_steps;
  memset(&hands, 0, sizeof hands);
  hands.fake = true, hands.costs = costs, hands.load = load;
  const int status = brim_compare(job.runtime, job.model, job.train, NULL, &options, of, count, results, &err);
  hands.fake = false;
  if (status)
    ok(false, "a comparison: %s", err.message);
  case_close(&job);
}

/* On a machine of one's own: real tokens a slot, by those of the first mode. */
static double quiet_speed(const brim_mode_result *results, int i) {
  return ((double)results[i].tokens / (double)results[i].slots) / ((double)results[0].tokens / (double)results[0].slots);
}

static double neighbour(double step) { /* for as long as the second mode's run would take alone */
  return step >= STEPS && step < 2 * STEPS ? 5 : 1;
}
static double drift(double step) {
  return 1 + step / 16;
}
static double spike(double step) { /* one turn of one mode */
  return step == 21 ? 50 : 1;
}

static void same_speeds(load_fn load, double tolerance, const char *name) {
  brim_mode_result results[MODES];
  compare(modes, MODES, NULL, load, 0, results);
  bool near = results[0].speed == 1 && results[0].seconds > 0, follows = true, order = true;
  for (int i = 0; i < MODES; i++) {
    const brim_mode_result *r = &results[i];
    near = near && fabs(r->speed / quiet_speed(results, i) - 1) <= tolerance;
    near = near && r->speed_low <= r->speed && r->speed <= r->speed_high;
    follows = follows && fabs(r->seconds * r->tokens_per_second / (double)r->tokens - 1) < 1e-9 &&
              fabs(r->tokens_per_second / results[0].tokens_per_second / r->speed - 1) < 1e-9;
    order = order && (i == 0 || (r->speed > results[i - 1].speed && r->seconds < results[i - 1].seconds));
  }
  if (!ok(near, "%s: speeds are those of a quiet machine", name))
    for (int i = 0; i < MODES; i++)
      printf("# %s %.4f (%.4f to %.4f), want %.4f\n", modes[i].name, results[i].speed, results[i].speed_low,
             results[i].speed_high, quiet_speed(results, i));
  ok(order, "%s: no mode goes before a faster one", name);
  ok(follows, "%s: seconds and tokens a second follow from speeds", name);
}

/* Every mode has a turn a round, and a share of its steps. */
static void turns(void) {
  brim_mode_result results[MODES];
  compare(modes, MODES, NULL, NULL, 0, results);
  bool fine = hands.turns == MODES * STEPS && hands.rounds == STEPS && hands.kept > 0 && hands.fits;
  for (int i = 0; i < MODES; i++) {
    brim_mode_round sum = {0};
    fine = fine && results[i].round_count == STEPS;
    for (int k = 0; k < results[i].round_count; k++) {
      fine = fine && results[i].rounds[k].steps == 1;
      sum.tokens += results[i].rounds[k].tokens, sum.slots += results[i].rounds[k].slots;
    }
    fine = fine && sum.tokens == results[i].tokens && sum.slots == results[i].slots;
  }
  ok(fine, "twelve steps are twelve rounds, which come to the whole run");
  bool places = true;
  for (int round = 0; round < 8; round++) {
    unsigned seen = 0;
    for (int turn = 0; turn < MODES; turn++) {
      const int mode = brim_rounds_order(MODES, round, turn);
      seen |= 1u << mode;
      places = places && (round % 2 == 0 || mode == brim_rounds_order(MODES, round - 1, MODES - 1 - turn));
    }
    places = places && seen == (1u << MODES) - 1 && brim_rounds_order(MODES, round / 2 * 2, 0) == round / 2 % MODES;
  }
  ok(places, "every other round goes backwards, and each mode begins a pair of rounds");
}

/* ---- what is said of them ----------------------------------------------------------------------------------- */

static double restless(double step) {
  static const double loads[] = {1, 1.4, 0.8, 1.7, 1.1, 1, 1.6, 0.9, 1.2, 1.3, 0.7};
  return loads[(int)step % 11];
}
static double uneasy(double step) {
  static const double loads[] = {1, 1.02, 1.05, 1.01, 1.04, 1, 1.03};
  return loads[(int)step % 7];
}

/* Whether the other of two modes alike but for their costs is told as faster, with or without a range, or neither. */
static void said(const char *name, double cost, load_fn load, uint64_t steps, bool told, bool with_range) {
  const double costs[] = {1e-3, 1e-3 * cost};
  brim_mode_result results[2];
  compare(alike, 2, costs, load, steps, results);
  const brim_mode_result *r = &results[1];
  const bool apart = r->speed_low > 1 || r->speed_high<1, wide = r->speed_high - r->speed_low> fabs(r->speed - 1);
  if (!ok(apart == told && (wide == with_range || steps == 4), "%s", name))
    printf("# %.4f (%.4f to %.4f) in %d rounds\n", r->speed, r->speed_low, r->speed_high, r->round_count);
}

static void few_rounds(void) {
  brim_mode_result results[MODES];
  for (uint64_t steps = 1; steps <= 3; steps++) {
    compare(modes, MODES, NULL, NULL, steps, results);
    ok(results[3].round_count == (int)steps && isnan(results[3].speed_low) == (steps < 3) && results[3].speed > 1, "%d steps: %s",
       (int)steps, steps < 3 ? "nothing is told apart" : "three rounds do");
  }
}

/* ---- memory ------------------------------------------------------------------------------------------------- */

/* Where what waits does not fit, modes come one after another, and nothing is told of their speed. Losses are the same. */
static void no_room(void) {
  brim_mode_result all[MODES], results[MODES];
  compare(modes, MODES, NULL, NULL, 0, all);
  const int64_t kept = hands.kept;
  case_job job = case_open(model_folder, 1);
  brim_train_options options = turns_options();
  brim_error err = {0};
  ok_int(kept, MODES * 3 * brim_model_flat_size(job.model) * (int64_t)sizeof(float),
         "weights and moments of four modes are kept");
  int status = BRIM_E_USAGE;
  for (uint64_t limit = 1 << 20; status && limit < (uint64_t)1 << 34; limit += 1 << 18) { /* the first that is enough for a run */
    options.memory_limit = limit;
    status = brim_compare(job.runtime, job.model, job.train, NULL, &options, modes, MODES, results, &err);
  }
  bool fine = !status && hands.rounds == 1 && !hands.fits && hands.kept == 0;
  for (int i = 0; fine && i < MODES; i++)
    fine = results[i].round_count == 1 && isnan(results[i].speed_low) && results[i].tokens == all[i].tokens &&
           fabs(results[i].loss - all[i].loss) < 1e-4;
  ok(fine, "where they do not fit there is one round: %s", err.message);
  options.memory_limit = (uint64_t)1 << 40;
  status = brim_compare(job.runtime, job.model, job.train, NULL, &options, modes, MODES, results, &err);
  fine = !status && hands.rounds == STEPS;
  for (int i = 0; fine && i < MODES; i++)
    fine = results[i].loss == all[i].loss;
  ok(fine, "and where they do there are all");
  ok_int(brim_model_pairs(job.model), -1, "what the model was trained on is as before: it is not known");
  case_close(&job);
}

int main(void) {
  model_folder = case_model_folder("bert-pair-3");
  if (!model_folder) {
    tap_skip("rounds", "there are no golden models");
    return tap_done();
  }
  turns();
  same_speeds(NULL, 1e-9, "alone");
  same_speeds(neighbour, 0.01, "beside a neighbour for a while");
  same_speeds(drift, 0.02, "on a machine that becomes slower");
  same_speeds(spike, 0.01, "one turn that takes fifty times as long");
  said("modes that are the same are not told apart", 1, restless, 0, false, true);
  said("nor is a difference that is smaller than what rounds differ by", 0.98, restless, 0, false, true);
  said("a small difference is told where rounds agree", 0.9, uneasy, 0, true, false);
  few_rounds();
  no_room();
  return tap_done();
}
