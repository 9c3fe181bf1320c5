#!/bin/bash
# Where the programs and modules of the build tree look for libraries: in folders that somebody has named, never in the
# current folder (an empty or relative element of RUNPATH), which may be anybody's.
set -u
build=${MUSTER%/bin/muster}
command -v readelf >/dev/null || { echo "no readelf here"; exit 77; }

# bad_path: is there an element on standard input, A:B:..., that is not absolute?
bad_path() { grep -qE '(^|:)([^/$]|:|$)|(^|:)\$[^O{]'; }
for good in /usr/lib '$ORIGIN/../lib' '/a:/b' '${ORIGIN}/x:/b'; do
    ! echo "$good" | bad_path || { echo "FAIL: '$good' is good, and the test says that it is not"; exit 1; }
done
for bad in '' ':' '/a:' ':/a' '/a::/b' 'lib' '/a:lib' '.'; do
    echo "$bad" | bad_path || { echo "FAIL: '$bad' is bad, and the test does not say so"; exit 1; }
done

failed=0 looked=0
while read -r file; do
    dynamic=$(readelf -d "$file" 2>/dev/null) || continue
    looked=$((looked + 1))
    while read -r path; do
        ! echo "$path" | bad_path || { echo "FAIL: $file looks for libraries in '$path'"; failed=1; }
    done < <(sed -nE 's/.*\((RUNPATH|RPATH)\).*\[(.*)\]$/\2/p' <<<"$dynamic")
done < <(find "$build"/{bin,lib,libexec,examples} -type f \( -perm -u+x -o -name '*.so*' \))
[ $looked -ge 4 ] || { echo "FAIL: only $looked files were looked at in $build"; failed=1; }
exit $failed
