#!/usr/bin/env python3
"""Results on real data: brim next to PyTorch + transformers, several seeds.

Both start from the same weights, the new head included, and train on the same rows in the same batches in the same order with the same
hyper-parameters (AdamW, no decay, clipping at 1, a line to 0); dropout is each one's own. PyTorch pads each batch to its longest row.
A mean over several seeds that is a point or more below PyTorch's, and more than chance explains (Student's t of the seeds' differences,
5 % on both sides), fails the run.

Every cell (task, engine, seed) is kept in build/results/cells under a hash of all that decides it, the program included: an interrupted
table goes on where it stopped. --quick takes a third of the training rows and two thirds of the test rows. Data come from the folder of --data and the quick start."""

import argparse
import csv
import json
import math
import resource
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import results_data as data
from common import BRIM, brim_json, fetch_data, machine, print_table, write_json
from results_torch import METRICS, Peer

TASKS = {
    "rotten-tomatoes": {"data": data.rotten_tomatoes, "model": "minilm", "rows": (1500, 1066), "max_length": 64, "batch": 16, "lr": 5e-5,
                        "epochs": 2, "metric": "accuracy"},
    "imdb-400": {"data": data.imdb, "model": "minilm", "rows": (640, 400), "max_length": 400, "batch": 8, "lr": 1e-4, "epochs": 1,
                 "metric": "accuracy"},
    "commonlit-5-folds": {"data": data.commonlit, "model": "minilm", "rows": (200, 0), "max_length": 128, "batch": 8, "lr": 1e-4,
                          "epochs": 2, "metric": "rmse", "folds": 5},
    "sts-b": {"data": data.stsb, "model": "minilm", "rows": (3000, 1000), "max_length": 128, "batch": 8, "lr": 1e-4, "epochs": 2,
              "metric": "pearson"},
    "sick": {"data": data.sick, "model": "minilm", "rows": (1500, 1000), "max_length": 128, "batch": 16, "lr": 5e-5, "epochs": 2,
             "metric": "accuracy"},
    "mnli": {"data": data.mnli, "model": "minilm", "rows": (800, 200), "max_length": 512, "batch": 8, "lr": 1e-4, "epochs": 4,
             "metric": "accuracy"},
    "french-reviews": {"data": data.french, "model": "small-camembert", "rows": (1200, 300), "max_length": 128, "batch": 16, "lr": 5e-4,
                       "epochs": 4, "metric": "accuracy"},
}
SHAPE = {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 512}
RANDOM_MODELS = {
    "small-bert-cased": ("bert-base-cased", {"model_type": "bert", "vocab_size": 28996, **SHAPE}),
    "small-camembert": ("camembert-base", {"model_type": "camembert", "vocab_size": 32005, "max_position_embeddings": 514,
                                           "type_vocab_size": 1, "pad_token_id": 1, "bos_token_id": 5, "eos_token_id": 6,
                                           "layer_norm_eps": 1e-5, **SHAPE}),
    "minilm-shaped-cased": ("bert-base-cased", {"model_type": "bert", "vocab_size": 28996, "hidden_size": 384, "num_hidden_layers": 6,
                                                "num_attention_heads": 12, "intermediate_size": 1536}),
}
CASED, RATIO_MODEL = "small-bert-cased", "minilm-shaped-cased"
BRIM_OPTIONS = {}  # of every call that computes
CELLS = data.WORK / "cells"
QUICK = 1 / 3


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--engines", default="brim,PyTorch", help="whose missing cells to compute")
    parser.add_argument("--data", type=Path, help="folder with data/ and tokenizers/ (docs/developers/tests.md lists what is in it)")
    parser.add_argument("--quick", action="store_true", help="a third of the training rows")
    parser.add_argument("--share", type=float, help="share of the training rows, instead of all or a third")
    parser.add_argument("--threads", type=int, default=0, help="of brim and of PyTorch; 0: all cores (no result depends on it)")
    parser.add_argument("--seconds", action="store_true", help="also print the seconds of training (on a quiet machine)")
    parser.add_argument("--ratio", action="store_true", help="also measure fixed against ragged on MNLI, in processor time")
    parser.add_argument("--curves", action="store_true", help="only compare the losses of all steps without dropout: one seed, no table")
    parser.add_argument("--dropout", action="store_true", help="only compare what dropout does to a model's loss: no table")
    parser.add_argument("--passes", type=int, default=1000, help="of --dropout, with each program")
    parser.add_argument("--cached", action="store_true", help="print what there is, compute nothing")
    parser.add_argument("--markdown", type=Path, help="write the table there too")
    return parser.parse_args()


