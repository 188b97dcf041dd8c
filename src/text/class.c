/* class.c: which classes there are, and the parts of a tokenizer.json that each of them stands for. */
#include "text/class.h"
#include "base/status.h"
#include "text/fields.h"
#include <string.h>

const char *const brim_role_names[BRIM_ROLES] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                                 "pad_token", "cls_token", "mask_token"};

/* ---- the classes ------------------------------------------------------------------------------------------- */

#define BERT_ROLES    {NULL, NULL, "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"}
#define ROBERTA_ROLES {"<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>"}
#define DEBERTA_ROLES {"[CLS]", "[SEP]", "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"}
#define MPNET_ROLES   {"<s>", "</s>", "[UNK]", "</s>", "<pad>", "<s>", "<mask>"}
#define HERBERT_ROLES {NULL, NULL, "<unk>", "</s>", "<pad>", "<s>", "<mask>"}
#define GPT2_ROLES    {"<|endoftext|>", "<|endoftext|>", "<|endoftext|>"}
#define ALBERT_ROLES  {"[CLS]", "[SEP]", "<unk>", "[SEP]", "<pad>", "[CLS]", "[MASK]"}
/* A class: its name; how it makes tokens and texts, and ends them; the first and last token; the names of roles; what it has
 * besides. */
#define CLASS(title, makes, from, ending, begins, finishes, named, ...)                                                          \
  {.name = title "Tokenizer",                                                                                                    \
   .family = BRIM_##makes,                                                                                                       \
   .texts = BRIM_TEXTS_##from,                                                                                                   \
   .ends = BRIM_ENDS_##ending,                                                                                                   \
   .first = BRIM_ROLE_##begins,                                                                                                  \
   .last = BRIM_ROLE_##finishes,                                                                                                 \
   .roles = named##_ROLES,                                                                                                       \
   __VA_ARGS__}
#define BERT(title, ...)        CLASS(title, WORDPIECE, BERT, BERT, CLS, SEP, BERT, .lower = true, __VA_ARGS__)
#define ROBERTA(title)          CLASS(title, BPE, BYTES, ROBERTA, CLS, SEP, ROBERTA, .lower = false)
#define GPT2(title, named, ...) CLASS(title, BPE, BYTES, OWN, BOS, EOS, named, __VA_ARGS__)

static const brim_tokenizer_class classes[] = {
    BERT("Bert", .types = true),
    BERT("DistilBert", .types = false),
    BERT("Electra", .types = true),
    BERT("ConvBert", .types = true, .keeps = true),
    BERT("MobileBert", .types = true),
    BERT("SqueezeBert", .types = true),
    BERT("LayoutLM", .types = true),
    BERT("Lxmert", .types = true),
    BERT("DPRContextEncoder", .types = true, .always_lower = true),
    BERT("DPRQuestionEncoder", .types = true, .always_lower = true),
    ROBERTA("Roberta"),
    ROBERTA("Longformer"),
    ROBERTA("Bart"),
    ROBERTA("LED"),
    ROBERTA("Mvp"),
    GPT2("GPT2", GPT2, .lower = false),
    GPT2("CodeGen", GPT2, .lower = false),
    GPT2("Blenderbot", ROBERTA, .prefix_space = true, .mask_left_strip = true),
    CLASS("MPNet", WORDPIECE, BERT, ROBERTA, CLS, SEP, MPNET, .lower = true, .mask_left_strip = true, .role_objects = true),
    CLASS("Deberta", BPE, BYTES, DOUBLE, CLS, SEP, DEBERTA, .types = true),
    CLASS("XLMRoberta", UNIGRAM, PIECES, DOUBLE, BOS, EOS, ROBERTA, .prefix_space = true),
    CLASS("Camembert", UNIGRAM, PIECES, DOUBLE, BOS, EOS, ROBERTA, .prefix_space = true, .mask_left_strip = true,
          .unused = {"<s>NOTUSED", "</s>NOTUSED", "<unk>NOTUSED"}),
    CLASS("Albert", UNIGRAM, ALBERT, BERT, CLS, SEP, ALBERT, .lower = true, .prefix_space = true),
    CLASS("DebertaV2", UNIGRAM, DEBERTA, BERT, CLS, SEP, DEBERTA, .prefix_space = true, .types = true),
    CLASS("Herbert", BPE, HERBERT, HERBERT, CLS, SEP, HERBERT, .word_end = "</w>"),
};

