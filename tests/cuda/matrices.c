/* matrices.c: attention by tensor cores, in bf16 and in fp16, beside the reference in fp32 on the same numbers: lengths around
 * those of fragments and tiles, windows, padding, heads of every width, groups, first tokens, dropout; which kernels a card and a
 * shape get. */
#include "ops_case.h"

typedef struct setting {
  int n, heads, size, width;        /* width 0: ragged */
  int group, window, fp16, variant; /* 1: first tokens only, 2: dropout */
  int lengths[6];
} setting;

/* Numbers that both types of 16 bits have: multiples of 1 / 32 below 2. */
static real *plain_values(case_memory *m, inputs *in, int64_t n) {
  real *x = case_values(m, in, n, 1.5);
  for (int64_t i = 0; i < n; i++)
    x[i] = (real)(rint((double)x[i] * 32) / 32);
  return x;
}

static brim_bfloat *narrowed(case_memory *m, const real *x, int64_t n, int fp16) {
  brim_bfloat *y = case_alloc(m, (size_t)n * sizeof *y);
  for (int64_t i = 0; i < n; i++) {
    uint32_t bits;
    memcpy(&bits, &x[i], sizeof bits);
    const uint32_t half = x[i] == 0 ? 0 : (bits >> 16 & 0x8000) | ((bits >> 13 & 0x3ffff) - (112 << 10));
    y[i] = (brim_bfloat)(fp16 ? half : bits >> 16);
  }
  return y;
}

static double value_of(brim_bfloat x, int fp16) {
  const uint32_t wide = (uint32_t)x << 16;
  float y;
  memcpy(&y, &wide, sizeof y);
  if (!fp16)
    return (double)y;
  const int exponent = x >> 10 & 31, steps = x & 1023;
  const double size = exponent == 31 ? NAN : exponent ? ldexp(1024 + steps, exponent - 25) : ldexp(steps, -24);
  return x & 0x8000 ? -size : size;
}

static void emit_half(record *out, const char *name, const brim_bfloat *x, int64_t n, int fp16) {
  case_memory m = {0};
  real *wide = case_alloc(&m, (size_t)n * sizeof *wide);
  for (int64_t i = 0; i < n; i++)
    wide[i] = (real)value_of(x[i], fp16);
  emit(out, name, wide, n);
  case_free(&m);
}

static void attention(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  const setting *s = parameters;
  case_memory m = {0};
  inputs in = {41};
  const bool first_only = s->variant & 1, half = ops != brim_ops_ref();
  const brim_layout layout = case_layout(&m, s->n, s->lengths, s->width);
  const int64_t hidden = (int64_t)s->heads * s->size, shared = hidden / s->group, kv = hidden + 2 * shared,
                rows = first_only ? s->n : layout.slots, all = layout.slots * kv, few = rows * hidden;
  const uint32_t key[2] = {77, 88};
  const real *qkv = plain_values(&m, &in, all), *first_q = plain_values(&m, &in, few), *dout = plain_values(&m, &in, few);
  real *dqkv = case_fill(&m, all + few, 0.25), *context = case_fill(&m, few, 0.25), *lse = case_fill(&m, rows * s->heads, 7);
  const brim_attention a = {.layout = layout,
                            .heads = s->heads,
                            .head_size = s->size,
                            .group = s->group,
                            .window = s->window,
                            .scale = (real)(1 / sqrt(s->size)),
                            .first_only = first_only,
                            .dropout = brim_dropout_make(s->variant & 2 ? 0.1 : 0, key, 100),
                            .q = first_only ? first_q : qkv,
                            .k = qkv + hidden,
                            .v = qkv + hidden + shared,
                            .q_stride = first_only ? hidden : kv,
                            .kv_stride = kv,
                            .out = context,
                            .out_stride = hidden,
                            .lse = lse,
                            .dout = dout,
                            .dq = first_only ? dqkv + all : dqkv,
                            .dk = dqkv + hidden,
                            .dv = dqkv + hidden + shared};
  if (!half) {
    ops->attention_forward(c, &a);
    ops->attention_backward(c, &a);
    emit(out, "context", context, few);
    emit(out, "lse", lse, rows * s->heads);
    emit(out, "gradients", dqkv, all + few);
  } else {
    const brim_bfloat *both = narrowed(&m, qkv, all, s->fp16), *first = narrowed(&m, first_q, few, s->fp16);
    brim_bfloat *d = narrowed(&m, dqkv, all + few, s->fp16), *y = narrowed(&m, context, few, s->fp16);
    const brim_bf16_attention b = {.of = a,
                                   .q = first_only ? first : both,
                                   .k = both + hidden,
                                   .v = both + hidden + shared,
                                   .out = y,
                                   .dout = narrowed(&m, dout, few, s->fp16),
                                   .dq = first_only ? d + all : d,
                                   .dk = d + hidden,
                                   .dv = d + hidden + shared};
    c->fp16 = s->fp16;
    ops->bf16_attention_forward(c, &b);
    ops->bf16_attention_backward(c, &b);
    emit_half(out, "context", y, few, s->fp16);
    emit(out, "lse", lse, rows * s->heads);
    emit_half(out, "gradients", d, all + few, s->fp16);
  }
  case_free(&m);
}

