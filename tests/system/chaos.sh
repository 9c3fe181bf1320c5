#!/bin/bash
# timeout: 300
# muster chaos, one fault at a time, with a real machine; and that each is undone, however the command ends.
set -u
. "$MUSTER_SOURCE/tests/system/by_hand.sh"

muster() {
    "$MUSTER" "$@" >out 2>err
    code=$?
}
show() { head -5 out err run.err 2>/dev/null | sed 's/^/    /'; }

# refuses CODE TEXT... -- ARGUMENTS...: nothing on stdout, one line on stderr that has every TEXT
refuses() {
    local expected=$1 texts=() text
    shift
    while [ "$1" != -- ]; do texts+=("$1"); shift; done
    shift
    muster chaos "$@"
    [ $code -eq "$expected" ] || { complain "exit $code instead of $expected: muster chaos $*"; show; }
    [ ! -s out ] && [ "$(wc -l <err)" -eq 1 ] || { complain "not exactly one line, on stderr: muster chaos $*"; show; }
    for text in "${texts[@]}"; do
        grep -qF -- "$text" err || { complain "stderr does not say '$text': muster chaos $*"; show; }
    done
}

# fault ARGUMENTS...: it is done, and said in one line
fault() {
    muster chaos "$@" --cluster "$machine"
    [ $code -eq 0 ] && [ "$(wc -l <out)" -eq 1 ] && [ ! -s err ] || { complain "exit $code: muster chaos $*"; show; }
}

# ---- words ----

for verb in kill stop cont cut heal flap slow; do
    muster chaos $verb --help
    [ $code -eq 0 ] && grep -q "^usage: muster chaos $verb " out || complain "$verb --help"
    refuses 2 "unknown option '--nope'" -- $verb --nope
    refuses 2 "node=LIST" -- $verb
    refuses 2 "'3'" "node=LIST" -- $verb 3
    refuses 2 "'x'" -- $verb node=x
done
refuses 2 "unknown option '--for'" -- kill node=1 --for 1s
refuses 2 "'5'" "50ms" -- stop node=1 --for 5
refuses 2 "a process has no network" -- cut proc=1.2
refuses 2 "'up'" -- flap node=1 --down 5ms
refuses 2 "'by'" -- slow node=1
refuses 2 "'zz'" "hexadecimal" -- cut node=1 --cluster zz

# ---- faults that nobody is told of: the timeout is ten minutes ----

# state PID: its letter
state() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -c 1; }
is_stopped() { [ "$(state "$1")" = T ]; }
goes_on() { [[ $(state "$1") == [SRD] ]]; }
all() { local test=$1 pid; shift; for pid; do "$test" "$pid" || return 1; done; }
# said TEXT COUNT: so many daemons have written that
said() { [ "$(grep -c -- "$1" run.err)" -eq "$2" ]; }

run_flags=(--heartbeat 100ms,600s)
start_job 4 8 || exit 1
refuses 1 "cluster ${machine:0:8} has no node 4 on this host" -- cut node=4 --cluster "$machine"
refuses 1 "cluster ${machine:0:8} has no node 4 on this host" -- stop node=2-4 --cluster "$machine"
refuses 1 "rank 8 of job 1 does not run on this host" -- stop proc=1.8 --cluster "$machine"
refuses 1 "rank 0 of job 2 does not run on this host" -- kill proc=2.0 --cluster "$machine"
"$MUSTER" status --json --cluster "$machine" >status
node1=("$(of_node 1 status | number pid)" "$(pid_of 2)" "$(pid_of 3)")

fault stop node=1 --for 200ms
all goes_on "${node1[@]}" || complain "node 1 is still stopped"
fault stop node=1
all is_stopped "${node1[@]}" || complain "node 1 is not stopped"
! is_stopped "$(pid_of 4)" || complain "a process of another node is stopped"
fault cont node=1
all goes_on "${node1[@]}" || complain "node 1 does not go on"
fault stop proc=1.4,6
all is_stopped "$(pid_of 4)" "$(pid_of 6)" && ! is_stopped "$(pid_of 5)" || complain "processes 4 and 6 are not stopped, or 5 is"
fault cont proc=1.4-6
all goes_on "$(pid_of 4)" "$(pid_of 6)" || complain "processes 4 and 6 do not go on"

