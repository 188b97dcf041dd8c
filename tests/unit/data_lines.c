/* tsv, JSON lines and plain text. */
#include "data_case.h"

#define NOT_UTF8 "is not UTF-8: convert the file first, for example with iconv -f latin1 -t utf8\n"

static void tsv(void) {
  ok_string(data_read_text("a.tsv", "text\tlabel\nab \"x\t1\r\n\"\"\t0", NULL), "0 2 11 [ab \"x] - [1]\n1 3 20 [\"\"] - [0]\n",
            "tsv: quotes are text");
  ok_string(data_read_text("a.tsv", "text\tlabel\n\na\t1\n\n", NULL), "0 3 12 [a] - [1]\n", "tsv: empty lines are skipped");
  ok_string(data_read_text("a.tsv", "text\nmac\rline\n", NULL), "0 2 5 [mac\\rline] - -\n", "tsv: a lone CR is text");
  ok_string(data_read_text("a.tsv", "text\tlabel\na\tb\tc\n", NULL),
            "!5 a.tsv: line 2, byte 11: 3 columns where the header has 2\n", "tsv: ragged");
  brim_source_options quoted = {.quote = BRIM_QUOTE_CSV};
  ok_string(data_read_text("a.tsv", "text\tlabel\n\"a\tb\nc\"\t1\n", &quoted), "0 2 11 [a\\tb\\nc] - [1]\n", "tsv with quotes");
  brim_source_options unquoted = {.quote = BRIM_QUOTE_NONE};
  ok_string(data_read_text("a.csv", "text,label\n\"a,b\"\n", &unquoted), "0 2 11 [\"a] - [b\"]\n", "csv without quotes");
  brim_source_options limit = {.max_record = 10};
  ok_string(data_read_text("a.tsv", "text\n01234567890123456789\n", &limit),
            "!5 a.tsv: line 2, byte 5: a record of more than 10 bytes begins here: raise max_record if that is right\n",
            "tsv: max_record");
  brim_source_options headless = {.no_header = true, .text_column = "3", .label_column = "1", .need_label = true};
  ok_string(data_read_text("a.tsv", "gj04\t1\t\tThe sailors rode.\ngj04\t0\t*\tThe weights.\n", &headless),
            "0 1 0 [The sailors rode.] - [1]\n1 2 26 [The weights.] - [0]\n", "tsv: by number");
}

static void txt(void) {
  ok_string(data_read_text("a.txt", "one\ntwo\r\n\n \"three\",4", NULL),
            "0 1 0 [one] - -\n1 2 4 [two] - -\n2 3 9 [] - -\n3 4 10 [ \"three\",4] - -\n", "txt: a text a line, empty lines too");
  ok_string(data_read_text("a.txt", "\n", NULL), "0 1 0 [] - -\n", "txt: one empty line");
  ok_string(
      data_read_text("a.txt", "good\rbad\rgreat\r", NULL),
      "!5 a.txt: line 1, byte 4: the only line of the file holds a CR: lines that end in CR alone are read of csv only; convert "
      "the file first, for example with tr '\\r' '\\n'\n",
      "txt: lines that end in CR alone");
  ok_string(data_read_text("a.txt", "good\r", NULL), "0 1 0 [good] - -\n", "txt: a CR at the end of a file is a line end");
  ok_string(data_read_text("a.txt", "a\rb\nc\r", NULL), "0 1 0 [a\\rb] - -\n1 2 4 [c] - -\n", "txt: a CR within a line is text");
  ok_string(data_read_text("a.txt", "", NULL), "!5 a.txt: is empty\n", "txt: an empty file");
  ok_string(data_read_text("a.txt",
                           "\xEF\xBB\xBF"
                           "a\n",
                           NULL),
            "0 1 3 [a] - -\n", "txt: a byte order mark");
  ok_string(data_read_bytes("a.txt", "a\0b\n", 4, NULL), "0 1 0 [a\\x00b] - -\n", "txt: a NUL byte");
  ok_string(data_read_text("a.txt", "a\nb\xFF\n", NULL), "0 1 0 [a] - -\n!5 a.txt: line 2, byte 3: byte 0xFF " NOT_UTF8,
            "txt: not UTF-8");
  ok_string(data_read_text("a.txt", "a\xC3", NULL), "!5 a.txt: line 1, byte 1: byte 0xC3 " NOT_UTF8,
            "txt: a character cut by the end");
  brim_source_options need = {.need_label = true};
  ok_string(data_read_text("a.txt", "a\n", &need),
            "!2 a.txt: there is no column \"label\": a text file has one text a line and no columns (csv, tsv and jsonl have)\n",
            "txt: no labels");
  brim_source_options pair = {.pair_column = "b"};
  ok_string(data_read_text("a.txt", "a\n", &pair),
            "!2 a.txt: there is no column \"b\": a text file has one text a line and no columns (csv, tsv and jsonl have)\n",
            "txt: no pairs");
}

