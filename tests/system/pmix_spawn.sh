#!/bin/bash
# timeout: 300
# Processes that start further ones (MPI_Comm_spawn, PMIx_Spawn): a job of its own, in the same run.
#   MOMENTS=20 SEED=1 tests/system/pmix_spawn.sh    more moments at which somebody goes; the seed is printed
. "$(dirname "$0")/run_common.sh"
programs=${MUSTER%/bin/muster}/tests/programs
[ -x "$programs/mpi_spawn" ] || { echo "no mpicc here"; exit 77; }

# spawns NODES PARENTS CHILDREN HOW TIMES: each side has talked to each, so many times
spawns() {
    local nodes=$1 parents=$2 children=$3 how=$4 times=$5 i
    local of_parents=$((parents * (parents - 1) / 2)) of_children=$((children * (children - 1) / 2))
    run --nodes "$nodes" -n "$parents" "$programs/mpi_spawn" "$children" "$how"
    expect 0 "$parents spawn $children on $nodes nodes, $how"
    for ((i = 0; i < children; i++)); do
        said "$times" "child $i of $children: answer $((2 * i)), parents $of_parents"
    done
    for ((i = 0; i < parents; i++)); do
        said "$times" "parent $i: children $of_children"
    done
    nothing_left 20 "$parents spawn $children on $nodes nodes, $how"
}

# said TIMES LINE
said() {
    [ "$(grep -cxF "$2" out)" -eq "$1" ] || complain "not $1 times: $2"
}

# ---- Open MPI ----

spawns 1 1 2 once 1
spawns 2 2 2 once 1
spawns 2 1 3 twice 2
if [ "${MUSTER_SANITIZED:-0}" = 0 ]; then
    spawns 8 8 8 once 1
    spawns 8 1 8 once 1 # to nodes that had no part in the run
fi
# A child that spawns, and whose output says so.
run --nodes 2 -n 1 --tag-output "$programs/mpi_spawn" 2 tree
expect 0 "a child spawns"
said 1 '[2.1] child 1 of 2: answer 2, parents 0'
said 1 '[3.0] child 0 of 1: answer 0, parents 1'

cannot="cannot start the job that rank 0 of job 1 requested"
for nodes in 1 2 8; do
    # A program that does not exist is the business of who asked.
    run --nodes $nodes -n 1 "$programs/mpi_spawn" $nodes missing
    expect 0 "a program that does not exist, on $nodes nodes"
    said 1 'parent 0: an error'
    says "$cannot: cannot start /no/such/program: No such file or directory"
    nothing_left 20 "a program that does not exist, on $nodes nodes"
    # A child that dies is a failure of the run.
    run --nodes $nodes -n $nodes "$programs/mpi_spawn" $nodes die
    expect 137 "a child dies, on $nodes nodes"
    says "rank 0 of job 2 failed on node 0 (node0): killed by SIGKILL"
    nothing_left 20 "a child dies, on $nodes nodes"
done

run --nodes 2 -n 1 --output-dir files "$programs/mpi_spawn" 2 once
expect 0 "output in files"
grep -qxF 'child 1 of 2: answer 2, parents 0' files/job-2/rank-1.out || complain "no file of a child"

# ---- deaths, for programs of PMIx ----

# dies NODES WHEN CODE STATUS SURVIVORS: how connecting of the parent with 3 children ends
dies() {
    run --nodes "$1" -n 1 --on-failure continue "$programs/pmix_spawn" 3 "$2"
    expect "$3" "a child dies, $2, on $1 nodes"
    [ "$(grep -cE "^(parent|child) [0-9]+ $4\$" out)" -eq "$5" ] || complain "a child dies, $2, on $1 nodes: not $5 times $4"
    nothing_left 20 "a child dies, $2, on $1 nodes"
}
dies 3 never 0 SUCCESS 4
dies 1 before 137 '(PARTIAL )?SUCCESS' 3 # on one node libpmix connects by itself
dies 3 before 137 'PARTIAL SUCCESS' 3
for nodes in 1 3; do
    dies $nodes after 137 SUCCESS 4
    said 1 'parent 0 told 1 of child 2'
    said 1 'child 0 told 1 of child 2'
done
dies 3 node 255 'PARTIAL SUCCESS' 3

# ---- too much ----

run --nodes 2 -n 1 "$programs/pmix_spawn" 9000 never
expect 0 "more processes than fit"
said 1 'parent cannot spawn 0 JOB FAILED TO LAUNCH'
says "$cannot: the job needs 4500 processes on this node" "takes at most 4096 (use more nodes)"
run --nodes 2 -n 1 "$programs/pmix_spawn" 2 large
expect 0 "more arguments than fit"
said 1 'parent cannot spawn 0 JOB FAILED TO LAUNCH'
says "the job that process 0 of job 1 wanted cannot be: its arguments and environment take"

# ---- somebody goes while a wish is under way: at any moment, and nothing stays ----

moments=${MOMENTS:-3} seed=${SEED:-$RANDOM}
RANDOM=$seed
echo "seed $seed, $((12 * moments)) moments"
# goes WHOM CODE: rank 0, its node, or the launcher
goes() {
    local nodes us i
    for nodes in 1 2 8; do
        for ((i = 0; i < moments; i++)); do
            us=$((i == 0 ? 0 : RANDOM % (1 << (16 - i % 5))))
            { run --nodes $nodes -n 1 --on-failure continue "$programs/pmix_wish" $nodes "$1" $us; } 2>/dev/null
            expect "$2" "$1 goes $us us after a wish, on $nodes nodes"
            nothing_left 20 "$1 goes $us us after a wish, on $nodes nodes"
        done
    done
}
goes itself 137
goes node 255
goes term 143
goes launcher 137
# A node that it was to run on, before or after all others have started: no job, or one that has failed.
for nodes in 2 3 8; do
    run --nodes $nodes -n 1 --on-failure continue "$programs/pmix_wish" $nodes theirs 0
    [ "$code" -eq 0 ] || [ "$code" -eq 255 ] || complain "exit $code: a child takes its node along, on $nodes nodes"
    [ "$code" -eq 255 ] || says "$cannot: "
    nothing_left 20 "a child takes its node along, on $nodes nodes"
done

finish
