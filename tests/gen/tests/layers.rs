// SPDX-License-Identifier: GPL-2.0

//! Dependencies point down, only few files depend on the architecture, fewer ask in what context
//! they run, and none for the kernel's version. Violations made on purpose are found.

use ferroprobe_gen::{
    contexts,
    layers::{faults, graph, graph_of},
    machines, versions,
};
use std::collections::BTreeMap;
use std::path::Path;

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn files(texts: &[(&str, &str)]) -> BTreeMap<String, String> {
    let owned = |(file, text): &(&str, &str)| ((*file).into(), (*text).into());
    texts.iter().map(owned).collect()
}

/// What is wrong with the dependencies of files with these texts.
fn found(texts: &[(&str, &str)]) -> String {
    let mut all = files(&[("src/events.rs", ""), ("src/hit.rs", "")]);
    all.extend(files(texts));
    faults(&graph_of(&all).unwrap()).join("; ")
}

#[test]
fn dependencies_point_down() {
    let found = faults(&graph(&root()).unwrap());
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn only_few_files_depend_on_the_architecture() {
    let found = machines::faults(&machines::sources(&root()).unwrap());
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn what_describes_hits_does_not_ask_for_the_context_of_the_handler() {
    let found = contexts::faults(&machines::sources(&root()).unwrap());
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_question_for_the_context_of_the_handler_is_found() {
    let own = [
        ("rust/nofault.c", "\tif (in_nmi())\n"),
        (
            "rust/arch/unwind_guard.h",
            "\treturn BIT(interrupt_context_level());",
        ),
        ("rust/serving.rs", "let depth = Interrupts::now().depth();"),
    ];
    let found = |text| {
        let all = [&own[..], &[("rust/stack.h", text)]].concat();
        contexts::faults(&files(&all)).join("; ")
    };
    assert_eq!(
        found("\tif (in_nmi() || is_other())"),
        "rust/stack.h:1: in_nmi()"
    );
    assert_eq!(
        found("if !level.in_nmi() {}\n/* in_nmi() */\n// in_nmi()"),
        ""
    );
    assert_eq!(found("pub fn in_nmi(self) -> bool {"), "");
    let none = contexts::faults(&files(&own[..2])).join("; ");
    assert_eq!(
        none,
        "rust/serving.rs: Interrupts::now() is asked once no more"
    );
}

#[test]
fn an_upward_edge_is_found() {
    let hit = ("src/hit/plan.rs", "use crate::events::event::Event;");
    let event = ("src/events/event.rs", "use crate::hit::plan::Plan;");
    let upward = "src/hit/plan.rs names src/events/event.rs, which is above it";
    assert_eq!(found(&[hit, ("src/events/event.rs", "")]), upward);
    assert_eq!(found(&[("src/hit/plan.rs", ""), event]), "");
}

#[test]
fn a_circle_of_two_files_is_found() {
    let a = ("src/hit/a.rs", "use super::b::B;");
    let b = ("src/hit/b.rs", "fn f() { super::a::g() }");
    assert_eq!(found(&[a, b]), "a circle: src/hit/a.rs, src/hit/b.rs");
    // A module's root declares what its files share.
    let root = ("src/hit/a.rs", "mod b; use b::B;");
    let child = ("src/hit/a/b.rs", "use super::A;");
    assert_eq!(found(&[root, child]), "");
    let grandchild = ("src/hit/a/b/c.rs", "use crate::hit::a::A;");
    let root = ("src/hit/a.rs", "use b::c::C;");
    let circle = "a circle: src/hit/a.rs, src/hit/a/b/c.rs";
    assert_eq!(found(&[root, ("src/hit/a/b.rs", ""), grandchild]), circle);
}

#[test]
fn a_folder_without_a_layer_is_found() {
    let text = "use crate::sys::Vec;";
    let place = ("src/other/file.rs", text);
    let sys = ("src/sys.rs", "");
    assert_eq!(found(&[place, sys]), "src/other/file.rs has no layer");
    let place = ("src/buffers.rs", text);
    assert_eq!(found(&[place, sys]), "src/buffers.rs has no layer");
}

#[test]
fn an_architecture_in_rust_is_found() {
    let text = "fn f() {}\n#[cfg(target_arch = \"x86_64\")]\nfn g() {}\n";
    let found = machines::faults(&files(&[
        ("rust/arch.rs", text),
        ("rust/arch/x86_64.rs", text),
        ("src/engine/code/arch.rs", text),
        ("src/source/live.rs", text),
    ]));
    assert_eq!(found, ["src/source/live.rs:2: target_arch"]);
}

#[test]
fn an_architecture_in_c_is_found() {
    let found = machines::faults(&files(&[
        ("rust/arch/access.h", "#ifdef CONFIG_X86_64\n"),
        ("rust/archive.c", "#if defined(CONFIG_ARM64)\n"),
        ("rust/user.h", "#ifdef CONFIG_X86_64\n"),
        ("rust/user.c", "#ifdef CONFIG_64BIT\n"),
    ]));
    let all = ["rust/archive.c:1: CONFIG_ARM", "rust/user.h:1: CONFIG_X86"];
    assert_eq!(found, all);
}

#[test]
fn no_file_asks_for_the_version_of_the_kernel() {
    let sources = versions::sources(&root()).unwrap();
    assert!(sources.contains_key("rust/own/helpers.c") && sources.contains_key("src/main.rs"));
    let found = versions::faults(&sources);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_question_for_the_version_of_the_kernel_is_found() {
    let condition = "\n#if LINUX_VERSION_CODE >= 0x61200\n";
    let found = versions::faults(&files(&[
        ("rust/own/helpers.c", condition),
        ("rust/series/probes/any.c", condition),
        ("rust/user.c", "if (version < KERNEL_VERSION(6, 12, 0))"),
        ("src/main.rs", "/// The version of the kernel.\n"),
    ]));
    let all = [
        "rust/own/helpers.c:2: LINUX_VERSION_CODE",
        "rust/user.c:1: KERNEL_VERSION",
    ];
    assert_eq!(found, all);
}
