/* checkpoint.c: saving and loading a training state. */
#include "train/checkpoint.h"

#include <string.h>

#include "base/folder.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/status.h"
#include "model/files/safetensors.h"
#include "model/run/flat.h"
#include "train/average.h"
#include "train/folder/foreign.h"
#include "train/folder/hashes.h"
#include "train/folder/optimizer_file.h"
#include "train/folder/owned.h"

#define AVERAGE_FILE "average.safetensors"
enum { AGAIN = 3 }; /* looked for checkpoints that another process removes */

/* ---- saving ----------------------------------------------------------------------------------------------- */

static int checkpoint_write_optimizer(brim_runtime *runtime, brim_model *model, const char *folder, brim_error *err) {
  char *path = brim_path_join(runtime, folder, "optimizer.safetensors");
  int status = path ? brim_optimizer_write(runtime, model, path, err) : BRIM_NOMEM(err);
  brim_release(runtime, path);
  return status;
}

static int checkpoint_write_average(brim_runtime *runtime, const brim_model *model, const char *folder, const float *average,
                                    brim_error *err) {
  char *path = brim_path_join(runtime, folder, AVERAGE_FILE);
  int status = path ? brim_flat_write(runtime, model, average, path, err) : BRIM_NOMEM(err);
  brim_release(runtime, path);
  return status;
}

static int checkpoint_write_state(brim_runtime *runtime, brim_model *model, const char *folder, const brim_train_state *state,
                                  const float *average, const brim_train_identity *identity, brim_error *err) {
  brim_train_hashes hashes = {.average = state->averaged > 0 ? brim_flat_hash(model, BRIM_VALUES, average, 0) : 0};
  BRIM_TRY(brim_model_weights_hash(model, &hashes.values, err));
  BRIM_TRY(brim_model_optimizer_hash(model, &hashes.optimizer, err));
  char *path = brim_path_join(runtime, folder, "state.json");
  int status = path ? brim_train_state_write(runtime, path, state, identity, &hashes, err) : BRIM_NOMEM(err);
  brim_release(runtime, path);
  return status;
}

static int checkpoint_fill(const char *path, brim_runtime *runtime, brim_model *model, const brim_tokenizer *tokenizer,
                           const brim_saving *saving, const brim_train_state *state, const float *average,
                           const brim_train_identity *identity, const brim_supply *supply, brim_error *err) {
  BRIM_TRY(brim_model_save(model, tokenizer, saving, path, NULL, err));
  BRIM_TRY(checkpoint_write_optimizer(runtime, model, path, err));
  if (state->averaged > 0)
    BRIM_TRY(checkpoint_write_average(runtime, model, path, average, err));
  BRIM_TRY(checkpoint_write_state(runtime, model, path, state, average, identity, err));
  return brim_supply_save(supply, path, err);
}

/* *there: one of the same step, which is replaced; only where that is brim's, or what others have left in its folder. */
static int checkpoint_find_former(brim_runtime *runtime, const char *checkpoints, const char *path, bool *there,
                                  brim_error *err) {
  bool ours = true;
  *there = brim_path_is_taken(path);
  if (*there)
    BRIM_TRY(brim_owned_checkpoint(runtime, checkpoints, brim_path_name(path), &ours, err));
  if (!ours)
    BRIM_TRY(brim_foreign_leaves_room(runtime, path, &ours, err));
  if (ours)
    return BRIM_OK;
  bool state = true, optimizer = false;
  BRIM_TRY(brim_folder_has(runtime, path, "state.json", &state, err));
  BRIM_TRY(brim_folder_has(runtime, path, "optimizer.safetensors", &optimizer, err));
  return brim_error_at(
      err, BRIM_E_USAGE, path, 0, -1,
      optimizer && !state
          ? "a checkpoint would be written here, and the one that is here lacks its state.json: put that file back, "
            "or remove this folder"
          : "a checkpoint would be written here, but this is something else: move it away");
}

static int checkpoint_room_for_best(const brim_run_folder *folder, brim_error *err) {
  static const char *const names[] = {"best", "best.tmp"};
  int status = BRIM_OK;
  for (size_t i = 0; i < sizeof names / sizeof *names && !status && folder->output; i++) {
    bool ours = true;
    char *path = brim_path_join(folder->runtime, folder->checkpoints, names[i]);
    status = path ? BRIM_OK : BRIM_NOMEM(err);
    if (!status && brim_path_is_taken(path) && !brim_path_is_link(path)) /* somebody's link stays */
      status = brim_foreign_is_copy(folder->runtime, path, &ours, err);
    if (!status && !ours)
      status = brim_error_at(err, BRIM_E_USAGE, path, 0, -1,
                             "a link to the best checkpoint would be made here, but this is something else: move it away");
    brim_release(folder->runtime, path);
  }
  return status;
}

