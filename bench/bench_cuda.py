#!/usr/bin/env python3
"""Training on a GPU: brim next to PyTorch, where it is there: bench_cuda.py [--brim FILE] [--shapes minilm,...] [--limit SECONDS]

Random weights of three shapes, texts of a long-tailed distribution of lengths (mean about 80 tokens, at most 256), dropout 0.1, erf GELU, AdamW.
Tokens are real tokens: padding is no work done. PyTorch's rows are an encoder written with its own modules: padded to 256 (fixed), to the longest
of a random batch (dynamic), and of a batch of equal lengths (sorted), with SDPA, as they are and compiled; and without padding by hand (unpadded:
its flash attention on packed sequences). A line of JSON for each row, when it is known. It needs only a GPU and Python; where there is no GPU it
ends with a line that says what is missing."""

import argparse
import array
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "cli"))
import fixtures  # noqa: E402

#        layers, hidden, heads, inner, texts of a step
SHAPES = {"minilm": (6, 384, 12, 1536, 256), "bert-base": (12, 768, 12, 3072, 128), "roberta-large": (24, 1024, 16, 4096, 64)}
LONGEST, TEXTS = 256, 8192


def lengths(count):
    draw = random.Random(5)
    return [min(LONGEST, max(4, int(math.exp(draw.gauss(4.1, 0.75))))) for _ in range(count)]


