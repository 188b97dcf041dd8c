/* event.h: events go to the function of the caller. */
#ifndef BRIM_BASE_EVENT_H
#define BRIM_BASE_EVENT_H
#include "brim/base.h"

/* Where `function` is NULL nobody hears it. A status that stops comes back with its message; BRIM_DO_ ask for nothing here. */
int brim_tell(brim_event_fn function, void *context, const brim_event *event, brim_error *err) BRIM_CHECK;

#endif
