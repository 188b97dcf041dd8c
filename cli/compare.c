/* brim compare: the same job under several kinds of batches and padding. */
#include <math.h>
#include <string.h>

#include "commands.h"
#include "job.h"
#include "modes.h"
#include "ranks.h"

static const cli_option options[] = {
    HEADING("Model and data"),
    ROWS(cli_job_input_options),
    NAMES("modes", compared, "MODE,MODE,..", .fallback = "fixed,dynamic,uniform,brim",
          .help = "what to compare, separated by commas: fixed (random+max_length), dynamic (random+longest), uniform "
                  "(uniform+longest), brim (random+none), or any BATCHING+PADDING; each may have its own options: "
                  "brim+checkpoint, uniform+max-tokens=2048+accumulate=2"),
    CHOICE("task", task, "classification|regression|multi-label|tokens|embedding|rerank", .shown = "by the labels",
           .help = "what labels are, as `brim train` has it; masked words have no labels by which modes could be compared"),
    ROWS(cli_job_task_options),
    ROWS(cli_label_option),
    ROWS(cli_missing_label_option),
    HEADING("How long"),
    ROWS(cli_job_length_options),
    HEADING("Batches"),
    ROWS(cli_batch_size_option),
    ROWS(cli_max_tokens_option),
    ROWS(cli_accumulate_option),
    ROWS(cli_seed_option),
    ROWS(cli_method_options),
    ROWS(cli_optimizer_options),
    ROWS(cli_machine_options),
    NAMES("precision", precisions, "NAME,NAME,..", .fallback = "fp32",
          .help = "fp32, bf16 or fp32,bf16: each mode gets a row for each precision"),
    ROWS(cli_column_options),
    ROWS(cli_cache_option),
    HEADING("Output"),
    FLAG("json", json, .help = "one JSON object instead of a table"),
    TEXT("html", html, "FILE", .path = CLI_WRITES_FILE, .endings = ".html .htm ",
         .help = "also write a page with bars and curves, one file that needs no network"),
    ROWS(cli_rank_options),
    ROWS(cli_general_options),
    {0},
};

/* ---- output ----------------------------------------------------------------------------------------------- */

static void put_rounds_json(brim_json_writer *json, const brim_mode_result *r) {
  brim_json_open_array(json, "rounds");
  for (int i = 0; i < r->round_count; i++) {
    brim_json_open_object(json, NULL);
    brim_json_put_count(json, "steps", r->rounds[i].steps);
    brim_json_put_count(json, "tokens", r->rounds[i].tokens);
    brim_json_put_count(json, "slots", r->rounds[i].slots);
    brim_json_put_number(json, "seconds", r->rounds[i].seconds);
    brim_json_put_number(json, "speed", r->rounds[i].speed);
    brim_json_close_object(json);
  }
  brim_json_close_array(json);
}

/* All metrics of the task, and its loss of the evaluation as that. */
static void put_metrics_json(brim_json_writer *json, const brim_mode_result *r, brim_task task) {
  brim_field fields[BRIM_METRIC_FIELDS];
  const int count = brim_metrics_fields(task, &r->metrics, fields);
  for (int i = 0; i < count; i++)
    if (isfinite(fields[i].real) && strcmp(fields[i].name, "loss") != 0)
      brim_json_put_number(json, fields[i].name, fields[i].real);
  brim_json_put_number(json, "eval_loss", r->metrics.loss);
}

static void put_mode_json(brim_json_writer *json, const brim_mode_result *r, brim_task task) {
  brim_json_open_object(json, NULL);
  brim_json_put_string(json, "method", r->mode.name);
  brim_json_put_string(json, "batching", brim_batching_name(r->mode.batching));
  brim_json_put_string(json, "padding", brim_padding_name(r->mode.padding));
  brim_json_put_string(json, "precision", brim_precision_name(r->mode.options->precision));
  brim_json_put_count(json, "steps", r->steps);
  brim_json_put_count(json, "rows", r->rows);
  brim_json_put_count(json, "tokens", r->tokens);
  brim_json_put_count(json, "slots", r->slots);
  brim_json_put_number(json, "seconds", r->seconds);
  brim_json_put_number(json, "tokens_per_second", r->tokens_per_second);
  brim_json_put_number(json, "speed", r->speed);
  brim_json_put_number(json, "speed_low", r->speed_low);
  brim_json_put_number(json, "speed_high", r->speed_high);
  brim_json_put_number(json, "share", r->padding_share);
  brim_json_put_number(json, "loss", r->loss);
  if (r->evaluated)
    put_metrics_json(json, r, task);
  put_rounds_json(json, r);
  brim_json_close_object(json);
}

/* Who has the turn, what all have done, and what their steps said. */
typedef struct watch {
  cli_call *cli;
  const cli_modes *list;
  int mode;
  int64_t steps, done[BRIM_MOST_MODES]; /* of all modes; of each */
  brim_mode_curve curves[BRIM_MOST_MODES];
} watch;

enum { MOST_FIELDS = 16 };

static int64_t integer_of(const brim_event *event, const char *name) {
  const brim_field *field = brim_event_field(event, name);
  return field ? field->integer : 0;
}

static void note_plan(watch *w, const brim_event *event) {
  const int modes = (int)integer_of(event, "modes"), rounds = (int)integer_of(event, "rounds");
  const double kept = (double)integer_of(event, "memory_kept") / (1 << 20);
  w->steps = integer_of(event, "steps");
  if (!integer_of(event, "fits"))
    cli_note(
        w->cli,
        "one mode after another, so speeds cannot be compared: there is no memory for the weights and moments of %d that wait",
        modes);
  else if (rounds > 1 && modes > 1)
    cli_note(w->cli, "%d modes take turns in %d rounds; %.1f MiB keep weights and moments of those that wait", modes, rounds,
             kept);
}

