#!/bin/bash
# The last word on a daemon's standard input, "end", is heard however it comes: behind the orders in one write, or byte
# by byte.  A daemon that did not hear it says that it lost whoever started it, and leaves without a goodbye: its witness
# says that it is dead, and nobody misses its beats before, however long its own last word takes.
set -u
. "$MUSTER_SOURCE/tests/system/by_hand.sh"

# begin: one daemon, up to where it says its port
begin() {
    rm -f to from
    mkfifo to from
    "$musterd" --verbose <to >from 2>daemon.err &
    pids=($!)
    exec {to}>to {from}<from
    printf '%s\n' "muster-orders 1" "machine 0123456789abcdef" "key $(printf '%064d' 1)" "size 1" "slot 0" \
        "listen 127.0.0.1" "name hand0" "period 100000000" "timeout 500000000" shared-host . >&$to
    read -r -t 30 line <&$from
    [[ $line =~ ^"listening 127.0.0.1 "([0-9]+)" "[0-9]+$ ]] || complain "the daemon says '$line'"
    port=${BASH_REMATCH[1]-0}
}

# finish HOW: its input ends now; it must have heard the last word
finish() {
    exec {to}>&- {from}<&-
    wait_until 30 gone "${pids[0]}" || { complain "$1: the daemon does not end"; kill -KILL "${pids[0]}"; }
    wait "${pids[0]}" || complain "$1: exit $?"
    pids=()
    grep -q 'ends$' daemon.err || complain "$1: it does not say that it ends: $(cat daemon.err)"
    ! grep 'without a word' daemon.err || complain "$1: the last word was not heard"
}

begin
printf 'node 0 127.0.0.1 %d\n.\nend\n' "$port" >words
cat words >&$to # one write, unlike printf's
finish "behind the orders"

begin
printf 'node 0 127.0.0.1 %d\n.\n' "$port" >&$to
read -r -t 30 line <&$from
[ "$line" = ready ] || complain "the daemon says '$line' instead of ready"
printf e >&$to
printf n >&$to
printf 'd\n' >&$to
finish "in pieces"

# ---- a daemon goes alone, while its launcher stands still and does not hear its last word ----

# under sanitizers a beat may be late by more than the time that the last word takes
if [ "$MUSTER_SANITIZED" = 0 ]; then
    mkdir roll
    "$MUSTER" run --nodes 3 -n 3 --on-failure continue --heartbeat 50ms,400ms "$programs/roll" roll </dev/null >run.out 2>run.err &
    run=$!
    all_there() { [ "$(cat roll/rank-* 2>/dev/null | grep -c ^pid)" -eq 3 ]; }
    wait_until 30 all_there || complain "the processes do not come up: $(cat run.err)"
    daemon=$(ps -o ppid= -p "$(sed -n 's/^pid \([0-9]*\) .*/\1/p' roll/rank-2)" | tr -d ' ')
    kill -STOP "$run"
    kill -TERM "$daemon"
    all_told() { grep -q "^node 2 " roll/rank-0 && grep -q "^node 2 " roll/rank-1; }
    wait_until 30 all_told || complain "node 2 is not missed: $(cat roll/rank-*)"
    [ "$(grep -h "^node 2 " roll/rank-[01] | cut -d ' ' -f 3 | sort -u)" = dead ] || complain "its witness came second: $(cat roll/rank-[01])"
    kill -CONT "$run"
    touch roll/over
    wait_until 30 gone "$run" || { complain "the launcher does not end"; kill -KILL "$run"; }
    wait "$run"
    run=
fi

exit $failed
