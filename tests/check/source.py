#!/usr/bin/env python3
"""Rules about the source, as TAP: source.py SOURCE_ROOT LIBRARY [--update]

Folders include only what stands left of them, and files one another in no circle; the command line uses public headers only; the
library exports brim_* names alone, neither prints nor exits, and calls malloc only where the default allocator is; files stay
readable in size. exports.txt lists what the library exports, so that a change of its interface is seen; --update writes it."""

import pathlib
import re
import subprocess
import sys

from points import end, holds

MAY_INCLUDE = {
    "base": set(),
    "task": {"base"},
    "target": {"base", "task"},
    "text": {"base"},
    "data": {"base", "task", "text"},
    "batch": {"base", "task", "text", "data"},
    "feed": {"base", "task", "text", "data", "batch"},
    "ops": {"base", "task"},
    "model": {"base", "task", "text", "data", "batch", "ops"},
    "dist": {"base"},
    "reduce": {"base", "task", "text", "data", "batch", "ops", "model", "dist"},
    "train": {"base", "task", "text", "data", "batch", "feed", "ops", "model", "target", "dist", "reduce"},
    "study": {"base", "task", "text", "data", "batch", "feed", "ops", "model", "target", "dist", "reduce", "train"},
    "report": {"base"},
    "views": {"base", "task", "text", "data", "batch", "feed", "ops", "model", "target", "dist", "reduce", "train", "study", "report"},
}
# Rooms of a folder, and which of its rooms each may use; "" is what lies in the folder itself. In src/model that is the program, its
# kinds, families and passes; in src/train the loop, which writes a run's folder and asks what a model answers.
ROOMS = {
    "model": {"": set(), "run": {""}, "files": {"", "run"}},
    "train": {"folder": set(), "answers": {"folder"}, "": {"folder", "answers"}, "inspect": {"", "folder", "answers"}},
}
# The public header of a folder is the folder's own; device.h is ops's, profile.h base's.
PUBLIC = {"brim/device.h": "ops", "brim/profile.h": "base", "brim/brim.h": None}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
CODE_NOISE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.DOTALL)
BANNED = re.compile(r"\b(printf|puts|putchar|perror|exit|abort|rand|srand|setlocale|strtok|malloc|calloc|realloc|free|strdup)\s*\(")
ALLOCATORS = {"malloc", "calloc", "realloc", "free", "strdup"}
DEVICE = re.compile(r"\b(cblas_\w+|openblas_\w+|cublas\w+|cudnn\w+|cuda[A-Z]\w+|nccl[A-Z]\w+)")
# A function that says why it failed, and one that frees.
ANSWERS = re.compile(r"\bBRIM_API\s+int\s+(brim_\w+)\s*\([^;]*,\s*brim_error \*err\b")
FREES = re.compile(r"\bBRIM_API\s+\w+\s+(brim_\w+_(?:free|close))\s*\(")
DECLARED = re.compile(r"\bBRIM_API\b[^;{]*?\b(brim_\w+)\s*\(")
MOST_LINES = 650
MOST_GOLDEN = 20_000_000
GENERATED = {"unicode_tables.c"}


def files(folder, *suffixes):
    return sorted(path for path in folder.rglob("*") if path.suffix in suffixes)


def owner(name):
    """The folder that an include belongs to, None for one's own."""
    if name in PUBLIC:
        return PUBLIC[name]
    first, _, rest = name.partition("/")
    if first == "brim":
        return rest.removesuffix(".h")
    return first if rest else None


def check_includes(root):
    for folder, allowed in MAY_INCLUDE.items():
        problems = []
        for path in files(root / "src" / folder, ".c", ".h"):
            for name in INCLUDE.findall(path.read_text(encoding="utf-8")):
                to = owner(name)
                if to in MAY_INCLUDE and to != folder and to not in allowed:
                    problems.append(f"{path.relative_to(root)} includes {name}")
                if name == "brim/brim.h":
                    problems.append(f"{path.relative_to(root)} includes brim/brim.h, which is for users")
        holds(problems, f"src/{folder} includes only what it may")


