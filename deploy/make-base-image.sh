#!/bin/sh
# Makes a base image of Debian's C and C++ libraries: no shell, no package manager, no container registry.
# usage: deploy/make-base-image.sh NAME [SUITE]
# Needs root, mmdebstrap and buildah. With SOURCE_DATE_EPOCH, the same packages make the same image.
set -eu

name=${1:?usage: deploy/make-base-image.sh NAME [SUITE]}
suite=${2:-bookworm}
folder=$(mktemp -d)
container=
trap 'rm -rf "$folder"; [ -z "$container" ] || buildah rm "$container" > /dev/null' EXIT
: "${SOURCE_DATE_EPOCH:=$(date +%s)}"
export SOURCE_DATE_EPOCH

# Extracted packages run no scripts. Scanners read the installed packages in status.d.
mmdebstrap --quiet --variant=extract --include=base-files,libc6,libstdc++6 \
  --skip=download/empty \
  --extract-hook='mkdir -p "$1/var/lib/dpkg/status.d"
    for package in "$1"/var/cache/apt/archives/*.deb; do
      dpkg-deb --field "$package" > "$1/var/lib/dpkg/status.d/$(dpkg-deb --field "$package" Package)"
    done' \
  --extract-hook='echo "hosts: files dns" > "$1/etc/nsswitch.conf"
    echo "root:x:0:0:root:/root:/usr/sbin/nologin" > "$1/etc/passwd"
    echo "switchyard:x:10001:10001::/var/lib/switchyard:/usr/sbin/nologin" >> "$1/etc/passwd"
    rm -f "$1/etc/resolv.conf" "$1/etc/hostname"
    touch "$1/etc/hosts" "$1/etc/resolv.conf"' \
  "$suite" "$folder/base.tar"

container=$(buildah from scratch)
buildah add --quiet "$container" "$folder/base.tar" / > /dev/null
buildah commit --quiet --timestamp "$SOURCE_DATE_EPOCH" "$container" "$name" > /dev/null
