#!/bin/bash
# timeout: 300
# why and set, with real machines: nodes that are stopped, killed and cut off, and who says what of it.
set -u
. "$MUSTER_SOURCE/tests/system/by_hand.sh"

# muster ARGUMENTS...: leaves its output in out and err, and the exit code in $code
muster() {
    "$MUSTER" "$@" >out 2>err
    code=$?
}
show() { head -12 out err | cut -c 1-2000 | sed 's/^/    /'; }

# refuses CODE TEXT... -- ARGUMENTS...: nothing on stdout, one message on stderr that has every TEXT
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

# says PATTERN...: exit 0, and each is a line of standard output (-x), as an extended regular expression
says() {
    local pattern
    [ $code -eq 0 ] && [ ! -s err ] || { complain "exit $code instead of 0"; show; }
    for pattern; do
        grep -qxE -- "$pattern" out || { complain "no line '$pattern'"; show; }
    done
}

# has TEXT...: each stands in the one line of JSON in out
has() {
    local text
    [ $code -eq 0 ] && [ "$(wc -l <out)" -eq 1 ] || { complain "exit $code, or not one line"; show; }
    for text; do
        grep -qE -- "$text" out || { complain "no '$text' in the JSON"; show; }
    done
}

time=' +\+ *[0-9]+\.[0-9]{2} ms  ' none=' +' ms='[0-9]+\.[0-9]{2} ms' number='[0-9]+\.[0-9e+-]+'

# A sanitizer makes everything slow: there a stall must not look like a death.  Elsewhere the short times are good for a
# moment only, since other tests may load the host.
period=50 timeout=100 timeout_text="100 ms"
[ "$MUSTER_SANITIZED" = 0 ] || period=200 timeout=1000 timeout_text="1 s"
run_flags=(--heartbeat "${period}ms,${timeout}ms" --report report)

# ---- words and flags ----

for command in why set; do
    muster $command --help
    [ $code -eq 0 ] && grep -q "^usage: muster $command " out || complain "$command --help"
    refuses 2 "unknown option '--nope'" -- $command --nope
done
refuses 2 "'zz'" "hexadecimal" -- why 1 --cluster zz
refuses 2 "'zz'" "hexadecimal" -- set period=1s timeout=2s --cluster zz
refuses 2 "missing" JOB.RANK -- why
for wrong in x 1. .1 1.x 1.2.3 -1.0 16777216 1.4294967296 4294967296.0 99999999999999999999; do
    [[ $wrong == -* ]] || refuses 2 "'$wrong'" "JOB.RANK" -- why "$wrong"
done
refuses 2 "'3'" "unexpected" -- why 1 3
refuses 2 "--report" "--cluster" -- why 1 --cluster 1 --report file
refuses 1 "'no/such/file': No such file or directory" -- why 1 --report no/such/file
refuses 2 "period=DURATION" -- set
refuses 2 "'colour=blue'" -- set colour=blue
refuses 2 "'period'" -- set period
refuses 2 "period is '50'" "50ms" -- set period=50
refuses 2 "timeout is '2parsecs'" -- set period=1ms timeout=2parsecs
refuses 2 "period is '0ms'" "1ms" -- set period=0ms timeout=100ms
refuses 2 "period must be at least 1 ms" -- set period=10us timeout=100ms
refuses 2 "50 ms" "99 ms" "timeout must be at least two periods" -- set period=50ms timeout=99ms
refuses 2 "timeout must be at most an hour" -- set period=1s timeout=61m
refuses 2 "'period=2s'" "given twice" -- set period=1s period=2s
echo '{"job":1}' >broken
refuses 1 "line 1 " "kind" -- why 1 --report broken
printf '%s\n' '{"job":1,"kind":"process","rank":2,"node":1,"how":"exit code 9","code":9,"seen_by":1,"told":[],"all_told_ms":null,"untold":[],"pid":7,"verdict":"dead","cause":"exit","ended":"exited"}' 'and so on' >broken
refuses 1 "line 2 " "not JSON" -- why 1.2 --report broken

if unshare -rn true 2>/dev/null; then
    for command in "why 1" "set period=1s"; do
        unshare -rn "$MUSTER" $command >out 2>err
        code=$?
        [ $code -eq 1 ] && [ ! -s out ] && grep -q "^muster ${command%% *}: no running cluster found on this host" err ||
            { complain "without a machine: $command: exit $code"; show; }
    done
else
    echo "note: no user namespaces, so a host without a machine is not tried"
fi

# ---- new times, while it runs ----

