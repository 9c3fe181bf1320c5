#!/bin/bash
# timeout: 300
# 'muster bench' of the ring at small sizes: what nodefail, accuracy and noise print, that everybody was told and nobody
# was accused, and that nothing is left, also when they are interrupted or killed while nodes are stopped.  No figure is
# judged: this machine may be busy, so times are long.
. "$(dirname "$0")/run_common.sh"

# bench ARGUMENTS...: leaves its output in out and err, and the exit code in $code
bench() {
    MUSTER_TEST=$tag timeout -k 5 100 "$MUSTER" bench "$@" >out 2>err
    code=$?
}

# refuses TEXT -- ARGUMENTS...: exit 2, one line on stderr that has TEXT
refuses() {
    local text=$1
    shift 2
    bench "$@"
    [ "$code" -eq 2 ] && [ ! -s out ] && [ "$(wc -l <err)" -eq 1 ] && grep -qF -- "$text" err ||
        complain "exit $code, or not one line that says '$text': muster bench $*"
}

# field PATH: its value in the object in out
field() {
    /usr/bin/python3 -c '
import json, sys
value = json.load(open("out"))
for name in sys.argv[1].split("."):
    value = value[name]
print(value)' "$1" 2>>err
}

# is FIELD VALUE...
is() {
    while [ $# -gt 0 ]; do
        [ "$(field "$1")" = "$2" ] || complain "$1 is '$(field "$1")', not $2"
        shift 2
    done
}

# positive FIELD...: a number above 0
positive() {
    local name
    for name; do
        [[ $(field "$name") =~ ^[0-9]+(\.[0-9]+)?(e-[0-9]+)?$ ]] && [[ ! $(field "$name") =~ ^[0.]+$ ]] ||
            complain "$name is '$(field "$name")'"
    done
}

# count FIELD: a whole number
count() {
    [[ $(field "$1") =~ ^[0-9]+$ ]] || complain "$1 is '$(field "$1")'"
}

# one_object WHAT: it went well, with one line on standard output
one_object() {
    [ "$code" -eq 0 ] && [ "$(wc -l <out)" -eq 1 ] || complain "$1: exit $code"
}

# ---- help, and values that break a rule ----

for command in nodefail accuracy noise; do
    bench $command --help
    [ "$code" -eq 0 ] && [ ! -s err ] && grep -q "^usage: muster bench $command" out || complain "--help: $command"
done
refuses "--nodes is '1'" -- nodefail --nodes 1
refuses "leaves no survivor" -- nodefail --nodes 4 --count 4
refuses "--how is 'drown'" -- nodefail --how drown
refuses "--placement is 'north'" -- nodefail --placement north
refuses "--period-ms 100 --timeout-ms 150" -- nodefail --period-ms 100 --timeout-ms 150
refuses "--period-ms 100 --timeout-ms 150" -- accuracy --period-ms 100 --timeout-ms 150
refuses "--period-ms is '0'" -- noise --period-ms 0

# ---- what they measure ----

times="--period-ms 100 --timeout-ms 1000"
for row in "kill 4 2 1 random" "stop 4 2 1 random" "cut 4 2 1 random" "stop 6 1 3 contiguous" "kill 2 2 1 contiguous"; do
    read -r how nodes procs count placement <<<"$row"
    bench nodefail $times --how "$how" --nodes "$nodes" --procs "$procs" --count "$count" --placement "$placement" \
        --reps 2 --seed 7 --json
    one_object "nodefail: $row"
    is bench nodefail nodes "$nodes" procs "$procs" period_ms 100 timeout_ms 1000 how "$how" count "$count" \
        placement "$placement" reps 2 seed 7 missed 0 false 0
    for figure in detect_ms each_node_ms all_told_ms host_stall_ms; do
        positive $figure.median $figure.p99 $figure.max $figure.min
    done
    positive stalls.longest_ms
    count stalls.repeated
    nothing_left 10 "nodefail: $row"
done

bench nodefail $times --nodes 4 --procs 2 --reps 2 --how stop --each
[ "$code" -eq 0 ] && grep -q '^4 nodes x 2 processes, .* 1 node stopped, 2 times' out &&
    grep -q 'the last of 6 survivors' out && grep -q 'missed 0, false 0' out &&
    grep -q '^  on each node a process' out && grep -q '^  meanwhile the host stood still' out &&
    grep -q '^  the host stood still for at most .* more than 900 ms, which were repeated: ' out &&
    [ "$(grep -c '^[12]: nodes [0-3]: .* the host stood still for ' err)" -eq 2 ] || complain "nodefail in words: exit $code"

slow="--period-ms 500 --timeout-ms 8000"
bench accuracy $slow --nodes 4 --load 1 --launch --seconds 2 --json
one_object accuracy
is bench accuracy nodes 4 period_ms 500 timeout_ms 8000 load 1 launch True false 0 stalls.excused 0 machines 1
positive heartbeats lag_us.p99 lag_us.max stalls.longest_ms launched
count stalls.windows
[ "$(field seconds)" -ge 2 ] || complain "seconds is '$(field seconds)'"
nothing_left 10 accuracy

bench accuracy $slow --nodes 2 --seconds 1
[ "$code" -eq 0 ] && grep -q '^2 nodes, heartbeats every 500 ms' out && grep -q '^  0 false verdicts in [1-9]' out ||
    complain "accuracy in words: exit $code"

bench noise --nodes 4 --period-ms 50 --rounds 2 --json
one_object noise
is bench noise nodes 4 period_ms 50
positive cpu_ns_per_period bare_ns ratio bytes_per_s_per_node messages_per_s_per_node
if [ "$(id -u)" -eq 0 ]; then positive pss_mib_per_daemon; else is pss_mib_per_daemon None; fi
nothing_left 10 noise

bench noise --nodes 2 --rounds 1
[ "$code" -eq 0 ] && grep -q '^2 nodes, heartbeats every 100 ms' out && grep -q 'ratio' out ||
    complain "noise in words: exit $code"

# ---- repetitions that don't count ----

# Any host stands still for a millisecond now and then.  Whatever comes of it, each that does not count is said, and at
# most four times as many as wanted are repeated.
bench nodefail --nodes 3 --procs 1 --period-ms 1 --timeout-ms 2 --reps 2 --json
excused=$(grep -c 'repetition [12] does not count: the host stood still' err)
if grep -q '^muster bench nodefail: 8 were repeated already' err; then
    [ "$code" -eq 1 ] || complain "exit $code, though the host stood still too often"
    is stalls.repeated 8
    excused=$((excused - 1))
fi
[ "$code" -le 1 ] || complain "exit $code with a timeout of 2 ms"
[ ! -s out ] || is stalls.repeated "$excused"
nothing_left 10 "nodefail with a timeout of 2 ms"

# reader_of BENCH: one was started, so the machine is ready
reader_of() { pgrep -f -- "/muster-rig-client count $1$" >reader; }

# With this seed nobody is to fail for 17 s; a daemon that is killed before that ends the repetition at once.
MUSTER_TEST=$tag "$MUSTER" bench nodefail --nodes 3 --procs 1 --period-ms 20000 --timeout-ms 60000 --reps 1 --seed 5 \
    --json >out 2>err &
pid=$!
until_true 60 reader_of $pid || complain "no reader was started"
kill -KILL "$(pgrep -P "$(pgrep -d, -P $pid -x muster-witness)" -x musterd | head -1)"
wait $pid
code=$?
[ $code -eq 1 ] || complain "exit $code after a daemon was killed early"
is reps 0 detect_ms None all_told_ms None host_stall_ms None missed 0 false 1 stalls.repeated 0
says "which is no victim: daemon " "repetition 1 has no figures: 1 daemons ended before any was to fail"
nothing_left 10 "nodefail after a daemon was killed early"

# ---- interrupted or killed half-way, they leave nothing ----

# stopped: one of ours is
stopped() {
    local pid
    for pid in $(ours); do
        grep -qs '^State:[[:space:]]*T' "/proc/$pid/status" && return 0
    done
    return 1
}

# busy: the load is there, so what is measured has begun
busy() {
    local pid
    for pid in $(ours); do
        grep -qs '^bench-load$' "/proc/$pid/comm" && return 0
    done
    return 1
}

# half_way SIGNAL CONDITION ARGUMENTS...: starts a bench, waits for the condition, and sends it the signal
half_way() {
    local signal=$1 condition=$2 pid
    shift 2
    MUSTER_TEST=$tag "$MUSTER" bench "$@" >out 2>err &
    pid=$!
    until_true 60 "$condition" || complain "$signal: it never came to be $condition: muster bench $*"
    kill -"$signal" $pid
    wait $pid
    code=$?
    [ $code -eq $((128 + $(kill -l "$signal"))) ] || complain "exit $code after $signal: muster bench $*"
    [ ! -s out ] || complain "after $signal it prints a result: muster bench $*"
    nothing_left 20 "after $signal: muster bench $*"
}

for signal in INT TERM KILL; do
    half_way $signal stopped nodefail --how stop --nodes 4 --procs 2 --count 2 --period-ms 1000 --timeout-ms 20000
done
for signal in TERM KILL; do
    half_way $signal busy accuracy $slow --nodes 3 --load 1 --launch --seconds 1000
done
finish
