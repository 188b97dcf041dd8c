# Losses of numbers: a line each; what brim does not know is said, at the end too.
cat > losses.json <<'X'
[{"loss": "in-batch", "options": {"scale": 1, "similarity": "dot"}, "columns": [[[1, 0], [0, 1]], [[1, 0], [0, 1]]]},
 {"loss": "mse", "logits": [1, 2], "labels": [1, 0]}]
X
"$BRIM" inspect losses losses.json
printf '[{"loss": "nobody", "logits": [1]}]' > unknown.json
"$BRIM" inspect losses unknown.json
printf '[{"loss": "cosine", "columns": [[[1, 0]], [[0, 1]]]}]' > bare.json
"$BRIM" inspect losses bare.json
printf '[{"loss": "mnrl", "columns": [[[1, 0]], [[0, 1], [2]]]}]' > odd.json
"$BRIM" inspect losses odd.json
printf '[{"queries": [{"scores": [2, 1], "relevant": [0, 1]}]}]' > ranks.json
"$BRIM" inspect metrics --kind reranking ranks.json
"$BRIM" inspect metrics --kind retrieval ranks.json
