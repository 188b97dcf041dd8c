/* The JSON reader: what it takes, what it refuses and where, documents, settings. */
#include "base/json.h"
#include "scratch.h"
#include "tap.h"

static brim_runtime *runtime;

/* All tokens as text: [ ] { } k"key" s"string" i1 r1.5 t f n; then the status. */
static void tokens(brim_json_reader *reader, char *out, size_t size, brim_error *err) {
  brim_json_token t;
  size_t n = 0;
  int status;
  *out = 0;
  while ((status = brim_json_next(reader, &t, err)) == BRIM_OK && t.kind != BRIM_JSON_END) {
    const char *simple = t.kind == BRIM_JSON_ARRAY        ? "["
                         : t.kind == BRIM_JSON_ARRAY_END  ? "]"
                         : t.kind == BRIM_JSON_OBJECT     ? "{"
                         : t.kind == BRIM_JSON_OBJECT_END ? "}"
                         : t.kind == BRIM_JSON_NULL       ? "n"
                         : t.kind == BRIM_JSON_BOOL       ? (t.integer ? "t" : "f")
                                                          : NULL;
    if (simple)
      n += (size_t)snprintf(out + n, size - n, "%s", simple);
    else if (t.kind == BRIM_JSON_INT)
      n += (size_t)snprintf(out + n, size - n, "i%lld", (long long)t.integer);
    else if (t.kind == BRIM_JSON_REAL)
      n += (size_t)snprintf(out + n, size - n, "r%.17g", t.real);
    else
      n += (size_t)snprintf(out + n, size - n, "%c\"%.*s\"", t.kind == BRIM_JSON_KEY ? 'k' : 's', (int)t.length, t.text);
  }
  if (status != BRIM_OK)
    snprintf(out, size, "%s", "error");
}

static void accepts(void) {
  static const struct {
    const char *json, *want;
  } cases[] = {
      {"null", "n"},
      {" [ true , false ] ", "[tf]"},
      {"{}", "{}"},
      {"[]", "[]"},
      {"{\"a\":1,\"b\":[1,-2.5e3,\"x\"],\"a\":{}}", "{k\"a\"i1k\"b\"[i1r-2500s\"x\"]k\"a\"{}}"},
      {"\"\\u00e9\\ud83d\\ude00\\/\\b\"", "s\"\xC3\xA9\xF0\x9F\x98\x80/\b\""},
      {"\"plain text that is longer than eight bytes, then \\\"one\\\" escape\"",
       "s\"plain text that is longer than eight bytes, then \"one\" escape\""},
      {"[\"\\n1\",\"two\",\"\\t3\"]", "[s\"\n1\"s\"two\"s\"\t3\"]"},
      {"9223372036854775807", "i9223372036854775807"},
      {"9223372036854775808", "r9.2233720368547758e+18"},
      {"-0", "r-0"},
      {"0.5", "r0.5"},
      {"1E+2", "r100"},
      {"\"\x7F\"", "s\"\x7F\""},
      {"\r\n\t {\"\":0}\n", "{k\"\"i0}"},
  };
  brim_json_reader reader;
  brim_json_reader_init(&reader, runtime, "t.json");
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char got[512];
    brim_error err = {0};
    brim_json_reader_start(&reader, cases[i].json, strlen(cases[i].json), 0, 0);
    tokens(&reader, got, sizeof got, &err);
    if (!ok(strcmp(got, cases[i].want) == 0, "reads %s", cases[i].json[0] == '\r' ? "white space" : cases[i].json))
      printf("# got %s (%s)\n", got, err.message);
  }
  brim_json_reader_free(&reader);
}

