#!/usr/bin/env python3
"""Phrases that readers stumble over, as TAP: words.py SOURCE_ROOT [--update]

Looks at comments, texts in quotes, documents and the names of tests; names in code are free. tests/check/words.txt says how many
of them each file still has: a file may have fewer, never more, and a file that is not listed may have none. --update lowers the counts
to what is there. A text that quotes one of them on purpose matches EXEMPT."""

import io
import pathlib
import re
import subprocess
import sys
import tokenize

# Phrase: what to say instead.
PHRASES = {
    r"\b(is|are|was|were) due\b": "expected",
    r"\banew\b": "again",
    r"\b(go|goes|gone|going|went) on\b": "resume, continue",
    r"\b(tells?|told)\b": "say, report, show, distinguish",
    r"\b(stands?|stood)\b": "is, is written, means",
    r"\bof (its|their|his|her) own\b": "its own X, another, separate",
    r"\bbeside\b": "next to, besides, during, compared with",
    r"\b(told|taken?|kept?|falls?|fell|set|written) apart\b": "distinguish, separate",
    r"\baside\b": "under a temporary name, for later",
    r"\bspare\b": "unused, free",
    r"\bstrokes?\b(?![:-])": "slash",  # but not that of a picture
    r"\bparted\b": "separated",
    r"\b(lies|lie|lay) at\b": "is at",
    r"\bblanks?\b": "space",
    r"\bbehind\b": "after",
}
# Names that are nobody's but this house's: what the field says instead (docs/developers/words.md).
NAMES = {r"(?!proportion|_)\w*portion\b": "shard", r"\w*telling\w*": "ready", r"brim_partial\w*|partials": "pending", r"brim_heart_\w*": "heartbeat",
         r"\w*goes_on\w*": "accumulates, resumes", r"brim_\w*_lend\w*": "use_buffer",
         r"(?!brim_precision_is_narrow\b|brim_model_narrow_share\b|brim_(call|cuda|amx|avx512)_narrow\b|BRIM_CUDA_HAS_narrow\b)(brim|BRIM)_\w*narrow\w*|BRIM_\w*NARROW\w*": "half, dtype",
         r"(brim|BRIM)(_\w+)?(?<!_in)_(place|PLACE)s?\b": "position, offset, index",
         r"(?!brim_split_(step|kind)\b|BRIM_SPLIT_)(brim|BRIM)_(split|SPLIT)\w*": "scan",
         r"brim_(section|begin|normed|schedule)_parts?\b|brim_part_\w+|BRIM_PART_\w+": "section, piece, component",
         r"brim_(plain|avx2|avx512|amx|sum|declare|append|gradient_next)_tables?\b|brim_tables\w*": "ops, embedding"}
EXEMPT = re.compile(r"behind (the |its |\w+'s )*back\b|\b(left|leaves?) behind\b", re.IGNORECASE)
OWN = {"tests/check/words.py", "tests/check/words.txt"}
C_TEXT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.DOTALL)
CODE, WHOLE = {".c", ".h"}, {".md", ".txt"}
SHELL_COMMENT = re.compile(r"(?:^|\s)#.*", re.MULTILINE)
BLIND = ("tests/golden/", "tests/fuzz/corpus/", "tests/cli/cases/")  # data, and what the program's own texts make


def python_text(source):
    """Comments and strings; parts of f-strings too, where this Python's tokenizer tells them apart."""
    kinds = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
    try:
        return "\n".join(token.string for token in tokenize.generate_tokens(io.StringIO(source).readline) if token.type in kinds)
    except (tokenize.TokenError, SyntaxError):
        return source


def prose(path, source):
    if path.suffix in CODE:
        return "\n".join(C_TEXT.findall(source))
    if path.suffix == ".py" or source.startswith("#!/usr/bin/env python"):
        return python_text(source)
    if path.suffix in WHOLE or path.suffix == ".yml":
        return source
    return "\n".join(SHELL_COMMENT.findall(source))


def files(root):
    """What git knows, or all files where this is no checkout."""
    done = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"], capture_output=True, check=False)
    names = sorted(done.stdout.decode().split("\0")) if done.returncode == 0 else []
    if not names:
        names = [p.relative_to(root).as_posix() for p in sorted(root.rglob("*")) if p.is_file() and not p.parts[len(root.parts)].startswith(("build", "."))]
    for name in names:
        data = name.startswith(BLIND) and not name.endswith((".c", ".h", ".py", ".build"))
        if name and name not in OWN and not data and (root / name).is_file():
            yield name


def found(root):
    """{file: [(line of the text, phrase, what to say)]}"""
    result = {}
    for name in files(root):
        try:
            source = (root / name).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        text = EXEMPT.sub("", prose(pathlib.PurePath(name), source))
        hits = [(match[0], better) for phrase, better in PHRASES.items() for match in re.finditer(phrase, text, re.IGNORECASE)]
        if name.startswith(("src/", "cli/", "include/")):
            hits += [(match[0], better) for phrase, better in NAMES.items() for match in re.finditer(rf"\b{phrase}", source)]
        if hits:
            result[name] = hits
    return result


def read_allowed(path):
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {name: int(count) for count, name in (line.split(maxsplit=1) for line in lines if line and not line.startswith("#"))}


def update(path, hits):
    allowed = read_allowed(path)
    first = not path.exists()
    kept = {name: len(h) if first else min(len(h), allowed.get(name, 0)) for name, h in hits.items()}
    text = "# Phrases of words.py that each file still has; `python3 tests/check/words.py . --update` lowers the counts.\n"
    path.write_text(text + "".join(f"{count} {name}\n" for name, count in sorted(kept.items()) if count), encoding="utf-8")


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    allowed_file = root / "tests" / "check" / "words.txt"
    hits = found(root)
    if "--update" in sys.argv:
        update(allowed_file, hits)
    allowed = read_allowed(allowed_file)
    more = {name: h for name, h in hits.items() if len(h) > allowed.get(name, 0)}
    fewer = [name for name, count in allowed.items() if len(hits.get(name, ())) < count]
    print("1..1")
    print(f"{'not ok' if more else 'ok'} 1 - no file says more of the phrases of words.py than words.txt allows")
    for name, h in more.items():
        print(f"# {name}: {len(h)}, allowed {allowed.get(name, 0)}")
        for phrase, better in sorted(set(h)):
            print(f"#   \"{phrase}\": say {better}")
    print(f"# {sum(map(len, hits.values()))} left in {len(hits)} files")
    if fewer:
        print(f"# {len(fewer)} files have fewer than words.txt allows: `python3 tests/check/words.py . --update` lowers it")
    return 1 if more else 0


if __name__ == "__main__":
    sys.exit(main())
