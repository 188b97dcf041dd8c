#!/usr/bin/env python3
"""Writes tests/golden/tokenizer_cases/*.jsonl.gz: texts that hurt, and what Hugging Face tokenizers makes of them.

    python3 -m venv /tmp/golden && /tmp/golden/bin/pip install tokenizers==0.23.3
    /tmp/golden/bin/python tools/make_tokenizer_golden.py

One JSON object a line. In variants.jsonl.gz "base" lines hold the parts of a tokenizer.json, each as text, and "variant" lines name a base
and the parts that differ; the cases that follow are that tokenizer's. Every other line of any file is a case: text, perhaps pair, perhaps options, and ids, types, from, to (characters become bytes of UTF-8), words (-1: a
special token). Surrogates cannot occur. `windows` holds the ids of every window where a stride is given.
"""

import gzip
import json
import pathlib
import sys

import tokenizers
from tokenizers import Tokenizer

HERE = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden"
WHEEL = "0.23.3"

WORDS = "The quick brown fox can't jump over the naïve façade: it's 3.14159 metres (or 10 feet) high — isn't it?"
TEXTS = [
    "", " ", "\n", "\t\r\n \u00a0\u2003\u3000", "a", "A", "the", "The", WORDS, "Hello, world! Hello  world !  ", "  leading", "trailing  ",
    "a\u0000b\u0001c\u001fd\u007fe\u0085f\u00adg\u200bh\ufeffi", "a\u000bb\u000cc\u001cd\u2028e\u2029f", "bad\ufffdchar \ufffe \uffff",
    "e\u0301 \u00e9 E\u0301 \u00c9 a\u0323\u0301 a\u0301\u0323 \u1ea1\u0301 \u1e9b\u0323", "\u0301 \u0301\u0302", "x\u0338\u0301\u0345y",
    "o" + "\u0301\u0323" * 40 + "k", "\uac00\uac01\u1100\u1161\u11a8 \u1100\u1161 \u11a8", "\u0130stanbul I\u0307 \u03a3\u03a3 \u03c2 \u1e9e \u00df",
    "\uff21\uff22\uff23 \uff41\u0301 \ufb01 \u2460 \u00bd \u2126 \u212b \u33a5", "\u304b\u3099 \u30ab\u3099 \u304c \uff76\uff9e",
    "中文字符 mixed 漢字kanji かな 한국어 \U00020000 \U0002b820 \U0002b920 \u3400", "हिन्दी क्षत्रिय தமிழ் ไทย ລາວ မြန်မာ", "עִבְרִית العربيّة فارسی",
    "😀👍🏽👨‍👩‍👧 🇫🇷🇩🇪 ©\u200d© \u2764\ufe0f", "\U0001d400\U0001d401 \U0001f600\u0301", "[CLS] [SEP][MASK] [UNK] [PAD]", "a[MASK]b [mask] [ MASK ]",
    "<s> </s><mask>  <mask>  x <pad><unk>", "x <mask> y", "  <mask>", "<mask><mask>", "\uff1cs\uff1e", "▁ ▁a a▁b ▁▁",
    "''' 's 'S 'tis don't DON'T we'll we'LL they've I'm I'M you're", "a  b   c    d     e", "a\n\nb\r\n\r\nc \n d\t\te", "a \u00a0 b\u00a0\u00a0c",
    "1234567890 1,000,000 ½ Ⅷ ² ٣ १२३", "!!! ... ,,, ??? $$$ ++ == ~~ `` ^^ || __ -- — – … ‘’ “” « »", "http://example.com/a_b?c=d&e=f#g",
    "snake_case camelCase kebab-case a.b.c x@y.z", "supercalifragilisticexpialidocious antidisestablishmentarianism",
    "x" * 99, "x" * 100, "x" * 101, "é" * 100, "é" * 101, "ab" * 60, "a" * 1000, "'" * 300, "中" * 200, " " * 200, "\n" * 100,
    "a" + " " * 30 + "b" + " " * 24 + "c", "\u0f71\u0f72\u0f74\u0f80 \u0f73 \u0f75 \u0f81", "\u0344 \u0340\u0341 \u0343 \u0374 \u037e \u0387",
    "\u1d15e\U0001d15e \U0001d1bf", "\u2f800\U0002f800 \uf900", "\u115f\u1160 \u3164 \uffa0", "\ufdfa \ufdfb \u3300", "ab\u0903\u093ecd\u20dd",
    "\u0600\u06011 \u06dd2 \U000110bd3 \u08e2", "A\u030a\u0327 c\u0327\u030c", "\u00c5\u212b", "fi\u0301n \u0149 \u01c4 \u01f0 \u0390",
    "Ünïcödé ÀÉÎÕÜ ŁØĐ ŒÆ þð", "Ἀρχή Κόσμος ΟΔΥΣΣΕΥΣ", "Привет, МИР! ёЁ йЙ", "x\U000e0067\U000e007f y\ue000 \U000f0000", "\u180e\u1680\u2007\u202f\u205f|",
]
PAIRS = [("", ""), ("a", ""), ("", "b"), ("A woman is peeling some fish.", "She is cooking."), (WORDS, "short"), ("short", WORDS), (WORDS, WORDS)]
OPTIONS = [
    {}, {"max_length": 4}, {"max_length": 7}, {"max_length": 12, "left": True}, {"max_length": 16, "strategy": "only_first"},
    {"max_length": 9, "special": False}, {"special": False}, {"max_length": 30, "strategy": "only_second"},
    {"max_length": 12, "stride": 3}, {"max_length": 11, "stride": 2, "left": True}, {"max_length": 40, "strategy": "only_first", "stride": 5},
]