/* Those of transformers that are not here, without "Tokenizer"; of two only the "Fast" one. */
static const char others[] =
    "Barthez Bartpho BertGeneration BertJapanese Bertweet BigBird BioGpt BlenderbotSmall ByT5 CLIP CTRL Canine Clvp "
    "CodeLlama Cohere CpmAnt Cpm DPRContextEncoderTokenizerFast DPRQuestionEncoderTokenizerFast DPRReader Dia Esm Esmc FNet "
    "FSMT FastSpeech2Conformer Flaubert Funnel GPTNeoXJapanese GPTNeoX GPTSw3 Gemma Lasr LayoutLMv2 LayoutLMv3 "
    "LayoutXLM Llama Luke M2M100 MBart50 MBart MLuke Marian MarkupLM Mgpstr MyT5 Nllb Nougat OpenAIGPT PLBart Parakeet "
    "Pegasus Perceiver Phobert ProphetNet Qwen2 Qwen3_5 Rag Reformer RemBert RoCBert RoFormer SeamlessM4T Siglip2 Siglip "
    "Speech2Text SpeechT5 Splinter T5 Tapas Tipsv2 Udop VideoPrism Vits Wav2Vec2CTC Wav2Vec2PhonemeCTC Whisper XGLM XLM "
    "XLNet";

static const char *const of_models[][2] = {{"bert", "BertTokenizer"},           {"ernie", "BertTokenizer"},
                                           {"distilbert", "BertTokenizer"},     {"electra", "BertTokenizer"},
                                           {"nomic_bert", "BertTokenizer"},     {"convbert", "BertTokenizer"},
                                           {"squeezebert", "BertTokenizer"},    {"layoutlm", "BertTokenizer"},
                                           {"megatron-bert", "BertTokenizer"},  {"mobilebert", "MobileBertTokenizer"},
                                           {"roberta", "RobertaTokenizer"},     {"longformer", "RobertaTokenizer"},
                                           {"bart", "RobertaTokenizer"},        {"mpnet", "MPNetTokenizer"},
                                           {"deberta", "DebertaTokenizer"},     {"xlm-roberta", "XLMRobertaTokenizer"},
                                           {"gte", "XLMRobertaTokenizer"},      {"jina_embeddings_v3", "XLMRobertaTokenizer"},
                                           {"camembert", "CamembertTokenizer"}, {"albert", "AlbertTokenizer"},
                                           {"deberta-v2", "DebertaV2Tokenizer"}};

static size_t without(const char *end, const char *name, size_t length) {
  const size_t size = strlen(end);
  return length > size && memcmp(name + length - size, end, size) == 0 ? length - size : length;
}

bool brim_class_is_other(const char *name, size_t length) {
  const size_t bare = without("Fast", name, length), stem = without("Tokenizer", name, bare);
  for (const char *at = others; *at; at += strspn(at, " ")) {
    const size_t size = strcspn(at, " ");
    if ((size == length || (size == stem && stem < bare)) && memcmp(at, name, size) == 0)
      return true;
    at += size;
  }
  return false;
}

bool brim_class_is_llama(const char *name, size_t length) {
  return brim_fields_is(name, without("Fast", name, length), "LlamaTokenizer");
}

const brim_tokenizer_class *brim_class_named(const char *name, size_t length) {
  length = without("Fast", name, length);
  for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
    if (brim_fields_is(name, length, classes[i].name))
      return &classes[i];
  return NULL;
}

