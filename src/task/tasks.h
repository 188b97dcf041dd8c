/* tasks.h: the tasks, one a file. */
#ifndef BRIM_TASK_TASKS_H
#define BRIM_TASK_TASKS_H
#include "task/rules.h"

extern const brim_task_rules brim_classification, brim_regression, brim_multi_label, brim_tokens, brim_masked, brim_embedding,
    brim_rerank;

#endif
