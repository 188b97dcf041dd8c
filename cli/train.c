/* brim train: fine-tune. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "folds.h"
#include "profile.h"
#include "ranks.h"
#include "train_folds.h"
#include "views.h"

static bool parse_keep(const char *text, void *field) {
  return brim_final_parse(text, field);
}

static const cli_option options[] = {
    HEADING("Model and data"),
    ROWS(cli_job_input_options),
    TEXT("output", output, "RUN", .letter = 'o', .path = CLI_WRITES_RUN, .aliases = "output-dir", .required = true,
         .to = {TRAIN(output)},
         .help =
             "folder of the run: log.jsonl, evaluation.jsonl, report.html, tensorboard, checkpoints, and the model at the end"),
    ROWS(cli_job_task_option),
    ROWS(cli_job_task_options),
    LIST("labels", labels, "NAME", .needs = "stream", .shown = "found by a pass over --train",
         .help = "with --stream: the classes in the order of their ids; give it once for each"),
    ROWS(cli_label_option),
    ROWS(cli_missing_label_option),
    HEADING("How long"),
    ROWS(cli_job_length_options),
    FLAG("resume", resume, .to = {TRAIN(resume)},
         .help = "continue from the newest checkpoint in --output, if there is one; a larger --epochs or --max-steps "
                 "extends the run, even a finished one"),
    FLAG("resume-anyway", resume_anyway, .needs = "resume", .to = {TRAIN(resume_anyway)},
         .help = "continue on a CPU with other instructions (AVX2 instead of AVX-512, say); rounding differs, so the "
                 "result is not bit-identical"),
    FLAG("overwrite", overwrite, .excludes = "resume", .to = {TRAIN(overwrite)}, .help = "replace what is in --output"),
    ROWS(cli_fold_options),
    LIST("test", test, "[NAME=]DATA", .path = CLI_READS_DATA, .needs = "folds fold-column",
         .help = "rows that all folds predict together; no labels needed"),
    HEADING("Batches"),
    ROWS(cli_batch_options),
    ROWS(cli_method_options),
    ROWS(cli_stream_options),
    FLAG("rank-slices", rank_slices, .needs = "stream", .to = {FEED(rank_slices)},
         .help = "each process reads only a slice of the rows; --batch-size must be a multiple of the number of processes"),
    ROWS(cli_loss_options),
    ROWS(cli_mask_options),
    ROWS(cli_optimizer_options),
    HEADING("How often, in optimizer steps"),
    INTEGER("log-every", log_every, "N", 1, CLI_MANY, .to = {TRAIN(log_every)}, .fallback = "1",
            .help = "write a line to log.jsonl"),
    INTEGER("eval-every", eval_every, "N", 1, CLI_MANY, .needs = "eval folds fold-column", .to = {TRAIN(eval_every)},
            .shown = "at the end of each epoch", .help = "evaluate on --eval"),
    INTEGER("save-every", save_every, "N", 1, CLI_MANY, .to = {TRAIN(save_every)}, .shown = "at the end of each epoch",
            .help = "write a checkpoint"),
    INTEGER("keep-checkpoints", keep_checkpoints, "N", 0, 1e6, .to = {TRAIN(keep_checkpoints)}, .aliases = "save-total-limit",
            .shown = "the newest and the best", .help = "number of newest checkpoints to keep besides the best; 0: all"),
    HEADING("Averaging"),
    REAL("swa-start", swa_start, "X", 0, 1, .to = {TRAIN(swa_start)}, .fallback = "0",
         .help = "average the weights from this share of the steps on (0.75, say) into the final model; 0: do not average"),
    INTEGER("swa-every", swa_every, "N", 1, CLI_MANY, .needs = "swa-start", .to = {TRAIN(swa_every)},
            .shown = "about twenty times", .help = "steps between two weights that are averaged"),
    HEADING("Evaluation"),
    TEXT(
        "best-metric", best_metric, "NAME", .needs = "eval folds fold-column", .to = {TRAIN(best_metric)},
        .aliases = "metric-for-best-model", .shown = "accuracy or rmse",
        .help = "metric that decides which checkpoint is best; of the first --eval, or SET/NAME. f1 is that of the second of two "
                "classes, or the mean of more"),
    CHOICE("keep", keep, "best|last", .needs = "eval folds fold-column", .to = {TRAIN(final)}, .parse = parse_keep,
           .shown = "best, with --patience or --best-metric, else last",
           .help = "the model at the end: that of the best evaluation, or that of the last step"),
    INTEGER("patience", patience, "N", 0, CLI_MANY, .needs = "eval folds fold-column", .to = {TRAIN(patience)},
            .aliases = "early-stopping-patience", .fallback = "0",
            .help = "stop after N evaluations in a row without an improvement; 0: never"),
    REAL("min-delta", min_delta, "X", 0, 1e9, .needs = "patience", .to = {TRAIN(min_delta)},
         .aliases = "early-stopping-threshold", .fallback = "0",
         .help = "an evaluation counts as an improvement only if it is better by more than X"),
    INTEGER("eval-batch-size", eval_batch_size, "N", 1, 1e9, .needs = "eval folds fold-column", .to = {TRAIN(eval.batch_size)},
            .aliases = "per-device-eval-batch-size", .shown = "what training's memory holds",
            .help = "rows computed at once; changes no result"),
    CHOICE("eval-batching", eval_batching, CLI_BATCHINGS, .needs = "eval folds fold-column", .fallback = "sorted",
           .to = {TRAIN(eval.batching)}, .parse = cli_parse_batching, .help = "which rows go together in an evaluation"),
    CHOICE("eval-padding", eval_padding, "none|longest|max_length", .needs = "eval folds fold-column", .fallback = "none",
           .to = {TRAIN(eval.padding)}, .parse = cli_parse_padding, .help = "what an evaluation computes"),
    ROWS(cli_machine_options),
    ROWS(cli_precision_option),
    REAL("loss-scale", loss_scale, "X", 1, 1099511627776, .needs = "precision=fp16", .to = {TRAIN(loss_scale)}, .shown = "65536",
         .help = "fp16: initial loss scale, a power of two; a gradient that is not finite halves it and changes no weight"),
    INTEGER("loss-scale-steps", loss_scale_steps, "N", 1, CLI_MANY, .needs = "precision=fp16", .to = {TRAIN(loss_scale_steps)},
            .shown = "2000", .help = "fp16: number of steps in a row with finite gradients after which the loss scale doubles"),
    ROWS(cli_column_options),
    ROWS(cli_cache_option),
    HEADING("Output"),
    FLAG("json", json, .help = "the result as one JSON object"),
    TEXT("profile", profile, "FILE", .path = CLI_WRITES_FILE, .endings = ".json ", .implied = "",
         .shown = "trace.json in --output",
         .help = "report where the time goes: a table on standard error, and a trace for chrome://tracing or "
                 "ui.perfetto.dev in FILE; on a GPU also what the card did"),
    ROWS(cli_rank_options),
    ROWS(cli_general_options),
    {0},
};

/* ---- events ----------------------------------------------------------------------------------------------- */

