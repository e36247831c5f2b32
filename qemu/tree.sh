# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Makes from the source of a stock kernel a tree that Rust modules can be compiled for.  To
# be sourced by scripts that define "tools COMMAND...", which runs a command where the
# kernel's compilers are.
#
# Debian's header packages lack the metadata of the kernel's own Rust crates.  It is
# rebuilt from the source package of the same version with the same compiler; symbol names
# then match those the stock kernel exports.

# unpack_tarball TARBALL SOURCE [OPTION]...: unpack a linux-source, with options of tar.
unpack_tarball() {
	local tarball=$1 source=$2
	shift 2
	mkdir "$source"
	tools tar -C "$source" --strip-components=1 "$@" -xf "$tarball"
}

# configure_tree SOURCE HEADERS TREE RELEASE [ARGUMENT]...: configure as the kernel of these
# headers was, with arguments of make.
#
# The file localversion gives every later make the stock release string, and with it
# the module's vermagic.
configure_tree() {
	local source=$1 headers=$2 tree=$3 release=$4 base
	shift 4
	mkdir -p "$tree"
	cp "$headers/.config" "$headers/Module.symvers" "$tree/"
	base=$(tools make -s -C "$source" kernelversion)
	printf '%s\n' "${release#"$base"}" >"$tree/localversion"
	tools make -C "$source" O="$tree" "$@" olddefconfig
}

# prepare_tree SOURCE TREE RELEASE [ARGUMENT]...: compile what modules need.
prepare_tree() {
	local source=$1 tree=$2 release=$3
	shift 3
	tools make -C "$source" O="$tree" "$@" "-j$(nproc)" modules_prepare
	grep -qF "\"$release\"" "$tree/include/generated/utsrelease.h"
}
