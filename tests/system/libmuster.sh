#!/bin/bash
# timeout: 120
# libmuster as a program's author meets it: what it exports, how it is installed, compiled and
# linked, what its man page tells, and that the examples do what they say.
set -u
build=$(cd "$(dirname "$MUSTER")/.." && pwd)
library=$build/lib/libmuster.so
header=$MUSTER_SOURCE/include/muster.h
map=$MUSTER_SOURCE/src/client/libmuster.map
page=$MUSTER_SOURCE/docs/man/muster.3
scratch=$(mktemp -d) || exit 1
job=
trap '[ -z "$job" ] || kill "$job"; rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
failed=0

complain() {
    echo "FAIL: $*"
    failed=1
}

# functions: the names of those that muster.h declares
functions() { sed -nE 's/^[a-z].*[ *](muster_[a-z_]+)\(.*/\1/p' "$header" | sort; }
[ "$(functions | wc -l)" -ge 11 ] || complain "cannot read the functions of muster.h: $(functions | xargs)"

# ---- the man page tells all of the header ----

for word in $(functions) $(grep -oE '\bMUSTER_[A-Z_]+\b' "$header" | grep -vxE 'MUSTER_H|MUSTER_E_NONE' | sort -u); do
    grep -qw "$word" "$page" || complain "muster.3 does not mention $word"
done
for field in $(sed -nE '/^struct muster_event \{/,/^\}/s/^    [a-z0-9_]+ ([a-z_]+)[[;].*/\1/p' "$header"); do
    grep -qE "^\.(It )?Fa $field\b" "$page" || complain "muster.3 does not mention the field $field"
done
if command -v groff >/dev/null; then
    warnings=$(groff -ww -mandoc -Tutf8 "$page" 2>&1 >/dev/null)
    [ -z "$warnings" ] || complain "muster.3: $warnings"
fi

# ---- the examples, with real daemons ----

"$MUSTER" run --nodes 3 -n 6 "$build/examples/pi" 1 >out 2>err || complain "pi: exit $?: $(cat err)"
sum=$(awk '/^slice/ && !seen[$2]++ { n++; sum += $3 } END { printf "%d %.9f", n, sum }' out)
[ "$sum" = "20 3.141592654" ] || complain "pi: its slices are $sum"

# Rank 1 fails, and everybody else hears of it; watch goes on until it is told to end.
"$MUSTER" run --nodes 2 -n 4 --on-failure continue \
    sh -c '[ "$MUSTER_RANK" != 1 ] || exit 3; exec "$0"' "$build/examples/watch" >out 2>err &
job=$!
for ((i = 0; i < 600; i++)); do
    told=$(grep -c 'hears: rank 1 on node 0 failed: exit code 3 (' out)
    [ "$told" -lt 3 ] || break
    kill -0 "$job" 2>/dev/null || break
    sleep 0.1
done
[ "$told" -eq 3 ] || complain "watch: $told of 3 heard of it: $(cat out err)"
kill "$job" 2>/dev/null && wait "$job"
job=

# ---- what ships: only the plain tree does ----

if [ "$MUSTER_SANITIZED" = 0 ]; then
    # Header, map and library say the same; every symbol has the version of its node in the map.
    mapped=$(awk '/^MUSTER_/ { node = $1 } /^ +muster_.*;/ { print substr($1, 1, length($1) - 1) "@@" node }' "$map" | sort)
    [ "$(sed 's/@.*//' <<<"$mapped")" = "$(functions)" ] ||
        complain "mapped and declared differ: $(diff <(sed 's/@.*//' <<<"$mapped") <(functions) | xargs)"
    exported=$(nm -D --defined-only "$library" | awk '$2 != "A" { print $3 }' | sort)
    [ "$exported" = "$mapped" ] ||
        complain "exported and mapped differ: $(diff <(echo "$exported") <(echo "$mapped") | xargs)"
    version=$("$MUSTER" --version) && version=${version#muster }
    soname=libmuster.so.${version%%.*}
    readelf -d "$library" | grep -qF "soname: [$soname]" || complain "the soname is not $soname"
    needed=$(readelf -d "$library" | sed -nE 's/.*NEEDED.*\[(.*)\]/\1/p' | xargs)
    [ "$needed" = libc.so.6 ] || complain "it needs more than the C library: $needed"

    # Under a prefix that was not known when it was configured, as packages are made.
    prefix=/opt/somewhere
    DESTDIR=$PWD/root cmake --install "$build" --prefix $prefix >out 2>&1 || complain "install: $(cat out)"
    pc=$(find root -name muster.pc)
    grep -qx "prefix=$prefix" "$pc" || complain "muster.pc is of another prefix: $(cat "$pc")"
    export PKG_CONFIG_LIBDIR=$PWD/${pc%/*} PKG_CONFIG_SYSROOT_DIR=$PWD/root
    flags=$(pkg-config --cflags --libs muster) || complain "pkg-config does not find it"
    [ "$(pkg-config --modversion muster)" = "$version" ] || complain "muster.pc is of another version"
    # shellcheck disable=SC2086 # flags are several words
    cc -std=c99 -Wall -Wextra -Wpedantic -Werror -o watch "$MUSTER_SOURCE/examples/watch.c" $flags ||
        complain "watch.c does not compile with: $flags"
    libdir=$PWD/root$(pkg-config --variable=libdir muster | sed "s,^$PWD/root,,")
    LD_LIBRARY_PATH=$libdir ./watch >out 2>err
    [ $? -eq 1 ] && grep -q "not started by 'muster run'" err || complain "watch alone: $(cat out err)"
    LD_LIBRARY_PATH=$libdir ldd ./watch | grep -qF "$soname => $libdir/$soname" ||
        complain "watch is not linked with $libdir/$soname: $(LD_LIBRARY_PATH=$libdir ldd ./watch)"
    for function in muster $(functions); do
        [ -s root$prefix/share/man/man3/$function.3 ] || complain "no man page $function.3 is installed"
    done
fi

[ $failed -eq 0 ] && echo "all as it should be"
exit $failed
