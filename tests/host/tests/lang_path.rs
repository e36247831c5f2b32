// SPDX-License-Identifier: GPL-2.0

//! Full paths: what is recorded of files, paths and dentries, and of hostile memory.

use crate::support;

use ferroprobe_engine::engine::filter::{Filter, Hit, LookupFunctions};
use ferroprobe_engine::engine::program::exec;
use ferroprobe_engine::engine::record::Header;
use ferroprobe_engine::engine::refusal::error::Kind;
use ferroprobe_engine::engine::refusal::suggest::distance::Nearest;
use proptest::prelude::*;
use support::{btf, compile, hit, printed, Kernel};

/// A task with files.
struct World {
    kernel: Kernel,
    next: u64,
}

/// A mount, and its filesystem.
#[derive(Clone, Copy)]
struct Mounted {
    mount: u64,
    superblock: u64,
    root: u64,
}

impl Mounted {
    /// The `struct vfsmount`.
    fn vfs(self) -> u64 {
        self.mount + 24
    }
}

const TASK: u64 = 0x7000;
const NAMESPACE: u64 = 0x4242;
const OTHER_NAMESPACE: u64 = 0x4343;

impl World {
    fn new() -> (Self, Mounted) {
        let kernel = Kernel {
            blob: Some(btf::build(include_str!("../../data/path-btf.txt"))),
            ..Kernel::default()
        };
        let mut world = Self {
            kernel,
            next: 0x10_0000,
        };
        world.kernel.write(TASK, &[0; 256]);
        let root = world.filesystem("ext4");
        world.word(root.mount + 8, root.mount);
        let fs = world.room(64);
        world.word(TASK + 64, fs);
        world.set_root(root, root.root);
        let namespaces = world.room(32);
        world.word(TASK + 72, namespaces);
        world.word(namespaces + 8, NAMESPACE);
        (world, root)
    }

    fn set_root(&mut self, mounted: Mounted, dentry: u64) {
        let fs = self.get(TASK + 64);
        self.word(fs + 16, mounted.vfs());
        self.word(fs + 24, dentry);
    }

    fn room(&mut self, size: usize) -> u64 {
        let at = self.next;
        self.kernel.write(at, &vec![0; size]);
        // What is between cannot be read.
        self.next += size as u64 + 16;
        at
    }

    fn word(&mut self, address: u64, value: u64) {
        self.kernel.write(address, &value.to_le_bytes());
    }

    fn get(&self, address: u64) -> u64 {
        let byte = |n| u64::from(self.kernel.memory[&(address + n)]);
        (0..8).fold(0, |value, n| value | byte(n) << (8 * n))
    }

    fn text(&mut self, text: &[u8]) -> u64 {
        let at = self.room(text.len() + 1);
        self.kernel.write(at, text);
        at
    }

    /// A filesystem, mounted once.
    fn filesystem(&mut self, kind: &str) -> Mounted {
        let superblock = self.room(64);
        let kind_at = self.room(32);
        let name = self.text(kind.as_bytes());
        self.word(kind_at + 8, name);
        self.word(superblock + 8, kind_at);
        let root = self.dentry_of(superblock, None, b"/");
        let mount = self.mount(superblock, root);
        Mounted {
            mount,
            superblock,
            root,
        }
    }

    /// One more mount of the filesystem.
    fn mount(&mut self, superblock: u64, root: u64) -> u64 {
        let mount = self.room(128);
        let first = self.get(superblock + 16);
        self.word(mount + 64, first);
        self.word(superblock + 16, mount);
        self.word(mount + 24 + 8, root);
        self.word(mount + 72, NAMESPACE);
        mount
    }

    /// Puts a mount at a place.
    fn attach(&mut self, mounted: Mounted, parent: Mounted, mountpoint: u64) {
        self.word(mounted.mount + 8, parent.mount);
        self.word(mounted.mount + 16, mountpoint);
    }

