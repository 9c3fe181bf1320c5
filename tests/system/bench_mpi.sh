#!/bin/bash
# timeout: 300
# The benches of MPI programs at tiny sizes: what they print, and that everybody was told once.  No figure is judged:
# this machine may be busy.
[ "$MUSTER_SANITIZED" = 0 ] || { echo "the benches measure the plain build"; exit 77; }
for tool in mpicc.openmpi mpirun.openmpi; do
    command -v $tool >/dev/null || { echo "no $tool here"; exit 77; }
done
. "$(dirname "$0")/run_common.sh"

# bench NAME ARGUMENTS...: leaves its output in out and err, and the exit code in $code
bench() {
    MUSTER_TEST=$tag timeout -k 5 200 "$MUSTER_SOURCE/bench/$1" "${@:2}" >out 2>err
    code=$?
}

# holds WHAT EXPRESSION: it went well, with one object on one line, of which the expression of Python is true
holds() {
    [ "$code" -eq 0 ] && [ "$(wc -l <out)" -eq 1 ] || complain "$1: exit $code"
    /usr/bin/python3 -c '
import json, sys
o = json.load(open("out"))
def number(v): return isinstance(v, (int, float)) and not isinstance(v, bool)
def figures(v): return 0 < v["p10"] <= v["median"] <= v["max"] and v["p99"] <= v["max"]
sys.exit(0 if eval("(" + sys.argv[1] + ")") else 1)' "$2" 2>>err || complain "$1: not $2"
}

# refuses TEXT -- NAME ARGUMENTS...: exit 2, one line that has TEXT
refuses() {
    local text=$1
    shift 2
    bench "$@"
    [ "$code" -eq 2 ] && [ ! -s out ] && [ "$(wc -l <err)" -eq 1 ] && grep -qF -- "$text" err ||
        complain "exit $code, or not one line that says '$text': $*"
}

refuses "--procs is '0'" -- launch --procs 0
refuses "--turns is ''" -- launch --turns
refuses "leave a survivor" -- mpi-events --nodes 1 --procs 1
refuses "--turns is '3'" -- mpi-events --reps 2 --turns 3
refuses "--ms is 'x'" -- mpi-noise --ms x

refuses "--programs has 'x'" -- launch --programs x

bench launch --programs openmpi --procs 2 --turns 1 --json
holds launch 'o["bench"] == "launch" and o["program"] == "openmpi" and o["procs"] == 2 and o["turns"] == 1 and
    figures(o["muster_ms"]) and figures(o["mpirun_ms"]) and o["hydra_ms"] is None and o["ratio"] > 0 and
    o["muster_cpu_ms"] > 0 and o["mpirun_cpu_ms"] > 0'
bench launch --programs mpich --procs 2 --turns 1 --json
holds launch 'o["program"] == "mpich" and figures(o["muster_ms"]) and figures(o["hydra_ms"]) and o["mpirun_ms"] is None and
    o["ratio"] > 0 and o["hydra_cpu_ms"] > 0'

bench mpi-events --nodes 2 --procs 2 --reps 1 --turns 1 --json
holds mpi-events 'o["bench"] == "mpi-events" and o["nodes"] == 2 and o["procs"] == 2 and o["reps"] == 1 and
    o["missed"] == 0 and o["duplicates"] == 0 and o["false"] == 0 and figures(o["all_told_ms"]) and
    figures(o["first_told_ms"]) and figures(o["procfail_ms"]) and o["ratio"] > 0'

bench mpi-noise --turns 1 --ms 1 --json
holds mpi-noise 'o["bench"] == "mpi-noise" and o["nodes"] == 2 and len(o["rows"]) == 13 and
    all(r["off_us"] > 0 and number(r["variation_pct"]) and set(r["overhead_pct"]) == {"100", "10", "1"} for r in o["rows"]) and
    set(o["cpu_share_pct"]) == {"100", "10", "1"} and all(number(v) for v in o["overhead_pct"].values())'

exit $failed
