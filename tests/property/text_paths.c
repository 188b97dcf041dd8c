/* text_paths: the fused pipelines give the ids of the exact one, whatever has been tokenized before, whatever surrounds a text in
 * memory, and for any bytes at all; and a beginning of a text gives the first of its ids. */
#include "base/memory.h"
#include "base/random.h"
#include "base/utf8.h"
#include "levels.h"
#include "text/beginning.h"
#include "text/fast.h"
#include "text/tokenizer.h"

enum { TEXTS = 3000, MOST = 400 };

static int cuts;              /* of all texts */
static brim_runtime *runtime; /* for each level of processors in turn */

/* What texts are made of. */
static const char *const pieces[] = {" ",
                                     " ",
                                     " ",
                                     "  ",
                                     "\t",
                                     "\n",
                                     "\r\n",
                                     "\u00a0",
                                     "\u3000",
                                     "\u2028",
                                     "\xc2\x85",
                                     "\v",
                                     "the",
                                     "The",
                                     "THE",
                                     "ing",
                                     "a",
                                     "e",
                                     "s",
                                     "movie",
                                     "un",
                                     "able",
                                     "'s",
                                     "'ll",
                                     "'",
                                     "\"",
                                     ".",
                                     ",",
                                     "...",
                                     "!",
                                     "-",
                                     "(",
                                     "br />",
                                     "<",
                                     "1",
                                     "23",
                                     "2024",
                                     "\u00e9",
                                     "\u00c9",
                                     "e\u0301",
                                     "\u0301",
                                     "\u0323",
                                     "\u0327\u0301",
                                     "\u0344",
                                     "\u4e2d",
                                     "\u6587",
                                     "\uf900",
                                     "\u3042",
                                     "\u304b\u3099",
                                     "\uac01",
                                     "\u1100\u1161",
                                     "\u0e01\u0e34",
                                     "\u0915\u094d\u0937",
                                     "\u0130",
                                     "\u03a3",
                                     "\u00df",
                                     "\ufb01",
                                     "\uff21",
                                     "\ufdfa",
                                     "\u00bd",
                                     "\u2026",
                                     "\u201c",
                                     "\u2014",
                                     "\u2581",
                                     "\u2581\u2581",
                                     "\u200d",
                                     "\u200b",
                                     "\ufeff",
                                     "\ufffd",
                                     "\u00a9\u200d",
                                     "\U0001F600",
                                     "\U0001F468\u200d\U0001F469",
                                     "\U0001D15E",
                                     "\U00020000",
                                     "[MASK]",
                                     "<mask>",
                                     "[UNK]",
                                     "<s>",
                                     "</s>",
                                     "\uff1cs\uff1e",
                                     "[",
                                     "]",
                                     "##",
                                     "supercalifragilistic",
                                     "xxxxxxxxxxxxxxxx",
                                     "\xff",
                                     "\xc3",
                                     "\xed\xa0\x80",
                                     "\x01",
                                     "\x7f",
                                     "\xe0\xb8"};

/* What prose is made of. */
static const char *const prose[] = {"the ",
                                    "The",
                                    "a",
                                    "I ",
                                    "don't ",
                                    "it's ",
                                    "we'll ",
                                    "they've",
                                    "'tis",
                                    "dogs' ",
                                    "''",
                                    "movie ",
                                    "and ",
                                    "unbelievable ",
                                    "antidisestablishmentarianism",
                                    "U.S.A.",
                                    "3.14 ",
                                    "(or ",
                                    "so)",
                                    "<br /><br />",
                                    "--",
                                    "... ",
                                    "!? ",
                                    "\"quoted\" ",
                                    "snake_case",
                                    "x=y+1;",
                                    " ",
                                    " ",
                                    ", ",
                                    ". ",
                                    "\n",
                                    "  ",
                                    "jazz quiz ",
                                    "JAZZ QUIZ ",
                                    "AaZz ",
                                    "09 90 ",
                                    "/:@[`{~ ",
                                    "a/b:c@d[e`f{g}h~i ",
                                    "\x7f",
                                    "\x1f",
                                    "\x0e",
                                    "\t\v\f\r",
                                    "z9a0"};

