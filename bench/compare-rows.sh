# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# The rows of compare.sh, which sources this. $row is the row, $1 the side (ours, ref), $2 the folder of its tools.

all_rows="limit-cp limit-cipher limit-4k-read limit-4k-over limit-4k-new limit-64k-read limit-64k-over limit-64k-new \
enc enc-W enc-new enc-new-W dec dec-W luks luks-W luks-new luks-new-W cmp plain zlib zstd open \
b4k-read b4k-over b4k-alloc b64k-read b64k-over b64k-alloc e4k-read e4k-over e4k-alloc e64k-read e64k-over e64k-alloc \
enc-plain seed"

# Least ratio of the wall times, and of the CPU seconds where one is asked for. Nothing: no such row.
row_asks() {
    case $row in
    limit-cp | limit-cipher | limit-*k-read | limit-*k-over | limit-*k-new) echo - ;;
    enc) echo 12 ;;
    enc-W) echo 8 ;;
    enc-new | enc-new-W | luks-new | luks-new-W) echo 4 ;;
    dec | dec-W) echo 4.5 ;;
    luks) echo 10 ;;
    luks-W) echo 9 ;;
    cmp) echo 10 ;;
    plain) echo 2 ;;
    zlib | zstd) echo 1.0 ;;
    open) echo 1.67 ;;
    b4k-read | b4k-over | b4k-alloc | b64k-read | b64k-over) echo 2 ;;
    b64k-alloc) echo 1.5 ;;
    e4k-read | e4k-over | e4k-alloc | e64k-read | e64k-over | e64k-alloc) echo 0.77 ;; # 1 / 1.3
    enc-plain) echo 0.71 ;;                                                          # 1 / 1.4
    seed) echo 1.0 3.33 ;;
    esac
}

# Who the other side is when it is not the reference.
row_other() {
    case $row in
    e4k-* | e64k-* | enc-plain) echo "ours plain" ;;
    esac
}

secret=(--object secret,id=s0,data=test)
luks_opts=encrypt.format=luks,encrypt.key-secret=s0,encrypt.iter-time=10
q() { echo "driver=qcow2,file.filename=$1,encrypt.key-secret=s0"; }
l() { echo "driver=luks,file.filename=$1,key-secret=s0"; }
r() { echo "driver=raw,file.filename=$1"; }
pattern=90

wants() { [[ " ${rows[*]} " =~ \ ($1)\  ]]; }

