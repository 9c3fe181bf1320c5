#!/bin/bash
# More failures at once than daemons have room for, all different, and a node that is stopped meanwhile: the others
# are told of the node in time, and of each process, once and rightly.
. "$(dirname "$0")/run_common.sh"

per_node=48
nodes=4
processes=$((per_node * nodes))

# The same command, with daemons that have other flags.
real=$MUSTER
mkdir bin
cp "$real" bin/muster
ln -s "$(dirname "$real")/../lib" lib # where it looks for its libraries
MUSTER=$scratch/bin/muster
daemons_with() {
    printf '#!/bin/sh\nexec "%s/musterd" %s "$@"\n' "$(dirname "$real")" "$*" >bin/musterd
    chmod +x bin/musterd
}

# The first process of each node ends when all is over, so that somebody is there to be told.  All others are killed at
# once, by so many different signals, one after the other.
cat >one <<EOF
#!/bin/bash
cd "$scratch" || exit 1
echo \$\$ >"pid.\$MUSTER_RANK" && mv "pid.\$MUSTER_RANK" "here.\$MUSTER_RANK"
[ \$((MUSTER_RANK % $per_node)) = 0 ] || exec sleep 1000
until [ -e over ]; do sleep 0.1; done
EOF
chmod +x one

first_signal=34
kill_all() {
    local rank pids=()
    for ((rank = 0; rank < processes; rank++)); do pids[rank]=$(<here.$rank); done
    for ((rank = 0; rank < processes; rank++)); do
        [ $((rank % per_node)) = 0 ] || kill -$((first_signal + rank % signals)) "${pids[rank]}"
    done
}

all_here() { [ "$(find . -maxdepth 1 -name 'here.*' | wc -l)" -eq $processes ]; }
node_said() { grep -q '^muster: node 3 .* failed' err; }

# all_known: some daemon knows of all who failed, and of those that node 3 had
all_known() {
    "$MUSTER" status --json --cluster "$machine" 2>/dev/null | tr ',{}' '\n\n\n' | grep -q "\"failed\": *$((failures + per_node))$"
}

# flood SIGNALS [COMMAND...]: leaves the deaths in report; ends when the node's is known, and COMMAND is true
flood() {
    rm -f here.* over report
    signals=$1
    shift
    MUSTER_TEST=$tag "$MUSTER" run --nodes $nodes -n $processes --on-failure continue --no-pmix --report report \
        --heartbeat 100ms,500ms "$scratch/one" >out 2>err &
    local launcher=$! victim machine
    until_true 60 all_here || { complain "not all processes have begun"; exit 1; }
    victim=$(awk '$1 == "PPid:" { print $2 }' "/proc/$(<here.$((3 * per_node)))/status") # the daemon of node 3
    machine=$(tr '\0' '\n' <"/proc/$(<here.0)/environ" | sed -n 's,^MUSTER_SOCKET=.*/\([0-9a-f]*\)/[0-9]*$,\1,p')
    kill -STOP "$victim"
    kill_all
    until_true 20 node_said || complain "nobody says that node 3 is lost"
    until_true 20 "${@:-true}" || complain "not true after 20 s: $*"
    touch over
    wait $launcher
    code=$?
    kill -KILL "$victim" 2>/dev/null
    until_true 10 none_of_ours || complain "something still runs"
}

# told_of: how many deaths of processes the nodes 0, 1 and 2 were all told of.  Fails when one was told twice or wrongly,
# or when one of them was not told of node 3 within 100 ms after it was seen.
told_of() {
    /usr/bin/python3 - $per_node $first_signal $signals <<'EOF'
import json, sys
per_node, first_signal, signals = map(int, sys.argv[1:])
deaths = [json.loads(line) for line in open("report")]
of_node = [d for d in deaths if d["kind"] == "node"]
assert len(of_node) == 1 and of_node[0]["node"] == 3, of_node
assert sorted(t["node"] for t in of_node[0]["told"]) == [0, 1, 2], of_node
assert of_node[0]["all_told_ms"] < 100, of_node
ends = [d for d in deaths if d["kind"] == "process"]
assert len({d["rank"] for d in ends}) == len(ends), "a death twice"
for d in ends:
    assert d["code"] == 128 + first_signal + d["rank"] % signals, d
    assert d["node"] == d["rank"] // per_node and d["pid"] == int(open("here.%d" % d["rank"]).read()), d
print(sum(sorted(t["node"] for t in d["told"]) == [0, 1, 2] for d in ends))
EOF
}

failures=$((3 * (per_node - 1)))

# Little room, of which half is for what a node sees itself, and failures of 30 kinds: most of them wait, and the death of
# the node does not.
daemons_with --notices 32
flood 30
few=$(told_of) || complain "little room"
[ "${few:-0}" -ge 1 ] && [ "$few" -lt $failures ] || complain "little room: $few of $failures processes' ends were told"

# As little room, and failures of one kind: they go together, and all are told.
flood 1 all_known
all=$(told_of) || complain "of one kind"
[ "${all:-0}" -eq $failures ] || complain "of one kind: $all of $failures processes' ends were told"

# As much room as daemons usually have, and failures of 30 kinds: all are told.
daemons_with
flood 30 all_known
all=$(told_of) || complain "usual room"
[ "${all:-0}" -eq $failures ] || complain "usual room: $all of $failures processes' ends were told"

# No room at all for a job's end, because the end of the process that wants it has taken it: it is kept until there is.
programs=$(dirname "$real")/../tests/programs
if [ -x "$programs/mpi_work" ]; then
    daemons_with --notices 2 --retain 2
    run --nodes 2 -n 4 --on-failure continue "$programs/mpi_work" abort
    expect 7 "MPI_Abort without room"
    grep -q notices-full err || complain "MPI_Abort: there was room"
fi
exit $failed
