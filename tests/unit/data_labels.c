/* Labels: what they are, how classes are numbered, and mappings that exist already. */
#include "data/labels.h"

#include "base/memory.h"
#include "data_case.h"

/* 'x is a string, #1 a number and !true a boolean of JSON, anything else a field. */
static char form_of(const char **text) {
  static const char marks[] = "'#!", forms[] = {BRIM_FORM_NAME, BRIM_FORM_NUMBER, BRIM_FORM_BOOLEAN};
  const char *mark = **text ? strchr(marks, **text) : NULL;
  *text += mark != NULL;
  return mark ? forms[mark - marks] : BRIM_FORM_TEXT;
}

/* With `lists`: "a,b" stands for a list of two, "" for an empty one, and "=a" for a label that is no list. */
static int add_row(brim_label_taker *taker, const char *text, bool lists, int line, brim_error *err) {
  char items[256], forms[64] = {0};
  brim_label_source label = {text, strlen(text), false, "f", line, forms};
  if (lists && *text != '=') {
    label = (brim_label_source){items, 0, true, "f", line, forms};
    for (int i = 0; *text; i++) {
      forms[i] = form_of(&text);
      for (; *text && *text != ','; text++)
        items[label.length++] = *text;
      items[label.length++] = 0;
      text += *text == ',';
    }
    return brim_label_taker_add(taker, &label, err);
  }
  label.text += *text == '=' && lists;
  *forms = form_of(&label.text);
  label.length = strlen(label.text);
  return brim_label_taker_add(taker, &label, err);
}

/* "task form names: values" or "!code message" of some labels, one a line of the file "f". */
static const char *take_rows(const char *const *labels, int count, bool lists, brim_task task, const brim_labels *known) {
  static char out[2048];
  brim_label_taker taker;
  brim_labels made = {0};
  float *values = NULL;
  brim_error err;
  int status = BRIM_OK;
  brim_label_taker_init(&taker, data_runtime, task, known);
  for (int i = 0; i < count && status == BRIM_OK; i++)
    status = add_row(&taker, labels[i], lists, i + 1, &err);
  if (status == BRIM_OK)
    status = brim_label_taker_finish(&taker, &made, &values, &err);
  if (status == BRIM_OK) {
    const char *const names[] = {
        [BRIM_TASK_CLASSIFICATION] = "classes", [BRIM_TASK_REGRESSION] = "regression", [BRIM_TASK_MULTI_LABEL] = "many"};
    int at = snprintf(out, sizeof out, "%s%s", names[made.task],
                      made.form == BRIM_FORM_NUMBER    ? " integers"
                      : made.form == BRIM_FORM_BOOLEAN ? " booleans"
                                                       : "");
    for (int32_t i = 0; made.names && i < made.count; i++)
      at += snprintf(out + at, sizeof out - (size_t)at, " %s", made.names[i]);
    at += snprintf(out + at, sizeof out - (size_t)at, ":");
    const int width = brim_labels_width(&made);
    for (int i = 0; i < count * width; i++)
      at += snprintf(out + at, sizeof out - (size_t)at, "%s%g", i % width ? "|" : " ", (double)values[i]);
  } else {
    char words[1200];
    brim_error_text(&err, words, sizeof words);
    snprintf(out, sizeof out, "!%d %s", status, words);
  }
  brim_labels_free(&made);
  brim_release(data_runtime, values);
  brim_label_taker_free(&taker);
  return out;
}

static const char *take(const char *const *labels, int count, brim_task task, const brim_labels *known) {
  return take_rows(labels, count, false, task, known);
}

#define LISTS(task, known, ...)                                                                                                  \
  take_rows((const char *const[]){__VA_ARGS__}, (int)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)), true, task,  \
            known)
#define TAKE(task, known, ...)                                                                                                   \
  take((const char *const[]){__VA_ARGS__}, (int)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)), task, known)
#define AUTO     BRIM_TASK_AUTO
#define CLASSIFY BRIM_TASK_CLASSIFICATION
#define REGRESS  BRIM_TASK_REGRESSION
#define MANY     BRIM_TASK_MULTI_LABEL

