#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- joining ---------------------------------------------------------------------------------------------- */

static int join(const cli_option *table, cli_option *out, int count) {
  for (; table->kind != CLI_END; table++) {
    if (table->kind == CLI_TABLE)
      count = join(table->table, out, count);
    else if (count < CLI_OPTION_LIMIT - 1)
      out[count++] = *table;
  }
  return count;
}

void cli_join(const cli_option *table, cli_option out[CLI_OPTION_LIMIT]) {
  out[join(table, out, 0)] = (cli_option){0};
}

/* ---- finding ---------------------------------------------------------------------------------------------- */

/* Whether `word` is one of the words of `list`, which are separated by `separator`. */
static bool has_word(const char *list, char separator, const char *word, size_t length) {
  while (list && *list) {
    const char *end = strchr(list, separator);
    size_t size = end ? (size_t)(end - list) : strlen(list);
    if (size == length && memcmp(list, word, length) == 0)
      return true;
    list = end ? end + 1 : NULL;
  }
  return false;
}

const cli_option *cli_find_option(const cli_option *options, const char *given, size_t length) {
  char name[64]; /* num_train_epochs is num-train-epochs: other programs write it so */
  if (length >= sizeof name)
    return NULL;
  for (size_t i = 0; i < length; i++)
    name[i] = given[i] == '_' ? '-' : given[i];
  for (const cli_option *option = options; option->kind != CLI_END; option++) {
    if (option->kind == CLI_GROUP)
      continue;
    if (strlen(option->name) == length && memcmp(option->name, name, length) == 0)
      return option;
    if (has_word(option->aliases, ' ', name, length))
      return option;
  }
  return NULL;
}

static const cli_option *find_letter(const cli_option *options, char letter) {
  for (const cli_option *option = options; option->kind != CLI_END; option++)
    if (option->letter == letter)
      return option;
  return NULL;
}

/* Insertions, deletions, replacements and swaps of neighbours that turn one word into the other (optimal string alignment). */
static int edit_distance(const char *a, size_t a_length, const char *b, size_t b_length) {
  int rows[3][64];
  if (a_length >= 64 || b_length >= 64)
    return 64;
  int *before = rows[0], *above = rows[1], *row = rows[2];
  for (size_t j = 0; j <= b_length; j++)
    above[j] = (int)j;
  for (size_t i = 1; i <= a_length; i++) {
    row[0] = (int)i;
    for (size_t j = 1; j <= b_length; j++) {
      int best = above[j - 1] + (a[i - 1] != b[j - 1]);
      if (above[j] + 1 < best)
        best = above[j] + 1;
      if (row[j - 1] + 1 < best)
        best = row[j - 1] + 1;
      bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped && before[j - 2] + 1 < best)
        best = before[j - 2] + 1;
      row[j] = best;
    }
    int *oldest = before;
    before = above, above = row, row = oldest;
  }
  return above[b_length];
}

const char *cli_nearest(const char *word, size_t length, const char *const *candidates) {
  const char *nearest = NULL;
  int least = length < 5 ? 2 : 4; /* more edits than this is another word */
  for (; *candidates; candidates++) {
    int distance = edit_distance(word, length, *candidates, strlen(*candidates));
    if (distance < least)
      least = distance, nearest = *candidates;
  }
  return nearest;
}

void cli_suggest_option(const cli_option *options, const char *name, size_t length, char *buffer, size_t size) {
  const char *names[128];
  int count = 0;
  for (const cli_option *option = options; option->kind != CLI_END && count < 127; option++)
    if (option->kind != CLI_GROUP)
      names[count++] = option->name;
  names[count] = NULL;
  const char *nearest = cli_nearest(name, length, names);
  buffer[0] = 0;
  if (nearest)
    snprintf(buffer, size, "; did you mean --%s?", nearest);
}

bool cli_given(const cli_arguments *arguments, const char *name) {
  const cli_option *option = cli_find_option(arguments->options, name, strlen(name));
  return option && arguments->given[option - arguments->options];
}

