#!/usr/bin/env python3
"""The text of all kernels: embed.py LIST OUT.inc OUT.c OUT.h FILE...

OUT.inc is that text: how many threads a block of each kernel has (list.h), then the files in order. g++ compiles it for the emulation;
OUT.c has the same bytes for NVRTC, with their hash (FNV-1a, 64 bits), which OUT.h has for the emulation."""

import pathlib
import re
import sys


def main():
    listed, text_file, c_file, h_file, *files = map(pathlib.Path, sys.argv[1:])
    threads = re.findall(r"X\((\w+), \w+, (\d+)\)", listed.read_text(encoding="utf-8"))
    lines = ["enum {\n", *(f"  BRIM_THREADS_{name} = {count},\n" for name, count in threads), "};\n"]
    for path in files:
        lines += [f'#line 1 "{path.name}"\n', path.read_text(encoding="utf-8")]
    text = "".join(lines).encode("ascii")
    value = 0xCBF29CE484222325
    for byte in text:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    text_file.write_bytes(text)
    h_file.write_text(f"#define BRIM_KERNELS_HASH 0x{value:016x}\n", encoding="ascii")
    rows = [", ".join(map(str, text[i : i + 32])) for i in range(0, len(text), 32)]
    c_file.write_text(
        f'#include "ops/cuda/compile.h"\n\nconst uint64_t brim_cuda_text_hash = 0x{value:016x};\n'
        f"const size_t brim_cuda_text_size = {len(text)};\nconst char brim_cuda_text[] = {{\n" + ",\n".join(rows) + ", 0};\n",
        encoding="ascii",
    )


if __name__ == "__main__":
    main()
