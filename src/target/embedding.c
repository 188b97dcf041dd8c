/* embedding.c: a vector of each text. A row is two texts with a value, or without, or an anchor, a positive and negatives: which
 * loss of vectors, and the way from a step's outputs to it and back. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "target/metrics.h"
#include "target/target.h"
#include "target/vector_loss.h"
#include "target/vectors.h"
#include "task/task.h"

/* The block that a teacher's numbers come in. */
#define TEACHER "teacher"

/* ---- which loss ---------------------------------------------------------------------------------------------- */

static const char *const directions[] = {"query-to-doc", "query-to-query", "doc-to-query", "doc-to-doc", NULL};
static const char *const hardnesses[] = {"none", "in-batch", "own", "all", NULL};
static const char *const partitions[] = {"joint", "per-direction", NULL};
static const char *const similarities[] = {"cosine", "dot", NULL};
static const char *const distances[] = {"cosine", "euclidean", "manhattan", NULL};
enum { DIRECTIONS = 4 };

/* NULL: the rows have none. */
static const brim_block_shape *teacher_of(const brim_row_facts *facts) {
  const int at = brim_block_find(facts->shapes, facts->block_count, TEACHER);
  return at > 0 ? &facts->shapes[at] : NULL;
}

/* A teacher's numbers are scores where a row has one for each document, or a margin for each negative. */
static bool are_scores(const brim_row_facts *facts, const brim_block_shape *teacher) {
  const int32_t documents = facts->most_texts - 1;
  return teacher->per == BRIM_PER_ROW && documents > 1 && facts->least_texts == facts->most_texts &&
         (teacher->width == documents || teacher->width == documents - 1);
}

static const char *loss_by_rows(const brim_row_facts *facts) {
  const brim_block_shape *teacher = teacher_of(facts);
  if (teacher)
    return are_scores(facts, teacher) ? "margin-mse" : "mse-vectors";
  if (facts->labels == BRIM_RANGE_NONE)
    return "in-batch";
  if (facts->most_texts > 2)
    return "margin-mse";
  return facts->labels == BRIM_RANGE_BINARY ? "contrastive" : "cosent";
}

static int read_numbers(const char *name, const char *text, double *numbers, int32_t *count, brim_error *err) {
  *count = 0;
  for (const char *at = text; *at;) {
    char *end;
    const double number = strtod(at, &end);
    if (end == at || !(number > 0 && number <= INT32_MAX) || (*end && *end != ',') || *count == BRIM_MOST_DIMENSIONS)
      return brim_error_set(err, BRIM_E_USAGE,
                            "%s is \"%s\": numbers with commas between are expected, such as 384,256,128, at most %d", name, text,
                            BRIM_MOST_DIMENSIONS);
    numbers[(*count)++] = number;
    at = *end ? end + 1 : end;
  }
  return BRIM_OK;
}

/* "384,256,128", and "1,0.5,0.25". */
static int read_matryoshka(const brim_loss_options *o, brim_vector_loss *loss, brim_error *err) {
  double numbers[BRIM_MOST_DIMENSIONS];
  int32_t weights = 0;
  BRIM_TRY(read_numbers("matryoshka", o->matryoshka, numbers, &loss->dimension_count, err));
  for (int32_t i = 0; i < loss->dimension_count; i++) {
    loss->dimensions[i] = (int32_t)numbers[i];
    loss->weights[i] = 1;
    if (numbers[i] != loss->dimensions[i])
      return brim_error_set(err, BRIM_E_USAGE, "matryoshka is \"%s\": whole numbers of dimensions are expected", o->matryoshka);
    for (int32_t k = 0; k < i; k++)
      if (loss->dimensions[k] == loss->dimensions[i])
        return brim_error_set(err, BRIM_E_USAGE, "matryoshka names %d twice: give another weight where it is to count more",
                              (int)loss->dimensions[i]);
  }
  if (o->matryoshka_weights)
    BRIM_TRY(read_numbers("matryoshka_weights", o->matryoshka_weights, loss->weights, &weights, err));
  return !o->matryoshka_weights || weights == loss->dimension_count
             ? BRIM_OK
             : brim_error_set(err, BRIM_E_USAGE, "matryoshka has %d numbers, and matryoshka_weights %d", loss->dimension_count,
                              weights);
}

