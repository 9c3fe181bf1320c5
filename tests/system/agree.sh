#!/bin/bash
# timeout: 300
# Agreements through real daemons: plain, of groups, with processes that leave, die, or come late, and
# the solver of the examples; then some stress.
set -u
build=$(cd "$(dirname "$MUSTER")/.." && pwd)
agreeing=$build/tests/programs/agreeing
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
failed=0

complain() {
    echo "FAIL: $*"
    failed=1
}

# agree WHAT NODES PROCESSES GOOD: so many of them come to a good end
agree() {
    timeout 60 "$MUSTER" run --nodes "$2" -n "$3" --on-failure continue --heartbeat 100ms,2s \
        "$agreeing" "$1" >out 2>err
    local good
    good=$(sort -u out | grep -c "^$1 [0-9]* good$")
    [ "$good" -eq "$4" ] || complain "$1 on $2 nodes: $good of $4 came to a good end: $(cat out err)"
}

for nodes in 1 2 5; do
    agree plain $nodes 10 10
    agree leaving $nodes 10 10
    agree dying $nodes 10 9
    agree groups $nodes 10 10
    agree nonblocking $nodes 10 10
    agree threads $nodes 6 6
done
agree strangers 4 8 6
agree strangers 2 8 4
agree last 2 2 1
agree last 4 4 1

# Two processes and a node are lost, in rounds of their own, and at once.
for deaths in "5@2 10@3 node:12@5" "0@1 1@1 node:4@1" "node:0@3 node:15@3 6@3"; do
    # shellcheck disable=SC2086
    timeout 60 "$MUSTER" run --nodes 4 -n 16 --on-failure continue --heartbeat 100ms,2s \
        "$build/examples/solve" $deaths >out 2>err
    grep -q '^cos x = x for x = 0.7390851332, found by' out || complain "solve $deaths: $(cat out err)"
done

seconds=10
[ "$MUSTER_SANITIZED" = 0 ] || seconds=5
timeout 120 "$MUSTER" bench agree-stress --nodes 4 --procs 3 --seconds $seconds --json >out 2>err ||
    complain "agree-stress: $(cat out err)"
timeout 60 "$MUSTER" bench agree --nodes 3 --procs 2 --reps 100 --json >out 2>err &&
    grep -q '"agree_us":{"median"' out || complain "bench agree: $(cat out err)"
for who in root child leaf node; do
    timeout 60 "$MUSTER" bench agree --nodes 3 --procs 2 --reps 1 --kill $who --json >out 2>err &&
        grep -q '"failing_us":.*"stabilizing_us":.*"after_us":' out ||
        complain "bench agree --kill $who: $(cat out err)"
done
exit $failed
