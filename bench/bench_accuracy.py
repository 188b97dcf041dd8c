#!/usr/bin/env python3
"""Whether training in bf16 costs accuracy: runs of the same seeds in both precisions, each judged on the rows of --eval. The mean of the
bf16 runs must lie between the least and the most of the fp32 runs, which differ in their seeds alone. Beside it stand fp32's deviation
over the seeds, and what bf16 changes seed by seed. --train and --eval are files as `brim train` reads them; without them it is Rotten
Tomatoes of the quick start.

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


def report(options, wide, narrow):
    """Prints both, and what bf16 changes seed by seed; says whether its mean lies where the fp32 runs lie."""
    print(f"{machine()}: {options.metric} of {options.eval}, {options.seeds} seeds, {options.options or 'no further words'}")
    columns = {"mean": statistics.mean, "least": min, "most": max, "most - least": lambda values: max(values) - min(values),
               "deviation": statistics.stdev}
    changes = [b - a for a, b in zip(wide, narrow, strict=True)]
    table = {"fp32": wide, "bf16": narrow, "bf16 - fp32, by seed": changes}
    print_table(["", *columns], [[name, *(f"{of(values):.4f}" for of in columns.values())] for name, values in table.items()])
    change = statistics.mean(changes)
    error = statistics.stdev(changes) / len(changes) ** 0.5
    within = min(wide) <= statistics.mean(narrow) <= max(wide)
    print(f"bf16 changes the mean by {change:+.4f} (standard error {error:.4f}); fp32's runs deviate by {statistics.stdev(wide):.4f}")
    print(f"bf16's mean lies {'within' if within else 'outside'} the range of fp32's runs: {'ok' if within else 'MISSED'}")
    return 0 if within else 1


def main():
    options = arguments()
    model = options.model or fetch_data()
    scores = {"fp32": [], "bf16": []}
    for seed in range(1, options.seeds + 1):
        for precision, values in scores.items():
            values.append(score(options, model, precision, seed))
        print(f"seed {seed}: " + ", ".join(f"{name} {values[-1]:.4f}" for name, values in scores.items()), file=sys.stderr, flush=True)
    return report(options, scores["fp32"], scores["bf16"])


if __name__ == "__main__":
    sys.exit(main())