static void inference(void) {
  ok_string(TAKE(AUTO, NULL, "1", "0", "1"), "classes integers 0 1: 1 0 1", "integers from 0 stay as they are");
  ok_string(TAKE(AUTO, NULL, "0", "10", "9", "8", "7", "6", "5", "4", "3", "2", "1"),
            "classes integers 0 1 2 3 4 5 6 7 8 9 10: 0 10 9 8 7 6 5 4 3 2 1", "by value, not by text");
  ok_string(TAKE(AUTO, NULL, "1", "-1", "1"), "classes integers -1 1: 1 0 1", "-1 and 1");
  ok_string(TAKE(AUTO, NULL, "5", "1", "3"), "classes integers 1 3 5: 2 0 1", "gaps");
  ok_string(TAKE(AUTO, NULL, "18446744073709551616", "9", "-18446744073709551616"),
            "classes integers -18446744073709551616 9 18446744073709551616: 2 1 0", "integers of any size");
  ok_string(TAKE(AUTO, NULL, "9223372036854775807", "-9223372036854775808", "9223372036854775806"),
            "classes integers -9223372036854775808 9223372036854775806 9223372036854775807: 2 0 1", "large integers");
  ok_string(TAKE(AUTO, NULL, "7", "7"), "classes integers 7: 0 0", "one class");
  ok_string(TAKE(AUTO, NULL, "pos", "neg", "neutral", "neg"), "classes neg neutral pos: 2 0 1 0", "strings, sorted");
  ok_string(TAKE(AUTO, NULL, "b", "B", " a", "\xC3\xA9", "a"), "classes  a B a b \xC3\xA9: 3 1 0 4 2",
            "strings by byte, spaces kept");
  ok_string(TAKE(AUTO, NULL, "true", "false"), "classes booleans false true: 1 0", "booleans are strings");
  ok_string(TAKE(AUTO, NULL, "0.5", "-1e-3", "2.0", ".25"), "regression: 0.5 -0.001 2 0.25", "decimals");
  ok_string(TAKE(AUTO, NULL, "1e3", "2.5"), "regression: 1000 2.5", "an exponent is a decimal");
  ok_string(TAKE(AUTO, NULL, "nan", "inf", "1.2.3", "1e999"), "classes 1.2.3 1e999 inf nan: 3 2 0 1",
            "what is no number is a string");
}

/* A name is a name, and a number in plain writing is one only among its like. */
static void names(void) {
  ok_string(TAKE(AUTO, NULL, "007", "7", "08", "+7", "-0", "0"), "classes +7 -0 0 007 08 7: 3 5 4 0 1 2",
            "integers in several writings");
  ok_string(TAKE(AUTO, NULL, "01", "1", "00"), "classes 00 01 1: 1 2 0", "leading zeros");
  ok_string(TAKE(AUTO, NULL, "+1", "-1"), "classes +1 -1: 0 1", "signs");
  ok_string(TAKE(AUTO, NULL, " 1", "1"), "classes  1 1: 0 1", "a space");
  ok_string(TAKE(AUTO, NULL, "'007", "'7", "'08"), "classes 007 08 7: 0 2 1", "strings");
  ok_string(TAKE(AUTO, NULL, "'10", "'9"), "classes 10 9: 0 1", "strings are sorted as such");
  ok_string(TAKE(AUTO, NULL, "'1.10", "'4.5", "'1.1"), "classes 1.1 1.10 4.5: 1 2 0", "strings are no values");
  ok_string(TAKE(AUTO, NULL, "#10", "#9"), "classes integers 9 10: 1 0", "numbers");
  ok_string(TAKE(AUTO, NULL, "#0", "#-0"), "classes integers 0: 0 0", "-0 is the number 0");
  ok_string(TAKE(AUTO, NULL, "!true", "!false"), "classes booleans false true: 1 0", "booleans");
  ok_string(TAKE(CLASSIFY, NULL, "'1", "#1", "#9", "#10"), "classes 1 10 9: 0 0 2 1",
            "the string 1 and the number have one name");
  ok_string(TAKE(CLASSIFY, NULL, "1.10", "1.1", "1"), "classes 1 1.1 1.10: 2 1 0", "1.10 is a name");
  ok_string(TAKE(CLASSIFY, NULL, "#1.10", "#1.1"), "classes 1.1: 0 0", "of JSON's numbers it is the number");
  ok_string(TAKE(CLASSIFY, NULL, "1.0", "1", "0.0", "0"), "classes integers 0 1: 1 1 0 0", "1.0 is 1");
  ok_string(TAKE(REGRESS, NULL, "'1.5", "2"), "regression: 1.5 2", "a string, where the task says that it is a value");
  ok(strstr(TAKE(AUTO, NULL, "#1", "'2"), "label \"2\" is a text, but the first label, \"1\" (f line 1), is an integer"),
     "a string among numbers");
  ok(strstr(TAKE(AUTO, NULL, "!true", "'true"),
            "label \"true\" is a text, but the first label, \"true\" (f line 1), is a boolean"),
     "a string among booleans");
  ok(strstr(TAKE(AUTO, NULL, "'1", "#1"), "label \"1\" is an integer, but the first label, \"1\" (f line 1), is a text"),
     "a number among strings");
  ok_string(TAKE(AUTO, NULL, "!true", "false", "true"), "classes booleans false true: 1 0 1", "booleans of JSON and of a field");
  ok_string(TAKE(AUTO, NULL, "true", "!false"), "classes booleans false true: 1 0", "the same the other way round");
  ok_string(TAKE(AUTO, NULL, "'1", "'5"), "classes 1 5: 0 1", "strings stay strings");
  ok(strstr(TAKE(AUTO, NULL, "['fun']", "['old', 'fun']"), "every label looks like a list in one text"),
     "lists that Python printed");
  ok_string(TAKE(AUTO, NULL, "[POS]", "[NEG]"), "classes [NEG] [POS]: 1 0", "brackets alone are no list");
}

