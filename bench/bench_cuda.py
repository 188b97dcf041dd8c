#!/usr/bin/env python3
"""Training on a GPU: brim next to PyTorch, where it is there: bench_cuda.py [--brim FILE] [--shapes minilm,...] [--limit SECONDS]

Random weights of three shapes, texts of a long-tailed distribution of lengths (mean about 80 tokens, at most 256), dropout 0.1, erf GELU, AdamW.
Tokens are real tokens: padding is no work done. PyTorch's rows are an encoder written with its own modules: padded to 256 (fixed), to the longest
of a random batch (dynamic), and of a batch of equal lengths (sorted), with SDPA, as they are and compiled; and without padding by hand (unpadded:
its flash attention on packed sequences). A line of JSON for each row, when it is known; what is compiled comes last, since that takes longest. It
needs only a GPU and Python; where there is no GPU it ends with a line that says what is missing. The shape tiny is for trying the script."""

import argparse
import array
import json
import math
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "cli"))
import fixtures  # noqa: E402

#        layers, hidden, heads, inner, texts of a step
SHAPES = {"minilm": (6, 384, 12, 1536, 256), "bert-base": (12, 768, 12, 3072, 128), "roberta-large": (24, 1024, 16, 4096, 64),
          "tiny": (1, 32, 2, 64, 4)}
TORCH = (("unpadded", "bf16"), ("sorted", "bf16"), ("fixed", "bf16"), ("dynamic", "bf16"), ("sorted", "fp32"), ("sorted+compile", "bf16"), ("fixed+compile", "bf16"))


def sizes(shape):
    """The longest text, and how many there are."""
    return (32, 64) if shape == "tiny" else (256, 8192)


def lengths(shape):
    longest, count = sizes(shape)
    draw = random.Random(5)
    return [min(longest, max(4, int(math.exp(draw.gauss(4.1, 0.75))))) for _ in range(count)]