/* The last evaluation of each set. */
struct cli_last_evals {
  struct {
    char name[64];
    brim_text json; /* its numbers, as an object */
  } items[CLI_LIST_LIMIT];
  int count;
};

static void free_evals(struct cli_last_evals *evals) {
  for (int i = 0; i < evals->count; i++)
    brim_text_free(&evals->items[i].json);
}

static void keep_eval(cli_call *cli, const char *name, const brim_event *event) {
  struct cli_last_evals *evals = cli->last_evals;
  int at = 0;
  while (at < evals->count && strcmp(evals->items[at].name, name) != 0)
    at++;
  if (at == CLI_LIST_LIMIT)
    return;
  brim_text *text = &evals->items[at].json;
  if (at == evals->count) {
    snprintf(evals->items[evals->count++].name, sizeof evals->items[at].name, "%s", name);
    brim_text_init(text, cli->runtime);
  }
  brim_text_clear(text);
  brim_json_writer json = {.out = text};
  brim_json_open_object(&json, NULL);
  for (int i = 0; i < event->field_count; i++) {
    const brim_field *f = &event->fields[i];
    if (f->kind == BRIM_VALUE_INT)
      brim_json_put_integer(&json, f->name, f->integer);
    else if (f->kind == BRIM_VALUE_BOOL)
      brim_json_put_bool(&json, f->name, f->integer != 0);
    else if (f->kind == BRIM_VALUE_REAL && isfinite(f->real))
      brim_json_put_printf(&json, f->name, "%.9g", f->real);
    else if (f->kind == BRIM_VALUE_REAL)
      brim_json_put_string(&json, f->name, NULL);
  }
  brim_json_close_object(&json);
}

