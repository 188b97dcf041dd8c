/* views_misuse.c: the library without what it needs. Every function that returns a status is asked with each of its pointers NULL
 * in turn, and with a number of items that no array has: the answer names the argument, and results are zero. What frees takes
 * NULL, and names that there are not are none. tests/check/source.py says if a function is missing here. */
#include <limits.h>

#include "brim/brim.h"
#include "scratch.h"
#include "tap.h"

static brim_runtime *runtime;
static brim_error err;

/* ---- pointers and counts ------------------------------------------------------------------------------------ */

/* The call that is tried: its argument number `target` is missing. The others are memory that nobody may look at before all are
 * found to be there. */
static struct {
  int target, asked, out_count;
  const char *missing;
  bool lacks_out; /* the others are not looked at then */
  struct {
    unsigned char *at;
    size_t size;
  } outs[3];
} turn;
static union {
  char bytes[1 << 16];
  const char *strings[1]; /* also as an array, which has one */
} dummy = {.strings = {""}};
static _Alignas(64) unsigned char room[3][1 << 16];

static bool is_turn(const char *name) {
  const bool missing = turn.asked++ == turn.target;
  if (missing)
    turn.missing = name;
  return missing;
}

static void *give(const char *name) {
  return is_turn(name) ? NULL : &dummy;
}

static void *give_out(const char *name, size_t size) {
  if (is_turn(name)) {
    turn.lacks_out = true;
    return NULL;
  }
  turn.outs[turn.out_count].at = memset(room[turn.out_count], 0xA5, size);
  turn.outs[turn.out_count].size = size;
  return room[turn.out_count++];
}

static int row_called(void *context, uint64_t index, brim_text_row *out, brim_error *error) {
  (void)context, (void)index, (void)out;
  return brim_error_set(error, BRIM_E_INTERNAL, "called");
}

static int setting_called(void *context, const brim_setting *setting, brim_error *error) {
  (void)context, (void)setting;
  return brim_error_set(error, BRIM_E_INTERNAL, "called");
}

static int predicted_called(void *context, uint64_t row, const float *logits, brim_error *error) {
  (void)context, (void)row, (void)logits;
  return brim_error_set(error, BRIM_E_INTERNAL, "called");
}

/* A reader that the call takes, also when it fails. */
static brim_reader *reader_given(const char *name) {
  const char *path = scratch_file("reader.csv");
  const brim_source_options source = {0};
  brim_reader *reader = NULL;
  if (!is_turn(name) && brim_reader_open(runtime, &path, 1, &source, &reader, &err))
    exit(99);
  return reader;
}

static void begin_turn(int target) {
  turn.target = target, turn.asked = turn.out_count = 0;
  turn.missing = NULL, turn.lacks_out = false;
  err = (brim_error){0};
}

static bool is_zero(const unsigned char *at, size_t size) {
  for (size_t i = 0; i < size; i++)
    if (at[i])
      return false;
  return true;
}

/* The answer names what is missing, and nothing else was written. */
static bool is_answered(const char *function, int status) {
  char want[64];
  snprintf(want, sizeof want, "%s is ", turn.missing);
  bool fine = status == BRIM_E_USAGE && err.code == BRIM_E_USAGE && strncmp(err.message, want, strlen(want)) == 0;
  for (int i = 0; i < turn.out_count && fine && !turn.lacks_out; i++)
    if (!is_zero(turn.outs[i].at, turn.outs[i].size))
      fine = false, printf("# result %d is not zero\n", i);
  if (!fine)
    printf("# %s without %s: status %d, \"%s\"\n", function, turn.missing, status, err.message);
  return fine;
}

