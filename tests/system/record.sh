#!/bin/bash
# What real daemons recorded runs again in the simulator, event by event to the same digests: a
# process dies, a node is stopped and then killed, the others agree, and processes meet by PMI-1.
set -u
build=$(cd "$(dirname "$MUSTER")/.." && pwd)
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

nodes=5 lost=3
"$MUSTER" run --nodes $nodes -n 10 --on-failure continue --heartbeat 100ms,1s --record "$folder/records" sh -c '
    echo $$ > '"$folder"'/pid-$MUSTER_RANK.new
    mv '"$folder"'/pid-$MUSTER_RANK.new '"$folder"'/pid-$MUSTER_RANK
    while [ ! -e '"$folder"'/go ]; do sleep 0.02; done
    exec '"$build"'/examples/solve 1@2' >"$folder/out" 2>"$folder/log" &
launcher=$!
all_up() { [ "$(ls "$folder" | grep -c '^pid-[0-9]*$')" = 10 ]; }
until_true 400 all_up || fail "not all processes are up: $(cat "$folder/log")"

kill -KILL "$(cat "$folder/pid-9")"
heard() { grep -q "rank 9 failed on node 4" "$folder/log"; }
until_true 200 heard || fail "the death of process 9 was not told: $(cat "$folder/log")"
daemon=$(ps -o ppid= -p "$(cat "$folder/pid-$((2 * lost))")" | tr -d ' ')
kill -STOP "$daemon"
is_lost() { grep -q "node $lost (node$lost) failed" "$folder/log"; }
until_true 400 is_lost || fail "the loss of node $lost was not told: $(cat "$folder/log")"
kill -KILL "$daemon"

: > "$folder/go"
wait "$launcher"
launcher=
grep -q "cos x = x" "$folder/out" || fail "nothing was agreed on: $(cat "$folder/out" "$folder/log")"

# replay FILE: one JSON object in 'replayed'
replay() {
    replayed=$("$MUSTER" sim replay --json "$1") || fail "$1: $replayed"
    [[ $replayed == *'"same":true'* ]] || fail "$1 replays differently: $replayed"
}
number() { [[ $replayed =~ "\"$1\":"([0-9]+) ]] && echo "${BASH_REMATCH[1]}"; }

for ((i = 0; i < nodes; i++)); do
    [ "$(stat -c %a "$folder/records/node-$i")" = 700 ] || fail "node $i's folder can be read by others"
    for door in node ring agree; do
        replay "$folder/records/node-$i/$door.record"
        if [ $i = $lost ]; then # it was killed: all but the end is there
            [[ $replayed == *'"end":"cut"'* ]] || fail "who was killed wrote an end: $replayed"
            [ "$(number events)" -ge 1 ] || fail "who was killed left nothing: $replayed"
            continue
        fi
        [[ $replayed == *'"end":"complete"'* ]] || fail "node $i, $door: no end: $replayed"
        [ "$(number effects)" -gt 0 ] || fail "node $i, $door: nothing came of it: $replayed"
        [ $door != node ] || [ "$(number delivered)" -ge 2 ] || fail "node $i heard of less than two deaths"
    done
done

# Processes that meet by PMI-1: exchanges, one stream for each series of them.
cat >"$folder/meet" <<'END'
say() { echo "$1" >&"$PMI_FD" && read -r -t 60 -u "$PMI_FD" answer; }
say "cmd=init pmi_version=1 pmi_subversion=1" && say "cmd=barrier_in" && [ "$answer" = "cmd=barrier_out" ] || exit 1
say "cmd=finalize"
END
"$MUSTER" run --nodes 3 -n 6 --record "$folder/meeting" bash "$folder/meet" </dev/null >"$folder/out" 2>&1 ||
    fail "PMI-1: $(cat "$folder/out")"
for i in 0 1 2; do
    replay "$folder/meeting/node-$i/gather-1.record"
    [ "$(number effects)" -gt 0 ] || fail "node $i gathered nothing: $replayed"
done

# All of a folder at once; and one event that is another one than it was.
"$MUSTER" sim replay "$folder/records" >"$folder/out" || fail "the folder: $(cat "$folder/out")"
[ "$(grep -c 'the same' "$folder/out")" -ge $((3 * nodes)) ] || fail "not all of the folder: $(cat "$folder/out")"
broken=$folder/records/node-0/agree.record
byte=$(od -An -tu1 -j 60 -N 1 "$broken")
printf "\\x$(printf %x $((byte ^ 1)))" | dd of="$broken" bs=1 seek=60 conv=notrunc status=none
"$MUSTER" sim replay "$folder/records" >"$folder/out" 2>&1 && fail "another event was taken for the same"
grep -q "DIFFERENT\|byte " "$folder/out" || fail "nothing is said of another event: $(cat "$folder/out")"
echo "ok: $((3 * nodes)) streams replay to their digests"
