"""Folders of tokenizers: each of the small tokenizers as models publish it, and each edit of the files beside it.

What transformers gives for them is in tokenizer_folders.json. tests/python/test_folders.py holds brim to it without transformers,
test_torch_folders.py with it; tests/python/tokenizer_folders.py --regenerate writes the file (in an environment that has it)."""
import functools
import json
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
TOKENIZERS = HERE.parent / "golden" / "tokenizers"
EXPECTED = HERE / "tokenizer_folders.json"

TEXTS = ["Hello  World, naïve café's [E1] it's <e2>", "中文 ÀÉ [CLS] the film <s> [SEP] </s>", "a <mask> b [MASK]  c[E1]d <pad>[PAD]",
         " leading, HOTEL\tx\u00a0y\n", "[e1] unaffable <E2> image <img>", ""]
PAIR = ("The first text [E1]", "and Ünother one")

BERT_ROLES = {"unk_token": "[UNK]", "sep_token": "[SEP]", "pad_token": "[PAD]", "cls_token": "[CLS]", "mask_token": "[MASK]"}
ROBERTA_ROLES = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "sep_token": "</s>", "pad_token": "<pad>", "cls_token": "<s>",
                 "mask_token": "<mask>"}
MPNET_ROLES = {**ROBERTA_ROLES, "cls_token": "[CLS]", "bos_token": "[CLS]", "sep_token": "[SEP]", "eos_token": "[SEP]", "unk_token": "[UNK]",
               "pad_token": "[PAD]", "mask_token": "[MASK]"}
# name, tokenizer, model_type, class, roles, other settings
BASES = [
    ("bert-cased", "wordpiece-cased", "bert", "BertTokenizer", BERT_ROLES, {"do_lower_case": False}),
    ("bert-uncased", "wordpiece-uncased", "bert", "BertTokenizerFast", BERT_ROLES, {"do_lower_case": True}),
    ("distilbert", "wordpiece-uncased", "distilbert", "DistilBertTokenizer", BERT_ROLES, {"do_lower_case": True}),
    ("mpnet", "wordpiece-uncased", "mpnet", "MPNetTokenizer", MPNET_ROLES, {"do_lower_case": True}),
    ("roberta", "byte-bpe", "roberta", "RobertaTokenizer", ROBERTA_ROLES, {"add_prefix_space": False}),
    ("deberta", "byte-bpe", "deberta", "DebertaTokenizer", ROBERTA_ROLES, {"add_prefix_space": False}),
    ("modernbert", "byte-bpe", "modernbert", "PreTrainedTokenizerFast", ROBERTA_ROLES, {}),
    ("eurobert", "byte-bpe", "eurobert", "PreTrainedTokenizerFast", ROBERTA_ROLES, {}),
    ("xlm-roberta", "unigram", "xlm-roberta", "XLMRobertaTokenizerFast", ROBERTA_ROLES, {}),
    ("camembert", "unigram", "camembert", "CamembertTokenizer", ROBERTA_ROLES, {}),
    ("albert", "unigram", "albert", "AlbertTokenizer", ROBERTA_ROLES, {"do_lower_case": False}),
    ("deberta-v2", "unigram", "deberta-v2", "DebertaV2Tokenizer", ROBERTA_ROLES, {"do_lower_case": False}),
]


@functools.lru_cache
def text_of(tokenizer):
    return (TOKENIZERS / tokenizer / "tokenizer.json").read_text(encoding="utf-8")


@functools.lru_cache
def shared(text):
    """What a tokenizer.json says, to be looked at."""
    return json.loads(text)


def base_files(base):
    """The files of a folder: objects, or texts."""
    _, tokenizer, model_type, tokenizer_class, roles, settings = base
    return {"tokenizer.json": text_of(tokenizer), "config.json": {"model_type": model_type},
            "tokenizer_config.json": {**settings, **roles, "model_max_length": 64, "tokenizer_class": tokenizer_class},
            "special_tokens_map.json": dict(roles)}


def config(**members):
    """An edit that adds to tokenizer_config.json."""
    return lambda files: files["tokenizer_config.json"].update(members)


def own(files):
    """What tokenizer.json says, to be edited."""
    if isinstance(files["tokenizer.json"], str):
        files["tokenizer.json"] = json.loads(files["tokenizer.json"])
    return files["tokenizer.json"]


def token(content, **flags):
    return {"content": content, "lstrip": False, "normalized": False, "rstrip": False, "single_word": False, "special": False, **flags}


def next_id(files):
    found = shared(files["tokenizer.json"])
    return max([len(found["model"]["vocab"]) - 1, *(t["id"] for t in found["added_tokens"])]) + 1


