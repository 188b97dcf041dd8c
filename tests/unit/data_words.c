/* Rows of words with a label each: what readers make of JSON lines, tables, plain text and conll files, and the tokens, words and
 * labels of data sets. */
#include "data_tokenizer.h"

static const brim_source_options words = {.words = true, .need_label = true}, unlabelled = {.words = true};

/* ---- readers ---------------------------------------------------------------------------------------------- */

static void json(void) {
  ok_string(data_read_text("a.jsonl",
                           "{\"id\":\"7\",\"tokens\":[\"ab\",\"c d\",7,\"\"],\"ner_tags\":[\"B-X\",\"O\",\"O\",3]}\n"
                           "{\"tags\":[1],\"words\":[\"x\"]}\n{\"text\":\" a\\t b\\n\",\"label\":\"O  O\"}\n"
                           "{\"tokens\":[],\"labels\":[]}\n",
                           &words),
            "0 1 0 [ab\\x00c d\\x007\\x00\\x00] - [B-X\\x00O\\x00O\\x003\\x00]\n1 2 67 [x\\x00] - [1\\x00]\n"
            "2 3 94 [a\\x00b\\x00] - [O\\x00O\\x00]\n3 4 129 [] - []\n",
            "lists, or strings that are split; columns by the names that data sets have");
  ok_string(data_read_text("a.jsonl",
                           "{\"label\":[\"A\"],\"tags\":[\"B\"],\"ner_tags\":[\"C\"],\"text\":\"q\",\"tokens\":[\"x\"]}\n",
                           &words),
            "0 1 0 [x\\x00] - [C\\x00]\n", "of several columns the most telling one");
  ok_string(data_read_text("a.jsonl", "{\"tokens\":[\"x\"],\"pos_tags\":[\"N\"],\"ner_tags\":[\"C\"]}\n",
                           &(brim_source_options){.words = true, .need_label = true, .label_column = "pos_tags"}),
            "0 1 0 [x\\x00] - [N\\x00]\n", "or the one that is named");
  ok_string(data_read_text("a.json", "[{\"tokens\":[\"x\"],\"tags\":[0]}]", &words), "0 1 1 [x\\x00] - [0\\x00]\n",
            "an array of rows");
  ok_string(data_read_text("a.jsonl", "{\"tokens\":[\"a\",\"b\"]}\n", &unlabelled), "0 1 0 [a\\x00b\\x00] - -\n",
            "without labels");
  ok_string(data_read_text("a.jsonl", "{\"tokens\":[\"a\",\"b\"],\"labels\":[null,\"O\"]}\n", &words),
            "0 1 0 [a\\x00b\\x00] - [\\x00O\\x00]\n", "null is no label");
  ok_string(data_read_text("a.jsonl",
                           "{\"text\":\"a\xC2\xA0"
                           "b\xE2\x80\x83\xE3\x80\x80"
                           "c\xE2\x80\x8B\"}\n",
                           &unlabelled),
            "0 1 0 [a\\x00b\\x00c\xE2\x80\x8B\\x00] - -\n", "white space of any kind, not what has no width");
}

