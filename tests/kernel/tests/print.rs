// SPDX-License-Identifier: GPL-2.0

//! The kernel's log.

use ferroprobe_kernel::{heap::Heap, pr_debug, pr_emerg, pr_err, pr_info, pr_warn};

/// Returns what was printed, as the kernel formats it.
fn lines(test: impl FnOnce()) -> Vec<String> {
    let log = Heap::run(|heap| {
        test();
        heap.log()
    });
    let line = |[format, prefix, text]: [Vec<u8>; 3]| {
        let level = format.strip_suffix(b"%s%s").expect("two texts");
        String::from_utf8([level, &prefix, &text].concat()).unwrap()
    };
    log.into_iter().map(line).collect()
}

#[test]
fn lines_have_a_level_and_a_prefix() {
    let found = lines(|| {
        pr_emerg!("a {}\n", 1);
        pr_err!("b\n");
        pr_warn!("100% {}\n", "of c");
        pr_info!("d");
        pr_debug!("e");
    });
    let expected = [
        "\x010test: a 1\n",
        "\x013test: b\n",
        "\x014test: 100% of c\n",
        "\x016test: d",
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_long_line_is_cut() {
    for length in [0, 318, 319, 320, 321, 5000] {
        let text = "x".repeat(length);
        let found = lines(|| pr_info!("{}{}", &text[..length / 2], &text[length / 2..]));
        assert_eq!(
            found,
            [format!("\x016test: {}", "x".repeat(length.min(319)))]
        );
    }
}
