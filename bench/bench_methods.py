#!/usr/bin/env python3
"""What each method of faster and smaller training does: alone, and all together.

One table: every method is added to the same start (random batches, padded to the maximum), on real film reviews (sentences of Rotten
Tomatoes at 64 tokens, IMDB reviews at 400), with MiniLM and with a model of DistilBERT's shape (6 layers, 768 wide) and random weights,
which gets half of the rows. Seconds are those of the steps, by 1,000 samples; memory is the most that the whole process held (resident
set, measured by the system); loss is the mean of the last epoch; accuracy is that of test rows after training. A model of random
weights learns little from so few rows: its accuracy is shown because a method must not change it, not because it is good. Rows take
turns over --rounds; times and memory are medians.

The last column says whether a method did what it is for, next to the start: `memory`: at least 3 % less; `time`: less; `no slower`: at
most 10 % more; `slower`: one thread takes at least 1.2 times as long; `loss`: the same to 0.0005, where a method must not change it
(bf16: to 0.01). MISSED is printed where it did not, with the names of what was missed, and the command fails."""

import argparse
import array
import csv
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from common import BRIM, DATA, ROOT, fetch_data, machine, median, print_table, write_json
from results_data import mixed

WORK = ROOT / "build" / "methods"
TEXTS = {  # file, maximum length, rows to train on, rows to test on
    "rotten-tomatoes": ("train.csv", 64, 320, 200),
    "imdb": ("imdb.csv", 400, 64, 64),
}
FIXED = ["--batching", "random", "--padding", "max_length"]
RAGGED = ["--batching", "random", "--padding", "none"]
TOGETHER = "all together"
SHARES = {"minilm": 1.0, "distilbert": 0.5}  # of the rows: the larger model takes three times as long by the row
EFFECTS = {  # whether a run, next to the start, shows what a method is for
    "memory": lambda run, start: run["memory"] <= 0.97 * start["memory"],
    "time": lambda run, start: run["seconds"] < start["seconds"],
    "no slower": lambda run, start: run["seconds"] <= 1.1 * start["seconds"],
    "slower": lambda run, start: run["seconds"] >= 1.2 * start["seconds"],
    "loss": lambda run, start: abs(run["loss"] - start["loss"]) <= 0.0005,
    "near loss": lambda run, start: abs(run["loss"] - start["loss"]) <= 0.01,
}


def methods(batch):
    """Name, the options it adds to the start, the effects it is for, and whether it is part of all together."""
    return [
        ("fixed padding", FIXED, (), False),
        ("gradient accumulation", FIXED + ["--accumulate", "4"], ("memory", "loss"), True),
        ("gradient checkpointing", FIXED + ["--checkpoint-activations"], ("memory", "loss"), True),
        ("precision bf16", FIXED + ["--precision", "bf16"], ("memory", "near loss"), True),
        ("twice the batch", FIXED + ["--batch-size", str(2 * batch)], ("no slower",), False),
        ("one thread", FIXED + ["--threads", "1"], ("slower", "loss"), False),
        ("stream, prefetch 2", FIXED + ["--stream", "--prefetch", "2"], ("no slower",), False),
        ("frozen embeddings", FIXED + ["--freeze", "embeddings"], ("memory", "time"), True),
        ("frozen, lowest 3 layers", FIXED + ["--freeze", "3"], ("memory", "time"), False),
        ("dynamic padding", ["--batching", "random", "--padding", "longest"], ("time", "loss"), False),
        ("uniform lengths", ["--batching", "uniform", "--padding", "longest"], ("time",), False),
        ("ragged (brim)", RAGGED, ("time", "memory", "loss"), True),
        (TOGETHER, None, ("time", "memory"), False),
    ]


def missed(run, start, effects):
    """Names of the effects that a run does not show."""
    return [name for name in effects if not EFFECTS[name](run, start)]


def together(batch, missing):
    """Options of all methods that go together, and the names of those that this version lacks."""
    options, lacking = list(RAGGED), []
    for name, extra, _, part in methods(batch):
        if part and name in missing:
            lacking.append(name)
        elif part and extra is not RAGGED:
            options += extra[len(FIXED):]
    return options, lacking


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--share", type=float, default=1.0, help="of the rows, of which the larger model gets half")
    parser.add_argument("--texts", default=",".join(TEXTS))
    parser.add_argument("--models", default="minilm,distilbert")
    parser.add_argument("--hidden", type=int, default=768, help="width of the DistilBERT-shaped model")
    return parser.parse_args()


# ---- a model of DistilBERT's shape --------------------------------------------------------------------------------------


