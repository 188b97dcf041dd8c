#!/usr/bin/env python3
"""Writes src/text/unicode_tables.c: the Unicode data of the profile "hf-0.23".

One wheel of Hugging Face tokenizers mixes four versions of Unicode (one a step), so no Unicode library agrees with it. This script
asks the wheel itself about each of the 1,112,064 scalar values and writes what it answers.

    python3 -m venv /tmp/tables
    /tmp/tables/bin/pip install tokenizers==0.23.3 regex==2026.2.19
    /tmp/tables/bin/python tools/make_unicode_tables.py src/text/unicode_tables.c

What the wheel cannot be asked comes from elsewhere and is then checked against it: the values of canonical combining classes and
the pairs of canonical compositions from the standard library's unicodedata, grapheme classes from the regex module (Unicode 17).
"""

import sys
import unicodedata

import regex
import tokenizers
from tokenizers import Regex
from tokenizers import normalizers as N
from tokenizers import pre_tokenizers as P

PROFILE = "hf-0.23"
WHEEL = "0.23.3"
REGEX = "2026.2.19"
SCALARS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
BLOCK = 128

# Order and values are those of the enumerations in src/text/unicode.h.
CATEGORIES = ("Cn Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Co Cs").split()
GRAPHEMES = ("Other CR LF Control Extend ZWJ Regional_Indicator Prepend SpacingMark L V T LV LVT").split()
CONJUNCTS = ("None Consonant Linker Extend").split()
FLAGS = ("DROPPED WHITE PUNCTUATION CJK NONSPACING COMBINING NUMERIC WORD ONIG_WORD PICTOGRAPHIC NFC_INERT").split()


def fail(message):
    sys.exit("make_unicode_tables: " + message)


def probe_flags():
    """One bit a flag, and nothing else, for each scalar value."""
    clean = N.BertNormalizer(clean_text=True, handle_chinese_chars=False, strip_accents=False, lowercase=False).normalize_str
    chinese = N.BertNormalizer(clean_text=False, handle_chinese_chars=True, strip_accents=False, lowercase=False).normalize_str
    accents = N.BertNormalizer(clean_text=False, handle_chinese_chars=False, strip_accents=True, lowercase=False).normalize_str
    marks = N.StripAccents().normalize_str
    white = P.WhitespaceSplit().pre_tokenize_str
    onig_white = N.Replace(Regex(r"\s"), "").normalize_str
    onig_word = N.Replace(Regex(r"\w"), "").normalize_str
    onig_digit = N.Replace(Regex(r"\d"), "").normalize_str
    nd = N.Replace(Regex(r"\p{Nd}"), "").normalize_str
    punctuation = P.Punctuation().pre_tokenize_str
    bert = P.BertPreTokenizer().pre_tokenize_str
    numeric = P.Digits(True).pre_tokenize_str
    word = P.Whitespace().pre_tokenize_str
    bit = {name: 1 << i for i, name in enumerate(FLAGS)}
    flags = [0] * 0x110000
    for c in SCALARS:
        s = chr(c)
        f = 0
        cleaned = clean("a" + s + "b")
        if cleaned == "ab":
            f |= bit["DROPPED"]
        is_white = white("a" + s + "b")[0][0] == "a" and len(white("a" + s + "b")) == 2
        if is_white:
            f |= bit["WHITE"]
        if is_white != (onig_white(s) == ""):
            fail(f"U+{c:04X}: the two ideas of white space differ")
        if not f & bit["DROPPED"] and (cleaned == "a b") != is_white:
            fail(f"U+{c:04X}: clean_text does not map white space to a space")
        if (onig_digit(s) == "") != (nd(s) == ""):
            fail(f"U+{c:04X}: \\d is not \\p{{Nd}}")
        if len(punctuation("a" + s + "b")) == 3:
            f |= bit["PUNCTUATION"]
        if not is_white and (len(bert("a" + s + "b")) == 3) != bool(f & bit["PUNCTUATION"]):
            fail(f"U+{c:04X}: BertPreTokenizer and Punctuation differ")
        if chinese("a" + s + "b") == "a " + s + " b":
            f |= bit["CJK"]
        if marks("a" + s) == "a":
            f |= bit["COMBINING"]
        if accents("a" + s) == "a":
            f |= bit["NONSPACING"]
        if len(numeric("a" + s + "b")) == 3:
            f |= bit["NUMERIC"]
        if len(word("a" + s + "b")) == 1:
            f |= bit["WORD"]
        if onig_word(s) == "":
            f |= bit["ONIG_WORD"]
        flags[c] = f
    return flags