/* Training is one bar over all modes, an evaluation another. */
static int show_progress(watch *w, const brim_event *event) {
  brim_field fields[MOST_FIELDS];
  const brim_field *phase = brim_event_field(event, "phase");
  const bool trains = phase && phase->text && strcmp(phase->text, "train") == 0;
  int64_t done = 0;
  if (event->field_count > MOST_FIELDS)
    return BRIM_OK;
  if (trains)
    w->done[w->mode] = integer_of(event, "done");
  for (int i = 0; i < w->list->count; i++)
    done += w->done[i];
  for (int i = 0; i < event->field_count; i++) {
    fields[i] = event->fields[i];
    if (strcmp(fields[i].name, "phase") == 0)
      fields[i].text = trains ? "all modes" : w->list->at[w->mode].name;
    else if (trains && strcmp(fields[i].name, "done") == 0)
      fields[i].integer = done;
    else if (trains && strcmp(fields[i].name, "total") == 0)
      fields[i].integer = w->steps;
    else if (trains && fields[i].kind == BRIM_VALUE_REAL) /* they differ by mode */
      fields[i].real = (double)NAN;
  }
  return cli_progress(w->cli, &(brim_event){.kind = event->kind, .fields = fields, .field_count = event->field_count});
}

static int on_event(void *context, const brim_event *event) {
  watch *w = context;
  if (strcmp(event->kind, "rounds") == 0)
    note_plan(w, event);
  else if (strcmp(event->kind, "mode") == 0)
    w->mode = (int)integer_of(event, "index");
  else if (strcmp(event->kind, "progress") == 0)
    return show_progress(w, event);
  return brim_mode_curve_add(w->cli->runtime, &w->curves[w->mode], event, &w->cli->error);
}

static int print(cli_call *cli, const brim_comparison *c, brim_task task) {
  brim_comparison_cells table = {0};
  brim_text out;
  brim_text_init(&out, cli->runtime);
  if (cli->values->json) {
    brim_json_writer json = {.out = &out};
    brim_json_open_object(&json, NULL);
    brim_json_open_array(&json, "modes");
    for (int i = 0; i < c->count; i++)
      put_mode_json(&json, &c->results[i], task);
    brim_json_close_array(&json);
    brim_json_close_object(&json);
    brim_text_string(&out, "\n");
  } else {
    brim_comparison_table(c, &table);
    brim_table_text(&out, table.columns, BRIM_COMPARISON_COLUMNS, table.cells, c->count);
  }
  int status = cli->values->json ? cli_write(cli, NULL, &out) : cli_show(cli, &out);
  brim_text_free(&out);
  return status;
}

static int write_page(cli_call *cli, const brim_comparison *comparison) {
  brim_page *page = NULL;
  char title[512];
  snprintf(title, sizeof title, "The same job in %d ways: %s", comparison->count, cli->values->train.items[0]);
  int status = brim_page_new(cli->runtime, title, &page, &cli->error);
  if (!status)
    status = brim_page_comparison(page, comparison, &cli->error);
  if (!status)
    status = brim_page_write(page, cli->values->html, &cli->error);
  if (!status)
    cli_note(cli, "the report is in %s", cli->values->html);
  brim_page_free(page);
  return status;
}

static int compare(cli_call *cli, cli_job *job, const cli_modes *list) {
  watch watched = {.cli = cli, .list = list};
  job->options.event = on_event, job->options.event_context = &watched;
  brim_mode_result results[BRIM_MOST_MODES] = {0};
  const brim_dataset *eval = job->eval_count ? job->evals[0].dataset : NULL;
  const brim_task task = brim_model_task(job->model);
  brim_comparison comparison = {.results = results, .curves = watched.curves, .count = list->count};
  int status = brim_compare(cli->runtime, job->model, job->train, eval, &job->options, list->at, list->count, results,
                            &cli->error);
  comparison.metric = brim_comparison_metric(task, brim_model_meaning(job->model).similarity, results, list->count);
  if (!status)
    status = print(cli, &comparison, task);
  if (!status && cli->values->html)
    status = write_page(cli, &comparison);
  for (int i = 0; i < BRIM_MOST_MODES; i++)
    brim_mode_curve_free(&watched.curves[i]);
  return status;
}

static int run(cli_call *cli) {
  cli_job job = {0};
  cli_modes list;
  int status = cli_modes_parse(cli, &list);
  if (!status && cli->values->eval.count > 1)
    status = brim_error_set(&cli->error, BRIM_E_USAGE, "--eval: compare takes one");
  if (!status) {
    status = cli_job_open(cli, &job);
    if (!status)
      status = cli_modes_fill(cli, &job, &list);
    if (!status)
      status = compare(cli, &job, &list);
    cli_job_close(&job);
  }
  return status;
}

const cli_command cli_compare = {
    .name = "compare",
    .summary = "train the same job with several kinds of batches and padding, and compare",
    .operands = "",
    .description = "Every mode starts from identical weights, head and seed. `slots` is what was computed, `padding` the "
                   "share of slots without text, `tokens/s` counts real tokens only, `speed` is relative to the first row. "
                   "Modes take turns in up to 12 rounds, so that other load of the machine hits all alike: `speed` is the "
                   "median of the rounds, with their range where it is wider than the difference. Where rounds do not show "
                   "which mode is faster, the table says so. `seconds` and `tokens/s` follow from `speed`. Nothing is kept.",
    .options = options,
    .example = "brim compare --model MiniLM --train reviews.csv --max-length 400 --max-steps 20",
    .run = run,
};
