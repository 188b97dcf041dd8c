"""PyTorch + transformers as bench_results.py's peer: the same weights, rows, batches in the same order, and hyper-parameters."""

import contextlib
import csv
import json
import math


class Rows:
    """A csv file, encoded with the model's own tokenizer."""

    def __init__(self, path, folder, max_length, label2id):
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.enable_truncation(max_length)
        csv.field_size_limit(1 << 30)
        with open(path, encoding="utf-8", newline="") as file:
            self.rows = list(csv.DictReader(file))
        texts = [(r["text"], r["text_pair"]) if "text_pair" in r else r["text"] for r in self.rows]
        self.encoded = tokenizer.encode_batch(texts)
        self.labels = [float(r["label"]) if label2id is None else label2id[r["label"]] for r in self.rows]

    def tensors(self, indices, types, regression):
        """Padded to the longest of them, as a data collator does."""
        import torch

        width = max(len(self.encoded[i].ids) for i in indices)

        def padded(values):
            return torch.tensor([list(v) + [0] * (width - len(v)) for v in values], dtype=torch.long)

        batch = {"input_ids": padded([self.encoded[i].ids for i in indices]),
                 "attention_mask": padded([[1] * len(self.encoded[i].ids) for i in indices])}
        if types:
            batch["token_type_ids"] = padded([self.encoded[i].type_ids for i in indices])
        kind = torch.float if regression else torch.long
        return batch, torch.tensor([self.labels[i] for i in indices], dtype=kind)


def pearson(xs, ys):
    mx, my = sum(xs) / len(xs), sum(ys) / len(ys)
    over = sum((x - mx) * (y - my) for x, y in zip(xs, ys))
    return over / math.sqrt(sum((x - mx) ** 2 for x in xs) * sum((y - my) ** 2 for y in ys))


def rmse(xs, ys):
    return math.sqrt(sum((x - y) ** 2 for x, y in zip(xs, ys)) / len(xs))


def accuracy(xs, ys):
    return sum(x == y for x, y in zip(xs, ys)) / len(xs)


METRICS = {"accuracy": accuracy, "pearson": pearson, "rmse": rmse}


@contextlib.contextmanager
def quiet():
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    yield


class Peer:
    def __init__(self, folder, max_length):
        import torch
        from transformers import AutoModelForSequenceClassification

        self.folder, self.max_length = folder, max_length
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        self.regression = config.get("problem_type") == "regression"
        self.label2id = None if self.regression else {name: int(number) for name, number in config["label2id"].items()}
        self.types = config["model_type"] == "bert"
        with quiet():
            self.model = AutoModelForSequenceClassification.from_pretrained(folder)
        self.pad = config.get("pad_token_id") or 0
        self.torch = torch

    def rows(self, path):
        return Rows(path, self.folder, self.max_length, self.label2id)

    def batch(self, rows, indices):
        batch, labels = rows.tensors(indices, self.types, self.regression)
        batch["input_ids"][batch["attention_mask"] == 0] = self.pad
        return batch, labels

    def loss(self, logits, labels):
        functional = self.torch.nn.functional
        return functional.mse_loss(logits[:, 0], labels) if self.regression else functional.cross_entropy(logits, labels)

    def losses_with_dropout(self, rows, passes, seed):
        """The loss of all rows in many passes with dropout, and without."""
        torch = self.torch
        torch.manual_seed(seed)
        batch, labels = self.batch(rows, range(len(rows.labels)))
        with torch.no_grad():
            without = self.loss(self.model.eval()(**batch).logits, labels).item()
            self.model.train()
            return [self.loss(self.model(**batch).logits, labels).item() for _ in range(passes)], without

    def train(self, rows, batches, learning_rate, seed):
        """One optimizer step a batch: AdamW without decay, clipping at 1, a line from the learning rate to 0. Returns the losses."""
        torch = self.torch
        torch.manual_seed(seed)
        self.model.train()
        optimizer = torch.optim.AdamW(self.model.parameters(), lr=learning_rate, weight_decay=0.0, eps=1e-8, fused=True)
        losses = []
        for step, indices in enumerate(batches):
            for group in optimizer.param_groups:
                group["lr"] = learning_rate * (1 - step / len(batches))
            batch, labels = self.batch(rows, indices)
            logits = self.model(**batch).logits
            loss = self.loss(logits, labels)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.item())
        return losses

    def predict(self, rows):
        """Values, or classes, in the order of the file."""
        torch = self.torch
        self.model.eval()
        order = sorted(range(len(rows.labels)), key=lambda i: len(rows.encoded[i].ids))
        out = [0.0] * len(order)
        with torch.no_grad():
            for at in range(0, len(order), 32):
                indices = order[at : at + 32]
                logits = self.model(**self.batch(rows, indices)[0]).logits
                values = logits[:, 0] if self.regression else logits.argmax(1)
                for index, value in zip(indices, values.tolist()):
                    out[index] = value
        return out
