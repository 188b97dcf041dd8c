/* kept.c: RUN/evaluation.jsonl, what the last evaluation of each set came to. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/status.h"
#include "report/event_log.h"
#include "views/views.h"

static int path_of(const char *folder, char *path, size_t size, brim_error *err) {
  if ((size_t)snprintf(path, size, "%s/evaluation.jsonl", folder) < size)
    return BRIM_OK;
  return brim_error_set(err, BRIM_E_USAGE, "the name of a run is too long");
}

/* ---- writing ---------------------------------------------------------------------------------------------- */

static brim_json_writer open_line(brim_text *out, const char *event, int set) {
  brim_json_writer json = {.out = out};
  brim_json_open_object(&json, NULL);
  brim_json_put_string(&json, "event", event);
  brim_json_put_integer(&json, "set", set);
  return json;
}

static void close_line(brim_json_writer *json) {
  brim_json_close_object(json);
  brim_text_string(json->out, "\n");
}

static void put_text(brim_json_writer *json, const char *name, const char *text, size_t length) {
  if (text)
    brim_json_put_bytes(json, name, text, length);
  else
    brim_json_put_string(json, name, NULL);
}

static void put_wrong(brim_text *out, int set, const brim_wrong_row *w) {
  brim_json_writer json = open_line(out, "wrong", set);
  brim_json_put_count(&json, "row", w->row);
  if (w->word >= 0) {
    brim_json_put_integer(&json, "word", w->word);
    brim_json_put_string(&json, "word_text", w->word_text[0] ? w->word_text : NULL);
  }
  brim_json_put_number(&json, "loss", w->loss);
  brim_json_put_string(&json, "label", w->label);
  brim_json_put_string(&json, "predicted", w->predicted);
  brim_json_put_number(&json, "score", w->score);
  brim_json_put_number(&json, "label_score", w->label_score);
  put_text(&json, "text", w->text, w->length);
  close_line(&json);
}

static void put_class(brim_text *out, int set, const char *name, const brim_class_count *c) {
  brim_json_writer json = open_line(out, "class", set);
  brim_json_put_string(&json, "name", name);
  brim_json_put_count(&json, "rows", c->rows);
  brim_json_put_count(&json, "predicted", c->predicted);
  brim_json_put_count(&json, "both", c->both);
  close_line(&json);
}

static void put_confused(brim_text *out, int set, const brim_confused *c) {
  brim_json_writer json = open_line(out, "confused", set);
  brim_json_put_integer(&json, "label", c->label);
  brim_json_put_integer(&json, "predicted", c->predicted);
  brim_json_put_count(&json, "rows", c->rows);
  close_line(&json);
}

static void put_point(brim_text *out, int set, double label, double predicted) {
  brim_json_writer json = open_line(out, "point", set);
  brim_json_put_number(&json, "label", label);
  brim_json_put_number(&json, "predicted", predicted);
  close_line(&json);
}

static void put_near(brim_text *out, int set, const brim_near_row *n) {
  brim_json_writer json = open_line(out, "near", set);
  brim_json_put_count(&json, "row", n->row);
  brim_json_put_count(&json, "other", n->other);
  brim_json_put_number(&json, "similarity", n->similarity);
  put_text(&json, "text", n->text, n->length);
  put_text(&json, "other_text", n->other_text, n->other_length);
  close_line(&json);
}