const brim_tokenizer_class *brim_class_of_model(const char *model_type, size_t length) {
  for (size_t i = 0; i < sizeof of_models / sizeof *of_models; i++)
    if (brim_fields_is(model_type, length, of_models[i][0]))
      return brim_class_named(of_models[i][1], strlen(of_models[i][1]));
  return NULL;
}

bool brim_class_is_none(const char *model_type, size_t length) {
  return brim_fields_is(model_type, length, "modernbert") || brim_fields_is(model_type, length, "xlm-roberta-xl");
}

/* ---- settings ----------------------------------------------------------------------------------------------- */

int brim_class_settings_read(const brim_tokenizer_class *class, const brim_json_document *config, brim_class_settings *out,
                             brim_error *err) {
  *out = (brim_class_settings){.lower = class->lower,
                               .chinese = true,
                               .prefix_space = class->prefix_space,
                               .trim_offsets = true,
                               .accents = -1,
                               .unk_id = -1};
  if (!config)
    return BRIM_OK;
  const brim_json_value *root = brim_json_root(config), *accents = brim_json_get(root, "strip_accents");
  const struct {
    const char *key;
    bool *value;
  } flags[] = {{"do_lower_case", &out->lower},           {"tokenize_chinese_chars", &out->chinese},
               {"add_prefix_space", &out->prefix_space}, {"trim_offsets", &out->trim_offsets},
               {"keep_accents", &out->keep_accents},     {"split_by_punct", &out->split_punctuation}};
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
    BRIM_TRY(brim_json_read_bool(config, root, flags[i].key, flags[i].value, err));
  bool strip = false;
  BRIM_TRY(brim_json_read_bool(config, root, "strip_accents", &strip, err));
  if (accents && accents->kind == BRIM_JSON_BOOL)
    out->accents = strip;
  out->lower = out->lower || class->always_lower;
  return brim_json_read_int(config, root, "unk_id", 0, INT32_MAX - 1, &out->unk_id, err);
}

/* ---- writing: normalizers ----------------------------------------------------------------------------------- */

static void open_typed(brim_json_writer *json, const char *name, const char *type) {
  brim_json_open_object(json, name);
  brim_json_put_string(json, "type", type);
}

static void put_typed(brim_json_writer *json, const char *type) {
  open_typed(json, NULL, type);
  brim_json_close_object(json);
}

static void put_replace(brim_json_writer *json, const char *kind, const char *pattern, const char *content) {
  open_typed(json, NULL, "Replace");
  brim_json_open_object(json, "pattern");
  brim_json_put_string(json, kind, pattern);
  brim_json_close_object(json);
  brim_json_put_string(json, "content", content);
  brim_json_close_object(json);
}

static void put_charsmap(brim_json_writer *json, const char *name, const brim_json_value *charsmap) {
  open_typed(json, name, "Precompiled");
  brim_json_put_bytes(json, "precompiled_charsmap", charsmap->as.text, charsmap->length);
  brim_json_close_object(json);
}

static void put_bert_texts(brim_json_writer *json, const brim_class_settings *s) {
  open_typed(json, "normalizer", "BertNormalizer");
  brim_json_put_bool(json, "clean_text", true);
  brim_json_put_bool(json, "handle_chinese_chars", s->chinese);
  if (s->accents < 0)
    brim_json_put_string(json, "strip_accents", NULL);
  else
    brim_json_put_bool(json, "strip_accents", s->accents > 0);
  brim_json_put_bool(json, "lowercase", s->lower);
  brim_json_close_object(json);
  open_typed(json, "pre_tokenizer", "BertPreTokenizer");
  brim_json_close_object(json);
}

