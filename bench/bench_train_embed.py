#!/usr/bin/env python3
"""Training of vectors on the CPU: brim next to sentence-transformers, which pads.

The same weights (MiniLM of the quick start), pairs, loss, batch, optimizer, dropout, threads, fp32. Pairs are verses of two English Bibles
(examples/python/verses.py): the first words of a verse ask for the same verse in other words. Of in-batch negatives a step of 1,024 pairs
is computed at once and, with the memory of a part, in parts: brim's --max-tokens, and sentence-transformers' cached loss, in mini-batches of
so many texts and of as many tokens as brim's parts. With --data DIR (which has data/stsb) the pairs are STS-B's sentences, which are short enough
for a plain step in 24 GB. Texts are tokenized beforehand on both sides. Each run is a process; all take turns,
round by round, and the table has medians. Tokens are real ones: padding is no work done. The peak is the process's.

With --quality, instead, both train with the same settings from several seeds, and `brim evaluate` measures both folders: nDCG@10 and
recall@10 of unseen verses, and, with --data DIR (which has data/stsb), Spearman's correlation on STS-B's test set after its own training
set. `before` is the model that all begin with.

    make bench-train_embed ARGS="--rounds 3"
    make bench-train_embed DATA=DIR ARGS="--quality --seeds 3" """

import argparse
import csv
import json
import lzma
import math
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

from common import BRIM, ROOT, brim_json, fetch_data, launched, machine, median, print_table, write_json

LENGTH = 256
CONTENDERS = ("brim", "brim, in parts", "st, plain", "st, cached", "st, cached by tokens")
HOW = {"lr": 2e-5, "weight_decay": 0.0, "clip": 1.0, "warmup_ratio": 0.1}  # of AdamW with a linear schedule


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--contenders", default=";".join(CONTENDERS), help="with ; between")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=2, help="optimizer steps a round, after one that warms up")
    parser.add_argument("--batch-size", type=int, default=1024, help="pairs of a step")
    parser.add_argument("--max-tokens", type=int, default=8192, help="of a part")
    parser.add_argument("--mini-batch", type=int, default=32, help="texts of a part of the cached loss")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--quality", action="store_true", help="what is learned, instead of how fast")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--pairs", type=int, default=4096, help="verses to train with, in steps of 64")
    parser.add_argument("--queries", type=int, default=1000, help="unseen verses that are asked for, among three times as many")
    parser.add_argument("--scored", type=int, default=0, help="rows of STS-B to train with; 0: all")
    parser.add_argument("--data", type=pathlib.Path, help="folder with data/stsb; without it there are verses alone")
    parser.add_argument("--peer", help=argparse.SUPPRESS)
    return parser.parse_args()


# ---- rows -----------------------------------------------------------------------------------------------------------


def write_verses(folder, train, queries):
    """train.csv (query, document), corpus.jsonl, queries.jsonl, relevant.tsv."""
    sys.path.insert(0, str(ROOT / "examples" / "python"))
    import verses

    subprocess.run([sys.executable, verses.__file__, folder, "--train", str(train), "--test", str(queries), "--others", str(2 * queries)],
                   check=True, stdout=subprocess.DEVNULL)


def write_stsb(folder, source, rows):
    """train.csv and test.csv (sentence1, sentence2, score from 0 to 1)."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, most in (("train", rows), ("test", 0)):
        with lzma.open(source / f"stsb-en-{name}.csv.xz", "rt", encoding="utf-8", newline="") as file:
            scored = [(a, b, float(score) / 5) for a, b, score, *_ in csv.reader(file)]
        with open(folder / f"{name}.csv", "w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("sentence1", "sentence2", "score"), *scored[:most or None]])


def read_rows(path):
    """Columns of texts, and the scores or None."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    names = [name for name in rows[0] if name != "score"]
    return [[row[name] for name in names] for row in rows], [float(row["score"]) for row in rows] if "score" in rows[0] else None


# ---- sentence-transformers, in its own process ------------------------------------------------------------------------


def peer_loss(model, name, order):
    from sentence_transformers.sentence_transformer import losses

    if name == "cosent":
        return losses.CoSENTLoss(model)
    if name == "st, cached":
        return losses.CachedMultipleNegativesRankingLoss(model, mini_batch_size=order["mini_batch"])
    if name == "st, cached by tokens":
        return losses.CachedMultipleNegativesRankingLoss(model, mini_batch_num_tokens=order["max_tokens"])
    return losses.MultipleNegativesRankingLoss(model)


