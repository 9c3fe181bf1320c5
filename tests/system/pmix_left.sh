#!/bin/bash
# Jobs of Open MPI that are killed at random moments, and many jobs on the same daemons: nothing is left of them.
#   RUNS=100 JOBS=101 SEED=1 tests/system/pmix_left.sh    more of them; the seed is printed
. "$(dirname "$0")/run_common.sh"
programs=${MUSTER%/bin/muster}/tests/programs
[ -x "$programs/mpi_work" ] || { echo "no mpicc here"; exit 77; }
runs=${RUNS:-6}
[ "${RUNS:-}" ] || [ "$MUSTER_SANITIZED" = 0 ] || runs=2
seed=${SEED:-1}
RANDOM=$seed
echo "seed $seed, $runs runs"
mkdir tmp
export TMPDIR=$scratch/tmp
: >machines

# files: what could be of a program of MPI, besides what is of muster; and what is of the machines that were here
files() {
    ls -d tmp/* tmp/.[!.]* /dev/shm/[!m]* /tmp/ompi.* /tmp/pmix-* /tmp/openmpi-sessions-* /run/*ompi* /run/*pmix* 2>/dev/null
    ls -d "/dev/shm/muster.$(id -u)."* "/tmp/muster.$(id -u)."* 2>/dev/null | grep -F -f machines
}
files >before
no_file() { files | sort >now && [ -z "$(sort before | comm -13 - now)" ]; }

# one: kills somebody after a while, which is a moment of the start, of the run or of the end
one() {
    local what=$((RANDOM % 4)) us=$((RANDOM * 32 % 600000)) run daemon kind
    kind=$([ $((RANDOM % 2)) = 0 ] && echo stay || echo sum)
    MUSTER_TEST=$tag "$MUSTER" run --nodes 2 -n 4 --verbose "$programs/mpi_work" $kind >out 2>err &
    run=$!
    sleep "$(printf '0.%06d' $us)" # the moment is what is drawn
    daemon=$(pgrep -P "$(pgrep -d , -P $run)" -x musterd | sort -R --random-source=<(yes "$us") | head -1)
    case $what in
    0) kill -KILL $run ;;
    1) kill -TERM $run ;;
    2) kill -KILL ${daemon:-$run} $run ;;
    3) kill -KILL ${daemon:-$run} && { [ -n "$daemon" ] && sleep 0.1; kill -TERM $run; } ;;
    esac 2>/dev/null
    wait $run 2>/dev/null
    sed -n 's/^muster: cluster \([0-9a-f]*\):.*/.\1./p' err >>machines
    nothing_left 20 "run $i of seed $seed: way $what after $us us of $kind"
}
for ((i = 0; i < runs && failed == 0; i++)); do one; done
# When a daemon and the launcher were killed, the next daemon of this user finds what they left.
run -n 1 "$programs/mpi_work" hello
expect 0 "the next job"
until_true 20 no_file || complain "left behind: $(sort before | comm -13 - now)"
[ "$runs" -lt 4 ] || [ -s machines ] || complain "no machine came up"

# ---- a daemon that ends while processes wait in a fence ----

MUSTER_TEST=$tag "$MUSTER" run --nodes 2 -n 4 --on-failure continue "$programs/pmix_fence" 3 absent all >out 2>err &
run=$!
all_wait() { [ "$(grep -c ' waits$' out)" -eq 3 ]; }
until_true 30 all_wait || complain "the processes do not come to the fence"
kill -TERM "$(sed -n 's/^child of \(.*\) waits$/\1/p' out | sort | uniq -d)" # of the two that it has
until_true 20 grep -q 'daemon exited' err || complain "the daemon does not end"
grep -q 'daemon exited with code 0' err || complain "the daemon does not end well"
kill -TERM $run
wait $run 2>/dev/null
nothing_left 20 "a daemon that ends"

# ---- many jobs ----

jobs=${JOBS:-12} growth_kib=1024
[ "$MUSTER_SANITIZED" = 0 ] || jobs=2 growth_kib=1048576 # a sanitizer keeps what was freed
MUSTER_TEST=$tag timeout -k 5 600 "$programs/many_jobs" "${MUSTER}d" 2 4 $jobs $growth_kib "$programs/mpi_work" sum >out 2>err ||
    complain "$jobs jobs on the same daemons"
cat out
nothing_left 20 "many jobs"
finish