static void refuses(void) {
  static const struct {
    const char *json;
    int line, byte;
    const char *says;
  } cases[] = {
      {"", 1, 0, "expected a value, but the text ends"},
      {"[1,]", 1, 3, "expected a value, but here is ']'"},
      {"[1 2]", 1, 3, "expected ',' or ']'"},
      {"{\"a\" 1}", 1, 5, "expected ':'"},
      {"{\"a\":1,}", 1, 7, "expected a key in quotes"},
      {"{a:1}", 1, 1, "expected a key in quotes"},
      {"[1}", 1, 2, "expected ',' or ']', but here is '}'"},
      {"{\"a\":1", 1, 6, "',' or '}', but the text ends"},
      {"01", 1, 0, "leading zero"},
      {"-", 1, 1, "expected a digit"},
      {"1.", 1, 2, "expected a digit"},
      {"1e", 1, 2, "expected a digit"},
      {"+1", 1, 0, "expected a value"},
      {".5", 1, 0, "expected a value"},
      {"1e999", 1, 0, "too large"},
      {"nul", 1, 0, "expected a value"},
      {"NaN", 1, 0, "expected a value"},
      {"'a'", 1, 0, "expected a value"},
      {"1 1", 1, 2, "more text after the value"},
      {"[]]", 1, 2, "more text after the value"},
      {"\n\n[1,\n x]", 4, 7, "here is 'x'"},
      {"\"abc", 1, 4, "ends inside a string"},
      {"\"abcdefghij\\", 1, 11, "ends inside a string"},
      {"\"a\nb\"", 1, 2, "control character"},
      {"\"\\x\"", 1, 1, "unknown escape"},
      {"\"\\u12g4\"", 1, 1, "four hexadecimal digits"},
      {"\"\\u12", 1, 1, "four hexadecimal digits"},
      {"\"\\ud83d\"", 1, 1, "surrogate pair"},
      {"\"\\ud83d\\u0041\"", 1, 1, "surrogate pair"},
      {"\"\\ude00\"", 1, 1, "surrogate pair"},
      {"\"\\ude00\\ude00\"", 1, 1, "surrogate pair"},
      {"\"\\ud83d\\ue000\"", 1, 1, "surrogate pair"},
      {"\"12345678\x1F"
       "12345678\"",
       1, 9, "control character"},
      {"\"12345678\xC3\x28\"", 1, 9, "not UTF-8"},
      {"\"\xED\xA0\x80\"", 1, 1, "not UTF-8"},
      {"\xEF\xBB\xBF{}", 1, 0, "here is byte 0xEF"},
  };
  brim_json_reader reader;
  brim_json_reader_init(&reader, runtime, "t.json");
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char got[512];
    brim_error err = {0};
    brim_json_reader_start(&reader, cases[i].json, strlen(cases[i].json), 0, 0);
    tokens(&reader, got, sizeof got, &err);
    bool right = strcmp(got, "error") == 0 && err.code == BRIM_E_FORMAT && err.line == cases[i].line &&
                 err.byte == cases[i].byte && strstr(err.message, cases[i].says) && strcmp(err.file, "t.json") == 0;
    if (!ok(right, "refuses case %zu: %s", i, cases[i].says))
      printf("# got %s, line %lld byte %lld, %s\n", got, (long long)err.line, (long long)err.byte, err.message);
  }
  brim_json_reader_free(&reader);
}

static void places_in_files(void) {
  brim_json_reader reader;
  brim_json_token token;
  brim_error err = {0};
  brim_json_reader_init(&reader, runtime, "a.jsonl");
  brim_json_reader_start(&reader, "{\"a\":x}", 7, 1000, 12);
  int status = BRIM_OK;
  for (int i = 0; i < 3 && status == BRIM_OK; i++)
    status = brim_json_next(&reader, &token, &err);
  ok(status == BRIM_E_FORMAT && err.line == 12 && err.byte == 1005, "line and byte are those of the file");
  brim_json_reader_free(&reader);
}

static void nul_and_lifetime(void) {
  static const char json[] = "[\"a\\u0000b\",\"c\\td\",\"raw\"]";
  brim_json_reader reader;
  brim_json_token t[5];
  bool good = true;
  brim_json_reader_init(&reader, runtime, NULL);
  brim_json_reader_start(&reader, json, strlen(json), 0, 0);
  for (int i = 0; i < 5; i++)
    good = good && brim_json_next(&reader, &t[i], NULL) == BRIM_OK;
  ok(good && t[1].length == 3 && memcmp(t[1].text, "a\0b", 3) == 0, "NUL inside a string");
  ok(good && t[2].length == 3 && memcmp(t[2].text, "c\td", 3) == 0, "earlier strings stay while later ones are read");
  ok(t[3].text >= json && t[3].text < json + sizeof json, "a string without escapes is not copied");
  brim_json_reader_free(&reader);
}

