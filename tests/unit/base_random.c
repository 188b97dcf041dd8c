/* Philox against its published answers; the streams made from it. */
#include "base/random.h"
#include "tap.h"

/* kat_vectors of the Random123 distribution, lines "philox4x32 10". */
static void known_answers(void) {
  static const struct {
    uint32_t counter[4], key[2], want[4];
  } cases[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
       {0xffffffff, 0xffffffff},
       {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    uint32_t out[4];
    brim_philox4x32(cases[i].counter, cases[i].key, out);
    ok(memcmp(out, cases[i].want, sizeof out) == 0, "published answer %zu", i);
  }
}

/* The same file, lines "philox4x32 7": the rounds that dropout takes. */
static void fewer_rounds(void) {
  static const uint32_t counters[2][4] = {{0, 0, 0, 0}, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}},
                        keys[2][2] = {{0, 0}, {0xa4093822, 0x299f31d0}},
                        want[2][4] = {{0x5f6fb709, 0x0d893f64, 0x4f121f81, 0x4f730a48},
                                      {0x4dfccaba, 0x190a87f0, 0xc47362ba, 0xb6b5242a}};
  for (int i = 0; i < 2; i++) {
    uint32_t out[4];
    brim_philox_rounds(7, counters[i], keys[i], out);
    ok(memcmp(out, want[i], sizeof out) == 0, "published answer of seven rounds %d", i);
  }
}

static void streams_differ(void) {
  brim_random base = brim_random_make(42, 0, BRIM_PURPOSE_SHUFFLE);
  uint64_t first = brim_random_u64(&base, 0);
  brim_random others[] = {
      brim_random_make(43, 0, BRIM_PURPOSE_SHUFFLE), brim_random_make(42 + (UINT64_C(1) << 32), 0, BRIM_PURPOSE_SHUFFLE),
      brim_random_make(42, 1, BRIM_PURPOSE_SHUFFLE), brim_random_make(42, UINT64_C(1) << 32, BRIM_PURPOSE_SHUFFLE),
      brim_random_make(42, 0, BRIM_PURPOSE_TIES)};
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
    ok(brim_random_u64(&others[i], 0) != first, "seed, epoch and purpose all count (%zu)", i);
  ok(brim_random_u64(&base, UINT64_C(1) << 32) != first, "all 64 bits of the index count");
  ok(brim_random_u64(&base, 0) == first, "a pure function");
}

static void below_is_even(void) {
  brim_random random = brim_random_make(7, 3, BRIM_PURPOSE_SAMPLE);
  int counts[6] = {0};
  bool inside = true;
  for (uint64_t i = 0; i < 60000; i++) {
    uint64_t x = brim_random_below(&random, i, 6);
    inside = inside && x < 6;
    counts[x % 6]++;
  }
  double chi = 0;
  for (int i = 0; i < 6; i++)
    chi += (counts[i] - 10000.0) * (counts[i] - 10000.0) / 10000.0;
  ok(inside, "below the bound");
  ok(chi < 20.5, "all results are as likely (chi-square %.2f, 99.9%% limit 20.5)", chi);
  ok(brim_random_below(&random, 5, 1) == 0, "bound 1 leaves only 0");
  /* The high half of word * bound takes each multiple of 3 from two words, the others from one: rejection must even that out. */
  uint64_t bound = UINT64_C(0xC000000000000000), thirds = 0;
  for (uint64_t i = 0; i < 30000; i++)
    thirds += brim_random_below(&random, i, bound) % 3 == 0;
  ok(thirds > 9700 && thirds < 10300, "rejection keeps a huge bound even (%llu of 30000 are multiples of 3)",
     (unsigned long long)thirds);
}

static void reals(void) {
  brim_random random = brim_random_make(1, 0, BRIM_PURPOSE_INIT);
  double sum = 0, square = 0, fourth = 0, mean = 0;
  bool inside = true;
  enum { N = 200000 };
  for (uint64_t i = 0; i < N; i++) {
    double u = brim_random_unit(&random, i), z = brim_random_normal(&random, i);
    inside = inside && u >= 0 && u < 1 && isfinite(z);
    mean += u / N;
    sum += z / N;
    square += z * z / N;
    fourth += z * z * z * z / N;
  }
  ok(inside, "in [0, 1), and finite");
  ok_near(mean, 0.5, 0.003, "mean of the uniform");
  ok_near(sum, 0, 0.01, "mean of the normal");
  ok_near(square, 1, 0.02, "variance of the normal");
  ok_near(fourth, 3, 0.15, "fourth moment of the normal");
}

int main(void) {
  known_answers();
  fewer_rounds();
  streams_differ();
  below_is_even();
  reals();
  return tap_done();
}
