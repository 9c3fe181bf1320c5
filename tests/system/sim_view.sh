#!/bin/bash
# timeout: 120
# The laws of views in random worlds, small and large.
. "$MUSTER_SOURCE/tests/system/sim_common.sh"

seeds=5000
[ "${MUSTER_SANITIZED:-0}" -eq 0 ] || seeds=300

# holds NODES SEEDS: no law is broken
holds() {
    "$MUSTER" sim check view --nodes "$1" --seeds "$2" --json >out || complain "check view $1 $2: exit $?"
    cat out
    grep -q '"violations":0' out || complain "check view --nodes $1 --seeds $2 breaks a law"
}

holds 2:5 1:$seeds
holds 2:48 1:$((seeds / 10))

# ---- rules broken on purpose ----

# caught MUTANT LAW SEEDS: the first law that is broken
caught() {
    "$MUSTER" sim check view --nodes 2:5 --seeds "$3" --mutant "$1" --json >out
    [ $? -eq 1 ] && grep -q "\"law\":\"$2\"" out || complain "$1 does not break $2: $(cat out)"
}

caught no-follow stuck 1:200
caught no-late-answer split 1:200
caught join-outside V4 19 # elsewhere it installs without a lease
caught silent-uncounted told 1:200
caught lease-unasked lease 1:200
caught old-incarnation no-fault 1:200
exit $failed
