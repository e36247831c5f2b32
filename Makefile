# SPDX-License-Identifier: GPL-2.0
#
# The verbs of this project; "make help" lists them.  What the kernel's build
# needs to know about the module is in Kbuild.

KDIR ?= /lib/modules/$(shell uname -r)/build
arch := $(patsubst amd64,x86_64,$(patsubst aarch64,arm64,$(or $(ARCH),$(shell uname -m))))

# Output is kept apart by architecture and kernel.
release = $(shell sed -n 's/^.define UTS_RELEASE "\(.*\)"/\1/p' \
		$(KDIR)/include/generated/utsrelease.h 2>/dev/null)
MO ?= $(CURDIR)/build/$(arch)-$(release)

# Another architecture's compiler goes by Debian's name unless told otherwise.
gnu_x86_64 := x86_64
gnu_arm64 := aarch64
ifneq ($(gnu_$(arch)),$(shell uname -m))
CROSS_COMPILE ?= $(gnu_$(arch))-linux-gnu-
endif

# A module takes the compiler of its kernel.
ifneq ($(shell grep -sx CONFIG_CC_IS_CLANG=y $(KDIR)/include/config/auto.conf),)
LLVM ?= 1
endif

# Rust's core and the crate "kernel" are the kernel's, if its tree has them, or the module's own:
# rust/own.  RUST=kernel and RUST=own choose.
ifndef RUST
RUST := $(shell dkms/rust $(KDIR))
endif

# Not every kernel without Rust can compile into another folder than that of the sources, so links to
# them are in the output.
ifeq ($(RUST),own)
places = M=$(abspath $(MO)) RUST=own own-crates=$(shell dkms/crates)
else
places = M=$(CURDIR) MO=$(abspath $(MO))
endif

kbuild = $(MAKE) -C $(KDIR) ARCH=$(arch) $(if $(CROSS_COMPILE),CROSS_COMPILE=$(CROSS_COMPILE)) \
		$(if $(LLVM),LLVM=$(LLVM)) $(places)

.DEFAULT_GOAL := modules
.PHONY: help modules modules_install install uninstall package kernel demo shell selftest \
	test test-arguments test-cpus test-package test-lines test-pictures test-debug stress fuzz \
	fuzz-faults test-upstream bench proof tools htmldocs lint clean

# Fails if the kernel cannot print the name of a function.
CHECK_SYMBOLS ?= qemu/symbols

modules: ## compile ferroprobe.ko for the kernel prepared at KDIR=
	@CROSS_COMPILE=$(CROSS_COMPILE) RUST=$(RUST) qemu/preflight $(KDIR) $(arch)
	@mkdir -p $(MO)
	@[ "$(RUST)" != own ] || dkms/link-sources $(MO)
	+$(kbuild) modules
	@CROSS_COMPILE=$(CROSS_COMPILE) $(CHECK_SYMBOLS) $(MO)/ferroprobe.ko

modules_install: modules ## install it where modprobe finds it
	+$(kbuild) modules_install

# The kernel that is to have the module: KVER=, else the one of KDIR=, the running one.
KVER ?= $(or $(release),$(shell uname -r))

install: ## prepare, compile and install for the installed kernel KVER=, as the package does
	@FERROPROBE_KDIR=$(if $(filter file,$(origin KDIR)),,$(KDIR)) dkms/install $(KVER)

uninstall: ## remove what "make install" has installed for KVER=
	@dkms/install -r $(KVER)

package: ## ferroprobe-dkms_VERSION_all.deb and -tools_VERSION_ARCH.deb in build/, checked by lintian
	@qemu/package
	@qemu/package-tools

kernel: ## prepare a stock kernel and a tree to build for it; print its folder
	@qemu/kernel

demo: ## build, boot and show a session in QEMU
	@qemu/demo

shell: ## a guest with the module, the program and a prompt, or for the script on standard input
	@qemu/shell

selftest: ## one guest's selftests; T= picks some by pattern
	@qemu/selftest

