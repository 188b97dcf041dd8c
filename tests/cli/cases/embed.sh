# Vectors of texts: those of sentence-transformers for its folders; the same alone and together; JSON lines and numpy's arrays.
FOLDERS="$CASES/../../golden/tasks/folders"
texts() { python3 -c 'import json, sys; [print(json.dumps({"text": t})) for t in json.load(open(sys.argv[1]))["texts"]]' "$1/texts.json" > texts.jsonl; }
check() { "$BRIM" embed -m "$FOLDERS/$1" texts.jsonl $3 > out.jsonl && python3 "$CASES/../embedded.py" "$FOLDERS/$1" "$2" out.jsonl; }
texts "$FOLDERS/st-old-form" && check st-old-form embeddings
texts "$FOLDERS/st-mean-normalize" && check st-mean-normalize embeddings
texts "$FOLDERS/st-max" && check st-max embeddings
# A folder that says no prompts has these two, empty, as in sentence-transformers.
cp -r "$FOLDERS/st-max" bare && chmod -R u+w bare && echo '{}' > bare/config_sentence_transformers.json
for name in query document; do "$BRIM" embed -m bare texts.jsonl --prompt $name | cmp - out.jsonl && echo "no prompt: $name"; done
texts "$FOLDERS/st-cls-dense" && check st-cls-dense embeddings
# The encoder one folder below, as older folders have it.
cp -r "$FOLDERS/st-cls-dense" older && chmod -R u+w older && mkdir older/0_Transformer
mv older/config.json older/model.safetensors older/tokenizer*.json older/sentence_bert_config.json older/0_Transformer
sed -i '0,/"path": ""/s//"path": "0_Transformer"/' older/modules.json
"$BRIM" embed -m older texts.jsonl > out.jsonl && python3 "$CASES/../embedded.py" "$FOLDERS/st-cls-dense" embeddings out.jsonl
texts "$FOLDERS/st-prompts" && check st-prompts embeddings && check st-prompts queries "--prompt query"
check st-prompts documents "--prompt document" && check st-prompts no_prompt "--prompt none"
cp out.jsonl together.jsonl
"$BRIM" embed -m "$FOLDERS/st-prompts" texts.jsonl --prompt none --batch-size 1 -j 3 > alone.jsonl
cmp alone.jsonl together.jsonl && echo "alone as together"
"$BRIM" embed -m "$FOLDERS/st-prompts" texts.jsonl --dimensions 4 --normalize -o four.npy
python3 -c '
import struct
data = open("four.npy", "rb").read()
print(data[:6], data[10:128].decode().split(", }")[0], len(data))
print([round(sum(x * x for x in struct.unpack("<4f", data[128 + 16 * i:144 + 16 * i])), 5) for i in range(3)])'
"$BRIM" embed -m "$FOLDERS/st-prompts" texts.jsonl --prompt poem
"$BRIM" embed -m "$FOLDERS/st-prompts" texts.jsonl --dimensions 17
"$BRIM" embed -m "$MODEL" texts.jsonl --max-length 8 > mean.jsonl
cp -r "$FOLDERS/st-old-form" other && sed -i 's/models.Dense/models.LSTM/' other/modules.json
"$BRIM" embed -m other texts.jsonl
# What sentence-transformers would not take has no vectors here either.
cp -r "$FOLDERS/st-prompts" folder && chmod -R u+w folder
cp -r folder short && sed -i 's/^{/{"truncate_dim": 4,/' short/config_sentence_transformers.json
"$BRIM" embed -m short texts.jsonl --normalize -o short.npy && cmp short.npy four.npy && echo "as many numbers as the folder says"
refused() {
  cp "folder/$1" kept && echo "$2" > "folder/$1"
  "$BRIM" embed -m folder texts.jsonl
  mv kept "folder/$1"
}
transformer='{"idx": 0, "path": "", "type": "sentence_transformers.models.Transformer"}'
refused modules.json '[]'
refused modules.json '[{"idx": 0, "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}]'
refused modules.json '[{"idx": 0, "path": "", "type": "sentence_transformers.models.StaticEmbedding"}]'
refused modules.json "[$transformer]"
refused modules.json "[$transformer, {\"path\": \"2_Normalize\", \"type\": \"sentence_transformers.models.Normalize\"}]"
refused 1_Pooling/config.json '{"word_embedding_dimension": 16, "pooling_mode_mean_tokens": false}'
refused config_sentence_transformers.json '{"prompts": {"query": "q: "}, "default_prompt_name": "poem"}'
refused config_sentence_transformers.json '{"prompts": {"query": 5}}'
refused config_sentence_transformers.json '{"prompts": ["query: "]}'
refused config_sentence_transformers.json '[]'
refused config_sentence_transformers.json '{"truncate_dim": 0}'
refused sentence_bert_config.json null
pooling='{"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}'
layers='{"path": "1_Layers", "type": "sentence_transformers.models.WeightedLayerPooling"}'
refused modules.json "[$transformer, $layers, $pooling]"
mkdir folder/1_Layers && echo '{"word_embedding_dimension": 16, "layer_start": 1, "num_hidden_layers": 2}' > folder/1_Layers/config.json
refused modules.json "[$transformer, $layers, $pooling]"
cp folder/model.safetensors folder/1_Layers
refused modules.json "[$transformer, $layers, $pooling]"
refused modules.json "[$transformer, $pooling, $layers]"
echo '{"word_embedding_dimension": 16, "layer_start": 3, "num_hidden_layers": 2}' > folder/1_Layers/config.json
refused modules.json "[$transformer, $layers, $pooling]"
# A pipe cannot take an array, whose head is written last: that is known before the work.
mkfifo pipe.npy && "$BRIM" embed -m "$FOLDERS/st-prompts" texts.jsonl -o pipe.npy
: > none.txt
"$BRIM" embed -m "$FOLDERS/st-prompts" none.txt
