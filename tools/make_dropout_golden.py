#!/usr/bin/env python3
"""Write what a training pass with dropout must give, for the golden models of the tests.

    make_dropout_golden.py tests/golden/models/NAME...

The places of dropout are those of Hugging Face transformers: its own models run, in float64 and one text at a time, with
torch.nn.functional.dropout replaced by brim's masks, which are a pure function of (seed, step, place, site, token, column).
NAME/dropout.json holds the configuration, seed and step, the logits, the loss and, for each parameter's gradient g, its
L2 norm and sum of g[i] * cos(i). Needs: torch, transformers, numpy.
"""
import json
import os
import sys

import numpy as np
import torch
import transformers
from transformers.core_model_loading import revert_weight_conversion

SEED, STEP = 12345, 678
PURPOSE_DROPOUT = 6
RATES = {
    "bert": dict(hidden_dropout_prob=0.2, attention_probs_dropout_prob=0.3, classifier_dropout=0.25),
    "albert": dict(hidden_dropout_prob=0.2, attention_probs_dropout_prob=0.3, classifier_dropout_prob=0.25),
    "deberta-v2": dict(hidden_dropout_prob=0.2, attention_probs_dropout_prob=0.3, pooler_dropout=0.15, cls_dropout=0.25),
    "distilbert": dict(dropout=0.2, attention_dropout=0.3, seq_classif_dropout=0.25),
    "nomic_bert": dict(hidden_dropout_prob=0.2, attention_probs_dropout_prob=0.3, classifier_dropout=0.25),
    "jina_embeddings_v3": dict(hidden_dropout_prob=0.2, attention_probs_dropout_prob=0.3, classifier_dropout=0.25),
    "gte": dict(hidden_dropout_prob=0.2, attention_probs_dropout_prob=0.3, classifier_dropout=0.25),
    "eurobert": dict(attention_dropout=0.3),
    "modernbert": dict(embedding_dropout=0.2, attention_dropout=0.3, mlp_dropout=0.15, classifier_dropout=0.25),
}


def philox4x32(counter, key, rounds=10):
    """On arrays of counters; counter: four uint64 arrays of 32-bit words."""
    low = np.uint64(0xFFFFFFFF)
    c0, c1, c2, c3 = (np.asarray(c, np.uint64) for c in counter)
    k0, k1 = key
    for _ in range(rounds):
        a, b = c0 * np.uint64(0xD2511F53), c2 * np.uint64(0xCD9E8D57)
        c0, c1, c2, c3 = ((b >> np.uint64(32)) ^ c1 ^ np.uint64(k0), b & low,
                          (a >> np.uint64(32)) ^ c3 ^ np.uint64(k1), a & low)
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c0, c1, c2, c3


def dropout_key(seed, step):
    words = philox4x32((step & 0xFFFFFFFF, step >> 32, PURPOSE_DROPOUT, 0), (seed & 0xFFFFFFFF, seed >> 32))
    return int(words[0]), int(words[1])