static void put_set(brim_text *out, int set, const brim_judged *j) {
  brim_field fields[BRIM_METRIC_FIELDS];
  const int count = brim_metrics_fields(j->task, &(brim_metrics){0}, fields);
  brim_json_writer json = open_line(out, "set", set);
  brim_json_put_string(&json, "name", j->name);
  brim_json_put_count(&json, "step", j->step);
  brim_json_put_string(&json, "task", brim_task_name(j->task));
  brim_json_put_integer(&json, "outputs", j->outputs);
  brim_json_put_count(&json, "rows", j->rows);
  for (int i = 0; i < count; i++)
    brim_json_put_number(&json, fields[i].name, j->metrics[i]);
  if (j->apart)
    brim_json_put_integer(&json, "apart", 1);
  close_line(&json);
  for (int32_t i = 0; j->classes && i < j->outputs; i++)
    put_class(out, set, j->names[i], &j->classes[i]);
  for (size_t i = 0; i < j->confused_count; i++)
    put_confused(out, set, &j->confused[i]);
  for (size_t i = 0; i < j->points * (size_t)j->outputs; i++)
    put_point(out, set, j->labels[i], j->values[i]);
  for (int i = 0; i < j->wrong_count; i++)
    put_wrong(out, set, &j->wrong[i]);
  for (int i = 0; i < j->near_count; i++)
    put_near(out, set, &j->near[i]);
}

int brim_judged_write(brim_runtime *runtime, const char *folder, const brim_judged *sets, int count, brim_error *err) {
  BRIM_GIVEN(err, runtime, folder);
  BRIM_ARRAY(err, sets, count);
  char path[4200];
  brim_text out;
  BRIM_TRY(path_of(folder, path, sizeof path, err));
  brim_text_init(&out, runtime);
  for (int i = 0; i < count; i++)
    put_set(&out, i, &sets[i]);
  int status = brim_text_status(&out, err);
  if (!status)
    status = brim_file_write_own(runtime, path, out.data, out.length, err);
  brim_text_free(&out);
  return status;
}

/* ---- reading ---------------------------------------------------------------------------------------------- */

/* Lines of one kind and one set. Numbers that are missing or no counts make the file a foreign one. */
typedef struct lines {
  const brim_event_log *log;
  const char *kind;
  size_t count; /* of the kind, all sets */
  const double *sets;
  bool foreign;
} lines;

static lines lines_of(const brim_event_log *log, const char *kind) {
  return (lines){
      .log = log, .kind = kind, .count = brim_event_log_count(log, kind), .sets = brim_event_log_numbers(log, kind, "set")};
}

/* The first line from `at` on that is the set's; `count` if there is none. */
static size_t next_line(const lines *l, size_t at, int set) {
  while (at < l->count && !(l->sets && l->sets[at] == set))
    at++;
  return at;
}

static size_t count_lines(const lines *l, int set) {
  size_t count = 0;
  for (size_t i = next_line(l, 0, set); i < l->count; i = next_line(l, i + 1, set))
    count++;
  return count;
}

static double number_at(const lines *l, size_t at, const char *field) {
  const double *values = brim_event_log_numbers(l->log, l->kind, field);
  return values ? values[at] : (double)NAN;
}

static uint64_t count_at(lines *l, size_t at, const char *field, double most) {
  const double value = number_at(l, at, field);
  if (value >= 0 && value <= most && value == floor(value))
    return (uint64_t)value;
  l->foreign = true;
  return 0;
}

static void text_at(const lines *l, size_t at, const char *field, char *text, size_t size) {
  const char *found = brim_event_log_text(l->log, l->kind, at, field);
  snprintf(text, size, "%s", found ? found : "");
}

#define LARGEST 9e15

static bool read_head(lines *l, size_t at, brim_judged *j) {
  brim_field fields[BRIM_METRIC_FIELDS];
  char task[32];
  text_at(l, at, "name", j->name, sizeof j->name);
  text_at(l, at, "task", task, sizeof task);
  const bool known = brim_task_parse(task, &j->task);
  j->step = count_at(l, at, "step", LARGEST), j->rows = count_at(l, at, "rows", LARGEST);
  j->outputs = (int32_t)count_at(l, at, "outputs", 1 << 24);
  if (!known || j->task == BRIM_TASK_AUTO || j->outputs == 0 || l->foreign)
    return false;
  const int count = brim_metrics_fields(j->task, &(brim_metrics){0}, fields);
  for (int i = 0; i < count; i++)
    j->metrics[i] = number_at(l, at, fields[i].name);
  j->apart = number_at(l, at, "apart") == 1;
  return true;
}

