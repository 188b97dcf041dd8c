# What can be read once has the columns that a file has: texts, scores and negatives are found by the same names.
python3 - <<'END'
import json
def lines(name, rows):
    with open(name, "w") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
words = "film plot actor story good bad great dull".split()
text = lambda i: " ".join(words[(i * k) % 8] for k in (1, 3, 5))
pairs = [{"sentence1": text(i), "sentence2": text(i + 2), "score": i % 3 / 2} for i in range(12)]
lines("scored.jsonl", pairs)
json.dump(pairs, open("scored.json", "w"), indent=1)
open("scored.csv", "w").write("sentence1,sentence2,score\n" + "".join(f"{r['sentence1']},{r['sentence2']},{r['score']}\n" for r in pairs))
lines("negatives.jsonl", [{"anchor": text(i), "positive": text(i + 1), **({"negative": text(i + 2)} if i > 8 else {})} for i in range(12)])
lines("rerank.jsonl", [{"query": text(i % 4), "document": text(i), "label": i % 2} for i in range(12)])
lines("groups.jsonl", [{"query": text(i), "documents": [text(i + 1), text(i + 2)], "scores": [1, 0]} for i in range(12)])
lines("large.jsonl", [{"anchor": text(i), "positive": text(i + 1)} for i in range(20000)])
END
gzip -k scored.jsonl && mkfifo pipe.jsonl
train() { "$BRIM" train -m "$MODEL" -o run --overwrite --max-steps 2 -b 4 --seed 1 "$@" 2>&1 | grep -a 'loss:\|columns\|: .*read' | cut -c1-150; cksum < run/model.safetensors > "$name.sum"; }
each() { # FILE FORMAT [OPTION...]: the file, standard input and a named pipe
  file=$1 format=$2; shift 2
  name=file; train --train $file --format $format "$@"
  name=input; cat $file | train --train - --format $format "$@" > out
  name=pipe; timeout 60 sh -c "cat $file > pipe.jsonl" & train --train pipe.jsonl --format $format "$@" >> out; wait
  cmp file.sum input.sum && cmp file.sum pipe.sum && echo same
}
each scored.jsonl jsonl --task embedding --columns sentence1,sentence2
each scored.jsonl jsonl --task embedding
each scored.jsonl.gz jsonl --task embedding --columns sentence1,sentence2
each scored.json jsonl --task embedding --columns sentence1,sentence2
each scored.csv csv --task embedding --columns sentence1,sentence2
each negatives.jsonl jsonl --task embedding
each rerank.jsonl jsonl --task rerank
each groups.jsonl jsonl --task rerank
each scored.jsonl jsonl --task embedding --stream --loss cosent
echo "--- an evaluation, predictions as rows come, and rows that are not known"
cat scored.jsonl | "$BRIM" train -q -m "$MODEL" --task embedding --train scored.jsonl --eval - --format jsonl --max-steps 1 -o evaluated > out && grep -ao '"spearman[a-z_]*"' evaluated/log.jsonl | sort -u
"$BRIM" train -q -m "$MODEL" --task rerank --train rerank.jsonl --max-steps 1 -o ranker > out
answered() { for i in $(seq 6000); do grep -c index answered && return; sleep 0.01; done; } # within a minute
{ head -n 1 rerank.jsonl; answered 2>/dev/null | tail -n 1 > seen; sed -n 2p rerank.jsonl; } | "$BRIM" predict -q -m ranker - --format jsonl --unbuffered > answered
cat seen && grep -c index answered
"$BRIM" predict -q -m ranker rerank.jsonl > of-file && cat rerank.jsonl | "$BRIM" predict -q -m ranker - --format jsonl | cmp - of-file && echo same
cat large.jsonl | "$BRIM" train -q -m "$MODEL" --task embedding --train - --format jsonl --max-steps 1 -o no
cat large.jsonl | "$BRIM" train -q -m "$MODEL" --task embedding --train - --format jsonl --max-steps 1 --columns anchor,positive -o large > out && echo trained
echo "--- a named pipe is read once: no texts of its rows afterwards, and no column of folds"
mkfifo again.jsonl
once() { # OPTION...: what is trained with the pipe, which is written once
  timeout 60 sh -c 'cat rerank.jsonl > again.jsonl' & timeout 60 "$BRIM" train -q -m "$MODEL" --task rerank -o once --overwrite --epochs 1 --seed 1 "$@" > out && echo trained; wait
}
once --train rerank.jsonl --eval again.jsonl
once --train again.jsonl --eval 25%
once --train again.jsonl --folds 2
timeout 60 sh -c 'cat rerank.jsonl > again.jsonl' & timeout 60 "$BRIM" report ranker --data again.jsonl -o page.html; wait
timeout 60 "$BRIM" train -q -m "$MODEL" --task rerank --train again.jsonl --fold-column index -o once --overwrite
timeout 60 sh -c 'cat rerank.jsonl > again.jsonl' & timeout 60 "$BRIM" train -q -m "$MODEL" --task rerank --loss bce --train again.jsonl --stream --max-steps 20 -b 4 -o once --overwrite > out && echo trained until it ends; wait
timeout 60 "$BRIM" analyze -t "$MODEL" again.jsonl --html page.html # which asks for the texts again
