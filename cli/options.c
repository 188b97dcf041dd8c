#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- joining ---------------------------------------------------------------------------------------------- */

static int join(const cli_option *list, const char *needs, cli_option *out, int count) {
  for (; list->kind != CLI_END; list++) {
    if (list->kind == CLI_ROWS)
      count = join(list->list, list->needs ? list->needs : needs, out, count);
    else if (count < CLI_OPTION_LIMIT - 1) {
      out[count] = *list;
      if (list->words)
        out[count].value = list->words();
      if (!list->needs)
        out[count].needs = needs;
      count++;
    }
  }
  return count;
}

void cli_join(const cli_option *list, cli_option out[CLI_OPTION_LIMIT]) {
  out[join(list, NULL, out, 0)] = (cli_option){0};
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
  /* The beginning of a name means that rather than another that is near; whole words rather than half of one. */
  for (int whole = 0; length > 2 && whole < 2; whole++)
    for (int i = count; i-- > 0;)
      if (strncmp(names[i], name, length) == 0 && (!whole || names[i][length] == '-'))
        nearest = names[i];
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

static int store_seed(const cli_option *option, const char *text, uint64_t *field, brim_error *err) {
  char *end;
  errno = 0;
  const unsigned long long value = strtoull(text, &end, 10);
  if (end == text || *end || text[strspn(text, "0123456789")])
    return brim_error_set(err, BRIM_E_USAGE, "--%s: \"%s\" is not a whole number from 0 to 18446744073709551615", option->name,
                          text);
  if (errno)
    return brim_error_set(err, BRIM_E_USAGE, "--%s: %s is too large; the largest is 18446744073709551615", option->name, text);
  *field = value;
  return BRIM_OK;
}

/* Whether an option's names, each up to a =, are the same. */
static bool same_name(const char *a, const char *b) {
  const size_t length = strcspn(a, "=");
  return length == strcspn(b, "=") && memcmp(a, b, length) == 0;
}

/* "before,text", which lives as long as the arguments; NULL: there is no room. */
static const char *add_names(cli_arguments *arguments, const char *before, const char *text) {
  const size_t size = strlen(before) + strlen(text) + 2;
  char *both = arguments->kept_count < (int)(sizeof arguments->kept / sizeof *arguments->kept) ? malloc(size) : NULL;
  if (!both)
    return NULL;
  snprintf(both, size, "%s,%s", before, text);
  return arguments->kept[arguments->kept_count++] = both;
}

int cli_give(cli_arguments *arguments, const cli_option *option, const char *name, const char *text, brim_error *err) {
  const size_t at = (size_t)(option - arguments->options);
  cli_given_as *before = &arguments->given_as[at];
  const bool once = option->kind != CLI_LIST && option->kind != CLI_NAMES;
  if (!*text && (!option->implied || *option->implied) && option->kind != CLI_FLAG)
    return brim_error_set(err, BRIM_E_USAGE, "--%s is empty: give %s, or leave it out", option->name, option->value);
  if (once && before->text && strcmp(before->text, text) != 0 && (!name || !same_name(before->name, name)))
    return brim_error_set(err, BRIM_E_USAGE, "--%s is given twice%s (%.60s and %.60s): leave out one of them", option->name,
                          name ? ", under two names" : "", before->text, text);
  if (option->kind == CLI_NAMES && before->text && !(text = add_names(arguments, before->text, text)))
    return brim_error_set(err, BRIM_E_MEMORY, "--%s is given too often: put a comma between names", option->name);
  *before = (cli_given_as){.name = name, .text = text};
  arguments->given[at] = true;
  return cli_store(option, text, &arguments->values, err);
}

int cli_store(const cli_option *option, const char *text, cli_values *values, brim_error *err) {
  void *field = (char *)values + option->offset;
  switch (option->kind) {
  case CLI_FLAG:
    if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
      return brim_error_set(err, BRIM_E_USAGE, "--%s is a switch: true or false, not \"%s\"", option->name, text);
    *(bool *)field = text[0] == 't';
    return BRIM_OK;
  case CLI_SEED:
    return store_seed(option, text, field, err);
  case CLI_INTEGER:
  case CLI_REAL:
    return store_number(option, text, field, err);
  case CLI_CHOICE:
    if (!has_word(option->value, '|', text, strlen(text)) && !has_word(option->also, '|', text, strlen(text)))
      return brim_error_set(err, BRIM_E_USAGE, "--%s: \"%s\" is not one of %s", option->name, text, option->value);
    *(const char **)field = text;
    return BRIM_OK;
  case CLI_TEXT:
  case CLI_NAMES:
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

void cli_arguments_free(cli_arguments *arguments) {
  for (int i = 0; i < arguments->kept_count; i++)
    free(arguments->kept[i]);
  arguments->kept_count = 0;
}