/* -100, and -1 beside 0, 1, .., say that there is no label. */
static void none(void) {
  ok_string(TAKE(AUTO, NULL, "0", "-1", "2", "1"), "classes integers 0 1 2: 0 nan 2 1", "-1 beside 0, 1, 2");
  ok_string(TAKE(AUTO, NULL, "0", "-1", "1"), "classes integers 0 1: 0 nan 1", "-1 beside 0 and 1");
  ok_string(TAKE(CLASSIFY, NULL, "0", "-1", "1"), "classes integers -1 0 1: 1 0 2", "the same where the task is given");
  ok_string(TAKE(CLASSIFY, NULL, "0", "-1", "2", "1"), "classes integers 0 1 2: 0 nan 2 1", "with more classes none");
  ok_string(TAKE(CLASSIFY, NULL, "0.0", "-1.0", "2.0", "1.0"), "classes 0.0 1.0 2.0: 0 nan 2 1", "as decimals");
  ok_string(TAKE(AUTO, NULL, "-1", "1"), "classes integers -1 1: 0 1", "without 0 it is a class");
  ok_string(TAKE(AUTO, NULL, "-1", "3", "1"), "classes integers -1 1 3: 0 2 1", "with gaps as well");
  ok_string(TAKE(AUTO, NULL, "1", "-100", "2"), "classes integers 1 2: 0 nan 1", "-100 in any case");
  ok_string(TAKE(AUTO, NULL, "'0", "'-1", "'1", "'-100"), "classes -1 -100 0 1: 2 0 3 1", "strings are names");
  ok_string(TAKE(REGRESS, NULL, "-1", "-100"), "regression: -1 -100", "values are values");
  ok(strstr(TAKE(AUTO, NULL, "-100", "-100"), "no row has a label"), "nothing else");
  brim_labels signs, words;
  const char *const numbers[] = {"-1", "0", "1"}, *const named[] = {"a", "b"};
  if (brim_labels_make(data_runtime, CLASSIFY, numbers, 3, &signs, NULL) ||
      brim_labels_make(data_runtime, CLASSIFY, named, 2, &words, NULL))
    abort();
  ok_int(brim_labels_none(&signs), BRIM_NONE_100, "a mapping with a class -1");
  ok_int(brim_labels_none(&words), BRIM_NONE_1 | BRIM_NONE_100, "a mapping of names");
  brim_labels_free(&signs);
  brim_labels_free(&words);
}

static void tasks(void) {
  ok_string(TAKE(REGRESS, NULL, "1", "0", "3.5", " -2 "), "regression: 1 0 3.5 -2", "integers as values");
  ok_string(TAKE(CLASSIFY, NULL, "1.0", "0.5", "1"), "classes 0.5 1: 1 0 1", "decimals as classes");
  ok_string(TAKE(CLASSIFY, NULL, "10.5", "9.5", "-2.5"), "classes -2.5 9.5 10.5: 2 1 0", "decimals as classes, by value");
  ok_string(TAKE(CLASSIFY, NULL, "1", "many", "0.5"), "classes 0.5 1 many: 1 2 0", "a mixture as classes");
}

static void refused(void) {
#define CHOOSE  ": choose the task, classification or regression, or correct the labels"
#define NUMBERS ": choose the task (regression: they are values; classification: each number is a class), or correct the labels"
  ok_string(TAKE(AUTO, NULL, "1", "0", "pos"),
            "!5 f: line 3: label \"pos\" is not a number, but the first label, \"1\" (f line 1), is an integer" CHOOSE,
            "integers and text");
  ok_string(TAKE(AUTO, NULL, "1", "0.5"),
            "!5 f: line 2: label \"0.5\" is a decimal number, but the first label, \"1\" (f line 1), is an integer" NUMBERS,
            "integers and decimals");
  ok_string(TAKE(AUTO, NULL, "0.5", "2"),
            "!5 f: line 2: label \"2\" is an integer, but the first label, \"0.5\" (f line 1), is a decimal number" NUMBERS,
            "decimals and integers");
  ok_string(TAKE(AUTO, NULL, "0.5", "nan"),
            "!5 f: line 2: label \"nan\" is not a number, but the first label, \"0.5\" (f line 1), is a decimal number" CHOOSE,
            "NaN among decimals");
  ok_string(TAKE(AUTO, NULL, "x", "2"),
            "!5 f: line 2: label \"2\" is an integer, but the first label, \"x\" (f line 1), is not a number" CHOOSE,
            "text and integers");
  const char *bad[] = {"nan", "NaN", "inf", "-Infinity", "1e999", "1e39", "", "x", "1,5", "0x10", "1 2"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    char want[128];
    snprintf(want, sizeof want,
             "!5 f: line 2: label \"%s\" is not a finite number, and regression needs one: correct it, or choose the task "
             "classification",
             bad[i]);
    ok_string(TAKE(REGRESS, NULL, "1.5", bad[i]), want, "no finite number");
  }
  char longest[200] = "";
  memset(longest, 'x', 199);
  longest[59] = '\xC3', longest[60] = '\xA9';
  ok(strstr(TAKE(AUTO, NULL, "1", longest), "label \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\" is") != NULL,
     "a long label is cut between characters");
  brim_label_taker taker;
  brim_label_taker_init(&taker, data_runtime, AUTO, NULL);
  ok_int(brim_label_taker_add(&taker, &(brim_label_source){"a\0b", 3, false, "f", 1, NULL}, NULL), BRIM_E_FORMAT,
         "a NUL byte in a label");
  brim_label_taker_free(&taker);
}

