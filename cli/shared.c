/* shared.c: the options that several commands have. */
#include "shared.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* ---- words and sizes -------------------------------------------------------------------------------------- */

bool cli_parse_batching(const char *text, void *field) {
  return brim_batching_parse(text, field);
}

bool cli_parse_padding(const char *text, void *field) {
  return brim_padding_parse(text, field);
}

static bool parse_oversize(const char *text, void *field) {
  return brim_oversize_parse(text, field);
}

static bool parse_tail(const char *text, void *field) {
  return brim_tail_parse(text, field);
}

static bool parse_schedule(const char *text, void *field) {
  return brim_schedule_parse(text, field);
}

static bool parse_pooling(const char *text, void *field) {
  return brim_pooling_parse(text, field);
}

bool cli_parse_format(const char *text, void *field) {
  static const char *const words[] = {[BRIM_FORMAT_CSV] = "csv",
                                      [BRIM_FORMAT_TSV] = "tsv",
                                      [BRIM_FORMAT_JSONL] = "jsonl",
                                      [BRIM_FORMAT_TXT] = "txt",
                                      [BRIM_FORMAT_CONLL] = "conll"};
  for (int i = BRIM_FORMAT_CSV; i <= BRIM_FORMAT_CONLL; i++)
    if (strcmp(text, words[i]) == 0)
      return *(brim_format *)field = (brim_format)i, true;
  return false;
}

bool cli_parse_delimiter(const char *text, void *field) {
  const bool tab = strcmp(text, "tab") == 0 || strcmp(text, "\\t") == 0;
  *(int *)field = tab ? '\t' : text[0];
  return tab || (text[0] && !text[1]);
}

bool cli_parse_quote(const char *text, void *field) {
  *(brim_quote *)field = *text == 'c' ? BRIM_QUOTE_CSV : *text == 'n' ? BRIM_QUOTE_NONE : BRIM_QUOTE_BACKSLASH;
  return true;
}

static bool parse_missing(const char *text, void *field) {
  *(bool *)field = strcmp(text, "skip") == 0;
  return true;
}

static bool parse_truncation(const char *text, void *field) {
  for (int i = BRIM_LONGEST_FIRST; i <= BRIM_ONLY_SECOND; i++)
    if (strcmp(text, brim_truncation_name((brim_truncation)i)) == 0)
      return *(brim_truncation *)field = (brim_truncation)i, true;
  return false;
}

static bool parse_side(const char *text, void *field) {
  *(brim_truncation_side *)field = strcmp(text, "left") == 0 ? BRIM_SIDE_LEFT : BRIM_SIDE_RIGHT;
  return true;
}

/* "1500MB", "2 GB", "2gib", "4096": bytes; not 0. As other programs have it, K, M and G alone are powers of 1024. */
static bool parse_size(const char *text, void *field) {
  static const struct {
    const char *unit;
    double bytes;
  } units[] = {{"", 1},        {"b", 1},         {"kb", 1e3},      {"mb", 1e6},    {"gb", 1e9},
               {"tb", 1e12},   {"k", 1 << 10},   {"kib", 1 << 10}, {"m", 1 << 20}, {"mib", 1 << 20},
               {"g", 1 << 30}, {"gib", 1 << 30}, {"tib", 0x1p40}};
  uint64_t *bytes = field;
  char *unit;
  const double number = strtod(text, &unit);
  if (unit == text || strspn(text, "0123456789.eE+") < (size_t)(unit - text) || !(number > 0) || number > 1e15)
    return false;
  unit += strspn(unit, " ");
  for (size_t i = 0; i < sizeof units / sizeof *units; i++)
    if (strcasecmp(unit, units[i].unit) == 0) {
      *bytes = (uint64_t)(number * units[i].bytes);
      return *bytes > 0;
    }
  return false;
}

bool cli_is_share(const char *path, double *share) {
  char *end;
  *share = strtod(path, &end) / 100;
  return end != path && strcmp(end, "%") == 0 && access(path, F_OK) != 0;
}

/* ---- every command ---------------------------------------------------------------------------------------- */