/* "step 427, test: loss 0.412, accuracy 0.829" above the bar. */
static void note_eval(cli_call *cli, const brim_event *event) {
  char line[512], number[BRIM_METRIC_TEXT];
  size_t used = 0;
  const brim_field *step = brim_event_field(event, "step"), *name = brim_event_field(event, "name");
  line[0] = 0;
  for (int i = 0; i < event->field_count && used < sizeof line; i++) {
    const brim_field *f = &event->fields[i];
    bool shown = f->kind == BRIM_VALUE_REAL && isfinite(f->real) && strcmp(f->name, "seconds") != 0 &&
                 strcmp(f->name, "epoch") != 0;
    if (shown)
      used += (size_t)snprintf(line + used, sizeof line - used, "%s%s %s", used ? ", " : "", f->name,
                               brim_metric_text(f->real, number));
  }
  if (cli->last_evals)
    keep_eval(cli, name && name->text ? name->text : "eval", event);
  cli_note(cli, "step %lld, %s: %s", step ? (long long)step->integer : 0LL, name && name->text ? name->text : "eval", line);
}

/* "epoch 2: training loss 0.4123": what an evaluation is compared with. */
static void note_epoch(const cli_call *cli, const brim_event *event) {
  const brim_field *epoch = brim_event_field(event, "epoch"), *loss = brim_event_field(event, "loss");
  char number[BRIM_METRIC_TEXT];
  if (epoch && loss && isfinite(loss->real))
    cli_note(cli, "epoch %.3g: training loss %s", epoch->real, brim_metric_text(loss->real, number));
}

/* "trained: 1,538 of 24,802 parameters (2 tensors)", where that is not all. */
static void note_trained(const cli_call *cli, const brim_event *event) {
  const brim_field *all = brim_event_field(event, "parameters"), *trained = brim_event_field(event, "trained_parameters");
  const brim_field *tensors = brim_event_field(event, "trained_tensors");
  char some[32], of[32];
  if (!all || !trained || !tensors || trained->integer == all->integer)
    return;
  brim_count_text(trained->integer, some, sizeof some);
  brim_count_text(all->integer, of, sizeof of);
  cli_note(cli, "trained: %s of %s parameters (%lld tensor%s)", some, of, (long long)tensors->integer,
           tensors->integer == 1 ? "" : "s");
}

/* A run that was begun with larger parts keeps them. */
static void note_limit(const cli_call *cli, int64_t planned) {
  brim_train_options o;
  brim_train_options_init(&o);
  if (cli_fill(&cli->arguments, CLI_TRAIN, &o, NULL) || o.memory_limit == 0 || (uint64_t)planned <= o.memory_limit)
    return;
  cli_note(cli, "--memory-limit %s is less than this run takes: a run that is resumed keeps the parts that it began with",
           cli->values->memory_limit);
}

/* What is done every so many steps, of which the run has fewer. */
static void note_beyond(const cli_call *cli, int64_t steps) {
  const cli_values *v = cli->values;
  const struct {
    const char *option, *what;
    int64_t every;
  } rhythms[] = {{"eval-every", "evaluated", v->eval_every}, {"save-every", "saved", v->save_every}};
  for (size_t i = 0; i < sizeof rhythms / sizeof *rhythms; i++)
    if (rhythms[i].every > steps)
      cli_note(cli, "--%s %lld: the run has %lld step%s, so it is %s at its end alone", rhythms[i].option,
               (long long)rhythms[i].every, (long long)steps, steps == 1 ? "" : "s", rhythms[i].what);
}

