#!/bin/bash
# alone
# timeout: 300
# What a firewall does to a node proves nothing, and what its witness says does: 4 hosts that are network namespaces.
set -u
. "$MUSTER_SOURCE/tests/system/by_hand.sh"
. "$MUSTER_SOURCE/tests/system/netns_common.sh"
net_or_skip
command -v ss >/dev/null || net_skip "there is no command 'ss'"
trap 'net_down; clean_up' EXIT
trap 'exit 130' INT TERM HUP

period_ms=100 timeout_ms=500
[ "$MUSTER_SANITIZED" = 0 ] || timeout_ms=4000
tag=witness-$$

# ours: what runs of this test's jobs; of_node_is_left NODE: what of it is on that node, the daemon and its witness too
ours() { grep -lzsxF "MUSTER_TEST=$tag" /proc/[0-9]*/environ 2>/dev/null | cut -d / -f 3; }
on_host() {
    local pid
    for pid in $(ip netns pids "${net_hosts[$1]}"); do gone "$pid" || echo "$pid"; done
}
nothing_on_host() { [ -z "$(on_host "$1")" ]; }
# W3: when that is said, nothing but the witness that said it may be left.
nothing_is_left() { # NODE
    local pid
    wait_until 20 eval 'at 0 "$MUSTER" why '"$1"' --cluster "$machine" | grep -q "no process of the node is left"' ||
        complain "that nothing is left of node $1 is not known: $(at 0 "$MUSTER" why "$1" --cluster "$machine")"
    for pid in $(on_host "$1"); do
        [ "$(cat "/proc/$pid/comm" 2>/dev/null || echo muster-witness)" = muster-witness ] ||
            complain "nothing is left of node $1, and yet: $(ps -o pid,args -p "$pid")"
    done
    wait_until 20 nothing_on_host "$1" || complain "on node $1 there is left: $(on_host "$1" | xargs -r ps -o pid,args -p)"
}

# start: a job on 4 hosts, 2 processes each.  Sets run, machine, daemons and witnesses, by node
start() {
    rm -f input roll/*
    mkdir -p roll
    MUSTER_TEST=$tag net_exec "$net_hub" "$MUSTER" run --hostfile hosts --agent "ip netns exec" --on-failure continue \
        --heartbeat "${period_ms}ms,${timeout_ms}ms" "$programs/roll" roll </dev/null >run.out 2>run.err &
    run=$!
    wait_until 60 all_there || { complain "the processes do not come up: $(cat run.err)"; exit 1; }
    machine=$(sed -n 's|^pid.* socket muster/[0-9]*/\([0-9a-f]*\)/0$|\1|p' roll/rank-0)
    local node
    for node in 0 1 2 3; do
        daemons[node]=$(ps -o ppid= -p "$(sed -n 's/^pid \([0-9]*\) .*/\1/p' "roll/rank-$((2 * node))")" | tr -d ' ')
        witnesses[node]=$(ps -o ppid= -p "${daemons[node]}" | tr -d ' ')
        [ "$(cat "/proc/${witnesses[node]}/comm")" = muster-witness ] || complain "node $node has no witness"
    done
}
all_there() { [ "$(cat roll/rank-* 2>/dev/null | grep -c ^pid)" -eq 8 ]; }

# finish: the job ends well for those who are left
finish() {
    touch roll/over
    wait_until 60 gone "$run" || complain "the launcher does not end"
    wait "$run"
    run=
    wait_until 20 eval '[ -z "$(ours)" ]' || complain "processes are left: $(ours | xargs -r ps -o pid,args -p)"
}

# told RANK WHAT: what that rank was told of nodes; nobody_told
told() { grep -h "^node $2" "roll/rank-$1"; }
nobody_told() { [ -z "$(cat roll/rank-* | grep -E '^(node|process)')" ]; }
at() { net_exec "${net_hosts[$1]}" "${@:2}"; }
all_told() { # NODE VERDICT: all on other nodes
    local rank
    for rank in 0 1 2 3 4 5 6 7; do
        [ $((rank / 2)) -eq "$1" ] || [ -n "$(told $rank "$1 $2")" ] || return 1
    done
}
# latest NODE: ms after which the last survivor was told of it, since it was first seen
cause_is() { # NODE CAUSE
    at 0 "$MUSTER" why "$1" --json --cluster "$machine" | grep -q "\"cause\":\"$2\""
}

net_up 4 || { echo "FAIL: no network"; exit 1; }
net_hostfile 2 >hosts

# ---- a witness costs little, and is the last that the kernel kills for memory, where that is permitted ----

start
score=$(cat /proc/$$/oom_score_adj)
spared=$score
if (echo -1000 >/proc/self/oom_score_adj) 2>/dev/null; then spared=-1000; fi # needs CAP_SYS_RESOURCE, which root may lack
for i in 0 1 2 3; do
    [ "$(cat "/proc/${witnesses[i]}/oom_score_adj")" = "$spared" ] || complain "the OOM score of witness $i is not $spared"
    for pid in "${daemons[i]}" "$(sed -n 's/^pid \([0-9]*\) .*/\1/p' "roll/rank-$((2 * i))")"; do
        [ "$(cat "/proc/$pid/oom_score_adj")" = "$score" ] || complain "the OOM score of $(cat "/proc/$pid/comm") is not $score"
    done
    own=$(awk '/^Private_(Clean|Dirty):/ { kib += $2 } END { print kib }' "/proc/${witnesses[i]}/smaps_rollup")
    echo "witness $i has $own KiB of its own"
    [ "$MUSTER_SANITIZED" != 0 ] || [ "${own:-9999}" -lt 1024 ] || complain "witness $i has ${own:-?} KiB of its own"
done

