/* Rows that have led other programs' losses and metrics astray: equal texts, vectors and scores, by hand. */
#include "target/metrics.h"
#include "target/score_loss.h"
#include "target/target.h"
#include "target/vector_loss.h"

#include "tap.h"

enum { WIDTH = 2 };

static brim_runtime *runtime;

static bool all_finite(const double *values, int count) {
  for (int i = 0; i < count; i++)
    if (!isfinite(values[i]))
      return false;
  return true;
}

static double loss_of(const char *name, brim_distance distance, const brim_vector_rows *rows, double *gradient,
                      uint64_t *left_out) {
  brim_vector_loss loss;
  brim_error err = {0};
  double value = NAN;
  if (!brim_vector_loss_named(name, strlen(name), &loss))
    exit(99);
  if (loss.kind == BRIM_LOSS_TRIPLET)
    loss.distance = distance;
  void *work = malloc(brim_vector_loss_work(&loss, rows->rows, rows->firsts[rows->rows], rows->width) + 1);
  ok(brim_vector_loss_compute(runtime, &loss, rows, work, gradient, &value, left_out, &err) == BRIM_OK, "%s %s", name,
     err.message);
  free(work);
  return value;
}

/* sqrt has no derivative at 0. */
static void a_positive_that_is_its_anchor(void) {
  static const double values[] = {1, 2, 1, 2, 3, -1}, equal[] = {1, 2, 1, 2, 1, 2};
  static const int32_t firsts[] = {0, 3};
  static const char *const names[] = {"cosine", "euclidean", "manhattan"};
  for (int d = 0; d < 3; d++) {
    const brim_vector_rows row = {.rows = 1, .width = WIDTH, .firsts = firsts, .values = values},
                           same = {.rows = 1, .width = WIDTH, .firsts = firsts, .values = equal};
    double gradient[6];
    ok(isfinite(loss_of("triplet", (brim_distance)d, &row, gradient, NULL)) && all_finite(gradient, 6),
       "%s: a positive that is its anchor has a loss and a gradient", names[d]);
    ok(fabs(gradient[2]) < 1e-12 && fabs(gradient[3]) < 1e-12, "%s: which does not move the positive", names[d]);
    ok(isfinite(loss_of("triplet", (brim_distance)d, &same, gradient, NULL)) && all_finite(gradient, 6),
       "%s: nor do three equal texts break it", names[d]);
  }
}

/* -log softmax of 20 times the cosines of what is left. */
static void equal_texts_are_no_negatives(void) {
  static const double values[] = {1, 0, 0.6, 0.8, 0, 1, 0.6, 0.8, 0.8, -0.6, 1, 0};
  static const int32_t firsts[] = {0, 2, 4, 6};
  static const uint64_t same[] = {1, 2, 3, 2, 4, 5}; /* the first two rows have the same positive */
  const brim_vector_rows rows = {.rows = 3, .width = WIDTH, .firsts = firsts, .values = values, .same = same};
  double gradient[12], by_hand = 0;
  uint64_t left_out = 0;
  const double value = loss_of("in-batch", BRIM_DISTANCE_COSINE, &rows, gradient, &left_out);
  for (int r = 0; r < 3; r++) {
    double sum = 0, own = 0;
    for (int d = 0; d < 3; d++) {
      const double *a = values + 4 * r, *p = values + 4 * d + 2, score = 20 * (a[0] * p[0] + a[1] * p[1]);
      own = d == r ? score : own;
      sum += d == r || same[2 * d + 1] != same[2 * r + 1] ? exp(score) : 0;
    }
    by_hand += (log(sum) - own) / 3;
  }
  ok(fabs(value - by_hand) < 1e-12 && left_out == 2, "the loss is that without the equal texts: %.6f, %d left out", value,
     (int)left_out);
}

static void one_row_has_nothing_to_learn_from(void) {
  static const double values[] = {1, 0, 0.6, 0.8};
  static const int32_t firsts[] = {0, 2};
  double gradient[4];
  const brim_vector_rows row = {.rows = 1, .width = WIDTH, .firsts = firsts, .values = values};
  ok(loss_of("in-batch", BRIM_DISTANCE_COSINE, &row, gradient, NULL) == 0 && gradient[0] == 0 && gradient[3] == 0,
     "a row alone has a loss of 0 and no gradient");
}