/* How many steps, and how much memory, before the first of them. */
static void note_start(const cli_call *cli, const brim_event *event) {
  const brim_field *steps = brim_event_field(event, "total_steps"), *planned = brim_event_field(event, "memory_planned");
  const brim_field *training = brim_event_field(event, "memory_training"), *slots = brim_event_field(event, "slots_at_once");
  const brim_field *slices = brim_event_field(event, "memory_slices");
  char count[32], at_once[32], more[64] = "";
  if (!steps || !planned || !training || !slots || !slices)
    return;
  const brim_field *empty = brim_event_field(event, "empty_texts");
  if (empty)
    cli_note_empty(cli, "", (uint64_t)empty->integer);
  const brim_field *loss = brim_event_field(event, "loss");
  if (loss && loss->kind == BRIM_VALUE_TEXT)
    cli_note(cli, "loss: %s%s", loss->text, cli_given(&cli->arguments, "loss") ? "" : ", by the rows; --loss changes it");
  const brim_field *equal = brim_event_field(event, "equal_pairs");
  if (equal && equal->integer > 0)
    cli_note(cli, "in %lld row%s the second text is the first: there is little to learn from them", (long long)equal->integer,
             equal->integer == 1 ? "" : "s");
  const brim_field *ignored = brim_event_field(event, "ignored_labels");
  if (ignored && ignored->integer > 0)
    cli_note(
        cli,
        "%lld row%s a score or label other than 1, which the loss %s does not look at: their texts are taken to belong together",
        (long long)ignored->integer, ignored->integer == 1 ? " has" : "s have", loss->text);
  const brim_field *alike = brim_event_field(event, "equal_labels");
  if (alike && alike->integer > 0)
    cli_note(cli, "all scores are equal, and the loss %s learns from rows whose scores differ: there is nothing to learn",
             loss->text);
  if (slices->integer > 0)
    snprintf(more, sizeof more, ", %.1f MB for slices", (double)slices->integer / 1e6);
  brim_count_text(steps->integer, count, sizeof count);
  brim_count_text(slots->integer, at_once, sizeof at_once);
  note_beyond(cli, steps->integer);
  if (cli->values->warmup_steps >= steps->integer)
    cli_note(cli, "the warm-up takes %lld steps, and the run has %lld: the learning rate does not reach --lr",
             (long long)cli->values->warmup_steps, (long long)steps->integer);
  note_limit(cli, planned->integer);
  cli_note(cli, "steps: %s; memory: at most %.1f MB, %.1f MB of it for training (up to %s tokens at once%s)", count,
           (double)planned->integer / 1e6, (double)training->integer / 1e6, at_once, more);
}

/* What a run finds in its folder, and what it leaves there. */
static void note_folder(const cli_call *cli, const brim_event *event) {
  const brim_field *kept = brim_event_field(event, "kept"), *names = brim_event_field(event, "names");
  const brim_field *links = brim_event_field(event, "links"), *link = brim_event_field(event, "link");
  const brim_field *readme = brim_event_field(event, "own_readme");
  if (!kept || !names || !links || !link || !readme)
    return;
  const char *run = cli->values->output;
  if (kept->integer > 0)
    cli_note(cli, "%s keeps what is not the run's: %s", run, names->text);
  if (links->integer == 1)
    cli_note(cli, "%s in %s is a link: the run's own file takes its place, and what it points at stays", link->text, run);
  if (links->integer > 1)
    cli_note(cli, "%s in %s and %lld more are links: the run's own files take their place, and what they point at stays",
             link->text, run, (long long)links->integer - 1);
  if (readme->integer)
    cli_note(cli, "README.md in %s is not brim's and stays: how transformers computes this model will not be said there", run);
}

