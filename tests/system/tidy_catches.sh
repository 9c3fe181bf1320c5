#!/bin/bash
# tools/tidy must fail when a rule is broken: break each one, alone, in a small tree of our own.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

archive() { # what the plain build would have made of src/core
    mkdir -p build/lib
    (cd build/lib && rm -f libmuster_core.a && ${CC:-cc} -c ../../src/core/*.c && ar rc libmuster_core.a ./*.o)
}

good_tree() {
    mkdir -p src/core src/sim src/daemon tests/system tools
    printf 'core\tprotocols\t\tb.h\nsim\tworlds\tcore\tworld.h\ndaemon\ta node\tcore\n' >tools/rooms.tsv
    cp "$MUSTER_SOURCE/.clang-format" .
    touch src/{core,sim,daemon}/README.md
    echo 'void mu_b(void);' >src/core/b.h
    printf '#include "core/b.h"\n#include <string.h>\n' >src/sim/world.h
    printf '#include <stdlib.h>\n\nvoid mu_a(void);\nvoid mu_b(void);\n\nvoid mu_a(void)\n{\n    mu_b();\n    abort();\n}\n' >src/core/a.c
    printf 'void mu_b(void);\n\nvoid mu_b(void)\n{\n}\n' >src/core/b.c
    printf '%s\n' 'See `mu_b()` in' '`src/core/b.c`.' '' '## Walk 1: one' '' '| `src/core/a.c` | `mu_a` | it |' >ARCHITECTURE.md
    printf '#!/bin/sh\nexec true\n' >tests/system/x.sh
    chmod +x tests/system/x.sh
    archive
}

# expect CHECK TEXT BREAK...: BREAK, run in a good tree, makes CHECK fail, only it, and say TEXT.
expect() {
    local check=$1 text=$2
    shift 2
    rm -rf case && cp -r good case
    (cd case && "$@")
    if "$MUSTER_SOURCE/tools/tidy" case build >out 2>&1; then
        echo "tidy passed, but should have said: $text"
        exit 1
    fi
    if ! grep -qF -- "$text" out || [ "$(grep '^FAIL' out | cut -d: -f1)" != "FAIL  $check" ]; then
        echo "tidy should have failed at $check only, with: $text; it said:"
        cat out
        exit 1
    fi
    echo "caught: $check: $text"
}

calls() { # calls RETURN_TYPE FUNCTION: the core calls it
    printf '%s %s(void);\nvoid mu_c(void);\n\nvoid mu_c(void)\n{\n    %s();\n}\n' "$1" "$2" "$2" >src/core/c.c
    archive
}
put() { printf '%s\n' "$2" >>"$1"; }
new_folder() { mkdir src/extra && echo '#include "core/b.h"' >src/extra/e.h && touch src/extra/README.md; }
no_style() { rm .clang-format; }

(mkdir good && cd good && good_tree)
"$MUSTER_SOURCE/tools/tidy" good build || { echo "tidy complains about a good tree"; exit 1; }

expect format 'src/core/b.h:' put src/core/b.h 'int   x ;'
expect format '.clang-format' no_style
expect core-calls 'c.o: calls clock' calls long clock
expect core-calls 'c.o: calls helper' calls void helper
expect core-calls 'not built' rm build/lib/libmuster_core.a
expect rooms 'src/core/b.h:2: sim/world.h: core may not know sim' put src/core/b.h '#include "sim/world.h"'
expect rooms 'src/core/b.h:2: sim/world.h: core may not know sim' put src/core/b.h '#include <sim/world.h>'
expect rooms 'src/core/b.h:2: core/../sim/world.h: names no room' put src/core/b.h '#include "core/../sim/world.h"'
expect rooms 'src/daemon/d.h:1: sim/world.h: daemon may not know sim' put src/daemon/d.h '#include "sim/world.h"'
expect rooms 'src/daemon/d.h:1: core/inside.h: inside of core' put src/daemon/d.h '#include "core/inside.h"'
expect rooms 'src/extra: has no row' new_folder
expect rooms 'rooms.tsv' rm tools/rooms.tsv
expect core-headers 'src/core/b.h:2: #include <stdio.h>' put src/core/b.h '#include <stdio.h>'
expect architecture 'there is no src/core/gone.c' put ARCHITECTURE.md 'and `src/core/gone.c`'
expect architecture 'there is no docs/gone.md' put ARCHITECTURE.md 'and `docs/gone.md`'
expect architecture 'there is no mu_gone in src/core/b.c' put ARCHITECTURE.md 'or `mu_gone()` in `src/core/b.c`'
expect architecture 'there is no b in src/core/a.c' put ARCHITECTURE.md '| `src/core/a.c` | `mu_a`, `b` | both |'
expect architecture 'walk 1 has more than 14 files' put ARCHITECTURE.md "$(yes '| `src/core/a.c` | `mu_a` | again |' | head -14)"
expect architecture '251 lines' put ARCHITECTURE.md "$(seq 245)"
expect lengths 'src/sim/long.txt: 801 lines' put src/sim/long.txt "$(seq 801)"
expect leftovers 'src/core/b.h:2:' put src/core/b.h "/* TO""DO: later */"
expect leftovers 'tests/system/x.sh:3:' put tests/system/x.sh "# FIX""ME"
expect environment 'src/daemon/d.c:1:' put src/daemon/d.c '/* setenv */'
expect readmes 'src/sim' rm src/sim/README.md
expect paths 'notes.md:1:' put notes.md "see /ho""me/somebody/muster"
expect paths 'tests/system/x.sh:3:' put tests/system/x.sh "ls /wo""rk/main"
expect rules-kept 'src/daemon/d.h:1:' put src/daemon/d.h 'extern int broken_rules;'
expect scripts 'tests/system/x.sh' chmod -x tests/system/x.sh
