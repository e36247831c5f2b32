// SPDX-License-Identifier: GPL-2.0

//! Finds the file with the debug information of a kernel or module, where distributions and
//! builds leave it, and refuses one of another build.

use crate::build_id;
use crate::data::Data;
use crate::error::Result;
use crate::image::Image;
use crate::refuse;
use std::fs;
use std::path::{Path, PathBuf};

/// What is looked for.
pub struct Wanted<'a> {
    /// The file of the kernel.
    pub vmlinux: Option<&'a Path>,
    /// A module, by name or as a file.
    pub module: Option<&'a str>,
    /// Where debug information is, `/usr/lib/debug` by default.
    pub debug_dir: Option<&'a Path>,
    /// Whether another build than the running one will do.
    pub other: bool,
}

/// The file with the debug information.
pub fn debug_file(wanted: &Wanted<'_>) -> Result<PathBuf> {
    let given = match (wanted.vmlinux, wanted.module) {
        (Some(path), _) => Some(path.to_path_buf()),
        (None, Some(module)) if module.contains(['/', '.']) => Some(module.into()),
        _ => None,
    };
    if let Some(path) = given {
        if !wanted.other {
            check(&path, wanted.module.is_some())?;
        }
        return Ok(path);
    }
    if wanted.other {
        refuse!("--other needs a file: give it with --vmlinux or --module");
    }
    let release = fs::read_to_string("/proc/sys/kernel/osrelease")?;
    let release = release.trim();
    let folder = wanted.debug_dir.unwrap_or(Path::new("/usr/lib/debug"));
    let (id, candidates) = match wanted.module {
        Some(module) => {
            let id = build_id::of_loaded_module(module);
            let Some(id) = id else {
                refuse!("no module {module} is loaded, or it has no build-id: load it, or give its file");
            };
            let mut candidates = by_build_id(folder, &id);
            candidates.extend(of_module(folder, release, module));
            (id, candidates)
        }
        None => {
            let Some(id) = build_id::of_running_kernel() else {
                refuse!("the running kernel shows no build-id in /sys/kernel/notes: give its file with --vmlinux and --other");
            };
            let mut candidates = by_build_id(folder, &id);
            candidates.extend(of_kernel(folder, release));
            (id, candidates)
        }
    };
    let mut other = None;
    for path in candidates {
        match id_of(&path) {
            Some(found) if found == id => return Ok(path),
            Some(_) => other = Some(path),
            None => {}
        }
    }
    let what = wanted.module.unwrap_or("the running kernel");
    match other {
        Some(path) => refuse!("{} is of another build than {what}, whose build-id is {id}: install its debug information", path.display()),
        None => refuse!("no debug information of {what} (build-id {id}) below {}: {}, or give the file with --vmlinux or --module", folder.display(), remedy(release)),
    }
}

/// What to install for a release. Only Debian's kernels have their debug information in a package that
/// the release names; one that was compiled here has it in its tree.
fn remedy(release: &str) -> String {
    let is_debian = release.contains("+deb")
        || ["-amd64", "-arm64"]
            .iter()
            .any(|arch| release.ends_with(arch));
    match is_debian {
        true => format!("install linux-image-{release}-dbg"),
        false => "install the debug information of this kernel".into(),
    }
}

/// By the first two digits and the others, as gdb has it.
fn by_build_id(folder: &Path, id: &str) -> Vec<PathBuf> {
    let Some((first, rest)) = id.split_at_checked(2) else {
        return Vec::new();
    };
    let folder = folder.join(".build-id").join(first);
    vec![folder.join(format!("{rest}.debug"))]
}

/// The places of a kernel's file: of Debian and Fedora, and of its build tree.
fn of_kernel(folder: &Path, release: &str) -> Vec<PathBuf> {
    let modules = Path::new("lib/modules").join(release);
    vec![
        folder.join(&modules).join("vmlinux"),
        folder.join(format!("boot/vmlinux-{release}")),
        folder.join(format!("vmlinux-{release}")),
        Path::new("/").join(&modules).join("build/vmlinux"),
        PathBuf::from(format!("/boot/vmlinux-{release}")),
    ]
}

/// The places of a module's file: where `modules.dep` says, below the folder of debug
/// information and where it is installed.
fn of_module(folder: &Path, release: &str, module: &str) -> Vec<PathBuf> {
    let modules = Path::new("lib/modules").join(release);
    let installed = Path::new("/").join(&modules);
    let list = fs::read_to_string(installed.join("modules.dep")).unwrap_or_default();
    let paths = list.lines().filter_map(|line| line.split(':').next());
    let Some(path) = paths.into_iter().find(|path| name_of(path) == module) else {
        return Vec::new();
    };
    let plain = path.rsplit_once(".ko").map_or(path, |(stem, _)| stem);
    vec![
        folder.join(&modules).join(format!("{plain}.ko")),
        folder.join(&modules).join(format!("{plain}.ko.debug")),
        installed.join(path),
    ]
}

/// The name of the module in a file, as the kernel spells it.
fn name_of(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or_default();
    let name = name.split(".ko").next().unwrap_or_default();
    name.replace('-', "_")
}

fn id_of(path: &Path) -> Option<String> {
    let data = Data::open(path).ok()?;
    let image = Image::parse(&data).ok()?;
    image.build_id()
}

/// Refuses a file that is not of the running kernel.
fn check(path: &Path, is_module: bool) -> Result<()> {
    let data = Data::open(path)?;
    let image = Image::parse(&data).map_err(|refusal| refusal.about(path.display()))?;
    let own = image.build_id();
    let running = match is_module {
        true => image
            .module_name()
            .and_then(|name| build_id::of_loaded_module(&name)),
        false => build_id::of_running_kernel(),
    };
    let what = match is_module {
        true => "the loaded module",
        false => "the running kernel",
    };
    match (own, running) {
        (Some(own), Some(running)) if own == running => Ok(()),
        (own, running) => refuse!(
            "{}: its build-id is {}, that of {what} {}: give the right file, or --other to define probes for another machine",
            path.display(),
            own.as_deref().unwrap_or("none"),
            running.as_deref().unwrap_or("none")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_modules_are_the_kernels() {
        assert_eq!(name_of("kernel/drivers/md/dm-mod.ko.xz"), "dm_mod");
        assert_eq!(name_of("extra/x.ko"), "x");
    }

    #[test]
    fn only_packages_that_there_are_are_named() {
        for release in ["7.3.4+deb13-cloud-amd64", "6.1.0-25-arm64"] {
            assert_eq!(
                remedy(release),
                format!("install linux-image-{release}-dbg")
            );
        }
        for release in ["7.3.4", "6.8.0-45-generic", "7.3.4-debug-own"] {
            assert!(!remedy(release).contains(release));
        }
    }

    #[test]
    fn a_build_id_is_a_path() {
        let found = by_build_id(Path::new("/usr/lib/debug"), "1fe996");
        let expected = Path::new("/usr/lib/debug/.build-id/1f/e996.debug");
        assert_eq!(found, [expected]);
        assert!(by_build_id(Path::new("/"), "").is_empty());
    }
}