/* Steps are not taken out of an average: a run that becomes only a little longer keeps some that come before its own share. */
static void note_average(const cli_call *cli, const brim_event *event, int64_t step, int64_t total) {
  const brim_field *first = brim_event_field(event, "average_first"), *before = brim_event_field(event, "former_average_first");
  if (first && before && before->integer < first->integer && step > first->integer)
    cli_note(
        cli,
        "the average keeps steps from %lld on, as the shorter run had them; from the beginning, a run of %lld steps averages "
        "from %lld on",
        (long long)before->integer, (long long)total, (long long)first->integer);
}

/* What a resumed run has otherwise than before. */
static void note_resume(const cli_call *cli, const brim_event *event) {
  const brim_field *step = brim_event_field(event, "step"), *total = brim_event_field(event, "total_steps");
  const brim_field *former = brim_event_field(event, "former_steps"), *kernels = brim_event_field(event, "kernels");
  const brim_field *rate = brim_event_field(event, "lr"), *former_rate = brim_event_field(event, "former_lr");
  const brim_field *before = brim_event_field(event, "former_kernels"), *lost = brim_event_field(event, "log_lost");
  if (step && total)
    cli_note(cli, "the run continues after step %lld of %lld", (long long)step->integer, (long long)total->integer);
  if (lost && lost->integer && step)
    cli_note(cli, "log.jsonl does not have all of the %lld steps that were done: its curves begin again here",
             (long long)step->integer);
  if (!step || !total || !former || !kernels || !rate || !former_rate || !before)
    return;
  if (former->kind == BRIM_VALUE_INT)
    cli_note(cli,
             "the run becomes longer: %lld steps in place of %lld; the learning rate of step %lld is %.4g by the longer run's "
             "schedule, in place of %.4g",
             (long long)total->integer, (long long)former->integer, (long long)step->integer + 1, rate->real, former_rate->real);
  if (former->kind == BRIM_VALUE_INT)
    note_average(cli, event, step->integer, total->integer);
  if (before->kind == BRIM_VALUE_TEXT)
    cli_note(cli,
             "the run was begun with %s and continues with %s from step %lld: both compute the same, but round differently, so "
             "the last bits of the weights differ from those of a run without this change",
             before->text, kernels->text, (long long)step->integer + 1);
}

/* In-batch: what the rows of the first step were compared with. */
static void note_negatives(const cli_call *cli, const brim_event *event) {
  const brim_field *step = brim_event_field(event, "step"), *rows = brim_event_field(event, "rows"),
                   *negatives = brim_event_field(event, "negatives"), *equal = brim_event_field(event, "equal_texts");
  if (!step || !rows || !negatives || !equal || step->integer != 1 || rows->integer < 1)
    return;
  if (negatives->integer == 0)
    cli_note(
        cli,
        "the first step's rows have no negatives, from which in-batch learns (%lld equal texts were left out): take a larger "
        "--batch-size",
        (long long)equal->integer);
  else
    cli_note(cli, "negatives: each row of the first step has %.4g (%lld equal texts were left out)",
             (double)negatives->integer / (double)rows->integer, (long long)equal->integer);
}

static void note_fold(const cli_call *cli, const brim_event *event) {
  const brim_field *fold = brim_event_field(event, "fold"), *count = brim_event_field(event, "count");
  if (fold && count)
    cli_note(cli, "fold %lld of 0 to %lld", (long long)fold->integer, (long long)count->integer - 1);
}

/* Each fold is a run, and looked at as one. */
static int next_fold(cli_call *cli, const brim_event *event) {
  char folder[4096];
  const brim_field *fold = brim_event_field(event, "fold");
  snprintf(folder, sizeof folder, "%s/fold-%lld", cli->values->output, fold ? (long long)fold->integer : 0LL);
  note_fold(cli, event);
  cli_views_close(cli, true);
  return cli_views_open(cli, folder);
}

