#include "modes.h"

#include <stdlib.h>
#include <string.h>

static const brim_mode known_modes[] = {{"fixed", BRIM_RANDOM, BRIM_PAD_MAX_LENGTH, NULL},
                                        {"dynamic", BRIM_RANDOM, BRIM_PAD_LONGEST, NULL},
                                        {"uniform", BRIM_UNIFORM, BRIM_PAD_LONGEST, NULL},
                                        {"brim", BRIM_RANDOM, BRIM_PAD_NONE, NULL}};

/* The next word of a list; false at its end. */
static bool next_word(const char **at, char separator, char *word, size_t room) {
  const char *end = strchr(*at, separator);
  const size_t length = end ? (size_t)(end - *at) : strlen(*at);
  if (!**at)
    return false;
  snprintf(word, room, "%.*s", (int)length, *at);
  *at += length + (end != NULL);
  return true;
}

/* ---- words of a mode ---------------------------------------------------------------------------------------- */

/* The options that a mode may have are those of the command that say how steps are made and computed. */
static bool is_of_mode(const cli_option *option) {
  for (int i = 0; i < CLI_TARGETS; i++)
    if (option->to[i].of == CLI_PLAN || option->to[i].of == CLI_TRAIN)
      return true;
  return false;
}

/* By its name, or by the beginning of one option's alone. */
static const cli_option *find_option(const cli_option *options, const char *word, size_t length) {
  const cli_option *found = cli_find_option(options, word, length);
  int count = 0;
  if (found)
    return is_of_mode(found) ? found : NULL;
  for (const cli_option *o = options; o->kind != CLI_END; o++)
    if (o->name && is_of_mode(o) && strncmp(o->name, word, length) == 0)
      found = o, count++;
  return count == 1 ? found : NULL;
}

/* "max-tokens=2048", "checkpoint": as if it were given to the command itself, in place of what was. */
static int give_word(cli_call *cli, const char *word, brim_error *err) {
  cli_arguments *arguments = &cli->arguments;
  const size_t length = strcspn(word, "=");
  const cli_option *option = find_option(arguments->options, word, length);
  if (!option)
    return brim_error_set(err, BRIM_E_USAGE, "\"%.*s\" is no padding, and no option of batches or training", (int)length, word);
  if (!word[length] && option->kind != CLI_FLAG)
    return brim_error_set(err, BRIM_E_USAGE, "%s needs a value: %s=%s", option->name, option->name, option->value);
  const size_t at = (size_t)(option - arguments->options);
  arguments->given_as[at] = (cli_given_as){0};
  return cli_give(arguments, option, option->name, word[length] ? word + length + 1 : "true", err);
}

/* Words after the first, or after "uniform+none". */
static int give_words(cli_call *cli, const char *words, brim_error *err) {
  int status = BRIM_OK;
  for (const char *word = words; !status && *word; word += strlen(word) + 1)
    status = give_word(cli, word, err);
  return status;
}

/* The first words say how rows come together, the others are options: *rest. */
static bool parse_kind(const char *words, brim_mode *mode, const char **rest) {
  const char *second = words + strlen(words) + 1;
  *rest = second;
  if (*second && brim_batching_parse(words, &mode->batching) && brim_padding_parse(second, &mode->padding)) {
    *rest = second + strlen(second) + 1;
    return true;
  }
  for (size_t i = 0; i < sizeof known_modes / sizeof *known_modes; i++)
    if (strcmp(words, known_modes[i].name) == 0) {
      *mode = known_modes[i];
      return true;
    }
  return false;
}

static int mode_failed(cli_call *cli, const char *name, const brim_error *error) {
  return brim_error_set(&cli->error, error->code, "--modes %s: %s", name, error->message);
}

/* The options of one mode; job NULL: they are only looked at. */
static int fill_mode(cli_call *cli, const cli_job *job, const char *words, brim_train_options *out) {
  cli_arguments *kept = malloc(sizeof *kept);
  if (!kept)
    return cli_no_memory(cli, "the options of a mode");
  *kept = cli->arguments;
  int status = give_words(cli, words, &cli->error);
  if (!status && job)
    status = cli_job_train_options(cli, job, job->options.plan.max_length, out);
  memcpy(kept->kept, cli->arguments.kept, sizeof kept->kept);
  kept->kept_count = cli->arguments.kept_count;
  cli->arguments = *kept;
  free(kept);
  return status;
}

