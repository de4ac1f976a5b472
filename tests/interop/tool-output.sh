#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs a long list of command lines with our tools and with the reference's release 10.0, each in a folder of its own with
# the same images in it, and compares standard output, standard error and exit status. Times, rates, sizes on disk and
# random identifiers are made equal first. Help pages are not compared: they are ours. Create options
# that only we have are left out of the lists.
#
#   tool-output.sh [-v] [PATTERN]     only command lines that match PATTERN; -v shows each
#
# OURS: folder with our tools (default build/tools). REF: folder with the reference's (default: what scripts/reference.sh
# finds or fetches). Exit status 77 when there is no reference.
set -u

here=$(cd "$(dirname "$0")/../.." && pwd)
ours=${OURS:-$here/build/tools}
verbose=
if [ "${1:-}" = -v ]; then
    verbose=1
    shift
fi
pattern=${1:-.}

ref=${REF:-}
if [ -z "$ref" ]; then
    ref=$("$here/scripts/reference.sh" 2>/dev/null | tail -n 1)/bin
fi
if [ ! -x "$ref/qemu-img" ] || ! "$ref/qemu-img" --version | grep -q 'version 10\.'; then
    echo "SKIPPED tool-output: no reference tools of release 10.0 (scripts/reference.sh fetches them)"
    exit 77
fi
if [ ! -x "$ours/qemu-img" ] || [ ! -x "$ours/qemu-io" ]; then
    echo "tool-output: no qemu-img and qemu-io in $ours" >&2
    exit 1
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/tool-output.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/pristine" "$work/ours" "$work/ref" "$work/out"

SEC='--object secret,id=s,data=abc'
ENC='driver=qcow2,file.filename=enc.qcow2,encrypt.key-secret=s'
LUKS='driver=luks,file.filename=enc.luks,key-secret=s'
export SEC ENC LUKS

# Images that both sides start from; all made by the reference.
make_images() {
    cd "$work/pristine" || exit 1
    PATH=$ref:$PATH
    qemu-img create -q -f raw base.raw 1M
    qemu-io -f raw -c "write -P 1 0 64k" -c "write -P 2 512k 4k" base.raw
    qemu-img create -q -f qcow2 v3.qcow2 1M
    qemu-img create -q -f qcow2 -o compat=0.10 v2.qcow2 1M
    qemu-img create -q -f qcow2 full.qcow2 4M
    qemu-io -f qcow2 -c "write -P 3 0 64k" -c "write -P 4 512k 4k" -c "write -z 256k 64k" -c "write -c 128k 64k" \
        -c "write 600k 100k" full.qcow2
    qemu-img create -q -f qcow2 -b base.raw -F raw mid.qcow2
    qemu-io -f qcow2 -c "write -P 5 64k 64k" mid.qcow2
    mkdir sub
    (cd sub && qemu-img create -q -f qcow2 -b ../mid.qcow2 -F qcow2 top.qcow2 2M)
    qemu-io -f qcow2 -c "write -P 6 0 4k" -c "write -z 512k 64k" -c "write -P 7 1536k 64k" sub/top.qcow2
    qemu-img create -q -f qcow2 -u -b missing -F qcow2 orphan.qcow2 1M
    qemu-img create -q -f qcow2 -u -b 'json:{"driver":"nbd","host":"nowhere"}' -F raw jsonback.qcow2 1M
    qemu-img create -q $SEC -f luks -o iter-time=10,key-secret=s enc.luks 1M
    qemu-img create -q $SEC -f qcow2 -o encrypt.format=luks,encrypt.iter-time=10,encrypt.key-secret=s enc.qcow2 1M
    qemu-io $SEC --image-opts -c "write -P 8 64k 64k" "$ENC"
    qemu-img create -q -f qcow2 -o cluster_size=512 small.qcow2 100k
    qemu-io -f qcow2 -c "write 1000 5000" small.qcow2
    qemu-img create -q -f qcow2 -o cluster_size=2M,compression_type=zstd,lazy_refcounts=on big.qcow2 64M
    qemu-io -f qcow2 -c "write 3M 1M" -c "write -c 8M 2M" big.qcow2
    # A leak and a corruption: the refcount of a free cluster set, that of a used one cleared.
    cp full.qcow2 leak.qcow2
    printf '\0\1' | dd of=leak.qcow2 bs=1 seek=$((0x20000 + 2 * 12)) conv=notrunc status=none
    cp full.qcow2 bad.qcow2
    printf '\0\0' | dd of=bad.qcow2 bs=1 seek=$((0x20000 + 2 * 5)) conv=notrunc status=none
    # Block status that cannot be had: of two tables the second's place (lost), or that of its first cluster (stray).
    qemu-img create -q -f qcow2 two.qcow2 2G
    qemu-io -f qcow2 -c "write -P 9 0 64k" -c "write -P 9 512M 64k" two.qcow2
    cp two.qcow2 lost.qcow2
    printf '\x80\0\0\0\x12\x34\x52\0' | dd of=lost.qcow2 bs=1 seek=$((0x30008)) conv=notrunc status=none
    cp two.qcow2 stray.qcow2
    printf '\x80\0\0\0\0\5\x22\0' | dd of=stray.qcow2 bs=1 seek=$((0x60000)) conv=notrunc status=none
    printf x >tiny.raw
    : >empty.raw
    printf abc >pattern
    head -c 100 full.qcow2 >short.qcow2
    head -c 100000 /dev/urandom >noise
    ln -s base.raw link.raw
}

