#!/bin/bash
# timeout: 180
# Views: nodes of a running job are killed and stopped, the root and chains of roots among them, and every survivor is told
# the same numbered views, in the same order.
. "$(dirname "$0")/run_common.sh"
if [ "$MUSTER_SANITIZED" = 1 ]; then
    echo "skipped: a library with sanitizers cannot be loaded by a Python without"
    exit 77
fi
build=$(cd "$(dirname "$MUSTER")/.." && pwd)
export PYTHONPATH=$MUSTER_SOURCE/python PYTHONDONTWRITEBYTECODE=1 LD_LIBRARY_PATH=$build/lib
member=$MUSTER_SOURCE/tests/programs/view_member.py
nodes=8

# start: a job of one rank a node, each printing its views
start() {
    rm -f over
    MUSTER_TEST=$tag MUSTER_HEARTBEAT=50ms,500ms timeout -k 5 120 "$MUSTER" run --nodes $nodes -n $nodes --on-failure continue \
        python3 "$member" "$PWD/over" >out 2>err &
    launcher=$!
    until_true 30 all_have 1 "$(seq -s ' ' 0 $((nodes - 1)))" || complain "view 1 was not told to all"
}

# finish: the job ends by itself
finish() {
    touch over
    until_true 20 gone $launcher || complain "the job does not end"
    wait $launcher
}

# The cluster is known by the socket that its processes are told of: others may run here.
machine() {
    local pid
    for pid in $(ours); do
        tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null | sed -n 's|^MUSTER_SOCKET=muster/[0-9]*/\([0-9a-f]*\)/.*|\1|p'
    done | head -1
}
daemon() { "$MUSTER" status --cluster "$machine" --json | grep -oE '"slot":'"$1"',[^}]*"pid":[0-9]+' | sed 's/.*://'; }

# all_have NUMBER NODES: the view of that number, or a later one, with these nodes, is told by each of these
all_have() {
    local node
    for node in $2; do
        awk -v node="$node" -v least="$1" -v list="$2" '
            $1 == node && $2 == "view" && $3 >= least { text = $0; sub(/.*nodes /, "", text); if (text == list) found = 1 }
            END { exit !found }' out || return 1
    done
}

# same_views NODES: what these have printed is the same, entry by entry
same_views() {
    local node first=
    for node in $1; do
        sed -n "s/^$node view/view/p" out >"views.$node"
        [ -n "$first" ] || first=$node
        cmp -s "views.$first" "views.$node" || complain "nodes $first and $node were told different views: $(diff "views.$first" "views.$node")"
        sort -k2n -c "views.$node" 2>/dev/null || complain "node $node: numbers go back"
    done
}

declare -A pid
pids() {
    local node
    machine=$(machine)
    for ((node = 0; node < nodes; node++)); do
        pid[$node]=$(daemon $node)
        [ -n "${pid[$node]}" ] || complain "no process id of node $node"
    done
}

# ---- one death after the other: a leaf, the root, the next root ----

start
pids
kill -KILL "${pid[5]}"
until_true 20 all_have 2 "0 1 2 3 4 6 7" || complain "after node 5: $(cat out)"
kill -KILL "${pid[0]}"
until_true 20 all_have 3 "1 2 3 4 6 7" || complain "after the root: $(cat out)"
kill -KILL "${pid[1]}"
until_true 20 all_have 4 "2 3 4 6 7" || complain "after the next root: $(cat out)"
"$MUSTER" views --cluster "$machine" --json >views 2>err.views || complain "muster views: $(cat err.views)"
[ "$(tail -1 views | sed 's/.*"nodes":\[\([^]]*\)\].*/\1/')" = "2,3,4,6,7" ] || complain "muster views ends with $(tail -1 views)"
grep -q '"left":\[0\]' views || complain "muster views does not say that node 0 left"
"$MUSTER" views --cluster "$machine" >views.words || complain "muster views"
grep -qE '^ +1 .* 8 +founded$' views.words && grep -qE ' 5 +-1$' views.words || complain "muster views prints $(cat views.words)"
finish
same_views "2 3 4 6 7"

# ---- a chain of roots at once, and a node that only falls silent ----

start
pids
kill -STOP "${pid[6]}"
kill -KILL "${pid[0]}" "${pid[1]}" "${pid[2]}"
until_true 20 all_have 2 "3 4 5 7" || complain "after three roots and a silent node: $(cat out)"
kill -CONT "${pid[6]}"
finish
same_views "3 4 5 7"
grep -qE '^6 view [2-9]' out && complain "node 6, which was out, was told a view"

# ---- down to the last one ----

start
pids
for node in 7 6 5 4 3 2 1; do kill -KILL "${pid[$node]}"; done
until_true 20 all_have 2 "0" || complain "the last node is not alone: $(cat out)"
finish
exit $failed
