#include "brim/base.h"
#include <string.h>

const brim_field *brim_event_field(const brim_event *event, const char *name) {
  for (int i = 0; i < event->field_count; i++)
    if (strcmp(event->fields[i].name, name) == 0)
      return &event->fields[i];
  return NULL;
}
