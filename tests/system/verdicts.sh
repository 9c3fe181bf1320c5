#!/bin/bash
# alone
# timeout: 600
# Every fault of verdicts.table, on hosts that are network namespaces; and docs/reference/verdicts.md is what the table says.
#   tests/system/verdicts.sh [CASE]...      RUNS=2: the whole table twice
set -u
. "$MUSTER_SOURCE/tests/system/netns_common.sh"
programs=${MUSTER%/bin/muster}/tests/programs
table=$MUSTER_SOURCE/tests/system/verdicts.table
scratch=$(mktemp -d) || exit 1
trap 'net_down; rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM HUP

"$programs/verdicts" page "$table" >"$scratch/page" || exit 1
cmp -s "$scratch/page" "$MUSTER_SOURCE/docs/reference/verdicts.md" || {
    echo "FAIL: docs/reference/verdicts.md is not what verdicts.table says: build/tests/programs/verdicts page tests/system/verdicts.table >docs/reference/verdicts.md"
    exit 1
}

net_or_skip
times=2 # so that fewer stalls of this host are long enough to matter
if [ "$MUSTER_SANITIZED" != 0 ]; then
    times=4 # what a sanitizer adds must not look like a fault
else
    for library in /usr/lib/*/faketime/libfaketimeMT.so.1; do
        [ -e "$library" ] || continue
        # Only the daemon's wall clock: nobody may look at that to see how much time has passed.
        cat >"$scratch/faketime" <<END
#!/bin/sh
host=\$1
shift
exec ip netns exec "\$host" env LD_PRELOAD=$library FAKETIME_TIMESTAMP_FILE="\$VERDICTS_CLOCK" FAKETIME_NO_CACHE=1 \\
    FAKETIME_DONT_FAKE_MONOTONIC=1 DONT_FAKE_MONOTONIC=1 "\$@"
END
        chmod +x "$scratch/faketime"
        export VERDICTS_FAKETIME=$scratch/faketime
    done
fi
net_up 8 || { echo "FAIL: no network"; exit 1; }
net_hostfile 2 >"$scratch/hosts"
for ((run = 0; run < ${RUNS:-1}; run++)); do
    net_exec "$net_hub" "$programs/verdicts" run "$table" $times "$MUSTER" "$programs/roll" "$scratch" "$scratch/hosts" "$@" || exit 1
done
