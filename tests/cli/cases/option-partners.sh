# An option that another one makes useless is refused, whether it comes from the command line or from a file. At its default, or off, it
# says nothing and is fine: then the missing model is what is wrong.
train() {
  $BRIM train -m none --train none.csv -o run "$@" || echo "$?" "$@"
}
train --labels a --labels b
train --weight 2
train --repeat
train --shuffle-window 10
train --prefetch 0
train --overwrite --resume
train --warmup-steps 10 --warmup-ratio 0.1
$BRIM plan -t none --rank-slices none.csv || echo $? plan
printf '{"shuffle-window": 7}' >window.json
train --config window.json
printf '{"shuffle-window": 100000, "prefetch": 1, "repeat": false, "resume": false, "warmup-steps": 0}' >defaults.json
train --config defaults.json --overwrite --warmup-ratio 0.1
# Another name of --shuffle-window, and of nothing else.
train --buffer-size 10
