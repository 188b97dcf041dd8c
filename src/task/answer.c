/* answer.c: answers of values and of one class. */
#include "task/task.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

int brim_answer_shown(const char *name, size_t most) {
  return (int)brim_utf8_valid(name, strnlen(name, most));
}

/* ---- values -------------------------------------------------------------------------------------------------- */

double brim_answer_cost_of_values(const brim_answer *a, brim_class_count *classes) {
  double loss = 0;
  (void)classes;
  for (int32_t k = 0; k < a->outputs; k++) {
    const double apart = (double)a->label[k] - (double)a->logits[k];
    loss += apart * apart;
  }
  return loss / a->outputs;
}

void brim_answer_say_values(const brim_answer *a, bool predicted, char *text, size_t size) {
  const float *values = predicted ? a->logits : a->label;
  size_t used = 0;
  for (int32_t k = 0; k < a->outputs && used < size; k++)
    used += (size_t)snprintf(text + used, size - used, "%s%.4g", used ? " " : "", (double)values[k]);
}

void brim_answer_put_value(brim_json_writer *json, const char *name, double value) {
  char text[48];
  const int length = snprintf(text, sizeof text - 3, "%.9g", value);
  if (!strpbrk(text, ".en"))
    memcpy(text + length, ".0", 3);
  brim_json_put_printf(json, name, "%s", text);
}

void brim_answer_put_values(brim_json_writer *json, const brim_answer *a) {
  const bool several = a->outputs > 1;
  if (several)
    brim_json_open_array(json, "label");
  for (int32_t i = 0; i < a->outputs; i++) {
    a->scores[i] = (double)a->logits[i];
    brim_answer_put_value(json, several ? NULL : "label", a->scores[i]);
  }
  if (several)
    brim_json_close_array(json);
}

/* ---- one class ----------------------------------------------------------------------------------------------- */

double brim_answer_cost_of_class(const brim_answer *a, brim_class_count *classes) {
  const brim_outcome *o = a->outcome;
  classes[o->label].rows++;
  classes[o->predicted].predicted++;
  classes[o->label].both += o->label == o->predicted;
  return o->label == o->predicted ? 0 : o->loss;
}

void brim_answer_say_class(const brim_answer *a, bool predicted, char *text, size_t size) {
  const char *name = a->names[predicted ? a->outcome->predicted : a->outcome->label];
  snprintf(text, size, "%.*s", brim_answer_shown(name, size - 1), name);
}

void brim_answer_put_name(brim_json_writer *json, const char *name, const brim_answer *a, int32_t class) {
  if (!a->names)
    brim_json_put_integer(json, name, class);
  else if (a->literal)
    brim_json_put_printf(json, name, "%s", a->names[class]);
  else
    brim_json_put_string(json, name, a->names[class]);
}

void brim_answer_put_best(brim_json_writer *json, const char *name, const brim_answer *a) {
  int32_t best = 0;
  brim_softmax(a->logits, a->outputs, a->scores);
  for (int32_t i = 1; i < a->outputs; i++)
    if (a->logits[i] > a->logits[best])
      best = i;
  brim_answer_put_name(json, name, a, best);
}

void brim_answer_put_class(brim_json_writer *json, const brim_answer *a) {
  brim_answer_put_best(json, "label", a);
}