static void known(void) {
  const char *names[] = {"neg", "neutral", "pos"}, *numbers[] = {"-1", "1"}, *standard[] = {"LABEL_0", "LABEL_1", "LABEL_2"};
  const char *mixed[] = {"LABEL_0", "1"};
  brim_labels words, signs, placeholders, odd, value, copy;
  ok_int(brim_labels_make(data_runtime, CLASSIFY, names, 3, &words, NULL), BRIM_OK, "a mapping of names");
  ok_int(brim_labels_make(data_runtime, CLASSIFY, numbers, 2, &signs, NULL), BRIM_OK, "a mapping of numbers");
  ok_int(brim_labels_make(data_runtime, CLASSIFY, standard, 3, &placeholders, NULL), BRIM_OK, "a mapping of placeholders");
  ok_int(brim_labels_make(data_runtime, CLASSIFY, mixed, 2, &odd, NULL), BRIM_OK, "an odd mapping");
  ok_int(brim_labels_make(data_runtime, REGRESS, NULL, 1, &value, NULL), BRIM_OK, "regression");

  ok_string(TAKE(AUTO, &words, "pos", "neg", "pos"), "classes neg neutral pos: 2 0 2", "known names");
  ok_string(TAKE(AUTO, &words, "pos", "bad", "pos"),
            "!7 f: line 2: label \"bad\" is not among the 3 known labels: neg, neutral, pos", "an unknown name");
  ok_string(TAKE(AUTO, &words, "1"), "!7 f: line 1: label \"1\" is not among the 3 known labels: neg, neutral, pos",
            "an integer is no name");
  ok_string(TAKE(AUTO, &signs, "1", "-1", "1.0", "#1", "'1"), "classes integers -1 1: 1 0 1 1 1", "known numbers");
  ok(strstr(TAKE(AUTO, &signs, "+1"), "label \"+1\" is not among"), "another writing is another name");
  ok(strstr(TAKE(AUTO, &signs, "'1.0"), "label \"1.0\" is not among"), "a string is no number");
  ok_string(TAKE(AUTO, &signs, "0"), "!7 f: line 1: label \"0\" is not among the 2 known labels: -1, 1", "an unknown number");
  ok_string(TAKE(AUTO, &placeholders, "2", "LABEL_1", "0"), "classes LABEL_0 LABEL_1 LABEL_2: 2 1 0",
            "class numbers of placeholders");
  const char *const together[] = {"x,yes", "z"};
  brim_labels joined;
  ok_int(brim_labels_make(data_runtime, BRIM_TASK_CLASSIFICATION, together, 2, &joined, NULL), BRIM_OK, "two names in one");
  ok_string(TAKE(AUTO, &joined, "yes"),
            "!7 f: line 1: label \"yes\" is not among the 2 known labels: x,yes, z; \"x,yes\" is one name: give each label by "
            "itself (--labels A --labels B)",
            "a part of a name");
  ok(!strstr(TAKE(AUTO, &joined, "ye"), "one name"), "what is no part of it");
  brim_labels_free(&joined);
  ok(strstr(TAKE(AUTO, &placeholders, "#2", "'2"), "label \"2\" is not among"), "a string is no class's number");
  ok_string(TAKE(AUTO, &placeholders, "3"),
            "!7 f: line 1: label \"3\" is not among the 3 known labels: LABEL_0, LABEL_1, LABEL_2", "too large a number");
  ok_string(TAKE(AUTO, &odd, "0"), "!7 f: line 1: label \"0\" is not among the 2 known labels: LABEL_0, 1",
            "not all placeholders");
  ok_string(TAKE(CLASSIFY, &value, "2", "2.5"), "regression: 2 2.5", "the mapping's task goes before the option");

  ok_int(brim_labels_copy(data_runtime, &signs, &copy, NULL), BRIM_OK, "a copy");
  ok(copy.count == 2 && strcmp(copy.names[0], "-1") == 0 && copy.form == BRIM_FORM_NUMBER, "what it holds");
  brim_labels_free(&copy);
  ok_int(brim_labels_copy(data_runtime, &value, &copy, NULL), BRIM_OK, "a copy of a regression");
  ok(copy.count == 1 && copy.task == REGRESS && !copy.names, "what it holds");
  const char *twice[] = {"a", "b", "a"};
  ok_int(brim_labels_make(data_runtime, CLASSIFY, twice, 3, &copy, NULL), BRIM_E_FORMAT, "equal names");
  ok_int(brim_labels_make(data_runtime, CLASSIFY, twice, 0, &copy, NULL), BRIM_E_FORMAT, "no class");
  ok_int(brim_labels_make(data_runtime, AUTO, twice, 2, &copy, NULL), BRIM_E_USAGE, "no task");
  ok_int(brim_labels_find(&words, "neutral", 7, BRIM_FORM_TEXT), 1, "find");
  ok_int(brim_labels_find(&words, "neutrals", 8, BRIM_FORM_TEXT), -1, "find nothing");
  ok_int(brim_labels_find(&value, "1", 1, BRIM_FORM_TEXT), -1, "find in a regression");
  brim_labels_free(&words);
  brim_labels_free(&signs);
  brim_labels_free(&placeholders);
  brim_labels_free(&odd);
  brim_labels_free(&value);
  brim_labels_free(NULL);
}

