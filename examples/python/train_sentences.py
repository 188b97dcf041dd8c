"""A model of sentence-transformers, trained in torch with its own modules and loss, and with brim's batches: ragged or padded.

    python train_sentences.py all-MiniLM-L6-v2 pairs.csv --columns anchor,positive --output trained

A batch has rows of two texts or more. Ragged, all texts are one row for the encoder, which keeps them apart by a mask: no token is computed
that is none. Pooling and what follows are the model's own, over the tokens of each text; the vectors are those of padded batches, which this
program checks. The folder that it writes is sentence-transformers'.
"""
import argparse
import pathlib
from typing import Any

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

import brim
import brim.torch


def encoder_of(model: SentenceTransformer) -> Any:
    """transformers' model in it."""
    first: Any = model[0]
    return first.auto_model


def vectors(model: SentenceTransformer, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    """[texts, numbers], as the model's modules make them of the encoder's last layer."""
    inputs = {name: values for name, values in batch.items() if name in ("input_ids", "attention_mask", "position_ids", "token_type_ids")}
    hidden = encoder_of(model)(**inputs).last_hidden_state
    if "position_ids" in batch:  # one row: each text's tokens for itself
        texts = brim.torch.split_rows(hidden, batch)
        hidden = torch.nn.utils.rnn.pad_sequence(texts, batch_first=True)
        lengths = torch.tensor([len(text) for text in texts])
        mask = (torch.arange(hidden.shape[1]) < lengths[:, None]).long()
    else:
        mask = batch["attention_mask"]
    features = {"token_embeddings": hidden, "attention_mask": mask}
    for module in list(model)[1:]:
        features = module(features)
    return features["sentence_embedding"]


def columns(found: torch.Tensor, batch: dict[str, torch.Tensor]) -> list[torch.Tensor]:
    """The vectors of all first texts, of all second texts, and so on."""
    rows = len(batch["firsts"]) - 1
    return list(found.view(rows, -1, found.shape[-1]).unbind(1))


def largest_difference(model: SentenceTransformer, rows: brim.Dataset) -> float:
    """Between vectors of ragged and of padded batches."""
    most = 0.0
    ragged, padded = (rows.batches(batch_size=8, batching="sequential", padding=padding) for padding in ("none", "longest"))
    with torch.no_grad():
        for one, other in zip(ragged, padded):
            apart = vectors(model, one.torch(model=encoder_of(model))) - vectors(model, other.torch())
            most = max(most, apart.abs().max().item())
    return most


def train(model: SentenceTransformer, rows: brim.Dataset, padding: str, batch_size: int, epochs: int, lr: float) -> tuple[list[float], int]:
    """The mean loss of each epoch, and the slots that were computed."""
    loss = MultipleNegativesRankingLoss(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    batches = rows.batches(batch_size=batch_size, padding=padding)
    losses, slots = [], 0
    model.train()
    no_labels = torch.empty(0)  # the rows of a batch say which texts belong together
    for _ in range(epochs):
        total, count = 0.0, 0
        for batch in batches:
            inputs = batch.torch(model=encoder_of(model))
            value = loss.compute_loss_from_embeddings(columns(vectors(model, inputs), inputs), no_labels)
            value.backward()
            optimizer.step()
            optimizer.zero_grad()
            total, count, slots = total + value.item(), count + 1, slots + batch.slots
        losses.append(total / count)
    return losses, slots


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("rows", type=pathlib.Path)
    parser.add_argument("--columns", default="anchor,positive")
    parser.add_argument("--padding", default="none", choices=["none", "longest"])
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--lr", type=float, default=2e-5)
    parser.add_argument("--output")
    given = parser.parse_args()
    torch.manual_seed(1)
    model = SentenceTransformer(given.model, device="cpu")
    rows = brim.Dataset.of(given.rows, brim.Tokenizer(given.model), labelled=False, text_columns=given.columns.split(","), max_length=model.max_seq_length)
    model.eval()
    print(f"ragged and padded vectors differ by {largest_difference(model, rows):.1e} at most")
    losses, slots = train(model, rows, given.padding, given.batch_size, given.epochs, given.lr)
    print(f"{given.padding}: {slots:,} slots, loss {', '.join(f'{loss:.4f}' for loss in losses)}")
    if given.output:
        model.save(given.output)


if __name__ == "__main__":
    main()
