#!/usr/bin/env python3
"""How far losses in bf16 are from those in fp32, of brim and of PyTorch's autocast: runs without dropout, of the same random weights and
texts, each in both precisions; the largest distance of two losses over the steps, a seed at a time. brim's median may be 1.25 times
PyTorch's. Batches differ (each program's own random ones), weights and texts do not. Needs: bench/requirements-train.txt.

    bench/bench_losses.py --seeds 5 --steps 200 --hidden 128 --layers 2"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

from common import BRIM, DATA, fetch_data, print_table
from train_peers import Texts


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--lr", type=float, default=5e-5)
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


def write_model(folder, tokenizer, options, seed):
    """Random weights of a BERT without dropout."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(seed)
    config = BertConfig(vocab_size=30522, hidden_size=options.hidden, num_hidden_layers=options.layers, intermediate_size=4 * options.hidden,
                        num_attention_heads=max(1, options.hidden // 32), hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
                        classifier_dropout=0.0, num_labels=2)
    BertForSequenceClassification(config).save_pretrained(folder)
    (folder / "tokenizer.json").write_bytes((tokenizer / "tokenizer.json").read_bytes())


def brim_losses(folder, options, precision, seed):
    with tempfile.TemporaryDirectory() as out:
        command = [BRIM, "train", "--quiet", "--model", folder, "--train", DATA / "train.csv", "--max-length", 64, "--output", out + "/run",
                   "--batch-size", options.batch_size, "--max-steps", options.steps, "--lr", options.lr, "--schedule", "constant",
                   "--weight-decay", 0, "--threads", options.threads, "--precision", precision, "--seed", seed]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(done.stderr)
        events = [json.loads(line) for line in open(out + "/run/log.jsonl", encoding="utf-8")]
    return [event["loss"] for event in events if event["event"] == "step"]


def torch_losses(folder, options, texts, narrow, seed):
    import torch
    from transformers import BertForSequenceClassification

    model = BertForSequenceClassification.from_pretrained(folder, attn_implementation="sdpa").train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.lr, weight_decay=0.0)
    losses = []
    for rows in texts.batches("dynamic", options.steps, seed):
        batch, _ = texts.tensors(rows, "dynamic")
        with torch.autocast("cpu", torch.bfloat16, enabled=narrow):
            loss = model(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(float(loss))
    return losses


def distance(one, other):
    return max(abs(a - b) for a, b in zip(one, other, strict=True))


def main():
    import torch

    options = arguments()
    torch.set_num_threads(options.threads)
    minilm = fetch_data()
    rows, ours, theirs = [], [], []
    for seed in range(1, options.seeds + 1):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            write_model(folder, minilm, options, seed)
            texts = Texts(folder, DATA / "train.csv", 64, options.batch_size)
            ours.append(distance(*(brim_losses(folder, options, precision, seed) for precision in ("fp32", "bf16"))))
            theirs.append(distance(*(torch_losses(folder, options, texts, narrow, seed) for narrow in (False, True))))
        rows.append([seed, f"{ours[-1]:.2e}", f"{theirs[-1]:.2e}", f"{ours[-1] / theirs[-1]:.2f}"])
        print(f"seed {seed}: {ours[-1]:.2e} {theirs[-1]:.2e}", file=sys.stderr, flush=True)
    print(f"{options.layers} layers of {options.hidden}, {options.steps} steps of {options.batch_size}, no dropout: largest distance from fp32")
    print_table(["seed", "brim bf16", "PyTorch autocast", "ratio"], rows)
    ratio = statistics.median(ours) / statistics.median(theirs)
    print(f"medians {statistics.median(ours):.2e} and {statistics.median(theirs):.2e}: {ratio:.2f} {'ok' if ratio <= 1.25 else 'MISSED'} (<= 1.25)")
    return 0 if ratio <= 1.25 else 1


if __name__ == "__main__":
    sys.exit(main())