static void put_albert_normalizer(brim_json_writer *json, const brim_class_settings *s, const brim_json_value *charsmap) {
  open_typed(json, "normalizer", "Sequence");
  brim_json_open_array(json, "normalizers");
  put_replace(json, "String", "``", "\"");
  put_replace(json, "String", "''", "\"");
  if (!s->keep_accents) {
    put_typed(json, "NFKD");
    put_typed(json, "StripAccents");
  }
  if (s->lower)
    put_typed(json, "Lowercase");
  if (charsmap)
    put_charsmap(json, NULL, charsmap);
  brim_json_close_array(json);
  brim_json_close_object(json);
}

static void put_deberta_normalizer(brim_json_writer *json, const brim_class_settings *s) {
  open_typed(json, "normalizer", "Sequence");
  brim_json_open_array(json, "normalizers");
  if (s->lower)
    put_typed(json, "Lowercase");
  put_replace(json, "Regex", "\\s{2,}|[\\n\\r\\t]", " ");
  put_typed(json, "NFC");
  open_typed(json, NULL, "Strip");
  brim_json_put_bool(json, "strip_left", false);
  brim_json_put_bool(json, "strip_right", true);
  brim_json_close_object(json);
  brim_json_close_array(json);
  brim_json_close_object(json);
}

/* ---- writing: pre-tokenizers and decoders ------------------------------------------------------------------- */

/* A stage that looks at words as bytes. */
static void put_byte_level(brim_json_writer *json, const char *name, bool prefix_space) {
  open_typed(json, name, "ByteLevel");
  brim_json_put_bool(json, "add_prefix_space", prefix_space);
  brim_json_put_bool(json, "trim_offsets", true);
  brim_json_put_bool(json, "use_regex", true);
  brim_json_close_object(json);
}

static void put_metaspace(brim_json_writer *json, const char *name, const char *scheme) {
  open_typed(json, name, "Metaspace");
  brim_json_put_string(json, "replacement", "\u2581");
  brim_json_put_string(json, "prepend_scheme", scheme);
  brim_json_put_bool(json, "split", true);
  brim_json_close_object(json);
}

static void put_piece_words(brim_json_writer *json, const brim_tokenizer_class *class, const brim_class_settings *s) {
  const bool deberta = class->texts == BRIM_TEXTS_DEBERTA;
  const char *scheme = s->prefix_space ? "always" : deberta ? "first" : "never";
  open_typed(json, "pre_tokenizer", "Sequence");
  brim_json_open_array(json, "pretokenizers");
  if (!deberta)
    put_typed(json, "WhitespaceSplit");
  if (deberta && s->split_punctuation) {
    open_typed(json, NULL, "Punctuation");
    brim_json_put_string(json, "behavior", "Isolated");
    brim_json_close_object(json);
  }
  put_metaspace(json, NULL, scheme);
  brim_json_close_array(json);
  brim_json_close_object(json);
  put_metaspace(json, "decoder", scheme);
}

void brim_class_write(brim_json_writer *json, const brim_tokenizer_class *class, const brim_class_settings *s,
                      const brim_json_value *charsmap) {
  switch (class->texts) {
  case BRIM_TEXTS_BERT:
    put_bert_texts(json, s);
    open_typed(json, "decoder", "WordPiece");
    brim_json_put_string(json, "prefix", "##");
    brim_json_put_bool(json, "cleanup", true);
    brim_json_close_object(json);
    return;
  case BRIM_TEXTS_HERBERT:
    put_bert_texts(json, &(brim_class_settings){.chinese = true}); /* whatever is said */
    open_typed(json, "decoder", "BPEDecoder");
    brim_json_put_string(json, "suffix", class->word_end);
    brim_json_close_object(json);
    return;
  case BRIM_TEXTS_BYTES:
    brim_json_put_string(json, "normalizer", NULL);
    put_byte_level(json, "pre_tokenizer", s->prefix_space);
    put_byte_level(json, "decoder", true);
    return;
  case BRIM_TEXTS_PIECES:
    if (charsmap)
      put_charsmap(json, "normalizer", charsmap);
    else
      brim_json_put_string(json, "normalizer", NULL);
    break;
  case BRIM_TEXTS_ALBERT:
    put_albert_normalizer(json, s, charsmap);
    break;
  case BRIM_TEXTS_DEBERTA:
    put_deberta_normalizer(json, s);
    break;
  }
  put_piece_words(json, class, s);
}

