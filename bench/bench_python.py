#!/usr/bin/env python3
"""A PyTorch fine-tune fed by brim, and the same fed by what people use: wall time, padding, and the share of time spent waiting for data.

The model, its weights, the texts, the rows of a batch and the optimizer are the same. What differs is how texts become batches:

  brim         brim.Dataset + batches(batching="sorted", padding="longest").torch()
  dataloader   tokenizers, a shuffling DataLoader and DataCollatorWithPadding: dynamic padding
  grouped      the same with transformers' LengthGroupedSampler
  infinibatch  the same texts through its BucketedReadaheadBatchIterator

`prepare` is from the file to the first batch, `waiting` the share of the training time in which the model had no batch. All take turns,
round by round; the table has medians."""

import argparse
import csv
import functools
import random
import time

from common import DATA, ROOT, fetch_data, machine, median, print_table, write_json

TASKS = {"rotten-tomatoes": ("train.csv", 64, 480), "imdb": ("imdb.csv", 400, 64)}  # texts, maximum length, rows of a round
FEEDS = ("brim", "dataloader", "grouped", "infinibatch")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--feeds", default=",".join(FEEDS))
    return parser.parse_args()


def read(path):
    csv.field_size_limit(1 << 30)
    with open(path, encoding="utf-8", newline="") as file:
        return [(row["text"], int(row["label"])) for row in csv.DictReader(file)]


def subset(path, rows, seed):
    """A file of so many rows, drawn from all."""
    chosen = random.Random(seed).sample(read(path), rows)
    target = ROOT / "build" / f"bench-python-{path.stem}-{rows}.csv"
    target.parent.mkdir(exist_ok=True)
    with open(target, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *chosen])
    return target


# ---- four ways from a file to batches -------------------------------------------------------------------------------------------------


def feed_brim(folder, path, max_length, size):
    import brim
    import brim.torch  # noqa: F401

    rows = brim.Dataset.from_csv(path, brim.Tokenizer(folder), max_length=max_length)
    return (batch.torch() for batch in rows.batches(batch_size=size, batching="sorted", padding="longest"))


def encoded(folder, path, max_length):
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    texts = read(path)
    rows = tokenizer([text for text, _ in texts], truncation=True, max_length=max_length)["input_ids"]
    return tokenizer, [{"input_ids": ids, "label": label} for ids, (_, label) in zip(rows, texts)]


def feed_dataloader(folder, path, max_length, size, grouped=False):
    import torch
    import transformers
    from transformers.trainer_pt_utils import LengthGroupedSampler

    tokenizer, rows = encoded(folder, path, max_length)
    sampler = LengthGroupedSampler(size, lengths=[len(row["input_ids"]) for row in rows]) if grouped else None
    return iter(torch.utils.data.DataLoader(rows, batch_size=size, sampler=sampler, shuffle=not grouped,
                                            collate_fn=transformers.DataCollatorWithPadding(tokenizer)))


def feed_infinibatch(folder, path, max_length, size):
    import transformers
    from infinibatch import iterators

    tokenizer, rows = encoded(folder, path, max_length)
    source = iterators.NativeCheckpointableIterator(rows)
    batches = iterators.BucketedReadaheadBatchIterator(source, read_ahead=len(rows), key=lambda row: len(row["input_ids"]),
                                                       batch_size=size, seed=1)
    return iter(iterators.MapIterator(batches, transformers.DataCollatorWithPadding(tokenizer)))


MAKE = {"brim": feed_brim, "dataloader": feed_dataloader, "grouped": functools.partial(feed_dataloader, grouped=True),
        "infinibatch": feed_infinibatch}


# ---- one round ------------------------------------------------------------------------------------------------------------------------


def train(model, feed, folder, path, max_length, size):
    """The figures of one pass over the file."""
    import torch

    started = time.perf_counter()
    batches = MAKE[feed](folder, path, max_length, size)
    batch = next(batches, None)
    prepare = time.perf_counter() - started
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.0)
    waiting, slots, tokens = 0.0, 0, 0
    begun = time.perf_counter()
    while batch is not None:
        slots += batch["input_ids"].numel()
        tokens += int(batch["attention_mask"].sum())
        model(**batch).loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        asked = time.perf_counter()
        batch = next(batches, None)
        waiting += time.perf_counter() - asked
    seconds = time.perf_counter() - begun
    return {"prepare": prepare, "training": seconds, "wall": prepare + seconds, "waiting": waiting / seconds,
            "padding": 1 - tokens / slots, "tokens": tokens}


def bench(task, folder, args, model):
    name, max_length, rows = TASKS[task]
    path = subset(DATA / name, rows, 1)
    feeds = args.feeds.split(",")
    train(model, feeds[0], folder, path, max_length, args.batch_size)  # warms up torch's allocator and the page cache
    rounds = {feed: [] for feed in feeds}
    for _ in range(args.rounds):
        for feed in feeds:
            rounds[feed].append(train(model, feed, folder, path, max_length, args.batch_size))
    found = {feed: {key: median([r[key] for r in all_]) for key in all_[0]} for feed, all_ in rounds.items()}
    best = {key: min(f[key] for feed, f in found.items() if feed != "brim") for key in ("prepare", "training", "wall", "waiting", "padding")} \
        if len(feeds) > 1 else {}
    print(f"\n{task}: {rows} texts of at most {max_length} tokens, {args.batch_size} at a time, medians of {args.rounds} rounds")
    print_table(["fed by", "wall s", "prepare s", "training s", "waiting", "padding", "wall / brim"],
                [[feed, f"{f['wall']:.2f}", f"{f['prepare']:.3f}", f"{f['training']:.2f}", f"{f['waiting']:.2%}", f"{f['padding']:.1%}",
                  f"{f['wall'] / found[feeds[0]]['wall']:.2f}"] for feed, f in found.items()])
    if best:
        verdicts = [f"{key} {found['brim'][key] / best[key]:.2f}" if best[key] else f"{key} {found['brim'][key]:.3g}" for key in best]
        print("brim / the best of the others: " + ", ".join(verdicts))
    return found


def main():
    args = arguments()
    folder = fetch_data()
    import torch
    import transformers

    import brim

    transformers.logging.set_verbosity_error()
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).train()
    print(f"{machine()}; brim {brim.__version__}, torch {torch.__version__}, {torch.get_num_threads()} threads")
    results = {task: bench(task, folder, args, model) for task in args.tasks.split(",")}
    write_json("bench-python.json", {"machine": machine(), "rounds": args.rounds, "results": results})


if __name__ == "__main__":
    main()
