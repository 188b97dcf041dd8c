/* task.c: the table of tasks, and questions that it answers. */
#include "task/task.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define DECLARED(constant, file, name) extern const brim_task_rules brim_##file;
BRIM_EACH_TASK(DECLARED)
#define RULES(constant, file, name) [BRIM_TASK_##constant] = &brim_##file,
static const brim_task_rules *const tasks[] = {BRIM_EACH_TASK(RULES)};
#define NAME(constant, file, name) [BRIM_TASK_##constant] = name,
static const char *const names[] = {[BRIM_TASK_AUTO] = "auto", BRIM_EACH_TASK(NAME)};
enum { TASKS = sizeof tasks / sizeof *tasks };

const brim_task_rules *brim_task_rules_of(brim_task task) {
  return (int)task > BRIM_TASK_AUTO && (int)task < TASKS ? tasks[task] : NULL;
}

int brim_task_check(brim_task task, brim_error *err) {
  return (unsigned)task < TASKS ? BRIM_OK : brim_error_set(err, BRIM_E_USAGE, "task %d does not exist", (int)task);
}

const char *brim_task_name(brim_task task) {
  return names[brim_task_rules_of(task) ? task : BRIM_TASK_AUTO];
}

bool brim_task_parse(const char *name, brim_task *out) {
  for (int i = 0; name && i < TASKS; i++)
    if (strcmp(names[i], name) == 0) {
      *out = (brim_task)i;
      return true;
    }
  return false;
}

/* ---- shapes -------------------------------------------------------------------------------------------------- */

const brim_shape *brim_task_shape(brim_task task) {
  static const brim_shape none = {0};
  const brim_task_rules *r = brim_task_rules_of(task);
  return r ? &r->shape : &none;
}

bool brim_task_has_classes(brim_task task) {
  const brim_shape *s = brim_task_shape(task);
  return s->one_class && !s->words && !s->made;
}

bool brim_task_has_lists(brim_task task) {
  const brim_shape *s = brim_task_shape(task);
  return s->named && !s->one_class && !s->words;
}

bool brim_task_has_values(brim_task task) {
  const brim_task_rules *r = brim_task_rules_of(task);
  return r && !r->shape.named && !r->shape.words && !r->shape.made;
}

bool brim_task_has_tokens(brim_task task) {
  return brim_task_shape(task)->words;
}

bool brim_task_has_outcomes(brim_task task) {
  return brim_task_shape(task)->one_class;
}

const char *brim_task_describe(brim_task task, int32_t outputs, const char *const *names_of, char *text, size_t size) {
  enum { MOST = 4 };
  char list[200] = "";
  size_t used = 0;
  const brim_task_rules *r = brim_task_rules_of(task);
  *text = 0;
  for (int32_t i = 0; names_of && i < outputs && i < MOST; i++)
    used += (size_t)snprintf(list + used, sizeof list - used, "%s%.*s", i ? ", " : "", brim_answer_shown(names_of[i], 40),
                             names_of[i]);
  if (outputs > MOST)
    snprintf(list + used, sizeof list - used, ", ...");
  return r && r->describe ? r->describe(outputs, list, text, size) : NULL;
}

/* ---- without a task ------------------------------------------------------------------------------------------ */

brim_task brim_task_of_problem(const char *problem, size_t length) {
  for (int i = 1; i < TASKS; i++)
    if (tasks[i]->problem && strlen(tasks[i]->problem) == length && memcmp(tasks[i]->problem, problem, length) == 0)
      return (brim_task)i;
  return BRIM_TASK_AUTO;
}

static bool is_class(const char *name, size_t length, const char *class) {
  const size_t end = strlen(class);
  return length >= end && memcmp(name + length - end, class, end) == 0;
}

brim_task brim_task_of_class(const char *name, size_t length) {
  for (int i = 1; i < TASKS; i++)
    if (!tasks[i]->problem && tasks[i]->folder == BRIM_FOLDER_PLAIN && is_class(name, length, tasks[i]->class))
      return (brim_task)i;
  return BRIM_TASK_AUTO;
}

bool brim_task_class_has_head(const char *name, size_t length) {
  for (int i = 1; i < TASKS; i++)
    if (tasks[i]->head != BRIM_HEAD_OF_VECTORS && is_class(name, length, tasks[i]->class))
      return true;
  return false;
}

void brim_task_problems(char *text, size_t size) {
  size_t used = 0;
  for (int i = 1; i < TASKS && used < size; i++)
    if (tasks[i]->problem)
      used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "", tasks[i]->problem);
}