def check_rooms(root):
    for folder, rooms in ROOMS.items():
        problems = []

        def room_of(parts, rooms=rooms):
            return parts[1] if parts[1] in rooms else ""

        for path in files(root / "src" / folder, ".c", ".h"):
            own = room_of(path.relative_to(root / "src").parts)
            for include in INCLUDE.findall(path.read_text(encoding="utf-8")):
                to = include.split("/")
                if to[0] == folder and len(to) > 1 and room_of(to) not in rooms[own] | {own}:
                    problems.append(f"{path.relative_to(root)} includes {include}")
        holds(problems, f"the rooms of src/{folder} include only what they may")


def includes_of_units(root):
    """What each unit includes: a unit is a path without its suffix, so that x.c and x.h are one."""
    graph = {}
    for path in [path for folder in ("src", "cli") for path in files(root / folder, ".c", ".h")]:
        unit = path.relative_to(root).with_suffix("")
        for name in INCLUDE.findall(path.read_text(encoding="utf-8")):
            for to in (root / "src" / name, path.parent / name):
                if to.exists() and to.with_suffix("") != path.with_suffix(""):
                    graph.setdefault(unit, set()).add(to.relative_to(root).with_suffix(""))
                    break
    return graph


def check_circles(root):
    """What units need of one another has an order, from the ground up: each can be read after those that it includes."""
    graph, done, problems = includes_of_units(root), set(), []

    def visit(unit, way):
        if unit in way:
            problems.append(" -> ".join(step.as_posix() for step in [*way[way.index(unit):], unit]))
        elif unit not in done:
            for to in sorted(graph.get(unit, ())):
                visit(to, [*way, unit])
            done.add(unit)

    for unit in sorted(graph):
        visit(unit, [])
    holds(problems if graph else ["no includes were found"], "files include one another in no circle")


def check_public_only(root, folder):
    problems = []
    for path in files(root / folder, ".c", ".h"):
        for name in INCLUDE.findall(path.read_text(encoding="utf-8")):
            if not name.startswith("brim/") and not (path.parent / name).exists():
                problems.append(f"{path.relative_to(root)} includes {name}")
    holds(problems, f"{folder} includes public headers only")


def check_calls(root):
    problems = []
    for path in files(root / "src", ".c", ".h"):
        text = CODE_NOISE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), path.read_text(encoding="utf-8"))
        for match in BANNED.finditer(text):
            if match[1] in ALLOCATORS and path.name == "runtime_new.c":
                continue
            line = text.count("\n", 0, match.start()) + 1
            problems.append(f"{path.relative_to(root)}:{line}: {match[1]}")
    holds(problems, "the library does not print, exit, draw or allocate behind the runtime's back")


def check_devices(root):
    """BLAS and CUDA are named below ops.h only, NCCL in src/dist only."""
    problems = []
    for path in files(root / "src", ".c", ".h") + files(root / "cli", ".c", ".h"):
        parts = path.relative_to(root).parts
        text = CODE_NOISE.sub(" ", path.read_text(encoding="utf-8"))
        for match in DEVICE.finditer(text):
            if parts[:2] == ("src", "ops") and len(parts) > 3 or parts[:2] == ("src", "dist") and match[1].startswith("nccl"):
                continue
            problems.append(f"{path.relative_to(root)} names {match[1]}")
    holds(problems, "only src/ops/*/ names BLAS or CUDA, only src/dist NCCL")


# Who may call which of the device's operations: all else is a call that a kind wrote into a schedule.
OPTIMIZER = {"gradient_square", "update", "catch_up", "mark_alive", "zero"}
CALLERS = {"logits.c": {"zero"}, "mixout.c": {"mixout_forward", "mixout_backward"}, "update.c": OPTIMIZER, "int8.c": {"int8_pack"}, "half_weights.c": {"narrow"}, "extents.c": OPTIMIZER | {"narrow"}}