static void lists(void) {
  ok_string(LISTS(AUTO, NULL, "b,a", "", "c", "a"), "many a b c: 1|1|0 0|0|0 0|0|1 1|0|0", "lists of strings");
  ok(strstr(LISTS(AUTO, NULL, "b,a", "a,b,a"), "!5 f: line 2: \"a\" is twice in this list of labels"), "a label twice");
  ok(strstr(LISTS(AUTO, NULL, "1,0,1"), "(multi-hot), name those that are 1 instead"), "1 or 0 for every label");
  ok_string(LISTS(AUTO, NULL, "", "2,0", "1"), "many integers 0 1 2: 0|0|0 1|0|1 0|1|0", "lists of integers, the first empty");
  ok_string(LISTS(AUTO, NULL, "10,9", "-1"), "many integers -1 9 10: 0|1|1 1|0|0", "by value, not by text");
  ok_string(LISTS(AUTO, NULL, "0.5,1.0", "2.5,-1.5"), "regression: 0.5|1 2.5|-1.5", "lists of decimals are values");
  ok_string(LISTS(AUTO, NULL, "", "", "0.5,1.0"),
            "!5 f: line 1: the list of labels is empty, but line 3 has decimals, which are values: every row of a regression has "
            "as many",
            "an empty list before lists of decimals");
  ok_string(TAKE(MANY, NULL, "b|a", "", "c", " a | b "), "many a b c: 1|1|0 0|0|0 0|0|1 1|1|0", "a|b with a task");
  ok_string(TAKE(AUTO, NULL, "b|a", "c"), "classes b|a c: 0 1", "without one a|b is a class");
  ok_string(TAKE(REGRESS, NULL, "1|2.5", "3|4"), "regression: 1|2.5 3|4", "values with a task");
  ok_string(LISTS(AUTO, NULL, "a", "=b"),
            "!5 f: line 2: this label is a single value, but the first row's is a list: make all lists, or none", "no list");
  ok_string(LISTS(AUTO, NULL, "=b", "a"),
            "!5 f: line 2: this label is a list, but the first row's is a single value: make all lists, or none", "a list");
  ok_string(LISTS(AUTO, NULL, "1", "x"),
            "!5 f: line 2: label \"x\" is not a number, but the first label, \"1\" (f line 1), is an integer: choose the task, "
            "classification or regression, or correct the labels",
            "a mixture");
  ok_string(LISTS(CLASSIFY, NULL, "a"),
            "!5 f: line 1: the label is a list, but classification has one class a row: lists are for the task multi-label",
            "a list");
  ok_string(TAKE(MANY, NULL, "a||b"), "!5 f: line 1: label 2 of the list is empty: write a|b for two labels, not a||b",
            "an empty item");
#define SHARE                                                                                                                    \
  "!5 f: line 1: the list of labels holds 0.5: a row has a label or not (names, or 1.0 and 0.0 for every label there "           \
  "is); if these are values, choose the task regression"
  ok_string(LISTS(MANY, NULL, "0.5", "1.0"), SHARE, "a share of a label");
  ok_string(LISTS(MANY, NULL, "1.0,0.5", "0.0,1.0"), SHARE, "shares of labels");
#undef SHARE
  ok_string(TAKE(MANY, NULL, "", ""), "!5 no row has a label: there is nothing to learn", "no labels at all");
  ok_string(LISTS(REGRESS, NULL, "", "1.5,1"),
            "!5 f: line 1: the label is an empty list: a row of a regression has one value or more", "no value");
  ok_string(LISTS(AUTO, NULL, "0.5,1.5", "2.5"),
            "!5 f: line 2: the label has 1 value, 2 were expected: every row of a regression has as many", "too few values");
  static const char other_width[] = "!5 f: line 2: the label has 2 values, 1 was expected: every row of a regression has as many";
  ok_string(TAKE(REGRESS, NULL, "1.5", "2|3", "4"), other_width, "several values after one");
  ok_string(LISTS(REGRESS, NULL, "=1.5", "2,3", "=4"), other_width, "a list of several after one that is none");
  ok_string(LISTS(REGRESS, NULL, "=1.5", "2", "=4"), "regression: 1.5 2 4", "a list of one after one that is none");
  brim_labels known = {0}, two = {0};
  const char *names[] = {"x", "y", "1"};
  if (brim_labels_make(data_runtime, MANY, names, 3, &known, NULL) ||
      brim_labels_make(data_runtime, REGRESS, NULL, 2, &two, NULL))
    abort();
  ok_string(TAKE(AUTO, &known, "y", "x|1|y", ""), "many x y 1: 0|1|0 1|1|1 0|0|0", "a known mapping");
  ok_string(LISTS(AUTO, &known, "y,x", "=1"), "many x y 1: 1|1|0 0|0|1", "lists for it, and a bare label");
  ok_string(TAKE(AUTO, &known, "x|z"), "!7 f: line 1: label \"z\" is not among the 3 known labels: x, y, 1", "an unknown label");
  ok_string(LISTS(AUTO, &two, "1,2", "3.5,4"), "regression: 1|2 3.5|4", "known values");
  ok_string(LISTS(AUTO, &two, "1,2,3"),
            "!5 f: line 1: the label has 3 values, 2 were expected: every row of a regression has as many", "too many values");
  two.task = BRIM_TASK_RERANK;
  ok_string(LISTS(AUTO, &two, "1", "1,2,3"),
            "!5 f: line 2: the label has 3 values, and in this stream one has at most 2: read the rows without a stream",
            "too many scores");
  ok_string(LISTS(BRIM_TASK_RERANK, NULL, "", "1"), "!5 f: line 1: the label is an empty list: give a score for each document",
            "no score");
  brim_labels_free(&known);
}

