#!/usr/bin/env python3
"""What the benchmarks' scripts compute without a program, a model or data, as TAP: bench_scripts.py SOURCE_ROOT"""

import argparse
import json
import math
import pathlib
import struct
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1])
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "bench"))

import bench_methods  # noqa: E402
import bench_results  # noqa: E402
import bench_train_embed  # noqa: E402
import results_data  # noqa: E402
import results_torch  # noqa: E402
from points import end, point  # noqa: E402


def scores():
    xs, ys = [1.0, 2.0, 4.0], [2.0, 1.0, 5.0]
    point(abs(results_torch.rmse(xs, ys) - 1.0) < 1e-12, "rmse")
    point(abs(results_torch.pearson(xs, ys) - 48 / math.sqrt(42 * 78)) < 1e-12, "pearson")
    point(results_torch.accuracy([0, 1, 1], [0, 1, 0]) == 2 / 3, "accuracy")


def judgement():
    judge = bench_results.judge
    point(judge("accuracy", [0.80, 0.80], [0.82, 0.82])[1] is True, "two points below fail")
    point(judge("accuracy", [0.815, 0.815], [0.82, 0.82])[1] is False, "half a point below does not")
    point(judge("accuracy", [0.70, 0.90], [0.80, 0.84])[1] is False, "nor two points that noise explains")
    point(judge("accuracy", [0.733, 0.764, 0.737], [0.778, 0.772, 0.795])[1] is False, "nor three seeds' 2.5 standard errors")
    point(judge("accuracy", [0.75, 0.76, 0.75], [0.78, 0.78, 0.79])[1] is True, "but 5.2 of them")
    point(judge("rmse", [0.70, 0.70], [0.65, 0.65])[1] is True and judge("rmse", [0.65, 0.65], [0.70, 0.70])[0] > 0, "a larger rmse is worse")


def rows():
    items = [{"text": str(i), "label": "0"} for i in range(50)]
    mixed, again = results_data.mixed(items, "a"), results_data.mixed(items, "a")
    point(mixed == again and mixed != items and sorted(r["text"] for r in mixed) == sorted(r["text"] for r in items), "mixed the same way")
    taken = results_data.take(items, 10, "a")
    point(len(taken) == 10 and taken == [r for r in items if r in taken] and taken != items[:10], "rows taken keep the file's order")
    point(results_data.apart(items[:30], items[20:]) == items[30:], "test rows that are not among the training rows")
    pair = results_data.row("a", "1", "b")
    point(list(pair) == ["text", "text_pair", "label"] and list(results_data.row("a", "1", fold=2)) == ["text", "label", "fold"], "columns")
    point(bench_results.scaled((3000, 1000), 1 / 3) == (1000, 667) and bench_results.scaled((3000, 1000), 1) == (3000, 1000), "shares")
    with tempfile.TemporaryDirectory() as folder:
        path = results_data.write_rows(pathlib.Path(folder) / "x.csv", [results_data.row('a "b", c\nd', "1")])
        point(results_data.table(path) == [{"text": 'a "b", c\nd', "label": "1"}], "written rows come back")
    point(results_data.kfold(23, 5, 7) == [1, 0, 0, 4, 4, 0, 1, 3, 3, 3, 2, 1, 1, 2, 3, 4, 2, 2, 2, 4, 0, 1, 0], "KFold as scikit-learn's")
    point(results_data.cell_key({"a": 1, "b": 2}) == results_data.cell_key({"b": 2, "a": 1}) != results_data.cell_key({"a": 1, "b": 3}),
          "a cell is known by what decides it")


def judge_of_one():
    return bench_results.judge("accuracy", [0.5], [0.9])[1] is False


def tables():
    task = {"model": "m", "epochs": 1, "metric": "accuracy"}
    point(judge_of_one(), "one seed is no judgement")
    cells = {"brim": [{"seed": 1, "value": 0.8, "seconds": 1}, {"seed": 2, "value": 0.9, "seconds": 3}], "PyTorch": []}
    line, bad = bench_results.result_row("t", task, "9", cells, True)
    point(line[5:] == ["2, 0", "0.8500 ± 0.0707", "-", "-", "2", "-"] and not bad, "a row of which a half is missing")
    cells["PyTorch"] = [{"seed": 2, "value": 0.85, "seconds": 3}]
    point(bench_results.result_row("t", task, "9", cells, False)[0][5:] == ["2, 1", "0.8500 ± 0.0707", "0.8500", "+0.0500"],
          "seeds that both have are compared")
    point(bench_results.markdown(["a", "b"], [[1, 2]]) == "| a | b |\n|---|---|\n| 1 | 2 |\n", "markdown")


