"""The PyTorch side of bench_train.py: texts, their batches, and models that train and predict on them. Run as a program it is one
contender in a process of its own, whose memory and processor time are its own: train_peers.py JSON."""

import csv
import hashlib
import json
import pathlib
import pickle
import random
import sys
import time

from common import ROOT

PADDINGS, ATTENTIONS = ("fixed", "dynamic", "sorted"), ("eager", "sdpa")
EXTRA = ("compile", "autocast")  # what attention is by itself, compiled; and with products of 16 bits


def encode(tokenizer, texts, max_length):
    """Ids and types of all texts: those of the last time, where the tokenizer, the texts and the length were the same."""
    digest = hashlib.sha256(pathlib.Path(tokenizer).read_bytes() + repr((max_length, texts)).encode()).hexdigest()
    kept = ROOT / "build" / "bench-texts" / f"{digest[:16]}.pickle"
    if kept.exists():
        return pickle.loads(kept.read_bytes())
    from tokenizers import Tokenizer

    one = Tokenizer.from_file(str(tokenizer))
    one.no_padding()
    one.enable_truncation(max_length)
    encodings = one.encode_batch(texts)
    result = [encoding.ids for encoding in encodings], [encoding.type_ids for encoding in encodings]
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_bytes(pickle.dumps(result))
    return result


class Texts:
    """Token ids of a csv file and the batches that each kind of padding makes of them."""

    def __init__(self, model, path, max_length, batch_size):
        csv.field_size_limit(1 << 30)
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        pairs = [(row["text"], row["text_pair"]) if "text_pair" in row else row["text"] for row in rows]
        self.ids, self.types = encode(f"{model}/tokenizer.json", pairs, max_length)
        self.labels = [float(row["label"]) for row in rows]
        self.regression = any(label != int(label) for label in self.labels)
        self.lengths = [len(ids) for ids in self.ids]
        self.max_length, self.batch_size = max_length, batch_size

    def batches(self, padding, steps, seed):
        """`steps` batches of row numbers. Sorted ones lie evenly over the epoch, elsewhere for every seed."""
        order = list(range(len(self.ids)))
        size, shuffle = self.batch_size, random.Random(seed)
        shuffle.shuffle(order)
        if padding != "sorted":
            return [order[i * size : (i + 1) * size] for i in range(steps)]
        order.sort(key=lambda row: self.lengths[row])
        cuts = [order[i : i + size] for i in range(0, len(order) - size + 1, size)]
        shift = 0.5 + 0.382 * seed
        chosen = [cuts[int((i + shift % 1) * len(cuts) / steps)] for i in range(steps)]
        shuffle.shuffle(chosen)
        return chosen

    def tensors(self, rows, padding):
        """Padded ids, types, mask and labels, and the number of real tokens."""
        import torch

        width = self.max_length if padding == "fixed" else max(self.lengths[row] for row in rows)
        ids, types, mask = (torch.zeros(len(rows), width, dtype=torch.long) for _ in range(3))
        for place, row in enumerate(rows):
            ids[place, : self.lengths[row]] = torch.tensor(self.ids[row])
            types[place, : self.lengths[row]] = torch.tensor(self.types[row])
            mask[place, : self.lengths[row]] = 1
        labels = torch.tensor([self.labels[row] for row in rows], dtype=torch.float if self.regression else torch.long)
        return {"input_ids": ids, "token_type_ids": types, "attention_mask": mask, "labels": labels}, int(mask.sum())


class Peer:
    """A model of PyTorch with one kind of attention. ValueError: the model has no such kind."""

    def __init__(self, folder, attention, regression=False):
        import contextlib

        import torch
        import transformers

        transformers.logging.set_verbosity_error()
        transformers.utils.logging.disable_progress_bar()
        self.model = transformers.AutoModelForSequenceClassification.from_pretrained(
            folder, num_labels=1 if regression else 2, ignore_mismatched_sizes=True, **({} if attention in EXTRA else {"attn_implementation": attention}))
        self.typed = (getattr(self.model.config, "type_vocab_size", 0) or 0) > 0
        self.around = (lambda: torch.autocast("cpu", torch.bfloat16)) if attention == "autocast" else contextlib.nullcontext
        if attention == "compile":
            self.model = torch.compile(self.model, dynamic=True)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=5e-5, weight_decay=0.0)

    def feed(self, tensors):
        return tensors if self.typed else {name: value for name, value in tensors.items() if name != "token_type_ids"}

    def step(self, tensors):
        import torch

        with self.around():
            loss = self.model(**self.feed(tensors)).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()

    def train(self, texts, padding, steps, seed):
        """Real tokens, seconds and processor seconds of `steps` steps."""
        self.model.train()
        batches = [texts.tensors(rows, padding) for rows in texts.batches(padding, steps, seed)]
        start, cpu = time.perf_counter(), time.process_time()
        for tensors, _ in batches:
            self.step(tensors)
        return sum(tokens for _, tokens in batches), time.perf_counter() - start, time.process_time() - cpu

    def quantized(self):
        """The same model with PyTorch's dynamic quantization of its linear layers; None where PyTorch has none."""
        import copy
        import warnings

        import torch

        try:
            from torch.ao.quantization import quantize_dynamic
        except ImportError:
            return None
        twin = copy.copy(self)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            twin.model = quantize_dynamic(copy.deepcopy(self.model).eval(), {torch.nn.Linear}, dtype=torch.qint8)
        return twin

    def predict(self, texts, rows):
        """Real tokens and seconds of a prediction in batches of 32, sorted by length, and each row's probabilities."""
        import torch

        self.model.eval()
        order = sorted(range(rows), key=lambda row: texts.lengths[row])
        batches = [texts.tensors(order[i : i + 32], "sorted") for i in range(0, rows, 32)]
        start, logits = time.perf_counter(), []
        with torch.inference_mode():
            for tensors, _ in batches:
                logits.append(self.model(**{name: value for name, value in self.feed(tensors).items() if name != "labels"}).logits)
        seconds = time.perf_counter() - start
        scores = dict(zip(order, torch.cat(logits).softmax(-1).tolist()))
        return sum(tokens for _, tokens in batches), seconds, [scores[row] for row in range(rows)]


def main():
    import torch

    order = json.loads(sys.argv[1])
    torch.set_num_threads(order["threads"])
    texts = Texts(order["model"], order["path"], order["max_length"], order["batch_size"])
    peer = Peer(order["model"], order["attention"], texts.regression)
    tokens, seconds, cpu = peer.train(texts, order["padding"], order["steps"], 0)
    with open("/proc/self/status", encoding="utf-8") as status:  # getrusage would count the parent's memory too
        peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    print(json.dumps({"tokens": tokens, "seconds": seconds, "cpu_seconds": cpu, "peak_bytes": 1024 * peak}))


if __name__ == "__main__":
    main()
