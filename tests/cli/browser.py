#!/usr/bin/env python3
"""Opens reports of a small run in headless Chromium and prints TAP: no console error, nothing wider than the window at 380 and 1,400
pixels, every picture as large as one should be, and the tables of numbers within reach. Skips where there is no Chromium.

  browser.py BRIM [KEEP]   KEEP: a folder for the pages and a picture of each"""

import html
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import fixtures
from run import scratch

WIDTHS = (380, 1400)
# Runs in a frame of the wanted width: a window cannot be made as narrow as a phone.
PROBE = """<!DOCTYPE html><meta charset="utf-8"><style>iframe{border:0;height:3000px}</style><iframe id="f"></iframe><pre id="out"></pre><script>
const source = SOURCE, widths = WIDTHS, frame = document.getElementById('f'), found = [];
function look(width) {
  const d = frame.contentDocument, root = d.documentElement, pictures = [...d.querySelectorAll('figure > svg')];
  const wide = [...d.querySelectorAll('body *')].filter(e => !e.closest('.scroll') && !e.closest('svg')
    && e.getBoundingClientRect().right > width + 0.5).map(e => e.tagName + '.' + e.className);
  const spilt = pictures.flatMap(p => { const box = p.getBoundingClientRect(); return [...p.querySelectorAll('text')]
    .filter(t => { const r = t.getBoundingClientRect(); return r.right > box.right + 1 || r.left < box.left - 1; }).map(t => t.textContent); });
  const sizes = pictures.map(p => { const r = p.getBoundingClientRect(); return [Math.round(r.width), Math.round(r.height)]; });
  const letters = pictures.map(p => 11 * p.getBoundingClientRect().width / p.viewBox.baseVal.width);
  const drawn = pictures.map(p => p.querySelectorAll('path[d],rect,text').length);
  found.push({width, scroll: root.scrollWidth, wide, spilt, sizes, drawn, letters: Math.min(...letters),
    details: d.querySelectorAll('figure > details table').length, named: pictures.filter(p => p.querySelector('title')?.textContent).length});
}
let at = 0;
frame.onload = () => { setTimeout(() => { look(widths[at]); if (++at < widths.length) show();
  else document.getElementById('out').textContent = JSON.stringify(found); }, 50); };
function show() { frame.style.width = widths[at] + 'px'; frame.srcdoc = source + ' '.repeat(at); }
show();
</script>"""

count = failed = 0


def point(good, name, note=""):
    global count, failed
    count += 1
    failed += not good
    print(f"{'ok' if good else 'not ok'} {count} - {name}", flush=True)
    if not good and note:
        print(f"# {note}"[:2000])


def start_chromium(profile, arguments):
    """Standard output and error; None when it did not come to an end, or to none that shows a page."""
    command = [shutil.which("chromium") or shutil.which("chromium-browser"), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
               "--disable-dev-shm-usage", "--no-first-run", "--enable-logging=stderr", f"--user-data-dir={profile}", *arguments]
    environment = dict(os.environ, HOME=str(profile), XDG_CONFIG_HOME=str(profile), XDG_CACHE_HOME=str(profile))
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
                             start_new_session=True)
    try:
        out, errors = child.communicate(timeout=200)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)  # with its helpers, which hold the pipes too
        child.communicate()
        return None
    return (out, errors) if child.returncode == 0 and ("--dump-dom" not in arguments or "<html" in out) else None


def chromium(folder, *arguments, complete=lambda out: True):
    """Standard output and the console's lines. A browser that does not start, or is kept from its work until its time is over, says
    nothing about the page: it is started again, with a profile that nobody has used."""
    for _ in range(5):
        with tempfile.TemporaryDirectory(prefix="profile-", dir=folder, ignore_cleanup_errors=True) as profile:
            done = start_chromium(profile, arguments)
        if done and complete(done[0]):
            break
    out, errors = done or ("", "CONSOLE: Chromium did not start")
    return out, [line for line in errors.splitlines() if "CONSOLE" in line]


def views_of(shown):
    """What the probe found."""
    out = re.search(r'<pre id="out">(.*?)</pre>', shown, re.S)
    return json.loads(html.unescape(out[1])) if out and out[1] else []