/* "uniform+max-tokens=2048": words, and the mode that they name. */
static int parse_mode(cli_call *cli, const char *name, cli_modes *out) {
  char *words = out->words[out->count], *end = words;
  const char *rest, *at = name;
  memset(words, 0, sizeof out->words[0]);
  while (next_word(&at, '+', end, sizeof out->words[0] - 1 - (size_t)(end - words)))
    end += strlen(end) + 1;
  if (!parse_kind(words, &out->at[out->count], &rest))
    return brim_error_set(&cli->error, BRIM_E_USAGE,
                          "--modes: \"%s\" is none of fixed, dynamic, uniform, brim, BATCHING+PADDING, each with +OPTION or "
                          "+OPTION=VALUE",
                          name);
  snprintf(out->names[out->count], sizeof out->names[0], "%s", name);
  if (fill_mode(cli, NULL, rest, NULL)) {
    const brim_error error = cli->error;
    return mode_failed(cli, name, &error);
  }
  out->count++;
  return BRIM_OK;
}

static int parse_modes(cli_call *cli, cli_modes *out) {
  char name[sizeof out->words[0]];
  int status = BRIM_OK;
  for (const char *at = cli->values->compared; !status && *at;) {
    const size_t length = strcspn(at, ",");
    if (length >= sizeof name - 1)
      return brim_error_set(&cli->error, BRIM_E_USAGE, "--modes: %.40s.. is longer than %d characters", at, (int)sizeof name - 2);
    if (out->count == BRIM_MOST_MODES)
      return brim_error_set(&cli->error, BRIM_E_USAGE, "--modes: give at most %d", BRIM_MOST_MODES);
    next_word(&at, ',', name, sizeof name);
    status = parse_mode(cli, name, out);
  }
  if (status || out->count)
    return status;
  return brim_error_set(&cli->error, BRIM_E_USAGE, "--modes is empty: give at least one, such as dynamic");
}

/* ---- precisions ---------------------------------------------------------------------------------------------- */

static int parse_precisions(cli_call *cli, cli_modes *out) {
  char word[48];
  for (const char *at = cli->values->precisions; next_word(&at, ',', word, sizeof word);) {
    brim_precision precision = BRIM_PRECISION_FP32;
    if (strcmp(word, "fp16") == 0)
      return cli_refuse_fp16(cli);
    if (!brim_precision_parse(word, &precision) || precision == BRIM_PRECISION_INT8)
      return brim_error_set(&cli->error, BRIM_E_USAGE, "--precision: \"%s\" is none of fp32, bf16", word);
    for (int i = 0; i < out->precision_count; i++)
      if (out->precisions[i] == precision)
        return brim_error_set(&cli->error, BRIM_E_USAGE, "--precision: %s is there twice: name each once", word);
    out->precisions[out->precision_count++] = precision;
  }
  return out->precision_count ? BRIM_OK
                              : brim_error_set(&cli->error, BRIM_E_USAGE, "--precision is empty: give fp32, bf16 or both");
}

/* A row for each mode in each precision, from the last on, so that a mode is read before its place is taken. */
static int multiply_modes(cli_call *cli, cli_modes *out) {
  const int modes = out->count, each = out->precision_count;
  if (modes * each > BRIM_MOST_MODES)
    return brim_error_set(&cli->error, BRIM_E_USAGE, "--modes, --precision: %d modes in %d precisions are more than %d rows",
                          modes, each, BRIM_MOST_MODES);
  out->count = modes * each;
  for (int i = out->count - 1; i >= 0; i--) {
    const int from = i / each;
    if (i != from) {
      out->at[i] = out->at[from];
      memcpy(out->words[i], out->words[from], sizeof out->words[0]);
      memcpy(out->names[i], out->names[from], sizeof out->names[0]);
    }
    if (each > 1) {
      const size_t used = strlen(out->names[i]);
      snprintf(out->names[i] + used, sizeof out->names[0] - used, " %s", brim_precision_name(out->precisions[i % each]));
    }
    out->at[i].name = out->names[i];
  }
  return BRIM_OK;
}

int cli_modes_parse(cli_call *cli, cli_modes *out) {
  *out = (cli_modes){0};
  int status = parse_modes(cli, out);
  if (!status)
    status = parse_precisions(cli, out);
  return status ? status : multiply_modes(cli, out);
}

int cli_modes_fill(cli_call *cli, const cli_job *job, cli_modes *modes) {
  int status = BRIM_OK;
  for (int i = 0; !status && i < modes->count; i++) {
    const char *rest;
    parse_kind(modes->words[i], &(brim_mode){0}, &rest);
    status = fill_mode(cli, job, rest, &modes->options[i]);
    modes->options[i].precision = modes->precisions[i % modes->precision_count];
    modes->at[i].options = &modes->options[i];
  }
  return status;
}