/* The lines of a set are read one kind after the other. What ends the reading: BRIM_E_MEMORY, or that they are not brim's. */
enum { FOREIGN = BRIM_E_FORMAT };

static int read_classes(const brim_event_log *log, int set, brim_judged *j) {
  lines l = lines_of(log, "class");
  int32_t used = 0;
  if (!brim_task_shape(j->task)->named)
    return BRIM_OK;
  if (count_lines(&l, set) != (size_t)j->outputs)
    return FOREIGN;
  j->names = brim_alloc_array_zero(j->runtime, (size_t)j->outputs, sizeof *j->names);
  j->classes = brim_alloc_array_zero(j->runtime, (size_t)j->outputs, sizeof *j->classes);
  if (!j->names || !j->classes)
    return BRIM_E_MEMORY;
  for (size_t i = next_line(&l, 0, set); i < l.count; i = next_line(&l, i + 1, set)) {
    const char *name = brim_event_log_text(log, "class", i, "name");
    j->classes[used] = (brim_class_count){count_at(&l, i, "rows", LARGEST), count_at(&l, i, "predicted", LARGEST),
                                          count_at(&l, i, "both", LARGEST)};
    if (!name)
      return FOREIGN;
    if (!(j->names[used++] = brim_copy_string(j->runtime, name, strlen(name))))
      return BRIM_E_MEMORY;
  }
  return l.foreign ? FOREIGN : BRIM_OK;
}

static int read_confused(const brim_event_log *log, int set, brim_judged *j) {
  lines l = lines_of(log, "confused");
  const size_t count = count_lines(&l, set);
  j->confused = brim_alloc_array_zero(j->runtime, count + 1, sizeof *j->confused);
  if (!j->confused)
    return BRIM_E_MEMORY;
  for (size_t i = next_line(&l, 0, set); i < l.count; i = next_line(&l, i + 1, set))
    j->confused[j->confused_count++] = (brim_confused){(int32_t)count_at(&l, i, "label", j->outputs - 1),
                                                       (int32_t)count_at(&l, i, "predicted", j->outputs - 1),
                                                       count_at(&l, i, "rows", LARGEST)};
  return l.foreign ? FOREIGN : BRIM_OK;
}

static int read_points(const brim_event_log *log, int set, brim_judged *j) {
  const lines l = lines_of(log, "point");
  const size_t count = count_lines(&l, set);
  size_t used = 0;
  j->labels = brim_alloc_array(j->runtime, count + 1, sizeof *j->labels);
  j->values = brim_alloc_array(j->runtime, count + 1, sizeof *j->values);
  if (!j->labels || !j->values)
    return BRIM_E_MEMORY;
  for (size_t i = next_line(&l, 0, set); i < l.count; i = next_line(&l, i + 1, set), used++)
    j->labels[used] = number_at(&l, i, "label"), j->values[used] = number_at(&l, i, "predicted");
  j->points = count / (size_t)j->outputs;
  return count % (size_t)j->outputs == 0 ? BRIM_OK : FOREIGN;
}

static int read_wrong(const brim_event_log *log, int set, brim_judged *j) {
  lines l = lines_of(log, "wrong");
  for (size_t i = next_line(&l, 0, set); i < l.count && j->wrong_count < BRIM_MOST_WRONG; i = next_line(&l, i + 1, set)) {
    brim_wrong_row *w = &j->wrong[j->wrong_count++];
    const char *text = brim_event_log_text(log, "wrong", i, "text");
    w->row = count_at(&l, i, "row", LARGEST), w->loss = number_at(&l, i, "loss");
    w->word = isnan(number_at(&l, i, "word")) ? -1 : (int32_t)count_at(&l, i, "word", INT32_MAX);
    text_at(&l, i, "word_text", w->word_text, sizeof w->word_text);
    w->score = number_at(&l, i, "score"), w->label_score = number_at(&l, i, "label_score");
    text_at(&l, i, "label", w->label, sizeof w->label);
    text_at(&l, i, "predicted", w->predicted, sizeof w->predicted);
    if (text && !(w->text = brim_copy_string(j->runtime, text, strlen(text))))
      return BRIM_E_MEMORY;
    w->length = text ? strlen(text) : 0;
  }
  return l.foreign ? FOREIGN : BRIM_OK;
}

