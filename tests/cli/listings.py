#!/usr/bin/env python3
"""The listings of docs/developers/program.md and architecture.md are what the program prints today, and prints TAP: listings.py BRIM

The model has BERT-base's shape; its weights are a file of holes, which memory holds none of."""

import json
import math
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

from run import scratch

ROOT = pathlib.Path(__file__).resolve().parents[2]
HIDDEN, INNER, LAYERS = 768, 3072, 12
CONFIG = {"model_type": "bert", "architectures": ["BertForSequenceClassification"], "hidden_size": HIDDEN, "num_hidden_layers": LAYERS,
          "num_attention_heads": 12, "intermediate_size": INNER, "vocab_size": 30522, "max_position_embeddings": 512, "type_vocab_size": 2,
          "hidden_act": "gelu"}
OPTIONS = {"Training": [], "In bf16": ["--precision", "bf16"], "With two frozen layers": ["--freeze", "layers:2"],
           "With checkpoints": ["--checkpoint-activations"], "Predictions in int8": ["--pass", "prediction", "--precision", "int8"]}


def shapes():
    names = {"embeddings.word_embeddings.weight": [30522, HIDDEN], "embeddings.position_embeddings.weight": [512, HIDDEN],
             "embeddings.token_type_embeddings.weight": [2, HIDDEN]}
    dense = [("pooler.dense", HIDDEN, HIDDEN)]
    norms = ["embeddings.LayerNorm"]
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}."
        dense += [(at + name, HIDDEN, HIDDEN) for name in ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense")]
        dense += [(at + "intermediate.dense", INNER, HIDDEN), (at + "output.dense", HIDDEN, INNER)]
        norms += [at + "attention.output.LayerNorm", at + "output.LayerNorm"]
    for name, rows, columns in dense:
        names |= {name + ".weight": [rows, columns], name + ".bias": [rows]}
    for name in norms:
        names |= {name + ".weight": [HIDDEN], name + ".bias": [HIDDEN]}
    return names


def write_model(folder):
    (folder / "config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    end, tensors = 0, {}
    for name, shape in shapes().items():
        begin, end = end, end + 4 * math.prod(shape)
        tensors["bert." + name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, end]}
    header = json.dumps(tensors).encode()
    header += b" " * (-len(header) % 8)
    with open(folder / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        file.truncate(8 + len(header) + end)


def blocks(text):
    return [[line for line in block.split("\n") if line.strip()] for block in re.findall(r"^```\n(.*?)^```", text, flags=re.M | re.S)]


def not_printed(lines, printed):
    """The lines that do not come, in their order."""
    at, missing = 0, []
    for line in lines:
        if line in printed[at:]:
            at = printed.index(line, at) + 1
        else:
            missing.append(line)
    return missing


def main():
    page = (ROOT / "docs/developers/program.md").read_text(encoding="utf-8")
    sections = {text.split("\n")[0]: text for text in re.split(r"^## ", page, flags=re.M)[1:]}
    listings = {name: (blocks(text), text) for name, text in sections.items() if blocks(text)}
    layer = next(block for block in blocks((ROOT / "docs/architecture.md").read_text(encoding="utf-8")) if block[0].startswith("operation "))
    listings["Training"][0].append(layer)
    count = failed = 0
    with tempfile.TemporaryDirectory(dir=scratch()) as folder:
        write_model(pathlib.Path(folder))
        for name, options in OPTIONS.items():
            run = subprocess.run([sys.argv[1], "inspect", "program", "--model", folder, "-q", *options], capture_output=True, text=True)
            printed = run.stdout.split("\n")
            found, text = listings.pop(name, ([], ""))
            problems = [run.stderr] if run.returncode else [line for block in found for line in not_printed(block, printed)]
            problems += [line for line in printed if "calls forward" in line and line.strip() not in " ".join(text.split())]
            problems += [] if found else ["the page has no such section"]
            count += 1
            failed += bool(problems)
            print(f"{'not ok' if problems else 'ok'} {count} - {name}: what the page shows is what the program prints")
            for problem in problems:
                print(f"# {problem}")
    print(f"{'not ok' if listings else 'ok'} {count + 1} - every listing is compared {' '.join(listings)}")
    print(f"1..{count + 1}")
    return 1 if failed or listings else 0


if __name__ == "__main__":
    sys.exit(main())
