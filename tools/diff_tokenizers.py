#!/usr/bin/env python3
"""Holds brim's tokenizers against the wheel of Hugging Face tokenizers on code points and random Unicode.

    python3 -m venv /tmp/diff && /tmp/diff/bin/pip install tokenizers==0.23.3
    /tmp/diff/bin/python tools/diff_tokenizers.py --library build/src/libbrim.so TOKENIZER.json... [--strings 1000000] [--seed 1]
        [--code-points] [--offsets] [--variants]

Every tokenizer gets the same strings: built from pieces that hurt (marks, spaces, special tokens, scripts, pictographs, long runs) and
from uniformly random code points. --code-points also tries every scalar value alone and between two letters. Ends with status 1 at
the first tokenizer that differs anywhere, after printing up to ten differing strings. --variants also tries made-up tokenizers: the
small ones of the tests with every other normalizer, pre-tokenizer and model option that brim knows.
"""

import argparse
import ctypes
import json
import pathlib
import random
import sys
import tempfile

import tokenizers
from tokenizers import Tokenizer

WHEEL = "0.23.3"
BATCH = 4096


class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("line", ctypes.c_int64), ("byte", ctypes.c_int64), ("file", ctypes.c_char * 256),
                ("message", ctypes.c_char * 768)]


class Options(ctypes.Structure):
    _fields_ = [("max_length", ctypes.c_int32), ("no_special_tokens", ctypes.c_bool), ("truncation", ctypes.c_int),
                ("truncation_side", ctypes.c_int)]


class Encoding(ctypes.Structure):
    _fields_ = [("ids", ctypes.POINTER(ctypes.c_int32)), ("type_ids", ctypes.POINTER(ctypes.c_uint8)), ("length", ctypes.c_size_t),
                ("capacity", ctypes.c_size_t), ("lost", ctypes.c_size_t), ("runtime", ctypes.c_void_p)]


class Offsets(ctypes.Structure):
    _fields_ = [("start", ctypes.POINTER(ctypes.c_uint32)), ("stop", ctypes.POINTER(ctypes.c_uint32)),
                ("words", ctypes.POINTER(ctypes.c_int32)), ("sources", ctypes.POINTER(ctypes.c_int8)), ("length", ctypes.c_size_t),
                ("capacity", ctypes.c_size_t), ("runtime", ctypes.c_void_p)]


class Brim:
    """One tokenizer, through the shared library."""

    def __init__(self, library, path):
        self.lib = ctypes.CDLL(library)
        self.error, self.encoding, self.offsets = Error(), Encoding(), Offsets()
        self.runtime, self.tokenizer, self.scratch = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        self.check(self.lib.brim_runtime_new(None, ctypes.byref(self.runtime), ctypes.byref(self.error)))
        self.check(self.lib.brim_tokenizer_load(self.runtime, path.encode(), ctypes.byref(self.tokenizer), ctypes.byref(self.error)))
        self.check(self.lib.brim_scratch_new(self.runtime, self.tokenizer, ctypes.byref(self.scratch), ctypes.byref(self.error)))
        self.options = Options()

    def check(self, status):
        if status:
            raise RuntimeError(f"brim: status {status}: {self.error.message.decode()}")

    def close(self):
        self.lib.brim_scratch_free(self.scratch)
        self.lib.brim_tokenizer_free(self.tokenizer)

    def encode(self, text):
        raw = text.encode()
        self.check(self.lib.brim_tokenizer_encode(self.tokenizer, self.scratch, raw, ctypes.c_size_t(len(raw)), None, ctypes.c_size_t(0),
                                                  ctypes.byref(self.options), ctypes.byref(self.encoding), ctypes.byref(self.error)))
        return self.encoding.ids[: self.encoding.length]

    def encode_offsets(self, text):
        raw = text.encode()
        self.check(self.lib.brim_tokenizer_encode_offsets(
            self.tokenizer, self.scratch, raw, ctypes.c_size_t(len(raw)), None, ctypes.c_size_t(0), ctypes.byref(self.options),
            ctypes.byref(self.encoding), ctypes.byref(self.offsets), ctypes.byref(self.error)))
        n = self.encoding.length
        return self.encoding.ids[:n], list(zip(self.offsets.start[:n], self.offsets.stop[:n])), self.offsets.words[:n]