normalise() {
    sed -E -e "s#$work/(ours|ref)#DIR#g" -e "s#$ref/##g" -e "s#[^ ']*/root/usr/bin/(qemu-)#\1#g" \
        -e 's/^([a-z_]+) \[?.* -- .*/\1 USAGE/' \
        -e 's/[0-9:.]+( sec)? \([^ ]* ?[A-Za-z]*\/sec and [0-9.]+ ops\/sec\)/TIME/' \
        -e 's/^([0-9]+,1),[0-9:.]+,[0-9.]+,[0-9.]+$/\1,TIME/' \
        -e 's/(Run completed in )[0-9.]+/\1TIME/' \
        -e 's/( +\([0-9.]+\/100%\)\r)+/PROGRESS/' \
        -e 's/disk size: .*/disk size: SIZE/' -e 's/"actual-size": [0-9]+/"actual-size": SIZE/' \
        -e 's/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/UUID/' \
        -e 's/(iters"?: )[0-9]+/\1ITERS/' -e '/^  (luks-version|pbkdf|sector-size|header.filename)=/d' \
        -e '/^  (encrypt[.])?new-secret=/d'
}

run_side() { # $1: ours or ref, $2: its tools, $3: command line
    cd "$work/$1" || exit 1
    PATH=$2:$PATH timeout 60 bash -c "$3" >"$work/out/$1.raw" 2>"$work/out/$1.err.raw" </dev/null
    {
        echo "status $?"
        echo "--- stdout"
        normalise <"$work/out/$1.raw"
        echo "--- stderr"
        normalise <"$work/out/$1.err.raw"
    } >"$work/out/$1.txt"
    rm -f "$work/out/$1.raw" "$work/out/$1.err.raw"
}

passed=0 failed=0
compare() {
    local line=$1
    if ! grep -qE -e "$pattern" <<<"$line"; then
        return
    fi
    rm -rf "$work/ours" "$work/ref"
    cp -a "$work/pristine" "$work/ours"
    cp -a "$work/pristine" "$work/ref"
    run_side ours "$ours" "$line"
    run_side ref "$ref" "$line"
    if cmp -s "$work/out/ours.txt" "$work/out/ref.txt"; then
        passed=$((passed + 1))
        if [ -n "$verbose" ]; then
            echo "ok    $line"
        fi
    else
        failed=$((failed + 1))
        echo "FAIL  $line"
        diff -U 20 --label reference --label ours "$work/out/ref.txt" "$work/out/ours.txt" | sed 1,2d | head -n 60
    fi
}

make_images >/dev/null || exit 1
while IFS= read -r line; do
    case $line in
    '' | '#'*) ;;
    *) compare "$line" ;;
    esac
done <"$here/tests/interop/tool-output.list"
echo "tool-output: $passed passed, $failed failed"
[ "$failed" = 0 ]
