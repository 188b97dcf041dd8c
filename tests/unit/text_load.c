/* text_load: tokenizer files that are wrong, strange or old, and options that make no sense. */
#include "base/memory.h"
#include "brim/text.h"
#include "scratch.h"
#include "tap.h"
#include "text/tokenizer.h"

static brim_runtime *runtime;

/* What a file with one part changed leads to. */
typedef struct bad_file {
  const char *json;
  int status;
  const char *words; /* part of the message */
} bad_file;

#define WP(model)  "{\"model\":{\"type\":\"WordPiece\"," model "}}"
#define BPE(model) "{\"model\":{\"type\":\"BPE\"," model "}}"
#define UNI(model) "{\"model\":{\"type\":\"Unigram\"," model "}}"
#define MODEL      "\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"[UNK]\":0,\"a\":1}}"
#define WITH(part) "{" part "," MODEL "}"
#define TEMPLATE(single, specials)                                                                                               \
  "\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":" single ",\"pair\":[],\"special_tokens\":" specials "}"

static const bad_file bad_files[] = {
    {"", BRIM_E_FORMAT, ""},
    {"[]", BRIM_E_FORMAT, "object"},
    {"{}", BRIM_E_FORMAT, "model"},
    {"{\"model\":3}", BRIM_E_FORMAT, "model"},
    {"{\"model\":{}}", BRIM_E_UNSUPPORTED, "model"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":0}}}", BRIM_E_UNSUPPORTED, "WordLevel"},
    {WITH("\"colour\":1"), BRIM_E_UNSUPPORTED, "colour"},
    {WITH("\"version\":\"2.0\""), BRIM_E_UNSUPPORTED, "version"},
    {WP("\"vocab\":{}"), BRIM_E_FORMAT, "empty"},
    {WP("\"vocab\":[]"), BRIM_E_FORMAT, "vocab"},
    {WP("\"vocab\":{\"a\":\"b\"}"), BRIM_E_FORMAT, "whole number from 0"},
    {WP("\"vocab\":{\"a\":-1}"), BRIM_E_FORMAT, "whole number from 0"},
    {WP("\"vocab\":{\"a\":1.5}"), BRIM_E_FORMAT, "whole number from 0"},
    {WP("\"vocab\":{\"a\":1099511627776}"), BRIM_E_FORMAT, "whole number from 0"},
    {WP("\"vocab\":{\"a\":2000000000}"), BRIM_E_FORMAT, "whole number from 0"},
    {WP("\"vocab\":{\"a\":0,\"a\":1}"), BRIM_E_FORMAT, "twice"},
    {WP("\"vocab\":{\"a\":0,\"b\":0}"), BRIM_E_FORMAT, "twice"},
    {WP("\"vocab\":{\"a\":0},\"speed\":1"), BRIM_E_UNSUPPORTED, "speed"},
    {WP("\"vocab\":{\"a\":0},\"max_input_chars_per_word\":\"x\""), BRIM_E_FORMAT, "max_input_chars_per_word"},
    {BPE("\"vocab\":{\"a\":0}"), BRIM_E_FORMAT, "merges"},
    {BPE("\"vocab\":{\"a\":0},\"merges\":[\"a b\"]"), BRIM_E_FORMAT, "\"b\""},
    {BPE("\"vocab\":{\"a\":0,\"b\":1},\"merges\":[\"a b\"]"), BRIM_E_FORMAT, "\"ab\""},
    {BPE("\"vocab\":{\"a\":0},\"merges\":[\"a\"]"), BRIM_E_FORMAT, "two tokens"},
    {BPE("\"vocab\":{\"a\":0},\"merges\":[\"a a a\"]"), BRIM_E_FORMAT, "two tokens"},
    {BPE("\"vocab\":{\"a\":0},\"merges\":[[\"a\"]]"), BRIM_E_FORMAT, "two tokens"},
    {BPE("\"vocab\":{\"a\":0},\"merges\":[],\"dropout\":0.1"), BRIM_E_UNSUPPORTED, "dropout"},
    {UNI("\"vocab\":[]"), BRIM_E_FORMAT, "empty"},
    {UNI("\"vocab\":[[\"a\"]]"), BRIM_E_FORMAT, "piece"},
    {UNI("\"vocab\":[[\"a\",\"b\"]]"), BRIM_E_FORMAT, "piece"},
    {UNI("\"vocab\":[[\"a\",1e999]]"), BRIM_E_FORMAT, ""},
    {UNI("\"vocab\":[[\"a\",0]],\"unk_id\":1"), BRIM_E_FORMAT, "unk_id"},
    {UNI("\"vocab\":[[\"a\",0]],\"unk_id\":-1"), BRIM_E_FORMAT, "unk_id"},
    {WITH("\"normalizer\":{\"type\":\"Rot13\"}"), BRIM_E_UNSUPPORTED, "Rot13"},
    {WITH("\"normalizer\":{\"type\":\"NFC\",\"x\":1}"), BRIM_E_UNSUPPORTED, "\"x\""},
    {WITH("\"normalizer\":{\"type\":7}"), BRIM_E_FORMAT, "type"},
    {WITH("\"normalizer\":\"NFC\""), BRIM_E_FORMAT, "normalizer"},
    {WITH(TEMPLATE("[{\"SpecialToken\":[{\"id\":\"a\",\"type_id\":0}]}]", "{}")), BRIM_E_FORMAT, "an array, not an object"},
    {WITH(TEMPLATE("[{\"Sequence\":[1]}]", "{}")), BRIM_E_FORMAT, "an array, not an object"},
    {WITH(TEMPLATE("[{\"Sequence\":\"A\"}]", "{}")), BRIM_E_FORMAT, "a string, not an object"},
    {WITH(TEMPLATE("[{\"SpecialToken\":{\"id\":\"\",\"type_id\":0}}]", "[1,2]")), BRIM_E_FORMAT, "an array, not an object"},
    {WITH("\"added_tokens\":[[1,2]]"), BRIM_E_FORMAT, "object"},
    {WITH("\"normalizer\":{\"type\":\"Replace\",\"pattern\":[1],\"content\":\"\"}"), BRIM_E_FORMAT, "pattern"},
    {WITH("\"normalizer\":{\"type\":\"Sequence\"}"), BRIM_E_FORMAT, "normalizers"},
    {WITH("\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"!!!!\"}"), BRIM_E_FORMAT, "base64"},
    {WITH("\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"AAAA\"}"), BRIM_E_FORMAT, "cut"},
    {WITH("\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"AAAAQAAAAAA=\"}"), BRIM_E_FORMAT,
     "cut"}, /* 1 GiB */
    {WITH("\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"(?<=a)b\"},\"content\":\"\"}"), BRIM_E_UNSUPPORTED,
     "(?<=a)b"},
    {WITH("\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"a*\"},\"content\":\"\"}"), BRIM_E_UNSUPPORTED, "empty"},
    {WITH("\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"[a\"},\"content\":\"\"}"), BRIM_E_UNSUPPORTED, "class"},
    {WITH("\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"\\\\p{Han}\"},\"behavior\":\"Isolated\"}"),
     BRIM_E_UNSUPPORTED, "property"},
    {WITH("\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"\\\\p{L\"},\"behavior\":\"Isolated\"}"),
     BRIM_E_UNSUPPORTED, "property"},
    {WITH("\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"String\":\"a\"},\"behavior\":\"Eaten\"}"), BRIM_E_UNSUPPORTED,
     "behavior"},
    {WITH("\"pre_tokenizer\":{\"type\":\"UnicodeScripts\"}"), BRIM_E_UNSUPPORTED, "UnicodeScripts"},
    {WITH("\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"__\"}"), BRIM_E_FORMAT, "one character"},
    {WITH("\"post_processor\":{\"type\":\"Magic\"}"), BRIM_E_UNSUPPORTED, "Magic"},
    {WITH("\"post_processor\":{\"type\":\"BertProcessing\",\"sep\":[\"a\"],\"cls\":[\"a\",1]}"), BRIM_E_FORMAT, "sep"},
    {WITH("\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[],\"pair\":[],\"special_tokens\":{}}"),
     BRIM_E_UNSUPPORTED, "once"},
    {WITH("\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"q\",\"type_id\":0}}]}"),
     BRIM_E_FORMAT, "\"q\""},
    {WITH("\"decoder\":{\"type\":\"CTC\"}"), BRIM_E_UNSUPPORTED, "CTC"},
    {WITH("\"added_tokens\":{}"), BRIM_E_FORMAT, "added_tokens"},
    {WITH("\"added_tokens\":[3]"), BRIM_E_FORMAT, "added token"},
    {WITH("\"added_tokens\":[{\"id\":9,\"content\":\"new\"}]"), BRIM_E_FORMAT, "says id 9"},
    {WITH("\"added_tokens\":[{\"id\":2,\"content\":\"new\",\"colour\":0}]"), BRIM_E_UNSUPPORTED, "colour"},
};

static int parse(const char *json, size_t length, brim_tokenizer **out, brim_error *err) {
  brim_tokenizer *t = brim_alloc_zero(runtime, sizeof *t);
  if (!t)
    exit(99);
  t->runtime = runtime;
  int status = brim_tokenizer_parse(t, json, length, "tokenizer.json", err);
  if (status != BRIM_OK || !out) {
    brim_tokenizer_free(t);
    t = NULL;
  }
  if (out)
    *out = t;
  return status;
}

static void check_bad_files(void) {
  for (size_t i = 0; i < sizeof bad_files / sizeof *bad_files; i++) {
    const bad_file *b = &bad_files[i];
    brim_error err = {0};
    int status = parse(b->json, strlen(b->json), NULL, &err);
    bool good = status == b->status && strstr(err.message, b->words) && strcmp(err.file, "tokenizer.json") == 0;
    if (!ok(good, "refused: %.70s", b->json))
      printf("# status %d, \"%s\" in \"%s\"\n", status, err.message, err.file);
  }
  char deep[8000] = "{\"normalizer\":";
  for (int i = 0; i < 40; i++)
    strcat(deep, "{\"type\":\"Sequence\",\"normalizers\":[");
  for (int i = 0; i < 40; i++)
    strcat(deep, "]}");
  strcat(deep, "," MODEL "}");
  brim_error err = {0};
  ok(parse(deep, strlen(deep), NULL, &err) == BRIM_E_FORMAT && strstr(err.message, "deep"), "deep nesting: %s", err.message);
}

/* Every cut of a good file is an error with a place. */
static void check_cuts(void) {
  static const char json[] = WITH("\"normalizer\":{\"type\":\"NFC\"},\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"}");
  bool good = parse(json, sizeof json - 1, NULL, NULL) == BRIM_OK;
  for (size_t i = 0; i + 1 < sizeof json; i++) {
    brim_error err = {0};
    good = good && parse(json, i, NULL, &err) == BRIM_E_FORMAT && err.byte >= 0;
  }
  ok(good, "a file may be cut anywhere");
}

static void check_holes(void) {
  static const char json[] = WP("\"vocab\":{\"[UNK]\":0,\"a\":900}");
  brim_tokenizer *t;
  size_t length;
  ok(parse(json, sizeof json - 1, &t, NULL) == BRIM_OK, "ids may have holes");
  ok_int(brim_tokenizer_vocab_size(t), 901, "one more than the highest id");
  ok(brim_tokenizer_token(t, 5, &length) == NULL && brim_tokenizer_token(t, 901, &length) == NULL, "a hole has no token");
  ok_int(brim_tokenizer_token_id(t, "a", 1), 900, "id of a token");
  ok_int(brim_tokenizer_pad_id(t), -1, "no padding token");
  brim_tokenizer_free(t);
}

/* ---- old files -------------------------------------------------------------------------------------------- */

static void write_file(const char *folder, const char *name, const char *text) {
  char path[600];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *f = fopen(path, "w");
  if (!f || fputs(text, f) < 0 || fclose(f) != 0)
    exit(99);
}

static size_t encode(const brim_tokenizer *t, const char *text, const char *pair, const brim_encode_options *options,
                     int32_t *ids) {
  brim_scratch *scratch;
  brim_encoding encoding = {0};
  if (brim_scratch_new(runtime, t, &scratch, NULL) != BRIM_OK)
    exit(99);
  int status = brim_tokenizer_encode(t, scratch, text, strlen(text), pair, pair ? strlen(pair) : 0, options, &encoding, NULL);
  size_t length = status == BRIM_OK ? encoding.length : SIZE_MAX;
  for (size_t i = 0; status == BRIM_OK && i < length && i < 16; i++)
    ids[i] = encoding.ids[i];
  brim_encoding_free(&encoding);
  brim_scratch_free(scratch);
  return length;
}

static void check_vocabulary(void) {
  brim_tokenizer *t;
  brim_error err = {0};
  int32_t ids[16];
  const char *folder = scratch_file("old"), *saved = scratch_file("saved");
  mkdir(folder, 0777);
  write_file(folder, "vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nHello\nhello\n##s\n\u00e9\ne\n");
  ok(brim_tokenizer_load(runtime, folder, &t, &err) == BRIM_OK, "a folder with vocab.txt %s", err.message);
  ok(encode(t, "Hellos \u00e9[MASK]", NULL, NULL, ids) == 6 && ids[1] == 6 && ids[2] == 7 && ids[3] == 9 && ids[4] == 4,
     "without a config: lower case, no accents");
  brim_tokenizer_free(t);
  write_file(folder, "tokenizer_config.json", "{\"do_lower_case\": false, \"pad_token\": {\"content\": \"[PAD]\"}}");
  ok(brim_tokenizer_load(runtime, folder, &t, &err) == BRIM_OK, "with a config %s", err.message);
  ok(encode(t, "Hellos \u00e9", NULL, NULL, ids) == 5 && ids[1] == 5 && ids[2] == 7 && ids[3] == 8, "the config is heeded");
  ok_string(brim_tokenizer_family(t), "wordpiece", "family");
  ok_int(brim_tokenizer_pad_id(t), 0, "padding token");
  ok(brim_tokenizer_added(t, false) == 2 && brim_tokenizer_added(t, true) == 3, "special tokens of a text and of a pair");
  uint64_t fingerprint = brim_tokenizer_fingerprint(t);
  ok(brim_tokenizer_save(t, saved, NULL, &err) == BRIM_OK, "saved %s", err.message);
  brim_tokenizer_free(t);
  ok(brim_tokenizer_load(runtime, saved, &t, &err) == BRIM_OK, "what was saved loads %s", err.message);
  ok(brim_tokenizer_fingerprint(t) == fingerprint, "and is the same");
  brim_tokenizer_free(t);
  write_file(folder, "vocab.txt", "[PAD]\n[UNK]\n");
  ok(brim_tokenizer_load(runtime, folder, &t, &err) == BRIM_E_FORMAT && strstr(err.message, "cls_token"), "no [CLS]: %s",
     err.message);
  write_file(folder, "vocab.txt", "[PAD]\n\xff\n");
  ok(brim_tokenizer_load(runtime, folder, &t, &err) == BRIM_E_FORMAT && err.line == 2, "malformed UTF-8 in line %d",
     (int)err.line);
  ok(brim_tokenizer_load(runtime, scratch_file("none"), &t, &err) == BRIM_E_IO && !t, "no such file: %s", err.message);
}

/* A byte-level vocabulary of two files: what a merge says is done. */
static void check_merges(void) {
  brim_tokenizer *t;
  brim_error err = {0};
  int32_t ids[16];
  const char *folder = scratch_file("two");
  mkdir(folder, 0777);
  write_file(folder, "vocab.json", "{\"<s>\":0,\"<pad>\":1,\"</s>\":2,\"<unk>\":3,\"a\":4,\"b\":5,\"c\":6,\"ab\":7,\"abc\":8}");
  write_file(folder, "merges.txt", "#version: 0.2\na b\nab c\n");
  write_file(folder, "tokenizer_config.json", "{\"tokenizer_class\": \"RobertaTokenizer\"}");
  ok(brim_tokenizer_load(runtime, folder, &t, &err) == BRIM_OK, "a folder with vocab.json and merges.txt %s", err.message);
  ok(encode(t, "abca", NULL, NULL, ids) == 4 && ids[0] == 0 && ids[1] == 8 && ids[2] == 4 && ids[3] == 2, "its merges are done");
  brim_tokenizer_free(t);
  write_file(folder, "merges.txt", "#version: 0.2\na b c\n");
  ok(brim_tokenizer_load(runtime, folder, &t, &err) == BRIM_E_FORMAT && err.line == 2, "line %d: %s", (int)err.line, err.message);
}

/* Where the merged token of a byte-level vocabulary is its first one, and nothing but tokens of merges is there: tables are as
 * large as all of them. */
static void check_first_token(void) {
  static const char json[] =
      "{\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":true,\"use_regex\":true},"
      "\"model\":{\"type\":\"BPE\",\"vocab\":{\"aaaaaaaaaaaaaaaa\":0,\"aaaaaaaa\":1,\"aaaa\":2,\"aa\":3,\"a\":4},"
      "\"merges\":[\"a a\",\"aa aa\",\"aaaa aaaa\",\"aaaaaaaa aaaaaaaa\"]}}";
  brim_tokenizer *t;
  brim_error err = {0};
  int32_t ids[16];
  ok(parse(json, sizeof json - 1, &t, &err) == BRIM_OK, "a merged token may be the first %s", err.message);
  ok(t->path == BRIM_PATH_BYTES, "a byte-level vocabulary is read fast");
  ok(encode(t, "aaaaaaaaaaaaaaaa", NULL, NULL, ids) == 1 && ids[0] == 0, "and is what its merges end with");
  brim_tokenizer_free(t);
}

#define SPECIAL(id, content)                                                                                                     \
  "{\"id\":" #id ",\"content\":\"[" content "]\",\"single_word\":false,\"lstrip\":false,\"rstrip\":false,"                       \
  "\"normalized\":false,\"special\":true}"
#define SPECIALS SPECIAL(0, "PAD") "," SPECIAL(1, "UNK") "," SPECIAL(2, "CLS") "," SPECIAL(3, "SEP") "," SPECIAL(4, "MASK")

/* A tokenizer.json that means what its class makes stays as it is. In one with another section the class decides. */
static void check_class(void) {
  static const char file[] =
      "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":[" SPECIALS "],"
      "\"normalizer\":{\"type\":\"BertNormalizer\",\"clean_text\":true,\"handle_chinese_chars\":true,\"strip_accents\":null,"
      "\"lowercase\":%s},\"pre_tokenizer\":{\"type\":\"%s\"},"
      "\"post_processor\":{\"type\":\"BertProcessing\",\"sep\":[\"[%s]\",%s],\"cls\":[\"[CLS]\",2]},"
      "\"decoder\":{\"type\":\"WordPiece\",\"prefix\":\"##\",\"cleanup\":true},"
      "\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\",\"continuing_subword_prefix\":\"##\",\"max_input_chars_per_"
      "word\":100,"
      "\"vocab\":{\"[PAD]\":0,\"[UNK]\":1,\"[CLS]\":2,\"[SEP]\":3,\"[MASK]\":4,\"a\":5}}}";
  static const char *const parts[][4] = {{"true", "BertPreTokenizer", "SEP", "3"},
                                         {"false", "BertPreTokenizer", "SEP", "3"},
                                         {"true", "WhitespaceSplit", "SEP", "3"},
                                         {"true", "BertPreTokenizer", "MASK", "4"}};
  static const int32_t want[] = {2, 5, 1, 5, 3};
  const char *folder = scratch_file("class"), *saved = scratch_file("class_saved");
  mkdir(folder, 0777);
  write_file(folder, "tokenizer_config.json", "{\"tokenizer_class\": \"BertTokenizer\"}");
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    char json[4096], path[600], *kept = NULL;
    brim_tokenizer *t;
    brim_error err = {0};
    int32_t ids[16];
    size_t length = 0;
    snprintf(json, sizeof json, file, parts[i][0], parts[i][1], parts[i][2], parts[i][3]);
    write_file(folder, "tokenizer.json", json);
    ok(brim_tokenizer_load(runtime, folder, &t, &err) == BRIM_OK, "a class next to a tokenizer.json %s", err.message);
    ok(encode(t, "A-A", NULL, NULL, ids) == 5 && memcmp(ids, want, sizeof want) == 0, "sections are the class's");
    ok(brim_tokenizer_save(t, saved, NULL, &err) == BRIM_OK, "saved %s", err.message);
    brim_tokenizer_free(t);
    snprintf(path, sizeof path, "%s/tokenizer.json", saved);
    ok(brim_file_read_all(runtime, path, 0, &kept, &length, &err) == BRIM_OK && (strcmp(kept, json) == 0) == (i == 0),
       i ? "another file is written for another section" : "the file's bytes are kept where it means the same");
    brim_runtime_release(runtime, kept);
  }
}

static void check_options(void) {
  static const char json[] = "{\"post_processor\":{\"type\":\"BertProcessing\",\"sep\":[\"s\",3],\"cls\":[\"c\",2]},"
                             "\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},\"model\":{\"type\":\"WordPiece\",\"vocab\":"
                             "{\"[UNK]\":0,\"a\":1,\"c\":2,\"s\":3,\"b\":4}}}";
  brim_tokenizer *t;
  brim_error err = {0};
  int32_t ids[16];
  if (parse(json, sizeof json - 1, &t, &err) != BRIM_OK)
    exit(99);
  brim_encode_options o = {.max_length = 1};
  ok(brim_encode_options_check(t, &o, false, &err) == BRIM_E_USAGE && strstr(err.message, "special"), "too short: %s",
     err.message);
  o.max_length = 2;
  ok(brim_encode_options_check(t, &o, false, NULL) == BRIM_OK && brim_encode_options_check(t, &o, true, NULL) == BRIM_E_USAGE,
     "a pair needs one more");
  ok(encode(t, "a b a", NULL, &o, ids) == 2 && ids[0] == 2 && ids[1] == 3, "room for the special tokens alone");
  o.max_length = -1;
  ok(brim_encode_options_check(t, &o, false, NULL) == BRIM_E_USAGE, "a negative length");
  o = (brim_encode_options){.max_length = 4, .truncation_side = BRIM_SIDE_LEFT};
  ok(encode(t, "a a b b", NULL, &o, ids) == 4 && ids[1] == 4, "from the left");
  char folder[300];
  brim_tokenizer *kept, *loaded;
  snprintf(folder, sizeof folder, "%s", scratch_file("cutting"));
  if (mkdir(folder, 0700))
    exit(99);
  write_file(folder, "tokenizer.json", json);
  const brim_tokenizer_saving cut = {.cutting = {BRIM_ONLY_SECOND, BRIM_SIDE_LEFT}};
  if (brim_tokenizer_load(runtime, folder, &loaded, &err) || brim_tokenizer_save(loaded, folder, &cut, &err) ||
      brim_tokenizer_load(runtime, folder, &kept, &err))
    exit(99);
  ok(brim_tokenizer_truncation(t) == BRIM_LONGEST_FIRST && brim_tokenizer_truncation(kept) == BRIM_ONLY_SECOND &&
         brim_tokenizer_truncates_left(kept),
     "a folder says which text is cut, and at which end");
  o = (brim_encode_options){.max_length = 7, .truncation_side = BRIM_SIDE_RIGHT};
  ok(encode(kept, "a a a", "b b b b", &o, ids) == 7 && ids[5] == 4 && ids[6] == 3, "which holds where nothing is said");
  o.truncation = BRIM_LONGEST_FIRST;
  ok(encode(kept, "a a a", "b b b b", &o, ids) == 7 && ids[3] == 3, "and not where it is");
  brim_tokenizer_free(kept);
  brim_tokenizer_free(loaded);
  o = (brim_encode_options){.max_length = 7, .truncation = BRIM_ONLY_SECOND};
  ok(encode(t, "a a a", "b b b b", &o, ids) == 7 && ids[5] == 4 && ids[6] == 3, "only the second");
  o.max_length = 6;
  ok(encode(t, "a a a", "b b b b", &o, ids) == SIZE_MAX, "nothing would be left");
  ok(encode(t, "a a a a", NULL, &o, ids) == 6, "short enough, so there is nothing to refuse");
  brim_tokenizer_free(t);
}

/* What would take hours, or all memory, ends with a line; what only looks like it goes through. */
static int encode_with(const char *part, const char *text, size_t length, brim_error *err) {
  static char json[16384];
  brim_tokenizer *t;
  brim_scratch *scratch;
  brim_encoding out = {0};
  snprintf(json, sizeof json, "{%s,%s}", part, MODEL);
  if (parse(json, strlen(json), &t, err) != BRIM_OK || brim_scratch_new(runtime, t, &scratch, NULL) != BRIM_OK)
    exit(99);
  int status = brim_tokenizer_encode(t, scratch, text, length, NULL, 0, NULL, &out, err);
  brim_encoding_free(&out);
  brim_scratch_free(scratch);
  brim_tokenizer_free(t);
  return status;
}

static void check_hostile(void) {
  enum { SPACES = 3000, DOUBLINGS = 28 };
  static char spaces[SPACES], part[16384];
  brim_error err = {0};
  memset(spaces, ' ', sizeof spaces);
  static const char slow[] = "\"pre_tokenizer\":{\"type\":\"Split\",\"behavior\":\"Isolated\",\"pattern\":"
                             "{\"Regex\":\"\\\\s*\\\\s*\\\\s*\\\\s*\\\\s*x\"}}";
  ok(encode_with(slow, spaces, SPACES, &err) == BRIM_E_UNSUPPORTED && strstr(err.message, "steps"), "a slow pattern: %s",
     err.message);
  ok(encode_with(slow, spaces, 20, &err) == BRIM_OK, "on a short text it ends");
  for (int kind = 0; kind < 2; kind++) { /* ByteLevel makes two of each character of two bytes, again and again */
    size_t n = (size_t)snprintf(part, sizeof part, "\"%s\":{\"type\":\"Sequence\",\"%s\":[",
                                kind ? "pre_tokenizer" : "normalizer", kind ? "pretokenizers" : "normalizers");
    for (int i = 0; i < DOUBLINGS; i++)
      n += (size_t)snprintf(part + n, sizeof part - n, "%s%s", i ? "," : "",
                            kind ? "{\"type\":\"ByteLevel\"}"
                                 : "{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"},\"content\":\"aa\"}");
    snprintf(part + n, sizeof part - n, "]}");
    ok(encode_with(part, "aa\u00e9", 4, &err) == BRIM_E_UNSUPPORTED && strstr(err.message, "characters"), "doublings: %s",
       err.message);
  }
  brim_runtime_cancel(runtime);
  ok(encode_with(slow, spaces, SPACES, &err) == BRIM_E_CANCELLED, "a slow pattern hears that it is to end");
}

int main(void) {
  if (brim_runtime_new(NULL, &runtime, NULL) != BRIM_OK)
    return 99;
  check_bad_files();
  check_cuts();
  check_holes();
  check_vocabulary();
  check_merges();
  check_first_token();
  check_class();
  check_options();
  check_hostile();
  brim_runtime_free(runtime);
  return tap_done();
}
