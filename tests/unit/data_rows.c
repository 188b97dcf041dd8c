/* Rows of several texts: from columns and lists of files, from memory, from encoded rows; and what keeps their texts. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/cache.h"
#include "data_tokenizer.h"
#include "same_rows.h"

static brim_tokenizer *tokenizer;

static int load(const char *path, const brim_dataset_options *options, brim_dataset **out, brim_error *err) {
  return brim_dataset_load(data_runtime, &path, 1, tokenizer, options, out, err);
}

/* "abc|de+f|": the letters of each text's tokens, a + where its second half begins, and | after each row. */
static const char *shown(const brim_dataset *d) {
  static char text[4000];
  char *to = text;
  for (uint64_t row = 0; row < brim_dataset_rows(d); row++) {
    brim_sample s;
    brim_dataset_sample(d, row, &s);
    const int32_t *ids = s.ids;
    for (int32_t t = 0; t < (s.text_lengths ? s.text_count : 1); t++) {
      const int32_t length = s.text_lengths ? s.text_lengths[t] : s.length;
      to += sprintf(to, "%s", t ? " " : "");
      for (int32_t i = 1; i + 1 < length; i++)
        *to++ = ids[i] == 3 ? '+' : (char)('a' + (ids[i] - 5) % 26);
      if (ids[0] != 2 || ids[length - 1] != 3)
        to += sprintf(to, "?");
      ids += length;
    }
    *to++ = '|';
  }
  *to = 0;
  return text;
}

static void expect(const char *what, const char *name, const char *text, brim_source_options source, const char *want) {
  const brim_dataset_options options = {.source = source};
  brim_dataset *d;
  brim_error err;
  brim_text got;
  brim_text_init(&got, data_runtime);
  int status = load(scratch_write(name, text), &options, &d, &err);
  if (status == BRIM_OK)
    brim_text_string(&got, shown(d));
  else
    data_show_error(&got, status, &err);
  ok_string(got.data, want, what);
  brim_dataset_free(d);
  brim_text_free(&got);
}

static const char *const triple[] = {"anchor", "positive", "negative"};
#define TRIPLE .text_columns = triple, .text_column_count = 3

static void files(void) {
  static const char csv[] = "positive,anchor,negative,text\nb,a,c,x\nde,d,,y\n";
  const brim_source_options all = {TRIPLE}, two = {TRIPLE, .least_columns = 2},
                            pairs = {TRIPLE, .least_columns = 2, .paired = true};
  expect("columns in their order", "a.csv", csv, all, "a b c|d de |");
  expect("an empty field of one that may be missing is no text", "a.csv", csv, two, "a b c|d de|");
  expect("pairs of the first with each other", "a.csv", csv, pairs, "a+b a+c|d+de|");
  expect("a column that no row has", "a.csv", "positive,anchor\nb,a\n", two, "a b|");
  expect("one that all must have", "a.csv", "positive,anchor\nb,a\n", all,
         "!2 a.csv: there is no column \"negative\"; the columns are \"positive\", \"anchor\"\n");
  expect("a text file has one column", "a.txt", "a\n", two,
         "!2 a.txt: there is no column \"positive\": a text file has one text a line and no columns (csv, tsv and jsonl have)\n");
}

