#!/bin/bash
# timeout: 300
# Two hosts: no third node can say who of the two is dead, so the launcher is asked.  Hosts are network namespaces.
set -u
. "$MUSTER_SOURCE/tests/system/by_hand.sh"
. "$MUSTER_SOURCE/tests/system/netns_common.sh"
trap 'net_down; clean_up' EXIT
net_or_skip
net_up 2 || { complain "no network"; exit 1; }
net_hostfile 1 >hosts

timeout_ms=400 heartbeat=100ms,400ms
[ "$MUSTER_SANITIZED" = 0 ] || timeout_ms=2000 heartbeat=200ms,2s

now_ms() { echo $(($(date +%s%N) / 1000000)); }

# start: a process on each host, which waits; sets run, machine and daemons
start() {
    rm -f here.*
    nsenter --net="/run/netns/$net_hub" "$MUSTER" run --hostfile hosts --agent "ip netns exec" --on-failure continue --heartbeat $heartbeat \
        sh -c 'echo "$MUSTER_SOCKET" >here.$MUSTER_RANK; sleep 600' </dev/null >run.out 2>run.err &
    run=$!
    wait_until 30 test -s here.0 -a -s here.1 || { complain "not all are here: $(cat run.err)"; exit 1; }
    machine=$(cut -d / -f 3 here.0)
    for node in 0 1; do
        net_exec "${net_hosts[node]}" "$MUSTER" status --cluster "$machine" --json >status$node
        daemons[node]=$(of_node $node status$node | number pid)
    done
}
daemons=()

# deaths NODE: what that node was told of nodes
deaths() { net_exec "${net_hosts[$1]}" "$MUSTER" events --cluster "$machine" --json 2>/dev/null | grep '"event":"node"'; }
told() { deaths "$1" | grep -q "\"node\":$2,"; }

# finish WHAT: whatever is left ends with the launcher
finish() {
    kill -TERM "$run" 2>/dev/null
    wait_until 30 gone "$run" || { complain "$1: 'muster run' does not end"; kill -KILL "$run"; }
    wait "$run" 2>/dev/null
    run=
    for node in 0 1; do
        wait_until 30 gone "${daemons[node]}" || complain "$1: the daemon of node $node does not end"
    done
}

# ---- a node is stopped: the other one declares it ----

start
before=$(now_ms)
kill -STOP "${daemons[1]}"
wait_until 30 told 0 1 || complain "stopped: node 0 is not told: $(cat run.err)"
took=$(($(now_ms) - before))
echo "a stopped node was declared, and that was read, after $took ms"
[ "$took" -le $((2 * timeout_ms + 500)) ] || complain "stopped: that took $took ms"
wait_until 10 grep -q 'node 1 .* failed' run.err || complain "stopped: the launcher does not know: $(cat run.err)"
kill -CONT "${daemons[1]}"
wait_until 30 gone "${daemons[1]}" || complain "stopped: when it goes on, it does not learn that it was declared"
! gone "${daemons[0]}" || complain "stopped: the other daemon has ended, too: $(cat run.err)"
finish stopped

# ---- the link between the two is cut, and the launcher reaches both: one is declared, and the other goes on ----

start
net_exec "$net_hub" nft add element bridge muster pairs '{ port0 . port1, port1 . port0 }'
one_is_told() { told 0 1 || told 1 0; }
wait_until 30 one_is_told || complain "link: nobody is declared: $(cat run.err)"
told 0 1 || complain "link: at a tie the higher one is declared, and node 0 was not told so: $(cat run.err)"
wait_until 30 gone "${daemons[1]}" || complain "link: node 1 was declared, and its daemon is there: $(cat run.err)"
# Both would have been declared by then.
sleep $((10 * timeout_ms / 1000))
! gone "${daemons[0]}" || complain "link: both are declared: $(cat run.err)"
net_exec "$net_hub" nft flush set bridge muster pairs
finish link

# ---- a host is cut off from everybody: the other one declares it ----

start
net_exec "$net_hub" nft add element bridge muster pairs '{ port0 . port1, port1 . port0 }'
net_exec "$net_hub" nft add element bridge muster up '{ port1 }'
net_exec "$net_hub" nft add element bridge muster down '{ port1 }'
wait_until 30 told 0 1 || complain "cut off: node 0 is not told: $(cat run.err)"
! told 1 0 || complain "cut off: the one that is cut off declares the other one"
undecided() {
    net_exec "${net_hosts[1]}" "$MUSTER" events --cluster "$machine" 2>&1 |
        grep -q 'node 1 receives no heartbeat from node 0 and has no other node to ask'
}
wait_until 30 undecided || complain "cut off: node 1 does not say that it cannot tell: $(deaths 1)"
net_exec "${net_hosts[1]}" "$MUSTER" status --cluster "$machine" >out
grep -q 'node 1 receives no heartbeat from node 0 and has no other node to ask' out || complain "cut off: status: $(cat out)"
for set in pairs up down; do net_exec "$net_hub" nft flush set bridge muster $set; done
wait_until 30 gone "${daemons[1]}" || complain "cut off: when it is back, it does not learn that it was declared"
! gone "${daemons[0]}" || complain "cut off: the other daemon has ended, too: $(cat run.err)"
finish "cut off"

# ---- two nodes without a launcher: nobody is declared, and it is said ----

bring_up 2 || exit 1
undecided() { "$MUSTER" "$1" --cluster "$machine" 2>&1 | grep -q 'node 0 receives no heartbeat from node 1 and has no other node to ask'; }
kill -STOP "${pids[1]}"
wait_until 30 undecided status || complain "by hand: status does not say that node 0 cannot tell"
undecided events || complain "by hand: events do not say that node 0 cannot tell"
grep -q 'node 0 cannot tell whether node 1 is dead' daemon0.err || complain "by hand: the log does not say it: $(cat daemon0.err)"
kill -CONT "${pids[1]}"
wait_until 30 eval '! undecided status' || complain "by hand: it goes on, and status still says that nobody can tell"
take_down
exit $failed
