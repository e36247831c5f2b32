// SPDX-License-Identifier: GPL-2.0

//! `ferroprobe doctor`: what this kernel and machine can do, and what to do about the rest.

use crate::find::{self, Wanted};
use std::fmt::{self, Write};
use std::fs;
use std::path::{Path, PathBuf};

/// Whether root asks, who need not be told to be root.
fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A finding.
struct Finding {
    state: State,
    /// What was looked at.
    what: &'static str,
    /// What was found and, if it is not well, what to do.
    text: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Well,
    /// Something works only in part, or could not be looked at.
    Note,
    /// Nothing works without.
    Bad,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Well => "ok",
            Self::Note => "note",
            Self::Bad => "bad",
        })
    }
}

/// The root of the file system, which tests replace.
pub struct Machine {
    /// Usually `/`.
    pub root: PathBuf,
}

impl Machine {
    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    fn text(&self, path: &str) -> Option<String> {
        Some(fs::read_to_string(self.path(path)).ok()?.trim().into())
    }

    fn release(&self) -> String {
        self.text("proc/sys/kernel/osrelease").unwrap_or_default()
    }

    /// The findings as text, and whether probes can be defined.
    pub fn report(&self) -> (String, bool) {
        let findings = [
            self.architecture(),
            self.series(),
            self.option(
                "CONFIG_KPROBES",
                "no probe can be set: take a kernel with it",
            ),
            self.option(
                "CONFIG_DEBUG_FS",
                "ferroprobe has no directory: take a kernel with it",
            ),
            self.option(
                "CONFIG_RUST",
                "the module cannot be compiled for it: take a kernel with it",
            ),
            self.module(),
            self.armed(),
            self.lockdown(),
            self.types(),
            self.debug_information(),
        ];
        let mut text = String::new();
        for finding in &findings {
            let Finding {
                state,
                what,
                text: found,
            } = finding;
            // Writing to a string does not fail.
            let _ = writeln!(text, "{state:<5} {what}: {found}");
        }
        let works = findings.iter().all(|finding| finding.state != State::Bad);
        (text, works)
    }

    fn architecture(&self) -> Finding {
        let name = std::env::consts::ARCH;
        let known = matches!(name, "x86_64" | "aarch64");
        Finding {
            state: if known { State::Well } else { State::Bad },
            what: "architecture",
            text: match known {
                true => name.into(),
                false => format!("{name}: ferroprobe knows x86_64 and arm64"),
            },
        }
    }

    fn series(&self) -> Finding {
        let release = self.release();
        let known = ["7.2.", "7.3."]
            .iter()
            .any(|series| release.starts_with(series));
        Finding {
            state: if known { State::Well } else { State::Bad },
            what: "kernel",
            text: match known {
                true => release,
                false => format!("{release}: ferroprobe is made for Linux 7.2 and 7.3"),
            },
        }
    }

    fn option(&self, option: &'static str, without: &str) -> Finding {
        let release = self.release();
        let places = [
            format!("boot/config-{release}"),
            format!("lib/modules/{release}/config"),
        ];
        let config = places.iter().find_map(|place| self.text(place));
        let (state, text) = match config {
            None if self.path("proc/config.gz").exists() => (
                State::Note,
                format!("unknown: zgrep {option} /proc/config.gz says it"),
            ),
            None => (
                State::Note,
                format!(
                    "unknown: the kernel's configuration is neither in /boot nor in \
                     /lib/modules/{release}"
                ),
            ),
            Some(config)
                if config
                    .lines()
                    .any(|line| line.strip_prefix(option) == Some("=y")) =>
            {
                (State::Well, "yes".into())
            }
            Some(_) => (State::Bad, format!("no: {without}")),
        };
        Finding {
            state,
            what: option,
            text,
        }
    }

    fn module(&self) -> Finding {
        let loaded = self.path("sys/module/ferroprobe").exists();
        let shown = self
            .path("sys/kernel/debug/ferroprobe/kprobe_events")
            .exists();
        let (state, text) = match (loaded, shown) {
            (_, true) => (State::Well, "loaded, in /sys/kernel/debug/ferroprobe"),
            (true, false) if is_root() => (
                State::Note,
                "loaded, and debugfs is not mounted: mount -t debugfs debugfs /sys/kernel/debug",
            ),
            (true, false) => (
                State::Note,
                "loaded, but its directory is not to be seen: be root, and mount -t debugfs debugfs /sys/kernel/debug",
            ),
            (false, false) => (State::Note, "not loaded: modprobe ferroprobe"),
        };
        Finding {
            state,
            what: "module",
            text: text.into(),
        }
    }

