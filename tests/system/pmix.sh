#!/bin/bash
# Unmodified programs of Open MPI under 'muster run': they run, on one node and on several, and leave nothing behind.
. "$(dirname "$0")/run_common.sh"
programs=${MUSTER%/bin/muster}/tests/programs
[ -x "$programs/mpi_work" ] || { echo "no mpicc here"; exit 77; }
export OMPI_MCA_osc=pt2pt # Debian's configuration has none for windows over TCP

# folders: those of this user's daemons that serve PMIx
folders() { ls -d /dev/shm/muster."$(id -u)".* 2>/dev/null; }

# no_folder WHAT: none of the machine in 'machine', or of those that ended meanwhile
no_folder() {
    until_true 20 no_folder_now || complain "$1: left behind: $(folders)"
}
no_folder_now() { [ ! -s machine ] || ! folders | grep -qF ".$(cat machine)."; }

# works NODES PROCESSES RESULT ARGUMENT...
works() {
    local nodes=$1 processes=$2 result=$3
    shift 3
    run --nodes "$nodes" -n "$processes" "$programs/mpi_work" "$@"
    expect 0 "$* with $processes processes on $nodes nodes"
    grep -qxF "$1 of $processes: $result" out || complain "$* with $processes processes on $nodes nodes"
}

works 1 1 1 ring
works 1 4 6 sum
works 2 4 4 ring
works 2 4 6 window
works 2 2 0 large 67108864
if [ "${MUSTER_SANITIZED:-0}" = 0 ]; then
    works 8 8 28 sum
fi

# Without a server each is alone.
run --no-pmix -n 2 "$programs/mpi_work" hello
[ "$(grep -cxF 'hello of 1: 0' out)" -eq 2 ] || complain "--no-pmix serves PMIx"

# What is usual for MPI is set where the user has not: also what he has set to nothing stays.
unset HWLOC_PLUGINS_BLACKLIST
run -n 1 sh -c 'echo "[$HWLOC_PLUGINS_BLACKLIST]"'
grep -qxF '[hwloc_gl.so,hwloc_xml_libxml.so]' out || complain "all of hwloc's plugins are loaded"
HWLOC_PLUGINS_BLACKLIST='' run -n 1 sh -c 'echo "[$HWLOC_PLUGINS_BLACKLIST]"'
grep -qxF '[]' out || complain "the user's HWLOC_PLUGINS_BLACKLIST is not kept"

# Who aborts ends all, whatever happens on failures, and its code counts.
run --nodes 2 -n 4 --on-failure continue "$programs/mpi_work" abort
expect 7 "MPI_Abort"
says "rank 3 failed on node 1 (node1): exit code 7"

# ---- nothing is left, however it ends ----

# stays COMMAND...: a job on two nodes that stays until COMMAND, which may name $run and $daemon
stays() {
    rm -f out
    MUSTER_TEST=$tag "$MUSTER" run --nodes 2 -n 4 --on-failure continue --verbose "$programs/mpi_work" stay >out 2>err &
    run=$!
    until_true 30 grep -qs '^stays' out || complain "the program does not come up"
    sed -n 's/^muster: cluster \([0-9a-f]*\):.*/\1/p' err >machine
    daemon=$(sed -n 's/^stays as a child of //p' out)
    folders | grep -qF ".$(cat machine)." || complain "no folder while it runs"
    eval "$1"
    wait "$run" 2>/dev/null
    nothing_left 20 "$1"
}

stays 'kill -KILL $daemon; kill -TERM $run'
no_folder "daemon killed"
stays 'kill -KILL $run'
no_folder "launcher killed"
stays 'kill -INT $run'
no_folder "interrupted"
# Both: the next daemon of this user finds it.
stays 'kill -KILL $run $daemon'
run -n 1 "$programs/mpi_work" hello
expect 0 "the next job"
no_folder "launcher and daemon killed, and one more job"

finish
