#!/bin/bash
# What real daemons recorded runs again in the simulator, to the same digest: a process dies and a
# node dies, and the recording of every daemon that lived to the end is replayed.
set -u
folder=$(mktemp -d) || exit 1
launcher=
clean() {
    [ -z "$launcher" ] || kill -KILL "$launcher" 2>/dev/null
    rm -rf "$folder"
}
trap clean EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }

# until TRIES COMMAND...: a twentieth of a second between two tries
until_true() {
    local tries=$1
    shift
    while ! "$@"; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || return 1
        sleep 0.05
    done
}

nodes=6
"$MUSTER" run --nodes $nodes -n 12 --on-failure continue --record "$folder/records" sh -c '
    echo $$ > '"$folder"'/pid-$MUSTER_RANK.new
    mv '"$folder"'/pid-$MUSTER_RANK.new '"$folder"'/pid-$MUSTER_RANK
    while [ ! -e '"$folder"'/over ]; do sleep 0.02; done' 2>"$folder/log" &
launcher=$!
all_up() { [ "$(ls "$folder" | grep -c '^pid-[0-9]*$')" = 12 ]; }
until_true 400 all_up || fail "not all processes are up: $(cat "$folder/log")"

kill -KILL "$(cat "$folder/pid-7")"
heard() { grep -q "process 7 on node 3" "$folder/log"; }
until_true 200 heard || fail "the death of process 7 was not told"
daemon=$(ps -o ppid= -p "$(cat "$folder/pid-0")" | tr -d ' ')
kill -KILL "$daemon"
lost() { grep -q "node 0 (node0) is lost" "$folder/log"; }
until_true 200 lost || fail "the loss of node 0 was not told"

: > "$folder/over"
wait "$launcher"
code=$?
launcher=
[ $code = 137 ] || fail "exit code $code is not 137, that of the first failure"

for ((i = 1; i < nodes; i++)); do
    file=$folder/records/node-$i.record
    [ "$(stat -c %a "$file")" = 600 ] || fail "$file can be read by others"
    out=$("$MUSTER" sim replay --json "$file") || fail "node $i: $out"
    # One dead process, one dead node: each of them was told of both, and of what left maybe.
    [[ $out == *'"same":true'* ]] || fail "node $i replays differently: $out"
    [[ $out =~ '"delivered":'([0-9]+) ]] && [ "${BASH_REMATCH[1]}" -ge 2 ] ||
        fail "node $i heard of less than two deaths: $out"
done
# A daemon that was killed left a recording without an end, which is said and not taken for good.
"$MUSTER" sim replay "$folder/records/node-0.record" >/dev/null 2>"$folder/err"
[ $? = 2 ] || fail "a recording without an end was accepted"
echo "ok: $((nodes - 1)) recordings replay to their digests"
