#!/bin/bash
# timeout: 240
# 'muster run' as a command: what it starts, where, with what, and what its exit code says.
. "$(dirname "$0")/run_common.sh"

# refuses TEXT... -- ARGUMENTS...: exit 2, nothing on stdout, one line on stderr that has every TEXT
refuses() {
    local texts=()
    while [ "$1" != -- ]; do texts+=("$1"); shift; done
    shift
    run "$@"
    expect 2 "muster run $*"
    [ ! -s out ] || complain "something on stdout: muster run $*"
    [ "$(wc -l <err)" -eq 1 ] || complain "not exactly one line on stderr: muster run $*"
    says "${texts[@]}"
}

# ---- flags ----

run --help
expect 0 "--help"
grep -q '^usage: muster run ' out && grep -q '^exit code:' out || complain "--help"
cp out long
run -n 3 -h
cmp -s out long || complain "-h is not --help"
"$MUSTER" --help | grep -q '^  run ' || complain "muster --help does not list run"
run sh -c 'echo "$@"' - --help # not ours
[ "$code" -eq 0 ] && [ "$(cat out)" = --help ] || complain "flags behind PROGRAM are its own"

refuses "missing PROGRAM" --
refuses "missing PROGRAM" -- -n 2
MUSTER_HEARTBEAT=5x refuses "MUSTER_HEARTBEAT" "'5x'" -- true
refuses "before ':'" -- : true
refuses "missing PROGRAM" -- true :
refuses "'--bogus'" -- --bogus true
refuses "'--nodes'" -- true : --nodes 2 true
refuses "-n is '0'" "from 1 to 1048576" -- -n 0 true
refuses "-n is '1048577'" -- -np 1048577 true
refuses "1048577 processes are too many" -- -n 1048576 true : -n 1 true
refuses "--nodes is '0'" "from 1 to 1024" -- --nodes 0 true
refuses "--nodes is '1025'" -- --nodes 1025 true
refuses "9 processes do not fit" "2 nodes" "--slots 4" "8" -- --nodes 2 --slots 4 -n 9 true
refuses "--on-failure is 'maybe'" "abort|continue" -- --on-failure maybe true
refuses "-x is '=1'" "NAME=VALUE" -- -x =1 true
refuses "-n needs a value" -- -n
refuses "unknown option '--on-failur'" "did you mean '--on-failure'" -- --on-failur continue true
refuses "unknown option '-N'" "--slots" -- -N 2 true
refuses "unknown option '-genv'" "-x NAME=VALUE" -- -genv A 1 true
refuses "'user@h1' has a user name" "--agent" -- --hosts user@h1 true
# Habits from elsewhere.
run -n2 --allow-run-as-root -wdir / --env A=there sh -c 'echo "$MUSTER_SIZE $PWD $A"'
[ "$(sort -u out)" = "2 / there" ] || complain "options as elsewhere"
run --np 3 sh -c 'echo $MUSTER_RANK'
[ "$(sort out | xargs)" = "0 1 2" ] || complain "--np"
"$MUSTER" help run >out && cmp -s out long || complain "help run"
"$MUSTER" -V >out && cmp -s out <("$MUSTER" --version) || complain "-V"
"$MUSTER" statsu >out 2>err
[ $? -eq 2 ] && grep -q "did you mean 'muster status'" err || complain "an unknown command"
NO_COLOR= script -qec "'$MUSTER' run --help" /dev/null </dev/null 2>/dev/null | grep -q $'\033' && complain "colour in --help"
refuses "--tag-output" "--output-dir" -- --tag-output --output-dir files true
run -x NO_SUCH_VARIABLE_HERE true
expect 0 "-x of a variable that is not there"
says "NO_SUCH_VARIABLE_HERE"

# ---- what runs where ----

where='echo "$MUSTER_RANK of $MUSTER_SIZE on $MUSTER_NODE of $MUSTER_NODES, local $MUSTER_LOCAL_RANK, job $MUSTER_JOB"'
run sh -c "$where"
expect 0 "one process"
[ "$(cat out)" = "0 of 1 on 0 of 1, local 0, job 1" ] || complain "one process"
run --nodes 3 -n 7 sh -c "$where"
expect 0 "7 processes on 3 nodes"
for ((rank = 0; rank < 7; rank++)); do
    node=$((rank * 3 / 7))
    first=0
    while [ $((first * 3 / 7)) -ne $node ]; do first=$((first + 1)); done
    echo "$rank of 7 on $node of 3, local $((rank - first)), job 1"
