#!/bin/bash
# timeout: 300
# A daemon of which a part stands still: its main loop, its heartbeat thread, or both.  It is declared within what
# 'muster status' says, or nothing comes of it; and another node that is stopped at the same time is declared as well.
set -u
. "$MUSTER_SOURCE/tests/system/by_hand.sh"

"$programs/hold" $$ beat 1 2>&1 | grep -q 'no thread' || { echo "skipped: ptrace is not permitted here"; exit 77; }

heartbeat=100ms,400ms
[ "$MUSTER_SANITIZED" = 0 ] || heartbeat=200ms,1500ms

# start: five nodes with a process each, which agree until two of them are out
start() {
    : >run.out
    GONE=2 "$MUSTER" run --nodes 5 -n 5 --on-failure continue --heartbeat $heartbeat \
        "$programs/agreeing" going_on >run.out 2>run.err &
    run=$!
    wait_until 20 eval '[ "$(grep -c "^here" run.out)" -eq 5 ]' || { complain "not all are here: $(cat run.err)"; exit 1; }
    machine=$(sed -n 's|^here 0 muster/[0-9]*/\([0-9a-f]*\)/.*|\1|p' run.out)
    "$MUSTER" status --cluster "$machine" --json >status
    bound_ns=$(counter loop_bound_ns 0 status) timeout_ns=$(counter ring_timeout_ns 0 status)
}
pid_of_node() { of_node "$1" status | number pid; }
finish() {
    wait_until 20 gone "$run" || { complain "$1: 'muster run' does not end"; kill -KILL "$run"; }
    wait "$run"
    run=
}

# declared WHAT: node 2 is held, and node 1, which it observes, is stopped at the same time.  Where the heartbeats go
# on, node 2 is found when they stop, and node 1 after it; else both are found as silent nodes are.
declared() {
    start
    local one two held last limit_ns=$((2 * timeout_ns))
    [ "$1" != main ] || limit_ns=$((bound_ns + 2 * timeout_ns))
    one=$(pid_of_node 1) two=$(pid_of_node 2)
    "$programs/hold" "$two" "$1" $(((bound_ns + 4 * timeout_ns) / 1000000)) >held 2>held.err &
    others=($!)
    kill -STOP "$one"
    wait_until 20 eval '[ "$(grep -c "^after" run.out)" -eq 3 ]' || complain "$1: not all survivors go on: $(cat run.out run.err held.err)"
    held=$(sed -n 's/^held //p' held)
    last=$(sed -n 's/^after //p' run.out | sort -n | tail -1)
    echo "$1 held: all survivors go on without the two after $(((last - held) / 1000000)) ms; the limit is $((limit_ns / 1000000)) ms"
    [ $((last - held)) -le "$limit_ns" ] || complain "$1: that is too late"
    grep -q 'node 1' run.err && grep -q 'node 2' run.err || complain "$1: the launcher does not name both: $(cat run.err)"
    # Who was held goes on, learns that it was declared, and ends.
    wait "${others[0]}"
    others=()
    kill -CONT "$one" 2>/dev/null # or it was ended with the job
    finish "$1"
    wait_until 30 gone "$two" || complain "$1: the daemon that was held is still there"
    wait_until 30 gone "$one" || complain "$1: the daemon that was stopped is still there"
}

declared main
grep -q "main loop of this daemon has not moved for .* its heartbeats stop" run.err || complain "the daemon does not say what happened: $(cat run.err)"
declared beat
declared both

# For a moment only: nothing comes of it.
hand_timeout_ms=3000
bring_up 3 || exit 1
for what in "main 2500" "beat 700" "both 700"; do
    # shellcheck disable=SC2086
    "$programs/hold" "${pids[1]}" $what >held || complain "$what: cannot be held"
done
"$MUSTER" status --cluster "$machine" --json >status
for node in 0 1 2; do
    [ "$(of_node $node status | number dead)" -eq 0 ] || complain "node $node was told of a death"
    [ "$(counter loop_stood $node status)" -eq 0 ] || complain "node $node says that its main loop stood still"
done
[ "$(counter loop_ns_max 1 status)" -ge 300000000 ] || complain "the main loop of node 1 was held, and that is not counted"
[ "$(counter ring_timeout_ns 1 status)/$(counter loop_bound_ns 1 status)" = 3000000000/22500000000 ] ||
    complain "status does not say what is declared when: $(of_node 1 status)"
take_down
exit $failed
