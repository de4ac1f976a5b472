#!/bin/bash
# SPDX-License-Identifier: MIT
#
# demo.sh BUILD: scripts/demo.sh on little data, once as it is, and once with a qemu-img that damages what it converts, which
# the demo has to notice. Exit status 77 without mke2fs.
set -u
build=${1:?usage: demo.sh BUILD}
tree=$(cd "$(dirname "$0")/../.." && pwd)
command -v mke2fs >/dev/null || { echo "skipped: no mke2fs"; exit 77; }

work=$(mktemp -d "${TMPDIR:-/tmp}/demo-test.XXXXXX")
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work

demo() { # BUILD
    QBLOCK_BUILD=$1 timeout 300 "$tree/scripts/demo.sh" --no-build 8 "$tree/docs" "$tree/util" </dev/null
}
fail() {
    cat "$work/log"
    echo "demo: $*"
    exit 1
}

demo "$build" >"$work/log" 2>&1 || fail "exit status $?"
[ "$(tail -n 1 "$work/log")" = "All of it as it should be." ] || fail "the last line is another one"
# Two sources, with and without -W.
proofs=$(grep -c '^  our compare, check *Images are identical\. No errors were found on the image\.$' "$work/log")
[ "$proofs" = 4 ] || fail "$proofs proofs, not 4"
[ -z "$(find "$work" -name 'qblock-demo*')" ] || fail "scratch is left behind"

mkdir -p "$work/bad/tools"
ln -s "$build/tools/qemu-io" "$work/bad/tools/qemu-io"
cat >"$work/bad/tools/qemu-img" <<EOF
#!/bin/bash
"$build/tools/qemu-img" "\$@" || exit
if [ "\$1" = convert ] && [ -e pattern.qcow2 ]; then
    printf damaged | dd of=pattern.qcow2 bs=1 seek=\$((\$(stat -c %s pattern.qcow2) - 5000)) conv=notrunc status=none
fi
EOF
chmod +x "$work/bad/tools/qemu-img"
if demo "$work/bad" >"$work/log" 2>&1; then fail "damaged data was not noticed"; fi
grep -q 'Content mismatch' "$work/log" || fail "it failed for another reason"
echo "demo: as it is, and damage is noticed"