def peer_steps(model, rows, scores, order):
    """What each step takes: the columns' features, labels, and how many real tokens they have. Tokenized."""
    import torch

    draw, steps = random.Random(order["seed"]), []
    for _ in range(order["epochs"]):
        at = list(range(len(rows)))
        draw.shuffle(at)
        for first in range(0, len(at), order["batch_size"]):
            taken = at[first:first + order["batch_size"]]
            features = [dict(model.preprocess([rows[i][column] for i in taken])) for column in range(len(rows[0]))]
            labels = torch.tensor([scores[i] for i in taken]) if scores else None
            steps.append((features, labels, sum(int(one["attention_mask"].sum()) for one in features)))
            if len(steps) == order["most"]:
                return steps
    return steps


def rate_at(step, total):
    """The share of the learning rate in a step, counted from 0: brim's linear schedule, which is that of transformers."""
    warm = math.ceil(HOW["warmup_ratio"] * total)
    return step / warm if step < warm else (total - step) / max(1, total - warm)


def peer(order):
    """Trains, prints tokens and seconds, and leaves a folder where one is wanted."""
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(order["threads"])
    torch.manual_seed(order["seed"])
    model = SentenceTransformer(order["model"], device="cpu")
    model.max_seq_length = LENGTH
    rows, scores = read_rows(order["rows"])
    loss, steps = peer_loss(model, order["loss"], order), peer_steps(model, rows, scores, order)
    optimizer = torch.optim.AdamW(model.parameters(), lr=HOW["lr"], weight_decay=HOW["weight_decay"])
    model.train()

    def step(number, total):
        features, labels, tokens = steps[number]
        for group in optimizer.param_groups:
            group["lr"] = HOW["lr"] * rate_at(number, total)
        loss([dict(one) for one in features], labels).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), HOW["clip"])
        optimizer.step()
        optimizer.zero_grad()
        return tokens

    if order["warm"]:
        step(0, 1)
    begin = time.perf_counter()
    tokens = sum(step(number, len(steps)) for number in range(int(order["warm"]), len(steps)))
    seconds = time.perf_counter() - begin
    if order["output"]:
        model.save(order["output"])
    print(json.dumps({"tokens": tokens, "seconds": seconds}))


# ---- a run of either -------------------------------------------------------------------------------------------------

def peer_run(**order):
    fixed = {"warm": False, "most": 0, "epochs": 1, "output": None, "mini_batch": 0, "max_tokens": 0}
    said, peak = launched([sys.executable, __file__, "--peer", json.dumps(fixed | order, default=str)], TOKENIZERS_PARALLELISM="false",
                          HF_HUB_OFFLINE="1")
    return json.loads(said[-1]), peak


def brim_run(output, **options):
    options = {"task": "embedding", "max_length": LENGTH, "output": output, "schedule": "linear", **HOW, **options}
    words = [word for name, value in options.items() for word in ("--" + name.replace("_", "-"), value)]
    return launched([BRIM, "train", "--quiet", "--json", *words])[1]


# ---- speed ----------------------------------------------------------------------------------------------------------


def brim_speed(folder, weights, given, in_parts):
    with tempfile.TemporaryDirectory() as place:
        peak = brim_run(f"{place}/run", model=weights, train=folder / "train.csv", loss="in-batch", batch_size=given.batch_size,
                        max_steps=given.steps + 1, threads=given.threads, **({"max_tokens": given.max_tokens} if in_parts else {}))
        steps = [event for event in map(json.loads, open(f"{place}/run/log.jsonl", encoding="utf-8")) if event["event"] == "step"]
    return sum(step["tokens"] for step in steps[1:]) / (steps[-1]["seconds"] - steps[0]["seconds"]), peak


def speed_of(name, folder, weights, given):
    """Tokens a second, and bytes."""
    if name.startswith("brim"):
        return brim_speed(folder, weights, given, "parts" in name)
    found, peak = peer_run(model=weights, rows=folder / "train.csv", loss=name, threads=given.threads, seed=1, batch_size=given.batch_size,
                           most=given.steps + 1, warm=True, mini_batch=given.mini_batch, max_tokens=given.max_tokens)
    return found["tokens"] / found["seconds"], peak


