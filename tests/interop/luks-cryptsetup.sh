#!/bin/bash
# SPDX-License-Identifier: MIT
#
# luks-cryptsetup.sh LUKS-TOOL: LUKS1 volumes between the crypto layer, cryptsetup and an installed qemu-img.
#
# Ours there: cryptsetup and the reference open what we make. Theirs here: we open what they make, down to the data.
# Each cipher and IV rule gets one hash, all three with LUKS_FULL=1.
# Skips aloud (77) without cryptsetup; the reference's part alone when there is no qemu-img that reads LUKS. No root: keys
# are tried with --test-passphrase, data is compared through the reference. REFERENCE_QEMU_IMG names the tool to compare with.
set -u -o pipefail

tool=$(realpath "${1:?luks-tool}")
ref=${REFERENCE_QEMU_IMG:-$(command -v /usr/bin/qemu-img || true)}
PATH=$PATH:/sbin:/usr/sbin
command -v cryptsetup >/dev/null || { echo "SKIP: no cryptsetup"; exit 77; }

dir=$(mktemp -d "${TMPDIR:-/tmp}/luks-cryptsetup.XXXXXX")
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
n=0
tried=0
failed=0
passed=0

printf 'pass wörd' >pw
printf 'something else' >other
"$tool" pattern 1048576 pattern || exit 1

ok() {
    if "${@:2}" >log 2>&1; then
        passed=$((passed + 1))
    else
        echo "FAIL: $1: ${*:2}"
        sed 's/^/    /' log
        failed=$((failed + 1))
    fi
}
not() { ! "$@"; }
opens() { cryptsetup open --test-passphrase --type luks1 --key-file "$2" "$1" </dev/null; }
# cryptsetup decrypts key material by its library or by the kernel; where both lack the cipher it says so, and is excused.
knows_cipher() { [[ $(opens "$1" "$2" 2>&1) != *device-mapper* ]]; }
# The payload as the reference decrypts it.
ref_dump() {
    "$ref" convert --object secret,id=s,file="$2" --image-opts "driver=luks,key-secret=s,file.driver=file,file.filename=$1" \
        -O raw "$3"
}

# --- ours there ---------------------------------------------------------------------------------------------------------
for cipher in aes-128 aes-256 serpent-256 twofish-256; do
    for mode in xts-plain64 xts-plain xts-essiv cbc-plain64 cbc-plain cbc-essiv; do
        for hash in sha1 sha256 sha512; do
            n=$((n + 1))
            [ -n "${LUKS_FULL:-}" ] || [ $((n % 3)) = $((n / 3 % 3)) ] || continue
            opts="cipher-alg=$cipher,cipher-mode=${mode%-*},ivgen-alg=${mode#*-},hash-alg=$hash,iter-time=1"
            name="$cipher $mode $hash"
            rm -f ours.luks back
            ok "create $name" "$tool" create ours.luks 1048576 pw "$opts"
            ok "own dump $name" "$tool" dump ours.luks pw back
            ok "own data $name" cmp back pattern
            ok "own wrong password $name" not "$tool" dump ours.luks other back
            ok "luksDump $name" cryptsetup luksDump ours.luks
            if knows_cipher ours.luks pw; then
                tried=$((tried + 1))
                ok "cryptsetup opens $name" opens ours.luks pw
                ok "cryptsetup refuses $name" not opens ours.luks other
            fi
            if [ -n "$ref" ]; then
                ok "reference dump $name" ref_dump ours.luks pw ref.raw
                ok "reference data $name" cmp ref.raw pattern
            fi
        done
    done
done

# --- theirs here: cryptsetup ----------------------------------------------------------------------------------------------
for spec in aes-xts-plain64:256 aes-xts-plain64:512 aes-cbc-essiv:sha256:256 aes-cbc-plain:128 aes-cbc-plain64:192; do
    for hash in sha1 sha256 sha512 ripemd160; do
        rm -f theirs.luks
        truncate -s 4M theirs.luks
        if ! cryptsetup luksFormat -q --type luks1 --pbkdf-force-iterations 1000 --hash "$hash" --cipher "${spec%:*}" \
            --key-size "${spec##*:}" --key-file pw theirs.luks >log 2>&1; then
            echo "note: cryptsetup does not make $spec $hash: $(tail -1 log)"
            continue
        fi
        cryptsetup luksAddKey -q --pbkdf-force-iterations 1000 --key-file pw theirs.luks other >/dev/null 2>&1
        ok "info of cryptsetup's $spec $hash" "$tool" info theirs.luks
        ok "open cryptsetup's $spec $hash" "$tool" dump theirs.luks pw one
        ok "open its second slot $spec $hash" "$tool" dump theirs.luks other two
        ok "same data by either key $spec $hash" cmp one two
        # The reference aborts where key material is no whole number of sectors (192-bit keys).
        if [ -n "$ref" ] && [ "${spec##*:}" != 192 ]; then
            ok "reference agrees on $spec $hash" ref_dump theirs.luks pw ref.raw
            ok "reference's data is ours $spec $hash" cmp ref.raw one
        fi
    done
done

# --- theirs here: the reference -------------------------------------------------------------------------------------------
if [ -n "$ref" ]; then
    for spec in aes-256,xts,plain64,sha256 aes-128,cbc,essiv,sha1 aes-192,xts,plain,sha512 serpent-192,xts,plain64,sha256 \
        twofish-192,xts,plain64,sha256 cast5-128,cbc,plain64,sha1 aes-256,ecb,plain64,sha256 aes-256,ctr,plain64,sha256 \
        cast5-128,ctr,plain64,sha256 serpent-128,ctr,plain64,md5 aes-256,cbc,essiv,ripemd160; do
        IFS=, read -r cipher mode ivgen hash <<<"$spec"
        rm -f theirs.luks
        if ! "$ref" convert --object secret,id=s,file=pw -f raw -O luks -o \
            "key-secret=s,iter-time=10,cipher-alg=$cipher,cipher-mode=$mode,ivgen-alg=$ivgen,hash-alg=$hash" pattern theirs.luks \
            >log 2>&1; then
            echo "note: the reference does not make $spec: $(tail -1 log)"
            continue
        fi
        ok "open the reference's $spec" "$tool" dump theirs.luks pw back
        ok "its data $spec" cmp back pattern
        ok "refuse another password $spec" not "$tool" dump theirs.luks other back
    done
else
    echo "note: no reference qemu-img, its part is skipped"
fi

[ "$tried" -gt 0 ] || { echo "FAIL: cryptsetup could try none of our volumes"; failed=$((failed + 1)); }
echo "luks-cryptsetup: $tried volumes tried by cryptsetup, $passed passed, $failed failed"
[ "$failed" = 0 ]
