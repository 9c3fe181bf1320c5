#!/bin/bash
# muster chaos cut --with nft: daemons in network namespaces of their own, on one bridge.
set -u
. "$MUSTER_SOURCE/tests/system/by_hand.sh"

if [ "$(id -u)" != 0 ] || ! command -v nft >/dev/null || ! command -v ip >/dev/null; then
    echo "note: not tried, because it needs root, nft and ip"
    exit 0
fi

# Names of this test alone: several may run at once.
tag=mc$$
spaces=()
remove_spaces() {
    local space
    for space in "${spaces[@]}"; do ip netns del "$space" 2>/dev/null; done
    ip link del "${tag}b" 2>/dev/null
    clean_up
}
trap remove_spaces EXIT
if ! ip link add "${tag}b" type bridge 2>err || ! ip link set "${tag}b" up; then
    echo "note: not tried, because there are no bridges here: $(cat err)"
    exit 0
fi

# ---- daemons, as by_hand.sh brings them up, but each in its namespace ----

size=4 period=100000000 timeout=500000000
[ "$MUSTER_SANITIZED" = 0 ] || timeout=3000000000
machine=$(head -c 8 /dev/urandom | od -An -tx8 | tr -d ' ')
key=$(head -c 4096 /dev/urandom | tr -dc 1-9b-f | head -c 64)
witnesses=() pids=() ports=()
in_space() { local i=$1; shift; ip netns exec "${spaces[i]}" "$@"; }
for ((i = 0; i < size; i++)); do
    spaces+=("${tag}n$i")
    ip netns add "${spaces[i]}" && ip link add "${tag}v$i" type veth peer name eth0 netns "${spaces[i]}" || exit 1
    ip link set "${tag}v$i" master "${tag}b" up
    in_space $i ip link set lo up
    in_space $i ip addr add "10.213.7.$((i + 1))/24" dev eth0
    in_space $i ip link set eth0 up
    mkfifo to$i from$i
    ip netns exec "${spaces[i]}" "$musterd" <to$i >from$i 2>daemon$i.err &
    witnesses+=($!)
    exec {line}>to$i
    to+=($line)
    exec {line}<from$i
    from+=($line)
    printf '%s\n' "muster-orders 1" "machine $machine" "key $key" "size $size" "slot $i" \
        "listen 10.213.7.$((i + 1))" "name hand$i" "period $period" "timeout $timeout" . >&"${to[i]}"
    read -r -t 30 line <&"${from[i]}"
    read -r -a line <<<"$line" # listening ADDRESS PORT PID
    ports+=("${line[2]}")
    pids+=("${line[3]}")
done
for ((i = 0; i < size; i++)); do
    for ((k = 0; k < size; k++)); do echo "node $k 10.213.7.$((k + 1)) ${ports[k]}"; done >&"${to[i]}"
    echo . >&"${to[i]}"
done
for ((i = 0; i < size; i++)); do
    read -r -t 30 line <&"${from[i]}"
    [ "$line" = ready ] || { complain "daemon $i says '$line' instead of ready: $(cat daemon$i.err)"; exit 1; }
done

# ---- words ----

"$MUSTER" chaos cut node=1 --with nft >out 2>err
[ $? -eq 2 ] && grep -q -- "needs --for" err || complain "without --for: $(cat err)"
"$MUSTER" chaos cut node=1 --with nft --peers 3 --for 1s >out 2>err
[ $? -eq 2 ] && grep -q "'3'" err && grep -q "addresses like" err || complain "peers that are no addresses: $(cat err)"

# ---- cuts ----

rules() { in_space "$1" nft list ruleset | grep -c "muster_chaos_$1_\|drop"; }
heard() { in_space "$1" "$MUSTER" events --json --cluster "$machine"; }

# Short: nothing is told, and nothing is left.
in_space 1 "$MUSTER" chaos cut node=1 --with nft --for 100ms 2>err || complain "a short cut: $(cat err)"
[ "$(rules 1)" -eq 0 ] || complain "rules are left"
# One way, from one peer, and ended in the middle by every means.
for signal in INT KILL; do
    ip netns exec "${spaces[1]}" "$MUSTER" chaos cut node=1 --with nft --in --peers 10.213.7.4 --for 10m 2>err &
    others=($!)
    wait_until 30 eval '[ "$(rules 1)" -gt 0 ]' || complain "no rules: $(cat err)"
    in_space 1 nft list ruleset | grep -q "ip saddr 10.213.7.4 drop" || complain "the rules: $(in_space 1 nft list ruleset)"
    kill -$signal "${others[0]}"
    wait "${others[0]}" 2>/dev/null
    wait_until 30 eval '[ "$(rules 1)" -eq 0 ]' || complain "rules are left after SIG$signal"
done
# Two at once: the end of one leaves the other, and who cannot remove its rules says so.
ip netns exec "${spaces[1]}" "$MUSTER" chaos cut node=1 --with nft --in --peers 10.213.7.4 --for 10m 2>err &
others=($!)
wait_until 30 eval '[ "$(rules 1)" -gt 0 ]' || complain "no rules: $(cat err)"
in_space 1 "$MUSTER" chaos cut node=1 --with nft --in --peers 10.213.7.4 --for 10ms 2>err2 || complain "a second cut: $(cat err2)"
[ "$(rules 1)" -gt 0 ] || complain "the end of the second cut ended the first"
in_space 1 nft flush ruleset
kill -TERM "${others[0]}"
wait "${others[0]}" 2>/dev/null
grep -q "cannot remove the nft table" err || complain "rules that are not there were removed: $(cat err)"
others=()
[ -z "$(heard 0)" ] || complain "something was told: $(heard 0)"

# Long: silent for all others, though its daemon is killed meanwhile and its kernel would say so.
ip netns exec "${spaces[2]}" "$MUSTER" chaos cut node=2 --with nft --for 10m 2>err &
others=($!)
wait_until 30 eval '[ "$(rules 2)" -gt 0 ]' || complain "no rules: $(cat err)"
kill -KILL "${pids[2]}"
for i in 0 1 3; do
    wait_until 60 eval "heard $i | grep -q 'node.:2,.verdict.:.silent'" || complain "node $i was not told that node 2 is silent: $(heard $i)"
    [ "$(heard $i | wc -l)" -eq 1 ] || complain "node $i was told more: $(heard $i)"
done
kill -TERM "${others[0]}"
wait "${others[0]}"
wait_until 30 eval '[ "$(rules 2)" -eq 0 ]' || complain "rules are left after SIGTERM"
others=()

for i in "${!to[@]}"; do exec {to[i]}>&- {from[i]}<&-; done
for i in 0 1 3; do wait_until 30 gone "${pids[i]}" || complain "daemon $i does not end"; done
[ $failed -eq 0 ] && echo "all as it should be"
exit $failed