RANGES = [(0x20, 0x7E), (0x20, 0x7E), (0x61, 0x7A), (0x61, 0x7A), (0, 0x1F), (0x7F, 0xFF), (0x100, 0x24F), (0x250, 0x2FF), (0x300, 0x36F),
          (0x300, 0x36F), (0x370, 0x3FF), (0x400, 0x4FF), (0x590, 0x5FF), (0x600, 0x6FF), (0x700, 0x8FF), (0x900, 0x97F), (0x980, 0xDFF),
          (0xE00, 0xFFF), (0x1000, 0x109F), (0x1100, 0x11FF), (0x1200, 0x1CFF), (0x1AB0, 0x1AFF), (0x1D00, 0x1DFF), (0x1E00, 0x1FFF),
          (0x2000, 0x206F), (0x2000, 0x20CF), (0x20D0, 0x20FF), (0x2100, 0x23FF), (0x2460, 0x27BF), (0x2E80, 0x303F), (0x3040, 0x30FF),
          (0x3040, 0x30FF), (0x3100, 0x33FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xA000, 0xABFF), (0xAC00, 0xD7A3), (0xE000, 0xF8FF),
          (0xF900, 0xFAFF), (0xFB00, 0xFDFF), (0xFE00, 0xFE2F), (0xFE30, 0xFEFF), (0xFF00, 0xFFEF), (0xFFF0, 0xFFFF), (0x10000, 0x107FF),
          (0x10800, 0x11FFF), (0x12000, 0x16FFF), (0x1BC00, 0x1D7FF), (0x1E000, 0x1EFFF), (0x1F000, 0x1FAFF), (0x1F000, 0x1FAFF),
          (0x20000, 0x2FA1F), (0x30000, 0x323AF), (0xE0000, 0xE01EF), (0xF0000, 0x10FFFF), (0, 0x10FFFF)]
PIECES = [" ", "  ", "   ", "\t", "\n", "\r\n", "\u00a0", "\u3000", "\u2028", "\u200d", "\u200b", "\ufeff", "\ufffd", "\u0000", "'s", "'ll", "'S",
          "n't", "\u0301", "\u0323", "\u0345", "\u3099", "\ufe0f", "▁", "▁▁", "Ġ", "the", "The", "ing", " of", "ization", "un", "##", "[", "]",
          "[MASK]", "[CLS]", "[SEP]", "[UNK]", "[PAD]", "<s>", "</s>", "<mask>", "<pad>", "<unk>", " <mask> ", "\uff1cs\uff1e", "[unused1]",
          "<|endoftext|>", "|||IP_ADDRESS|||", "...", "!!", "123", "3.14", "½", "ﬁ", "Å", "İ", "Σ", "ß", "が", "か\u3099", "각", "각",
          "क्ष", "👩‍👩‍👧", "🇫🇷", "👍🏽", "©\u200d", "中文", "x" * 98, "é" * 50, " " * 17, "\n" * 5, "ab" * 20]


PROSE = ["the", "The", "a", "I", "don't", "it's", "we'll", "I've", "O'Neil", "'tis", "dogs'", "''", "movie", "unbelievable", "antidisestablishmentarianism",
         "U.S.A.", "3.14", "1,000,000", "(or", "so)", "<br", "/><br", "/>", "well-known", "e.g.", "--", "...", "!?", '"quoted"', "'single'",
         "snake_case", "x=y+1;", "http://a.b/c?d=e&f", "$5", "100%", "mid-1990s", "A", "b", "café", "naïve", "“so”", "—", "日本", "привет"]


