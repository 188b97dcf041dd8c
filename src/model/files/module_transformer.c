/* module_transformer.c: what sentence-transformers makes its module Transformer with, besides config.json:
 * sentence_bert_config.json, which had other names in older versions. What would make other vectors, and brim does not do, is
 * refused by its name. */
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "model/files/modules.h"
#include "text/files.h"

/* In the order in which the library looks for them: the first that is not empty counts. */
static const char *const names[] = {"sentence_bert_config.json",       "sentence_roberta_config.json",
                                    "sentence_distilbert_config.json", "sentence_camembert_config.json",
                                    "sentence_albert_config.json",     "sentence_xlm-roberta_config.json",
                                    "sentence_xlnet_config.json"};
enum { NAMES = sizeof names / sizeof *names };

int brim_module_transformer(brim_runtime *runtime, const char *encoder, brim_json_document **out, brim_error *err) {
  *out = NULL;
  for (int i = 0; i < NAMES; i++) {
    brim_json_free(*out);
    BRIM_TRY(brim_module_json(runtime, encoder, "", names[i], out, err));
    if (*out && brim_json_first(brim_json_root(*out)))
      break;
  }
  return BRIM_OK;
}

/* ---- what it hands on ---------------------------------------------------------------------------------------- */

enum { HANDED = 3, TOKENIZER = 0 };
/* To transformers: the tokenizer, the model and its config, under the older name and the newer, of which the older counts. What
 * is listed changes no vector but in its last bits, or says where files are. */
static const struct {
  const char *older, *newer, *to, *file, *idle;
} handed[HANDED] = {
    {"tokenizer_args", "processor_kwargs", "tokenizer", "tokenizer.json or tokenizer_config.json",
     "use_fast padding_side clean_up_tokenization_spaces from_slow "},
    {"model_args", "model_kwargs", "model", "config.json",
     "torch_dtype dtype attn_implementation device_map low_cpu_mem_usage use_safetensors add_pooling_layer use_cache "
     "output_hidden_states output_attentions return_dict "},
    {"config_args", "config_kwargs", "config", "config.json",
     "torch_dtype dtype attn_implementation _attn_implementation use_cache output_hidden_states output_attentions return_dict "}};
#define IDLE                                                                                                                     \
  "trust_remote_code cache_dir revision code_revision token use_auth_token local_files_only force_download proxies subfolder "

static const brim_json_value *handed_to(const brim_json_document *d, int i) {
  const brim_json_value *older = brim_json_get(brim_json_root(d), handed[i].older);
  return older ? older : brim_json_get(brim_json_root(d), handed[i].newer);
}

/* Words that each end with a space. */
static bool is_listed(const brim_json_value *key, const char *words) {
  for (const char *end; (end = strchr(words, ' ')); words = end + 1)
    if ((size_t)(end - words) == key->length && memcmp(words, key->as.text, key->length) == 0)
      return true;
  return false;
}

static bool is_null(const brim_json_value *value) {
  return !value || value->kind == BRIM_JSON_NULL;
}

static bool is_key(const brim_json_value *key, const char *name) {
  return key->length == strlen(name) && memcmp(key->as.text, name, key->length) == 0;
}

/* ---- lengths ------------------------------------------------------------------------------------------------- */

static int read_whole(const brim_json_document *d, const brim_json_value *in, const char *name, int32_t *out, brim_error *err) {
  const brim_json_value *value = brim_json_get(in, name);
  double length = 0;
  *out = 0;
  BRIM_TRY(brim_json_read_real(d, in, name, &length, err));
  if (is_null(value))
    return BRIM_OK;
  if (!(length >= 1) || (length < INT32_MAX && length != floor(length)))
    return brim_json_error(d, value, err, BRIM_E_FORMAT, "\"%s\" must be a whole number, at least 1", name);
  *out = length < INT32_MAX ? (int32_t)length : INT32_MAX;
  return BRIM_OK;
}

/* What the tokenizer is given counts before max_seq_length; null is then no limit. */
int brim_module_length(const brim_json_document *d, int32_t *out, brim_error *err) {
  static const char own[] = "model_max_length";
  const brim_json_value *given = handed_to(d, TOKENIZER), *said = given ? brim_json_get(given, own) : NULL;
  if (!said)
    return read_whole(d, brim_json_root(d), "max_seq_length", out, err);
  BRIM_TRY(read_whole(d, given, own, out, err));
  if (*out == 0)
    *out = INT32_MAX;
  return BRIM_OK;
}

/* ---- what is refused ----------------------------------------------------------------------------------------- */

/* do_lower_case says nothing new of a tokenizer that does it. `in`: NULL, or what the tokenizer is given, which may say that it
 * does not, too. */
static int check_lower(brim_runtime *runtime, const char *encoder, const brim_json_document *d, const brim_json_value *in,
                       brim_error *err) {
  static const char name[] = "do_lower_case";
  const brim_json_value *value = brim_json_get(in ? in : brim_json_root(d), name);
  bool lower = false;
  BRIM_TRY(brim_json_read_bool(d, in ? in : brim_json_root(d), name, &lower, err));
  if (is_null(value) || (!lower && !in))
    return BRIM_OK;
  brim_tokenizer *tokenizer;
  BRIM_TRY(brim_tokenizer_load(runtime, encoder, &tokenizer, err));
  const bool lowers = brim_tokenizer_lowers(tokenizer);
  brim_tokenizer_free(tokenizer);
  return lowers == lower ? BRIM_OK
         : lower
             ? brim_json_error(d, value, err, BRIM_E_UNSUPPORTED,
                               "texts are put into lower case by their tokenizer alone, and this folder's does not do it: leave "
                               "do_lower_case out")
             : brim_json_error(d, value, err, BRIM_E_UNSUPPORTED,
                               "this folder's tokenizer puts texts into lower case: leave do_lower_case out, or give the "
                               "folder a tokenizer.json that does not");
}