def decoder(files, *more):
    """added_tokens_decoder with the file's own tokens and more."""
    listed = {str(t["id"]): {k: v for k, v in t.items() if k != "id"} for t in shared(files["tokenizer.json"])["added_tokens"]}
    listed.update({str(next_id(files) + i): t for i, t in enumerate(more)})
    files["tokenizer_config.json"]["added_tokens_decoder"] = listed


def added_file(files):
    first = next_id(files)
    files["added_tokens.json"] = {"[E1]": first, "<e2>": first + 1}


def flip(key):
    def edit(files):
        files["tokenizer_config.json"][key] = not files["tokenizer_config.json"].get(key, key == "tokenize_chinese_chars")
    return edit


def older(files):
    """The files that were used before tokenizer.json."""
    model = shared(files.pop("tokenizer.json"))["model"]
    if model.get("type") == "Unigram":
        return False
    if "merges" in model:
        files["vocab.json"] = model["vocab"]
        files["merges.txt"] = "#version: 0.2\n" + "".join((m if isinstance(m, str) else " ".join(m)) + "\n" for m in model["merges"])
        return True
    files["vocab.txt"] = "".join(text + "\n" for text, _ in sorted(model["vocab"].items(), key=lambda item: item[1]))
    return True


def older_added(files):
    added_file(files)
    return older(files)


def older_bare(files):
    files["tokenizer_config.json"] = {}
    del files["special_tokens_map.json"]
    return older(files)


def without(*names):
    def edit(files):
        for name in names:
            del files[name]
    return edit


