/* cuda_case.h: check_case of ops_case.h for the emulated card, or, with BRIM_CASE_CARD, for a real one (tools/try_card): a case's
 * operations are done when they return, its memory is the card's. Near the reference, the same bits whatever the order of threads
 * and blocks, and nothing left behind. */
#ifndef BRIM_TESTS_CUDA_CASE_H
#define BRIM_TESTS_CUDA_CASE_H
#include "case_faults.h"
#include "fake_cuda.h"

static int case_failures;
static bool case_tf32; /* of the contexts that are opened */

/* On a real card nobody counts; on the emulated one something was launched, and nothing is left. */
static inline bool case_is_clean(long launches_before, bool any) {
  return getenv("BRIM_CASE_CARD") || (fake_cuda_left() == 0 && (fake_cuda_launches() > launches_before || !any));
}

static void case_sync(brim_ops_context *c, const char *doing) {
  brim_error err;
  if (brim_ops_cuda()->sync(c, &err) == BRIM_OK)
    return;
  printf("# %s: %s\n", doing, err.message);
  case_failures++;
}

#define SYNCED(name, operands, ...)                                                                                              \
  __attribute__((unused)) static void synced_##name(brim_ops_context *c, const operands *op) {                                   \
    brim_ops_cuda()->name(c, op);                                                                                                \
    case_sync(c, #name);                                                                                                         \
  }
BRIM_OPS_LIST(SYNCED)

/* What a case has on its own stack goes to the card and back. */
static const void *case_sent(const void *from, size_t size) {
  void *to = from ? case_take(size) : NULL;
  return from ? memcpy(to, from, size) : NULL;
}

static void case_returned(const void *to, const void *from, size_t size) {
  if (from) {
    memcpy((void *)(uintptr_t)to, from, size);
    case_give((void *)(uintptr_t)from);
  }
}

static void bridged_loss(brim_ops_context *c, const brim_loss *op) {
  brim_loss l = *op;
  const size_t values = (size_t)op->n * (size_t)op->outputs,
               labels = op->kind == BRIM_LOSS_CROSS_ENTROPY ? (size_t)op->n : values;
  l.logits = case_sent(op->logits, values * sizeof *l.logits);
  l.labels = case_sent(op->labels, labels * sizeof *l.labels);
  l.classes = case_sent(op->classes, labels * sizeof *l.classes);
  l.weights = case_sent(op->weights, (size_t)op->outputs * sizeof *l.weights);
  l.loss = case_take(sizeof *l.loss);
  l.dlogits = (real *)(uintptr_t)case_sent(op->dlogits, values * sizeof *l.logits);
  synced_loss(c, &l);
  case_returned(op->logits, l.logits, values * sizeof *l.logits);
  case_returned(op->labels, l.labels, labels * sizeof *l.labels);
  case_returned(op->classes, l.classes, labels * sizeof *l.classes);
  case_returned(op->weights, l.weights, (size_t)op->outputs * sizeof *l.weights);
  case_returned(op->loss, l.loss, sizeof *l.loss);
  case_returned(op->dlogits, l.dlogits, values * sizeof *l.logits);
}

static void bridged_gradient_square(brim_ops_context *c, const brim_update *op) {
  brim_update u = *op;
  u.square = case_take(sizeof *u.square);
  u.losses = case_sent(op->losses, (size_t)op->loss_count * sizeof *u.losses);
  synced_gradient_square(c, &u);
  case_returned(op->losses, u.losses, (size_t)op->loss_count * sizeof *u.losses);
  case_returned(op->square, u.square, sizeof *u.square);
}

static void bridged_adamw(brim_ops_context *c, const brim_update *op) {
  brim_update u = *op;
  u.square = (double *)(uintptr_t)case_sent(op->square, sizeof *u.square);
  synced_adamw(c, &u);
  case_give(u.square);
}

static inline record run_case(const brim_ops *ops, const brim_ops_limits *limits, case_fn fn, const void *parameters) {
  brim_ops_context c = {.tf32 = case_tf32};
  const brim_runtime_options options = {.threads = 1};
  const bool card = ops != brim_ops_ref();
  record out = {0};
  brim_error err = {0};
  if (brim_runtime_new(&options, &c.runtime, NULL))
    abort();
  if (card && brim_ops_cuda()->open(&c, &err)) {
    printf("Bail out! %s\n", err.message);
    exit(99);
  }
  case_context = card ? &c : NULL;
  c.workspace_size = card ? brim_ops_cuda()->workspace(&c, limits) : ops->workspace(&c, limits);
  c.workspace = case_take(c.workspace_size ? c.workspace_size : 1);
  memset(c.workspace, 0xff, c.workspace_size); /* NaN: nothing may be read before it is written */
  fn(ops, &c, parameters, &out);
  case_give(c.workspace);
  if (card)
    brim_ops_cuda()->close(&c);
  case_context = NULL;
  brim_runtime_free(c.runtime);
  return out;
}

