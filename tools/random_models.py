"""Random encoders and texts for comparing builds. Python's standard library only."""

import array
import json
import pathlib
import random
import struct
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOKENIZERS = ROOT / "tests" / "golden" / "tokenizers"
# model_type: tokenizer, prefix of the names, token types, padding id, first positions that belong to padding
FAMILIES = {"bert": ("wordpiece-uncased", "bert", 2, 0, 0), "roberta": ("byte-bpe", "roberta", 1, 1, 2),
            "camembert": ("unigram", "roberta", 1, 1, 2), "xlm-roberta": ("unigram", "roberta", 1, 1, 2),
            "distilbert": ("wordpiece-cased", "distilbert", 0, 0, 0)}
LAYER = {"attention.self.query": "HH", "attention.self.key": "HH", "attention.self.value": "HH", "attention.output.dense": "HH",
         "attention.output.LayerNorm": "H", "intermediate.dense": "FH", "output.dense": "HF", "output.LayerNorm": "H"}
DISTIL = {"attention.q_lin": "HH", "attention.k_lin": "HH", "attention.v_lin": "HH", "attention.out_lin": "HH", "sa_layer_norm": "H",
          "ffn.lin1": "FH", "ffn.lin2": "HF", "output_layer_norm": "H"}


def shapes(family, c):
    """name -> shape of every tensor but the head's."""
    _, prefix, types, _, shift = FAMILIES[family]
    distil = family == "distilbert"
    size = {"H": c["hidden"], "F": c["inner"]}
    embeddings = f"{prefix}.embeddings."
    out = {embeddings + "word_embeddings.weight": [c["words"], c["hidden"]],
           embeddings + "position_embeddings.weight": [c["positions"] + shift, c["hidden"]]}
    if types:
        out[embeddings + "token_type_embeddings.weight"] = [types, c["hidden"]]
    parts = {embeddings + "LayerNorm": "H"}
    for layer in range(c["layers"]):
        at = f"{prefix}.{'transformer' if distil else 'encoder'}.layer.{layer}."
        parts.update({at + name: shape for name, shape in (DISTIL if distil else LAYER).items()})
    for name, shape in parts.items():
        out[name + ".weight"] = [size[letter] for letter in shape]
        out[name + ".bias"] = [size[shape[0]]]
    return out


def config_of(family, c):
    _, _, types, pad, shift = FAMILIES[family]
    common = {"model_type": family, "vocab_size": c["words"], "max_position_embeddings": c["positions"] + shift, "pad_token_id": pad,
              "initializer_range": 0.02}
    if family == "distilbert":
        return {**common, "dim": c["hidden"], "hidden_dim": c["inner"], "n_layers": c["layers"], "n_heads": c["heads"],
                "activation": c["act"], "dropout": c["dropout"], "attention_dropout": c["dropout"], "seq_classif_dropout": c["dropout"]}
    return {**common, "hidden_size": c["hidden"], "intermediate_size": c["inner"], "num_hidden_layers": c["layers"],
            "num_attention_heads": c["heads"], "hidden_act": c["act"], "hidden_dropout_prob": c["dropout"],
            "attention_probs_dropout_prob": c["dropout"], "type_vocab_size": types, "layer_norm_eps": 1e-12 if family == "bert" else 1e-5}


def values(draw, name, count):
    """Bytes of `count` floats; of many, a stretch is said again and again."""
    if name.endswith(("orm.weight", "norm.weight")):
        block = array.array("f", (1 + draw.uniform(-0.1, 0.1) for _ in range(min(count, 1 << 14))))
    else:
        block = array.array("f", (draw.uniform(-0.08, 0.08) for _ in range(min(count, 1 << 14))))
    if sys.byteorder == "big":
        block.byteswap()
    return (block.tobytes() * (count // len(block) + 1))[: 4 * count]


def write_model(folder, family, **c):
    """c: hidden, inner, layers, heads, words, positions, act, dropout."""
    folder.mkdir(parents=True)
    draw = random.Random(5)
    header, parts, at = {}, [], 0
    for name, shape in shapes(family, c).items():
        count = 1
        for size in shape:
            count *= size
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + 4 * count]}
        parts.append(values(draw, name, count))
        at += 4 * count
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    with open(folder / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(head)) + head)
        file.writelines(parts)
    (folder / "config.json").write_text(json.dumps(config_of(family, c)))
    tokenizer = TOKENIZERS / FAMILIES[family][0] / "tokenizer.json"
    (folder / "tokenizer.json").write_bytes(tokenizer.read_bytes())
    return folder


WORDS = """the a an and of to in is it this that was film movie story plot actor scene good great fine warm funny moving bright bad poor
dull slow weak cold silly awful love hate like very not too so but with for on one all no more there here""".split()


def text_of(draw, words):
    letters = "abcdefghijklmnopqrstuvwxyz"
    return " ".join("".join(draw.choices(letters, k=draw.randrange(2, 6))) if draw.random() < 0.3 else draw.choice(WORDS)
                    for _ in range(words))


def write_texts(path, task, rows, most, pairs=False, seed=3):
    """Lengths from 1 to `most` words; a label that may be learned a little."""
    draw = random.Random(seed)
    with open(path, "w", encoding="utf-8") as file:
        for i in range(rows):
            row = {"text": text_of(draw, 1 + int((most - 1) * draw.random() ** 2))}
            if pairs:
                row["text_pair"] = text_of(draw, draw.randrange(1, 8))
            good = row["text"].count("o")
            row["label"] = {"binary": i % 2, "three": ("neg", "pos", "none")[i % 3], "regression": round(good / 3 + draw.random(), 3),
                            "multi-label": [j for j in range(4) if draw.random() < 0.4]}[task]
            file.write(json.dumps(row) + "\n")
    return path
