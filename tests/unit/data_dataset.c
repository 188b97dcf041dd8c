/* Datasets: from files, from samples, from JSON batches. */
#include "data/dataset.h"
#include "data/facts.h"
#include "data_tokenizer.h"

static brim_tokenizer *tokenizer;

static int load(const char *path, const brim_dataset_options *options, brim_dataset **out, brim_error *err) {
  return brim_dataset_load(data_runtime, &path, 1, tokenizer, options, out, err);
}

static void from_file(void) {
  const char *path = scratch_write("a.csv", "text,label,text_pair\nabc,pos,\nb,neg,cd\n,pos,e\n");
  brim_dataset_options options = {.source.need_label = true, .encode.max_length = 6};
  brim_dataset *d;
  brim_sample s;
  ok_int(load(path, &options, &d, NULL), BRIM_OK, "load");
  ok_int(brim_dataset_rows(d), 3, "rows");
  ok_int(brim_dataset_tokens(d), 6 + 6 + 4, "tokens");
  ok(!memcmp(brim_dataset_lengths(d), (int32_t[]){6, 6, 4}, 12), "lengths");
  ok_int(brim_dataset_longest(d), 6, "longest");
  ok_int(brim_dataset_highest_id(d), 34, "highest id");
  ok_int(brim_dataset_highest_type(d), 1, "highest type");
  ok_int(brim_dataset_truncated(d), 0, "none is cut");
  ok(brim_dataset_has_pairs(d) && brim_dataset_has_labels(d), "pairs and labels");
  brim_dataset_sample(d, 1, &s);
  ok(s.length == 6 && !memcmp(s.ids, (int32_t[]){2, 6, 3, 7, 34, 3}, 24) && !memcmp(s.type_ids, "\0\0\0\1\1\1", 6), "a row");
  ok(s.label == 0 && s.row == 1, "its label");
  brim_dataset_sample(d, 2, &s);
  ok(s.label == 1 && s.length == 4, "the last row");
  const brim_labels *labels = brim_dataset_labels(d);
  ok(labels && labels->count == 2 && !strcmp(labels->names[0], "neg") && !strcmp(labels->names[1], "pos"), "the mapping");
  ok(labels->task == BRIM_TASK_CLASSIFICATION && labels->form == BRIM_FORM_NAME, "its task");
  brim_dataset_free(d);

  options.source.need_label = false;
  options.encode.max_length = 5;
  ok_int(load(path, &options, &d, NULL), BRIM_OK, "load without labels");
  ok(!brim_dataset_has_labels(d) && !brim_dataset_labels(d), "there are none");
  brim_dataset_sample(d, 0, &s);
  ok(isnan(s.label), "no label is NaN");
  ok_int(brim_dataset_truncated(d), 2, "rows that are cut");
  ok_int(brim_dataset_lost(d), 2, "tokens that are cut");
  brim_dataset_free(d);
  brim_dataset_free(NULL);
}

static void single_texts(void) {
  brim_dataset_options options = {.source.need_label = true};
  brim_dataset *d;
  brim_sample s;
  ok_int(load(scratch_write("a.tsv", "text\tlabel\na\t1\nb\t0\nab\t1\n"), &options, &d, NULL), BRIM_OK, "single texts");
  brim_dataset_sample(d, 2, &s);
  ok(!s.type_ids && s.label == 1 && !brim_dataset_has_pairs(d), "have no types");
  ok(brim_dataset_labels(d)->form == BRIM_FORM_NUMBER, "labels are integers");
  brim_dataset_free(d);
  options.task = BRIM_TASK_REGRESSION;
  ok_int(load(scratch_file("a.tsv"), &options, &d, NULL), BRIM_OK, "regression on integers");
  ok(brim_dataset_labels(d)->task == BRIM_TASK_REGRESSION && brim_dataset_labels(d)->count == 1, "its mapping");
  brim_dataset_free(d);
  options.task = BRIM_TASK_AUTO;
  ok_int(load(scratch_write("a.tsv", "text\tlabel\na\t1.5\nb\t-2e-3\n"), &options, &d, NULL), BRIM_OK, "decimals");
  brim_dataset_sample(d, 1, &s);
  ok(s.label == -2e-3f, "their value");
  brim_dataset_free(d);
}

