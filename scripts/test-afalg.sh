#!/bin/bash
# SPDX-License-Identifier: MIT
#
# scripts/test-afalg.sh [--build DIR] [--kernel DEB] [--accel kvm|tcg] [--rounds N]: the afalg cipher row under a kernel
# that offers AF_ALG.
#
# Debian's newest cloud kernel is downloaded with apt-get and unpacked into a temporary folder; nothing is installed. It boots
# in qemu-system-x86_64 with an initramfs of busybox, the kernel's crypto modules, the unit tests of the cipher table,
# bench-cipher and qemu-img, all from DIR (default build/). What they print comes over the serial line. --rounds are those
# of bench-cipher; --accel is kvm where it works, else tcg, whose figures say nothing about speed.
#
# Exit status: 0 when all passed with the row present, 1 when not, 77 when a tool is missing or nothing can be downloaded:
# apt-get install qemu-system-x86 busybox-static cpio
set -eu -o pipefail

tree=$(cd "$(dirname "$0")/.." && pwd)
build=$tree/build deb='' accel='' rounds=31
while [ $# -gt 0 ]; do
    case $1 in
    --build) build=$(realpath "$2"); shift ;;
    --kernel) deb=$(realpath "$2"); shift ;;
    --accel) accel=$2; shift ;;
    --rounds) rounds=$2; shift ;;
    *) sed -n '4,14s/^# \{0,1\}//p' "$0" >&2; exit 1 ;;
    esac
    shift
done

skip() { echo "SKIP: $*"; exit 77; }
fail() { echo "FAIL: $*"; exit 1; }
for tool in qemu-system-x86_64 busybox cpio gzip dpkg-deb ldd; do
    command -v $tool >/dev/null || skip "no $tool"
done
busybox=$(command -v busybox)
programs="tests/unit/test-cipher tests/unit/test-cipher-rows bench/bench-cipher tools/qemu-img"
for program in $programs; do
    [ -x "$build/$program" ] || fail "no $build/$program; build first"
done

dir=$(mktemp -d "${TMPDIR:-/tmp}/test-afalg.XXXXXX")
trap 'rm -rf "$dir"' EXIT
root=$dir/initramfs

# The kernel: a package of its own name for each version, which the package without version depends on.
if [ -z "$deb" ]; then
    name=$(apt-cache depends linux-image-cloud-amd64 2>/dev/null | awk '/Depends: linux-image/ { print $2; exit }')
    [ -n "$name" ] || skip "apt knows no linux-image-cloud-amd64"
    (cd "$dir" && apt-get -qq download "$name" 2>/dev/null) || skip "cannot download $name"
    deb=$(echo "$dir"/*.deb)
fi
dpkg-deb -x "$deb" "$dir/kernel"
version=$(basename "$dir"/kernel/boot/vmlinuz-* | sed 's/^vmlinuz-//')

# The initramfs. The kernel itself asks for modules, through /sbin/modprobe.
mkdir -p "$root"/{bin,sbin,dev,proc,sys,tmp,root} "$root/lib/modules/$version"
cp "$busybox" "$root/bin/busybox"
for name in sh mount modprobe dmesg grep poweroff cat; do ln -s busybox "$root/bin/$name"; done
ln -s ../bin/busybox "$root/sbin/modprobe"
modules=$dir/kernel/lib/modules/$version
[ -d "$modules" ] || modules=$dir/kernel/usr/lib/modules/$version
(cd "$modules" && find . -path '*/crypto/*.ko*' -o -name 'modules.*' | cpio -pdm --quiet "$root/lib/modules/$version")
"$busybox" depmod -b "$root" "$version"
for program in $programs; do
    cp "$build/$program" "$root/bin/"
    ldd "$build/$program" | grep -o '/[^ ]*' | while read -r library; do
        mkdir -p "$root$(dirname "$library")"
        cp -nL "$library" "$root$library"
    done
done

cat >"$root/init" <<INIT
#!/bin/sh
export PATH=/bin:/sbin HOME=/root
mount -t devtmpfs none /dev
mount -t proc none /proc
mount -t sysfs none /sys
mount -t tmpfs none /tmp
! grep -q boot-only /proc/cmdline || { echo "== BOOTED"; poweroff -f; }
run() { echo "== \$*"; "\$@" && echo "== ok" || { echo "== FAILED: \$*"; failed=1; }; }
failed=0
export CK_TIMEOUT_MULTIPLIER=10 # an emulated CPU is slow
modprobe aesni-intel 2>/dev/null
modprobe serpent-avx2 2>/dev/null
modprobe twofish-avx-x86_64 2>/dev/null
grep -m 1 'model name' /proc/cpuinfo
run test-cipher
run test-cipher-rows
run bench-cipher --row=afalg --chunk=512 --rounds=$rounds
run bench-cipher --chunk=65536 --rounds=$rounds
run bench-cipher --alg=serpent-256 --chunk=4096 --rounds=$rounds
run bench-cipher --alg=serpent-256 --chunk=65536 --rounds=$rounds
# The policy: where it takes the kernel's row is told by the trace.
for alg in aes-256 serpent-256 twofish-256; do
    run qemu-img --trace crypto create -q --object secret,id=s,data=x -f luks \
        -o key-secret=s,iter-time=10,cipher-alg=\$alg /tmp/a.luks 1M
    run qemu-img --trace crypto bench -q --object secret,id=s,data=x -c 4 -s 65536 \
        --image-opts driver=luks,file.filename=/tmp/a.luks,key-secret=s
done
echo "== END failed=\$failed"
poweroff -f
INIT
chmod +x "$root/init"
(cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) >"$dir/initramfs.gz"

boot() { # ACCEL SECONDS ARGUMENTS...
    timeout -k 10 "$2" qemu-system-x86_64 -accel "$1" -cpu max -m 1024 -smp 1 -nographic -nic none -no-reboot \
        -kernel "$dir/kernel/boot/vmlinuz-$version" -initrd "$dir/initramfs.gz" \
        -append "console=ttyS0 quiet panic=-1 ${*:3}" </dev/null 2>&1 | sed -u 's|\r||g'
}
# Not every /dev/kvm can boot a kernel.
if [ -z "$accel" ]; then
    accel=tcg
    [ ! -w /dev/kvm ] || ! boot kvm 30 boot-only | grep -q '^== BOOTED' || accel=kvm
fi
echo "kernel $version, $accel"
boot "$accel" 3000 | tee "$dir/serial"

grep -q '^== END failed=0$' "$dir/serial" || fail "see above"
grep -q '^afalg ' "$dir/serial" || fail "the kernel offered no AF_ALG"
echo "test-afalg: passed"
