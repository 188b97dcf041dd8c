# A run of 100,000 steps is a page of less than 1 MB, and its single peaks are in it.
mkdir run
python3 - <<'END'
import math
with open("run/log.jsonl", "w") as out:
    print('{"event":"start","version":"x","options":{"lr":5e-5}}', file=out)
    for i in range(1, 100001):
        loss = 77.5 if i == 54321 else math.exp(-i / 4e4) + math.sin(i * i) / 9
        print(f'{{"event":"step","step":{i},"loss":{loss:.6f},"lr":{5e-5 * (1 - i / 1e5):.9f},"grad_norm":{1 + math.cos(i):.6f},"rows":16,'
              f'"tokens":{3000 + i % 977},"slots":6400,"seconds":{i * 0.25}}}', file=out)
END
$BRIM report run -o page.html --quiet
python3 -c 'page = open("page.html").read(); print(len(page) < 1e6, "100,000" in page, ">77.5<" in page, page.count("<figure>"))'
