/* brim analyze: what the lengths of a data set mean for padding. */
#include <string.h>

#include "cli.h"
#include "columns.h"
#include "commands.h"
#include "folds.h"
#include "shared.h"
#include "stream.h"

static const cli_option options[] = {
    HEADING("Texts"),
    ROWS(cli_needed_tokenizer_option),
    INTEGER("max-length", max_length, "N", 1, 1 << 30, .fallback = "512", .to = {PLAN(max_length), ENCODE(max_length)},
            .help = "rows are cut to N tokens, special tokens included"),
    ROWS(cli_rows_option),
    HEADING("Batches"),
    ROWS(cli_batch_size_option),
    ROWS(cli_seed_option),
    HEADING("Output"),
    FLAG("json", json, .help = "one JSON object instead of tables"),
    TEXT("html", html, "FILE", .path = CLI_WRITES_FILE, .endings = ".html .htm ",
         .help = "also write a page with pictures, one file that needs no network"),
    INTEGER("samples", samples, "N", 0, CLI_LIST_LIMIT, .needs = "html", .fallback = "3",
            .help = "texts that --html shows, drawn at random by --seed"),
    ROWS(cli_windows_options),
    ROWS(cli_truncation_options),
    ROWS(cli_fold_options),
    ROWS_WITH("stratify html", cli_label_option),
    ROWS(cli_column_options),
    ROWS(cli_cache_option),
    ROWS(cli_general_options),
    {0},
};

/* ---- tables ----------------------------------------------------------------------------------------------- */

static void put_count(brim_text *out, uint64_t value) {
  char text[32];
  brim_count_text((int64_t)value, text, sizeof text);
  brim_text_string(out, text);
}

static void put_lengths(brim_text *out, const brim_study *study, int32_t max_length) {
  put_count(out, study->rows);
  brim_text_string(out, " rows, ");
  const bool several = study->texts != study->rows;
  if (several)
    put_count(out, study->texts);
  brim_text_string(out, several ? " texts, " : "");
  put_count(out, study->tokens);
  brim_text_printf(out, " tokens; %d to %d a %s, mean %.1f, median %.0f, 90 %% up to %d\n", (int)study->shortest,
                   (int)study->longest, several ? "text" : "row", study->mean, study->median, (int)study->percentiles[90]);
  if (study->truncated) {
    put_count(out, study->truncated);
    brim_text_printf(out, study->records < study->rows ? " texts (%.1f %%) were " : " rows (%.1f %%) were ",
                     100.0 * (double)study->truncated / (double)study->records);
    if (study->windows.most > 1)
      brim_text_printf(out, "longer than %d windows of %d tokens, ", (int)study->windows.most, (int)max_length);
    else
      brim_text_printf(out, "cut at %d tokens, ", (int)max_length);
    put_count(out, study->lost);
    brim_text_string(out, " tokens lost\n");
  }
  if (study->repeated) {
    put_count(out, study->repeated);
    brim_text_printf(out, " tokens (%.1f %%) are in two windows\n", 100.0 * (double)study->repeated / (double)study->tokens);
  }
  brim_text_string(out, "\nlength in tokens\n");
  brim_histogram_text(out, study->histogram, (int64_t)study->longest + 1, 16, 60);
}

enum { STRATEGY_COLUMNS = 7, MOST_STRATEGIES = 32 };

static void put_strategies(brim_text *out, const brim_study *study) {
  static const brim_column columns[STRATEGY_COLUMNS] = {{"batching", false}, {"padding", false}, {"batches", true},
                                                        {"slots", true},     {"tokens", true},   {"padded", true},
                                                        {"of fixed", true}};
  char text[MOST_STRATEGIES][5][32];
  const char *cells[MOST_STRATEGIES * STRATEGY_COLUMNS];
  int count = study->strategy_count < MOST_STRATEGIES ? study->strategy_count : MOST_STRATEGIES;
  double fixed = 0;
  for (int i = 0; i < count; i++)
    if (study->strategies[i].padding == BRIM_PAD_MAX_LENGTH)
      fixed = (double)study->strategies[i].ledger.slots;
  for (int i = 0; i < count; i++) {
    const brim_strategy_study *s = &study->strategies[i];
    brim_count_text((int64_t)s->ledger.batches, text[i][0], sizeof text[i][0]);
    brim_count_text((int64_t)s->ledger.slots, text[i][1], sizeof text[i][1]);
    brim_count_text((int64_t)s->ledger.tokens, text[i][2], sizeof text[i][2]);
    snprintf(text[i][3], sizeof text[i][3], "%.2f %%", 100.0 * s->padding_share);
    snprintf(text[i][4], sizeof text[i][4], fixed > 0 ? "%.1f %%" : "-",
             fixed > 0 ? 100.0 * (double)s->ledger.slots / fixed : 0.0);
    const char **row = cells + i * STRATEGY_COLUMNS;
    row[0] = brim_batching_name(s->batching), row[1] = brim_padding_name(s->padding);
    for (int j = 0; j < 5; j++)
      row[2 + j] = text[i][j];
  }
  brim_text_string(out, "\n");
  brim_table_text(out, columns, STRATEGY_COLUMNS, cells, count);
}