const cli_option cli_general_options[] = {
    HEADING("General"),
    INTEGER("threads", threads, "N", 0, 1024, .letter = 'j', .aliases = "num-workers", .fallback = "0",
            .shown = "the cores at hand", .help = "number of threads; results do not depend on it"),
    CHOICE("cpu", cpu, "auto|plain|avx2|avx512|amx", .fallback = "auto", .help = "instructions to use"),
    TEXT("config", config, "FILE", .path = CLI_READS_FILE,
         .help = "a JSON object of options, such as {\"batch-size\": 32}; the command line wins"),
    FLAG("quiet", quiet, .letter = 'q', .help = "no progress and no notes"),
    FLAG("help", help, .letter = 'h', .help = "this text"),
    {0},
};

/* ---- data ------------------------------------------------------------------------------------------------- */

const cli_option cli_selection_options[] = {
    INTEGER("min-chars", min_chars, "N", 0, CLI_MANY, .fallback = "0", .to = {SOURCE(min_chars)},
            .help = "leave out rows whose text has fewer characters, not counting spaces around it"),
    LIST("where", where, "COLUMN=VALUE",
         .help = "read only rows whose column has this value; if given several times, all must hold"),
    INTEGER("max-record", max_record, "BYTES", 1, CLI_MANY, .shown = "1 GiB", .to = {SOURCE(max_record)},
            .help = "refuse a longer record: usually a quote before it was never closed"),
    FLAG("skip-damaged", skip_damaged, .to = {SOURCE(skip_damaged)},
         .help = "leave out rows, or the rest of a file, that cannot be read, and report them instead of stopping"),
    {0},
};

static const cli_option text_column_option[] = {
    TEXT("text-column", text_column, "NAME", .shown = "text; 0 without a header; of words tokens", .to = {SOURCE(text_column)},
         .help = "column of the text"),
    {0},
};

static const cli_option name_options[] = {
    ROWS(text_column_option),
    TEXT("pair-column", pair_column, "NAME", .shown = "text_pair, if there", .to = {SOURCE(pair_column)},
         .help = "column of the second text"),
    {0},
};

static const cli_option file_options[] = {
    FLAG("no-header", no_header, .to = {SOURCE(no_header)}, .help = "csv, tsv: columns have numbers, from 0"),
    CHOICE("format", format, "csv|tsv|jsonl|txt|conll", .shown = "by the file's name; standard input is txt",
           .to = {SOURCE(format)}, .parse = cli_parse_format, .help = "format of the data"),
    TEXT("delimiter", delimiter, "C", .shown = "a comma in csv, a tab in tsv",
         .to = {PARSED(CLI_SOURCE, brim_source_options, delimiter)}, .parse = cli_parse_delimiter,
         .expected = "one character such as ';', or tab",
         .help = "csv, tsv: the character between columns; the word tab is accepted"),
    CHOICE("quote", quote, "csv|none|backslash", .shown = "csv: csv, tsv: none", .to = {SOURCE(quote)}, .parse = cli_parse_quote,
           .help = "whether \"...\" encloses fields; backslash: a quote inside them may be \\\""),
    ROWS(cli_selection_options),
    {0},
};

const cli_option cli_column_options[] = {
    HEADING("Data files"),
    ROWS(name_options),
    NAMES("columns", columns, "NAME,NAME,..", .excludes = "text-column pair-column",
          .shown = "by their names: anchor, positive, negative; sentence1, sentence2; query, document",
          .help = "embedding, rerank: the columns of a row's texts, in order; of JSON a column may be a list of texts"),
    ROWS(file_options),
    {0},
};

const cli_option cli_single_column_options[] = {
    HEADING("Data files"),
    ROWS(name_options),
    ROWS(file_options),
    {0},
};

const cli_option cli_text_options[] = {
    HEADING("Data files"),
    ROWS(text_column_option),
    ROWS(file_options),
    {0},
};

const cli_option cli_label_option[] = {
    TEXT("label-column", label_column, "NAME", .shown = "label; of words ner_tags, tags or labels", .to = {SOURCE(label_column)},
         .help = "column of the label"),
    {0},
};

const cli_option cli_missing_label_option[] = {
    CHOICE("missing-label", missing_label, "error|skip", .fallback = "error",
           .to = {PARSED(CLI_SOURCE, brim_source_options, skip_unlabelled)}, .parse = parse_missing,
           .help = "what to do with a row without a label: stop, or skip it and report how many there were"),
    {0},
};

const cli_option cli_cache_option[] = {
    TEXT("cache", cache, "DIR", .path = CLI_KEEPS,
         .help = "folder that keeps encoded rows for the next time; rows of files that have changed are encoded again"),
    {0},
};

/* ---- text ------------------------------------------------------------------------------------------------- */

