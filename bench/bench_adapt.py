#!/usr/bin/env python3
"""Whether a model reads better after it has trained on masked words of texts like those that it is fine-tuned on
(docs/tutorials/006-adapt.md): MiniLM of the quick start, fine-tuned on sentences of film reviews as it is, and after it was adapted to
reviews of IMDB and to the sentences themselves, whose labels are not looked at. Each seed adapts and fine-tunes again.

`mean` and `deviation` are over the seeds, `worst` is the least of them, `change` is to the model as it is, seed by seed, with its
standard error: what is within twice of that says nothing.

    bench/bench_adapt.py
    bench/bench_adapt.py --seeds 1 --texts 40 --sentences 40 --rows 40 --eval-rows 40      tries it"""

import argparse
import shlex
import statistics
import sys
import tempfile

import results_data
from common import brim_train, fetch_data, machine, print_seeds, print_table, write_json

WORK = results_data.ROOT / "build" / "adapt"
ALONE, ADAPTED = "as it is", "adapted before"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--texts", type=int, default=1500, help="reviews to adapt to (default: 1500)")
    parser.add_argument("--sentences", type=int, default=7464, help="sentences to adapt to, without their labels (default: all 7464)")
    parser.add_argument("--rows", type=int, default=2000, help="sentences to fine-tune on (default: 2000)")
    parser.add_argument("--eval-rows", type=int, default=1066, help="sentences to judge by (default: all 1066)")
    parser.add_argument("--max-length", type=int, default=128)
    parser.add_argument("--epochs", type=float, default=1, help="of the fine-tune (default: 1)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--model", help="a folder (default: MiniLM of the quick start)")
    parser.add_argument("--masked", default="--epochs 1 --lr 2e-5 --batch-size 32 --warmup-ratio 0.1",
                        help="words for the training on masked words (default: %(default)s)")
    parser.add_argument("--options", default="--batch-size 16 --warmup-ratio 0.1", help="words for the fine-tune (default: %(default)s)")
    return parser.parse_args()


def files(options):
    """Texts to adapt to, rows to fine-tune on, rows to judge by: samples, the same on every machine."""
    reviews = results_data.table(results_data.DATA / "imdb.csv")
    train, test = results_data.rotten_tomatoes(None)
    texts = results_data.take(reviews, options.texts, "adapt-reviews") + results_data.take(train, options.sentences, "adapt-sentences")
    name = f"{options.texts}-{options.sentences}"
    return (results_data.write_rows(WORK / f"texts-{name}.csv", [{"text": row["text"]} for row in results_data.mixed(texts, "adapt")]),
            results_data.write_rows(WORK / f"train-{options.rows}.csv", results_data.take(train, options.rows, "adapt-rows")),
            results_data.write_rows(WORK / f"test-{options.eval_rows}.csv", results_data.take(test, options.eval_rows, "adapt-test")))


def adapt(options, model, texts, folder, seed):
    return brim_train(model, texts, folder, *shlex.split(options.masked), task="mlm", eval="5%", seed=seed, threads=options.threads,
                      max_length=options.max_length)


def tune(options, model, train, judged, seed):
    with tempfile.TemporaryDirectory() as folder:
        return brim_train(model, train, folder + "/run", *shlex.split(options.options), task="classification", eval=judged, seed=seed,
                          threads=options.threads, max_length=options.max_length, epochs=options.epochs)


def main():
    options = arguments()
    model = options.model or fetch_data()
    texts, train, judged = files(options)
    found, masked = {ALONE: [], ADAPTED: []}, []
    for seed in range(1, options.seeds + 1):
        with tempfile.TemporaryDirectory() as folder:
            masked.append(adapt(options, model, texts, folder + "/adapted", seed))
            found[ALONE].append(tune(options, model, train, judged, seed))
            found[ADAPTED].append(tune(options, folder + "/adapted", train, judged, seed))
        print(f"seed {seed}: masked words {masked[-1]['seconds']:.0f} s, " +
              ", ".join(f"{name} {runs[-1]['accuracy']:.4f} in {runs[-1]['seconds']:.0f} s" for name, runs in found.items()),
              file=sys.stderr, flush=True)
    print(f"{machine()}: {train.name}, judged by {judged.name}, {options.seeds} seeds\n")
    print_seeds("accuracy", {name: [run["accuracy"] for run in runs] for name, runs in found.items()}, ALONE)
    print()
    print_table(["masked words after it", "mean of the seeds"],
                [[name, f"{statistics.mean(run[name] for run in masked):.4g}"] for name in ("loss", "perplexity", "accuracy", "tokens", "seconds")])
    write_json("adapt.json", {"machine": machine(), "options": vars(options), "masked": masked, "found": found})
    return 0


if __name__ == "__main__":
    sys.exit(main())
