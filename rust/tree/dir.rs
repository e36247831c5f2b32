// SPDX-License-Identifier: GPL-2.0

//! Directories.

use super::{node::Node, openings::Openings};
use kernel::{prelude::*, sync::Arc};

/// A directory; removed when its last entry and the last reference are dropped.
pub struct Dir {
    pub(super) node: Node,
    /// Counts the open files below it.
    pub(super) openings: Option<Arc<Openings>>,
    /// Keeps the parent directory.
    _parent: Option<Arc<Dir>>,
}

impl Dir {
    /// Creates the directory `name` in `parent`, or at the root of debugfs.
    ///
    /// # Errors
    ///
    /// `EEXIST`, `ENOMEM`; `ENODEV` if debugfs is off, `EPERM` if its use is not allowed.
    ///
    /// Context: process, may sleep.
    pub fn new(name: &CStr, parent: Option<Arc<Dir>>) -> Result<Arc<Self>> {
        let openings = parent.as_ref().and_then(|parent| parent.openings.clone());
        Self::create(name, parent, openings)
    }

    /// [`Dir::new`] with a counter of the open files below the directory.
    ///
    /// # Errors
    ///
    /// As for [`Dir::new`].
    ///
    /// Context: process, may sleep.
    pub fn counted(name: &CStr, parent: &Arc<Dir>, openings: Arc<Openings>) -> Result<Arc<Self>> {
        Self::create(name, Some(parent.clone()), Some(openings))
    }

    fn create(
        name: &CStr,
        parent: Option<Arc<Dir>>,
        openings: Option<Arc<Openings>>,
    ) -> Result<Arc<Self>> {
        let dir = Self::hidden(name, parent, openings)?;
        dir.node.show()?;
        Ok(dir)
    }

    /// Creates a directory whose node is not yet visible.
    pub(super) fn hidden(
        name: &CStr,
        parent: Option<Arc<Dir>>,
        openings: Option<Arc<Openings>>,
    ) -> Result<Arc<Self>> {
        let dir = Self {
            node: Node::dir(name, parent.as_deref().map(|parent| &parent.node))?,
            openings,
            _parent: parent,
        };
        Ok(Arc::new(dir, GFP_KERNEL)?)
    }
}
