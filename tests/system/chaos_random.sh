#!/bin/bash
# timeout: 300
# Faults drawn from a seed, on machines of its own.
#   SECONDS_LONG=300 NODES=32 SEED=7 tests/system/chaos_random.sh    more of them
set -u
. "$MUSTER_SOURCE/tests/system/by_hand.sh"
seed=${SEED:-1} nodes=${NODES:-8} long=${SECONDS_LONG:-10}
heartbeat=100ms,500ms
[ "$MUSTER_SANITIZED" = 0 ] || heartbeat=300ms,1500ms
flags=(--nodes "$nodes" --seed "$seed" --heartbeat $heartbeat)

"$MUSTER" chaos random "${flags[@]}" --seconds 60 --plan >one || complain "--plan"
"$MUSTER" chaos random "${flags[@]}" --seconds 60 --plan >again
"$MUSTER" chaos random "${flags[@]}" --seed 99 --seconds 60 --plan >other
cmp -s one again || complain "the same seed gives another schedule"
! cmp -s one other || complain "another seed gives the same schedule"
[ "$(wc -l <one)" -gt 5 ] && grep -q '^round 0, in a new cluster: after [0-9]* ms [a-z]* ' one || complain "the schedule: $(head -3 one)"

"$MUSTER" chaos random --nodes 7 >out 2>err
code=$?
[ $code -eq 2 ] && grep -q "'7'" err || complain "7 nodes: exit $code: $(cat err)"
"$MUSTER" chaos random --heartbeat 50ms,100ms >out 2>err
code=$?
[ $code -eq 2 ] && grep -q "three periods" err || complain "--heartbeat 50ms,100ms: exit $code: $(cat err)"

"$MUSTER" chaos random "${flags[@]}" --seconds "$long" --json >out 2>err
code=$?
[ $code -eq 0 ] || complain "exit $code: $(cat out) $(head -40 err)"
[ "$(wc -l <out)" -eq 1 ] && [ "$(number faults <out)" -gt 0 ] && [ "$(number clusters <out)" -gt 0 ] || complain "the JSON: $(cat out)"
for name in missed duplicates false hung; do
    [ "$(number $name <out)" -eq 0 ] || complain "$name: $(cat out)"
done

# It does find what is wrong: here somebody else kills a daemon, which by the schedule lives.
# daemons: the children of the witnesses, which are our command's
daemons() {
    local pid
    for pid in $(cat "/proc/${others[0]}"/task/*/children 2>/dev/null); do
        cat "/proc/$pid/task/$pid/children" 2>/dev/null
    done
}
has_daemons() { [ "$(daemons | wc -w)" -ge "$nodes" ]; }
# has_readers: every daemon has its process
has_readers() {
    local pid
    for pid in $(daemons); do
        [ -n "$(cat "/proc/$pid"/task/*/children 2>/dev/null)" ] || return 1
    done
}
# Where this host stood still for a quarter of this timeout, that round does not count, and says nothing: once more then.
for ((tries = 0; tries < 3; tries++)); do
    "$MUSTER" chaos random --nodes "$nodes" --seed "$seed" --heartbeat 300ms,3s --seconds 1 --json >out 2>err &
    others=($!)
    wait_until 60 has_daemons || complain "it has no daemons: $(cat err)"
    wait_until 60 has_readers || complain "its daemons have no processes"
    victims=($(daemons))
    kill -KILL "${victims[-1]}"
    wait "${others[0]}"
    code=$?
    grep -q 'stood still.*: round 0 does not count' err || break
    [ $code -eq 1 ] || complain "exit $code though no round counts: $(cat out err)"
done
[ $code -eq 1 ] && [ "$(number false <out)" -gt 0 ] && [ -s err ] || complain "exit $code though a daemon was killed: $(cat out err)"
others=()

# Ctrl-C: nothing is left.
"$MUSTER" chaos random "${flags[@]}" --seconds 600 >out 2>err &
others=($!)
wait_until 60 has_daemons || complain "it has no daemons: $(cat err)"
children=$(cat "/proc/${others[0]}"/task/*/children)
kill -INT "${others[0]}"
wait "${others[0]}"
code=$?
[ $code -eq 130 ] && [ ! -s err ] && [ ! -s out ] || complain "exit $code after SIGINT: $(tail -3 err)"
for pid in $children; do
    wait_until 30 gone "$pid" || complain "process $pid is left"
done
others=()

[ $failed -eq 0 ] && echo "all as it should be"
exit $failed
