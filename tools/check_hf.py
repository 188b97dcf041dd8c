#!/usr/bin/env python3
"""Check that Hugging Face transformers opens model folders and computes what brim computes.

    check_hf.py [--brim build/brim] [--seed N] FOLDER...

For each folder (a run of brim, or any model that brim reads) random texts go through `brim inspect gradients` and through
AutoModelForSequenceClassification; logits, hidden states and loss must agree to 1e-4, and nothing may be missing or newly
initialised. Exit code 1 when something differs. Needs: torch, transformers, safetensors.
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

import torch
import transformers
from safetensors.torch import load_file

# Positions are counted from the one after the padding's.
FROM_PADDING = ("roberta", "camembert", "xlm-roberta", "mpnet")


def make_batch(config, rng):
    longest = config.max_position_embeddings - (config.pad_token_id + 1 if config.model_type in FROM_PADDING else 0)
    rows = []
    for length in (1, 2, 7, min(33, longest), min(120, longest)):
        row = {"ids": [rng.randrange(5, config.vocab_size) for _ in range(length)]}
        if getattr(config, "type_vocab_size", 0) > 1:
            row["type_ids"] = [int(i >= length // 2) for i in range(length)]
        row["label"] = rng.uniform(-1, 1) if config.num_labels == 1 else rng.randrange(config.num_labels)
        rows.append(row)
    return rows


def run_brim(brim, folder, batch):
    with tempfile.TemporaryDirectory() as scratch:
        rows, out = os.path.join(scratch, "batch.json"), os.path.join(scratch, "out.safetensors")
        with open(rows, "w") as f:
            json.dump(batch, f)
        subprocess.run([brim, "inspect", "gradients", "--model", folder, "--batch", rows, "-o", out], check=True)
        return load_file(out)


def run_transformers(folder, batch):
    model, info = transformers.AutoModelForSequenceClassification.from_pretrained(folder, output_loading_info=True)
    problems = [f"{kind}: {sorted(info[kind])}" for kind in ("missing_keys", "unexpected_keys", "mismatched_keys") if info[kind]]
    model.eval()
    logits, hidden, losses = [], [], []
    with torch.no_grad():
        for row in batch:
            inputs = {k: torch.tensor([row[n]]) for n, k in (("ids", "input_ids"), ("type_ids", "token_type_ids")) if n in row}
            mask = torch.ones_like(inputs["input_ids"])
            out = model(**inputs, attention_mask=mask, output_hidden_states=True)
            logits.append(out.logits[0])
            hidden.append(out.hidden_states[-1][0])
            losses.append((out.logits[0, 0] - row["label"]) ** 2 if model.config.num_labels == 1 else
                          torch.nn.functional.cross_entropy(out.logits, torch.tensor([row["label"]])))
    return dict(logits=torch.stack(logits), hidden=torch.cat(hidden), loss=torch.stack(losses).mean()[None]), problems


def check(brim, folder, seed):
    config = transformers.AutoConfig.from_pretrained(folder)
    batch = make_batch(config, random.Random(seed))
    want, problems = run_transformers(folder, batch)
    got = run_brim(brim, folder, batch)
    apart = {name: float((got[name] - value).abs().max()) for name, value in want.items()}
    good = not problems and all(d <= 1e-4 for d in apart.values())
    print(f"{'ok' if good else 'FAILED'} {folder}: " + ", ".join(f"{n} {d:.1e}" for n, d in apart.items()) + "".join(
        f"; {p}" for p in problems))
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", metavar="FOLDER")
    parser.add_argument("--brim", default="build/brim")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(1)
    transformers.logging.disable_progress_bar()
    return 0 if all([check(args.brim, folder, args.seed) for folder in args.folders]) else 1


if __name__ == "__main__":
    sys.exit(main())
