# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154
#
# Finds and fetches kernel packages of the release $suite, from the backports if it is the
# toolbox's, for both architectures.  It uses an apt whose configuration, lists and archives are in
# the cache; the host's and the toolbox's stay as they are.  To be sourced after
# lib.sh.

apt_dir=$cache/apt
[ "$suite" = trixie ] || apt_dir+=-$suite

# Lists older than this many minutes are fetched again: old point releases disappear.
lists_age=1440

private_apt() {
	local tool=$1
	shift
	"$top/qemu/in-toolbox" "$tool" -c "$apt_dir/apt.conf" "$@"
}

# mirror_of_toolbox: print the toolbox's own archive.
mirror_of_toolbox() {
	local root
	root=$("$top/qemu/toolbox")
	if [ "$root" = / ]; then
		# shellcheck source-path=SCRIPTDIR
		. "$top/qemu/mirror.sh"
		find_mirror
	else
		"$top/qemu/in-toolbox" sh -c 'cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null || true' |
			awk '$1 == "deb" { for (i = 2; i <= NF; i++) if ($i ~ /^https?:/) { print $i; exit } }
				$1 == "URIs:" { print $2; exit }'
	fi
}

configure_apt() {
	local mirror
	mirror=$(mirror_of_toolbox)
	[ -n "$mirror" ] || return 1
	mkdir -p "$apt_dir/lists/partial" "$apt_dir/archives/partial" "$apt_dir/empty"
	: >"$apt_dir/status"
	printf "deb $mirror %s main\n" "$suite" "$(kernels_of "$suite")" | uniq >"$apt_dir/sources.list"
	# shellcheck source-path=SCRIPTDIR
	. "$top/qemu/mirror.sh"
	apt_acquire >"$apt_dir/apt.conf"
	cat >>"$apt_dir/apt.conf" <<-END
		APT::Architecture "$host_arch";
		APT::Architectures { "amd64"; "arm64"; };
		APT::Sandbox::User "";
		Acquire::Languages "none";
		Acquire::Retries "3";
		Dir::State::lists "$apt_dir/lists";
		Dir::State::status "$apt_dir/status";
		Dir::Cache "$apt_dir";
		Dir::Cache::archives "$apt_dir/archives";
		Dir::Etc::sourcelist "$apt_dir/sources.list";
		Dir::Etc::sourceparts "$apt_dir/empty";
		Dir::Etc::preferencesparts "$apt_dir/empty";
	END
}

# A download that fails is an error, or lists that were not fetched would count as fresh; and
# set -e does not hold where the caller looks at the status.
update_lists() {
	configure_apt && private_apt apt-get --error-on=any update && touch "$apt_dir/updated"
}

# lists_are_fresh: succeeds if there is nothing to fetch.
lists_are_fresh() {
	[ -n "$(find "$apt_dir/updated" -mmin "-$lists_age" 2>/dev/null)" ]
}

# refresh_lists: fetch the lists, if they are old.  Without a network, the old ones are used, and
# kernels that were prepared before.
refresh_lists() {
	lists_are_fresh && return
	with_lock apt
	lists_are_fresh && return
	if [ -e "$apt_dir/updated" ]; then
		if ! update_lists >"$cache/apt.log" 2>&1; then
			say "no new package lists (log: $cache/apt.log), going on with the old ones"
		fi
	else
		steps 1 "$cache/apt.log"
		step "package lists" "check the network and try again" update_lists
	fi
	exec 9>&-
}

# versions PACKAGE: print the versions in the archive, one per line, newest first.
versions() {
	private_apt apt-cache madison "$1" | awk '{ print $3 }' | sort -rV | uniq
}

# releases SERIES ARCH: print the cloud kernels of the series, newest first.
releases() {
	local name
	name=$(image_package "$1" "${1//./\\.}\\.[0-9]+\\+[a-z0-9]+-cloud-$2")
	private_apt apt-cache search --names-only "^$name\$" |
		sed -nE 's/^linux-(binary-unsigned|image)-([^ ]*) .*/\2/p' | sed 's/-unsigned$//' | sort -rV
}

# image_package SERIES RELEASE: print the name of the package that has the image without a signature.
image_package() {
	case $1 in
	6.*) echo "linux-image-$2-unsigned" ;;
	*) echo "linux-binary-unsigned-$2" ;;
	esac
}

# headers_common RELEASE: print the name of the package with the headers that do not depend on the
# architecture.
headers_common() { echo "linux-headers-${1%%-*}-common"; }

# resolve SERIES ARCH: print "RELEASE VERSION" of the newest kernel whose image,
# headers and source are in the archive in the same version.
resolve() {
	local release version
	for release in $(releases "$1" "$2"); do
		for version in $(versions "$(image_package "$1" "$release")"); do
			if versions "linux-headers-$release" | grep -qxF "$version" &&
				versions "linux-source-$1" | grep -qxF "$version"; then
				echo "$release $version"
				return
			fi
		done
	done
	return 1
}

# stock ARCH: print "RELEASE VERSION" of the cloud kernel that the release installs.
stock() {
	local release
	release=$(private_apt apt-cache depends "linux-image-cloud-$1" |
		sed -n 's/^ *Depends: linux-image-\([0-9].*\)/\1/p')
	echo "$release $(versions "linux-headers-$release" | head -n 1)"
}

# fetch DIR PACKAGE=VERSION...: download packages to a folder.
fetch() {
	local dir=$1
	shift
	mkdir -p "$dir"
	(cd "$dir" && private_apt apt-get download -q "$@")
}