int brim_checkpoint_room(const brim_run_folder *folder, uint64_t step, bool best, brim_error *err) {
  uint64_t later;
  char **names;
  size_t count;
  if (!folder->output || !brim_path_is_folder(folder->checkpoints))
    return BRIM_OK;
  if (best)
    BRIM_TRY(checkpoint_room_for_best(folder, err));
  BRIM_TRY(brim_list_folder(folder->runtime, folder->checkpoints, &names, &count, err));
  int status = BRIM_OK;
  for (size_t i = 0; i < count && !status; i++) {
    if (!brim_owned_step_of(names[i], &later) || later <= step)
      continue;
    char *path = brim_path_join(folder->runtime, folder->checkpoints, names[i]);
    status = path ? checkpoint_find_former(folder->runtime, folder->checkpoints, path, &(bool){0}, err) : BRIM_NOMEM(err);
    brim_release(folder->runtime, path);
  }
  brim_names_free(folder->runtime, names, count);
  return status;
}

/* That the run's folder was removed is said elsewhere (brim_run_folder_held). */
static int checkpoint_say_removed(const brim_run_folder *folder, const brim_folder *aside, const char *path, int status,
                                  brim_error *err) {
  const char *written = aside ? brim_folder_path(aside) : folder->checkpoints; /* NULL: it has its name, or was undone */
  if (status != BRIM_E_IO || (written && brim_path_exists(written)) || brim_path_exists(path))
    return status;
  return brim_error_at(err, BRIM_E_MISMATCH, folder->checkpoints, 0, -1,
                       "a checkpoint was removed while it was written: let nothing else remove checkpoints during the run");
}

/* In the place of another: what is foreign in that one comes into this. */
static int checkpoint_replace(const brim_run_folder *folder, brim_folder *aside, brim_error *err) {
  char *former;
  int status = brim_folder_replace(aside, &former, err);
  if (!status && former)
    status = brim_foreign_discard(folder->runtime, folder->checkpoints, brim_path_name(former), err);
  brim_release(folder->runtime, former);
  return status;
}

int brim_checkpoint_save(const brim_run_folder *folder, brim_model *model, const brim_tokenizer *tokenizer,
                         const brim_saving *saving, const brim_train_state *state, const float *average,
                         const brim_train_identity *identity, const brim_supply *supply, brim_error *err) {
  brim_runtime *runtime = folder->runtime;
  BRIM_TRY(brim_make_folder(runtime, folder->checkpoints, err));
  char *path = brim_checkpoint_path(runtime, folder->checkpoints, state->step);
  if (!path)
    return BRIM_NOMEM(err);
  brim_folder *aside = NULL;
  bool there;
  int status = checkpoint_find_former(runtime, folder->checkpoints, path, &there, err);
  if (!status)
    status = brim_checkpoint_clean(folder, err); /* before names of killed processes are cleared with all they hold */
  if (!status)
    status = brim_folder_create(runtime, path, &aside, err);
  if (!status)
    status = checkpoint_fill(brim_folder_path(aside), runtime, model, tokenizer, saving, state, average, identity, supply, err);
  if (!status)
    status = there ? checkpoint_replace(folder, aside, err) : brim_folder_commit_new(aside, err);
  status = checkpoint_say_removed(folder, aside, path, status, err);
  brim_folder_free(aside);
  brim_release(runtime, path);
  return status;
}

/* ---- loading ---------------------------------------------------------------------------------------------- */

#define REMOVE_IT "remove its folder to resume from an older one"

/* Whether a file is damaged, or missing: others that cannot be read have another cause. */
static bool is_damage(int status, const brim_error *err) {
  return status == BRIM_E_FORMAT || (status == BRIM_E_IO && err->file[0] && !brim_path_is_taken(err->file));
}

/* Bytes of the message without what is to be done about files that come from elsewhere. */
static int cause_length(const brim_error *err) {
  static const char fetch[] = "; fetch it again";
  const size_t length = strlen(err->message), tail = sizeof fetch - 1;
  return (int)(length >= tail && strcmp(err->message + length - tail, fetch) == 0 ? length - tail : length);
}