static void lists(void) {
  static const char lines[] = "{\"anchor\": \"a\", \"positive\": \"b\", \"negative\": [\"c\", \"\", \"de\"]}\n"
                              "{\"anchor\": \"f\", \"positive\": [\"g\", \"h\"], \"negative\": null}\n"
                              "{\"anchor\": \"i\", \"positive\": \"\"}\n";
  const brim_source_options two = {TRIPLE, .least_columns = 2}, pairs = {TRIPLE, .least_columns = 2, .paired = true};
  brim_source_options few = two, long_enough = two;
  few.most_texts = 3;
  long_enough.min_chars = 1;
  expect("lists of texts, one for each item", "a.jsonl", lines, two, "a b c  de|f g h|i |");
  expect("and of second halves", "a.jsonl", lines, pairs, "a+b a+c a+ a+de|f+g f+h|i+|");
  expect("any text that is too short excludes its row", "a.jsonl", lines, long_enough, "f g h|");
  expect("an item that is null", "a.jsonl",
         "{\"anchor\": \"a\", \"positive\": \"b\"}\n{\"anchor\": \"a\", \"positive\": [\"b\", null]}\n", two,
         "!5 a.jsonl: line 2, byte 33: item 2 of the list in \"positive\" is null, and each is a text: fill it in, or leave such "
         "rows out (min_chars 1)\n");
  expect("which excludes its row, in a column that rows may lack, too", "a.jsonl",
         "{\"anchor\": \"a\", \"positive\": \"b\", \"negative\": [null, \"c\"]}\n{\"anchor\": \"d\", \"positive\": [\"e\"]}\n",
         long_enough, "d e|");
  expect("more than there may be", "a.jsonl", lines, few,
         "!5 a.jsonl: line 1, byte 0: the row has 5 texts, and at most 3 are read here, in a stream one of each column: give "
         "fewer, or read the rows without a stream\n");
  expect("no text where one must be", "a.jsonl", "{\"anchor\": \"a\", \"positive\": []}\n", two,
         "!5 a.jsonl: line 1, byte 0: the list in \"positive\" has no text, and each row needs one: fill it in, or leave such "
         "rows out (min_chars 1)\n");
  expect("null where one must be", "a.jsonl", "{\"anchor\": \"a\", \"positive\": null}\n", two,
         "!5 a.jsonl: line 1, byte 0: \"positive\" is null: fill it in, or leave such rows out (min_chars 1)\n");
  expect("which excludes its row, as a list without a text", "a.jsonl",
         "{\"anchor\": \"a\", \"positive\": null}\n{\"anchor\": \"a\", \"positive\": []}\n{\"anchor\": \"b\", \"positive\": "
         "\"c\"}\n",
         long_enough, "b c|");
  static const char seconds[] =
      "{\"text\": \"a\", \"text_pair\": null}\n{\"text\": \"a\", \"text_pair\": \"\"}\n{\"text\": \"b\", \"text_pair\": \"c\"}\n";
  expect("a second text, too; one that is null is none", "a.jsonl", seconds, (brim_source_options){.min_chars = 1}, "a|b+c|");
  expect("unless each row needs one", "a.jsonl", seconds, (brim_source_options){.min_chars = 1, .pair_column = "text_pair"},
         "b+c|");
  expect("what is no text", "a.jsonl", "{\"anchor\": \"a\", \"positive\": [3]}\n", two,
         "!5 a.jsonl: line 1, byte 29: \"positive\" holds an integer where a string is expected\n");
  expect(
      "what is no list", "a.jsonl", "{\"anchor\": \"a\", \"positive\": {}}\n", two,
      "!5 a.jsonl: line 1, byte 28: \"positive\" is an object where a string or a list of them is expected; if this is a table "
      "by its columns, write it by its rows: pandas' to_json(.., orient=\"records\", lines=True)\n");
  expect(
      "a list of first texts", "a.jsonl", "{\"anchor\": [\"a\"], \"positive\": \"b\"}\n", two,
      "!5 a.jsonl: line 1, byte 11: \"anchor\" is an array where a string is expected; if this is a table by its columns, write "
      "it by its rows: pandas' to_json(.., orient=\"records\", lines=True)\n");
}

/* What comes of a row's texts may go by their places. */
static void aligned(void) {
  static const char *const several[] = {"q", "d", "n1", "n2"};
  const brim_source_options loose = {.text_columns = several, .text_column_count = 4, .least_columns = 2, .paired = true};
  brim_source_options strict = loose;
  strict.aligned = true;
  expect("a column without a text is none", "a.csv", "q,d,n1,n2\na,b,,c\n", loose, "a+b a+c|");
  expect("unless texts have places", "a.csv", "q,d,n1,n2\na,b,,c\n", strict,
         "!5 a.csv: line 2, byte 10: the row has a text in \"n2\" and none in \"n1\" before it, and scores go by their places: "
         "fill it in, or move the others up\n");
  expect("null, too", "a.jsonl", "{\"q\": \"a\", \"d\": \"b\", \"n1\": null, \"n2\": \"c\"}\n", strict,
         "!5 a.jsonl: line 1, byte 0: the row has a text in \"n2\" and none in \"n1\" before it, and scores go by their places: "
         "fill it in, or move the others up\n");
  expect("which the last have anyway", "a.csv", "q,d,n1,n2\na,b,c,\na,,,\n", strict, "a+b a+c|a+|");
  expect("as those of lists have", "a.jsonl", "{\"q\": \"a\", \"d\": \"b\", \"n1\": [], \"n2\": [\"\", \"c\"]}\n", strict,
         "a+b a+ a+c|");
}