static int on_event(void *context, const brim_event *event) {
  cli_call *cli = context;
  if (strcmp(event->kind, "start") == 0)
    note_trained(cli, event), note_start(cli, event);
  if (strcmp(event->kind, "folder") == 0)
    note_folder(cli, event);
  if (strcmp(event->kind, "resume") == 0)
    note_resume(cli, event);
  if (strcmp(event->kind, "step") == 0)
    note_negatives(cli, event);
  if (strcmp(event->kind, "eval") == 0)
    note_eval(cli, event);
  if (strcmp(event->kind, "epoch") == 0)
    note_epoch(cli, event);
  if (strcmp(event->kind, "fold") == 0)
    return next_fold(cli, event);
  if (cli->views)
    (void)brim_views_event(cli->views, event);
  return cli_progress(cli, event);
}

/* ---- result ----------------------------------------------------------------------------------------------- */

static double rate(const brim_train_result *r) {
  return r->seconds > 0 ? (double)r->tokens / r->seconds : 0;
}

/* A person may have removed it, and some runs keep none. */
static bool best_is_kept(const char *run) {
  char path[4096];
  const int length = snprintf(path, sizeof path, "%s/checkpoints/best", run);
  return length > 0 && (size_t)length < sizeof path && access(path, F_OK) == 0;
}

/* Which step's model it is, where that is not plain. */
static void put_which(brim_text *out, const brim_train_result *r, const char *run) {
  const bool earlier = r->best_step > 0 && r->model_step != r->steps,
             elsewhere = r->best_step > 0 && r->model_step != r->best_step;
  if (r->averaged > 0)
    brim_text_printf(out, "the model is in %s: the average of %llu steps\n", run, (unsigned long long)r->averaged);
  else if (earlier)
    brim_text_printf(out, "the model is in %s: the best, of step %llu of %llu\n", run, (unsigned long long)r->model_step,
                     (unsigned long long)r->steps);
  else if (elsewhere && !best_is_kept(run))
    brim_text_printf(out, "the model of the last step is in %s; no checkpoint has that of the best evaluation\n", run);
  else if (elsewhere)
    brim_text_printf(out, "the model of the best evaluation is in %s/checkpoints/best, that of the last step in %s\n", run, run);
  else
    brim_text_printf(out, "the model is in %s\n", run);
}

static void put_result(brim_text *out, const brim_train_result *r, const cli_values *v, bool evaluated) {
  const char *run = v->output;
  char counts[4][32], duration[32], number[BRIM_METRIC_TEXT];
  const double values[] = {(double)r->steps, (double)r->rows, (double)r->tokens, rate(r)};
  for (int i = 0; i < 4; i++)
    brim_count_text((int64_t)values[i], counts[i], sizeof counts[i]);
  brim_duration_text(r->seconds, duration, sizeof duration);
  brim_text_printf(out, "%s step%s, %s rows, %s tokens in %s (%s tokens/s), loss %s\n", counts[0], r->steps == 1 ? "" : "s",
                   counts[1], counts[2], duration, counts[3], brim_metric_text(r->loss, number));
  if (isnan(r->best_metric) && evaluated)
    brim_text_printf(out, "no evaluation is the best: %s was undefined in all of them (--best-metric names another)\n",
                     v->best_metric ? v->best_metric : "the metric");
  if (isfinite(r->best_metric))
    brim_text_printf(out, "%sbest evaluation: %s %s after step %llu\n",
                     r->stopped_early ? "stopped early: patience is at its end\n" : "", r->metric ? r->metric : "metric",
                     brim_metric_text(r->best_metric, number), (unsigned long long)r->best_step);
  put_which(out, r, run);
}