/* ---- storing ---------------------------------------------------------------------------------------------- */

#define CLI_LARGEST 9.2e18

static int out_of_range(const cli_option *option, const char *text, brim_error *err) {
  const double most = option->least < option->most ? option->most : CLI_LARGEST;
  if (option->least < option->most && option->most < 1e15)
    return brim_error_set(err, BRIM_E_USAGE, "--%s: %s is outside %.15g to %.15g", option->name, text, option->least, most);
  if (text[0] == '-' && option->least < option->most)
    return brim_error_set(err, BRIM_E_USAGE, "--%s: %s is too small; the least is %.15g", option->name, text, option->least);
  return brim_error_set(err, BRIM_E_USAGE, "--%s: %s is out of range; the largest is 9223372036854775807", option->name, text);
}

static int store_number(const cli_option *option, const char *text, void *field, brim_error *err) {
  char *end = NULL;
  double value;
  errno = 0;
  if (option->kind == CLI_INTEGER) {
    long long integer = strtoll(text, &end, 10);
    if (end == text || *end || text[0] == ' ')
      return brim_error_set(err, BRIM_E_USAGE, "--%s: \"%s\" is not a whole number", option->name, text);
    if (errno)
      return out_of_range(option, text, err);
    *(int64_t *)field = integer;
    value = (double)integer;
  } else {
    value = strtod(text, &end);
    /* strtod also reads "nan", "inf" and hexadecimal, which are never meant here. */
    if (end == text || *end || text[strspn(text, "+-.0123456789eE")])
      return brim_error_set(err, BRIM_E_USAGE, "--%s: \"%s\" is not a number", option->name, text);
    if (errno == ERANGE && option->least >= option->most)
      return brim_error_set(err, BRIM_E_USAGE, "--%s: %s is out of range", option->name, text);
    *(double *)field = value;
  }
  if (option->least < option->most && (value < option->least || value > option->most)) {
    if (option->most >= 1e15 && value < option->least)
      return brim_error_set(err, BRIM_E_USAGE, "--%s: %s is too small; the least is %.15g", option->name, text, option->least);
    return brim_error_set(err, BRIM_E_USAGE, "--%s: %s is outside %.15g to %.15g", option->name, text, option->least,
                          option->most);
  }
  return BRIM_OK;
}

int cli_store(const cli_option *option, const char *text, cli_values *values, brim_error *err) {
  void *field = (char *)values + option->offset;
  switch (option->kind) {
  case CLI_FLAG:
    if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
      return brim_error_set(err, BRIM_E_USAGE, "--%s is a switch: true or false, not \"%s\"", option->name, text);
    *(bool *)field = text[0] == 't';
    return BRIM_OK;
  case CLI_INTEGER:
  case CLI_REAL:
    return store_number(option, text, field, err);
  case CLI_CHOICE:
    if (!has_word(option->value, '|', text, strlen(text)) && !has_word(option->also, '|', text, strlen(text)))
      return brim_error_set(err, BRIM_E_USAGE, "--%s: \"%s\" is not one of %s", option->name, text, option->value);
    *(const char **)field = text;
    return BRIM_OK;
  case CLI_TEXT:
    *(const char **)field = text;
    return BRIM_OK;
  case CLI_LIST: {
    cli_list *list = field;
    if (list->count == CLI_LIST_LIMIT)
      return brim_error_set(err, BRIM_E_USAGE, "--%s is given more than %d times", option->name, CLI_LIST_LIMIT);
    list->items[list->count++] = text;
    return BRIM_OK;
  }
  default:
    return brim_error_set(err, BRIM_E_INTERNAL, "--%s has no kind", option->name);
  }
}

/* ---- filling the library's structs ------------------------------------------------------------------------- */

