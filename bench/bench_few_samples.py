#!/usr/bin/env python3
"""What each remedy for fine-tuning on few samples does (docs/tutorials/002-folds.md): the same rows, the same start, one method added at a
time, over some seeds.

A regression with mean pooling. Without more it is sentences of the quick start's film reviews, rated 0 or 1; --data DIR takes pairs of
STS-B (DIR/data/stsb), and --train and --eval any files that `brim train` reads, with further words in --options. Each method is
judged by the correlation of Pearson on the rows that are held out. `mean` and `deviation` are over the seeds, `worst` is the least of
them, `change` is to the start, seed by seed, with its standard error: what is within twice of that says nothing.

    bench/bench_few_samples.py                             12 minutes on two cores
    bench/bench_few_samples.py --seeds 1 --rows 48 --eval-rows 60 --epochs 1 --only start,mixout    tries it"""

import argparse
import json
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

import results_data
from common import BRIM, ROOT, fetch_data, machine, print_seeds, write_json

WORK = ROOT / "build" / "few-samples"
START = "start"
METHODS = {  # what a method adds to the start; MADGRAD and SGD have other rates
    START: "",
    "BERTAdam, without bias correction": "--optimizer bert_adam",
    "new top layer": "--reinit-layers 1",
    "two new top layers": "--reinit-layers 2",
    "rates fall by layer": "--layer-lr-decay 0.9",
    "mixout": "--mixout 0.3",
    "decay to the pretrained weights": "--decay-towards pretrained --weight-decay 0.01",
    "averaged weights": "--swa-start 0.5",
    "MADGRAD": "--optimizer madgrad --lr 2e-4",
    "SGD with momentum": "--optimizer sgd --lr 5e-2",
    "frozen embeddings": "--freeze embeddings",
    "frozen, lowest half": "--freeze 3",
    "biases and head alone": "--train-only *.bias,classifier.*,*pooler* --lr 1e-3",
    "first token": "--pooling cls",
    "largest of all tokens": "--pooling max",
    "bf16": "--precision bf16",
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=200, help="to train on (default: 200)")
    parser.add_argument("--eval-rows", type=int, default=400, help="to judge by (default: 400)")
    parser.add_argument("--epochs", type=float, default=4)
    parser.add_argument("--lr", type=float, default=1e-4)
    parser.add_argument("--max-length", type=int, default=128)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--model", help="a folder (default: MiniLM of the quick start)")
    parser.add_argument("--data", type=results_data.pathlib.Path, help="a folder with data/stsb")
    parser.add_argument("--train", type=results_data.pathlib.Path, help="a file of rows, with --eval")
    parser.add_argument("--eval", type=results_data.pathlib.Path)
    parser.add_argument("--options", default="", help="further words for `brim train`")
    parser.add_argument("--only", help="some of the methods by the beginnings of their names, commas between them")
    return parser.parse_args()


def files(options):
    """Files to train on and to judge by: a sample, the same on every machine."""
    if options.train:
        return options.train, options.eval
    name, (train, test) = ("stsb", results_data.stsb(options.data)) if options.data else ("films", results_data.rotten_tomatoes(None))
    test = results_data.take(results_data.apart(train, test), options.eval_rows, name + "-few-test")
    train = results_data.take(train, options.rows, name + "-few")
    return (results_data.write_rows(WORK / f"{name}-{options.rows}.csv", train),
            results_data.write_rows(WORK / f"{name}-test-{options.eval_rows}.csv", test))


def chosen(only):
    """The methods, the start among them always."""
    begins = only.split(",") if only else [""]
    return {name: words for name, words in METHODS.items() if name == START or any(name.startswith(begin) for begin in begins)}


def once(options, model, train, judged, words, seed):
    """(correlation, seconds) of one run. What a method says counts: a word that it gives, too, is left out of the start."""
    said = shlex.split(words)
    start = {"--lr": options.lr, "--pooling": "mean", "--weight-decay": 0}
    start = [word for pair in start.items() if pair[0] not in said for word in pair]
    with tempfile.TemporaryDirectory() as folder:
        command = [BRIM, "train", "--quiet", "--json", "--model", model, "--train", train, "--eval", judged, "--output", folder + "/run",
                   "--task", "regression", "--max-length", options.max_length, "--batch-size", 16, "--epochs", options.epochs, "--warmup-ratio", 0.1, "--seed", seed,
                   "--threads", options.threads, *start, *said, *shlex.split(options.options)]
        since = time.monotonic()
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{shlex.join(map(str, command))}\n{done.stderr}")
    return next(iter(json.loads(done.stdout)["eval"].values()))["pearson"], time.monotonic() - since


def main():
    options = arguments()
    model = options.model or fetch_data()
    train, judged = files(options)
    methods = chosen(options.only)
    values, seconds = {name: [] for name in methods}, {name: [] for name in methods}
    for seed in range(1, options.seeds + 1):
        for name, words in methods.items():
            value, took = once(options, model, train, judged, words, seed)
            values[name].append(value)
            seconds[name].append(took)
            print(f"seed {seed}, {name}: {value:.3f}, {took:.1f} s", file=sys.stderr, flush=True)
    print(f"{machine()}: {train.name}, judged by {judged.name}; {options.epochs:g} epochs, {options.seeds} seeds")
    print_seeds("correlation (Pearson)", values, START, {name: statistics.median(took) for name, took in seconds.items()})
    write_json("few-samples.json", {"machine": machine(), "rows": train.name, "values": values, "seconds": seconds})
    return 0


if __name__ == "__main__":
    sys.exit(main())