    fn dentry_of(&mut self, superblock: u64, parent: Option<u64>, name: &[u8]) -> u64 {
        let dentry = self.room(96);
        self.word(dentry + 16, 0x1111);
        self.word(dentry + 24, parent.unwrap_or(dentry));
        let text = self.text(name);
        self.word(dentry + 32, (name.len() as u64) << 32 | 0x9999);
        self.word(dentry + 40, text);
        let inode = self.room(64);
        self.word(dentry + 48, inode);
        self.word(dentry + 72, superblock);
        dentry
    }

    fn dentry(&mut self, parent: u64, name: &str) -> u64 {
        let superblock = self.get(parent + 72);
        self.dentry_of(superblock, Some(parent), name.as_bytes())
    }

    fn dentries(&mut self, root: u64, path: &str) -> u64 {
        let names = path.split('/').filter(|name| !name.is_empty());
        names.fold(root, |parent, name| self.dentry(parent, name))
    }

    /// A dentry that is in no directory.
    fn pseudo(&mut self, kind: &str, name: &str, number: u64) -> (Mounted, u64) {
        let mounted = self.filesystem(kind);
        let operations = self.room(64);
        self.word(operations + 16, 0x9000);
        let dentry = self.dentry_of(mounted.superblock, None, name.as_bytes());
        self.word(dentry + 64, operations);
        let inode = self.get(dentry + 48);
        self.word(inode + 16, number);
        (mounted, dentry)
    }

    fn file(&mut self, mounted: Mounted, dentry: u64) -> u64 {
        let file = self.room(64);
        self.word(file + 16, mounted.vfs());
        self.word(file + 24, dentry);
        file
    }

    /// What is recorded of an open file.
    fn path(&mut self, mounted: Mounted, dentry: u64) -> String {
        let file = self.file(mounted, dentry);
        self.kernel.set("di", file);
        printed("p opened file:path", &mut self.kernel)
    }
}

fn quoted(path: &str) -> String {
    format!("file=\"{path}\"")
}

#[test]
fn files_paths_and_dentries_have_paths() {
    let (mut world, root) = World::new();
    let passwd = world.dentries(root.root, "etc/passwd");
    let file = world.file(root, passwd);
    world.kernel.set("di", file);
    world.kernel.set("si", file + 16);
    world.kernel.set("dx", passwd);
    for argument in [
        "file",
        "path",
        "dentry",
        "$arg1",
        "$arg2",
        "$arg3",
        "file->f_path",
        "file->f_path.dentry",
        "((struct file *)%di)->f_path",
        "(struct file *)%di",
        "(struct path *)%si",
        "(struct dentry *)%dx",
        "(file,f_path)path",
        "$arg1->f_path.dentry->d_parent->d_parent->d_parent",
    ] {
        let got = printed(&format!("p opened x={argument}:path"), &mut world.kernel);
        let want = if argument.ends_with("d_parent") {
            "/"
        } else {
            "/etc/passwd"
        };
        assert_eq!(got, format!("x=\"{want}\""), "{argument}");
    }
    let got = printed("r opened a=$retval:path b=$arg3:path", &mut {
        world.kernel.set("ax", file);
        world.kernel.clone()
    });
    assert_eq!(got, "a=\"/etc/passwd\" b=\"/etc/passwd\"");
}

#[test]
fn mounts_and_roots() {
    let (mut world, root) = World::new();
    assert_eq!(world.path(root, root.root), quoted("/"));
    let mnt = world.dentries(root.root, "mnt/disk");
    let disk = world.filesystem("xfs");
    world.attach(disk, root, mnt);
    assert_eq!(world.path(disk, disk.root), quoted("/mnt/disk"));
    let deep = world.dentries(disk.root, "a/b/c");
    assert_eq!(world.path(disk, deep), quoted("/mnt/disk/a/b/c"));
    // A directory bound to another place.
    let a = world.get(world.get(deep + 24) + 24);
    let bound = Mounted {
        mount: world.mount(disk.superblock, a),
        ..disk
    };
    let place = world.dentries(root.root, "srv");
    world.attach(bound, root, place);
    assert_eq!(world.path(bound, deep), quoted("/srv/b/c"));
    // A task in a root of its own, in which this mount is not.
    world.set_root(root, place);
    assert_eq!(world.path(disk, deep), quoted("/mnt/disk/a/b/c"));
    world.set_root(disk, a);
    assert_eq!(world.path(disk, deep), quoted("/b/c"));
    // A mount that is no longer anywhere.
    world.word(bound.mount + 8, bound.mount);
    assert_eq!(world.path(bound, deep), quoted("/b/c"));
    // A directory that has been moved out of what is bound.
    assert_eq!(world.path(bound, mnt), quoted(".../mnt/disk"));
    // A task that ends has no root.
    world.word(TASK + 64, 0);
    assert_eq!(world.path(disk, deep), quoted("/mnt/disk/a/b/c"));
}

