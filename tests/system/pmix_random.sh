#!/bin/bash
# Fences, connects and groups of PMIx in which processes and whole nodes die at random moments: none waits for the dead.
#   RUNS=200 SEED=1 tests/system/pmix_random.sh    more of them; the seed is printed
. "$(dirname "$0")/run_common.sh"
programs=${MUSTER%/bin/muster}/tests/programs
[ -x "$programs/pmix_random" ] || { echo "no libpmix here"; exit 77; }
runs=${RUNS:-8}
[ "${RUNS:-}" ] || [ "$MUSTER_SANITIZED" = 0 ] || runs=3
seed=${SEED:-1}
rounds=2
operations=$((6 * rounds))
partial=0 worst=0 worst_run=

# draw BELOW: into $drawn
draw() { drawn=$(((RANDOM << 15 | RANDOM) % $1)); }

# plan: what one run is, into nodes, ranks, kills, and how many live to its end
plan() {
    local i rank whom operation us
    local -A dead=()
    draw 4 && nodes=$((1 + drawn))
    draw $((2 * nodes + 1)) && ranks=$((nodes + 1 + drawn))
    kills=()
    draw 3
    for ((i = 0; i <= drawn; i++)); do
        rank=$((RANDOM % ranks))
        whom=process
        [ $((RANDOM % 4)) -ne 0 ] || [ "$nodes" -eq 1 ] || whom=node
        operation=$((RANDOM % (operations + 1)))
        us=$((RANDOM % (1 << RANDOM % 15)))
        kills+=("$rank:$whom:$operation:$us")
        dead[$rank]=1
        for ((other = 0; other < ranks; other++)); do
            [ $whom = process ] || [ $((other * nodes / ranks)) -ne $((rank * nodes / ranks)) ] || dead[$other]=1
        done
    done
    living=$((ranks - ${#dead[@]}))
}

# late: ms of each operation in which news came, after these and after the last survivor had come to it
late() {
    awk '/^times/ { if ($4 > last[$3]) last[$3] = $4; line[n++] = $0 }
        END { for (i = 0; i < n; i++) {
            split(line[i], at, " ")
            from = at[5] > last[at[3]] ? at[5] : last[at[3]]
            if (at[5] > at[4] && at[6] > from) printf "%.1f\n", (at[6] - from) / 1e6 } }' out
}

# Who is to die twice dies once, and who is to kill its daemon may be dead before: more may live.
one() {
    plan
    run --nodes "$nodes" -n "$ranks" --on-failure continue --heartbeat 100ms,1s "$programs/pmix_random" $rounds "${kills[@]}"
    local text="run $i of seed $seed: --nodes $nodes -n $ranks ${kills[*]}"
    [ "$code" -ne 124 ] || complain "it hangs: $text"
    [ "$(grep -cE "^rank [0-9]+ [Sp]{$operations}\$" out)" -ge $living ] || complain "not $living to the end: $text"
    ! grep -q ': ' out || complain "a status nobody knows: $text"
    partial=$((partial + $(grep -cE '^rank [0-9]+ S*p' out)))
    local ms
    ms=$(late | cat - <(echo "$worst") | sort -n | tail -1)
    [ "$ms" = "$worst" ] || worst_run="in $text"
    worst=$ms
}

RANDOM=$seed
echo "seed $seed, $runs runs"
for ((i = 0; i < runs && failed == 0; i++)); do one; done
nothing_left 20 "at the end"
echo "$i runs; $partial processes lived on without others; at most $worst ms from the news, and the last survivor, to the end of an operation $worst_run"
finish