def check_program(root):
    """In src/model only a schedule's run calls operations, only kinds write calls, and a family is named in its own file alone."""
    listed = set(re.findall(r"X\((\w+),", CODE_NOISE.sub(" ", (root / "src/ops/list.h").read_text(encoding="utf-8"))))
    families = {name: path.name for path in files(root / "src/model/families", ".c")
                for name in re.findall(r'\.type = "([\w-]+)"', path.read_text(encoding="utf-8"))}
    calls, kinds, names = [], [], []
    for path in files(root / "src/model", ".c", ".h"):
        place = path.relative_to(root)
        source = path.read_text(encoding="utf-8")
        text = CODE_NOISE.sub(" ", source)
        for name in re.findall(r"\bops->(\w+)\(", text):
            if name in listed and name not in CALLERS.get(path.name, set()):
                calls.append(f"{place} calls {name}")
        if re.search(r"\bBRIM_CALL\(", text) and path.parent.name != "kinds" and path.name not in ("lowering.c", "gradients.c", "calls.h"):
            kinds.append(f"{place} writes calls")
        names += [f"{place} names {name}" for name in sorted(families) if f'"{name}"' in source and path.name != families[name]]
    for path in files(root / "src", ".c", ".h") + files(root / "cli", ".c", ".h"):
        place = path.relative_to(root)
        if place.parts[:2] not in (("src", "model"), ("src", "ops")):
            called = set(re.findall(r"\bops->(\w+)\(", CODE_NOISE.sub(" ", path.read_text(encoding="utf-8"))))
            calls += [f"{place} calls {name}" for name in sorted(listed & called)]
    holds(calls if listed else ["no operations were found"], "only a schedule's run calls the device's operations, and few files of src/model")
    holds(kinds, "only kinds write calls into a schedule")
    holds(names if families else ["no families were found"], "a family is named in its own file alone")
    named = {name: path.name for path in files(root / "src/model/kinds", ".c")
             for name in re.findall(r'\.name = "([\w-]+)"', path.read_text(encoding="utf-8"))}
    problems = [f"{path.relative_to(root)} compares kinds by their names" for path in files(root / "src", ".c", ".h")
                if re.search(r"\bkind->name\b", path.read_text(encoding="utf-8")) and path.name != "listing.c"]
    texts = {path: path.read_text(encoding="utf-8") for path in files(root / "src/model", ".c", ".h") if path.parent.name not in ("kinds", "families")}
    problems += [f"{path.relative_to(root)} names the kind {name}" for path, text in texts.items() for name in sorted(named) if f'"{name}"' in text]
    holds(problems if named else ["no kinds were found"], "a kind is named in its own file alone")


# Variables that test programs alone look at (tests/cuda/tested.c).
FOR_TESTS = {"BRIM_CUDA_KEEP", "BRIM_CUDA_MANAGED"}
# What is said in one place: a piece of the words, and the file. The program's own options are its own.
SAID = {"positions for %d": "src/model/run/fits.c", "ids 0 to %d": "src/model/run/fits.c", "types 0 to %d": "src/model/run/fits.c",
        "there are classes 0 to": "src/task/task.c", "has no labels of tokens": "src/task/task.c"}


def check_words_once(root):
    """Whether a row fits a model is one check with one wording."""
    problems = []
    for path in files(root / "src", ".c", ".h"):
        text = path.read_text(encoding="utf-8")
        problems += [f"{path.relative_to(root)} says \"{words}\"" for words, place in SAID.items()
                     if (words in text) != (path.relative_to(root).as_posix() == place)]
    holds(problems, "whether a row fits a model is said in one place")


def check_variables(root):
    """What the environment may say to the library and the program is told to users or developers; what tests alone say, tests alone read."""
    pages = "".join(path.read_text(encoding="utf-8") for path in files(root / "docs", ".md") + files(root / "include", ".h"))
    read = {name: path.relative_to(root) for path in files(root / "src", ".c", ".h") + files(root / "cli", ".c", ".h")
            for name in re.findall(r'"(BRIM_[A-Z0-9_]+)"', path.read_text(encoding="utf-8"))}
    problems = [f"{path} reads {name}, which no page has" for name, path in sorted(read.items()) if not re.search(rf"\b{name}\b", pages)]
    problems += [f"{path} reads {name}, which is for tests" for name, path in sorted(read.items()) if name in FOR_TESTS]
    holds(problems if read else ["no variables were found"], "a variable of the environment is on a page, and is not for tests alone")


