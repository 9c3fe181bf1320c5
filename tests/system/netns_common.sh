# Hosts for system tests: network namespaces on one bridge.  To be sourced; needs root.
#
#     net_or_skip          leaves with CTest's code for a test that was skipped where this is not permitted
#     net_up COUNT         makes them.  Sets net_hub, the namespace of the launcher, and net_hosts, their names
#     net_hostfile SLOTS   the hosts as 'muster run --hostfile' has them, with so many slots each
#     net_exec NAME ...    runs a command on a host, or with $net_hub where the launcher is
#     net_down             removes everything; call it in the trap at the end
#
# Nothing is changed outside of these namespaces: the bridge is in the launcher's own one.  Their names
# have the number of this process, so two tests at once do not meet; those of a test that was killed
# are removed by the next one.
#
# Host I has the address 10.0.0.(I+1) and the port portI of the bridge; the launcher has 10.0.0.254.  Packets are lost
# by the bridge, without a word to anybody, when an element is added to a set of nft's table 'bridge muster':
#     pairs { portI . portJ }    from host I to host J
#     up { portI }               from host I to the launcher
#     down { portI }             from the launcher to host I
net_skip_code=77
net_prefix=muster-net-$$
net_hub=$net_prefix-hub
net_hosts=()

net_skip() {
    echo "skipped: $*"
    exit $net_skip_code
}

net_or_skip() {
    local tool
    [ "$(id -u)" -eq 0 ] || net_skip "network namespaces need root"
    for tool in ip nft; do
        command -v "$tool" >/dev/null || net_skip "there is no command '$tool' (tools/packages.txt)"
    done
    ip netns add "$net_prefix-try" 2>/dev/null || net_skip "network namespaces are not permitted here"
    ip netns exec "$net_prefix-try" nft list tables >/dev/null 2>&1
    local code=$?
    ip netns del "$net_prefix-try"
    [ $code -eq 0 ] || net_skip "nft does not work here"
}

# net_remove PREFIX: all namespaces that begin so, and what still runs in them
net_remove() {
    local name
    for name in $(ip netns list 2>/dev/null | cut -d ' ' -f 1); do
        [[ $name == "$1"-* ]] || continue
        ip netns pids "$name" | xargs -r kill -KILL 2>/dev/null
        ip netns del "$name"
    done
}

net_remove_stale() {
    local name pid
    for name in $(ip netns list 2>/dev/null | cut -d ' ' -f 1); do
        [[ $name =~ ^muster-net-([0-9]+)- ]] || continue
        pid=${BASH_REMATCH[1]}
        [ -e "/proc/$pid" ] || net_remove "muster-net-$pid"
    done
}

net_up() {
    local i host
    net_remove_stale
    ip netns add "$net_hub" || return 1
    ip -n "$net_hub" link set lo up
    ip -n "$net_hub" link add hub type bridge || return 1
    ip -n "$net_hub" addr add 10.0.0.254/24 dev hub
    ip -n "$net_hub" link set hub up
    for ((i = 0; i < $1; i++)); do
        host=$net_prefix-$i
        ip netns add "$host" || return 1
        ip -n "$net_hub" link add "port$i" type veth peer name eth0 netns "$host" || return 1
        ip -n "$net_hub" link set "port$i" master hub up
        ip -n "$host" addr add "10.0.0.$((i + 1))/24" dev eth0
        ip -n "$host" link set lo up
        ip -n "$host" link set eth0 up
        net_hosts+=("$host")
    done
    # The bridge loses them, so no sender gets an error, and nobody a reset.
    net_exec "$net_hub" nft -f - <<'RULES'
table bridge muster {
    set pairs { type ifname . ifname; }
    set up { type ifname; }
    set down { type ifname; }
    chain forward { type filter hook forward priority 0; iifname . oifname @pairs drop; }
    chain input { type filter hook input priority 0; iifname @up drop; }
    chain output { type filter hook output priority 0; oifname @down drop; }
}
RULES
}

# Not "ip netns exec", which has a /sys of its own, without cgroups.
net_exec() {
    local name=$1
    shift
    nsenter --net="/run/netns/$name" "$@"
}

net_hostfile() {
    local i
    for i in "${!net_hosts[@]}"; do
        echo "${net_hosts[i]} slots=$1 address=10.0.0.$((i + 1))"
    done
}

net_down() {
    net_remove "$net_prefix"
    net_hosts=()
}
