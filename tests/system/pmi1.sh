#!/bin/bash
# PMI-1: programs of MPICH as they are, on one node and on several; and processes that say its lines themselves, and die.
set -u
. "$MUSTER_SOURCE/tests/system/run_common.sh"

# ---- lines by hand ----

# A process that puts its rank, meets the others, and gets what they put.  Before it does, WHEN=rank: something happens.
cat >meet <<'END'
say() { echo "$1" >&"$PMI_FD" && read -r -t 60 -u "$PMI_FD" answer; }
[ "$PMI_RANK/$PMI_SIZE" = "$MUSTER_RANK/$MUSTER_SIZE" ] || exit 9
say "cmd=init pmi_version=1 pmi_subversion=1" || exit 10
say "cmd=get_my_kvsname" || exit 11
name=${answer##*=}
say "cmd=put kvsname=$name key=rank-$PMI_RANK value=$((100 + PMI_RANK))" || exit 12
[ "$PMI_RANK" != "$1" ] || eval "$2"
: >"in-$PMI_RANK"
say "cmd=barrier_in" || exit 13
[ "$answer" = "cmd=barrier_out" ] || exit 14
values=
for ((i = 0; i < PMI_SIZE; i++)); do
    say "cmd=get kvsname=$name key=rank-$i" || exit 15
    values+=" ${answer##*=}"
done
echo "$PMI_RANK:$values"
say "cmd=barrier_in" || exit 16
say "cmd=finalize"
END

# met RANK...: each of these, and nobody else, has got past the barrier
met() {
    local ranks
    ranks=$(cut -d : -f 1 out | sort -n | tr '\n' ' ')
    [ "$ranks" = "$* " ] || complain "not the right ones have met: $ranks instead of $*"
}

for nodes in 1 2 4; do
    run --nodes $nodes -n 4 bash meet none </dev/null
    expect 0 "four processes on $nodes nodes"
    met 0 1 2 3
    [ "$(cut -d : -f 2 out | sort -u)" = " 100 101 102 103" ] || complain "on $nodes nodes not everybody got everything"
    run --nodes $nodes -n 4 --on-failure continue bash meet 2 'kill -9 $$' </dev/null
    expect 137 "one dies before the barrier, on $nodes nodes"
    met 0 1 3
    run --nodes $nodes -n 4 bash meet 1 'say cmd=finalize; exit 0' </dev/null
    expect 0 "one leaves before the barrier, on $nodes nodes"
    met 0 2 3
    run --nodes $nodes -n 4 --on-failure continue bash meet 1 'exit 0' </dev/null
    expect 1 "one exits before the barrier without a word, on $nodes nodes"
    says 'rank 1 failed on node' 'exited with code 0 but never called MPI_Finalize; its peers would wait for it forever'
    met 0 2 3
done
# Who is dead can be asked for, on every node, in the form of MPICH's own launcher.
cat >dead <<'END'
say() { echo "$1" >&"$PMI_FD" && read -r -t 60 -u "$PMI_FD" answer; }
say "cmd=init pmi_version=1 pmi_subversion=1" || exit 10
say "cmd=get_my_kvsname" || exit 11
name=${answer##*=}
say "cmd=get kvsname=$name key=PMI_dead_processes" || exit 12
[ "$PMI_RANK" != 0 ] || [ "$answer" = "cmd=get_result rc=0 msg=success value=" ] || echo "before: $answer"
say "cmd=barrier_in" || exit 13
case $PMI_RANK in
1 | 3 | 4) kill -9 $$ ;;
5) say cmd=finalize && exit 0 ;; # it leaves
esac
until say "cmd=get kvsname=$name key=PMI_dead_processes" && [ "${answer##*=}" = 1,3-4 ]; do sleep 0.02; done
echo "$PMI_RANK: ${answer##*=}"
say "cmd=finalize"
END
run --timeout 30 --nodes 3 -n 7 --on-failure continue bash dead </dev/null
expect 137 "who is dead"
[ "$(sort out | tr '\n' ' ')" = "0: 1,3-4 2: 1,3-4 6: 1,3-4 " ] || complain "who is dead is not known everywhere"
# A whole node, when all others have come or are about to.
rm -f in-*
run --nodes 3 -n 6 --map-by node --on-failure continue bash meet 4 'until [ -e in-0 -a -e in-1 -a -e in-2 -a -e in-3 -a -e in-5 ]; do sleep 0.02; done; kill -9 $PPID' </dev/null
expect 255 "a node dies before the barrier"
met 0 2 3 5
# It lives on, and nobody waits for it.
cat >rude <<'END'
if [ "$PMI_RANK" = 1 ]; then
    echo hello >&3
    until [ -e over ]; do sleep 0.02; done
    exit 0
fi
echo cmd=barrier_in >&3
read -r -t 60 -u 3 && echo 0:
: >over
END
run -n 2 bash rude </dev/null
expect 0 "one that breaks a rule"
met 0
says "process 1 of job 1 breaks a rule of PMI-1, and is heard no more: a line does not begin with cmd="
run --no-pmi bash -c 'echo ${PMI_FD-none}; : >&3' </dev/null
expect 1 "--no-pmi"
[ "$(cat out)" = none ] || complain "there is PMI in spite of --no-pmi"
nothing_left 10 "lines by hand"

# ---- MPICH ----

if ! command -v mpicc.mpich >/dev/null; then
    echo "note: mpicc.mpich is not installed, so no program of MPICH was tried"
    finish
fi
mpicc.mpich -O1 -o together "$MUSTER_SOURCE/tests/programs/mpi_together.c" || complain "mpicc.mpich fails"
# together WHAT LINE FLAGS...
together() {
    local what=$1 line=$2
    shift 2
    run "$@" </dev/null
    expect 0 "$what"
    [ "$(cat out)" = "$line: all right" ] || complain "$what: not '$line'"
}
together "MPICH alone" "1 together, 1 here" -n 1 ./together
together "MPICH on one node" "4 together, 4 here" -n 4 ./together
together "MPICH on two nodes" "4 together, 2 here" --nodes 2 -n 4 ./together 32
together "MPICH on four nodes" "4 together, 1 here" --nodes 4 -n 4 ./together
together "MPICH, round the nodes" "5 together, 3 here" --nodes 2 -n 5 --map-by node ./together
for nodes in 1 2; do
    run --nodes $nodes -n 2 ./together abort </dev/null
    expect 7 "MPI_Abort on $nodes nodes"
    says "rank 1 failed on node $((nodes - 1))" "exit code 7; terminating the job"
done
nothing_left 10 "MPICH"
finish