#define TOKENIZER_HELP "tokenizer.json, vocab.txt, a folder that holds one, or a name in Hugging Face's cache"

const cli_option cli_tokenizer_option[] = {
    TEXT("tokenizer", tokenizer, "PATH", .letter = 't', .path = CLI_READS_MODEL, .shown = "the model's folder",
         .help = TOKENIZER_HELP),
    {0},
};

const cli_option cli_needed_tokenizer_option[] = {
    TEXT("tokenizer", tokenizer, "PATH", .letter = 't', .path = CLI_READS_MODEL, .required = true, .help = TOKENIZER_HELP),
    {0},
};

const cli_option cli_truncation_options[] = {
    HEADING("Truncation"),
    CHOICE("truncation", truncation, "longest_first|only_first|only_second", .shown = "the tokenizer's, else longest_first",
           .excludes = "task=tokens|embedding", .to = {ENCODE(truncation)}, .parse = parse_truncation,
           .help = "which text of a pair is cut"),
    CHOICE("truncation-side", truncation_side, "right|left", .shown = "the tokenizer's, else right",
           .to = {PARSED(CLI_ENCODE, brim_encode_options, truncation_side)}, .parse = parse_side, .help = "which end is cut"),
    {0},
};

const cli_option cli_windows_options[] = {
    INTEGER(
        "windows", windows, "STRIDE", 0, 1 << 30, .shown = "none", .to = {ENCODE(window_overlap)},
        .help = "a text of more than --max-length tokens becomes windows that overlap by STRIDE tokens; the row's answer is the "
                "mean of their logits, a word's is that of the window where it has most context; of masked words each is a row, "
                "and overlaps by 0 where nothing is said"),
    INTEGER("max-windows", max_windows, "N", 1, 1024, .shown = "16; of masked words 1024", .to = {ENCODE(max_windows)},
            .help = "windows of a text at most; what is beyond them is cut, and counted"),
    {0},
};

/* ---- batches ---------------------------------------------------------------------------------------------- */

const cli_option cli_batch_size_option[] = {
    INTEGER("batch-size", batch_size, "N", 1, CLI_MANY, .letter = 'b', .aliases = "per-device-train-batch-size", .fallback = "16",
            .to = {PLAN(batch_size)}, .help = "rows of an optimizer step"),
    {0},
};

const cli_option cli_max_tokens_option[] = {
    INTEGER("max-tokens", max_tokens, "N", 1, CLI_MANY, .shown = "no limit", .to = {PLAN(max_tokens), EVAL(max_tokens)},
            .help = "most tokens (with padding: slots) computed at once; together with --batch-size it only cuts a step into "
                    "parts, which changes no result"),
    {0},
};

const cli_option cli_padding_option[] = {
    CHOICE("padding", padding, "none|longest|max_length", .fallback = "none", .to = {PLAN(padding), EVAL(padding)},
           .parse = cli_parse_padding,
           .help = "what is computed: only tokens, up to the batch's longest row, or up to --max-length"),
    {0},
};

const cli_option cli_seed_option[] = {
    SEED("seed", seed, .fallback = "42", .to = {PLAN(seed), TRAIN(seed), MODEL(seed)},
         .help = "decides the order of rows, dropout and new weights"),
    {0},
};

const cli_option cli_accumulate_option[] = {
    INTEGER("accumulate", accumulate, "N", 1, 1e6, .shown = "one a rank", .to = {PLAN(accumulate)},
            .help = "gradient accumulation: compute each step in N parts; the batch size stays what --batch-size says. With "
                    "--max-tokens alone, N batches make a step"),
    {0},
};

