#!/usr/bin/env python3
"""Training speed: real tokens per second of brim next to PyTorch + transformers.

The same weights, texts, batch size, optimizer, dropout and number of threads. PyTorch pads: `fixed` to the maximum, `dynamic` to the
longest text of a random batch, `sorted` in batches of equal length (evenly spaced over the epoch). Each is run with eager and with SDPA
attention, and the better one counts. All take turns, round by round; the table has medians. Tokens are real tokens: padding is no work
done. Texts are tokenized beforehand on both sides."""

import argparse
import csv
import itertools
import random
import time

from common import BRIM, DATA, brim_json, fetch_data, machine, median, print_table, write_json

TASKS = {  # texts, maximum length, optimizer steps a round
    "rotten-tomatoes": {"file": "train.csv", "max_length": 64, "steps": 30},
    "imdb": {"file": "imdb.csv", "max_length": 400, "steps": 5},
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, help="optimizer steps a round (default: by task)")
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--threads", type=int, default=0, help="0: all cores")
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--peers", default="fixed,dynamic,sorted")
    return parser.parse_args()


class Texts:
    """Token ids of a csv file and the batches that each kind of padding makes of them."""

    def __init__(self, model, path, max_length, batch_size):
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.enable_truncation(max_length)
        csv.field_size_limit(1 << 30)
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        self.ids = [encoding.ids for encoding in tokenizer.encode_batch([row["text"] for row in rows])]
        self.labels = [int(row["label"]) for row in rows]
        self.max_length, self.batch_size = max_length, batch_size

    def batches(self, padding, steps, seed):
        """`steps` batches of row numbers."""
        order = list(range(len(self.ids)))
        size, shuffle = self.batch_size, random.Random(seed)
        shuffle.shuffle(order)
        if padding != "sorted":
            return [order[i * size : (i + 1) * size] for i in range(steps)]
        order.sort(key=lambda row: len(self.ids[row]))
        cuts = [order[i : i + size] for i in range(0, len(order) - size + 1, size)]
        chosen = [cuts[int((i + 0.5) * len(cuts) / steps)] for i in range(steps)]
        shuffle.shuffle(chosen)
        return chosen

    def tensors(self, rows, padding):
        """Padded ids, mask and labels, and the number of real tokens."""
        import torch

        width = self.max_length if padding == "fixed" else max(len(self.ids[row]) for row in rows)
        ids = torch.zeros(len(rows), width, dtype=torch.long)
        mask = torch.zeros(len(rows), width, dtype=torch.long)
        for place, row in enumerate(rows):
            ids[place, : len(self.ids[row])] = torch.tensor(self.ids[row])
            mask[place, : len(self.ids[row])] = 1
        return {"input_ids": ids, "attention_mask": mask, "labels": torch.tensor([self.labels[row] for row in rows])}, int(mask.sum())


class Peer:
    """PyTorch with one kind of attention."""

    def __init__(self, folder, attention):
        import torch
        from transformers import AutoModelForSequenceClassification

        self.model = AutoModelForSequenceClassification.from_pretrained(folder, num_labels=2, attn_implementation=attention)
        self.model.train()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=5e-5, weight_decay=0.0)

    def step(self, tensors):
        import torch

        self.model(**tensors).loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()

    def speed(self, texts, padding, steps, seed):
        """Real tokens per second over `steps` steps, after one that is not timed."""
        batches = [texts.tensors(rows, padding) for rows in texts.batches(padding, steps + 1, seed)]
        self.step(batches[0][0])
        start = time.perf_counter()
        for tensors, _ in batches[1:]:
            self.step(tensors)
        return sum(tokens for _, tokens in batches[1:]) / (time.perf_counter() - start)


def brim_speed(model, path, task, steps, options, seed):
    result = brim_json("compare", model=model, train=path, modes="brim", max_length=task["max_length"], max_steps=steps, seed=seed,
                       batch_size=options.batch_size, threads=options.threads)
    return result["modes"][0]["tokens_per_second"]


def run_task(name, model, peers, options):
    task = TASKS[name]
    steps = options.steps or task["steps"]
    path = DATA / task["file"]
    texts = Texts(model, path, task["max_length"], options.batch_size)
    speeds = {("brim", ""): []}
    contenders = list(itertools.product(options.peers.split(","), peers))
    for round_number in range(options.rounds):
        speeds["brim", ""].append(brim_speed(model, path, task, steps, options, round_number))
        for padding, attention in contenders:
            speed = peers[attention].speed(texts, padding, steps, round_number)
            speeds.setdefault((padding, attention), []).append(speed)
        print(f"  {name}: round {round_number + 1} of {options.rounds}", flush=True)
    best = {}
    for (padding, attention), values in speeds.items():
        if padding not in best or median(values) > median(best[padding][1]):
            best[padding] = (attention, values)
    print_result(name, steps, options, best)
    return {"task": name, "steps": steps, "batch_size": options.batch_size,
            "speeds": [{"method": m, "attention": a, "tokens_per_second": v} for (m, a), v in speeds.items()]}


def print_result(name, steps, options, best):
    brim = median(best["brim"][1])
    rows = []
    for padding, (attention, values) in best.items():
        label = "brim, random batches, no padding" if padding == "brim" else f"PyTorch, {padding} ({attention})"
        rows.append([label, f"{median(values):,.0f}", f"{min(values):,.0f}", f"{max(values):,.0f}", f"{brim / median(values):.2f} x"])
    print(f"\n{name}, batch {options.batch_size}, {steps} steps, median of {options.rounds} rounds")
    print_table(["method", "tokens/s", "least", "most", "brim is"], rows)
    print()


def main():
    options = arguments()
    import torch
    import transformers

    if options.threads:
        torch.set_num_threads(options.threads)
    model = fetch_data()
    doctor = brim_json("doctor")
    print(f"{machine()}\nbrim {doctor['version']}, {BRIM}; PyTorch {torch.__version__}, transformers {transformers.__version__}, "
          f"{torch.get_num_threads()} threads\n")
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    peers = {attention: Peer(model, attention) for attention in ("eager", "sdpa")}
    results = [run_task(name, model, peers, options) for name in options.tasks.split(",")]
    write_json("bench-train.json", {"machine": machine(), "brim": doctor, "torch": torch.__version__,
                                    "transformers": transformers.__version__, "threads": torch.get_num_threads(), "results": results})


if __name__ == "__main__":
    main()
