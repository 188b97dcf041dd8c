#!/usr/bin/env python3
"""Where a step's time goes on a GPU: profile_cuda.py [--brim FILE] [--shapes bert-base,minilm] [--limit SECONDS]

bench_cuda.py's models and texts (real tokens, dropout on, AdamW), in bf16 and fp32. Each is trained three times: without a profile, whose steps say how
fast it is; and with --profile, some steps and then more of them. Their difference is steps alone, without what a first one loads and chooses. What the
card was at is by its own clock (src/ops/cuda/clock.c): an event before and after each kernel, product and transfer. Events take time and keep kernels
apart, so a profiled step is longer; what it has of each kind is the sum of those spans, and the card waits in the rest: for the host, and for events.

UFU is the useful work of the step without a profile, 6 N s + 12 L H s^2 for a text of s tokens, N the weights of the layers, as a share of the bf16
peak that is told for the card (dense; other cards have none). A line of JSON a row, then the table."""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import bench_cuda

# Dense bf16 with sums in fp32, TFLOP/s, as NVIDIA's data sheets have it. The longer name first.
PEAKS = {"H100 NVL": 835, "H100 PCIe": 756, "H100": 989, "H200": 989, "GH200": 989, "B200": 2250, "A100": 312, "A800": 312, "A40": 150, "A30": 165, "A10": 125, "L40S": 362,
         "L40": 181, "L4": 121}
KINDS = {"products": ("cublasLtMatmul", "product"), "attention forward": ("attention_forward", "matrix_forward", "relative_forward"),
         "attention backward": ("attention_queries", "attention_keys", "matrix_queries", "matrix_keys", "relative_"),
         "update": ("gradient_square", "finish_square", "adamw", "mark_alive", "catch_up"), "transfers": ("to the card", "from the card", "ncclAllReduce")}
REST = "norms, elementwise"
ALL = (*KINDS, REST, "waiting")


def kind_of(kernel):
    return next((kind for kind, names in KINDS.items() if kernel.startswith(names)), REST)


def peak_of(name):
    return next((peak for card, peak in sorted(PEAKS.items(), key=lambda pair: -len(pair[0])) if card in name), None)


def layer_weights(shape):
    layers, hidden, _, inner, _ = bench_cuda.SHAPES[shape]
    return layers * (4 * hidden * hidden + 2 * hidden * inner)


def flops_a_token(shape):
    layers, hidden = bench_cuda.SHAPES[shape][:2]
    lengths = bench_cuda.lengths(shape)
    return 6 * layer_weights(shape) + 12 * layers * hidden * sum(s * s for s in lengths) / sum(lengths)


def train(brim, shape, precision, steps, work, limit, *words):
    """The run's steps, as its log has them. RuntimeError says why there are none."""
    model, texts = work / shape, work / f"{shape}.csv"
    if not texts.exists():
        bench_cuda.write_model(model, shape)
        bench_cuda.write_texts(texts, shape)
    command = [brim, "train", "--model", model, "--train", texts, "-b", bench_cuda.SHAPES[shape][4], "--max-steps", steps, "--device", "cuda", "--lr", "1e-5", "--precision", precision,
               "--output", work / "run", "--overwrite", "--quiet", "--log-every", "1", *words]
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        error = process.communicate(timeout=max(limit, 1))[1]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise RuntimeError(f"{steps} steps took more than {limit:.0f} seconds") from None
    if process.returncode:
        raise RuntimeError(error[-300:] or f"exit code {process.returncode}")
    return [event for event in map(json.loads, (work / "run" / "log.jsonl").read_text(encoding="utf-8").splitlines()) if event["event"] == "step"]


def profiled(brim, shape, precision, steps, work, limit):
    """Seconds of so many steps, and of each kernel in them."""
    train(brim, shape, precision, steps, work, limit, f"--profile={work / 'trace.json'}")
    rows = json.loads((work / "trace.json").read_text(encoding="utf-8"))["otherData"]["rows"]
    card = {row["name"]: (row["seconds"], row["calls"]) for row in rows if row["cat"] == "card"}
    if not card:
        raise RuntimeError("the card's clock told nothing")
    return next(row["seconds"] for row in rows if row["cat"] == "frame"), card


