# Many labels from a stream: the same weights with other threads, prefetch and named labels; weights by name, which need no rows.
python3 - <<'END'
import csv, json, os
with open("many.jsonl", "w") as out:
    for i, row in enumerate(csv.DictReader(open(os.environ["DATA"] + "/train.csv"))):
        labels = ["film"] * ("film" in row["text"]) + ["good"] * (row["label"] == "1") + ["third"] * (i % 3 == 0)
        out.write(json.dumps({"text": row["text"], "label": labels}) + "\n")
END
$BRIM shard many.jsonl --records 9 -o shards --quiet
options="--model $MODEL --train shards --eval many.jsonl --stream --shuffle-window 20 --max-steps 9 --task multi-label --lr 1e-3 --quiet"
$BRIM train $options --output a --threads 1 --prefetch 0 >/dev/null
$BRIM train $options --output b --threads 3 --prefetch 2 --labels film --labels good --labels third >/dev/null
cmp a/model.safetensors b/model.safetensors && echo same weights
python3 -c '
import json
config = json.load(open("b/config.json"))
print(config["problem_type"], config["id2label"])'
# From memory, in the order of the files, it is the same run.
ordered="--model $MODEL --max-steps 9 --task multi-label --batching sequential --lr 1e-3 --quiet"
$BRIM train $ordered --train shards --stream --shuffle-window 1000 --output c >/dev/null
$BRIM train $ordered --train many.jsonl --output m >/dev/null
cmp c/model.safetensors m/model.safetensors && echo same weights
$BRIM train $options --output d --class-weights good=3,third=0.5 >/dev/null
cmp -s a/model.safetensors d/model.safetensors || echo other weights
# Balanced weights count the rows in the pass that finds the labels: the same run as from memory. Nothing counts them where labels
# are named, and in a mixture they have other shares.
$BRIM train $ordered --train shards --stream --shuffle-window 1000 --class-weights balanced --output cb >/dev/null
$BRIM train $ordered --train many.jsonl --class-weights balanced --output mb >/dev/null
cmp cb/model.safetensors mb/model.safetensors && echo same weights
cmp -s cb/model.safetensors c/model.safetensors || echo other weights
$BRIM train $options --output e --class-weights balanced --labels film --labels good --labels third
echo $?
$BRIM train $options --output e --class-weights balanced --weight 1
echo $?
$BRIM train $options --output e --class-weights goood=2
echo $?
ls
