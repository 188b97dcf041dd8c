/* rotary.c: see rotary.h. Older and newer members: modeling_rope_utils.py of Hugging Face transformers 5.23. */
#include "model/families/rotary.h"

#include <math.h>
#include <string.h>

#include "base/status.h"
#include "base/text.h"

static bool is_absent(const brim_json_value *value) {
  return !value || value->kind == BRIM_JSON_NULL;
}

typedef enum rope { DEFAULT, LINEAR, NTK, UNKNOWN } rope;

static rope type_of(const brim_json_value *type) {
  static const char *const names[] = {[DEFAULT] = "default", [LINEAR] = "linear", [NTK] = "ntk"};
  for (int i = DEFAULT; i < UNKNOWN; i++)
    if (brim_json_is_string(type, names[i]))
      return (rope)i;
  return UNKNOWN;
}

static const brim_json_value *named_type(const brim_json_value *parameters) {
  const brim_json_value *type = brim_json_get(parameters, "rope_type");
  return is_absent(type) ? brim_json_get(parameters, "type") : type;
}

int brim_check_rope_type(const brim_config *config, const brim_json_value *parameters, brim_error *err) {
  const brim_json_value *type = named_type(parameters);
  if (is_absent(type) || type_of(type) != UNKNOWN)
    return BRIM_OK;
  const bool text = type->kind == BRIM_JSON_STRING;
  return brim_json_error(config->document, type, err, BRIM_E_UNSUPPORTED,
                         "rope_type %.*s is not one that brim has: default, linear",
                         text && type->length < 40 ? (int)type->length : 0, text ? type->as.text : "");
}

/* Type and factor, of rope_parameters or of the older rope_scaling. */
static int read_scaling(brim_config *config, const brim_json_value *from, int kind, brim_error *err) {
  const brim_json_document *document = config->document;
  if (is_absent(from))
    return BRIM_OK;
  if (from->kind != BRIM_JSON_OBJECT)
    return brim_json_error(document, from, err, BRIM_E_FORMAT, "rotary positions are described by an object");
  BRIM_TRY(brim_check_rope_type(config, from, err));
  const brim_json_value *type = named_type(from), *mixed = brim_json_get(from, "mixed_b");
  const rope is = is_absent(type) ? DEFAULT : type_of(type);
  if (is == NTK && !config->family->has_ntk)
    return brim_json_error(document, type, err, BRIM_E_UNSUPPORTED,
                           "rope_type ntk is not one that brim has for %s: default, linear", config->family->type);
  double factor = 0;
  if (is == DEFAULT)
    return BRIM_OK;
  BRIM_TRY(brim_json_read_real(document, from, "factor", &factor, err));
  if (!(factor >= 1 && factor <= 1e6))
    return brim_json_error(document, is_absent(brim_json_get(from, "factor")) ? from : brim_json_get(from, "factor"), err,
                           BRIM_E_FORMAT, "the factor of scaled rotary positions is %g, but must lie from 1 to 1e6", factor);
  if (!is_absent(mixed))
    return brim_json_error(document, mixed, err, BRIM_E_UNSUPPORTED,
                           "mixed_b of rotary positions is not something that brim has");
  config->factor[kind] = is == LINEAR ? factor : pow(factor, 2.0 * config->heads / config->hidden);
  if (is == NTK)
    config->theta[kind] *= factor;
  return BRIM_OK;
}

int brim_read_theta(brim_config *config, const brim_json_value *parameters, const char *key, int kind, brim_error *err) {
  const brim_json_value *root = brim_json_root(config->document), *scaling = brim_json_get(root, "rope_scaling"), *from = root;
  double *theta = &config->theta[kind];
  if (config->family->writes_rope && !is_absent(brim_json_get(root, "rope_theta"))) /* what transformers reads counts more */
    key = "rope_theta";
  BRIM_TRY(brim_json_read_real(config->document, root, key, theta, err));
  if (!is_absent(parameters)) {
    if (parameters->kind != BRIM_JSON_OBJECT)
      return brim_json_error(config->document, parameters, err, BRIM_E_FORMAT, "rotary positions are described by an object");
    from = parameters;
    key = "rope_theta";
    BRIM_TRY(brim_json_read_real(config->document, parameters, key, theta, err));
  }
  if (!(*theta > 0 && *theta <= 1e12))
    return brim_json_error(config->document, brim_json_get(from, key), err, BRIM_E_FORMAT,
                           "%s is %g, but must be above 0 and at most 1e12", key, *theta);
  BRIM_TRY(read_scaling(config, parameters, kind, err));
  return read_scaling(config, scaling, kind, err);
}

/* A real number stays one: transformers refuses 2 where a member is to be 2.0. */
static void put_real(brim_text *out, const char *key, double value) {
  brim_text_printf(out, ",\n    \"%s\": ", key);
  brim_text_json_number(out, value);
  brim_text_string(out, value == floor(value) && fabs(value) < 1e9 /* beyond, it has an exponent */ ? ".0" : "");
}

void brim_write_rope(brim_text *out, const brim_config *config) {
  brim_text_printf(out, "{\n    \"rope_type\": \"%s\"", config->factor[0] > 0 ? "linear" : "default");
  put_real(out, "rope_theta", config->theta[0]);
  if (config->factor[0] > 0)
    put_real(out, "factor", config->factor[0]);
  brim_text_string(out, "\n  }");
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