def measure(brim, shape, precision, work, limit, counts, peak):
    few, many = counts
    end = time.monotonic() + limit
    done = train(brim, shape, precision, many, work, limit)[few - 1:]
    plain = (done[-1]["seconds"] - done[0]["seconds"]) / (many - few)
    speed = sum(step["tokens"] for step in done[1:]) / (done[-1]["seconds"] - done[0]["seconds"])
    (before, first), (after, last) = (profiled(brim, shape, precision, count, work, end - time.monotonic()) for count in counts)
    kernels = {name: 1000 * (seconds - first.get(name, (0, 0))[0]) / (many - few) for name, (seconds, _) in last.items()}
    kinds = {kind: sum(ms for name, ms in kernels.items() if kind_of(name) == kind) for kind in ALL}
    step = 1000 * (after - before) / (many - few)
    kinds["waiting"] = step - sum(kinds.values())
    useful = speed * flops_a_token(shape)
    products = 6 * layer_weights(shape) * speed * plain / (1e-3 * kinds["products"]) if kinds["products"] > 0 else 0
    return {"ms": {kind: round(ms, 3) for kind, ms in kinds.items()}, "profiled_ms": round(step, 3), "step_ms": round(1000 * plain, 3), "tokens_per_second": round(speed),
            "tflops": round(1e-12 * useful, 2), "products_tflops": round(1e-12 * products, 2), "peak_tflops": peak, "ufu": round(1e-12 * useful / peak, 4) if peak else None,
            "kernels": {name: [round(ms, 4), last[name][1] - first.get(name, (0, 0))[1]] for name, ms in sorted(kernels.items(), key=lambda pair: -pair[1])}}


def table_of(rows):
    """A column a row of results; milliseconds of a step and the share of the profiled one."""
    good = [row for row in rows if "ms" in row]
    lines = [f"{'ms of a step':24}" + "".join(f"{row['shape'] + ' ' + row['precision']:>24}" for row in good)]
    for kind in ALL:
        lines.append(f"{kind:24}" + "".join(f"{row['ms'][kind]:14.3f} {100 * row['ms'][kind] / row['profiled_ms']:7.1f} %" for row in good))
    for name, of in (("profiled step", "profiled_ms"), ("step", "step_ms"), ("real tokens a second", "tokens_per_second"), ("TFLOP/s, useful", "tflops"),
                     ("TFLOP/s of products", "products_tflops"), ("card's bf16 peak", "peak_tflops"), ("UFU", "ufu")):
        lines.append(f"{name:24}" + "".join(f"{row[of] if row[of] is not None else '?':>24}" for row in good))
    return lines + [f"{row['shape']} {row['precision']}: {row['failed'].strip()}" for row in rows if "failed" in row]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--brim", default=os.environ.get("BRIM", str(bench_cuda.ROOT / "build" / "brim")))
    parser.add_argument("--shapes", default="bert-base,minilm")
    parser.add_argument("--limit", type=float, default=120)
    given = parser.parse_args()
    missing = bench_cuda.missing_gpu(given.brim)
    if missing:
        print(f"profile_cuda needs a GPU: {missing}", file=sys.stderr)
        return 1
    gpu = json.loads(subprocess.run([given.brim, "doctor", "--no-speed", "--json"], stdout=subprocess.PIPE, text=True, check=True).stdout)["gpu"]
    cases = [(shape, precision) for precision in ("bf16", "fp32") for shape in given.shapes.split(",")]
    end, rows = time.monotonic() + given.limit, []
    with tempfile.TemporaryDirectory(prefix="brim-profile-") as folder:
        for number, (shape, precision) in enumerate(cases):
            row = {"shape": shape, "precision": precision}
            try:
                row |= measure(given.brim, shape, precision, pathlib.Path(folder), (end - time.monotonic()) / (len(cases) - number),
                               (2, 4) if shape == "tiny" else (8, 32), peak_of(gpu["name"]))
            except (RuntimeError, OSError, ValueError, KeyError, StopIteration, IndexError) as problem:  # a row of its own
                row["failed"] = str(problem) or repr(problem)
            rows.append(row)
            print(json.dumps(row), flush=True)
    print(*table_of(rows), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
