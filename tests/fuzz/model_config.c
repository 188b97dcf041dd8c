/* A config.json of any bytes: sizes in range, which can be written and read again, or one error. */
#include <unistd.h>

#include "fuzz.h"
#include "model/config.h"

static char folder[64];
static char path[80];

static void remove_folder(void) {
  unlink(path);
  rmdir(folder);
}

/* In memory where there is such a file system: every input is synced to it. */
static void make_folder(void) {
  static const char *const places[] = {"/dev/shm/brim-fuzz-XXXXXX", "/tmp/brim-fuzz-XXXXXX"};
  for (size_t i = 0; i < 2 && !*path; i++) {
    snprintf(folder, sizeof folder, "%s", places[i]);
    if (mkdtemp(folder))
      snprintf(path, sizeof path, "%s/config.json", folder);
  }
  MUST(*path);
  atexit(remove_folder);
}

static void write_input(const uint8_t *data, size_t size) {
  FILE *f = fopen(path, "wb");
  MUST(f && fwrite(data, 1, size, f) == size && fclose(f) == 0);
}

static int load(brim_config *config, size_t size) {
  brim_error err = {0};
  const int status = brim_config_load(fuzz_runtime(), folder, NULL, config, &err);
  if (status != BRIM_OK)
    fuzz_check_error(status, &err, (int64_t)size);
  return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  brim_config config, again;
  if (!*path)
    make_folder();
  write_input(data, size);
  if (load(&config, size) != BRIM_OK)
    return 0;
  MUST(config.hidden >= 1 && config.hidden % config.heads == 0 && config.layers >= 1 && config.labels.count >= 1);
  MUST(brim_config_max_length(&config) >= 1 && config.pad_id < config.vocab_size);
  MUST(brim_config_save(fuzz_runtime(), &config, folder, NULL) == BRIM_OK && load(&again, SIZE_MAX / 2) == BRIM_OK);
  MUST(again.hidden == config.hidden && again.labels.count == config.labels.count && again.labels.task == config.labels.task);
  brim_config_free(&again);
  brim_config_free(&config);
  return 0;
}