#[test]
fn a_dentry_has_the_only_mount_of_the_namespace() {
    let (mut world, root) = World::new();
    let place = world.dentries(root.root, "mnt");
    let disk = world.filesystem("xfs");
    world.attach(disk, root, place);
    let deep = world.dentries(disk.root, "a/b");
    world.kernel.set("dx", deep);
    let path = |world: &mut World| printed("p opened dentry:path", &mut world.kernel);
    assert_eq!(path(&mut world), "dentry=\"/mnt/a/b\"");
    let second = world.mount(disk.superblock, disk.root);
    assert_eq!(path(&mut world), "dentry=\".../a/b\"");
    world.word(second + 72, OTHER_NAMESPACE);
    assert_eq!(path(&mut world), "dentry=\"/mnt/a/b\"");
    world.word(disk.mount + 72, OTHER_NAMESPACE);
    assert_eq!(path(&mut world), "dentry=\".../a/b\"");
    // A list of mounts without an end.
    world.word(second + 64, second);
    world.word(disk.mount + 72, NAMESPACE);
    assert_eq!(path(&mut world), "dentry=\".../a/b\"");
    world.kernel.set("dx", disk.root);
    assert_eq!(path(&mut world), "dentry=\".../\"");
}

#[test]
fn files_in_no_directory_and_deleted_ones() {
    let (mut world, root) = World::new();
    let gone = world.dentries(root.root, "tmp/x");
    world.word(gone + 16, 0);
    assert_eq!(world.path(root, gone), quoted("/tmp/x (deleted)"));
    for (kind, name, number, want) in [
        ("pipefs", "", 1234, "pipe:[1234]"),
        ("sockfs", "TCP", 0, "socket:[0]"),
        ("sockfs", "TCP", u64::MAX, "socket:[18446744073709551615]"),
        ("sockfs", "TCP", 1_0000_0000, "socket:[100000000]"),
        ("anon_inodefs", "[eventfd]", 7, "anon_inode:[eventfd]"),
        ("pidfs", "x", 7, "anon_inode:[pidfd]"),
        ("failfs", "/", 7, "failfs:/"),
        ("tmpfs", "memfd:jit", 7, "/memfd:jit (deleted)"),
        ("dmabuf", "buf", 7, ".../buf"),
    ] {
        let (mounted, dentry) = world.pseudo(kind, name, number);
        assert_eq!(world.path(mounted, dentry), quoted(want), "{kind}");
    }
    let (mounted, dentry) = world.pseudo("nsfs", "", 4_026_531_840);
    let (inode, namespace, operations) = (world.get(dentry + 48), world.room(32), world.room(16));
    let name = world.text(b"net");
    world.word(inode + 24, namespace);
    world.word(namespace + 8, operations);
    world.word(operations + 8, name);
    assert_eq!(world.path(mounted, dentry), quoted("net:[4026531840]"));
    // Bound to a file, it has the path of that.
    let mut bound = mounted;
    bound.mount = world.mount(mounted.superblock, dentry);
    let place = world.dentries(root.root, "run/netns/blue");
    world.attach(bound, root, place);
    assert_eq!(world.path(bound, dentry), quoted("/run/netns/blue"));
}

