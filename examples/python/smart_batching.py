"""Smart batching, by hand: what Chris McCormick's "Smart Batching Tutorial" does to 25,000 IMDB reviews, in ten lines.

    python smart_batching.py imdb.csv MiniLM --max-length 400 --batch-size 16

The tutorial tokenizes without padding, sorts by length, takes random runs of the sorted list, pads each batch to its longest text and
counts the tokens: 10,000,000 with fixed padding, 6,381,424 with smart batching (36.2 % less). Those are `uniform` and `longest` here.
"""
import argparse

import brim

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("data", help="csv with columns text and label")
parser.add_argument("tokenizer", help="tokenizer file or model folder")
parser.add_argument("--max-length", type=int, default=400)
parser.add_argument("--batch-size", type=int, default=16)
args = parser.parse_args()

tokenizer = brim.Tokenizer(args.tokenizer)
rows = brim.Dataset.from_csv(args.data, tokenizer, max_length=args.max_length)

fixed = len(rows) * args.max_length
smart = 0
for batch in rows.batches(batch_size=args.batch_size, batching="uniform", padding="longest"):
    padded = batch.padded()  # input_ids, attention_mask, token_type_ids, labels: what a model takes
    smart += padded["input_ids"].shape[0] * padded["input_ids"].shape[1]
none = sum(batch.slots for batch in rows.batches(batch_size=args.batch_size))

print(f"{len(rows):,} texts, {rows.truncated:,} cut at {args.max_length}")
print(f"  fixed padding  {fixed:12,} tokens")
print(f"  smart batching {smart:12,} tokens  ({1 - smart / fixed:.1%} less)")
print(f"  brim's default {none:12,} tokens  ({1 - none / fixed:.1%} less): random batches, nothing padded")
if len(rows) == 25000 and args.max_length == 400 and args.batch_size == 16:
    print("  the tutorial's    10,000,000 and 6,381,424 (36.2% less)")
