#!/usr/bin/env python3
"""What a token costs in long texts: layers with a window, and attention with terms by distance. Python's standard library only.

  windows    a ModernBERT all of whose layers have a window of 64 tokens to each side, trained on the same number of tokens in texts of
             1,024 to 8,192: milliseconds and planned bytes a token, and both beside those of the shortest texts (aim: at most 1.10)
  distances  a DeBERTa-v3, the same number of tokens in texts of 128 to 2,048: what a batch is planned to take, and what one layer's
             [heads, length, length] of the batch would take, which is no part of it: from the shortest texts to the longest the plan
             grows by less than that (aim)

Random weights. The lengths take turns; time is the median of the rounds' ratios to the shortest. Whole steps are timed: embeddings,
all layers, the head, AdamW. Times are the processor's, which other work on the machine disturbs less: those of a run of several steps,
less those of a run of one."""

import argparse
import array
import json
import pathlib
import random
import resource
import struct
import tempfile

from common import ROOT, brim_json, machine, median, print_table, write_json

TOKENIZER = ROOT / "tests" / "golden" / "tokenizers" / "byte-bpe" / "tokenizer.json"
WORDS = 3000  # of the tokenizer
MOST_MORE = 1.10


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=2, help="of training, a round and length, after the first")
    parser.add_argument("--parts", default="windows,distances")
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


