/* event.c: fields of events, and what functions that get events answer. */
#include "base/event.h"

#include <string.h>

#include "base/status.h"

const brim_field *brim_event_field(const brim_event *event, const char *name) {
  for (int i = 0; i < event->field_count; i++)
    if (strcmp(event->fields[i].name, name) == 0)
      return &event->fields[i];
  return NULL;
}

int brim_tell(brim_event_fn function, void *context, const brim_event *event, brim_error *err) {
  const int status = function ? function(context, event) : BRIM_OK;
  if (status == BRIM_OK || status >= BRIM_DO_EVALUATE)
    return BRIM_OK;
  return status == BRIM_E_CANCELLED ? brim_error_cancelled(err)
                                    : brim_error_set(err, status, "stopped by the program that started it");
}
