"""The peers of bench_data.py: infinibatch 0.1.1 and a PyTorch DataLoader with transformers' LengthGroupedSampler.

Batches of lengths are counted by running the peers' own iterators over the lengths themselves: only what goes together matters. The
pipeline from text to tensors is infinibatch's as its users write it: gz shards, a Hugging Face tokenizer in the map, bucketed batches,
tokenizer.pad. `python3 peers_data.py SETTINGS.json` runs it once and prints one JSON object."""

import functools
import gzip
import json
import os
import sys
import time


class Count:
    """Batches, slots and tokens of padded batches."""

    def __init__(self):
        self.batches = self.slots = self.tokens = 0

    def add(self, lengths):
        self.batches += 1
        self.slots += len(lengths) * max(lengths)
        self.tokens += sum(lengths)

    @property
    def padding(self):
        return 1 - self.tokens / self.slots


def batch_size_of(rows, max_tokens):
    """What infinibatch takes as batch_size: rows, or a function of the longest."""
    return rows or (lambda longest: max(1, max_tokens // longest))


def infinibatch_lengths(lengths, read_ahead, rows=0, max_tokens=0, shuffle_window=0, seed=0):
    """BucketedReadaheadBatchIterator over lengths in file order, or after a BufferedShuffleIterator."""
    from infinibatch import iterators

    source = iterators.NativeCheckpointableIterator(lengths)
    if shuffle_window:
        source = iterators.BufferedShuffleIterator(source, shuffle_window, seed)
    batches = iterators.BucketedReadaheadBatchIterator(
        source, read_ahead=read_ahead or len(lengths), key=lambda length: length, batch_size=batch_size_of(rows, max_tokens), seed=seed)
    count = Count()
    for batch in batches:
        count.add(batch)
    return count


def dataloader_lengths(lengths, rows, seed=0):
    """A DataLoader that takes rows as LengthGroupedSampler orders them and pads to the longest."""
    import torch
    from transformers.trainer_pt_utils import LengthGroupedSampler

    sampler = LengthGroupedSampler(rows, lengths=lengths, generator=torch.Generator().manual_seed(seed))
    loader = torch.utils.data.DataLoader(lengths, batch_size=rows, sampler=sampler, collate_fn=list)
    count = Count()
    for batch in loader:
        count.add(batch)
    return count


def file_order(lengths, rows):
    count = Count()
    for begin in range(0, len(lengths), rows):
        count.add(lengths[begin : begin + rows])
    return count


# ---- from gz shards to tensors --------------------------------------------------------------------------------------


def read_chunk(path):
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        return iter(file.read().splitlines())


def encode(tokenizer, max_length, text):
    return tokenizer(text, max_length=max_length, truncation=True)


def pipeline(shards, tokenizer, max_length, read_ahead, max_tokens, processes):
    from infinibatch import datasets, iterators

    texts = datasets.chunked_dataset_iterator(shards, read_chunk, buffer_size=100000, train=False, shuffle=False)
    transform = functools.partial(encode, tokenizer, max_length)
    if processes > 1:
        features = iterators.ParallelMapIterator(texts, transform, processes, 1000)
    else:
        features = iterators.MapIterator(texts, transform)
    batches = iterators.BucketedReadaheadBatchIterator(
        features, read_ahead=read_ahead, key=lambda row: len(row["input_ids"]),
        batch_size=lambda longest: max(1, max_tokens // len(longest["input_ids"])), seed=0)
    return iterators.MapIterator(batches, functools.partial(tokenizer.pad, return_tensors="np"))


def main():
    settings = json.load(open(sys.argv[1], encoding="utf-8"))
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    from transformers import PreTrainedTokenizerFast

    tokenizer = PreTrainedTokenizerFast(tokenizer_file=settings["tokenizer"], pad_token="[PAD]")
    tokenizer.pad([tokenizer("warm up")], return_tensors="np")
    tensors = pipeline(settings["shards"], tokenizer, settings["max_length"], settings["read_ahead"], settings["max_tokens"],
                       settings["processes"])
    begin = time.perf_counter()
    result = {"batches": 0, "rows": 0, "tokens": 0, "slots": 0}
    for batch in tensors:
        result["batches"] += 1
        result["rows"] += len(batch["input_ids"])
        result["tokens"] += int(batch["attention_mask"].sum())
        result["slots"] += int(batch["input_ids"].size)
    print(json.dumps({**result, "seconds": time.perf_counter() - begin}), flush=True)
    os._exit(0)  # the pool of ParallelMapIterator has no end of its own


if __name__ == "__main__":
    main()