static void json_refused(void) {
  static const char *const wrong[][2] = {
      {"{\"tokens\":[\"a\"],\"tags\":[1]}\n{\"tokens\":[\"a\",\"b\"],\"tags\":[1]}\n",
       "0 1 0 [a\\x00] - [1\\x00]\n!5 a.jsonl: line 2, byte 28: the row has 2 words and 1 tag: each word has one\n"},
      {"{\"tokens\":[\"a\"],\"tags\":[1]}\n{\"tokens\":[\"a\"]}\n",
       "0 1 0 [a\\x00] - [1\\x00]\n!5 a.jsonl: line 2, byte 28: there is no \"ner_tags\" in this line; it has \"tokens\"\n"},
      {"{\"tokens\":[\"a\"],\"tags\":null}\n",
       "!5 a.jsonl: line 1, byte 0: \"tags\" is null or empty: fill it in, or leave such rows out (missing_label skip)\n"},
      {"{\"tokens\":[\"a\",[\"b\"]],\"tags\":[1,1]}\n",
       "!5 a.jsonl: line 1, byte 15: \"tokens\" holds an array where a string, a number or a boolean is expected\n"},
      {"{\"tokens\":{\"a\":1},\"tags\":[1]}\n",
       "!5 a.jsonl: line 1, byte 10: \"tokens\" is an object where a list of words, or a string, is expected\n"},
      {"{\"tokens\":[\"a\\u0000b\"],\"tags\":[1]}\n", "!5 a.jsonl: line 1, byte 11: the word holds a NUL byte: remove it\n"},
      {"{\"sentence\":\"a\",\"tags\":[1]}\n",
       "!5 a.jsonl: line 1, byte 0: there is no \"tokens\" in this line; it has \"sentence\", \"tags\"; say which has the "
       "texts: --text-column NAME\n"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    ok_string(data_read_text("a.jsonl", wrong[i][0], &words), wrong[i][1], "refused");
  ok_string(data_read_text("a.jsonl", "{\"tokens\":[\"a\"],\"tags\":[1]}\n", &(brim_source_options){0}),
            "!5 a.jsonl: line 1, byte 0: there is no \"text\" in this line; it has \"tokens\", \"tags\": words with a label each "
            "are of "
            "the task tokens (--task tokens)\n",
            "without being asked for words, a hint");
  ok_string(data_read_text("a.jsonl", "{}\n", &(brim_source_options){.words = true, .pair_column = "b"}),
            "!2 labels of words are for single texts: leave out the pair column\n", "no pairs");
}

static void tables_and_text(void) {
  ok_string(data_read_text("a.csv", "id,text,tags\n1,\"a, b\",O O\n2,,\n", &words),
            "0 2 13 [a,\\x00b\\x00] - [O\\x00O\\x00]\n1 3 26 [] - []\n", "a column of words, one of as many tags");
  ok_string(data_read_text("a.csv", "tokens,tags\na b,O\n", &words),
            "!5 a.csv: line 2, byte 12: the row has 2 words and 1 tag: each word has one\n", "not as many");
  ok(strstr(data_read_text("a.csv", "tokens,tags\n\"['a', 'b']\",\"['O', 'O']\"\n", &words),
            "the tags are a list as Python or JSON writes it"),
     "lists that pandas wrote");
  ok_string(data_read_text("a.txt", "a  b\n\n c\n", &unlabelled), "0 1 0 [a\\x00b\\x00] - -\n1 2 5 [] - -\n2 3 6 [c\\x00] - -\n",
            "a text a line");
}

static void conll(void) {
  ok_string(data_read_text("a.conll", "EU B-ORG\rrejects O\r", &words),
            "!5 a.conll: line 1, byte 8: the only line of the file holds a CR: lines that end in CR alone are read of csv only; "
            "convert the file first, for example with tr '\\r' '\\n'\n",
            "lines that end in CR alone");
  ok_string(data_read_text(
                "a.conll",
                "-DOCSTART- -X- O O\r\n\r\nEU NNP I-NP B-ORG\r\nrejects VBZ I-VP O\r\n\r\n\r\n-DOCSTART- -X- O O\n\n# # O O\n"
                "call NN I-NP O",
                &words),
            "0 3 22 [EU\\x00rejects\\x00] - [B-ORG\\x00O\\x00]\n1 9 85 [#\\x00call\\x00] - [O\\x00O\\x00]\n",
            "the first column and the last; documents' heads and empty lines stand between");
  ok_string(data_read_text("a.bio", "# sent_id = 7\n# text = New York is\nNew York\tB-LOC\nis\tO\n\n", &words),
            "0 3 35 [New York\\x00is\\x00] - [B-LOC\\x00O\\x00]\n", "between tabs there may be spaces; comments are none");
  ok_string(data_read_text("a.conll", "1 a N B-X\n2 b V O\n",
                           &(brim_source_options){.words = true, .need_label = true, .text_column = "1", .label_column = "2"}),
            "0 1 0 [a\\x00b\\x00] - [N\\x00V\\x00]\n", "columns by number");
  ok(strstr(data_read_text("a.conll", "1\ta\tN\tB-X\n2\tb\tV\tO\n", &words),
            "the first column counts the words (1, 2, ..), as in CoNLL-U"),
     "a column of numbers is no column of words");
  ok_string(data_read_text("a.conll", "1\ta\tN\tB-X\n2\tb\tV\tO\n",
                           &(brim_source_options){.words = true, .need_label = true, .text_column = "0"}),
            "0 1 0 [1\\x002\\x00] - [B-X\\x00O\\x00]\n", "unless it is named");
  ok_string(data_read_text("a.conll", "a\nb\n\nc\n", &unlabelled), "0 1 0 [a\\x00b\\x00] - -\n1 4 5 [c\\x00] - -\n",
            "words alone");
  static const char *const wrong[][2] = {
      {"a O\nb\n", "!5 a.conll: line 2: the line has 1 column where the first has 2: \"b\"\n"},
      {"a\nb\n", "!5 a.conll: line 1: the line has no tag: a word, a space or tab, and its tag are expected\n"},
      {"a O\nb\377 O\n",
       "!5 a.conll: line 2, byte 5: byte 0xFF is not UTF-8: convert the file first, for example with iconv -f latin1 -t utf8\n"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    ok_string(data_read_text("a.conll", wrong[i][0], &words), wrong[i][1], "refused");
  ok_string(data_read_bytes("a.conll", "a O\n\nb\0 O\n", 10, &words),
            "0 1 0 [a\\x00] - [O\\x00]\n"
            "!5 a.conll: line 3, byte 6: the line holds a NUL byte: remove it, for example with tr -d '\\000'\n",
            "a byte that no text has");
  ok_string(data_read_text("a.conll", "a O\n", &(brim_source_options){.words = true, .need_label = true, .label_column = "3"}),
            "!2 a.conll: line 1: there is no column 3: the columns of a conll file are numbers, here 0 to 1\n", "no such column");
  ok_string(data_read_text("a.conll", "a O\n", &(brim_source_options){0}),
            "!2 a.conll: this is read as conll, words with a tag each: choose the task tokens (--task tokens)\n", "not of texts");
}

/* ---- data sets -------------------------------------------------------------------------------------------- */

static brim_dataset *load(const brim_tokenizer *tokenizer, const char *name, const char *text, brim_dataset_options options) {
  const char *path = scratch_write(name, text);
  brim_dataset *dataset = NULL;
  brim_error err = {0};
  if (brim_dataset_load(data_runtime, &path, 1, tokenizer, &options, &dataset, &err))
    printf("# %s\n", err.message);
  return dataset;
}

/* "id:word:label ..." of a row. */
static const char *shown(const brim_dataset *dataset, uint64_t row) {
  static char text[400];
  brim_sample s;
  size_t used = 0;
  if (!dataset)
    return "";
  brim_dataset_sample(dataset, row, &s);
  for (int32_t i = 0; i < s.length; i++)
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%d:%d:%d", i ? " " : "", s.ids[i], s.words[i],
                             s.token_labels ? s.token_labels[i] : BRIM_NO_LABEL);
  return text;
}

static const char rows[] =
    "{\"tokens\":[\"abc\",\"\",\"d\"],\"tags\":[\"O\",\"O\",\"B-X\"]}\n{\"tokens\":[\"e\",\"fg\"],\"tags\":[\"B-A\",-100]}\n";

static void loaded(const brim_tokenizer *tokenizer) {
  const brim_dataset_options options = {.source.need_label = true, .task = BRIM_TASK_TOKENS};
  brim_dataset *d = load(tokenizer, "a.jsonl", rows, options);
  ok(d && brim_dataset_rows(d) == 2, "two rows");
  if (!d)
    return;
  const brim_labels *labels = brim_dataset_labels(d);
  ok(labels->task == BRIM_TASK_TOKENS && labels->count == 3 && !strcmp(labels->names[0], "B-A") && !strcmp(labels->names[2], "O"),
     "classes in the order of their names");
  ok_string(shown(d, 0), "2:-1:-100 5:0:2 32:0:-100 33:0:-100 8:2:1 3:-1:-100", "the first token of a word has its label");
  ok_string(shown(d, 1), "2:-1:-100 9:0:0 10:1:-100 37:1:-100 3:-1:-100", "-100 is none");
  const uint64_t *firsts = brim_dataset_token_labels(d);
  ok(firsts[0] == 0 && firsts[1] == 2 && firsts[2] == 3, "labelled tokens of each row");
  brim_sample s;
  brim_dataset_sample(d, 0, &s);
  ok(s.word_text_length == 7 && memcmp(s.word_text, "abc\0\0d", 7) == 0, "the words are kept");
  brim_dataset *subset;
  ok(!brim_dataset_subset(data_runtime, d, (const uint64_t[]){1, 0}, 2, &subset, NULL), "a subset");
  ok_string(shown(subset, 1), "2:-1:-100 5:0:2 32:0:-100 33:0:-100 8:2:1 3:-1:-100", "has its rows' words and labels");
  brim_dataset_sample(subset, 0, &s);
  ok(s.word_text_length == 5 && memcmp(s.word_text, "e\0fg", 5) == 0, "and their text");
  brim_dataset_free(subset);
  brim_dataset_free(d);
}

/* Truncation takes words from the end, or from the beginning: a word that loses its first token has the label at the next. */
static void truncated(const brim_tokenizer *tokenizer) {
  brim_dataset_options options = {.source.need_label = true, .task = BRIM_TASK_TOKENS, .encode.max_length = 4};
  brim_dataset *d = load(tokenizer, "a.jsonl", rows, options);
  ok_string(shown(d, 0), "2:-1:-100 5:0:2 32:0:-100 3:-1:-100", "cut at the right");
  ok(d && brim_dataset_truncated(d) == 2 && brim_dataset_lost(d) == 3, "and counted");
  brim_dataset_free(d);
  options.encode.truncation_side = BRIM_SIDE_LEFT;
  d = load(tokenizer, "a.jsonl", rows, options);
  ok_string(shown(d, 0), "2:-1:-100 33:0:2 8:2:1 3:-1:-100", "cut at the left");
  brim_dataset_free(d);
  options.encode = (brim_encode_options){.no_special_tokens = true};
  d = load(tokenizer, "a.jsonl", rows, options);
  ok_string(shown(d, 0), "5:0:2 32:0:-100 33:0:-100 8:2:1", "without special tokens");
  brim_dataset_free(d);
}

static void refused(const brim_tokenizer *tokenizer, const brim_dataset_options *options, const char *tag, const char *wrong) {
  char text[100];
  brim_error err = {0};
  brim_dataset *d;
  snprintf(text, sizeof text, "{\"tokens\":[\"a\"],\"tags\":[%s]}\n{\"tokens\":[\"a\"],\"tags\":[%s]}\n", tag, wrong);
  const char *path = scratch_write("a.jsonl", text);
  const int status = brim_dataset_load(data_runtime, &path, 1, tokenizer, options, &d, &err);
  ok((status == BRIM_E_MISMATCH || status == BRIM_E_FORMAT) && err.line == 2, "refused: %s", err.message);
}

/* Where a model's classes are numbers, a number is a name, and never the number of a class. */
static void known_numbers(const brim_tokenizer *tokenizer) {
  static const char *const names[] = {"1", "2", "5"}, *const wrong[] = {"0", "\"0\"", "3", "-1"};
  brim_labels labels;
  if (brim_labels_make(data_runtime, BRIM_TASK_TOKENS, names, 3, &labels, NULL))
    return;
  const brim_dataset_options options = {.source.need_label = true, .labels = &labels};
  for (int strings = 0; strings < 2; strings++) {
    brim_labels_set_strings(&labels, strings > 0);
    brim_dataset *d = load(tokenizer, "a.jsonl", "{\"tokens\":[\"a\",\"b\",\"c\"],\"tags\":[2,1,5]}\n", options);
    ok_string(shown(d, 0), "2:-1:-100 5:0:1 6:1:0 7:2:2 3:-1:-100", "by name");
    brim_dataset_free(d);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
      refused(tokenizer, &options, "1", wrong[i]);
  }
  const char *path = scratch_write("a.conll", "a 1\nb 0\n");
  brim_dataset *d;
  ok_int(brim_dataset_load(data_runtime, &path, 1, tokenizer, &options, &d, NULL), BRIM_E_MISMATCH, "a field of a file, too");
  brim_labels_free(&labels);
}

/* With a model's classes: by name, or by number; any other is refused with its place. */
static void known(const brim_tokenizer *tokenizer) {
  static const char *const names[] = {"O", "B-X", "B-A"}, *const wrong[] = {"7", "-1", "\"B-Y\"", "\"\"", "0.5"};
  brim_labels labels;
  brim_dataset *d;
  if (brim_labels_make(data_runtime, BRIM_TASK_TOKENS, names, 3, &labels, NULL))
    return;
  const brim_dataset_options options = {.source.need_label = true, .labels = &labels};
  d = load(tokenizer, "a.jsonl", rows, options);
  ok_string(shown(d, 0), "2:-1:-100 5:0:0 32:0:-100 33:0:-100 8:2:1 3:-1:-100", "by name");
  brim_dataset_free(d);
  d = load(tokenizer, "a.jsonl", "{\"tokens\":[\"a\",\"b\",\"c\"],\"tags\":[2,0,-100]}\n", options);
  ok_string(shown(d, 0), "2:-1:-100 5:0:2 6:1:0 7:2:-100 3:-1:-100", "by number");
  brim_dataset_free(d);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    refused(tokenizer, &options, "0", wrong[i]);
  brim_labels_free(&labels);
}

/* ---- in memory -------------------------------------------------------------------------------------------- */

typedef struct memory_row {
  const char *words, *tags;
  size_t words_length, tags_length;
  bool list;
} memory_row;

static int row_of(void *context, uint64_t index, brim_text_row *out, brim_error *err) {
  (void)err;
  const memory_row *r = (const memory_row *)context + index;
  *out = (brim_text_row){.text = r->words,
                         .text_length = r->words_length,
                         .label = r->tags,
                         .label_length = r->tags_length,
                         .label_is_list = r->list};
  return BRIM_OK;
}

static void in_memory(const brim_tokenizer *tokenizer) {
  const memory_row all[] = {{"abc\0\0d", "O\0O\0B-X", 7, 8, true}, {"e\0fg", "B-A\0-100", 5, 9, true}};
  static const memory_row wrong[][2] = {{{"a", "O", 2, 2, true}, {"a\0b", "O", 4, 2, true}},
                                        {{"a", "O", 2, 2, true}, {"a", "O", 2, 1, false}},
                                        {{"a", "O", 2, 2, true}, {"a", "O", 1, 2, true}},
                                        {{"a", "O", 2, 2, true}, {"a", NULL, 2, 0, false}}};
  const brim_dataset_options options = {.source.need_label = true, .task = BRIM_TASK_TOKENS};
  brim_dataset *file = load(tokenizer, "a.jsonl", rows, options), *memory = NULL;
  ok(!brim_dataset_from_texts(data_runtime, row_of, (void *)all, 2, tokenizer, &options, &memory, NULL) && file &&
         brim_dataset_fingerprint(file) == brim_dataset_fingerprint(memory),
     "the same rows from memory");
  ok_string(shown(memory, 0), "2:-1:-100 5:0:2 32:0:-100 33:0:-100 8:2:1 3:-1:-100", "with their words");
  brim_dataset_free(file);
  brim_dataset_free(memory);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    brim_error err = {0};
    ok(brim_dataset_from_texts(data_runtime, row_of, (void *)wrong[i], 2, tokenizer, &options, &memory, &err) && !memory &&
           strncmp(err.message, "row 1", 5) == 0,
       "refused: %s", err.message);
  }
}

/* A pass over the labels alone finds the classes and counts that are in memory; a cache gives the same rows. */
static void elsewhere(const brim_tokenizer *tokenizer) {
  const char *path = scratch_write("a.jsonl", rows);
  const brim_dataset_options options = {.source.need_label = true, .task = BRIM_TASK_TOKENS, .cache = scratch_file("cache")};
  brim_dataset *d = load(tokenizer, "a.jsonl", rows, options), *again = load(tokenizer, "a.jsonl", rows, options);
  ok(d && again && brim_dataset_fingerprint(d) == brim_dataset_fingerprint(again), "from a cache");
  brim_labels labels;
  brim_error err = {0};
  uint64_t count = 0, counted[16] = {0};
  if (brim_labels_scan(data_runtime, &path, 1, &words, BRIM_TASK_TOKENS, NULL, NULL, &labels, &count, &err))
    printf("Bail out! %s\n", err.message);
  const brim_labels *known = brim_dataset_labels(d);
  bool same = known->count == labels.count && labels.task == BRIM_TASK_TOKENS && count == brim_dataset_rows(d);
  for (int32_t i = 0; same && i < labels.count; i++)
    same = strcmp(known->names[i], labels.names[i]) == 0;
  for (uint64_t row = 0; row < brim_dataset_rows(d); row++) {
    brim_sample sample;
    brim_dataset_sample(d, row, &sample);
    for (int32_t i = 0; i < sample.length; i++)
      if (sample.token_labels[i] != BRIM_NO_LABEL)
        counted[sample.token_labels[i]]++, counted[labels.count]++;
  }
  counted[2]++, counted[3]++; /* an empty word, which has a tag but no token */
  ok(same && memcmp(counted, labels.rows, ((size_t)labels.count + 1) * sizeof *counted) == 0,
     "a scan finds the same %d classes of %llu words in %llu rows", labels.count, (unsigned long long)labels.rows[labels.count],
     (unsigned long long)count);
  brim_dataset_free(d);
  brim_dataset_free(again);
  brim_labels_free(&labels);
}

int main(void) {
  data_start(3);
  brim_tokenizer *tokenizer = data_tokenizer();
  json();
  json_refused();
  tables_and_text();
  conll();
  loaded(tokenizer);
  truncated(tokenizer);
  known(tokenizer);
  known_numbers(tokenizer);
  in_memory(tokenizer);
  elsewhere(tokenizer);
  brim_tokenizer_free(tokenizer);
  brim_runtime_free(data_runtime);
  return tap_done();
}
