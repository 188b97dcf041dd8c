/* config.c: --config FILE, and what a run records of its options. */
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct config {
  const cli_command *command;
  cli_arguments *arguments;
  bool flagged[CLI_OPTION_LIMIT]; /* given on the command line: wins over the file */
  bool taken[CLI_OPTION_LIMIT];   /* given in the file */
} config;

/* The option of a name as the file has it: underscores do as well as dashes, as in Python. */
static const cli_option *find_key(const cli_arguments *arguments, const char *name, char *spelled, size_t size) {
  snprintf(spelled, size, "%s", name);
  for (char *c = spelled; *c; c++)
    if (*c == '_')
      *c = '-';
  return cli_find_option(arguments->options, spelled, strlen(spelled));
}

/* A copy that lives as long as the arguments, or NULL. */
static const char *keep(cli_arguments *arguments, const char *text, size_t length, brim_error *err) {
  const int limit = (int)(sizeof arguments->kept / sizeof *arguments->kept);
  if (memchr(text, 0, length)) {
    brim_error_set(err, BRIM_E_USAGE, "the value holds a NUL character: remove it");
    return NULL;
  }
  char *copy = arguments->kept_count < limit ? malloc(length + 1) : NULL;
  if (!copy) {
    brim_error_set(err, BRIM_E_MEMORY, "the file has more values than fit: give long lists as files, or on the command line");
    return NULL;
  }
  memcpy(copy, text, length);
  copy[length] = 0;
  arguments->kept[arguments->kept_count++] = copy;
  return copy;
}

static int check_kind(const config *c, const cli_option *option, const brim_setting *setting, brim_error *err) {
  if (setting->boolean && option->kind != CLI_FLAG && !option->implied)
    return brim_error_set(err, BRIM_E_USAGE, "--%s is %s, without quotes: give %s, or leave it out", option->name, setting->value,
                          option->value);
  if (setting->item >= 0 && option->kind != CLI_LIST && option->kind != CLI_NAMES)
    return brim_error_set(err, BRIM_E_USAGE, "--%s is one value (%s), not a list", option->name,
                          option->kind == CLI_FLAG ? "true or false" : option->value);
  if (setting->item <= 0 && c->taken[option - c->arguments->options])
    return brim_error_set(err, BRIM_E_USAGE, "--%s is given twice: leave out one of them", option->name);
  return BRIM_OK;
}

/* One member of the file, or one item of a member that is an array. Errors get their place from the reader. */
static int take_member(void *context, const brim_setting *setting, brim_error *err) {
  config *c = context;
  char spelled[64];
  const cli_option *option = find_key(c->arguments, setting->name, spelled, sizeof spelled);
  if (option && (strcmp(option->name, "config") == 0 || strcmp(option->name, "help") == 0))
    return brim_error_set(err, BRIM_E_USAGE, "--%s belongs on the command line: take it out of the file", option->name);
  if (!option) {
    char hint[96];
    cli_suggest_option(c->arguments->options, spelled, strlen(spelled), hint, sizeof hint);
    return brim_error_set(err, BRIM_E_USAGE, "\"%s\" is no option of `brim %s`%s", setting->name, c->command->name, hint);
  }
  const size_t at = (size_t)(option - c->arguments->options);
  int status = check_kind(c, option, setting, err);
  if (status || c->flagged[at])
    return status;
  c->taken[at] = true;
  if (setting->boolean && option->implied)
    return setting->value[0] == 't' ? cli_give(c->arguments, option, NULL, option->implied, err) : BRIM_OK;
  const char *text = keep(c->arguments, setting->value, setting->length, err);
  return text ? cli_give(c->arguments, option, NULL, text, err) : BRIM_E_USAGE;
}

int cli_read_config(brim_runtime *runtime, const cli_command *command, cli_arguments *arguments, brim_error *err) {
  config c = {.command = command, .arguments = arguments};
  memcpy(c.flagged, arguments->given, sizeof c.flagged);
  return brim_settings_read(runtime, arguments->values.config, take_member, &c, err);
}

static void put_option(brim_json_writer *json, const cli_option *option, const void *field) {
  const cli_list *list = field;
  switch (option->kind) {
  case CLI_FLAG:
    brim_json_put_bool(json, option->name, *(const bool *)field);
    return;
  case CLI_INTEGER:
    brim_json_put_integer(json, option->name, *(const int64_t *)field);
    return;
  case CLI_SEED:
    brim_json_put_count(json, option->name, *(const uint64_t *)field);
    return;
  case CLI_REAL:
    brim_json_put_number(json, option->name, *(const double *)field);
    return;
  case CLI_LIST:
    brim_json_open_array(json, option->name);
    for (int i = 0; i < list->count; i++)
      brim_json_put_string(json, NULL, list->items[i]);
    brim_json_close_array(json);
    return;
  default:
    brim_json_put_string(json, option->name, *(const char *const *)field);
  }
}

void cli_options_json(const cli_arguments *arguments, brim_text *out) {
  brim_json_writer json = {.out = out};
  brim_json_open_object(&json, NULL);
  for (const cli_option *option = arguments->options; option->kind != CLI_END; option++) {
    if (option->kind == CLI_GROUP || strcmp(option->name, "help") == 0)
      continue;
    if (arguments->given[option - arguments->options])
      put_option(&json, option, (const char *)&arguments->values + option->offset);
  }
  brim_json_close_object(&json);
}
