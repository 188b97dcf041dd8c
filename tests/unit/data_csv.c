/* csv: quotes, line ends, columns, and what is refused. */
#include "data_case.h"

static void check(const char *what, const char *text, const char *want) {
  ok_string(data_read_text("a.csv", text, NULL), want, what);
}

static void line_ends(void) {
  check("LF", "text,label\nab,1\ncd,0\n", "0 2 11 [ab] - [1]\n1 3 16 [cd] - [0]\n");
  check("CRLF", "text,label\r\nab,1\r\ncd,0\r\n", "0 2 12 [ab] - [1]\n1 3 18 [cd] - [0]\n");
  check("lone CR", "text,label\rab,1\rcd,0\r", "0 2 11 [ab] - [1]\n1 3 16 [cd] - [0]\n");
  check("no line end at the end", "text,label\nab,1\ncd,0", "0 2 11 [ab] - [1]\n1 3 16 [cd] - [0]\n");
  check("an empty last field at the end of the file", "label,text\n1,", "0 2 11 [] - [1]\n");
  ok_string(
      data_read_text("a.tsv", "text\tlabel\rab\t1\rcd\t0\r", NULL),
      "!5 a.tsv: line 1, byte 10: the only line of the file holds a CR: lines that end in CR alone are read of csv only; convert "
      "the file first, for example with tr '\\r' '\\n'\n",
      "lone CR of a tsv file");
  ok_string(data_read_text("a.tsv", "text\tlabel\nab\rc\t1\n", NULL), "0 2 11 [ab\\rc] - [1]\n", "a CR within a line is text");
  check("empty lines are skipped", "\n\r\ntext\n\nab\n\r\n\ncd\n\n", "0 5 9 [ab] - -\n1 8 15 [cd] - -\n");
  check("line ends inside quotes are text", "text,label\n\"a\nb\r\nc\rd\",1\nef,0\n",
        "0 2 11 [a\\nb\\r\\nc\\rd] - [1]\n1 5 24 [ef] - [0]\n");
  check("only a header", "text,label\n", "");
  check("spaces are text", "text\n  a  \n", "0 2 5 [  a  ] - -\n");
}

static void quotes(void) {
  check("a quoted delimiter", "text,label\n\"a,b\",1\n", "0 2 11 [a,b] - [1]\n");
  check("doubled quotes", "text,label\n\"say \"\"hi\"\"\",1\n", "0 2 11 [say \"hi\"] - [1]\n");
  check("only doubled quotes", "text\n\"\"\"\"\n\"\"\"\"\"\"\n", "0 2 5 [\"] - -\n1 3 10 [\"\"] - -\n");
  check("an empty quoted field is no empty line", "text\n\"\"\n", "0 2 5 [] - -\n");
  check("a quote inside an unquoted field is text", "text,label\n5\" nail,1\n", "0 2 11 [5\" nail] - [1]\n");
  check("a quoted header", "\"te\"\"xt\",\"text\"\na,b\n", "0 2 16 [b] - -\n");
  check("two decoded fields", "text,text_pair\n\"a\"\"b\",\"\"\"c\"\n", "0 2 15 [a\"b] [\"c] -\n");
  check("never closed", "text,label\nab,1\n\"cd,0\nef,1\n",
        "0 2 11 [ab] - [1]\n!5 a.csv: line 3, byte 16: the quote that opens here is never closed\n");
  check("never closed, after line ends", "text,label\n\"a\nb\",\"cd",
        "!5 a.csv: line 3, byte 17: the quote that opens here is never closed\n");
  check("text after a quote", "text,label\n\"a\nb\"c,0\n",
        "!5 a.csv: line 3, byte 16: text after a closing quote: a quote inside a quoted field is written twice (\"\")\n");
  check("quotes between other separators", "\"text\";\"label\"\n\"a\";1\n",
        "!5 a.csv: line 1, byte 6: text after a closing quote; it looks separated by ;: give the delimiter (--delimiter ';')\n");
  check("in a row", "text\n\"a\"\tb\n",
        "!5 a.csv: line 2, byte 8: text after a closing quote; it looks separated by tabs: --format tsv\n");
  check("another separator in a text of several columns", "text,label\n\"a\"; b,1\n",
        "!5 a.csv: line 2, byte 14: text after a closing quote: a quote inside a quoted field is written twice (\"\")\n");
  check("a bad header", "text,\"label", "!5 a.csv: line 1, byte 5: the quote that opens here is never closed\n");
}

