# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154
#
# Chooses a Debian mirror: the host's, if it carries the wanted release; otherwise
# none, and debootstrap uses its default.  To be sourced after lib.sh.

# host_mirrors: print the URIs of the host's repositories that look like Debian's own
# archive, in either style of configuration file, as apt itself parses them.
host_mirrors() {
	command -v apt-get >/dev/null || return 0
	# shellcheck disable=SC2016 # the variables are apt's
	apt-get indextargets --format '$(COMPONENT) $(RELEASE) $(REPO_URI)' \
		'Created-By: Packages' 2>/dev/null |
		awk '$1 == "main" && $2 !~ /-(security|updates|backports)/ &&
			$3 ~ /^https?:/ && !seen[$3]++ { print $3 }'
}

# carries URI: succeeds if the repository has the release and its kernels.
carries() {
	local release=$cache/Release.$$ status=1
	if timeout 30 /usr/lib/apt/apt-helper download-file \
		"${1%/}/dists/$(kernels_of "$suite")/Release" "$release" >/dev/null 2>&1 &&
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

# apt_acquire: print the lines of the host's apt configuration that say how its mirror is
# reached: the proxy, and whether the mirror may lag.
apt_acquire() {
	command -v apt-config >/dev/null || return 0
	apt-config dump 2>/dev/null | grep -E '^Acquire::(https?::Proxy|Check-Valid-Until)' || true
}
