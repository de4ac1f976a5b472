#!/bin/bash
# SPDX-License-Identifier: MIT
#
# luks2-cryptsetup.sh LUKS-TOOL XTS-TOOL: LUKS2 volumes between the crypto layer and cryptsetup.
#
# Ours there: cryptsetup reads, opens and changes what we make. Theirs here: we open what it makes. No device is mapped, so
# data is checked another way: cryptsetup tells the volume key, and with it the payload must decrypt to what we say it is -
# by a small program over nettle for XTS, and through the reference, as LUKS1 volume of the same key, for the other modes.
# Skips aloud (77) without cryptsetup; argon2 and the reference's part alone where they are not there. No root.
set -u -o pipefail

tool=$(realpath "${1:?luks-tool}")
xts=$(realpath "${2:?xts-tool}")
ref=${REFERENCE_QEMU_IMG:-$(command -v /usr/bin/qemu-img || true)}
PATH=$PATH:/sbin:/usr/sbin
command -v cryptsetup >/dev/null || { echo "SKIP: no cryptsetup"; exit 77; }

dir=$(mktemp -d "${TMPDIR:-/tmp}/luks2-cryptsetup.XXXXXX")
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
failed=0
passed=0
size=1048576
data=16777216

printf 'pass wörd' >pw
printf 'something else' >other
"$tool" pattern $size pattern || exit 1

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
says() { # TEXT COMMAND...: it fails with that text
    local out
    out=$("${@:2}" 2>&1) && return 1
    [[ $out == *"$1"* ]] || { echo "$out"; return 1; }
}
opens() { cryptsetup open --test-passphrase --type luks2 --key-file "$2" "${@:3}" "$1" </dev/null; }
volume_key() { # FILE: into mk
    rm -f mk
    cryptsetup luksDump -q --dump-volume-key --volume-key-file mk --key-file pw "$1" >/dev/null
}
format() { # FILE WORDS...: a volume of cryptsetup
    rm -f "$1"
    truncate -s $((data + size)) "$1"
    cryptsetup luksFormat -q --type luks2 --key-file pw "${@:2}" "$1"
}
quick="--pbkdf pbkdf2 --pbkdf-force-iterations 1000"

# The payload of FILE at byte OFFSET, encrypted by CIPHER under the key in mk, as the reference decrypts it.
reference_says() { # CIPHER KEY-BITS FILE OFFSET OUT
    rm -f one.luks
    truncate -s 4M one.luks
    cryptsetup luksFormat -q --type luks1 --pbkdf-force-iterations 1000 --cipher "$1" --key-size "$2" --volume-key-file mk \
        --key-file pw one.luks || return 1
    local payload
    payload=$(cryptsetup luksDump one.luks | awk '/^Payload offset/ { print $3 * 512 }')
    truncate -s "$payload" one.luks
    tail -c +$(($4 + 1)) "$3" >>one.luks
    "$ref" convert --object secret,id=s,file=pw --image-opts driver=luks,key-secret=s,file.driver=file,file.filename=one.luks \
        -O raw "$5"
}

kdfs="pbkdf2"
rm -f probe.luks
if "$tool" create probe.luks 512 pw luks-version=2,iter-time=1 2>log; then
    kdfs="pbkdf2 argon2id argon2i"
elif grep -q 'no libargon2' log; then
    echo "note: this build has no libargon2, the argon2 part is skipped"
else
    echo "FAIL: $(cat log)"
    exit 1
fi