/* What is lost at some lengths, and what is computed. */
typedef struct length_table {
  brim_length_study at[BRIM_MOST_LENGTHS];
  int count; /* 0: rows have several texts */
  brim_windowing windows;
} length_table;

static void study_lengths(const cli_call *cli, const brim_dataset *dataset, const brim_tokenizer *tokenizer, length_table *out) {
  *out = (length_table){.windows = cli_windows(cli)};
  out->count = brim_study_lengths(dataset, tokenizer, &out->windows, (int32_t)cli->values->max_length, out->at);
}

static double share_of(uint64_t part, uint64_t all) {
  return all ? 100.0 * (double)part / (double)all : 0.0;
}

static void put_length_table(brim_text *out, const length_table *t) {
  enum { COLUMNS = 7 };
  static const brim_column columns[COLUMNS] = {{"length", true},   {"rows cut", true},     {"tokens lost", true},
                                               {"computed", true}, {"windows: cut", true}, {"lost", true},
                                               {"computed", true}};
  char text[BRIM_MOST_LENGTHS][COLUMNS][32];
  const char *cells[BRIM_MOST_LENGTHS * COLUMNS];
  if (t->count == 0)
    return;
  for (int i = 0; i < t->count; i++) {
    const brim_length_study *s = &t->at[i];
    const uint64_t repeated = (s->windows - s->rows) * (uint64_t)t->windows.overlap;
    const double shares[] = {share_of(s->cut_rows, s->rows), share_of(s->lost, s->lost + s->computed),
                             share_of(s->window_cut_rows, s->rows),
                             share_of(s->window_lost, s->window_lost + s->window_computed - repeated)};
    const uint64_t counts[] = {(uint64_t)s->length, s->computed, s->window_computed};
    static const int of_share[] = {1, 2, 4, 5}, of_count[] = {0, 3, 6};
    for (int k = 0; k < 4; k++)
      snprintf(text[i][of_share[k]], sizeof text[i][0], k < 2 || s->has_windows ? "%.1f %%" : "-", shares[k]);
    for (int k = 0; k < 3; k++)
      brim_count_text((int64_t)counts[k], text[i][of_count[k]], sizeof text[i][0]);
    if (!s->has_windows)
      snprintf(text[i][6], sizeof text[i][6], "-");
    for (int k = 0; k < COLUMNS; k++)
      cells[i * COLUMNS + k] = text[i][k];
  }
  brim_text_printf(out,
                   "\nrows cut at a length, or in windows that overlap by %d tokens, %d at most; computed: tokens of an epoch\n",
                   (int)t->windows.overlap, (int)t->windows.most);
  brim_table_text(out, columns, COLUMNS, cells, t->count);
}

/* ---- JSON ------------------------------------------------------------------------------------------------- */

static void put_strategy_json(brim_json_writer *json, const brim_strategy_study *s) {
  const brim_ledger *l = &s->ledger;
  brim_json_open_object(json, NULL);
  brim_json_put_string(json, "batching", brim_batching_name(s->batching));
  brim_json_put_string(json, "padding", brim_padding_name(s->padding));
  brim_json_put_count(json, "batches", l->batches);
  brim_json_put_count(json, "steps", l->steps);
  brim_json_put_count(json, "rows", l->rows_planned);
  brim_json_put_count(json, "tokens", l->tokens);
  brim_json_put_count(json, "slots", l->slots);
  brim_json_put_number(json, "share", s->padding_share);
  brim_json_put_count(json, "dropped", l->dropped);
  brim_json_close_object(json);
}

static void put_lengths_json(brim_json_writer *json, const brim_study *study) {
  brim_json_open_object(json, "length");
  brim_json_put_integer(json, "shortest", study->shortest);
  brim_json_put_integer(json, "longest", study->longest);
  brim_json_put_number(json, "mean", study->mean);
  brim_json_put_number(json, "median", study->median);
  brim_json_open_array(json, "percentiles");
  for (int i = 0; i <= 100; i++)
    brim_json_put_integer(json, NULL, study->percentiles[i]);
  brim_json_close_array(json);
  brim_json_close_object(json);
  brim_json_open_array(json, "histogram");
  for (int32_t i = 0; i <= study->longest; i++)
    brim_json_put_count(json, NULL, study->histogram[i]);
  brim_json_close_array(json);
}