static int read_in_batch(const brim_loss_options *o, brim_vector_loss *loss, brim_error *err) {
  int which[DIRECTIONS], count;
  if (o->directions) {
    count = brim_words_of(o->directions, directions, which, DIRECTIONS);
    loss->directions = 0;
    for (int i = 0; i < count; i++) {
      if (loss->directions & 1U << which[i])
        return brim_error_set(err, BRIM_E_USAGE, "directions name %s twice: leave out one of them", directions[which[i]]);
      loss->directions |= 1U << which[i];
    }
    if (count < 0 || !(loss->directions & BRIM_QUERY_TO_DOC))
      return brim_error_set(
          err, BRIM_E_USAGE,
          "directions are \"%s\": query-to-doc is expected, and with commas between query-to-query, doc-to-query, "
          "doc-to-doc",
          o->directions);
  }
  if (o->partition && brim_words_of(o->partition, partitions, which, 1) != 1)
    return brim_error_set(err, BRIM_E_USAGE, "partition is \"%s\": joint or per-direction are expected", o->partition);
  loss->per_direction = o->partition && which[0] == 1;
  if (o->similarity && brim_words_of(o->similarity, similarities, which, 1) != 1)
    return brim_error_set(err, BRIM_E_USAGE, "similarity is \"%s\": cosine or dot are expected", o->similarity);
  loss->dot = o->similarity && which[0] == 1;
  if (loss->dot && o->scale <= 0)
    loss->scale = 1;
  if (!o->hardness)
    return BRIM_OK;
  if (brim_words_of(o->hardness, hardnesses, which, 1) != 1)
    return brim_error_set(err, BRIM_E_USAGE, "hardness is \"%s\": none, in-batch, own or all are expected", o->hardness);
  loss->hardness = (brim_hardness)which[0];
  loss->hardness_strength = o->hardness_strength > 0 ? o->hardness_strength : loss->hardness == BRIM_HARDNESS_IN_BATCH ? 9 : 5;
  return BRIM_OK;
}

static int read_options(const brim_loss_options *o, brim_vector_loss *loss, brim_error *err) {
  int which;
  if (o->scale > 0)
    loss->scale = o->scale;
  if (o->margin > 0)
    loss->margin = o->margin;
  if (o->temperature > 0)
    loss->temperature = o->temperature;
  if (o->distance) {
    if (brim_words_of(o->distance, distances, &which, 1) != 1)
      return brim_error_set(err, BRIM_E_USAGE, "distance is \"%s\": cosine, euclidean or manhattan are expected", o->distance);
    loss->distance = (brim_distance)which;
  }
  BRIM_TRY(read_in_batch(o, loss, err));
  return o->matryoshka ? read_matryoshka(o, loss, err) : BRIM_OK;
}