/* The classes of a file and the rows of each, then of all: "a 2, b 1 of 3". */
static const char *scan(const char *name, const char *bytes, brim_task task) {
  static char out[512];
  const char *path = scratch_write(name, bytes);
  const brim_source_options options = {0};
  brim_labels labels;
  brim_error err;
  uint64_t rows = 0;
  int status = brim_labels_scan(data_runtime, &path, 1, &options, task, NULL, NULL, &labels, &rows, &err);
  if (status) {
    snprintf(out, sizeof out, "!%d, %s", status, labels.rows || labels.names ? "not empty" : "empty");
    return out;
  }
  int at = snprintf(out, sizeof out, "%s", labels.rows ? "" : "not counted");
  for (int32_t i = 0; labels.rows && i < labels.count; i++)
    at += snprintf(out + at, sizeof out - (size_t)at, "%s %llu, ", labels.names[i], (unsigned long long)labels.rows[i]);
  if (labels.rows)
    snprintf(out + at, sizeof out - (size_t)at, "of %llu", (unsigned long long)labels.rows[labels.count]);
  ok_int((int64_t)rows, labels.rows ? (int64_t)labels.rows[labels.count] : 2, "rows of all classes");
  brim_labels_free(&labels);
  return out;
}

/* How many scores rows of a reranker have at most, where nobody asks how many rows there are. */
static int32_t most_scores(const char *bytes) {
  const char *path = scratch_write("scores.jsonl", bytes);
  brim_labels labels;
  const brim_source_options options = {0};
  const int status = brim_labels_scan(data_runtime, &path, 1, &options, BRIM_TASK_RERANK, NULL, NULL, &labels, NULL, NULL);
  const int32_t count = status ? -1 : labels.count;
  brim_labels_free(&labels);
  return count;
}

static void scanned(void) {
  ok_string(scan("words.csv", "text,label\nx,b\ny,a\nz,b\nw,c\nv,b\n", AUTO), "a 1, b 3, c 1, of 5", "rows of each class");
  ok_string(scan("digits.csv", "text,label\nx,10\ny,9\nz,10\n", AUTO), "9 1, 10 2, of 3", "in the order of the mapping");
  ok_string(scan("equal.csv", "text,label\nx,1.0\ny,0\nz,1\n", CLASSIFY), "0 1, 1 2, of 3", "of equal numbers together");
  ok_string(scan("none.csv", "text,label\nx,1\ny,-1\nz,0\nv,2\nw,-100\n", AUTO), "0 1, 1 1, 2 1, of 3",
            "rows without a label are not counted");
  ok_string(scan("many.csv", "text,label\nx,b|a\ny,\nz,b|c\n", MANY), "a 1, b 2, c 1, of 3", "of labels");
  ok_string(scan("values.csv", "text,label\nx,1.5\ny,2\n", REGRESS), "not counted", "values are not counted");
  ok_int(most_scores("{\"text\": \"q\", \"label\": [1, 0]}\n{\"text\": \"q\", \"label\": [1, 0, 0.5]}\n"), 3,
         "scores of the row that has the most");
  ok_string(scan("mixed.csv", "text,label\nx,1\ny,b\n", AUTO), "!5, empty", "nothing is left of what cannot be a mapping");
}

