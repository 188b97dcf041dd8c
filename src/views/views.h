/* views.h: what the files of src/views share. */
#ifndef BRIM_VIEWS_VIEWS_H
#define BRIM_VIEWS_VIEWS_H
#include "brim/views.h"

/* The text of a record into *passage, at most BRIM_MOST_PASSAGE bytes of it. */
int brim_passage_copy(brim_runtime *runtime, const brim_record *record, brim_passage *passage, brim_error *err) BRIM_CHECK;

#endif
