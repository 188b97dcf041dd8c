#!/usr/bin/env python3
"""Reviews that are longer than the model (docs/tutorials/007-long-reviews.md): MiniLM of the quick start, fine-tuned on reviews of IMDB that are
cut at some lengths, and on all of their text in windows. Each way trains and is judged with the same cut, on the same rows; `brim
analyze` says what each way loses and computes.

`mean` and `deviation` are over the seeds, `worst` is the least of them, `change` is to the first way, seed by seed, with its standard
error: what is within twice of that says nothing. `time` is of training, in times of the first way's.

    bench/bench_long_reviews.py
    bench/bench_long_reviews.py --seeds 1 --rows 40 --eval-rows 40         tries it"""

import argparse
import shlex
import statistics
import sys
import tempfile

import results_data
from common import brim_train, fetch_data, machine, print_seeds, write_json

WORK = results_data.ROOT / "build" / "long-reviews"
LENGTHS = (128, 256, 512)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=800, help="to train on (default: 800)")
    parser.add_argument("--eval-rows", type=int, default=1000, help="to judge by (default: 1000)")
    parser.add_argument("--window", type=int, default=256, help="tokens of a window (default: 256)")
    parser.add_argument("--stride", type=int, default=32, help="tokens that windows share (default: 32)")
    parser.add_argument("--max-windows", type=int, default=8)
    parser.add_argument("--lengths", default=",".join(map(str, LENGTHS)), help="what is cut at (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--model", help="a folder (default: MiniLM of the quick start)")
    parser.add_argument("--options", default="--batch-size 16 --lr 1e-4 --warmup-ratio 0.1", help="words for `brim train` (default: %(default)s)")
    return parser.parse_args()


def files(options):
    """Rows to train on and others to judge by: samples, the same on every machine."""
    rows = results_data.mixed(results_data.table(results_data.DATA / "imdb.csv"), "long-reviews")
    rows = [results_data.row(row["text"], row["label"]) for row in rows[: options.rows + options.eval_rows]]
    if len(rows) <= options.rows:
        sys.exit(f"--rows {options.rows}: there are {len(rows)} reviews, and some are to judge by")
    return (results_data.write_rows(WORK / f"train-{options.rows}.csv", rows[: options.rows]),
            results_data.write_rows(WORK / f"test-{options.eval_rows}.csv", rows[options.rows :]))


def ways(options):
    """What each way adds to `brim train`."""
    cuts = {f"cut at {length}": {"max_length": int(length)} for length in options.lengths.split(",")}
    whole = {"max_length": options.window, "windows": options.stride, "max_windows": options.max_windows}
    return cuts | {f"windows of {options.window}": whole}


def main():
    options = arguments()
    model = options.model or fetch_data()
    train, judged = files(options)
    found = {name: [] for name in ways(options)}
    for seed in range(1, options.seeds + 1):
        for name, words in ways(options).items():
            with tempfile.TemporaryDirectory() as folder:
                run = brim_train(model, train, folder + "/run", *shlex.split(options.options), task="classification", eval=judged, seed=seed,
                                 threads=options.threads, **words)
            found[name].append(run)
            print(f"seed {seed}, {name}: {run['accuracy']:.4f}, {run['seconds']:.0f} s", file=sys.stderr, flush=True)
    print(f"{machine()}: {train.name}, judged by {judged.name}, {options.seeds} seeds\n")
    times = {name: statistics.median(run["seconds"] for run in runs) for name, runs in found.items()}
    print_seeds("accuracy", {name: [run["accuracy"] for run in runs] for name, runs in found.items()}, next(iter(found)), times)
    print("\ntokens computed in an epoch: " + ", ".join(f"{name} {runs[0]['tokens']:,}" for name, runs in found.items()))
    write_json("long-reviews.json", {"machine": machine(), "options": vars(options), "found": found})
    return 0


if __name__ == "__main__":
    sys.exit(main())
