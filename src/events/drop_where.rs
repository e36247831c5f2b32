// SPDX-License-Identifier: GPL-2.0

//! Removes elements of an array by a condition.

use crate::sys::Vec;

/// Drops the elements of `items` for which `is_gone` returns true, the last first.
pub(super) fn drop_where<T>(items: &mut Vec<T>, mut is_gone: impl FnMut(&T) -> bool) {
    let mut index = items.len();
    while let Some(next) = index.checked_sub(1) {
        index = next;
        if items.get(index).is_some_and(&mut is_gone) {
            items.take(index);
        }
    }
}