# --- ours there: key derivations, sector sizes, ciphers -----------------------------------------------------------------
check_ours() { # NAME OPTIONS
    rm -f ours.luks back
    ok "create $1" "$tool" create ours.luks $size pw "luks-version=2,iter-time=1,$2"
    ok "own dump $1" "$tool" dump ours.luks pw back
    ok "own data $1" cmp back pattern
    ok "own wrong password $1" says "Invalid password" "$tool" dump ours.luks other back
    ok "luksDump $1" cryptsetup luksDump ours.luks
    ok "cryptsetup opens $1" opens ours.luks pw
    ok "cryptsetup refuses $1" not opens ours.luks other
}
for kdf in $kdfs; do
    for sector in 512 1024 2048 4096; do
        check_ours "$kdf $sector" "pbkdf=$kdf,sector-size=$sector"
        ok "volume key $kdf $sector" volume_key ours.luks
        ok "nettle decrypts $kdf $sector" "$xts" mk $sector $data ours.luks clear
        ok "nettle's data $kdf $sector" cmp clear pattern
    done
done
for spec in aes-128,cbc,essiv,sha256 aes-256,cbc,plain64,sha512 aes-256,cbc,plain,sha1 aes-128,xts,plain64,sha256 \
    aes-256,xts,plain,ripemd160 aes-192,cbc,plain64,sha256; do
    IFS=, read -r cipher mode ivgen hash <<<"$spec"
    check_ours "$spec" "pbkdf=pbkdf2,cipher-alg=$cipher,cipher-mode=$mode,ivgen-alg=$ivgen,hash-alg=$hash"
    if [ -n "$ref" ]; then
        bits=${cipher#*-}
        [ "$mode" = xts ] && bits=$((bits * 2))
        [ "$ivgen" = essiv ] && ivgen=essiv:sha256
        ok "volume key $spec" volume_key ours.luks
        # The reference aborts where LUKS1 key material is no whole number of sectors (192-bit keys).
        if [ "$bits" != 192 ]; then
            ok "reference decrypts $spec" reference_says "aes-$mode-$ivgen" "$bits" ours.luks $data ref.raw
            ok "reference's data $spec" cmp ref.raw pattern
        fi
    fi
done

# --- ours there: cryptsetup changes it, we read it again ------------------------------------------------------------------
ok "create for changes" "$tool" create ours.luks $size pw luks-version=2,iter-time=1,pbkdf=pbkdf2
ok "cryptsetup adds a slot" cryptsetup luksAddKey -q $quick --key-file pw ours.luks other
ok "we open its slot" "$tool" dump ours.luks other back
ok "the data is the same" cmp back pattern
printf '{"type":"x-note","keyslots":["1"],"deep":{"a":[1,{"b":null}]}}' >token
ok "cryptsetup adds a token" cryptsetup token import --json-file token --token-id 5 ours.luks
ok "cryptsetup labels it" cryptsetup config --label 'my "disk"' --subsystem sub ours.luks
ok "cryptsetup prefers a slot" cryptsetup config --priority prefer --key-slot 1 ours.luks
ok "info after that" bash -c '"$0" info ours.luks >info' "$tool"
for text in '"label": "my \\\"disk\\\""' '"subsystem": "sub"' '"token": 5' '"priority": "high"' '"luks-version": 2'; do
    ok "info has $text" grep -qF -- "$text" info
done
ok "cryptsetup erases our slot" cryptsetup luksKillSlot -q --key-file other ours.luks 0
ok "our old password is refused" says "Invalid password" "$tool" dump ours.luks pw back
ok "the other one opens" "$tool" dump ours.luks other back
ok "still the same data" cmp back pattern

# --- a damaged copy ---------------------------------------------------------------------------------------------------------
for at in 0 4 16384 16388; do
    cp ours.luks hurt.luks
    dd if=/dev/zero of=hurt.luks bs=1k seek=$((at / 1024)) count=4 conv=notrunc status=none
    [ $((at % 1024)) = 0 ] || printf 'xxxx' | dd of=hurt.luks bs=1 seek=$at conv=notrunc status=none
    cp hurt.luks before.luks
    ok "open with damage at $at" "$tool" dump hurt.luks other back
    ok "data with damage at $at" cmp back pattern
    ok "reading changed nothing at $at" cmp hurt.luks before.luks
    ok "mend damage at $at" "$tool" mend hurt.luks other
    ok "it was mended at $at" not cmp -s hurt.luks before.luks
    # Without the copy that was good before, cryptsetup has only the mended one.
    dd if=/dev/zero of=hurt.luks bs=1k seek=$((at < 16384 ? 16 : 0)) count=16 conv=notrunc status=none
    ok "cryptsetup opens the mended copy $at" opens hurt.luks other
done

# --- theirs here ------------------------------------------------------------------------------------------------------------
check_theirs() { # NAME: theirs.luks with pw opens, and not with other
    ok "info of $1" "$tool" info theirs.luks
    ok "open $1" "$tool" dump theirs.luks pw clear
    ok "refuse another password of $1" says "Invalid password" "$tool" dump theirs.luks other back
    ok "volume key of $1" volume_key theirs.luks
}
for kdf in $kdfs; do
    words="--pbkdf $kdf --pbkdf-force-iterations 1000"
    [ "$kdf" = pbkdf2 ] || words="--pbkdf $kdf --pbkdf-memory 32768 --pbkdf-force-iterations 4"
    for variant in "512 1" "4096 3"; do
        read -r sector lanes <<<"$variant"
        more=$words
        [ "$kdf" = pbkdf2 ] || more="$words --pbkdf-parallel $lanes"
        # shellcheck disable=SC2086
        ok "cryptsetup makes $kdf $variant" format theirs.luks $more --sector-size "$sector"
        check_theirs "$kdf $variant"
        ok "nettle reads $kdf $variant" "$xts" mk "$sector" $data theirs.luks back
        ok "nettle agrees on $kdf $variant" cmp back clear
    done
done
for spec in aes-cbc-essiv:sha256:256 aes-cbc-plain64:192 aes-xts-plain64:256 aes-cbc-plain:128; do
    for hash in sha1 sha512; do
        ok "cryptsetup makes $spec $hash" format theirs.luks $quick --sector-size 512 --hash $hash --cipher "${spec%:*}" --key-size "${spec##*:}"
        check_theirs "$spec $hash"
        if [ -n "$ref" ] && [ "${spec##*:}" != 192 ]; then
            ok "reference reads $spec $hash" reference_says "${spec%:*}" "${spec##*:}" theirs.luks $data ref.raw
            ok "reference agrees on $spec $hash" cmp ref.raw <(head -c $size clear)
        fi
    done
done
for words in "--luks2-metadata-size 64k" "--luks2-metadata-size 4m --luks2-keyslots-size 1m" "--offset 65536" "--label l"; do
    # shellcheck disable=SC2086
    rm -f theirs.luks
    truncate -s 48M theirs.luks
    ok "cryptsetup makes $words" cryptsetup luksFormat -q --type luks2 --key-file pw $quick $words theirs.luks
    check_theirs "$words"
done
rm -f theirs.luks
truncate -s 4M theirs.luks
ok "cryptsetup makes LUKS1" cryptsetup luksFormat -q --type luks1 --pbkdf-force-iterations 1000 --key-file pw theirs.luks
ok "dump of LUKS1" "$tool" dump theirs.luks pw before
ok "cryptsetup converts it" cryptsetup convert -q --type luks2 theirs.luks
check_theirs "a converted LUKS1"
ok "the same data after conversion" cmp before clear

# --- what we lack is named ------------------------------------------------------------------------------------------------
ok "volume to reencrypt" format theirs.luks $quick
if cryptsetup reencrypt -q --init-only --force-offline-reencrypt --key-file pw theirs.luks >log 2>&1; then
    ok "unfinished reencryption is named" says "unfinished reencryption" "$tool" dump theirs.luks pw back
    ok "its info is told all the same" bash -c '"$0" info theirs.luks | grep -q reencrypt' "$tool"
else
    echo "note: cryptsetup does not begin a reencryption here: $(tail -1 log)"
fi

[ -n "$ref" ] || echo "note: no reference qemu-img, its part is skipped"
echo "luks2-cryptsetup: $passed passed, $failed failed"
[ "$failed" = 0 ]