# ---- one cell ---------------------------------------------------------------------------------------------------------


def train_options(task, seed):
    return {**BRIM_OPTIONS, "max_length": task["max_length"], "batch_size": task["batch"], "lr": task["lr"], "epochs": task["epochs"], "seed": seed}


def planned(folder, path, task, seed):
    """The batches of all epochs, as brim takes them."""
    batches = []
    for epoch in range(task["epochs"]):
        command = [BRIM, "plan", str(path), "-t", str(folder), "--batching", "random", "--padding", "none", "--batch-size", str(task["batch"]),
                   "--max-length", str(task["max_length"]), "--seed", str(seed), "--epoch", str(epoch), "--jsonl", "--quiet"]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
        batches += [json.loads(line)["rows"] for line in lines[:-1]]
    return batches


def start_weights(model, train, task, seed, folder):
    """The model with the head that brim makes for this seed: what both begin with."""
    brim_json("train", "--overwrite", model=model, train=train, output=folder, lr=0, max_steps=1, batch_size=1, seed=seed,
              max_length=task["max_length"], **BRIM_OPTIONS)
    shutil.rmtree(folder / "checkpoints")
    return folder


def brim_cell(task, seed, start, paths, scratch):
    """Metric and seconds of training."""
    run = scratch / "run"
    if task.get("folds"):
        done = brim_json("train", model=start, train=paths[0], output=run, fold_column="fold", **train_options(task, seed))
        return done["out_of_fold"]["metrics"][task["metric"]], sum(f["seconds"] for f in done["folds"])
    trained = brim_json("train", model=start, train=paths[0], output=run, **train_options(task, seed))
    scored = brim_json("evaluate", paths[1], model=run, max_length=task["max_length"], **BRIM_OPTIONS)
    return scored[task["metric"]], trained["seconds"]


def torch_run(task, seed, start, train, test):
    peer = Peer(start, task["max_length"])
    rows, held_out = peer.rows(train), peer.rows(test)
    batches = planned(start, train, task, seed)
    begin = time.perf_counter()
    peer.train(rows, batches, task["lr"], seed)
    seconds = time.perf_counter() - begin
    return peer.predict(held_out), held_out.labels, seconds


