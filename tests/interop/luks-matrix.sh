#!/bin/bash
# SPDX-License-Identifier: MIT
#
# luks-matrix.sh [--all]: LUKS1 volumes of every cipher, mode, IV rule and hash, between our qemu-img, the reference's and
# cryptsetup.
#
#   ours there   we convert a raw pattern; the reference compares, cryptsetup opens with the password and no other
#   theirs here  the reference converts the pattern, we compare; cryptsetup makes a volume, both of us decrypt it alike
#
# as luks images, and the same ciphers inside qcow2. The cells of one cipher, mode and IV rule take turns at the hashes;
# --all takes every hash for each, and the reference makes a volume for each cell (it takes seconds for one).
# OURS and REF name folders of tools, as in images.sh. Exit status 77 when one is missing.
set -u -o pipefail

tree=$(cd "$(dirname "$0")/../.." && pwd)
OURS=${OURS:-$tree/build/tools}
REF=${REF:-$tree/.reference/bin}
[ -x "$REF/qemu-img" ] || REF=$(dirname "$(command -v qemu-img || echo /none/x)")
for dir in "$OURS" "$REF"; do
    [ -x "$dir/qemu-img" ] || { echo "luks-matrix: no qemu-img in $dir"; echo "0 passed, 0 failed, 1 skipped"; exit 77; }
done
OURS=$(cd "$OURS" && pwd)/qemu-img
REF=$(cd "$REF" && pwd)/qemu-img
PATH=$PATH:/sbin:/usr/sbin
all=
[ "${1:-}" != --all ] || all=1
work=$(mktemp -d "${TMPDIR:-/tmp}/luks-matrix-XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

passed=0 failed=0 skipped=0
cells=0 made_by_ref=0 opened_by_cryptsetup=0 made_by_cryptsetup=0
printf 'pass wörd' >pw
printf 'something else' >other
# No two sectors are equal, so that a wrong IV shows; the size is no multiple of a cluster.
python3 -c 'import random, sys; sys.stdout.buffer.write(random.Random(7).randbytes(1200 * 512))' >pattern
S=(--object secret,id=s,file=pw)

ok() { # NAME COMMAND...
    if "${@:2}" >log 2>&1; then
        passed=$((passed + 1))
    else
        echo "FAIL: $1: ${*:2}"
        sed 's/^/    /' log
        failed=$((failed + 1))
        return 1
    fi
}
fails() { # NAME COMMAND...
    if "${@:2}" >log 2>&1; then
        echo "FAIL: $1: should not succeed: ${*:2}"
        failed=$((failed + 1))
    else
        passed=$((passed + 1))
    fi
}
spec() { # FILE -> what opens it
    case $1 in
    *.qcow2) echo "driver=qcow2,file.filename=$1,encrypt.key-secret=s" ;;
    *) echo "driver=luks,file.filename=$1,key-secret=s" ;;
    esac
}
make() { # TOOL FILE OPTIONS: the pattern, encrypted
    local format=luks opts="key-secret=s,iter-time=10,$3"
    case $2 in *.qcow2) format=qcow2 opts="encrypt.format=luks,encrypt.${opts//,/,encrypt.}" ;; esac
    rm -f "$2"
    timeout 120 "$1" convert "${S[@]}" -f raw -O $format -o "$opts" pattern "$2"
}
# A qcow2 image may be longer than the file, never shorter; both read zeros there.
same() { timeout 120 "$1" compare "${S[@]}" --image-opts driver=raw,file.filename=pattern "$(spec "$2")"; } # TOOL FILE
cs_opens() { timeout 120 cryptsetup open --test-passphrase --type luks1 --key-file "$2" "$1" </dev/null; } # FILE KEYFILE
has_cryptsetup=
command -v cryptsetup >/dev/null && has_cryptsetup=1
# cryptsetup decrypts key material by its library or by the kernel; where both lack the cipher it says so.
cs_knows() { [ -n "$has_cryptsetup" ] && [[ $(cs_opens "$1" pw 2>&1) != *device-mapper* ]]; }

