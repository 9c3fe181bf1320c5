#!/bin/bash
# The Python package: it says the same as the header, and its events, agreements and errors work in real jobs.
. "$(dirname "$0")/run_common.sh"
if [ "$MUSTER_SANITIZED" = 1 ]; then
    echo "skipped: a library with sanitizers cannot be loaded by a Python without"
    exit 77
fi
build=$(cd "$(dirname "$MUSTER")/.." && pwd)
export PYTHONPATH=$MUSTER_SOURCE/python PYTHONDONTWRITEBYTECODE=1 LD_LIBRARY_PATH=$build/lib
member=$MUSTER_SOURCE/tests/programs/python_member.py

# ---- the header ----

python3 "$MUSTER_SOURCE/tests/programs/python_header.py" "$MUSTER_SOURCE/include/muster.h" >same.c ||
    complain "the header cannot be compared"
[ "$(grep -c Static_assert same.c)" -gt 50 ] || complain "the header was hardly compared"
cc -I "$MUSTER_SOURCE/include" -c same.c 2>err || complain "the package differs from muster.h"
sed 's/offsetof(struct muster_event, age_ns)) == /&1 + /' same.c >other.c
cc -I "$MUSTER_SOURCE/include" -c other.c 2>err && complain "a wrong offset is not found"

# ---- in jobs ----

# job WAY CODE LINES PATTERN: so many lines of the output are like that
job() {
    run --timeout 50 --nodes 2 -n 4 --on-failure continue python3 "$member" "$1"
    expect "$2" "$1"
    [ "$(grep -cE "$4" out)" -eq "$3" ] || complain "$1: not $3 lines like $4"
    ! grep -q Traceback err || complain "$1: an exception"
}
job events 137 3 '^[013]: rank 2 DEAD signal 9 code None failure True age True$'
job stream 137 3 '^[013]: rank 2 DEAD signal 9 code None failure True age True$'
job agree 137 3 '^[013]: agreed$'
job misuse 0 4 '^[0-3]: invalid$'
job interrupt 0 4 '^[0-3]: interrupted$'

# The example ends by itself when all others have.
run --timeout 50 --nodes 2 -n 3 sh -c '[ "$MUSTER_RANK" = 1 ] && exec python3 "$0"; exec sleep 0.2' \
    "$MUSTER_SOURCE/examples/listen.py"
expect 0 "listen.py"
[ "$(grep -c '^rank 1 hears: ' out)" -eq 2 ] || complain "listen.py did not hear of both"

# ---- without a job, without a library ----

python3 -c 'import muster
try: muster.open()
except muster.Error as error: print(error.code == muster.Code.NOT_A_MEMBER, error.text)' >out 2>err
grep -q '^True .' out || complain "outside of a job: no sentence"
cp -r "$MUSTER_SOURCE/python/muster" . && env -u LD_LIBRARY_PATH PYTHONPATH=. python3 -c 'import muster' >out 2>err
grep -qE '^ImportError: cannot load libmuster.so.0: .*\(install muster, or' err || [ ! -s err ] ||
    complain "without a library"

# ---- help(muster) says what there is ----

python3 -c 'import muster; help(muster)' >out 2>err || complain "help"
for word in 'class Job' 'class Group' 'class Event' 'class Error' 'open()' 'stream(self)' 'agree_async'; do
    grep -qF "$word" out || complain "help(muster) does not mention $word"
done
exit $failed
