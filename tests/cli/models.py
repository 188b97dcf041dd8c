#!/usr/bin/env python3
"""What docs/users/models.md says of model types and of folders that are refused is what the program says, as TAP: models.py BRIM"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

import fixtures
from run import scratch

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/users/models.md"
BERT = {"model_type": "bert", "hidden_size": 768, "num_attention_heads": 12}
DEBERTA = {"model_type": "deberta-v2", "relative_attention": True, "pos_att_type": ["p2c", "c2p"]}
# Of each row but that of other types: what its message has, and a configuration that is refused with it.
REFUSED = {
    "use_task_id": {"model_type": "ernie", "use_task_id": True},
    "quantization_config": BERT | {"quantization_config": {"bits": 4}},
    "is_decoder": BERT | {"is_decoder": True},
    "add_cross_attention": BERT | {"add_cross_attention": True},
    "position_embedding_type": {"model_type": "xlm-roberta", "position_embedding_type": "rotary"},
    "conv_kernel_size": DEBERTA | {"conv_kernel_size": 3, "conv_act": "gelu"},
    "pos_att_type": DEBERTA | {"pos_att_type": ["c2p"]},
    "rope_type": {"model_type": "modernbert", "rope_parameters": {"rope_type": "yarn"}},
    "num_attention_heads": BERT | {"num_attention_heads": 7},
    "local_attention": {"model_type": "modernbert", "local_attention": 0},
    "activation": BERT | {"hidden_act": "mish"},
}
IN_MESSAGE = {"num_attention_heads": "among 7 heads"}


def rows_of(text, heading):
    """The cells of the table whose first column is called so."""
    lines = text.split(f"| {heading} |", 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def message_of(folder, config):
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    done = subprocess.run([sys.argv[1], "inspect", "model", "--model", folder], capture_output=True, text=True)
    lines = done.stderr.splitlines()
    return lines[0] if done.returncode and len(lines) == 1 else f"status {done.returncode}, {len(lines)} lines: {done.stderr}"


def check_types(page, known):
    listed = [name for row in rows_of(page, "`model_type`") for name in re.findall(r"`([^`]+)`", row[0])]
    return [f"{name}: the program does not name it" for name in listed if name not in known] + \
        [f"{name}: the page does not name it" for name in known if name not in listed]


def check_others(folder, row, known):
    cell, message = row
    problems = [] if message.split(": ")[1].removesuffix(", ..").split(", ") == known[:3] else [f"the page says {message}"]
    for name in re.findall(r"`([^`]+)`", cell.split(": ")[1]):
        said = message_of(folder, {"model_type": name})
        if f'model type "{name}" is not one that brim has: {", ".join(known)}' not in said:
            problems.append(f"{name}: {said}")
    return problems


def check_refused(folder, rows):
    problems, used = [], set()
    for cell, message in rows:
        key = next((key for key in REFUSED if IN_MESSAGE.get(key, key) in message), None)
        said = message_of(folder, REFUSED[key]) if key else "no configuration here is refused with it"
        used.add(key)
        if not said.endswith(": " + message):
            problems.append(f"{cell}: {said}")
    return problems + [f"{key}: no row of the page" for key in REFUSED if key not in used]


def main():
    page = PAGE.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory(dir=scratch()) as name:
        folder = pathlib.Path(name) / "model"
        fixtures.write_model(folder)
        known = message_of(folder, {"model_type": "none"}).split("that brim has: ")[-1].split(", ")
        others, *refused = rows_of(page, "folder")
        points = {f"the page names the {len(known)} types that the program knows": check_types(page, known),
                  "other types are refused with all of them": check_others(folder, others, known),
                  f"{len(refused)} kinds of folders are refused as the page says": check_refused(folder, refused)}
    for number, (title, problems) in enumerate(points.items(), 1):
        print(f"{'not ok' if problems else 'ok'} {number} - {title}")
        for problem in problems:
            print(f"# {problem}")
    print(f"1..{len(points)}")


main()