static void put_length_table_json(brim_json_writer *json, const length_table *t) {
  brim_json_open_array(json, "at_length");
  for (int i = 0; i < t->count; i++) {
    const brim_length_study *s = &t->at[i];
    brim_json_open_object(json, NULL);
    brim_json_put_integer(json, "length", s->length);
    brim_json_put_count(json, "tokens", s->tokens);
    brim_json_put_count(json, "cut_rows", s->cut_rows);
    brim_json_put_count(json, "lost", s->lost);
    brim_json_put_count(json, "computed", s->computed);
    if (s->has_windows) {
      brim_json_put_count(json, "windows", s->windows);
      brim_json_put_count(json, "window_cut_rows", s->window_cut_rows);
      brim_json_put_count(json, "window_lost", s->window_lost);
      brim_json_put_count(json, "window_computed", s->window_computed);
    }
    brim_json_close_object(json);
  }
  brim_json_close_array(json);
}

static void put_json(brim_text *out, const brim_study *study, uint64_t excluded, const cli_values *v, const brim_overlap *overlap,
                     const brim_tokenizer *tokenizer, const length_table *lengths) {
  brim_json_writer json = {.out = out};
  brim_json_open_object(&json, NULL);
  brim_json_put_count(&json, "rows", study->rows);
  if (study->texts != study->rows)
    brim_json_put_count(&json, "texts", study->texts);
  brim_json_put_count(&json, "tokens", study->tokens);
  brim_json_put_integer(&json, "max_length", v->max_length);
  brim_json_put_integer(&json, "batch_size", v->batch_size);
  brim_json_put_count(&json, "truncated", study->truncated);
  brim_json_put_count(&json, "lost", study->lost);
  brim_json_put_count(&json, "repeated", study->repeated);
  brim_json_put_count(&json, "excluded", excluded);
  put_lengths_json(&json, study);
  put_length_table_json(&json, lengths);
  brim_json_open_array(&json, "strategies");
  for (int i = 0; i < study->strategy_count; i++)
    put_strategy_json(&json, &study->strategies[i]);
  brim_json_close_array(&json);
  if (overlap->count)
    cli_put_overlap_json(&json, "folds", overlap, tokenizer);
  brim_json_close_object(&json);
  brim_text_string(out, "\n");
}

/* ---- the command ------------------------------------------------------------------------------------------ */

/* --folds: nothing without it. */
static int study_folds(cli_call *cli, const brim_dataset *dataset, brim_overlap *overlap) {
  brim_folds folds = {0};
  if (!cli_folds_wanted(cli->values))
    return BRIM_OK;
  int status = cli_folds_make(cli, cli->arguments.operands, cli->arguments.operand_count, dataset, cli_task(cli), &folds);
  if (!status)
    status = brim_study_folds(cli->runtime, dataset, &folds, overlap, &cli->error);
  brim_folds_free(&folds);
  return status;
}

/* What was found out. */
typedef struct analysis {
  const brim_dataset *dataset;
  const brim_tokenizer *tokenizer;
  const brim_study *study;
  const brim_plan_options *how;
  const brim_overlap *overlap; /* count 0: no folds */
  const length_table *lengths;
} analysis;

static int print(cli_call *cli, const analysis *a) {
  brim_text out;
  brim_text_init(&out, cli->runtime);
  if (cli->values->json) {
    uint64_t excluded;
    brim_dataset_excluded(a->dataset, &excluded);
    put_json(&out, a->study, excluded, cli->values, a->overlap, a->tokenizer, a->lengths);
  } else {
    put_lengths(&out, a->study, (int32_t)cli->values->max_length);
    put_length_table(&out, a->lengths);
    put_strategies(&out, a->study);
    brim_text_string(&out, "\n");
    brim_study_advice(&out, a->study, a->how->max_length, "\n");
    brim_text_string(&out, "\n");
    if (a->overlap->count)
      cli_put_overlap(&out, a->overlap, a->tokenizer);
  }
  int status = cli->values->json ? cli_write(cli, NULL, &out) : cli_show(cli, &out);
  brim_text_free(&out);
  return status;
}

/* The files are read again, for labels, uncut lengths and texts. */
static int read_again(cli_call *cli, const analysis *a, brim_survey *survey, brim_shown_texts *texts) {
  const char *const *paths = cli->arguments.operands;
  const int count = cli->arguments.operand_count;
  brim_source_options source;
  brim_encode_options encode;
  cli_columns columns = {0};
  int status = cli_encode_options(cli, (int32_t)cli->values->max_length, &encode);
  encode.max_windows = 0, encode.numbering = BRIM_NUMBER_NOTHING; /* whole rows */
  if (!status)
    status = cli_source_options(cli, false, &source);
  if (!status)
    status = cli_columns_find(cli, paths, count, cli_task(cli), &columns, &source);
  if (!status)
    status = brim_survey_read(survey, paths, count, &source, a->tokenizer, &encode, &cli->error);
  if (!status)
    status = brim_passages_read(cli->runtime, paths, count, &source, brim_dataset_stamp(a->dataset), texts->passages,
                                texts->count, &cli->error);
  cli_columns_free(&columns);
  return status;
}