#[test]
fn what_cannot_be_known_is_marked() {
    let (mut world, root) = World::new();
    // Too many directories.
    let names: Vec<String> = (0..300).map(|n| format!("d{n}")).collect();
    let deep = world.dentries(root.root, &names.join("/"));
    let path = world.path(root, deep);
    let shown = path.strip_prefix("file=\".../").expect("a mark");
    assert!(names.join("/").ends_with(shown.trim_end_matches('"')));
    assert!(shown.matches('/').count() > 100, "{path}");
    // Too long.
    let name = "n".repeat(255);
    let names = vec![name.as_str(); 20];
    let long = world.dentries(root.root, &names.join("/"));
    let path = world.path(root, long);
    assert_eq!(
        path,
        quoted(&format!("...{}", format!("/{name}").repeat(15)))
    );
    // As long as can be.
    let long = world.dentries(root.root, &names[..15].join("/"));
    assert_eq!(
        world.path(root, long),
        quoted(&format!("/{name}").repeat(15))
    );
    // A parent that cannot be read.
    let lost = world.dentries(root.root, "a/b");
    world.word(world.get(lost + 24) + 24, 0x666);
    assert_eq!(world.path(root, lost), quoted(".../a/b"));
    // A name that is too long, or empty.
    for length in [0u64, 256, 0xffff_ffff] {
        let bad = world.dentries(root.root, "etc/bad/good");
        let parent = world.get(bad + 24);
        world.word(parent + 32, length << 32);
        assert_eq!(world.path(root, bad), quoted(".../good"), "{length}");
    }
    // Dentries in a circle, and mounts in a circle.
    let circle = world.dentries(root.root, "x/y");
    let x = world.get(circle + 24);
    world.word(x + 24, circle);
    let path = world.path(root, circle);
    assert!(path.starts_with("file=\".../"), "{path}");
    let (one, two) = (world.filesystem("xfs"), world.filesystem("xfs"));
    world.attach(one, two, two.root);
    world.attach(two, one, one.root);
    assert_eq!(world.path(one, one.root), quoted(".../"));
    // No file.
    for file in [0, 0x66, 0xffff_8000_0000_0000] {
        world.kernel.set("di", file);
        let got = printed("p opened file:path x=\\1:u8", &mut world.kernel);
        assert_eq!(got, "file=(fault) x=1");
    }
    let empty = world.room(64);
    world.kernel.set("di", empty);
    let got = printed("p opened file:path", &mut world.kernel);
    assert_eq!(got, "file=(fault)");
}

/// Renames are told by a counter, which is odd while one is under way.
#[test]
fn a_path_that_is_renamed_is_marked() {
    let (mut world, root) = World::new();
    let file = world.dentries(root.root, "a/b");
    for (lock, count, want) in [
        (support::RENAME_LOCK, 2u64, "/a/b"),
        (support::RENAME_LOCK, 3, ".../a/b"),
        (support::MOUNT_LOCK, 3, ".../a/b"),
    ] {
        world.kernel.write(support::RENAME_LOCK, &[0; 8]);
        world.kernel.write(support::MOUNT_LOCK, &[0; 8]);
        world.word(lock, count);
        assert_eq!(world.path(root, file), quoted(want));
    }
}

#[test]
fn other_things_have_no_path() {
    let (mut world, _) = World::new();
    for (definition, detail) in [
        ("p opened inode:path", "an inode has no path"),
        ("p opened any:path", "its type is not known"),
        ("p opened %di:path", "its type is not known"),
        ("p opened file->f_mode:path", "its type is not known"),
        (
            "p opened dentry->d_sb:path",
            "a struct super_block has no path",
        ),
    ] {
        let error = compile(definition, &mut world.kernel).expect_err(definition);
        assert_eq!(error.kind, Kind::BadType4fullPath, "{definition}");
        let text = String::from_utf8_lossy(error.detail()).to_string();
        assert!(text.contains(detail), "{definition}: {text}");
    }
    let error = compile("p opened file:path[2]", &mut world.kernel).expect_err("an array");
    assert_eq!(error.kind, Kind::BadType);
    for (from, to, lacking) in [
        ("d_parent:", "d_other:", "d_parent"),
        ("struct mount ", "struct other ", "mount"),
        ("fs:", "files:", "fs"),
    ] {
        let text = include_str!("../../data/path-btf.txt").replace(from, to);
        world.kernel.blob = Some(btf::build(&text));
        let error = compile("p opened file:path", &mut world.kernel).expect_err("no member");
        assert_eq!(error.kind, Kind::NoBtfField);
        let text = String::from_utf8_lossy(error.detail()).to_string();
        assert!(text.contains(lacking), "{text}");
    }
    world.kernel.blob = None;
    let error = compile("p opened %di:path", &mut world.kernel).expect_err("no types");
    assert_eq!(error.kind, Kind::NosupBtfarg);
}