def write_model(folder, layers, hidden, heads, inner):
    """fixtures' tokenizer, an encoder of this shape: the same thousand random numbers over and over."""
    fixtures.write_model(folder)
    config = json.loads((folder / "config.json").read_text())
    config |= {"num_hidden_layers": layers, "hidden_size": hidden, "num_attention_heads": heads, "intermediate_size": inner, "max_position_embeddings": LONGEST}
    (folder / "config.json").write_text(json.dumps(config))
    shapes = {"embeddings.word_embeddings.weight": [config["vocab_size"], hidden], "embeddings.position_embeddings.weight": [LONGEST, hidden],
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


def write_texts(path):
    """Words that are one token each; two tokens of a row are special."""
    words = [word for word in fixtures.WORDS if len(word) > 1]
    draw = random.Random(9)
    with open(path, "w", encoding="utf-8") as to:
        to.write("text,label\n")
        for length in lengths(TEXTS):
            to.write(" ".join(draw.choice(words) for _ in range(length - 2)) + f",{draw.randrange(2)}\n")


def missing_gpu(brim):
    """What brim lacks of a GPU, in a line; None: nothing."""
    done = subprocess.run([brim, "predict", "--model", os.devnull, "--device", "cuda", os.devnull], capture_output=True, text=True, check=False)
    return done.stderr.partition("--device cuda: ")[2].strip() or None


def measure_brim(brim, shape, precision, work, seconds):
    layers, hidden, heads, inner, batch = SHAPES[shape]
    model, texts = work / shape, work / "train.csv"
    write_model(model, layers, hidden, heads, inner)
    if not texts.exists():
        write_texts(texts)
    words = [brim, "train", "--model", model, "--train", texts, "--epochs", "1000", "-b", str(batch), "--device", "cuda", "--lr", "1e-5",
             *(["--tf32"] if precision == "tf32" else ["--precision", precision]), "--output", work / "run", "--overwrite", "--quiet", "--log-every", "1"]
    process = subprocess.Popen([str(word) for word in words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        error = process.communicate(timeout=seconds)[1]
        return {"failed": error[-300:]}
    except subprocess.TimeoutExpired:
        process.kill()  # what its log says is enough
        process.communicate()
    steps = [json.loads(line) for line in (work / "run" / "log.jsonl").read_text().splitlines() if '"event":"step"' in line and line.endswith("}")]
    steps = steps[len(steps) // 4:]  # without the warm-up
    if len(steps) < 3:
        return {"failed": "fewer than three steps"}
    spent = steps[-1]["seconds"] - steps[0]["seconds"]
    return {"tokens_per_second": round(sum(step["tokens"] for step in steps[1:]) / spent), "steps": len(steps)}


def measure_torch(shape, how, precision, seconds):
    import torch
    from torch import nn
    from torch.nn import functional as F
    layers, hidden, heads, inner, batch = SHAPES[shape]
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
                return torch.ops.aten._flash_attention_forward(q, k, v, packed, packed, LONGEST, LONGEST, 0.1, False, False)[0].reshape(x.shape)
            q, k, v = (t.transpose(1, 2) for t in (q, k, v))
            return F.scaled_dot_product_attention(q, k, v, mask, 0.1).transpose(1, 2).reshape(x.shape)

        def forward(self, x, mask, packed):
            x = self.first(x + self.drop(self.out(self.attend(x, mask, packed))))
            return self.second(x + self.drop(self.down(F.gelu(self.up(x)))))

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.places, self.norm = nn.Embedding(150, hidden), nn.Embedding(LONGEST, hidden), nn.LayerNorm(hidden)
            self.layers, self.head = nn.ModuleList(Layer() for _ in range(layers)), nn.Linear(hidden, 2)

        def forward(self, ids, places, mask, packed, first):
            x = F.dropout(self.norm(self.words(ids) + self.places(places)), 0.1)
            for layer in self.layers:
                x = layer(x, mask, packed)
            return self.head(x[first] if packed is not None else x[:, 0])

    how, _, compiled = how.partition("+")
    model = Encoder().cuda()
    if compiled:
        model = torch.compile(model, dynamic=how != "fixed")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    every = lengths(TEXTS)
    random.Random(2).shuffle(every)
    if how == "sorted":
        every.sort()
    batches = [every[i:i + batch] for i in range(0, TEXTS - batch + 1, batch)]
    random.Random(4).shuffle(batches)

    def step(texts):
        packed = first = mask = None
        if how == "unpadded":
            packed = torch.tensor([0, *texts], device="cuda").cumsum(0).to(torch.int32)
            first = packed[:-1].long()
            places = torch.cat([torch.arange(n) for n in texts]).cuda()
        else:
            width = LONGEST if how == "fixed" else max(texts)
            places = torch.arange(width, device="cuda").expand(len(texts), width)
            mask = (places < torch.tensor(texts, device="cuda")[:, None])[:, None, None, :]
        ids = torch.randint(0, 150, places.shape, device="cuda")
        with torch.autocast("cuda", torch.bfloat16, enabled=precision == "bf16"):
            loss = F.cross_entropy(model(ids, places, mask, packed, first), torch.randint(0, 2, (len(texts),), device="cuda"))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

    for texts in batches[:5]:
        step(texts)
    torch.cuda.synchronize()
    begin, tokens, count = time.monotonic(), 0, 0
    while time.monotonic() - begin < seconds:
        for texts in batches[count % 40:count % 40 + 4]:
            step(texts)
            tokens += sum(texts)
        torch.cuda.synchronize()
        count += 4
    return {"tokens_per_second": round(tokens / (time.monotonic() - begin)), "steps": count}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--brim", default=os.environ.get("BRIM", str(ROOT / "build" / "brim")))
    parser.add_argument("--shapes", default=",".join(SHAPES))
    parser.add_argument("--limit", type=float, default=440)
    parser.add_argument("--torch", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.torch:
        print(json.dumps(measure_torch(given.torch[0], given.torch[1], given.torch[2], float(given.torch[3]))))
        return 0
    rows = [(shape, how, precision) for shape in given.shapes.split(",")
            for how, precision in (("brim", "bf16"), ("unpadded", "bf16"), ("sorted", "bf16"), ("sorted+compile", "bf16"), ("fixed+compile", "bf16"), ("brim", "fp32"),
                                   ("sorted", "fp32"), ("brim", "tf32"), ("dynamic", "bf16"), ("fixed", "bf16"))]
    missing = missing_gpu(given.brim)
    if missing:
        print(f"bench-cuda needs a GPU: {missing}", file=sys.stderr)
        return 1
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="brim-bench-") as folder:
        for number, (shape, how, precision) in enumerate(rows):
            share = (given.limit - (time.monotonic() - begin)) / (len(rows) - number)
            if share < 8:
                break
            if how == "brim":
                found = measure_brim(given.brim, shape, precision, pathlib.Path(folder), share)
            else:
                try:
                    done = subprocess.run([sys.executable, __file__, "--torch", shape, how, precision, str(share / 3)], capture_output=True, text=True,
                                          timeout=share + 20)
                    found = json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else {"failed": done.stderr[-300:]}
                except subprocess.TimeoutExpired:
                    found = {"failed": "ran out of time"}
            print(json.dumps({"shape": shape, "how": how, "precision": precision, **found}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
