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

# refuses CODE TEXT... -- ARGUMENTS...: nothing on stdout, one message on stderr that has every TEXT (further lines of
# it are indented)
refuses() {
    local expected=$1 texts=() text
    shift
    while [ "$1" != -- ]; do texts+=("$1"); shift; done
    shift
    muster "$@"
    [ $code -eq "$expected" ] || { complain "exit $code instead of $expected: muster $*"; show; }
    [ ! -s out ] && [ "$(grep -vc '^        ' err)" -eq 1 ] || { complain "not exactly one message, on stderr: muster $*"; show; }
    for text in "${texts[@]}"; do
        grep -qF -- "$text" err || { complain "stderr does not say '$text': muster $*"; show; }
    done
}

# ---- words and flags ----

for command in status events kill; do
    muster $command --help
    [ $code -eq 0 ] && grep -q "^usage: muster $command " out && grep -q '^  --cluster ID' out || complain "$command --help"
    muster help $command
    grep -q "^usage: muster $command " out || complain "help $command"
    refuses 2 "'zz'" "hexadecimal" -- $command $([ $command != kill ] || echo 1) --cluster zz
    refuses 2 "'0123456789abcdef0'" -- $command $([ $command != kill ] || echo 1) --cluster 0123456789abcdef0
    refuses 2 "unknown option '--nope'" -- $command --nope
    refuses 2 "unknown option '--clustr'" "did you mean '--cluster'" -- $command --clustr 1
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
        [ $code -eq 1 ] && [ ! -s out ] && grep -q "^muster ${command% 1}: no running cluster found on this host" err ||
            { complain "without a machine: $command: exit $code"; show; }
    done
else
    echo "note: no user namespaces, so a host without a machine is not tried"
fi

hand_timeout_ms=600000 # daemons are stopped below, and are not to be declared dead
bring_up 2 || exit 1
first=$machine
muster status --cluster "$first" --json
[ $code -eq 0 ] && grep -q "^{\"cluster\":\"$first\",\"nodes\":\[{\"slot\":0,.*\],\"jobs\":\[\],\"failed\":\[\]}$" out || { complain "status --json"; show; }
[ "$(of_node 1 out | number pid)" = "${pids[1]}" ] || complain "status shows another process id than ${pids[1]}"
[ "$(of_node 1 out | word address)" = "127.0.0.1:${ports[1]}" ] || complain "status shows another address"
[ "$(of_node 0 out | number links_up)" -eq 1 ] && [ "$(of_node 0 out | number bad_forged)" -eq 0 ] || complain "links or counters"
muster status --cluster "$first"
[ $code -eq 0 ] && grep -q "^Cluster ${first:0:8}: 2 of 2 nodes alive" out && grep -qE '^ +1 +hand1 +alive +127\.0\.0\.1:' out ||
    { complain "status in words"; show; }
muster events --cluster "$first"
[ $code -eq 0 ] && grep -qx "No failures in cluster ${first:0:8}\." out && [ ! -s err ] || { complain "events where nothing has happened"; show; }
muster events --machine "$first" --json
[ $code -eq 0 ] && [ ! -s out ] && [ ! -s err ] || { complain "events --json where nothing has happened"; show; }
refuses 1 "cluster ${first:0:8} has no job 5" -- kill 5 --cluster "$first"

# A daemon that is stopped: shown as such, and it takes a second, not for ever.
kill -STOP "${pids[0]}"
# shows_stopped: and that the other one answers, which on a busy host may take it more than that second
shows_stopped() {
    muster status --cluster "$first" --json
    [ $code -eq 0 ] && of_node 0 out | grep -q '"answers":false,"why":"does not answer"' && of_node 1 out | grep -q '"answers":true'
}
wait_until 30 shows_stopped || { complain "a stopped daemon, and one that answers"; show; }
muster status --cluster "$first"
grep -qE '^ +0 +- +no answer ' out || { complain "a stopped daemon, in words"; show; }
muster events --cluster "$first"
[ $code -eq 0 ] || { complain "events from the next one"; show; }
kill -STOP "${pids[1]}"
muster status --cluster "$first"
[ $code -eq 1 ] || complain "status of a machine where nobody answers: exit $code"
refuses 1 "no daemon of cluster ${first:0:8}" "node 1 does not answer" -- events --cluster "$first"
refuses 1 "node 1 does not answer" -- kill 1 --cluster "$first"
kill -CONT "${pids[@]}"

