#!/usr/bin/env python3
"""Metrics of `brim evaluate` compared with plain loops over the vectors of `brim embed`: retrieval.py REPORT DOCUMENTS QUERIES RELEVANT SIMILARITY
DOCUMENT_VECTORS QUERY_VECTORS (the last two as JSON lines), or retrieval.py --pairs REPORT PAIRS VECTORS VECTORS."""

import csv
import json
import math
import sys


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def unit(v):
    length = math.sqrt(sum(x * x for x in v))
    return [x / length for x in v]


SIMILARITIES = {"cosine": lambda a, b: sum(x * y for x, y in zip(unit(a), unit(b))), "dot": lambda a, b: sum(x * y for x, y in zip(a, b)),
                "euclidean": lambda a, b: -math.dist(a, b), "manhattan": lambda a, b: -sum(abs(x - y) for x, y in zip(a, b))}


def of_ranking(ranking, relevant, k):
    hits = [i for i, name in enumerate(ranking[:k]) if name in relevant]
    ideal = sum(1 / math.log2(i + 2) for i in range(min(k, len(relevant))))
    return {"accuracy": float(bool(hits)), "precision": len(hits) / k, "recall": len(hits) / len(relevant), "mrr": 1 / (hits[0] + 1) if hits else 0,
            "ndcg": sum(1 / math.log2(i + 2) for i in hits) / ideal,
            "map": sum((n + 1) / (i + 1) for n, i in enumerate(hits)) / min(k, len(relevant))}


def retrieval(report, corpus, queries, relevant, similarity, document_vectors, query_vectors):
    got, wanted, pairs = lines(report)[0], {}, {}
    with open(relevant, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            if float(row["score"]) > 0:
                pairs.setdefault(row["query-id"], set()).add(row["corpus-id"])
    names, cuts = [str(d["_id"]) for d in lines(corpus)], [int(name[4:]) for name in got if name.startswith("map@")]
    documents = [d["embedding"] for d in lines(document_vectors)]
    asked = {str(q["_id"]): v["embedding"] for q, v in zip(lines(queries), lines(query_vectors), strict=True)}
    for query, found in pairs.items():
        scores = [SIMILARITIES[similarity](asked[query], d) for d in documents]
        scores = {name: round(score, 12) for name, score in zip(names, scores, strict=True)}
        ranking = sorted(names, key=lambda name: (-scores[name], name))
        for k in cuts:
            for name, value in of_ranking(ranking, found, k).items():
                wanted[f"{name}@{k}"] = wanted.get(f"{name}@{k}", 0) + value / len(pairs)
    compare(got, wanted, f"retrieval by {similarity}")


def ranks(values):
    order, out = sorted(range(len(values)), key=values.__getitem__), [0.0] * len(values)
    for value in set(values):
        at = [i for i, index in enumerate(order) if values[index] == value]
        for i in at:
            out[order[i]] = sum(at) / len(at)
    return out


def pearson(x, y):
    x, y = [a - sum(x) / len(x) for a in x], [b - sum(y) / len(y) for b in y]
    return sum(a * b for a, b in zip(x, y)) / math.sqrt(sum(a * a for a in x) * sum(b * b for b in y))


def scored_pairs(report, pairs, first, second):
    with open(pairs, encoding="utf-8", newline="") as file:
        scores = [float(row["score"]) for row in csv.DictReader(file)]
    first, second = ([v["embedding"] for v in lines(path)] for path in (first, second))
    wanted = {}
    for name, of in SIMILARITIES.items():
        values = [of(a, b) for a, b in zip(first, second, strict=True)]
        wanted |= {f"pearson_{name}": pearson(values, scores), f"spearman_{name}": pearson(ranks(values), ranks(scores))}
    compare(lines(report)[0], wanted, "scored pairs")


def compare(got, wanted, what):
    worst = max(abs(got[name] - value) for name, value in wanted.items())
    print(f"{what}: {len(wanted)} numbers {'agree' if worst < 1e-6 else f'differ by {worst}'}")


if __name__ == "__main__":
    if sys.argv[1] == "--pairs":
        scored_pairs(*sys.argv[2:])
    else:
        retrieval(*sys.argv[1:])