brim_task brim_task_of_outputs(int32_t outputs) {
  return outputs == 1 ? BRIM_TASK_REGRESSION : BRIM_TASK_CLASSIFICATION;
}

brim_task brim_task_of_label(bool decimal, bool list) {
  return decimal ? BRIM_TASK_REGRESSION : list ? BRIM_TASK_MULTI_LABEL : BRIM_TASK_CLASSIFICATION;
}

brim_task brim_task_of_modules(void) {
  return brim_task_of_folder(BRIM_FOLDER_OF_ENCODER);
}

brim_task brim_task_of_names(brim_task task) {
  const brim_task_rules *r = brim_task_rules_of(task);
  return r && r->shape.named ? task : BRIM_TASK_CLASSIFICATION;
}

brim_task brim_task_of_folder(brim_folder_form form) {
  for (int i = 1; i < TASKS; i++)
    if (tasks[i]->folder == form)
      return (brim_task)i;
  return BRIM_TASK_AUTO;
}

brim_task brim_task_of_words(void) {
  for (int i = 1; i < TASKS; i++)
    if (tasks[i]->shape.words)
      return (brim_task)i;
  return BRIM_TASK_AUTO;
}

brim_task brim_task_of_made(void) {
  for (int i = 1; i < TASKS; i++)
    if (tasks[i]->shape.made)
      return (brim_task)i;
  return BRIM_TASK_AUTO;
}

/* ---- whether a label fits ------------------------------------------------------------------------------------ */

int brim_row_error(brim_error *err, int status, brim_row_name row, const char *format, ...) {
  char what[400];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  return brim_error_set(err, status, "%s%srow %llu %s", row.set ? row.set : "", row.set ? ": " : "", row.row, what);
}

int brim_label_fits(brim_task task, int32_t outputs, const float *label, int32_t width, bool may_lack, brim_row_name row,
                    brim_error *err) {
  const brim_task_rules *r = brim_task_rules_of(task);
  const int32_t expected = r->shape.several_texts ? width : r->shape.one_class ? 1 : outputs;
  bool lacks = !label;
  if (r->shape.words || r->shape.made)
    return brim_row_error(err, BRIM_E_MISMATCH, row, "has no labels of tokens, which the model takes");
  if (label && width != expected)
    return brim_row_error(err, BRIM_E_MISMATCH, row, "has %d labels, but the model takes %d", width, expected);
  for (int32_t i = 0; label && i < width; i++) {
    lacks = lacks || isnan(label[i]);
    if (isnan(label[i]) || r->fits(outputs, label[i]))
      continue;
    if (r->shape.one_class)
      return brim_row_error(err, BRIM_E_MISMATCH, row, "has label %g, but there are classes 0 to %d", (double)label[i],
                            outputs - 1);
    return brim_row_error(err, BRIM_E_MISMATCH, row, "has label %g: %s", (double)label[i], r->valid);
  }
  return lacks && !may_lack && !r->shape.optional ? brim_row_error(err, BRIM_E_MISMATCH, row, "has no label") : BRIM_OK;
}

int brim_token_labels_fit(brim_task task, int32_t outputs, const int32_t *labels, int32_t length, brim_row_name row,
                          brim_error *err) {
  const brim_task_rules *r = brim_task_rules_of(task);
  if (!r->shape.words && !r->shape.made)
    return brim_row_error(err, BRIM_E_MISMATCH, row, "has labels of tokens, but the model takes one of the row");
  for (int32_t i = 0; i < length; i++)
    if (labels[i] != BRIM_NO_LABEL && (labels[i] < 0 || labels[i] >= outputs))
      return brim_row_error(err, BRIM_E_MISMATCH, row, "has label %d at token %d: expected a class from 0%s%.0d, or %d for none",
                            labels[i], i, outputs == INT32_MAX ? " up" : " to ", outputs == INT32_MAX ? 0 : outputs - 1,
                            BRIM_NO_LABEL);
  return BRIM_OK;
}

int brim_judge_outcomes(brim_task task, const brim_outcomes *outcomes, brim_metrics *out, brim_error *err) {
  *out = brim_metrics_none(outcomes->rows);
  if (outcomes->rows == 0)
    return brim_error_set(err, BRIM_E_USAGE, "there are no rows to evaluate");
  return brim_task_rules_of(task)->judge(outcomes, out, err);
}

int64_t brim_token_labels_count(const int32_t *labels, int32_t length, int32_t whole) {
  int64_t count = 0;
  for (int32_t i = 0; i < length; i++)
    count += labels[i == length - 1 ? whole - 1 : i] != BRIM_NO_LABEL;
  return count;
}