# ---- a job: deaths, events, and its end ----

others=()
"$MUSTER" events -f --cluster "$first" >quiet 2>&1 &
others+=($!)
start_job 3 6 || exit 1
# Others may have clusters here, too: two at least.
muster status
[ $code -eq 0 ] && grep -q "^[0-9]* clusters are running" out && grep -qE "^${machine:0:8} +$(id -un) .* 3 +$run +.*survivor$" out &&
    grep -qE "^${first:0:8} .* 2 +- +-$" out || { complain "several clusters are not listed"; show; }
muster status --json
grep -q "{\"cluster\":\"$machine\",\"owner\":\"$(id -un)\",\"answers\":true,.*\"launcher_pid\":$run}" out || { complain "the list as JSON"; show; }
refuses 1 "clusters are running" "--cluster ID" "${machine:0:8}  3 nodes, job 1: " "${first:0:8}  2 nodes, up " -- kill 1
if [ "$(id -u)" = 0 ]; then
    refuses 2 "'nobody-of-this-name'" -- status --user nobody-of-this-name
    muster status --all
    [ $code -eq 0 ] && grep -q "^${machine:0:8} " out || { complain "status --all"; show; }
    muster status --user root --cluster "${machine:0:6}"
    [ $code -eq 0 ] && grep -q "^Cluster ${machine:0:8}: " out || { complain "status --user"; show; }
else
    refuses 2 "--all is for root" -- status --all
    refuses 2 "'root'" "only root" -- status --user root
fi
muster status --cluster "$machine"
grep -qE '^ +1 +6 +6 +0 +0$' out || { complain "status of a job of 6"; show; }
"$MUSTER" events --follow --json --cluster "${machine:0:12}" >followed 2>followed.err &
follower=$!
others+=($follower)
kill -KILL "$(pid_of 4)"
wait_until 30 grep -qs '"rank":4' followed || complain "a death was not followed: $(cat followed.err)"
grep -q '^{"event":"process","job":1,"rank":4,"node":2,"verdict":"dead","cause":"exit",.*"how":"signalled","exit_code":null,"signal":9,' followed ||
    complain "events --json: $(cat followed)"
# A rank that runs, and one that there is not.
refuses 1 "rank 0 of job 1 has not failed" -- why 1.0 --cluster "$machine"
refuses 1 "job 1 has no rank 99: its ranks are 0-5" -- why 1.99 --cluster "$machine"

muster events --cluster "$machine"
grep -qE '^[0-9.]+ s +rank 1\.4 failed on node 2: killed by SIGKILL +node 2$' out ||
    { complain "events in words"; show; }
muster status --cluster "$machine" --json
grep -q '"jobs":\[{"job":1,"size":6,"running":5,"failed":1,"left":0}\],' out || { complain "status after a death"; show; }

# The daemon that is followed dies: the next one goes on, and nothing is told twice.
kill -KILL "$(of_node 0 out | number pid)"
wait_until 30 grep -qs '"event":"node","node":0' followed || complain "the death of node 0 was not followed: $(cat followed.err)"
wait_until 30 grep -qs '"rank":0' followed || complain "the loss of process 0 was not followed: $(cat followed)"
[ "$(grep -c '"rank":4' followed)" -eq 1 ] || complain "a death was told twice: $(cat followed)"
muster status --cluster "$machine"
grep -qE '^ +0 +- +failed .* ago$' out && grep -q "2 of 3 nodes alive" out && grep -q "muster why 0" out || { complain "a failed node in status"; show; }
muster kill 1 --signal KILL --cluster "$machine"
[ $code -eq 0 ] && grep -qE "^Sent SIGKILL to [345] ranks of job 1 in cluster ${machine:0:8}\.$" out || { complain "kill: exit $code"; show; }
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
