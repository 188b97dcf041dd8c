# The build is a hash of the program's own code: a copy elsewhere has the same; where an instruction is another one, or a letter of a
# message, it is another one.
python3 - <<'END'
import json, os, pathlib, shutil, subprocess

def build(program):
    return json.loads(subprocess.run([program, "doctor", "--json"], capture_output=True, text=True, check=True).stdout)["build"]

def changed(code, mark, at):
    found = code.rfind(mark)
    if found < 0:
        return None
    code = bytearray(code)
    code[found + at] ^= 1
    pathlib.Path("other").write_bytes(code)
    os.chmod("other", 0o755)
    return build("./other")

brim = os.environ["BRIM"]
shutil.copy(brim, "copy")
own, code = build(brim), pathlib.Path(brim).read_bytes()
filling = bytes.fromhex("662e0f1f840000000000")  # between functions of x86-64, where nobody runs it
others = [changed(code, filling, 9)] + ([] if b"__asan_init" in code else [changed(code, b"how fast\0", 7)])
print(build("./copy") == own, len(own), own not in others)
END