/* A cosine below zero is subtracted, as one above is added. */
static void negatives_that_point_away_weigh_less(void) {
  static const double values[] = {1, 0, 0.8, 0.6, -0.6, 0.8, -1, 0};
  static const int32_t firsts[] = {0, 2, 4};
  const brim_vector_rows rows = {.rows = 2, .width = WIDTH, .firsts = firsts, .values = values};
  brim_vector_loss loss;
  brim_error err = {0};
  double gradient[8], value = NAN, by_hand = 0;
  if (!brim_vector_loss_named("in-batch", strlen("in-batch"), &loss))
    exit(99);
  loss.hardness = BRIM_HARDNESS_IN_BATCH, loss.hardness_strength = 9;
  void *work = malloc(brim_vector_loss_work(&loss, 2, 4, WIDTH) + 1);
  ok(brim_vector_loss_compute(runtime, &loss, &rows, work, gradient, &value, NULL, &err) == BRIM_OK, "hardness %s", err.message);
  free(work);
  for (int r = 0; r < 2; r++) {
    double scores[2];
    for (int d = 0; d < 2; d++) {
      const double *a = values + 4 * r, *p = values + 4 * d + 2, cosine = a[0] * p[0] + a[1] * p[1];
      scores[d] = 20 * cosine + (d == r ? 0 : 9 * cosine);
    }
    by_hand += (log(exp(scores[0]) + exp(scores[1])) - scores[r]) / 2;
  }
  ok(fabs(value - by_hand) < 1e-12, "by hand: %.12f, %.12f", value, by_hand);
}

static double list_net(int32_t groups, const int32_t *firsts, const double *scores, const double *labels, double *gradient) {
  brim_score_loss loss;
  brim_error err = {0};
  double value = NAN;
  const brim_score_rows rows = {.groups = groups, .firsts = firsts, .scores = scores, .labels = labels};
  if (!brim_score_loss_named("list-net", strlen("list-net"), &loss))
    exit(99);
  ok(brim_score_loss_compute(&loss, &rows, gradient, &value, &err) == BRIM_OK && all_finite(gradient, firsts[groups]),
     "list-net %s", err.message);
  return value;
}

/* There is no padding, which would have a share of a list. */
static void a_query_does_not_see_longer_lists(void) {
  static const double scores[] = {1, -2, 0.5, 3, -1, 2, 0}, labels[] = {1, 0, 0, 2, 0, 1, 0};
  static const int32_t both[] = {0, 2, 7}, few[] = {0, 2}, many[] = {0, 5};
  double gradient[7], alone[7];
  const double value = list_net(2, both, scores, labels, gradient), short_one = list_net(1, few, scores, labels, alone),
               long_one = list_net(1, many, scores + 2, labels + 2, alone + 2);
  double worst = 0;
  for (int i = 0; i < 7; i++)
    worst = fmax(worst, fabs(gradient[i] - alone[i] / 2));
  ok(fabs(value - (short_one + long_one) / 2) < 1e-14 && worst < 1e-15,
     "a step's loss is the mean of those of its queries alone");
}

static void large_scores_do_not_overflow(void) {
  static const double scores[] = {1000, -1000, 999}, labels[] = {0, 1, 1};
  static const int32_t firsts[] = {0, 3};
  double gradient[3];
  ok(isfinite(list_net(1, firsts, scores, labels, gradient)), "scores far beyond what exp takes have a loss");
}

/* ---- metrics ------------------------------------------------------------------------------------------------- */

static brim_metrics measured(const float *logits, const float *labels, const uint64_t *groups, uint64_t rows, bool values) {
  const brim_scored s = {.runtime = runtime,
                         .rows = rows,
                         .outputs = 1,
                         .logits = logits,
                         .labels = labels,
                         .width = 1,
                         .groups = groups,
                         .meaning.values = values};
  brim_metrics m = {.mrr = (double)NAN, .ndcg = (double)NAN, .map = (double)NAN, .accuracy = (double)NAN};
  brim_error err = {0};
  ok(brim_check_scores(&s, &err) == BRIM_OK && brim_measure_scores(&s, &m, &err) == BRIM_OK, "measured %s", err.message);
  return m;
}

/* Scores that are equal, as those of half precision often are, are no order. */
static void ties_win_nothing(void) {
  static const float equal[] = {1, 1, 1, 1}, labels[] = {0, 0, 0, 1};
  static const uint64_t one[] = {7, 7, 7, 7};
  const brim_metrics m = measured(equal, labels, one, 4, false);
  const double shared = (1 + 1 / log2(3) + 0.5 + 1 / log2(5)) / 4;
  ok(fabs(m.ndcg - shared) < 1e-12, "equal scores share their gain: nDCG %.6f", m.ndcg);
  ok(m.mrr == 0.25 && m.map == 0.25, "and the relevant document is no better than its row: MRR %.2f", m.mrr);
}

