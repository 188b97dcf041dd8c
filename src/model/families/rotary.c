/* rotary.c: see rotary.h. Older and newer members: modeling_rope_utils.py of Hugging Face transformers 5.23. */
#include "model/families/rotary.h"

#include <string.h>

#include "base/status.h"

static bool is_absent(const brim_json_value *value) {
  return !value || value->kind == BRIM_JSON_NULL;
}

int brim_check_rope_type(const brim_config *config, const brim_json_value *parameters, brim_error *err) {
  const brim_json_value *type = brim_json_get(parameters, "rope_type");
  type = is_absent(type) ? brim_json_get(parameters, "type") : type;
  if (is_absent(type) || brim_json_is_string(type, "default"))
    return BRIM_OK;
  const bool text = type->kind == BRIM_JSON_STRING;
  return brim_json_error(config->document, type, err, BRIM_E_UNSUPPORTED, "rope_type %.*s is not one that brim has: default",
                         text && type->length < 40 ? (int)type->length : 0, text ? type->as.text : "");
}

int brim_read_theta(const brim_config *config, const brim_json_value *parameters, const char *key, double *theta,
                    brim_error *err) {
  const brim_json_value *root = brim_json_root(config->document), *scaling = brim_json_get(root, "rope_scaling"), *from = root;
  if (!is_absent(scaling))
    return brim_json_error(config->document, scaling, err, BRIM_E_UNSUPPORTED,
                           "rope_scaling is not something that brim has: rotary positions must be as in training");
  BRIM_TRY(brim_json_read_real(config->document, root, key, theta, err));
  if (!is_absent(parameters)) {
    if (parameters->kind != BRIM_JSON_OBJECT)
      return brim_json_error(config->document, parameters, err, BRIM_E_FORMAT, "rotary positions are described by an object");
    BRIM_TRY(brim_check_rope_type(config, parameters, err));
    from = parameters;
    key = "rope_theta";
    BRIM_TRY(brim_json_read_real(config->document, parameters, key, theta, err));
  }
  if (!(*theta > 0 && *theta <= 1e12))
    return brim_json_error(config->document, brim_json_get(from, key), err, BRIM_E_FORMAT,
                           "%s is %g, but must be above 0 and at most 1e12", key, *theta);
  return BRIM_OK;
}

int brim_check_rotary(const brim_config *config, brim_error *err) {
  const brim_json_value *root = brim_json_root(config->document), *wide = brim_json_get(root, "head_dim");
  const int32_t size = config->hidden / config->heads;
  int64_t given = size;
  BRIM_TRY(brim_json_read_int(config->document, root, "head_dim", 1, 1 << 16, &given, err));
  if (given != size)
    return brim_json_error(config->document, wide, err, BRIM_E_UNSUPPORTED,
                           "head_dim is %d, but brim has heads of hidden_size / num_attention_heads = %d alone", (int)given,
                           size);
  if (size % 2 != 0)
    return brim_json_error(config->document, brim_json_get(root, config->family->keys->heads), err, BRIM_E_FORMAT,
                           "%d heads are %d wide each: rotary positions need an even width", config->heads, size);
  return BRIM_OK;
}

int brim_read_pooling(brim_config *config, const char *absent, brim_error *err) {
  const brim_json_value *root = brim_json_root(config->document), *own = brim_json_get(root, "brim_pooling");
  const bool may_be_late = strcmp(absent, "late") == 0;
  const char *name = absent, *first = config->family->first;
  size_t length = strlen(name);
  if (!is_absent(own))
    return BRIM_OK;
  BRIM_TRY(brim_json_read_string(config->document, root, "classifier_pooling", &name, &length, err));
  config->late = may_be_late && length == 4 && memcmp(name, "late", 4) == 0;
  const bool mean = config->late || (length == 4 && memcmp(name, "mean", 4) == 0);
  if (!mean && (length != strlen(first) || memcmp(name, first, length) != 0))
    return brim_json_error(config->document, brim_json_get(root, "classifier_pooling"), err, BRIM_E_UNSUPPORTED,
                           "classifier_pooling is one of %s, mean%s", first, may_be_late ? ", late" : "");
  config->pooling = mean ? BRIM_POOLING_MEAN : BRIM_POOLING_CLS;
  return BRIM_OK;
}