struct NoFunctions;

impl LookupFunctions for NoFunctions {
    fn last_cpu(&self) -> u32 {
        3
    }

    fn named(&mut self, _: &[u8]) -> Option<(u64, u64)> {
        None
    }

    fn around(&mut self, _: u64) -> Option<(u64, u64)> {
        None
    }

    fn each_similar(&mut self, _: &mut Nearest<'_>) {}
}

/// Whether the filter accepts a hit.
fn is_accepted(filter: &str, kernel: &mut Kernel) -> bool {
    let (_, program) = compile("p opened file:path", kernel).expect("the event");
    let filter = Filter::compile(filter.as_bytes(), program.layout(), &mut NoFunctions);
    let hit = Hit {
        header: Header {
            event: 9,
            flags: 0,
            preempt_count: 0,
            pid: 42,
        },
        cpu: 0,
        place: 0x8010,
    };
    filter.expect("a filter").matches(&program, kernel, &hit)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// What filters and histograms see of a path, also of a long one, is what is recorded.
    #[test]
    fn filters_see_the_path(names in prop::collection::vec("[a-z]{1,90}", 0..12)) {
        let (mut world, root) = World::new();
        let dentry = world.dentries(root.root, &names.join("/"));
        let want = match names.is_empty() {
            true => "/".to_string(),
            false => format!("/{}", names.join("/")),
        };
        prop_assert_eq!(world.path(root, dentry), quoted(&want));
        let (_, program, record) = hit("p opened file:path", &mut world.kernel);
        prop_assert!(record.windows(want.len()).any(|part| part == want.as_bytes()));
        for (filter, is_true) in [
            (format!("file == \"{want}\""), true),
            (format!("file ~ \"{}*\"", &want[..want.len() / 2]), true),
            (format!("file ~ \"*{}\"", &want[want.len() / 2..]), true),
            (format!("file == \"{want}x\""), false),
            (format!("file != \"{want}\""), false),
        ] {
            if filter.len() < 250 {
                prop_assert_eq!(is_accepted(&filter, &mut world.kernel), is_true, "{}", filter);
            }
        }
        let mut room = [0xff; 4096];
        prop_assert!(exec::copy_text(&program, 0, &world.kernel, &mut room));
        prop_assert_eq!(&room[..want.len()], want.as_bytes());
        for size in [1usize, 2, 3, 64, 256] {
            let mut room = vec![0xff; size];
            prop_assert!(exec::copy_text(&program, 0, &world.kernel, &mut room));
            let shown = want.len().min(size - 1);
            prop_assert_eq!(&room[..shown], &want.as_bytes()[..shown]);
            prop_assert_eq!(room[size - 1], 0);
        }
    }

    /// Memory of any content is no trouble.
    #[test]
    fn any_memory(words in prop::collection::vec(0u64..60, 60), start in 0u64..60) {
        let (mut world, _) = World::new();
        let at = |n: u64| 0x20_0000 + n * 8;
        for (n, word) in (0..).zip(&words) {
            world.word(at(n), at(*word));
        }
        world.word(TASK + 64, at(start / 2));
        world.word(TASK + 72, at(start / 3));
        world.kernel.set("di", at(start));
        world.kernel.set("dx", at(start));
        let _ = printed("p opened file:path dentry:path", &mut world.kernel);
    }
}
