/* analyze_survey.c: a second pass over the files of `brim analyze --html`, for what a data set does not keep. */
#include <stdlib.h>
#include <string.h>

#include "analyze.h"

/* "0.5", "-1e3": a number that is no integer. */
static bool is_decimal(const char *text, size_t length, double *value) {
  char copy[64], *end;
  if (length == 0 || length >= sizeof copy)
    return false;
  memcpy(copy, text, length);
  copy[length] = 0;
  *value = strtod(copy, &end);
  return *end == 0 && strpbrk(copy, ".eE") && !strpbrk(copy, "xX");
}

static int count_class(cli_call *cli, cli_survey *s, const char *text, size_t length) {
  int at = 0;
  while (at < s->class_count && (strlen(s->classes[at]) != length || memcmp(s->classes[at], text, length) != 0))
    at++;
  if (at == CLI_MOST_CLASSES) {
    s->other++;
    return BRIM_OK;
  }
  if (at == s->class_count) {
    s->classes[at] = strndup(text, length);
    if (!s->classes[at])
      return cli_no_memory(cli, "the report");
    s->class_count++;
  }
  s->counts[at]++;
  return BRIM_OK;
}

static int add_row(cli_call *cli, cli_survey *s, const brim_encoded *row) {
  if (s->rows == s->room) {
    s->room = s->room ? 2 * s->room : 1024;
    int32_t *lengths = realloc(s->lengths, s->room * sizeof *lengths);
    s->lengths = lengths ? lengths : s->lengths;
    double *values = realloc(s->values, s->room * sizeof *values);
    s->values = values ? values : s->values;
    if (!lengths || !values)
      return cli_no_memory(cli, "the report");
  }
  s->lengths[s->rows++] = (int32_t)(row->length + row->lost);
  if (!row->label || row->label_length == 0)
    return BRIM_OK;
  double value = 0;
  const bool decimal = is_decimal(row->label, row->label_length, &value);
  if (s->labelled == 0) /* the first label says what they are */
    s->decimals = decimal;
  if (!s->decimals)
    s->labelled++;
  else if (decimal)
    s->values[s->labelled++] = value;
  return s->decimals ? BRIM_OK : count_class(cli, s, row->label, row->label_length);
}

int cli_survey_read(cli_call *cli, const brim_tokenizer *tokenizer, cli_survey *out) {
  brim_source_options source;
  brim_reader *reader = NULL;
  brim_encoder *encoder = NULL;
  brim_encode_options encode;
  *out = (cli_survey){0};
  int status = cli_encode_options(cli, &encode);
  if (!status)
    status = cli_source_options(cli, false, &source);
  if (!status)
    status = brim_reader_open(cli->runtime, cli->arguments.operands, cli->arguments.operand_count, &source, &reader, &cli->error);
  if (!status)
    status = brim_encoder_new(cli->runtime, reader, tokenizer, &encode, &encoder, &cli->error);
  while (!status) {
    brim_encoded row;
    status = brim_encoder_next(encoder, &row, &cli->error);
    if (!status)
      status = add_row(cli, out, &row);
  }
  brim_encoder_close(encoder);
  return status == BRIM_END ? BRIM_OK : status;
}

void cli_survey_free(cli_survey *survey) {
  for (int i = 0; i < survey->class_count; i++)
    free(survey->classes[i]);
  free(survey->lengths);
  free(survey->values);
  *survey = (cli_survey){0};
}
