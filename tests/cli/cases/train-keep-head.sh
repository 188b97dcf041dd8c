# A fine-tuned classifier is kept where the new rows lack one of its classes; with a learning rate of 0 the model is what it was.
train() {
  $BRIM train -q --max-steps 1 "$@" >/dev/null
}
classes() {
  python3 -c 'import json, sys; print(list(json.load(open(sys.argv[1] + "/config.json"))["id2label"].values()))' $1
}
printf 'text,label\na film,good\na plot,dull\na story,bad\n' >three.csv
printf 'text,label\na film,good\na plot,dull\n' >two.csv
printf 'text,label\na film,good\na plot,fine\n' >other.csv
train -m $MODEL --train three.csv -o three
train -m three --train two.csv -o new --lr 0 && classes new
train -m three --train two.csv -o kept --lr 0 --keep-head && classes kept && cmp three/model.safetensors kept/model.safetensors && echo "as it was"
train -m three --train two.csv -o stream --lr 0 --keep-head --stream && cmp three/model.safetensors stream/model.safetensors && echo "of a stream too"
train -m three --train other.csv -o other --keep-head
train -m $MODEL --train two.csv -o other --keep-head
train -m three --train two.csv -o other --keep-head --task regression
train -m three --train two.csv -o other --keep-head --stream --labels good --labels dull || test ! -e other
$BRIM train --model $MODEL --train $DATA/train.txt --task mlm --max-steps 1 --output words --quiet >/dev/null
train -m words --train two.csv -o other --keep-head