def probe_categories():
    """General category as Oniguruma's \\p{..} sees it; the regex module's newer one is only the first guess."""
    tests = {g: N.Replace(Regex(r"\p{%s}" % g), "").normalize_str for g in CATEGORIES if g != "Cs"}
    guesses = {g: regex.compile(r"\p{%s}" % g) for g in CATEGORIES if g != "Cs"}
    order = list(guesses)
    result = [CATEGORIES.index("Cs")] * 0x110000
    last = "Cn"
    for c in SCALARS:
        s = chr(c)
        guess = last if guesses[last].match(s) else next(g for g in order if guesses[g].match(s))
        last = guess
        if tests[guess](s) != "":
            guess = next(g for g in order if tests[g](s) == "")
        result[c] = CATEGORIES.index(guess)
    return result


def probe_mapping(function):
    """code point -> the code points it becomes, where that is not itself. Hangul syllables are left to arithmetic."""
    result = {}
    for c in SCALARS:
        if 0xAC00 <= c <= 0xD7A3:
            continue
        mapped = function(chr(c))
        if mapped != chr(c):
            result[c] = tuple(map(ord, mapped))
    return result


def probe_combining(nfd):
    """Canonical combining classes: values from unicodedata, each checked by how the wheel reorders it among its neighbours."""
    low, high = "\u0334", "\u0345"  # classes 1 and 240, the extremes

    def reorders(mark):
        return nfd(high + mark) == mark + high or nfd(mark + low) == low + mark

    known = {}
    for c in SCALARS:
        v = unicodedata.combining(chr(c))
        if v and v not in known and nfd(chr(c)) == chr(c) and reorders(chr(c)):
            known[v] = chr(c)
    values = sorted(known)
    result = [0] * 0x110000
    for c in SCALARS:
        s = chr(c)
        if len(nfd(s)) != 1:
            continue
        if not reorders(s):
            continue
        v = unicodedata.combining(s)
        if v == 0:
            fail(f"U+{c:04X} reorders, but unicodedata gives class 0")
        i = values.index(v)
        if i > 0 and nfd(s + known[values[i - 1]]) != known[values[i - 1]] + s:
            fail(f"U+{c:04X}: class below {v}")
        if i + 1 < len(values) and nfd(known[values[i + 1]] + s) != s + known[values[i + 1]]:
            fail(f"U+{c:04X}: class above {v}")
        if known[v] != s and nfd(known[v] + s) != known[v] + s:
            fail(f"U+{c:04X}: class is not {v}")
        result[c] = v
    return result


def probe_compositions(nfd, nfc, decompositions):
    """(first, second) -> composite, for each canonical decomposition that NFC takes back."""
    pairs = {}
    for c in decompositions:
        if nfc(chr(c)) != chr(c):
            continue  # excluded from composition
        raw = unicodedata.decomposition(chr(c))
        if not raw or raw.startswith("<"):
            fail(f"U+{c:04X} decomposes, but unicodedata knows no pair")
        first, second = (int(x, 16) for x in raw.split())
        if nfc(chr(first) + chr(second)) != chr(c):
            fail(f"U+{c:04X}: the pair does not compose")
        pairs[first, second] = c
    return pairs