static int copy_text(const brim_event_log *log, size_t at, const char *field, brim_judged *j, char **text, size_t *length) {
  const char *found = brim_event_log_text(log, "near", at, field);
  *length = found ? strlen(found) : 0;
  *text = found ? brim_copy_string(j->runtime, found, *length) : NULL;
  return found && !*text ? BRIM_E_MEMORY : BRIM_OK;
}

static int read_near(const brim_event_log *log, int set, brim_judged *j) {
  lines l = lines_of(log, "near");
  for (size_t i = next_line(&l, 0, set); i < l.count && j->near_count < BRIM_MOST_NEAR; i = next_line(&l, i + 1, set)) {
    brim_near_row *n = &j->near[j->near_count++];
    n->row = count_at(&l, i, "row", LARGEST), n->other = count_at(&l, i, "other", LARGEST);
    n->similarity = number_at(&l, i, "similarity");
    BRIM_TRY(copy_text(log, i, "text", j, &n->text, &n->length));
    BRIM_TRY(copy_text(log, i, "other_text", j, &n->other_text, &n->other_length));
  }
  return l.foreign ? FOREIGN : BRIM_OK;
}

static int read_set(const brim_event_log *log, int set, brim_judged *j) {
  static int (*const readers[])(const brim_event_log *, int, brim_judged *) = {read_classes, read_confused, read_points,
                                                                               read_wrong, read_near};
  lines l = lines_of(log, "set");
  const size_t at = next_line(&l, 0, set);
  if (at == l.count || !read_head(&l, at, j))
    return FOREIGN;
  for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
    BRIM_TRY(readers[i](log, set, j));
  return BRIM_OK;
}

static int read_sets(brim_runtime *runtime, const brim_event_log *log, brim_judged **out, int *count) {
  const size_t sets = brim_event_log_count(log, "set");
  if (sets > BRIM_MOST_SETS)
    return FOREIGN;
  *out = brim_alloc_array_zero(runtime, sets + 1, sizeof **out);
  if (!*out)
    return BRIM_E_MEMORY;
  for (; *count < (int)sets; ++*count) {
    brim_judged *j = &(*out)[*count];
    j->runtime = runtime;
    const int status = read_set(log, *count, j);
    if (status) {
      brim_judged_free(j);
      return status;
    }
  }
  return BRIM_OK;
}

int brim_judged_read(brim_runtime *runtime, const char *folder, brim_judged **out, int *count, brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_OUT(err, count);
  BRIM_GIVEN(err, runtime, folder);
  char path[4200];
  brim_event_log *log = NULL;
  BRIM_TRY(path_of(folder, path, sizeof path, err));
  if (access(path, F_OK) != 0)
    return BRIM_OK;
  BRIM_TRY(brim_event_log_read(runtime, path, &log, err));
  const int status = read_sets(runtime, log, out, count);
  brim_event_log_free(log);
  if (status == BRIM_E_MEMORY)
    return BRIM_NOMEM(err);
  if (status)
    return brim_error_at(err, BRIM_E_FORMAT, path, 0, -1,
                         "this is not what a run keeps of its evaluation: remove it, or name rows with --data");
  return BRIM_OK;
}

void brim_judged_free_all(brim_runtime *runtime, brim_judged *sets, int count) {
  for (int i = 0; i < count; i++)
    brim_judged_free(&sets[i]);
  brim_release(runtime, sets);
}