def make_prose(rng):
    """Mostly ASCII, so long that scanners work on whole blocks of it."""
    out = []
    for _ in range(rng.randint(10, 90)):
        out.append(rng.choice(PROSE) if rng.random() < 0.93 else rng.choice(PIECES))
        out.append(" " if rng.random() < 0.93 else rng.choice(("  ", "\n", "", "\t", ". ", ", ", "\r\n", " \n")))
    return "".join(out)


def make_string(rng):
    kind = rng.random()
    if kind < 0.15:
        return make_prose(rng)
    out = []
    low, high = rng.choice(RANGES)
    for _ in range(rng.choice((1, 2, 3, 4, 6, 8, 12, 20, 40))):
        r = rng.random()
        if r < 0.25:
            out.append(rng.choice(PIECES))
        else:
            if r > 0.6 and kind < 0.8:
                low, high = rng.choice(RANGES)
            c = rng.randint(low, high)
            out.append(chr(c if not 0xD800 <= c < 0xE000 else 0x41))
        if rng.random() < 0.15:
            out.append(" ")
    return "".join(out)


def code_points():
    for c in range(0x110000):
        if not 0xD800 <= c < 0xE000:
            yield chr(c)
            yield "a" + chr(c) + "b"


GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def normalizer_variants(charsmap):
    def replace(pattern, content, kind="Regex"):
        return {"type": "Replace", "pattern": {kind: pattern}, "content": content}

    right = {"type": "Strip", "strip_left": False, "strip_right": True}
    plain = ["NFC", "NFD", "NFKC", "NFKD", "StripAccents", "Lowercase", "Nmt", "ByteLevel"]
    variants = [[{"type": name}] for name in plain]
    variants += [[{"type": "Strip", "strip_left": a, "strip_right": b}] for a, b in ((True, False), (True, True))]
    variants += [[right], [{"type": "Prepend", "prepend": "▁"}], [{"type": "Prepend", "prepend": "xy"}, {"type": "NFC"}],
                 [replace(" ", "▁", "String")], [replace("``", '"', "String"), replace("''", '"', "String")], [replace(r"\s+", " ")],
                 [replace(" {2,}", "▁")], [replace(r"\s{2,}|[\n\r\t]", " "), right], [replace(r"[^a-z\p{L}]", "")],
                 [charsmap], [charsmap, right, replace(" {2,}", "▁")], [charsmap, {"type": "Lowercase"}],
                 [{"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Lowercase"}], [{"type": "NFD"}, {"type": "NFC"}, {"type": "NFKC"}]]
    variants += [[{"type": "BertNormalizer", "clean_text": a, "handle_chinese_chars": b, "strip_accents": c, "lowercase": d}]
                 for a in (True, False) for b in (True, False) for c in (None, True, False) for d in (True, False)]
    return variants


