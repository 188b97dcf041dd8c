#!/usr/bin/env python3
"""Holds brim's tokenizers against the wheel of Hugging Face tokenizers on code points and random Unicode.

    python3 -m venv /tmp/diff && /tmp/diff/bin/pip install tokenizers==0.23.3
    /tmp/diff/bin/python tools/diff_tokenizers.py --library build/src/libbrim.so TOKENIZER.json... [--strings 1000000] [--seed 1]
        [--code-points] [--offsets]

Every tokenizer gets the same strings: built from pieces that hurt (marks, blanks, special tokens, scripts, pictographs, long runs) and
from uniformly random code points. --code-points also tries every scalar value alone and between two letters. Ends with status 1 at
the first tokenizer that differs anywhere, after printing up to ten differing strings.
"""

import argparse
import ctypes
import json
import random
import sys

import tokenizers
from tokenizers import Tokenizer

WHEEL = "0.23.3"
BATCH = 4096


class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("line", ctypes.c_int64), ("byte", ctypes.c_int64), ("file", ctypes.c_char * 256),
                ("message", ctypes.c_char * 768)]


class Options(ctypes.Structure):
    _fields_ = [("max_length", ctypes.c_int32), ("no_special_tokens", ctypes.c_bool), ("truncation", ctypes.c_int),
                ("truncate_left", ctypes.c_bool)]


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


def make_string(rng):
    kind = rng.random()
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tokenizers", nargs="+")
    parser.add_argument("--library", required=True)
    parser.add_argument("--strings", type=int, default=100000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--code-points", action="store_true")
    parser.add_argument("--offsets", action="store_true")
    args = parser.parse_args()
    if tokenizers.__version__ != WHEEL:
        sys.exit(f"diff_tokenizers: needs tokenizers {WHEEL}, found {tokenizers.__version__}")
    failed = False
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
