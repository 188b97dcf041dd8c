/* brim evaluate of vectors: retrieval over files as BEIR has them, and correlation with the scores of pairs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared.h"
#include "vectors.h"

const cli_option cli_retrieval_options[] = {
    HEADING("Vectors"),
    TEXT("corpus", corpus, "FILE", .path = CLI_READS_FILE, .needs = "queries",
         .excludes =
             "padding cache device tf32 tokenizer windows max-windows columns text-column pair-column label-column missing-label "
             "no-header format delimiter quote min-chars where max-record skip-damaged",
         .help = "documents as JSON lines with _id, text and perhaps title: how well the model's vectors find those that are "
                 "relevant, without training. The model may be any folder that `brim embed` reads"),
    TEXT("queries", queries, "FILE", .path = CLI_READS_FILE, .needs = "relevant",
         .help = "queries as JSON lines with _id and text"),
    TEXT("relevant", relevant, "FILE", .path = CLI_READS_FILE, .needs = "corpus",
         .help = "tab-separated query-id, corpus-id and score, under a header with these names: above 0 is relevant"),
    NAMES("at", at, "K,K,..", .needs = "corpus", .shown = "1,3,5,10,100",
          .help = "count the first so many documents of each ranking"),
    TEXT("query-prompt", query_prompt, "NAME", .needs = "corpus", .shown = "query",
         .help = "which of the model's prompts queries begin with; none: with nothing"),
    TEXT("document-prompt", document_prompt, "NAME", .needs = "corpus", .shown = "document", .help = "the same for documents"),
    CHOICE("similarity", similarity, NULL, .words = brim_similarity_names, .needs = "corpus", .shown = "the model's, or cosine",
           .help = "what the best documents have most of"),
    TEXT("scored-pairs", scored_pairs, "FILE", .path = CLI_READS_DATA,
         .excludes = "corpus padding cache device tf32 tokenizer windows max-windows columns",
         .help = "pairs of texts with a score, in the columns sentence1, sentence2 and score: how far similarities of vectors "
                 "agree with the scores"),
    INTEGER("dimensions", dimensions, "N", 1, 1 << 20, .needs = "corpus scored-pairs",
            .shown = "the folder's truncate_dim, or all", .help = "compare the first N numbers of each vector"),
    {0},
};

bool cli_evaluates_vectors(const cli_call *cli) {
  return cli->values->corpus || cli->values->scored_pairs;
}

static int write_out(cli_call *cli, brim_text *out, int status) {
  if (!status)
    status = cli->values->json ? cli_write(cli, NULL, out) : cli_show(cli, out);
  brim_text_free(out);
  return status;
}

/* ---- retrieval ----------------------------------------------------------------------------------------------- */

typedef struct named_column {
  const char *name;
  size_t offset;
} named_column;

static const named_column columns[] = {
    {"accuracy", offsetof(brim_ranking_metrics, accuracy)}, {"precision", offsetof(brim_ranking_metrics, precision)},
    {"recall", offsetof(brim_ranking_metrics, recall)},     {"mrr", offsetof(brim_ranking_metrics, mrr)},
    {"ndcg", offsetof(brim_ranking_metrics, ndcg)},         {"map", offsetof(brim_ranking_metrics, map)}};
enum { COLUMNS = sizeof columns / sizeof *columns };

static double value_of(const brim_ranking_metrics *m, int column) {
  double value;
  memcpy(&value, (const char *)m + columns[column].offset, sizeof value);
  return value;
}

static void put_retrieval_json(brim_text *out, const brim_retrieval_report *r) {
  brim_json_writer json = {.out = out};
  char name[40];
  brim_json_open_object(&json, NULL);
  brim_json_put_count(&json, "queries", r->queries);
  brim_json_put_count(&json, "queries_without_relevant", r->without);
  brim_json_put_count(&json, "documents", r->documents);
  brim_json_put_count(&json, "relevant", r->relevant);
  brim_json_put_count(&json, "relevant_missing", r->missing);
  brim_json_put_string(&json, "similarity", r->similarity);
  for (int c = 0; c < COLUMNS; c++)
    for (int i = 0; i < r->at_count; i++) {
      snprintf(name, sizeof name, "%s@%llu", columns[c].name, (unsigned long long)r->at[i].k);
      brim_json_put_number(&json, name, value_of(&r->at[i], c));
    }
  brim_json_put_number(&json, "seconds", r->seconds);
  brim_json_close_object(&json);
  brim_text_string(out, "\n");
}

static void put_retrieval_table(brim_text *out, const brim_retrieval_report *r) {
  brim_text_printf(out, "queries     %llu\ndocuments   %llu\nrelevant    %llu\nsimilarity  %s\nseconds     %.1f\n\n%-6s",
                   (unsigned long long)r->queries, (unsigned long long)r->documents, (unsigned long long)r->relevant,
                   r->similarity, r->seconds, "first");
  for (int c = 0; c < COLUMNS; c++)
    brim_text_printf(out, " %9s", columns[c].name);
  for (int i = 0; i < r->at_count; i++) {
    brim_text_printf(out, "\n%-6llu", (unsigned long long)r->at[i].k);
    for (int c = 0; c < COLUMNS; c++)
      brim_text_printf(out, " %9.4f", value_of(&r->at[i], c));
  }
  brim_text_string(out, "\n");
}

