#!/bin/bash
# Processes that have joined their job and exit with code 0 without a goodbye: without MPI_Finalize, PMIx_Finalize or
# muster_close.  Their peers wait for them; so that is a failure, and is told in words.
. "$(dirname "$0")/run_common.sh"
programs=${MUSTER%/bin/muster}/tests/programs

# quits WHAT NAME PROGRAM: one that quits, and all
quits() {
    local what=$1 name=$2 program=$3 nodes
    for nodes in 1 3; do
        run --timeout 30 --nodes $nodes -n 3 --report report "$program" 1
        expect 1 "$what: one quits, on $nodes nodes"
        says "rank 1 failed on node" "exited with code 0 but never called $name"
        [ "$(grep -cE 'its peers would wait for it forever(; terminating the job)?$' err)" -eq 1 ] || complain "$what: not said once"
        grep -q '"rank":1,.*"code":1,.*"verdict":"dead","cause":"exit","ended":"no-finalize"' report ||
            complain "$what: the report says $(cat report)"
        run --timeout 30 --nodes $nodes -n 3 "$program" none
        expect 0 "$what: all say goodbye, on $nodes nodes"
        run --timeout 30 --nodes $nodes -n 8 "$program" all
        expect 1 "$what: all quit, on $nodes nodes"
        [ "$(grep -cE '^muster: .*process' err)" -le 2 ] || complain "$what: a line for each"
    done
    run --timeout 30 -n 1 "$program" 0
    expect 0 "$what: there is nobody to wait"
    [ ! -s err ] || complain "$what: one process alone"
}

# ---- libmuster ----

quits libmuster muster_close "$programs/goodbye"
for nodes in 1 3; do
    run --timeout 30 --nodes $nodes -n 6 --on-failure continue "$programs/goodbye" 4
    expect 1 "the others go on, on $nodes nodes"
    [ "$(grep -cE '^rank [01235]: dead, exit code 0: rank 4 on node [02] failed: exited with code 0 but never called muster_close' out)" -eq 5 ] ||
        complain "not all survivors were told, on $nodes nodes"
done
run --timeout 30 --nodes 2 -n 4 --on-failure continue "$programs/goodbye" twice 2
expect 1 "one of two handles is closed"
for way in last child; do
    run --timeout 30 --nodes 2 -n 4 "$programs/goodbye" $way
    expect 0 "nobody waits for it: $way"
    [ ! -s err ] || complain "said nevertheless: $way"
done
# One that never joined has exited, whatever the others did.
run --timeout 30 -n 4 sh -c '[ "$MUSTER_RANK" != 2 ] || exit 0; sleep 0.3'
expect 0 "without a library"
# Who ends a job has ended those that wait, and those that exit then owe nothing.
cat >obey <<'END'
trap 'exit 0' TERM
[ "$MUSTER_RANK" != 0 ] || { until [ -e up ]; do sleep 0.02; done; exit 3; }
echo "cmd=init pmi_version=1 pmi_subversion=1" >&"$PMI_FD"
read -r -u "$PMI_FD" answer
: >up
while :; do sleep 0.02; done
END
run --timeout 30 -n 2 bash obey
expect 3 "one that is ended by muster"
! grep -q MPI_Finalize err || complain "one that muster has ended owes nothing"

# ---- PMIx ----

if [ -x "$programs/pmix_told" ]; then
    run --timeout 30 --nodes 2 -n 4 --on-failure continue "$programs/pmix_told" 2 quit -200=1 -404,-402=0 -200,-7=1 default=0
    expect 1 "without PMIx_Finalize"
    says "rank 2 failed on node 1" "exited with code 0 but never called MPI_Finalize (or PMIx_Finalize)"
    for line in '-200 called 1 code -200 affected 2 exit 0 on node1: exited with code 0 but never called' '-404,-402 called 0 ' \
        '-200,-7 called 1 code -200 ' 'default called 0 '; do
        [ "$(grep -cF "handler $line" out)" -eq 3 ] || complain "not told to three: $line"
    done
fi

# ---- MPI ----

# stay PROGRAM: those that are left of a job that goes on wait, until the time is over
stay() {
    run --timeout 8 --nodes 2 -n 4 --on-failure continue "$1" 1
    expect 1 "$1: the others go on"
    says "never called MPI_Finalize" "would wait for it forever; " "ranks continue" "time limit of 8 s"
}
if [ -x "$programs/mpi_quit" ]; then
    quits "Open MPI" MPI_Finalize "$programs/mpi_quit"
    stay "$programs/mpi_quit"
else
    echo "note: mpicc is not installed, so no program of Open MPI was tried"
fi
if command -v mpicc.mpich >/dev/null; then
    mpicc.mpich -O1 -o quit "$MUSTER_SOURCE/tests/programs/mpi_quit.c" || complain "mpicc.mpich fails"
    quits MPICH MPI_Finalize ./quit
    stay ./quit
else
    echo "note: mpicc.mpich is not installed, so no program of MPICH was tried"
fi
nothing_left 10 "goodbyes"
finish
