"""Search your own documents: vectors once, then answers.

    python search.py all-MiniLM-L6-v2 documents.csv "a film about dinosaurs" --top 5

The vectors are kept next to the documents, and used again until these change. With faiss or usearch installed the search is
theirs; numpy alone looks through all documents too, some millions of them a second.
"""
import argparse
import csv
import hashlib
import importlib
import json
import pathlib
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

import brim


def read(path: pathlib.Path, column: str) -> list[str]:
    """A column of a csv file, or a member of JSON lines."""
    csv.field_size_limit(1 << 30)
    with path.open(encoding="utf-8", newline="") as file:
        rows: Iterable[dict[str, Any]] = map(json.loads, file) if path.suffix == ".jsonl" else csv.DictReader(file)
        return [str(row[column]) for row in rows]


def vectors_of(model: brim.Model, texts: list[str], kept: pathlib.Path) -> np.ndarray:
    """Of length 1, so that a dot product is a cosine."""
    digest = hashlib.sha256("\0".join([model.path, *texts]).encode()).hexdigest()
    note = kept.with_suffix(".sha256")
    if kept.exists() and note.exists() and note.read_text() == digest:
        return np.load(kept)
    vectors = model.embed(texts, prompt=_prompt(model, "document"), normalize=True)
    np.save(kept, vectors)
    note.write_text(digest)
    return vectors


def _prompt(model: brim.Model, name: str) -> str | None:
    """The folder's prompt of this name, where it has one."""
    try:
        model.embed("", prompt=name)
        return name
    except ValueError:
        return None


def best(vectors: np.ndarray, query: np.ndarray, top: int) -> list[tuple[int, float]]:
    """Numbers of the nearest documents, and their cosines."""
    for search in (by_faiss, by_usearch):
        try:
            return search(vectors, query, top)
        except ImportError:
            pass
    scores = vectors @ query
    return [(int(i), float(scores[i])) for i in np.argsort(-scores, kind="stable")[:top]]


def by_faiss(vectors: np.ndarray, query: np.ndarray, top: int) -> list[tuple[int, float]]:
    faiss: Any = importlib.import_module("faiss")
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(vectors)
    scores, found = index.search(query[None], top)
    return [(int(i), float(s)) for i, s in zip(found[0], scores[0])]


def by_usearch(vectors: np.ndarray, query: np.ndarray, top: int) -> list[tuple[int, float]]:
    usearch: Any = importlib.import_module("usearch.index")
    index = usearch.Index(ndim=vectors.shape[1], metric="ip", dtype="f32")
    index.add(np.arange(len(vectors)), vectors)
    found = index.search(query, top, exact=True)
    return [(int(i), 1 - float(distance)) for i, distance in zip(found.keys, found.distances)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("documents", type=pathlib.Path)
    parser.add_argument("query", nargs="+")
    parser.add_argument("--column", default="text")
    parser.add_argument("--top", type=int, default=5)
    given = parser.parse_args()
    model = brim.Model(given.model)
    texts = read(given.documents, given.column)
    if not texts:
        sys.exit(f"{given.documents}: there are no documents")
    vectors = vectors_of(model, texts, given.documents.with_suffix(".vectors.npy"))
    queries = model.embed(given.query, prompt=_prompt(model, "query"), normalize=True)
    for number, query in enumerate(given.query):
        print(query)
        for document, score in best(vectors, queries[number], min(given.top, len(texts))):
            print(f"  {score:.4f}  {texts[document][:100]}")


if __name__ == "__main__":
    main()
