// SPDX-License-Identifier: GPL-2.0

//! Removes elements of an array by a condition.

use crate::sys::Vec;

/// Drops the elements of `items` for which `is_gone` returns true, the last first.
pub(crate) fn drop_where<T>(items: &mut Vec<T>, is_gone: impl FnMut(&T) -> bool) {
    take_where(items, is_gone, drop);
}

/// As [`drop_where`], but passes the elements to `taken`.
pub(crate) fn take_where<T>(
    items: &mut Vec<T>,
    mut is_gone: impl FnMut(&T) -> bool,
    mut taken: impl FnMut(T),
) {
    let mut index = items.len();
    while let Some(next) = index.checked_sub(1) {
        index = next;
        if items.get(index).is_some_and(&mut is_gone) {
            if let Some(item) = items.take(index) {
                taken(item);
            }
        }
    }
}