    fn armed(&self) -> Finding {
        let (state, text) = match self.text("sys/kernel/debug/kprobes/enabled").as_deref() {
            Some("0") => (
                State::Bad,
                "all kprobes are disarmed: echo 1 > /sys/kernel/debug/kprobes/enabled",
            ),
            Some(_) => (State::Well, "armed"),
            None if is_root() => (
                State::Note,
                "unknown: mount -t debugfs debugfs /sys/kernel/debug",
            ),
            None => (State::Note, "unknown: be root, and mount debugfs"),
        };
        Finding {
            state,
            what: "kprobes",
            text: text.into(),
        }
    }

    fn lockdown(&self) -> Finding {
        let text = self
            .text("sys/kernel/security/lockdown")
            .unwrap_or_default();
        let (state, text) = match text {
            text if text.contains("[confidentiality]") => (
                State::Bad,
                "confidentiality: the kernel refuses debugfs and kprobes: boot without it",
            ),
            text if text.contains("[integrity]") => (
                State::Note,
                "integrity: modules need a signature, and debugfs is read-only: see installing.rst",
            ),
            _ => (State::Well, "none"),
        };
        Finding {
            state,
            what: "lockdown",
            text: text.into(),
        }
    }

    fn types(&self) -> Finding {
        let exists = self.path("sys/kernel/btf/vmlinux").exists();
        Finding {
            state: if exists { State::Well } else { State::Note },
            what: "types (BTF)",
            text: match exists {
                true => "yes".into(),
                false => "none: $argN by name and typecasts are refused; definitions of ferroprobe define need none".into(),
            },
        }
    }

    fn debug_information(&self) -> Finding {
        let folder = self.path("usr/lib/debug");
        let wanted = Wanted {
            vmlinux: None,
            module: None,
            debug_dir: Some(Path::new(&folder)),
            other: false,
        };
        let (state, text) = match find::debug_file(&wanted) {
            Ok(path) => (State::Well, path.display().to_string()),
            Err(refusal) => (State::Note, refusal.to_string()),
        };
        Finding {
            state,
            what: "debug information",
            text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Machine) {
        let folder = tempfile::tempdir().expect("a folder");
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        let root = folder.path().to_path_buf();
        (folder, Machine { root })
    }

    #[test]
    fn a_good_machine_is_well() {
        let (_folder, machine) = machine(&[
            ("proc/sys/kernel/osrelease", "7.3.4-amd64\n"),
            (
                "boot/config-7.3.4-amd64",
                "CONFIG_KPROBES=y\nCONFIG_DEBUG_FS=y\nCONFIG_RUST=y\n",
            ),
            ("sys/kernel/debug/ferroprobe/kprobe_events", ""),
            ("sys/kernel/debug/kprobes/enabled", "1\n"),
        ]);
        let (text, works) = machine.report();
        assert!(works, "{text}");
        assert!(text.contains("ok    kernel: 7.3.4-amd64\n"), "{text}");
        assert!(text.contains("ok    CONFIG_KPROBES: yes\n"), "{text}");
    }

    #[test]
    fn what_is_bad_comes_with_what_to_do() {
        let (_folder, machine) = machine(&[
            ("proc/sys/kernel/osrelease", "6.1.0\n"),
            (
                "boot/config-6.1.0",
                "CONFIG_KPROBES=y\n# CONFIG_RUST is not set\n",
            ),
            ("sys/kernel/debug/kprobes/enabled", "0\n"),
            (
                "sys/kernel/security/lockdown",
                "none integrity [confidentiality]\n",
            ),
        ]);
        let (text, works) = machine.report();
        assert!(!works);
        for line in [
            "kernel: 6.1.0",
            "CONFIG_RUST: no",
            "kprobes: all",
            "lockdown: conf",
        ] {
            assert!(text.contains(&format!("bad   {line}")), "{line}: {text}");
        }
        assert!(
            text.contains("note  module: not loaded: modprobe ferroprobe"),
            "{text}"
        );
    }
}