def fold_files(path, scratch, fold):
    """Training and held-out rows of a fold as files."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [data.write_rows(scratch / f"{name}-{fold}.csv", [r for r in rows if (r["fold"] == str(fold)) == held])
            for name, held in (("train", False), ("held-out", True))]


def torch_cell(task, seed, start, paths, scratch):
    guesses, labels, seconds = [], [], 0.0
    pairs = [fold_files(paths[0], scratch, fold) for fold in range(task["folds"])] if task.get("folds") else [paths]
    for train, test in pairs:
        got, truth, took = torch_run(task, seed, start, train, test)
        guesses, labels, seconds = guesses + got, labels + truth, seconds + took
    return METRICS[task["metric"]](guesses, labels), seconds


ENGINES = {"brim": brim_cell, "PyTorch": torch_cell}


def versions(engine):
    if engine == "brim":
        return data.file_hash(BRIM)
    import torch
    import transformers

    return [torch.__version__, transformers.__version__]


def describe(name, engine, seed, task, paths):
    """Everything that decides a cell."""
    decides = {key: value for key, value in task.items() if key != "data"}
    return {"task": name, "engine": engine, "seed": seed, "options": decides, "version": versions(engine),
            "data": [data.file_hash(path) for path in paths if path]}


def known(cell):
    path = CELLS / f"{data.cell_key(cell)}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def compute(name, seed, task, model, paths, engines):
    """The cells of one task and seed that are not known yet."""
    with tempfile.TemporaryDirectory(prefix="brim-results-") as folder:
        scratch = Path(folder)
        start = start_weights(model, paths[0], task, seed, scratch / "start")
        for engine in engines:
            value, seconds = ENGINES[engine](task, seed, start, paths, scratch)
            cell = describe(name, engine, seed, task, paths)
            CELLS.mkdir(parents=True, exist_ok=True)
            path = CELLS / f"{data.cell_key(cell)}.json"
            path.with_suffix(".part").write_text(json.dumps({**cell, "value": value, "seconds": seconds}, indent=1), encoding="utf-8")
            path.with_suffix(".part").replace(path)
            print(f"  {name}, seed {seed}, {engine}: {task['metric']} {value:.4f}", flush=True)


# ---- the table --------------------------------------------------------------------------------------------------------


def spread(values):
    return statistics.stdev(values) if len(values) > 1 else 0.0


# What the mean of so many differences, by its standard error, exceeds by chance once in twenty (Student's t, both sides).
CHANCE = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365, 9: 2.306, 10: 2.262}


def judge(metric, brim, peer):
    """Mean difference (better is positive) of the same seeds, and whether brim fails: a point or more below, in several seeds, and more
    than noise explains."""
    sign = -1 if metric == "rmse" else 1
    differences = [sign * (ours - theirs) for ours, theirs in zip(brim, peer)]
    difference, error = statistics.mean(differences), spread(differences) / math.sqrt(len(differences))
    return difference, len(differences) > 1 and difference <= -0.01 and difference < -CHANCE.get(len(differences), 2.2) * error


def shown(values):
    if not values:
        return "-"
    return f"{statistics.mean(values):.4f}" + (f" ± {spread(values):.4f}" if len(values) > 1 else "")


def result_row(name, task, rows, cells, seconds):
    brim, peer = ([c["value"] for c in cells[engine]] for engine in ENGINES)
    both = {c["seed"] for c in cells["brim"]} & {c["seed"] for c in cells["PyTorch"]}
    out = [name, task["model"], rows, task["epochs"], task["metric"], f"{len(brim)}, {len(peer)}", shown(brim), shown(peer)]
    failed = False
    if both:
        difference, failed = judge(task["metric"], *([c["value"] for c in cells[engine] if c["seed"] in both] for engine in ENGINES))
        out.append(f"{difference:+.4f}{' below' if failed else ''}")
    else:
        out.append("-")
    if seconds:
        out += [f"{statistics.mean(c['seconds'] for c in cells[engine]):.0f}" if cells[engine] else "-" for engine in ENGINES]
    return out, failed


TITLES = ["task", "model", "rows", "epochs", "metric", "seeds", "brim", "PyTorch", "brim is better by"]


def markdown(titles, rows):
    lines = ["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]) + "\n"


# ---- the same steps ----------------------------------------------------------------------------------------------------


def without_dropout(folder):
    """Every chance taken from a model: with it gone both programs do the same arithmetic, but for rounding."""
    path = folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    config.update({key: 0.0 for key in config if "dropout" in key})
    path.write_text(json.dumps({**config, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}), encoding="utf-8")
    return folder


def logged_losses(run):
    lines = map(json.loads, (run / "log.jsonl").read_text(encoding="utf-8").splitlines())
    return [line["loss"] for line in lines if line["event"] == "step"]


def curves(name, task, seed, model, paths):
    """Losses of all steps, and what the trained models say to the test rows, by both programs without dropout."""
    with tempfile.TemporaryDirectory(prefix="brim-results-") as folder:
        scratch = Path(folder)
        train, test = fold_files(paths[0], scratch, 0) if task.get("folds") else paths
        start = without_dropout(start_weights(model, train, task, seed, scratch / "start"))
        brim_json("train", model=start, train=train, output=scratch / "run", **train_options(task, seed))
        ours, peer = logged_losses(scratch / "run"), Peer(start, task["max_length"])
        theirs = peer.train(peer.rows(train), planned(start, train, task, seed), task["lr"], seed)
        apart = [abs(a - b) for a, b in zip(ours, theirs, strict=True)]
        trained = Peer(scratch / "run", task["max_length"])
        rows = peer.rows(test)
        scores = [METRICS[task["metric"]](each.predict(rows), rows.labels) for each in (trained, peer)]
    return [name, len(apart), f"{ours[0]:.6f}", *(f"{max(apart[:count]):.1e}" for count in (1, 10, 50, 100, len(apart))),
            f"{statistics.mean(ours[-20:]):.4f}", f"{statistics.mean(theirs[-20:]):.4f}", task["metric"], *(f"{s:.4f}" for s in scores)]


CURVE_TITLES = ["task", "steps", "first loss", "apart: 1 step", "10", "50", "100", "all", "brim, last 20", "PyTorch", "metric", "brim", "PyTorch"]


# ---- what dropout does ---------------------------------------------------------------------------------------------------


DROPOUT_TITLES = ["task", "loss without", "passes", "brim: loss with", "deviation", "PyTorch: loss with", "deviation"]


def dropout_losses(name, task, seed, model, paths, passes, count=64):
    """The loss of the same trained model on the same rows, without dropout and in many passes with it: mean ± its standard error, and
    the deviation of a pass. Masks that were too many, too few or not independent of one another would change them."""
    with tempfile.TemporaryDirectory(prefix="brim-results-") as folder:
        scratch = Path(folder)
        start = start_weights(model, paths[0], task, seed, scratch / "start")
        brim_json("train", model=start, train=paths[0], output=scratch / "run", **{**train_options(task, seed), "epochs": 1})
        with open(paths[0], encoding="utf-8", newline="") as file:
            rows = data.write_rows(scratch / "rows.csv", list(csv.DictReader(file))[:count])
        brim_json("train", model=scratch / "run", train=rows, output=scratch / "still",
                  **{**train_options(task, seed), "epochs": passes, "batch_size": count, "lr": 0})
        ours, peer = logged_losses(scratch / "still"), Peer(scratch / "run", task["max_length"])
        theirs, without = peer.losses_with_dropout(peer.rows(rows), passes, seed)
    line = [name, f"{without:.4f}", passes]
    for losses in (ours, theirs):
        line += [f"{statistics.mean(losses):.4f} ± {spread(losses) / math.sqrt(len(losses)):.4f}", f"{spread(losses):.4f}"]
    return line


# ---- MNLI in the manner of the first document ---------------------------------------------------------------------------


def mnli_slots(model, shared):
    """Slots of all 1,000 pairs at 512 tokens, 8 at a time: padded to 512, to the longest of a batch, and not at all."""
    path = data.write_rows(data.WORK / "data" / "mnli-all.csv", sum(data.mnli(shared), []))
    slots = []
    for padding in ("max_length", "longest", "none"):
        command = [BRIM, "plan", str(path), "-t", str(model), "--batching", "random", "--padding", padding, "--batch-size", "8",
                   "--max-length", "512", "--jsonl", "--quiet"]
        last = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1]
        slots.append(json.loads(last)["summary"]["slots"])
    print(f"\nMNLI, 1,000 pairs at 512, batch 8: {slots[0]:,} slots fixed, {slots[1]:,} dynamic, {slots[2]:,} tokens")
    return path, slots


def processor_seconds(*words, **options):
    """Processor time of a run on one thread: other work on the machine hardly changes it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    brim_json(*words, threads=1, **options)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def mnli_ratio(model, path):
    """Time of a step in the ways of padding, without the start of the program: the mean of an epoch, or of a few steps where all are alike."""
    ways = {"fixed": ("random", "max_length", 11), "dynamic": ("random", "longest", 125), "uniform": ("uniform", "longest", 125),
            "ragged": ("random", "none", 125)}
    seconds = {}
    with tempfile.TemporaryDirectory(prefix="brim-results-") as folder:
        for name, (batching, padding, steps) in ways.items():
            took = [processor_seconds("train", "--overwrite", model=model, train=path, output=folder + "/run", batching=batching, padding=padding,
                                      max_length=512, batch_size=8, max_steps=count) for count in (1, steps)]
            seconds[name] = (took[1] - took[0]) / (steps - 1)
    print("one step: " + ", ".join(f"{name} {value:.3f} s ({seconds['fixed'] / value:.1f} x)" for name, value in seconds.items()) +
          " of the processor (the document, fixed against uniform: 4.7 x)")
    return seconds


