# Folders of sentence-transformers whose files say more, or are elsewhere, than those that it saves today.
FOLDERS="$CASES/../../golden/tasks/folders"
python3 -c 'import json, sys; [print(json.dumps({"text": t})) for t in json.load(open(sys.argv[1]))["texts"]]' "$FOLDERS/st-cls-dense/texts.json" > texts.jsonl
new() { rm -rf folder && cp -r "$FOLDERS/st-cls-dense" folder && chmod -R u+w folder; }
embed() { "$BRIM" embed -m folder texts.jsonl "$@" 2> said; }
# Where texts are cut, by each name that the file had: the first that says something counts.
new && embed --max-length 6 > six.jsonl && embed --max-length 5 > five.jsonl && cmp -s six.jsonl five.jsonl || echo "some are longer than 5 tokens"
for kind in bert roberta distilbert camembert albert xlm-roberta xlnet; do
  new && rm folder/sentence_bert_config.json && echo '{"max_seq_length": 6}' > folder/sentence_${kind}_config.json
  embed | cmp - six.jsonl && echo "$kind: cut at 6"
done
new && echo '{}' > folder/sentence_bert_config.json
echo '{"max_seq_length": 6}' > folder/sentence_albert_config.json && echo '{"max_seq_length": 5}' > folder/sentence_xlnet_config.json
embed | cmp - six.jsonl && echo "an empty one says nothing"
for given in tokenizer_args processor_kwargs; do
  new && echo '{"max_seq_length": 5, "'$given'": {"model_max_length": 6, "use_fast": true}, "model_args": {"torch_dtype": "float16"}}' > folder/sentence_bert_config.json
  embed | cmp - six.jsonl && echo "$given: cut at 6"
done
# What would make other vectors.
for said in '"tokenizer_args": {"truncation_side": "left"}' '"config_kwargs": {"layer_norm_eps": 0.1}' '"model_args": 5' '"transformer_task": "fill-mask"' \
  '"query_length": 4' '"processing_kwargs": {"text": {"max_length": 5}}' '"modality_config": {"text": {"method": "forward", "method_output_name": "pooler_output"}}'; do
  new && echo "{$said}" > folder/sentence_distilbert_config.json && rm folder/sentence_bert_config.json
  "$BRIM" embed -m folder texts.jsonl
done
# The encoder where modules.json says, and nowhere outside.
new && embed > here.jsonl
for path in encoder 0_Encoder a/b; do
  new && mkdir -p folder/$path && mv folder/config.json folder/model.safetensors folder/tokenizer*.json folder/sentence_bert_config.json folder/$path
  sed -i "0,/\"path\": \"\"/s||\"path\": \"$path\"|" folder/modules.json
  embed | cmp - here.jsonl && "$BRIM" embed -m folder/$path texts.jsonl | cmp - here.jsonl && echo "the encoder in $path"
  "$BRIM" inspect model --model folder | grep modules
done
new && sed -i '0,/"path": ""/s//"path": "..\/folder"/' folder/modules.json && "$BRIM" embed -m folder texts.jsonl
# Folders of other classes.
kind() { new && echo "{\"model_type\": $1, \"prompts\": {\"query\": \"good \"}, \"default_prompt_name\": \"query\"}" > folder/config_sentence_transformers.json; }
kind '"SparseEncoder"' && "$BRIM" embed -m folder texts.jsonl
kind null && "$BRIM" embed -m folder texts.jsonl
kind '"CrossEncoder"' && "$BRIM" embed -m folder texts.jsonl > averaged.jsonl && rm folder/modules.json folder/config_sentence_transformers.json
embed | cmp - averaged.jsonl && echo "the mean of the tokens"
new && sed -i 's/\.Pooling/.SpladePooling/' folder/modules.json && "$BRIM" embed -m folder texts.jsonl
true