test: ## every test: host, preflight, and guests of each architecture and kernel
	@qemu/test

stress: ## everything at once in a guest with four CPUs, for SECONDS= (300), drawn by SEED=
	@SECONDS_OF_STRESS='$(SECONDS)' qemu/stress

fuzz: ## operations drawn by SEED= (1), judged by a model, for SECONDS= (180); or those of OPS=
	@SECONDS_OF_FUZZ='$(SECONDS)' qemu/fuzz

fuzz-faults: ## bring faults back, NAME= one of tests/fuzz-faults: "make fuzz" must find each
	@SECONDS_OF_FUZZ='$(SECONDS)' qemu/fuzz-faults $(NAME)

test-debug: ## the selftests on kernels with KASAN, lockdep and the like, with PREEMPT_RT, and with CFI
	@qemu/test-debug

test-upstream: ## the kernel's own tests of kprobe events, against the module
	@qemu/test-upstream

test-cpus: ## how long things take in a guest with 64 CPUs
	@qemu/test-cpus

test-package: ## install the packages in a fresh Debian root of ARCH=, and boot what they compiled
	@qemu/test-package
	@qemu/test-package-tools

test-lines: ## lines and variables of a stock kernel, COUNT= (1000) of each, beside perf probe's
	@qemu/test-lines

test-arguments: ## arguments of all functions of a stock kernel, beside its debug information
	@qemu/test-arguments

test-pictures: ## look at the program's pictures in a browser
	@qemu/test-pictures

bench: ## measure beside others; rows in build/bench.tsv
	@qemu/bench

proof: ## the decoders beside the kernel's own code: all verdicts, all modules, 10^9 buffers
	@qemu/proof

tools: ## build/ferroprobe: probes by source line and variable; build/ferroprobe-insn: maps of functions
	@qemu/tools ferroprobe
	@qemu/tools ferroprobe-insn

htmldocs: ## the documents as pages, build/htmldocs/index.html
	@qemu/htmldocs

lint: ## formatting, clippy on host and kernel code, shellcheck, layers
	@qemu/lint

clean: ## remove everything that was built here (the cache stays)
	rm -rf build tests/target

help: ## this list
	@echo 'Verbs:'
	@sed -n 's/^\([a-z_-]*\):[^#]*## /  \1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 20
	@echo 'Variables:'
	@echo '  KDIR=             the kernel tree to compile for (modules, modules_install, install)'
	@echo '  KVER=             install, uninstall: the release of an installed kernel, default: the'
	@echo '                    running one'
	@echo '  ARCH=             x86_64 or arm64, default: this machine'
	@echo '  RUST=             kernel or own: the crates to compile with are those of the kernel, by'
	@echo '                    default if KDIR= has them, or those of rust/own'
	@echo '  KERNEL=           series of the stock kernel in QEMU: 6.12, 7.2 or 7.3, default: the newest;'
	@echo '                    or one that test-debug compiles: debug, rt, cfi, fp, panic'
	@echo '  SUITE=            the Debian release whose kernels, compilers and packages are taken,'
	@echo '                    default: trixie; or sid'
	@echo '  DEBUG_INFO=1      shell: with the debug information of the kernel'
	@echo '  LIMIT=            shell: how many seconds a script may take'
	@echo '  SECONDS= SEED=    stress, fuzz: for how long, and what they draw operations by'
	@echo '  NAME=             fuzz-faults: the patches to apply, without .patch; all by default'
	@echo '  OPS=              fuzz: a file of operations to perform in place of those'
	@echo '  COUNT= SEED=      test-lines: how many lines and variables it draws, and by what; SPOTS='
	@echo '  SPOTS=            are looked at in place of them, such as vfs_read:11 or vfs_read'
	@echo '  T=                patterns of selftest names, or of FOLDER/NAME'
	@echo '  PEER=1            demo, selftest: use the kernel'"'"'s own kprobe events, not the module'
