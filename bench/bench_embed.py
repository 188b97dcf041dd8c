#!/usr/bin/env python3
"""Vectors of texts: brim next to sentence-transformers, ONNX Runtime, OpenVINO, CTranslate2, fastembed and llama.cpp, on one processor.

All have the same weights (MiniLM of the quick start), threads and texts: short ones of 8 to 32 tokens and long ones of 200 to 400. In bulk
they get batches of 32, sorted by length, as their users do it; brim sorts by itself. One by one, each text is waited for. Every engine is
another process, which does each measurement once without looking, and then in rounds: the tables have medians of rounds, and p50 and p99
of single texts. `cosine` is the mean cosine to sentence-transformers' fp32 vectors. With --pairs, Spearman's correlation with the scores of
sentence pairs. What is not installed, or needs a file that was not given (llama.cpp: --gguf), is said and left out."""

import argparse
import csv
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

from common import DATA, ROOT, fetch_data, machine, print_table, write_json

WORK = ROOT / "build" / "embed"
LENGTHS = {"short": ("train.csv", 8, 32), "long": ("imdb.csv", 200, 400)}  # a file of the quick start, tokens from and to
BATCH, LIMIT = 32, 512


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--texts", type=int, default=2000, help="short texts in bulk, and a fifth as many long ones")
    parser.add_argument("--single", type=int, default=200, help="texts that are waited for one by one")
    parser.add_argument("--pairs", type=pathlib.Path, help="a csv file with sentence1, sentence2 and score, such as STS-B's test set")
    parser.add_argument("--gguf", type=pathlib.Path, help="the weights as llama.cpp's convert_hf_to_gguf.py --outtype q8_0 writes them")
    parser.add_argument("--engine", help=argparse.SUPPRESS)
    return parser.parse_args()


# ---- engines: each gives a function from texts to vectors [texts, 384], of length 1 ---------------------------------------------------


def brim(folder, given, precision="fp32"):
    import brim as package
    package.set_threads(given.threads)
    model = package.Model(folder)
    return lambda texts: model.embed(texts, precision=precision, max_length=LIMIT)


def sentence_transformers(folder, given):
    import torch
    from sentence_transformers import SentenceTransformer
    torch.set_num_threads(given.threads)
    model = SentenceTransformer(str(folder), device="cpu")
    model.max_seq_length = LIMIT
    return lambda texts: model.encode(texts, batch_size=BATCH, show_progress_bar=False)


def _batches(texts, encode):
    """Batches of sorted texts, and the vectors in the order of the texts."""
    import numpy as np
    order = sorted(range(len(texts)), key=lambda i: -len(texts[i]))
    out = [None] * len(texts)
    for first in range(0, len(order), BATCH):
        at = order[first:first + BATCH]
        for i, vector in zip(at, encode([texts[i] for i in at])):
            out[i] = vector
    return np.array(out)


def _pooled(hidden, mask):
    import numpy as np
    mask = np.asarray(mask, np.float32)[:, :, None]
    mean = (np.asarray(hidden) * mask).sum(axis=1) / mask.sum(axis=1)
    return mean / np.linalg.norm(mean, axis=1, keepdims=True)


def _tokenizer(folder, pad=True):
    import tokenizers
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(LIMIT)
    tokenizer.enable_padding() if pad else tokenizer.no_padding()
    return tokenizer


def _inputs(tokenizer, texts):
    import numpy as np
    rows = tokenizer.encode_batch(texts)
    return {name: np.array([getattr(row, of) for row in rows], np.int64)
            for name, of in (("input_ids", "ids"), ("attention_mask", "attention_mask"), ("token_type_ids", "type_ids"))}


def exported(folder):
    """The encoder as ONNX, made once."""
    path = WORK / "onnx" / "model.onnx"
    if path.exists():
        return path
    import torch
    import transformers
    path.parent.mkdir(parents=True, exist_ok=True)
    model = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    names = ["input_ids", "attention_mask", "token_type_ids"]

    class Encoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, input_ids, attention_mask, token_type_ids):
            return self.model(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids).last_hidden_state

    example = tuple(torch.ones(2, 7, dtype=torch.long) for _ in names)
    axes = {0: torch.export.Dim("rows"), 1: torch.export.Dim("tokens", max=LIMIT)}
    torch.onnx.export(Encoder(), example, str(path), input_names=names, output_names=["last_hidden_state"], dynamo=True,
                      dynamic_shapes=(axes,) * 3, external_data=False)
    for file in folder.iterdir():
        if file.suffix in (".json", ".txt"):
            (path.parent / file.name).write_bytes(file.read_bytes())
    return path


