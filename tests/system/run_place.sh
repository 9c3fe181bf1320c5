#!/bin/bash
# 'muster run' and places: which process is on which node, how many there may be, and who is bound to what.
set -u
. "$MUSTER_SOURCE/tests/system/run_common.sh"

# nodes: those of the ranks, in their order, from lines "RANK NODE"
nodes() { sort -n out | cut -d ' ' -f 2 | tr -d '\n'; }
where='echo $MUSTER_RANK $MUSTER_NODE'

run --nodes 3 -n 7 --map-by node sh -c "$where" </dev/null
expect 0 "--map-by node"
[ "$(nodes)" = 0120120 ] || complain "ranks do not go round the nodes: $(nodes)"
run --nodes 3 --slots 3 -n 7 --map-by slot sh -c "$where" </dev/null
expect 0 "--map-by slot"
[ "$(nodes)" = 0001112 ] || complain "ranks do not fill the slots: $(nodes)"
run --nodes 2 --slots 2 -n 5 true </dev/null
expect 2 "more processes than slots"
says "5 processes do not fit: 2 nodes with --slots 2 take 4 (to start them anyway: --oversubscribe)"
run --nodes 2 --slots 2 -n 5 --map-by slot --oversubscribe --bind-to core --report-bindings sh -c "$where" </dev/null
expect 0 "--oversubscribe"
[ "$(nodes)" = 00011 ] || complain "more processes than slots are not spread evenly: $(nodes)"
says "slots are oversubscribed, so processes are not bound" "rank 4 on node 1 (node1) is not bound"

# Hosts, with an agent that leaves the host out.
printf '#!/bin/sh\nshift\nexec sh -c "exec $*"\n' >agent
chmod +x agent
printf 'one slots=1 max_slots=2 address=127.0.0.11\ntwo slots=2 address=127.0.0.12\n' >hosts
run --machinefile hosts --agent ./agent --map-by node:oversubscribe -np 6 sh -c "$where" </dev/null
expect 0 "hosts that are oversubscribed"
[ "$(nodes)" = 010111 ] || complain "max_slots does not hold: $(nodes)"
run -H 127.0.0.11:2,127.0.0.12:2 --agent ./agent --map-by node sh -c "$where" </dev/null
expect 0 "-H"
[ "$(nodes)" = 0101 ] || complain "ranks do not go round the hosts: $(nodes)"

# A death in a job that goes round the nodes: all are told, and a node takes its own ranks along.
run --nodes 2 -n 6 --map-by node sh -c '[ $MUSTER_RANK != 3 ] || exit 7; exec sleep 60' </dev/null
expect 7 "a process that fails"
says "rank 3 failed on node 1 (node1): exit code 7"
run --nodes 2 -n 5 --map-by node --on-failure continue sh -c '[ $MUSTER_RANK != 3 ] || kill -9 $PPID; [ $MUSTER_NODE = 0 ] || exec sleep 60' </dev/null
expect 255 "a node that is lost"
says "node 1 (node1) failed with ranks 1, 3"

# Cores: all but one are taken away, so that any host will do.
only=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
run_on_one() {
    MUSTER_TEST=$tag timeout -k 5 60 taskset -c "$only" "$MUSTER" run "$@" >out 2>err
    code=$?
}
run_on_one --bind-to core --report-bindings grep -o 'Cpus_allowed_list:.*' /proc/self/status </dev/null
expect 0 "--bind-to core"
[ "$(cut -f 2 out)" = "$only" ] || complain "the process is not where it is to be"
grep -qE '^muster: rank 0 on node 0 \(node0\) is bound to core [0-9]+: \[[^B]*B[^B]*\]$' err || complain "no picture"
run_on_one --nodes 3 --bind-to core true </dev/null
expect 1 "more processes than cores"
[ "$(grep -c 'cannot start the job on node 0 (node0): 3 processes cannot have a core each: its host has 1 (--bind-to none, or core:overload-allowed)' err)" -eq 1 ] ||
    complain "it is not said once that there are too few cores"
run_on_one --nodes 3 --bind-to core:overload-allowed --report-bindings true </dev/null
expect 0 "cores that are shared"
[ "$(grep -c 'is bound to core' err)" -eq 3 ] || complain "not all are bound"

# Without --bind-to nodes of this host have parts of it, where processes are spread evenly.
run_on_one --nodes 3 --report-bindings true </dev/null
expect 0 "parts of the host"
[ "$(grep -c "is bound to processors $only, its node's part of the host$" err)" -eq 3 ] || complain "not all have their node's part"
run_on_one --nodes 3 --bind-to none --report-bindings true </dev/null
expect 0 "--bind-to none"
[ "$(grep -c 'is not bound' err)" -eq 3 ] || complain "some are bound"
# Each process leads a session: the kernel gives it a share of the time of its own.
run_on_one --nodes 3 -n 6 sh -c 'echo $$ $(cut -d" " -f6 /proc/$$/stat)' </dev/null
expect 0 "sessions"
[ "$(awk '$1 == $2' out | wc -l)" -eq 6 ] || complain "not every process leads a session"
# They have no terminal: nobody is stopped who writes to it, nor a process that would read from it.
MUSTER_TEST=$tag timeout -k 5 60 script -qec "stty tostop; taskset -c $only '$MUSTER' run --nodes 2 -n 2 --verbose --bind-to none \
    sh -c 'read line </dev/tty || echo no terminal'" /dev/null >out 2>err </dev/null
code=$?
expect 0 "at a terminal"
[ "$(grep -c '^no terminal' out)" -eq 2 ] || complain "processes have a terminal"
# The daemon and its process are on the first, or on the second, of two processors.
two=$(taskset -cp $$ | sed 's/.*: //' | tr ',' '\n' | awk -F- '{ for (i = $1; i <= ($2 == "" ? $1 : $2); i++) print i }' | head -2 | paste -sd,)
if [[ $two == *,* ]]; then
    MUSTER_TEST=$tag timeout -k 5 60 taskset -c "$two" "$MUSTER" run --nodes 2 -n 2 --tag-output \
        sh -c 'taskset -cp $$; taskset -cp $PPID' >out 2>err </dev/null
    code=$?
    expect 0 "two nodes on two processors"
    [ "$(grep -c ": ${two%,*}\$" out)" -eq 2 ] && [ "$(grep -c ": ${two#*,}\$" out)" -eq 2 ] ||
        complain "a node is not on its processor: $(cat out)"
    MUSTER_TEST=$tag timeout -k 5 60 taskset -c "$two" "$MUSTER" run --nodes 3 -n 1 --report-bindings true >out 2>err </dev/null
    code=$?
    expect 0 "fewer processes than processors"
    says "is not bound"
fi

# SIGPIPE ends a writer, unless it is to survive others.
ignored='grep -q "^SigIgn:.*1...$" /proc/self/status && echo yes || echo no'
for words in "no" "yes --on-failure continue" "yes --sigpipe ignore" "no --on-failure continue --sigpipe default"; do
    read -ra flags <<<"${words#* }"
    [ "$words" != no ] || flags=()
    run "${flags[@]}" sh -c "$ignored" </dev/null
    expect 0 "SIGPIPE"
    [ "$(cat out)" = "${words%% *}" ] || complain "SIGPIPE with '${flags[*]}' is not as it should be: $(cat out)"
done
run -n 1 --map-by socket true </dev/null
expect 2 "a wrong word"
says "--map-by is 'socket', but must be slot or node"
nothing_left 10 "all of these"
finish