/* Files that were put together have their headers among the rows. */
static void headers_again(void) {
  static const char said[] =
      "the header is here again, as where files were put together: take this line out, or give the files one "
      "by one\n";
  char want[300];
  snprintf(want, sizeof want, "0 2 11 [ab] - [1]\n!5 a.csv: line 3, byte 16: %s", said);
  check("the header again", "text,label\nab,1\ntext,label\ncd,0\n", want);
  check("in quotes", "text,label\nab,1\n\"text\",\"label\"\ncd,0\n", want);
  check("after a byte order mark", "text,label\nab,1\n\xEF\xBB\xBFtext,label\ncd,0\n", want);
  check("at the end, without a line end", "text,label\nab,1\ntext,label", want);
  snprintf(want, sizeof want, "!5 a.tsv: line 2, byte 11: %s", said);
  ok_string(data_read_text("a.tsv", "text\tlabel\ntext\tlabel\n", NULL), want, "of a tsv file, too");
  check("one that differs is a row", "text,label\ntext,1\nText,label\n", "0 2 11 [text] - [1]\n1 3 18 [Text] - [label]\n");
  check("of one column it is a text", "text\ntext\n", "0 2 5 [text] - -\n");
  ok_string(data_read_text("a.csv", "text,label\ntext,label\n", &(brim_source_options){.no_header = true, .label_column = "1"}),
            "0 1 0 [text] - [label]\n1 2 11 [text] - [label]\n", "without a header there is none to come again");
}

static void backslashes(void) {
  brim_source_options options = {.quote = BRIM_QUOTE_BACKSLASH};
  ok_string(data_read_text("a.csv", "text,label\n\"he said \\\"hi\\\", twice\",1\n", &options),
            "0 2 11 [he said \"hi\", twice] - [1]\n", "an escaped quote");
  ok_string(data_read_text("a.csv", "text,label\n\"ends with \\\"\",1\n\"C:\\\\\",0\n", &options),
            "0 2 11 [ends with \"] - [1]\n1 3 28 [C:\\] - [0]\n", "an escape before the closing quote, an escaped backslash");
  ok_string(data_read_text("a.csv", "text,label\n\"a\"\"b\\\"\\n\",1\n", &options), "0 2 11 [a\"b\"\\n] - [1]\n",
            "doubled quotes stay quotes, and other backslashes text");
  ok_string(data_read_text("a.csv", "text,label\nhe said \\\"hi\\\" twice,1\n\\\"c\\\\d\\\\,1\n", &options),
            "0 2 11 [he said \"hi\" twice] - [1]\n1 3 34 [\"c\\d\\] - [1]\n", "outside quotes, too, as pandas writes them");
  ok_string(data_read_text("a.csv", "text,label\na\\, b\\\nc,1\nd\\n\"\"\\N,0\n", &options),
            "0 2 11 [a, b\\nc] - [1]\n1 4 22 [d\\n\"\"\\N] - [0]\n",
            "a delimiter and a line end outside quotes are text, other backslashes and quotes stay");
  ok_string(data_read_text("a.csv", "text,label\n\"a\\\nb\",1\nc,\\", &options), "0 2 11 [a\\nb] - [1]\n1 4 20 [c] - [\\]\n",
            "a line end inside them; a backslash that nothing follows is text");
  ok_string(data_read_text("a.csv", "text,label\n\"ab\\\",1\n", &options),
            "!5 a.csv: line 2, byte 11: the quote that opens here is never closed\n", "an escaped quote closes nothing");
  options.delimiter = '\t';
  ok_string(data_read_text("a.tsv", "text\tlabel\n\"a\tb\\\"\"\t1\n", &options), "0 2 11 [a\\tb\"] - [1]\n",
            "of a tsv file, too");
  check("an escaped quote that was not announced", "text,label\n\"say \\\"hi\\\"\",1\n",
        "!5 a.csv: line 2, byte 18: text after a closing quote: a quote inside a quoted field is written twice (\"\"), or with a "
        "backslash before it where that is said: --quote backslash\n");
}