/* One random text of at most `room` bytes, and now and then a NUL. */
static size_t make_text(const brim_random *random, uint64_t index, char *out, size_t room) {
  size_t length = 0;
  uint64_t count = 1 + brim_random_below(random, index * 1000, 40);
  bool is_prose = index % 3 == 0;
  for (uint64_t i = 1; i <= (is_prose ? 90 : count); i++) {
    uint64_t which = brim_random_below(random, index * 1000 + i, sizeof pieces / sizeof *pieces + 1);
    const char *piece = which < sizeof pieces / sizeof *pieces ? pieces[which] : "";
    size_t n = which < sizeof pieces / sizeof *pieces ? strlen(piece) : 1;
    if (is_prose && brim_random_below(random, index * 1000 + 500 + i, 20)) {
      piece = prose[which % (sizeof prose / sizeof *prose)];
      n = strlen(piece);
    }
    if (length + n > room)
      break;
    memcpy(out + length, piece, n);
    length += n;
  }
  return length;
}

static bool same_ids(const brim_encoding *encoding, const brim_exact_tokens *exact) {
  bool same = encoding->length == exact->count;
  for (size_t i = 0; same && i < exact->count; i++)
    same = encoding->ids[i] == exact->at[i].id;
  return same;
}

/* Wherever the text may be cut, its beginning has the first of `all`. */
static bool begins_so(const brim_tokenizer *t, brim_scratch *scratch, const char *text, size_t length, const brim_encoding *all) {
  static const brim_encode_options bare = {.no_special_tokens = true};
  brim_encoding part = {0};
  bool good = t->ends_at_spaces;
  for (size_t end = 0; good && (end = brim_beginning(text, length, end + 1)) < length; cuts++)
    good = brim_tokenizer_encode(t, scratch, text, end, NULL, 0, &bare, &part, NULL) == BRIM_OK && part.length <= all->length &&
           (part.length == 0 || memcmp(part.ids, all->ids, part.length * sizeof *part.ids) == 0);
  brim_encoding_free(&part);
  return good;
}

/* `text` ends where its memory ends. */
static bool check_text(const brim_tokenizer *t, brim_scratch *old, const char *text, size_t length) {
  static const brim_encode_options bare = {.no_special_tokens = true};
  brim_encoding encoding = {0}, again = {0};
  brim_error err = {0};
  const char *clean = text;
  size_t clean_length = length;
  bool good = brim_tokenizer_encode(t, old, text, length, NULL, 0, &bare, &encoding, &err) == BRIM_OK &&
              brim_tokenizer_encode(t, old, text, length, NULL, 0, &bare, &again, &err) == BRIM_OK;
  old->exact.count = 0;
  good = good && brim_clean_utf8(old, 0, &clean, &clean_length, &err) == BRIM_OK &&
         brim_exact_run(t, old, clean, clean_length, &err) == BRIM_OK;
  good = good && same_ids(&encoding, &old->exact) && same_ids(&again, &old->exact);
  good = good && begins_so(t, old, text, length, &encoding);
  for (size_t i = 0; good && i < old->exact.count; i++)
    good = old->exact.at[i].from <= old->exact.at[i].to && old->exact.at[i].to <= clean_length;
  brim_encoding_free(&encoding);
  brim_encoding_free(&again);
  return good;
}

