// SPDX-License-Identifier: GPL-2.0

//! Debug information that is split into `.dwo` files or packed by `dwp` says the same as that in the
//! file itself.

mod support;

use ferroprobe_tools::lines::list;
use ferroprobe_tools::session::Session;
use ferroprobe_tools::target::Target;
use ferroprobe_tools::vars;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::{programs, try_with};
use tempfile::TempDir;

/// Compilers with the flags that choose the version of DWARF.
const COMPILERS: [(&str, &str); 4] = [
    ("gcc", "-gdwarf-5"),
    ("gcc", "-gdwarf-4"),
    ("clang", "-gdwarf-5"),
    ("clang", "-gdwarf-4"),
];

fn run(folder: &Path, command: &str, arguments: &[&str]) {
    let mut command = Command::new(command);
    let output = command.args(arguments).current_dir(folder).output();
    let output = output.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
}

/// Whether LLVM's dwp (19) packs it: of what GCC makes it never gets done with some.
fn is_packed(compiler: &str) -> bool {
    compiler == "clang"
}

/// Compiles and links several sources in `folder`, and gives the path of the file.
fn link(folder: &Path, name: &str, compiler: &str, flags: &[&str]) -> PathBuf {
    let mut objects = Vec::new();
    for source in ["values.c", "shapes.c"] {
        let object = format!("{name}-{source}").replace(".c", ".o");
        let path = programs().join(source).display().to_string();
        let always = [
            "-g",
            "-O2",
            "-w",
            "-ffreestanding",
            "-c",
            &path,
            "-o",
            &object,
        ];
        run(folder, compiler, &[flags, &always].concat());
        objects.push(object);
    }
    let objects: Vec<&str> = objects.iter().map(String::as_str).collect();
    // A file with several units, of which none needs a library.
    let link = [
        "-nostdlib",
        "-static",
        "-Wl,-e,0",
        "-Wl,--unresolved-symbols=ignore-all",
        "-Wl,--allow-multiple-definition",
        "-o",
        name,
    ];
    run(folder, compiler, &[&link, &objects[..]].concat());
    folder.join(name)
}

/// All that the program says of the functions of a file.
fn everything(session: &Session<'_>) -> Vec<String> {
    /// More lines than any function of the sources has.
    const LINES: u32 = 60;

    let mut said = Vec::new();
    for name in session.index.functions() {
        let mut say = |target: &str, text: Result<String, _>| {
            let text = text.unwrap_or_else(|refusal: ferroprobe_tools::error::Refusal| {
                format!("refused: {refusal}")
            });
            said.push(format!("{target}\n{text}"));
        };
        let target = |text: &str| Target::parse(text).expect(text);
        say(name, list::text(session, &target(name), None));
        for text in (0..LINES).map(|line| format!("{name}:{line}")) {
            say(&text, vars::text(session, &target(&text), None));
        }
        let inlined = format!("{name}%inlined");
        say(&inlined, vars::text(session, &target(&inlined), None));
    }
    said
}

/// Why nothing is said of the file at `path`.
fn refusal(path: &Path) -> String {
    let said = try_with(path, |_| ());
    said.expect_err("a refusal").to_string()
}

fn remove_parts(folder: &Path) {
    for file in fs::read_dir(folder).expect("a folder") {
        let path = file.expect("a file").path();
        if path.extension().is_some_and(|extension| extension == "dwo") {
            fs::remove_file(path).expect("removed");
        }
    }
}

#[test]
fn what_is_split_or_packed_says_the_same_as_what_is_whole() {
    for (compiler, version) in COMPILERS {
        let what = format!("{compiler} {version}");
        let folder = tempfile::tempdir().expect("a folder");
        let whole = link(folder.path(), "whole", compiler, &[version]);
        let expected = try_with(&whole, everything).expect(&what);
        let known = expected
            .iter()
            .filter(|text| text.contains("=%") || text.contains("(%"));
        assert!(
            known.count() > 100,
            "{what}: few variables: {}",
            expected.len()
        );

        let split = link(
            folder.path(),
            "split",
            compiler,
            &[version, "-gsplit-dwarf"],
        );
        same(
            &try_with(&split, everything).expect(&what),
            &expected,
            &what,
        );

        // A build tree that was moved.
        let moved = TempDir::with_prefix("moved").expect("a folder");
        let moved = moved.path().join("tree");
        fs::rename(folder.path(), &moved).expect("moved");
        let split = moved.join("split");
        same(
            &try_with(&split, everything).expect(&what),
            &expected,
            &what,
        );

        if is_packed(compiler) {
            run(&moved, "llvm-dwp", &["-e", "split", "-o", "split.dwp"]);
            remove_parts(&moved);
            same(
                &try_with(&split, everything).expect(&what),
                &expected,
                &what,
            );
            fs::remove_file(moved.join("split.dwp")).expect("removed");
        }
        remove_parts(&moved);
        let said = refusal(&split);
        assert!(
            said.contains(".dwo, which is neither below") && said.contains("split.dwp"),
            "{what}: {said}"
        );
    }
}

/// Without the reasons of refusals: clang converts numbers in other ways in split units.
fn plain(text: &str) -> Vec<&str> {
    let lines = text.lines();
    lines
        .map(|line| line.split(": ").next().unwrap_or(line))
        .collect()
}

/// Compares text by text, so that a difference is short.
fn same(found: &[String], expected: &[String], what: &str) {
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!(plain(found), plain(expected), "{what}");
    }
    assert_eq!(found.len(), expected.len(), "{what}");
}

#[test]
fn parts_of_another_build_are_refused() {
    for (compiler, version) in COMPILERS {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        let split = [version, "-gsplit-dwarf"];
        let first = link(folder, "first", compiler, &split);
        let other = [&split[..], &["-DFIRST=2", "-O1"]].concat();
        link(folder, "other", compiler, &other);
        fs::rename(
            folder.join("other-shapes.dwo"),
            folder.join("first-values.dwo"),
        )
        .expect("a file");
        let said = refusal(&first);
        assert!(
            said.contains("first-values.dwo is of another build"),
            "{compiler} {version}: {said}"
        );
        if !is_packed(compiler) {
            continue;
        }
        run(folder, "llvm-dwp", &["other-values.dwo", "-o", "first.dwp"]);
        let said = refusal(&first);
        assert!(
            said.contains("first.dwp is of another build"),
            "{compiler} {version}: {said}"
        );
    }
}

#[test]
fn what_dwz_has_moved_to_a_shared_file_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    link(folder, "whole", "gcc", &["-gdwarf-5"]);
    fs::write(folder.join("link"), b"../common.debug\0").expect("a file");
    let section = "--add-section=.gnu_debugaltlink=link";
    run(folder, "objcopy", &[section, "whole", "moved"]);
    let said = refusal(&folder.join("moved"));
    assert!(
        said.starts_with("dwz has moved") && !said.contains('\n'),
        "{said}"
    );
}
