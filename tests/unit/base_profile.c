/* Brackets of a profile, what they add up to, the trace, and its bounds. */
#include <time.h>

#include "base/json.h"
#include "base/profile.h"
#include "brim/profile.h"
#include "scratch.h"
#include "tap.h"

static brim_runtime *runtime;

static void wait_a_little(void) {
  nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
}

static const brim_profile_row *row_of(const brim_profile *p, const char *name) {
  for (int i = 0; i < brim_profile_row_count(p); i++)
    if (strcmp(brim_profile_row_at(p, i)->name, name) == 0)
      return brim_profile_row_at(p, i);
  return NULL;
}

static void check_brackets(void) {
  brim_profile *p;
  if (brim_profile_new(runtime, &p, NULL))
    exit(99);
  brim_profile_begin(p, BRIM_WORK_FRAME, "step");
  for (int i = 0; i < 2; i++) {
    brim_profile_begin(p, BRIM_WORK_PRODUCT, "linear");
    wait_a_little();
    brim_profile_end(p, 100);
  }
  brim_profile_end(p, 0);
  brim_profile_begin(p, BRIM_WORK_EVALUATION, "evaluation");
  brim_profile_begin(p, BRIM_WORK_PRODUCT, "linear");
  wait_a_little();
  brim_profile_end(p, 100);
  brim_profile_end(p, 0);
  const brim_profile_row *linear = row_of(p, "linear"), *step = row_of(p, "step"), *evaluation = row_of(p, "evaluation");
  ok(linear && linear->calls == 2 && linear->flops == 200,
     "what is inside a frame counts, what is inside an evaluation does not");
  ok(linear && linear->seconds > 0.0039 && step && step->seconds >= linear->seconds, "a frame is as long as what it holds");
  ok(step && step->cpu_seconds >= 0 && step->cpu_seconds < step->seconds && linear && linear->cpu_seconds == 0,
     "a frame counts processor time, which sleeping does not take");
  ok(evaluation && evaluation->calls == 1 && evaluation->seconds > 0.0019, "an evaluation counts with all that it holds");
  ok(step && evaluation && brim_profile_seconds(p) >= step->seconds + evaluation->seconds, "the whole is as long as its parts");
  brim_profile_end(p, 0);
  ok(row_of(p, "linear")->calls == 2, "an end without a beginning is nothing");
  const double whole = brim_profile_seconds(p);
  brim_profile_add(p, BRIM_WORK_CARD, "kernel", 2);
  brim_profile_add(p, BRIM_WORK_CARD, "kernel", 0.5);
  const brim_profile_row *kernel = row_of(p, "kernel");
  ok(kernel->calls == 2 && kernel->seconds == 2.5 && brim_profile_seconds(p) == whole &&
         strcmp(brim_work_name(kernel->work), "card") == 0,
     "what was done elsewhere is counted, and is no part of the host's time");
  brim_profile_free(p);
  brim_profile_begin(NULL, BRIM_WORK_LOSS, "nothing");
  brim_profile_end(NULL, 0);
  brim_profile_free(NULL);
}

/* The trace of so many spans, parsed. */
static void check_trace(int spans) {
  const char *path = scratch_write_bytes("trace.json", "", 0);
  brim_profile *p;
  brim_error err = {0};
  if (brim_profile_new(runtime, &p, &err))
    exit(99);
  for (int i = 0; i < spans; i++) {
    brim_profile_begin(p, BRIM_WORK_LOG, "a \"quoted\" name");
    brim_profile_end(p, i);
  }
  brim_json_document *trace = NULL;
  const int status = brim_profile_write(p, path, &err), parsed = brim_json_load(runtime, path, 0, &trace, &err);
  ok(status == BRIM_OK && parsed == BRIM_OK, "%d spans make a trace that is JSON", spans);
  if (!parsed) {
    const brim_json_value *root = brim_json_root(trace), *events = brim_json_get(root, "traceEvents");
    const brim_json_value *other = brim_json_get(root, "otherData"), *first = brim_json_first(events);
    const int kept = spans < 65536 ? spans : 65536;
    ok(events && (int)events->length == kept, "%d of them are in the trace", kept);
    ok((int)brim_json_number(brim_json_get(other, "left_out")) == spans - kept, "it says how many are not");
    ok(brim_json_is_string(brim_json_get(first, "ph"), "X") && brim_json_is_string(brim_json_get(first, "cat"), "log") &&
           brim_json_is_string(brim_json_get(first, "name"), "a \"quoted\" name"),
       "a span has its kind, its class and its name");
    const brim_json_value *row = brim_json_first(brim_json_get(other, "rows"));
    ok((int)brim_json_number(brim_json_get(row, "calls")) == spans, "the rows count all of them");
  }
  brim_json_free(trace);
  ok(brim_profile_write(p, "/nowhere/trace.json", &err) == BRIM_E_IO && strstr(err.file, "/nowhere"),
     "a folder that is not there");
  brim_profile_free(p);
}

static void check_bounds(void) {
  static char names[80][16];
  brim_profile *p;
  if (brim_profile_new(runtime, &p, NULL))
    exit(99);
  for (int i = 0; i < 80; i++) {
    snprintf(names[i], sizeof names[i], "%d", i);
    brim_profile_begin(p, BRIM_WORK_LOG, names[i]);
    brim_profile_end(p, 0);
  }
  uint64_t calls = 0;
  for (int i = 0; i < brim_profile_row_count(p); i++)
    calls += brim_profile_row_at(p, i)->calls;
  ok(brim_profile_row_count(p) == 64 && calls == 80, "80 names are in 64 rows, and none is lost");
  for (int i = 0; i < 20; i++)
    brim_profile_begin(p, BRIM_WORK_FRAME, "deep");
  for (int i = 0; i < 20; i++)
    brim_profile_end(p, 0);
  brim_profile_begin(p, BRIM_WORK_LOG, names[0]);
  brim_profile_end(p, 0);
  ok(row_of(p, "0")->calls == 2, "brackets that are too deep close again");
  brim_profile_free(p);
}

int main(void) {
  if (brim_runtime_new(&(brim_runtime_options){.threads = 1}, &runtime, NULL))
    return 99;
  check_brackets();
  check_trace(3);
  check_trace(70000);
  check_bounds();
  brim_runtime_free(runtime);
  return tap_done();
}
