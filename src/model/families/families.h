/* families.h: the encoders' programs. */
#ifndef BRIM_MODEL_FAMILIES_H
#define BRIM_MODEL_FAMILIES_H
#include "model/program.h"

/* Appends the program of the family that config.json names. */
void brim_family_append(brim_program *p, const brim_config *config);

/* bert.c: BERT, RoBERTa, CamemBERT, XLM-R and DistilBERT, told apart by family.h's facts. */
void brim_bert_append(brim_program *p, const brim_config *config);

#endif
