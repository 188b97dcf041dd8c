/* tensorboard.c: events as TensorBoard's files: TFRecords, each an Event message of tensorflow/core/util/event.proto.
 *
 *   record   length (8 bytes), masked CRC-32C of them, the message, masked CRC-32C of it; all little-endian
 *   Event    1: wall_time (double), 2: step, 3: file_version (string), 5: summary, 7: session_log {1: status, START = 1}
 *   summary  1: value, again and again {1: tag (string), 2: simple_value (float)} */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/folder.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/status.h"
#include "report/crc32c.h"

#include "brim/report.h"
#include "report/tensorboard.h"

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5, SESSION_START = 1, TAG_SIZE = 160 };

struct brim_tensorboard {
  brim_runtime *runtime;
  char *folder, *path;
  FILE *file;
  brim_text message, summary, value; /* used again for each event */
  int status;
  brim_error error;
};

/* ---- messages --------------------------------------------------------------------------------------------- */

static void put_varint(brim_text *out, uint64_t value) {
  do {
    const uint8_t byte = (uint8_t)((value & 0x7F) | (value > 0x7F ? 0x80 : 0));
    brim_text_append(out, &byte, 1);
    value >>= 7;
  } while (value);
}

static void put_key(brim_text *out, int field, int wire) {
  put_varint(out, (uint64_t)(field << 3 | wire));
}

static void put_little(brim_text *out, uint64_t bits, int bytes) {
  for (int i = 0; i < bytes; i++) {
    const uint8_t byte = (uint8_t)(bits >> (8 * i));
    brim_text_append(out, &byte, 1);
  }
}

static void put_bytes(brim_text *out, int field, const char *bytes, size_t length) {
  put_key(out, field, WIRE_BYTES);
  put_varint(out, length);
  brim_text_append(out, bytes, length);
}

static void begin_message(brim_text *out, int64_t step) {
  const double wall = brim_clock_seconds(CLOCK_REALTIME);
  uint64_t bits;
  memcpy(&bits, &wall, sizeof bits);
  brim_text_clear(out);
  put_key(out, 1, WIRE_FIXED64);
  put_little(out, bits, 8);
  put_key(out, 2, WIRE_VARINT);
  put_varint(out, (uint64_t)step);
}

static void put_scalar(brim_tensorboard *t, const char *tag, double number) {
  const float value = (float)number;
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  brim_text_clear(&t->value);
  put_bytes(&t->value, 1, tag, strlen(tag));
  put_key(&t->value, 2, WIRE_FIXED32);
  put_little(&t->value, bits, 4);
  put_bytes(&t->summary, 1, t->value.data, t->value.length);
}

/* ---- the file --------------------------------------------------------------------------------------------- */

static uint32_t masked(uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8u;
}

static int failed(brim_tensorboard *t, const char *doing) {
  return brim_error_system(&t->error, t->path ? t->path : t->folder, doing, errno);
}

static int write_record(brim_tensorboard *t) {
  brim_text *frame = &t->value;
  BRIM_TRY(brim_text_status(&t->message, &t->error));
  brim_text_clear(frame);
  put_little(frame, t->message.length, 8);
  if (!frame->failed)
    put_little(frame, masked(brim_crc32c(frame->data, 8)), 4);
  brim_text_append(frame, t->message.data, t->message.length);
  put_little(frame, masked(brim_crc32c(t->message.data, t->message.length)), 4);
  BRIM_TRY(brim_text_status(frame, &t->error));
  const bool written = fwrite(frame->data, 1, frame->length, t->file) == frame->length && fflush(t->file) == 0;
  return written ? BRIM_OK : failed(t, "write");
}

/* The files of an earlier run. */
static int remove_earlier(brim_tensorboard *t) {
  char **names;
  size_t count;
  BRIM_TRY(brim_list_folder(t->runtime, t->folder, &names, &count, &t->error));
  int status = BRIM_OK;
  for (size_t i = 0; i < count && !status; i++) {
    if (strncmp(names[i], "events.out.tfevents.", 20) != 0 || !strstr(names[i], ".brim"))
      continue;
    char *path = brim_path_join(t->runtime, t->folder, names[i]);
    status = !path ? BRIM_NOMEM(&t->error) : brim_path_is_folder(path) ? BRIM_OK : brim_remove_tree(t->runtime, path, &t->error);
    brim_release(t->runtime, path);
  }
  brim_names_free(t->runtime, names, count);
  return status;
}