# However it ends in the middle, what it stopped goes on.
for signal in INT TERM KILL; do
    "$MUSTER" chaos stop node=1 --for 10m --cluster "$machine" &
    others=($!)
    wait_until 30 all is_stopped "${node1[@]}" || complain "node 1 is not stopped"
    kill -$signal "${others[0]}"
    wait "${others[0]}"
    code=$?
    [ $code -eq $((128 + $(kill -l $signal))) ] || complain "exit $code after SIG$signal"
    wait_until 30 all goes_on "${node1[@]}" || complain "node 1 is left stopped after SIG$signal"
done

# Also when its whole process group is killed, as timeout(1) does.
timeout -s KILL 600 "$MUSTER" chaos stop node=1 --for 10m --cluster "$machine" &
others=($!)
wait_until 30 all is_stopped "${node1[@]}" || complain "node 1 is not stopped"
kill -KILL -- "-${others[0]}"
wait "${others[0]}"
wait_until 30 all goes_on "${node1[@]}" || complain "node 1 is left stopped after a SIGKILL for the process group"

# The same for the network.
cuts=0
for signal in INT TERM KILL; do
    "$MUSTER" chaos cut node=1,3 --for 10m --cluster "$machine" &
    others=($!)
    cuts=$((cuts + 2))
    wait_until 30 said "is cut off, both ways" $cuts || complain "nodes 1 and 3 are not cut off"
    said "injected network fault has ended" $((cuts - 2)) || complain "it is over before its time"
    kill -$signal "${others[0]}"
    wait "${others[0]}"
    wait_until 30 said "injected network fault has ended" $cuts || complain "nodes 1 and 3 are left cut off after SIG$signal"
done
others=()
fault cut node=2 --in
fault cut node=2 --out --peers 0-1
fault flap node=2 --down 20ms --up 50ms
fault slow node=2 --by 10ms --jitter 10ms --seed 5
said "injected network fault has ended" $cuts || complain "a fault ends the one before it"
fault heal node=2
fault heal node=0-3
wait_until 30 said "injected network fault has ended" $((cuts + 1)) || complain "node 2 is not healed"
for text in "cut off, inwards" "cut off, outwards, for some" "flaps, both ways" "slow, both ways"; do
    said "$text" 1 || complain "not one daemon says '$text'"
done
fault cut node=0 --for 50ms
fault slow node=0-3 --by 5ms --for 50ms

# Connections have lost nothing, and the job tells what happens now: everywhere.
fault kill proc=1.7
for rank in 0 1 2 3 4 5 6; do
    wait_until 30 grep -qx "$rank told 7" run.out || complain "process $rank was not told of process 7"
done
"$MUSTER" events --cluster "$machine" >out
[ "$(grep -c "failed" out)" -eq 1 ] || { complain "more than the failure of rank 7 was told"; show; }
fault kill node=2
for rank in 0 1 2 3 6; do
    wait_until 30 grep -qx "$rank told 5" run.out || complain "process $rank was not told of process 5, whose node was killed"
done
end_job

# ---- faults that are told, and found out ----

run_flags=(--heartbeat 50ms,400ms)
[ "$MUSTER_SANITIZED" = 0 ] || run_flags=(--heartbeat 300ms,1500ms)
start_job 4 4 || exit 1
# known SLOT: it is known to be dead
known() { "$MUSTER" why "$1" --cluster "$machine" >out 2>err; }
"$MUSTER" status --json --cluster "$machine" >status
daemon1=$(of_node 1 status | number pid) daemon2=$(of_node 2 status | number pid)
fault cut node=1 --out
wait_until 60 known 1 || complain "node 1, which nobody hears, is not known to be dead"
grep -q "^Node 1 failed (silent)" out || { complain "why 1"; show; }
wait_until 60 gone "$daemon1" || complain "node 1 hears that it was declared dead, and goes on"
fault cut node=2 --in
wait_until 60 known 2 || complain "node 2, which hears nobody, is not known to be dead"
grep -qE "^Node 2 failed \((silent|unreachable)\)" out || { complain "why 2"; show; }
fault heal node=2
wait_until 60 gone "$daemon2" || complain "node 2 goes on after it was healed"
"$MUSTER" status --json --cluster "$machine" >status
for slot in 0 3; do
    [ "$(of_node $slot status | number dead)" -eq 2 ] || complain "node $slot has heard of more than nodes 1 and 2: $(of_node $slot status)"
done
end_job

[ $failed -eq 0 ] && echo "all as it should be"
exit $failed
