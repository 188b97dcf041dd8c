#!/usr/bin/env python3
"""Each public header compiles by itself, as C and as C++, as TAP: headers.py SOURCE_ROOT. C++ is skipped where there is no g++ or clang++."""

import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(sys.argv[1])
C = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
CXX = shutil.which("g++") or shutil.which("clang++")
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]
count = failed = 0


def check(language, compiler, standard, name):
    global count, failed
    source = f'#include "brim/{name}"\n'
    done = subprocess.run([*compiler.split(), "-x", language, f"-std={standard}", *WARNINGS, f"-I{ROOT / 'include'}", "-"], input=source,
                          capture_output=True, text=True, check=False)
    count += 1
    failed += done.returncode != 0
    print(f"{'not ok' if done.returncode else 'ok'} {count} - brim/{name} by itself, {standard}")
    for line in done.stderr.splitlines()[:8]:
        print(f"# {line}")


for header in sorted((ROOT / "include" / "brim").glob("*.h")):
    check("c", C, "c11", header.name)
    if CXX:
        check("c++", CXX, "c++11", header.name)
if not CXX:
    count += 1
    print(f"ok {count} - public headers as C++ # SKIP no C++ compiler; `make deps` installs one")
print(f"1..{count}")
sys.exit(1 if failed else 0)
