#!/usr/bin/env python3
"""What other code asks of tasks, as TAP: tasks.py SOURCE_ROOT [--update]

A task is a file of src/target. All other code asks for a part of its shape, or calls one of its functions, and never asks which task it
is. tests/check/tasks.txt says how many lines of each folder still do, by kind of question: a folder may have fewer, never more, and a
folder that is not listed may have none. --update lowers the counts to what is there.

  name      a constant, or the word that options and files call a task by
  shape     what rows, labels and outputs are (brim_shape), by which others read, size and show them"""

import pathlib
import re
import sys

from points import end, holds, point

NOISE = re.compile(r'/\*.*?\*/|//[^\n]*|"""(?:.|\n)*?"""', re.DOTALL)
PYTHON_NOISE = re.compile(r'"""(?:.|\n)*?"""|(?<!["\w])#[^\n]*')
FOLDERS = ("src", "cli", "python/core", "python/brim")
# Where tasks are, and the table, which also says what data and models mean that name none.
OWN = {"src/target", "src/task"}


def tasks(root):
    """[(constant, name)] of brim/task.h."""
    text = (root / "include/brim/task.h").read_text(encoding="utf-8")
    return re.findall(r'X\((\w+), \w+, "([\w-]+)"\)', text)


def parts(root):
    """The members of brim_shape."""
    text = (root / "include/brim/task.h").read_text(encoding="utf-8")
    body = NOISE.sub("", text[text.index("typedef struct brim_shape {"):text.index("} brim_shape;")])
    return re.findall(r"\b\*?(\w+);", body)


def questions(root):
    """{(kind of question, folder): lines}."""
    known = tasks(root)
    words = "|".join(sorted({form for _, name in known for form in (name, name.replace("-", "_"))}))
    in_c = rf"\bBRIM_TASK_({'|'.join(constant for constant, _ in known)})\b"
    shape = rf"\bbrim_(task|model)_shape\s*\(|\bbrim_task_has_(classes|lists|values|tokens|outcomes)\b|\bshape\w*(->|\.)({'|'.join(parts(root))})\b"
    in_python = rf"\btask\b[^\n]*(==|!=|\bin\b|\bget\()[^\n]*[\"']({words})[\"']"
    found = {}
    for top in FOLDERS:
        for path in sorted((root / top).rglob("*")):
            folder = "/".join(path.relative_to(root).parts[:2]) if top != "cli" else "cli"
            if path.suffix not in (".c", ".h", ".py") or folder in OWN:
                continue
            text = (PYTHON_NOISE if path.suffix == ".py" else NOISE).sub(lambda noise: "\n" * noise[0].count("\n"), path.read_text(encoding="utf-8"))
            for line in text.split("\n"):
                for kind, asked in (("name", in_python if path.suffix == ".py" else in_c), ("shape", shape)):
                    if re.search(asked, line):
                        found[kind, folder] = found.get((kind, folder), 0) + 1
                        break
    return found


def allowed(path):
    counts = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            kind, folder, count = line.split()
            counts[kind, folder] = int(count)
    return counts


def main():
    root = pathlib.Path(sys.argv[1])
    path = root / "tests/check/tasks.txt"
    found, counts = questions(root), allowed(path)
    if "--update" in sys.argv:
        lower = {key: min(count, found[key]) for key, count in counts.items() if key in found}
        path.write_text("# Lines that ask what task it is (tasks.py); `python3 tests/check/tasks.py . --update` lowers the counts.\n"
                        + "".join(f"{kind} {folder} {lower[kind, folder]}\n" for kind, folder in sorted(lower)), encoding="utf-8")
        return 0
    point(len(tasks(root)) > 3 and len(parts(root)) > 3, "the list of tasks is read, and the parts of a shape")
    for kind in ("name", "shape"):
        holds([f"{folder}: {count} lines ask for the {kind} of a task, and tasks.txt allows {counts.get(key, 0)}"
               for key, count in sorted(found.items()) for folder in [key[1]] if key[0] == kind and count > counts.get(key, 0)],
              f"no folder asks more for the {kind} of a task than it did")
    return end()


if __name__ == "__main__":
    sys.exit(main())
