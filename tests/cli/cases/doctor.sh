$BRIM doctor --json | python3 -c 'import json,sys; d = json.load(sys.stdin); print(sorted(d), all(x > 0 for s in d["gemm"] for x in s["gflops"]))'
$BRIM doctor | grep -oE '^(brim|kernels|products  |precisions|files|devices|processes|products, GFLOP/s)'
$BRIM doctor --no-speed | grep -c 'GFLOP/s'
$BRIM doctor --no-speed --json | python3 -c 'import json,sys; print("gemm" in json.load(sys.stdin))'
