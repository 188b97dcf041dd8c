# A call continues with the vectors that a failure left, to the bytes of a run that never stopped; what differs is named and refused.
FOLDERS="$CASES/../../golden/tasks/folders"
embed() { "$BRIM" embed -m "$FOLDERS/st-prompts" "$@"; }
python3 -c '
words = "red green blue small large round".split()
lines = [" ".join(words[(i * k) % 6] for k in range(1, 2 + i % 4)) for i in range(8500)]
open("all.jsonl", "w").writelines("{\"text\": \"%s\"}\n" % line for line in lines)
open("broken.jsonl", "w").writelines("{\"text\": \"%s\"}\n" % line if i != 8300 else "broken\n" for i, line in enumerate(lines))'
sed '17s/"}/ other"}/' all.jsonl > other.jsonl
head -100 all.jsonl > short.jsonl
for form in npy jsonl; do
  embed all.jsonl -o whole.$form
  embed broken.jsonl -o part.$form
  ls part.* && [ $form = jsonl ] || python3 -c '
data = open("part.npy.partial", "rb").read()
print(data[10:128].decode().split(", }")[0], len(data))'
  embed all.jsonl -o part.$form
  embed all.jsonl -o part.$form --resume --normalize
  embed other.jsonl -o part.$form --resume
  embed short.jsonl -o part.$form --resume
  cp part.$form.partial kept && cp part.$form.partial.json noted
  printf wrong | dd of=part.$form.partial bs=1 seek=4000 conv=notrunc status=none
  embed all.jsonl -o part.$form --resume
  cp kept part.$form.partial
  printf 'half of a window' >> part.$form.partial
  embed all.jsonl -o part.$form --resume
  cmp whole.$form part.$form && ls part.*
  rm part.*
done
# What lies where vectors are written first, and is another's, stays.
echo mine > new.npy.partial
embed short.jsonl -o new.npy
echo '{"mine": true}' > new.npy.partial.json
embed short.jsonl -o new.npy
cat new.npy.partial* && rm new.npy.*
# What is noted of vectors that are not there goes with a call that fails.
cp noted left.npy.partial.json
tail -210 broken.jsonl > bad.jsonl
embed bad.jsonl -o left.npy
ls left.* 2>&1 | sed 's/.*: //'
embed all.jsonl --resume -o /dev/null
embed all.jsonl --resume > out
embed short.jsonl --resume -o new.npy && ls new.*