static void jsonl_values(void) {
  ok_string(
      data_read_text("a.jsonl", "{\"text\": \"a\", \"label\": 1}\n{\"label\":\"x\",\"text\":\"b\",\"text_pair\":\"c\"}", NULL),
      "0 1 0 [a] - [1]\n1 2 26 [b] [c] [x]\n", "jsonl: strings and numbers");
  ok_string(data_read_text("a.jsonl", "\n  \t\r\n{\"text\":\"a\"}\r\n\n", NULL), "0 3 6 [a] - -\n",
            "jsonl: empty lines are skipped");
  ok_string(data_read_text("a.jsonl", "{\"text\":\"q\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00\\u0000z\"}\n", NULL),
            "0 1 0 [q\"\\/\\x08\\x0c\\n\\r\\t\xC3\xA9\xF0\x9F\x98\x80\\x00z] - -\n", "jsonl: escapes");
  ok_string(
      data_read_text("a.jsonl",
                     "{\"text\":\"a\",\"label\":-1.50e3}\n{\"text\":\"b\",\"label\":true}\n{\"text\":\"c\",\"label\":false}\n"
                     "{\"text\":\"d\",\"label\":null}\n{\"text\":\"e\",\"label\":\"\"}\n{\"text\":\"f\",\"text_pair\":null}\n",
                     NULL),
      "0 1 0 [a] - [-1.50e3]\n1 2 29 [b] - [true]\n2 3 55 [c] - [false]\n3 4 82 [d] - -\n4 5 108 [e] - -\n5 6 132 [f] - -\n",
      "jsonl: labels as written, null and \"\" are none");
  ok_string(data_read_text("a.jsonl", "{\"x\":{\"text\":\"no\",\"a\":[1,{\"text\":2}]},\"text\":\"yes\",\"y\":[[]]}\n", NULL),
            "0 1 0 [yes] - -\n", "jsonl: nested values are passed over");
  ok_string(data_read_text("a.jsonl", "{\"text\":\"a\",\"text\":\"b\"}\n", NULL),
            "!5 a.jsonl: line 1, byte 12: \"text\" comes twice in this object: keep the one that is meant\n",
            "jsonl: a key twice");
  ok_string(data_read_text("a.jsonl", "{\"x\":1,\"text\":\"a\",\"x\":2}\n", NULL), "0 1 0 [a] - -\n",
            "jsonl: a key twice that nobody asked for");
  char deep[1200] = "{\"x\":";
  memset(deep + 5, '[', 300);
  strcpy(deep + 305, "{\"a\":\"]\\\"}\"}");
  memset(deep + strlen(deep), ']', 300);
  strcat(deep, ",\"y\":1e999,\"text\":\"yes\"}\n");
  ok_string(data_read_text("a.jsonl", deep, NULL), "0 1 0 [yes] - -\n", "jsonl: depth and large numbers that nobody asked for");
  ok(strstr(data_read_text("a.jsonl", "{\"text\":\"a\",\"label\":1e999}\n", NULL), "a number that is too large"),
     "jsonl: a large number that was asked for");
  brim_source_options other = {.text_column = "t\"x", .label_column = "t\"x"};
  ok_string(data_read_text("a.jsonl", "{\"t\\\"x\":\"a\"}\n", &other), "0 1 0 [a] - [a]\n",
            "jsonl: an escaped key, wanted twice");
}

