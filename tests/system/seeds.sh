#!/bin/bash
# timeout: 300
# Every seed that once found a bug, again.  tests/seeds/NAME.seed: lines with # tell the story, every
# other line is a 'muster sim' command that must exit 0.
set -u
failed=0 count=0
for file in "$MUSTER_SOURCE"/tests/seeds/*.seed; do
    grep -q '^#' "$file" || { echo "$file: a seed is kept with its story"; failed=1; }
    while read -r -a words; do
        [ "${#words[@]}" -gt 0 ] && [[ ${words[0]} != '#'* ]] || continue
        count=$((count + 1))
        "$MUSTER" sim "${words[@]}" || { echo "$file: failed: ${words[*]}"; failed=1; }
    done <"$file"
done
[ "$count" -gt 0 ] || { echo "no seeds in $MUSTER_SOURCE/tests/seeds"; failed=1; }
exit $failed