/* TensorBoard reads the files of a folder in the order of their names: the time comes first, then a number. */
static int open_file(brim_tensorboard *t) {
  char name[96];
  const long long seconds = (long long)time(NULL);
  for (int i = 0; !t->file && i < 1000; i++) {
    snprintf(name, sizeof name, "events.out.tfevents.%010lld.brim.%03d", seconds, i);
    brim_release(t->runtime, t->path);
    t->path = brim_path_join(t->runtime, t->folder, name);
    if (!t->path)
      return BRIM_NOMEM(&t->error);
    t->file = fopen(t->path, "wbxe");
    if (!t->file && errno != EEXIST)
      break;
  }
  if (!t->file)
    return failed(t, "create");
  begin_message(&t->message, 0);
  put_bytes(&t->message, 3, "brain.Event:2", 13);
  return write_record(t);
}

static int begin(brim_tensorboard *t, bool anew) {
  BRIM_TRY(brim_make_folder(t->runtime, t->folder, &t->error));
  if (anew)
    BRIM_TRY(remove_earlier(t));
  return open_file(t);
}

/* ---- events ----------------------------------------------------------------------------------------------- */

static bool is_scalar(const brim_field *field) {
  static const char *const others[] = {"step", "name"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (strcmp(field->name, others[i]) == 0)
      return false;
  return (field->kind == BRIM_VALUE_REAL && isfinite(field->real)) || field->kind == BRIM_VALUE_INT;
}

static int write_scalars(brim_tensorboard *t, const brim_event *event, const char *prefix, int64_t step) {
  char tag[TAG_SIZE];
  brim_text_clear(&t->summary);
  for (int i = 0; i < event->field_count; i++) {
    const brim_field *field = &event->fields[i];
    if (!is_scalar(field))
      continue;
    snprintf(tag, sizeof tag, "%s/%s", prefix, field->name);
    put_scalar(t, tag, field->kind == BRIM_VALUE_REAL ? field->real : (double)field->integer);
  }
  BRIM_TRY(brim_text_status(&t->value, &t->error));
  BRIM_TRY(brim_text_status(&t->summary, &t->error));
  if (!t->summary.length)
    return BRIM_OK;
  begin_message(&t->message, step);
  put_bytes(&t->message, 5, t->summary.data, t->summary.length);
  return write_record(t);
}

static int write_resume(brim_tensorboard *t, int64_t step) {
  static const char start[] = {1 << 3 | WIRE_VARINT, SESSION_START};
  if (!t->file)
    BRIM_TRY(begin(t, false));
  begin_message(&t->message, step + 1); /* what was said of this step and later ones is void */
  put_bytes(&t->message, 7, start, sizeof start);
  return write_record(t);
}

static int take_event(brim_tensorboard *t, const brim_event *event) {
  const brim_field *at = brim_event_field(event, "step"), *name = brim_event_field(event, "name");
  const int64_t step = at && at->kind == BRIM_VALUE_INT ? at->integer : 0;
  char prefix[TAG_SIZE / 2] = "train";
  if (strcmp(event->kind, "resume") == 0)
    return write_resume(t, step);
  if (strcmp(event->kind, "eval") == 0)
    snprintf(prefix, sizeof prefix, "eval/%s", name && name->kind == BRIM_VALUE_TEXT ? name->text : "eval");
  else if (strcmp(event->kind, "step") != 0)
    return BRIM_OK;
  if (!t->file)
    BRIM_TRY(begin(t, true));
  return write_scalars(t, event, prefix, step);
}

int brim_tensorboard_new(brim_runtime *runtime, const char *folder, brim_tensorboard **out, brim_error *err) {
  brim_tensorboard *t = *out = brim_alloc_zero(runtime, sizeof **out);
  if (!t)
    return BRIM_NOMEM(err);
  t->runtime = runtime;
  brim_text_init(&t->message, runtime);
  brim_text_init(&t->summary, runtime);
  brim_text_init(&t->value, runtime);
  if (!folder)
    return BRIM_OK;
  t->folder = brim_copy_string(runtime, folder, strlen(folder));
  if (t->folder)
    return BRIM_OK;
  *out = NULL;
  (void)brim_tensorboard_close(t, NULL);
  return BRIM_NOMEM(err);
}

int brim_tensorboard_event(void *tensorboard, const brim_event *event) {
  brim_tensorboard *t = tensorboard;
  if (t->folder && !t->status)
    t->status = take_event(t, event);
  return BRIM_OK;
}

int brim_tensorboard_close(brim_tensorboard *t, brim_error *err) {
  if (!t)
    return BRIM_OK;
  if (t->file && fclose(t->file) != 0 && !t->status)
    t->status = failed(t, "write");
  const int status = t->status;
  if (status && err)
    *err = t->error;
  brim_text_free(&t->message);
  brim_text_free(&t->summary);
  brim_text_free(&t->value);
  brim_release(t->runtime, t->folder);
  brim_release(t->runtime, t->path);
  brim_release(t->runtime, t);
  return status;
}
