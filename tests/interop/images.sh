#!/bin/bash
# SPDX-License-Identifier: MIT
#
# images.sh: images made by our tools are read, compared and checked by the reference's, and the other way round.
#
# OURS and REF name the folders of the two; default build/tools and .reference/bin, else the installed tools. Exit status
# 77 when one is missing, 1 when something does not match.
set -u

tree=$(cd "$(dirname "$0")/../.." && pwd)
OURS=${OURS:-$tree/build/tools}
REF=${REF:-$tree/.reference/bin}
[ -x "$REF/qemu-img" ] || REF=$(dirname "$(command -v qemu-img || echo /none/x)")
for dir in "$OURS" "$REF"; do
    for tool in qemu-img qemu-io; do
        [ -x "$dir/$tool" ] || { echo "images: no $tool in $dir"; echo "0 passed, 0 failed, 1 skipped"; exit 77; }
    done
done
OURS=$(cd "$OURS" && pwd)
REF=$(cd "$REF" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/qblock-interop-XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

S=(--object secret,id=s0,data=pw123)
E=encrypt.format=luks,encrypt.key-secret=s0,encrypt.iter-time=10
passed=0 failed=0

# Runs quietly; what it printed is shown when it fails.
step() {
    timeout 120 "$@" >log 2>&1 || { echo "    failed ($?): $*"; sed 's/^/      /' log; return 1; }
}

# The writes of every image: unaligned over several new clusters, into written ones, zeros, up to the end of the disk.
# Steps of 70001 and 200001 cross clusters of each size but 2M; the last lines do that one.
writes=(-c "write -q -P 0x21 1000 200001" -c "write -q -P 0x22 65000 70001" -c "write -q -P 0x23 1M 5M" -c "write -q -z 1100k 300k"
        -c "write -q -P 0x24 2097000 3000" -c "write -q -z -u 3M 640k" -c "write -q -P 0x25 7000001 1388607" -c "flush")
# What must be read afterwards, by whomever. @ stands for what was there before.
reads=("@ 0 1000" "0x21 1000 64000" "0x22 65000 70001" "0x21 135001 66000" "@ 201001 100000" "0x23 1M 77824" "0 1100k 300k"
       "0x23 1400k 600000" "0x24 2097000 3000" "0x23 2100000 1045728" "0 3M 640k" "0x23 3801088 2490368" "@ 6M 700000"
       "0x25 7000001 1388607")
size=8388608

read_back() { # DIR SPEC BEFORE-PATTERN
    local r args=()
    for r in "${reads[@]}"; do
        read -r pattern off len <<<"${r/@/$3}"
        args+=(-c "read -q -P $pattern $off $len")
    done
    step "$1/qemu-io" -r "${S[@]}" --image-opts "$2" "${args[@]}"
}

result() { # NAME RC
    if [ "$2" = 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAIL $1"; fi
}

# one_way NAME MAKER READER FORMAT OPTIONS SPEC BEFORE [create words]: make and write it with one, look at it with the
# other, write more with the other, look with both.
one_way() {
    local name=$1 maker=$2 reader=$3 fmt=$4 opts=$5 spec=$6 before=$7
    shift 7
    rm -f img out.raw again.raw
    step "$maker/qemu-img" create -q -f "$fmt" "${S[@]}" ${opts:+-o "$opts"} "$@" img $size || return 1
    step "$maker/qemu-io" "${S[@]}" --image-opts "$spec" "${writes[@]}" || return 1
    look_at "$reader" "$spec" "$before" "$fmt" || return 1
    step "$maker/qemu-img" convert "${S[@]}" --image-opts -O raw "$spec" out.raw || return 1
    step "$reader/qemu-img" compare "${S[@]}" --image-opts "$spec" driver=raw,file.filename=out.raw || return 1
    # The other one writes on: into old clusters and new ones.
    step "$reader/qemu-io" "${S[@]}" --image-opts "$spec" -c "write -q -P 0x31 300001 100001" -c "write -q -P 0x32 1005 77" \
        -c "discard -q 4M 256k" -c "write -q -P 0x33 4M 100000" || return 1
    step "$maker/qemu-io" -r "${S[@]}" --image-opts "$spec" -c "read -q -P 0x31 300001 100001" -c "read -q -P 0x32 1005 77" \
        -c "read -q -P 0x21 1082 60000" -c "read -q -P 0x33 4M 100000" || return 1
    for dir in "$maker" "$reader"; do
        [ "$fmt" != qcow2 ] || step "$dir/qemu-img" check "${S[@]}" --image-opts "$spec" || return 1
    done
}

look_at() { # DIR SPEC BEFORE FORMAT
    read_back "$1" "$2" "$3" || return 1
    step "$1/qemu-img" info img || return 1
    [ "$4" != qcow2 ] || step "$1/qemu-img" check "${S[@]}" --image-opts "$2" || return 1
}

both_ways() { # NAME FORMAT OPTIONS SPEC BEFORE [create words]
    local name=$1
    shift
    one_way "$name" "$OURS" "$REF" "$@"
    result "$name: ours, read by the reference" $?
    one_way "$name" "$REF" "$OURS" "$@"
    result "$name: the reference's, read by ours" $?
}

plain=driver=qcow2,file.filename=img
keyed=$plain,encrypt.key-secret=s0
for cs in 512 4k 64k 2M; do
    both_ways "qcow2 $cs" qcow2 cluster_size=$cs $plain 0
    both_ways "qcow2 $cs v2" qcow2 cluster_size=$cs,compat=0.10 $plain 0
done
for bits in 1 2 4 8 32 64; do both_ways "qcow2 refcount_bits=$bits" qcow2 refcount_bits=$bits $plain 0; done
both_ways "qcow2 lazy refcounts" qcow2 lazy_refcounts=on $plain 0
for mode in metadata falloc full; do both_ways "qcow2 preallocation=$mode" qcow2 preallocation=$mode $plain 0; done

# Backing files of 0x11, raw and qcow2.
step "$REF/qemu-img" create -q -f raw base.raw $size
step "$REF/qemu-io" -f raw -c "write -q -P 0x11 0 $size" base.raw
step "$OURS/qemu-img" convert -f raw -O qcow2 base.raw base.qcow2
for cs in 512 4k 64k 2M; do
    both_ways "backing file, $cs" qcow2 cluster_size=$cs $plain 0x11 -b base.raw -F raw
done
both_ways "qcow2 backing file" qcow2 "" $plain 0x11 -b base.qcow2 -F qcow2

for cs in 512 4k 64k 2M; do both_ways "encrypted qcow2 $cs" qcow2 $E,cluster_size=$cs $keyed 0; done
both_ways "encrypted qcow2 over a backing file" qcow2 $E $keyed 0x11 -b base.raw -F raw
for c in aes-128,xts,plain64 aes-128,cbc,essiv aes-256,cbc,plain; do
    IFS=, read -r alg mode iv <<<"$c"
    both_ways "encrypted qcow2 $c" qcow2 "$E,encrypt.cipher-alg=$alg,encrypt.cipher-mode=$mode,encrypt.ivgen-alg=$iv" $keyed 0
done

# A LUKS volume starts as noise: zero it first where the reads expect what was there before.
luks() { # OPTIONS
    local maker reader way
    for way in "$OURS $REF" "$REF $OURS"; do
        read -r maker reader <<<"$way"
        rm -f img
        local spec=driver=luks,file.filename=img,key-secret=s0
        step "$maker/qemu-img" create -q -f luks "${S[@]}" -o "key-secret=s0,iter-time=10$1" img $size &&
            step "$maker/qemu-io" "${S[@]}" --image-opts $spec -c "write -q -z 0 $size" "${writes[@]}" &&
            read_back "$reader" $spec 0 && read_back "$maker" $spec 0 &&
            step "$reader/qemu-io" "${S[@]}" --image-opts $spec -c "write -q -P 0x31 300001 100001" &&
            step "$maker/qemu-io" "${S[@]}" --image-opts $spec -c "read -q -P 0x31 300001 100001"
        result "luks$1: $([ "$maker" = "$OURS" ] && echo "ours, read by the reference" || echo "the reference's, read by ours")" $?
    done
}
luks ""
luks ,cipher-alg=aes-128,cipher-mode=cbc,ivgen-alg=essiv,hash-alg=sha512
luks ,cipher-alg=aes-256,cipher-mode=cbc,ivgen-alg=plain,hash-alg=sha1

# Compressed images are made by convert; a third is text, a third noise, a third empty.
python3 - <<'PY'
import random
with open('src.raw', 'wb') as f:
    f.write(b''.join(b'%d lines of text\n' % i for i in range(200000)))
    f.seek(4 << 20)
    f.write(random.Random(3).randbytes(2 << 20))
    f.truncate((8 << 20) + 512)
PY
for type in zlib zstd; do
    for cs in 512 4k 64k 2M; do
        for way in "$OURS $REF" "$REF $OURS"; do
            read -r maker reader <<<"$way"
            step "$maker/qemu-img" convert -c -f raw -O qcow2 -o cluster_size=$cs,compression_type=$type src.raw img &&
                step "$reader/qemu-img" compare -f raw -F qcow2 src.raw img && step "$reader/qemu-img" check img &&
                step "$reader/qemu-io" -f qcow2 -c "write -q -P 0x41 1000 200001" img &&
                step "$maker/qemu-io" -f qcow2 -c "read -q -P 0x41 1000 200001" img &&
                step "$maker/qemu-img" check img && step "$reader/qemu-img" check img
            result "compressed $type $cs: $([ "$maker" = "$OURS" ] && echo "ours, read by the reference" || echo "the reference's, read by ours")" $?
        done
    done
done

echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
