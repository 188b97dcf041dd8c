#!/usr/bin/env python3
"""Accuracy on Rotten Tomatoes sentences: MiniLM, batch 16, lr 5e-5, two epochs, mean of several seeds, with and without padding.

Takes a while: each run trains on 7,464 sentences. The padded runs are there to show that leaving padding out costs nothing."""

import argparse
import shutil
import tempfile

from common import DATA, brim_json, fetch_data, machine, print_table, write_json


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--epochs", default="2")
    parser.add_argument("--paddings", default="none,max_length")
    parser.add_argument("--max-length", default="64")
    options = parser.parse_args()
    model = fetch_data()
    results, rows = [], []
    for padding in options.paddings.split(","):
        scores = []
        for seed in options.seeds.split(","):
            folder = tempfile.mkdtemp(prefix="brim-accuracy-")
            trained = brim_json("train", "--overwrite", model=model, train=DATA / "train.csv", output=folder, seed=seed,
                                epochs=options.epochs, padding=padding, max_length=options.max_length)
            scored = brim_json("evaluate", DATA / "test.csv", model=folder)
            shutil.rmtree(folder)
            scores.append(scored["accuracy"])
            results.append({"padding": padding, "seed": seed, "accuracy": scored["accuracy"], "seconds": trained["seconds"]})
            rows.append([padding, seed, f"{scored['accuracy']:.4f}", f"{trained['seconds']:.0f}"])
        rows.append([padding, "mean", f"{sum(scores) / len(scores):.4f}", ""])
    print(machine())
    print_table(["padding", "seed", "accuracy", "seconds"], rows)
    write_json("bench-accuracy.json", {"machine": machine(), "results": results})


if __name__ == "__main__":
    main()