/* What is damaged or missing in a checkpoint, with what to do about a checkpoint: its files are read as any others are. */
static int checkpoint_say_damaged(int status, brim_error *err) {
  if (!err || !is_damage(status, err) || strstr(err->message, REMOVE_IT))
    return status;
  const brim_error first = *err;
  return brim_error_at(err, BRIM_E_FORMAT, first.file, first.line, first.byte, "%.*s; the checkpoint is damaged: " REMOVE_IT,
                       cause_length(&first), first.message);
}

static int checkpoint_damaged(const char *path, const char *what, brim_error *err) {
  return brim_error_at(err, BRIM_E_FORMAT, path, 0, -1, "the %s of this checkpoint are damaged: " REMOVE_IT, what);
}

static int checkpoint_read_flat(brim_runtime *runtime, const char *folder, const char *name, const brim_model *model, float *flat,
                                uint64_t hash, const char *what, brim_error *err) {
  char *path = brim_path_join(runtime, folder, name);
  int status = path ? brim_flat_read(runtime, model, flat, path, err) : BRIM_NOMEM(err);
  brim_release(runtime, path);
  BRIM_TRY(status);
  return brim_flat_hash(model, BRIM_VALUES, flat, 0) == hash ? BRIM_OK : checkpoint_damaged(folder, what, err);
}

static int checkpoint_read_optimizer(brim_runtime *runtime, const char *path, const brim_train_hashes *hashes, brim_model *model,
                                     brim_error *err) {
  char *file = brim_path_join(runtime, path, "optimizer.safetensors");
  int status = file ? brim_optimizer_read(runtime, model, file, err) : BRIM_NOMEM(err);
  brim_release(runtime, file);
  BRIM_TRY(status);
  uint64_t hash;
  BRIM_TRY(brim_model_optimizer_hash(model, &hash, err));
  return hash == hashes->optimizer ? BRIM_OK : checkpoint_damaged(path, "optimizer's states", err);
}

static int checkpoint_read_state(brim_runtime *runtime, const char *path, const brim_train_identity *identity,
                                 brim_train_state *state, brim_train_hashes *hashes, brim_train_former *former, brim_error *err) {
  char *file = brim_path_join(runtime, path, "state.json");
  int status = file ? brim_train_state_read(runtime, file, identity, state, hashes, former, err) : BRIM_NOMEM(err);
  brim_release(runtime, file);
  return status;
}

static int checkpoint_read_values(brim_runtime *runtime, const char *path, brim_model *model, uint64_t hash, brim_error *err) {
  float *values;
  BRIM_TRY(brim_flat_map(model, BRIM_VALUES, &values, err));
  int status = checkpoint_read_flat(runtime, path, "model.safetensors", model, values, hash, "weights", err);
  if (status)
    brim_flat_unmap(model, values);
  BRIM_TRY(status);
  return brim_flat_unmap_written(model, BRIM_VALUES, values, err);
}

static int checkpoint_read(brim_runtime *runtime, const char *path, brim_model *model, const brim_train_identity *identity,
                           brim_train_state *state, brim_train_former *former, float *average, brim_supply *supply,
                           brim_error *err) {
  brim_train_hashes hashes;
  BRIM_TRY(checkpoint_read_state(runtime, path, identity, state, &hashes, former, err));
  BRIM_TRY(brim_supply_restore(supply, path, err)); /* finds what has become of the data before much is read */
  BRIM_TRY(checkpoint_read_values(runtime, path, model, hashes.values, err));
  if (state->averaged == 0 && hashes.average != 0)
    return checkpoint_damaged(path, "averaged weights", err);
  if (state->averaged > 0)
    BRIM_TRY(checkpoint_read_flat(runtime, path, AVERAGE_FILE, model, average, hashes.average, "averaged weights", err));
  BRIM_TRY(checkpoint_read_optimizer(runtime, path, &hashes, model, err));
  brim_model_state_written(model);
  return BRIM_OK;
}

int brim_checkpoint_load(const brim_run_folder *folder, uint64_t step, brim_model *model, const brim_train_identity *identity,
                         brim_train_state *state, brim_train_former *former, float *average, brim_supply *supply,
                         brim_error *err) {
  char *path = brim_checkpoint_path(folder->runtime, folder->checkpoints, step);
  if (!path)
    return BRIM_NOMEM(err);
  int status = checkpoint_read(folder->runtime, path, model, identity, state, former, average, supply, err);
  if (!status && state->step != step)
    status = brim_error_at(err, BRIM_E_MISMATCH, path, 0, -1, "this checkpoint is of step %llu: its folder was renamed",
                           (unsigned long long)state->step);
  brim_release(folder->runtime, path);
  return checkpoint_say_damaged(status, err);
}