/* Lists of 0.0 and 1.0, one for every label. */
static void multi_hot(void) {
  static const char *const both[][2] = {{"1.0|0.0", "0.0|1.0"}, {"true|false", "false|true"}, {"True|False", "False|True"}};
  ok_string(LISTS(AUTO, NULL, "1.0,0.0,1.0", "0.0,0.0,0.0", "0.0,1.0,0"), "many integers 0 1 2: 1|0|1 0|0|0 0|1|0",
            "one for each");
  ok_string(LISTS(BRIM_TASK_MULTI_LABEL, NULL, "0.0,1.0", "1.0,1.0"), "many integers 0 1: 0|1 1|1", "the task given");
  ok_string(LISTS(REGRESS, NULL, "1.0,0.0", "0.0,1.0"), "regression: 1|0 0|1", "values, where that is the task");
  ok_string(LISTS(AUTO, NULL, "1.0,0.5", "0.0,1.0"), "regression: 1|0.5 0|1", "values, where the first row has others");
  ok_string(
      LISTS(AUTO, NULL, "1.0,0.0", "0.5,0.0"),
      "!5 f: line 2: \"0.5\" is neither 1.0 nor 0.0, but the first row's list says one of them for every label; if these are "
      "values, choose the task regression",
      "another value");
  ok_string(LISTS(AUTO, NULL, "1.0,0.0", "1.0"),
            "!5 f: line 2: the list has 1 values of 0.0 and 1.0, and there are 2 labels: every row has one for each",
            "one too few");
  ok_string(LISTS(AUTO, NULL, "1.0,0.0", "1.0,0.0,0.0"),
            "!5 f: line 2: the list has 3 values of 0.0 and 1.0, and there are 2 labels: every row has one for each",
            "one too many");
  ok_string(LISTS(AUTO, NULL, "!true,!false", "!false,!false"), "many integers 0 1: 1|0 0|0", "booleans");
  ok_string(LISTS(AUTO, NULL, "!false,!true", "1.0,0"), "many integers 0 1: 0|1 1|0", "booleans and numbers");
  ok(strstr(LISTS(AUTO, NULL, "a,!true"), "a boolean names no label"), "a boolean among names");
  ok(strstr(LISTS(AUTO, NULL, "'a", "!true"), "a boolean names no label"), "a boolean in a later row");
  ok(strstr(LISTS(AUTO, NULL, "#1,#0", "#0,#1"), "!5 f: line 1: every row's list is of 0 and 1"),
     "integers for each of two labels");
  ok(strstr(LISTS(AUTO, NULL, "1,0"), "every row's list is of 0 and 1"), "one row of them");
  ok(strstr(TAKE(MANY, NULL, "1|0", "0|1"), "every row's list is of 0 and 1"), "of csv");
  for (size_t i = 0; i < sizeof both / sizeof *both; i++)
    ok(strstr(TAKE(MANY, NULL, both[i][0], both[i][1]), "every row's list is of 0 and 1"), "of csv: %s", both[i][0]);
  ok_string(TAKE(MANY, NULL, "1.0|0.0", "1.0"), "many 0.0 1.0: 1|1 0|1", "names of csv, where another row has one");
  ok_string(LISTS(AUTO, NULL, "#1,#0", "#0"), "many integers 0 1: 1|1 1|0", "another row has one: they are names");
  ok_string(LISTS(AUTO, NULL, "'1,'0", "'0,'1"), "many 0 1: 1|1 1|1", "strings are names");
  ok_string(TAKE(AUTO, NULL, "'1", "'0"), "classes 0 1: 1 0", "names that look like numbers are no class ids");
  ok_string(LISTS(AUTO, NULL, "#0,#1", "#2,#1"), "many integers 0 1 2: 1|1|0 0|1|1", "names of three");
  ok_string(LISTS(AUTO, NULL, "'007,'7", "'7"), "many 007 7: 1|1 0|1", "strings in lists");
  ok_string(TAKE(MANY, NULL, "'1", "'2"), "many 1 2: 1|0 0|1", "one string of JSON is a name, too");
  ok(strstr(TAKE(MANY, NULL, "['fun', 'old']"), "is a list as Python or JSON writes it"), "a printed list");
  ok(strstr(TAKE(MANY, NULL, "a", "[]"), "is a list as Python or JSON writes it"), "an empty one");
  const char *const two[] = {"0", "1"};
  brim_labels pair;
  ok_int(brim_labels_make(data_runtime, MANY, two, 2, &pair, NULL), BRIM_OK, "two labels of a model");
  ok(strstr(LISTS(AUTO, &pair, "#1,#0", "#0,#1"), "every row's list is of 0 and 1"), "of a known mapping");
  ok_string(LISTS(AUTO, &pair, "#1,#0", "#0"), "many integers 0 1: 1|1 1|0", "names of it");
  brim_labels_free(&pair);
  const char *const names[] = {"a", "b", "c"};
  brim_labels known;
  ok_int(brim_labels_make(data_runtime, BRIM_TASK_MULTI_LABEL, names, 3, &known, NULL), BRIM_OK, "labels of a model");
  ok_string(LISTS(AUTO, &known, "0.0,0.0,1.0", "1.0,0.0,0.0"), "many a b c: 0|0|1 1|0|0", "in the model's order");
  ok_string(LISTS(AUTO, &known, "0.0,1.0"),
            "!5 f: line 1: the list has 2 values of 0.0 and 1.0, and there are 3 labels: every row has one for each",
            "of another model");
  brim_labels_free(&known);
}

