"""Batches: which rows go together and what is computed, for any model.

    rows = brim.data.Dataset.from_csv("train.csv", tokenizer)
    for batch in rows.batches(batch_size=16, batching="uniform", padding="longest"):
        logits = model(**batch.torch())

Length always means tokens after truncation, special tokens included.
"""
from .batches import Batch, Batches, Plan, restore_order
from .blocks import Block
from .dataset import Dataset
from .feed import Stream, stream
from .labels import Labels

__all__ = ["Batch", "Batches", "Block", "Dataset", "Labels", "Plan", "Stream", "restore_order", "stream"]
