#!/bin/bash
# alone
# timeout: 300
# 'muster tune' in little time: the form of what it prints, that 'muster run' and 'muster set' take the pair it
# recommends, and that nothing is left, also when it is interrupted or killed.  No time is judged: this machine may be
# busy, and what it recommends then is long, or nothing.
. "$(dirname "$0")/run_common.sh"

# tune ARGUMENTS...: leaves its output in out and err, and the exit code in $code
tune() {
    MUSTER_TEST=$tag timeout -k 5 120 "$MUSTER" tune "$@" >out 2>err
    code=$?
}

# refuses TEXT -- ARGUMENTS...: exit 2, one line on stderr that has TEXT
refuses() {
    local text=$1
    shift 2
    tune "$@"
    [ "$code" -eq 2 ] && [ ! -s out ] && [ "$(wc -l <err)" -eq 1 ] && grep -qF -- "$text" err ||
        complain "exit $code, or not one line that says '$text': muster tune $*"
}

# ---- help, and values that break a rule ----

tune --help
[ "$code" -eq 0 ] && [ ! -s err ] && grep -q '^usage: muster tune' out || complain "--help"
refuses "--nodes is '1'" -- --nodes 1
refuses "--load is '0'" -- --load 0
refuses "--seconds is '19'" -- --seconds 19
refuses "unexpected operand 'now'" -- now

# ---- what it prints ----

tune --nodes 3 --load 1 --seconds 20 --json
[ "$code" -le 1 ] && [ "$(wc -l <out)" -eq 1 ] || complain "--json: exit $code"
nothing_left 10 "tune --json"
/usr/bin/python3 - "$code" <<'EOF' || complain "--json has another form"
import json, sys
tune = json.load(open("out"))
def pair(p):
    assert p["timeout_ms"] == 2 * p["period_ms"] >= 2, p
    return p["period_ms"]

assert list(tune) == ["nodes", "load", "seconds", "machines", "conditions", "stalls", "margin", "recommended",
                      "cost_of_a_node"], list(tune)
assert (tune["nodes"], tune["load"], tune["margin"]) == (3, 1, 2)
assert tune["machines"] >= 1 and tune["seconds"] > 0 and tune["stalls"]["longest_ms"] > 0
assert [c["condition"] for c in tune["conditions"]] == ["idle", "load", "launch"]
checked = 0
for c in tune["conditions"]:
    assert c["steps"], c
    periods = [pair(s) for s in c["steps"]]
    assert periods[0] == 200 and periods == sorted(periods, reverse=True), periods
    held = [pair(s) for s in c["steps"] if s["result"] == "held"]
    assert (pair(c["held"]) if c["held"] else None) == (min(held) if held else None), c
    results = {"all held": "held", "false alarm": "false alarm", "refused": "refused", "stalls": "spoilt", "time": "held"}
    assert c["steps"][-1]["result"] == results[c["end"]], c
    assert (c["failed"] is None) == (c["end"] in ("all held", "time")), c
    for s in c["steps"] + c["checks"]:
        assert (s["result"] == "false alarm") == (s["false"] > 0), s
        assert ("why" in s) == (s["result"] == "false alarm"), s
        assert s["result"] != "held" or s["heartbeats"] >= 30 and s["seconds"] > 0, s
        assert s["result"] != "held" or s["excused"] == 0, s
advice = tune["recommended"]
assert (advice is None) == (sys.argv[1] == "1"), advice
assert (advice is None) == any(c["held"] is None for c in tune["conditions"]), advice
if advice:
    period = pair(advice)
    assert period >= 2 * max(pair(c["held"]) for c in tune["conditions"]), advice
    assert period > 2 * tune["stalls"]["longest_ms"], advice
    assert advice["heartbeat"] == "%dms,%dms" % (period, 2 * period), advice
    assert advice["set"] == "period=%dms timeout=%dms" % (period, 2 * period), advice
    assert advice["because"] in ("held", "stall", "check") and advice["checked"] in (True, False), advice
    cost = tune["cost_of_a_node"]
    assert cost is None or min(cost[k] for k in ("cpu_percent", "bytes_per_s", "messages_per_s")) > 0, cost
EOF

tune --nodes 3 --load 1 --seconds 20
[ "$code" -le 1 ] && grep -q '^3 nodes on this host, 1 process' out && grep -q '^  idle: ' out &&
    grep -q '^  under load: ' out && grep -q '^  launching under load: ' out &&
    grep -q '^  the host stood still for up to [0-9.]* ms' out || complain "in words: exit $code"
nothing_left 10 "tune in words"
if [ "$code" -eq 1 ]; then
    tail -1 out | grep -q '^nothing is recommended: ' || complain "exit 1 without a reason"
else
    # Its last two lines are commands as they stand: the first with a program, the other with a machine that runs.
    tail -2 out | sed -n '1s/^muster run //p' >run_line
    tail -1 out | sed -n 's/^muster set //p' >set_line
    [ -s run_line ] && [ -s set_line ] && grep -q '^recommended: heartbeats every ' out || complain "no pair in words"
    # Others may run here as well, so the machine is named: MUSTER_SOCKET is muster/UID/MACHINE/SLOT.
    run --nodes 1 -n 1 $(cat run_line) bash -c '"$0" set "$@" --cluster "$(cut -d / -f 3 <<<"$MUSTER_SOCKET")"' \
        "$MUSTER" $(cat set_line)
    expect 0 "muster run $(cat run_line) muster set $(cat set_line)"
    grep -q '^Set heartbeat period .* on 1 node of cluster' out || complain "muster set did not take it"
    nothing_left 10 "muster run with what was recommended"
fi

# ---- interrupted or killed half-way, it leaves nothing ----

# there: it has started a daemon.  busy: all three, and the load beside them, which may not have run yet.
there() { [ "$(pgrep -c -P "$pid")" -ge 1 ]; }
busy() { [ "$(pgrep -c -P "$pid")" -gt 3 ]; }

# half_way SIGNAL CONDITION: starts it with more time than it gets, waits for the condition, and sends it the signal
half_way() {
    local signal=$1 condition=$2 pid
    MUSTER_TEST=$tag "$MUSTER" tune --nodes 3 --load 1 --seconds 60 >out 2>err &
    pid=$!
    until_true 60 "$condition" || complain "$signal: it never came to be $condition"
    kill -"$signal" $pid
    wait $pid
    code=$?
    [ $code -eq $((128 + $(kill -l "$signal"))) ] || complain "exit $code after $signal"
    [ ! -s out ] || complain "after $signal it prints a result"
    nothing_left 20 "after $signal, when it was $condition"
}

half_way TERM there
half_way INT busy
half_way KILL there
finish
