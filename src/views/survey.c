/* survey.c: what a data set does not keep of its rows: their full lengths, and their labels as they were written. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "views/views.h"

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

static int count_class(brim_survey *s, const char *text, size_t length, brim_error *err) {
  int at = 0;
  while (at < s->class_count && (strlen(s->classes[at]) != length || memcmp(s->classes[at], text, length) != 0))
    at++;
  if (at == BRIM_MOST_SURVEYED) {
    s->other++;
    return BRIM_OK;
  }
  if (at == s->class_count) {
    s->classes[at] = brim_copy_string(s->runtime, text, length);
    if (!s->classes[at])
      return BRIM_NOMEM(err);
    s->class_count++;
  }
  s->counts[at]++;
  return BRIM_OK;
}

int brim_survey_add(brim_survey *s, size_t tokens, const char *label, size_t length, brim_error *err) {
  BRIM_GIVEN_AS(err, "survey", s);
  BRIM_TRY(brim_grow(s->runtime, (void **)&s->lengths, &s->room[0], (size_t)s->rows + 1, sizeof *s->lengths, err));
  BRIM_TRY(brim_grow(s->runtime, (void **)&s->values, &s->room[1], (size_t)s->rows + 1, sizeof *s->values, err));
  s->lengths[s->rows++] = (int32_t)tokens;
  if (!label || length == 0)
    return BRIM_OK;
  double value = 0;
  const bool decimal = is_decimal(label, length, &value);
  if (s->labelled == 0) /* the first label says what they are */
    s->decimals = decimal;
  if (!s->decimals)
    s->labelled++;
  else if (decimal)
    s->values[s->labelled++] = value;
  return s->decimals ? BRIM_OK : count_class(s, label, length, err);
}

static int add_all(brim_survey *survey, brim_encoder *encoder, brim_error *err) {
  for (;;) {
    brim_encoded row;
    const int status = brim_encoder_next(encoder, &row, err);
    if (status)
      return status == BRIM_END ? BRIM_OK : status;
    BRIM_TRY(brim_survey_add(survey, row.length + row.lost, row.label, row.label_length, err));
  }
}

int brim_survey_read(brim_survey *survey, const char *const *paths, int path_count, const brim_source_options *source,
                     const brim_tokenizer *tokenizer, const brim_encode_options *encode, brim_error *err) {
  BRIM_GIVEN(err, survey, source, tokenizer, encode);
  BRIM_STRINGS(err, paths, path_count);
  brim_reader *reader = NULL;
  brim_encoder *encoder = NULL;
  BRIM_TRY(brim_reader_open(survey->runtime, paths, path_count, source, &reader, err));
  BRIM_TRY(brim_encoder_new(survey->runtime, reader, tokenizer, encode, &encoder, err));
  const int status = add_all(survey, encoder, err);
  brim_encoder_close(encoder);
  return status;
}

void brim_survey_free(brim_survey *survey) {
  if (!survey || !survey->runtime)
    return;
  for (int i = 0; i < survey->class_count; i++)
    brim_release(survey->runtime, survey->classes[i]);
  brim_release(survey->runtime, survey->lengths);
  brim_release(survey->runtime, survey->values);
  *survey = (brim_survey){0};
}
