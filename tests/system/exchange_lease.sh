#!/bin/bash
# A node that nobody acknowledges tells its processes no result of an exchange, though its connections work: the others
# may have declared it dead, and have gone on without it.  In a network namespace of its own, where heartbeats of one
# node are lost.
if [ -z "${MUSTER_TEST_NET:-}" ]; then
    [ "$(id -u)" -eq 0 ] || { echo "skipped: a network namespace needs root"; exit 77; }
    for tool in ip nft ss; do
        command -v $tool >/dev/null || { echo "skipped: there is no command '$tool' (tools/packages.txt)"; exit 77; }
    done
    unshare -n true 2>/dev/null || { echo "skipped: network namespaces are not permitted here"; exit 77; }
    MUSTER_TEST_NET=1 exec unshare -n "$0"
fi
. "$(dirname "$0")/run_common.sh"
ip link set lo up
nft add table inet muster && nft 'add chain inet muster in { type filter hook input priority 0; }' ||
    { echo "skipped: nft does not work here"; exit 77; }

# Rank 3 comes to a barrier, then the others do when they are told to.
cat >meet <<'END'
say() { echo "$1" >&"$PMI_FD" && read -r -t 60 -u "$PMI_FD" answer; }
say "cmd=init pmi_version=1 pmi_subversion=1" || exit 10
[ "$PMI_RANK" != 3 ] || echo $PPID >daemon
[ "$PMI_RANK" = 3 ] || until [ -e go ]; do sleep 0.02; done
: >"in-$PMI_RANK"
say "cmd=barrier_in" || exit 11
: >"passed-$PMI_RANK"
until [ -e over ]; do sleep 0.02; done
say "cmd=finalize"
END

# lease: what is left of that of node 3, in ns
lease() {
    "$MUSTER" status --json 2>/dev/null | grep -oE '"ring_lease_ns": ?[0-9]+' | sed -n 4p | grep -oE '[0-9]+$'
}
holds() { [ "$(lease)" -gt 0 ] 2>/dev/null; }
ended() { [ "$(lease)" = 0 ]; }
there() { for file; do [ -e "$file" ] || return 1; done; }

# begin: until all but rank 3 may come to the barrier, and node 3 has no lease any more
begin() {
    rm -f in-* passed-* go over daemon
    MUSTER_TEST=$tag "$MUSTER" run --no-pmix --timeout 60 --heartbeat 5s,10s --nodes 4 -n 4 --on-failure continue bash meet >out 2>err &
    run=$!
    until_true 20 there in-3 || complain "rank 3 has not come"
    until_true 20 holds || complain "node 3 has never had a lease"
    port=$(ss -Hlunp | grep "pid=$(cat daemon)," | grep -oE ':[0-9]+ ' | head -1 | tr -d ': ')
    nft "add rule inet muster in udp dport $port drop"
    nft "add rule inet muster in udp sport $port drop"
    until_true 20 ended || complain "the lease does not end without heartbeats"
    : >go
    # Node 2 is not acknowledged either: node 3 observes it.
    until_true 10 there passed-0 passed-1 || complain "the others wait for its lease"
}

# It is heard again before anybody has declared it dead: its process goes on.
begin
! there passed-3 || complain "a result was told without the lease"
! grep -q "^muster: node 3" err || complain "declared too soon: there was nothing to see"
nft flush chain inet muster in
until_true 20 there passed-3 || complain "heard again, and its process waits"
: >over
wait $run
code=$?
expect 0 "a node that is heard again"
# It is not, and is declared dead: its process never hears of the result.
begin
until_true 30 grep -q "^muster: node 3" err || complain "it is not declared"
: >over
wait $run
code=$?
expect 255 "a node that is declared"
! there passed-3 || complain "a result was told by a node that was declared dead"
nothing_left 10 "leases"
finish