static void put_result_json(brim_text *out, const brim_train_result *r, const char *run, const struct cli_last_evals *evals) {
  brim_json_writer json = {.out = out};
  brim_json_open_object(&json, NULL);
  brim_json_put_count(&json, "steps", r->steps);
  brim_json_put_count(&json, "rows", r->rows);
  brim_json_put_count(&json, "tokens", r->tokens);
  brim_json_put_count(&json, "slots", r->slots);
  brim_json_put_number(&json, "seconds", r->seconds);
  brim_json_put_number(&json, "tokens_per_second", rate(r));
  brim_json_put_number(&json, "loss", r->loss);
  brim_json_put_number(&json, "best_metric", r->best_metric);
  brim_json_put_string(&json, "metric", r->metric);
  if (evals->count) {
    brim_json_open_object(&json, "eval");
    for (int i = 0; i < evals->count; i++)
      brim_json_put_text(&json, evals->items[i].name, &evals->items[i].json);
    brim_json_close_object(&json);
  }
  brim_json_put_bool(&json, "stopped_early", r->stopped_early);
  brim_json_put_count(&json, "best_step", r->best_step);
  brim_json_put_count(&json, "model_step", r->model_step);
  brim_json_put_bool(&json, "resumed", r->resumed);
  brim_json_put_string(&json, "output", run);
  brim_json_close_object(&json);
  brim_text_string(out, "\n");
}

/* Whether the run has a checkpoint, and the step of the newest. */
static bool newest_checkpoint(cli_call *cli, uint64_t *step) {
  brim_checkpoint_info info = {0};
  int status = brim_checkpoint_find(cli->runtime, cli->values->output, &info, NULL);
  const bool found = !status && info.folder;
  *step = info.step;
  brim_checkpoint_info_free(&info);
  return found;
}

/* Whether the failure is of a file in it. */
static bool is_in_checkpoint(const cli_call *cli, uint64_t step) {
  char path[64];
  snprintf(path, sizeof path, "checkpoints/step-%llu/", (unsigned long long)step);
  return strstr(cli->error.file, path);
}

/* What a failure to write says besides: where a resumed run begins. */
static void say_what_is_kept(cli_call *cli) {
  char path[4200];
  const char *run = cli->values->output;
  uint64_t step;
  snprintf(path, sizeof path, "%s/replaced-run", run);
  const bool found = newest_checkpoint(cli, &step);
  if (found && is_in_checkpoint(cli, step))
    return; /* it cannot be read */
  if (found)
    snprintf(cli->hint, sizeof cli->hint, "; the checkpoint of step %llu is kept, and --resume continues from it",
             (unsigned long long)step);
  else if (access(path, F_OK) == 0)
    snprintf(cli->hint, sizeof cli->hint, "; the run that was there is in %.200s", path);
}

static void say_where_to_resume(cli_call *cli, const brim_train_result *r) {
  const cli_values *v = cli->values;
  uint64_t step;
  if (r->steps > 0 || (v->resume && newest_checkpoint(cli, &step)))
    snprintf(cli->hint, sizeof cli->hint, "; a checkpoint is in %s, and --resume continues from it", v->output);
  else
    cli_job_hint_no_step(cli);
}

/* A README.md of brim's in the run's folder: it is there where transformers computes something else. */
static void note_readme(const cli_call *cli) {
  char path[4200], head[32] = "";
  snprintf(path, sizeof path, "%s/README.md", cli->values->output);
  FILE *file = fopen(path, "re");
  const size_t got = file ? fread(head, 1, sizeof head - 1, file) : 0;
  if (file)
    fclose(file);
  if (got && strncmp(head, "<!-- written by brim -->", 24) == 0)
    cli_note(cli, "transformers opens this model, but computes other numbers: %s has lines that compute these", path);
}

static int put_results(cli_call *cli, const brim_train_result *result) {
  const cli_values *v = cli->values;
  if (v->swa_start > 0 && result->averaged == 0)
    cli_note(cli, "the run ended before averaging began (--swa-start %g): the model has its last weights, not their mean",
             v->swa_start);
  brim_text out;
  note_readme(cli);
  if (cli_reader_gone())
    return BRIM_OK; /* all is done and kept, and nobody could be informed */
  brim_text_init(&out, cli->runtime);
  if (v->json)
    put_result_json(&out, result, v->output, cli->last_evals);
  else
    put_result(&out, result, v, cli->last_evals->count > 0);
  int status = v->json ? cli_write(cli, NULL, &out) : cli_show(cli, &out);
  brim_text_free(&out);
  return status;
}

