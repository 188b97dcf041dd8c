# Weights of classes whose names hold commas, equal signs and quotes: the weights that they mean are those of plain names.
python3 - <<'END'
rows = ['text,label'] + [f'{word} film,{n}' for word, n in (("good", 0), ("bad", 1), ("some", 2)) for _ in range(8)]
names = ['"a, b=c"', '"""x"" y"', 'plain']
for file, classes in (("odd.csv", names), ("plain.csv", "yxz")):
    open(file, "w").write("\n".join([rows[0]] + [f"{row[:-1]}{classes[int(row[-1])]}" for row in rows[1:]]) + "\n")
END
train() { $BRIM train --model $MODEL --overwrite --output run --max-steps 3 --batch-size 8 --quiet --batching sequential "$@" 2>&1 | sed 's/ in [0-9:]* (.*),/,/'; }
train --train odd.csv --class-weights '"a, b=c"=3,"""x"" y"=0.5,"plain"=2' | tee odd
train --train plain.csv --class-weights y=3,x=0.5,z=2 > plain
train --train plain.csv > even
cmp odd plain && ! cmp -s odd even && echo "the same loss"
train --train odd.csv --class-weights 'a, b=c=3'
train --train odd.csv --class-weights '"a, b=c=3'
train --train odd.csv --class-weights '"a, b=c"3'
train --train odd.csv --class-weights '"a, b"=3'
train --train odd.csv --class-weights '"plain"=1,plain=2'