static void columns(void) {
  check("too few", "text,label\na,1\nb\n",
        "0 2 11 [a] - [1]\n!5 a.csv: line 3, byte 15: 1 column where the header has 2: a delimiter inside a text needs quotes "
        "around the "
        "text\n");
  check("too many", "text\nx\na,b,c\n",
        "0 2 5 [x] - -\n!5 a.csv: line 3, byte 7: 3 columns where the header has 1: a delimiter inside a text needs quotes "
        "around the "
        "text\n");
  check("no text column", "review,label,id\na,1,2\n",
        "!2 a.csv: there is no column \"text\"; the columns are \"review\", \"label\", \"id\"; say which has the texts: "
        "--text-column "
        "NAME\n");
  check("twice", "text,label,text\na,1,b\n", "!5 a.csv: two columns are named \"text\": give each its own name\n");
  check("twice, not wanted", "text,x,x\na,1,b\n", "0 2 9 [a] - -\n");
  check("an empty label is none", "text,label\na,\n", "0 2 11 [a] - -\n");
  check("pairs", "label,text_pair,text\n0,b,a\n", "0 2 21 [a] [b] [0]\n");

  brim_source_options other = {.text_column = "r", .pair_column = "q", .label_column = "y"};
  ok_string(data_read_text("a.csv", "q,r,y\n1,2,3\n", &other), "0 2 6 [2] [1] [3]\n", "chosen columns");
  ok_string(data_read_text("a.csv", "q,r,z\n1,2,3\n", &other),
            "!2 a.csv: there is no column \"y\"; the columns are \"q\", \"r\", \"z\"\n", "a chosen column must be there");
  brim_source_options need = {.need_label = true};
  ok_string(data_read_text("a.csv", "text,lab\na,1\n", &need),
            "!2 a.csv: there is no column \"label\"; the columns are \"text\", \"lab\"; say which has the labels: --label-column "
            "NAME\n",
            "a needed label column");
  ok_string(data_read_text("a.csv", "text,labels\na,1\n", &need), "0 2 12 [a] - [1]\n", "or the plural");
  ok_string(data_read_text("a.csv", "labels,text,label\nx,a,1\n", &need), "0 2 18 [a] - [1]\n", "the singular first");
  ok_string(data_read_text("a.tsv", "\"text\"\t\"label\"\na\tb\n", NULL),
            "!2 a.tsv: there is no column \"text\"; the columns are \"\"text\"\", \"\"label\"\"; the names are in quotes, "
            "which are text "
            "here: --quote csv reads them as csv does\n",
            "names in quotes");
  ok_string(data_read_text("a.tsv", "text\tlabel\n\"two\nlines\"\tb\n", NULL),
            "!5 a.tsv: line 2, byte 11: 1 column where the header has 2: quotes are text in this file; where they are around "
            "fields, as pandas writes them, --quote csv reads them\n",
            "a field in quotes");
  ok_string(data_read_text("a.csv", "text,label\na,1\nb,\nc,1\n", &need),
            "0 2 11 [a] - [1]\n!5 a.csv: line 3, byte 15: the value of column \"label\" is missing: fill it in, or leave such "
            "rows out (missing_label skip)\n",
            "a needed label");

  char wide[4000] = "";
  for (int i = 0; i < 300; i++)
    snprintf(wide + strlen(wide), 16, "%scol%d", i ? "," : "", i);
  const char *got = data_read_text("a.csv", wide, NULL);
  ok(strstr(got, "\"col0\", \"col1\"") && strstr(got, ".. (300 in all)"), "a long list of columns is cut");
}

static void no_header(void) {
  brim_source_options plain = {.no_header = true};
  ok_string(data_read_text("a.csv", "a,b\nc,d\n", &plain), "0 1 0 [a] - -\n1 2 4 [c] - -\n", "without a header, column 0");
  brim_source_options chosen = {
      .no_header = true, .text_column = "2", .pair_column = "0", .label_column = "1", .need_label = true};
  ok_string(data_read_text("a.csv", "p,l,t\n", &chosen), "0 1 0 [t] [p] [l]\n", "by number");
  ok_string(data_read_text("a.csv", "p,l\n", &chosen),
            "!2 a.csv: there is no column 2: without a header columns are numbers, here 0 to 1\n", "no such number");
  ok_string(
      data_read_text("a.csv", "p,l,t\np,l\n", &chosen),
      "0 1 0 [t] [p] [l]\n!5 a.csv: line 2, byte 6: 2 columns where the first row has 3: a delimiter inside a text needs quotes "
      "around the text\n",
      "ragged");
  chosen.text_column = "text";
  ok_string(data_read_text("a.csv", "p,l,t\n", &chosen),
            "!2 a.csv: there is no column text: without a header columns are numbers, here 0 to 2\n", "a name");
  chosen.label_column = NULL;
  ok_string(data_read_text("a.csv", "p,l,t\n", &chosen),
            "!2 without a header the column of the label must be given by its number, from 0 on (label_column)\n",
            "a needed label has no name");
}

