/* compile.h: the kernels' text, and machine code made of it. */
#ifndef BRIM_CUDA_COMPILE_H
#define BRIM_CUDA_COMPILE_H
#include "brim/base.h"

/* Made by embed.py when brim is built. The text ends with a NUL, which `size` does not count. */
extern const uint64_t brim_cuda_text_hash;
extern const size_t brim_cuda_text_size;
extern const char brim_cuda_text[];

typedef struct brim_cuda_image {
  char *bytes; /* released with brim_release */
  size_t size;
  char *log;   /* the compiler's words: registers and so on when it was asked for them; may be NULL */
  bool cached; /* nothing was compiled */
} brim_cuda_image;

/* Machine code for cards of a compute capability (90: sm_90). It is kept in the user's cache folder (BRIM_CACHE, or brim in
 * XDG_CACHE_HOME, or ~/.cache/brim), under a name made of the text, the options, the card and NVRTC's version; where it cannot be
 * kept it is made each time. BRIM_E_UNSUPPORTED: no NVRTC, or it refuses. */
int brim_cuda_compile(brim_runtime *runtime, int capability, brim_cuda_image *out, brim_error *err) BRIM_CHECK;
/* Machine code that was made beforehand is taken from the folder BRIM_CUBINS, if it has that of this text and card: no NVRTC is
 * needed then. True: it has; `path` is the file. */
bool brim_cuda_made(int capability, char path[256]);
/* Makes it. */
int brim_cuda_save(brim_runtime *runtime, int capability, const char *folder, brim_error *err) BRIM_CHECK;
/* Without a look at the cache, and with the resources of each kernel in `log`. `extra` NULL, or one option more. */
int brim_cuda_compile_fresh(brim_runtime *runtime, int capability, const char *extra, brim_cuda_image *out,
                            brim_error *err) BRIM_CHECK;
void brim_cuda_image_free(brim_runtime *runtime, brim_cuda_image *image);
#endif
