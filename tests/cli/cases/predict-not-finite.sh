# A weight that is no number: no prediction comes of it, and no label.
$BRIM train -m $MODEL --train $DATA/train.csv --max-steps 1 -o run -q >/dev/null
for value in nan inf; do
  rm -rf bad && cp -r run bad
  python3 - $value <<'END'
import json, struct, sys
path = "bad/model.safetensors"
data = bytearray(open(path, "rb").read())
size = struct.unpack("<Q", data[:8])[0]
names = json.loads(data[8:8 + size])
name = next(n for n in names if n.endswith("layer.0.output.dense.weight"))
at = 8 + size + names[name]["data_offsets"][0]
data[at:at + 4] = struct.pack("<f", float(sys.argv[1]))
open(path, "wb").write(data)
END
  for precision in fp32 int8; do
    $BRIM predict -m bad $DATA/test.csv --precision $precision -q
    echo "$value $precision: $?"
  done
  $BRIM evaluate -m bad $DATA/test.csv -q
  echo "$value evaluate: $?"
done
