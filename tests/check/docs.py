#!/usr/bin/env python3
"""Documents say what is there, as TAP: docs.py SOURCE_ROOT PARSER

Links and anchors of every page lead somewhere; no option is explained twice; files that pages, comments and messages name exist; every
command line of a page is one that the program's own parser takes (PARSER: check_options, which parses and runs nothing); Python on a
page compiles."""

import pathlib
import re
import shlex
import subprocess
import sys
import textwrap

from points import end, holds

ROOT, PARSER = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
BLOCK = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`([^`\n]+)`")
NAMED = re.compile(r"(?<![\w/.{}$-])((?:src|cli|docs|tests|tools|bench|include|python|examples|man)/[\w./*{},-]*\w)")
MADE = re.compile(r"^(docs/(image|picture)|python/build)|\*|^tests/fuzz/fuzzer_|^bench/(bench_NAME|requirements-NAME)|NAME")

def pages():
    return sorted(p for p in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / ".github").rglob("*.md"), *(ROOT / "examples").rglob("*.md"),
                              *(ROOT / "python").rglob("*.md"), *(ROOT / "bench").rglob("*.md")])


def read(path):
    return path.read_text(encoding="utf-8")


def where(path, text, at):
    return f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, at) + 1}"


def anchors(text):
    """GitHub's names of headings."""
    names = set()
    for title in re.findall(r"^#+ +(.+?) *$", BLOCK.sub("", text), re.MULTILINE):
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)
        names.add(re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-"))
    return names


def check_links():
    problems = []
    for page in pages():
        text = read(page)
        for match in LINK.finditer(BLOCK.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)):
            target = match[1] or match[2]
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            to = (page.parent / name).resolve() if name else page
            if not to.exists():
                problems.append(f"{where(page, text, match.start())}: {target} is not there")
            elif anchor and to.suffix == ".md" and anchor not in anchors(read(to)):
                problems.append(f"{where(page, text, match.start())}: {name or 'the page'} has no heading {anchor}")
    holds(problems, "links and anchors lead somewhere")


def check_rows():
    """What several commands have stands once in the manual of commands."""
    rows = re.findall(r"^\| `-.*$", read(ROOT / "docs" / "command-line.md"), re.MULTILINE)
    holds(sorted({row for row in rows if rows.count(row) > 1}), "no row of command-line.md stands twice")


def exists(name):
    parts = re.match(r"^(.*)\{([^}]*)\}(.*)$", name)
    if parts:
        return all(exists(parts[1] + word + parts[3]) for word in parts[2].split(","))
    base = ROOT / name
    return base.exists() or any((ROOT / f"{name}{suffix}").exists() for suffix in (".c", ".h", ".py", ".md", ".sh"))


def check_names():
    problems = []
    sources = [p for folder in ("src", "cli", "include", "tests", "bench", "tools", "python", "examples") for p in (ROOT / folder).rglob("*")
               if p.suffix in (".c", ".h", ".py", ".build", "") and p.is_file() and "corpus" not in p.parts and "__pycache__" not in p.parts]
    for path in [*pages(), *sources]:
        if path.name in ("docs.py", "CHANGELOG.md"):
            continue
        try:
            text = read(path)
        except UnicodeDecodeError:
            continue
        looked = text
        if path.suffix in (".c", ".h"):  # comments; an include is the compiler's
            looked = re.sub(r"/\*.*?\*/|//[^\n]*|[^\n]", lambda m: m[0] if m[0].startswith(("/*", "//")) else " ", text, flags=re.DOTALL)
        elif path.suffix != ".md":
            looked = re.sub(r'""".*?"""|#[^\n]*|[^\n]', lambda m: m[0] if m[0].startswith(('"""', "#")) else " ", text, flags=re.DOTALL)
        for match in NAMED.finditer(looked):
            name = match[1].rstrip(".,")
            if not MADE.search(name) and not exists(name) and "." in pathlib.PurePath(name).name:
                problems.append(f"{where(path, text, match.start())}: {name} is not there")
    holds(problems, "files that pages and comments name are there")


# ---- command lines --------------------------------------------------------------------------------------------------


def words_of(line):
    """The words of each `brim ...` in a line of shell, up to what the shell takes for itself."""
    try:
        lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>()")
        lexer.whitespace_split = True
        lexer.commenters = "#"
        words = list(lexer)
    except ValueError:
        return
    commands, now = [[]], False
    for word in words:
        if word and set(word) <= set("|&;()"):
            commands.append([])
        elif word and set(word) <= set("<>"):
            now = True
            if commands[-1] and commands[-1][-1] in ("2", "1"):
                commands[-1].pop()
        elif now:
            now = False
        else:
            commands[-1].append(word)
    for command in commands:
        while command and (re.match(r"^\w+=", command[0]) or command[0] in ("$", "time", "nohup", "sudo")):
            command = command[1:]
        for at, word in enumerate(command):
            if re.fullmatch(r"(.*/)?brim|\$BRIM|\"\$BRIM\"", word) and (at == 0 or command[0].startswith(("mpirun", "srun", "torchrun"))):
                yield command[at + 1 :]


def commands():
    """(place, words, whole): `whole` ones are in a block, others in a sentence, which may leave out what is needed."""
    for page in pages():
        text = read(page)
        for block in BLOCK.finditer(text):
            if block[2] not in ("sh", "bash", "console", "shell"):
                continue
            for line in block[3].replace("\\\n", " ").splitlines():
                for words in words_of(line.strip()):
                    yield where(page, text, block.start()), words, True
        for match in INLINE.finditer(BLOCK.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)):
            if match[1].startswith(("brim ", "build/brim ")):
                for words in words_of(match[1]):
                    yield where(page, text, match.start()), words, False


def check_commands():
    def open_ended(words):
        return any(w in ("...", "…", "COMMAND") or "$" in w or w[:1] in ("<", "[") for w in words)

    lines = [(place, words, whole) for place, words, whole in commands() if words and not open_ended(words)]
    # Of what a sentence says, `brim train --resume`, only the names are looked at.
    text = "".join("\x1f".join(words if whole else ["names", *words]) + "\n" for _, words, whole in lines)
    answers = subprocess.run([PARSER, "--parse"], input=text, capture_output=True, text=True, check=True, cwd=ROOT).stdout.splitlines()
    problems = [f"{place}: brim {' '.join(words)}: {answer}" for (place, words, _), answer in zip(lines, answers, strict=True) if answer != "ok"]
    holds(problems, f"the program takes each of {len(lines)} command lines")
    holds([] if len(lines) > 60 else [f"only {len(lines)}"], "command lines were found")


def check_python():
    problems, blocks = [], 0
    for page in pages():
        text = read(page)
        for block in BLOCK.finditer(text):
            if block[2] not in ("python", "py"):
                continue
            blocks += 1
            try:
                compile(textwrap.dedent(block[3]), str(page), "exec")
            except SyntaxError as error:
                problems.append(f"{where(page, text, block.start())}: {error}")
    holds(problems, f"{blocks} blocks of Python compile")


check_links()
check_rows()
check_names()
check_commands()
check_python()
sys.exit(end())
