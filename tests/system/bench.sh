#!/bin/bash
# timeout: 300
# 'muster bench' at small sizes: what it prints, that everybody was told, and that nothing is left,
# also when it is killed.  No figure is judged: this machine may be busy.
set -u
scratch=$(mktemp -d)
bench=
trap '[ -z "$bench" ] || kill -9 "$bench" 2>/dev/null; rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
failed=0

complain() {
    echo "FAIL: $*"
    sed 's/^/    out: /' out | head -5
    sed 's/^/    err: /' err | head -5
    failed=1
}

# run ARGUMENTS...: leaves its output in out and err, and the exit code in $code
run() {
    timeout 100 "$MUSTER" bench "$@" >out 2>err
    code=$?
}

# refuses TEXT -- ARGUMENTS...: exit 2, one line on stderr that has TEXT
refuses() {
    local text=$1
    shift 2
    run "$@"
    [ "$code" -eq 2 ] && [ ! -s out ] && [ "$(wc -l <err)" -eq 1 ] && grep -qF -- "$text" err ||
        complain "exit $code, or not one line that says '$text': muster bench $*"
}

# ---- help, and values that break a rule ----

for command in "" procfail floor; do
    run $command --help
    [ "$code" -eq 0 ] && [ ! -s err ] && grep -q "^usage: muster bench" out || complain "--help: bench $command"
done
refuses "'nonsense'" -- nonsense
refuses "--nodes is '0'" -- procfail --nodes 0
refuses "--nodes is '1025'" -- procfail --nodes 1025
refuses "--procs is '0'" -- procfail --procs 0
refuses "--reps is '0'" -- procfail --reps 0
refuses "leave a survivor" -- procfail --nodes 1 --procs 1
refuses "--plain-relays" -- procfail --plain-relays

# ---- the clients are a program of their own, found from where muster is ----

mkdir bin
cp "$MUSTER" bin/muster
timeout 100 bin/muster bench procfail --nodes 2 --procs 2 --reps 1 >out 2>err
code=$?
[ "$code" -eq 1 ] && [ ! -s out ] && [ "$(wc -l <err)" -eq 1 ] && grep -q "$PWD/.*/muster-rig-client cannot be started" err ||
    complain "exit $code, or not one line that says which client is missing"
client=${MUSTER%/bin/muster}$(sed -n "s:.*$PWD\(/.*/muster-rig-client\) .*:\1:p" err)
timeout 100 "$client" >out 2>err
code=$?
[ "$code" -eq 1 ] && [ ! -s out ] && [ "$(wc -l <err)" -eq 1 ] && grep -q "ROLE" err ||
    complain "exit $code, or not one line: $client without arguments"

if [ "$MUSTER_SANITIZED" = 0 ]; then # under a prefix of its own, it finds the one there
    DESTDIR=$PWD/root cmake --install "${MUSTER%/bin/muster}" --prefix /opt/somewhere >out 2>err || complain "install"
    timeout 100 root/opt/somewhere/bin/muster bench floor --nodes 2 --procs 1 --reps 1 >out 2>err ||
        complain "as it is installed, floor: exit $?"
    find root -name muster-rig-client -delete
    ! timeout 100 root/opt/somewhere/bin/muster bench floor --nodes 2 --procs 1 --reps 1 >out 2>err ||
        complain "as it is installed, it starts a client from somewhere else"
fi

# ---- what it measures ----

# field PATH: its value in the object in out
field() {
    /usr/bin/python3 -c '
import json, sys
value = json.load(open("out"))
for name in sys.argv[1].split("."):
    value = value[name]
print(value)' "$1" 2>>err
}

# is FIELD VALUE
is() {
    [ "$(field "$1")" = "$2" ] || complain "$1 is '$(field "$1")', not $2"
}

# positive FIELD...: a number above 0
positive() {
    local name
    for name; do
        [[ $(field "$name") =~ ^[0-9]+(\.[0-9]+)?(e-[0-9]+)?$ ]] && [[ ! $(field "$name") =~ ^[0.]+$ ]] ||
            complain "$name is '$(field "$name")'"
    done
}

# realtime: this host permits daemons and relays to have real-time priority
realtime() {
    chrt -f 1 true 2>/dev/null
}

# measures NODES PROCS: what out must have after 'procfail --reps 3 --seed 7 --json'
measures() {
    # what a daemon says where it may not have what it wants is no fault, nor what a sanitizer says of a thread that ends
    [ "$code" -eq 0 ] && ! grep -qvE '^musterd .*(real-time priority|is not locked) |^==.*Unable to get registers' err &&
        [ "$(wc -l <out)" -eq 1 ] || complain "procfail, $1 nodes x $2: exit $code"
    is bench procfail
    is nodes "$1"
    is procs "$2"
    is reps 3
    is seed 7
    is missed 0
    is false 0
    positive detect_ms.median detect_ms.p99 detect_ms.max all_told_ms.median all_told_ms.p99 all_told_ms.max \
        bare_ms.median bare_ms.p99 bare_ms.max ratio
}

