/* target.c: where a task's loss is computed, and what is asked of all of them. */
#include "target/target.h"

#include <string.h>

#include "task/task.h"

static const brim_target on_device = {.scope = BRIM_LOSS_ON_DEVICE};

const brim_target *brim_target_of(brim_task task) {
  const brim_task_rules *rules = brim_task_rules_of(task);
  return !rules ? NULL : rules->target ? rules->target : &on_device;
}

brim_task brim_task_of_loss(const char *name) {
  const brim_target *target;
  for (int task = BRIM_TASK_AUTO + 1; (target = brim_target_of((brim_task)task)); task++)
    if (target->has_loss && target->has_loss(name))
      return (brim_task)task;
  return BRIM_TASK_AUTO;
}

static char folded(char c) {
  return c == '_' ? '-' : c;
}

static bool is_word(const char *text, size_t length, const char *name) {
  for (size_t i = 0; i < length; i++)
    if (!name[i] || folded(text[i]) != name[i])
      return false;
  return !name[length];
}

int brim_words_of(const char *text, const char *const *names, int *out, int most) {
  int count = 0;
  for (const char *at = text; *at;) {
    const size_t length = strcspn(at, ",");
    int which = 0;
    while (names[which] && !is_word(at, length, names[which]))
      which++;
    if (!names[which] || count == most)
      return -1;
    out[count++] = which;
    at += length + (at[length] == ',');
  }
  return count;
}

brim_label_range brim_label_range_with(brim_label_range range, float label) {
  const brim_label_range own = label == 0 || label == 1    ? BRIM_RANGE_BINARY
                               : label > 0 && label < 1    ? BRIM_RANGE_UNIT
                               : label >= -1 && label <= 1 ? BRIM_RANGE_SIGNED
                                                           : BRIM_RANGE_ANY;
  return own > range ? own : range;
}