const cli_option cli_batch_options[] = {
    CHOICE("batching", batching, CLI_BATCHINGS, .fallback = "random", .to = {PLAN(batching)}, .parse = cli_parse_batching,
           .help = "which rows go together"),
    ROWS(cli_padding_option),
    ROWS(cli_batch_size_option),
    ROWS(cli_max_tokens_option),
    ROWS(cli_accumulate_option),
    INTEGER("slices", slices, "N", 1, BRIM_MOST_SLICES, .shown = "none", .to = {PLAN(slices)},
            .help = "compute each step in N slices and add their sums in a fixed order: the weights have the same bits for "
                    "any number of processes"),
    INTEGER("max-rows", max_rows, "N", 1, CLI_MANY, .shown = "no limit", .to = {PLAN(max_rows)},
            .help = "most rows computed at once"),
    INTEGER("read-ahead", read_ahead, "N", 1, CLI_MANY, .needs = "batching=bucketed|packed", .shown = "all",
            .to = {PLAN(read_ahead)}, .help = "bucketed and packed: number of rows that are grouped at a time"),
    INTEGER("pad-to-multiple-of", pad_to_multiple_of, "N", 1, 65536,
            .needs = "padding=longest|max_length eval-padding=longest|max_length", .shown = "1", .to = {PLAN(pad_to_multiple_of)},
            .help = "round widths up to a multiple of N"),
    INTEGER("required-batch-size-multiple", required_multiple, "N", 1, 65536, .shown = "1",
            .to = {PLAN(required_batch_size_multiple)}, .help = "compute a multiple of N rows at once where possible"),
    CHOICE("oversize", oversize, "error|truncate|alone", .needs = "max-tokens", .fallback = "error", .to = {PLAN(oversize)},
           .parse = parse_oversize, .help = "what to do with a row longer than --max-tokens: stop, cut it, or compute it alone"),
    CHOICE("tail", tail, "resplit|fill|drop", .needs = "max-tokens tail=drop", .fallback = "resplit", .to = {PLAN(tail)},
           .parse = parse_tail,
           .help = "what to do when a step's batches do not divide evenly among the processes: cut them again, leave some "
                   "processes idle, or drop the last step"),
    FLAG("drop-last", drop_last, .to = {PLAN(drop_last)}, .help = "leave out the rows at the end that do not fill a step"),
    ROWS(cli_seed_option),
    {0},
};

const cli_option cli_stream_options[] = {
    HEADING("Data larger than memory"),
    FLAG("stream", stream,
         .help = "read the data again in every epoch instead of keeping it in memory: files come in a new order each "
                 "epoch, rows are shuffled and planned a window at a time"),
    INTEGER("shuffle-window", shuffle_window, "N", 1, 2000000000, .aliases = "buffer-size", .fallback = "100000",
            .needs = "stream", .to = {FEED(window)}, .help = "with --stream: rows that are shuffled and planned together"),
    LIST("weight", weight, "X", .needs = "stream",
         .help = "with --stream: every data file is a source, and this is its share of the rows; give it once for each "
                 "file, in the same order"),
    FLAG("repeat", repeat, .needs = "stream", .to = {FEED(repeat)},
         .help = "with --stream: a source that runs out begins again, so the shares always hold; training is one endless "
                 "epoch"),
    INTEGER("prefetch", prefetch, "N", 0, 1000, .fallback = "1", .needs = "stream", .to = {FEED(prefetch)},
            .help = "with --stream: number of windows prepared ahead"),
    {0},
};

const cli_option cli_fold_options[] = {
    HEADING("Folds"),
    INTEGER("folds", folds, "K", 2, 1000, .shown = "none", .help = "cut the rows into K parts and hold out each of them once"),
    SEED("fold-seed", fold_seed, .fallback = "42", .excludes = "fold-column",
         .help = "decides which rows are in which fold, or held out by --eval 10%"),
    FLAG("stratify", stratify, .needs = "folds", .excludes = "fold-column",
         .help = "make every fold like the whole: classes in proportion, values in bins"),
    TEXT("fold-column", fold_column, "NAME", .shown = "none",
         .help = "column with the fold, from 0, that holds out the row, instead of a random choice"),
    {0},
};

/* ---- a training job --------------------------------------------------------------------------------------- */

const cli_option cli_job_input_options[] = {
    TEXT("model", model, "DIR", .letter = 'm', .path = CLI_READS_MODEL, .aliases = "model-name-or-path", .required = true,
         .help = "folder with config.json, model.safetensors and the tokenizer, as Hugging Face saves it, or the name of "
                 "a model in its cache, such as bert-base-uncased or owner/model@revision"),
    LIST("train", train, "DATA", .path = CLI_READS_DATA, .required = true,
         .help = "rows to train on; may be given several times"),
    LIST("eval", eval, "[NAME=]DATA", .path = CLI_READS_DATA,
         .help = "rows to evaluate on; may be given several times. 10%: this share of --train, which is then not trained on"),
    {0},
};

const cli_option cli_words_option[] = {
    CHOICE("task", task, "tokens", .shown = "rows are texts",
           .help = "each row is a list of words with a label each (conll, or JSON lines with tokens); every word is encoded "
                   "by itself"),
    {0},
};