def byte_offsets(text):
    places = [0]
    for c in text:
        places.append(places[-1] + len(c.encode()))
    return places


def outputs(encoding, text, pair):
    places = [byte_offsets(text), byte_offsets(pair or "")]
    sequences = encoding.sequence_ids
    start, stop = [], []
    for (a, b), s in zip(encoding.offsets, sequences):
        start.append(places[s][a] if s is not None else 0)
        stop.append(places[s][b] if s is not None else 0)
    return {"ids": encoding.ids, "types": encoding.type_ids, "from": start, "to": stop,
            "words": [-1 if w is None else w for w in encoding.word_ids]}


def case(tokenizer, text, pair, options):
    tokenizer.no_truncation()
    special = options.get("special", True)
    if "max_length" in options:
        added = tokenizer.num_special_tokens_to_add(pair is not None) if special else 0
        if options["max_length"] < added:
            return None
        if options.get("stride", 0) and options["max_length"] - added <= options["stride"]:
            return None
        tokenizer.enable_truncation(options["max_length"], stride=options.get("stride", 0), strategy=options.get("strategy", "longest_first"),
                                    direction="left" if options.get("left") else "right")
    record = {"text": text}
    if pair is not None:
        record["pair"] = pair
    if options:
        record["options"] = options
    try:
        encoding = tokenizer.encode(text, pair, add_special_tokens=special)
    except KeyboardInterrupt:
        raise
    except BaseException:  # refused, or a panic of the wheel (no Exception)
        record["refused"] = True
        return record
    record.update(outputs(encoding, text, pair))
    if "stride" in options:
        record["windows"] = [e.ids for e in encoding.overflowing]
    else:
        tokenizer.no_truncation()
        record["decoded"] = tokenizer.decode(encoding.ids, skip_special_tokens=False)
        record["decoded_plain"] = tokenizer.decode(encoding.ids, skip_special_tokens=True)
    return record


# ---- variants: every component, on tokenizers of a few hundred tokens -----------------------------------------------

LETTERS = "abcdefghijklmnopqrstuvwxyz"
PLAIN = ("  The cat's 12,345 dogs don't un-happily  re-run: A[B]\t<x>_y \n\n''we'll see... 3.14\u00bd\u2168 (zq zq) THE end!! the [MASK]  x<mask> y"
         "  x[MASK]y \u2581a\u2581 ")
STRANGE = ("\u00c9t\u00e9 e\u0301\u0323 \ufb01 \uff21\u0301 \u0130I\u0307 \u00df\u1e9e \u4e2d\u6587\u3400 \uac01\u1100\u1161 \u00a0\u3000x\u2028y\u0085z\u200b\ufeff\u0000q\u000bw "
           "\u0915\u094d\u0937 \U0001f468\u200d\U0001f469 \u3042\u3099 \u201cquo\u201d\u2026 \ufffd \u0661\u0662 \u2126\u212b \u180ea\u00ad")


