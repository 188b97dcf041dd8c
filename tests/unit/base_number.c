/* Numbers, UTF-8 and growing text. */
#include "base/number.h"
#include "base/text.h"
#include "base/utf8.h"
#include "scratch.h"
#include "tap.h"
#include <locale.h>

static void integers(void) {
  static const struct {
    const char *text;
    bool good;
    int64_t value;
  } cases[] = {{"0", true, 0},
               {"-7", true, -7},
               {"+7", true, 7},
               {"007", true, 7},
               {"9223372036854775807", true, INT64_MAX},
               {"-9223372036854775808", true, INT64_MIN},
               {"9223372036854775808", false, 0},
               {"-9223372036854775809", false, 0},
               {"99999999999999999999999", false, 0},
               {"", false, 0},
               {"-", false, 0},
               {"1 ", false, 0},
               {"1.0", false, 0},
               {"0x1", false, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    int64_t value = 0;
    bool good = brim_number_integer(cases[i].text, strlen(cases[i].text), &value);
    ok(good == cases[i].good && (!good || value == cases[i].value), "integer \"%s\"", cases[i].text);
  }
}

static void reals(void) {
  static const struct {
    const char *text;
    bool good;
    double value;
  } cases[] = {{"0", true, 0},
               {"1.5", true, 1.5},
               {".5", true, .5},
               {"5.", true, 5},
               {"-2.5e-3", true, -2.5e-3},
               {"1e308", true, 1e308},
               {"1.7976931348623157e308", true, 1.7976931348623157e308},
               {"1e309", false, 0},
               {"4.9e-324", true, 4.9e-324},
               {"1e-400", true, 0},
               {"1e22", true, 1e22},
               {"1e23", true, 1e23},
               {"9007199254740991e22", true, 9007199254740991e22},
               {"0.1", true, 0.1},
               {"123456789012345678901234567890", true, 123456789012345678901234567890.0},
               {"0.000000000000000000000000000000123456789012345678901", true, 1.23456789012345678901e-31},
               {"9007199254740993", true, 9007199254740992.0},
               {"2.2250738585072011e-308", true, 2.2250738585072011e-308},
               {"0e999999999999999999", true, 0},
               {"nan", false, 0},
               {"inf", false, 0},
               {"0x1p3", false, 0},
               {"1e", false, 0},
               {"e5", false, 0},
               {"", false, 0},
               {".", false, 0},
               {" 1", false, 0},
               {"1,5", false, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    double value = 0;
    bool good = brim_number_real(cases[i].text, strlen(cases[i].text), &value);
    ok(good == cases[i].good && (!good || value == cases[i].value), "real \"%s\" (%.17g)", cases[i].text, value);
  }
  double value;
  ok(brim_number_real("1.25xyz", 4, &value) && value == 1.25, "what follows the length does not matter");
  ok(brim_number_real("-0.0", 4, &value) && signbit(value), "a negative zero stays negative");
}

/* 2^-1074 and halves of it are written with up to a thousand digits: cutting them must not change the rounding. */
static void long_digits(void) {
  char text[1400];
  double value;
  snprintf(text, sizeof text, "%.1000f", 0x1p-1000 * 3);
  ok(brim_number_real(text, strlen(text), &value) && value == strtod(text, NULL), "a thousand places after the point");
  /* halfway between 1 and the next double */
  int n = snprintf(text, sizeof text, "1.00000000000000011102230246251565404236316680908203125");
  ok(brim_number_real(text, (size_t)n, &value) && value == 1.0, "half to even");
  memset(text + n, '0', 900);
  text[n + 900] = '1';
  text[n + 901] = 0;
  ok(brim_number_real(text, (size_t)n + 901, &value) && value == 1.0 + 0x1p-52, "a digit a thousand places on breaks the tie");
  memset(text, '9', 1200);
  ok(!brim_number_real(text, 1200, &value), "1200 nines overflow");
  memset(text, '0', 1200);
  memcpy(text + 1200, "17", 2);
  ok(brim_number_real(text, 1202, &value) && value == 17, "leading zeros are nothing");
}

static void locales(void) {
  char text[32];
  double value;
  char make[600];
  snprintf(make, sizeof make, "localedef -i de_DE -f UTF-8 '%s/de_DE.UTF-8' >/dev/null 2>&1", scratch_folder());
  if (!setlocale(LC_ALL, "de_DE.UTF-8") && system(make) == 0)
    setenv("LOCPATH", scratch_folder(), 1);
  if (!setlocale(LC_ALL, "de_DE.UTF-8")) {
    tap_skip("numbers in a locale with a decimal comma", "no such locale can be made");
    return;
  }
  snprintf(text, sizeof text, "%.2f", 1234.5);
  ok_string(text, "1234,50", "the locale is in force");
  brim_number_format(text, sizeof text, "%.2f", 1234.5);
  ok_string(text, "1234.50", "a point in any locale");
  ok(brim_number_real("1.5e30", 6, &value) && value == 1.5e30, "read in any locale");
  setlocale(LC_ALL, "C");
}

static void utf8(void) {
  static const struct {
    const char *bytes;
    size_t length, valid;
  } cases[] = {{"abc", 3, 3},
               {"", 0, 0},
               {"\0a", 2, 2},
               {"\xC3\xA9", 2, 2},
               {"\xE2\x82\xAC", 3, 3},
               {"\xF0\x9F\x98\x80", 4, 4},
               {"\xF4\x8F\xBF\xBF", 4, 4},
               {"\xC0\x80", 2, 0},
               {"\xC1\xBF", 2, 0},
               {"\xE0\x9F\xBF", 3, 0},
               {"\xED\xA0\x80", 3, 0},
               {"\xF0\x8F\xBF\xBF", 4, 0},
               {"\xF4\x90\x80\x80", 4, 0},
               {"\xF5\x80\x80\x80", 4, 0},
               {"\x80", 1, 0},
               {"ab\xC3", 3, 2},
               {"ab\xE2\x82", 4, 2},
               {"\xE2\x28\xA1", 3, 0},
               {"12345678901234567\xFF", 18, 17}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    ok_int(brim_utf8_valid(cases[i].bytes, cases[i].length), cases[i].valid, "well-formed beginning");
  bool same = true;
  for (uint32_t c = 0; c < 0x110000; c++) {
    char bytes[4];
    uint32_t back;
    if (c >= 0xD800 && c < 0xE000)
      continue;
    int n = brim_utf8_encode(c, bytes);
    same = same && brim_utf8_decode(bytes, (size_t)n, &back) == n && back == c && brim_utf8_valid(bytes, (size_t)n) == (size_t)n;
    same = same && (n == 1 || brim_utf8_length(bytes, (size_t)n - 1) == 0);
  }
  ok(same, "every character goes there and back, and is malformed when cut");
  char bytes[1000];
  for (size_t length = 0; same && length <= sizeof bytes; length += 1 + length % 37) {
    memset(bytes, 'a', sizeof bytes);
    same = brim_utf8_valid(bytes, length) == length;
    for (size_t at = 0; same && at < length; at++) {
      bytes[at] = (char)0xFF;
      same = brim_utf8_valid(bytes, length) == at;
      memcpy(bytes + at, "\xC3\xA9", at + 2 <= length ? 2 : 1);
      same = same && brim_utf8_valid(bytes, length) == (at + 2 <= length ? length : at);
      memset(bytes + at, 'a', at + 2 <= length ? 2 : 1);
    }
  }
  ok(same, "what is no ASCII is found wherever it stands in a long text");
}

static void text(void) {
  brim_runtime *runtime;
  brim_text t;
  if (brim_runtime_new(&(brim_runtime_options){.threads = 1}, &runtime, NULL) != BRIM_OK)
    exit(1);
  brim_text_init(&t, runtime);
  brim_text_json_string(&t, "a\"b\\\n\x01\0\xC3\xA9\xFF\x7F", 11);
  ok_string(t.data, "\"a\\\"b\\\\\\n\\u0001\\u0000\xC3\xA9\xEF\xBF\xBD\\u007f\"", "escapes, NUL and malformed UTF-8");
  brim_text_clear(&t);
  brim_text_json_number(&t, 0.1);
  brim_text_string(&t, " ");
  brim_text_json_number(&t, 1.0 / 3);
  brim_text_string(&t, " ");
  brim_text_json_number(&t, NAN);
  ok_string(t.data, "0.1 0.33333333333333331 null", "the shortest number that reads back");
  brim_text_clear(&t);
  brim_text_integer(&t, INT64_MIN);
  brim_text_printf(&t, " %d %s", 5, "x");
  ok_string(t.data, "-9223372036854775808 5 x", "integers and formats");
  brim_text_clear(&t);
  brim_text_printf(&t, "%0500d", 1);
  ok(t.length == 500 && strlen(t.data) == 500, "a long format");
  brim_text_clear(&t);
  brim_field fields[] = {{.name = "n", .kind = BRIM_VALUE_INT, .integer = 3},
                         {.name = "x", .kind = BRIM_VALUE_REAL, .real = .5},
                         {.name = "t", .kind = BRIM_VALUE_TEXT, .text = "a\"b"},
                         {.name = "b", .kind = BRIM_VALUE_BOOL, .integer = 1},
                         {.name = "j", .kind = BRIM_VALUE_JSON, .text = "[1]"}};
  brim_event event = {.kind = "step", .fields = fields, .field_count = 5};
  brim_text_json_event(&t, &event);
  ok_string(t.data, "{\"event\":\"step\",\"n\":3,\"x\":0.5,\"t\":\"a\\\"b\",\"b\":true,\"j\":[1]}", "an event as JSON");
  ok(brim_event_field(&event, "x") == &fields[1] && !brim_event_field(&event, "y"), "fields by name");
  brim_text_free(&t);
  brim_runtime_free(runtime);
}

int main(void) {
  integers();
  reals();
  long_digits();
  locales();
  utf8();
  text();
  return tap_done();
}
