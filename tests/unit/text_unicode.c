/* text_unicode: normalisation forms, grapheme clusters, properties, scores and patterns. */
#include "tap.h"
#include "text/grapheme.h"
#include "text/nfx.h"
#include "text/pattern.h"
#include "text/score.h"
#include "text/unicode.h"

static brim_runtime *runtime;

static brim_runes decode(const char *text) {
  brim_runes runes;
  brim_runes_init(&runes, runtime);
  if (brim_runes_decode(&runes, text, strlen(text), 0, NULL) != BRIM_OK)
    exit(99);
  return runes;
}

static void check_form(const char *name, brim_form form, const char *text, const char *want) {
  brim_runes in = decode(text), work = decode(""), out = decode("");
  char got[400] = "";
  size_t length = 0;
  if (brim_normalize_form(form, in.at, in.count, 0, &work, &out, NULL) != BRIM_OK)
    exit(99);
  for (size_t i = 0; i < out.count; i++)
    length += (size_t)brim_utf8_put(out.at[i].code, got + length);
  got[length] = 0;
  ok(strcmp(got, want) == 0, "%s of %s", name, text);
  brim_runes_free(&in);
  brim_runes_free(&work);
  brim_runes_free(&out);
}

/* A text and its NFC, NFD, NFKC, NFKD. */
static void check_forms(const char *text, const char *nfc, const char *nfd, const char *nfkc, const char *nfkd) {
  check_form("NFC", (brim_form){true, false}, text, nfc);
  check_form("NFD", (brim_form){false, false}, text, nfd);
  check_form("NFKC", (brim_form){true, true}, text, nfkc);
  check_form("NFKD", (brim_form){false, true}, text, nfkd);
}

static void check_graphemes(const char *text, size_t want) {
  brim_runes runes = decode(text);
  size_t count = 0;
  for (size_t at = 0; at < runes.count; count++)
    at = brim_grapheme_end(runes.at, runes.count, at);
  ok(count == want, "%zu bytes are %zu grapheme clusters", strlen(text), count);
  brim_runes_free(&runes);
}

static void check_pattern(const char *pattern, const char *text, size_t want_from, size_t want_to) {
  brim_pattern *p;
  brim_runes runes = decode(text);
  size_t from = 99, to = 99;
  if (brim_pattern_compile(runtime, pattern, strlen(pattern), true, &p, NULL) != BRIM_OK)
    exit(99);
  brim_pattern_search search = brim_pattern_start(p, runes.at, runes.count);
  bool found = false;
  if (brim_pattern_next(&search, &found, NULL) != BRIM_OK)
    exit(99);
  from = search.from, to = search.to;
  ok(found == (want_to > 0) && (!found || (from == want_from && to == want_to)), "%s in \"%s\": %zu-%zu", pattern, text, from,
     to);
  brim_pattern_free(p);
  brim_runes_free(&runes);
}

static void check_refused(const char *pattern) {
  brim_pattern *p = NULL;
  brim_error err = {0};
  ok(brim_pattern_compile(runtime, pattern, strlen(pattern), true, &p, &err) == BRIM_E_UNSUPPORTED && !p, "%s: %s", pattern,
     err.message);
}

static void check_patterns(void) {
  check_pattern("\\s+(?!\\S)", "a   b", 1, 3);
  check_pattern("\\s+(?!\\S)", "a b", 0, 0);
  check_pattern("(?i:'s|'t)", "it'S", 2, 4);
  check_pattern("(?i:'s|'t)", "it'\u017F", 2, 4);
  check_pattern("[^\\r\\n\\p{L}\\p{N}]?\\p{L}+", "1 caf\u00e9!", 1, 6);
  check_pattern("\\p{N}{1,3}", "a1234", 1, 4);
  check_pattern("(?:ab|a)b", "xab", 1, 3);
  check_pattern("(?:ab)?c", "abab", 0, 0);
  check_pattern("a*b", "aaab", 0, 4);
  check_pattern("a++a", "aaa", 0, 0);
  check_pattern("[a-c^]+", "x^ab", 1, 4);
  check_pattern("\\x41|\\x{1F600}", "\U0001F600", 0, 1);
  check_pattern("\\P{L}+", "ab12c", 2, 4);
  check_pattern("\\W+", "ab, c", 2, 4);
  check_pattern("a{2,3}b", "abaaaab", 3, 7);
  check_refused("a{3,2}");
  check_refused("a{2");
  check_refused("a{2,3");
}

static void check_score(const char *text, double want) {
  double got = 0;
  ok(brim_score_read(text, strlen(text), &got) && got == want, "%s is %.17g", text, got);
}

int main(void) {
  if (brim_runtime_new(NULL, &runtime, NULL) != BRIM_OK)
    return 99;
  check_forms("e\u0301", "\u00e9", "e\u0301", "\u00e9", "e\u0301");
  check_forms("\u1e9b\u0323", "\u1e9b\u0323", "\u017f\u0323\u0307", "\u1e69", "s\u0323\u0307");
  check_forms("\uac01", "\uac01", "\u1100\u1161\u11a8", "\uac01", "\u1100\u1161\u11a8");
  check_forms("\u1100\u1161\u11a8", "\uac01", "\u1100\u1161\u11a8", "\uac01", "\u1100\u1161\u11a8");
  check_forms("a\u0315\u0300\u05aeb", "\u00e0\u05ae\u0315b", "a\u05ae\u0300\u0315b", "\u00e0\u05ae\u0315b",
              "a\u05ae\u0300\u0315b");
  check_forms("\u212b\ufb01", "\u00c5\ufb01", "A\u030a\ufb01", "\u00c5fi", "A\u030afi");
  check_forms("\u0958", "\u0915\u093c", "\u0915\u093c", "\u0915\u093c", "\u0915\u093c"); /* excluded from composition */
  char marks[80] = "a", ordered[80] = "a";
  for (int i = 0; i < 18; i++) {
    strcat(marks, i % 2 ? "\u0323" : "\u0315");
    strcat(ordered, i < 9 ? "\u0323" : "\u0315");
  }
  check_form("NFD", (brim_form){false, false}, marks, ordered);
  check_graphemes("", 0);
  check_graphemes("a\u0301b", 2);
  check_graphemes("\r\n\n", 2);
  check_graphemes("\U0001F1EB\U0001F1F7\U0001F1E9\U0001F1EA", 2);
  check_graphemes("\U0001F468\u200d\U0001F469\u200d\U0001F467", 1);
  check_graphemes("\u1100\u1161\u11a8\u1100", 2);
  check_graphemes("\u0915\u094d\u0924", 1);
  check_graphemes("\u0600a", 1);
  check_patterns();
  check_score("-3.275451183319092", -3.275451183319092);
  check_score("1e3", 1000);
  check_score("0", 0);
  check_score("123456789012345678901234567890", 123456789012345678901234567890.0);
  for (int byte = 0; byte < 256; byte++)
    if (brim_char_byte(brim_byte_char((uint8_t)byte)) != byte)
      ok(false, "byte %d and its character", byte);
  ok(brim_char_byte(0x4e2d) == -1 && brim_byte_char(' ') == 0x120, "byte characters");
  ok(brim_char_is(0x2B820, BRIM_CHAR_CJK) == false && brim_char_is(0x2B920, BRIM_CHAR_CJK),
     "the reference's CJK ranges, its slip included");
  brim_runtime_free(runtime);
  return tap_done();
}