/* In a csv. A text may look so; a column of this name has lists. */
static void printed_list(void) {
  static const char *const several[] = {"anchor", "positive", "negatives"};
  const brim_source_options named = {.text_columns = several, .text_column_count = 3, .least_columns = 2};
  expect("a list that was printed into one field", "a.csv", "anchor,positive,negatives\na,b,c\nd,e,\"[\"\"f\"\", \"\"g\"\"]\"\n",
         named,
         "!5 a.csv: line 3, byte 32: \"negatives\" holds a list as Python or JSON writes it, in one field: csv has a column for "
         "each "
         "text (negative_1, negative_2, ..), JSON lines have lists\n");
}

/* A row is not learned from its own label, and a text is not its own partner. */
static void apart(void) {
  static const char csv[] = "text,label,text_pair\na,0,b\nc,1,d\n", labels[] = "labels\na\nb\n";
  expect("a text that is the label", "a.csv", csv, (brim_source_options){.text_column = "label", .need_label = true},
         "!2 the column \"label\" is named as a text and as the label: name each one's own\n");
  expect("a label that is the text", "a.csv", csv, (brim_source_options){.label_column = "text", .need_label = true},
         "!2 the column \"text\" is named as a text and as the label: name each one's own\n");
  expect("a second text that is the label", "a.csv", csv, (brim_source_options){.pair_column = "label", .need_label = true},
         "!2 the column \"label\" is named as a text and as the label: name each one's own\n");
  expect("one of several texts that is the label", "a.csv", "anchor,positive,negative\na,b,1\n",
         (brim_source_options){TRIPLE, .label_column = "negative", .need_label = true},
         "!2 the column \"negative\" is named as a text and as the label: name each one's own\n");
  expect("words that are their labels", "a.conll", "a O\n\n",
         (brim_source_options){.words = true, .text_column = "1", .label_column = "1", .need_label = true},
         "!2 the column \"1\" is named as a text and as the label: name each one's own\n");
  expect("a text that is the second one", "a.csv", csv, (brim_source_options){.pair_column = "text"},
         "!2 the column \"text\" is named for both texts of a row: name each one's own\n");
  expect("the second text alone", "a.csv", csv, (brim_source_options){.text_column = "text_pair"}, "b|d|");
  expect("labels as texts, where none is asked for", "a.csv", "label,x\na,0\n", (brim_source_options){.text_column = "label"},
         "a|");
  static const brim_block_column numbers = {.column = "label", .shape = {.name = "teacher", .per = BRIM_PER_ROW}};
  expect("numbers that are called a label", "a.jsonl", "{\"text\": \"a\", \"label\": [1, 2]}\n",
         (brim_source_options){.blocks = &numbers, .block_count = 1}, "a|");
  expect("the next name of the label's", "a.jsonl", "{\"tags\": [\"a\", \"b\"], \"labels\": [\"O\", \"X\"]}\n",
         (brim_source_options){.words = true, .text_column = "tags", .need_label = true}, "ab|");
  expect("the next name of the texts'", "a.jsonl", "{\"words\": [\"O\", \"X\"], \"text\": [\"a\", \"b\"]}\n",
         (brim_source_options){.words = true, .label_column = "words", .need_label = true}, "ab|");
  expect("another name of the label's is the text", "a.csv", labels,
         (brim_source_options){.text_column = "labels", .need_label = true},
         "!2 a.csv: there is no column \"label\"; the columns are \"labels\"\n");
}

/* All files have a say in which columns there are. */
static void columns_of(const char *first, const char *second, const brim_source_options *given, const char *want) {
  brim_text_columns found;
  brim_error err;
  brim_text got;
  char path[2][4096];
  snprintf(path[0], sizeof path[0], "%s", scratch_write(*first == '{' ? "first.jsonl" : "first.csv", first));
  snprintf(path[1], sizeof path[1], "%s", scratch_write(*second == '{' ? "second.jsonl" : "second.csv", second));
  const char *const paths[] = {path[0], path[1]};
  brim_text_init(&got, data_runtime);
  const int status = brim_text_columns_find(data_runtime, paths, 2, given, BRIM_TASK_EMBEDDING, &found, &err);
  for (int i = 0; !status && i < found.count; i++)
    brim_text_printf(&got, "%s ", found.names[i]);
  if (!status && found.label)
    brim_text_printf(&got, "/ %s", found.label);
  if (status)
    data_show_error(&got, status, &err);
  ok_string(got.data, want, "columns of two files");
  if (!status)
    brim_text_columns_free(&found);
  brim_text_free(&got);
}