def write_pairs(place, given):
    """train.csv, as many rows as the steps take."""
    if not given.data:
        return write_verses(place, given.batch_size * (given.steps + 1), 10)
    write_stsb(place, given.data / "data" / "stsb", given.batch_size * (given.steps + 1))
    rows, _ = read_rows(place / "train.csv")
    with open(place / "train.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("sentence1", "sentence2"), *rows])


def measure_speed(given, weights, place):
    taken = {name: [] for name in given.contenders.split(";")}
    write_pairs(place, given)
    for number in range(given.rounds):
        for name, runs in taken.items():
            runs.append(speed_of(name, place, weights, given))
            print(f"  round {number + 1}: {name}: {runs[-1][0]:,.0f} tokens/s, {runs[-1][1] / 1e6:,.0f} MB", flush=True)
    speeds = {name: median([speed for speed, _ in runs]) for name, runs in taken.items()}
    rows = []
    for name, speed in speeds.items():
        same = speeds.get("brim, in parts" if "cached" in name or "parts" in name else "brim")
        rows.append((name, f"{speed:,.0f}", f"{same / speed:.2f}" if same else "-", f"{speeds.get('brim', math.nan) / speed:.2f}",
                     f"{max(peak for _, peak in taken[name]) / 1e6:,.0f}"))
    print()
    print_table((f"{given.batch_size:,} pairs a step", "tokens/s", "brim alike / it", "brim / it", "peak MB"), rows)
    return taken


# ---- quality --------------------------------------------------------------------------------------------------------


class Case:
    """Rows to train with, how, and what is measured afterwards."""

    def __init__(self, name, train, loss, batch_size, metrics, evaluation):
        self.name, self.train, self.loss, self.batch_size, self.metrics, self.evaluation = name, train, loss, batch_size, metrics, evaluation

    def worth(self, model):
        report = brim_json("evaluate", model=model, max_length=LENGTH, **self.evaluation)
        return [report[metric] for metric in self.metrics]

    def trained(self, who, weights, seed, given, output):
        if who == "brim":
            brim_run(output, model=weights, train=self.train, loss=self.loss, batch_size=self.batch_size, epochs=1, seed=seed,
                     threads=given.threads)
        else:
            peer_run(model=weights, rows=self.train, loss=self.loss, threads=given.threads, seed=seed, batch_size=self.batch_size, output=output)
        return output


def cases(given, place):
    write_verses(place / "verses", given.pairs, given.queries)
    files = {"corpus": "corpus.jsonl", "queries": "queries.jsonl", "relevant": "relevant.tsv"}
    found = [Case("verses", place / "verses" / "train.csv", "in-batch", 64, ("ndcg@10", "recall@10"),
                  {name: place / "verses" / file for name, file in files.items()})]
    if given.data:
        write_stsb(place / "stsb", given.data / "data" / "stsb", given.scored)
        found.append(Case("STS-B", place / "stsb" / "train.csv", "cosent", 32, ("spearman_cosine",), {"scored_pairs": place / "stsb" / "test.csv"}))
    return found


def apart(ours, theirs):
    """The difference of the means, and how many of its standard errors it is."""
    difference = statistics.mean(ours) - statistics.mean(theirs)
    if len(ours) < 2:
        return difference, math.nan
    error = math.sqrt((statistics.variance(ours) + statistics.variance(theirs)) / len(ours))
    return difference, difference / error if error else math.copysign(math.inf, difference) if difference else 0.0


def spread(values):
    return f"{statistics.mean(values):.4f}" + (f" ±{statistics.stdev(values):.4f}" if len(values) > 1 else "")


def measure_quality(given, weights, place):
    rows, results = [], {}
    for case in cases(given, place):
        before, after = case.worth(weights), {"brim": [], "st": []}
        for seed in range(1, given.seeds + 1):
            for who, found in after.items():
                found.append(case.worth(case.trained(who, weights, seed, given, str(place / f"{case.name}-{who}-{seed}"))))
                print(f"  {case.name}, seed {seed}: {who}: " + ", ".join(f"{m} {v:.4f}" for m, v in zip(case.metrics, found[-1])), flush=True)
        for i, metric in enumerate(case.metrics):
            ours, theirs = ([one[i] for one in after[who]] for who in ("brim", "st"))
            difference, errors = apart(ours, theirs)
            rows.append((f"{case.name}: {metric}", f"{before[i]:.4f}", spread(ours), spread(theirs), f"{difference:+.4f}", f"{errors:+.1f}"))
        results[case.name] = {"before": before, **after}
    print()
    print_table(("", "before", "brim", "sentence-transformers", "difference", "standard errors"), rows)
    return results


def main():
    given = arguments()
    if given.peer:
        peer(json.loads(given.peer))
        return
    weights = fetch_data()
    print(f"{machine()}; {given.threads} threads\n")
    with tempfile.TemporaryDirectory(prefix="brim-bench-") as place:
        found = (measure_quality if given.quality else measure_speed)(given, weights, pathlib.Path(place))
    write_json("bench-train_embed.json" if not given.quality else "bench-train_embed-quality.json", {"machine": machine(), "threads": given.threads, "runs": found})


if __name__ == "__main__":
    main()
