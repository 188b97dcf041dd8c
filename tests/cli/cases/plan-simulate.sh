# Steps on many ranks, with a given speed: whole numbers of what a model of formulas says; what is missing or wrong is named.
GIVEN=ranks=12,bandwidth=1,latency=50,model=$MODEL,speed=10,update=0.5
$BRIM plan --lengths $DATA/lengths.txt --max-length 32 -b 64 --simulate $GIVEN
$BRIM plan --lengths $DATA/lengths.txt --max-length 32 -b 64 --jsonl --simulate $GIVEN | cut -d, -f1-4
$BRIM plan --lengths $DATA/lengths.txt --max-length 32 -b 8 --simulate ranks=2,bandwidth=1,latency=50,model=$MODEL | head -n 1 | cut -c1-16
for wrong in ranks=2 ranks=2,speed ranks=x,bandwidth=1 ranks=1e9,bandwidth=1,latency=1,model=m ranks=2,ranks=4; do
  $BRIM plan --lengths $DATA/lengths.txt --simulate $wrong && echo "it was taken"
done
$BRIM plan $DATA/train.csv -t $MODEL --quiet --max-length 5 --windows 1 -b 64 --jsonl --simulate $GIVEN | cut -d, -f1-4
$BRIM plan $DATA/train.csv -t $MODEL --stream --simulate $GIVEN
$BRIM plan $DATA/train.csv -t $MODEL --stream --cache kept