static void depth(void) {
  char json[2 * BRIM_JSON_DEPTH + 3], got[2 * BRIM_JSON_DEPTH + 100];
  brim_json_reader reader;
  brim_error err = {0};
  brim_json_reader_init(&reader, runtime, NULL);
  memset(json, '[', BRIM_JSON_DEPTH + 1);
  memset(json + BRIM_JSON_DEPTH + 1, ']', BRIM_JSON_DEPTH + 1);
  brim_json_reader_start(&reader, json, 2 * BRIM_JSON_DEPTH + 2, 0, 0);
  tokens(&reader, got, sizeof got, &err);
  ok(strcmp(got, "error") == 0 && err.byte == BRIM_JSON_DEPTH, "one level too deep is refused");
  brim_json_reader_start(&reader, json + 1, 2 * BRIM_JSON_DEPTH, 0, 0);
  tokens(&reader, got, sizeof got, &err);
  ok_int(strlen(got), 2 * BRIM_JSON_DEPTH, "the deepest allowed is read");
  brim_json_reader_free(&reader);
}

static void skipping(void) {
  static const char json[] = "{\"a\":{\"x\":[1,{\"y\":2}]},\"b\":[[],[3]],\"c\":4}";
  brim_json_reader reader;
  brim_json_token t;
  brim_error err;
  brim_json_reader_init(&reader, runtime, NULL);
  brim_json_reader_start(&reader, json, strlen(json), 0, 0);
  bool good = brim_json_next(&reader, &t, &err) == BRIM_OK && brim_json_next(&reader, &t, &err) == BRIM_OK;
  good = good && brim_json_skip(&reader, &err) == BRIM_OK && brim_json_next(&reader, &t, &err) == BRIM_OK;
  ok(good && t.kind == BRIM_JSON_KEY && *t.text == 'b', "after a key: its value");
  good = brim_json_next(&reader, &t, &err) == BRIM_OK && t.kind == BRIM_JSON_ARRAY && brim_json_skip(&reader, &err) == BRIM_OK;
  good = good && brim_json_next(&reader, &t, &err) == BRIM_OK && t.kind == BRIM_JSON_KEY && *t.text == 'c';
  ok(good, "after an opening bracket: all of it");
  good = brim_json_skip(&reader, &err) == BRIM_OK && brim_json_next(&reader, &t, &err) == BRIM_OK;
  ok(good && t.kind == BRIM_JSON_OBJECT_END, "a scalar");
  brim_json_reader_free(&reader);
}

static void documents(void) {
  static const char json[] = "{\"a\":1,\n\"b\":[1,2.5,\"x\\ny\",{\"c\":null}],\"a\":2,\"on\":true,\"empty\":{},\"s\":\"text\"}";
  brim_json_document *d;
  brim_error err = {0};
  if (!ok(brim_json_parse(runtime, json, strlen(json), "d.json", &d, &err) == BRIM_OK, "a document"))
    return;
  const brim_json_value *root = brim_json_root(d), *b = brim_json_get(root, "b");
  ok(root->kind == BRIM_JSON_OBJECT && root->length == 6, "members are counted");
  ok(brim_json_get(root, "a")->as.integer == 2, "of two equal keys the last counts");
  ok(b && b->kind == BRIM_JSON_ARRAY && b->length == 4, "items are counted");
  const brim_json_value *v = brim_json_first(b);
  ok(brim_json_number(v) == 1 && brim_json_number(v = brim_json_after(b, v)) == 2.5, "numbers");
  ok(brim_json_is_string(v = brim_json_after(b, v), "x\ny"), "a string");
  v = brim_json_after(b, v);
  ok(v->kind == BRIM_JSON_OBJECT && !brim_json_after(b, v), "the last item");
  ok(!brim_json_get(root, "zz") && !brim_json_get(NULL, "a") && !brim_json_get(b, "a"), "what is not there");
  ok(!brim_json_first(brim_json_get(root, "empty")), "an empty object has no first member");
  int keys = 0;
  for (const brim_json_value *k = brim_json_first(root); k; k = brim_json_after(root, k))
    keys += k->kind == BRIM_JSON_KEY && brim_json_member(k)->kind != BRIM_JSON_KEY;
  ok_int(keys, 6, "iteration over keys");
  bool on = false;
  int64_t integer = -5;
  double real = 0;
  const char *text = NULL;
  size_t length = 0;
  ok(brim_json_read_bool(d, root, "on", &on, &err) == BRIM_OK && on, "typed: bool");
  ok(brim_json_read_int(d, root, "a", 0, 9, &integer, &err) == BRIM_OK && integer == 2, "typed: integer");
  ok(brim_json_read_real(d, root, "a", &real, &err) == BRIM_OK && real == 2, "typed: an integer is a number");
  ok(brim_json_read_string(d, root, "s", &text, &length, &err) == BRIM_OK && length == 4 && memcmp(text, "text", 4) == 0,
     "typed: string");
  ok(brim_json_read_int(d, root, "zz", 0, 9, &integer, &err) == BRIM_OK && integer == 2, "absent: the default stands");
  ok_int(brim_json_read_int(d, root, "a", 3, 9, &integer, &err), BRIM_E_FORMAT, "out of range");
  ok(strstr(err.message, "\"a\" is 2, but must be from 3 to 9") && err.line == 2, "the message has key, value, range and line");
  ok_int(brim_json_read_int(d, root, "s", 3, 9, &integer, &err), BRIM_E_FORMAT, "of another kind");
  ok(strstr(err.message, "\"s\" must be an integer, but is a string") && strcmp(err.file, "d.json") == 0, "the message says so");
  brim_json_free(d);
  brim_json_free(NULL);
}