static int check_handed(brim_runtime *runtime, const char *encoder, const brim_json_document *d, int i, brim_error *err) {
  const brim_json_value *given = handed_to(d, i);
  if (is_null(given))
    return BRIM_OK;
  if (given->kind != BRIM_JSON_OBJECT)
    return brim_json_error(d, given, err, BRIM_E_FORMAT, "what the %s is given must be an object, this is %s", handed[i].to,
                           brim_json_kind_name(given->kind));
  for (const brim_json_value *key = brim_json_first(given); key; key = brim_json_after(given, key)) {
    const brim_json_value *value = brim_json_member(key);
    if (is_listed(key, IDLE) || is_listed(key, handed[i].idle))
      continue;
    if (i == TOKENIZER && is_key(key, "model_max_length"))
      continue;
    if (i == TOKENIZER && is_key(key, "truncation_side") && brim_json_is_string(value, "right"))
      continue;
    if (i == TOKENIZER && is_key(key, "do_lower_case"))
      BRIM_TRY(check_lower(runtime, encoder, d, given, err));
    else
      return brim_json_error(
          d, key, err, BRIM_E_UNSUPPORTED,
          "the %s is given \"%.*s\", which would make other vectors and brim does not do: leave it out, or put it "
          "into %s",
          handed[i].to, (int)(key->length < 60 ? key->length : 60), key->as.text, handed[i].file);
  }
  return BRIM_OK;
}

/* What texts are tokenized with; other kinds of input have their own members. */
static int check_processing(const brim_json_document *d, brim_error *err) {
  static const char *const members[] = {"common", "text"};
  const brim_json_value *all = brim_json_get(brim_json_root(d), "processing_kwargs");
  for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
    const brim_json_value *given = all ? brim_json_get(all, members[i]) : NULL;
    for (const brim_json_value *key = given && given->kind == BRIM_JSON_OBJECT ? brim_json_first(given) : NULL; key;
         key = brim_json_after(given, key))
      if (!is_listed(key, "padding return_tensors pad_to_multiple_of return_attention_mask "))
        return brim_json_error(d, key, err, BRIM_E_UNSUPPORTED,
                               "texts would be tokenized with \"%.*s\", which brim does not do: leave it out",
                               (int)(key->length < 60 ? key->length : 60), key->as.text);
  }
  return BRIM_OK;
}

/* A token's numbers are those of the last layer. */
static int check_output(const brim_json_document *d, brim_error *err) {
  const brim_json_value *root = brim_json_root(d), *task = brim_json_get(root, "transformer_task");
  const brim_json_value *kinds = brim_json_get(root, "modality_config"), *name = brim_json_get(root, "module_output_name");
  if (task && !brim_json_is_string(task, "feature-extraction"))
    return brim_json_error(d, task, err, BRIM_E_UNSUPPORTED,
                           "the folder's encoder gives what another task has: vectors are of \"feature-extraction\"");
  if (!kinds)
    return BRIM_OK;
  const brim_json_value *text = brim_json_get(kinds, "text");
  const brim_json_value *way = text ? brim_json_get(text, "method") : NULL;
  const brim_json_value *output = text ? brim_json_get(text, "method_output_name") : NULL;
  if (!brim_json_is_string(way, "forward") || !brim_json_is_string(output, "last_hidden_state") ||
      !brim_json_is_string(name, "token_embeddings"))
    return brim_json_error(
        d, output ? output : kinds, err, BRIM_E_UNSUPPORTED,
        "brim pools what an encoder's forward gives of a text's tokens as last_hidden_state, and this says another");
  return BRIM_OK;
}

static int check_others(const brim_json_document *d, brim_error *err) {
  static const char *const refused[] = {"tokenizer_name_or_path", "query_length", "document_length", "query_expansion"};
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    const brim_json_value *value = brim_json_get(brim_json_root(d), refused[i]);
    if (!is_null(value))
      return brim_json_error(d, value, err, BRIM_E_UNSUPPORTED,
                             "\"%s\" would make other vectors, and brim does not do it: leave it out", refused[i]);
  }
  BRIM_TRY(check_processing(d, err));
  return check_output(d, err);
}

int brim_module_read_transformer(brim_runtime *runtime, const char *encoder, int32_t *length, brim_error *err) {
  brim_json_document *d;
  *length = 0;
  BRIM_TRY(brim_module_transformer(runtime, encoder, &d, err));
  if (!d)
    return BRIM_OK;
  int status = brim_module_length(d, length, err);
  if (!status)
    status = check_lower(runtime, encoder, d, NULL, err);
  for (int i = 0; i < HANDED && !status; i++)
    status = check_handed(runtime, encoder, d, i, err);
  if (!status)
    status = check_others(d, err);
  brim_json_free(d);
  return status;
}
