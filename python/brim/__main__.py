"""python -m brim: the program, which the package brings with it."""
import os
import pathlib
import shutil
import sys
import sysconfig


def program() -> str | None:
    """Beside this interpreter, or beside a package that lies elsewhere, or on the PATH."""
    places = [os.environ.get("BRIM"), os.path.join(sysconfig.get_path("scripts"), "brim"), os.path.join(os.path.dirname(sys.executable), "brim"),
              str(pathlib.Path(__file__).resolve().parent.parent / "bin" / "brim"),
              os.path.join(sysconfig.get_path("scripts", f"{os.name}_user"), "brim"), shutil.which("brim")]
    return next((place for place in places if place and os.access(place, os.X_OK) and os.path.isfile(place)), None)


def main() -> None:
    found = program()
    if not found:
        sys.exit("brim: the program is not installed beside this package: pip install --force-reinstall brim")
    os.execv(found, [found, *sys.argv[1:]])


if __name__ == "__main__":
    main()