/* Texts after many other columns. */
static void wide(void) {
  brim_text line;
  brim_text_init(&line, data_runtime);
  for (int i = 0; i < 300; i++)
    brim_text_printf(&line, "c%d,", i);
  brim_text_string(&line, "anchor,positive,score\n");
  columns_of(line.data, "anchor,positive\na,b\n", &(brim_source_options){0}, "anchor positive / score");
  line.length = 0;
  for (int i = 0; i < 300; i++)
    brim_text_printf(&line, "negative_%d,", i);
  brim_text_string(&line, "a,b\n");
  columns_of(line.data, "a,b\nc,d\n", &(brim_source_options){0},
             "!2 first.csv: 302 columns have texts, and a row has at most 64: name fewer\n");
  brim_text_free(&line);
}

/* Some of them begin beyond the head. Their scores may come before them. */
static void late_negatives(const char *last, const char *want) {
  brim_text lines;
  brim_text_init(&lines, data_runtime);
  for (int i = 0; i < 40000; i++)
    brim_text_string(&lines, "{\"anchor\": \"a\", \"positive\": \"b\"}\n");
  brim_text_string(&lines, last);
  columns_of(lines.data, "{\"anchor\": \"a\", \"positive\": \"b\", \"negative_score\": 1}\n", &(brim_source_options){0}, want);
  brim_text_free(&lines);
}

static void several_files(void) {
  static const char *const scored[] = {"anchor", "score"};
  const brim_source_options none = {0}, label = {.text_columns = scored, .text_column_count = 2, .label_column = "score"},
                            texts = {.text_columns = scored, .text_column_count = 2};
  static const char pairs[] = "{\"anchor\": \"a\", \"positive\": \"b\"}\n";
  columns_of(pairs, "{\"anchor\": \"a\", \"positive\": \"b\", \"negatives\": [\"c\"]}\n", &none, "anchor positive negatives ");
  columns_of("anchor,positive\na,b\n", "anchor,positive,negative\na,b,c\n", &none, "anchor positive negative ");
  columns_of(pairs, "anchor,positive,score\na,b,1\n", &none, "anchor positive / score");
  columns_of("anchor,score\na,1\n", pairs, &texts, "anchor score ");
  columns_of("anchor,score\na,1\n", pairs, &label,
             "!2 the column \"score\" is named as a text and as the label: name each one's own\n");
}

/* Ids and labels are no texts, whatever they are called. */
static void unknown(void) {
  const brim_source_options none = {0}, labelled = {.need_label = true}, named = {.need_label = true, .label_column = "label"};
  static const char entails[] = "premise,hypothesis,label\na,b,0\n";
  columns_of("id,qid1,qid2,question1,question2,is_duplicate\n0,1,2,a,b,1\n", "question1\na\n", &none,
             "question1 question2 / is_duplicate");
  columns_of("pair_ID,sentence_A,sentence_B,relatedness_score\n1,a,b,4.5\n", "sentence_A\na\n", &none,
             "sentence_A sentence_B / relatedness_score");
  columns_of("one,other,label\na,b,1\n", "one,other\na,b\n", &none, "one other / label");
  columns_of("Unnamed: 0,q,a\n0,x,y\n", "q,a\nx,y\n", &none, "q a ");
  columns_of("q,a,negative\nx,y,z\n", "q,a\nx,y\n", &none, "q a negative ");
  columns_of(
      "Quality,#1 String,#2 String\n1,a,b\n", "Quality\n1\n", &none,
      "!2 first.csv: the columns are \"Quality\", \"#1 String\", \"#2 String\": their names do not say which are the texts of a "
      "row for the task embedding: name them in order (--columns), and its score (--label-column)\n");
  columns_of(entails, entails, &labelled,
             "!2 first.csv: the \"label\" of a premise and a hypothesis is a class, such as entailment, and no score: train a "
             "classifier of pairs (--task classification), or say that it is a score (--label-column label)\n");
  columns_of(entails, entails, &named, "premise hypothesis / label");
  columns_of(entails, entails, &none, "premise hypothesis / label");
}

