# Weights of pytorch_model.bin, whole or in shards, predict what those of safetensors do; what is more than weights is refused.
$BRIM train --model $MODEL --train $DATA/train.csv --output run --max-steps 2 --quiet >/dev/null
$BRIM predict --model run $DATA/test.txt --quiet >want.jsonl
for how in "" "--shards 3" "--turned"; do
  name=bin$(echo $how | tr -d ' -')
  python3 $(dirname $FIXTURES)/../torch_file.py run $name $how
  ls $name | grep -c bin
  $BRIM predict --model $name $DATA/test.txt --quiet | cmp - want.jsonl && echo same
done
python3 - <<'END'
import os, pickle, zipfile
class Call:
    def __reduce__(self):
        return os.mkdir, ("called",)
with zipfile.ZipFile("bin/pytorch_model.bin", "w") as archive:
    archive.writestr("x/data.pkl", pickle.dumps({"a": Call()}, 2))
END
$BRIM predict --model bin $DATA/test.txt
ls called
rm bin/pytorch_model.bin
$BRIM predict --model bin $DATA/test.txt
