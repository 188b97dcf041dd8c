#!/usr/bin/env python3
"""Each public header compiles by itself, as C and as C++, as TAP: headers.py SOURCE_ROOT. C++ is skipped where there is no g++ or clang++."""

import os
import pathlib
import shutil
import subprocess
import sys

from points import end, point

ROOT = pathlib.Path(sys.argv[1])
C = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
CXX = shutil.which("g++") or shutil.which("clang++")
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]


def check(language, compiler, standard, name):
    source = f'#include "brim/{name}"\n'
    done = subprocess.run([*compiler.split(), "-x", language, f"-std={standard}", *WARNINGS, f"-I{ROOT / 'include'}", "-"], input=source,
                          capture_output=True, text=True, check=False)
    point(done.returncode == 0, f"brim/{name} by itself, {standard}", *done.stderr.splitlines()[:8])


for header in sorted((ROOT / "include" / "brim").glob("*.h")):
    check("c", C, "c11", header.name)
    if CXX:
        check("c++", CXX, "c++11", header.name)
if not CXX:
    point(True, "public headers as C++", reason="no C++ compiler; `make deps` installs one")
sys.exit(end())
