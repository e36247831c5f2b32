// SPDX-License-Identifier: GPL-2.0

//! The text of source files, if they are on this machine.

use std::fs;
use std::path::{Path, PathBuf};

/// The lines of the file that the debug information calls `path`: there, or below `folder`
/// under the longest end of the path that exists.
pub fn read(path: &str, folder: Option<&Path>) -> Option<Vec<String>> {
    let text = candidates(path, folder).find_map(|path| fs::read(path).ok())?;
    let text = String::from_utf8_lossy(&text);
    Some(text.lines().map(str::to_string).collect())
}

fn candidates<'a>(path: &'a str, folder: Option<&'a Path>) -> impl Iterator<Item = PathBuf> + 'a {
    let below = move |folder: &Path| -> Vec<PathBuf> {
        let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
        let ends = (0..names.len()).filter_map(|skip| names.get(skip..));
        ends.map(|names| folder.join(names.join("/"))).collect()
    };
    let own = folder.is_none() && path.starts_with('/');
    let own = own.then(|| PathBuf::from(path));
    own.into_iter().chain(folder.map(below).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::candidates;
    use std::path::Path;

    #[test]
    fn the_longest_end_of_a_path_comes_first() {
        let found: Vec<_> = candidates("/build/fs/open.c", Some(Path::new("/src"))).collect();
        let expected = ["/src/build/fs/open.c", "/src/fs/open.c", "/src/open.c"];
        assert_eq!(found, expected.map(Path::new));
        let found: Vec<_> = candidates("/build/fs/open.c", None).collect();
        assert_eq!(found, [Path::new("/build/fs/open.c")]);
        assert_eq!(candidates("fs/open.c", None).count(), 0);
    }
}