def write_model(folder, shape):
    """fixtures' tokenizer, an encoder of this shape: the same thousand random numbers over and over."""
    layers, hidden, heads, inner, _ = SHAPES[shape]
    longest = sizes(shape)[0]
    fixtures.write_model(folder)
    config = json.loads((folder / "config.json").read_text())
    config |= {"num_hidden_layers": layers, "hidden_size": hidden, "num_attention_heads": heads, "intermediate_size": inner, "max_position_embeddings": longest}
    (folder / "config.json").write_text(json.dumps(config))
    shapes = {"embeddings.word_embeddings.weight": [config["vocab_size"], hidden], "embeddings.position_embeddings.weight": [longest, hidden],
              "embeddings.token_type_embeddings.weight": [2, hidden], "embeddings.LayerNorm.weight": [hidden], "embeddings.LayerNorm.bias": [hidden]}
    for layer in range(layers):
        name = f"encoder.layer.{layer}."
        for part, rows, columns in (("attention.self.query", hidden, hidden), ("attention.self.key", hidden, hidden), ("attention.self.value", hidden, hidden),
                                    ("attention.output.dense", hidden, hidden), ("intermediate.dense", inner, hidden), ("output.dense", hidden, inner)):
            shapes |= {f"{name}{part}.weight": [rows, columns], f"{name}{part}.bias": [rows]}
        for norm in ("attention.output", "output"):
            shapes |= {f"{name}{norm}.LayerNorm.weight": [hidden], f"{name}{norm}.LayerNorm.bias": [hidden]}
    shapes |= {"pooler.dense.weight": [hidden, hidden], "pooler.dense.bias": [hidden]}
    draw, header, at = random.Random(3), {}, 0
    for name, shape in shapes.items():
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + 4 * math.prod(shape)]}
        at += 4 * math.prod(shape)
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    noise = array.array("f", [draw.gauss(0, 0.02) for _ in range(4099)]).tobytes()
    with open(folder / "model.safetensors", "wb") as to:
        to.write(len(head).to_bytes(8, "little") + head)
        for name, shape in shapes.items():
            size = 4 * math.prod(shape)
            fill = array.array("f", [1.0]).tobytes() if "LayerNorm.weight" in name else bytes(4) if name.endswith("bias") else noise
            to.write((fill * (size // len(fill) + 1))[:size])


def write_texts(path, shape):
    """Words that are one token each; two tokens of a row are special."""
    words = [word for word in fixtures.WORDS if len(word) > 1]
    draw = random.Random(9)
    with open(path, "w", encoding="utf-8") as to:
        to.write("text,label\n")
        for length in lengths(shape):
            to.write(" ".join(draw.choice(words) for _ in range(length - 2)) + f",{draw.randrange(2)}\n")


def missing_gpu(brim):
    """What brim lacks of a GPU, in a line; None: nothing."""
    done = subprocess.run([brim, "predict", "--model", os.devnull, "--device", "cuda", os.devnull], capture_output=True, text=True, check=False)
    return done.stderr.partition("--device cuda: ")[2].strip() or None


def measure_brim(brim, shape, precision, work, seconds):
    batch = SHAPES[shape][4]
    model, texts = work / shape, work / f"{shape}.csv"
    if not texts.exists():
        write_model(model, shape)
        write_texts(texts, shape)
    words = [brim, "train", "--model", model, "--train", texts, "--epochs", "1000", "-b", str(batch), "--device", "cuda", "--lr", "1e-5",
             *(["--tf32"] if precision == "tf32" else ["--precision", precision]), "--output", work / "run", "--overwrite", "--quiet", "--log-every", "1"]
    process = subprocess.Popen([str(word) for word in words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        error = process.communicate(timeout=seconds)[1]
        return {"failed": error[-300:]}
    except subprocess.TimeoutExpired:
        process.kill()  # what its log says is enough
        process.communicate()
    log = work / "run" / "log.jsonl"
    steps = [json.loads(line) for line in (log.read_text() if log.exists() else "").splitlines() if '"event":"step"' in line and line.endswith("}")]
    steps = steps[len(steps) // 4:]  # without the warm-up
    if len(steps) < 3:
        return {"failed": f"{len(steps)} steps in {seconds:.0f} seconds"}
    spent = steps[-1]["seconds"] - steps[0]["seconds"]
    return {"tokens_per_second": round(sum(step["tokens"] for step in steps[1:]) / spent), "steps": len(steps)}


def measure_torch(shape, how, precision, seconds, device):
    import torch
    from torch import nn
    from torch.nn import functional as F
    layers, hidden, heads, inner, batch = SHAPES[shape]
    longest, count = sizes(shape)
    torch.manual_seed(1)

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.out = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
            self.up, self.down = nn.Linear(hidden, inner), nn.Linear(inner, hidden)
            self.first, self.second, self.drop = nn.LayerNorm(hidden), nn.LayerNorm(hidden), nn.Dropout(0.1)

        def attend(self, x, mask, packed):
            q, k, v = self.qkv(x).view(*x.shape[:-1], 3, heads, hidden // heads).unbind(-3)
            if packed is not None:
                return torch.ops.aten._flash_attention_forward(q, k, v, packed, packed, longest, longest, 0.1, False, False)[0].reshape(x.shape)
            q, k, v = (t.transpose(1, 2) for t in (q, k, v))
            return F.scaled_dot_product_attention(q, k, v, mask, 0.1).transpose(1, 2).reshape(x.shape)

        def forward(self, x, mask, packed):
            x = self.first(x + self.drop(self.out(self.attend(x, mask, packed))))
            return self.second(x + self.drop(self.down(F.gelu(self.up(x)))))

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.places, self.norm = nn.Embedding(150, hidden), nn.Embedding(longest, hidden), nn.LayerNorm(hidden)
            self.layers, self.head = nn.ModuleList(Layer() for _ in range(layers)), nn.Linear(hidden, 2)

        def forward(self, ids, places, mask, packed, first):
            x = F.dropout(self.norm(self.words(ids) + self.places(places)), 0.1)
            for layer in self.layers:
                x = layer(x, mask, packed)
            return self.head(x[first] if packed is not None else x[:, 0])

    how, _, compiled = how.partition("+")
    model = Encoder().to(device)
    if compiled:
        model = torch.compile(model, dynamic=how != "fixed")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=device == "cuda")
    every = lengths(shape)
    random.Random(2).shuffle(every)
    if how == "sorted":
        every.sort()
    batches = [every[i:i + batch] for i in range(0, count - batch + 1, batch)]
    random.Random(4).shuffle(batches)

    def step(texts):
        packed = first = mask = None
        if how == "unpadded":
            packed = torch.tensor([0, *texts], device=device).cumsum(0).to(torch.int32)
            first = packed[:-1].long()
            places = torch.cat([torch.arange(n) for n in texts]).to(device)
        else:
            width = longest if how == "fixed" else max(texts)
            places = torch.arange(width, device=device).expand(len(texts), width)
            mask = (places < torch.tensor(texts, device=device)[:, None])[:, None, None, :]
        ids = torch.randint(0, 150, places.shape, device=device)
        with torch.autocast(device, torch.bfloat16, enabled=precision == "bf16"):
            loss = F.cross_entropy(model(ids, places, mask, packed, first), torch.randint(0, 2, (len(texts),), device=device))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    for texts in batches[:5]:
        step(texts)
    wait()
    begin, tokens, done = time.monotonic(), 0, 0
    while time.monotonic() - begin < seconds:
        for texts in batches[done % 40 % len(batches):][:4]:
            step(texts)
            tokens += sum(texts)
            done += 1
        wait()
    return {"tokens_per_second": round(tokens / (time.monotonic() - begin)), "steps": done}


def torch_rows(shape, seconds):
    """All of PyTorch's rows, in one process, which loads it once."""
    device = os.environ.get("BRIM_BENCH_TORCH", "cuda")  # "cpu": to try the script
    for how, precision in TORCH:
        try:
            found = measure_torch(shape, how, precision, seconds, device)
        except Exception as problem:  # a row of its own
            found = {"failed": repr(problem)[:300]}
        print(json.dumps({"shape": shape, "how": how, "precision": precision, **found}), flush=True)


def run_torch(shape, seconds, limit):
    """What it prints goes on as it comes; rows that there was no time for are told."""
    errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - not a pipe, which would be full while nobody reads it
    process = subprocess.Popen([sys.executable, __file__, "--torch", shape, str(seconds)], stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True)
    timer = threading.Timer(limit, lambda: os.killpg(process.pid, signal.SIGKILL))
    timer.start()
    seen = 0
    for line in process.stdout:
        if line.startswith("{"):
            print(line, end="", flush=True)
            seen += 1
    process.wait()
    timer.cancel()
    errors.seek(0)
    error = errors.read()
    errors.close()
    for how, precision in TORCH[seen:]:
        print(json.dumps({"shape": shape, "how": how, "precision": precision, "failed": error[-300:] if process.returncode > 0 else "ran out of time"}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--brim", default=os.environ.get("BRIM", str(ROOT / "build" / "brim")))
    parser.add_argument("--shapes", default="bert-base,minilm,roberta-large")
    parser.add_argument("--limit", type=float, default=480)
    parser.add_argument("--torch", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.torch:
        torch_rows(given.torch[0], float(given.torch[1]))
        return 0
    missing = missing_gpu(given.brim)
    if missing:
        print(f"bench-cuda needs a GPU: {missing}", file=sys.stderr)
        return 1
    begin, shapes = time.monotonic(), given.shapes.split(",")
    with tempfile.TemporaryDirectory(prefix="brim-bench-") as folder:
        for number, shape in enumerate(shapes):
            share = (given.limit - (time.monotonic() - begin)) / (len(shapes) - number)
            end = time.monotonic() + share
            for precision in ("bf16", "fp32", "tf32"):
                found = measure_brim(given.brim, shape, precision, pathlib.Path(folder), max(share / 10, 3 if shape == "tiny" else 8))
                print(json.dumps({"shape": shape, "how": "brim", "precision": precision, **found}), flush=True)
            run_torch(shape, max(share / 50, 1), max(end - time.monotonic(), 5))
    return 0


if __name__ == "__main__":
    sys.exit(main())
