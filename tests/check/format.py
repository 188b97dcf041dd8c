#!/usr/bin/env python3
"""C files are as clang-format writes them, as TAP: format.py SOURCE_ROOT. Skipped where the pinned version is not installed."""

import pathlib
import subprocess
import sys

from points import end, point

tool = pathlib.Path(sys.argv[1]) / "tools" / "format"
done = subprocess.run([sys.executable, tool, "--check"], capture_output=True, text=True, check=False)
if done.returncode == 2 and "--install" in done.stderr:
    print("1..0 # SKIP clang-format: `tools/format --install` installs the version that formats")
    sys.exit(0)
point(done.returncode == 0, "every C file is formatted", done.stdout + done.stderr)
sys.exit(end())
