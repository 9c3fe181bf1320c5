#!/bin/bash
# 'muster run' on other hosts: through an agent, and in network namespaces where that is permitted.
set -u
. "$MUSTER_SOURCE/tests/system/run_common.sh"
. "$MUSTER_SOURCE/tests/system/netns_common.sh"
trap '[ $BASHPID -ne $$ ] || { end_strays; net_down; rm -rf "$scratch"; }' EXIT
trap 'exit 130' INT TERM HUP
musterd=${MUSTER}d

# lines COUNT: so many messages on standard error (what is indented belongs to the one before), and none on standard
# output.  A daemon that fails ends as it is: a sanitizer
# has more to say about that.
lines() {
    [ ! -s out ] && { [ "$MUSTER_SANITIZED" != 0 ] || [ "$(grep -vc "^        " err)" -eq "$1" ]; } ||
        complain "not exactly $1 lines, on standard error"
}

# one_line TEXT...: standard error is one line with every text, and nothing is left
one_line() {
    lines 1
    says "$@"
    nothing_left 10 "$1"
}

# ---- an agent that needs no network: the host is left out, and all is on loopback ----

# Like ssh, it hands what follows the host to a shell.
cat >agent <<'END'
#!/bin/sh
shift
exec sh -c "exec $*"
END
chmod +x agent
cat >hosts <<'END'
# three hosts
one slots=2 address=127.0.0.11
two address=127.0.0.12   # one slot
three slots=3 address=127.0.0.13
END
here=(--hostfile hosts --agent "$scratch/agent")

run "${here[@]}" sh -c 'echo $MUSTER_RANK $MUSTER_NODE $MUSTER_LOCAL_RANK $MUSTER_SIZE' </dev/null
expect 0 "three hosts"
[ "$(sort -n out | tr '\n' ,)" = "0 0 0 6,1 0 1 6,2 1 0 6,3 2 0 6,4 2 1 6,5 2 2 6," ] || complain "ranks do not fill the slots in order"
nothing_left 10 "three hosts"
run "${here[@]}" -n 3 sh -c 'echo $MUSTER_NODE' </dev/null
expect 0 "fewer processes than slots"
[ "$(sort out | tr '\n' ,)" = "0,0,1," ] || complain "three processes are not on the first two hosts"
MUSTER_AGENT=$scratch/agent run --hosts 127.0.0.11:2,127.0.0.12,127.0.0.11 -n 4 sh -c 'echo $MUSTER_NODE; cat' <<<"to rank 0"
expect 0 "MUSTER_AGENT"
[ "$(sort out | tr '\n' ,)" = "0,0,0,1,to rank 0," ] || complain "a host that is named twice has not the slots of both"
run "${here[@]}" --record records true </dev/null
expect 0 "--record with a folder that is not a whole path"
[ -s records/node-2/node.record ] || complain "no record"

# What fails on the way: one line with the host, and nothing left.
run "${here[@]}" -n 7 true
expect 2 "more processes than slots"
one_line "7 processes do not fit" "6 slots"
run "${here[@]}" --nodes 3 true
expect 2 "hosts and nodes"
one_line "--nodes cannot be used with hosts"
run --hosts one,two --hostfile hosts true
expect 2 "two ways to name hosts"
one_line "--hosts and --hostfile"
run --agent agent true
expect 2 "an agent without hosts"
one_line "--agent needs --hosts"
run --hostfile hosts --agent "no-such-agent -x" true
expect 1 "no such agent"
one_line "node 0 (one): cannot start its launch agent no-such-agent: "
run --hosts nobody.invalid --agent true true
expect 1 "a host without address"
one_line "cannot resolve host 'nobody.invalid'" "nobody.invalid address="
run --hosts 127.0.0.1,10.0.0.1 --agent true true
expect 1 "a host at loopback"
one_line "host '127.0.0.1' resolves to 127.0.0.1, which other hosts cannot reach"
cat >failing <<'END'
#!/bin/sh
[ "$1" != two ] || { echo "two: no route" >&2; exit 255; }
shift
exec sh -c "$*"
END
chmod +x failing
run --hostfile hosts --agent ./failing true
expect 1 "an agent that fails"
says "two: no route" "cannot start a daemon on two: './failing two' exited with code 255" "Try it by hand: ./failing two true"
lines 2
nothing_left 10 "an agent that fails"
printf '#!/bin/sh\nshift\nexec sh -c "/no/such$*"\n' >missing
chmod +x missing
run --hosts 127.0.0.11 --agent ./missing true
expect 1 "no daemon there"
says "cannot start a daemon on 127.0.0.11: './missing 127.0.0.11' exited with code 127" "at the same path: $musterd"
nothing_left 10 "no daemon there"
printf '#!/bin/sh\necho Welcome\nshift\nexec sh -c "$*"\n' >chatty
chmod +x chatty
run --hosts 127.0.0.11 --agent ./chatty true
expect 1 "an agent that talks"
one_line "node 0 (127.0.0.11): unexpected message 'Welcome' from its daemon"
run --hosts 10.255.255.1 --agent "$scratch/agent" true
expect 1 "an address that is not the host's"
one_line "node 0 (10.255.255.1): " "Cannot assign requested address"