/* What cannot be read of the best one, which the run is to end with: no older one is in its place. */
static int best_lost(const char *path, int status, brim_error *err) {
  if (!brim_path_is_taken(path))
    return brim_error_at(err, BRIM_E_MISMATCH, path, 0, -1,
                         "the checkpoint of the best evaluation is gone, and the run is to end with its weights: put the folder "
                         "back, or end with the last step's (keep last)");
  if (!err || !is_damage(status, err))
    return status;
  const brim_error first = *err;
  return brim_error_at(err, BRIM_E_FORMAT, first.file, first.line, first.byte,
                       "%.*s; this checkpoint of the best evaluation is damaged, and the run is to end with its weights: put its "
                       "folder back as it was, or end with the last step's (keep last)",
                       cause_length(&first), first.message);
}

int brim_checkpoint_check_best(const brim_run_folder *folder, uint64_t step, const brim_train_identity *identity,
                               brim_error *err) {
  brim_train_state state;
  brim_train_hashes hashes;
  char *path = brim_checkpoint_path(folder->runtime, folder->checkpoints, step);
  char *model = path ? brim_path_join(folder->runtime, path, "model.safetensors") : NULL;
  int status = model ? checkpoint_read_state(folder->runtime, path, identity, &state, &hashes, NULL, err) : BRIM_NOMEM(err);
  brim_store *store = NULL;
  if (!status)
    status = brim_store_open(folder->runtime, model, &store, err);
  brim_store_close(store);
  if (status && path)
    status = best_lost(path, status, err);
  brim_release(folder->runtime, model);
  brim_release(folder->runtime, path);
  return status;
}

int brim_checkpoint_load_weights(const brim_run_folder *folder, uint64_t step, brim_model *model,
                                 const brim_train_identity *identity, brim_train_state *state, brim_error *err) {
  brim_runtime *runtime = folder->runtime;
  brim_train_hashes hashes;
  char *path = brim_checkpoint_path(runtime, folder->checkpoints, step);
  if (!path)
    return BRIM_NOMEM(err);
  int status = checkpoint_read_state(runtime, path, identity, state, &hashes, NULL, err);
  if (!status)
    status = checkpoint_read_values(runtime, path, model, hashes.values, err);
  if (!status)
    brim_model_state_written(model);
  else
    status = best_lost(path, status, err);
  brim_release(runtime, path);
  return status;
}

/* ---- looking ahead ---------------------------------------------------------------------------------------- */

static int checkpoint_inspect(brim_runtime *runtime, const char *checkpoints, brim_checkpoint_info *out, brim_error *err) {
  uint64_t *steps;
  size_t count;
  BRIM_TRY(brim_checkpoint_steps(runtime, checkpoints, &steps, &count, err));
  uint64_t newest = count > 0 ? steps[count - 1] : 0;
  brim_release(runtime, steps);
  if (count == 0)
    return BRIM_OK;
  out->step = newest;
  out->folder = brim_checkpoint_path(runtime, checkpoints, newest);
  char *state = out->folder ? brim_path_join(runtime, out->folder, "state.json") : NULL;
  int status = state ? brim_train_state_kernels(runtime, state, &out->kernels, &out->max_tokens, err) : BRIM_NOMEM(err);
  brim_release(runtime, state);
  return checkpoint_say_damaged(status, err);
}

int brim_checkpoint_find(brim_runtime *runtime, const char *output, brim_checkpoint_info *out, brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_GIVEN(err, runtime, output);
  *out = (brim_checkpoint_info){.runtime = runtime};
  char *checkpoints = brim_path_join(runtime, output, "checkpoints");
  int status = checkpoints ? checkpoint_inspect(runtime, checkpoints, out, err) : BRIM_NOMEM(err);
  for (int i = 0; i < AGAIN && status && out->folder && !brim_path_exists(out->folder); i++) {
    brim_checkpoint_info_free(out); /* a run that is under way has removed it, and has a newer one */
    *out = (brim_checkpoint_info){.runtime = runtime};
    status = checkpoint_inspect(runtime, checkpoints, out, err);
  }
  brim_release(runtime, checkpoints);
  if (status)
    brim_checkpoint_info_free(out);
  return status;
}

void brim_checkpoint_info_free(brim_checkpoint_info *info) {
  if (!info || !info->runtime)
    return;
  brim_release(info->runtime, info->folder);
  brim_release(info->runtime, info->kernels);
  *info = (brim_checkpoint_info){0};
}