def tensor_shapes(vocabulary, hidden, layers):
    """Names and shapes as transformers has them."""
    shapes = {"embeddings.word_embeddings.weight": (vocabulary, hidden), "embeddings.position_embeddings.weight": (512, hidden)}

    def norm(name):
        shapes[f"{name}.weight"] = shapes[f"{name}.bias"] = (hidden,)

    def linear(name, rows, columns):
        shapes[f"{name}.weight"], shapes[f"{name}.bias"] = (rows, columns), (rows,)

    norm("embeddings.LayerNorm")
    for layer in range(layers):
        at = f"transformer.layer.{layer}"
        for name in ("q_lin", "k_lin", "v_lin", "out_lin"):
            linear(f"{at}.attention.{name}", hidden, hidden)
        norm(f"{at}.sa_layer_norm")
        linear(f"{at}.ffn.lin1", 4 * hidden, hidden)
        linear(f"{at}.ffn.lin2", hidden, 4 * hidden)
        norm(f"{at}.output_layer_norm")
    return shapes


def random_values(draw, pool, count):
    """Normal numbers: pieces of a pool, each from a place of its own, for drawing every one would take minutes."""
    values = array.array("f")
    while len(values) < count:
        at = draw.randrange(len(pool) - 4096)
        values += pool[at : at + min(4096, count - len(values))]
    return values


def write_model(folder, tokenizer, hidden, layers=6, seed=0):
    """config.json, model.safetensors and the tokenizer's files. Python alone, the same bytes everywhere."""
    if (folder / "model.safetensors").exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("tokenizer.json", "vocab.txt", "tokenizer_config.json"):
        shutil.copyfile(tokenizer / name, folder / name)
    vocabulary = len((tokenizer / "vocab.txt").read_text(encoding="utf-8").splitlines())
    config = {"model_type": "distilbert", "architectures": ["DistilBertModel"], "vocab_size": vocabulary, "dim": hidden, "n_layers": layers,
              "n_heads": hidden // 64 or 1, "hidden_dim": 4 * hidden, "max_position_embeddings": 512, "activation": "gelu", "dropout": 0.1,
              "attention_dropout": 0.1, "seq_classif_dropout": 0.2, "pad_token_id": 0, "initializer_range": 0.02,
              "sinusoidal_pos_embds": False, "tie_weights_": True}
    (folder / "config.json").write_text(json.dumps(config, indent=1), encoding="utf-8")
    draw = random.Random(seed)
    pool = array.array("f", (draw.gauss(0, 0.02) for _ in range(1 << 18)))
    shapes = tensor_shapes(vocabulary, hidden, layers)
    header, at = {}, 0
    for name, shape in shapes.items():
        size = 4 * shape[0] * (shape[1] if len(shape) > 1 else 1)
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [at, at + size]}
        at += size
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    aside = folder / "model.part"
    with open(aside, "wb") as file:
        file.write(struct.pack("<Q", len(head)) + head)
        for name, shape in shapes.items():
            count = shape[0] * (shape[1] if len(shape) > 1 else 1)
            if len(shape) > 1:
                random_values(draw, pool, count).tofile(file)
            else:
                array.array("f", [1.0 if "orm.weight" in name or "norm.weight" in name else 0.0] * count).tofile(file)
    aside.replace(folder / "model.safetensors")
    return folder


# ---- one run --------------------------------------------------------------------------------------------------------------


