/* parse.c: the command line. */
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const cli_option *find_letter(const cli_option *options, char letter) {
  for (const cli_option *option = options; option->kind != CLI_END; option++)
    if (option->letter == letter)
      return option;
  return NULL;
}

typedef struct parser {
  const cli_command *command;
  cli_arguments *arguments;
  int count, at;
  char **argv;
} parser;

/* The value of an option: what is attached to it, or the next word. */
static int take_value(parser *p, const cli_option *option, const char *name, const char *attached, brim_error *err) {
  if (option->kind == CLI_FLAG && attached)
    return brim_error_set(err, BRIM_E_USAGE, "--%s takes no value", option->name);
  const char *text = option->kind == CLI_FLAG ? "true" : attached ? attached : option->implied;
  if (!text && p->at == p->count)
    return brim_error_set(err, BRIM_E_USAGE, "--%s needs a value (%s)", option->name, option->value);
  return cli_give(p->arguments, option, name, text ? text : p->argv[p->at++], err);
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
    return take_value(p, option, word, word[length] ? word + length + 1 : NULL, err);
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
    int status = take_value(p, option, option->name, attached ? letters : NULL, err);
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

/* Whether the option was given and is not what leaving it out means: a switch that is on, another value than the default. */
static bool says_something(const cli_arguments *arguments, const cli_option *option) {
  const void *field = (const char *)&arguments->values + option->offset;
  if (!arguments->given[option - arguments->options])
    return false;
  if (option->kind == CLI_FLAG)
    return *(const bool *)field;
  if (option->kind == CLI_INTEGER)
    return !option->fallback || *(const int64_t *)field != strtoll(option->fallback, NULL, 10);
  if (option->kind == CLI_SEED)
    return !option->fallback || *(const uint64_t *)field != strtoull(option->fallback, NULL, 10);
  if (option->kind == CLI_REAL)
    return !option->fallback || *(const double *)field != strtod(option->fallback, NULL);
  if (option->kind == CLI_TEXT || option->kind == CLI_CHOICE)
    return !option->fallback || strcmp(*(const char *const *)field, option->fallback) != 0;
  return true;
}

bool cli_says(const cli_arguments *arguments, const char *name) {
  const cli_option *option = cli_find_option(arguments->options, name, strlen(name));
  return option && says_something(arguments, option);
}

/* One of the names of `needs`, of `size` characters: the option says something, or what is wanted of it. */
static bool is_met(const cli_arguments *arguments, const char *need, size_t size) {
  const size_t name = strcspn(need, "= ");
  const cli_option *option = cli_find_option(arguments->options, need, name);
  if (!option || name == size)
    return option && says_something(arguments, option);
  const char *value = *(const char *const *)(const void *)((const char *)&arguments->values + option->offset);
  for (const char *word = need + name + 1; word < need + size; word += strcspn(word, "| ") + 1)
    if (value && strlen(value) == strcspn(word, "| ") && memcmp(word, value, strlen(value)) == 0)
      return true;
  return false;
}

/* Whether one of the names is met, and all of them as a message says them: "--eval, --folds or --fold-column". */
static bool any_met(const cli_arguments *arguments, const char *needs, char *text, size_t room) {
  size_t used = 0;
  text[0] = 0;
  for (const char *need = needs; *need; need += strspn(need, " ")) {
    const size_t size = strcspn(need, " "), name = strcspn(need, "= ");
    if (is_met(arguments, need, size))
      return true;
    used += (size_t)snprintf(text + used, room - used, "%s--%.*s", !used ? "" : need[size] ? ", " : " or ", (int)name, need);
    for (const char *word = need + name; word < need + size && used < room; word += strcspn(word + 1, "| ") + 1)
      used += (size_t)snprintf(text + used, room - used, "%s%.*s", *word == '=' ? " " : " or ", (int)strcspn(word + 1, "| "),
                               word + 1);
    need += size;
  }
  return false;
}

/* The first of the names, with a space between them, that is met, as a message says it: "--task tokens"; false: none is. */
static bool is_contradicted(const cli_arguments *arguments, const char *names, char *text, size_t room) {
  for (const char *name = names; *name; name += strspn(name, " ")) {
    const size_t size = strcspn(name, " "), length = strcspn(name, "= ");
    if (is_met(arguments, name, size)) {
      const cli_option *option = cli_find_option(arguments->options, name, length);
      const void *field = (const char *)&arguments->values + option->offset;
      snprintf(text, room, "--%s%s%s", option->name, length < size ? " " : "", length < size ? *(const char *const *)field : "");
      return true;
    }
    name += size;
  }
  return false;
}

/* No option is dropped in silence: neither one whose partner is missing nor one that another contradicts. */
static int check_partners(const cli_arguments *arguments, brim_error *err) {
  char needed[256];
  for (const cli_option *option = arguments->options; option->kind != CLI_END; option++) {
    if ((!option->needs && !option->excludes) || !says_something(arguments, option))
      continue;
    if (option->excludes && is_contradicted(arguments, option->excludes, needed, sizeof needed))
      return brim_error_set(err, BRIM_E_USAGE, "--%s and %s contradict each other: leave out one of them", option->name, needed);
    if (option->needs && !any_met(arguments, option->needs, needed, sizeof needed))
      return brim_error_set(err, BRIM_E_USAGE, "--%s has no effect without %s: add %s or leave out --%s", option->name, needed,
                            strpbrk(needed, " ,") ? "it" : needed, option->name);
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