const cli_option cli_rows_option[] = {
    CHOICE(
        "task", task, "tokens|mlm|embedding|rerank", .shown = "rows are texts",
        .help = "tokens: each row is a list of words with a label each (conll, or JSON lines with tokens); every word is encoded "
                "by itself. mlm: each window of a text is a row. embedding, rerank: rows of several texts, in columns as `brim "
                "train` finds them"),
    {0},
};

const cli_option cli_job_task_option[] = {
    CHOICE("task", task, CLI_TASKS, .shown = "by the labels",
           .help = "what labels are: integers and words are classes, decimals are values of a regression, JSON lists are "
                   "multi-label; csv needs multi-label for a|b. tokens: a label for each word. mlm: texts have none, some of "
                   "their tokens are masked and are to be found. embedding: vectors of texts, trained with pairs and triples. "
                   "rerank: a score of a query and a document"),
    {0},
};

const cli_option cli_job_task_options[] = {
    FLAG("keep-head", keep_head, .excludes = "labels",
         .help = "keep the fine-tuned model's classes and its classifier, even if the rows lack some of these classes; "
                 "other labels are refused"),
    INTEGER("max-length", max_length, "N", 1, 1 << 30, .aliases = "max-seq-length", .shown = "the tokenizer's, or the model's",
            .to = {PLAN(max_length), ENCODE(max_length)}, .help = "rows are cut to N tokens, special tokens included"),
    ROWS(cli_windows_options),
    ROWS(cli_tokenizer_option),
    {0},
};

const cli_option cli_job_length_options[] = {
    REAL("epochs", epochs, "E", 0, 1e6, .letter = 'e', .aliases = "num-train-epochs", .fallback = "1", .to = {TRAIN(epochs)},
         .help = "passes over the data; may be a fraction"),
    INTEGER("max-steps", max_steps, "N", 1, CLI_MANY, .excludes = "epochs", .shown = "by --epochs", .to = {TRAIN(max_steps)},
            .help = "optimizer steps, instead of --epochs"),
    {0},
};

const cli_option cli_trained_options[] = {
    NAMES("freeze", freeze, "PARTS", .aliases = "freeze-layers", .shown = "nothing", .to = {TRAIN(freeze)},
          .help = "do not train: embeddings; layers:N or N (the embeddings and the lowest N layers); encoder (all but the "
                  "head); tensors by name, as '*.bias' (brim inspect model --tensors); or some of these: 2,'*.bias'. What is "
                  "frozen needs no backward pass and no optimizer memory"),
    NAMES("train-only", train_only, "TENSORS", .shown = "everything", .to = {TRAIN(train_only)},
          .help = "train these tensors alone, by name, without those of --freeze: '*.bias,classifier.*'"),
    {0},
};

const cli_option cli_method_options[] = {
    HEADING("Training methods"),
    ROWS(cli_trained_options),
    FLAG("checkpoint-activations", checkpoint_activations, .aliases = "gradient-checkpointing",
         .to = {TRAIN(checkpoint_activations)},
         .help = "keep only the input of each layer and compute the rest again in the backward pass: less memory, more "
                 "time, the same result"),
    NAMES(
        "pooling", pooling, "WAY,..", .shown = "as the folder says, else cls", .to = {MODEL(pooling)}, .parse = parse_pooling,
        .expected =
            "cls, mean, max, mean-sqrt, weighted-mean or last, of embeddings also several, each once, with commas between",
        .help = "what the head sees of a text's tokens: cls (the first), mean or max. Embeddings also have mean-sqrt (the sum by "
                "the root of their number), weighted-mean (by position) and last, and several side by side: cls,mean"),
    TEXT(
        "layers", layers, "WHICH", .shown = "as the folder says, else last", .to = {MODEL(layers)},
        .help = "which layers the head sees, of texts and of embeddings: weighted (the mean of all, with a trained weight each), "
                "weighted:N (of the last N), joined:N (side by side), or last"),
    INTEGER("dense", dense, "N", 1, 1 << 16, .needs = "task=embedding", .shown = "none", .to = {MODEL(dense)},
            .help = "put a new Dense module of N numbers after pooling, and after those of the folder; the run's folder has it"),
    CHOICE("dense-activation", dense_activation, "identity|tanh", .needs = "dense", .shown = "identity",
           .to = {MODEL(dense_activation)}, .help = "what its numbers go through"),
    FLAG("no-type-ids", no_type_ids, .to = {MODEL(no_type_ids)}, .help = "give every token type 0, also those of a second text"),
    INTEGER("reinit-layers", reinit_layers, "N", 0, 1024, .fallback = "0", .to = {MODEL(reinit_layers)},
            .help = "start the top N layers from new random weights, a function of --seed"),
    {0},
};