/* A row of the table: G: given. OUT: a result, zero after a failure. COUNT: of an array. NULL: may be NULL. */
#define G(name)              give(#name)
#define OUT(type, name)      give_out(#name, sizeof(type))
#define FUNCTION(call, name) (is_turn(#name) ? NULL : (call))
#define COUNT(name)          (is_turn(#name) ? -1 : 1)
#define TRY(function, ...)                                                                                                       \
  do {                                                                                                                           \
    bool fine = true;                                                                                                            \
    int target = 0;                                                                                                              \
    do {                                                                                                                         \
      begin_turn(target);                                                                                                        \
      const int status = function(__VA_ARGS__, &err);                                                                            \
      fine = is_answered(#function, status) && fine;                                                                             \
    } while (++target < turn.asked);                                                                                             \
    ok(fine, "%s: each of %d arguments is missed", #function, turn.asked);                                                       \
  } while (0)

/* brim_ranks_settle, whose error is not the last argument. */
static int settle_with_error_last(brim_ranks *ranks, bool *speaks, brim_error *error) {
  return brim_ranks_settle(ranks, BRIM_OK, error, speaks);
}

static void given_of_base(void) {
  TRY(brim_runtime_new, NULL, OUT(brim_runtime *, out));
  TRY(brim_text_status, G(text));
  TRY(brim_settings_read, G(runtime), G(path), FUNCTION(setting_called, setting), NULL);
  TRY(brim_file_create, G(runtime), G(path), OUT(brim_file *, out));
  TRY(brim_file_write, G(file), G(bytes), COUNT(length));
  TRY(brim_file_continue, G(runtime), G(path), 0, OUT(brim_file *, out));
  TRY(brim_file_sync, G(file));
  TRY(brim_file_rewrite, G(file), G(bytes), COUNT(length));
  TRY(brim_file_commit, G(file));
  TRY(brim_file_write_all, G(runtime), G(path), G(bytes), COUNT(length));
  TRY(brim_file_read_all, G(runtime), G(path), 0, OUT(char *, bytes), OUT(size_t, length));
  TRY(brim_make_folder, G(runtime), G(path));
  TRY(brim_hub_find, G(runtime), G(name), NULL, 0, OUT(char *, folder));
}

static void given_of_batch(void) {
  TRY(brim_plan_new, G(runtime), G(lengths), COUNT(rows), G(options), 0, OUT(brim_plan *, out));
  TRY(brim_plan_new_of, G(runtime), G(lengths), G(options), 0, OUT(brim_plan *, out));
  TRY(brim_batch_fill, G(batch), G(runtime), G(dataset), G(part));
  TRY(brim_batch_copy, G(to), G(runtime), G(from));
}

static void given_of_data(void) {
  TRY(brim_reader_open, G(runtime), G(paths), COUNT(path_count), G(options), OUT(brim_reader *, out));
  TRY(brim_reader_next, G(reader), G(record));
  TRY(brim_source_passed_over, G(runtime), G(path), G(names), OUT(uint64_t, count));
  TRY(brim_source_check_numbered, G(runtime), G(folder), G(names), COUNT(count), NULL);
  TRY(brim_text_columns_find, G(runtime), G(paths), COUNT(path_count), G(given), 0, OUT(brim_text_columns, out));
  TRY(brim_text_columns_among, G(runtime), G(columns), COUNT(column_count), G(given), 0, OUT(brim_text_columns, out));
  TRY(brim_shard, G(runtime), G(paths), COUNT(path_count), G(options), G(folder), NULL);
  TRY(brim_encoder_new, G(runtime), reader_given("reader"), G(tokenizer), G(options), OUT(brim_encoder *, out));
  TRY(brim_encoder_next, G(encoder), G(row));
  TRY(brim_labels_make, G(runtime), 0, NULL, 0, OUT(brim_labels, out));
  TRY(brim_labels_copy, G(runtime), G(labels), OUT(brim_labels, out));
  TRY(brim_labels_alike, G(runtime), G(labels), OUT(int32_t, one), OUT(int32_t, other));
  TRY(brim_labels_scan, G(runtime), G(paths), COUNT(path_count), G(options), 0, NULL, NULL, OUT(brim_labels, out), NULL);
  TRY(brim_dataset_load, G(runtime), G(paths), COUNT(path_count), G(tokenizer), G(options), OUT(brim_dataset *, out));
  TRY(brim_dataset_from_samples, G(runtime), G(samples), COUNT(count), NULL, OUT(brim_dataset *, out));
  TRY(brim_dataset_from_rows, G(runtime), G(samples), COUNT(count), NULL, G(further), COUNT(further_count),
      OUT(brim_dataset *, out));
  TRY(brim_dataset_from_texts, G(runtime), FUNCTION(row_called, rows), NULL, 0, G(tokenizer), G(options),
      OUT(brim_dataset *, out));
  TRY(brim_dataset_subset, G(runtime), G(dataset), G(rows), COUNT(count), OUT(brim_dataset *, out));
  TRY(brim_dataset_name_classes, G(dataset), G(names), COUNT(count));
  TRY(brim_dataset_pack, G(runtime), G(dataset), OUT(void *, bytes), OUT(size_t, size));
  TRY(brim_dataset_unpack, G(runtime), G(bytes), COUNT(size), OUT(brim_dataset *, out));
  TRY(brim_dataset_read_json, G(runtime), G(path), OUT(brim_dataset *, out));
}

static void given_of_device(void) {
  TRY(brim_device_gemm_speed, G(runtime), 0, 0, 0, 0, OUT(brim_gemm_speed, speed));
  TRY(brim_gpu_find, OUT(brim_gpu_info, out));
  TRY(brim_gpu_memory_new, G(runtime), 0, NULL, 0, OUT(brim_gpu_memory *, out));
  TRY(brim_gpu_memory_read, G(memory), G(to));
}

static void given_of_dist(void) {
  TRY(brim_ranks_open, G(runtime), NULL, OUT(brim_ranks *, out));
  TRY(brim_ranks_open_process, G(runtime), 0, OUT(brim_ranks *, out));
  TRY(settle_with_error_last, G(ranks), OUT(bool, speaks));
}

static void given_of_embed(void) {
  TRY(brim_embedder_load, G(runtime), G(folder), NULL, OUT(brim_embedder *, out));
  TRY(brim_embedder_over, G(runtime), G(model), G(tokenizer), G(folder), OUT(brim_embedder *, out));
  TRY(brim_encoder_folder, G(runtime), G(folder), G(out));
  TRY(brim_prompts_find, G(runtime), G(folder), NULL, NULL, OUT(brim_prompts, out));
  TRY(brim_prompts_of_columns, G(prompts), G(folder), G(given), COUNT(given_count), G(columns), COUNT(column_count));
  TRY(brim_prompts_use, G(prompts), G(tokenizer), 0, G(model));
  TRY(brim_embedder_run, G(embedder), G(texts), COUNT(count), NULL, G(vectors), NULL);
  TRY(brim_embed_file, G(embedder), G(reader), G(output), G(options), OUT(brim_embed_file_result, result));
  TRY(brim_evaluate_retrieval, G(embedder), G(options), OUT(brim_retrieval_report, out));
  TRY(brim_evaluate_similarity, G(embedder), G(reader), NULL, OUT(brim_similarity_report, out));
}

static void given_of_feed(void) {
  TRY(brim_feed_open, G(runtime), G(paths), COUNT(path_count), G(tokenizer), G(options), OUT(brim_feed *, out));
  TRY(brim_feed_next, G(feed), OUT(const brim_batch *, batch));
  TRY(brim_feed_save, G(feed), G(out));
  TRY(brim_feed_restore, G(feed), G(state), COUNT(length));
}

static void given_of_model(void) {
  TRY(brim_model_describe, G(runtime), G(folder), OUT(brim_model_info, out));
  TRY(brim_model_load, G(runtime), G(folder), NULL, OUT(brim_model *, out));
  TRY(brim_model_save, G(model), NULL, NULL, G(folder), NULL);
  TRY(brim_model_read, G(model), 0, 0, COUNT(count), G(to));
  TRY(brim_model_write, G(model), 0, 0, COUNT(count), G(from));
  TRY(brim_model_freeze, G(model), NULL);
  TRY(brim_model_train_only, G(model), NULL, NULL);
  TRY(brim_optimizer_check, G(options));
  TRY(brim_model_use_optimizer, G(model), G(options));
  TRY(brim_model_prepare, G(model), G(limits));
  TRY(brim_model_list_program, G(model), G(limits), G(out));
  TRY(brim_model_forward, G(model), G(batch), G(pass), NULL, NULL);
  TRY(brim_model_backward, G(model), G(batch), G(pass));
  TRY(brim_model_hidden, G(model), G(batch), G(hidden));
  TRY(brim_model_update, G(model), G(options), OUT(double, norm));
}

static void given_of_profile(void) {
  TRY(brim_profile_new, G(runtime), OUT(brim_profile *, out));
  TRY(brim_profile_write, G(profile), G(path));
  TRY(brim_profile_write_own, G(profile), G(path));
}

static void given_of_report(void) {
  TRY(brim_progress_new, G(runtime), G(stream), 0, OUT(brim_progress *, out));
  TRY(brim_page_new, G(runtime), G(title), OUT(brim_page *, out));
  TRY(brim_page_write, G(page), G(path));
  TRY(brim_page_write_own, G(page), G(path));
}

static void given_of_study(void) {
  TRY(brim_study_dataset, G(runtime), G(dataset), G(options), OUT(brim_study, out));
  TRY(brim_compare, G(runtime), G(model), G(train), NULL, G(options), G(modes), COUNT(mode_count), G(results));
  TRY(brim_folds_deal, G(runtime), G(dataset), 2, 0, OUT(brim_folds, out));
  TRY(brim_folds_shuffle, G(runtime), 0, 0, 0, OUT(brim_folds, out));
  TRY(brim_folds_stratify, G(runtime), G(dataset), 0, 0, OUT(brim_folds, out));
  TRY(brim_folds_given, G(runtime), G(fold), COUNT(rows), 0, OUT(brim_folds, out));
  TRY(brim_folds_read, G(runtime), G(paths), COUNT(path_count), G(source), G(column), G(dataset), 0, OUT(brim_folds, out));
  TRY(brim_hold_out, G(runtime), G(dataset), 0, 0, OUT(brim_dataset *, kept), OUT(brim_dataset *, held));
  TRY(brim_study_folds, G(runtime), G(dataset), G(folds), OUT(brim_overlap, out));
  TRY(brim_train_folds, G(runtime), G(model), NULL, G(dataset), G(folds), G(evals), COUNT(eval_count), G(options),
      OUT(brim_folds_result, result));
  TRY(brim_scaling_measure, G(question));
  TRY(brim_scaling_of, G(question), 0, OUT(brim_scaling, out));
  TRY(brim_scaling_in_pairs, G(question), 0, OUT(double, seconds));
}

static void given_of_text(void) {
  TRY(brim_tokenizer_load, G(runtime), G(path), OUT(brim_tokenizer *, out));
  TRY(brim_tokenizer_content, G(tokenizer), 0, OUT(uint64_t, out));
  TRY(brim_tokenizer_save, G(tokenizer), G(folder), NULL);
  TRY(brim_scratch_new, G(runtime), G(tokenizer), OUT(brim_scratch *, out));
  TRY(brim_encode_options_check, G(tokenizer), G(options), 0);
  TRY(brim_tokenizer_encode, G(tokenizer), G(scratch), G(text), COUNT(text_length), NULL, 0, NULL, G(out));
  TRY(brim_batch_encoder_new, G(runtime), G(tokenizer), OUT(brim_batch_encoder *, out));
  TRY(brim_batch_encoder_run, G(encoder), G(texts), NULL, COUNT(count), NULL, G(out));
  TRY(brim_tokenizer_encode_offsets, G(tokenizer), G(scratch), G(text), COUNT(text_length), NULL, 0, NULL, G(out), G(offsets));
  TRY(brim_tokenizer_decode, G(tokenizer), G(ids), COUNT(count), 0, G(out));
}

static void given_of_train(void) {
  TRY(brim_train_options_check, G(options));
  TRY(brim_dataset_load_together, G(group), G(runtime), G(paths), COUNT(path_count), G(tokenizer), G(options),
      OUT(brim_dataset *, out));
  TRY(brim_dataset_mask, G(runtime), G(dataset), G(tokenizer), 0, G(options), OUT(brim_dataset *, out));
  TRY(brim_dataset_fit, G(runtime), G(model), G(dataset), 0, 0, G(name), OUT(brim_dataset *, mapped));
  TRY(brim_train, G(runtime), G(model), NULL, G(train), G(evals), COUNT(eval_count), G(options), NULL);
  TRY(brim_train_feed, G(runtime), G(model), NULL, G(feed), G(evals), COUNT(eval_count), G(options), NULL);
  TRY(brim_checkpoint_find, G(runtime), G(output), OUT(brim_checkpoint_info, out));
  TRY(brim_predict, G(runtime), G(model), G(dataset), NULL, G(logits));
  TRY(brim_predict_gpu, G(runtime), G(model), G(dataset), NULL, OUT(brim_gpu_memory *, out));
  TRY(brim_predict_each, G(runtime), G(model), G(dataset), NULL, 0, FUNCTION(predicted_called, predicted), NULL);
  TRY(brim_evaluate, G(runtime), G(model), G(dataset), NULL, OUT(brim_metrics, out));
  TRY(brim_confusion_count, 0, 0, G(logits), G(dataset), G(counts));
  TRY(brim_inspect_gradients, G(runtime), G(model), G(batch), 0, G(output));
  TRY(brim_inspect_trajectory, G(runtime), G(model), G(batch), G(hyperparameters), 0, G(output), NULL, NULL);
  TRY(brim_inspect_step, G(runtime), G(model), G(rows), NULL, 0, 0, G(output));
  TRY(brim_inspect_losses, G(runtime), G(path), G(out));
  TRY(brim_inspect_metrics, G(runtime), G(kind), G(path), G(out));
  TRY(brim_check_outputs, G(runtime), G(paths), COUNT(count), 0);
}

static void given_of_views(void) {
  TRY(brim_passages_read, G(runtime), G(paths), COUNT(path_count), G(source), 0, G(passages), COUNT(count));
  TRY(brim_passage_set, G(runtime), G(passage), G(text), COUNT(length), NULL, 0);
  TRY(brim_judge_dataset, G(runtime), G(model), G(dataset), NULL, NULL, OUT(brim_judged, out));
  TRY(brim_judged_read_texts, G(judged), G(paths), COUNT(path_count), G(source));
  TRY(brim_judged_set_text, G(judged), 0, G(text), COUNT(length), NULL, 0);
  TRY(brim_judged_set_near_text, G(judged), 0, 0, G(text), COUNT(length), NULL, 0);
  TRY(brim_confused_make, G(runtime), G(outcomes), COUNT(rows), 0, OUT(brim_confused *, out), OUT(size_t, count));
  TRY(brim_predict_sorted, G(runtime), G(model), G(dataset), NULL, G(out));
  TRY(brim_folds_write, G(runtime), G(folder), G(model), G(dataset), NULL, G(result));
  TRY(brim_judged_write, G(runtime), G(folder), G(sets), COUNT(count));
  TRY(brim_judged_read, G(runtime), G(folder), OUT(brim_judged *, out), OUT(int, count));
  TRY(brim_runs_open, G(runtime), G(folders), COUNT(count), G(runs));
  TRY(brim_page_runs, G(page), G(runs));
  TRY(brim_page_kept, G(page), G(runs));
  TRY(brim_page_settings, G(page), G(runs));
  TRY(brim_page_judged, G(page), G(judged), G(of), 0);
  TRY(brim_report_write, G(runtime), G(folders), COUNT(count), G(folder));
  TRY(brim_mode_curve_add, G(runtime), G(curve), G(event));
  TRY(brim_page_comparison, G(page), G(comparison));
  TRY(brim_survey_add, G(survey), 0, NULL, 0);
  TRY(brim_survey_read, G(survey), G(paths), COUNT(path_count), G(source), G(tokenizer), G(encode));
  TRY(brim_page_analysis, G(page), G(analysis));
  TRY(brim_views_new, G(runtime), NULL, NULL, NULL, OUT(brim_views *, out));
  TRY(brim_views_without_tensorboard, G(views));
}

/* ---- what is freed, and names ------------------------------------------------------------------------------- */

/* Objects that were never made, and structs that nobody filled. */
#define FREE_ZERO(type, call)                                                                                                    \
  do {                                                                                                                           \
    type zero = {0};                                                                                                             \
    call(NULL), call(&zero);                                                                                                     \
  } while (0)

static void freed(void) {
  brim_runtime_free(NULL), brim_file_free(NULL), brim_plan_free(NULL), brim_reader_close(NULL), brim_encoder_close(NULL);
  brim_dataset_free(NULL), brim_gpu_memory_free(NULL), brim_embedder_free(NULL), brim_feed_close(NULL), brim_model_free(NULL);
  brim_profile_free(NULL), brim_progress_free(NULL), brim_page_free(NULL), brim_tokenizer_free(NULL), brim_scratch_free(NULL);
  brim_batch_encoder_free(NULL), brim_views_close(NULL, true);
  brim_passages_free(runtime, NULL, 0), brim_judged_free_all(runtime, NULL, 0), brim_runtime_release(runtime, NULL);
  FREE_ZERO(brim_text, brim_text_free);
  FREE_ZERO(brim_batch, brim_batch_free);
  FREE_ZERO(brim_text_columns, brim_text_columns_free);
  FREE_ZERO(brim_labels, brim_labels_free);
  FREE_ZERO(brim_prompts, brim_prompts_free);
  FREE_ZERO(brim_study, brim_study_free);
  FREE_ZERO(brim_folds, brim_folds_free);
  FREE_ZERO(brim_overlap, brim_overlap_free);
  FREE_ZERO(brim_folds_result, brim_folds_result_free);
  FREE_ZERO(brim_encoding, brim_encoding_free);
  FREE_ZERO(brim_encodings, brim_encodings_free);
  FREE_ZERO(brim_offsets, brim_offsets_free);
  FREE_ZERO(brim_checkpoint_info, brim_checkpoint_info_free);
  FREE_ZERO(brim_judged, brim_judged_free);
  FREE_ZERO(brim_runs, brim_runs_close);
  FREE_ZERO(brim_mode_curve, brim_mode_curve_free);
  FREE_ZERO(brim_survey, brim_survey_free);
  ok(brim_ranks_close(NULL), "what was never made can be freed");
}

#define UNKNOWN(type, call)                                                                                                      \
  ok(strcmp(call((type)99), "unknown") == 0 && strcmp(call((type) - 1), "unknown") == 0, "%s of no value: unknown", #call)
#define REFUSED(type, call)                                                                                                      \
  do {                                                                                                                           \
    type value = (type)1;                                                                                                        \
    ok(!call(NULL, &value) && !call("", &value) && !call("no such", &value) && value == (type)1,                                 \
       "%s of no name: false, and nothing is written", #call);                                                                   \
  } while (0)

static void named(void) {
  char name[BRIM_POOLING_NAME];
  UNKNOWN(brim_cpu_level, brim_cpu_name);
  UNKNOWN(brim_batching, brim_batching_name);
  UNKNOWN(brim_padding, brim_padding_name);
  UNKNOWN(brim_oversize, brim_oversize_name);
  UNKNOWN(brim_tail, brim_tail_name);
  UNKNOWN(brim_precision, brim_precision_name);
  UNKNOWN(brim_work, brim_work_name);
  UNKNOWN(brim_truncation, brim_truncation_name);
  ok(strcmp(brim_task_name((brim_task)99), "auto") == 0, "brim_task_name of no task: auto");
  UNKNOWN(brim_schedule, brim_schedule_name);
  UNKNOWN(brim_final, brim_final_name);
  ok(strcmp(brim_pooling_name((brim_pooling)INT_MAX, name), "unknown") == 0, "brim_pooling_name of no value: unknown");
  REFUSED(brim_batching, brim_batching_parse);
  REFUSED(brim_padding, brim_padding_parse);
  REFUSED(brim_oversize, brim_oversize_parse);
  REFUSED(brim_tail, brim_tail_parse);
  REFUSED(brim_precision, brim_precision_parse);
  REFUSED(brim_pooling, brim_pooling_parse);
  REFUSED(brim_task, brim_task_parse);
  REFUSED(brim_schedule, brim_schedule_parse);
  REFUSED(brim_final, brim_final_parse);
  for (int task = -1; task < 100; task += 50) {
    brim_metrics none = {0};
    brim_field fields[BRIM_METRIC_FIELDS];
    brim_task_shape((brim_task)task), brim_task_has_classes((brim_task)task), brim_task_of_names((brim_task)task);
    ok(brim_metrics_fields((brim_task)task, &none, fields) <= BRIM_METRIC_FIELDS, "a task that there is not has no metrics");
  }
}

int main(void) {
  const brim_runtime_options alone = {.threads = 1};
  if (brim_runtime_new(&alone, &runtime, &err))
    return 99;
  scratch_write("reader.csv", "text\na\n");
  given_of_base(), given_of_batch(), given_of_data(), given_of_device(), given_of_dist(), given_of_embed(), given_of_feed(),
      given_of_model(), given_of_profile(), given_of_report(), given_of_study(), given_of_text(), given_of_train(),
      given_of_views();
  freed();
  named();
  brim_runtime_free(runtime);
  return tap_done();
}