def check_sizes(root):
    problems = []
    for path in files(root / "src", ".c", ".h") + files(root / "cli", ".c", ".h"):
        lines = path.read_text(encoding="utf-8").count("\n")
        if lines > MOST_LINES and path.name not in GENERATED:
            problems.append(f"{path.relative_to(root)}: {lines} lines")
    holds(problems, f"no file is longer than {MOST_LINES} lines")
    folder = root / "tests" / "golden"
    sizes = {path.parent: 0 for path in folder.rglob("*") if path.is_file()}
    for path in folder.rglob("*"):
        if path.is_file():
            sizes[path.parent] += path.stat().st_size
    total = sum(sizes.values())
    largest = [f"{place.relative_to(root)}: {size / 1e6:.1f} MB" for place, size in sorted(sizes.items(), key=lambda item: -item[1])[:5]]
    holds(largest if total > MOST_GOLDEN else [], f"tests/golden holds {total / 1e6:.1f} of {MOST_GOLDEN / 1e6:.0f} MB")


def check_exports(root, library):
    names = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout.split("\n")
    found = [line.split()[-1] for line in names if line.strip()]
    holds([name for name in found if not name.startswith("brim_")], "the library exports brim_* and nothing else")
    declared = set()
    for path in files(root / "include", ".h"):
        declared.update(DECLARED.findall(re.sub(r"/\*.*?\*/", " ", path.read_text(encoding="utf-8"), flags=re.DOTALL)))
    problems = [f"{name} is exported but not declared" for name in sorted(set(found) - declared)]
    problems += [f"{name} is declared but not exported" for name in sorted(declared - set(found))]
    holds(problems, "what is exported is what the public headers declare")
    listed = root / "tests" / "check" / "exports.txt"
    if "--update" in sys.argv:
        listed.write_text("".join(name + "\n" for name in sorted(found)), encoding="ascii")
    names = set(listed.read_text(encoding="ascii").split())
    problems = [f"{name} is new" for name in sorted(set(found) - names)] + [f"{name} is gone" for name in sorted(names - set(found))]
    if problems:
        problems.append(f"if that is meant: python3 tests/check/source.py . {library} --update")
    holds(problems, "what is exported is what exports.txt lists")


def check_misuse(root):
    """A function without a row is one that nobody has asked for what it makes of NULL."""
    tried = (root / "tests" / "unit" / "views_misuse.c").read_text(encoding="utf-8")
    problems, found = [], 0
    for path in files(root / "include", ".h"):
        text = re.sub(r"/\*.*?\*/", " ", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        for name in ANSWERS.findall(text) + FREES.findall(text):
            found += 1
            if not re.search(rf"\b{name}\b", tried):
                problems.append(f"{name} is in no row")
    holds(problems if found > 150 else [f"only {found} functions were found"], "tests/unit/views_misuse.c asks every function that answers or frees")


def check_globals(library):
    """Writable data that is not relocated constants: only what the compiler puts there."""
    listing = subprocess.run(["objdump", "-t", library], capture_output=True, text=True, check=True).stdout
    problems = []
    for line in listing.splitlines():
        parts = line.split()
        if len(parts) >= 5 and "O" in parts and any(part in (".data", ".bss", ".tdata", ".tbss") for part in parts):
            if not parts[-1].startswith(("completed.", "__")):
                problems.append(parts[-1])
    holds(problems, "the library has no mutable globals")


def main():
    root, library = pathlib.Path(sys.argv[1]), sys.argv[2]
    check_includes(root)
    check_rooms(root)
    check_circles(root)
    for folder in ("cli", "examples"):
        check_public_only(root, folder)
    check_calls(root)
    check_devices(root)
    check_program(root)
    check_words_once(root)
    check_variables(root)
    check_sizes(root)
    check_exports(root, library)
    check_misuse(root)
    check_globals(library)
    return end()


if __name__ == "__main__":
    sys.exit(main())
