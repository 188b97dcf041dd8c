/* compile.c: NVRTC compiles every kernel for every architecture that is promised, and what each takes of registers and memory is
 * what resources.txt lists for the NVRTC of its first line: compile [--update]; compile --save FOLDER [90] makes files for
 * BRIM_CUBINS, but for those that are there. Without NVRTC there is nothing to test, which is said. */
#include <sys/stat.h>

#include "base/memory.h"
#include "ops/cuda/compile.h"
#include "ops/cuda/cuda.h"
#include "tap.h"

static const int capabilities[] = {75, 80, 86, 89, 90, 100, 120};
enum { ARCHITECTURES = sizeof capabilities / sizeof *capabilities };

#define NAME(name, ...) #name,
static const char *const names[] = {BRIM_CUDA_KERNELS(NAME)};
enum { KERNELS = sizeof names / sizeof *names };

typedef struct resources {
  int registers, shared, stack, spilled;
} resources;

/* The number that stands before `word` in [from, end). */
static int number_before(const char *from, const char *end, const char *word) {
  const char *at = strstr(from, word);
  if (!at || at >= end)
    return 0;
  while (at > from && at[-1] == ' ')
    at--;
  while (at > from && at[-1] >= '0' && at[-1] <= '9')
    at--;
  return atoi(at);
}

/* What ptxas says of a kernel, from its "Function properties" to the next one. */
static bool find_resources(const char *log, const char *kernel, resources *out) {
  char title[128];
  snprintf(title, sizeof title, "Function properties for brim_%s\n", kernel);
  const char *from = strstr(log, title);
  if (!from)
    return false;
  from += strlen(title);
  const char *next = strstr(from, "Function properties for"), *end = next ? next : from + strlen(from);
  *out = (resources){.registers = number_before(from, end, " registers"),
                     .shared = number_before(from, end, " bytes smem"),
                     .stack = number_before(from, end, " bytes stack frame"),
                     .spilled = number_before(from, end, " bytes spill stores")};
  return out->registers > 0;
}

/* "attention_keys sm_90: 96 registers, 0 shared, 0 stack, 0 spilled" */
static void put_line(FILE *to, const char *kernel, int capability, const resources *r) {
  fprintf(to, "%s sm_%d: %d registers, %d shared, %d stack, %d spilled\n", kernel, capability, r->registers, r->shared, r->stack,
          r->spilled);
}

static char *read_list(const char *path) {
  FILE *file = fopen(path, "rb");
  char *text = calloc(1, 1 << 20);
  if (!text)
    abort();
  if (file) {
    text[fread(text, 1, (1 << 20) - 1, file)] = 0;
    fclose(file);
  }
  return text;
}

/* What a kernel declares is part of what a block may have, so one that asks for all of it may declare none. */
static bool asks_for_all(int kernel) {
#define IS_WIDE(name) kernel == CU_##name ||
  return BRIM_CUDA_WIDE(IS_WIDE) false;
}

/* All kernels for one architecture; lines that the list lacks are shown. */
static void check_architecture(brim_runtime *runtime, int capability, const char *listed, FILE *to) {
  brim_cuda_image image;
  brim_error err;
  int missing = 0, spilled = 0, changed = 0, most = 0, declared = 0;
  if (brim_cuda_compile_fresh(runtime, capability, "--ptxas-options=-v", &image, &err)) {
    ok(false, "sm_%d: %s", capability, err.message);
    return;
  }
  for (int i = 0; i < KERNELS; i++) {
    resources r;
    char line[200] = "";
    if (!image.log || !find_resources(image.log, names[i], &r)) {
      missing++;
      continue;
    }
    FILE *memory = fmemopen(line, sizeof line, "w");
    put_line(memory, names[i], capability, &r);
    fclose(memory);
    if (to)
      fputs(line, to);
    if (listed[0] && !strstr(listed, line)) {
      changed++;
      printf("# not listed: %s", line);
    }
    spilled += r.spilled;
    declared += asks_for_all(i) ? r.shared : 0;
    most = r.registers > most ? r.registers : most;
  }
  ok(missing == 0 && declared == 0 && (spilled == 0 || !listed[0]),
     "sm_%d: %d kernels, %zu bytes, at most %d registers, %d bytes spilled, %d kernels missing, %d bytes too many of shared "
     "memory",
     capability, KERNELS, image.size, most, spilled, missing, declared);
  ok(to || changed == 0, "sm_%d: registers and memory are those of resources.txt (%d are not)", capability, changed);
  brim_cuda_image_free(runtime, &image);
}

int main(int argc, char **argv) {
  brim_runtime *runtime;
  brim_nvrtc nvrtc;
  brim_error err;
  int major = 0, minor = 0;
  char path[600]; /* brim_cuda_made takes 256 */
  if (brim_nvrtc_open(&nvrtc, &err)) {
    printf("1..0 # SKIP %s\n", err.message);
    return 0;
  }
  nvrtc.nvrtcVersion(&major, &minor);
  printf("# %s, NVRTC %d.%d; kernels %016llx\n", nvrtc.path, major, minor, (unsigned long long)brim_cuda_text_hash);
  brim_nvrtc_close(&nvrtc);
  if (brim_runtime_new(&(brim_runtime_options){.threads = 1}, &runtime, NULL))
    return 99;
  if (argc > 2 && strcmp(argv[1], "--save") == 0) {
    setenv("BRIM_CUBINS", argv[2], 1);
    for (int i = 0; i < ARCHITECTURES; i++)
      if ((argc == 3 || atoi(argv[3]) == capabilities[i]) && !brim_cuda_made(capabilities[i], path) &&
          brim_cuda_save(runtime, capabilities[i], argv[2], &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
      }
    brim_runtime_free(runtime);
    return 0;
  }
  snprintf(path, sizeof path, "%s/tests/cuda/resources.txt", tap_source());
  const bool update = argc > 1 && strcmp(argv[1], "--update") == 0;
  char *listed = read_list(path), version[32];
  FILE *to = update ? fopen(path, "wb") : NULL;
  snprintf(version, sizeof version, "NVRTC %d.%d\n", major, minor);
  if (to)
    fputs(version, to);
  else if (strncmp(listed, version, strlen(version)) != 0)
    printf("# resources.txt is of another NVRTC: numbers are not compared\n"), listed[0] = 0;
  const char *some = getenv("BRIM_ARCHITECTURES"); /* "75 90": not all, which take long */
  for (int i = 0; i < ARCHITECTURES; i++) {
    snprintf(path, sizeof path, "%d", capabilities[i]);
    if (!some || strstr(some, path))
      check_architecture(runtime, capabilities[i], listed, to);
  }
  if (to)
    fclose(to);
  free(listed);
  brim_runtime_free(runtime);
  return tap_done();
}
