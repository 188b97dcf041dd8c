# A folder that was copied in part has links whose files are not there: what they name is missing, not absent.
tell() {
  cp -r "$1" folder && chmod -R u+w folder
  rm -f "folder/$2" && ln -s ../blobs/0123 "folder/$2"
  shift 2
  "$BRIM" "$@" -q 2>&1 | head -n 1
  rm -r folder
}
cp -r "$CASES/../../golden/tasks/folders/st-prompts" vectors && chmod -R u+w vectors
tell "$MODEL" tokenizer_config.json tokenize -t folder "$DATA/test.csv"
tell "$MODEL" special_tokens_map.json tokenize -t folder "$DATA/test.csv"
tell "$MODEL" vocab.txt tokenize -t folder "$DATA/test.csv"
tell "$MODEL" model.safetensors inspect model -m folder
for name in tokenizer.json modules.json config_sentence_transformers.json sentence_bert_config.json 1_Pooling/config.json; do
  tell vectors $name embed -m folder "$DATA/test.csv"
done
