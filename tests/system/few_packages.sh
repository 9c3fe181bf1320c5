#!/bin/bash
# Where packages are missing that only tests need, or only a part of muster, it says what is left out and builds the rest.
# Nothing is removed here: dpkg-query and pkg-config are asked through scripts that deny having seen a package.
set -u
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0
complain() {
    echo "FAIL: $*"
    failed=1
}

# ---- tools/setup: who is asked for what, as an ordinary user without sudo ----

mkdir "$scratch/bin"
for tool in bash sed tr dirname; do ln -s "$(command -v $tool)" "$scratch/bin/"; done
printf '#!/bin/sh\necho 1000\n' >"$scratch/bin/id"
cat >"$scratch/bin/dpkg-query" <<'END'
#!/bin/bash
for package; do
    [[ $package == -* || " $MISSING " == *" $package "* ]] || echo "$package:installed:"
done
END
chmod +x "$scratch"/bin/{id,dpkg-query}

# setup SET MISSING CODE WORDS: what it says is in WORDS, and nothing when these are empty
setup() {
    PATH=$scratch/bin MISSING=$2 "$MUSTER_SOURCE/tools/setup" "$1" >"$scratch/said" 2>&1 </dev/null
    local code=$?
    [ $code = "$3" ] || complain "setup $1 without '$2' exits with $code, not $3: $(cat "$scratch/said")"
    if [ -n "$4" ]; then
        grep -q "$4" "$scratch/said" || complain "setup $1 without '$2' does not say '$4': $(cat "$scratch/said")"
    elif [ -s "$scratch/said" ]; then
        complain "setup $1 without '$2' says: $(cat "$scratch/said")"
    fi
}
setup build "" 0 ""
setup test "" 0 ""
setup build "libcmocka-dev clang-14 mpich openmpi-bin libopenmpi-dev nftables groff-base" 0 ""
setup build "libcmocka-dev libpmix-dev" 0 "libpmix-dev: the daemon's PMIx server.*(left out)"
setup build "libuv1-dev" 1 "libuv1-dev: the daemon's event loop"
setup test "libcmocka-dev" 1 "libcmocka-dev: unit tests"
setup test "libpmix-dev" 1 "libpmix-dev: the daemon's PMIx server"
setup nothing "" 2 "Usage"

# ---- CMake: what is left out is listed, and nothing of it is built ----

cat >"$scratch/pkg-config" <<'END'
#!/bin/bash
for word; do
    case $word in cmocka* | pmix*) exit 1 ;; esac
done
exec pkg-config "$@"
END
chmod +x "$scratch/pkg-config"
cmake -G Ninja --log-level=NOTICE -S "$MUSTER_SOURCE" -B "$scratch/tree" -DPKG_CONFIG_EXECUTABLE="$scratch/pkg-config" \
    -DMPICC=OFF >"$scratch/said" 2>&1 || complain "CMake fails: $(tail -5 "$scratch/said")"
for part in "the PMIx server .*(libpmix-dev)" "unit tests (libcmocka-dev)" "MPI programs of tests (libopenmpi-dev)" \
    "the example mpi_survive (libopenmpi-dev)"; do
    grep -q "$part" "$scratch/said" || complain "'$part' is not said to be left out: $(cat "$scratch/said")"
done
ninja -C "$scratch/tree" -t targets all >"$scratch/targets" || complain "no list of targets"
grep -q '^bin/muster:' "$scratch/targets" || complain "there is no command to build"
grep -E '^(tests/unit/test_|tests/programs/(mpi|pmix)_|examples/mpi_|.*muster-pmix)' "$scratch/targets" &&
    complain "these cannot be built"

exit $failed