/* What nobody reads is said. */
static void unread(void) {
  const char *path = scratch_write("u.csv", "id,sentence1,sentence2,is_similar,x\n0,a,b,1,2\n");
  brim_text_columns found;
  brim_error err;
  ok(brim_text_columns_find(data_runtime, &path, 1, &(brim_source_options){0}, BRIM_TASK_EMBEDDING, &found, &err) == BRIM_OK &&
         found.unread_count == 2 && strcmp(found.unread, "is_similar") == 0,
     "columns that are not read");
  brim_text_columns_free(&found);
  const brim_source_options chosen = {.where = &(brim_where){"is_similar", "1"}, .where_count = 1};
  ok(brim_text_columns_find(data_runtime, &path, 1, &chosen, BRIM_TASK_EMBEDDING, &found, &err) == BRIM_OK &&
         found.unread_count == 1 && strcmp(found.unread, "x") == 0,
     "one that rows are chosen by is read");
  brim_text_columns_free(&found);
  path = scratch_write("u.csv", "id,sentence1,sentence2,score\n0,a,b,1\n");
  ok(brim_text_columns_find(data_runtime, &path, 1, &(brim_source_options){0}, BRIM_TASK_EMBEDDING, &found, &err) == BRIM_OK &&
         found.unread_count == 0 && !found.unread,
     "all are read");
  brim_text_columns_free(&found);
}

/* Whether somebody has the pipe open for reading. */
static bool is_read(const char *path) {
  const int to = open(path, O_WRONLY | O_NONBLOCK);
  if (to >= 0)
    close(to);
  return to >= 0;
}

/* A pipe that was looked into is kept for who reads it, and closed when nobody will. */
static void looked_into(void) {
  const char *path = scratch_file("p.csv");
  const brim_dataset_options wanted = {.source = {.text_column = "anchor", .pair_column = "positive"}};
  brim_error err;
  ok(mkfifo(path, 0600) == 0, "a pipe");
  for (int i = 0; i < 3; i++) { /* it is read; it is not; what is looked for is not there */
    brim_text_columns found;
    brim_dataset *d = NULL;
    const char *text = i < 2 ? "anchor,positive\na,b\n" : "anchor\na\n";
    const int reader = open(path, O_RDONLY | O_NONBLOCK), writer = open(path, O_WRONLY);
    ok(write(writer, text, strlen(text)) == (ssize_t)strlen(text), "rows");
    const int status = brim_text_columns_find(data_runtime, &path, 1, &(brim_source_options){0}, BRIM_TASK_EMBEDDING, &found,
                                              &err);
    ok((status == BRIM_OK) == (i < 2), "names of columns are found");
    close(writer);
    close(reader);
    ok(is_read(path) == (i < 2), "it is kept");
    ok(i > 0 || (load(path, &wanted, &d, &err) == BRIM_OK && brim_dataset_rows(d) == 1), "what was looked at is read");
    brim_dataset_free(d);
    brim_text_columns_free(&found);
    ok(!is_read(path), "and closed");
  }
  unlink(path);
}

static void options(void) {
  static const char csv[] = "anchor,positive,negative\na,b,c\n";
  expect("two ways to name columns", "a.csv", csv, (brim_source_options){TRIPLE, .text_column = "anchor"},
         "!2 text_columns name all texts of a row: leave out text_column and pair_column\n");
  expect("words", "a.csv", csv, (brim_source_options){TRIPLE, .words = true},
         "!2 text_columns name all texts of a row: leave out words, whose rows are one text\n");
  expect("pairs of one column", "a.csv", csv,
         (brim_source_options){.text_columns = triple, .text_column_count = 1, .paired = true},
         "!2 text_columns: pairs need the column of their first halves and one of the second\n");
  expect("too many that must be there", "a.csv", csv, (brim_source_options){TRIPLE, .least_columns = 4},
         "!2 least_columns is 4: of these 3 text columns it is from 1 to 3\n");
  expect("one column is one text", "a.csv", csv, (brim_source_options){.text_columns = triple + 1, .text_column_count = 1}, "b|");
  static const char *const twice[] = {"anchor", "anchor"};
  expect("a column may come twice", "a.csv", csv, (brim_source_options){.text_columns = twice, .text_column_count = 2}, "a a|");
}