/* ---- writing: post-processors ------------------------------------------------------------------------------- */

/* {"SpecialToken":{"id":"[CLS]","type_id":0}}, {"Sequence":{"id":"A","type_id":0}} */
static void put_piece(brim_json_writer *json, const char *kind, const char *id, size_t length, int type_id) {
  brim_json_open_object(json, NULL);
  brim_json_open_object(json, kind);
  brim_json_put_bytes(json, "id", id, length);
  brim_json_put_integer(json, "type_id", type_id);
  brim_json_close_object(json);
  brim_json_close_object(json);
}

static void put_special_entry(brim_json_writer *json, brim_marker t) {
  brim_json_put_name(json, t.text, t.length);
  brim_json_open_object(json, NULL);
  brim_json_put_bytes(json, "id", t.text, t.length);
  brim_json_open_array(json, "ids");
  brim_json_put_integer(json, NULL, t.id);
  brim_json_close_array(json);
  brim_json_open_array(json, "tokens");
  brim_json_put_bytes(json, NULL, t.text, t.length);
  brim_json_close_array(json);
  brim_json_close_object(json);
}

static void put_template(brim_json_writer *json, bool twice, int second_type, brim_marker first, brim_marker last) {
  open_typed(json, "post_processor", "TemplateProcessing");
  for (int pair = 0; pair < 2; pair++) {
    brim_json_open_array(json, pair ? "pair" : "single");
    put_piece(json, "SpecialToken", first.text, first.length, 0);
    put_piece(json, "Sequence", "A", 1, 0);
    put_piece(json, "SpecialToken", last.text, last.length, 0);
    if (pair && twice)
      put_piece(json, "SpecialToken", last.text, last.length, 0);
    if (pair) {
      put_piece(json, "Sequence", "B", 1, second_type);
      put_piece(json, "SpecialToken", last.text, last.length, second_type);
    }
    brim_json_close_array(json);
  }
  brim_json_open_object(json, "special_tokens");
  put_special_entry(json, first);
  if (first.length != last.length || memcmp(first.text, last.text, first.length) != 0)
    put_special_entry(json, last);
  brim_json_close_object(json);
  brim_json_close_object(json);
}

/* BertProcessing, RobertaProcessing: "sep": ["</s>", 2], ... */
static void open_markers(brim_json_writer *json, const char *type, brim_marker first, brim_marker last) {
  open_typed(json, "post_processor", type);
  for (int end = 1; end >= 0; end--) {
    const brim_marker t = end ? last : first;
    brim_json_open_array(json, end ? "sep" : "cls");
    brim_json_put_bytes(json, NULL, t.text, t.length);
    brim_json_put_integer(json, NULL, t.id);
    brim_json_close_array(json);
  }
}

void brim_class_write_ends(brim_json_writer *json, const brim_tokenizer_class *class, const brim_class_settings *settings,
                           brim_marker first, brim_marker last) {
  const bool bytes = class->texts == BRIM_TEXTS_BYTES;
  switch (class->ends) {
  case BRIM_ENDS_ROBERTA:
    open_markers(json, "RobertaProcessing", first, last);
    brim_json_put_bool(json, "trim_offsets", bytes ? settings->trim_offsets : true);
    brim_json_put_bool(json, "add_prefix_space", bytes && settings->prefix_space);
    brim_json_close_object(json);
    return;
  case BRIM_ENDS_HERBERT: /* ids that do not follow from the vocabulary */
    first.id = 0;
    last.id = 2;
    open_markers(json, "BertProcessing", first, last);
    brim_json_close_object(json);
    return;
  default:
    put_template(json, class->ends == BRIM_ENDS_DOUBLE, class->ends == BRIM_ENDS_BERT, first, last);
  }
}