# times SLOT: "period/timeout" of a node, in ns
times() { echo "$(counter ring_period_ns "$1" status)/$(counter ring_timeout_ns "$1" status)"; }
# all_have PERIOD_MS TIMEOUT_MS: every node has them
all_have() {
    local slot
    "$MUSTER" status --json --cluster "$machine" >status
    for slot in 0 1 2 3; do
        [ "$(times $slot)" = "${1}000000/${2}000000" ] || { complain "node $slot has $(times $slot) instead of $1/$2 ms"; return; }
    done
}

bring_up 2 || exit 1
other=$machine
start_job 4 8 || exit 1
all_have $period $timeout
muster set period=110ms timeout=2.5s --cluster "$machine"
says "Set heartbeat period 110 ms, timeout 2\.5 s on all 4 nodes of cluster ${machine:0:8} on this host\."
all_have 110 2500
muster set --cluster "$machine" timeout=3s
says "Set heartbeat period 110 ms, timeout 3 s on all 4 nodes of cluster ${machine:0:8} on this host\."
all_have 110 3000
muster set period=120ms --cluster "$machine"
all_have 120 3000
refuses 1 "heartbeat period 120 ms, timeout 200 ms: timeout must be at least two periods" -- set timeout=200ms --cluster "$machine"
all_have 120 3000
muster status --cluster "$machine"
says "Cluster ${machine:0:8}: 4 of 4 nodes alive, .*  Heartbeat period 120 ms, timeout 3 s\." 'NODE .* OBSERVED BY +LEASE +UP' ' +2 +node2 +alive .* node [013] +[0-9]+ ms .*'
for command in "why 1" "set period=1s"; do
    refuses 1 "${machine:0:8}" "${other:0:8}" --cluster -- $command
done

# ---- nothing is known of the living ----

refuses 1 "node 2 has not failed ('muster events'" -- why 2 --cluster "$machine"
refuses 1 "has no node 4: its nodes are 0-3" -- why 4 --cluster "$machine"
refuses 1 "rank 0 of job 1 has not failed" -- why 1.0 --cluster "$machine"
refuses 1 "has no job 7" -- why 7.0 --cluster "$machine"

# known SUBJECT: 'muster why' knows it, and so does every node
known() { "$MUSTER" why "$1" --json --cluster "$machine" 2>/dev/null | grep -qE '"all_told_ms":[0-9]'; }
reported() { grep -q "$1" report; }

# ---- a process is killed ----

pid=$(pid_of 7)
kill -KILL "$pid"
wait_until 30 known 1.7 || complain "the death of process 7 is not known: $("$MUSTER" why 1.7 --cluster "$machine" 2>&1)"
muster why 1.7 --cluster "$machine"
says "Rank 1\.7 failed on node 3: killed by SIGKILL\." \
    "${time}the daemon of node 3 saw rank 7 \(PID $pid\) end: killed by SIGKILL" \
    "${time}all 4 surviving nodes notified \(last: node [0-3], [12] hops?\)"
muster why 1.7 --json --cluster "$machine"
has '^\{"job":1,"kind":"process","rank":7,"node":3,"how":"killed by SIGKILL","code":137,"seen_by":3,"told":\[\{' \
    "\"all_told_ms\":$number,\"untold\":\[\],\"pid\":$pid,\"verdict\":\"dead\",\"cause\":\"exit\"," \
    '"steps":\[\{"step":"ended","ms":0.0,"text":"the daemon of node 3 saw '

# ---- a daemon is killed: its witness says so ----

kill -KILL "$(of_node 1 status | number pid)"
wait_until 30 known 1 || complain "the death of node 1 is not known: $("$MUSTER" why 1 --cluster "$machine" 2>&1)"
witness="Node 1 failed \(dead\): daemon killed by SIGKILL\."
witness_step="${time}its witness reported to node [023] that the daemon has ended"
gone_step="${time}its witness reported that no process of the node is left"
knows_gone() { "$MUSTER" why 1 --cluster "$machine" 2>/dev/null | grep -qE "$gone_step"; }
wait_until 30 knows_gone || complain "that nothing of node 1 is left is not known: $("$MUSTER" why 1 --cluster "$machine" 2>&1)"
muster why 1 --cluster "$machine"
says "$witness" "$witness_step" "$gone_step" "${time}all 3 surviving nodes notified \(last: node [023], [012] hops?\)"
wait_until 30 known 1.2 || complain "process 2 is not known to be lost"
muster why 1.2 --cluster "$machine"
says "Rank 1\.2 failed on node 1: its node failed\." "${time}its node, 1, failed" "$witness" "$witness_step"

# ---- a daemon is stopped: silence ----