done >expected
sort out | cmp -s - expected || complain "7 processes on 3 nodes"
run --nodes 4 sh -c 'echo $MUSTER_RANK'
[ "$(sort out | xargs)" = "0 1 2 3" ] || complain "one process for each node"
run --nodes 2 --slots 4 -n 8 true
expect 0 "as many processes as slots"
run --nodes 8 -n 2 sh -c 'echo $MUSTER_NODE'
[ "$(sort out | xargs)" = "0 4" ] || complain "fewer processes than nodes"

run -n 2 sh -c 'echo "a $MUSTER_RANK $1"' - x : -n 1 -x B=two sh -c 'echo "b $MUSTER_RANK $B"' : sh -c 'echo "c $MUSTER_RANK of $MUSTER_SIZE, $B"'
expect 0 "three programs"
[ "$(sort out | xargs -d '\n' printf '%s;')" = "a 0 x;a 1 x;b 2 two;c 3 of 4, ;" ] || complain "three programs"

# Root's ranks have the host's name, as others' do.
run -n 2 hostname
[ "$(sort -u out)" = "$(hostname)" ] || complain "hostname prints '$(sort -u out)'"

# ---- environment and working directory ----

A=here B=here run -n 1 -x A=there -x C='x y=z' -x B sh -c 'echo "$A $B $C"'
[ "$(cat out)" = "there here x y=z" ] || complain "-x"
mkdir sub
run pwd
[ "$(cat out)" = "$(pwd -P)" ] || complain "working directory"
run --wdir sub pwd
[ "$(cat out)" = "$(pwd -P)/sub" ] || complain "--wdir, relative"
run --wdir / pwd
[ "$(cat out)" = / ] || complain "--wdir"
run --wdir no/such/folder pwd
expect 126 "--wdir that is not there"
says "no/such/folder"
printf '#!/bin/sh\necho "I am $0"\n' >sub/prog
chmod +x sub/prog
run --wdir sub ./prog
[ "$(cat out)" = "I am ./prog" ] || complain "a program relative to --wdir"
PATH=$PWD/sub:$PATH run prog
[ "$(cat out)" = "I am $PWD/sub/prog" ] || complain "a program from PATH"

# ---- how it ends ----

run true
expect 0 "true"
[ ! -s err ] || complain "words about nothing"
run sh -c 'exit 3'
expect 3 "exit code 3"
says "muster: rank 0 failed on node 0 (node0): exit code 3"
[ "$(wc -l <err)" -eq 1 ] || complain "more than one line about one rank"
run sh -c 'kill -SEGV $$'
expect 139 "segmentation fault"
says "SIGSEGV"
run ./nope
expect 127 "no such program"
says "rank 0 could not start on node 0 (node0): ./nope: No such file or directory"
run --nodes 2 -n 20 --on-failure continue ./nope
expect 127 "no such program, many times"
says "20 ranks could not start on 2 nodes: ./nope: No such file or directory"
[ "$(grep -c "could not start" err)" -eq 1 ] || complain "the same is said twice"
run --nodes 4 -n 64 nosuchprog
expect 127 "no such program, with abort"
says "not found in PATH; job aborted"
[ "$(wc -l <err)" -eq 1 ] || complain "more than one line about one cause"
run /tmp
expect 126 "a directory"
says "/tmp: Permission denied (it is a directory)"
run --report /dev/full sh -c "exit 3"
expect 3 "--report on a full disk"
says "cannot write to '/dev/full' (--report): No space left on device"
(ulimit -n 24; run --nodes 4 true; [ "$code" -eq 1 ] && grep -q "Too many open files (raise the limit: ulimit -n)" err) || complain "ulimit -n 24"
: >file
run ./file
expect 126 "a file that is no program"

# Each waits until all are there; what is called 'loop' then goes on until it is ended.
mkdir up
all='touch up/$MUSTER_RANK; until [ $(ls up | wc -l) -eq $MUSTER_SIZE ]; do sleep 0.02; done;'
loop='trap "exit 0" TERM; while :; do sleep 0.05; done'
run --nodes 4 -n 8 sh -c "$all [ \$MUSTER_RANK = 5 ] && { kill -KILL \$\$; }; $loop"
expect 137 "the first failure ends the job"
says "muster: rank 5 failed on node 2 (node2): killed by SIGKILL; terminating the job" \
    "rank 5 killed by SIGKILL; 7 other ranks terminated" "use --on-failure continue"
