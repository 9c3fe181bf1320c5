#!/bin/bash
# timeout: 300
# What 'muster run' does with output and input: whole lines, tags, files to the byte, readers that are slow or gone.
. "$(dirname "$0")/run_common.sh"

# ---- one process: as it comes ----

run printf 'a\nno end'
[ "$(cat out; echo .)" = "$(printf 'a\nno end.')" ] || complain "bytes of one process are passed on as they are"
head -c 3000000 /dev/urandom >random
run cat random
cmp -s out random || complain "random bytes through standard output"
run sh -c 'cat random >&2'
cmp -s err random || complain "random bytes through standard error"

# ---- whole lines ----

# Each rank writes lines in two parts, with others in between.
lines='i=0; while [ $i -lt 200 ]; do printf "rank %d line %d " $MUSTER_RANK $i; printf "%s\n" "and more of it"; i=$((i + 1)); done; printf "end of $MUSTER_RANK"'
run --nodes 4 -n 8 sh -c "$lines"
expect 0 "whole lines"
[ "$(grep -cxE 'rank [0-7] line [0-9]+ and more of it' out)" -eq 1600 ] || complain "lines are mixed"
[ "$(grep -cxE 'end of [0-7]' out)" -eq 8 ] || complain "last lines without an end are glued"
for ((rank = 0; rank < 8; rank++)); do
    grep -E "^rank $rank " out | cut -d ' ' -f 4 | cmp -s - <(seq 0 199) || complain "lines of rank $rank are not in order"
done

run --nodes 2 -n 4 --tag-output sh -c 'echo "one $MUSTER_RANK"; echo "two $MUSTER_RANK" >&2; printf three'
expect 0 "--tag-output"
sort out | cmp -s - <(for r in 0 1 2 3; do printf '[%d] one %d\n[%d] three\n' $r $r $r; done | sort) || complain "--tag-output"
sort err | cmp -s - <(for r in 0 1 2 3; do printf '[%d!] two %d\n' $r $r; done) || complain "--tag-output on standard error"
run --tag-output echo alone
[ "$(cat out)" = "[0] alone" ] || complain "--tag-output of one process"

# Both into one file: nothing is mixed there, either.
MUSTER_TEST=$tag timeout 60 "$MUSTER" run --nodes 2 -n 4 sh -c "($lines) & ($lines) >&2; wait" >out 2>&1
[ "$(grep -cxE 'rank [0-3] line [0-9]+ and more of it' out)" -eq 1600 ] || complain "lines of standard output and error are mixed"

# A line that is longer than anybody keeps, while others write.
cat >long.sh <<'END'
if [ $MUSTER_RANK = 0 ]; then head -c 5000000 /dev/zero | tr '\0' x; echo; else
i=0; while [ $i -lt 300 ]; do echo "short $MUSTER_RANK $i"; i=$((i + 1)); done; fi
END
# It is broken when its process says nothing for a second: with sanitizers, beside other tests, that happens.
tries=1
[ "$MUSTER_SANITIZED" = 0 ] || tries=4
while
    run --nodes 2 -n 4 sh long.sh
    expect 0 "a long line"
    [ "$(grep -cxE 'x{100}x*' out)" -ne 1 ] || [ "$(grep -E '^x' out | wc -c)" -ne 5000001 ]
do
    [ $((tries -= 1)) -gt 0 ] || { complain "a long line is broken"; break; }
done
[ "$(grep -cxE 'short [1-3] [0-9]+' out)" -eq 900 ] || complain "short lines beside a long one"

# Lines without an end from everybody, more than all of them may have on its way: nobody waits forever.
run --nodes 2 -n 8 sh -c 'head -c 700000 /dev/zero | tr "\0" $MUSTER_RANK'
expect 0 "many long lines without an end"
for ((rank = 0; rank < 8; rank++)); do
    [ "$(tr -cd $rank <out | wc -c)" -eq 700000 ] || complain "a long line without an end, of rank $rank"
done
run --nodes 2 -n 8 sh -c 'head -c 1700000 /dev/zero | tr "\0" $MUSTER_RANK'
expect 0 "many lines over the most, without an end"
for ((rank = 0; rank < 8; rank++)); do
    [ "$(tr -cd $rank <out | wc -c)" -eq 1700000 ] || complain "a line over the most, of rank $rank"
done

# ---- files ----

run --nodes 2 -n 4 --output-dir files sh -c 'echo "out $MUSTER_RANK"; printf "err %s" $MUSTER_RANK >&2'
expect 0 "--output-dir"
[ ! -s out ] && [ ! -s err ] || complain "--output-dir: something on the terminal"
for ((rank = 0; rank < 4; rank++)); do
    cmp -s files/rank-$rank.out <(echo "out $rank") || complain "files/rank-$rank.out"
    cmp -s files/rank-$rank.err <(printf "err $rank") || complain "files/rank-$rank.err"
