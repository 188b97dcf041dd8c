"""Small inputs for the command-line tests: a random BERT with a tokenizer, and data files. Python's standard library only.

  fixtures.py model FOLDER [--labels N]   the model alone, with a classifier of N labels"""

import json
import pathlib
import random
import struct
import sys

WORDS = """the a an and of to in is it this that was film movie story plot actor scene good great fine warm funny moving bright bad poor
dull slow weak cold silly awful love hate like very not too so but with for on one all no more there here""".split()
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789.,!?'-"
GOOD = "good great fine warm funny moving bright love like".split()
BAD = "bad poor dull slow weak cold silly awful hate".split()

HIDDEN, LAYERS, HEADS, INNER, POSITIONS = 32, 2, 4, 64, 64


def vocabulary():
    pieces = SPECIAL + list(LETTERS) + ["##" + letter for letter in LETTERS] + [word for word in WORDS if len(word) > 1]
    return list(dict.fromkeys(pieces))


def write_safetensors(path, tensors):
    """tensors: name -> (shape, list of floats)."""
    header, at, parts = {}, 0, []
    for name, (shape, values) in tensors.items():
        data = struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + len(data)]}
        parts.append(data)
        at += len(data)
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    path.write_bytes(struct.pack("<Q", len(head)) + head + b"".join(parts))


def tensors(labels):
    draw = random.Random(7)

    def normal(*shape):
        count = 1
        for size in shape:
            count *= size
        return list(shape), [draw.gauss(0, 0.05) for _ in range(count)]

    def constant(size, value):
        return [size], [value] * size

    def linear(name, rows, columns):
        return {f"{name}.weight": normal(rows, columns), f"{name}.bias": constant(rows, 0.0)}

    def norm(name):
        return {f"{name}.weight": constant(HIDDEN, 1.0), f"{name}.bias": constant(HIDDEN, 0.0)}

    out = {"embeddings.word_embeddings.weight": normal(len(vocabulary()), HIDDEN),
           "embeddings.position_embeddings.weight": normal(POSITIONS, HIDDEN),
           "embeddings.token_type_embeddings.weight": normal(2, HIDDEN), **norm("embeddings.LayerNorm")}
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}"
        for name in ("query", "key", "value"):
            out.update(linear(f"{at}.attention.self.{name}", HIDDEN, HIDDEN))
        out.update(linear(f"{at}.attention.output.dense", HIDDEN, HIDDEN), **norm(f"{at}.attention.output.LayerNorm"))
        out.update(linear(f"{at}.intermediate.dense", INNER, HIDDEN))
        out.update(linear(f"{at}.output.dense", HIDDEN, INNER), **norm(f"{at}.output.LayerNorm"))
    out.update(linear("pooler.dense", HIDDEN, HIDDEN))
    if labels:
        out = {f"bert.{name}": value for name, value in out.items()}
        out.update(linear("classifier", labels, HIDDEN))
    return out


def write_model(folder, labels=0):
    folder.mkdir(parents=True, exist_ok=True)
    config = {"model_type": "bert", "architectures": ["BertModel"], "vocab_size": len(vocabulary()), "hidden_size": HIDDEN,
              "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "intermediate_size": INNER, "hidden_act": "gelu",
              "max_position_embeddings": POSITIONS, "type_vocab_size": 2, "layer_norm_eps": 1e-12, "pad_token_id": 0,
              "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1, "initializer_range": 0.02}
    if labels:
        config["id2label"] = {str(i): f"class {i}" for i in range(labels)}
        config["label2id"] = {f"class {i}": i for i in range(labels)}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "vocab.txt").write_text("\n".join(vocabulary()) + "\n")
    (folder / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": True, "tokenizer_class": "BertTokenizer"}))
    write_safetensors(folder / "model.safetensors", tensors(labels))


def sentence(draw, label):
    words = [draw.choice(WORDS) for _ in range(draw.randrange(2, 16))]
    words.insert(draw.randrange(len(words)), draw.choice(GOOD if label else BAD))
    return " ".join(words)


def write_data(folder):
    folder.mkdir(parents=True, exist_ok=True)
    draw = random.Random(11)
    for name, rows in (("train", 96), ("test", 24)):
        lines = [(sentence(draw, i % 2), i % 2) for i in range(rows)]
        (folder / f"{name}.csv").write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in lines))
        names = ("neg", "pos")
        (folder / f"{name}.jsonl").write_text("".join(json.dumps({"text": t, "label": names[label]}) + "\n" for t, label in lines))
        (folder / f"{name}.tsv").write_text("text\tlabel\n" + "".join(f"{t}\t{label + 0.5 * draw.random():.3f}\n" for t, label in lines))
        (folder / f"{name}.txt").write_text("".join(t + "\n" for t, _ in lines))
    (folder / "pairs.csv").write_text("text,text_pair,label\n" + "good film,bad film,0\nthe story,the same story,1\n" * 4)
    (folder / "lengths.txt").write_text("".join(f"{draw.randrange(3, 60)}\n" for _ in range(40)))


def write_all(folder):
    write_model(folder / "model")
    write_data(folder / "data")


if __name__ == "__main__":
    count = int(sys.argv[sys.argv.index("--labels") + 1]) if "--labels" in sys.argv else 0
    write_model(pathlib.Path(sys.argv[2]), count)
