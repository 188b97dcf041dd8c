#include "job.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folds.h"
#include "ranks.h"

/* ---- checks before anything is read ----------------------------------------------------------------------- */

static int check_machine(cli_call *cli) {
  brim_precision precision;
  int status = cli_check_device(cli);
  if (!status)
    status = cli_pick_precision(cli, &precision);
  if (!status && precision == BRIM_PRECISION_INT8)
    return brim_error_set(&cli->error, BRIM_E_USAGE,
                          "--precision int8 is for `brim predict` and `brim evaluate`: train in fp32 or bf16");
  return status;
}

/* ---- data ------------------------------------------------------------------------------------------------- */

const char *cli_cut_name(const char *unnamed, const char *item, int index, int count, char *name, size_t size) {
  const char *equals = strchr(item, '=');
  if (equals && equals > item && (size_t)(equals - item) < size && access(item, F_OK) != 0) {
    snprintf(name, size, "%.*s", (int)(equals - item), item);
    return equals + 1;
  }
  if (count == 1)
    snprintf(name, size, "%s", unnamed);
  else
    snprintf(name, size, "%s%d", unnamed, index + 1);
  return item;
}

/* --eval 10%: what makes no sense of it. */
static int check_shares(cli_call *cli) {
  const cli_values *v = cli->values;
  char name[64];
  bool held_out = false;
  for (int i = 0; i < v->eval.count; i++) {
    double share;
    if (!cli_is_share(cli_cut_name("eval", v->eval.items[i], i, v->eval.count, name, sizeof name), &share))
      continue;
    const char *wrong = held_out                    ? "a share of the rows is held out once"
                        : !(share > 0 && share < 1) ? "a share of the rows lies between 0% and 100%"
                        : v->fold_column            ? "--fold-column holds out every row once"
                        : v->folds                  ? "--folds holds out every row once"
                        : v->stream                 ? "--stream does not know its rows: name a file"
                                                    : NULL;
    if (wrong)
      return brim_error_set(&cli->error, BRIM_E_USAGE, "--eval %g%%: %s", 100 * share, wrong);
    held_out = true;
  }
  return BRIM_OK;
}

/* What an item of --eval, then of --test, names after NAME=; false: no file or folder, as a pattern, a share or a pipe. */
static bool named_file(const cli_values *v, int i, const char **option, const char **path, struct stat *info) {
  const bool test = i >= v->eval.count;
  const cli_list *list = test ? &v->test : &v->eval;
  const int item = test ? i - v->eval.count : i;
  char name[64];
  *option = test ? "--test" : "--eval";
  *path = cli_cut_name("", list->items[item], item, list->count, name, sizeof name);
  return stat(*path, info) == 0 && (S_ISREG(info->st_mode) || S_ISDIR(info->st_mode));
}

