#!/usr/bin/env python3
"""Masked words: tokens a second and the peak of memory of brim, next to what it planned, and of PyTorch with transformers in two ways: padded
batches with every position in the decoder, as the Trainer does it, and the same with the masked rows gathered before the head, which is ten
lines. Random weights of a BERT of the chosen size, the texts of the quick start, the same number of steps and of threads. Contenders take
turns, each round in its own processes. Then what share of brim's step the loss over the vocabulary takes, forward and backward, from a
profile of as many steps. Needs: bench/requirements-train.txt.

    bench/bench_mlm.py --rounds 3 --steps 20 --hidden 384 --layers 6"""

import argparse
import csv
import json
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

from common import DATA, brim_json, fetch_data, machine, median, print_table, write_json

PEERS = {"transformers, padded": "padded", "transformers, gathered": "gathered"}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--hidden", type=int, default=384)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--vocabulary", type=int, default=30522)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--max-length", type=int, default=256)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--peer", help=argparse.SUPPRESS)
    parser.add_argument("--way", help=argparse.SUPPRESS)
    return parser.parse_args()


def write_model(folder, tokenizer, options):
    import torch
    from transformers import BertConfig, BertForMaskedLM

    torch.manual_seed(0)
    config = BertConfig(vocab_size=options.vocabulary, hidden_size=options.hidden, num_hidden_layers=options.layers,
                        intermediate_size=4 * options.hidden, num_attention_heads=max(1, options.hidden // 32))
    BertForMaskedLM(config).save_pretrained(folder)
    (folder / "tokenizer.json").write_bytes((tokenizer / "tokenizer.json").read_bytes())


COMPUTING = {"products", "loss", "attention", "optimizer", "norm", "embedding", "elementwise"}  # the rest of a trace is files


def train(folder, options, out, *more):
    return brim_json("train", *more, model=folder, train=DATA / "train.csv", task="mlm", max_length=options.max_length, output=out + "/run",
                     batch_size=options.batch_size, max_steps=options.steps, threads=options.threads)


def brim_run(folder, options):
    """Tokens a second, bytes at most, and bytes that were planned."""
    with tempfile.TemporaryDirectory() as out:
        result = train(folder, options, out)
        events = [json.loads(line) for line in open(out + "/run/log.jsonl", encoding="utf-8")]
    peak = max(event.get("memory_peak", 0) for event in events)
    return result["tokens"] / result["seconds"], peak, next(event["memory_planned"] for event in events if event["event"] == "start")


def head_share(folder, options):
    """Of the time that a step computes: the loss over the vocabulary and its gradient."""
    with tempfile.TemporaryDirectory() as out:
        train(folder, options, out, "--profile")
        with open(out + "/run/trace.json", encoding="utf-8") as file:
            work = [event for event in json.load(file)["traceEvents"] if event.get("cat") in COMPUTING]
    return sum(event["dur"] for event in work if "vocabulary" in event["name"]) / sum(event["dur"] for event in work)


def gathered_loss(model, inputs, labels):
    """Only masked rows reach the head."""
    import torch

    hidden = model.bert(**inputs).last_hidden_state
    return torch.nn.functional.cross_entropy(model.cls(hidden[labels != -100]), labels[labels != -100])


def peer(options):
    """In its own process: prints tokens a second and bytes."""
    import torch
    from transformers import BertForMaskedLM, DataCollatorForLanguageModeling, PreTrainedTokenizerFast

    folder = pathlib.Path(options.peer)
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    names = {"pad_token": "[PAD]", "mask_token": "[MASK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "unk_token": "[UNK]"}
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"), **names)
    with open(DATA / "train.csv", encoding="utf-8", newline="") as file:
        texts = [row["text"] for row in csv.DictReader(file)][: options.steps * options.batch_size]
    rows = [{"input_ids": ids} for ids in tokenizer(texts, truncation=True, max_length=options.max_length)["input_ids"]]
    collate = DataCollatorForLanguageModeling(tokenizer)
    model = BertForMaskedLM.from_pretrained(folder).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)
    start, tokens = time.perf_counter(), 0
    for at in range(0, len(rows), options.batch_size):
        batch = collate(rows[at : at + options.batch_size])
        labels = batch.pop("labels")
        loss = gathered_loss(model, batch, labels) if options.way == "gathered" else model(**batch, labels=labels).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        tokens += int(batch["attention_mask"].sum())
    print(json.dumps([tokens / (time.perf_counter() - start), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024]))


def peer_run(folder, options, way):
    given = {name: value for name, value in vars(options).items() if value is not None} | {"peer": folder, "way": way}
    command = [sys.executable, __file__, *[f"--{name.replace('_', '-')}={value}" for name, value in given.items()]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return tuple(json.loads(done.stdout.splitlines()[-1]))


def main():
    options = arguments()
    if options.peer:
        peer(options)
        return
    tokenizer = fetch_data()
    found = {name: [] for name in ["brim", *PEERS]}
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        write_model(folder, tokenizer, options)
        for _ in range(options.rounds):
            found["brim"].append(brim_run(folder, options))
            for name, way in PEERS.items():
                found[name].append(peer_run(folder, options, way))
        share = head_share(folder, options)
    print(machine(), "\n")
    planned = {"brim": f"{max(one[2] for one in found['brim']) / 1e6:,.0f}"}
    rows = [(name, f"{median([one[0] for one in runs]):,.0f}", f"{max(one[1] for one in runs) / 1e6:,.0f}", planned.get(name, "")) for name, runs in found.items()]
    print_table(("", "tokens/s", "peak MB", "planned MB"), rows)
    print(f"\n{100 * share:.0f} % of a step of brim is the loss over the vocabulary of {options.vocabulary:,}, forward and backward")
    write_json("bench-mlm.json", {"machine": machine(), "options": vars(options), "runs": found, "head_share": share})


if __name__ == "__main__":
    main()