run floor --nodes 4 --procs 2 --reps 3 --json
[ "$code" -eq 0 ] && [ "$(wc -l <out)" -eq 1 ] || complain "floor: exit $code"
is bench floor
is missed 0
positive bare_ms.median bare_ms.p99 bare_ms.max
run floor --nodes 4 --procs 2 --reps 3 --realtime --json
if realtime; then
    [ "$code" -eq 0 ] || complain "floor --realtime: exit $code"
    positive bare_realtime_ms.median
else
    [ "$code" -eq 1 ] && grep -q 'priority of the relays' err || complain "floor --realtime: exit $code"
fi

for size in "4 2" "1 2" "2 1" "5 3"; do
    read -r nodes procs <<<"$size"
    run procfail --nodes "$nodes" --procs "$procs" --reps 3 --seed 7 --json
    measures "$nodes" "$procs"
    if realtime; then
        positive bare_realtime_ms.median bare_realtime_ms.p99 bare_realtime_ms.max ratio_realtime
    else
        is bare_realtime_ms None
        is ratio_realtime None
    fi
    if [ "$(id -u)" -eq 0 ]; then positive pss_kib.median pss_kib.max; else is pss_kib None; fi
done

run procfail --nodes 4 --procs 2 --reps 2 --stages --json
[ "$code" -eq 0 ] || complain "--stages --json: exit $code"
positive stages.seen_ms.median stages.hop1_ms.median stages.read_ms.median stages.bare_half_ms.median
! realtime || positive stages.bare_realtime_half_ms.median
run procfail --nodes 4 --procs 2 --reps 2 --stages --each
[ "$code" -eq 0 ] && grep -q '^4 nodes x 2 processes, 2 deaths' out && grep -q 'the last of 7 survivors' out &&
    grep -q 'ratio .*, missed 0, false 0' out && grep -q 'kill -> seen' out || complain "procfail in words: exit $code"
[ "$(grep -c '^death ' err)" -eq 2 ] && [ "$(grep -c '^bare ' err)" -eq 2 ] || complain "--each does not say each"
if realtime; then
    grep -q "with the daemons' priority" out && [ "$(grep -c '^bare-realtime ' err)" -eq 2 ] ||
        complain "the floor with the daemons' priority is not in the words"
fi

# ---- where real-time priority is not permitted, it says so and measures the rest ----

unprivileged=(setpriv --bounding-set=-sys_nice prlimit --rtprio=0)
if "${unprivileged[@]}" true 2>/dev/null; then
    ! "${unprivileged[@]}" chrt -f 1 true 2>/dev/null || complain "still permitted under ${unprivileged[*]}"
    timeout 100 "${unprivileged[@]}" "$MUSTER" bench procfail --nodes 4 --procs 2 --reps 3 --seed 7 --json >out 2>err
    code=$?
    measures 4 2
    is bare_realtime_ms None
    is ratio_realtime None
    timeout 100 "${unprivileged[@]}" "$MUSTER" bench procfail --nodes 4 --procs 2 --reps 1 >out 2>err
    code=$?
    [ "$code" -eq 0 ] && grep -q 'real-time priority is not permitted' out || complain "it does not say what is not permitted"
fi

# ---- who may not look into other processes measures all the same: clients get their page from the rig ----

blind=(setpriv --bounding-set=-sys_ptrace,-dac_override,-dac_read_search)
"${blind[@]}" true 2>/dev/null || blind=()
timeout 100 "${blind[@]}" "$MUSTER" bench agree --nodes 2 --procs 2 --reps 5 --json >out 2>err
code=$?
[ "$code" -eq 0 ] || complain "agree, of somebody who may not look into processes: exit $code"
is wrong 0

# ---- killed half-way, it leaves nothing ----

# born PID: when it was started, so that a number that is used again is not mistaken; nothing: it is gone
born() {
    sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | awk '$1 != "Z" { print $20 }'
}

# family: relays, daemons and clients of the bench, each as PID:BORN
family() {
    local pid
    for pid in $(cat "/proc/$bench/task/$bench/children") $(pgrep -f -- "/muster-rig-client read $bench$"); do
        echo "$pid:$(born "$pid")"
    done
}

# among LIST: how many of these are still there
among() {
    local member count=0
    for member in $1; do
        [ "$(born "${member%:*}")" != "${member#*:}" ] || [ -z "${member#*:}" ] || count=$((count + 1))
    done
    echo $count
}

"$MUSTER" bench procfail --nodes 4 --procs 2 --reps 10000 >out 2>err &
bench=$!
for ((i = 0; i < 300; i++)); do # 4 relays, 4 daemons, 8 clients
    members=$(family)
    [ "$(among "$members")" -lt 16 ] || break
    sleep 0.1
done
[ "$(wc -w <<<"$members")" -ge 16 ] || complain "a bench of 4 x 2 has only $(wc -w <<<"$members") processes"
kill -9 "$bench"
wait "$bench" 2>/dev/null
for ((i = 0; i < 100; i++)); do
    [ "$(among "$members")" -ne 0 ] || break
    sleep 0.1
done
[ "$(among "$members")" -eq 0 ] || complain "$(among "$members") processes are left of a bench that was killed"
bench=

[ $failed -eq 0 ] && echo "all as it should be"
exit $failed