static void bytes(void) {
  check("a byte order mark", "\xEF\xBB\xBFtext,label\na,1\n", "0 2 14 [a] - [1]\n");
  check("Latin-1", "text,label\nok,1\ncaf\xE9 noir,1\n",
        "0 2 11 [ok] - [1]\n!5 a.csv: line 3, byte 19: byte 0xE9 is not UTF-8: convert the file first, for example with iconv -f "
        "latin1 "
        "-t utf8\n");
  check("Latin-1 on a later line of a quoted field", "text\n\"a\"\"\n\xE9\"\n",
        "!5 a.csv: line 3, byte 10: byte 0xE9 is not UTF-8: convert the file first, for example with iconv -f latin1 -t utf8\n");
  check("Latin-1 in a column that is not read", "text,x\na,\xE9\n", "0 2 7 [a] - -\n");
  check("Latin-1 in the header", "text,caf\xE9\na,b\n",
        "!5 a.csv: line 1, byte 8: byte 0xE9 is not UTF-8: convert the file first, for example with iconv -f latin1 -t utf8\n");
  ok_string(data_read_bytes("a.csv", "\xFF\xFEt\0e\0", 6, NULL),
            "!5 a.csv: line 1, byte 0: the text is UTF-16: convert it first with iconv -f utf-16 -t utf-8\n", "UTF-16");
  ok(strstr(data_read_bytes("a.csv", "t\0e\0x\0t\0\n\0", 10, NULL), "is UTF-16: convert it first with iconv -f utf-16le"),
     "without a mark");
  ok(strstr(data_read_bytes("a.csv", "\0t\0e\0x\0t\0\n", 10, NULL), "is UTF-16: convert it first with iconv -f utf-16be"),
     "the other way");
  ok(strstr(data_read_bytes("a.csv", "\xFF\xFE\0\0t\0\0\0", 8, NULL), "is UTF-32: convert it first with iconv -f utf-32 "),
     "UTF-32");
  ok(strstr(data_read_bytes("a.csv", "\0\0\xFE\xFF\0\0\0t", 8, NULL), "is UTF-32"), "UTF-32 the other way");
  ok(strstr(data_read_bytes("a.csv", "t\0\0\0e\0\0\0", 8, NULL), "iconv -f utf-32le"), "UTF-32 without a mark");
  ok(strstr(data_read_bytes("a.csv", "\0\0\0t\0\0\0e", 8, NULL), "iconv -f utf-32be"), "UTF-32 without a mark, the other way");
  ok_string(data_read_bytes("a.csv", "text\na\0b\n", 9, NULL), "0 2 5 [a\\x00b] - -\n", "a NUL byte is text");
  check("an empty file", "", "!5 a.csv: is empty\n");
  check("a byte order mark alone", "\xEF\xBB\xBF", "!5 a.csv: is empty\n");
  check("only empty lines", "\n\n\r\n", "!5 a.csv: holds only empty lines\n");
}

static void long_records(void) {
  size_t length = 3 << 20;
  char *text = malloc(length + 64);
  size_t at = (size_t)sprintf(text, "text,label\n\"");
  for (size_t i = 0; i < length; i++)
    text[at++] = i % 8 == 7 ? '\n' : 'w';
  at += (size_t)sprintf(text + at, "\",1\nend,0\n");
  const char *path = scratch_write_bytes("long.csv", text, at);
  brim_reader *reader;
  brim_record record;
  brim_source_options options = {0};
  ok_int(brim_reader_open(data_runtime, &path, 1, &options, &reader, NULL), BRIM_OK, "a long record: open");
  ok_int(brim_reader_next(reader, &record, NULL), BRIM_OK, "a long record: next");
  ok(record.text_length == length && memcmp(record.text, text + 12, length) == 0, "a long record: its text");
  ok_int(brim_reader_next(reader, &record, NULL), BRIM_OK, "after a long record");
  ok_int(record.line, 3 + (long long)length / 8, "lines inside it are counted");
  brim_reader_close(reader);

  options.max_record = 100000;
  const char *got = data_read(&path, 1, &options);
  ok_string(got,
            "!5 long.csv: line 2, byte 11: a record of more than 100000 bytes begins here: is a quote never closed? If not, "
            "raise max_record\n",
            "max_record");
  free(text);
}

int main(void) {
  data_start(1);
  line_ends();
  quotes();
  headers_again();
  backslashes();
  columns();
  no_header();
  bytes();
  long_records();
  brim_runtime_free(data_runtime);
  return tap_done();
}
