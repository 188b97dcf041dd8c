/* driver.c: finds libcuda, NVRTC and cuBLASLt: where an environment variable says, among the system's libraries, in CUDA's
 * folder, or in the wheels `nvidia-cuda-nvrtc` and `nvidia-cublas` of the Python environment that is active. */
#include "ops/cuda/driver.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH = 256 };

/* NODELETE: CUDA's libraries have threads, and are not made to be unloaded. */
static void *open_at(const char *path, char found[PATH]) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  struct link_map *map = NULL;
  if (library)
    snprintf(found, PATH, "%s", dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map->l_name[0] ? map->l_name : path);
  return library;
}

/* The last, which is the newest, of what matches. */
static void *open_matching(const char *folder, const char *pattern, char found[PATH]) {
  char path[600];
  glob_t matches = {0};
  void *library = NULL;
  if (folder && snprintf(path, sizeof path, "%s/%s", folder, pattern) < (int)sizeof path && glob(path, 0, NULL, &matches) == 0)
    for (size_t i = matches.gl_pathc; i > 0 && !library; i--)
      library = open_at(matches.gl_pathv[i - 1], found);
  globfree(&matches);
  return library;
}

static void *open_named(const char *variable, const char *const *names, char found[PATH], bool *told) {
  const char *path = getenv(variable);
  void *library = NULL;
  *told = path && *path;
  if (*told)
    return open_at(path, found);
  for (; *names && !library; names++)
    library = open_at(*names, found);
  return library;
}

/* In CUDA's folder, or as two wheels have it. */
static void *open_elsewhere(const char *in_cuda, const char *const wheels[2], char found[PATH]) {
  const char *const environments[] = {getenv("VIRTUAL_ENV"), getenv("CONDA_PREFIX")};
  void *library = open_matching("/usr/local", in_cuda, found);
  for (int i = 0; i < 4 && !library; i++)
    library = open_matching(environments[i / 2], wheels[i % 2], found);
  return library;
}

/* The first name that the library lacks, or NULL. */
static const char *find_all(void *library, const char *const *names, void *const *pointers, size_t count) {
  for (size_t i = 0; i < count; i++) {
    void *symbol = dlsym(library, names[i]);
    if (!symbol)
      return names[i];
    memcpy(pointers[i], &symbol, sizeof symbol);
  }
  return NULL;
}

#define NAME(name, parameters)    #name,
#define ADDRESS(name, parameters) &to->name,

static void find_graphs(brim_cuda_driver *driver) {
  brim_cuda_graph_calls *to = &driver->graph;
  static const char *const names[] = {BRIM_CUDA_GRAPHS(NAME)};
  void *const addresses[] = {BRIM_CUDA_GRAPHS(ADDRESS)};
  driver->has_graphs = find_all(driver->library, names, addresses, sizeof names / sizeof *names) == NULL;
}

static void find_times(brim_cuda_driver *to) {
  static const char *const names[] = {BRIM_CUDA_TIMES(NAME)};
  void *const addresses[] = {BRIM_CUDA_TIMES(ADDRESS)};
  (void)find_all(to->library, names, addresses, sizeof names / sizeof *names);
}

int brim_cuda_driver_open(brim_cuda_driver *to, brim_error *err) {
  static const char *const files[] = {"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1", NULL};
  static const char *const names[] = {BRIM_CUDA_DRIVER(NAME)};
  void *const addresses[] = {BRIM_CUDA_DRIVER(ADDRESS)};
  bool told;
  *to = (brim_cuda_driver){0};
  to->library = open_named("BRIM_LIBCUDA", files, to->path, &told);
  if (!to->library && told)
    return brim_error_set(err, BRIM_E_UNSUPPORTED, "BRIM_LIBCUDA names no library that can be opened: %s",
                          getenv("BRIM_LIBCUDA"));
  if (!to->library)
    return brim_error_set(err, BRIM_E_UNSUPPORTED,
                          "no NVIDIA driver: libcuda.so.1 was not found; install the driver of the card, or use the device cpu");
  find_graphs(to);
  find_times(to);
  const char *missing = find_all(to->library, names, addresses, sizeof names / sizeof *names);
  return missing ? brim_error_set(err, BRIM_E_UNSUPPORTED, "%s has no %s: install a newer driver", to->path, missing) : BRIM_OK;
}