def probe_graphemes():
    """Classes from the regex module. `Precompiled` can show where a grapheme goes on after "a"; that is checked."""
    gcb = [0] * 0x110000
    for value, name in enumerate(GRAPHEMES):
        if value:
            pattern = regex.compile(r"\p{GCB=%s}" % name)
            for c in SCALARS:
                if pattern.match(chr(c)):
                    gcb[c] = value
    conjunct = [0] * 0x110000
    for value, name in enumerate(CONJUNCTS):
        if value:
            pattern = regex.compile(r"\p{InCB=%s}" % name)
            for c in SCALARS:
                if pattern.match(chr(c)):
                    conjunct[c] = value
    # A charsmap that turns a grapheme starting with "a" into "X": what the grapheme swallows is gone.
    goes_on = N.Precompiled(one_letter_charsmap("a", "X")).normalize_str
    sticky = {GRAPHEMES.index(g) for g in ("Extend", "ZWJ", "SpacingMark")}
    for c in SCALARS:
        if (goes_on("a" + chr(c)) == "X") != (gcb[c] in sticky):
            fail(f"U+{c:04X}: grapheme class {GRAPHEMES[gcb[c]]} is not the wheel's")
    return gcb, conjunct


def one_letter_charsmap(letter, replacement):
    """SentencePiece's precompiled_charsmap with the single rule letter -> replacement: a Darts double array of three units."""
    label = ord(letter)
    units = [0] * 512
    # Root: offset 1, so the child is unit 1 ^ label (its label is kept); the child's leaf is unit child ^ offset, value 0.
    units[0] = 1 << 10
    child = 1 ^ label
    offset = 256
    units[child] = (offset << 10) | (1 << 8) | label
    units[child ^ offset] = 0x80000000 | 0
    trie = b"".join(u.to_bytes(4, "little") for u in units)
    return len(trie).to_bytes(4, "little") + trie + replacement.encode() + b"\0"


def two_stage(values):
    """Splits values into blocks of BLOCK; equal blocks are stored once."""
    blocks, index, stage1 = {}, [], []
    stage2 = []
    for start in range(0, len(values), BLOCK):
        block = tuple(values[start : start + BLOCK])
        if block not in blocks:
            blocks[block] = len(blocks)
            stage2.extend(block)
        stage1.append(blocks[block])
    return stage1, stage2


def c_type(values):
    top = max(values)
    return "uint8_t" if top < 1 << 8 else "uint16_t" if top < 1 << 16 else "uint32_t"


def emit(out, name, values, width, as_hex=False):
    out.append(f"const {c_type(values) if width is None else width} {name}[{len(values)}] = {{")
    line = "   "
    for v in values:
        item = f" {v:#x}," if as_hex else f" {v},"
        if len(line) + len(item) > 128:
            out.append(line)
            line = "   "
        line += item
    out.append(line)
    out.append("};")


