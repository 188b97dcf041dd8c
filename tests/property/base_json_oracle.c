/* Random and damaged JSON against jansson: both take it or both refuse it, and what they read is the same. */
#include "base/json.h"
#include "base/random.h"
#include "base/text.h"
#include "tap.h"
#include <jansson.h>

enum { DOCUMENTS = 4000, MUTANTS = 12, ROOM = 1 << 16 };

static brim_runtime *runtime;

/* ---- random documents ---- */

typedef struct maker {
  brim_random random;
  uint64_t index;
  brim_text text;
} maker;

static uint64_t draw(maker *m, uint64_t bound) {
  return brim_random_below(&m->random, m->index++, bound);
}

static void blanks(maker *m) {
  static const char *const some[] = {"", "", "", "", " ", "\n", "\t\r\n  "};
  brim_text_string(&m->text, some[draw(m, 7)]);
}

static void make_string(maker *m) {
  static const char *const pieces[] = {"a",        "longer than eight bytes",
                                       "\\n",      "\\\"",
                                       "\\\\",     "\\/",
                                       "\\u00e9",  "\\u20AC",
                                       "\xC3\xA9", "\xE2\x82\xAC",
                                       "\\u0001",  "\\ud83d\\ude00",
                                       " ",        "\xF0\x9F\x98\x80",
                                       "\x7F",     "\\b\\f\\r\\t",
                                       "0",        "{[,:]}"};
  brim_text_string(&m->text, "\"");
  for (uint64_t n = draw(m, 6); n > 0; n--)
    brim_text_string(&m->text, pieces[draw(m, sizeof pieces / sizeof pieces[0])]);
  brim_text_string(&m->text, "\"");
}

static void make_number(maker *m) {
  switch (draw(m, 5)) {
  case 0:
    brim_text_integer(&m->text, (int64_t)draw(m, 200) - 100);
    return;
  case 1:
    brim_text_integer(&m->text, (int64_t)draw(m, UINT64_MAX));
    return;
  case 2:
    brim_text_printf(&m->text, "%.*e", (int)draw(m, 25), brim_random_normal(&m->random, m->index++));
    return;
  case 3:
    brim_text_printf(&m->text, "%.17gE%+d", 1 + brim_random_unit(&m->random, m->index++), (int)draw(m, 600) - 300);
    return;
  default:
    brim_text_printf(&m->text, "%.*f", (int)draw(m, 30) + 1, brim_random_normal(&m->random, m->index++));
  }
}

static void make_value(maker *m, int depth) {
  static const char *const words[] = {"null", "true", "false"};
  uint64_t kind = draw(m, depth > 5 ? 3 : 6);
  blanks(m);
  if (kind == 0) {
    brim_text_string(&m->text, words[draw(m, 3)]);
  } else if (kind == 1) {
    make_number(m);
  } else if (kind == 2) {
    make_string(m);
  } else {
    bool object = kind == 5;
    brim_text_string(&m->text, object ? "{" : "[");
    for (uint64_t i = 0, n = draw(m, 5); i < n; i++) {
      if (i)
        brim_text_string(&m->text, ",");
      if (object) {
        blanks(m);
        make_string(m);
        blanks(m);
        brim_text_string(&m->text, ":");
      }
      make_value(m, depth + 1);
    }
    blanks(m);
    brim_text_string(&m->text, object ? "}" : "]");
  }
  blanks(m);
}

/* ---- comparison ---- */

static bool same(const brim_json_value *ours, const json_t *theirs);

static bool same_object(const brim_json_value *ours, const json_t *theirs) {
  for (const brim_json_value *k = brim_json_first(ours); k; k = brim_json_after(ours, k)) {
    char key[256];
    if (k->length >= sizeof key || memchr(k->as.text, 0, k->length))
      return false;
    memcpy(key, k->as.text, k->length);
    key[k->length] = 0;
    if (!same(brim_json_get(ours, key), json_object_get(theirs, key)))
      return false;
  }
  return json_object_size(theirs) <= ours->length;
}