static int fill_parsed(const cli_option *option, const char *text, void *field, brim_error *err) {
  if (option->parse && option->parse(text, field))
    return BRIM_OK;
  if (option->expected)
    return brim_error_set(err, BRIM_E_USAGE, "--%s %s: expected %s", option->name, text, option->expected);
  return brim_error_set(err, BRIM_E_INTERNAL, "--%s allows \"%s\", which the library does not know", option->name, text);
}

static int fill_field(const cli_option *option, cli_type type, const void *value, void *field, brim_error *err) {
  switch (type) {
  case CLI_BOOL:
    *(bool *)field = *(const bool *)value;
    return BRIM_OK;
  case CLI_INT32:
    *(int32_t *)field = (int32_t)*(const int64_t *)value;
    return BRIM_OK;
  case CLI_INT64:
    *(int64_t *)field = *(const int64_t *)value;
    return BRIM_OK;
  case CLI_UINT64:
    *(uint64_t *)field = (uint64_t)*(const int64_t *)value;
    return BRIM_OK;
  case CLI_DOUBLE:
    *(double *)field = *(const double *)value;
    return BRIM_OK;
  case CLI_STRING:
    *(const char **)field = *(const char *const *)value;
    return BRIM_OK;
  default:
    return fill_parsed(option, *(const char *const *)value, field, err);
  }
}

int cli_fill(const cli_arguments *arguments, cli_struct of, void *out, brim_error *err) {
  for (const cli_option *option = arguments->options; option->kind != CLI_END; option++) {
    if (!option->fallback && !arguments->given[option - arguments->options])
      continue;
    for (int i = 0; i < CLI_TARGETS; i++) {
      const cli_target *to = &option->to[i];
      if (to->of != of)
        continue;
      int status = fill_field(option, to->type, (const char *)&arguments->values + option->offset, (char *)out + to->at, err);
      if (status)
        return status;
    }
  }
  return BRIM_OK;
}

/* ---- the command line ------------------------------------------------------------------------------------- */

typedef struct parser {
  const cli_command *command;
  cli_arguments *arguments;
  int count, at;
  char **argv;
} parser;

static int store_given(parser *p, const cli_option *option, const char *text, brim_error *err) {
  p->arguments->given[option - p->arguments->options] = true;
  return cli_store(option, text, &p->arguments->values, err);
}

/* Options of which nothing is no value, as of a shell's variable that is not set: those that must be given, and names of files.
 */
static bool needs_text(const cli_option *option) {
  static const char *const places[] = {"DIR", "FILE", "PATH", "RUN", "DATA", "[NAME=]DATA"};
  bool place = false;
  for (size_t i = 0; i < sizeof places / sizeof *places && option->kind != CLI_FLAG; i++)
    place |= strcmp(option->value, places[i]) == 0;
  return place || (option->kind != CLI_FLAG && option->required);
}

/* The value of an option: what is attached to it, or the next word. */
static int take_value(parser *p, const cli_option *option, const char *attached, brim_error *err) {
  const char *next = attached || option->implied || p->at == p->count ? attached : p->argv[p->at];
  if (next && !*next && needs_text(option))
    return brim_error_set(err, BRIM_E_USAGE, "--%s is empty: give %s", option->name, option->value);
  if (option->kind == CLI_FLAG) {
    if (attached)
      return brim_error_set(err, BRIM_E_USAGE, "--%s takes no value", option->name);
    return store_given(p, option, "true", err);
  }
  if (attached || option->implied)
    return store_given(p, option, attached ? attached : option->implied, err);
  if (p->at == p->count)
    return brim_error_set(err, BRIM_E_USAGE, "--%s needs a value (%s)", option->name, option->value);
  return store_given(p, option, p->argv[p->at++], err);
}

