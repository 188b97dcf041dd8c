/* compile.c: the kernels' text becomes machine code, and stays in the user's cache. */
#include "ops/cuda/compile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hashmap.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/status.h"
#include "ops/cuda/driver.h"

enum { PATH = 1024, FOLDER = PATH - 32, OPTION = 64 };

/* Sums and products are two roundings where the text does not say fmaf, so that a card gives what the emulation does. */
static const char *const fixed_options[] = {"--std=c++17", "--fmad=false"};
enum { FIXED = sizeof fixed_options / sizeof *fixed_options, MOST_OPTIONS = FIXED + 2 };

void brim_cuda_image_free(brim_runtime *runtime, brim_cuda_image *image) {
  brim_release(runtime, image->bytes);
  brim_release(runtime, image->log);
  *image = (brim_cuda_image){0};
}

/* ---- the compiler */

static int refused(const brim_nvrtc *nvrtc, const char *log, int code, brim_error *err) {
  const char *error = log ? strstr(log, "error") : NULL;
  const size_t length = error ? strcspn(error, "\n") : 0;
  return brim_error_set(err, BRIM_E_UNSUPPORTED, "%s does not compile the kernels (code %d): %.*s", nvrtc->path, code,
                        (int)(length < 300 ? length : 300), error ? error : "");
}

static int take_log(brim_runtime *runtime, const brim_nvrtc *nvrtc, void *program, brim_cuda_image *out, brim_error *err) {
  size_t size = 0;
  if (nvrtc->nvrtcGetProgramLogSize(program, &size) || size == 0)
    return BRIM_OK;
  out->log = brim_alloc_zero(runtime, size + 1);
  if (!out->log)
    return BRIM_NOMEM(err);
  nvrtc->nvrtcGetProgramLog(program, out->log);
  return BRIM_OK;
}

static int run_program(brim_runtime *runtime, const brim_nvrtc *nvrtc, void *program, int count, const char *const *options,
                       brim_cuda_image *out, brim_error *err) {
  const int compiled = nvrtc->nvrtcCompileProgram(program, count, options);
  BRIM_TRY(take_log(runtime, nvrtc, program, out, err));
  if (compiled)
    return refused(nvrtc, out->log, compiled, err);
  const int sized = nvrtc->nvrtcGetCUBINSize(program, &out->size);
  if (sized || out->size == 0)
    return refused(nvrtc, NULL, sized, err);
  out->bytes = brim_alloc(runtime, out->size);
  if (!out->bytes)
    return BRIM_NOMEM(err);
  const int given = nvrtc->nvrtcGetCUBIN(program, out->bytes);
  return given ? refused(nvrtc, NULL, given, err) : BRIM_OK;
}

static int compile(brim_runtime *runtime, const brim_nvrtc *nvrtc, int capability, const char *extra, brim_cuda_image *out,
                   brim_error *err) {
  char arch[OPTION];
  const char *options[MOST_OPTIONS];
  void *program = NULL;
  int count = 0;
  snprintf(arch, sizeof arch, "--gpu-architecture=sm_%d", capability);
  for (; count < FIXED; count++)
    options[count] = fixed_options[count];
  options[count++] = arch;
  if (extra)
    options[count++] = extra;
  const int created = nvrtc->nvrtcCreateProgram(&program, brim_cuda_text, "brim.cu", 0, NULL, NULL);
  if (created)
    return refused(nvrtc, NULL, created, err);
  const int status = run_program(runtime, nvrtc, program, count, options, out, err);
  nvrtc->nvrtcDestroyProgram(&program);
  if (status)
    brim_cuda_image_free(runtime, out);
  return status;
}

/* ---- the cache */

/* FOLDER/kernels, which is made; false: there is no place for it. */
static bool cache_folder(brim_runtime *runtime, char folder[FOLDER]) {
  const char *own = getenv("BRIM_CACHE"), *user = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  brim_error ignored;
  int length = -1;
  if (own && *own)
    length = snprintf(folder, FOLDER, "%s/kernels", own);
  else if (user && *user)
    length = snprintf(folder, FOLDER, "%s/brim/kernels", user);
  else if (home && *home)
    length = snprintf(folder, FOLDER, "%s/.cache/brim/kernels", home);
  return length > 0 && length < FOLDER && brim_make_folder(runtime, folder, &ignored) == BRIM_OK;
}