/* Names of columns that not the first lines have, but one beyond the head that is looked at. */
static void late(const char *mark, bool is_long) {
  brim_text lines;
  brim_text_columns found;
  brim_error err;
  const brim_source_options two = {TRIPLE, .least_columns = 2};
  brim_text_init(&lines, data_runtime);
  brim_text_string(&lines, mark);
  for (int i = 0; i < (is_long ? 40000 : 2); i++)
    brim_text_string(&lines, "{\"anchor\": \"a\", \"positive\": \"b\"}\n");
  const char *path = scratch_write("late.jsonl", lines.data);
  const int status = brim_text_columns_find(data_runtime, &path, 1, &two, BRIM_TASK_EMBEDDING, &found, &err);
  ok_int(status, is_long ? BRIM_OK : BRIM_E_USAGE, is_long ? "a column that a later line may have" : "one that no line has");
  brim_text_columns_free(&found);
  brim_text_free(&lines);
}

/* ---- counts, and what keeps them ------------------------------------------------------------------------------ */

static void counted(void) {
  const char *path = scratch_write("c.csv", "anchor,positive,negative\nabcdef,b,\nd,eefgh,c\n,g,\n");
  const brim_dataset_options two = {.source = {TRIPLE, .least_columns = 2}, .encode.max_length = 5};
  brim_dataset *d, *part, *back;
  brim_error err;
  ok_int(load(path, &two, &d, &err), BRIM_OK, "load");
  ok_string(shown(d), "abc b|d eef c| g|", "each text is cut by itself");
  ok(brim_dataset_rows(d) == 3 && brim_dataset_texts(d) == 7 && brim_dataset_tokens(d) == 5 + 3 + 3 + 5 + 3 + 2 + 3,
     "rows, texts, tokens");
  ok(brim_dataset_truncated(d) == 2 && brim_dataset_lost(d) == 3 + 2, "rows that were cut, and tokens");
  ok(brim_dataset_longest(d) == 5 && brim_dataset_most_texts(d) == 3, "the longest text, and the most texts of a row");
  ok(!memcmp(brim_dataset_firsts(d), (uint64_t[]){0, 2, 5, 7}, 32) &&
         !memcmp(brim_dataset_text_lengths(d), (int32_t[]){5, 3, 3, 5, 3, 2, 3}, 28) &&
         !memcmp(brim_dataset_lengths(d), (int32_t[]){8, 11, 5}, 12),
     "where they are");
  ok_int(brim_dataset_subset(data_runtime, d, (uint64_t[]){2, 1}, 2, &part, &err), BRIM_OK, "some of them");
  ok_string(shown(part), " g|d eef c|", "keep their texts");
  ok(brim_dataset_most_texts(part) == 3 && brim_dataset_fingerprint(part) != brim_dataset_fingerprint(d), "and the number");
  brim_dataset_free(part);
  ok_int(brim_dataset_subset(data_runtime, d, (uint64_t[]){0, 1, 2}, 3, &back, &err), BRIM_OK, "all of them");
  ok(brim_dataset_fingerprint(back) == brim_dataset_fingerprint(d), "are the same");
  brim_dataset_free(back);
  brim_dataset_options cached = two;
  cached.cache = scratch_file("cache");
  for (int i = 0; i < 2; i++) {
    ok_int(load(path, &cached, &back, &err), BRIM_OK, "through a cache");
    ok(same(d, back) && brim_dataset_most_texts(back) == 3, "the same rows");
    brim_dataset_free(back);
  }
  brim_dataset_free(d);
}

