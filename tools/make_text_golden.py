#!/usr/bin/env python3
"""Writes the data of golden tests that nobody had to collect: texts and lengths drawn by seed, and what must come of them.

    python3 -m venv /tmp/golden && /tmp/golden/bin/pip install -r tools/golden-requirements.txt
    /tmp/golden/bin/python tools/make_text_golden.py

Writes, below tests/golden:
  texts/made.jsonl.gz, texts/made-pairs.jsonl.gz   texts in ten scripts and mixtures of them, and pairs of these
  ids/NAME/*.jsonl.gz       ids of these and of texts/nasty.jsonl.gz by Hugging Face tokenizers, for each of tests/golden/tokenizers,
                            whole and cut at 64 tokens
  folds.json                what the held-out part of each of five folds has in tokens that training has not
  lengths/*.txt.gz          four shapes of length lists
  lengths/figures.json      what each way of batching makes of them, by the slow programs below

Nothing here is brim's: the ids are the reference's, and the figures come from programs that try, sort and count in the plainest way. A
second run writes the same bytes."""

import gzip
import json
import math
import pathlib
import sys

import tokenizers
from tokenizers import Tokenizer

ROOT = pathlib.Path(__file__).resolve().parent.parent
HERE = ROOT / "tests" / "golden"
WHEEL = "0.23.3"
TEXTS, PAIRS, FOLDS, FOLD_SEED = 2400, 600, 5, 2021
SEEDS = 60  # of what is drawn again and again, to see how far it spreads

sys.path.insert(0, str(ROOT / "bench"))
import results_data  # noqa: E402


class Draw:
    """splitmix64: the same numbers wherever this runs."""

    def __init__(self, seed):
        self.state = seed

    def below(self, n):
        self.state = (self.state + 0x9E3779B97F4A7C15) % 2**64
        z = self.state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return (z ^ (z >> 31)) % n

    def unit(self):
        return self.below(2**53) / 2**53

    def of(self, items):
        return items[self.below(len(items))]

    def normal(self):
        return math.sqrt(-2 * math.log(1 - self.unit())) * math.cos(2 * math.pi * self.unit())

    def shuffled(self, items):
        items = list(items)
        for i in range(len(items) - 1, 0, -1):
            j = self.below(i + 1)
            items[i], items[j] = items[j], items[i]
        return items


# ---- texts ----------------------------------------------------------------------------------------------------------

ENGLISH = """the of and to in a is that for it as was with be by on not he his but at are this have from or had an they which one you were all
her she there would their we him been has when who will no more if out so said what up its about into than them can only other new some
could time these two may then do first any my now such like our over man me even most made after also did many before must through years
where much your way well down should because each just those people how too little state good very make world still own see men work long
film movie story character never really watch acting scene plot director funny boring beautiful terrible wonderful don't isn't can't""".split()
FRENCH = """le la les des une est été à où déjà forêt élève hôtel garçon cœur très bien mais avec pour dans sur sans chez l'été d'accord
aujourd'hui naïve français œuvre château même être avoir faire puis peut-être""".split()
GERMAN = """der die das und nicht über für Straße größer Übung Äpfel öffnen Donaudampfschifffahrt Rindfleischetikett Grüße weiß heißen""".split()
# Script: runs of code points, least and most letters of a word, what separates words.
SCRIPTS = {
    "cyrillic": ([(0x0430, 0x044F), (0x0410, 0x042F)], 2, 11, " "),
    "greek": ([(0x03B1, 0x03C9), (0x03AC, 0x03CE)], 2, 10, " "),
    "arabic": ([(0x0627, 0x063A), (0x0641, 0x064A), (0x064B, 0x0650)], 2, 8, " "),
    "hebrew": ([(0x05D0, 0x05EA), (0x05B0, 0x05B9)], 2, 7, " "),
    "devanagari": ([(0x0915, 0x0939), (0x093E, 0x094D), (0x0905, 0x0914)], 2, 8, " "),
    "thai": ([(0x0E01, 0x0E2E), (0x0E30, 0x0E3A), (0x0E40, 0x0E4B)], 4, 16, ""),
    "han": ([(0x4E00, 0x9FA5), (0x4E00, 0x4FFF), (0x3400, 0x3480)], 1, 5, ""),
    "kana": ([(0x3042, 0x3093), (0x30A2, 0x30F3), (0x3099, 0x309A)], 2, 8, ""),
    "hangul": ([(0xAC00, 0xD7A3), (0x1100, 0x1112), (0x1161, 0x1175)], 1, 5, " "),
}
EMOJI = ["😀", "👍🏽", "👨\u200d👩\u200d👧", "🇫🇷", "❤️", "🏳️\u200d🌈", "™", "½", "①", "ﬁ", "Ａ", "\u0301", "e\u0301", "ñ", "\u200b", "\ufeff", "\u00a0", "\u2028"]
MARKS = [".", ",", "!", "?", ";", ":", "...", " - ", "—", "'", "\"", "(", ")", "/", "%", "$9.99", "#1", "@you", "www.a-b.org/c?d=e", "3,141.59", "1990s",
         "10:30", "e-mail", "[SEP]", "<mask>", "</s>", "\t", "\n", "  ", "«", "»", "。", "、", "؟", "।"]


