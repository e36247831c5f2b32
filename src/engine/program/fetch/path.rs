// SPDX-License-Identifier: GPL-2.0

//! Resolves the path of a file or dentry: its last component, or the full path.

use super::by_value::{check_path, path_owner, PathOwner};
use super::compile::Compiler;
use super::members::TypeWalk;
use super::program::{Hop, Store};
use crate::engine::definition::ast::Argument;
use crate::engine::language::types::PathOf;
use crate::engine::program::paths::{PathMembers, PathStart};
use crate::engine::refusal::error::{Error, Kind};
use crate::sys::Box;

impl<'b> Compiler<'_, 'b> {
    /// Appends the links from a dentry or file to its name.
    #[inline(never)]
    pub(super) fn path(
        &mut self,
        arg: &Argument,
        of: PathOf,
        walk: &mut TypeWalk<'b>,
    ) -> Result<(), Error> {
        if let Some(value) = walk.value.or_else(|| self.argument_itself(arg)) {
            check_path(of, value, walk.at)?;
        }
        let paths = self.target.paths;
        let read = |offset: u32| Hop::Read {
            offset: i64::from(offset),
            user: false,
        };
        if of == PathOf::File {
            walk.links.push(read(paths.file_dentry))?;
        }
        walk.links.push(read(paths.dentry_name))?;
        walk.links.push(read(0))?;
        walk.forget();
        Ok(())
    }

    /// Notes in `walk` how the full path of a file, path or dentry is recorded.
    #[inline(never)]
    pub(super) fn full_path(
        &mut self,
        arg: &Argument,
        walk: &mut TypeWalk<'b>,
    ) -> Result<(), Error> {
        let Some(btf) = self.target.btf else {
            return Err(
                Error::new(Kind::NosupBtfarg, arg.type_at).with_detail(format_args!(
                    "a path is found by the kernel's types, which are not there"
                )),
            );
        };
        match walk.structure {
            Some(_) => walk.at = arg.expression.source_at,
            None => walk.value = walk.value.or_else(|| self.argument_itself(arg)),
        }
        let (structure, offset) = walk.in_memory();
        let owner = path_owner(structure, walk.at)?;
        if self.program.paths.is_none() {
            let mut members = Box::new(PathMembers::default())?;
            members.find(&btf).map_err(|lacking| {
                Error::new(Kind::NoBtfField, arg.type_at).with_detail(format_args!(
                    "the types of this kernel have no {lacking}, by which paths are found"
                ))
            })?;
            members.renames = self.target.symbols.address(b"rename_lock").unwrap_or(0);
            members.remounts = self.target.symbols.address(b"mount_lock").unwrap_or(0);
            self.program.paths = Some(members);
        }
        let file_path = self
            .program
            .paths
            .as_ref()
            .map_or(0, |members| members.file_path);
        let (start, inside) = match owner {
            PathOwner::File => (PathStart::Path, i64::from(file_path)),
            PathOwner::Path => (PathStart::Path, 0),
            PathOwner::Dentry => (PathStart::Dentry, 0),
        };
        let offset = offset.saturating_add(inside);
        walk.path = Some(Store::Path { offset, start });
        walk.forget();
        Ok(())
    }
}