static void expect(const char *what, const char *name, const char *text, const brim_dataset_options *options, const char *want) {
  brim_dataset *d;
  brim_error err;
  brim_text got;
  brim_text_init(&got, data_runtime);
  int status = load(scratch_write(name, text), options, &d, &err);
  if (status == BRIM_OK)
    brim_text_string(&got, "loaded");
  else
    data_show_error(&got, status, &err);
  ok_string(got.data, want, what);
  ok(status == BRIM_OK || !d, "no dataset then");
  brim_text_free(&got);
  brim_dataset_free(d);
}

static void refused(void) {
  brim_dataset_options plain = {0}, need = {.source.need_label = true};
  expect("only a header", "a.csv", "text,label\n", &plain, "!5 a.csv: there are no rows\n");
  expect("only empty lines", "a.jsonl", "\n\n", &plain, "!5 a.jsonl: there are no rows\n");
  brim_dataset_options few = {.source.min_chars = 3};
  expect("all excluded", "a.txt", "ab\n \n", &few,
         "!5 a.txt: no rows are left: 2 were excluded, the first because of: fewer than 3 characters\n");
  brim_dataset_options labelled = {.source = {.min_chars = 3, .need_label = true, .skip_unlabelled = true}};
  expect("all excluded, for one reason each", "a.csv", "text,label\nab,1\nlong,\n", &labelled,
         "!5 a.csv: no rows are left: 2 were excluded, the first because of: fewer than 3 characters\n");
  brim_dataset_options bare = {.encode.no_special_tokens = true};
  expect("no token", "a.txt", "ab\n \nc\n", &bare,
         "!5 a.txt: line 2, byte 3: the text gives no token: leave such rows out (min_chars 1), or add the special tokens\n");
  expect(
      "mixed labels", "a.csv", "text,label\na,1\nb,x\n", &need,
      "!5 a.csv: line 3: label \"x\" is not a number, but the first label, \"1\" (a.csv line 2), is an integer: choose the task, "
      "classification or regression, or correct the labels\n");
  expect("a missing label", "a.csv", "text,label\na,1\nb,\n", &need,
         "!5 a.csv: line 3, byte 15: the value of column \"label\" is missing: fill it in, or leave such rows out (missing_label "
         "skip)\n");
  const char *names[] = {"0", "1"};
  brim_labels known;
  ok_int(brim_labels_make(data_runtime, BRIM_TASK_CLASSIFICATION, names, 2, &known, NULL), BRIM_OK, "known labels");
  brim_dataset_options evaluation = {.source.need_label = true, .labels = &known};
  expect("an unknown label", "a.csv", "text,label\na,1\nb,2\n", &evaluation,
         "!7 a.csv: line 3: label \"2\" is not among the 2 known labels: 0, 1\n");
  expect("known labels", "a.csv", "text,label\na,1\nb,1\n", &evaluation, "loaded");
  brim_labels_free(&known);
}

static int count_events(void *context, const brim_event *event) {
  int *counts = context;
  const brim_field *done = brim_event_field(event, "done"), *total = brim_event_field(event, "total");
  counts[0]++;
  counts[1] = done && total && done->integer == total->integer && brim_event_field(event, "rows")->integer == 3;
  return counts[2];
}

static void events(void) {
  int counts[3] = {0};
  brim_dataset_options options = {.progress = count_events, .progress_context = counts};
  brim_dataset *d;
  brim_error err;
  const char *path = scratch_write("a.txt", "a\nb\nc\n");
  ok_int(load(path, &options, &d, &err), BRIM_OK, "with progress");
  ok(counts[0] >= 1 && counts[1], "the last event says that all is done");
  brim_dataset_free(d);
  counts[2] = BRIM_E_CANCELLED;
  ok_int(load(path, &options, &d, &err), BRIM_E_CANCELLED, "stopped by the callback");
}