/* Labels of a teacher are any numbers: what is not relevant gains nothing, at any rank. */
static void labels_below_0_gain_nothing(void) {
  static const float scores[] = {3, 2, 1}, labels[] = {-4, 0.5F, -1}, none[] = {0, 0.5F, 0};
  static const uint64_t one[] = {7, 7, 7};
  const brim_metrics m = measured(scores, labels, one, 3, true);
  ok(fabs(m.ndcg - 1 / log2(3)) < 1e-12, "nDCG of labels below 0 is from 0 to 1: %.6f", m.ndcg);
  ok(m.ndcg == measured(scores, none, one, 3, true).ndcg && m.mrr == 0.5 && m.map == 0.5, "as if they were 0: MRR %.2f", m.mrr);
}

static void queries_with_one_document_have_no_order(void) {
  static const float scores[] = {3, -2, 1, 0}, labels[] = {1, 0, 1, 0};
  static const uint64_t apart[] = {1, 2, 3, 4}, two[] = {1, 2, 2, 4}, useless[] = {1, 2, 3, 2};
  ok(isnan(measured(scores, labels, apart, 4, false).ndcg), "one document each: no nDCG");
  ok(measured(scores, labels, two, 4, false).ndcg == 1, "one query with two: its own");
  ok(isnan(measured(scores, labels, useless, 4, false).ndcg), "a query whose two documents are both irrelevant: none either");
}

static void the_loss_is_that_of_training(void) {
  static const float scores[] = {2, -1}, labels[] = {1, 0};
  static const uint64_t one[] = {1, 1}, firsts[] = {0, 3, 6};
  const double bce = (log1p(exp(-2)) + log1p(exp(-1))) / 2;
  ok(fabs(measured(scores, labels, one, 2, false).loss - bce) < 1e-7, "of logits of probabilities the cross entropy");
  ok(fabs(measured(scores, labels, one, 2, true).loss - 1) < 1e-12, "of values the squared error");
  static const float groups[] = {3, 1, 2, 0, 0, 4}, margins[] = {2, 0, -1, -4}; /* 3 - 1, 3 - 2 and 0 - 0, 0 - 4 */
  const brim_scored s = {.runtime = runtime,
                         .rows = 2,
                         .outputs = 1,
                         .logits = groups,
                         .labels = margins,
                         .width = 2,
                         .firsts = firsts,
                         .meaning.values = true};
  brim_metrics m = {0};
  brim_error err = {0};
  ok(brim_measure_scores(&s, &m, &err) == BRIM_OK && fabs(m.loss - (0 + 1 + 1 + 0) / 4.0) < 1e-12, "of margins theirs: %g %s",
     m.loss, err.message);
}

/* A margin says how far a negative is below, not that it is relevant. */
static void margins_are_no_relevances(void) {
  static const uint64_t firsts[] = {0, 3};
  static const float scores[] = {1, 3, 2}, margins[] = {3.5F, 0.5F}, labels[] = {0, 1, 0};
  brim_scored s = {.runtime = runtime,
                   .rows = 1,
                   .outputs = 1,
                   .logits = scores,
                   .labels = margins,
                   .width = 2,
                   .firsts = firsts,
                   .meaning.values = true};
  brim_metrics m = {0};
  brim_row_found found;
  brim_error err = {0};
  ok(brim_measure_scores(&s, &m, &err) == BRIM_OK && fabs(m.mrr - 1 / 3.0) < 1e-12 && fabs(m.ndcg - 0.5) < 1e-12,
     "the positive comes third: MRR %g, nDCG %g %s", m.mrr, m.ndcg, err.message);
  ok(brim_find_scores(&s, 1, &found, &err) == BRIM_OK && found.predicted == 1 && found.rival == 3 && found.other == 1,
     "and the first negative went before it");
  s.labels = labels, s.width = 3;
  ok(brim_find_scores(&s, 1, &found, &err) == BRIM_OK && found.predicted == 3 && found.rival == 2 && found.loss == 0,
     "labels of all documents say which is right");
}