[ "$(grep -c 'rank 5' err)" -eq 2 ] && [ "$(grep -c '^muster' err)" -eq 3 ] || complain "said at once, and in the end"
[ "$(grep -c 'rank [^5]' err)" -eq 0 ] || complain "who was ended has not failed"

# Two that fail one after the other; the others go on to their end.
mkdir go
one='if [ $MUSTER_RANK = 1 ]; then touch go/dead; exit 4; fi
if [ $MUSTER_RANK = 2 ]; then until [ -e go/dead ]; do sleep 0.02; done; exit 5; fi
until [ -e go/dead ]; do sleep 0.02; done; echo "$MUSTER_RANK ends well"'
run --nodes 2 -n 4 --on-failure continue sh -c "$one"
case $code in 4 | 5) ;; *) complain "--on-failure continue: exit $code" ;; esac
[ "$(sort out | xargs -d '\n' printf '%s;')" = "0 ends well;3 ends well;" ] || complain "--on-failure continue: the others"
says "muster: rank 1 failed on node 0 (node0): exit code 4" "muster: rank 2 failed on node 1 (node1): exit code 5" \
    "2 ranks exited with code 0, 2 failed" "1 of 1 other node notified in " "is that of the first failure, rank"

run --timeout 1 --nodes 2 -n 2 sleep 1000
expect 124 "--timeout"
says "time limit of 1 s reached (--timeout)"
[ "$(wc -l <err)" -eq 1 ] || complain "more than one line about --timeout"
run --timeout 1 --grace 100 sh -c "trap '' TERM; while :; do sleep 0.1; done"
expect 124 "--timeout, and a program that does not listen"
run --timeout 60 true
expect 0 "--timeout that does not come"

# ---- files that it is asked to write ----

rm -f up/*
run --nodes 4 -n 8 --report report sh -c "$all [ \$MUSTER_RANK = 2 ] && exit 9; $loop"
expect 9 "--report"
[ "$(wc -l <report)" -eq 1 ] && grep -qE '^\{"job":1,"kind":"process","rank":2,"node":1,"how":"exit code 9","code":9,"seen_by":1,"told":\[(\{"node":[0-3],"ms":[0-9.e+-]+,"hops":[0-9]+\},?){4}\],"all_told_ms":[0-9.e+-]+,"untold":\[\],"pid":[0-9]+,"verdict":"dead","cause":"exit","ended":"exited"\}$' report ||
    complain "--report: $(cat report)"
run --report no/such/report true
expect 1 "--report that cannot be written"
says "'no/such/report' (--report): No such file or directory"
run --nodes 2 --record records true
expect 0 "--record"
[ -s records/node-0/node.record ] && [ -s records/node-1/ring.record ] || complain "--record: $(ls records)"
run --record file true
expect 1 "--record into a file"
says "'file' (--record): Not a directory"

# ---- no daemon ----

mkdir bin
cp "$MUSTER" bin/muster
MUSTER_TEST=$tag timeout 20 bin/muster run true >out 2>err
code=$?
expect 1 "without musterd"
says "cannot start the daemon " "bin/musterd: No such file or directory"
for words in 'failed no address for you' 'nonsense' ''; do
    printf '#!/bin/sh\necho "%s"\nexit 7\n' "$words" >bin/musterd
    chmod +x bin/musterd
    MUSTER_TEST=$tag timeout 20 bin/muster run --nodes 3 true >out 2>err
    code=$?
    expect 1 "a daemon that says '$words'"
    says "(node"
    [ "$(wc -l <err)" -eq 1 ] || complain "one line about a daemon that says '$words'"
    [ -z "$words" ] || says "${words#failed }"
done
printf '#!/bin/sh\nexit 7\n' >bin/musterd
MUSTER_TEST=$tag timeout 20 bin/muster run true >out 2>err
code=$?
expect 1 "a daemon that exits"
says "cannot start the daemon of node 0 (node0): it exited with code 7"

rm -f machine
nothing_left 10 "after all that"
finish