#define SYNCED_ENTRY(name, ...) .name = synced_##name,

static inline brim_ops synced_ops(void) {
  brim_ops synced = {.name = "cuda", BRIM_OPS_LIST(SYNCED_ENTRY)};
  synced.loss = bridged_loss;
  synced.gradient_square = bridged_gradient_square;
  synced.adamw = bridged_adamw;
  return synced;
}

/* A test of its own, that asks for its memory and looks into it after each operation. */
typedef struct own_case {
  void (*run)(const brim_ops *ops, brim_ops_context *c, int threads);
} own_case;

static inline void run_own(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  (void)out;
  ((const own_case *)parameters)->run(ops, c, 1);
}

__attribute__((unused)) static inline void on_the_card(const brim_ops_limits *limits,
                                                       void (*run)(const brim_ops *, brim_ops_context *, int)) {
  const brim_ops synced = synced_ops();
  const own_case own = {run};
  case_failures = 0;
  record out = run_case(&synced, limits, run_own, &own);
  ok(case_failures == 0 && case_is_clean(-1, true), "%d problems, %ld left", case_failures, fake_cuda_left());
  record_free(&out);
  if (case_has_fault()) {
    run_case(&synced, limits, run_own, &own);
    case_fault_ends(case_failures > 0 || !case_is_clean(-1, true));
  }
}

static inline bool same_bits_of(const record *one, const record *other) {
  return one->count == other->count && (one->count == 0 || memcmp(one->value, other->value, one->count * sizeof(double)) == 0);
}

/* Orders of threads and blocks; under the address sanitizer, which is slow and looks at other things, one. */
#ifdef __SANITIZE_ADDRESS__
enum { CASE_ORDERS = 1 };
#else
enum { CASE_ORDERS = 2 };
#endif
static void case_order(int i) {
  fake_cuda_seed((uint64_t)i * 7919 + 1);
}

/* With a fault in the kernels: ends the process at the first sign of it. */
static inline void try_fault(const brim_ops *ops, const brim_ops_limits *limits, case_fn fn, const void *parameters,
                             const record *want, double tolerance) {
  record first = {0};
  for (int i = 0; i < CASE_ORDERS; i++) {
    const char *where = "";
    case_order(i);
    const record got = run_case(ops, limits, fn, parameters);
    if (case_failures > 0 || !case_is_clean(-1, true) || !(record_difference(&got, want, &where) <= tolerance) ||
        (i > 0 && !same_bits_of(&got, &first)))
      case_fault_ends(true);
    first = got;
  }
  case_fault_ends(false);
}

static inline void check_case(const char *name, const brim_ops_limits *limits, case_fn fn, const void *parameters,
                              double tolerance) {
  const brim_ops synced = synced_ops();
  record want = run_case(brim_ops_ref(), limits, fn, parameters), got[CASE_ORDERS];
  const long before = fake_cuda_launches();
  case_failures = 0;
  for (int i = 0; i < CASE_ORDERS; i++) {
    case_order(i);
    got[i] = run_case(&synced, limits, fn, parameters);
  }
  const char *where = "";
  const double difference = record_difference(&got[0], &want, &where);
  bool same = true;
  for (int i = 1; i < CASE_ORDERS; i++)
    same = same && same_bits_of(&got[i], &got[0]);
  ok(difference <= tolerance && same && case_failures == 0 && case_is_clean(before, got[0].count > 0),
     "%s: within %.1e of the reference (%.1e in %s), %s bits in other orders, %d problems, %ld left", name, tolerance, difference,
     where, same ? "the same" : "NOT the same", case_failures, fake_cuda_left());
  if (case_has_fault())
    try_fault(&synced, limits, fn, parameters, &want, tolerance);
  for (int i = 0; i < CASE_ORDERS; i++)
    record_free(&got[i]);
  record_free(&want);
}
#endif