/* Losses of embeddings and rerankers. */
const cli_option cli_vector_loss_options[] = {
    CHOICE("loss", loss,
           "in-batch|cosent|angle|cosine|contrastive|online-contrastive|triplet|margin-mse|distill-kl|mse-vectors|bce|mse|in-"
           "group|list-net",
           .needs = "task=embedding|rerank", .shown = "by the rows", .to = {TRAIN(loss.name)},
           .help = "of embeddings: in-batch (pairs and triples: all other documents of the step are negatives), cosent, angle, "
                   "cosine, contrastive or online-contrastive (pairs with a score), triplet, margin-mse, distill-kl, "
                   "mse-vectors. Of rerankers: bce, mse, in-group, "
                   "list-net, margin-mse"),
    REAL("scale", scale, "X", 1e-6, 1e6, .needs = "task=embedding|rerank", .shown = "20; in-group 10", .to = {TRAIN(loss.scale)},
         .help = "factor of cosines in in-batch and cosent, and of scores in in-group"),
    CHOICE("distance", distance, "cosine|euclidean|manhattan", .needs = "task=embedding",
           .shown = "euclidean; contrastive cosine", .to = {TRAIN(loss.distance)}, .help = "of triplet and contrastive"),
    REAL("margin", margin, "X", 1e-6, 1e6, .needs = "task=embedding", .shown = "5; contrastive 0.5", .to = {TRAIN(loss.margin)},
         .help = "of triplet and contrastive"),
    REAL("temperature", temperature, "X", 1e-6, 1e6, .needs = "task=embedding", .shown = "1", .to = {TRAIN(loss.temperature)},
         .help = "of distill-kl"),
    NAMES("directions", directions, "WAY,WAY,..", .needs = "task=embedding", .shown = "query-to-doc",
          .to = {TRAIN(loss.directions)},
          .help = "in-batch: what is compared, with commas between: query-to-doc, doc-to-query, query-to-query, doc-to-doc"),
    CHOICE("partition", partition, "joint|per-direction", .also = "per_direction", .needs = "directions", .shown = "joint",
           .to = {TRAIN(loss.partition)}, .help = "in-batch: one softmax of all directions, or the mean of one for each"),
    CHOICE("similarity", similarity, "cosine|dot", .needs = "task=embedding", .shown = "cosine", .to = {TRAIN(loss.similarity)},
           .help = "in-batch: what is compared; dot has --scale 1"),
    CHOICE("hardness", hardness, "none|in-batch|own|all", .needs = "task=embedding", .shown = "none",
           .to = {TRAIN(loss.hardness)}, .help = "in-batch: negatives that weigh more the more alike they are"),
    REAL("hardness-strength", hardness_strength, "X", 1e-6, 1e6, .needs = "hardness", .shown = "9 of in-batch, else 5",
         .to = {TRAIN(loss.hardness_strength)}, .help = "how much more"),
    TEXT("query-prompt", query_prompt, "NAME[=TEXT]", .needs = "task=embedding", .shown = "none",
         .help = "what the first text of each row begins with: a prompt of the model's by its name, or another that the run's "
                 "folder keeps under this name"),
    TEXT("document-prompt", document_prompt, "NAME[=TEXT]", .needs = "task=embedding", .shown = "none",
         .help = "the same for the other texts of each row"),
    LIST("column-prompt", column_prompt, "COLUMN=NAME[=TEXT]", .needs = "task=embedding", .shown = "none",
         .help = "the same for the texts of one column; may be given several times"),
    TEXT("teacher-column", teacher_column, "NAME", .needs = "task=embedding", .excludes = "stream", .shown = "none",
         .help =
             "a column of lists of numbers, of another model: the vector that each text of the row is to have (mse-vectors), or "
             "a score of each document (margin-mse, distill-kl)"),
    NAMES("matryoshka", matryoshka, "N,N,..", .aliases = "dims", .needs = "task=embedding", .shown = "all numbers of a vector",
          .to = {TRAIN(loss.matryoshka)},
          .help = "the sum of the loss of the first N numbers of each vector, so that these are good alone: 384,256,128"),
    NAMES("matryoshka-weights", matryoshka_weights, "X,X,..", .aliases = "weights", .needs = "matryoshka", .shown = "1 each",
          .to = {TRAIN(loss.matryoshka_weights)}, .help = "the weight of each of these losses"),
    REAL("positive-weight", positive_weight, "X", 1e-6, 1e6, .needs = "task=rerank", .shown = "1",
         .to = {TRAIN(loss.positive_weight)}, .help = "bce: weight of relevant documents"),
    {0},
};