void brim_cuda_driver_close(brim_cuda_driver *driver) {
  if (driver->library)
    dlclose(driver->library);
  driver->library = NULL;
}

int brim_nvrtc_open(brim_nvrtc *to, brim_error *err) {
  static const char *const files[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", NULL};
  static const char *const names[] = {BRIM_NVRTC(NAME)};
  static const char *const wheels[] = {"lib/python3*/site-packages/nvidia/cu13/lib/libnvrtc.so.1?",
                                       "lib/python3*/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.1?"};
  void *const addresses[] = {BRIM_NVRTC(ADDRESS)};
  bool told;
  *to = (brim_nvrtc){0};
  to->library = open_named("BRIM_NVRTC", files, to->path, &told);
  if (!to->library && told)
    return brim_error_set(err, BRIM_E_UNSUPPORTED, "BRIM_NVRTC names no library that can be opened: %s", getenv("BRIM_NVRTC"));
  if (!to->library)
    to->library = open_elsewhere("cuda*/lib64/libnvrtc.so.1?", wheels, to->path);
  if (!to->library)
    return brim_error_set(err, BRIM_E_UNSUPPORTED,
                          "NVRTC, which compiles the kernels for the card, was not found: pip install nvidia-cuda-nvrtc, or set "
                          "BRIM_NVRTC to libnvrtc.so.13");
  const char *missing = find_all(to->library, names, addresses, sizeof names / sizeof *names);
  return missing ? brim_error_set(err, BRIM_E_UNSUPPORTED, "%s has no %s: NVRTC 12 or later is needed", to->path, missing)
                 : BRIM_OK;
}

void brim_nvrtc_close(brim_nvrtc *nvrtc) {
  if (nvrtc->library)
    dlclose(nvrtc->library);
  nvrtc->library = NULL;
}

bool brim_cublaslt_open(brim_cublaslt *to) {
  static const char *const files[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so", NULL};
  static const char *const names[] = {BRIM_CUBLASLT(NAME) "cublasLtGetVersion"};
  static const char *const wheels[] = {"lib/python3*/site-packages/nvidia/cu13/lib/libcublasLt.so.1?",
                                       "lib/python3*/site-packages/nvidia/cublas/lib/libcublasLt.so.1?"};
  void *const addresses[] = {BRIM_CUBLASLT(ADDRESS) & to->cublasLtGetVersion};
  bool told;
  *to = (brim_cublaslt){0};
  to->library = open_named("BRIM_CUBLASLT", files, to->path, &told);
  if (!to->library && !told)
    to->library = open_elsewhere("cuda*/lib64/libcublasLt.so.1?", wheels, to->path);
  if (to->library && find_all(to->library, names, addresses, sizeof names / sizeof *names))
    brim_cublaslt_close(to);
  return to->library != NULL;
}

void brim_cublaslt_close(brim_cublaslt *lt) {
  if (lt->library)
    dlclose(lt->library);
  lt->library = NULL;
}

bool brim_nccl_open(brim_nccl *to) {
  static const char *const files[] = {"libnccl.so.2", "libnccl.so", NULL};
  static const char *const names[] = {BRIM_NCCL(NAME) "ncclGetErrorString"};
  static const char *const wheels[] = {"lib/python3*/site-packages/nvidia/nccl/lib/libnccl.so.2",
                                       "lib/python3*/site-packages/nvidia/cu13/lib/libnccl.so.2"};
  void *const addresses[] = {BRIM_NCCL(ADDRESS) & to->ncclGetErrorString};
  bool told;
  if (to->library)
    return true;
  *to = (brim_nccl){0};
  to->library = open_named("BRIM_NCCL", files, to->path, &told);
  if (!to->library && !told)
    to->library = open_elsewhere("cuda*/lib64/libnccl.so.2", wheels, to->path);
  if (to->library && find_all(to->library, names, addresses, sizeof names / sizeof *names))
    brim_nccl_close(to);
  return to->library != NULL;
}

void brim_nccl_close(brim_nccl *nccl) {
  if (nccl->library)
    dlclose(nccl->library);
  nccl->library = NULL;
}