stopped=$(of_node 2 status | number pid)
lost=("$(pid_of 4)" "$(pid_of 5)")
muster set period=${period}ms timeout=${timeout}ms --cluster "$machine"
kill -STOP "$stopped"
wait_until 30 known 2 || complain "the silence of node 2 is not known: $("$MUSTER" why 2 --cluster "$machine" 2>&1)"
silence=("Node 2 failed \(silent\): no heartbeat for [0-9]+ ms\..*"
    "${time}node 3, its observer, received the last heartbeat \(period $period ms, timeout $timeout_text\)"
    "${time}heartbeat late: suspected by node 3; [0-9]+ probes? sent, none answered"
    "${none}asked node 0 to probe it: (probes not answered|no reply)"
    "${none}node 0 answered node 3, so node 3 was connected"
    "${none}node 3 itself was (on time|late by $ms, which were added to the timeout)"
    "${none}[0-9]+ ms over the timeout: after 'muster set' a longer one .*"
    "${time}node 3 declared it failed"
    "${time}all 2 surviving nodes notified \(last: node [03], 1 hop\)"
    "Possible causes: host hung.*" "only busy, .*")
# One that is dead is not waited for.
muster set period=120ms timeout=3s --cluster "$machine"
says "Set heartbeat period 120 ms, timeout 3 s on all 2 nodes of cluster ${machine:0:8} on this host\."
muster why 2 --cluster "$machine"
says "${silence[@]}"
[ "$(wc -l <out)" -eq ${#silence[@]} ] || { complain "more or less than the steps of node 2"; show; }
sed '1s/  Its ranks.*//' out >live
proof="\"period_ms\":$period\.0,\"timeout_ms\":$timeout\.0,\"silent_ms\":$number,\"suspect_ms\":$number,\"lag_ms\":$number,\"probes\":[0-9]+,\"vouched_by\":0,\"helpers\":\[\{\"node\":0,\"reach\":\"(none|trying)\"\}\]"
muster why 2 --json --cluster "$machine"
has '^\{"kind":"node","node":2,"how":"no heartbeat for [0-9]+ ms","code":255,"seen_by":3,"told":\[\{"node":[03],' \
    "\"all_told_ms\":$number,\"untold\":\[\],\"verdict\":\"silent\",\"cause\":\"silence\",$proof,\"no_answer\":\[\],\"text\":\"node 2 failed \(silent\)" \
    '"steps":\[\{"step":"heard","ms":0.0,.*\{"step":"late",.*\{"step":"helper",.*\{"step":"vouched","ms":null,.*\{"step":"lag","ms":null,.*\{"step":"declared","ms":[1-9].*\{"step":"known","ms":[1-9]'
muster why 1.4 --json --cluster "$machine"
has '^\{"job":1,"kind":"process","rank":4,"node":2,"how":"its node failed",' '"cause":"node-lost",' \
    "\"node_lost\":\{\"kind\":\"node\",\"node\":2,.*$proof"
"$MUSTER" events --json --cluster "$machine" | grep '"event":"node","node":2,' >out
code=$?
has "^\{\"event\":\"node\",\"node\":2,\"verdict\":\"silent\",\"cause\":\"silence\",$proof,\"seen_by\":3,"

# The same from the report, while the job still runs, and in the same words.
wait_until 30 reported '"kind":"node","processes":2,"node":2,' || complain "no line of node 2 in the report: $(cat report)"
grep '"kind":"node","processes":2,"node":2,' report >out
code=$?
has '^\{"job":1,"kind":"node","processes":2,"node":2,' "\"all_told_ms\":$number,\"untold\":\[\],\"ranks\":\[4,5\],\"verdict\":\"silent\",\"cause\":\"silence\",$proof\}$"
muster why 2 --report report
says "${silence[@]}"
sed -i '1s/  Its ranks.*//' out
cmp -s live out || complain "the report and the machine tell node 2 differently: $(diff live out)"
grep -q "node 2 (node2) failed with ranks 4-5: no heartbeat for [0-9]* ms; [0-9] of 8 ranks continue" run.err ||
    complain "'muster run' does not say that node 2 is lost: $(cat run.err)"

# It goes on, finds out, and stops what it has; nobody is accused.
kill -CONT "$stopped"
for pid in "$stopped" "${lost[@]}"; do
    wait_until 30 gone "$pid" || complain "process $pid of node 2 goes on after it was declared dead"
done
grep -q "declared failed by its peers" run.err || complain "node 2 does not say that it found out"
"$MUSTER" status --json --cluster "$machine" >status
for slot in 0 3; do
    [ "$(of_node $slot status | number dead)" -eq 2 ] || complain "node $slot knows other dead nodes than 1 and 2"
done
end_job
[ "$code" -eq 137 ] || complain "exit $code instead of 137: $(cat run.err)"

# ---- from the report, after the job ----

muster why 2 --report report
says "${silence[@]}"
muster why 1.5 --report report
says "Rank 1\.5 failed on node 2: its node failed\." "${silence[@]}"
muster why 1 --report report
says "Node 1 failed \(dead\): daemon killed by SIGKILL\..*" "$witness_step"
muster why 1.3 --report report --json
has '"cause":"node-lost",' '"node_lost":\{"job":1,"kind":"node","processes":2,"node":1,.*"ranks":\[2,3\],"verdict":"dead","cause":"witness",'
muster why 1.7 --report report
says "Rank 1\.7 failed on node 3: killed by SIGKILL\." "${time}the daemon of node 3 saw rank 7 \(PID [0-9]+\) end: killed by SIGKILL"
refuses 1 "report has no failure of node 0" -- why 0 --report report
refuses 1 "report has no failure of rank 0 of job 1" -- why 1.0 --report report
refuses 1 "report has no failure of rank 7 of job 2" -- why 2.7 --report report

# ---- a node is cut off ----

[ "$MUSTER_SANITIZED" != 0 ] || run_flags=(--heartbeat 50ms,400ms --report report)
start_job 4 8 || exit 1
muster chaos heal node=2 --cluster "$machine"
[ $code -eq 0 ] && [ ! -s err ] || { complain "healing what is not cut"; show; }
"$MUSTER" status --json --cluster "$machine" >status
daemon=$(of_node 2 status | number pid)
lost=("$(pid_of 4)" "$(pid_of 5)")
muster chaos cut node=2 --cluster "$machine"
[ $code -eq 0 ] && [ ! -s err ] || { complain "cut"; show; }
wait_until 30 known 2 || complain "the cut of node 2 is not known: $("$MUSTER" why 2 --cluster "$machine" 2>&1)"
muster why 2 --cluster "$machine"
says "Node 2 failed \(silent\): no heartbeat for [0-9]+ ms\..*" "${time}node 3 declared it failed" "${time}all 3 surviving nodes notified .*"
muster why 1.5 --cluster "$machine"
says "Rank 1\.5 failed on node 2: its node failed\." "${time}node 3 declared it failed"
wait_until 30 grep -q "node 2 (node2) failed with ranks 4-5: " run.err || complain "'muster run' does not say that node 2 is lost"

# It knows nothing of that, accuses nobody, and its processes go on.
"$MUSTER" status --json --cluster "$machine" >status
of_node 2 status | grep -q '"answers":true,.*"dead":0,"jobs":1,"processes":2,' || complain "node 2 while it is cut off: $(of_node 2 status)"
viewed() { "$MUSTER" views --json --cluster "$machine" | grep -q '"nodes":\[0,1,3\]'; }
wait_until 30 viewed || complain "no view without node 2: $("$MUSTER" views --cluster "$machine" 2>&1)"
[ "$(counter events 2 status)" -eq 1 ] || # view 1
    complain "a node that is cut off tells its processes of others"
muster status --cluster "$machine"
says ' +2 +node2 +failed .* lost +[0-9.]+ s ago'
for pid in "$daemon" "${lost[@]}"; do
    ! gone "$pid" || complain "process $pid of node 2 has ended while it was cut off"
done
muster chaos heal node=2 --cluster "$machine"
[ $code -eq 0 ] && [ ! -s err ] || { complain "heal"; show; }
for pid in "$daemon" "${lost[@]}"; do
    wait_until 30 gone "$pid" || complain "process $pid of node 2 goes on after it was healed"
done
grep -q "declared failed by its peers" run.err || complain "node 2 does not say that it found out: $(cat run.err)"
"$MUSTER" status --json --cluster "$machine" >status
for slot in 0 1 3; do
    [ "$(of_node $slot status | number dead)" -eq 1 ] ||
        complain "node $slot has heard of more than node 2 and its processes: $(of_node $slot status)"
done
[ "$("$MUSTER" events --json --cluster "$machine" | wc -l)" -eq 3 ] || complain "more is told than node 2 and its processes"
end_job
[ "$code" -eq 255 ] || complain "exit $code instead of 255: $(cat run.err)"
muster why 2 --report report
says "Node 2 failed \(silent\): no heartbeat for [0-9]+ ms\..*" "${time}node 3 declared it failed"

# ---- nothing is left ----

! grep -q "@muster/$(id -u)/$machine/" /proc/net/unix || complain "a socket of the machine is still there"
machine=$other
take_down
[ $failed -eq 0 ] && echo "all as it should be"
exit $failed