const cli_option cli_loss_options[] = {
    HEADING("Loss"),
    TEXT("class-weights", class_weights, "WEIGHTS", .shown = "1 each", .to = {TRAIN(class_weights)},
         .help = "balanced, or NAME=X,NAME=Y (a name with a comma in quotes: \"a, b\"=2); the mean loss is divided by the "
                 "weights of the step's rows. Multi-label: "
                 "weights of the positive terms"),
    REAL("label-smoothing", label_smoothing, "E", 0, 1, .aliases = "label-smoothing-factor", .fallback = "0",
         .to = {TRAIN(label_smoothing)}, .help = "share of the target that is spread over all classes"),
    ROWS(cli_vector_loss_options),
    {0},
};

const cli_option cli_mask_options[] = {
    HEADING("Masked words"),
    TEXT("mask-rate", mask_rate, "R", .needs = "task=mlm", .shown = "0.15", .to = {TRAIN(mask_rate)},
         .help = "share of a text's tokens that are masked, at least one; 0.3:0.15 falls from the first step to the last"),
    FLAG("whole-words", whole_words, .needs = "task=mlm", .help = "mask all tokens of a word or none"),
    {0},
};

const cli_option cli_optimizer_options[] = {
    HEADING("Optimizer"),
    CHOICE("optimizer", optimizer, NULL, .words = brim_optimizer_names, .also = "adamw_torch|adamw_torch_fused|adamw_hf",
           .aliases = "optim", .fallback = "adamw", .to = {TRAIN(optimizer)},
           .help = "how a gradient changes the weights; each needs another learning rate. bert_adam is AdamW without bias "
                   "correction"),
    REAL("lr", lr, "X", 0, 1e3, .aliases = "learning-rate", .fallback = "5e-5", .to = {TRAIN(lr)}, .help = "peak learning rate"),
    CHOICE("schedule", schedule, "linear|cosine|constant", .aliases = "lr-scheduler-type", .fallback = "linear",
           .to = {TRAIN(schedule)}, .parse = parse_schedule,
           .help = "how the learning rate falls after the warm-up: linear and cosine to 0 at the end, constant not at all"),
    INTEGER("warmup-steps", warmup_steps, "N", 0, CLI_MANY, .fallback = "0", .excludes = "warmup-ratio",
            .to = {TRAIN(warmup_steps)}, .help = "steps of linear warm-up from 0, before --schedule"),
    REAL("warmup-ratio", warmup_ratio, "X", 0, 1, .fallback = "0", .to = {TRAIN(warmup_ratio)},
         .help = "the same as a share of all steps"),
    REAL("weight-decay", weight_decay, "X", 0, 1e3, .fallback = "0", .to = {TRAIN(weight_decay)},
         .help = "weight decay: decoupled in AdamW, part of the gradient in the others; biases, layer norms "
                 "and weights of layers have none"),
    CHOICE("decay-towards", decay_towards, "zero|pretrained", .fallback = "zero", .to = {TRAIN(decay_towards)},
           .help = "what --weight-decay draws the weights to: zero, or the weights that training starts from. New weights go to "
                   "zero"),
    REAL("mixout", mixout, "P", 0, 1, .fallback = "0", .to = {TRAIN(mixout)},
         .help = "in each step take a share P of each matrix's weights as they were at the start: dropout of what was learnt"),
    REAL("clip", clip, "X", 0, 1e9, .aliases = "max-grad-norm", .fallback = "1", .to = {TRAIN(clip)},
         .help = "largest norm of the gradient; larger ones are scaled down. 0: no limit"),
    REAL("layer-lr-decay", layer_lr_decay, "X", 1e-3, 1, .aliases = "layerwise-lr-decay", .fallback = "1",
         .to = {TRAIN(layer_lr_decay)},
         .help = "the learning rate of each layer is that of the layer above times X; the head has --lr"),
    REAL("momentum", momentum, "X", 0, 1, .fallback = "0.9", .to = {TRAIN(momentum)},
         .help = "momentum of optimizers that have no --beta1"),
    REAL("beta1", beta1, "X", 0, 1, .fallback = "0.9", .to = {TRAIN(beta1)}, .help = "AdamW's first decay rate"),
    REAL("beta2", beta2, "X", 0, 1, .fallback = "0.999", .to = {TRAIN(beta2)}, .help = "AdamW's second decay rate"),
    REAL("eps", eps, "X", 0, 1, .fallback = "1e-8", .to = {TRAIN(eps)}, .help = "epsilon of AdamW and others, outside the root"),
    {0},
};

