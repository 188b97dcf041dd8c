#include "target/target.h"

#include "task/task.h"

static const brim_target on_device = {.name = "device", .scope = BRIM_LOSS_ON_DEVICE};

/* Each task's loss is an operation. */
const brim_target *brim_target_of(brim_task task) {
  return brim_task_rules_of(task) ? &on_device : NULL;
}