# ---- the run ------------------------------------------------------------------------------------------------------------


def set_threads(count):
    if count:
        import torch

        torch.set_num_threads(count)
        BRIM_OPTIONS["threads"] = count


def scaled(rows, share):
    """Rows to train on, and to test on: of those twice the share, for they cost a third and their number is the noise."""
    return round(rows[0] * share), round(rows[1] * min(1, 2 * share))


def model_folder(name, minilm, shared):
    if name == "minilm":
        return minilm
    tokenizer, config = RANDOM_MODELS[name]
    return data.random_model(name, shared / "tokenizers" / tokenizer, config)


def main():
    options = arguments()
    shared = options.data
    if not shared or not (shared / "data").exists():
        raise SystemExit("the data sets of this benchmark are not in the repository: --data DIR says where they are")
    minilm = fetch_data()
    set_threads(options.threads)
    share = options.share or (QUICK if options.quick else 1)
    names, seeds = options.tasks.split(","), [int(seed) for seed in options.seeds.split(",")]
    tasks = {}
    for name in names:
        task = dict(TASKS[name])
        paths = data.prepare(name, task["data"], *scaled(task["rows"], share), shared)
        tasks[name] = (task, model_folder(task["model"], minilm, shared), paths)
    if options.dropout:
        print_table(DROPOUT_TITLES, [dropout_losses(name, task, seeds[0], model, paths, options.passes)
                                     for name, (task, model, paths) in tasks.items()])
        return
    if options.curves:
        rows = [curves(name, task, seeds[0], model, paths) for name, (task, model, paths) in tasks.items()]
        print_table(CURVE_TITLES, rows)
        if options.markdown:
            options.markdown.write_text(markdown(CURVE_TITLES, rows), encoding="utf-8")
        return
    for seed in seeds:
        for name, (task, model, paths) in tasks.items():
            missing = [engine for engine in options.engines.split(",") if not known(describe(name, engine, seed, task, paths))]
            if missing and not options.cached:
                compute(name, seed, task, model, paths, missing)
    titles = TITLES + (["brim s", "PyTorch s"] if options.seconds else [])
    rows, failures, results = [], [], []
    for name, (task, _, paths) in tasks.items():
        cells = {engine: [c for c in (known(describe(name, engine, seed, task, paths)) for seed in seeds) if c] for engine in ENGINES}
        counts = " + ".join(str(sum(1 for _ in csv.DictReader(open(p, encoding="utf-8", newline="")))) for p in paths if p)
        line, failed = result_row(name, task, counts, cells, options.seconds)
        rows.append(line)
        results += sum(cells.values(), [])
        failures += [name] if failed else []
    print(machine())
    print_table(titles, rows)
    if options.markdown:
        options.markdown.write_text(markdown(titles, rows), encoding="utf-8")
    summary = {"machine": machine(), "cells": results}
    if "mnli" in tasks:
        path, summary["mnli_slots"] = mnli_slots(model_folder(CASED, minilm, shared), shared)
        if options.ratio:
            summary["mnli_seconds"] = mnli_ratio(model_folder(RATIO_MODEL, minilm, shared), path)
    write_json("bench-results.json", summary)
    if failures:
        raise SystemExit(f"below PyTorch: {', '.join(failures)}")


if __name__ == "__main__":
    main()