def make_pages(brim, folder):
    fixtures.write_all(folder)
    run = lambda *words: subprocess.run([brim, *words, "--quiet"], check=True, stdout=subprocess.DEVNULL, cwd=folder)
    odd = ["<script>alert(1)</script>", "שלום עולם " * 30, "x" * 3000, "good 😀 film"]
    rows = "".join(f'"{text}",{name}\n' for text in odd for name in ("a_class_with_a_very_long_name_that_has_no_blank_in_it", "<b>b</b>"))
    (folder / "odd.csv").write_text("text,label\n" + rows, encoding="utf-8")
    run("train", "--model", "model", "--train", "odd.csv", "--eval", "odd.csv", "--output", "odd", "--epochs", "2", "--batch-size", "2")
    run("train", "--model", "model", "--train", "data/train.csv", "--eval", "dev=data/test.csv", "--output", "run", "--epochs", "6", "--lr", "1e-2",
        "--eval-every", "5", "--batch-size", "4")
    run("report", "odd", "--data", "odd.csv", "-o", "odd.html")
    run("report", "run", "odd", "-o", "both.html")
    run("analyze", "-t", "model", "--batch-size", "4", "--max-length", "20", "data/train.csv", "--folds", "3", "--html", "analyze.html")
    run("compare", "--model", "model", "--train", "data/train.csv", "--eval", "data/test.csv", "--max-steps", "5", "--html", "compare.html")
    shutil.copy(folder / "run" / "report.html", folder / "run.html")
    (folder / "long").mkdir()
    with open(folder / "long" / "log.jsonl", "w", encoding="utf-8") as log:
        print('{"event":"start"}', file=log)
        for step in range(1, 20001):  # ticks at the very end of an axis
            print(f'{{"event":"step","step":{step * 50},"loss":{10000 / step},"lr":{1e-9 * step},"rows":16,"tokens":{step},"slots":{20000},'
                  f'"seconds":{step * 50}}}', file=log)
    run("report", "long", "-o", "long.html")
    return ["run", "odd", "both", "analyze", "compare", "long"]


def check(folder, name):
    source = (folder / f"{name}.html").read_text(encoding="utf-8")
    script = PROBE.replace("SOURCE", json.dumps(source).replace("</", "<\\/").replace("<!--", "<\\!--")).replace("WIDTHS", json.dumps(WIDTHS))
    (folder / "probe.html").write_text(script, encoding="utf-8")
    _, console = chromium(folder, "--dump-dom", f"file://{folder}/{name}.html")
    point(not console, f"{name}: no word on the console", "\n# ".join(console))
    shown, console = chromium(folder, "--virtual-time-budget=20000", "--dump-dom", f"file://{folder}/probe.html", complete=views_of)
    views = views_of(shown)
    point(len(views) == len(WIDTHS), f"{name}: looked at", "\n# ".join(console))
    wanted = source.count('role="img"')
    for view in views:
        width = view["width"]
        point(view["scroll"] <= width and not view["wide"], f"{name}: nothing is wider than {width} pixels", f"{view['scroll']} {view['wide'][:9]}")
        point(not view["spilt"], f"{name}: at {width}, no word leaves its picture", str(view["spilt"][:9]))
        sizes = view["sizes"]
        point(len(sizes) == wanted > 0 and all(250 <= w <= 700 and 30 <= h <= 700 for w, h in sizes),
              f"{name}: at {width}, {wanted} pictures of plausible size", str(sizes))
        point(all(view["drawn"]) and view["details"] == view["named"] == wanted, f"{name}: at {width}, each with a title, marks and numbers",
              f"{view['drawn']} {view['details']} {view['named']}")
        point(view["letters"] >= 9.5, f"{name}: at {width}, letters of {view['letters']:.1f} pixels or more")


def main():
    brim = os.path.abspath(sys.argv[1])
    if not (shutil.which("chromium") or shutil.which("chromium-browser")):
        print("SKIPPED: reports in a browser: there is no Chromium (Debian: chromium)", file=sys.stderr)
        print("1..0 # SKIP there is no Chromium")
        return 0
    keep = pathlib.Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else None
    with tempfile.TemporaryDirectory(prefix="brim-browser-", dir=scratch(), ignore_cleanup_errors=True) as temporary:
        folder = keep or pathlib.Path(temporary)
        folder.mkdir(exist_ok=True)
        for name in make_pages(brim, folder):
            check(folder, name)
            if keep:
                for mode in ("", "--force-dark-mode"):
                    chromium(folder, f"--screenshot={folder}/{name}{'-dark' if mode else ''}.png", "--window-size=1400,4000", *([mode] if mode else []),
                             f"file://{folder}/{name}.html")
    print(f"1..{count}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