# A file system of real files: of the machine's programs, libraries and texts, about half of $size.
make_real() {
    local folder=$disk_dir/real
    mkdir "$folder"
    find /usr/bin /usr/include /usr/share/doc /usr/lib/python3* /usr/lib/*-linux-gnu -xdev -type f -size -16M -printf '%s %p\n' 2>/dev/null |
        LC_ALL=C sort -k 2 | awk -v left=$((size * 524288)) 'NR % 4 == 0 && (left -= $1) > 0 { $1 = ""; print substr($0, 2) }' >real.list
    tar -C / -cf - -T real.list 2>/dev/null | tar -C "$folder" -xf - 2>/dev/null || true
    mke2fs -q -t ext4 -d "$folder" real.raw "${size}M"
    rm -rf "$folder"
}

fill() { "${judge%img}io" "${secret[@]}" --image-opts "$1" -c "write -q -P $pattern 0 ${size}M"; }

make_sources() {
    head -c "${size}M" /dev/urandom >src.raw
    if wants 'luks.*|b.*'; then
        "$judge" convert -f raw -O qcow2 src.raw src.qcow2
    fi
    if wants 'dec|dec-W|cmp|e.*-read|e.*-over'; then
        "$judge" create -q -f qcow2 "${secret[@]}" -o $luks_opts enc.qcow2 "${size}M"
        "$judge" convert -n -f raw "${secret[@]}" --target-image-opts src.raw "$(q enc.qcow2)"
    fi
    # Targets that exist: their clusters are there, and their pages; with other data, so that the row must change it all.
    if wants 'enc|enc-W'; then
        "$judge" create -q -f qcow2 "${secret[@]}" -o $luks_opts full.qcow2 "${size}M"
        fill "$(q full.qcow2)"
    fi
    if wants 'luks|luks-W'; then
        "$judge" create -q -f luks "${secret[@]}" -o key-secret=s0,iter-time=10 full.luks "${size}M"
        fill "$(l full.luks)"
    fi
    if wants 'open'; then
        "$judge" create -q -f qcow2 "${secret[@]}" -o encrypt.format=luks,encrypt.key-secret=s0 slow.qcow2 1M
    fi
    if wants '.*-over|.*-alloc'; then
        head -c "${size}M" /dev/zero | tr '\0' "\\$(printf %o $pattern)" >pattern.raw
    fi
    if wants 'zlib|zstd'; then
        make_real
    fi
}

# Is this side to work on an encrypted image? "Ours plain" is not.
encrypted() { [ "$1" = ours ]; }

new_encrypted() { "$1/qemu-img" create -q -f qcow2 "${secret[@]}" -o $luks_opts "$2" "${size}M"; }

row_ready() { # not timed
    rm -f dst
    case $row in
    enc | enc-W) cp full.qcow2 dst ;;
    enc-new | enc-new-W) new_encrypted "$2" dst ;;
    enc-plain) if encrypted "$1"; then new_encrypted "$ours" dst; else "$ours/qemu-img" create -q -f qcow2 dst "${size}M"; fi ;;
    luks | luks-W) cp full.luks dst ;;
    luks-new | luks-new-W) "$2/qemu-img" create -q -f luks "${secret[@]}" -o key-secret=s0,iter-time=10 dst "${size}M" ;;
    b*-over) cp src.qcow2 dst ;;
    b*-alloc) "$2/qemu-img" create -q -f qcow2 dst "${size}M" ;;
    e*-over) if encrypted "$1"; then cp enc.qcow2 dst; else "$ours/qemu-img" convert -f raw -O qcow2 src.raw dst; fi ;;
    e*-alloc) if encrypted "$1"; then new_encrypted "$ours" dst; else "$ours/qemu-img" create -q -f qcow2 dst "${size}M"; fi ;;
    e*-read) encrypted "$1" || [ -e plain.qcow2 ] || "$ours/qemu-img" convert -f raw -O qcow2 src.raw plain.qcow2 ;;
    seed)
        rm -f "$disk_dir"/*
        "$2/qemu-img" create -q -f raw "$disk_dir/src" "${size}M"
        new_encrypted "$2" "$disk_dir/dst"
        sync "$disk_dir"/*
        ;;
    esac
}

# What the tool itself says: without its start and end.
took() { sed -n 's/^Run completed in \([0-9.]*\) seconds[.]$/\1/p' >took; }

bench_job() { # side, tools
    local bytes=4096 tools=$2 image=(-f qcow2) file=dst flags=()
    [[ $row == *64k* ]] && bytes=65536
    case $row in
    b*-read) file=src.qcow2 ;;
    e*-read) file=$(encrypted "$1" && echo enc.qcow2 || echo plain.qcow2) ;;
    *) flags=(-w --pattern $pattern) ;;
    esac
    if [[ $row == e* ]]; then
        tools=$ours
        if encrypted "$1"; then
            image=("${secret[@]}" --image-opts)
            file=$(q "$file")
        fi
    fi
    "$tools/qemu-img" bench -c $((size * 1048576 / bytes)) -d 32 -s $bytes "${flags[@]}" "${image[@]}" "$file" | took
}

row_job() {
    local w=() img=$2/qemu-img
    [[ $row == *-W ]] && w=(-W -m 16)
    case $row in
    limit-cp) cp src.raw dst ;;
    limit-*k-*)
        local bytes=4096 file=src.raw n
        [[ $row != *64k* ]] || bytes=65536
        [[ $row == *-read ]] || file=dst
        for n in 1 "$(nproc)"; do
            [[ $row != *-over ]] || [ -e dst ] || cp src.raw dst
            "$bench_dir/bench-file" "${row##*-}" $bytes "$n" "$size" $file
        done | sort -n | head -n 1 >took
        ;;
    limit-cipher)
        "$bench_dir/bench-cipher" --alg=aes-256 --mode=xts --chunk=65536 --sector=512 --threads="$(nproc)" |
            awk -v mib="$size" '/encrypt/ && /threads '"$(nproc)"'/ { for (i = 1; i < NF; i++) if ($(i + 1) == "MB/s" && $i > best) best = $i }
                END { printf "%.4f\n", mib * 1.048576 / best }' >took
        ;;
    enc | enc-W | enc-new | enc-new-W) "$img" convert "${w[@]}" -n -f raw "${secret[@]}" --target-image-opts src.raw "$(q dst)" ;;
    enc-plain)
        if encrypted "$1"; then
            "$ours/qemu-img" convert -n -f raw "${secret[@]}" --target-image-opts src.raw "$(q dst)"
        else
            "$ours/qemu-img" convert -n -f raw -O qcow2 src.raw dst
        fi
        ;;
    dec | dec-W) "$img" convert "${w[@]}" "${secret[@]}" --image-opts "$(q enc.qcow2)" -O raw dst ;;
    luks*)
        "$img" convert "${w[@]}" -n "${secret[@]}" --image-opts driver=qcow2,file.filename=src.qcow2 --target-image-opts "$(l dst)"
        ;;
    cmp) "$img" compare "${secret[@]}" --image-opts "$(q enc.qcow2)" "$(r src.raw)" ;;
    plain) "$img" convert -f raw -O qcow2 src.raw dst ;;
    zlib | zstd)
        "$img" convert -c -W -m 16 -f raw -O qcow2 -o compression_type=$row real.raw dst
        cp dst "dst.$1"
        ;;
    open) "$2/qemu-io" "${secret[@]}" --image-opts "$(q slow.qcow2)" -c length ;;
    b4k-* | b64k-* | e4k-* | e64k-*) bench_job "$1" "$2" ;;
    seed)
        "$2/qemu-io" -f raw -t none -c "write -P 0xa 0 ${size}M" "$disk_dir/src"
        "$img" convert -t none -T none -n -f raw "${secret[@]}" --target-image-opts "$disk_dir/src" "$(q "$disk_dir/dst")"
        ;;
    esac
}

# "Images are identical." of what ours made, which ran last.
row_verify() {
    local dst
    case $row in
    enc*) "$judge" compare "${secret[@]}" --image-opts "$(r src.raw)" "$(q dst)" ;;
    dec | dec-W) "$judge" compare -f raw -F raw src.raw dst ;;
    luks*) "$judge" compare "${secret[@]}" --image-opts "$(r src.raw)" "$(l dst)" ;;
    cmp | e*-read) "$judge" compare "${secret[@]}" --image-opts "$(r src.raw)" "$(q enc.qcow2)" ;;
    plain) "$judge" compare -f raw -F qcow2 src.raw dst ;;
    b*-read) "$judge" compare -f raw -F qcow2 src.raw src.qcow2 ;;
    zlib | zstd) "$judge" compare -f raw -F qcow2 real.raw dst ;;
    open) "$judge" compare "${secret[@]}" --image-opts "$(q slow.qcow2)" driver=null-co,read-zeroes=on,size=1M ;;
    b*) "$judge" compare -f raw -F qcow2 pattern.raw dst ;;
    e*) "$judge" compare "${secret[@]}" --image-opts "$(r pattern.raw)" "$(q dst)" ;;
    seed) "$judge" compare "${secret[@]}" --image-opts "$(r "$disk_dir/src")" "$(q "$disk_dir/dst")" ;;
    esac
}

# Anything more that counts. $1, $2: ours' wall and CPU ms. The word "short" in it marks the row. How many CPUs were busy is
# told and not judged: on a machine that does other work too it says nothing about the tool.
row_notes() {
    case $row in
    zlib | zstd)
        awk -v o="$(stat -c %s dst.ours)" -v r="$(stat -c %s dst.ref)" -v w="$1" -v c="$2" -v n="$(nproc)" 'BEGIN {
            large = o > r ? " short" : ""
            printf "size %.4f of the other%s, %.2f of %d CPUs busy", o / r, large, c / w, n
        }'
        ;;
    limit-*k-*) echo "the kernel alone, on one or on every CPU, whichever is faster" ;;
    limit-cp) echo "cp of the raw file" ;;
    limit-cipher) echo "the cipher alone, 64 KiB runs, on every CPU" ;;
    esac
}