static bool same(const brim_json_value *ours, const json_t *theirs) {
  size_t index = 0;
  switch (ours->kind) {
  case BRIM_JSON_NULL:
    return json_is_null(theirs);
  case BRIM_JSON_BOOL:
    return json_is_boolean(theirs) && json_is_true(theirs) == (ours->as.integer != 0);
  case BRIM_JSON_INT:
    return json_is_integer(theirs) && json_integer_value(theirs) == ours->as.integer;
  case BRIM_JSON_REAL:
    return json_is_number(theirs) && json_number_value(theirs) == ours->as.real;
  case BRIM_JSON_STRING:
    return json_is_string(theirs) && json_string_length(theirs) == ours->length &&
           memcmp(json_string_value(theirs), ours->as.text, ours->length) == 0;
  case BRIM_JSON_ARRAY:
    for (const brim_json_value *v = brim_json_first(ours); v; v = brim_json_after(ours, v))
      if (!same(v, json_array_get(theirs, index++)))
        return false;
    return json_is_array(theirs) && json_array_size(theirs) == index && ours->length == index;
  case BRIM_JSON_OBJECT:
    return json_is_object(theirs) && same_object(ours, theirs);
  default:
    return false;
  }
}

/* What jansson cannot hold though it is JSON. */
static bool beyond_jansson(const json_error_t *error) {
  return strstr(error->text, "too big integer") || strstr(error->text, "too big negative integer") ||
         strstr(error->text, "NUL byte");
}

typedef struct score {
  int64_t taken, refused, beyond;
} score;

static bool compare(const char *bytes, size_t length, score *s) {
  brim_json_document *ours;
  brim_error err = {0};
  json_error_t error;
  int status = brim_json_parse(runtime, bytes, length, "random", &ours, &err);
  json_t *theirs = json_loadb(bytes, length, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
  bool beyond = !theirs && beyond_jansson(&error);
  bool good = beyond || (theirs != NULL) == (status == BRIM_OK);
  if (theirs && status == BRIM_OK)
    good = same(brim_json_root(ours), theirs);
  if (!good)
    printf("# %.*s\n# brim: %s (byte %lld); jansson: %s\n", (int)length, bytes, err.message, (long long)err.byte,
           theirs ? "fine" : error.text);
  s->beyond += beyond;
  s->taken += !beyond && status == BRIM_OK;
  s->refused += !beyond && status != BRIM_OK;
  json_decref(theirs);
  brim_json_free(ours);
  return good;
}

/* Changes, drops or doubles a byte, mostly to one that means something. */
static size_t damage(maker *m, const char *from, size_t length, char *to) {
  static const char values[] = "\"\\{}[],:0123456789eE+-. \nntfu\x80\xC3\xE2\xF0\x01";
  memcpy(to, from, length);
  for (uint64_t n = 1 + draw(m, 2); n > 0 && length > 0; n--) {
    size_t at = (size_t)draw(m, length);
    uint64_t how = draw(m, 3);
    if (how == 0) {
      to[at] = values[draw(m, sizeof values - 1)];
    } else if (how == 1) {
      memmove(to + at, to + at + 1, --length - at);
    } else {
      memmove(to + at + 1, to + at, length++ - at);
    }
  }
  return length;
}

int main(void) {
  static char mutant[ROOM];
  score s = {0};
  bool good = true;
  if (brim_runtime_new(&(brim_runtime_options){.threads = 1}, &runtime, NULL) != BRIM_OK)
    return 1;
  maker m = {.random = brim_random_make(1, 0, BRIM_PURPOSE_SAMPLE)};
  brim_text_init(&m.text, runtime);
  for (int i = 0; i < DOCUMENTS && good; i++) {
    brim_text_clear(&m.text);
    make_value(&m, 0);
    int64_t before = s.refused;
    good = compare(m.text.data, m.text.length, &s) && s.refused == before;
    for (int j = 0; j < MUTANTS && good && m.text.length + 4 < ROOM; j++)
      good = compare(mutant, damage(&m, m.text.data, m.text.length, mutant), &s);
  }
  ok(good, "as jansson: %lld documents taken, %lld refused, %lld beyond jansson", (long long)s.taken, (long long)s.refused,
     (long long)s.beyond);
  ok(s.taken > 5000 && s.refused > 5000, "enough of both");
  brim_text_free(&m.text);
  brim_runtime_free(runtime);
  return tap_done();
}
