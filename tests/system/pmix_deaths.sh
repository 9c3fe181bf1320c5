#!/bin/bash
# What programs of PMIx hear of deaths, and that no collective waits for the dead.
. "$(dirname "$0")/run_common.sh"
programs=${MUSTER%/bin/muster}/tests/programs
[ -x "$programs/pmix_told" ] || { echo "no libpmix here"; exit 77; }

# told COUNT LINE: so many ranks say this of a handler
told() {
    [ "$(grep -cE "^rank [0-9]+ handler $2" out)" -eq "$1" ] || complain "not $1 times: $2"
}

# ---- events: each process once, by the first code that it asked for ----

run --nodes 2 -n 4 --on-failure continue "$programs/pmix_told" 2 kill -402=1 -7=0 -402,-7,-201=1 default=0
expect 137 "a process is killed"
told 3 '-402 called 1 code -402 affected 2 exit 137 on node1: killed by SIGKILL$'
told 3 '-7 called 0 '
told 3 '-402,-7,-201 called 1 code -402 '
told 3 'default called 0 '
# Who asked for the deprecated code only hears that.
run -n 3 --on-failure continue "$programs/pmix_told" 0 exit -7=1 -402=0
told 2 '-7 called 1 code -7 affected 0 exit 3 on node0: exit code 3$'
told 2 '-402 called 0 '
# A node: its own code, and each of its processes.
run --nodes 3 -n 6 --on-failure continue "$programs/pmix_told" 4 node -231=1 -200=2
told 4 '-231 called 1 code -231 affected -1 exit -1 on node2: '
told 4 '-200 called 2 code -200 affected [45] exit -1 on node2: its node failed$'
# A process that stops its heartbeats lives; who asked hears of it, on its node and on others.
run --nodes 3 -n 6 "$programs/pmix_told" 1 quiet -109=1 -402,-7=0
expect 0 "heartbeats that stop"
told 5 '-109 called 1 code -109 '
told 4 '-109 called 1 code -109 affected 1 exit -1 on node0: its heartbeats have stopped$'
told 6 '-402,-7 called 0 '

# ---- fences ----

# fences NODES WHEN all|list STATUS...: what each survivor got of three fences
fences() {
    local nodes=$1 when=$2 whom=$3
    shift 3
    run --nodes "$nodes" -n 6 --on-failure continue "$programs/pmix_fence" 2 "$when" "$whom"
    [ "$(grep -cE "^rank [0-9]+ $*\$" out)" -eq 5 ] || complain "fences on $nodes nodes, $when, $whom: not $*"
}
some='PARTIAL SUCCESS'
for whom in all list; do
    fences 1 never $whom $some $some $some
    fences 2 before $whom $some $some $some
    fences 2 during $whom "(SUCCESS|$some)" $some $some
    fences 1 after $whom SUCCESS $some $some
    # It had come: that others hear of its death before they have what it brought changes nothing.
    fences 2 after $whom SUCCESS $some $some
done
# Groups are known by who is connected: a process that was lost is no member of one node's own.
for nodes in 1 2; do
    fences $nodes never group $some $some $some
    fences $nodes after group SUCCESS "(SUCCESS|$some)" $some
done
run --nodes 2 -n 4 "$programs/pmix_fence" 9 none all
[ "$(grep -cE '^rank [0-9]+ SUCCESS SUCCESS SUCCESS$' out)" -eq 4 ] || complain "fences when nobody dies"

# More than one node can bring: nobody waits, and everybody is told so.
run --nodes 2 -n 4 "$programs/pmix_fence" 1 large all
[ "$(grep -cE '^rank [0-9]+ OUT-OF-RESOURCE SUCCESS SUCCESS$' out)" -eq 4 ] || complain "a fence with too much"

# ---- keys, queries, connect, groups ----

run --nodes 2 -n 4 --on-failure continue "$programs/pmix_ask" 1
[ "$(grep -cx well out)" -eq 3 ] || complain "keys, queries, connect, groups"

# Who has died before the job began on a node is known there.
MUSTER_TEST=$tag timeout -k 5 60 "$programs/late_job" "${MUSTER}d" "$programs/pmix_ask" state 0 >out 2>err ||
    complain "a death before the job began"
nothing_left 20 "a death before the job began"

# ---- an MPI program that goes on ----

survive=${MUSTER%/bin/muster}/examples/mpi_survive
if [ -x "$survive" ]; then
    run --nodes 4 -n 8 --on-failure continue "$survive" 5@2 node:6@4
    expect 137 "mpi_survive"
    [ "$(tail -1 out)" = "round 6: the ranks of 5 processes are 10" ] || complain "mpi_survive does not go on"
fi

finish