def onnxruntime(folder, given, int8=False):
    import onnxruntime as ort
    path = exported(folder)
    if int8:
        from onnxruntime.quantization import quantize_dynamic
        whole, path = path, path.with_name("model_int8.onnx")
        if not path.exists():
            quantize_dynamic(whole, path, per_channel=True)
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = given.threads, 1
    session, tokenizer = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]), _tokenizer(folder)

    def encode(texts):
        inputs = _inputs(tokenizer, texts)
        return _pooled(session.run(None, inputs)[0], inputs["attention_mask"])

    return lambda texts: _batches(texts, encode)


def openvino(folder, given, int8=False):
    import openvino as ov
    model, tokenizer = ov.Core().read_model(exported(folder)), _tokenizer(folder)
    if int8:
        import nncf
        calibration = nncf.Dataset([_inputs(tokenizer, pick("short", 300, 0)[i:i + 4]) for i in range(0, 300, 4)])
        model = nncf.quantize(model, calibration, model_type=nncf.ModelType.TRANSFORMER)
    how = {"INFERENCE_NUM_THREADS": given.threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
    compiled = ov.Core().compile_model(model, "CPU", how)

    def encode(texts):
        inputs = _inputs(tokenizer, texts)
        return _pooled(compiled(inputs)[0], inputs["attention_mask"])

    return lambda texts: _batches(texts, encode)


def ctranslate2(folder, given, int8=False):
    import ctranslate2 as ct2
    import numpy as np
    path = WORK / f"ctranslate2-{'int8' if int8 else 'float32'}"
    if not path.exists():
        ct2.converters.TransformersConverter(str(folder)).convert(str(path), quantization="int8" if int8 else None)
    encoder = ct2.Encoder(str(path), device="cpu", inter_threads=1, intra_threads=given.threads, compute_type="int8" if int8 else "float32")
    tokenizer = _tokenizer(folder, pad=False)

    def encode(texts):
        rows = [row.ids for row in tokenizer.encode_batch(texts)]
        hidden = np.array(encoder.forward_batch(rows).last_hidden_state)
        return _pooled(hidden, [[1] * len(row) + [0] * (hidden.shape[1] - len(row)) for row in rows])

    return lambda texts: _batches(texts, encode)


def fastembed(folder, given):
    import numpy as np
    from fastembed import TextEmbedding
    model = TextEmbedding("sentence-transformers/all-MiniLM-L6-v2", threads=given.threads, specific_model_path=str(exported(folder).parent))
    return lambda texts: _batches(texts, lambda some: np.array(list(model.embed(some, batch_size=BATCH))))


def llama(folder, given):
    if not given.gguf:
        raise LookupError("give --gguf FILE")
    import numpy as np
    from llama_cpp import Llama
    model = Llama(str(given.gguf), embedding=True, n_threads=given.threads, n_threads_batch=given.threads, n_ctx=LIMIT * BATCH, n_batch=LIMIT * BATCH,
                  n_ubatch=LIMIT * BATCH, n_seq_max=BATCH, verbose=False)

    def encode(texts):
        vectors = np.array(model.embed(texts, normalize=True))
        return vectors

    return lambda texts: _batches(texts, encode)


ENGINES = {"brim fp32": brim, "brim int8": lambda f, g: brim(f, g, "int8"), "brim bf16": lambda f, g: brim(f, g, "bf16"),
           "sentence-transformers": sentence_transformers, "onnxruntime fp32": onnxruntime, "onnxruntime int8": lambda f, g: onnxruntime(f, g, True),
           "openvino fp32": openvino, "openvino int8": lambda f, g: openvino(f, g, True), "ctranslate2 fp32": ctranslate2,
           "ctranslate2 int8": lambda f, g: ctranslate2(f, g, True), "fastembed": fastembed, "llama.cpp q8_0": llama}


# ---- texts ----------------------------------------------------------------------------------------------------------------------------


def pick(length, count, skip):
    """`count` texts of so many tokens, after `skip` others; some come twice where there are too few."""
    kept = WORK / f"{length}.json"
    if not kept.exists():
        name, low, high = LENGTHS[length]
        tokenizer = _tokenizer(fetch_data(), pad=False)
        tokenizer.no_truncation()
        csv.field_size_limit(1 << 30)
        with open(DATA / name, encoding="utf-8", newline="") as file:
            texts = [row["text"] for row in csv.DictReader(file)][:20000]
        if length == "long":  # passages of reviews
            texts = [" ".join(words[i:i + 230]) for words in map(str.split, texts) for i in range(0, max(1, len(words) - 100), 230)]
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps([text for text, row in zip(texts, tokenizer.encode_batch(texts)) if low <= len(row.ids) <= high]))
    texts = json.loads(kept.read_text())
    return [texts[(skip + i) % len(texts)] for i in range(count)]