static void check_tokenizer(const brim_tokenizer *t, const char *name, brim_path path) {
  brim_random random = brim_random_make(7, (uint64_t)path, BRIM_PURPOSE_SAMPLE);
  brim_scratch *scratch;
  brim_error err;
  int wrong = 0, texts = 0;
  if (brim_scratch_new(runtime, t, &scratch, &err) != BRIM_OK)
    exit(99);
  for (uint64_t i = 0; i < TEXTS; i++) {
    char text[MOST];
    if (!tap_takes(name, i))
      continue;
    texts++;
    size_t length = make_text(&random, i, text, MOST);
    char *tight = malloc(length + !length);
    if (!tight)
      exit(99);
    memcpy(tight, text, length);
    if (!check_text(t, scratch, tight, length) && wrong++ < 3) {
      printf("# differs: ");
      for (size_t j = 0; j < length; j++)
        printf((uint8_t)text[j] > 0x20 && (uint8_t)text[j] < 0x7F ? "%c" : "\\x%02x", (uint8_t)text[j]);
      printf("\n");
    }
    free(tight);
  }
  brim_scratch_free(scratch);
  ok(t->path == path && t->fused, "%s has its fused pipeline", name);
  ok(wrong == 0, "%s: %d texts, %d differ", name, texts, wrong);
}

/* Of a text much longer than the limit, what comes after the cut is not tokenized. */
static void check_long(void) {
  enum { LENGTH = 1 << 20 };
  const brim_encode_options whole = {.max_length = 300}, stops = {.max_length = 300, .stops = true};
  brim_random random = brim_random_make(8, 0, BRIM_PURPOSE_SAMPLE);
  brim_tokenizer *t;
  brim_scratch *scratch;
  brim_encoding a = {0}, b = {0};
  brim_error err = {0};
  char path[600], *text = malloc(LENGTH);
  size_t length = 0;
  snprintf(path, sizeof path, "%s/tests/golden/tokenizers/wordpiece-uncased", getenv("BRIM_SOURCE"));
  for (uint64_t i = 0; text && length + MOST < LENGTH; i++)
    length += make_text(&random, 3 * i, text + length, MOST);
  if (!text || brim_tokenizer_load(runtime, path, &t, &err) != BRIM_OK || brim_scratch_new(runtime, t, &scratch, &err) != BRIM_OK)
    exit(99);
  ok(brim_tokenizer_encode(t, scratch, text, length, NULL, 0, &whole, &a, &err) == BRIM_OK &&
         brim_tokenizer_encode(t, scratch, text, length, NULL, 0, &stops, &b, &err) == BRIM_OK && a.length == 300 &&
         b.length == 300 && memcmp(a.ids, b.ids, 300 * sizeof *a.ids) == 0,
     "a long text that is not read to its end has the same ids");
  ok(a.unread == 0 && b.unread > length - length / 16 && b.lost > 0 && b.lost < a.lost / 16, "and %zu of %zu bytes are unread",
     b.unread, length);
  ok(brim_tokenizer_encode(t, scratch, text, BRIM_COUNTED, NULL, 0, &stops, &b, &err) == BRIM_OK && b.unread == 0,
     "of a text of %d bytes all is counted", BRIM_COUNTED);
  brim_encoding_free(&a);
  brim_encoding_free(&b);
  brim_scratch_free(scratch);
  brim_tokenizer_free(t);
  free(text);
}

/* Replaces the value of `key` (up to `until`) in a tokenizer.json. */
static char *replace_part(const char *json, const char *key, const char *until, const char *value) {
  const char *begin = strstr(json, key), *end = begin ? strstr(begin, until) : NULL;
  char *out = malloc(strlen(json) + strlen(value) + 1);
  if (!begin || !end || !out)
    exit(99);
  sprintf(out, "%.*s%s%s%s", (int)(begin - json), json, key, value, end);
  return out;
}

static void check_json(const char *name, const char *json, brim_path path) {
  brim_error err = {0};
  brim_tokenizer *t = brim_alloc_zero(runtime, sizeof *t);
  if (!t)
    exit(99);
  t->runtime = runtime;
  if (ok(brim_tokenizer_parse(t, json, strlen(json), name, &err) == BRIM_OK, "%s loads %s", name, err.message))
    check_tokenizer(t, name, path);
  brim_tokenizer_free(t);
}

static char *read_golden(const char *name) {
  char path[600], *bytes;
  size_t length;
  snprintf(path, sizeof path, "%s/tests/golden/tokenizers/%s/tokenizer.json", getenv("BRIM_SOURCE"), name);
  if (brim_file_read_all(runtime, path, 0, &bytes, &length, NULL) != BRIM_OK)
    exit(99);
  return bytes;
}