static void origins(void) {
  brim_where where = {"split", "train"};
  brim_dataset_options options = {.source = {.where = &where, .where_count = 1, .min_chars = 1}};
  brim_dataset *d;
  ok_int(load(scratch_write("a.csv", "text,split\na,train\nb,test\nc,train\n,train\nd,train\n"), &options, &d, NULL), BRIM_OK,
         "selected");
  uint64_t count;
  const brim_exclusion *out = brim_dataset_excluded(d, &count);
  ok_int(brim_dataset_rows(d), 3, "rows that are left");
  ok(brim_dataset_origin(d, 0) == 0 && brim_dataset_origin(d, 1) == 2 && brim_dataset_origin(d, 2) == 4, "where they come from");
  ok(count == 2 && out[0].row == 1 && out[1].row == 3 && out[0].line == 3, "rows that are not");
  ok_string(out[0].reason, "split is not train", "why");
  ok_string(out[1].reason, "fewer than 1 character", "why");
  ok(strstr(out[0].file, "a.csv") != NULL, "where they lie");
  brim_dataset_free(d);
}

/* Enough rows for several chunks, with growing rows, one longer than any chunk so far. */
static void large(void) {
  const int rows = 3000;
  static int32_t ids[200000];
  for (int i = 0; i < 200000; i++)
    ids[i] = i * 3;
  brim_sample *samples = calloc((size_t)rows, sizeof *samples);
  for (int i = 0; i < rows; i++)
    samples[i] = (brim_sample){.ids = ids + i, .length = i == 100 ? 150000 : 1 + i % 700, .label = (float)(i % 2)};
  brim_dataset *d, *e;
  ok_int(brim_dataset_from_samples(data_runtime, samples, (uint64_t)rows, NULL, &d, NULL), BRIM_OK, "many rows");
  bool equal = true;
  for (int i = 0; i < rows; i++) {
    brim_sample s;
    brim_dataset_sample(d, (uint64_t)i, &s);
    equal &= s.length == samples[i].length && !memcmp(s.ids, samples[i].ids, (size_t)s.length * 4) && s.label == samples[i].label;
    equal &= s.row == (uint64_t)i && !s.type_ids;
  }
  ok(equal, "all as they were");
  ok_int(brim_dataset_from_samples(data_runtime, samples, (uint64_t)rows, NULL, &e, NULL), BRIM_OK, "again");
  ok(brim_dataset_fingerprint(d) == brim_dataset_fingerprint(e), "the same fingerprint");
  brim_dataset_free(e);
  uint8_t types[2000] = {0};
  samples[7].type_ids = types;
  ok_int(brim_dataset_from_samples(data_runtime, samples, (uint64_t)rows, NULL, &e, NULL), BRIM_OK, "with types that are 0");
  ok(brim_dataset_fingerprint(d) == brim_dataset_fingerprint(e), "the same fingerprint");
  brim_dataset_free(e);
  types[3] = 1;
  ok_int(brim_dataset_from_samples(data_runtime, samples, (uint64_t)rows, NULL, &e, NULL), BRIM_OK, "with a type");
  ok(brim_dataset_fingerprint(d) != brim_dataset_fingerprint(e) && brim_dataset_has_pairs(e), "another fingerprint");
  brim_sample s;
  brim_dataset_sample(e, 7, &s);
  ok(s.type_ids && s.type_ids[3] == 1, "the types");
  brim_dataset_sample(e, 6, &s);
  ok(!s.type_ids, "none in other rows");
  brim_dataset_free(e);
  samples[7].type_ids = NULL;
  samples[2999].label = NAN;
  ok_int(brim_dataset_from_samples(data_runtime, samples, (uint64_t)rows, NULL, &e, NULL), BRIM_OK, "a row without a label");
  ok(!brim_dataset_has_labels(e) && brim_dataset_fingerprint(d) != brim_dataset_fingerprint(e), "not all are labelled");
  brim_dataset_free(e);
  brim_dataset_free(d);
  free(samples);
}