/* What the machine code depends on. */
static bool cache_path(brim_runtime *runtime, const brim_nvrtc *nvrtc, int capability, char path[PATH]) {
  int major = 0, minor = 0;
  char folder[FOLDER], versions[OPTION];
  if (!cache_folder(runtime, folder) || nvrtc->nvrtcVersion(&major, &minor))
    return false;
  snprintf(versions, sizeof versions, "sm_%d NVRTC %d.%d", capability, major, minor);
  uint64_t hash = brim_hash64(versions, strlen(versions), brim_cuda_text_hash);
  for (int i = 0; i < FIXED; i++)
    hash = brim_hash64(fixed_options[i], strlen(fixed_options[i]) + 1, hash);
  return snprintf(path, PATH, "%s/%016llx.cubin", folder, (unsigned long long)hash) < PATH;
}

static bool read_cached(brim_runtime *runtime, const char *path, brim_cuda_image *out) {
  enum { LIMIT = 64 << 20 };
  brim_error ignored;
  if (brim_file_read_all(runtime, path, LIMIT, &out->bytes, &out->size, &ignored))
    return false;
  out->cached = out->size > 0;
  if (!out->cached)
    brim_cuda_image_free(runtime, out);
  return out->cached;
}

/* ---- machine code that was made beforehand: a name without NVRTC's version, which is not needed then */

static bool made_path(int capability, char path[PATH]) {
  const char *folder = getenv("BRIM_CUBINS");
  return folder && *folder &&
         snprintf(path, PATH, "%s/%016llx-sm_%d.cubin", folder, (unsigned long long)brim_cuda_text_hash, capability) < PATH;
}

bool brim_cuda_made(int capability, char path[256]) {
  char whole[PATH];
  return made_path(capability, whole) && brim_path_exists(whole) && snprintf(path, 256, "%s", whole) < 256;
}

int brim_cuda_save(brim_runtime *runtime, int capability, const char *folder, brim_error *err) {
  char path[PATH];
  brim_cuda_image image;
  BRIM_TRY(brim_make_folder(runtime, folder, err));
  BRIM_TRY(brim_cuda_compile_fresh(runtime, capability, NULL, &image, err));
  snprintf(path, sizeof path, "%s/%016llx-sm_%d.cubin", folder, (unsigned long long)brim_cuda_text_hash, capability);
  const int status = brim_file_write_all(runtime, path, image.bytes, image.size, err);
  brim_cuda_image_free(runtime, &image);
  return status;
}

/* ---- entry */

int brim_cuda_compile(brim_runtime *runtime, int capability, brim_cuda_image *out, brim_error *err) {
  brim_nvrtc nvrtc;
  char path[PATH];
  *out = (brim_cuda_image){0};
  if (made_path(capability, path) && read_cached(runtime, path, out))
    return BRIM_OK;
  int status = brim_nvrtc_open(&nvrtc, err);
  const bool known = !status && cache_path(runtime, &nvrtc, capability, path);
  if (!status && !(known && read_cached(runtime, path, out))) {
    brim_error ignored;
    status = compile(runtime, &nvrtc, capability, NULL, out, err);
    if (!status && known)
      (void)!brim_file_write_all(runtime, path, out->bytes, out->size, &ignored); /* next time it is made again */
  }
  brim_nvrtc_close(&nvrtc);
  return status;
}

int brim_cuda_compile_fresh(brim_runtime *runtime, int capability, const char *extra, brim_cuda_image *out, brim_error *err) {
  brim_nvrtc nvrtc;
  *out = (brim_cuda_image){0};
  int status = brim_nvrtc_open(&nvrtc, err);
  if (!status)
    status = compile(runtime, &nvrtc, capability, extra, out, err);
  brim_nvrtc_close(&nvrtc);
  return status;
}