static void rows_that_cannot_be_measured_are_named(void) {
  static const uint64_t firsts[] = {0, 2, 5};
  static const float labels[] = {NAN, 1}, none[] = {NAN};
  brim_error err = {0};
  const brim_scored mixed = {.runtime = runtime, .rows = 2, .outputs = 1, .firsts = firsts, .set = "eval"},
                    scored = {.runtime = runtime,
                              .rows = 2,
                              .outputs = 1,
                              .firsts = (const uint64_t[]){0, 2, 4},
                              .labels = labels,
                              .width = 1,
                              .set = "eval"},
                    bare = {.runtime = runtime, .rows = 1, .outputs = 1, .labels = none, .width = 1, .set = "eval"};
  ok(brim_check_vectors(&mixed, &err) == BRIM_E_MISMATCH && strstr(err.message, "eval: row 1 has 3 texts"), "%s", err.message);
  ok(brim_check_vectors(&scored, &err) == BRIM_E_MISMATCH && strstr(err.message, "eval: row 0 has no label"), "%s", err.message);
  ok(brim_check_scores(&bare, &err) == BRIM_E_MISMATCH && strstr(err.message, "eval: row 0 has no label"), "%s", err.message);
}

/* Distances are turned, so that of every similarity the larger is the more alike. */
static void each_similarity_agrees_with_scores_that_rise_with_it(void) {
  enum { PAIRS = 4 };
  static const float degrees[PAIRS] = {150, 100, 50, 10}, scores[PAIRS] = {0.1F, 0.3F, 0.6F, 0.9F}, classes[PAIRS] = {0, 0, 1, 1};
  static const uint64_t firsts[] = {0, 2, 4, 6, 8};
  float vectors[2 * PAIRS * WIDTH];
  for (int i = 0; i < PAIRS; i++) {
    const double angle = (double)degrees[i] * 3.14159265358979 / 180;
    memcpy(vectors + 4 * i, (float[]){1, 0, (float)cos(angle), (float)sin(angle)}, 4 * sizeof *vectors);
  }
  brim_scored s = {
      .runtime = runtime, .rows = PAIRS, .outputs = WIDTH, .logits = vectors, .firsts = firsts, .labels = scores, .width = 1};
  brim_metrics m = {0};
  brim_error err = {0};
  ok(brim_measure_vectors(&s, &m, &err) == BRIM_OK, "measured %s", err.message);
  ok(fmin(fmin(m.spearman, m.spearman_dot), fmin(m.spearman_euclidean, m.spearman_manhattan)) > 1 - 1e-12,
     "Spearman %g, %g, %g, %g", m.spearman, m.spearman_dot, m.spearman_euclidean, m.spearman_manhattan);
  s.labels = classes;
  ok(brim_measure_vectors(&s, &m, &err) == BRIM_OK, "measured %s", err.message);
  ok(m.accuracy == 1 && m.f1 == 1 && m.average_precision == 1,
     "two classes that lie apart: accuracy %g, F1 %g, average precision %g", m.accuracy, m.f1, m.average_precision);
}

/* A norm is of the whole vector, a cut comes after it, and what is left is compared as the folder says. */
static void vectors_are_those_of_the_folder(void) {
  enum { LONG = 3 };
  static const float vectors[] = {3, 0, 4, 6, 0, 1, 3, 0, 0, 0, 2, 0, 1, 0, 9, 0, 1, 0};
  static const uint64_t firsts[] = {0, 3, 6};
  static const struct {
    brim_meaning meaning;
    double own, rival; /* of row 0 */
  } all[] = {{{.similarity = BRIM_SIMILARITY_DOT}, 22, 9},
             {{.dimensions = 2, .similarity = BRIM_SIMILARITY_DOT}, 18, 9},
             {{.unit = true, .dimensions = 2, .similarity = BRIM_SIMILARITY_DOT}, 0.6 * 6 / 6.0827625302982193, 0.6},
             {{.unit = true, .dimensions = 2}, 1, 1},
             {{.unit = true}, 22 / (5 * 6.0827625302982193), 0.6},
             {{.dimensions = 1, .similarity = BRIM_SIMILARITY_EUCLIDEAN}, -3, 0},
             {{.dimensions = 9, .similarity = BRIM_SIMILARITY_MANHATTAN}, -6, -4}};
  brim_scored s = {.runtime = runtime, .rows = 2, .outputs = LONG, .logits = vectors, .firsts = firsts};
  brim_error err = {0};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    brim_row_found found[2] = {{0}};
    brim_metrics m = {0};
    brim_near near = {0};
    s.meaning = all[i].meaning;
    ok(brim_find_vectors(&s, 1, found, &err) == BRIM_OK && fabs(found[0].predicted - all[i].own) < 1e-12 &&
           fabs(found[0].rival - all[i].rival) < 1e-12,
       "folder %d: %.9g and %.9g", (int)i, found[0].predicted, found[0].rival);
    const double right = (found[0].predicted > found[0].rival) + (found[1].predicted > found[1].rival);
    ok(brim_measure_vectors(&s, &m, &err) == BRIM_OK && fabs(m.accuracy - right / 2) < 1e-12, "whose accuracy is %g %s",
       m.accuracy, err.message);
    s.rows = 1;
    ok(brim_nearest_vectors(&s, 0, 1, &near) == 1 && fabs(near.similarity - all[i].own) < 1e-9, "and its neighbour at %.9g",
       near.similarity);
    s.rows = 2;
  }
}