def write_model(folder, config, shapes):
    folder.mkdir()
    draw, header, body = random.Random(5), {}, []
    block = array.array("f", (draw.uniform(-0.05, 0.05) for _ in range(1 << 14)))
    at = 0
    for name, shape in shapes.items():
        count = 1
        for size in shape:
            count *= size
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + 4 * count]}
        body.append((block * (count // len(block) + 1))[:count].tobytes())
        at += 4 * count
    head = json.dumps(header).encode()
    with open(folder / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(head)) + head)
        file.writelines(body)
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "tokenizer.json").write_bytes(TOKENIZER.read_bytes())
    return folder


def windowed(folder, layers, hidden, heads, inner):
    config = {"model_type": "modernbert", "vocab_size": WORDS, "hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads,
              "intermediate_size": inner, "max_position_embeddings": 8192, "pad_token_id": 0, "local_attention": 128,
              "layer_types": ["sliding_attention"] * layers}
    shapes = {"model.embeddings.tok_embeddings.weight": [WORDS, hidden], "model.embeddings.norm.weight": [hidden]}
    for layer in range(layers):
        at = f"model.layers.{layer}."
        shapes |= {at + "attn.Wqkv.weight": [3 * hidden, hidden], at + "attn.Wo.weight": [hidden, hidden], at + "mlp_norm.weight": [hidden],
                   at + "mlp.Wi.weight": [2 * inner, hidden], at + "mlp.Wo.weight": [hidden, inner]}
        shapes |= {at + "attn_norm.weight": [hidden]} if layer else {}
    return write_model(folder, config, shapes | {"model.final_norm.weight": [hidden]})


def distant(folder, layers, hidden, heads, inner):
    config = {"model_type": "deberta-v2", "vocab_size": WORDS, "hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads,
              "intermediate_size": inner, "max_position_embeddings": 2048, "relative_attention": True, "position_buckets": 256,
              "norm_rel_ebd": "layer_norm", "share_att_key": True, "pos_att_type": ["p2c", "c2p"], "position_biased_input": False,
              "type_vocab_size": 0, "max_relative_positions": -1}
    shapes = {"deberta.embeddings.word_embeddings.weight": [WORDS, hidden], "deberta.encoder.rel_embeddings.weight": [512, hidden]}
    pairs = {"deberta.embeddings.LayerNorm": [hidden], "deberta.encoder.LayerNorm": [hidden]}
    for layer in range(layers):
        at = f"deberta.encoder.layer.{layer}."
        pairs |= {at + "attention.self." + part + "_proj": [hidden, hidden] for part in ("query", "key", "value")}
        pairs |= {at + "attention.output.dense": [hidden, hidden], at + "attention.output.LayerNorm": [hidden],
                  at + "intermediate.dense": [inner, hidden], at + "output.dense": [hidden, inner], at + "output.LayerNorm": [hidden]}
    for name, shape in pairs.items():
        shapes |= {name + ".weight": shape, name + ".bias": shape[:1]}
    return write_model(folder, config, shapes)


def write_texts(path, count=64, words=9000):
    """Texts that are cut at the length of a measurement."""
    draw = random.Random(3)
    with open(path, "w", encoding="utf-8") as file:
        for number in range(count):
            text = " ".join(draw.choice("the film is a good bad long story of love and war".split()) for _ in range(words))
            file.write(json.dumps({"text": text, "label": number % 2}) + "\n")
    return path


def memory(folder, texts, length):
    return brim_json("inspect", "model", model=folder, batch_size=texts, max_length=length)["memory"]["batch"]


def processor_seconds(steps, **options):
    """Of this many steps after the first: loading and warming up are in both runs."""
    def spent(count):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        brim_json("compare", modes="brim", max_steps=count, **options)
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before

    return spent(1 + steps) - spent(1)


def run_windows(folder, data, options):
    model, tokens = windowed(folder / "windows", 2, 768, 12, 1152), 8192
    lengths, times = (1024, 2048, 4096, 8192), {}
    for number in range(options.rounds):
        for length in lengths:
            seconds = processor_seconds(options.steps, model=model, train=data, seed=number, max_length=length,
                                        batch_size=tokens // length, threads=options.threads)
            times.setdefault(length, []).append(1e3 * seconds / (options.steps * tokens))
    rows, result = [], {}
    for length in lengths:
        ratios = [own / first for own, first in zip(times[length], times[lengths[0]])]
        bytes_each = memory(model, tokens // length, length) / tokens
        result[length] = {"time": ratios, "bytes": bytes_each, "more": bytes_each / (memory(model, tokens // lengths[0], lengths[0]) / tokens)}
        rows.append([f"{tokens // length} of {length:,}", f"{median(times[length]):.3f}",
                     f"{median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})", f"{bytes_each:,.0f}", f"{result[length]['more']:.3f}"])
    print("\nlayers with a window of 64: 2 layers, 768 wide, 12 heads, 8,192 tokens a step")
    print_table(["texts", "ms a token", f"of {lengths[0]:,}'s", "bytes a token", f"of {lengths[0]:,}'s"], rows)
    worst = max(max(median(r["time"]), r["more"]) for r in result.values())
    print(f"worst {worst:.3f}: {'ok' if worst <= MOST_MORE else 'MISSED'} (<= {MOST_MORE})")
    return result


def run_distances(folder):
    layers, heads, tokens = 6, 12, 8192
    model, rows, result = distant(folder / "distances", layers, 768, heads, 3072), [], {}
    for length in (128, 512, 1024, 2048):
        texts = tokens // length
        planned, pairs = memory(model, texts, length), 4 * texts * heads * length * length
        result[length] = {"planned": planned, "pairs": pairs}
        rows.append([f"{texts} of {length:,}", f"{planned / 1e6:,.1f}", f"{pairs / 1e6:,.1f}", f"{2 * layers * pairs / 1e6:,.1f}"])
    print(f"\nDeBERTa-v3: {layers} layers, 768 wide, {heads} heads, {tokens:,} tokens a step, MB")
    print_table(["texts", "planned for the batch", "[heads, length, length], once", "scores and probabilities of all layers"], rows)
    least, most = min(r["planned"] for r in result.values()), max(r["planned"] for r in result.values())
    print(f"planned bytes differ by {(most - least) / 1e6:.1f} MB: {'ok' if most - least < result[2048]['pairs'] else 'MISSED'} "
          f"(< {result[2048]['pairs'] / 1e6:.0f})")
    return result


def main():
    options = arguments()
    print(machine())
    with tempfile.TemporaryDirectory(prefix="brim-bench-") as name:
        folder, results = pathlib.Path(name), {}
        if "windows" in options.parts.split(","):
            results["windows"] = run_windows(folder, write_texts(folder / "texts.jsonl"), options)
        if "distances" in options.parts.split(","):
            results["distances"] = run_distances(folder)
    write_json("bench-lengths.json", {"machine": machine(), **results})


if __name__ == "__main__":
    main()
