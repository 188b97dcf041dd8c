/* overlap.c: `brim analyze --folds`: tokens that a fold's held-out part has and its training part does not. */
#include <stdlib.h>

#include "folds.h"

enum { COLUMNS = 9, SHOWN_TOKENS = 3, JSON_TOKENS = 20 };

typedef struct overlap_row {
  char text[COLUMNS][96];
} overlap_row;

static double share(uint64_t count, uint64_t whole) {
  return whole ? (double)count / (double)whole : 0;
}

/* "Ġmoss 14, Ġice 9": the most frequent ones. */
static void put_tokens(char *text, size_t size, const brim_fold_overlap *fold, const brim_tokenizer *tokenizer) {
  size_t used = 0;
  text[0] = 0;
  for (uint64_t i = 0; i < fold->unseen_types && i < SHOWN_TOKENS && used < size; i++) {
    size_t length;
    const char *token = brim_tokenizer_token(tokenizer, fold->unseen[i].id, &length);
    if (!token || length > 20 || used + length + 24 > size)
      continue;
    used += (size_t)snprintf(text + used, size - used, "%s%.*s %llu", used ? ", " : "", (int)length, token,
                             (unsigned long long)fold->unseen[i].count);
  }
}

static void fill_row(overlap_row *row, int index, const brim_fold_overlap *f, const brim_tokenizer *tokenizer) {
  const uint64_t counts[] = {f->train_rows, f->valid_rows, f->train_types - f->both_types, f->both_types, f->unseen_types};
  snprintf(row->text[0], sizeof row->text[0], "%d", index);
  for (int i = 0; i < 5; i++)
    brim_count_text((int64_t)counts[i], row->text[1 + i], sizeof row->text[1 + i]);
  snprintf(row->text[6], sizeof row->text[6], "%.2f %%", 100 * share(f->unseen_types, f->valid_types));
  snprintf(row->text[7], sizeof row->text[7], "%.3f %%", 100 * share(f->unseen_tokens, f->valid_tokens));
  put_tokens(row->text[8], sizeof row->text[8], f, tokenizer);
}

void cli_put_overlap(brim_text *out, const brim_overlap *overlap, const brim_tokenizer *tokenizer) {
  static const brim_column columns[COLUMNS] = {{"fold", true},       {"train rows", true}, {"valid rows", true},
                                               {"only train", true}, {"both", true},       {"only valid", true},
                                               {"of types", true},   {"of tokens", true},  {"most often", false}};
  const int count = overlap->count;
  overlap_row *rows = calloc((size_t)count, sizeof *rows);
  const char **cells = calloc((size_t)count * COLUMNS, sizeof *cells);
  if (!rows || !cells)
    out->failed = true;
  for (int fold = 0; fold < count && !out->failed; fold++) {
    fill_row(&rows[fold], fold, &overlap->folds[fold], tokenizer);
    for (int c = 0; c < COLUMNS; c++)
      cells[fold * COLUMNS + c] = rows[fold].text[c];
  }
  brim_text_string(out, "\ntoken types of each fold: in training alone, in both, and in the held-out part alone (unseen)\n");
  if (!out->failed)
    brim_table_text(out, columns, COLUMNS, cells, count);
  free(cells);
  free(rows);
}

static void put_fold_json(brim_json_writer *json, int index, const brim_fold_overlap *f, const brim_tokenizer *tokenizer) {
  brim_json_open_object(json, NULL);
  brim_json_put_integer(json, "fold", index);
  brim_json_put_count(json, "train_rows", f->train_rows);
  brim_json_put_count(json, "valid_rows", f->valid_rows);
  brim_json_put_count(json, "train_tokens", f->train_tokens);
  brim_json_put_count(json, "valid_tokens", f->valid_tokens);
  brim_json_put_count(json, "train_types", f->train_types);
  brim_json_put_count(json, "valid_types", f->valid_types);
  brim_json_put_count(json, "both_types", f->both_types);
  brim_json_put_count(json, "only_train_types", f->train_types - f->both_types);
  brim_json_put_count(json, "unseen_types", f->unseen_types);
  brim_json_put_count(json, "unseen_tokens", f->unseen_tokens);
  brim_json_put_count(json, "unseen_rows", f->unseen_rows);
  brim_json_put_number(json, "share_of_types", share(f->unseen_types, f->valid_types));
  brim_json_put_number(json, "share_of_tokens", share(f->unseen_tokens, f->valid_tokens));
  brim_json_open_array(json, "most_frequent");
  for (uint64_t i = 0; i < f->unseen_types && i < JSON_TOKENS; i++) {
    size_t length;
    const char *token = brim_tokenizer_token(tokenizer, f->unseen[i].id, &length);
    brim_json_open_object(json, NULL);
    brim_json_put_integer(json, "id", f->unseen[i].id);
    brim_json_put_bytes(json, "token", token ? token : "", token ? length : 0);
    brim_json_put_count(json, "count", f->unseen[i].count);
    brim_json_close_object(json);
  }
  brim_json_close_array(json);
  brim_json_close_object(json);
}

void cli_put_overlap_json(brim_json_writer *json, const char *name, const brim_overlap *overlap,
                          const brim_tokenizer *tokenizer) {
  brim_json_open_array(json, name);
  for (int fold = 0; fold < overlap->count; fold++)
    put_fold_json(json, fold, &overlap->folds[fold], tokenizer);
  brim_json_close_array(json);
}