def main():
    if len(sys.argv) != 2:
        fail("usage: make_unicode_tables.py OUTPUT.c")
    if tokenizers.__version__ != WHEEL:
        fail(f"needs tokenizers {WHEEL}, found {tokenizers.__version__}")
    if regex.__version__ != REGEX:
        fail(f"needs regex {REGEX}, found {regex.__version__}")

    nfd, nfc, nfkd, nfkc = (f.normalize_str for f in (N.NFD(), N.NFC(), N.NFKD(), N.NFKC()))
    flags = probe_flags()
    categories = probe_categories()
    canonical = probe_mapping(nfd)
    compatible = probe_mapping(nfkd)
    lower = probe_mapping(N.Lowercase().normalize_str)
    combining = probe_combining(nfd)
    compositions = probe_compositions(nfd, nfc, canonical)
    gcb, conjunct = probe_graphemes()
    if nfd("\uac01") != "\u1100\u1161\u11a8" or nfc("\u1100\u1161\u11a8") != "\uac01":
        fail("Hangul is not arithmetic")

    # A code point that NFC never touches, whatever stands beside it.
    inert = 1 << FLAGS.index("NFC_INERT")
    seconds = {b for _, b in compositions}
    for c in SCALARS:
        if combining[c] == 0 and nfc(chr(c)) == chr(c) and c not in seconds and not 0x1161 <= c <= 0x1175 and not 0x11A8 <= c <= 0x11C2:
            flags[c] |= inert
    # Pictographs join graphemes only after ZWJ.
    pictographic = regex.compile(r"\p{ExtPict}")
    for c in SCALARS:
        if pictographic.match(chr(c)):
            flags[c] |= 1 << FLAGS.index("PICTOGRAPHIC")

    records, record_of = [], {}
    indices = []
    for c in range(0x110000):
        value = flags[c] | categories[c] << 16 | gcb[c] << 21 | conjunct[c] << 25
        if value not in record_of:
            record_of[value] = len(records)
            records.append(value)
        indices.append(record_of[value])

    # Sequences: the length, then the code points.
    pool, places = [0], {}

    def place(sequence):
        if sequence not in places:
            places[sequence] = len(pool)
            pool.append(len(sequence))
            pool.extend(sequence)
        return places[sequence]

    maps = {}
    for name, mapping in (("lower", lower), ("canonical", canonical), ("compatible", compatible)):
        maps[name] = [place(mapping[c]) if c in mapping else 0 for c in range(0x110000)]

    keys = sorted(compositions)
    out = [
        f"/* Generated by tools/make_unicode_tables.py from tokenizers {WHEEL}: the Unicode data of the profile {PROFILE}. Do not edit. */",
        '#include "text/unicode_tables.h"',
        "",
        "/* clang-format off */",
        f'const char brim_unicode_profile[] = "{PROFILE}";',
    ]
    stages = [("records", indices)] + [(n, maps[n]) for n in maps] + [("combining", combining)]
    widths = {"records": "uint8_t", "combining": "uint8_t"}
    if len(records) > 256:
        widths["records"] = "uint16_t"
    declared = []
    for name, values in stages:
        stage1, stage2 = two_stage(values)
        w1, w2 = c_type(stage1), widths.get(name, "uint16_t")
        if max(stage2) >= 1 << (8 if w2 == "uint8_t" else 16):
            fail(f"{name}: values too large")
        emit(out, f"brim_unicode_{name}_block", stage1, w1)
        emit(out, f"brim_unicode_{name}_index", stage2, w2)
        declared += [f"{w1} brim_unicode_{name}_block[{len(stage1)}]", f"{w2} brim_unicode_{name}_index[{len(stage2)}]"]
    emit(out, "brim_unicode_record", records, "uint32_t", True)
    emit(out, "brim_unicode_sequence", pool, "uint32_t", True)
    emit(out, "brim_unicode_pair_first", [a for a, _ in keys], "uint32_t", True)
    emit(out, "brim_unicode_pair_second", [b for _, b in keys], "uint32_t", True)
    emit(out, "brim_unicode_pair_composite", [compositions[k] for k in keys], "uint32_t", True)
    declared += [f"uint32_t brim_unicode_record[{len(records)}]", f"uint32_t brim_unicode_sequence[{len(pool)}]"]
    declared += [f"uint32_t brim_unicode_pair_{n}[{len(keys)}]" for n in ("first", "second", "composite")]
    out.append("/* clang-format on */")
    with open(sys.argv[1], "w", encoding="ascii") as f:
        f.write("\n".join(out) + "\n")

    header = [
        "/* unicode_tables.h: generated together with unicode_tables.c; see unicode.h for what the tables mean. */",
        "#ifndef BRIM_TEXT_UNICODE_TABLES_H",
        "#define BRIM_TEXT_UNICODE_TABLES_H",
        "#include <stdint.h>",
        "",
        f"#define BRIM_UNICODE_BLOCK {BLOCK}",
        f"#define BRIM_UNICODE_PAIRS {len(keys)}",
        "",
        "extern const char brim_unicode_profile[];",
    ]
    header += [f"extern const {d};" for d in declared]
    header.append("#endif")
    with open(sys.argv[1].removesuffix(".c") + ".h", "w", encoding="ascii") as f:
        f.write("\n".join(header) + "\n")
    print(f"{len(records)} records, {len(pool)} sequence words, {len(keys)} pairs, {len(lower)} lower, {len(canonical)} canonical, "
          f"{len(compatible)} compatible")


if __name__ == "__main__":
    main()