/* What other programs' options are here: those of Hugging Face's TrainingArguments that are no other name of one. */
static void suggest_named(const cli_option *options, const char *word, size_t length, char *buffer, size_t size) {
  static const struct {
    const char *name, *option, *value;
  } named[] = {{"bf16", "precision", " bf16"},
               {"fp16", "precision", " bf16"},
               {"eval-steps", "eval-every", " N"},
               {"save-steps", "save-every", " N"},
               {"logging-steps", "log-every", " N"},
               {"dataloader-num-workers", "threads", " N"},
               {"train-file", "train", " DATA"},
               {"validation-file", "eval", " DATA"},
               {"test-file", "eval", " DATA"},
               {"overwrite-output-dir", "overwrite", ""},
               {"resume-from-checkpoint", "resume", ""},
               {"optim", "beta1", " X and --beta2 X: AdamW is the only one"},
               {"do-train", "train", " DATA"},
               {"do-eval", "eval", " DATA"},
               {"gpu", "device", " cuda"},
               {"cuda", "device", " cuda"},
               {"gradient-accumulation-steps", "batch-size", " N with all rows of a step, which --accumulate cuts into parts"}};
  buffer[0] = 0;
  for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
    bool same = strlen(named[i].name) == length;
    for (size_t k = 0; k < length && same; k++)
      same = named[i].name[k] == (word[k] == '_' ? '-' : word[k]);
    if (same && cli_find_option(options, named[i].option, strlen(named[i].option)))
      snprintf(buffer, size, "; here it is --%s%s", named[i].option, named[i].value);
  }
}

static int parse_long(parser *p, const char *word, brim_error *err) {
  size_t length = strcspn(word, "=");
  const cli_option *option = cli_find_option(p->arguments->options, word, length);
  if (option)
    return take_value(p, option, word[length] ? word + length + 1 : NULL, err);
  char hint[128];
  suggest_named(p->arguments->options, word, length, hint, sizeof hint);
  if (!hint[0])
    cli_suggest_option(p->arguments->options, word, length, hint, sizeof hint);
  if (!hint[0])
    snprintf(hint, sizeof hint, "; `brim %s --help` lists them", p->command->name);
  return brim_error_set(err, BRIM_E_USAGE, "unknown option --%.*s%s", (int)length, word, hint);
}

/* -q, -o FILE, -oFILE, -qo FILE. */
static int parse_letters(parser *p, const char *letters, brim_error *err) {
  while (*letters) {
    const cli_option *option = find_letter(p->arguments->options, *letters);
    if (!option)
      return brim_error_set(err, BRIM_E_USAGE, "unknown option -%c; `brim %s --help` lists them", *letters, p->command->name);
    letters++;
    bool attached = option->kind != CLI_FLAG && *letters;
    int status = take_value(p, option, attached ? letters : NULL, err);
    if (status || attached)
      return status;
  }
  return BRIM_OK;
}

static int parse_words(parser *p, brim_error *err) {
  bool only_operands = false;
  while (p->at < p->count) {
    const char *word = p->argv[p->at++];
    int status = BRIM_OK;
    if (!only_operands && strcmp(word, "--") == 0)
      only_operands = true;
    else if (!only_operands && strncmp(word, "--", 2) == 0)
      status = parse_long(p, word + 2, err);
    else if (!only_operands && word[0] == '-' && word[1])
      status = parse_letters(p, word + 1, err);
    else if (p->arguments->operand_count == (int)(sizeof p->arguments->operands / sizeof *p->arguments->operands))
      status = brim_error_set(err, BRIM_E_USAGE, "too many operands; give a glob in quotes instead");
    else
      p->arguments->operands[p->arguments->operand_count++] = word;
    if (status)
      return status;
  }
  return BRIM_OK;
}

/* Whether the option was given and is not what leaving it out means: a switch that is on, another number than the default. */
static bool says_something(const cli_arguments *arguments, const cli_option *option) {
  const void *field = (const char *)&arguments->values + option->offset;
  if (!arguments->given[option - arguments->options])
    return false;
  if (option->kind == CLI_FLAG)
    return *(const bool *)field;
  if (option->kind == CLI_INTEGER)
    return !option->fallback || *(const int64_t *)field != strtoll(option->fallback, NULL, 10);
  if (option->kind == CLI_REAL)
    return !option->fallback || *(const double *)field != strtod(option->fallback, NULL);
  return true;
}

