/* rotary.h: what config.json says of rotary positions, and of how the head sees a text, in the families that have both. */
#ifndef BRIM_MODEL_ROTARY_H
#define BRIM_MODEL_ROTARY_H
#include "model/config.h"

/* BRIM_OK unless the object names a type of positions that brim does not have. */
int brim_check_rope_type(const brim_config *config, const brim_json_value *parameters, brim_error *err) BRIM_CHECK;
/* Theta and factor of one kind of layers: `parameters` is {"rope_type": "default", "rope_theta": ..}, or "linear" with a
 * "factor", or absent, and then the theta is that of the older member `key`, or else as it was. The older `rope_scaling` names
 * type and factor too; "ntk" there is that of Alibaba's files: theta times the factor, and positions divided by factor^(2/D). */
int brim_read_theta(brim_config *config, const brim_json_value *parameters, const char *key, int kind,
                    brim_error *err) BRIM_CHECK;
/* What all families with rotary positions ask of the sizes. */
int brim_check_rotary(const brim_config *config, brim_error *err) BRIM_CHECK;
/* {"rope_type": .., "rope_theta": .., "factor": ..}, as transformers 5 writes it: the value of "rope_parameters". */
void brim_write_rope(brim_text *out, const brim_config *config);
/* `classifier_pooling`: the family's name of the first token, "mean", or "late"; without the member that of the default. What
 * brim's own member says counts more. */
int brim_read_pooling(brim_config *config, const char *absent, brim_error *err) BRIM_CHECK;

#endif