def keep_mask(key, place, site, tokens, columns, p):
    """[tokens, columns] of 0 and 1 / (1 - p), p in 65536ths; src/ops/ops.h says which bits a column has."""
    token, column = np.meshgrid(np.arange(tokens), np.arange(columns), indexing="ij")
    block = column // 64 * 8 + column % 16 // 2
    words = np.stack(philox4x32((np.full(token.shape, place), np.full(token.shape, site), token, block), key, 7))
    word = np.take_along_axis(words, (column // 16 % 2 * 2 + (column + 1) % 2)[None], 0)[0]
    bits = word >> (column % 64 // 32 * 16).astype(np.uint64) & np.uint64(0xFFFF)
    threshold = int(np.floor(p * 65536 + 0.5))
    return (bits >= np.uint64(threshold)) * (65536 / (65536 - threshold))


def sites(family, layers):
    """(site, kind) of every call of dropout in one forward, in order."""
    out = [(0, "hidden")]
    if family == "eurobert":
        return [((layer + 1) << 16 | 0x100, "attention") for layer in range(layers)]
    for layer in range(layers):
        base = (layer + 1) << 16
        if family == "deberta-v2":
            out.append((base | 3, "table"))
        out.append((base | 0x100, "attention"))
        if family == "modernbert":
            out += [(base | 0, "hidden"), (base | 2, "hidden")]
            continue
        if family != "distilbert":
            out.append((base | 0, "hidden"))
        if family == "gte":
            out.append((base | 2, "hidden"))
        if family != "albert":
            out.append((base | 1, "hidden"))
    if family in ("roberta", "electra", "mpnet", "deberta-v2", "jina_embeddings_v3"):
        out.append((1, "head"))
    out.append((2, "head"))
    return out


class Masks:
    """Stands in for torch.nn.functional.dropout during one text."""

    def __init__(self, family, layers, key, place):
        self.calls, self.key, self.place = sites(family, layers), key, place

    def __call__(self, x, p=0.5, training=True, inplace=False):
        assert training and p > 0
        site, kind = self.calls.pop(0)
        if kind == "attention":  # [1, heads, queries, keys]
            mask = np.stack([keep_mask(self.key, self.place, site + h, x.shape[2], x.shape[3], p) for h in range(x.shape[1])])
        elif kind == "table":  # [rows, hidden] of no text
            mask = keep_mask(self.key, 0, site, x.shape[0], x.shape[1], p)
        elif kind == "hidden":  # [1, tokens, hidden]
            mask = keep_mask(self.key, self.place, site, x.shape[1], x.shape[2], p)
        else:  # [1, hidden] of the first token
            mask = keep_mask(self.key, self.place, site, 1, x.shape[1], p)
        return x * torch.from_numpy(mask).reshape(x.shape)


def run(folder):
    config = transformers.AutoConfig.from_pretrained(folder, attn_implementation="eager")
    family = config.model_type if config.model_type in RATES or config.model_type in ("electra", "mpnet") else "roberta"
    rates = RATES.get(family, RATES["bert"])
    for name, value in rates.items():
        setattr(config, name, value)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder, config=config, attn_implementation="eager")
    model = model.double().train()
    batch = json.load(open(os.path.join(folder, "batch.json")))
    key = dropout_key(SEED, STEP)
    kept = torch.nn.functional.dropout
    logits, losses = [], []
    try:
        for place, row in enumerate(batch):
            ids = torch.tensor([row["ids"]])
            inputs = dict(input_ids=ids, attention_mask=torch.ones_like(ids))
            if "type_ids" in row:
                inputs["token_type_ids"] = torch.tensor([row["type_ids"]])
            masks = torch.nn.functional.dropout = Masks(family, config.num_hidden_layers, key, place)
            out = model(**inputs).logits[0]
            assert not masks.calls, "dropout was called less often than brim does"
            logits.append(out)
            losses.append((out[0] - row["label"]) ** 2 if config.num_labels == 1 else
                          torch.nn.functional.cross_entropy(out[None], torch.tensor([row["label"]])))
    finally:
        torch.nn.functional.dropout = kept
    loss = torch.stack(losses).mean()
    loss.backward()
    gradients = {}
    for name, grad in revert_weight_conversion(model, {n: p.grad for n, p in model.named_parameters()}).items():
        g = grad.numpy().ravel()
        gradients[name] = [float(np.sqrt((g * g).sum())), float((g * np.cos(np.arange(g.size))).sum())]
    result = dict(config=rates, seed=SEED, step=STEP, loss=loss.item(), logits=torch.stack(logits).tolist(), gradients=gradients)
    with open(os.path.join(folder, "dropout.json"), "w") as f:
        json.dump(result, f, indent=1)
        f.write("\n")
    print(f"{folder}: loss {loss.item():.6f}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    for path in sys.argv[1:]:
        run(path)
