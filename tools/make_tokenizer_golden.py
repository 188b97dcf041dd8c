#!/usr/bin/env python3
"""Writes tests/golden/tokenizer_cases/*.jsonl: texts that hurt, and what Hugging Face tokenizers makes of them.

    python3 -m venv /tmp/golden && /tmp/golden/bin/pip install tokenizers==0.23.3
    /tmp/golden/bin/python tools/make_tokenizer_golden.py

One JSON object a line: text, perhaps pair, perhaps options, and ids, types, from, to (characters become bytes of UTF-8), words (-1: a
special token). Surrogates cannot occur. `windows` holds the ids of every window where a stride is given.
"""

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
REFUSED = (Exception,)


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
    except REFUSED:
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


def main():
    if tokenizers.__version__ != WHEEL:
        sys.exit(f"make_tokenizer_golden: needs tokenizers {WHEEL}, found {tokenizers.__version__}")
    for folder in sorted((HERE / "tokenizers").iterdir()):
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        tokenizer.no_padding()
        cases = [case(tokenizer, text, None, {}) for text in TEXTS]
        cases += [case(tokenizer, WORDS, None, o) for o in OPTIONS[1:]]
        cases += [case(tokenizer, a, b, o) for a, b in PAIRS for o in OPTIONS if "stride" not in o]
        lines = [json.dumps(c, separators=(",", ":")) for c in cases if c]
        (HERE / "tokenizer_cases" / (folder.name + ".jsonl")).write_text("\n".join(lines) + "\n", encoding="ascii")
        print(folder.name, len(lines))


if __name__ == "__main__":
    main()