/* Once, and only where it is true: with instructions for 16-bit values, layers that multiply them, and wide enough for their
 * products to be most of the work. --precision fp32 is an answer too. */
static void note_precision(const cli_call *cli, const brim_model *model) {
  enum { WIDE = 256, LENGTH = 64 };
  if (cli_given(&cli->arguments, "precision") || cli->values->resume || strcmp(cli->values->device, "cpu") != 0 ||
      brim_model_hidden_size(model) < WIDE || brim_model_half_share(model, LENGTH) < 0.5)
    return;
  if (brim_device_describe(cli->runtime).bf16_fast)
    cli_note(cli, "--precision bf16 would be faster here: this processor multiplies 16-bit values; --precision fp32 keeps this "
                  "line away");
}

static int train(cli_call *cli, cli_job *job) {
  brim_train_result result = {0};
  int status = cli_views_open(cli, cli->values->output);
  if (status)
    return status;
  note_precision(cli, job->model);
  status = job->feed ? brim_train_feed(cli->runtime, job->model, job->tokenizer, job->feed, job->evals, job->eval_count,
                                       &job->options, &result, &cli->error)
                     : brim_train(cli->runtime, job->model, job->tokenizer, job->train, job->evals, job->eval_count,
                                  &job->options, &result, &cli->error);
  const bool kept = status == BRIM_E_CANCELLED && result.interrupted && (result.steps > 0 || cli->values->resume);
  if (job->feed)
    cli_note_damage(cli, job->feed);
  if (result.interrupted)
    brim_runtime_resume(cli->runtime); /* what the run keeps is still to be written */
  cli_views_close(cli, !status || kept);
  if (status == BRIM_E_CANCELLED && result.interrupted)
    say_where_to_resume(cli, &result);
  if (status == BRIM_E_IO)
    say_what_is_kept(cli);
  return status ? status : put_results(cli, &result);
}

static int run(cli_call *cli) {
  cli_job job = {0};
  struct cli_last_evals evals = {0};
  signal(SIGPIPE, SIG_IGN); /* a closed progress pipe is no reason to lose a run */
  int status = cli_folds_check(cli);
  if (!status && cli->values->profile)
    status = brim_profile_new(cli->runtime, &job.profile, &cli->error);
  if (!status)
    status = cli_job_open(cli, &job);
  if (!status) {
    job.options.event = on_event;
    job.options.evaluated = cli_views_evaluated;
    cli->last_evals = &evals;
    status = cli_folds_wanted(cli->values) ? cli_train_folds(cli, &job) : train(cli, &job);
    cli->last_evals = NULL;
  }
  if (job.profile && cli->group.rank == 0 && brim_profile_row_count(job.profile) > 0)
    status = cli_profile_end(cli, job.profile, status);
  brim_profile_free(job.profile);
  cli_job_close(&job);
  free_evals(&evals);
  return status;
}

const cli_command cli_train = {
    .name = "train",
    .summary = "fine-tune an encoder on labelled texts",
    .operands = "",
    .description = "Fine-tunes a pretrained encoder for classification, regression, labels of words, vectors of texts or "
                   "reranking, or adapts it to texts without labels (--task mlm), and writes a folder that Hugging Face "
                   "transformers opens, of vectors or rerankers sentence-transformers. By default batches are random and nothing "
                   "is padded. Ctrl-C "
                   "writes a checkpoint first; --resume continues from it.\n"
                   "With --folds every row is held out once. RUN/fold-N is the run of a fold, and RUN/folds.csv says which "
                   "rows it held out. RUN/predictions.jsonl has the predictions for the held-out rows, RUN/folds.json their "
                   "metrics. RUN/predictions-NAME.jsonl has the mean prediction of all folds for --test and --eval.",
    .options = options,
    .example = "brim train --model MiniLM --train train.csv --eval test.csv --output run --epochs 2 --lr 5e-5",
    .run = run,
};
