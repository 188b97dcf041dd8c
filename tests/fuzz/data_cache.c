/* Caches of any bytes, their checksum made right: a dataset whose rows are in range, or one error. */
#include <sys/mman.h>
#include <unistd.h>

#include "data/cache.h"
#include "data/facts.h"
#include "fuzz.h"

/* All numbers of further blocks are there to be read. */
static void look_at_blocks(const brim_dataset *dataset, const brim_sample *sample, int32_t texts) {
  const brim_block_shape *shapes;
  const int count = brim_dataset_blocks(dataset, &shapes);
  MUST(count >= 1 && count <= BRIM_MOST_BLOCKS);
  for (int b = 1; b < count; b++) {
    const int32_t units = shapes[b].per == BRIM_PER_ROW ? 1 : shapes[b].per == BRIM_PER_TEXT ? texts : sample->length;
    const uint32_t *numbers = sample->blocks[b];
    volatile uint32_t sum = 0; /* every byte is read */
    MUST(numbers && shapes[b].width >= 1 && strlen(shapes[b].name) < BRIM_BLOCK_NAME);
    for (int64_t i = 0; i < (int64_t)units * shapes[b].width; i++)
      sum = sum ^ numbers[i];
  }
}

/* Rows, labels and exclusions are all there to be read. */
static void look_at(const brim_dataset *dataset) {
  const brim_labels *labels = brim_dataset_labels(dataset);
  uint64_t excluded, seen = 0;
  const brim_exclusion *exclusions = brim_dataset_excluded(dataset, &excluded);
  for (uint64_t i = 0; i < excluded; i++)
    MUST(strlen(exclusions[i].file) + strlen(exclusions[i].reason) < 1 << 20);
  for (uint64_t row = 0; row < brim_dataset_rows(dataset); row++) {
    brim_sample sample;
    brim_dataset_sample(dataset, row, &sample);
    const int32_t texts = sample.text_lengths ? sample.text_count : 1;
    MUST(sample.length >= 1 && texts >= 1 && texts <= brim_dataset_most_texts(dataset));
    for (int32_t t = 0; t < texts; t++) {
      const int32_t length = sample.text_lengths ? sample.text_lengths[t] : sample.length;
      MUST(length >= 1 && length <= brim_dataset_longest(dataset));
    }
    look_at_blocks(dataset, &sample, texts);
    for (int32_t i = 0; i < sample.length; i++)
      MUST(sample.ids[i] >= 0 && sample.ids[i] <= brim_dataset_highest_id(dataset));
    for (int32_t i = 0; sample.type_ids && i < sample.length; i++)
      MUST(sample.type_ids[i] <= brim_dataset_highest_type(dataset));
    if (labels && labels->task == BRIM_TASK_CLASSIFICATION)
      MUST(sample.label >= 0 && sample.label < (float)labels->count && labels->names[(int32_t)sample.label]);
    for (int32_t i = 0; labels && i < sample.label_width; i++)
      MUST(sample.labels[i] == sample.labels[i]);
    int32_t words = 0;
    for (size_t i = 0; i < sample.word_text_length; i++)
      words += sample.word_text[i] == 0;
    for (int32_t i = 0; sample.words && i < sample.length; i++)
      MUST(sample.words[i] >= -1 && sample.words[i] < words);
    for (int32_t i = 0; sample.token_labels && i < sample.length; i++)
      MUST(labels && sample.token_labels[i] < labels->count);
    seen += brim_dataset_origin(dataset, row) + 1;
  }
  MUST(brim_dataset_rows(dataset) > 0 || seen == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  brim_runtime *runtime = fuzz_runtime();
  uint8_t *bytes = malloc(size + !size);
  uint64_t check;
  int file = memfd_create("input", 0);
  MUST(bytes && file >= 0);
  memcpy(bytes, data, size);
  if (brim_cache_check(bytes, size, &check))
    memcpy(bytes + offsetof(brim_cache_header, check), &check, sizeof check);
  MUST(write(file, bytes, size) == (ssize_t)size);
  char path[64];
  snprintf(path, sizeof path, "/dev/fd/%d", file);
  brim_dataset *dataset;
  brim_error err = {0};
  int status = brim_cache_read(runtime, path, NULL, &dataset, &err);
  MUST((status == BRIM_OK) == (dataset != NULL));
  if (status != BRIM_OK)
    fuzz_check_error(status, &err, (int64_t)size);
  else
    look_at(dataset);
  brim_dataset_free(dataset);
  free(bytes);
  close(file);
  return 0;
}