static void check(setting s) {
  char name[160];
  int longest = 0;
  for (int i = 0; i < s.n; i++)
    longest = s.lengths[i] > longest ? s.lengths[i] : longest;
  snprintf(name, sizeof name, "%s, %d heads of %d, %d texts up to %d%s, window %d, groups of %d%s%s", s.fp16 ? "fp16" : "bf16",
           s.heads, s.size, s.n, longest, s.width ? ", padded" : "", s.window, s.group, s.variant & 2 ? ", dropout" : "",
           s.variant & 1 ? ", first only" : "");
  const brim_ops_limits limits = {.max_slots = 1024,
                                  .max_sequences = s.n,
                                  .max_length = longest,
                                  .hidden = s.heads * s.size,
                                  .intermediate = s.heads * s.size,
                                  .heads = s.heads,
                                  .bf16 = true};
  check_case(name, &limits, attention, &s, s.fp16 ? 8e-4 : 5e-3);
}

/* Which kernels compute is recorded, and so is that a user chose others. */
static void check_names(void) {
  static const struct {
    int capability;
    const char *told, *half;
  } cards[] = {{75, NULL, "cuda-sm75"},
               {80, NULL, "cuda-sm80-mma"},
               {120, NULL, "cuda-sm120-mma"},
               {90, "0", "cuda-sm90"},
               {90, NULL, "cuda-sm90-mma"}};
  brim_ops_context c = {0};
  brim_error err;
  if (getenv("BRIM_CASE_CARD"))
    return;
  if (brim_runtime_new(&(brim_runtime_options){.threads = 1}, &c.runtime, NULL))
    abort();
  for (size_t i = 0; i < sizeof cards / sizeof *cards; i++) {
    fake_cuda_be(cards[i].capability, 227 << 10, 1);
    if (cards[i].told)
      setenv("BRIM_CUDA_MMA", cards[i].told, 1);
    const bool open = brim_ops_cuda()->open(&c, &err) == BRIM_OK;
    unsetenv("BRIM_CUDA_MMA");
    const char *wide = open ? brim_ops_cuda()->exact_name(&c, false) : err.message,
               *half = open ? brim_ops_cuda()->exact_name(&c, true) : "";
    ok(strcmp(half, cards[i].half) == 0 && !strstr(wide, "mma"), "sm_%d, BRIM_CUDA_MMA %s: %s, in 16 bits %s",
       cards[i].capability, cards[i].told ? cards[i].told : "unset", wide, half);
    brim_ops_cuda()->close(&c);
  }
  brim_runtime_free(c.runtime);
}

/* Keys and values that stay in shared memory, and tiles that come and go, give the same bits: which it is hangs on how much of it
 * a card has. */
static void check_room(setting s) {
  const brim_ops synced = synced_ops();
  const brim_ops_limits limits = {.max_slots = 1024,
                                  .max_sequences = s.n,
                                  .max_length = s.lengths[0],
                                  .hidden = s.heads * s.size,
                                  .intermediate = s.heads * s.size,
                                  .heads = s.heads,
                                  .bf16 = true};
  record got[2];
  long copies[2];
  if (getenv("BRIM_CASE_CARD"))
    return;
  case_failures = 0;
  for (int i = 0; i < 2; i++) {
    fake_cuda_be(90, i ? 99 << 10 : 227 << 10, 1);
    copies[i] = -fake_cuda_count(FAKE_COPIES);
    got[i] = run_case(&synced, &limits, attention, &s);
    copies[i] += fake_cuda_count(FAKE_COPIES);
  }
  fake_cuda_be(90, 227 << 10, 1);
  ok(same_bits_of(&got[0], &got[1]) && copies[0] < copies[1] && case_failures == 0,
     "texts of up to %d, heads of %d: %ld copies into shared memory, %ld where it is small, and the same bits", s.lengths[0],
     s.size, copies[0], copies[1]);
  for (int i = 0; i < 2; i++)
    record_free(&got[i]);
}

int main(void) {
  static const setting settings[] = {
      {4, 2, 32, 0, 1, 0, 0, 0, {1, 15, 16, 17}}, {3, 1, 64, 0, 1, 0, 1, 2, {63, 64, 65}}, {2, 1, 64, 0, 1, 0, 0, 3, {130, 31}},
      {1, 1, 64, 0, 1, 0, 0, 2, {512}},           {3, 1, 32, 70, 1, 0, 1, 2, {1, 70, 17}}, {3, 4, 32, 0, 2, 0, 0, 2, {33, 1, 90}},
      {2, 1, 64, 0, 1, 20, 0, 2, {200, 64}},      {2, 1, 32, 150, 1, 16, 1, 0, {129, 5}},  {2, 2, 56, 0, 1, 0, 0, 2, {81, 33}},
      {2, 2, 48, 0, 2, 9, 1, 2, {129, 20}},       {2, 3, 8, 0, 1, 0, 0, 2, {40, 7}},       {2, 1, 40, 0, 1, 64, 1, 1, {140, 12}},
      {2, 1, 72, 0, 1, 0, 1, 1, {70, 3}},         {3, 1, 128, 0, 1, 0, 0, 2, {97, 32, 1}}, {2, 2, 104, 0, 2, 20, 1, 2, {130, 33}},
      {1, 1, 128, 70, 1, 0, 1, 0, {64}},          {2, 1, 24, 0, 1, 0, 0, 2, {230, 129}},   {0, 2, 32, 0, 1, 0, 0, 0, {0}},
      {2, 3, 12, 0, 1, 0, 1, 2, {40, 7}}, /* the last: the plain kernels */
  };
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
    check(settings[i]);
  check_room((setting){3, 1, 64, 0, 1, 0, 0, 2, {300, 130, 40}});
  check_room((setting){2, 1, 32, 0, 1, 0, 1, 2, {400, 190}});
  check_room((setting){2, 1, 128, 0, 1, 0, 0, 2, {128, 70}});
  check_names();
  return tap_done();
}