static bool named_says_something(const cli_arguments *arguments, const char *name) {
  const cli_option *option = cli_find_option(arguments->options, name, strlen(name));
  return option && says_something(arguments, option);
}

/* The first of the names, with a space between them, that says something: its length in *length, or NULL. */
static const char *contradiction(const cli_arguments *arguments, const char *names, int *length) {
  for (const char *name = names; *name; name += strspn(name, " ")) {
    const size_t size = strcspn(name, " ");
    const cli_option *option = cli_find_option(arguments->options, name, size);
    *length = (int)size;
    if (option && says_something(arguments, option))
      return name;
    name += size;
  }
  return NULL;
}

/* No option is dropped in silence: neither one whose partner is missing nor one that another contradicts. */
static int check_partners(const cli_arguments *arguments, brim_error *err) {
  const char *other;
  int length;
  for (const cli_option *option = arguments->options; option->kind != CLI_END; option++) {
    if ((!option->needs && !option->excludes) || !says_something(arguments, option))
      continue;
    if (option->needs && !named_says_something(arguments, option->needs))
      return brim_error_set(err, BRIM_E_USAGE, "--%s has no effect without --%s: add --%s or leave out --%s", option->name,
                            option->needs, option->needs, option->name);
    if (option->excludes && (other = contradiction(arguments, option->excludes, &length)))
      return brim_error_set(err, BRIM_E_USAGE, "--%s and --%.*s contradict each other: leave out one of them", option->name,
                            length, other);
  }
  return BRIM_OK;
}

/* "brim train [options] --model DIR --train DATA --output RUN" */
static void cli_usage(const cli_command *command, const cli_option *options, char *text, size_t size) {
  int used = snprintf(text, size, "brim %s [options]", command->name);
  for (const cli_option *o = options; o->kind != CLI_END && used > 0 && (size_t)used < size; o++)
    if (o->required)
      used += snprintf(text + used, size - (size_t)used, " --%s %s", o->name, o->value);
  if (used > 0 && (size_t)used < size)
    snprintf(text + used, size - (size_t)used, "%s%s", *command->operands ? " " : "", command->operands);
}

static int check_complete(const cli_command *command, const cli_arguments *arguments, brim_error *err) {
  for (const cli_option *option = arguments->options; option->kind != CLI_END; option++)
    if (option->required && !arguments->given[option - arguments->options])
      return brim_error_set(err, BRIM_E_USAGE, "--%s %s is missing; `brim %s --help` explains it", option->name, option->value,
                            command->name);
  char usage[256];
  cli_usage(command, arguments->options, usage, sizeof usage);
  if (arguments->operand_count < command->least_operands)
    return brim_error_set(err, BRIM_E_USAGE, "%s is missing; usage: %s", command->operands, usage);
  if (arguments->operand_count > command->most_operands)
    return brim_error_set(err, BRIM_E_USAGE, "\"%s\" is one operand too many; usage: %s",
                          arguments->operands[command->most_operands], usage);
  return check_partners(arguments, err);
}

int cli_parse(brim_runtime *runtime, const cli_command *command, int count, char **argv, cli_arguments *arguments,
              brim_error *err) {
  memset(arguments, 0, sizeof *arguments);
  cli_join(command->options, arguments->options);
  for (const cli_option *option = arguments->options; option->kind != CLI_END; option++)
    if (option->fallback) {
      int status = cli_store(option, option->fallback, &arguments->values, err);
      if (status)
        return status;
    }
  parser p = {.command = command, .arguments = arguments, .count = count, .argv = argv};
  int status = parse_words(&p, err);
  if (status || arguments->values.help)
    return status;
  if (arguments->values.config)
    status = cli_read_config(runtime, command, arguments, err);
  return status ? status : check_complete(command, arguments, err);
}

void cli_arguments_free(cli_arguments *arguments) {
  for (int i = 0; i < arguments->kept_count; i++)
    free(arguments->kept[i]);
  arguments->kept_count = 0;
}
