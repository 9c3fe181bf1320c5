#!/bin/bash
# timeout: 300
# Hostile bytes at one daemon: the job does not notice, and everything is counted.
set -u
. "$MUSTER_SOURCE/tests/system/by_hand.sh"

many=10000 open=1000
seed=${HOSTILE_SEED:-$((RANDOM * 32768 + RANDOM))}
classes="forged malformed order version machine slot kind cut"

# throw KIND COUNT SLOT NAME: at 127... where node SLOT of the last status listens; prints to NAME.thrown
throw() {
    local address size
    address=$(of_node "$3" status | word address)
    size=$(of_node "$3" status | number size)
    "$programs/hostile" "${address%:*}" "${address##*:}" "$machine" "$size" "$3" "$1" "$2" "$seed" >"$4".thrown
}

# rise NAME SLOT: how much a counter grew between the files 'before' and 'after'
rise() { echo $(($(counter "$1" "$2" after) - $(counter "$1" "$2" before))); }

# counted_as_thrown NAME SLOT: by class, exactly what NAME.thrown says
counted_as_thrown() {
    local class thrown counted
    for class in $classes; do
        thrown=$(number "$class" <"$1".thrown)
        counted=$(rise "bad_$class" "$2")
        echo "    $class: $thrown thrown, $counted counted"
        [ "$thrown" -eq "$counted" ] || complain "$1: $thrown $class thrown, $counted counted"
    done
}

status() { "$MUSTER" status --cluster "$machine" --json >"$1" || complain "muster status: exit $?"; }

# ---- strangers, while a job runs and one of its processes is killed ----

echo "seed $seed"
start_job 4 16 || exit 1
status status
cp status before

others=()
throw halfopen $open 1 halfopen & others+=($!)
throw slow 1 1 slow & others+=($!)
throw random $((many / 2)) 1 random1 & others+=($!)
victim=6
kill -KILL "$(pid_of $victim)"
all_told() { [ "$(grep -c "told $victim\$" run.out)" -eq 15 ]; }
wait_until 30 all_told || complain "$(grep -c "told $victim\$" run.out) of 15 survivors were told"
seed=$((seed + 1))
throw random $((many - many / 2)) 1 random2 & others+=($!)
for other in "${others[@]}"; do
    wait "$other" || complain "hostile: exit $?"
done
others=()
cat ./*.thrown
status after

# Those that say nothing go when they are too many, or too late.  So does, while they come, a random
# one whose bytes were not read yet: then its class is one short.  Nothing is counted twice, nor not.
away=$(($(rise strangers_evicted 1) + $(rise handshakes_late 1)))
echo "    strangers: $((open + 1)) thrown, $away sent away"
more=$((away - open - 1))
for class in $classes; do
    thrown=$(($(number $class <random1.thrown) + $(number $class <random2.thrown)))
    counted=$(rise bad_$class 1)
    echo "    $class: $thrown thrown, $counted counted"
    [ "$counted" -le $thrown ] || complain "$thrown $class thrown, $counted counted"
    more=$((more - thrown + counted))
done
[ $more -eq 0 ] && [ $away -ge $((open + 1)) ] && [ $away -lt $((open + many / 10)) ] ||
    complain "$((open + 1)) who said nothing or too slowly, $away sent away; $more connections too many are counted"
[ "$(rise connections_taken 1)" -eq $((many + open + 1)) ] ||
    complain "$((many + open + 1)) connections, $(rise connections_taken 1) counted"
for slot in 0 2 3; do
    for class in $classes; do
        [ "$(rise bad_$class $slot)" -eq 0 ] || complain "node $slot counts bad_$class, and nobody threw anything at it"
    done
done
for slot in 0 1 2 3; do
    of_node $slot after | grep -q "\"links_up\":$(of_node $slot after | number links_wanted)," ||
        complain "node $slot has lost a link: $(of_node $slot after)"
done
[ "$(counter bad_malformed 1 after)" -ge 1 ] || complain "status does not show what was counted"

end_job
[ "$code" -eq $((128 + 9)) ] || complain "'muster run' of a job with a killed process: exit $code"
for ((rank = 0; rank < 16; rank++)); do
    [ $rank -eq $victim ] && continue
    told=$(grep -c "\b$rank told $victim\$" run.out)
    [ "$told" -eq 1 ] || complain "process $rank was told $told times of the death of process $victim"
done
[ "$(grep -c ' told ' run.out)" -eq 15 ] || complain "somebody was told of another death: $(grep ' told ' run.out)"

# ---- a thief who has the key, and flips bits ----

bring_up 2 || exit 1
status status
cp status before
throw flipped $many 0 flipped <<<"$key" || complain "hostile: exit $?"
status after
cat flipped.thrown
counted_as_thrown flipped 0

# Fewer strangers than there is room for: each goes when its time is over.
cp after before
throw halfopen 100 0 halfopen & others=($!)
throw slow 1 0 slow & others+=($!)
for other in "${others[@]}"; do
    wait "$other" || complain "hostile: exit $?"
done
others=()
status after
echo "    strangers: 101 thrown, $(rise handshakes_late 0) were too late, $(rise strangers_evicted 0) too many"
[ "$(rise handshakes_late 0)" -eq 101 ] && [ "$(rise strangers_evicted 0)" -eq 0 ] ||
    complain "101 say nothing, $(rise handshakes_late 0) were sent away as late, $(rise strangers_evicted 0) as too many"
[ "$(of_node 0 after | number links_up)" -eq 1 ] && [ "$(rise links_broken 0)" -eq 0 ] ||
    complain "the link between the daemons broke"
take_down

[ $failed -eq 0 ] && echo "all as it should be"
exit $failed
