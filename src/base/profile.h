/* profile.h: what devices with their own clock report to a profile. */
#ifndef BRIM_BASE_PROFILE_H
#define BRIM_BASE_PROFILE_H
#include "brim/profile.h"

/* One call that took so long elsewhere: in the rows, but no span. `name` lives as long as the profile. */
void brim_profile_add(brim_profile *profile, brim_work work, const char *name, double seconds);

#endif