def word_of(draw, script):
    if script == "latin":
        word = draw.of(ENGLISH if draw.below(4) else FRENCH + GERMAN)
        return (word, word.capitalize(), word.upper())[draw.below(12) // 5 if draw.below(3) == 0 else 0]
    runs, least, most, _ = SCRIPTS[script]
    letters = []
    for _ in range(least + draw.below(most - least + 1)):
        low, high = runs[0] if draw.below(5) else draw.of(runs)
        # Few letters are common, many are rare: as in any language.
        letters.append(chr(low + int((high - low + 1) * draw.unit() ** 2.5)))
    return "".join(letters)


def text_of(draw, scripts):
    words = int(math.exp(2.2 + 1.1 * draw.normal()))
    out = []
    for _ in range(min(words, 220)):
        script = draw.of(scripts)
        out.append(word_of(draw, script) if draw.below(40) else draw.of(EMOJI))
        if draw.below(7) == 0:
            out.append(draw.of(MARKS))
        out.append(" " if script == "latin" else SCRIPTS[script][3])
    return "".join(out).strip(" ") if draw.below(20) else "".join(out)


def make_texts():
    draw, names = Draw(1), ["latin", *SCRIPTS]
    texts = [text_of(draw, [names[i % len(names)]] if draw.below(6) else names) for i in range(TEXTS)]
    return [{"text": t} for t in texts], [{"text": draw.of(texts), "text_pair": draw.of(texts)} for _ in range(PAIRS)]


def write_lines(path, lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(line + "\n" for line in lines)
    path.write_bytes(gzip.compress(text.encode("utf-8"), 9, mtime=0))


def ids_of(tokenizer, records, max_length):
    tokenizer.no_padding()
    tokenizer.no_truncation()
    if max_length:
        tokenizer.enable_truncation(max_length, strategy="longest_first")
    for r in records:
        e = tokenizer.encode(r["text"], r["text_pair"]) if "text_pair" in r else tokenizer.encode(r["text"])
        yield {"ids": e.ids, "type_ids": e.type_ids}


def write_texts():
    texts, pairs = make_texts()
    kinds = {"made": texts, "made-pairs": pairs}
    for kind, records in kinds.items():
        write_lines(HERE / "texts" / f"{kind}.jsonl.gz", [json.dumps(r, ensure_ascii=False) for r in records])
    kinds["nasty"] = [json.loads(line) for line in gzip.open(HERE / "texts" / "nasty.jsonl.gz", "rt", encoding="utf-8")]
    for folder in sorted((HERE / "tokenizers").iterdir()):
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        for kind, records in kinds.items():
            for max_length, suffix in ((None, ""), (64, ".max64")):
                lines = [json.dumps(i, separators=(",", ":")) for i in ids_of(tokenizer, records, max_length)]
                write_lines(HERE / "ids" / folder.name / f"{kind}{suffix}.jsonl.gz", lines)
    write_folds(texts)


def write_folds(texts):
    """Sets and sums, fold by fold."""
    tokenizer = Tokenizer.from_file(str(HERE / "tokenizers" / "byte-bpe" / "tokenizer.json"))
    rows = [i["ids"] for i in ids_of(tokenizer, texts, None)]
    fold, found = results_data.kfold(len(rows), FOLDS, FOLD_SEED), []
    for f in range(FOLDS):
        train = [i for r, at in zip(rows, fold) if at != f for i in r]
        valid = [r for r, at in zip(rows, fold) if at == f]
        tokens, unseen = [i for r in valid for i in r], {i for r in valid for i in r} - set(train)
        found.append({"train_tokens": len(train), "valid_tokens": len(tokens), "train_types": len(set(train)), "valid_types": len(set(tokens)),
                      "unseen_types": len(unseen), "unseen_tokens": sum(i in unseen for i in tokens),
                      "unseen_rows": sum(any(i in unseen for i in r) for r in valid)})
    (HERE / "folds.json").write_text(json.dumps({"seed": FOLD_SEED, "rows": len(rows), "folds": found}, indent=1) + "\n", encoding="ascii")
    print("unseen types of each fold:", [f["unseen_types"] for f in found])


# ---- lengths --------------------------------------------------------------------------------------------------------


def make_lengths():
    """Four shapes: a long tail that is cut; a hump; short and long in turns, in the order of a text; a very long tail."""
    draw = Draw(2)
    reviews = [min(400, max(12, int(math.exp(5.25 + 0.6 * draw.normal())))) for _ in range(6000)]
    passages = [min(350, max(60, int(220 + 38 * draw.normal()))) for _ in range(2000)]
    lines = []
    while len(lines) < 3000:
        lines += [3 + draw.below(8), *(min(512, max(8, int(math.exp(4.7 + 0.8 * draw.normal())))) for _ in range(draw.below(9)))]
    chats = [min(2048, max(16, int(math.exp(6.2 + 1.3 * draw.normal())))) for _ in range(6000)]
    return {"reviews": reviews, "passages": passages, "lines": lines[:3000], "chats": chats}


def slots(batches):
    return sum(max(b) * len(b) for b in batches)


def cut(items, size):
    return [items[i : i + size] for i in range(0, len(items), size)]


def uniform(draw, lengths, size):
    """McCormick's smart batching: from the sorted list a random run of `size`, until nothing is left."""
    left, batches = sorted(lengths), []
    while left:
        take = min(size, len(left))
        at = draw.below(len(left) - take + 1)
        batches.append(left[at : at + take])
        del left[at : at + take]
    return batches


def windows(draw, lengths, size, window):
    """Read ahead, sort, cut; what fills no batch waits for the next window."""
    order, kept, batches = draw.shuffled(lengths), [], []
    for start in range(0, len(order), window):
        kept = sorted(kept + order[start : start + window])
        while len(kept) >= size:
            batches.append(kept[:size])
            del kept[:size]
    return batches + ([kept] if kept else [])


def by_tokens(lengths, budget):
    """infinibatch's: from the longest down, as many rows as the longest of them lets into the budget."""
    left, batches = sorted(lengths, reverse=True), []
    while left:
        take = max(1, budget // left[0])
        batches.append(left[:take])
        left = left[take:]
    return batches


def first_fit(lengths, budget):
    """First-fit decreasing."""
    bins = []
    for n in sorted(lengths, reverse=True):
        for b in bins:
            if sum(b) + n <= budget:
                b.append(n)
                break
        else:
            bins.append([n])
    return bins


def spread(make, least):
    """From the least slots that there can be to what is beyond all draws, by half of their range."""
    drawn = [slots(make(Draw(100 + seed))) for seed in range(SEEDS)]
    return max(least, min(drawn) - (max(drawn) - min(drawn)) // 2), max(drawn) + (max(drawn) - min(drawn)) // 2


def lag_of(steps):
    """The mean over steps of how far the ranks' sums of squared lengths are apart; its square root."""
    squares = [[sum(n * n for n in part) for part in step] for step in steps]
    return math.sqrt(sum(max(s) - min(s) for s in squares) / len(squares))


def longest_first(draw, lengths, rows, ranks):
    """Graham's LPT: a step's rows from the costliest down, each to the rank that has least. The mean of the costliest over the mean."""
    cost, sums = (lambda n: 4608 * n + n * n), []
    order = draw.shuffled(lengths)
    for start in range(0, len(order) - rows + 1, rows):
        load = [0] * ranks
        for n in sorted(order[start : start + rows], reverse=True):
            load[load.index(min(load))] += cost(n)
        sums.append(max(load) * ranks / sum(load))
    return sum(sums) / len(sums)


def figures(lists):
    """(list, batching, padding, options, batches, least slots, most slots), each a row of figures.json."""
    n, sums = {k: len(v) for k, v in lists.items()}, {k: sum(v) for k, v in lists.items()}

    def row(name, batching, padding, batches, least, most, **options):
        return {"list": name, "batching": batching, "padding": padding, **options, "batches": batches, "least": least, "most": most}

    for name, size, longest in (("reviews", 16, 400), ("passages", 24, 350)):
        lengths, o, batches = lists[name], {"batch_size": size, "max_length": longest}, -(-n[name] // size)
        # Wherever the batch that is not full stands among the others.
        down, short = sorted(lengths, reverse=True), n[name] % size
        cuts = [slots([*cut(down[:at], size), down[at : at + short] or [0], *cut(down[at + short :], size)]) for at in range(0, n[name], size)]
        yield row(name, "uniform", "longest", batches, *spread(lambda d, x=lengths, s=size: uniform(d, x, s), sums[name]), **o)
        yield row(name, "sorted", "longest", batches, min(cuts), max(cuts), **o)
        yield row(name, "random", "longest", batches, *spread(lambda d, x=lengths, s=size: cut(d.shuffled(x), s), sums[name]), **o)
        yield row(name, "random", "max_length", batches, n[name] * longest, n[name] * longest, **o)
        yield row(name, "random", "none", batches, sums[name], sums[name], **o)
    lengths, size, budget = lists["lines"], 32, 16384
    batches = -(-n["lines"] // size)
    in_order = slots(cut(lengths, size))
    yield row("lines", "sequential", "longest", batches, in_order, in_order, batch_size=size)
    most = min(slots(windows(Draw(100 + s), lengths, size, 320)) for s in range(SEEDS))
    yield row("lines", "bucketed", "longest", batches, sums["lines"], most, batch_size=size, read_ahead=320)
    greedy = by_tokens(lengths, budget)
    yield row("lines", "bucketed", "longest", len(greedy), sums["lines"], slots(greedy), max_tokens=budget, read_ahead=10000)
    packed = first_fit(lengths, budget)
    assert len(packed) == -(-sums["lines"] // budget), "first fit is not the least possible here"
    yield row("lines", "packed", "none", len(packed), sums["lines"], sums["lines"], max_tokens=budget)


def write_lengths():
    lists = make_lengths()
    for name, lengths in lists.items():
        write_lines(HERE / "lengths" / f"{name}.txt.gz", map(str, lengths))
    rows = list(figures(lists))
    ranks, budget = 8, 32768
    bins = first_fit(lists["chats"], budget)
    steps = [bins[i : i + ranks] for i in range(0, len(bins) - ranks + 1, ranks)]
    rows_of = Draw(9).shuffled(range(len(bins)))
    taken = [[bins[j] for j in rows_of[i : i + ranks]] for i in range(0, len(bins) - ranks + 1, ranks)]
    found = {"plans": rows,
             "packed": {"list": "chats", "ranks": ranks, "max_tokens": budget, "steps": -(-sum(lists["chats"]) // (budget * ranks)),
                        "tokens": sum(lists["chats"]), "used": round(min(sum(map(sum, s)) / (ranks * budget) for s in steps), 4),
                        "lag": round(lag_of(taken))},
             "balance": {"list": "reviews", "ranks": ranks, "batch_size": 32,
                         "costliest": round(sum(longest_first(Draw(100 + s), lists["reviews"], 32, ranks) for s in range(5)) / 5, 5)}}
    lines = ",\n  ".join(json.dumps(r) for r in rows)
    rest = ",\n ".join(f'"{key}": {json.dumps(found[key])}' for key in ("packed", "balance"))
    (HERE / "lengths" / "figures.json").write_text(f'{{"plans": [\n  {lines}],\n {rest}}}\n', encoding="ascii")
    print(f'{{"plans": [\n  {lines}],\n {rest}}}')


def main():
    if tokenizers.__version__ != WHEEL:
        sys.exit(f"make_text_golden: needs tokenizers {WHEEL}, found {tokenizers.__version__}")
    write_texts()
    write_lengths()


if __name__ == "__main__":
    main()