def count_of(length, given):
    return given.texts if length == "short" else max(1, given.texts // 5)


# ---- one engine, in its own process ----------------------------------------------------------------------------------------------


def spearman(encode, path):
    import numpy as np
    from scipy.stats import spearmanr
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    a, b = (encode([row[name] for row in rows]) for name in ("sentence1", "sentence2"))
    cosine = (np.asarray(a) * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    return float(spearmanr(cosine, [float(row["score"]) for row in rows]).statistic)


def timed(encode, texts):
    begin = time.perf_counter()
    encode(texts)
    return time.perf_counter() - begin


def measure(given):
    import numpy as np
    encode = ENGINES[given.engine](fetch_data(), given)
    result = {}
    for length in LENGTHS:
        texts, single = pick(length, count_of(length, given), 0), pick(length, given.single, 1000)
        np.save(WORK / f"{given.engine.replace(' ', '-')}-{length}.npy", encode(texts))  # and it is warm then
        bulk = [timed(encode, texts) for _ in range(given.rounds)]
        encode(single[:1])
        waits = sorted(timed(encode, [text]) for _ in range(given.rounds) for text in single)
        result[length] = {"bulk": len(texts) / statistics.median(bulk), "p50": waits[len(waits) // 2], "p99": waits[len(waits) * 99 // 100]}
    if given.pairs:
        result["spearman"] = spearman(encode, given.pairs)
    return result


# ---- all of them ----------------------------------------------------------------------------------------------------------------------


def run(engine, given):
    """The result of an engine, or why there is none."""
    command = [sys.executable, __file__, "--engine", engine, "--threads", given.threads, "--rounds", given.rounds, "--texts", given.texts, "--single", given.single]
    command += [word for name in ("pairs", "gguf") if getattr(given, name) for word in (f"--{name}", getattr(given, name))]
    env = {**os.environ, "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": str(given.threads)}
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=env, check=False)
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        return (done.stderr.strip().splitlines() or ["it ended without a word"])[-1][:160]
    return json.loads(lines[-1])


def cosine(engine, length):
    """Mean cosine to the vectors of sentence-transformers."""
    import numpy as np
    files = [WORK / f"{name.replace(' ', '-')}-{length}.npy" for name in (engine, "sentence-transformers")]
    if not all(file.exists() for file in files):
        return None
    a, b = (np.load(file).astype(float) for file in files)
    return float(((a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)).mean()) if a.shape == b.shape else None


def shown(value, form):
    return "-" if value is None else format(value, form)


def main():
    given = arguments()
    WORK.mkdir(parents=True, exist_ok=True)
    if given.engine:
        print(json.dumps(measure(given)))
        return
    print(f"{machine()}; {given.threads} threads\n")
    results = {}
    for engine in given.engines.split(","):
        found = run(engine, given)
        if isinstance(found, str):
            print(f"{engine}: left out: {found}")
        else:
            results[engine] = found
    for length in LENGTHS:
        print(f"\n{length}: {LENGTHS[length][1]} to {LENGTHS[length][2]} tokens\n")
        rows = [(engine, f"{r[length]['bulk']:,.1f}", f"{1e3 * r[length]['p50']:.2f}", f"{1e3 * r[length]['p99']:.2f}", shown(cosine(engine, length), ".5f"),
                 shown(r.get("spearman"), ".4f")) for engine, r in results.items()]
        print_table(["engine", "texts/s in bulk", "p50 ms", "p99 ms", "cosine", "spearman"], rows)
    write_json("bench-embed.json", results)


if __name__ == "__main__":
    main()