static void samples_refused(void) {
  const int32_t ids[] = {1, -2};
  const char *names[] = {"a", "b"};
  brim_labels labels;
  brim_dataset *d;
  ok_int(brim_labels_make(data_runtime, BRIM_TASK_CLASSIFICATION, names, 2, &labels, NULL), BRIM_OK, "a mapping");
  brim_sample good = {.ids = ids, .length = 1, .label = 1}, bad = good;
  ok_int(brim_dataset_from_samples(data_runtime, &good, 1, &labels, &d, NULL), BRIM_OK, "a sample");
  ok_int(brim_dataset_labels(d)->count, 2, "with its mapping");
  brim_dataset_free(d);
  ok_int(brim_dataset_from_samples(data_runtime, &good, 0, NULL, &d, NULL), BRIM_E_USAGE, "no samples");
  bad.length = 2;
  ok_int(brim_dataset_from_samples(data_runtime, &bad, 1, NULL, &d, NULL), BRIM_E_USAGE, "a negative id");
  bad.length = 0;
  ok_int(brim_dataset_from_samples(data_runtime, &bad, 1, NULL, &d, NULL), BRIM_E_USAGE, "an empty row");
  const int32_t words[] = {-1, 0, 1, 2, -2};
  const brim_sample of_words = {
      .ids = (int32_t[]){1, 1, 1}, .length = 3, .label = NAN, .words = words, .word_text = "a\0bc", .word_text_length = 5};
  ok_int(brim_dataset_from_samples(data_runtime, &of_words, 1, NULL, &d, NULL), BRIM_OK, "words");
  brim_dataset_free(d);
  for (int i = 0; i < 3; i++) {
    bad = of_words;
    bad.words += i < 2 ? i + 1 : 0;
    bad.word_text_length -= i == 2;
    ok_int(brim_dataset_from_samples(data_runtime, &bad, 1, NULL, &d, NULL), BRIM_E_USAGE,
           "a token of a word that is not there, or is cut");
  }
  const float wrong[] = {2, -1, 0.5f};
  for (int i = 0; i < 3; i++) {
    bad = good;
    bad.label = wrong[i];
    ok_int(brim_dataset_from_samples(data_runtime, &bad, 1, &labels, &d, NULL), BRIM_E_USAGE, "a label outside the mapping");
    ok(!d, "no dataset then");
  }
  brim_labels_free(&labels);
}

