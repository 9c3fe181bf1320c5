#!/bin/bash
# timeout: 300
# muster chaos script: scripts that are met, that are not, and that cannot be read; and what is left of one that is ended.
set -u
. "$MUSTER_SOURCE/tests/system/by_hand.sh"

# script ARGUMENTS...: with the script on standard input; leaves its output in out and err, and the exit code in $code
script() {
    "$MUSTER" chaos script "$@" >out 2>all.err
    code=$?
    grep -v '^musterd ' all.err >err
}
show() { head -12 out err | cut -c 1-1000 | sed 's/^/    /'; }
expect() {
    local expected=$1 text
    shift
    [ $code -eq "$expected" ] || { complain "exit $code instead of $expected"; show; }
    for text; do grep -qE -- "$text" out err || { complain "no '$text'"; show; }; done
}

# Times are generous: this is about scripts, and the host may be busy.
flags=(--nodes 6 --procs 2 --heartbeat 200ms,2s) long=6s short=150ms wait=2s limit=30s
[ "$MUSTER_SANITIZED" = 0 ] || flags=(--nodes 6 --procs 2 --heartbeat 400ms,4s) long=12s

# ---- all as expected ----

cat >good <<END
# every fault
at 200ms cut node=3 for $long           # silent, and found out
expect node=3 silent within $limit
expect no node=0-2,4-5 for $long
then $long stop node=2 for $short
expect none for 1s # less than until the next step, which may be late
then $wait kill proc=1.4
expect proc=1.4 dead within $limit
then $wait kill node=5
expect node=5 dead within $limit at 0-2,4
then $wait flap node=1 down 50ms up 500ms for $wait
expect none for 1s
then $wait slow node=1 by 20ms jitter 10ms for $wait
expect none for 1s
then $wait cut node=1 in peers 0 for $short
expect none for 1s
END
script good "${flags[@]}"
expect 0 '^7 steps, 8 expectations: all as expected, at 6 nodes$' '^ +[0-9.]+ s  cut node=3 for '

# ---- not as expected: what was, and what was seen ----

printf '%s\n' "at 0s kill proc=1.4" "expect proc=1.4 silent within 1s" "expect none for 2s" "then 0s kill proc=1.6" >bad
script - "${flags[@]}" <bad
expect 1 'line 2: expected proc=1.4 silent within 1 s; seen: node 0 was notified that proc=1.4 is dead, after ' '; and 2 more$' \
    'line 3: expected none for 2 s; seen: .*node [0-5] was notified that proc=1.4 is dead' \
    'a death that nobody expects; seen: 6 nodes were notified that proc=1.6 is dead'
printf '%s\n' "at 0s stop node=1 for $short" "expect node=1 gone within 1s at 0,2" >bad
script bad "${flags[@]}" --json
expect 1 '"failed":\[{"line":2,"expected":"node=1 gone within 1 s at 0,2","seen":"node 0 was not notified of node=1; node 2 was not notified of node=1"}\]'
[ "$(wc -l <out)" -eq 1 ] || { complain "not one line of JSON"; show; }
echo "at 0s kill node=9" >bad
script bad "${flags[@]}"
expect 1 'line 1: kill node=9: cluster [0-9a-f]{8} has no node 9 on this host'

# ---- what cannot be read ----

# refuses TEXT LINE...
refuses() {
    local text=$1
    shift
    printf '%s\n' "$@" >wrong
    script wrong --nodes 6
    expect 2 "$text"
    [ "$(wc -l <err)" -eq 1 ] && [ ! -s out ] || { complain "not one line"; show; }
}
refuses "wrong: line 2: unknown word 'sometime'" "at 0s kill node=1" "sometime kill node=2"
refuses "wrong: line 1: 'at 5'" "at 5 kill node=1"
refuses "wrong: line 1: unknown fault 'shoot'" "at 5ms shoot node=1"
refuses "wrong: line 3: unknown verdict 'ded'" "" "at 5ms kill node=1" "expect node=1 ded within 1s"
refuses "wrong: contains no step" "# nothing"
script no/such/file --nodes 6
expect 2 'no/such/file: No such file or directory'
script
expect 2 'the script is missing'

# ---- on a machine that is there ----

run_flags=(--heartbeat 100ms,600s)
start_job 4 8 || exit 1
printf '%s\n' "at 100ms stop node=2 for 200ms" "then 0ms cut node=1 for 200ms" "expect none for 500ms" \
    "then 600ms kill proc=1.7" "expect proc=1.7 dead within $limit at 0-3" >there
script there --cluster "$machine"
expect 0 '^3 steps, 2 expectations: all as expected, at 4 nodes$'

# Ctrl-C in the middle: everything is undone.
"$MUSTER" status --json --cluster "$machine" >status
daemon=$(of_node 2 status | number pid)
state() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -c 1; }
is_stopped() { [ "$(state "$1")" = T ]; }
goes_on() { [[ $(state "$1") == [SRD] ]]; }
said() { [ "$(grep -c -- "$1" run.err)" -eq "$2" ]; }
printf '%s\n' "at 0s stop node=2" "at 0s cut node=1" "expect none for 600s" >endless
for signal in INT KILL; do
    before=$(grep -c "injected network fault has ended" run.err)
    "$MUSTER" chaos script endless --cluster "$machine" >out 2>err &
    others=($!)
    wait_until 30 is_stopped "$daemon" || complain "node 2 is not stopped"
    wait_until 30 said "is cut off, both ways" $((before + 1)) || complain "node 1 is not cut off"
    kill -$signal "${others[0]}"
    wait "${others[0]}"
    code=$?
    [ $code -eq $((128 + $(kill -l $signal))) ] || complain "exit $code after SIG$signal"
    wait_until 30 goes_on "$daemon" || complain "node 2 is left stopped after SIG$signal"
    wait_until 30 said "injected network fault has ended" $((before + 1)) || complain "node 1 is left cut off after SIG$signal"
done
others=()
end_job

# On a machine of its own: that is gone, too.
printf '%s\n' "at 0s stop node=2" "at 0s cut node=1" "expect none for 600s" >endless
"$MUSTER" chaos script endless --nodes 4 >out 2>err &
others=($!)
wait_until 30 grep -q "is cut off" err || complain "node 1 of its own machine is not cut off"
children=$(cat "/proc/${others[0]}"/task/*/children)
kill -INT "${others[0]}"
wait "${others[0]}"
code=$?
[ $code -eq 130 ] || complain "exit $code after SIGINT"
[ -n "$children" ] || complain "it had no daemons"
for pid in $children; do
    wait_until 30 gone "$pid" || complain "process $pid is left of its machine"
done
others=()

[ $failed -eq 0 ] && echo "all as it should be"
exit $failed
