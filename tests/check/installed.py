#!/usr/bin/env python3
"""What `make install` installs, as TAP: installed.py SOURCE_ROOT BUILD MESON

Installs into an empty folder and builds a program there with what pkg-config says, against the shared library and against the static
one; `ninja uninstall` takes everything away again."""

import os
import pathlib
import subprocess
import sys
import tempfile

from points import end, point

ROOT, BUILD, MESON = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
PROGRAM = """#include <brim/brim.h>
#include <stdio.h>
int main(void) {
  brim_runtime *runtime;
  if (brim_runtime_new(NULL, &runtime, NULL) != BRIM_OK)
    return 1;
  printf("%s\\n", brim_version());
  brim_runtime_free(runtime);
  return 0;
}
"""


def run(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, check=False, **more)


def build_and_run(folder, environment, name, *flags):
    """Compiles PROGRAM with pkg-config's flags, runs it, and expects the version."""
    asked = run("pkg-config", "--cflags", "--libs", *flags, "brim", env=environment)
    source, program = folder / "program.c", folder / name
    source.write_text(PROGRAM)
    words = asked.stdout.split()
    if flags:  # of the two libraries the static one
        words = [f"-l:lib{w[2:]}.a" if w == "-lbrim" else w for w in words]
    built = run(os.environ.get("CC", "cc"), "-Wall", "-Werror", source, *words, "-o", program)
    done = run(program, env=environment) if built.returncode == 0 else built
    version = run("pkg-config", "--modversion", "brim", env=environment).stdout.strip()
    point(asked.returncode == 0 and done.returncode == 0 and done.stdout.strip() == version != "", f"a program with the {name} library",
          asked.stderr + built.stderr + done.stdout)


def main():
    log = BUILD / "meson-logs" / "install-log.txt"
    before = log.read_bytes() if log.exists() else None
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        try:
            done = run(MESON, "install", "-C", BUILD, "--no-rebuild", "--destdir", folder)
            point(done.returncode == 0, "meson install", done.stdout + done.stderr)
            pages = sorted(folder.rglob("brim.pc"))
            libraries = pages[0].parent.parent if pages else folder
            environment = dict(os.environ, PKG_CONFIG_LIBDIR=f"{libraries / 'pkgconfig'}", PKG_CONFIG_SYSROOT_DIR=str(folder),
                               LD_LIBRARY_PATH=str(libraries))
            # What brim itself needs is the system's.
            system = run("pkg-config", "--variable=pc_path", "pkg-config").stdout.strip()
            environment["PKG_CONFIG_LIBDIR"] += ":" + system
            build_and_run(folder, environment, "shared")
            build_and_run(folder, environment, "static", "--static")
            for name in ("program.c", "shared", "static"):
                (folder / name).unlink(missing_ok=True)
            headers = {p.name for p in (ROOT / "include" / "brim").glob("*.h")}
            point(headers == {p.name for p in folder.rglob("include/brim/*.h")}, "every public header is installed, and nothing else")
            gone = run("ninja", "-C", BUILD, "uninstall")
            left = [str(p.relative_to(folder)) for p in folder.rglob("*") if not p.is_dir()]
            point(gone.returncode == 0 and not left, "uninstall leaves no file", gone.stderr + "\n".join(left))
        finally:
            if before is None:
                log.unlink(missing_ok=True)
            else:
                log.write_bytes(before)
    return end()


if __name__ == "__main__":
    sys.exit(main())