bool cli_is_cuda(const char *device) {
  return device && strncmp(device, "cuda", 4) == 0;
}

/* "cuda:1" is the second card, which the library counts from 1 on. */
static bool parse_device(const char *text, void *field) {
  brim_model_options *options = (brim_model_options *)(void *)((char *)field - offsetof(brim_model_options, device));
  options->device = cli_is_cuda(text) ? BRIM_DEVICE_CUDA : BRIM_DEVICE_CPU;
  options->card = strncmp(text, "cuda:", 5) == 0 ? (int32_t)strtol(text + 5, NULL, 10) + 1 : 0;
  return true;
}

#define CUDA_NUMBERS                                                                                                             \
  "cuda:0|cuda:1|cuda:2|cuda:3|cuda:4|cuda:5|cuda:6|cuda:7|cuda:8|cuda:9|cuda:10|cuda:11|cuda:12|cuda:13|cuda:14|cuda:15"

const cli_option cli_device_option[] = {
    CHOICE("device", device, "cpu|cuda", .also = CUDA_NUMBERS, .fallback = "cpu", .to = {MODEL(device)}, .parse = parse_device,
           .help = "where to compute; cuda is an NVIDIA GPU (`brim doctor` says what it needs), cuda:1 the second one"),
    FLAG("tf32", tf32, .to = {MODEL(tf32)},
         .help = "with --device cuda: round the factors of fp32 products to 10 bits after the point (TF32), which changes "
                 "results"),
    {0},
};

const cli_option cli_machine_options[] = {
    HEADING("Machine"),
    TEXT("memory-limit", memory_limit, "SIZE", .shown = "none", .to = {PARSED(CLI_TRAIN, brim_train_options, memory_limit)},
         .parse = parse_size, .expected = "a size such as 2GB, 1500MB or 2GiB",
         .help = "such as 2GB, 1500MB or 2GiB: cut steps into parts that fit, which changes no result; if none fit, say "
                 "what would"),
    ROWS(cli_device_option),
    {0},
};

const cli_option cli_precision_option[] = {
    CHOICE("precision", precision, "fp32|bf16|fp16", .also = "int8", .fallback = "fp32",
           .help = "bf16 multiplies 16-bit values in the layers; sums and master weights stay fp32. Activations need little "
                   "more than half of the memory. It is faster on processors with instructions for it: 1.6 to 1.8 times "
                   "with AVX512-BF16, 1.8 to 2 with AMX, as `brim doctor` measures. fp16: the same with --device cuda, with "
                   "a scaled loss"),
    {0},
};

/* ---- a trained model -------------------------------------------------------------------------------------- */

const cli_option cli_inference_options[] = {
    TEXT("model", model, "RUN", .letter = 'm', .path = CLI_READS_MODEL, .required = true,
         .help = "folder that `brim train` or Hugging Face transformers wrote"),
    ROWS(cli_tokenizer_option),
    INTEGER("max-length", max_length, "N", 1, 1 << 30, .shown = "the run's, or the model's",
            .help = "rows are cut to N tokens, special tokens included"),
    ROWS(cli_windows_options),
    INTEGER("batch-size", batch_size, "N", 1, 1e9, .letter = 'b', .fallback = "32", .to = {EVAL(batch_size)},
            .help = "rows computed at once"),
    ROWS(cli_max_tokens_option),
    ROWS(cli_padding_option),
    ROWS(cli_device_option),
    CHOICE("precision", precision, "fp32|bf16|fp16|int8", .fallback = "fp32",
           .help = "int8 multiplies bytes in the layers: faster on processors with VNNI, and close to fp32, not equal. bf16 "
                   "multiplies 16-bit values, as training with --precision bf16 does: closer"),
    {0},
};
