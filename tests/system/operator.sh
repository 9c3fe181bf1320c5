#!/bin/bash
# status, events and kill, with real machines.
set -u
. "$MUSTER_SOURCE/tests/system/by_hand.sh"

# muster ARGUMENTS...: leaves its output in out and err, and the exit code in $code
muster() {
    "$MUSTER" "$@" >out 2>err
    code=$?
}
show() { head -5 out err | sed 's/^/    /'; }

# refuses CODE TEXT... -- ARGUMENTS...: nothing on stdout, one line on stderr that has every TEXT
refuses() {
    local expected=$1 texts=() text
    shift
    while [ "$1" != -- ]; do texts+=("$1"); shift; done
    shift
    muster "$@"
    [ $code -eq "$expected" ] || { complain "exit $code instead of $expected: muster $*"; show; }
    [ ! -s out ] && [ "$(wc -l <err)" -eq 1 ] || { complain "not exactly one line, on stderr: muster $*"; show; }
    for text in "${texts[@]}"; do
        grep -qF -- "$text" err || { complain "stderr does not say '$text': muster $*"; show; }
    done
}

# ---- words and flags ----

for command in status events kill; do
    muster $command --help
    [ $code -eq 0 ] && grep -q "^usage: muster $command " out || complain "$command --help"
    grep -q /proc/net/unix out || complain "$command --help does not say how a machine is found"
    refuses 2 "'zz'" "hexadecimal" -- $command $([ $command != kill ] || echo 1) --machine zz
    refuses 2 "'0123456789abcdef0'" -- $command $([ $command != kill ] || echo 1) --machine 0123456789abcdef0
    refuses 2 "unknown flag '--nope'" -- $command --nope
done
refuses 2 "missing" -- kill
refuses 2 "'seven'" -- kill seven
refuses 2 "'NOPE'" TERM -- kill 1 --signal NOPE
refuses 2 "'65'" -- kill 1 --signal 65

# ---- none, one, several ----

# Others' machines may be here, too; a user namespace of our own has none, where the kernel permits it.
if unshare -rn true 2>/dev/null; then
    for command in status events "kill 1"; do
        unshare -rn "$MUSTER" $command >out 2>err
        code=$?
        [ $code -eq 1 ] && [ ! -s out ] && grep -qx "muster ${command% 1}: no machine of yours runs on this host" err ||
            { complain "without a machine: $command: exit $code"; show; }
    done
else
    echo "note: no user namespaces, so a host without a machine is not tried"
fi

hand_timeout_ms=600000 # daemons are stopped below, and are not to be declared dead
bring_up 2 || exit 1
first=$machine
muster status --machine "$first" --json
[ $code -eq 0 ] && grep -q "^{\"machine\":\"$first\",\"nodes\":\[{\"slot\":0,.*\],\"jobs\":\[\]}$" out || { complain "status --json"; show; }
[ "$(of_node 1 out | number pid)" = "${pids[1]}" ] || complain "status shows another process id than ${pids[1]}"
[ "$(of_node 1 out | word address)" = "127.0.0.1:${ports[1]}" ] || complain "status shows another address"
[ "$(of_node 0 out | number links_up)" -eq 1 ] && [ "$(of_node 0 out | number bad_forged)" -eq 0 ] || complain "links or counters"
muster status --machine "$first"
[ $code -eq 0 ] && grep -q "^machine $first: 2 nodes, 2 on this host$" out && grep -qE '^ +1 +hand1 +127\.0\.0\.1:' out ||
    { complain "status in words"; show; }
muster events --machine "$first"
[ $code -eq 0 ] && [ ! -s out ] && [ ! -s err ] || { complain "events where nothing has happened"; show; }
refuses 1 "job 5 of machine $first" -- kill 5 --machine "$first"

# A daemon that is stopped: shown as such, and it takes a second, not for ever.
kill -STOP "${pids[0]}"
# shows_stopped: and that the other one answers, which on a busy host may take it more than that second
shows_stopped() {
    muster status --machine "$first" --json
    [ $code -eq 0 ] && of_node 0 out | grep -q '"answers":false,"why":"does not answer"' && of_node 1 out | grep -q '"answers":true'
}
wait_until 30 shows_stopped || { complain "a stopped daemon, and one that answers"; show; }
muster status --machine "$first"
grep -qE '^ +0 +does not answer$' out || { complain "a stopped daemon, in words"; show; }
muster events --machine "$first"
[ $code -eq 0 ] || { complain "events from the next one"; show; }
kill -STOP "${pids[1]}"
muster status --machine "$first"
[ $code -eq 1 ] || complain "status of a machine where nobody answers: exit $code"
refuses 1 "no daemon of machine $first" "node 1 does not answer" -- events --machine "$first"
refuses 1 "node 1 does not answer" -- kill 1 --machine "$first"
kill -CONT "${pids[@]}"

# ---- a job: deaths, events, and its end ----

others=()
"$MUSTER" events -f --machine "$first" >quiet 2>&1 &
others+=($!)
start_job 3 6 || exit 1
muster status
[ $code -eq 1 ] && grep -q "$machine" err && grep -q "$first" err && grep -q -- --machine err || { complain "two machines, none named"; show; }
muster status --machine "$machine"
grep -qE '^ +1 +6 +6 +0 +0$' out || { complain "status of a job of 6"; show; }
"$MUSTER" events --follow --json --machine "${machine:0:12}" >followed 2>followed.err &
follower=$!
others+=($follower)
kill -KILL "$(pid_of 4)"
wait_until 30 grep -qs '"rank":4' followed || complain "a death was not followed: $(cat followed.err)"
grep -q '^{"event":"process","job":1,"rank":4,"node":2,"verdict":"dead","cause":"exit",.*"how":"signalled","exit_code":null,"signal":9,' followed ||
    complain "events --json: $(cat followed)"
muster events --machine "$machine"
grep -qE '^ +[0-9.]+ s ago  process 4 of job 1 on node 2 is dead: killed \(signal 9\)   seen by node 2, [0-9] hops?$' out ||
    { complain "events in words"; show; }
muster status --machine "$machine" --json
grep -q '"jobs":\[{"job":1,"size":6,"running":5,"failed":1,"left":0}\]' out || { complain "status after a death"; show; }

# The daemon that is followed dies: the next one goes on, and nothing is told twice.
kill -KILL "$(of_node 0 out | number pid)"
wait_until 30 grep -qs '"event":"node","node":0' followed || complain "the death of node 0 was not followed: $(cat followed.err)"
wait_until 30 grep -qs '"rank":0' followed || complain "the loss of process 0 was not followed: $(cat followed)"
[ "$(grep -c '"rank":4' followed)" -eq 1 ] || complain "a death was told twice: $(cat followed)"
muster kill 1 --signal KILL --machine "$machine"
[ $code -eq 0 ] || { complain "kill: exit $code"; show; }
wait_until 30 gone "$run" || complain "'muster run' goes on after 'muster kill'"
wait_until 30 gone $follower || complain "events -f goes on after the machine is over"
wait $follower
code=$?
[ $code -eq 0 ] && [ ! -s followed.err ] || complain "events -f at the end of its machine: exit $code: $(cat followed.err)"
exec {run_input}>&-
wait "$run"
run=

# Ctrl-C
kill -INT "${others[0]}"
wait "${others[0]}"
code=$?
[ $code -eq 0 ] && [ ! -s quiet ] || complain "events -f after Ctrl-C: exit $code: $(cat quiet)"
others=()
take_down

[ $failed -eq 0 ] && echo "all as it should be"
exit $failed
