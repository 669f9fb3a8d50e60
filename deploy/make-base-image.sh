#!/bin/sh
# Makes a base image of Debian's C and C++ libraries: no shell, no package manager, no container registry.
set -eu

usage() {
  cat << END
Usage: deploy/make-base-image.sh NAME [SUITE]

Makes a base image of Debian's C and C++ libraries, and stores it as NAME in the images of buildah.

  NAME   name of the image, such as localhost/switchyard-base
  SUITE  release of Debian (default: bookworm)

Needs root, mmdebstrap and buildah. With SOURCE_DATE_EPOCH, the same packages make the same image.
END
}

refuse() {
  printf 'make-base-image.sh: %s\n\n' "$1" >&2
  usage >&2
  exit 2
}

case ${1-} in
-h | --help)
  usage
  exit
  ;;
'') refuse 'the name of the image is missing' ;;
-*) refuse "$1 is not an option" ;;
esac
[ $# -le 2 ] || refuse "$3 is one argument too many"
name=$1
suite=${2:-bookworm}
word='[a-z0-9]+([._-]+[a-z0-9]+)*'
printf %s "$name" | grep -Eqx "$word(:[0-9]+/$word)?(/$word)*(:[[:alnum:]_.-]+)?" ||
  refuse "$name is not the name of an image"
printf %s "$suite" | grep -Eqx "$word" || refuse "$suite is not a release of Debian"
[ "$(id -u)" = 0 ] || refuse 'only root can make an image'
for tool in mmdebstrap buildah; do
  command -v "$tool" > /dev/null || refuse "$tool is not installed"
done

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
  "$suite" "$folder/base.tar" || {
  echo "make-base-image.sh: mmdebstrap did not get the packages of the release $suite" >&2
  exit 1
}

container=$(buildah from scratch)
buildah add --quiet "$container" "$folder/base.tar" / > /dev/null
buildah commit --quiet --timestamp "$SOURCE_DATE_EPOCH" "$container" "$name" > /dev/null
