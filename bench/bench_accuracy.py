#!/usr/bin/env python3
"""Whether training in bf16 costs accuracy: runs of the same seeds in both precisions, each judged on the rows of --eval. What the mean
over the seeds moves must lie within what the seeds alone move in fp32 (its largest less its smallest). --train and --eval are files as
`brim train` reads them; without them it is Rotten Tomatoes of the quick start.

    bench/bench_accuracy.py --seeds 5 --max-length 64
    bench/bench_accuracy.py --train stsb-train.csv --eval stsb-dev.csv --metric spearman --options "--epochs 2 --lr 5e-5"
"""

import argparse
import json
import shlex
import statistics
import subprocess
import sys
import tempfile

from common import BRIM, DATA, fetch_data, machine, print_table


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--model", help="a folder (default: MiniLM of the quick start)")
    parser.add_argument("--train", default=DATA / "train.csv")
    parser.add_argument("--eval", default=DATA / "test.csv")
    parser.add_argument("--metric", default="accuracy", help="of the evaluation, as `brim train` names it")
    parser.add_argument("--max-length", type=int, default=128)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--options", default="", help="further words for `brim train`")
    return parser.parse_args()


def score(options, model, precision, seed):
    """The metric after one run."""
    with tempfile.TemporaryDirectory() as folder:
        command = [BRIM, "train", "--quiet", "--json", "--model", model, "--train", options.train, "--eval", options.eval, "--output",
                   folder + "/run", "--max-length", options.max_length, "--seed", seed, "--threads", options.threads, "--precision",
                   precision, *shlex.split(options.options)]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(done.stderr)
    judged = next(iter(json.loads(done.stdout)["eval"].values()))
    if options.metric not in judged:
        sys.exit(f"--metric {options.metric}: there are {', '.join(judged)}")
    return judged[options.metric]


def main():
    options = arguments()
    model = options.model or fetch_data()
    scores = {"fp32": [], "bf16": []}
    for seed in range(1, options.seeds + 1):
        for precision, values in scores.items():
            values.append(score(options, model, precision, seed))
        print(f"seed {seed}: " + ", ".join(f"{name} {values[-1]:.4f}" for name, values in scores.items()), file=sys.stderr, flush=True)
    print(f"{machine()}: {options.metric} of {options.eval}, {options.seeds} seeds")
    print_table(["", "mean", "least", "most"], [[name, *(f"{of(values):.4f}" for of in (statistics.mean, min, max))]
                                                for name, values in scores.items()])
    moved = abs(statistics.mean(scores["bf16"]) - statistics.mean(scores["fp32"]))
    spread = max(scores["fp32"]) - min(scores["fp32"])
    print(f"bf16 moves the mean by {moved:.4f}; seeds move fp32 by {spread:.4f}: {'ok' if moved <= spread else 'MISSED'}")
    return 0 if moved <= spread else 1


if __name__ == "__main__":
    sys.exit(main())