done
run --output-dir files true # again: emptied
[ -e files/rank-0.out ] && [ ! -s files/rank-0.out ] || complain "--output-dir: an old file is emptied"
head -c $((64 * 1024 * 1024)) /dev/urandom >big
run --nodes 2 -n 2 --output-dir files sh -c '[ $MUSTER_RANK = 1 ] && cat big || cat big >&2'
expect 0 "--output-dir, 64 MiB each"
cmp -s files/rank-1.out big || complain "64 MiB in a file"
cmp -s files/rank-0.err big || complain "64 MiB of standard error in a file"
run cat big
cmp -s out big || complain "64 MiB through standard output"
run --nodes 4 -n 300 --output-dir many sh -c 'echo $MUSTER_RANK; echo $MUSTER_RANK'
expect 0 "600 files"
for ((rank = 0; rank < 300; rank++)); do printf '%d\n%d\n' $rank $rank | cmp -s - many/rank-$rank.out || complain "many/rank-$rank.out"; done
: >file
run --output-dir file true
expect 1 "--output-dir into a file"
says "file: Not a directory"
if [ -w /dev/full ]; then
    mkdir full
    ln -s /dev/full full/rank-0.out
    run --output-dir full sh -c 'echo x; sleep 1000'
    expect 1 "--output-dir on a full disk"
    says "cannot write to full/rank-0.out: No space left on device"
    MUSTER_TEST=$tag timeout 60 "$MUSTER" run -n 2 sh -c 'echo x; sleep 1000' >/dev/full 2>err
    code=$?
    expect 1 "standard output on a full disk"
    says "cannot write to standard output: No space left on device"
fi

# ---- readers ----

# One that goes away: the job ends.
{ MUSTER_TEST=$tag timeout 60 "$MUSTER" run --nodes 2 -n 4 sh -c 'while :; do echo y; done' 2>err; echo $? >code; } | head -1 >out
code=$(cat code)
expect 141 "nobody reads any more"
[ "$(cat out)" = y ] && [ ! -s err ] || complain "nobody reads any more"

# One that does not read: the processes wait, the launcher does not, and a death is known all the same.
mkfifo fifo
big='if [ $MUSTER_RANK = 1 ]; then until [ -e die ]; do sleep 0.02; done; kill -KILL $$; fi; head -c 10000000 /dev/zero | tr "\0" "z" | fold -w 99; echo "whole $MUSTER_RANK"'
MUSTER_TEST=$tag timeout -k 5 100 "$MUSTER" run --nodes 3 -n 3 --on-failure continue --report slow sh -c "$big" >fifo 2>err &
launcher=$!
exec 7<fifo
IFS= read -r first <&7
touch die
until_true 30 grep -qs '"rank":1' slow || complain "a death is not known while nobody reads"
[ "$(grep -o '"node":[0-9]*,"ms"' slow | wc -l)" -eq 3 ] || complain "not every node has told while nobody reads"
{ printf '%s\n' "$first"; cat <&7; } >out
exec 7<&-
wait $launcher
code=$?
expect 137 "a slow reader"
[ "$(tr -cd z <out | wc -c)" -eq 20000000 ] && [ "$(grep -cxE '(z+)?whole [02]' out)" -eq 2 ] || complain "a slow reader misses something"
rss() { awk '/^VmHWM/ { print $2 }' "/proc/$1/status"; }
MUSTER_TEST=$tag "$MUSTER" run --nodes 2 -n 4 sh -c 'while :; do echo 0123456789012345678901234567890123456789; done' >fifo 2>err &
launcher=$!
exec 7<fifo
# It has taken what it takes when its processes stand still.
still() { local a; a=$(cat /proc/$launcher/io 2>/dev/null | head -1); sleep 0.3; [ "$a" = "$(cat /proc/$launcher/io 2>/dev/null | head -1)" ]; }
until_true 30 still || complain "nobody reads, and the processes are not held back"
[ "$MUSTER_SANITIZED" = 1 ] || [ "$(rss $launcher)" -lt 65536 ] || complain "nobody reads, and $(rss $launcher) kB pile up"
kill -TERM $launcher
until_true 5 gone $launcher || complain "SIGTERM while nobody reads"
wait $launcher
exec 7<&-

# ---- standard input: of rank 0 ----

seq 100000 >numbers
run -n 3 --nodes 3 cat <numbers
expect 0 "standard input"
cmp -s out numbers || complain "standard input goes to rank 0"
run cat <big
cmp -s out big || complain "64 MiB through standard input"
run -n 2 sh -c 'read line; echo "$MUSTER_RANK read: $line"' <<<"only one"
[ "$(sort out | xargs -d '\n' printf '%s;')" = "0 read: only one;1 read: ;" ] || complain "standard input of others is empty"
run cat </dev/null
expect 0 "standard input from /dev/null"
run cat <&-
expect 0 "standard input closed"
# A reader that does not read, and a writer that does not end.
yes | { MUSTER_TEST=$tag timeout 60 "$MUSTER" run sh -c 'read a; read b; echo $a$b' >out 2>err; echo $? >code; }
code=$(cat code)
expect 0 "input without an end"
[ "$(cat out)" = yy ] || complain "input without an end"

nothing_left 10 "after all that"
finish