/* sentence-transformers 6.2 (CrossEncoderCorrelationEvaluator) measures what predict gives. */
static void scores_correlate_as_they_are_given(void) {
  static const float logits[] = {-6, -1, 0, 2, 8}, labels[] = {0, 0.25F, 0.5F, 0.75F, 1};
  brim_scored s = {.runtime = runtime, .rows = 5, .outputs = 1, .logits = logits, .labels = labels, .width = 1};
  brim_metrics m = {0};
  brim_error err = {0};
  ok(brim_measure_scores(&s, &m, &err) == BRIM_OK && fabs(m.pearson - 0.99147503) < 1e-6 && m.spearman > 1 - 1e-12,
     "sigmoids: %.9g %s", m.pearson, err.message);
  s.meaning.values = true;
  ok(brim_measure_scores(&s, &m, &err) == BRIM_OK && fabs(m.pearson - 0.96498785) < 1e-6, "values: %.9g %s", m.pearson,
     err.message);
}

/* ---- single rows --------------------------------------------------------------------------------------------- */

/* By its row, of whose texts it may be any. */
static void damaged_outputs_are_named(void) {
  const uint64_t firsts[] = {0, 2, 4};
  float vectors[4 * WIDTH] = {0}, scores[] = {0, 1, 2, 0};
  brim_error err = {0};
  brim_metrics m;
  brim_scored s = {.runtime = runtime, .rows = 2, .outputs = WIDTH, .logits = vectors, .firsts = firsts};
  vectors[3 * WIDTH] = NAN;
  ok(brim_measure_vectors(&s, &m, &err) == BRIM_E_DIVERGED && strncmp(err.message, "row 1: ", 7) == 0, "%s", err.message);
  scores[2] = INFINITY;
  s.outputs = 1, s.logits = scores;
  ok(brim_measure_scores(&s, &m, &err) == BRIM_E_DIVERGED && strncmp(err.message, "row 1: ", 7) == 0, "%s", err.message);
}

static void rivals_are_other_texts(void) {
  static const float vectors[] = {1, 0, 0.6F, 0.8F, 1, 0, 0.6F, 0.8F, 0, 1, 1, 0};
  static const uint64_t firsts[] = {0, 2, 4, 6}, same[] = {1, 2, 1, 2, 3, 4};
  const brim_scored s = {.runtime = runtime, .rows = 3, .outputs = WIDTH, .logits = vectors, .firsts = firsts, .same = same};
  brim_row_found found[3];
  brim_near near[3];
  brim_error err = {0};
  ok(brim_find_vectors(&s, 1, found, &err) == BRIM_OK, "found %s", err.message);
  ok(found[0].other == 2 && fabs(found[0].rival - 1) < 1e-6 && fabs(found[0].loss - 0.4) < 1e-6,
     "a row's rival is no row with the same text: %.3f of row %d", found[0].rival, (int)found[0].other);
  ok(brim_nearest_vectors(&s, 2, 3, near) == 3 && near[0].row == 0 && fabs(near[0].similarity - 0.8) < 1e-6 && near[2].row == 2,
     "neighbours come nearest first, equal ones in their order");
}

int main(void) {
  if (brim_runtime_new(&(brim_runtime_options){.threads = 2}, &runtime, NULL) != BRIM_OK)
    return 1;
  a_positive_that_is_its_anchor();
  negatives_that_point_away_weigh_less();
  a_query_does_not_see_longer_lists();
  large_scores_do_not_overflow();
  each_similarity_agrees_with_scores_that_rise_with_it();
  vectors_are_those_of_the_folder();
  scores_correlate_as_they_are_given();
  equal_texts_are_no_negatives();
  one_row_has_nothing_to_learn_from();
  ties_win_nothing();
  labels_below_0_gain_nothing();
  queries_with_one_document_have_no_order();
  the_loss_is_that_of_training();
  margins_are_no_relevances();
  rows_that_cannot_be_measured_are_named();
  damaged_outputs_are_named();
  rivals_are_other_texts();
  brim_runtime_free(runtime);
  return tap_done();
}