/* Where the same tokens are cut otherwise, or a row could have had more texts, a run is another. */
static void identity(void) {
  static const int32_t ids[] = {2, 5, 3, 2, 6, 3};
  const brim_sample one = {.ids = ids, .length = 6},
                    two = {.ids = ids, .length = 6, .text_lengths = (int32_t[]){3, 3}, .text_count = 2},
                    other = {.ids = ids, .length = 6, .text_lengths = (int32_t[]){2, 4}, .text_count = 2},
                    wrong = {.ids = ids, .length = 6, .text_lengths = (int32_t[]){2, 3}, .text_count = 2};
  const brim_sample samples[] = {one, two, other};
  uint64_t prints[4];
  brim_dataset *d;
  brim_error err;
  for (int i = 0; i < 3; i++) {
    ok_int(brim_dataset_from_samples(data_runtime, &samples[i], 1, NULL, &d, &err), BRIM_OK, "from samples");
    prints[i] = brim_dataset_fingerprint(d);
    brim_dataset_free(d);
  }
  ok(prints[0] != prints[1] && prints[1] != prints[2], "texts are part of a fingerprint");
  ok(brim_dataset_from_samples(data_runtime, &wrong, 1, NULL, &d, &err) == BRIM_E_USAGE, "%s", err.message);
  brim_dataset_options options = {.source = {.text_columns = triple, .text_column_count = 2}};
  const char *path = scratch_write("i.csv", "anchor,positive,negative\na,b,\n");
  for (int i = 0; i < 2; i++) {
    ok_int(load(path, &options, &d, &err), BRIM_OK, "from columns");
    ok_int(brim_dataset_most_texts(d), 2 + i, "as many texts as columns");
    prints[2 + i] = brim_dataset_fingerprint(d);
    brim_dataset_free(d);
    options.source.text_column_count = 3, options.source.least_columns = 2;
  }
  ok(prints[2] != prints[3], "and so is their number, which decides dropout");
}

static void dropped(void) {
  static const char *const pair[] = {"anchor", "positive"};
  const char *path = scratch_write("d.csv", "anchor,positive,label\na,b,0\nc,d,1\ne,f,-1\ng,h,2\n");
  const brim_dataset_options options = {.source = {.text_columns = pair, .text_column_count = 2, .need_label = true}};
  brim_dataset *d;
  brim_error err;
  ok_int(load(path, &options, &d, &err), BRIM_OK, "labels");
  ok_string(shown(d), "a b|c d|g h|", "a row whose label says that there is none goes with its texts");
  ok(brim_dataset_texts(d) == 6 && brim_dataset_longest(d) == 3, "and they are counted no more");
  brim_dataset_free(d);
}

/* ---- memory --------------------------------------------------------------------------------------------------- */

static int give(void *context, uint64_t index, brim_text_row *out, brim_error *err) {
  static const brim_string second[] = {{"bc", 2}, {"d", 1}, {"", 0}};
  (void)err;
  out->text = "a", out->text_length = 1;
  if (*(bool *)context)
    out->pair = "xy", out->pair_length = 2;
  out->further = second, out->further_count = index % 4;
  return BRIM_OK;
}

static void memory(void) {
  brim_dataset_options options = {0};
  brim_dataset *d;
  brim_error err;
  bool pairs = false;
  ok_int(brim_dataset_from_texts(data_runtime, give, &pairs, 5, tokenizer, &options, &d, &err), BRIM_OK, "from memory");
  ok_string(shown(d), "a|a bc|a bc d|a bc d |a|", "each row has its own number");
  ok(brim_dataset_most_texts(d) == 4 && !brim_dataset_has_pairs(d), "of which the most is known");
  brim_dataset_free(d);
  pairs = true;
  options.source.min_chars = 1;
  ok_int(brim_dataset_from_texts(data_runtime, give, &pairs, 5, tokenizer, &options, &d, &err), BRIM_OK, "pairs");
  ok_string(shown(d), "a+xy|a+xy a+bc|a+xy a+bc a+d|a+xy|", "and an empty text excludes its row");
  ok(brim_dataset_has_pairs(d), "are pairs");
  brim_dataset_free(d);
  options.source.min_chars = 0, options.source.most_texts = 3;
  ok(brim_dataset_from_texts(data_runtime, give, &pairs, 5, tokenizer, &options, &d, &err) == BRIM_E_USAGE, "%s", err.message);
}

int main(void) {
  data_start(2);
  tokenizer = data_tokenizer();
  files();
  lists();
  options();
  aligned();
  printed_list();
  apart();
  several_files();
  unknown();
  unread();
  looked_into();
  wide();
  late_negatives("{\"anchor\": \"a\", \"positive\": \"b\", \"negatives\" : [\"c\"]}\n", "anchor positive negatives ");
  late_negatives("{\"anchor\": \"a\", \"positive\": \"negative\"}\n", "anchor positive ");
  late_negatives("{\"anchor\": \"\\\"negative\\\": it is\", \"positive\": \"b\"}\n", "anchor positive ");
  for (int i = 0; i < 4; i++)
    late(i & 1 ? "\xEF\xBB\xBF" : "", i > 1);
  counted();
  identity();
  dropped();
  memory();
  brim_tokenizer_free(tokenizer);
  brim_runtime_free(data_runtime);
  return tap_done();
}
