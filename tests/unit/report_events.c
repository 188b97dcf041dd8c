/* Logs of events as columns and as CSV, and the same events as TensorBoard's files. */
#include <dirent.h>

#include "brim/report.h"
#include "report/crc32c.h"
#include "report/event_log.h"
#include "report/tensorboard.h"
#include "scratch.h"
#include "tap.h"

static brim_runtime *runtime;

static const char log_text[] = "{\"event\":\"start\",\"version\":\"1\",\"options\":{\"lr\":5e-5,\"plan\":{\"name\":\"a, "
                               "\\\"b\\\"\"}},\"list\":[1, {\"x\":2}]}\n"
                               "{\"event\":\"step\",\"step\":1,\"loss\":0.5}\n"
                               "\n"
                               "{\"step\":2,\"loss\":null,\"event\":\"step\",\"late\":true}\n"
                               "{\"event\":\"eval\",\"step\":2,\"name\":\"one, two\",\"accuracy\":0.25}\n"
                               "{\"event\":\"step\",\"step\":3,\"loss\":0.125}\n"
                               "{\"event\":\"step\",\"st";

static void columns(void) {
  const char *path = scratch_write("log.jsonl", log_text);
  brim_event_log *log;
  brim_error err = {0};
  if (!ok(brim_event_log_read(runtime, path, &log, &err) == BRIM_OK, "a log is read (%s)", err.message))
    return;
  const double *loss = brim_event_log_numbers(log, "step", "loss"), *late = brim_event_log_numbers(log, "step", "late");
  ok_int(brim_event_log_count(log, "step"), 3, "a line that is being written is left out");
  ok_int(brim_event_log_count(log, "none"), 0, "no such kind");
  ok(loss && loss[0] == 0.5 && isnan(loss[1]) && loss[2] == 0.125, "numbers in order, null is none");
  ok(late && isnan(late[0]) && late[1] == 1 && isnan(late[2]), "a field that only some have");
  ok(!brim_event_log_numbers(log, "step", "accuracy"), "a field that none has");
  ok_string(brim_event_log_text(log, "eval", 0, "name"), "one, two", "a string");
  ok(!brim_event_log_text(log, "eval", 1, "name"), "after the last event");
  ok_string(brim_event_log_text(log, "start", 0, "options.plan.name"), "a, \"b\"", "members of members by their path");
  ok_near(brim_event_log_numbers(log, "start", "options.lr")[0], 5e-5, 0, "numbers too");
  ok_string(brim_event_log_text(log, "start", 0, "list"), "[1, {\"x\":2}]", "arrays as they are");
  ok_string(brim_event_log_field(log, "step", 1), "loss", "fields have an order");
  ok(!brim_event_log_field(log, "step", 3), "and an end");
  brim_text out;
  brim_text_init(&out, runtime);
  const char *name = "a \"run\"";
  brim_event_log_csv((const brim_event_log *const *)&log, &name, 1, &out);
  ok_string(out.data,
            "run,event,step,loss,late,name,accuracy\n"
            "\"a \"\"run\"\"\",step,1,0.5,,,\n"
            "\"a \"\"run\"\"\",step,2,,1,,\n"
            "\"a \"\"run\"\"\",eval,2,,,\"one, two\",0.25\n"
            "\"a \"\"run\"\"\",step,3,0.125,,,\n",
            "CSV in the order of the file");
  brim_text_free(&out);
  brim_event_log_free(log);
  brim_event_log_free(NULL);
}

