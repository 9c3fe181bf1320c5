#!/bin/bash
# timeout: 300
# However a run ends, nothing is left: signals to the launcher, daemons that die or hang, processes that hide.
. "$(dirname "$0")/run_common.sh"

# launch FLAGS... -- SCRIPT [TRAPS]: in the background; each rank sets TRAPS, writes its own id and its daemon's into pids,
# then runs SCRIPT. Traps come first: a rank that is written down is ready for signals.
# Returns when all ranks have.  $launcher is its id.
launch() {
    local flags=() ranks=1 flag
    while [ "$1" != -- ]; do flags+=("$1"); shift; done
    for ((flag = 0; flag < ${#flags[@]}; flag++)); do
        [ "${flags[flag]}" != -n ] || ranks=${flags[flag + 1]}
    done
    rm -rf pids machine
    mkdir pids
    local begin='echo $$ >pids/.$MUSTER_RANK; echo $PPID >pids/daemon-$MUSTER_NODE; m=${MUSTER_SOCKET%/*}; echo ${m##*/} >.m$MUSTER_RANK; mv .m$MUSTER_RANK machine; mv pids/.$MUSTER_RANK pids/$MUSTER_RANK; '
    MUSTER_TEST=$tag timeout 100 "$MUSTER" run "${flags[@]}" sh -c "${3:-}"$'\n'"$begin $2" >out 2>err &
    until_true 30 all_there $ranks || { complain "the job does not start: ${flags[*]}"; finish; }
    launcher=$(parent_of "$(parent_of "$(cat pids/daemon-0)")") # between the two is the daemon's witness
    waiter=$!
}
all_there() { [ "$(ls pids | grep -c '^[0-9]')" -eq "$1" ]; }
parent_of() { awk '/^PPid/ { print $2 }' "/proc/$1/status" 2>/dev/null; }
daemons() { cat pids/daemon-*; }
pids() { cat pids/[0-9]*; }
ended() { # by timeout(1), which passes signals and exit codes on
    wait $waiter
    code=$?
}

forever='while :; do sleep 0.05; done'
deaf='trap "" INT TERM HUP USR1 USR2'

# ---- signals to the launcher ----

for signal in INT TERM HUP; do
    for traps in "" "$deaf"; do
        launch --nodes 4 -n 8 -- "$forever" "$traps"
        all="$(pids) $(daemons)"
        kill -$signal $launcher
        until_true 10 gone $all $launcher || complain "SIG$signal: not all are gone"
        ended
        expect $((128 + $(kill -l $signal))) "SIG$signal"
        says "muster: received SIG$signal; terminating the job"
        nothing_left 5 "SIG$signal"
    done
done

# The program sees the signal that the user sent, and has time for it.
launch --nodes 2 -n 2 --grace 20000 -- "$forever" 'trap "echo interrupted; exit 0" INT'
kill -INT $launcher
ended
expect 130 "SIGINT, handled by the program"
[ "$(grep -c interrupted out)" -eq 2 ] || complain "SIGINT: programs have no time to handle it"
launch -n 1 --grace 20000 -- "$forever" 'trap "echo terminated; exit 0" TERM'
kill -TERM $launcher
ended
grep -q terminated out || complain "SIGTERM: programs have no time to handle it"

# A second one: at once.
launch --nodes 2 -n 2 --grace 60000 -- "$forever" "$deaf"
kill -INT $launcher
until_true 5 grep -q SIGINT err || complain "SIGINT is not said"
kill -INT $launcher
ended
expect 130 "SIGINT twice"
nothing_left 5 "SIGINT twice"

# As the parent sees it: ended by the signal, not with an exit code.
if command -v perl >/dev/null; then
    MUSTER_TEST=$tag timeout 60 perl -e 'my $status = system(@ARGV); print $status & 127, "\n"' \
        "$MUSTER" run sh -c 'kill -TERM $(ps -o ppid= -p $(ps -o ppid= -p $PPID)); sleep 100' >out 2>err
    [ "$(tail -1 out)" = 15 ] || complain "the parent does not see the signal: $(cat out)"
fi

# SIGKILL: nobody can clean up, and still nothing is left.
for traps in "" "$deaf"; do
    launch --nodes 4 -n 8 -- "$forever" "$traps"
    all="$(pids) $(daemons)"
    kill -KILL $launcher
    until_true 10 gone $all || complain "SIGKILL of the launcher: not all are gone"
    ended
    nothing_left 10 "SIGKILL of the launcher"
done

# At any moment of the beginning.
is_muster() { [ "$(readlink /proc/$launcher/exe)" = "$(readlink -f "$MUSTER")" ]; }
for ((i = 0; i < 30; i++)); do
    MUSTER_TEST=$tag "$MUSTER" run --nodes 4 -n 4 sleep 100 >out 2>err &
    launcher=$!
    until_true 5 is_muster || complain "it does not start"
    sleep 0.00$((i / 10))$((i % 10))
    signal=TERM
    [ $((i % 3)) -ne 1 ] || signal=HUP # not INT: a shell's background job ignores that until it says otherwise
    [ $((i % 3)) -ne 2 ] || signal=KILL
    kill -$signal $launcher
    until_true 10 gone $launcher || complain "SIG$signal in the beginning"
    wait $launcher 2>/dev/null
done
rm -f machine
nothing_left 10 "signals in the beginning"

# ---- signals that are passed on ----

launch --nodes 2 -n 2 -- "$forever" 'trap "echo one" USR1; trap "echo two" USR2'
two_lines() { [ "$(grep -c "$1" out)" -eq 2 ]; }
kill -USR1 $launcher
until_true 10 two_lines one || complain "SIGUSR1 is not passed on"
kill -USR2 $launcher
until_true 10 two_lines two || complain "SIGUSR2 is not passed on"
state() { awk '/^State/ { print $2 }' "/proc/$1/status"; }
all_are() { local pid; for pid in $(pids) $launcher; do [[ $(state $pid) == [$1] ]] || return 1; done; }
kill -TSTP $launcher
until_true 10 all_are T || complain "SIGTSTP does not stop everybody"
kill -CONT $launcher
until_true 10 all_are SR || complain "SIGCONT does not let everybody go on"
kill -TERM $launcher
ended
nothing_left 5 "signals that are passed on"

# ---- nodes that are lost ----

launch --nodes 4 -n 8 --report report -- "$forever"
kill -KILL $(cat pids/daemon-2)
ended
expect 255 "a lost node"
says "muster: node 2 (node2) failed with ranks 4-5: daemon killed by SIGKILL; terminating the job" \
    "muster: job 1 failed after " "node 2 failed: "
grep -q '^{"job":1,"kind":"node","processes":2,"node":2,' report || complain "the report of a lost node: $(cat report)"
nothing_left 5 "a lost node"

launch --nodes 4 -n 8 --on-failure continue -- 'until [ -e go ]; do sleep 0.02; done; echo "$MUSTER_RANK went on"'
kill -KILL $(cat pids/daemon-1)
until_true 10 grep -q 'node 1 (node1) failed with ranks 2-3: daemon killed by SIGKILL; 6 of 8 ranks continue' err || complain "a lost node is not said"
touch go
ended
expect 255 "a lost node, and the others go on"
[ "$(sort out | cut -c 1 | xargs)" = "0 1 4 5 6 7" ] || complain "the others do not go on"
rm go
nothing_left 5 "a lost node, and the others go on"

launch --nodes 3 -n 3 --on-failure continue -- "$forever"
kill -KILL $(daemons)
ended
expect 255 "all nodes are lost"
nothing_left 5 "all nodes are lost"

# A node without processes of the job: no failure.
launch --nodes 3 -n 1 -- 'until [ -e go ]; do sleep 0.02; done'
others=$(for pid in $(ours); do [ "$(cat "/proc/$pid/comm" 2>/dev/null)" != musterd ] || echo "$pid"; done)
kill -KILL $(echo "$others" | grep -vx "$(cat pids/daemon-0)" | head -1)
until_true 10 grep -q 'failed: daemon killed by SIGKILL' err || complain "the loss of an idle node is not said"
touch go
ended
expect 0 "a lost node without processes"
rm go
nothing_left 5 "a lost node without processes"

# Grandchildren that hide from their daemon, which dies.
launch --nodes 2 -n 2 -- 'setsid sh -c "'"$deaf; $forever"'" & '"$forever"
kill -KILL $(cat pids/daemon-1)
ended
nothing_left 5 "grandchildren of a lost node"
launch -n 1 -- 'setsid sh -c "'"$deaf; $forever"'" & exit 0'
ended
expect 0 "a grandchild that stays"
nothing_left 5 "a grandchild that stays"

# A daemon that stands still does not hold the others up.
launch --nodes 3 -n 3 -- "$forever"
kill -STOP $(cat pids/daemon-1)
kill -TERM $launcher
until_true 5 gone $launcher $(pids) $(daemons) || complain "a stopped daemon holds the end up"
ended
expect 143 "a stopped daemon"
nothing_left 5 "a stopped daemon"

# The others declare it dead, and that ends the job.
launch --nodes 3 -n 3 --heartbeat 50ms,200ms --report report -- "$forever"
kill -STOP $(cat pids/daemon-1)
ended
expect 255 "a stopped daemon that nobody hears"
says "muster: node 1 (node1) failed with rank 1: no heartbeat for " "; terminating the job" "node 1 failed: no heartbeat for "
grep -q '^{"job":1,"kind":"node","processes":1,"node":1,.*"ranks":\[1\],"verdict":"silent","cause":"silence","period_ms":50.0,"timeout_ms":200.0,' report ||
    complain "the report of a node that nobody hears: $(cat report)"
nothing_left 5 "a stopped daemon that nobody hears"

# When that takes longer than a daemon has to end its processes, it is killed.
launch --nodes 3 -n 3 --heartbeat 1s,60s -- '[ $MUSTER_RANK != 0 ] || { until [ -e go ]; do sleep 0.02; done; exit 3; }; '"$forever"
kill -STOP $(cat pids/daemon-1)
touch go
ended
expect 3 "a stopped daemon, and a job that is ended"
says "muster: node 1 (node1) did not end its processes in time; killing it"
nothing_left 5 "a stopped daemon, and a job that is ended"

finish
