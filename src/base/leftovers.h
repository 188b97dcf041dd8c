/* leftovers.h: what killed processes left under temporary names, and who holds such a name. */
#ifndef BRIM_BASE_LEFTOVERS_H
#define BRIM_BASE_LEFTOVERS_H
#include <stdbool.h>

/* The same file under a descriptor above standard error, so that what a process prints where that was closed never gets into it.
 * Negative: as it was. */
int brim_off_standard(int fd);

/* Who makes a file or a folder of a temporary name locks it as long as it has that name: what nobody holds was left by a process
 * that was killed. False: another process has just removed it, or is about to, and another name is needed. */
bool brim_hold_temporary(int fd);

/* Removes temporary files and folders of brim's that were made for `path` and that nobody holds. Says nothing where it fails. */
void brim_clear_leftovers(const char *path);
/* The same for all in a folder, whatever they were made for. */
void brim_clear_leftovers_in(const char *folder);

#endif
