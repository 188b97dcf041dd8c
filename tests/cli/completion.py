#!/usr/bin/env python3
"""What Tab offers, in the shells that are here, and that every command has a manual page: completion.py BRIM. Prints TAP."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

BRIM = os.path.abspath(sys.argv[1])
# The line up to the cursor, what is offered among others, and what is not; "a.csv" is a file of the folder.
LINES = [
    ("", ["train", "inspect", "help"], ["a.csv", "gradients"]),
    ("tr", ["train"], ["predict"]),
    ("inspect ", ["model", "gradients"], ["a.csv", "train"]),
    ("inspect gr", ["gradients"], ["model", "a.csv"]),
    ("help tr", ["train"], ["a.csv"]),
    ("completion b", ["bash"], ["zsh", "a.csv"]),
    ("train --eval-", ["--eval-every", "--eval-batching"], ["--epochs"]),
    ("train --learn", ["--learning-rate"], ["--lr"]),
    ("train --batching s", ["sequential", "sorted"], ["random", "a.csv"]),
    ("train --padding ", ["none", "longest"], ["a.csv", "train"]),
    ("train --train a", ["a.csv"], ["--accumulate"]),
    ("train -m a", ["a.csv"], ["train"]),
    ("train --epochs ", [], ["a.csv", "train"]),
    ("inspect model --mo", ["--model"], ["--pass"]),
    ("evaluate -m run a", ["a.csv"], ["analyze"]),
]
BASH = """. ./script
COMP_LINE="brim $1"; read -ra COMP_WORDS <<<"$COMP_LINE"
[ "${COMP_LINE: -1}" = ' ' ] && COMP_WORDS+=('')
COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _brim; printf '%s\\n' "${COMPREPLY[@]}"
"""
# What compadd is given, as far as the word on the line begins it.
ZSH = """compdef() { : }
compadd() { shift; local one found=1; for one; do [[ $one == ${words[CURRENT]}* ]] && print -r -- $one && found=0; done; return $found }
_files() { print -rl -- ${words[CURRENT]}*(N) }
. ./script
words=(brim ${=1}); [[ $1 == '' || $1 == *' ' ]] && words+=(''); CURRENT=${#words}; _brim
"""
FISH = "source ./script; complete -C \"brim $argv[1]\""


def offers(shell, line):
    command = {"bash": ["bash", "-c", BASH, "bash", line], "zsh": ["zsh", "-f", "-c", ZSH, "zsh", line], "fish": ["fish", "-c", FISH, line]}[shell]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "HOME": os.getcwd()})
    return [offer.split("\t")[0] for offer in done.stdout.splitlines()], done.stderr


def pages():
    """Commands without a manual page: man/meson.build lists those that are made."""
    listed = (pathlib.Path(__file__).resolve().parents[2] / "man" / "meson.build").read_text(encoding="utf-8")
    commands = json.loads(subprocess.run([BRIM, "help", "--json"], capture_output=True, text=True, check=True).stdout)
    return [name for name in commands if f"'{name.replace(' ', '-')}'" not in listed]


def main():
    count, lacking = 1, pages()
    failed = bool(lacking)
    with tempfile.TemporaryDirectory(prefix="brim-completion-") as folder:
        os.chdir(folder)
        open("a.csv", "w", encoding="utf-8").close()
        print(f"1..{1 + 3 * len(LINES)}")
        print(f"{'not ok' if lacking else 'ok'} 1 - every command has a manual page", f"\n# {lacking}" if lacking else "")
        for shell in ("bash", "zsh", "fish"):
            script = subprocess.run([BRIM, "completion", shell], capture_output=True, text=True, check=True).stdout
            with open("script", "w", encoding="utf-8") as file:
                file.write(script)
            for line, wanted, unwanted in LINES:
                count += 1
                if not shutil.which(shell):
                    print(f"ok {count} - {shell}: brim {line} # SKIP there is no {shell}")
                    continue
                found, errors = offers(shell, line)
                good = set(wanted) <= set(found) and not set(unwanted) & set(found) and not errors
                failed += not good
                print(f"{'ok' if good else 'not ok'} {count} - {shell}: brim {line}", "" if good else f"\n# {found} {errors}", flush=True)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