static void refused(void) {
  static const struct {
    const char *text, *what;
    int64_t line;
  } cases[] = {{"{\"event\":\"step\"}\n[1]\n", "an array", 2},
               {"{\"step\":1}\n", "without \"event\"", 1},
               {"{\"event\":3}\n", "not a name", 1},
               {"{\"event\":\"a\"} {}\n", "", 1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    brim_event_log *log;
    brim_error err = {0};
    ok_int(brim_event_log_read(runtime, scratch_write("bad.jsonl", cases[i].text), &log, &err), BRIM_E_FORMAT, "no event");
    ok(strstr(err.message, cases[i].what) && err.line == cases[i].line && !log, "line %d: %s", (int)err.line, err.message);
  }
  brim_event_log *log;
  ok_int(brim_event_log_read(runtime, "/nowhere/log.jsonl", &log, NULL), BRIM_E_IO, "no file");
}

/* ---- TensorBoard ------------------------------------------------------------------------------------------ */

static void say(brim_tensorboard *t, const char *kind, int64_t step, double loss, const char *name) {
  const brim_field fields[] = {{.name = "step", .kind = BRIM_VALUE_INT, .integer = step},
                               {.name = "loss", .kind = BRIM_VALUE_REAL, .real = loss},
                               {.name = "name", .kind = BRIM_VALUE_TEXT, .text = name}};
  brim_tensorboard_event(t, &(brim_event){kind, fields, 3});
}

/* Files in the folder, and the bytes of the last by name. */
static int files_in(const char *folder, char *last, size_t size) {
  DIR *d = opendir(folder);
  int count = 0;
  *last = 0;
  for (struct dirent *e; d && (e = readdir(d)) != NULL;)
    if (e->d_name[0] != '.') {
      count++;
      if (strcmp(e->d_name, last) > 0)
        snprintf(last, size, "%s", e->d_name);
    }
  if (d)
    closedir(d);
  return count;
}

static bool holds(const char *bytes, size_t length, const char *word) {
  return memmem(bytes, length, word, strlen(word)) != NULL;
}

static void tensorboard(void) {
  char folder[512], last[256], path[1024], *bytes = NULL;
  size_t length = 0;
  brim_tensorboard *t;
  snprintf(folder, sizeof folder, "%s/run/tensorboard", scratch_folder());
  ok_int(brim_crc32c("123456789", 9), 0xE3069283u, "the checksum of the standard's example");
  ok_int(brim_tensorboard_new(runtime, folder, &t, NULL), BRIM_OK, "made");
  say(t, "checkpoint", 1, 0.5, "x");
  ok_int(files_in(folder, last, sizeof last), 0, "nothing is written before there is something to say");
  say(t, "step", 1, 0.5, "x");
  say(t, "step", 2, (double)NAN, "x");
  say(t, "eval", 2, 0.25, "dev");
  ok_int(brim_tensorboard_close(t, NULL), BRIM_OK, "closed");
  ok_int(files_in(folder, last, sizeof last), 1, "one file");
  snprintf(path, sizeof path, "%s/%s", folder, last);
  ok(brim_file_read_all(runtime, path, 0, &bytes, &length, NULL) == BRIM_OK && holds(bytes, length, "brain.Event:2"),
     "of version 2");
  ok(bytes && holds(bytes, length, "train/loss") && holds(bytes, length, "eval/dev/loss"), "with both tags");
  /* The loss of step 2 is no number: nothing is left to say of it. */
  ok(bytes && !holds(bytes, length, "train/step") && !holds(bytes, length, "name"), "and no other");
  brim_runtime_release(runtime, bytes);
  ok_int(brim_tensorboard_new(runtime, folder, &t, NULL), BRIM_OK, "again");
  say(t, "resume", 1, 0, "x");
  say(t, "step", 2, 0.5, "x");
  ok_int(brim_tensorboard_close(t, NULL), BRIM_OK, "closed");
  ok_int(files_in(folder, last, sizeof last), 2, "resumed: a second file");
  ok_int(brim_tensorboard_new(runtime, folder, &t, NULL), BRIM_OK, "once more");
  say(t, "step", 1, 0.5, "x");
  ok_int(brim_tensorboard_close(t, NULL), BRIM_OK, "closed");
  ok_int(files_in(folder, last, sizeof last), 1, "from the beginning: the others are gone");
}

static void tensorboard_failure(void) {
  brim_tensorboard *t;
  brim_error err = {0};
  ok_int(brim_tensorboard_new(runtime, scratch_write("file", "x"), &t, NULL), BRIM_OK, "a file where the folder should be");
  say(t, "step", 1, 0.5, "x");
  say(t, "step", 2, 0.5, "x");
  ok(brim_tensorboard_close(t, &err) != BRIM_OK && *err.message, "is said at the end: %s", err.message);
  ok_int(brim_tensorboard_new(runtime, NULL, &t, NULL), BRIM_OK, "no folder");
  say(t, "step", 1, 0.5, "x");
  ok_int(brim_tensorboard_close(t, NULL), BRIM_OK, "nothing is written");
  ok_int(brim_tensorboard_close(NULL, NULL), BRIM_OK, "NULL");
}

int main(void) {
  if (brim_runtime_new(&(brim_runtime_options){.threads = 1}, &runtime, NULL))
    return 1;
  columns();
  refused();
  tensorboard();
  tensorboard_failure();
  brim_runtime_free(runtime);
  return tap_done();
}
