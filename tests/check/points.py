"""points.py: results of a check as TAP: point() for each, and exit(end()) after the last."""

import sys

count = failed = 0


def point(good, name, *notes, reason=""):
    """A result; notes say what is wrong. `reason`: why it was left out."""
    global count, failed
    count += 1
    failed += not good
    print(f"{'ok' if good else 'not ok'} {count} - {name}{' # SKIP ' if reason else ''}{reason}")
    for note in notes if not good else ():
        print("# " + str(note).strip().replace("\n", "\n# "))


def holds(problems, name):
    """True of everything that was looked at: no problem was found."""
    point(not problems, name, *problems)


def end():
    print(f"1..{count}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit("points.py is for the checks beside it")