static void check_bert(void) {
  static const char *const choices[] = {"false", "true"};
  char *json = read_golden("wordpiece-uncased");
  for (int i = 0; i < 16; i++) {
    char value[300], name[40];
    snprintf(
        value, sizeof value,
        " {\"type\":\"BertNormalizer\",\"clean_text\":%s,\"handle_chinese_chars\":%s,\"strip_accents\":%s,\"lowercase\":%s},",
        choices[i & 1], choices[i >> 1 & 1], choices[i >> 2 & 1], choices[i >> 3 & 1]);
    snprintf(name, sizeof name, "bert %d", i);
    char *changed = replace_part(json, "\"normalizer\":", "\"pre_tokenizer\"", value);
    check_json(name, changed, BRIM_PATH_BERT);
    free(changed);
  }
  brim_runtime_release(runtime, json);
}

static void check_bpe(void) {
  char *json = read_golden("byte-bpe");
  check_json("byte-bpe", json, BRIM_PATH_BYTES);
  char *composed = replace_part(json, "\"normalizer\":", "\"pre_tokenizer\"", " {\"type\":\"NFC\"},");
  check_json("byte-bpe with NFC", composed, BRIM_PATH_BYTES);
  free(composed);
  brim_runtime_release(runtime, json);
}

static void check_unigram(void) {
  static const char spaced[] =
      " {\"type\":\"Metaspace\",\"replacement\":\"\u2581\",\"prepend_scheme\":\"always\",\"split\":true},";
  char *json = read_golden("unigram");
  check_json("unigram", json, BRIM_PATH_SPACED);
  char *meta = replace_part(json, "\"pre_tokenizer\":", "\"post_processor\"", spaced);
  char *french = replace_part(meta, "\"normalizer\":", "\"pre_tokenizer\"",
                              " {\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Replace\",\"pattern\":{\"Regex\":"
                              "\"\\\\s{2,}|[\\\\n\\\\r\\\\t]\"},\"content\":\" \"},"
                              "{\"type\":\"Strip\",\"strip_left\":false,\"strip_right\":true}]},");
  check_json("unigram as CamemBERT", french, BRIM_PATH_SPACED);
  const char *map = strstr(json, "{\"type\": \"Precompiled\"");
  if (!map)
    map = strstr(json, "{\"type\":\"Precompiled\"");
  const char *map_end = map ? strchr(map, '}') : NULL;
  char *sequence = map_end ? malloc(strlen(json) + 400) : NULL;
  if (sequence) {
    sprintf(sequence,
            " {\"type\":\"Sequence\",\"normalizers\":[%.*s},{\"type\":\"Strip\",\"strip_left\":false,\"strip_right\":true},"
            "{\"type\":\"Replace\",\"pattern\":{\"Regex\":\" {2,}\"},\"content\":\"\u2581\"}]},",
            (int)(map_end - map), map);
    char *spm = replace_part(meta, "\"normalizer\":", "\"pre_tokenizer\"", sequence);
    check_json("unigram as SentencePiece", spm, BRIM_PATH_SPACED);
    free(spm);
  }
  ok(sequence != NULL, "the charsmap is found");
  free(sequence);
  free(french);
  free(meta);
  brim_runtime_release(runtime, json);
}

int main(void) {
  if (!getenv("BRIM_SOURCE"))
    return 99;
  for (int level = level_after(LEVEL_REF); level < LEVEL_END; level = level_after(level)) {
    const brim_runtime_options options = {.cpu = brim_cpu_name((brim_cpu_level)level)};
    if (brim_runtime_new(&options, &runtime, NULL) != BRIM_OK)
      return 99;
    printf("# %s\n", options.cpu);
    check_bert();
    check_bpe();
    check_unigram();
    check_long();
    brim_runtime_free(runtime);
  }
  ok(cuts > 1000, "texts were cut at %d places", cuts);
  return tap_done();
}