static void json(void) {
  brim_dataset *d;
  brim_sample s;
  const char *path = scratch_write(
      "b.json", " [{\"ids\": [3, 0, 70000], \"type_ids\": [0, 1, 1], \"label\": 2.5},\n {\"label\": 1, \"ids\": [7]}]\n");
  ok_int(brim_dataset_read_json(data_runtime, path, &d, NULL), BRIM_OK, "a batch");
  brim_dataset_sample(d, 0, &s);
  ok(s.length == 3 && !memcmp(s.ids, (int32_t[]){3, 0, 70000}, 12) && !memcmp(s.type_ids, "\0\1\1", 3) && s.label == 2.5f,
     "its first row");
  brim_dataset_sample(d, 1, &s);
  ok(s.length == 1 && s.ids[0] == 7 && !s.type_ids && s.label == 1, "its second row");
  ok(!brim_dataset_labels(d) && brim_dataset_has_labels(d) && brim_dataset_rows(d) == 2, "labels without a mapping");
  brim_dataset_free(d);
  static const struct {
    const char *text, *want;
  } bad[] = {
      {"{}", "!5 b.json: line 1, byte 0: a batch is an array of rows, not an object\n"},
      {"[]", "!5 b.json: line 1, byte 0: the batch has no rows\n"},
      {"[1]", "!5 b.json: line 1, byte 1: a row is an object {\"ids\": [..]}, not an integer\n"},
      {"[\n{\"label\":1}]", "!5 b.json: line 2, byte 2: the row has no \"ids\"\n"},
      {"[{\"ids\":3}]", "!5 b.json: line 1, byte 8: \"ids\" is an array of token ids, not an integer\n"},
      {"[{\"ids\":[]}]", "!5 b.json: line 1, byte 8: a row has at least one token\n"},
      {"[{\"ids\":[1,-1]}]", "!5 b.json: line 1, byte 11: a token id is an integer from 0 up\n"},
      {"[{\"ids\":[1.5]}]", "!5 b.json: line 1, byte 9: a token id is an integer from 0 up\n"},
      {"[{\"ids\":[4000000000]}]", "!5 b.json: line 1, byte 9: a token id is an integer from 0 up\n"},
      {"[{\"ids\":[1],\"type_ids\":[0,0]}]", "!5 b.json: line 1, byte 23: 2 type_ids for 1 ids\n"},
      {"[{\"ids\":[1],\"type_ids\":[256]}]", "!5 b.json: line 1, byte 24: a type id is an integer from 0 to 255\n"},
      {"[{\"ids\":[1],\"label\":\"x\"}]",
       "!5 b.json: line 1, byte 20: \"label\" is a class id or a number, or a list of them, not a string\n"},
      {"[{\"ids\":[1],\"label\":[]}]", "!5 b.json: line 1, byte 20: \"label\" lists at least one number, as many in every row\n"},
      {"[{\"ids\":[1],\"label\":[1,0]},{\"ids\":[1],\"label\":[1]}]",
       "!5 b.json: line 1, byte 46: \"label\" lists at least one number, as many in every row\n"},
      {"[{\"ids\":[1],\"label\":[1,0]},{\"ids\":[1],\"label\":1}]",
       "!5 b.json: line 1, byte 46: the first row's \"label\" is a list, this row's is not\n"},
      {"[{\"ids\":[1],\"label\":1e300}]", "!5 b.json: line 1, byte 20: the label is too large\n"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    brim_error err;
    brim_text got;
    brim_text_init(&got, data_runtime);
    int status = brim_dataset_read_json(data_runtime, scratch_write("b.json", bad[i].text), &d, &err);
    if (status != BRIM_OK)
      data_show_error(&got, status, &err);
    ok_string(got.data ? got.data : "read", bad[i].want, "a bad batch");
    brim_text_free(&got);
  }
}

/* Rows of ids alone, many at a time, after one that came by itself. */
static void runs(void) {
  static const int32_t ids[] = {5, 6, 7, 8, 9, 10}, lengths[] = {1, 4, 1};
  brim_dataset *d = brim_dataset_new(data_runtime, NULL);
  brim_sample s = {.ids = (const int32_t[]){3, 4}, .length = 2};
  if (!ok(d && brim_dataset_add(d, &s, 0, false, NULL) == BRIM_OK, "a row"))
    return;
  ok_int(brim_dataset_add_run(d, ids, lengths, 3, 2, 7, NULL), BRIM_OK, "and a run of rows");
  ok(brim_dataset_rows(d) == 4 && brim_dataset_tokens(d) == 8 && brim_dataset_longest(d) == 4,
     "its rows, tokens and longest row");
  ok(brim_dataset_truncated(d) == 2 && brim_dataset_lost(d) == 7, "what was cut off them");
  bool same = true;
  for (uint64_t row = 1, at = 0; row < 4; at += (uint64_t)lengths[row++ - 1]) {
    brim_dataset_sample(d, row, &s);
    same = same && s.length == lengths[row - 1] && memcmp(s.ids, ids + at, (size_t)s.length * sizeof *ids) == 0;
  }
  ok(same, "each row has its ids");
  brim_dataset_free(d);
}

int main(void) {
  data_start(2);
  tokenizer = data_tokenizer();
  from_file();
  single_texts();
  refused();
  events();
  origins();
  large();
  samples_refused();
  json();
  runs();
  brim_tokenizer_free(tokenizer);
  brim_runtime_free(data_runtime);
  return tap_done();
}