# The launcher is killed: end of input is the lifeline, through the agent, too.
MUSTER_TEST=$tag "$MUSTER" run "${here[@]}" sleep 600 </dev/null >out 2>err &
launcher=$!
all_run() { [ "$(ours | xargs -r ps -o args= -p 2>/dev/null | grep -c '^sleep 600')" -eq 6 ]; }
until_true 30 all_run || complain "the processes do not come up"
kill -KILL $launcher
wait $launcher 2>/dev/null
nothing_left 30 "the launcher was killed"

# An agent is killed, and its daemon goes with it: that node is lost, and no other.
MUSTER_TEST=$tag "$MUSTER" run "${here[@]}" --on-failure continue sh -c '[ $MUSTER_NODE = 1 ] && exec sleep 600; until [ -e over ]; do sleep 0.1; done' </dev/null >out 2>err &
launcher=$!
daemon_of() { ours | xargs -r ps -o ppid=,args= -p | awk '$2 == "sleep" && $3 == "600" { print $1 }'; }
is_there() { [ -n "$(daemon_of)" ]; }
until_true 30 is_there || complain "the processes do not come up again"
kill -KILL "$(daemon_of)"
until_true 30 grep -q "node 1 (two) failed with rank 2: launch agent .* killed by SIGKILL; 5 of 6 ranks continue" err || complain "node 1 is not lost"
touch over
wait $launcher
code=$?
expect 255 "a host was lost"
nothing_left 10 "a host was lost"

# Only the connection of one agent breaks: its daemon goes alone, the others are told so, and the ring goes on: a node
# that falls silent after that is found.
cat >breaking <<'END'
#!/bin/sh
name=$1
shift
sh -c 'echo $$ >cat-$0; exec cat' "$name" | { sh -c "exec $*"; kill $$; }
END
chmod +x breaking
rm -rf roll over
mkdir roll
MUSTER_TEST=$tag "$MUSTER" run --hostfile hosts --agent ./breaking --on-failure continue --heartbeat 100ms,1s "${MUSTER%/bin/muster}/tests/programs/roll" roll </dev/null >out 2>err &
launcher=$!
are_there() { [ "$(cat roll/rank-* 2>/dev/null | grep -c ^pid)" -eq 6 ]; }
until_true 30 are_there || complain "the processes do not come up behind a pipe"
kill -KILL "$(cat cat-two)"
until_true 30 grep -q "^node 1 dead" roll/rank-0 || complain "a daemon whose agent broke is not told to be dead: $(cat roll/rank-0)"
silent=$(ps -o ppid= -p "$(sed -n 's/^pid \([0-9]*\) .*/\1/p' roll/rank-3)" | tr -d ' ')
kill -STOP "$silent"
until_true 30 grep -q "^node 2 silent" roll/rank-0 || complain "after that, a silent node is not found: $(cat roll/rank-0)"
kill -CONT "$silent"
touch roll/over
until_true 30 gone $launcher || complain "the launcher does not end"
wait $launcher
nothing_left 10 "the connection of an agent broke"

# ---- real networks ----

if [ "$(id -u)" -ne 0 ] || ! ip netns add "$net_prefix-try" 2>/dev/null; then
    echo "note: no network namespaces, so no real networks were tried"
    finish
fi
ip netns del "$net_prefix-try"
net_up 4 || complain "no network"
net_hostfile 2 >hosts
MUSTER_TEST=$tag timeout -k 5 60 ip netns exec "$net_hub" "$MUSTER" run --hostfile hosts --agent "ip netns exec" \
    sh -c 'echo $MUSTER_RANK $(ip -4 -o addr show eth0 | grep -o "10.0.0.[0-9]*/")' </dev/null >out 2>err
code=$?
expect 0 "four hosts in namespaces"
[ "$(sort -n out | tr '\n' ,)" = "0 10.0.0.1/,1 10.0.0.1/,2 10.0.0.2/,3 10.0.0.2/,4 10.0.0.3/,5 10.0.0.3/,6 10.0.0.4/,7 10.0.0.4/," ] ||
    complain "processes are not on their hosts"
nothing_left 10 "four hosts in namespaces"
net_down
! ip netns list | grep -q "^$net_prefix-" || complain "a namespace is still there"
finish
