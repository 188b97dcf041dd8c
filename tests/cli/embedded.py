#!/usr/bin/env python3
"""Vectors of `brim embed` beside those of sentence-transformers: embedded.py FOLDER NAME LINES: the largest difference is below 1e-5."""

import json
import pathlib
import struct
import sys


def tensor(path, name):
    """Rows of a float32 tensor of a safetensors file."""
    data = path.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    entry = json.loads(data[8:8 + length])[name]
    begin, end = (8 + length + offset for offset in entry["data_offsets"])
    rows, columns = entry["shape"]
    numbers = struct.unpack(f"<{rows * columns}f", data[begin:end])
    return [numbers[row * columns:(row + 1) * columns] for row in range(rows)]


def main():
    folder, name, lines = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3]).read_text(encoding="utf-8").splitlines()
    expected, got = tensor(folder / "expected.safetensors", name), [json.loads(line)["embedding"] for line in lines]
    worst = max(abs(x - y) for a, b in zip(got, expected, strict=True) for x, y in zip(a, b, strict=True))
    print(f"{folder.name} {name}: {len(got)} vectors {'agree' if worst < 1e-5 else f'differ by {worst}'}")
    return 0 if worst < 1e-5 else 1


if __name__ == "__main__":
    sys.exit(main())