/* An option that the loss does not look at would do nothing. */
static int check_options(const brim_vector_loss *loss, const brim_loss_options *o, brim_error *err) {
  const brim_vector_loss_kind k = loss->kind;
  const bool in_batch = k == BRIM_LOSS_IN_BATCH,
             apart = k == BRIM_LOSS_TRIPLET || k == BRIM_LOSS_CONTRASTIVE || k == BRIM_LOSS_ONLINE_CONTRASTIVE;
  const struct {
    const char *name;
    bool given, used;
  } all[] = {{"scale", o->scale > 0, in_batch || k == BRIM_LOSS_COSENT || k == BRIM_LOSS_ANGLE},
             {"margin", o->margin > 0, apart},
             {"distance", o->distance, apart},
             {"temperature", o->temperature > 0, k == BRIM_LOSS_DISTILL_KL},
             {"directions", o->directions, in_batch},
             {"partition", o->partition, in_batch},
             {"similarity", o->similarity, in_batch},
             {"hardness", o->hardness, in_batch},
             {"hardness_strength", o->hardness_strength > 0, in_batch && o->hardness},
             {"matryoshka_weights", o->matryoshka_weights, o->matryoshka},
             {"positive_weight", o->positive_weight > 0, false}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (all[i].given && !all[i].used)
      return brim_error_set(err, BRIM_E_USAGE, "the loss %s has no %s: leave it out", brim_vector_loss_name(k), all[i].name);
  return BRIM_OK;
}

/* Rows of embeddings have one label at most, so that a loss of several needs rows of as many texts. */
static int check_rows(const brim_vector_loss *loss, const brim_row_facts *facts, brim_error *err) {
  const char *name = brim_vector_loss_name(loss->kind);
  int32_t least, most;
  bool labelled;
  brim_vector_loss_needs(loss->kind, &least, &most, &labelled);
  const int32_t largest = facts->possible ? facts->least_texts : facts->most_texts;
  if (brim_facts_fewest(facts) < least || (most && largest > most))
    return brim_error_set(err, BRIM_E_MISMATCH, "the loss %s needs %d%s texts a row, and the rows have %d%s%.0d", name, least,
                          most ? "" : " or more", facts->least_texts, facts->most_texts > facts->least_texts ? " to " : "",
                          facts->most_texts > facts->least_texts ? facts->most_texts : 0);
  if (labelled && facts->labels == BRIM_RANGE_NONE && loss->teacher_width == 0)
    return brim_error_set(err, BRIM_E_MISMATCH, "the loss %s needs a label of each row: a column score or label", name);
  if (loss->hardness == BRIM_HARDNESS_OWN && facts->most_texts == 2)
    return brim_error_set(
        err, BRIM_E_MISMATCH,
        "hardness is \"own\", which weighs a row's own negatives, and no row has any: use in-batch, or leave it out");
  if (loss->kind == BRIM_LOSS_CONTRASTIVE && facts->labels > BRIM_RANGE_UNIT)
    return brim_error_set(err, BRIM_E_MISMATCH,
                          "the loss contrastive needs labels from 0 (unlike) to 1 (alike): use cosent for others");
  if (loss->kind == BRIM_LOSS_ANGLE && facts->most_texts == 2 && facts->labels == BRIM_RANGE_NONE)
    return brim_error_set(err, BRIM_E_MISMATCH,
                          "the loss angle needs a label of each pair: a column score or label; or rows of three texts");
  if (loss->kind == BRIM_LOSS_ONLINE_CONTRASTIVE && facts->labels > BRIM_RANGE_BINARY)
    return brim_error_set(err, BRIM_E_MISMATCH, "the loss online-contrastive needs labels 0 (unlike) and 1 (alike)");
  if (loss->kind == BRIM_LOSS_COSINE && facts->labels == BRIM_RANGE_ANY)
    return brim_error_set(err, BRIM_E_MISMATCH,
                          "the loss cosine needs labels from -1 to 1, which cosines can have: divide them, or use cosent");
  return BRIM_OK;
}

/* Which losses look at a teacher's numbers, and what these have to be. */
static int take_teacher(brim_vector_loss *loss, const brim_row_facts *facts, brim_error *err) {
  const brim_block_shape *teacher = teacher_of(facts);
  const char *name = brim_vector_loss_name(loss->kind);
  const bool vectors = loss->kind == BRIM_LOSS_MSE_VECTORS,
             scores = loss->kind == BRIM_LOSS_MARGIN_MSE || loss->kind == BRIM_LOSS_DISTILL_KL;
  if (!teacher)
    return vectors ? brim_error_set(err, BRIM_E_MISMATCH,
                                    "the loss mse-vectors needs vectors of a teacher: teacher_column names the column that has a "
                                    "list of numbers in each row")
                   : BRIM_OK;
  if (teacher->integers || teacher->per == BRIM_PER_TOKEN || (!vectors && !scores))
    return brim_error_set(
        err, BRIM_E_USAGE,
        "the loss %s looks at no numbers of a teacher: leave out teacher_column, or use mse-vectors, margin-mse or "
        "distill-kl",
        name);
  if (vectors && teacher->width > facts->width)
    return brim_error_set(err, BRIM_E_MISMATCH,
                          "the teacher's vectors have %d numbers, and the model's %d: a teacher may have fewer, not more",
                          teacher->width, facts->width);
  if (scores && !are_scores(facts, teacher))
    return brim_error_set(
        err, BRIM_E_MISMATCH,
        "the loss %s needs a number of the teacher for each document of a row, and the rows have %d of them, and "
        "%d to %d texts",
        name, teacher->width, facts->least_texts, facts->most_texts);
  loss->teacher_width = teacher->width;
  loss->teacher_of_texts = teacher->per == BRIM_PER_TEXT;
  return BRIM_OK;
}

static const brim_target of_step, of_part;

static int choose(const brim_loss_options *options, const brim_row_facts *facts, brim_loss_how *how, const brim_target **target,
                  brim_error *err) {
  const char *name = options->name ? options->name : loss_by_rows(facts);
  if (facts->least_texts < 2 && !teacher_of(facts))
    return brim_error_set(
        err, BRIM_E_MISMATCH,
        "embeddings are trained with rows of two or more texts, and these have one: a teacher's vectors would do "
        "(teacher_column)");
  if (!brim_vector_loss_named(name, strlen(name), &how->vectors))
    return brim_error_set(
        err, BRIM_E_USAGE,
        "loss is \"%s\": embeddings have in-batch, cosent, angle, cosine, contrastive, online-contrastive, triplet, margin-mse, "
        "distill-kl and mse-vectors",
        name);
  BRIM_TRY(check_options(&how->vectors, options, err));
  BRIM_TRY(read_options(options, &how->vectors, err));
  for (int32_t i = 0; i < how->vectors.dimension_count; i++)
    if (how->vectors.dimensions[i] > facts->width)
      return brim_error_set(err, BRIM_E_USAGE, "matryoshka is \"%s\", but vectors have %d numbers", options->matryoshka,
                            facts->width);
  BRIM_TRY(take_teacher(&how->vectors, facts, err));
  BRIM_TRY(check_rows(&how->vectors, facts, err));
  const brim_vector_loss_kind kind = how->vectors.kind;
  const bool compares = kind == BRIM_LOSS_IN_BATCH || kind == BRIM_LOSS_COSENT || kind == BRIM_LOSS_ANGLE ||
                        kind == BRIM_LOSS_ONLINE_CONTRASTIVE;
  how->labels = kind == BRIM_LOSS_ONLINE_CONTRASTIVE ? BRIM_RANGE_BINARY
                : kind == BRIM_LOSS_CONTRASTIVE      ? BRIM_RANGE_UNIT
                : kind == BRIM_LOSS_COSINE           ? BRIM_RANGE_SIGNED
                                                     : BRIM_RANGE_NONE;
  how->ignores_labels = kind == BRIM_LOSS_IN_BATCH || kind == BRIM_LOSS_TRIPLET;
  how->orders_labels = kind == BRIM_LOSS_COSENT || kind == BRIM_LOSS_ANGLE;
  *target = compares ? &of_step : &of_part;
  return BRIM_OK;
}

/* ---- the loss ------------------------------------------------------------------------------------------------ */

typedef struct job {
  double *values, *gradient, *lengths, *labels, *teacher;
  int32_t *firsts;
  void *work;
} job;

/* Numbers of the teacher that so many rows and texts have. */
static uint64_t teacher_numbers(const brim_vector_loss *loss, uint64_t rows, uint64_t texts) {
  return (loss->teacher_of_texts ? texts : rows) * (uint64_t)loss->teacher_width;
}

static int take_memory(brim_runtime *runtime, const brim_outputs *o, int32_t texts, job *j, brim_error *err) {
  const size_t n = (size_t)texts, rows = (size_t)o->rows;
  j->teacher = brim_alloc_array(runtime, (size_t)teacher_numbers(&o->how->vectors, rows, n), sizeof *j->teacher);
  j->values = brim_alloc_array(runtime, n, (size_t)o->width * sizeof *j->values);
  j->gradient = brim_alloc_array(runtime, n, (size_t)o->width * sizeof *j->gradient);
  j->lengths = brim_alloc_array(runtime, n, sizeof *j->lengths);
  j->labels = brim_alloc_array(runtime, rows, ((size_t)o->label_width + 1) * sizeof *j->labels);
  j->firsts = brim_alloc_array(runtime, rows + 1, sizeof *j->firsts);
  j->work = brim_alloc(runtime, brim_vector_loss_work(&o->how->vectors, o->rows, texts, o->width));
  return j->values && j->gradient && j->lengths && j->labels && j->teacher && j->firsts && j->work ? BRIM_OK : BRIM_NOMEM(err);
}

static void give_back(brim_runtime *runtime, job *j) {
  void *const blocks[] = {j->values, j->gradient, j->lengths, j->labels, j->teacher, j->firsts, j->work};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
    brim_release(runtime, blocks[i]);
}

/* Vectors as the loss sees them: after the folder's modules. */
static void read_vectors(const brim_outputs *o, int32_t texts, job *j) {
  for (int64_t i = 0; i < (int64_t)texts * o->width; i++)
    j->values[i] = (double)o->values[i];
  for (int32_t t = 0; t < texts && o->how->normalized; t++) {
    double *x = j->values + (int64_t)t * o->width;
    j->lengths[t] = brim_make_unit(x, o->width, BRIM_NORM_EPS, x);
  }
  for (int64_t i = 0; i < (int64_t)o->rows * o->label_width; i++)
    j->labels[i] = (double)o->labels[i];
}

/* NULL: the loss looks at none. */
static const double *read_teacher(const brim_outputs *o, int32_t texts, job *j) {
  const brim_vector_loss *loss = &o->how->vectors;
  const int at = loss->teacher_width > 0 ? brim_block_find(o->shapes, o->block_count, TEACHER) : -1;
  const float *from = at > 0 ? o->blocks[at] : NULL;
  const uint64_t count = from ? teacher_numbers(loss, (uint64_t)o->rows, (uint64_t)texts) : 0;
  for (uint64_t i = 0; i < count; i++)
    j->teacher[i] = (double)from[i];
  return from ? j->teacher : NULL;
}

static void write_gradient(const brim_outputs *o, int32_t texts, job *j, double factor, float *gradient) {
  for (int32_t t = 0; t < texts; t++) {
    double *by = j->gradient + (int64_t)t * o->width;
    if (o->how->normalized)
      brim_unit_gradient(j->values + (int64_t)t * o->width, j->lengths[t], BRIM_NORM_EPS, by, o->width, by);
    for (int32_t k = 0; k < o->width; k++)
      gradient[(int64_t)t * o->width + k] = (float)(by[k] * factor);
  }
}

static int compute(brim_runtime *runtime, const brim_outputs *o, double divisor, job *j, float *gradient, double *loss,
                   brim_error *err) {
  const int32_t texts = o->texts;
  const double factor = o->rows / divisor;
  uint64_t left_out = 0;
  BRIM_TRY(take_memory(runtime, o, texts, j, err));
  read_vectors(o, texts, j);
  for (int32_t r = 0; r <= o->rows; r++)
    j->firsts[r] = o->firsts ? o->firsts[r] : r;
  const brim_vector_loss *how = &o->how->vectors;
  brim_vector_rows rows = {.rows = o->rows,
                           .width = o->width,
                           .firsts = j->firsts,
                           .values = j->values,
                           .labels = o->label_width > 0 ? j->labels : NULL,
                           .label_width = o->label_width,
                           .same = o->same,
                           .teacher = read_teacher(o, texts, j),
                           .teacher_width = how->teacher_width,
                           .teacher_of_texts = how->teacher_of_texts};
  if (rows.teacher && how->kind != BRIM_LOSS_MSE_VECTORS) /* scores: several labels */
    rows.labels = rows.teacher, rows.label_width = rows.teacher_width;
  BRIM_TRY(brim_vector_loss_compute(runtime, &o->how->vectors, &rows, j->work, j->gradient, loss, &left_out, err));
  *loss *= factor;
  write_gradient(o, texts, j, factor, gradient);
  if (o->found && o->how->vectors.kind == BRIM_LOSS_IN_BATCH) {
    const uint64_t n = (uint64_t)o->rows, documents = (uint64_t)texts - n;
    o->found->left_out += left_out;
    o->found->negatives += n * (documents - 1) - (left_out < n * (documents - 1) ? left_out : n * (documents - 1));
  }
  return BRIM_OK;
}

static int vector_loss(brim_runtime *runtime, const brim_outputs *o, double divisor, float *gradient, double *loss,
                       brim_error *err) {
  job j = {0};
  *loss = 0;
  const int status = o->rows > 0 ? compute(runtime, o, divisor, &j, gradient, loss, err) : BRIM_OK;
  give_back(runtime, &j);
  return status;
}

static uint64_t room(const brim_loss_how *how, uint64_t rows, uint64_t texts, int32_t width, int32_t label_width) {
  return texts * (2 * (uint64_t)width + 1) * sizeof(double) +
         rows * (((uint64_t)label_width + 1) * sizeof(double) + sizeof(int32_t)) +
         teacher_numbers(&how->vectors, rows, texts) * sizeof(double) +
         brim_vector_loss_work(&how->vectors, (int32_t)rows, (int32_t)texts, width);
}

static const char *loss_name(const brim_loss_how *how) {
  return brim_vector_loss_name(how->vectors.kind);
}

static bool has_loss(const char *name) {
  brim_vector_loss loss;
  return brim_vector_loss_named(name, strlen(name), &loss);
}

static const char *similarity(const brim_loss_how *how) {
  return how->vectors.kind != BRIM_LOSS_IN_BATCH ? NULL : how->vectors.dot ? "dot" : "cosine";
}

/* Of scores it is the correlation of what the model's vectors are compared by, as the library has it. */
static const char *best(const brim_row_facts *facts, brim_similarity own) {
  if (facts->most_texts > 2)
    return "accuracy";
  return facts->labels == BRIM_RANGE_NONE     ? "mrr"
         : facts->labels == BRIM_RANGE_BINARY ? "average_precision"
                                              : brim_similarity_metric(own);
}

/* In-batch negatives, CoSENT, AnglE and the contrastive loss of hard pairs compare the rows of a step with each other; others are
 * sums over rows. */
#define TARGET(of)                                                                                                               \
  {.scope = of,                                                                                                                  \
   .choose = choose,                                                                                                             \
   .loss_name = loss_name,                                                                                                       \
   .has_loss = has_loss,                                                                                                         \
   .similarity = similarity,                                                                                                     \
   .best = best,                                                                                                                 \
   .loss = vector_loss,                                                                                                          \
   .room = room,                                                                                                                 \
   .find = brim_find_vectors,                                                                                                    \
   .say = brim_say_vectors,                                                                                                      \
   .nearest = brim_nearest_vectors}
static const brim_target of_step = TARGET(BRIM_LOSS_OF_STEP);
static const brim_target of_part = TARGET(BRIM_LOSS_OF_PART);

const brim_task_rules brim_embedding = {.shape = {.several_texts = true, .optional = true, .bare = true},
                                        .class = "Model",
                                        .head = BRIM_HEAD_OF_VECTORS,
                                        .folder = BRIM_FOLDER_OF_ENCODER,
                                        .least = 1,
                                        .valid = "a score of two texts is a finite number",
                                        .fits = brim_fits_value,
                                        .loss = BRIM_LOSS_SQUARED_ERROR,
                                        .target = &of_step,
                                        .metrics = {"pearson", "spearman", "spearman_dot", "spearman_euclidean",
                                                    "spearman_manhattan", "accuracy", "f1", "average_precision", "mrr"},
                                        .best = "spearman",
                                        .measuring = 2 * sizeof(double) + BRIM_CORRELATION_WORK,
                                        .measuring_output = sizeof(double),
                                        .check = brim_check_vectors,
                                        .possible = brim_possible_vectors,
                                        .measure = brim_measure_vectors,
                                        .opinion = brim_opinion_of_values,
                                        .logit = brim_logit_of_value,
                                        .put = brim_answer_put_values};
