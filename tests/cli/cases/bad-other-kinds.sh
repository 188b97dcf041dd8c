# Files of other programs under the names of data: each is called what it is.
kind() {
  printf "$1" >rows.csv
  head -c 300 /dev/zero >>rows.csv
  "$BRIM" tokenize -t "$MODEL" rows.csv
}
kind 'PK\003\004'
kind 'PAR1'
kind 'ARROW1'
kind 'SQLite format 3'
kind '%%PDF-1.7'
kind '\211PNG'
kind '\223NUMPY'
kind '\177ELF'
kind '7z\274\257'
kind 'Rar!\032'
kind '\004"M\030'
kind '\037\235'
kind '\211HDF'
kind '\200\004\225'
kind 'Obj\001'
kind '\320\317\021\340'
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 2\n' >rows.csv
"$BRIM" tokenize -t "$MODEL" rows.csv
gzip -c "$DATA/test.csv" | gzip -c >twice.csv.gz
"$BRIM" tokenize -t "$MODEL" twice.csv.gz
cp "$DATA/test.csv" . && tar czf table.csv.gz test.csv
"$BRIM" tokenize -t "$MODEL" table.csv.gz
true
