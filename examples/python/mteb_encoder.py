"""A model of brim for mteb: its EncoderProtocol in some lines, and all of its tasks are open.

    pip install mteb
    python mteb_encoder.py all-MiniLM-L6-v2 --task STSBenchmark

mteb hands over batches of {"text": [..]} and says whether they are queries or documents, which picks the folder's prompt.
"""
import argparse
import itertools
import pathlib
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch

import brim


class Encoder:
    """What mteb asks of a model: encode, two similarities, and who it is."""

    def __init__(self, model_name: str, revision: str | None = None, *, device: str | None = None, **options: Any):
        self.model, self.options = brim.Model(model_name, revision=revision, device=device or "cpu"), options
        self.prompts = {kind: self._prompt(names) for kind, names in (("query", ["query"]), ("document", ["document", "passage", "corpus"]))}

    def _prompt(self, names: list[str]) -> str | None:
        """The first of these prompts that the folder has."""
        for name in names:
            try:
                self.model.embed("", prompt=name)
                return name
            except ValueError:
                pass
        return None

    def encode(self, inputs: Iterable[dict[str, Any]], *, task_metadata: Any = None, hf_split: str = "", hf_subset: str = "",
               prompt_type: Any = None, **more: Any) -> np.ndarray:
        """float32 [texts, numbers]; a batch may be a dict of lists or a list of dicts, and is not held once it was read."""
        kind = str(getattr(prompt_type, "value", prompt_type) or "")
        texts = itertools.chain.from_iterable(batch["text"] if isinstance(batch["text"], (list, tuple)) else [batch["text"]] for batch in inputs)
        return self.model.embed(texts, prompt=self.prompts.get(kind), **self.options)

    def similarity(self, embeddings1: Any, embeddings2: Any) -> torch.Tensor:
        """Cosines of all with all."""
        return torch.from_numpy(np.atleast_2d(unit(embeddings1)) @ np.atleast_2d(unit(embeddings2)).T)

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> torch.Tensor:
        """Cosines of each with the one in the same place."""
        return torch.from_numpy((unit(embeddings1) * unit(embeddings2)).sum(axis=-1))

    @property
    def mteb_model_meta(self) -> Any:
        from mteb.models.model_meta import ModelMeta, ScoringFunction
        return ModelMeta.create_empty({"name": f"brim/{pathlib.Path(self.model.path).name}", "embed_dim": self.model.embed("").shape[1],
                                       "max_tokens": self.model.max_length, "similarity_fn_name": ScoringFunction.COSINE})


def unit(vectors: Any) -> np.ndarray:
    vectors = np.asarray(vectors, np.float32)
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)


def main() -> None:
    import mteb
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--task", action="append", required=True)
    given = parser.parse_args()
    for result in mteb.evaluate(Encoder(given.model), mteb.get_tasks(tasks=given.task)).task_results:
        print(result.task_name, result.get_score())


if __name__ == "__main__":
    main()
