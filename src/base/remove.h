/* remove.h: removal of files and folders. It asks for no memory of the runtime's, so that it also tidies up when that is gone. */
#ifndef BRIM_BASE_REMOVE_H
#define BRIM_BASE_REMOVE_H

/* Both give an errno, 0 also where there is nothing (another process may remove it too). Links are not followed. */
int brim_remove(const char *path);
/* A folder with all it holds, by its name in the open folder `parent`. */
int brim_remove_folder_at(int parent, const char *name);

#endif
