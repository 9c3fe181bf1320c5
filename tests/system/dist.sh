#!/bin/bash
# 'make dist' names the archive by the version that 'muster --version' prints, and everything in git is in it.
# alone
set -u
cd "$MUSTER_SOURCE" || exit 1
git rev-parse --git-dir >/dev/null 2>&1 || { echo "skipped: not a git tree"; exit 77; }
archive=$(make --no-print-directory dist) || exit 1
version=$("$MUSTER" --version | grep -oE '[0-9]+(\.[0-9]+)+' | head -1)
[ "$archive" = "build/muster-$version.tar.gz" ] || { echo "FAILED: $archive is not of version $version"; exit 1; }
missing=$(comm -23 <(git ls-tree -r --name-only HEAD | sed "s,^,muster-$version/," | sort) <(tar tzf "$archive" | sort))
[ -z "$missing" ] || { echo "FAILED: not in $archive: $missing"; exit 1; }
grep -q "^## ${version%.*}\$" NEWS.md || { echo "FAILED: NEWS.md says nothing of ${version%.*}"; exit 1; }
rm -f "$archive"
echo "ok: $archive"