def methods():
    all_of_them = bench_methods.methods(16)
    options, lacking = bench_methods.together(16, {"precision bf16": "why"})
    point(lacking == ["precision bf16"] and "--precision" not in options and "--freeze" in options and "max_length" not in options,
          "all together leaves out what is not there, and pads nothing")
    point("--precision" in bench_methods.together(16, {})[0], "and has it where it is")
    point(bench_methods.available(["--a", "1", "--b"], {"--a"}) == "--b" and bench_methods.available(["--a"], {"--a"}) is None, "lacking options")
    point(len({name for name, *_ in all_of_them}) == len(all_of_them), "methods have names of their own")
    start = {"seconds": 10.0, "memory": 1000.0, "loss": 0.7, "accuracy": 0.5}
    point(bench_methods.missed(start, start, ("memory", "time", "slower", "loss", "no slower")) == ["memory", "time", "slower"],
          "what changes nothing shows no effect")
    better = {"seconds": 9.0, "memory": 900.0, "loss": 0.7004, "accuracy": 0.5}
    point(bench_methods.missed(better, start, ("memory", "time", "loss")) == [], "what saves both does")
    point(bench_methods.missed(dict(better, loss=0.71), start, ("memory", "loss")) == ["loss"], "and misses what moves the loss")
    runs = {"fixed padding": [start], "gradient accumulation": [dict(better, memory=1000.0)]}
    rows, _, lost = bench_methods.table_rows(runs, {name: "" for name, *_ in all_of_them}, argparse.Namespace(batch_size=16))
    point(rows[0][-1] == "" and rows[1][-1] == "MISSED: memory" and lost == ["gradient accumulation: memory"], "a miss is named")
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "log.jsonl"
        log.write_text('{"event":"start"}\n{"event":"step","seconds":1}\n{"event":"step","seconds":3}\n{"event":"end","seconds":9}\n')
        point(bench_methods.last_step(log) == 3, "the seconds are those of the steps")
    result, memory = bench_methods.run_json([sys.executable, "-c", "x = bytearray(80 << 20); print('{\"a\": 1}')"])
    point(result == {"a": 1} and 80 < memory < 200, "memory is that of the child")
    result, complaint = bench_methods.run_json([sys.executable, "-c", "import sys; sys.exit('no')"])
    point(result is None and complaint == "no", "and so are complaints")


def model():
    with tempfile.TemporaryDirectory() as folder:
        tokenizer, out = pathlib.Path(folder) / "t", pathlib.Path(folder) / "m"
        tokenizer.mkdir()
        for name in ("tokenizer.json", "tokenizer_config.json"):
            (tokenizer / name).write_text("{}")
        (tokenizer / "vocab.txt").write_text("a\nb\nc\n")
        bench_methods.write_model(out, tokenizer, 8, layers=1)
        data = (out / "model.safetensors").read_bytes()
        size = struct.unpack("<Q", data[:8])[0]
        header = json.loads(data[8 : 8 + size])
        point(max(t["data_offsets"][1] for t in header.values()) == len(data) - 8 - size, "the weights fill the file")
        begin, end = header["transformer.layer.0.sa_layer_norm.weight"]["data_offsets"]
        point(struct.unpack("<8f", data[8 + size + begin : 8 + size + end]) == (1.0,) * 8, "layer norms begin with 1")
        begin, end = header["transformer.layer.0.ffn.lin1.weight"]["data_offsets"]
        values = struct.unpack("<256f", data[8 + size + begin : 8 + size + end])
        point(0.015 < math.sqrt(sum(v * v for v in values) / 256) < 0.025 and len(set(values)) == 256, "weights are random")


def vectors():
    rates = [bench_train_embed.rate_at(step, 20) for step in range(20)]
    point(rates[:4] == [0, 0.5, 1, 17 / 18] and rates[19] == 1 / 18, "the peer's learning rates are those of brim's schedule")
    point(bench_train_embed.apart([1.0, 3.0], [1.0, 1.0]) == (1.0, 1.0), "a difference in standard errors")
    point(bench_train_embed.apart([1.0, 1.0], [1.0, 1.0]) == (0.0, 0.0) and math.isnan(bench_train_embed.apart([1.0], [0.0])[1]), "or none")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "x.csv"
        path.write_text("query,document,score\na,b,0.5\n")
        point(bench_train_embed.read_rows(path) == ([["a", "b"]], [0.5]), "columns of texts, and the scores")


for test in (scores, judgement, rows, tables, methods, model, vectors):
    test()
sys.exit(end())