static void alike_are(const char *one, const char *other, const char *third, bool alike) {
  const char *const names[] = {one, other, third};
  brim_labels labels;
  int32_t a = 5, b = 5;
  if (brim_labels_make(data_runtime, BRIM_TASK_CLASSIFICATION, names, 3, &labels, NULL))
    exit(1);
  ok(brim_labels_alike(data_runtime, &labels, &a, &b, NULL) == BRIM_OK && (alike ? a == 0 && b == 2 : a == -1 && b == -1),
     "[%s] and [%s] %s alike", one, third, alike ? "are" : "are not");
  brim_labels_free(&labels);
}

static void alike(void) {
  alike_are(" pos", "neg", "pos", true);
  alike_are("True", "false", "true", true);
  alike_are("pos\t", "neg", " POS ", true);
  alike_are("a b", "b", "ab", false);
  alike_are("stra\u00dfe", "b", "STRASSE", true);
  alike_are("\uff21", "b", "A", true);
  alike_are("\u03c3\u03bf\u03c6\u03cc\u03c2", "b", "\u03a3\u039f\u03a6\u038c\u03a3", true);
  alike_are("1", "0", "-1", false);
  alike_are("pos", "neg", "pos\xC2\xA0", true);
  alike_are("pos", "neg", "p\xE2\x80\x8Bos", true);
  alike_are("caf\xC3\xA9", "neg", "cafe\xCC\x81", true);
  alike_are("\xC3\xA9t\xC3\xA9", "neg", "\xC3\x89T\xC3\x89", true);
  alike_are("007", "8", "7", true);
  alike_are("+1", "0", "1", true);
  alike_are("1.10", "0", "1.1", false);
  alike_are("cafe", "neg", "caf\xC3\xA9", false);
  alike_are("", "x", "  ", true);
  brim_labels values = {.task = BRIM_TASK_REGRESSION, .count = 2};
  int32_t a, b;
  ok(brim_labels_alike(data_runtime, &values, &a, &b, NULL) == BRIM_OK && a == -1, "values have no names");
}

static void odd_is(brim_task task, const char *one, const char *other, const char *third, int32_t want, const char *meaning) {
  const char *const names[] = {one, other, third};
  const char *found;
  brim_labels labels;
  if (brim_labels_make(data_runtime, task, names, 3, &labels, NULL))
    exit(1);
  const int32_t at = brim_labels_odd(&labels, &found);
  ok(at == want && (found != NULL) == (want >= 0) && (!found || strstr(found, meaning)), "[%s] [%s] [%s]: %d %s", one, other,
     third, (int)at, found ? found : "");
  brim_labels_free(&labels);
}

/* Names that were meant as something else. */
static void odd(void) {
  const brim_task classes = BRIM_TASK_CLASSIFICATION, several = BRIM_TASK_MULTI_LABEL;
  const char *const numbers = "a number, and so do all others", *const missing = "missing",
                    *const lists = "several labels in one";
  odd_is(classes, "0,2", "0,5", "1", 0, numbers);
  odd_is(classes, "300", "1,400", "-2", 1, numbers);
  odd_is(classes, "1.234,56", "2'000", "7%", 0, numbers);
  odd_is(classes, "$7.5", "$8", "$9", 0, numbers);
  odd_is(classes, "1", "2", "3.5", -1, numbers);
  odd_is(classes, "1.10.2", "1.2", "2.0", -1, numbers);
  odd_is(classes, "0,2", "0,5", "x", -1, numbers);
  odd_is(classes, "2026-01-02", "2026-01-03", "1,5", -1, numbers);
  odd_is(classes, ",", "%", "$", -1, numbers);
  odd_is(classes, "1", "\xEF\xBC\x92", "3", 1, numbers);
  odd_is(classes, "\xEF\xBC\xA1", "\xEF\xBC\x92", "3", -1, numbers);
  odd_is(classes, "neg", "NA", "pos", 1, missing);
  odd_is(classes, "neg", "\\N", "#N/A", 1, missing);
  odd_is(classes, "none", "None", "na", -1, missing);
  odd_is(several, "fun", "fun,old", "new", 1, lists);
  odd_is(several, "2, 5", "3", "5", 0, lists);
  odd_is(several, "fun", "new", "old;fun", 2, lists);
  odd_is(several, "Paris, Texas", "London", "Rome", -1, lists);
  odd_is(several, "fun", "NULL", "old", 1, missing);
  odd_is(BRIM_TASK_TOKENS, "NA", "1,5", "2,5", -1, missing);
  const char *found;
  ok(brim_labels_odd(&(brim_labels){.task = BRIM_TASK_REGRESSION, .count = 2}, &found) == -1 && !found, "values have no names");
}

int main(void) {
  data_start(1);
  multi_hot();
  alike();
  odd();
  scanned();
  lists();
  inference();
  names();
  none();
  tasks();
  refused();
  known();
  brim_runtime_free(data_runtime);
  return tap_done();
}