def take_rows(name, share):
    """Rows to train on, and others to test on."""
    file_name, max_length, train, test = TEXTS[name]
    train, test = max(8, round(train * share)), max(8, round(test * share))
    csv.field_size_limit(1 << 30)
    with open(DATA / file_name, encoding="utf-8", newline="") as file:
        rows = mixed(list(csv.DictReader(file)), "methods")[: train + test]
    WORK.mkdir(parents=True, exist_ok=True)
    paths = []
    for part, chosen in (("train", rows[:train]), ("test", rows[train:])):
        paths.append(WORK / f"{name}-{part}.csv")
        with open(paths[-1], "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["text", "label"])
            writer.writerows([row["text"], row["label"]] for row in chosen)
    return paths[0], paths[1], max_length


def run_json(command):
    """What the program printed, and the most memory that it held, in MiB; None and its complaint when it refused."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as complaints:
        child = subprocess.Popen(command, stdout=out, stderr=complaints)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0), complaints.seek(0)
        if child.returncode:
            return None, complaints.read().decode("utf-8", "replace").strip()
        return json.loads(out.read()), usage.ru_maxrss / 1024


def known_options():
    """The long options of `brim train --help`."""
    text = subprocess.run([BRIM, "train", "--help"], check=True, capture_output=True, text=True).stdout
    return set(re.findall(r"--[a-z0-9-]+", text))


def available(extra, known):
    """The first of a method's options that this version lacks, or None."""
    return next((word for word in extra if word.startswith("--") and word not in known), None)


def last_step(log):
    """Seconds from the first step to the end of the last one: neither the evaluation nor the writing of the model."""
    with open(log, encoding="utf-8") as lines:
        return [event["seconds"] for event in map(json.loads, lines) if event["event"] == "step"][-1]


def one_run(model, train, test, max_length, extra, options):
    """A trained and tested model: seconds by 1,000 samples, MiB, loss, accuracy; or the program's complaint."""
    with tempfile.TemporaryDirectory(prefix="brim-methods-") as folder:
        steps = []
        if "--stream" in extra:  # a stream does not know its end
            rows = sum(1 for _ in csv.reader(open(train, encoding="utf-8", newline=""))) - 1
            steps = ["--max-steps", str(-(-rows // options.batch_size)), "--labels", "0", "--labels", "1"]
        command = [BRIM, "train", "--model", str(model), "--train", str(train), "--output", folder + "/run", "--max-length", str(max_length),
                   "--seed", str(options.seed), "--json", "--quiet"]
        if "--batch-size" not in extra:
            command += ["--batch-size", str(options.batch_size)]
        trained, memory = run_json(command + list(extra) + steps)
        if trained is None:
            return None, memory
        seconds = last_step(Path(folder) / "run" / "log.jsonl")
        scored, complaint = run_json([BRIM, "evaluate", str(test), "--model", folder + "/run", "--max-length", str(max_length), "--json",
                                      "--quiet"])
        if scored is None:
            return None, complaint
    return {"seconds": 1000 * seconds / trained["rows"], "memory": memory, "loss": trained["loss"],
            "accuracy": scored["accuracy"]}, None


# ---- the table --------------------------------------------------------------------------------------------------------------


def run_all(model, text, share, known, options):
    """Results of every method on one model and one text, and why those that are missing are."""
    train, test, max_length = take_rows(text, share)
    runs, reasons = {}, {}
    for round_number in range(options.rounds):
        for name, extra, _, _ in methods(options.batch_size):
            extra = extra or together(options.batch_size, reasons)[0]
            lacking = available(extra, known)
            if lacking:
                reasons[name] = f"not available: this version has no {lacking}"
                continue
            result, complaint = one_run(model, train, test, max_length, extra, options)
            if result is None:
                reasons[name] = f"not available: {complaint}"
                continue
            runs.setdefault(name, []).append(result)
            print(f"  round {round_number + 1}, {text}: {name}", flush=True)
    return runs, reasons


def summary(runs):
    """Medians of time and memory; loss and accuracy are the same in every round."""
    return {key: median([run[key] for run in runs]) for key in ("seconds", "memory", "loss", "accuracy")}


def table_rows(runs, reasons, options):
    """Rows of the table, notes below it, and what was missed."""
    rows, notes, failures = [], [], []
    if "fixed padding" not in runs:
        raise SystemExit(reasons["fixed padding"])
    start = summary(runs["fixed padding"])
    for name, _, effects, _ in methods(options.batch_size):
        if name not in runs:
            notes.append(f"{name}: {reasons[name]}")
            continue
        s = summary(runs[name])
        lost = missed(s, start, effects)
        failures += [f"{name}: {effect}" for effect in lost]
        rows.append([name, ", ".join(effects) or "the start", f"{s['seconds']:.1f}", f"{start['seconds'] / s['seconds']:.2f} x", f"{s['memory']:.0f}",
                     f"{s['memory'] - start['memory']:+.0f}", f"{s['loss']:.4f}", f"{s['accuracy']:.3f}",
                     "MISSED: " + ", ".join(lost) if lost else "met" if effects else ""])
    lacking = together(options.batch_size, reasons)[1]
    if lacking:
        notes.append(f"{TOGETHER} is without {', '.join(lacking)}")
    notes.append("pinned memory: speeds copies to a GPU; this build computes on the CPU and has none to pin")
    return rows, notes, failures


def main():
    options = arguments()
    minilm = fetch_data()
    known = known_options()
    folders = {"minilm": lambda: minilm,
               "distilbert": lambda: write_model(WORK / f"distilbert-{options.hidden}", minilm, options.hidden)}
    results, failures = [], []
    print(machine())
    for model in options.models.split(","):
        for text in options.texts.split(","):
            share = options.share * SHARES[model]
            runs, reasons = run_all(folders[model](), text, share, known, options)
            rows, notes, lost = table_rows(runs, reasons, options)
            failures += [f"{model}, {text}: {what}" for what in lost]
            print(f"\n{model}, {text}: batch {options.batch_size}, at most {TEXTS[text][1]} tokens, seed {options.seed}")
            print_table(["method", "for", "s/1,000", "speed", "MiB", "change", "loss", "accuracy", ""], rows)
            print("\n".join(notes) + "\n")
            results.append({"model": model, "text": text, "methods": {name: summary(r) for name, r in runs.items()}, "missing": reasons, "missed": lost})
    write_json("bench-methods.json", {"machine": machine(), "batch_size": options.batch_size, "results": results})
    print("\n".join(["every method shows what it is for"] if not failures else ["MISSED:", *failures]))
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
