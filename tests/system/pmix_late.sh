#!/bin/bash
# libpmix is started when the first process connects: a job that does not use PMIx never starts it, its processes find the
# same variables as those that are started later, and who ended before is not waited for.
# timeout: 180
. "$MUSTER_SOURCE/tests/system/run_common.sh"
programs=${MUSTER%/bin/muster}/tests/programs
[ -x "$programs/pmix_fence" ] || { echo "no programs of PMIx were built"; exit 77; }

# ---- nobody uses it ----

run --nodes 2 -n 4 --verbose true
expect 0 "true"
! grep -q "serves PMIx" err || complain "libpmix was started, and nobody has asked for it"

# ---- everybody does: once on each node ----

run --nodes 2 -n 4 --verbose "$programs/pmix_env"
expect 0 "pmix_env"
[ "$(grep -c "serves PMIx" err)" -eq 2 ] || complain "not each of two nodes has started libpmix once"

# ---- the same variables, before and after: the process spawns another one, which is started by libpmix's own word ----

run -n 1 "$programs/pmix_env" spawn
expect 0 "pmix_env spawn"
variables() { # of the job with this number, without what differs by design
    sed -n "s/^$1 //p" out | sed -E 's/^(PMIX_NAMESPACE=.*-)[0-9]+$/\1JOB/; s/^(PMIX_SERVER_URI[0-9]+=.*:)[0-9]+$/\1PORT/
        s|^(OMPI_MCA_.*_directory=.*/)[0-9]+$|\1JOB|' | sort
}
[ "$(variables 1 | wc -l)" -ge 15 ] || complain "there are $(variables 1 | wc -l) variables only"
diff <(variables 1) <(variables 2) || complain "variables differ before and after libpmix was started"

# ---- who has ended before the first one connects is not waited for, on both nodes ----

for how in 'exit 0' 'kill -KILL $$'; do
    rm -f gone
    run --nodes 2 -n 4 --on-failure continue sh -c "
        case \$MUSTER_RANK in
        1 | 3) $how ;;
        esac
        until [ -e '$scratch/gone' ]; do sleep 0.05; done
        exec '$programs/pmix_env' fence" &
    job=$!
    # Both have ended when nobody has their command any more.
    left() { [ "$(pgrep -f -c "^sh -c.*$scratch/gone")" -eq 2 ]; }
    until_true 30 left || complain "$how: ranks 1 and 3 do not end"
    touch gone
    wait $job
    [ "$(grep -c '^fence' out)" -eq 2 ] || complain "$how: not both of those who are left are through the fence"
done

exit $failed