/* They begin as files of other kinds do, but for the bytes that no text has. */
static void alike(void) {
  char spanish[400] = "text\n";
  memset(spanish + 5, 'a', 257 - 5);
  strcpy(spanish + 257, "ustar es gustar\n");
  const char *texts[] = {"PAR1 was a part\n", "PAR1,text\n1,a text\n", "ARROW1,text\n1,a text\n",
                         "SQLite format 3 is a format\n"};
  const char *names[] = {"a.txt", "a.csv", "a.csv", "a.txt"};
  for (int i = 0; i < 4; i++)
    ok(data_read_text(names[i], texts[i], NULL)[0] == '0', "is read: %s", texts[i]);
  ok(data_read_text("a.csv", spanish, NULL)[0] == '0', "is read: ustar where an archive has it");
}

static void jsonl_errors(void) {
  brim_source_options need = {.need_label = true};
  ok_string(data_read_text("a.jsonl", "{\"text\":\"a\",\"label\":1}\n{\"text\":\"b\"}\n", &need),
            "0 1 0 [a] - [1]\n!5 a.jsonl: line 2, byte 23: there is no \"label\" in this line; it has \"text\"\n",
            "jsonl: no label");
  ok_string(data_read_text("a.jsonl", "{\"text\":\"a\",\"label\":null}\n", &need),
            "!5 a.jsonl: line 1, byte 0: \"label\" is null or empty: fill it in, or leave such rows out (missing_label skip)\n",
            "jsonl: a null label");
  ok_string(data_read_text("a.jsonl", "{\"txt\":\"a\",\"id\":3}\n", NULL),
            "!5 a.jsonl: line 1, byte 0: there is no \"text\" in this line; it has \"txt\", \"id\"; say which has the texts: "
            "--text-column NAME\n",
            "jsonl: no text");
  ok_string(
      data_read_text("a.jsonl", "{\"sentence\":\"a\",\"label\":[\"a\",\"b\"]}\n", NULL),
      "!5 a.jsonl: line 1, byte 0: there is no \"text\" in this line; it has \"sentence\", \"label\"; say which has the texts: "
      "--text-column NAME\n",
      "jsonl: a list of labels is no list of rows");
  ok(strstr(data_read_text("a.jsonl", "{\"version\":1,\"data\": [ {\"text\":\"a\"}]}\n", NULL), "jq -c '.\"data\"[]'"),
     "jsonl: a list of objects is");
  const char *full = data_read_text("a.jsonl", "{\"id\":1,\"data\":{\"text\":\"a\"},\"annotations\":[{\"id\":2}]}\n", NULL);
  ok(strstr(full, "Label Studio's full export: export JSON_MIN or CSV") && !strstr(full, "jq"),
     "jsonl: but not those of a full export of Label Studio");
  ok(strstr(
         data_read_text("a.jsonl", "{\"text\":\"a b\",\"label\":[[0,1,\"PER\"]]}\n", &(brim_source_options){.need_label = true}),
         "spans of characters, such as [0, 3, \"PER\"], write the words with a tag for each (--task tokens)"),
     "jsonl: spans are no labels");
  ok_string(data_read_text("a.jsonl", "{}\n", NULL),
            "!5 a.jsonl: line 1, byte 0: there is no \"text\" in this line; it has nothing\n", "jsonl: nothing");
  ok_string(data_read_text("a.jsonl", "{\"text\":null}\n", NULL),
            "!5 a.jsonl: line 1, byte 0: \"text\" is null: fill it in, or leave such rows out (min_chars 1)\n",
            "jsonl: a null text");
  ok_string(data_read_text("a.jsonl", "{\"text\":\"a\"}\n{\"text\":null}\n{\"text\":\"\"}\n{\"text\":\"b\"}\n",
                           &(brim_source_options){.min_chars = 1}),
            "0 1 0 [a] - -\n3 4 39 [b] - -\n", "jsonl: is left out where short texts are");
  const brim_where english = {"lang", "en"};
  ok_string(data_read_text("a.jsonl", "{\"text\":\"a\",\"lang\":\"en\"}\n{\"text\":\"b\"}\n{\"text\":\"c\",\"lang\":null}\n",
                           &(brim_source_options){.where = &english, .where_count = 1}),
            "0 1 0 [a] - -\n", "jsonl: a condition does not hold where the value is missing");
  ok_string(data_read_text("a.jsonl", "{\"text\":5}\n", NULL),
            "!5 a.jsonl: line 1, byte 8: \"text\" is an integer where a string is expected\n", "jsonl: a number as text");
  ok_string(data_read_text("a.jsonl", "{\"text\":\"a\",\"label\":[1]}\n", NULL), "0 1 0 [a] - [1\\x00]\n",
            "jsonl: a list as label");
  ok_string(data_read_text("a.jsonl", "{\"text\":\"a\",\"label\":[\"x\",2,true,0.5]}\n{\"text\":\"b\",\"label\":[]}\n", NULL),
            "0 1 0 [a] - [x\\x002\\x00true\\x000.5\\x00]\n1 2 38 [b] - []\n", "jsonl: lists of all kinds, and an empty one");
  ok_string(
      data_read_text("a.jsonl", "{\"text\":\"a\",\"label\":[[1]]}\n", &need),
      "!5 a.jsonl: line 1, byte 21: \"label\" holds an array where a string, a number or a boolean is expected: if these are "
      "spans of characters, such as [0, 3, \"PER\"], write the words with a tag for each (--task tokens)\n",
      "jsonl: a list in a list");
  ok_string(data_read_text("a.jsonl", "{\"text\":\"a\",\"label\":[\"x\\u0000y\"]}\n", &need),
            "!5 a.jsonl: line 1, byte 21: the label holds a NUL byte: remove it\n", "jsonl: a NUL in a label of a list");
  ok_string(data_read_text("a.jsonl", "{\"text\":[\"a\"]}\n", NULL),
            "!5 a.jsonl: line 1, byte 8: \"text\" is an array where a string is expected; if this is a table by its columns, "
            "write it by its "
            "rows: pandas' to_json(.., orient=\"records\", lines=True)\n",
            "jsonl: a list as text");
  ok_string(data_read_text("a.jsonl", "{\"text\":\"a\"}\n[\"text\"]\n", NULL),
            "0 1 0 [a] - -\n!5 a.jsonl: line 2, byte 13: an array where an object is expected: each line is {\"text\": ..}\n",
            "jsonl: no object");
  ok_string(data_read_text("a.jsonl", "{\"text\":\"a\"}\n{\"text\":\"caf\xE9\"}\n", NULL),
            "0 1 0 [a] - -\n!5 a.jsonl: line 2, byte 25: byte 0xE9 " NOT_UTF8, "jsonl: not UTF-8");
  const char *broken[] = {"{\"text\":\"a\"",
                          "{\"text\":\"a\"} x",
                          "{\"text\":\"a\"}{}",
                          "{\"text\":NaN}",
                          "{'text':1}",
                          "{\"text\":\"a\",}",
                          "{\"text\":\"\\ud800\"}",
                          "nul",
                          "\"a",
                          "{\"text\":\"a\tb\"}"};
  for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
    char file[128];
    snprintf(file, sizeof file, "{\"text\":\"ok\"}\n%s\n", broken[i]);
    const char *got = data_read_text("a.jsonl", file, NULL);
    const char *want = "0 1 0 [ok] - -\n!5 a.jsonl: line 2, byte ";
    ok(strncmp(got, want, strlen(want)) == 0, "jsonl: %s is refused", broken[i]);
  }
  brim_source_options headless = {.no_header = true};
  ok_string(data_read_text("a.jsonl", "{}\n", &headless),
            "!2 a.jsonl: JSON lines name their columns: --no-header (header=False in Python) is for csv and tsv\n",
            "jsonl: no_header");
}

