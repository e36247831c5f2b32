// SPDX-License-Identifier: GPL-2.0

//! Unsafe code has its reasons, is where it may be, and is not too much.

use ferroprobe_gen::unsafe_code::{generate, pieces, Piece, What};
use std::path::Path;

#[test]
fn unsafe_code_has_reasons_and_is_only_where_it_may_be() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    // Fails where a reason is missing, or if there are too many blocks.
    let list = generate(here).unwrap();
    assert!(list.lines().any(|line| line.starts_with("rust/")), "{list}");
    for line in list.lines() {
        if line.starts_with("src/") {
            assert!(line.starts_with("src/engine/ring"), "{line}");
        }
    }
}

fn piece(what: What, place: &str, why: &str) -> Piece {
    Piece {
        what,
        place: place.into(),
        why: why.into(),
    }
}

#[test]
fn each_kind_is_found_wherever_it_stands() {
    let source = r#"
        // unsafe { } is no code here, nor is "unsafe { }" there.
        const TEXT: &str = "unsafe { }";
        struct Thing<T>(T);
        // SAFETY: It holds nothing.
        unsafe impl<T: Send> Send for Thing<T> {}
        impl<T: Send> Drop for Thing<T> {
            fn drop(&mut self) {
                // SAFETY: First,
                // and more.
                // CAST: Not this.
                let value = make(1 +
                    unsafe { free(self.0) });
                make!(value <- {
                    // SAFETY: In a macro.
                    unsafe { init(value) }
                });
            }
            /// Frees.
            ///
            /// # Safety
            ///
            /// It must be allocated.
            unsafe extern "C" fn free(it: T) {}
        }
        type Callback = Option<unsafe extern "C" fn(u32)>;
        // SAFETY: C is harmless.
        unsafe extern "C" {
            pub safe fn harmless(it: u32);
        }
        fn last() {
            // SAFETY: At the end.
            unsafe { end() };
        }
        mod tests {
            fn test() { unsafe { anything() } }
        }
    "#;
    assert_eq!(
        pieces(source).unwrap(),
        [
            piece(What::Implementation, "Send for Thing", "It holds nothing."),
            piece(What::Block, "Thing::drop", "First, and more."),
            piece(What::Block, "Thing::drop", "In a macro."),
            piece(What::Function, "Thing::free", "It must be allocated."),
            piece(What::Block, "at the top", "C is harmless."),
            piece(What::Block, "last", "At the end."),
        ]
    );
}

#[test]
fn code_without_a_reason_is_refused() {
    let source = "fn f() {\n    unsafe { g() }\n}\n";
    assert_eq!(
        pieces(source).unwrap_err(),
        "line 2: no reason is given in f"
    );
}
