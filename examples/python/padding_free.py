"""Models of transformers without padding, on a CPU: a classifier of texts and a labeller of words, in torch's own training loop.

    python padding_free.py MiniLM train.csv

A batch is one row: all its texts, end to end. Flash attention keeps them apart by cu_seq_lens. A CPU has no flash attention, and `sdpa` and
`eager` do not look at cu_seq_lens; `batch.torch(model=encoder)` therefore brings a mask that lets each text see itself alone, and positions
that begin again with each text. The hidden states are those of a padded batch, which this program checks.
"""
import argparse
import csv

import torch
import transformers

import brim
import brim.torch


class Classifier(torch.nn.Module):
    """An encoder and a head that looks at the first token of each text."""

    def __init__(self, encoder: transformers.PreTrainedModel, classes: int):
        super().__init__()
        self.encoder = encoder
        self.head = torch.nn.Linear(encoder.config.hidden_size, classes)

    def forward(self, labels: torch.Tensor, **batch: torch.Tensor) -> torch.Tensor:
        hidden = self.encoder(**batch).last_hidden_state[0]           # [tokens, hidden]
        logits = self.head(hidden[brim.torch.first_tokens(batch)])    # [texts, classes]
        return torch.nn.functional.cross_entropy(logits, labels)


class Labeller(torch.nn.Module):
    """An encoder and a head that looks at every token. The labels of tokens are [1, tokens] too, so nothing has to be found."""

    def __init__(self, encoder: transformers.PreTrainedModel, classes: int):
        super().__init__()
        self.encoder = encoder
        self.head = torch.nn.Linear(encoder.config.hidden_size, classes)

    def forward(self, labels: torch.Tensor, **batch: torch.Tensor) -> torch.Tensor:
        logits = self.head(self.encoder(**batch).last_hidden_state)   # [1, tokens, classes]
        return torch.nn.functional.cross_entropy(logits[0], labels[0])


def largest_difference(encoder: transformers.PreTrainedModel, rows: brim.Dataset) -> float:
    """Between hidden states of ragged and of padded batches."""
    most = 0.0
    ragged, padded = (rows.batches(batch_size=8, batching="sequential", padding=padding) for padding in ("none", "longest"))
    encoder.eval()
    for one, other in zip(ragged, padded):
        mine, theirs = one.torch(model=encoder), other.torch()
        del theirs["labels"]
        labels = mine.pop("labels")
        with torch.no_grad():
            flat = encoder(**mine).last_hidden_state
            want = encoder(**theirs).last_hidden_state[theirs["attention_mask"].bool()]
        most = max(most, (flat[0] - want).abs().max().item())
        assert len(labels) == len(one) or labels.shape == flat.shape[:2]
    return most


def train(model: torch.nn.Module, encoder: transformers.PreTrainedModel, rows: brim.Dataset, epochs: int) -> list[float]:
    """The mean loss of each epoch."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    loader = brim.torch.DataLoader(rows.batches(batch_size=16), model=encoder)
    model.train()
    losses: list[float] = []
    for _ in range(epochs):
        total = 0.0
        for batch in loader:
            loss: torch.Tensor = model(**batch)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            total += loss.item() / len(loader)
        losses.append(total)
    return losses


def words_of(path: str) -> list[tuple[list[str], list[str]]]:
    """A toy task for the labeller: which words have more than four letters."""
    with open(path, encoding="utf-8", newline="") as file:
        texts = [row["text"].split()[:12] for row in csv.DictReader(file)]
    return [(words, ["long" if len(word) > 4 else "short" for word in words]) for words in texts[:64] if words]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="Hugging Face folder")
    parser.add_argument("data", help="csv with columns text and label")
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args()
    torch.manual_seed(1)
    tokenizer = brim.Tokenizer(args.model)
    texts = brim.Dataset.from_csv(args.data, tokenizer, max_length=64)
    words = brim.Dataset.of(words_of(args.data), tokenizer, task="tokens", max_length=64)
    for name, rows, kind in (("classifier", texts, Classifier), ("labeller", words, Labeller)):
        encoder = transformers.AutoModel.from_pretrained(args.model)
        print(f"{name}: hidden states differ from the padded ones' by {largest_difference(encoder, rows):.1e} at most")
        names = rows.labels.names if rows.labels else None
        losses = train(kind(encoder, len(names or [])), encoder, rows, args.epochs)
        print(f"{name}: loss {', '.join(f'{loss:.4f}' for loss in losses)}")
