# What another option or the format leaves without effect is refused by a line; nothing is half written.
python3 $FIXTURES model trained --labels 2
seq 3 40 >lengths.txt
printf 'a b\nc d e\n' >t.txt
(echo text,label; for i in 1 2 3 4 5 6; do printf 'a b,x\nc d,y\n'; done) >t.csv
GIVEN=ranks=2,bandwidth=10,latency=5,model=trained,speed=5,update=1
for more in "--world-size 2" "--rank 0" "--epoch 1"; do $BRIM plan --lengths lengths.txt -b 8 --simulate $GIVEN $more; done
$BRIM plan --lengths lengths.txt -b 8 --simulate $GIVEN --jsonl -o out.jsonl && grep -c ranks out.jsonl
$BRIM tokenize --tokenizer trained t.txt --no-header
for more in "--freeze 1" "--train-only *.bias" --checkpoint-activations; do
  $BRIM inspect program --model trained --pass prediction $more
done
$BRIM train --model trained --train t.csv -o refused -b 8 --accumulate 8 --slices 2 --quiet
$BRIM train --model trained --train t.csv -o run -b 8 --quiet >/dev/null
$BRIM report run --csv run.csv -o run.html --data none.csv
ls run.csv run.html 2>/dev/null
$BRIM report run --csv run.csv -o run.html --data t.csv --quiet && ls run.csv run.html
