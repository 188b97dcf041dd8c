# Embeddings: pairs, triples, scores and lists of negatives from columns that are found by name or named; what is wrong with rows is
# one line; the run is a folder of sentence-transformers, whose vectors `brim embed` has.
python3 - <<'END'
import csv, json, os
texts = [row["text"] for row in csv.DictReader(open(os.environ["DATA"] + "/train.csv"))][:24]
def table(name, header, rows):
    with open(name, "w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
pairs = list(zip(texts[::2], texts[1::2]))
table("pairs.csv", ["anchor", "positive"], pairs)
table("equal.csv", ["query", "document"], [*pairs, *pairs[:2]])
table("same.csv", ["anchor", "positive"], [(a, a) for a, _ in pairs])
table("scores.csv", ["id", "sentence1", "sentence2", "score"], [(i, a, b, i / 12) for i, (a, b) in enumerate(pairs)])
table("words.csv", ["sentence1", "sentence2", "score"], [(a, b, "alike") for a, b in pairs])
table("named.csv", ["left", "right", "worse"], [(a, b, texts[0]) for a, b in pairs])
table("far.csv", ["sentence1", "sentence2", "score"], [(a, b, i) for i, (a, b) in enumerate(pairs)])
table("margins.csv", ["query", "positive", "negative", "score"], [(a, b, texts[0], i / 12) for i, (a, b) in enumerate(pairs)])
table("one.csv", ["sentence"], [[a] for a, _ in pairs])
table("alone.csv", ["anchor", "positive"], pairs[:1])
with open("lists.jsonl", "w") as file:
    for i, (a, b) in enumerate(pairs):
        file.write(json.dumps({"query": a, "positive": b, "negatives": texts[:i % 3]}) + "\n")
END
train() { $BRIM train --model $MODEL --task embedding --output run --overwrite --max-steps 2 --batch-size 8 "$@" 2>&1 | grep -v "^train\|tokens/s\|memory\|tensors\|is new\|are new"; }
train --train pairs.csv --eval pairs.csv
ls run && cat run/modules.json run/1_Pooling/config.json run/config_sentence_transformers.json run/sentence_bert_config.json
python3 -c 'import json; config = json.load(open("run/config.json")); print(config["architectures"], sorted(set(config) & {"id2label", "brim_pooling", "problem_type"}))'
echo a text | $BRIM embed --model run - | cut -c 1-16
echo "--- equal texts"
train --train equal.csv --batch-size 14
python3 -c '
import json
print([{k: line[k] for k in ("step", "rows", "negatives", "equal_texts")} for line in map(json.loads, open("run/log.jsonl")) if line["event"] == "step"])'
echo "--- losses"
train --train scores.csv --eval scores.csv --pooling cls
train --train named.csv --eval named.csv --columns left,right,worse --loss triplet --distance cosine --margin 0.2
train --train named.csv --columns left,worse --matryoshka 8,4 --directions query-to-doc,doc-to-query
train --train lists.jsonl
train --train margins.csv --eval margins.csv
train --train same.csv --max-steps 1
train --train alone.csv --max-steps 1
echo "--- looked at before"
$BRIM plan -t $MODEL --task embedding lists.jsonl --batch-size 8 2>/dev/null | tr -s " " | cut -d " " -f 1-7
$BRIM plan -t $MODEL --task rerank lists.jsonl --batch-size 8 2>/dev/null | tr -s " " | cut -d " " -f 1-7
$BRIM analyze -t $MODEL --task embedding lists.jsonl --max-length 40 --batch-size 8 --html page.html 2>/dev/null | grep "rows,\|none"
grep -c "Texts" page.html
$BRIM analyze -t $MODEL pairs.csv
echo "--- the page of a run"
train --train lists.jsonl --eval pairs.csv > /dev/null
$BRIM report run --quiet && grep -o "Nearest neighbours\|Similarities of what [a-z]* [a-z]*" run/report.html | sort | uniq -c | tr -s " "
echo "--- folds"
train --train scores.csv --folds 2 | tail -1 && ls run | grep -c predictions
train --train named.csv --columns left,right,worse --loss angle
train --train pairs.csv --loss angle
echo "--- a stream"
train --train pairs.csv --stream --loss in-batch
train --train scores.csv --stream --loss cosent
train --train scores.csv --stream --loss online-contrastive
train --train named.csv --columns left,right,worse --stream --loss triplet && echo a stream may have as many texts
train --train lists.jsonl --stream --loss triplet
train --train pairs.csv --stream --loss triplet
train --train pairs.csv --stream
echo "--- refused"
train --train far.csv --loss cosine --stream
train --train pairs.csv --eval lists.jsonl
$BRIM predict --model run pairs.csv 2>&1
train --train one.csv
train --train named.csv
train --train named.csv --columns left,right,wrose
train --train named.csv --columns left,left
train --train pairs.csv --freeze encoder
train --train words.csv
train --train pairs.csv --loss cosent
train --train pairs.csv --loss bce
train --train pairs.csv --loss triplet
train --train scores.csv --loss contrastive --directions query-to-doc
train --train pairs.csv --directions doc-to-query
train --train pairs.csv --columns anchor,nothing
train --train pairs.csv --matryoshka 64
train --train pairs.csv --matryoshka 8,8
train --train pairs.csv --directions query-to-doc,query-to-doc
train --train pairs.csv --hardness own
train --train scores.csv --loss in-batch | grep "does not look"
$BRIM train --model $MODEL --train pairs.csv --output no --loss in-batch
$BRIM train --model $MODEL --train pairs.csv --output no --columns anchor,positive
echo "--- the best of what rows allow"
train --train pairs.csv --eval pairs.csv --best-metric spearman --patience 1
train --train pairs.csv --eval p=pairs.csv --eval s=scores.csv --best-metric s/mrr
train --train margins.csv --eval margins.csv --best-metric mrr
train --train pairs.csv --eval pairs.csv --best-metric nonsense
train --train pairs.csv --eval pairs.csv --best-metric mrr | tail -1 | cut -c 1-30
echo "--- poolings and prompts"
train --train pairs.csv --pooling last,mean,weighted-mean --query-prompt "query=find: " --document-prompt "passage=it says: "
cat run/1_Pooling/config.json run/config_sentence_transformers.json
$BRIM inspect model --model run | grep "^task\|^pooling\|^modules"
echo a text > text.txt && echo "find: a text" > prompted.txt
$BRIM embed --model run --prompt query text.txt > one.jsonl && $BRIM embed --model run prompted.txt > other.jsonl && cmp one.jsonl other.jsonl && echo the prompt is the text before it
train --train pairs.csv --query-prompt poem
train --train pairs.csv --query-prompt "=find: "
train --train pairs.csv --pooling mean,mean
$BRIM train --model $MODEL --train pairs.csv --output no --query-prompt "query=find: " 2>&1
$BRIM train --model $MODEL --train $DATA/train.csv --output no --pooling mean,last 2>&1 | tail -1
echo "--- prompts of columns"
train --train margins.csv --document-prompt "passage=it says: " --column-prompt "query=find=find: " --column-prompt negative=passage
train --train margins.csv --column-prompt "query=find=find: " --eval equal.csv
train --train margins.csv --column-prompt title=poem
train --train margins.csv --column-prompt negative=poem
train --train margins.csv --column-prompt "query=a=b" --column-prompt "negative=a=c"
train --train margins.csv --column-prompt "query=a=b" --column-prompt "query=c=d"
train --train margins.csv --query-prompt "a=x " --column-prompt "query=b=y "
train --train margins.csv --query-prompt "none=x "
train --train margins.csv --column-prompt "negative=n=no: " --eval equal.csv
train --train margins.csv --query-prompt "query=find: " --document-prompt "passage=it says: " > out.txt && mv run/model.safetensors by-role
train --train margins.csv --column-prompt "query=query=find: " --column-prompt "positive=passage=it says: " --column-prompt negative=passage > out.txt
cmp run/model.safetensors by-role && echo one way of saying it has the weights of the other
train --train pairs.csv --stream --loss in-batch --eval pairs.csv --query-prompt "find=find: " > out.txt && mv run/model.safetensors by-role
train --train pairs.csv --stream --loss in-batch --eval pairs.csv --column-prompt "anchor=find=find: " > out.txt
cmp run/model.safetensors by-role && echo of a stream, too
train --train pairs.csv --stream --loss in-batch --eval pairs.csv > out.txt
cmp -s run/model.safetensors by-role || echo which are not those without a prompt
train --train margins.csv --column-prompt "query=find=find: " --column-prompt "positive=find=find: " --column-prompt "negative=no=not: "
echo "--- layers and a dense module"
train --train pairs.csv --layers weighted --dense 8 --dense-activation tanh
cat run/modules.json run/1_WeightedLayerPooling/config.json run/2_Dense/config.json
$BRIM inspect model --model run | grep "^pooling\|^modules\|^of layers"
$BRIM embed --model run text.txt | tr , "\n" | wc -l
$BRIM train --model run --task embedding --train pairs.csv --output further --max-steps 1 > out.txt 2>&1 && grep -c "are not used" out.txt
on() { $BRIM train --model $MODEL --task embedding --train pairs.csv --output run --batch-size 8 --dense 8 --quiet "$@" 2>&1 | sed "s/byte [0-9]*/byte N/"; }
on --layers weighted --dense-activation tanh --max-steps 3 --resume > out.txt && wc -l < out.txt
on --layers weighted --max-steps 3 --resume
cp -r run rectified && sed -i s/activation.Tanh/activation.ReLU/ rectified/2_Dense/config.json && cp -r rectified smooth && sed -i s/ReLU/SiLU/ smooth/2_Dense/config.json
of() { $BRIM train --model $1 --task embedding --train pairs.csv --output bent --batch-size 8 --quiet --max-steps $2 $3 2>&1 | sed "s/byte [0-9]*/byte N/"; }
of rectified 1 > out.txt; of smooth 2 --resume
printf '[{"anchor":"a","positive":"b"},{"anchor":"c" "x"},{"anchor":"d","positive":"e","negative":"z"}]' > damaged.jsonl
train --train damaged.jsonl --columns anchor,positive,negative
train --train pairs.csv --layers joined:2 --pooling cls && ls run && cat run/1_JoinedLayers/config.json
$BRIM inspect model --model run | grep "^pooling\|^modules\|^of layers"
$BRIM embed --model run text.txt | tr , "\n" | wc -l
mv run several
$BRIM predict --model several text.txt 2>&1
$BRIM train --model several --task embedding --train pairs.csv --output run --layers weighted:3 --max-steps 1 --quiet > out.txt
$BRIM train --model run --task embedding --train pairs.csv --output again --layers weighted:2 --max-steps 1 --quiet > out.txt
$BRIM inspect model --model again | grep "^modules"
$BRIM train --model $MODEL --train $DATA/train.csv --output again --overwrite --max-steps 1 --quiet | tail -1
$BRIM predict --model again text.txt | cut -c 1-19
train --train pairs.csv --layers weighted:9
train --train pairs.csv --layers joined
train --train pairs.csv --dense 0
$BRIM train --model $MODEL --train pairs.csv --output no --dense 8 2>&1 | tail -1
$BRIM train --model $MODEL --train $DATA/train.csv --output classes --overwrite --max-steps 1 --layers joined:2 --quiet 2>&1 | tail -1
grep -o '"brim_layers": "[^"]*"' classes/config.json && grep -c joined_layers classes/README.md
$BRIM predict --model classes text.txt | cut -c 1-40
echo "--- from a classifier with a pooling of its own, and back"
$BRIM train --model $MODEL --train $DATA/train.csv --output classes --overwrite --max-steps 1 --pooling max --quiet >/dev/null 2>&1
train --model classes --train pairs.csv --pooling cls,mean
grep -c brim_pooling run/config.json
$BRIM embed --model run text.txt | cut -c 1-16
$BRIM train --model run --train $DATA/train.csv --output classes --overwrite --max-steps 1 --quiet 2>/dev/null | tail -1
echo "--- a teacher's numbers"
python3 - <<'END'
import json
def write(name, row):
    with open(name, "w") as file:
        for i in range(12):
            file.write(json.dumps(row(i)) + "\n")
write("alike.jsonl", lambda i: {"sentence1": f"film {i}", "sentence2": "good", "score": 0.5})
write("vectors.jsonl", lambda i: {"english": f"film {i}", "label": [i / 12, -1, 0.5]})
write("margins.jsonl", lambda i: {"query": f"film {i}", "positive": "good", "negative_1": "bad", "negative_2": f"{i}", "scores": [i, 0, -i]})
END
train --train vectors.jsonl --teacher-column label --max-tokens 30
train --train margins.jsonl --teacher-column scores
train --train margins.jsonl --teacher-column scores --loss distill-kl
train --train margins.jsonl --teacher-column scores --loss in-batch
train --train margins.jsonl --loss mse-vectors
train --train vectors.jsonl --teacher-column english
train --train pairs.csv --teacher-column nothing
"$BRIM" train -m "$MODEL" --train alike.jsonl --task embedding --loss cosent --max-steps 1 -o alike 2>&1 >/dev/null | grep "all scores"
