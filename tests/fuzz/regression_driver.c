/* Replays a corpus without a fuzzer: every file of the folder, then cuts of it and copies with a byte changed or doubled, the
 * same ones every time, so that a plain build tests every parser on thousands of damaged inputs; under sanitizers some of them,
 * by the seed. A broken promise aborts. */
#include "tap.h"
#include <dirent.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LARGEST = 1 << 20, PLACES = 32 };

/* On a copy of exactly `size` bytes, so that a sanitizer sees a look past its end. */
static void run(const uint8_t *bytes, size_t size) {
  uint8_t *copy = calloc(1, size + !size);
  if (!copy)
    exit(1);
  memcpy(copy, bytes, size);
  LLVMFuzzerTestOneInput(copy, size);
  free(copy);
}

static void run_damaged(const char *name, uint8_t *bytes, size_t size) {
  static const uint8_t values[] = {0, '"', '\n', '\r', ',', '{', 0x7F, 0x80, 0xC3, 0xFF};
  size_t step = size / PLACES + 1;
  for (size_t at = 0; at < size; at += step) {
    uint8_t kept = bytes[at];
    if (!tap_takes(name, at / step))
      continue;
    run(bytes, at);
    for (size_t i = 0; i < sizeof values; i++) {
      bytes[at] = values[i];
      run(bytes, size);
    }
    bytes[at] = kept;
    if (size < LARGEST) {
      memmove(bytes + at + 1, bytes + at, size - at);
      run(bytes, size + 1);
      memmove(bytes + at, bytes + at + 1, size - at);
    }
  }
}

static void replay(const char *folder, const char *name) {
  static uint8_t bytes[LARGEST];
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "rb");
  size_t size = file ? fread(bytes, 1, LARGEST, file) : 0;
  if (file)
    fclose(file);
  printf("# %s\n", name);
  fflush(stdout);
  run(bytes, size);
  run_damaged(name, bytes, size);
  ok(file != NULL, "%s", name);
}

int main(int count, char **arguments) {
  struct dirent **names = NULL;
  int files = count == 2 ? scandir(arguments[1], &names, NULL, alphasort) : -1;
  run((const uint8_t *)"", 0);
  for (int i = 0; i < files; i++) {
    if (names[i]->d_name[0] != '.')
      replay(arguments[1], names[i]->d_name);
    free(names[i]);
  }
  free(names);
  ok(tap_count > 0, "there is a corpus");
  return tap_done();
}
