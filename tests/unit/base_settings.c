/* Settings files: what is given to the function, and where errors are. */
#include "scratch.h"
#include "tap.h"

#include "brim/base.h"

static brim_runtime *runtime;

static int take(void *context, const brim_setting *s, brim_error *err) {
  brim_text *all = context;
  if (strcmp(s->name, "refused") == 0)
    return brim_error_set(err, BRIM_E_USAGE, "no \"%s\" here", s->value);
  if (s->value[s->length] != 0)
    return brim_error_set(err, BRIM_E_INTERNAL, "no NUL");
  brim_text_printf(all, "%s", s->name);
  if (s->item >= 0)
    brim_text_printf(all, "[%lld]", (long long)s->item);
  brim_text_printf(all, "%s%s;", s->boolean ? ":=" : "=", s->value);
  return BRIM_OK;
}

static int read_text(const char *json, brim_text *all, brim_error *err) {
  brim_text_clear(all);
  return brim_settings_read(runtime, scratch_write("settings.json", json), take, all, err);
}

int main(void) {
  static const struct {
    const char *json;
    int line, byte;
    const char *says;
  } bad[] = {{"{\n \"a\": 1,\n \"refused\": \"x\"}", 3, 23, "no \"x\" here"},
             {"{\"a\": {\"b\": 1}}", 1, 6, "\"a\" is an object"},
             {"{\"a\": [[1]]}", 1, 7, "\"a\" is an array"},
             {"[1]", 1, 0, "object of settings"},
             {"{\"a\": 1", 1, 7, "the text ends"},
             {"{\"a\": 1} x", 1, 9, "more text"},
             {"{\"a\\u0000b\": 1}", 1, 1, "no setting has such a name"}};
  brim_text all;
  brim_error err = {0};
  if (brim_runtime_new(&(brim_runtime_options){.threads = 1}, &runtime, NULL) != BRIM_OK)
    return 1;
  brim_text_init(&all, runtime);
  ok_int(read_text(
             "{\"s\": \"a b\", \"e\": \"\", \"i\": 12, \"r\": 5e-5, \"t\": true, \"f\": false, \"n\": null, \"l\": [1, \"x\"]}",
             &all, &err),
         BRIM_OK, "all kinds");
  ok_string(all.data, "s=a b;e=;i=12;r=5e-5;t:=true;f:=false;l[0]=1;l[1]=x;", "as they are written, in order");
  ok_int(read_text("{}", &all, &err), BRIM_OK, "none");
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    int status = read_text(bad[i].json, &all, &err);
    bool right = (status == BRIM_E_USAGE || status == BRIM_E_FORMAT) && err.line == bad[i].line && err.byte == bad[i].byte &&
                 strstr(err.message, bad[i].says) && strstr(err.file, "settings.json");
    if (!ok(right, "refuses: %s", bad[i].says))
      printf("# %d at line %lld, byte %lld: %s\n", status, (long long)err.line, (long long)err.byte, err.message);
  }
  ok_int(brim_settings_read(runtime, "/nowhere.json", take, &all, &err), BRIM_E_IO, "no such file");
  brim_text_free(&all);
  brim_runtime_free(runtime);
  return tap_done();
}
