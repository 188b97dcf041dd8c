#include "data/describe.h"

#include "text/encode.h"

#include "base/text.h"
#include <string.h>

void brim_describe_string(brim_text *out, const char *string) {
  brim_text_json_string(out, string ? string : "", string ? strlen(string) : 0);
  brim_text_string(out, string ? "," : "-,");
}

void brim_describe_source(brim_text *out, const brim_source_options *o) {
  brim_text_printf(out, "source %d %d %d %d %d %lld %lld ", (int)o->format, (int)o->quote, o->no_header, o->need_label,
                   o->skip_damaged, (long long)o->min_chars, (long long)o->max_record);
  brim_describe_string(out, o->text_column);
  brim_describe_string(out, o->pair_column);
  brim_describe_string(out, o->label_column);
  if (o->delimiter || o->skip_unlabelled) /* what was written before there were these is still good */
    brim_text_printf(out, "delimiter %d unlabelled %d ", o->delimiter, o->skip_unlabelled);
  if (o->min_chars) /* it was once of the first text, then of what null left out, too */
    brim_text_string(out, "of each text there is ");
  if (o->no_pairs)
    brim_text_string(out, "no pairs ");
  if (o->words)
    brim_text_string(out, "words with their spaces "); /* what was written when bytes had none is none of these */
  if (o->text_column_count > 0 || o->most_texts > 1)
    brim_text_printf(out, "texts %d %d %d %d ", o->text_column_count, o->least_columns, o->paired, (int)o->most_texts);
  if (o->text_column_count > 1) /* there was a time when lists lost theirs that are empty */
    brim_text_string(out, o->aligned ? "each item, aligned " : "each item ");
  for (int i = 0; i < o->text_column_count; i++)
    brim_describe_string(out, o->text_columns[i]);
  for (int b = 0; b < o->block_count; b++) {
    const brim_block_shape *shape = &o->blocks[b].shape;
    brim_text_printf(out, "block %d %d %d ", (int)shape->per, shape->integers, (int)shape->width);
    brim_describe_string(out, shape->name);
    brim_describe_string(out, o->blocks[b].column);
  }
  for (int i = 0; i < o->where_count; i++) {
    brim_describe_string(out, o->where[i].column);
    brim_describe_string(out, o->where[i].value);
  }
}

static bool is_same(const char *a, const char *b) {
  return a && b ? strcmp(a, b) == 0 : a == b;
}

/* How many must be said: none; those of the first text and of the others; or all. */
static int prompts_of(const brim_encode_options *options) {
  bool any = false, more = false;
  for (int i = 0; i < BRIM_MOST_PROMPTS; i++) {
    any = any || options->prompts[i];
    more = more || (i > 1 && !is_same(options->prompts[i], options->prompts[1]));
  }
  return more ? BRIM_MOST_PROMPTS : any ? 2 : 0;
}

void brim_describe_encoding(brim_text *out, const brim_tokenizer *tokenizer, const brim_encode_options *options) {
  brim_text_printf(out, "tokenizer %016llx encode %d %d %d %d ", (unsigned long long)brim_tokenizer_fingerprint(tokenizer),
                   (int)options->max_length, options->no_special_tokens,
                   (int)(brim_cuts_text(tokenizer, options) - BRIM_LONGEST_FIRST), brim_cuts_left(tokenizer, options));
  if (options->numbering)
    brim_text_printf(out, "numbered %d ", (int)options->numbering);
  if (brim_makes_windows(options))
    brim_text_printf(out, "windows %d overlap %d ", (int)options->max_windows, (int)options->window_overlap);
  for (int i = 0; i < prompts_of(options); i++)
    brim_describe_string(out, options->prompts[i]);
}

void brim_describe_labels(brim_text *out, const brim_labels *labels) {
  if (!labels)
    return;
  brim_text_printf(out, "labels %d %d ", (int)labels->task, (int)labels->count);
  if (labels->strings)
    brim_text_string(out, "strings ");
  for (int32_t i = 0; labels->names && i < labels->count; i++)
    brim_describe_string(out, labels->names[i]);
}