/* One array of objects, in any layout. */
static void json_array(void) {
  ok_string(data_read_text("a.json", "[{\"text\":\"a\",\"label\":1},{\"text\":\"b\",\"label\":0}]", NULL),
            "0 1 1 [a] - [1]\n1 1 24 [b] - [0]\n", "array: one line");
  ok_string(
      data_read_text("a.jsonl",
                     "\n [\n  {\n    \"text\": \"a}]\\\"{\",\n    \"x\": [[], {\"text\": 1}]\n  }\r\n , {\"text\": \"b\"} ]\n\n",
                     NULL),
      "0 3 6 [a}]\"{] - -\n1 7 65 [b] - -\n", "array: many lines, and what looks like ends in strings");
  ok_string(data_read_text("a.json",
                           "\xEF\xBB\xBF"
                           "[{\"text\":\"a\"}]",
                           NULL),
            "0 1 4 [a] - -\n", "array: a byte order mark");
  ok_string(data_read_text("a.json", "[]", NULL), "", "array: none");
  ok_string(data_read_text("a.json", "[ ] x", NULL), "!5 a.json: line 1, byte 4: the array ended before this: a file has one\n",
            "array: something after it");
  ok_string(data_read_bytes("a.json", "[{\"text\":\"a\"}]\0[{\"text\":\"b\"}]", 29, NULL),
            "0 1 1 [a] - -\n!5 a.json: line 1, byte 14: the array ended before this: a file has one\n",
            "array: a NUL after it is no end");
  ok_string(data_read_bytes("a.json", "[{\"text\":\"a\"}\0,{\"text\":\"b\"}]", 28, NULL),
            "0 1 1 [a] - -\n!5 a.json: line 1, byte 13: a comma or ] was expected after an object\n", "array: nor is one in it");
  static const struct {
    const char *file, *want;
  } bad[] = {
      {"[{\"text\":\"a\"},\n3]",
       "0 1 1 [a] - -\n!5 a.json: line 2, byte 15: an object was expected here: the array holds {\"text\": ..}, ..\n"},
      {"[{\"text\":\"a\"},]",
       "0 1 1 [a] - -\n!5 a.json: line 1, byte 14: an object was expected here: the array holds {\"text\": ..}, ..\n"},
      {"[,{\"text\":\"a\"}]", "!5 a.json: line 1, byte 1: an object was expected here: the array holds {\"text\": ..}, ..\n"},
      {"[{\"text\":\"a\"} {\"text\":\"b\"}]",
       "0 1 1 [a] - -\n!5 a.json: line 1, byte 14: a comma or ] was expected after an object\n"},
      {"[{\"text\":\"a\"}", "0 1 1 [a] - -\n!5 a.json: line 1, byte 13: the array is never closed: the file was cut\n"},
      {"[{\"text\":\"a\"},", "0 1 1 [a] - -\n!5 a.json: line 1, byte 14: the array is never closed: the file was cut\n"},
      {"[", "!5 a.json: line 1, byte 1: the array is never closed: the file was cut\n"},
      {"[\n{\"text\":\"a\",\n\"x\":[1,2}", "!5 a.json: line 2, byte 2: the object that begins here is never closed\n"},
      {"[{\"text\":\n\"caf\xE9\"}]", "!5 a.json: line 2, byte 14: byte 0xE9 " NOT_UTF8},
      {"[{\"txt\":\"a\"}]",
       "!5 a.json: line 1, byte 1: there is no \"text\" in this object; it has \"txt\"; say which has the texts: "
       "--text-column NAME\n"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    ok_string(data_read_text("a.json", bad[i].file, NULL), bad[i].want, bad[i].file);
  const char *got = data_read_text("a.json", "[{\"text\":\"a\"},\n{\"text\"\n:,}]", NULL);
  ok(strncmp(got, "0 1 1 [a] - -\n!5 a.json: line 3, byte ", 38) == 0, "array: an error within an object has its line: %s", got);
  brim_source_options skip = {.skip_damaged = true};
  ok_string(data_read_text("a.json", "[{\"text\":\"a\"},{\"text\":nul},{\"text\":\"c\"}]", &skip),
            "0 1 1 [a] - -\n2 1 27 [c] - -\n", "array: a damaged object alone is left out");
  ok_string(data_read_text("a.json", "[{\"text\":\"a\"},{\"text\":\"b\"} {\"text\":\"c\"}]", &skip),
            "0 1 1 [a] - -\n1 1 14 [b] - -\n", "array: and the rest where nothing says where the next begins");
  brim_source_options limit = {.max_record = 20};
  ok_string(
      data_read_text("a.json", "[{\"text\":\"a\"},{\"text\":\"0123456789abcdef\"}]", &limit),
      "0 1 1 [a] - -\n!5 a.json: line 1, byte 14: an object of more than 20 bytes begins here: is it never closed? If not, raise "
      "max_record\n",
      "array: max_record");
}

static void delimiters(void) {
  brim_source_options semicolon = {.delimiter = ';', .need_label = true}, bar = {.delimiter = '|'}, quote = {.delimiter = '"'};
  ok_string(data_read_text("a.csv", "text;label\n\"a;b\";1\nc,d;0\n", &semicolon), "0 2 11 [a;b] - [1]\n1 3 19 [c,d] - [0]\n",
            "csv with semicolons");
  ok_string(data_read_text("a.tsv", "label|text\n1|a\tb\n", &bar), "0 2 11 [a\\tb] - [1]\n", "tsv with bars");
  ok_string(data_read_text("a.csv", "text;label\na;1\n", NULL),
            "!2 a.csv: there is no column \"text\"; the columns are \"text;label\"; it looks separated by ;: give the delimiter "
            "(--delimiter ';')\n",
            "a header that looks separated by something else");
  ok_string(data_read_text("a.csv", "sep=,\ntext,label\na,1\n", NULL),
            "!2 a.csv: there is no column \"text\"; the columns are \"sep=\", \"\"; the first line names the "
            "delimiter for a spreadsheet: take it out, and give the delimiter (--delimiter) where it is no comma\n",
            "a line for spreadsheets");
  ok_string(
      data_read_text("a.jsonl", "{\"text\":\"a\",\"annotations\":[{\"label\":2}]}\n", &(brim_source_options){.need_label = true}),
      "!5 a.jsonl: line 1, byte 0: there is no \"label\" in this line; it has \"text\", \"annotations\"; say which has the "
      "labels: --label-column NAME\n",
      "an object with a text is a row itself");
  ok_string(data_read_text("a.jsonl", "{}\n", &bar),
            "!2 a.jsonl: a delimiter is for csv and tsv, and this is read as JSON: give the format csv, or leave it out\n",
            "JSON has no delimiter");
  ok_string(data_read_text("a.csv", "x", &quote), "!2 a delimiter is one ASCII character, and no quote or line end\n",
            "a quote is none");
}

static void unlabelled(void) {
  brim_source_options skip = {.need_label = true, .skip_unlabelled = true};
  ok_string(data_read_text("a.csv", "text,label\na,1\nb,\nc,0\n,\n", &skip), "0 2 11 [a] - [1]\n2 4 18 [c] - [0]\n",
            "rows without a label are left out");
  ok_string(
      data_read_text("a.jsonl", "{\"text\":\"a\"}\n{\"text\":\"b\",\"label\":null}\n{\"text\":\"c\",\"label\":[]}\n", &skip),
      "2 3 39 [c] - []\n", "of JSON too; an empty list is a label");
  ok_string(data_read_text("a.csv", "text\na\n", &skip), "!2 a.csv: there is no column \"label\"; the columns are \"text\"\n",
            "the column must be there");
  skip.empty_label = true;
  ok_string(data_read_text("a.csv", "text,label\na,\n", &skip), "0 2 11 [a] - []\n", "none of many labels is a label");
}

/* A label that is not asked for is not judged. */
static void unread_labels(void) {
  static const char *const labels[] = {"{\"x\":1}",           "[[1],[2]]",       "[{}]",
                                       "[\"a\",{\"b\":[1]}]", "[\"a\\u0000b\"]", "1,\"label\":2"};
  for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
    char line[200];
    snprintf(line, sizeof line, "{\"label\":%s,\"text\":\"a\"}\n{\"text\":\"b\",\"label\":\"B\"}\n", labels[i]);
    const char *got = data_read_text("a.jsonl", line, &(brim_source_options){0});
    ok(strstr(got, "[a] - ") && strstr(got, "[b] - [B]"), "%s: %s", labels[i], got);
    got = data_read_text("a.jsonl", line, &(brim_source_options){.need_label = true});
    ok(strncmp(got, "!5 a.jsonl: line 1", 18) == 0, "where it is asked for: %s", got);
  }
}

int main(void) {
  data_start(1);
  unread_labels();
  tsv();
  txt();
  alike();
  jsonl_values();
  jsonl_errors();
  json_array();
  delimiters();
  unlabelled();
  brim_runtime_free(data_runtime);
  return tap_done();
}