static void files(void) {
  brim_json_document *d;
  brim_error err = {0};
  const char *path = scratch_write("good.json", "{\"k\": [1, 2]}\n");
  ok(brim_json_load(runtime, path, 0, &d, &err) == BRIM_OK && brim_json_get(brim_json_root(d), "k")->length == 2, "a file");
  brim_json_free(d);
  ok(brim_json_load(runtime, path, 5, &d, &err) == BRIM_E_UNSUPPORTED && !d, "a file over the limit");
  path = scratch_write("bad.json", "{\"k\": [1, 2}\n");
  ok(brim_json_load(runtime, path, 0, &d, &err) == BRIM_E_FORMAT && err.byte == 11 && strstr(err.file, "bad.json") && !d,
     "a malformed file and its place");
}

static void writer(void) {
  brim_text out, inner;
  brim_text_init(&out, runtime), brim_text_init(&inner, runtime);
  brim_json_writer json = {.out = &inner};
  brim_json_put_bool(&json, NULL, true);
  json = (brim_json_writer){.out = &out};
  brim_json_open_object(&json, NULL);
  brim_json_open_array(&json, "a\"b");
  brim_json_put_integer(&json, NULL, -3);
  brim_json_put_count(&json, NULL, UINT64_MAX);
  brim_json_open_object(&json, NULL);
  brim_json_close_object(&json);
  brim_json_open_array(&json, NULL);
  brim_json_close_array(&json);
  brim_json_put_number(&json, NULL, 0.5);
  brim_json_close_array(&json);
  brim_json_put_string(&json, "text", "x\n");
  brim_json_put_string(&json, "none", NULL);
  brim_json_put_bytes(&json, "bytes", "yz", 1);
  brim_json_put_bool(&json, "false", false);
  brim_json_put_printf(&json, "hex", "\"%04x\"", 255u);
  brim_json_put_text(&json, "inner", &inner);
  brim_json_close_object(&json);
  ok_string(out.data,
            "{\"a\\\"b\":[-3,18446744073709551615,{},[],0.5],\"text\":\"x\\n\",\"none\":null,\"bytes\":\"y\",\"false\":false,"
            "\"hex\":\"00ff\",\"inner\":true}",
            "what the writer writes: commas and names in their places");
  inner.failed = true;
  brim_json_put_text(&json, NULL, &inner);
  ok(out.failed, "a part that failed makes the whole fail");
  brim_text_free(&out), brim_text_free(&inner);
}

int main(void) {
  if (brim_runtime_new(&(brim_runtime_options){.threads = 1}, &runtime, NULL) != BRIM_OK)
    return 1;
  accepts();
  refuses();
  places_in_files();
  nul_and_lifetime();
  depth();
  skipping();
  documents();
  files();
  writer();
  brim_runtime_free(runtime);
  return tap_done();
}