def byte_characters():
    """The character that stands for each byte in byte-level tokenizers."""
    kept = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    moved = [b for b in range(256) if b not in kept]
    return [chr(b) if b in kept else chr(256 + moved.index(b)) for b in range(256)]


def base_parts(model, specials, **parts):
    vocab = model["vocab"]
    ids = dict(vocab) if isinstance(vocab, dict) else {piece: i for i, (piece, _) in enumerate(vocab)}
    added = [{"id": ids[t], "content": t, "single_word": False, "lstrip": t == "<mask>", "rstrip": False, "normalized": False, "special": True}
             for t in specials]
    return {"added_tokens": added, "normalizer": None, "pre_tokenizer": None, "post_processor": None, "decoder": None, **parts, "model": model}


def bases():
    words = ["the", "cat", "dog", "un", "happi", "re", "run", "end", "we", "see", "the", "The", "x", "zq"]
    pieces = ["##" + p for p in [*LETTERS, "ing", "ly", "s", "\u0301", "\u00e9"]]
    marks = list("'\",.:!?-()[]<>_0123456789ABCT\u00e9\u00df\u4e2d\u6587\u1100\u1161\u0915\u2026\u00bd")
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS, *words, *pieces, *marks]
    vocab = {t: i for i, t in enumerate(dict.fromkeys(tokens))}
    yield "wordpiece", base_parts(
        {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 20, "vocab": vocab},
        ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], pre_tokenizer={"type": "BertPreTokenizer"},
        normalizer={"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True},
        post_processor={"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]}, decoder={"type": "WordPiece", "prefix": "##", "cleanup": True})
    merges = [["t", "h"], ["th", "e"], ["\u0120", "the"], ["\u0120", "d"], ["o", "g"], ["\u0120d", "og"], ["'", "s"], ["\u00c3", "\u00a9"], ["1", "2"], [".", "."],
              ["\u0120", "x"], ["u", "n"], ["\u0120", "\u0120"]]
    tokens = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", *byte_characters(), *("".join(m) for m in merges)]
    yield "bpe", base_parts(
        {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": "", "end_of_word_suffix": "", "fuse_unk": False,
         "vocab": {t: i for i, t in enumerate(tokens)}, "merges": merges}, ["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
        pre_tokenizer={"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        post_processor={"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0], "trim_offsets": True, "add_prefix_space": False},
        decoder={"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True})
    scored = [(c, -7.0 - i / 16) for i, c in enumerate(LETTERS)] + [("\u2581", -3.5), ("\u2581the", -2.25), ("the", -4.5), ("\u2581d", -5.0), ("og", -5.5),
              ("\u2581dog", -6.0), ("un", -5.25), ("\u2581un", -5.25), ("\u00e9", -8.0), ("..", -6.5), (".", -6.5), ("'", -5.0), ("1", -6.0), ("12", -6.25),
              ("\u4e2d", -9.0), ("\u2581\u2581", -4.0), ("<s>", 0.0), ("</s>", 0.0), ("<mask>", 0.0)]
    pieces = [["<pad>", 0.0], ["<unk>", 0.0], *map(list, scored)]
    yield "unigram", base_parts(
        {"type": "Unigram", "unk_id": 1, "vocab": pieces}, ["<pad>", "<unk>", "<s>", "</s>", "<mask>"],
        pre_tokenizer={"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True},
        post_processor=template("<s> A </s>", "<s> A </s> </s> B </s>", {p[0]: i for i, p in enumerate(pieces)}),
        decoder={"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True})


def template(single, pair, ids):
    """TemplateProcessing from words such as "<s> A </s> B:1"."""

    def parts(text):
        for word in text.split():
            name, _, type_id = word.partition(":")
            kind = "Sequence" if name in ("A", "B") else "SpecialToken"
            yield {kind: {"id": name, "type_id": int(type_id or 0)}}

    names = {word.partition(":")[0] for word in (single + " " + pair).split()} - {"A", "B"}
    return {"type": "TemplateProcessing", "single": list(parts(single)), "pair": list(parts(pair)),
            "special_tokens": {n: {"id": n, "ids": [ids[n]], "tokens": [n]} for n in sorted(names)}}


def model_changes(name, model):
    def but(**changes):
        return {"model": {**model, **changes}}

    fallback = [f"<0x{b:02X}>" for b in range(256)]
    if name == "wordpiece":
        yield from (but(max_input_chars_per_word=3), but(continuing_subword_prefix=""), but(unk_token="x"))
    elif name == "bpe":
        vocab = model["vocab"]
        holes = {t: i for t, i in vocab.items() if t not in ("e", "\u0120", "the", "\u0120the", "\u0120d", "\u0120dog", "\u0120x", "\u0120\u0120")}
        merges = [m for m in model["merges"] if all(t in holes for t in (*m, "".join(m)))]
        bytes_too = {**vocab, **{t: 1000 + i for i, t in enumerate(fallback)}}
        raw = {"pre_tokenizer": {"type": "WhitespaceSplit"}}
        yield but(ignore_merges=True, merges=model["merges"][3:])
        yield but(vocab=holes, merges=merges)
        for options in ({"unk_token": "<unk>"}, {"unk_token": "<unk>", "fuse_unk": True}, {"ignore_merges": True}):
            yield but(vocab=holes, merges=merges, **options)
            yield {**but(**options), **raw}
            yield {**but(vocab=bytes_too, byte_fallback=True, **options), **raw}
        yield {**but(vocab={**vocab, "a</w>": 900, "e</w>": 901, "the</w>": 902}, merges=[*model["merges"], ["th", "e</w>"]], end_of_word_suffix="</w>"), **raw}
        yield but(merges=[" ".join(m) for m in model["merges"]])
    else:
        pieces = model["vocab"]
        yield from (but(vocab=[*pieces, *([t, -20.0] for t in fallback)], byte_fallback=True), but(vocab=[[p, -1.0] for p, _ in pieces]))


def normalizer_changes():
    def replace(pattern, content, kind="Regex"):
        return {"type": "Replace", "pattern": {kind: pattern}, "content": content}

    for kind in ("NFC", "NFD", "NFKC", "NFKD", "StripAccents", "Lowercase", "Nmt", "ByteLevel"):
        yield {"type": kind}
    for left, right in ((True, True), (True, False), (False, True)):
        yield {"type": "Strip", "strip_left": left, "strip_right": right}
    yield from ({"type": "Prepend", "prepend": "\u2581"}, replace(" ", "\u2581", "String"), replace("``|''", '"'), replace(" {2,}", "\u2581"),
                replace(r"\s{2,}|[\n\r\t]", " "), replace(r"[^a-z\p{L}]", ""))
    yield {"type": "Sequence", "normalizers": [{"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Lowercase"}, {"type": "Prepend", "prepend": "x"}]}
    for clean, chinese, accents, lower in ((False, True, None, True), (True, False, False, True), (True, True, True, False), (True, True, None, False)):
        yield {"type": "BertNormalizer", "clean_text": clean, "handle_chinese_chars": chinese, "strip_accents": accents, "lowercase": lower}
    yield json.loads((HERE / "tokenizers" / "unigram" / "tokenizer.json").read_text(encoding="utf-8"))["normalizer"]


def pretokenizer_changes():
    def split(pattern, behavior, invert=False, kind="Regex"):
        return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}

    for kind in ("WhitespaceSplit", "Whitespace", "BertPreTokenizer"):
        yield {"type": kind}
    yield from ({"type": "Digits", "individual_digits": single} for single in (True, False))
    yield {"type": "CharDelimiterSplit", "delimiter": "e"}
    for behavior in ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"):
        yield from ({"type": "Punctuation", "behavior": behavior}, split(r"\s+|[a-c]", behavior), split("the", behavior, True, "String"))
    for scheme in ("always", "first", "never"):
        for cut in (True, False):
            yield {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": scheme, "split": cut}
    for prefix in (True, False):
        for regex in (True, False):
            yield {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": True, "use_regex": regex}
    yield {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, {"type": "Digits", "individual_digits": True},
                                                 {"type": "Punctuation", "behavior": "Isolated"}]}


def processor_changes(name, ids):
    first, last = ("[CLS]", "[SEP]") if name == "wordpiece" else ("<s>", "</s>")
    one, two = [first, ids[first]], [last, ids[last]]
    yield {"type": "BertProcessing", "sep": two, "cls": one}
    for trim in (True, False):
        yield {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": trim, "use_regex": True}
        for prefix in (True, False):
            yield {"type": "RobertaProcessing", "sep": two, "cls": one, "trim_offsets": trim, "add_prefix_space": prefix}
    for single, pair in (("A", "A B"), (f"{first} A", f"{first} A:1 {last}:1 B:2"), (f"A {last} {last}", f"{first} B:1 {last} A {last}")):
        yield template(single, pair, ids)
    yield {"type": "Sequence", "processors": [{"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
                                              template(f"{first} A {last}", f"{first} A {last} B:1 {last}:1", ids)]}


def decoder_changes():
    space = {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}
    yield from ({"type": "WordPiece", "prefix": "##", "cleanup": cleanup} for cleanup in (True, False))
    yield from ({"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": s, "split": True} for s in ("always", "first", "never"))
    yield from ({"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}, {"type": "BPEDecoder", "suffix": "e"}, {"type": "ByteFallback"}, {"type": "Fuse"}, space,
                {"type": "Strip", "content": "t", "start": 1, "stop": 0}, {"type": "Strip", "content": "g", "start": 0, "stop": 2},
                {"type": "Sequence", "decoders": [space, {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]})


def added_changes(tokens, ids):
    for flags in range(16):
        token = {"single_word": bool(flags & 1), "lstrip": bool(flags & 2), "rstrip": bool(flags & 4), "normalized": bool(flags & 8), "special": False}
        added, fresh = list(tokens), len(ids)
        for content in ("The", "zq zq", "\u00c9t", "[MAS", "x[MASK]y"):
            added.append(dict(token, id=ids.get(content, fresh), content=content))
            fresh += content not in ids
        yield {"added_tokens": added}


def changes(place, name, parts):
    """What a base is varied by: its own model's options, and a third of everything else, so that the three bases share it."""
    vocab = parts["model"]["vocab"]
    ids = dict(vocab) if isinstance(vocab, dict) else {piece: i for i, (piece, _) in enumerate(vocab)}
    yield {}
    yield from model_changes(name, parts["model"])
    shared = [{"normalizer": v} for v in normalizer_changes()] + [{"pre_tokenizer": v} for v in pretokenizer_changes()]
    shared += [{"post_processor": v} for v in processor_changes(name, ids)] + [{"decoder": v} for v in decoder_changes()]
    yield from (shared + list(added_changes(parts["added_tokens"], ids)))[place::3]


def variant_cases(tokenizer, change):
    yield case(tokenizer, PLAIN, None, {})
    if not {"decoder", "post_processor"} & set(change):
        yield case(tokenizer, STRANGE, None, {})
    if "post_processor" in change:
        for options in ({}, {"max_length": 9}, {"max_length": 9, "stride": 2}, {"max_length": 10, "stride": 1, "left": True},
                        {"max_length": 18, "stride": 3, "strategy": "only_first"}, {"max_length": 40, "stride": 2, "strategy": "only_second", "left": True}):
            yield case(tokenizer, "the dogs don't un-run", " x the  end...", options)


def write_cases(name, lines):
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    (HERE / "tokenizer_cases" / (name + ".jsonl.gz")).write_bytes(gzip.compress(text.encode("ascii"), 9, mtime=0))


def families(name, parts):
    """The components of published tokenizers, on the base of their kind: as transformers 5 converts them, or as their files have them."""
    spaces = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}
    charsmap = json.loads((HERE / "tokenizers" / "unigram" / "tokenizer.json").read_text(encoding="utf-8"))["normalizer"]
    folded = {"type": "NFKC"}  # most of what the map does: one is large enough for a file
    vocab = parts["model"]["vocab"]
    ids = dict(vocab) if isinstance(vocab, dict) else {piece: i for i, (piece, _) in enumerate(vocab)}

    def sequence(*normalizers):
        return {"type": "Sequence", "normalizers": list(normalizers)}

    def quotes(mark):
        return {"type": "Replace", "pattern": {"String": mark}, "content": '"'}

    if name == "wordpiece":  # BERT's, nomic's; MPNet's has the special tokens of RoBERTa
        yield {"post_processor": template("[CLS] A [SEP]", "[CLS] A [SEP] B:1 [SEP]:1", ids)}
        yield {"post_processor": template("[CLS] A [SEP]", "[CLS] A [SEP] [SEP] B [SEP]", ids)}
    elif name == "unigram":
        strip = {"type": "Strip", "strip_left": True, "strip_right": True}
        yield {"normalizer": sequence(strip, charsmap, spaces)}  # DeBERTa-v3
        yield {"normalizer": sequence({"type": "Lowercase"}, strip, folded, spaces),  # and with do_lower_case, split_by_punct
               "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Punctuation", "behavior": "Isolated"}, parts["pre_tokenizer"]]}}
        yield {"normalizer": sequence(quotes("``"), quotes("''"), {"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Lowercase"}, folded,
                                      spaces)}  # ALBERT
    else:
        wide = [{"id": len(ids) + place, "content": " " * n, "single_word": False, "lstrip": False, "rstrip": False, "normalized": True, "special": False}
                for place, n in enumerate((2, 3, 4, 8))]
        yield {"normalizer": {"type": "NFC"}, "added_tokens": [*parts["added_tokens"], *wide],  # ModernBERT's
               "post_processor": template("<s> A </s>", "<s> A </s> B </s>", ids)}
        pieces = ["<pad>", "</s>", "<s>", "<unk>", "<mask>", *(f"<0x{b:02X}>" for b in range(256)), "\u2581", *LETTERS, "th", "the", "\u2581the", "\u2581\u2581",
                  "do", "dog", "\u2581d", "T", "C", ".", "..", "1", "2", "\u00e9", "\n", "\n\n"]
        merges = [["t", "h"], ["th", "e"], ["\u2581", "the"], ["\u2581", "\u2581"], ["d", "o"], ["do", "g"], ["\u2581", "d"], [".", "."], ["\n", "\n"]]
        own = {t: i for i, t in enumerate(pieces)}
        added = [dict(parts["added_tokens"][0], id=own[t], content=t, lstrip=t == "<mask>") for t in pieces[:5]]
        yield {"model": {**parts["model"], "vocab": own, "merges": merges, "byte_fallback": True, "fuse_unk": True, "unk_token": "<unk>"},  # Gemma's, mmBERT's
               "added_tokens": added, "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"},
               "pre_tokenizer": {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False},
               "post_processor": template("<s> A </s>", "<s> A </s> B </s>", own),
               "decoder": {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}, {"type": "ByteFallback"},
                                                            {"type": "Fuse"}]}}


def family_cases(tokenizer):
    for text in [*TEXTS, PLAIN, STRANGE]:
        yield case(tokenizer, text, None, {})
    for options in ({}, {"max_length": 9}, {"max_length": 12, "stride": 3}):
        yield case(tokenizer, PLAIN, "the dogs don't un-run", options)


def write_variants():
    lines = []
    for place, (name, parts) in enumerate(bases()):
        lines.append({"base": name, "parts": {key: json.dumps(value) for key, value in parts.items()}})
        for change in changes(place, name, parts):
            tokenizer = Tokenizer.from_str(json.dumps({"version": "1.0", "truncation": None, "padding": None, **parts, **change}))
            lines.append({"variant": name, "parts": {key: json.dumps(value) for key, value in change.items()}})
            lines += [c for c in variant_cases(tokenizer, change) if c]
        for change in families(name, parts):
            tokenizer = Tokenizer.from_str(json.dumps({"version": "1.0", "truncation": None, "padding": None, **parts, **change}))
            lines.append({"variant": name, "parts": {key: json.dumps(value) for key, value in change.items()}})
            lines += [c for c in family_cases(tokenizer) if c]
    write_cases("variants", lines)
    print("variants", sum("variant" in line for line in lines), len(lines))


def main():
    if tokenizers.__version__ != WHEEL:
        sys.exit(f"make_tokenizer_golden: needs tokenizers {WHEEL}, found {tokenizers.__version__}")
    for folder in sorted((HERE / "tokenizers").iterdir()):
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        tokenizer.no_padding()
        cases = [case(tokenizer, text, None, {}) for text in TEXTS]
        cases += [case(tokenizer, WORDS, None, o) for o in OPTIONS[1:]]
        cases += [case(tokenizer, a, b, o) for a, b in PAIRS for o in OPTIONS if "stride" not in o]
        cases = [c for c in cases if c]
        write_cases(folder.name, cases)
        print(folder.name, len(cases))
    write_variants()


if __name__ == "__main__":
    main()
