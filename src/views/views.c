/* views.c: what is looked at during a run, and what it keeps when it ends. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/status.h"
#include "report/tensorboard.h"
#include "train/answers/evaluate.h"
#include "views/views.h"

struct brim_views {
  brim_runtime *runtime;
  brim_tensorboard *tensorboard;
  brim_judged *sets; /* the last evaluation of each */
  size_t room;
  int count;
  brim_views_failed_fn failed;
  void *context;
  char folder[4096];
};

static void note_failure(const brim_views *v, const char *what, int status, const brim_error *err) {
  if (status && v->failed)
    v->failed(v->context, what, err);
}

int brim_views_new(brim_runtime *runtime, const char *folder, brim_views_failed_fn failed, void *context, brim_views **out,
                   brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_GIVEN(err, runtime);
  char path[4200];
  brim_error why;
  if (folder && strlen(folder) >= sizeof(*out)->folder)
    return brim_error_set(err, BRIM_E_USAGE, "the name of a run is too long");
  brim_views *v = brim_alloc_zero(runtime, sizeof *v);
  if (!v)
    return BRIM_NOMEM(err);
  v->runtime = runtime, v->failed = failed, v->context = context;
  snprintf(v->folder, sizeof v->folder, "%s", folder ? folder : "");
  snprintf(path, sizeof path, "%s/tensorboard", v->folder);
  const bool taken = brim_path_is_taken(path) && !brim_path_is_folder(path);
  const int status = brim_tensorboard_new(runtime, folder && !taken ? path : NULL, &v->tensorboard, err);
  if (status)
    brim_release(runtime, v);
  else
    *out = v;
  if (!status && folder && taken)
    note_failure(v, "no events for TensorBoard",
                 brim_error_at(&why, BRIM_E_IO, path, 0, -1, "a run has a folder of this name, and this is none: move it away"),
                 &why);
  return status;
}

int brim_views_without_tensorboard(brim_views *v, brim_error *err) {
  BRIM_GIVEN_AS(err, "views", v);
  const int status = brim_tensorboard_close(v->tensorboard, err);
  v->tensorboard = NULL;
  return status ? status : brim_tensorboard_new(v->runtime, NULL, &v->tensorboard, err);
}

int brim_views_event(void *views, const brim_event *event) {
  brim_views *v = views;
  return brim_tensorboard_event(v->tensorboard, event);
}

/* The index of the set of that name, a new one if need be. */
static int index_of(brim_views *v, const char *name, int *index, brim_error *err) {
  for (*index = 0; *index < v->count; ++*index)
    if (strncmp(v->sets[*index].name, name, sizeof v->sets->name - 1) == 0)
      return BRIM_OK;
  if (v->count == BRIM_MOST_SETS)
    return brim_error_set(err, BRIM_E_USAGE, "there are more than %d sets", (int)BRIM_MOST_SETS);
  BRIM_TRY(brim_grow(v->runtime, (void **)&v->sets, &v->room, (size_t)v->count + 1, sizeof *v->sets, err));
  v->sets[v->count++] = (brim_judged){0};
  return BRIM_OK;
}

static int judge(brim_views *v, const brim_evaluation *e, const brim_labels *labels, brim_error *err) {
  int index;
  const brim_verdict verdict = {.name = e->name,
                                .step = e->step,
                                .task = labels->task,
                                .labels = labels,
                                .dataset = e->dataset,
                                .metrics = e->metrics,
                                .logits = e->logits,
                                .outcomes = e->outcomes,
                                .outputs = e->outputs,
                                .meaning = e->meaning};
  BRIM_TRY(index_of(v, e->name, &index, err));
  brim_judged_free(&v->sets[index]);
  const int status = brim_judge(v->runtime, &verdict, &v->sets[index], err);
  if (status) {
    brim_judged_free(&v->sets[index]);
    v->sets[index] = v->sets[--v->count];
  }
  return status;
}

void brim_views_evaluated(void *views, const brim_evaluation *e) {
  brim_views *v = views;
  const brim_labels *labels = e->labels ? e->labels : brim_dataset_labels(e->dataset);
  brim_error err;
  if (labels && brim_is_judged(labels->task, e->dataset))
    note_failure(v, "predictions are not kept", judge(v, e, labels, &err), &err);
}

brim_judged *brim_views_judged(brim_views *views, int *count) {
  *count = views->count;
  return views->sets;
}

void brim_views_close(brim_views *v, bool ran) {
  brim_error err;
  if (!v)
    return;
  const char *folder = v->folder;
  ran = ran && *folder;
  note_failure(v, "no more events for TensorBoard", brim_tensorboard_close(v->tensorboard, &err), &err);
  if (ran && v->count)
    note_failure(v, "predictions are not kept", brim_judged_write(v->runtime, folder, v->sets, v->count, &err), &err);
  if (ran)
    note_failure(v, "no report", brim_report_write(v->runtime, &folder, 1, folder, &err), &err);
  brim_judged_free_all(v->runtime, v->sets, v->count);
  brim_release(v->runtime, v);
}
