# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154
#
# Which Debian mirror to use: the one the host is configured with, where it
# carries the release wanted; nothing otherwise, and debootstrap then uses its
# default.  To be sourced after lib.sh.

# host_mirrors: the URIs of the host's repositories that look like Debian's own
# archive, of either style of configuration file; apt itself does the parsing.
host_mirrors() {
	command -v apt-get >/dev/null || return 0
	# shellcheck disable=SC2016 # the variables are apt's
	apt-get indextargets --format '$(COMPONENT) $(RELEASE) $(REPO_URI)' \
		'Created-By: Packages' 2>/dev/null |
		awk '$1 == "main" && $2 !~ /-(security|updates|backports)/ &&
			$3 ~ /^https?:/ && !seen[$3]++ { print $3 }'
}

# carries URI: does this repository have the release and its backports?
carries() {
	local release=$cache/Release.$$ status=1
	if timeout 30 /usr/lib/apt/apt-helper download-file \
		"${1%/}/dists/$suite-backports/Release" "$release" >/dev/null 2>&1 &&
		grep -q '^Origin: Debian' "$release"; then
		status=0
	fi
	rm -f "$release"
	return "$status"
}

find_mirror() {
	local uri
	for uri in $(host_mirrors); do
		if carries "$uri"; then
			echo "${uri%/}"
			return
		fi
	done
}

# apt_proxy: the lines of apt configuration that name the host's proxy.
apt_proxy() {
	command -v apt-config >/dev/null || return 0
	apt-config dump 2>/dev/null | grep -E '^Acquire::https?::Proxy' || true
}