static bool same_file(const struct stat *a, const struct stat *b) {
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static void note_trained(const cli_call *cli, const char *option, const char *path, const struct stat *info) {
  struct stat trained;
  for (int i = 0; i < cli->values->train.count; i++)
    if (stat(cli->values->train.items[i], &trained) == 0 && same_file(&trained, info))
      cli_note(cli, "%s %s: these rows are trained on, so their metrics do not say how well other rows are predicted", option,
               path);
}

/* One set under two names is taken for two when their numbers are compared. */
static int check_sets(cli_call *cli) {
  const cli_values *v = cli->values;
  const char *option, *path, *other, *before;
  struct stat info, earlier;
  for (int i = 0; i < v->eval.count + v->test.count; i++) {
    if (!named_file(v, i, &option, &path, &info))
      continue;
    for (int k = 0; k < i; k++)
      if (named_file(v, k, &other, &before, &earlier) && same_file(&earlier, &info))
        return brim_error_set(&cli->error, BRIM_E_USAGE, "%s %s: %s %s is the same file: leave one out", option, path, other,
                              before);
    note_trained(cli, option, path, &info);
  }
  return BRIM_OK;
}

/* These rows are not trained on. */
static int hold_out(cli_call *cli, cli_job *job, double share, brim_dataset **out) {
  enum { SEED = 42 };
  const cli_values *v = cli->values;
  char count[32], rows[32];
  brim_dataset *kept;
  const uint64_t seed = cli_given(&cli->arguments, "fold-seed") ? (uint64_t)v->fold_seed : SEED;
  int status = brim_hold_out(cli->runtime, job->train, share, seed, &kept, out, &cli->error);
  if (status)
    return status;
  brim_count_text((int64_t)brim_dataset_rows(*out), count, sizeof count);
  brim_count_text((int64_t)brim_dataset_rows(job->train), rows, sizeof rows);
  cli_note(cli, "%s of %s rows are held out for evaluation", count, rows);
  brim_dataset_free(job->train);
  job->train = kept;
  return BRIM_OK;
}

/* --task, or what the class of the model says. */
static brim_task choose_task(cli_call *cli, const brim_model_info *info) {
  const brim_task task = cli->values->task ? cli_task(cli) : info->task;
  cli_take_task(cli, task);
  return task;
}

/* Rows of embeddings and rerankers may have none: the model is of the task nevertheless. */
static const brim_labels *labels_of(const cli_job *job) {
  const brim_labels *own = job->feed ? NULL : brim_dataset_labels(job->train);
  return own ? own : &job->labels;
}

/* A file whose quotes are text, where they were not meant so. */
static void note_quotes(const cli_call *cli, const brim_labels *labels) {
  bool quoted = labels->names != NULL;
  for (int32_t i = 0; quoted && i < labels->count; i++) {
    const size_t length = strlen(labels->names[i]);
    quoted = length > 1 && labels->names[i][0] == '"' && labels->names[i][length - 1] == '"';
  }
  if (quoted)
    cli_note(cli,
             "the names of all classes are in quotes, which belong to them; --quote csv reads the file as csv does, without");
}

/* What is learned, always: a column of 1.0 and 0.0 is a regression, which may not be what is meant. */
static int note_task(cli_call *cli, const brim_labels *labels) {
  char what[400];
  int32_t one, other;
  const char *because = brim_task_describe(labels->task, labels->count, (const char *const *)labels->names, what, sizeof what);
  if (!*what)
    return BRIM_OK; /* the loss is said, which follows from the rows */
  if (cli->masks) {
    cli_note(cli, "task: %s, %s of a text's tokens%s", what, cli->values->mask_rate ? cli->values->mask_rate : "0.15",
             cli->values->whole_words ? ", whole words" : "");
    return BRIM_OK;
  }
  const char *change = labels->names        ? "; --task changes it"
                       : labels->count == 1 ? "; if they are classes: --task classification"
                                            : "";
  if (cli->values->task || !because)
    cli_note(cli, "task: %s", what);
  else
    cli_note(cli, "task: %s, %s%s", what, because, change);
  int status = brim_labels_alike(cli->runtime, labels, &one, &other, &cli->error);
  if (!status && one >= 0)
    cli_note(cli,
             "the classes \"%.80s\" and \"%.80s\" look alike (they differ in spaces, capitals, signs that are not seen, or how "
             "the same "
             "is written) and are two: correct the data if they are one",
             labels->names[one], labels->names[other]);
  const char *meaning;
  const int32_t odd = brim_labels_odd(labels, &meaning);
  if (odd >= 0)
    cli_note(cli, "the class \"%.80s\" looks like %s", labels->names[odd], meaning);
  note_quotes(cli, labels);
  cli_note_entities(cli, labels);
  return status;
}

/* --keep-head: rows with other labels are refused where they are read. */
static int take_model_labels(cli_call *cli, cli_job *job) {
  const cli_values *v = cli->values;
  brim_model *model = NULL;
  int status = brim_model_load(cli->runtime, v->model, &(brim_model_options){.no_values = true}, &model, &cli->error);
  if (!status && brim_model_initialized_count(model) > 0)
    status = brim_error_set(&cli->error, BRIM_E_USAGE, "--keep-head: %s has no %s, so there is nothing to keep: leave it out",
                            v->model, brim_model_initialized_name(model, 0));
  if (!status && brim_model_shape(model)->made)
    status = brim_error_set(&cli->error, BRIM_E_USAGE, "--keep-head: %s is of masked words, which have no labels: leave it out",
                            v->model);
  if (!status && v->task && cli_task(cli) != brim_model_task(model))
    status = brim_error_set(&cli->error, BRIM_E_USAGE,
                            "--keep-head: the model's task is %s, not %s: leave out one of both options",
                            brim_task_name(brim_model_task(model)), v->task);
  if (!status)
    status = brim_labels_copy(cli->runtime, brim_model_labels(model), &job->labels, &cli->error);
  brim_model_free(model);
  return status;
}

static int open_stream(cli_call *cli, cli_job *job, brim_task task, int32_t max_length) {
  const cli_values *v = cli->values;
  const cli_feed_request request = {.paths = v->train.items,
                                    .path_count = v->train.count,
                                    .tokenizer = job->tokenizer,
                                    .labels = cli->masks ? NULL : &job->labels,
                                    .columns = &job->columns,
                                    .plan = &job->options.plan,
                                    .rank = cli->group.rank,
                                    .max_length = max_length};
  if (brim_task_shape(task)->several_texts && !v->loss)
    return brim_error_set(&cli->error, BRIM_E_USAGE,
                          "--stream: the rows are not looked at before training: name their loss with --loss");
  int status = v->keep_head ? BRIM_OK : cli_stream_labels(cli, request.paths, request.path_count, task, &job->labels);
  if (!status && !job->options.max_steps)
    status = cli_stream_steps(cli, &request, job->labels.task, &job->options.max_steps);
  return status ? status : cli_open_feed(cli, &request, &job->feed);
}

static bool source_skips(const cli_call *cli) {
  return cli->values->missing_label && strcmp(cli->values->missing_label, "skip") == 0;
}

static int load_data(cli_call *cli, cli_job *job, brim_task task, int32_t max_length) {
  const cli_values *v = cli->values;
  cli_dataset_request request = {.paths = v->train.items,
                                 .path_count = v->train.count,
                                 .tokenizer = job->tokenizer,
                                 .max_length = max_length,
                                 .need_label = !cli->masks,
                                 .task = task};
  const char *of_labels = v->keep_head        ? "--keep-head"
                          : v->label_column   ? "--label-column"
                          : v->labels.count   ? "--labels"
                          : source_skips(cli) ? "--missing-label skip"
                                              : NULL;
  if (cli->masks && of_labels)
    return brim_error_set(&cli->error, BRIM_E_USAGE, "%s is for rows with labels, which --task mlm does not take", of_labels);
  int status = cli_ranks_share(cli, !v->stream + v->eval.count + (cli_folds_wanted(v) ? v->test.count : 0));
  if (!status && v->keep_head)
    status = take_model_labels(cli, job);
  else if (!status && !v->stream && brim_task_shape(task)->optional)
    status = brim_labels_make(cli->runtime, task, NULL, 1, &job->labels, &cli->error);
  if (v->keep_head)
    request.labels = &job->labels;
  if (!status)
    status = v->stream ? open_stream(cli, job, task, max_length) : cli_load_dataset(cli, &request, &job->train);
  if (!status)
    status = note_task(cli, labels_of(job));
  for (int i = 0; !status && i < v->eval.count; i++) {
    brim_dataset *dataset = NULL;
    double share;
    const char *path = cli_cut_name("eval", v->eval.items[i], i, v->eval.count, job->eval_names[i], sizeof job->eval_names[i]);
    request.paths = &path, request.path_count = 1, request.labels = cli->masks ? NULL : labels_of(job);
    status = cli_is_share(path, &share) ? hold_out(cli, job, share, &dataset) : cli_load_dataset(cli, &request, &dataset);
    if (!status)
      job->evals[job->eval_count++] = (brim_named_dataset){.name = job->eval_names[i], .dataset = dataset};
  }
  return status;
}

/* ---- model ------------------------------------------------------------------------------------------------ */

/* "3 tensors: a, b, c" with at most three names. */
static void note_names(const cli_call *cli, const char *what, int count, const char *(*name)(const brim_model *, int),
                       const brim_model *model) {
  char names[512];
  size_t used = 0;
  for (int i = 0; i < count && i < 3 && used < sizeof names; i++)
    used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", name(model, i));
  if (count)
    cli_note(cli, "%d %s: %s%s", count, what, names, count > 3 ? ", ..." : "");
}

/* A classifier of as many classes under other names is continued, as with Hugging Face, though the user may not have meant it. */
static void note_former_classes(cli_call *cli, const brim_model *model) {
  const char *first = brim_model_former_class(model, 0), *second = brim_model_former_class(model, 1);
  const char *more = brim_model_former_class(model, 2) ? ", ..." : "";
  char *const *now = brim_model_labels(model)->names;
  if (first && second)
    cli_note(cli, "the model's classes were %s, %s%s and are now %s, %s%s, in this order: its classifier is kept", first, second,
             more, now[0], now[1], more);
}

/* A resumed run keeps the kernels that it began with, so that its bits stay the same; a --cpu or --device that says otherwise is
 * refused later, unless it resumes anyway. */
static const char *kernels_to_resume(const cli_call *cli, const brim_checkpoint_info *checkpoint) {
  const bool chosen = cli_given(&cli->arguments, "cpu") && strcmp(cli->values->cpu, "auto") != 0;
  return chosen || cli_given(&cli->arguments, "device") || cli->values->resume_anyway ? NULL : checkpoint->kernels;
}

static int load_model(cli_call *cli, cli_job *job) {
  const cli_values *v = cli->values;
  brim_checkpoint_info checkpoint = {0};
  brim_model_options options = {.labels = labels_of(job)};
  int status = v->resume ? brim_checkpoint_find(cli->runtime, v->output, &checkpoint, &cli->error) : BRIM_OK;
  options.kernels = kernels_to_resume(cli, &checkpoint);
  if (!status)
    status = cli_fill(&cli->arguments, CLI_MODEL, &options, &cli->error);
  if (!status)
    status = brim_model_load(cli->runtime, v->model, &options, &job->model, &cli->error);
  const bool kept = checkpoint.folder != NULL; /* whose weights take the place of all tensors */
  brim_checkpoint_info_free(&checkpoint);
  if (status)
    return status;
  note_names(cli, "tensors of the file are not used", brim_model_unused_count(job->model), brim_model_unused_name, job->model);
  if (!kept)
    note_names(cli, "tensors are new", brim_model_initialized_count(job->model), brim_model_initialized_name, job->model);
  note_former_classes(cli, job->model);
  return BRIM_OK;
}

/* sentence-transformers says what it was made for; a classifier looks at the first token if nothing else is asked for. */
static void note_pooling(cli_call *cli, const brim_model *model, brim_pooling made_for) {
  char name[BRIM_POOLING_NAME], layers[BRIM_LAYERS_NAME];
  const bool several = strcmp(brim_model_layers(model, layers), "last") != 0;
  const brim_pooling pooling = brim_model_pooling(model);
  brim_pooling_name(made_for, name);
  if (brim_model_shape(model)->bare)
    cli_note(cli, "vectors are %s of a text's tokens%s%s%s",
             pooling == BRIM_POOLING_CLS    ? "the first"
             : pooling == BRIM_POOLING_MAX  ? "the largest values"
             : pooling == BRIM_POOLING_MEAN ? "the mean"
                                            : brim_pooling_name(pooling, name),
             several ? ", of layers " : "", several ? layers : "",
             cli_given(&cli->arguments, "pooling") ? "" : "; --pooling changes it");
  else if (made_for != BRIM_POOLING_CONFIG && made_for != brim_model_pooling(model) && !cli_given(&cli->arguments, "pooling"))
    cli_note(cli, "this model was made for %s pooling; --pooling %s trains with it", name, name);
}

/* Where the folder is used, they have to be named. */
static void note_prompts(const cli_call *cli, const brim_prompts *p) {
  for (int i = 0, next; i < BRIM_MOST_PROMPTS; i = next) {
    char which[60];
    next = i + 1;
    while (next < BRIM_MOST_PROMPTS && p->names[i] && p->names[next] && strcmp(p->names[i], p->names[next]) == 0)
      next++;
    if (i > 0 && next == BRIM_MOST_PROMPTS)
      snprintf(which, sizeof which, "the others begin");
    else if (next > i + 1 && next < BRIM_MOST_PROMPTS)
      snprintf(which, sizeof which, "texts %d to %d of each row begin", i + 1, next);
    else if (i > 0)
      snprintf(which, sizeof which, "text %d of each row begins", i + 1);
    else
      snprintf(which, sizeof which, "%s begins", next == BRIM_MOST_PROMPTS ? "each text" : "the first text of each row");
    if (p->texts[i])
      cli_note(cli, "%s with \"%.80s\", the prompt %.60s of the run's folder: brim embed --prompt %.60s does the same", which,
               p->texts[i], p->names[i], p->names[i]);
  }
}

int cli_job_train_options(cli_call *cli, const cli_job *job, int32_t max_length, brim_train_options *o) {
  brim_train_options_init(o);
  int status = cli_plan_options(cli, &o->plan);
  if (!status)
    status = cli_fill(&cli->arguments, CLI_TRAIN, o, &cli->error);
  if (!status)
    status = cli_pick_precision(cli, &o->precision);
  if (status)
    return status;
  o->plan.max_length = max_length;
  o->profile = job->profile;
  o->group = cli->group;
  o->plan.world_size = cli->group.world_size;
  o->options_json = job->options_json.data;
  o->event = cli_progress, o->event_context = cli;
  return brim_train_options_check(o, &cli->error);
}

int cli_job_open(cli_call *cli, cli_job *job) {
  brim_model_info info;
  int32_t max_length = 0;
  brim_model_options unread = {0};
  brim_text_init(&job->options_json, cli->runtime);
  cli_options_json(&cli->arguments, &job->options_json);
  int status = brim_text_status(&job->options_json, &cli->error);
  if (!status)
    status = check_machine(cli);
  if (!status)
    status = cli_fill(&cli->arguments, CLI_MODEL, &unread, &cli->error); /* refuses words that are none before the data is read */
  if (!status)
    status = check_shares(cli);
  if (!status)
    status = check_sets(cli);
  if (!status && cli->values->stream && cli->values->cache && !cli->values->eval.count)
    status = brim_error_set(&cli->error, BRIM_E_USAGE, "--cache has no effect on a stream: leave it out, or give --eval");
  if (!status)
    status = brim_model_describe(cli->runtime, cli->values->model, &info, &cli->error);
  brim_profile_begin(job->profile, BRIM_WORK_START, "read the tokenizer");
  if (!status)
    status = cli_load_tokenizer(cli, &job->tokenizer);
  if (!status)
    status = cli_check_vocabulary(cli, job->tokenizer, info.vocab_size);
  brim_profile_end(job->profile, 0);
  if (!status)
    status = cli_cut_rows(cli, &info, cli_task(cli), job->tokenizer, &max_length); /* as they will be when the folder is used */
  if (!status)
    status = cli_job_train_options(cli, job, max_length, &job->options); /* refuses what makes no sense before the data is read */
  brim_profile_begin(job->profile, BRIM_WORK_START, "read and encode the data");
  if (!status)
    status = brim_prompts_find(cli->runtime, cli->values->model, cli->values->query_prompt, cli->values->document_prompt,
                               &job->prompts, &cli->error);
  cli->prompts = &job->prompts;
  if (!status)
    status = load_data(cli, job, choose_task(cli, &info), max_length);
  if (!status)
    note_prompts(cli, &job->prompts);
  brim_profile_end(job->profile, 0);
  brim_profile_begin(job->profile, BRIM_WORK_START, "read the model");
  if (!status)
    status = load_model(cli, job);
  if (!status)
    status = brim_prompts_use(&job->prompts, job->tokenizer, max_length, job->model, &cli->error);
  if (!status)
    note_pooling(cli, job->model, info.made_for);
  malloc_trim(0); /* what reading the data took and gave back does not stay with the process */
  brim_profile_end(job->profile, 0);
  return status;
}

void cli_job_hint_no_step(cli_call *cli) {
  if (cli->values->resume)
    snprintf(cli->hint, sizeof cli->hint, "; there was no step yet, and nothing is kept");
  else
    snprintf(cli->hint, sizeof cli->hint, "; there was no step yet: nothing is kept, and %.200s is as it was",
             cli->values->output);
}

void cli_job_close(cli_job *job) {
  brim_model_free(job->model);
  for (int i = 0; i < job->eval_count; i++)
    brim_dataset_free((brim_dataset *)job->evals[i].dataset);
  brim_dataset_free(job->train);
  brim_feed_close(job->feed);
  cli_columns_free(&job->columns);
  brim_prompts_free(&job->prompts);
  brim_labels_free(&job->labels);
  brim_tokenizer_free(job->tokenizer);
  brim_text_free(&job->options_json);
}
