#!/bin/bash
# The laws of the ring in many worlds: small ones most of all, and each of some sizes.  Takes hours.
# MUSTER: the command.  MUSTER_SOAK_SEEDS: of each size (20000); five times as many of 3 to 6 nodes.
set -u
seeds=${MUSTER_SOAK_SEEDS:-20000} failed=0

# check NODES SEEDS
check() {
    "$MUSTER" sim check ring --nodes "$1" --seeds "1:$2" || { echo "failed: --nodes $1 --seeds 1:$2"; failed=1; }
}

check 3:6 $((5 * seeds))
for nodes in 2 3 4 5 8 16 33 64; do
    check $nodes "$seeds"
done
exit $failed