# ---- a firewall that rejects, and resets what there is: nobody is declared ----

port=$(at 2 "$MUSTER" status --cluster "$machine" --json | of_node 2 /dev/stdin | word address | sed 's/.*://')
at 2 nft -f - <<RULES
table inet firewall {
    chain input { type filter hook input priority 0; tcp dport $port reject with tcp reset; }
}
RULES
at 2 ss --kill state established "( sport = :$port or dport != :$port )" src 10.0.0.3 dst 10.0.0.0/28 >/dev/null 2>&1
# every connection of node 2 with another node was reset: each of those has seen it
broken() { local i; for i in 0 1 3; do [ "$(at $i "$MUSTER" status --cluster "$machine" --json | of_node $i /dev/stdin | number links_broken)" -ge 1 ] || return 1; done; }
wait_until 20 broken || complain "no connection was reset: $(at 0 "$MUSTER" status --cluster "$machine" --json)"
refused=$(at 1 bash -c "exec 3<>/dev/tcp/10.0.0.3/$port" 2>&1)
[[ $refused == *refused* ]] || complain "node 2 does not refuse connections: '$refused'"
sleep $((10 * timeout_ms / 1000)).5 # for ten timeouts nothing may happen
nobody_told || complain "somebody was declared: $(cat roll/rank-*)"
for i in 0 1 2 3; do
    [ "$(at $i "$MUSTER" status --cluster "$machine" --json | of_node $i /dev/stdin | number dead)" = 0 ] || complain "node $i knows somebody dead"
    [ -e "/proc/${daemons[i]}" ] || complain "the daemon of node $i has ended"
done
linked() { [ "$(at 2 "$MUSTER" status --cluster "$machine" --json | of_node 2 /dev/stdin | number links_up)" -ge 3 ]; }
wait_until 30 linked || complain "node 2 has no links any more: $(at 2 "$MUSTER" status --cluster "$machine")"
# It goes on to work: news from it reach everybody.  What the launcher then says to it, if only that it has read them, is
# answered with a reset; to the launcher that is a lost node (docs/launch.md), and its daemon ends.  Nobody falls silent.
kill -KILL "$(sed -n 's/^pid \([0-9]*\) .*/\1/p' roll/rank-5)"
all_told_process() { local rank; for rank in 0 1 2 3 6 7; do grep -q "^process 5 dead" "roll/rank-$rank" || return 1; done; }
wait_until 30 all_told_process || complain "news from node 2 do not come through: $(cat run.err roll/rank-*)"

# ---- its daemon is killed for real, if it is still there: its witness says so, firewall or not ----

kill -KILL "${daemons[2]}" 2>/dev/null
wait_until 20 all_told 2 dead || complain "not all were told that node 2 is dead: $(cat roll/rank-*)"
cause_is 2 witness || complain "node 2 is dead, but not by its witness: $(at 0 "$MUSTER" why 2 --cluster "$machine")"
late=$(at 0 "$MUSTER" why 2 --json --cluster "$machine" | sed -n 's/.*"all_told_ms":\([0-9]*\).*/\1/p')
[ "${late:-9999}" -lt $period_ms ] || complain "told only after ${late:-?} ms"
nothing_is_left 2
finish

# ---- the witness is killed alone: said in status, the job goes on; then the daemon: the ring decides ----

start
at 1 "$MUSTER" status --cluster "$machine" --json | of_node 1 /dev/stdin | grep -q '"witness":true' || complain "node 1 does not say that it has a witness"
kill -KILL "${witnesses[1]}"
without() { at 1 "$MUSTER" status --cluster "$machine" --json | of_node 1 /dev/stdin | grep -q '"witness":false'; }
wait_until 20 without || complain "status does not say that the witness is gone"
at 1 "$MUSTER" status --cluster "$machine" | grep -q "^Warning: node 1 has no witness" || complain "nor in words: $(at 1 "$MUSTER" status --cluster "$machine")"
sleep $((2 * timeout_ms / 1000)).5
nobody_told || complain "somebody was declared without a witness: $(cat roll/rank-*)"
kill -KILL "${daemons[1]}"
wait_until 30 all_told 1 silent || complain "a daemon without a witness: $(cat roll/rank-*)"
cause_is 1 silence || complain "not by silence: $(at 0 "$MUSTER" why 1 --cluster "$machine")"
wait_until 20 nothing_on_host 1 || complain "on node 1 there is left: $(on_host 1 | xargs -r ps -o pid,args -p)"
finish

# ---- both at once: the ring decides, within the timeout ----

start
kill -KILL -- "-${witnesses[3]}" # their process group: one after the other, the witness could speak in between
wait_until 30 all_told 3 silent || complain "daemon and witness killed: $(cat roll/rank-*)"
silent=$(at 0 "$MUSTER" why 3 --json --cluster "$machine" | sed -n 's/.*"silent_ms":\([0-9]*\).*/\1/p')
[ "${silent:-9999}" -le $((timeout_ms + period_ms)) ] || complain "declared only after ${silent:-?} ms"
wait_until 20 nothing_on_host 3 || complain "on node 3 there is left: $(on_host 3 | xargs -r ps -o pid,args -p)"
finish

# ---- a witness that is stopped speaks late: what the ring has declared is proven then ----

start
kill -STOP "${witnesses[1]}"
kill -KILL "${daemons[1]}"
wait_until 30 all_told 1 silent || complain "a daemon whose witness stands still: $(cat roll/rank-*)"
kill -CONT "${witnesses[1]}"
nothing_is_left 1
[ "$(cat roll/rank-0 | grep -c '^node 1')" -eq 1 ] || complain "rank 0 was told twice: $(cat roll/rank-0)"
finish

[ $failed -eq 0 ] && echo "all as it should be"
exit $failed
