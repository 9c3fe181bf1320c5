#!/bin/bash
# timeout: 300
# Who was declared dead ends, also when it was many; and who leaves takes nobody's word away.
set -u
. "$MUSTER_SOURCE/tests/system/by_hand.sh"

# ---- two halves that do not hear each other, and then do: one of them ends ----

run_flags=(--heartbeat 100ms,400ms) long=3s
[ "$MUSTER_SANITIZED" = 0 ] || run_flags=(--heartbeat 200ms,2s) long=12s
start_job 6 6 || exit 1
"$MUSTER" status --cluster "$machine" --json >status
daemons=()
for i in 0 1 2 3 4 5; do daemons+=("$(of_node $i status | number pid)"); done
"$MUSTER" chaos cut node=3-5 --peers 0-2 --for $long --cluster "$machine" || complain "no cut"
# ended FIRST LAST: all of these daemons have
ended() {
    local i
    for ((i = $1; i <= $2; i++)); do gone "${daemons[i]}" || return 1; done
}
one_half() { ended 0 2 || ended 3 5; }
wait_until 30 one_half || complain "after the cut all are there: $(cat run.err)"
first=0
for i in 0 1 2 3 4 5; do gone "${daemons[i]}" || first=$((first + 1)); done
[ "$first" -eq 3 ] || complain "$first daemons are there, not 3: $(cat run.err)"
grep -q 'declared failed by its peers, as the launcher reports; killing its processes and exiting' run.err || complain "nobody says why it ends: $(cat run.err)"
kill -TERM "$run"
end_job

# ---- a node leaves alone; then another one stops: the others are told ----

bring_up 5 || exit 1
echo end >&"${to[4]}"
exec {to[4]}>&- {from[4]}<&-
wait_until 30 gone "${pids[4]}" || complain "node 4 was told to end, and does not"
kill -STOP "${pids[1]}"
told() { "$MUSTER" events --cluster "$machine" | grep -q 'node 1 failed (silent)'; }
wait_until 30 told || complain "a node left, and a later death is not told"
! "$MUSTER" events --cluster "$machine" | grep -q 'node 4' || complain "a node that left is told to be dead"
kill -CONT "${pids[1]}"
wait_until 30 gone "${pids[1]}" || complain "node 1 goes on, and does not learn that it was declared"
exit $failed