def pretokenizer_variants():
    def split(pattern, behavior="Isolated", invert=False, kind="Regex"):
        return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}

    def metaspace(scheme, cut):
        return {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": cut}

    def byte_level(prefix, regex):
        return {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": True, "use_regex": regex}

    behaviors = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]
    variants = [[{"type": "WhitespaceSplit"}], [{"type": "Whitespace"}], [{"type": "BertPreTokenizer"}],
                [{"type": "Digits", "individual_digits": True}], [{"type": "Digits", "individual_digits": False}],
                [{"type": "CharDelimiterSplit", "delimiter": "e"}], [{"type": "Whitespace"}, {"type": "Digits", "individual_digits": True}]]
    variants += [[{"type": "Punctuation", "behavior": b}] for b in behaviors]
    variants += [[split(r"\s+|[a-c]", b)] for b in behaviors] + [[split(r"\w+", b, True)] for b in behaviors]
    variants += [[split("the", b, False, "String")] for b in behaviors]
    variants += [[split(p)] for p in (GPT2, LLAMA, O200K, r"\p{N}{1,3}", r"(?:\p{Lu}|\d)x?", r"[一-龥぀-ゟ゠-ヿ]+", r"[^\r\n]+?".replace("+?", "+"))]
    variants += [[metaspace(s, c)] for s in ("always", "first", "never") for c in (True, False)]
    variants += [[{"type": "WhitespaceSplit"}, metaspace(s, True)] for s in ("always", "first", "never")]
    variants += [[byte_level(p, r)] for p in (True, False) for r in (True, False)]
    variants += [[split(LLAMA), byte_level(False, False)], [split(O200K, "Removed", True), byte_level(False, False)]]
    return variants


def sequence(kind, items):
    names = {"normalizer": "normalizers", "pre_tokenizer": "pretokenizers"}
    return items[0] if len(items) == 1 else {"type": "Sequence", names[kind]: items}


def variants(folder):
    """(name, tokenizer.json) of many combinations; each is a small tokenizer with a few things changed."""
    base = {name: json.load(open(f"{folder}/{name}/tokenizer.json", encoding="utf-8")) for name in
            ("wordpiece-uncased", "wordpiece-cased", "byte-bpe", "unigram")}
    charsmap = base["unigram"]["normalizer"]
    for name, tokenizer in base.items():
        for key, lists in (("normalizer", normalizer_variants(charsmap)), ("pre_tokenizer", pretokenizer_variants())):
            for items in lists:
                yield f"{name} {key} {json.dumps(items)[:150]}", dict(tokenizer, **{key: sequence(key, items)})
    spaced = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    for items in normalizer_variants(charsmap):
        yield f"unigram, Metaspace, {json.dumps(items)[:150]}", dict(base["unigram"], normalizer=sequence("normalizer", items), pre_tokenizer=spaced)
    yield from option_variants(base)


def option_variants(base):
    def changed(name, model=None, **parts):
        tokenizer = json.loads(json.dumps(base[name]))
        tokenizer.update(parts)
        for key, value in (model or {}).items():
            if value is None:
                tokenizer["model"].pop(key)
            else:
                tokenizer["model"][key] = value
        return tokenizer

    bpe = base["byte-bpe"]["model"]
    holes = {t: i for t, i in bpe["vocab"].items() if t not in "ĠeĊ"}
    merges = [m for m in bpe["merges"] if all(t in holes for t in (*m, "".join(m)))]
    fallback = dict(bpe["vocab"], **{f"<0x{b:02X}>": 5000 + b for b in range(256)})
    for options in ({"ignore_merges": True}, {"fuse_unk": True, "unk_token": "<unk>"}, {"unk_token": "<unk>"}, {"byte_fallback": True}):
        yield f"byte-bpe {options}", changed("byte-bpe", options)
        yield f"byte-bpe, no bytes, {options}", changed("byte-bpe", options, pre_tokenizer=None)
        yield f"byte-bpe, holes, {options}", changed("byte-bpe", dict(options, vocab=holes, merges=merges))
        yield f"byte-bpe, fallback, {options}", changed("byte-bpe", dict(options, vocab=fallback, byte_fallback=True), pre_tokenizer=None)
    yield "byte-bpe, holes", changed("byte-bpe", {"vocab": holes, "merges": merges})
    yield "byte-bpe, merges as text", changed("byte-bpe", {"merges": [" ".join(m) for m in bpe["merges"]]})
    yield "byte-bpe, suffix", changed("byte-bpe", {"end_of_word_suffix": "e", "unk_token": "<unk>"})
    pieces = base["unigram"]["model"]["vocab"]
    byte_pieces = pieces + [[f"<0x{b:02X}>", -20.0] for b in range(256)]
    yield "unigram, bytes", changed("unigram", {"vocab": byte_pieces, "byte_fallback": True})
    yield "unigram, equal scores", changed("unigram", {"vocab": [[p, -1.0] for p, _ in pieces]})
    yield "unigram, rounded scores", changed("unigram", {"vocab": [[p, round(s, 0)] for p, s in pieces]})
    for limit in (1, 5):
        yield f"wordpiece, at most {limit}", changed("wordpiece-uncased", {"max_input_chars_per_word": limit})
    yield "wordpiece, no type", changed("wordpiece-uncased", {"type": None})
    yield "wordpiece, prefix", changed("wordpiece-uncased", {"continuing_subword_prefix": ""})
    for name in base:
        for flags in range(16):
            token = {"single_word": bool(flags & 1), "lstrip": bool(flags & 2), "rstrip": bool(flags & 4), "normalized": bool(flags & 8),
                     "special": False}
            vocab = base[name]["model"]["vocab"]
            known = dict(vocab) if isinstance(vocab, dict) else {piece: i for i, (piece, _) in enumerate(vocab)}
            added, fresh = list(base[name]["added_tokens"]), len(vocab)
            for content in ("The", "zq zq", "  ", "É", "[MAS", "x[MASK]y"):
                added.append(dict(token, id=known.get(content, fresh), content=content))
                fresh += content not in known
            yield f"{name}, added {token}", changed(name, added_tokens=added)


def batches(strings):
    batch = []
    for s in strings:
        batch.append(s)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def byte_places(text):
    places = [0]
    for c in text:
        places.append(places[-1] + len(c.encode()))
    return places


def compare(brim, hf, strings, offsets):
    count = differ = 0
    for batch in batches(strings):
        wanted = hf.encode_batch(batch) if offsets else hf.encode_batch_fast(batch)
        for text, want in zip(batch, wanted):
            count += 1
            got = brim.encode(text)
            same = got == want.ids
            if same and offsets:
                places = byte_places(text)
                spans = [(0, 0) if w is None else (places[a], places[b]) for (a, b), w in zip(want.offsets, want.word_ids)]
                words = [-1 if w is None else w for w in want.word_ids]
                got = brim.encode_offsets(text)
                same = got == (want.ids, spans, words)
                want_shown = (want.ids, spans, words)
            else:
                want_shown = want.ids
            if not same:
                differ += 1
                if differ <= 10:
                    print("differs:", ascii(text), "\n  want", want_shown, "\n  got ", got)
    return count, differ


def run_variants(args):
    root = pathlib.Path(__file__).resolve().parent.parent
    failed, count = False, 0
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/tokenizer.json"
        for name, tokenizer in variants(root / "tests" / "golden" / "tokenizers"):
            pathlib.Path(path).write_text(json.dumps(tokenizer), encoding="utf-8")
            hf, brim = Tokenizer.from_file(path), Brim(args.library, path)
            rng = random.Random(args.seed)
            strings = [make_string(rng) for _ in range(args.strings)]
            try:
                seen, differ = compare(brim, hf, strings, args.offsets)
            except RuntimeError as error:
                seen, differ, name = 0, 1, f"{name}: {error}"
            brim.close()
            count += 1
            if differ:
                failed = True
                print(json.dumps({"variant": name, "strings": seen, "differ": differ}), flush=True)
    print(json.dumps({"variants": count, "strings of each": args.strings, "all the same": not failed}))
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tokenizers", nargs="*")
    parser.add_argument("--variants", action="store_true")
    parser.add_argument("--library", required=True)
    parser.add_argument("--strings", type=int, default=100000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--code-points", action="store_true")
    parser.add_argument("--offsets", action="store_true")
    args = parser.parse_args()
    if tokenizers.__version__ != WHEEL:
        sys.exit(f"diff_tokenizers: needs tokenizers {WHEEL}, found {tokenizers.__version__}")
    failed = False
    if args.variants:
        failed = run_variants(args)
    for path in args.tokenizers:
        hf = Tokenizer.from_file(path)
        hf.no_padding()
        hf.no_truncation()
        brim = Brim(args.library, path)
        rng = random.Random(args.seed)
        runs = [("random strings", (make_string(rng) for _ in range(args.strings)))]
        if args.code_points:
            runs.append(("code points", code_points()))
        for name, strings in runs:
            count, differ = compare(brim, hf, strings, args.offsets)
            print(json.dumps({"tokenizer": path, "what": name, "offsets": args.offsets, "strings": count, "differ": differ}), flush=True)
            failed = failed or differ > 0
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
