# What is frozen stays as it is, bit for bit; checkpoints of activations change nothing but the memory.
options="--model $MODEL --train $DATA/train.csv --max-steps 3 --weight-decay 0.1 --lr 1e-3"
for parts in embeddings 1 layers:2 encoder; do
  $BRIM train $options --output $parts --freeze $parts --quiet >/dev/null
  $BRIM train $options --output $parts-anew --freeze-layers $parts --gradient-checkpointing --quiet >/dev/null
  cmp $parts/model.safetensors $parts-anew/model.safetensors && grep -o '"freeze":"[a-z:0-9]*"' $parts/log.jsonl | head -1
done
$BRIM train --model $MODEL --train $DATA/train.csv --max-steps 3 --lr 0 --output none --quiet >/dev/null
python3 - <<'END'
import json, struct
def tensors(path):
    data = open(path + "/model.safetensors", "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    return {k: data[8 + size + v["data_offsets"][0]:8 + size + v["data_offsets"][1]] for k, v in header.items() if k[0] != "_"}
before = tensors("none")
for parts in ("embeddings", "1", "layers:2", "encoder"):
    after = tensors(parts)
    moved = sorted({".".join(k.split(".")[:4]) if "layer." in k else k.split(".")[-2] for k in after if after[k] != before.get(k)})
    print(parts, "moves", *moved)
END
$BRIM train $options --output bad --freeze head
$BRIM train $options --output bad --freeze 7
$BRIM train $options --output embeddings --freeze 1 --resume --quiet 2>&1 | sed 's/byte [0-9]*/byte N/'
ls bad 2>&1
# Tensors by name: what is trained is said, and is the same whichever way it is named. A resume with other names is refused.
for names in "--train-only *.bias,classifier.*,*pooler*" "--train-only classifier.* --train-only *pooler*,*.bias" \
  "--freeze *embeddings.weight,*LayerNorm.weight,*layer*.weight"; do
  $BRIM train $options --output named $names --overwrite 2>&1 >/dev/null | grep trained:
  cksum <named/model.safetensors | cut -d ' ' -f 1 >>sums
  grep -oE '"(freeze|train_only)":"[^"]*"|"trained_[a-z]*":[0-9]*' named/log.jsonl | paste -sd ' '
done
uniq sums | wc -l
$BRIM train $options --output named --train-only "*.bias,classifier.*,*pooler*" --resume --quiet 2>&1 | sed 's/byte [0-9]*/byte N/'
$BRIM train $options --output bad --freeze "*qeury*"
$BRIM train $options --output bad --train-only query.weight
$BRIM train $options --output bad --train-only encoder
$BRIM train $options --output bad --train-only "*.bias"
$BRIM train $options --output bad --train-only "classifier.*" --freeze "*"
ls bad 2>&1
# Names without a dot: of the weights of layers.
$BRIM train --model "$MODEL" --train $DATA/train.csv --output layers --layers weighted --train-only 'layer_weights,bert.pooler.*,classifier.*' --max-steps 1 --quiet | head -n 1 | cut -d, -f1
$BRIM train --model "$MODEL" --train $DATA/train.csv --output layers --overwrite --layers weighted --freeze layer_weights --max-steps 1 --quiet