def own_normalizer(files):
    own(files)["normalizer"] = {"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "Lowercase"}, {"type": "StripAccents"}]}


def own_added(files):
    added = {"id": next_id(files), **token("[E1]", lstrip=True)}
    own(files)["added_tokens"].append(added)


def own_lost(files):
    own(files)["added_tokens"] = []


def own_split(files):
    own(files)["pre_tokenizer"] = {"type": "Whitespace"}


def own_ends(files):
    own(files)["post_processor"] = None


def own_truncation(files):
    own(files)["truncation"] = {"direction": "Left", "max_length": 7, "strategy": "LongestFirst", "stride": 0}
    files["tokenizer_config.json"]["model_max_length"] = 9


def own_word_limit(files):
    if shared(files["tokenizer.json"])["model"].get("type") != "WordPiece":
        return False
    own(files)["model"]["max_input_chars_per_word"] = 4
    return True


def map_update(**members):
    return lambda files: files["special_tokens_map.json"].update(members)


def both_extra(files):
    files["special_tokens_map.json"]["additional_special_tokens"] = ["<e2>"]
    files["tokenizer_config.json"]["extra_special_tokens"] = ["[E1]"]


def both_added(files):
    added_file(files)
    decoder(files, token("<e2>"))


def wrong_id(files):
    files["added_tokens.json"] = {"[E1]": next_id(files) + 40}


EDITS = {
    "none": lambda files: None,
    "lower case": flip("do_lower_case"),
    "accents stripped": config(strip_accents=True),
    "accents kept": config(strip_accents=False),
    "Chinese characters": flip("tokenize_chinese_chars"),
    "prefix space": flip("add_prefix_space"),
    "added_tokens.json": added_file,
    "added_tokens.json with an id of its own": wrong_id,
    "added_tokens_decoder": lambda files: decoder(files, token("[E1]", lstrip=True, rstrip=True), token("<e2>", normalized=True)),
    "added_tokens_decoder against added_tokens.json": both_added,
    "added_tokens_decoder without the file's own": config(added_tokens_decoder={}),
    "additional_special_tokens": config(additional_special_tokens=["[E1]", "<e2>"]),
    "extra_special_tokens": config(extra_special_tokens=["[E1]"]),
    "extra_special_tokens by name": config(extra_special_tokens={"image_token": "<img>"}),
    "extra_special_tokens by name and additional_special_tokens": config(extra_special_tokens={"image_token": "<img>"},
                                                                         additional_special_tokens=["[E1]", "<e2>"]),
    "a token by its own name": config(image_token="<img>"),
    "additional_special_tokens of the map": map_update(additional_special_tokens=["[E1]"]),
    "extra tokens in both": both_extra,
    "another cls_token": config(cls_token="[E1]"),
    "another cls_token in the map": map_update(cls_token="[E1]"),
    "a word as sep_token": config(sep_token="the", eos_token="the"),
    "a mask that takes spaces": map_update(mask_token={"content": "<mask>", "lstrip": True, "rstrip": True, "normalized": False,
                                                       "single_word": False}),
    "split_special_tokens": config(split_special_tokens=True),
    "cut at the left": config(model_max_length=8, truncation_side="left"),
    "max_len": lambda files: files["tokenizer_config.json"].update(max_len=8) or files["tokenizer_config.json"].pop("model_max_length"),
    "truncation of tokenizer.json": own_truncation,
    "PreTrainedTokenizerFast": config(tokenizer_class="PreTrainedTokenizerFast"),
    "a class nobody knows": config(tokenizer_class="FooTokenizer"),
    "no class": lambda files: files["tokenizer_config.json"].pop("tokenizer_class") and None,
    "class of config.json": lambda files: files["config.json"].update(tokenizer_class=files["tokenizer_config.json"].pop("tokenizer_class")),
    "no config.json": without("config.json"),
    "no special_tokens_map.json": without("special_tokens_map.json"),
    "no tokenizer_config.json": without("tokenizer_config.json"),
    "nothing beside": without("tokenizer_config.json", "special_tokens_map.json"),
    "older files": older,
    "older files with added_tokens.json": older_added,
    "older files alone": older_bare,
    "another normalizer": own_normalizer,
    "another pre-tokenizer": own_split,
    "another limit of words": own_word_limit,
    "an added token in tokenizer.json": own_added,
    "no added tokens in tokenizer.json": own_lost,
    "no post-processor": own_ends,
    "no token_type_ids": config(model_input_names=["input_ids", "attention_mask"]),
}


def cases():
    """(name, files) of every base and edit that means something for it."""
    for base in BASES:
        for name, edit in EDITS.items():
            files = base_files(base)
            if edit(files) is not False:
                yield f"{base[0]}: {name}", files


def write(folder, files):
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_text(content if isinstance(content, str) else json.dumps(content, ensure_ascii=False), encoding="utf-8")
    return folder


def expected():
    """What transformers gave: {case: {"ids": [...], "cut": [...], "pair": ids and types} or {"refused": why}}."""
    stored = json.loads(EXPECTED.read_text(encoding="utf-8"))
    found = {}
    for name, own in stored["cases"].items():
        if "refused" in own:
            found[name] = own
            continue
        first = found.get(name.split(":")[0] + ": none", {})
        found[name] = {key: [first[key][int(i[1:])] if isinstance(i, str) else i for i in own[key]] for key in ("ids", "cut", "pair")}
    return found


def compare(found, own):
    """What differs between two tokenizers of a case."""
    return [key for key in ("ids", "cut", "pair") if found[key] != own[key]]


def of_brim(folder):
    """The same of brim; a refusal names two files, or the one and what it lacks."""
    import brim
    try:
        tokenizer = brim.Tokenizer(folder)
    except brim.Error as failure:
        return {"refused": str(failure)}
    pair = tokenizer.encode(*PAIR)
    return {"ids": [list(tokenizer.encode(text).ids) for text in TEXTS],
            "cut": [list(tokenizer.encode(text, max_length=tokenizer.max_length).ids) for text in TEXTS],
            "pair": [list(pair.ids), list(pair.type_ids)], "tokenizer": tokenizer}


def of_transformers(folder):
    """Ids of the texts, whole and cut at the folder's length, and of the pair with its types; or why there are none."""
    import transformers
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        cut = {"truncation": True} if tokenizer.model_max_length < 1e9 else {}
        pair = tokenizer(*PAIR)
        types = list(pair.get("token_type_ids", [0] * len(pair["input_ids"])))
        return {"ids": [tokenizer(text)["input_ids"] for text in TEXTS], "cut": [tokenizer(text, **cut)["input_ids"] for text in TEXTS],
                "pair": [pair["input_ids"], types]}
    except Exception as failure:  # whatever it is, nobody can train with such a folder there
        return {"refused": f"{type(failure).__name__}: {failure}".splitlines()[0][:120]}


def regenerate():
    import transformers
    stored, firsts = {}, {}
    with tempfile.TemporaryDirectory() as place:
        for number, (name, files) in enumerate(cases()):
            found = of_transformers(write(pathlib.Path(place, str(number)), files))
            base = name.split(":")[0]
            if name == f"{base}: none":
                firsts[base] = found
            elif "refused" not in found and "refused" not in firsts[base]:  # what is as without the edit is said by its place
                found = {key: [f"={i}" if row == firsts[base][key][i] else row for i, row in enumerate(found[key])] for key in found}
            stored[name] = found
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(own, separators=(',', ':'))}" for name, own in stored.items())
    EXPECTED.write_text(f'{{"transformers": "{transformers.__version__}", "cases": {{\n{lines}\n}}}}\n', encoding="utf-8")
    refused = [name for name, own in stored.items() if "refused" in own]
    print(f"{len(stored)} folders, of which transformers refuses {len(refused)}: {'; '.join(refused)}")


if __name__ == "__main__" and sys.argv[1:] == ["--regenerate"]:
    regenerate()