static int write_page(cli_call *cli, const analysis *a) {
  brim_survey survey = {.runtime = cli->runtime};
  brim_shown_texts texts;
  const brim_analysis shown = {a->dataset, a->study, a->how, a->overlap->count ? a->overlap : NULL, &survey, &texts};
  brim_page *page = NULL;
  char title[512];
  snprintf(title, sizeof title, "%s%s: %d tokens at most, %lld rows a batch", cli->arguments.operands[0],
           cli->arguments.operand_count > 1 ? " and others" : "", (int)a->how->max_length, (long long)a->how->batch_size);
  brim_shown_texts_pick(a->dataset, (uint64_t)cli->values->seed, (int)cli->values->samples, &texts);
  int status = read_again(cli, a, &survey, &texts);
  if (!status)
    status = brim_page_new(cli->runtime, title, &page, &cli->error);
  if (!status)
    status = brim_page_analysis(page, &shown, &cli->error);
  if (!status)
    status = brim_page_write(page, cli->values->html, &cli->error);
  if (!status)
    cli_note(cli, "the report is in %s", cli->values->html);
  brim_page_free(page);
  brim_survey_free(&survey);
  brim_passages_free(cli->runtime, texts.passages, texts.count);
  return status;
}

static int show(cli_call *cli, const brim_dataset *dataset, const brim_tokenizer *tokenizer) {
  brim_plan_options how;
  brim_study study = {0};
  brim_overlap overlap = {0};
  length_table lengths;
  const analysis found = {dataset, tokenizer, &study, &how, &overlap, &lengths};
  int status = cli_plan_options(cli, &how);
  study_lengths(cli, dataset, tokenizer, &lengths);
  if (!status)
    status = study_folds(cli, dataset, &overlap);
  if (!status)
    status = brim_study_dataset(cli->runtime, dataset, &how, &study, &cli->error);
  if (!status)
    status = print(cli, &found);
  if (!status && cli->values->html)
    status = write_page(cli, &found);
  brim_study_free(&study);
  brim_overlap_free(&overlap);
  return status;
}

/* The page reads the files again. */
static int check_html(cli_call *cli) {
  if (cli->values->html && cli_any_pipe(cli->arguments.operands, cli->arguments.operand_count))
    return brim_error_set(&cli->error, BRIM_E_USAGE, "--html: standard input or a pipe cannot be read twice: name a file");
  return BRIM_OK;
}

static int run(cli_call *cli) {
  brim_tokenizer *tokenizer = NULL;
  brim_dataset *dataset = NULL;
  int status = cli_folds_check(cli);
  if (!status)
    status = check_html(cli);
  if (!status)
    status = cli_load_tokenizer(cli, &tokenizer);
  if (!status) {
    cli_dataset_request request = {.paths = cli->arguments.operands,
                                   .path_count = cli->arguments.operand_count,
                                   .tokenizer = tokenizer,
                                   .max_length = (int32_t)cli->values->max_length,
                                   .need_label = cli->values->stratify,
                                   .task = cli_task(cli),
                                   .silent = true};
    status = cli_load_dataset(cli, &request, &dataset);
  }
  if (!status)
    status = show(cli, dataset, tokenizer);
  brim_dataset_free(dataset);
  brim_tokenizer_free(tokenizer);
  return status;
}

const cli_command cli_analyze = {
    .name = "analyze",
    .summary = "lengths, truncation, and the padding of every strategy side by side",
    .operands = "DATA...",
    .least_operands = 1,
    .most_operands = 1000,
    .operands_are = CLI_READS_DATA,
    .description = "Tokenizes the data once and plans an epoch with every strategy. `slots` is what is computed, `tokens` "
                   "is what carries text, `padded` is the share of slots without text, `of fixed` compares with padding "
                   "every row to --max-length.\n"
                   "A table says what rows lose that are cut at 128, 256, 512, .. tokens, or that become windows of so many "
                   "(--windows, or without overlap), and how many tokens an epoch computes then.\n"
                   "With --folds it also counts the tokens that a fold's held-out rows have and its training rows do not. "
                   "Look at them before you freeze embeddings.",
    .options = options,
    .example = "brim analyze -t MiniLM --max-length 400 --batch-size 16 reviews.csv",
    .run = run,
};