ours_there() { # CELL FILE OPTIONS
    ok "we make $1" make "$OURS" "$2" "$3" || return
    ok "we read our $1" same "$OURS" "$2"
    ok "the reference reads our $1" same "$REF" "$2"
    case $2 in *.qcow2) return ;; esac
    if cs_knows "$2"; then
        opened_by_cryptsetup=$((opened_by_cryptsetup + 1))
        ok "cryptsetup opens our $1" cs_opens "$2" pw
        fails "cryptsetup with another key, our $1" cs_opens "$2" other
    fi
}
theirs_here() { # CELL FILE OPTIONS
    ok "the reference makes $1" make "$REF" "$2" "$3" || return
    made_by_ref=$((made_by_ref + 1))
    ok "we read the reference's $1" same "$OURS" "$2"
    fails "we with another key, the reference's $1" "$OURS" info --object secret,id=s,file=other --image-opts \
        "driver=raw,file.driver=luks,file.key-secret=s,file.file.filename=$2"
    "$OURS" info "$2" >info.ours
    "$REF" info "$2" >info.ref
    ok "info of the reference's $1" cmp info.ours info.ref
}
from_cryptsetup() { # CIPHER-MODE-IVGEN BITS HASH
    local n
    rm -f cs.luks cs.*.raw
    truncate -s 3M cs.luks
    if ! cryptsetup luksFormat -q --type luks1 --pbkdf-force-iterations 1000 --cipher "$1" --key-size "$2" --hash "$3" \
        --key-file pw cs.luks </dev/null >log 2>&1; then
        skipped=$((skipped + 1))
        echo "note: cryptsetup does not make $*: $(tail -n 1 log)"
        return
    fi
    made_by_cryptsetup=$((made_by_cryptsetup + 1))
    for n in OURS REF; do
        ok "$n reads cryptsetup's $*" timeout 120 "${!n}" convert "${S[@]}" --image-opts -O raw "$(spec cs.luks)" cs.$n.raw
    done
    ok "both read the same in cryptsetup's $*" cmp cs.OURS.raw cs.REF.raw
}

turn=0
for cipher in aes-128 aes-256 serpent-128 serpent-256 twofish-128 twofish-256; do
    for mode in xts cbc; do
        for ivgen in plain plain64 essiv; do
            turn=$((turn + 1))
            n=0
            for hash in sha1 sha256 sha512; do
                n=$((n + 1))
                [ -n "$all" ] || [ $n = $(((turn + turn / 3) % 3 + 1)) ] || continue
                cells=$((cells + 1))
                cell="$cipher $mode $ivgen $hash"
                opts="cipher-alg=$cipher,cipher-mode=$mode,ivgen-alg=$ivgen,hash-alg=$hash"
                file=img.luks
                [ $((cells % 4)) != 3 ] || file=img.qcow2
                ours_there "$cell" $file "$opts"
                [ -n "$all" ] || [ $((turn % 7)) = 2 ] || continue
                theirs_here "$cell" $file "$opts"
            done
        done
    done
done
if [ -n "$has_cryptsetup" ]; then
    for family in aes serpent twofish; do
        for mode in xts-plain xts-plain64 xts-essiv:sha256 cbc-plain cbc-plain64 cbc-essiv:sha256; do
            [ -n "$all" ] || [ $family = aes ] || [ $mode = xts-plain64 ] || continue
            from_cryptsetup $family-$mode 256 sha256
            [ -z "$all" ] || from_cryptsetup $family-$mode 512 sha512
            [ -z "$all" ] || from_cryptsetup $family-$mode 256 sha1
        done
    done
else
    echo "note: no cryptsetup, its part is skipped"
    skipped=$((skipped + 1))
fi
# A test that tried nothing proves nothing.
[ $made_by_ref -gt 0 ] || { echo "FAIL: the reference made no volume"; failed=$((failed + 1)); }
[ -z "$has_cryptsetup" ] || [ $opened_by_cryptsetup -gt 0 ] || { echo "FAIL: cryptsetup could open none of ours"; failed=$((failed + 1)); }
echo "luks-matrix: $cells cells; $made_by_ref made by the reference, $opened_by_cryptsetup opened and $made_by_cryptsetup made by cryptsetup"
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