static int pick_cuts(cli_call *cli, uint64_t at[BRIM_MOST_CUTS]) {
  const char *text = cli->values->at;
  for (int i = 0; text && *text; i++) {
    char *end;
    const long long k = strtoll(text, &end, 10);
    if (end == text || k < 1 || k > 100000 || i == BRIM_MOST_CUTS || (*end && *end != ','))
      return brim_error_set(&cli->error, BRIM_E_USAGE, "--at %s: a list of at most %d numbers from 1 to 100000, such as 1,10,100",
                            cli->values->at, BRIM_MOST_CUTS);
    at[i] = (uint64_t)k;
    for (int before = 0; before < i; before++)
      if (at[before] == at[i])
        return brim_error_set(&cli->error, BRIM_E_USAGE, "--at %s: %lld is there twice", cli->values->at, k);
    text = *end ? end + 1 : end;
  }
  return BRIM_OK;
}

static void note_retrieval(cli_call *cli, const brim_retrieval_report *r) {
  if (r->without)
    cli_note(cli, "%llu of %llu queries have no relevant document and are left out", (unsigned long long)r->without,
             (unsigned long long)(r->queries + r->without));
  if (r->missing)
    cli_note(cli, "%llu of %llu relevant documents are not in the corpus: nothing can find them, and recall and ndcg count them",
             (unsigned long long)r->missing, (unsigned long long)r->relevant);
}

static int evaluate_retrieval(cli_call *cli, brim_embedder *embedder, const brim_embed_options *how) {
  const cli_values *v = cli->values;
  brim_retrieval_options options = {
      .corpus = v->corpus, .queries = v->queries, .relevant = v->relevant, .embed = *how, .similarity = v->similarity};
  brim_retrieval_report report;
  brim_text out;
  int status = pick_cuts(cli, options.at);
  if (!status)
    status = cli_pick_prompt(cli, embedder, "query-prompt", v->query_prompt, &options.query_prompt);
  if (!status)
    status = cli_pick_prompt(cli, embedder, "document-prompt", v->document_prompt, &options.document_prompt);
  if (!status)
    status = brim_evaluate_retrieval(embedder, &options, &report, &cli->error);
  if (status)
    return status;
  note_retrieval(cli, &report);
  cli_note_cut_texts(cli, embedder, how, &report.counts);
  brim_text_init(&out, cli->runtime);
  (v->json ? put_retrieval_json : put_retrieval_table)(&out, &report);
  return write_out(cli, &out, BRIM_OK);
}

/* ---- scored pairs -------------------------------------------------------------------------------------------- */

static void put_similarity_json(brim_text *out, const brim_similarity_report *r) {
  brim_json_writer json = {.out = out};
  char name[40];
  brim_json_open_object(&json, NULL);
  brim_json_put_count(&json, "pairs", r->pairs);
  for (int s = 0; s < BRIM_SIMILARITY_KINDS; s++) {
    snprintf(name, sizeof name, "pearson_%s", r->of[s].name);
    brim_json_put_number(&json, name, r->of[s].pearson);
    snprintf(name, sizeof name, "spearman_%s", r->of[s].name);
    brim_json_put_number(&json, name, r->of[s].spearman);
  }
  brim_json_put_number(&json, "seconds", r->seconds);
  brim_json_close_object(&json);
  brim_text_string(out, "\n");
}

static void put_number(brim_text *out, double value) {
  if (isfinite(value))
    brim_text_printf(out, " %9.4f", value);
  else
    brim_text_printf(out, " %9s", "-");
}

static void put_similarity_table(brim_text *out, const brim_similarity_report *r) {
  brim_text_printf(out, "pairs    %llu\nseconds  %.1f\n\n%-10s %9s %9s\n", (unsigned long long)r->pairs, r->seconds, "similarity",
                   "pearson", "spearman");
  for (int s = 0; s < BRIM_SIMILARITY_KINDS; s++) {
    brim_text_printf(out, "%-10s", r->of[s].name);
    put_number(out, r->of[s].pearson);
    put_number(out, r->of[s].spearman);
    brim_text_string(out, "\n");
  }
}

static int evaluate_similarity(cli_call *cli, brim_embedder *embedder, const brim_embed_options *how) {
  const cli_values *v = cli->values;
  brim_source_options source;
  brim_reader *reader = NULL;
  brim_similarity_report report;
  brim_embed_options options = *how;
  brim_text out;
  options.prompt = brim_embedder_prompt(embedder, NULL);
  int status = cli_source_options(cli, true, &source);
  source.text_column = v->text_column ? v->text_column : "sentence1";
  source.pair_column = v->pair_column ? v->pair_column : "sentence2";
  source.label_column = v->label_column ? v->label_column : "score";
  if (!status)
    status = brim_reader_open(cli->runtime, &v->scored_pairs, 1, &source, &reader, &cli->error);
  if (!status)
    status = brim_evaluate_similarity(embedder, reader, &options, &report, &cli->error);
  brim_reader_close(reader);
  if (status)
    return status;
  cli_note_cut_texts(cli, embedder, how, &report.counts);
  brim_text_init(&out, cli->runtime);
  (v->json ? put_similarity_json : put_similarity_table)(&out, &report);
  return write_out(cli, &out, BRIM_OK);
}

int cli_evaluate_vectors(cli_call *cli) {
  brim_embedder *embedder = NULL;
  brim_embed_options options = {0};
  int status = BRIM_OK;
  if (cli->arguments.operand_count > 0)
    status = brim_error_set(&cli->error, BRIM_E_USAGE, "\"%s\": with --corpus or --scored-pairs there is no DATA to label",
                            cli->arguments.operands[0]);
  if (!status)
    status = cli_embedder_open(cli, &embedder, &options);
  if (!status)
    status = (cli->values->corpus ? evaluate_retrieval : evaluate_similarity)(cli, embedder, &options);
  brim_embedder_free(embedder);
  return status;
}
