printf '[{"ids":[2,50,60,3],"type_ids":[0,0,0,0],"label":1},{"ids":[2,70,3],"label":0}]' >batch.json
printf '{"hyperparameters":{"lr":0.01,"beta1":0.9,"beta2":0.999,"eps":1e-8,"weight_decay":0.01,"max_grad_norm":1.0,"total_steps":2,"warmup_steps":1,"schedule":"linear","step_rows":[[0,1],[1]]}}' >h.json
python3 $FIXTURES model trained --labels 2
$BRIM inspect gradients --model trained --batch batch.json -o g.safetensors
cat batch.json | $BRIM inspect gradients --model trained --batch - -o piped.safetensors && cmp g.safetensors piped.safetensors && echo "from a pipe"
$BRIM inspect trajectory --model trained --batch batch.json --hyperparameters h.json -o t.safetensors |
  python3 -c 'import json,sys; print([list(json.loads(line)) for line in sys.stdin])'
python3 - <<'END'
import json, struct
for name in ("g", "t"):
    data = open(name + ".safetensors", "rb").read()
    header = json.loads(data[8 : 8 + struct.unpack("<Q", data[:8])[0]])
    print(name, len(header), header.get("hidden", header.get("classifier.bias"))["shape"])
END
