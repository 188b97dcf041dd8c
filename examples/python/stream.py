"""Text that does not fit into memory, in buckets of like length with a budget of tokens, and a state to go on from.

    python stream.py 'shards/*.gz' roberta-base

What "Efficient Dynamic Batching of Large Datasets with Infinibatch" builds from iterators: shards in random order, a shuffle window,
tokenization in parallel, a read-ahead that is sorted and cut at 16,384 tokens, and checkpoints. `brim shard` makes the shards.
"""
import argparse
import json
import pathlib

import brim

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("shards", help="files, globs or a folder")
parser.add_argument("tokenizer", help="tokenizer file or model folder")
parser.add_argument("--state", type=pathlib.Path, default=pathlib.Path("stream-state.json"))
parser.add_argument("--batches", type=int, default=100)
args = parser.parse_args()

stream = brim.data.stream(args.shards, brim.Tokenizer(args.tokenizer), max_length=512, batching="bucketed", padding="longest",
                          max_tokens=16384, read_ahead=10_000, window=100_000)
if args.state.exists():
    stream.load_state_dict(json.loads(args.state.read_text()))
for number, batch in enumerate(stream, start=1):
    arrays = batch.padded()  # for torch: batch.torch()
    if number == args.batches:
        break
args.state.write_text(json.dumps(stream.state_dict()))
now = stream.ledger()
print(f"epoch {now['epoch']}: {now['rows_yielded']:,} rows in {now['batches']:,} batches, "
      f"{1 - now['tokens'] / max(now['slots'], 1):.2%} padding; the next call continues after them")
