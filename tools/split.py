#!/usr/bin/env python3
"""Takes rows of a csv file and parts them, the same way on every machine.

  split.py IN.csv --test-share 0.125 --train TRAIN.csv --test TEST.csv   part into two, each class in proportion
  split.py IN.csv --all OUT.csv [--rows N]                               take all rows, or N of them, each class in proportion

--where COLUMN=VALUE takes only those rows. A row's fate depends on the seed and its place in its class alone: the rows of a class are
ordered by a hash, and the first ones are taken. The output keeps the order of the input's hashes, so that files sorted by label come
out mixed. Files are written aside and renamed: they are complete or absent."""

import argparse
import collections
import csv
import hashlib
import os
import sys


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("input")
    parser.add_argument("--where", help="COLUMN=VALUE")
    parser.add_argument("--label", default="label", help="column of the class")
    parser.add_argument("--seed", default="42")
    parser.add_argument("--rows", type=int, help="take only so many")
    parser.add_argument("--test-share", type=float, default=0.125)
    parser.add_argument("--all", metavar="OUT")
    parser.add_argument("--train", metavar="OUT")
    parser.add_argument("--test", metavar="OUT")
    chosen = parser.parse_args()
    if bool(chosen.all) == bool(chosen.train and chosen.test):
        parser.error("give either --all, or --train and --test")
    return chosen


def read(path, where):
    csv.field_size_limit(1 << 30)
    with open(path, encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        column, _, value = (where or "").partition("=")
        if column and column not in reader.fieldnames:
            sys.exit(f"split.py: {path} has no column {column}")
        rows = [row for row in reader if not column or row[column] == value]
        return reader.fieldnames, rows


def shuffled(rows, seed):
    """Rows by the hash of their index: mixed, and the same wherever it runs."""
    return sorted(range(len(rows)), key=lambda index: hashlib.sha256(f"{seed}:{index}".encode()).digest())


def stratified(rows, order, label, share):
    """The indices of `share` of each class, as a set: at least one of each."""
    classes = collections.defaultdict(list)
    for index in order:
        classes[rows[index][label]].append(index)
    return {index for members in classes.values() for index in members[: max(1, round(len(members) * share))]}


def write(path, fields, rows):
    with open(path + ".part", "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fields, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    os.replace(path + ".part", path)


def main():
    chosen = arguments()
    fields, rows = read(chosen.input, chosen.where)
    if not rows:
        sys.exit(f"split.py: {chosen.input}: no rows")
    order = shuffled(rows, chosen.seed)
    if chosen.all:
        share = min(1.0, (chosen.rows or len(rows)) / len(rows))
        taken = stratified(rows, order, chosen.label, share) if share < 1 else set(order)
        write(chosen.all, fields, [rows[index] for index in order if index in taken])
        return
    test = stratified(rows, order, chosen.label, chosen.test_share)
    write(chosen.train, fields, [rows[index] for index in order if index not in test])
    write(chosen.test, fields, [rows[index] for index in order if index in test])


if __name__ == "__main__":
    main()
