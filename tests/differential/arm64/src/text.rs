// SPDX-License-Identifier: GPL-2.0

//! The functions of a kernel.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::Path;

/// A function as kallsyms sees it: from one symbol up to the next.
pub struct Function {
    /// The name of the symbol, of several at one address that which came first.
    pub name: String,
    /// Where it is, counted from the start of the kernel.
    pub offset: usize,
    /// Its instructions.
    pub words: Vec<u32>,
}

/// The functions of the kernel whose uncompressed `Image` and symbols, in the
/// form of `/proc/kallsyms` or `System.map`, are at these paths.
///
/// # Errors
///
/// When a file cannot be read, or is not of that form.
pub fn functions(image: &Path, symbols: &Path) -> Result<Vec<Function>, Box<dyn Error>> {
    let image = fs::read(image)?;
    let symbols = fs::read_to_string(symbols)?;
    let mut starts: BTreeMap<u64, (&str, &str)> = BTreeMap::new();
    for line in symbols.lines() {
        let mut columns = line.split_whitespace();
        let (Some(address), Some(kind), Some(name)) =
            (columns.next(), columns.next(), columns.next())
        else {
            return Err(format!("no line of a symbol: {line}").into());
        };
        let address = u64::from_str_radix(address, 16)?;
        starts.entry(address).or_insert((kind, name));
    }
    let address_of = |wanted: &str| {
        let found = starts.iter().find(|(_, (_, name))| *name == wanted);
        found.map(|(address, _)| *address).ok_or("no such symbol")
    };
    let (base, end) = (address_of("_text")?, address_of("_etext")?);
    let mut functions = Vec::new();
    for ((&at, (kind, name)), &next) in starts.iter().zip(starts.keys().skip(1)) {
        if at < base || next > end || !"tTwW".contains(kind) {
            continue;
        }
        let offset = usize::try_from(at - base)?;
        let bytes = image.get(offset..usize::try_from(next - base)?);
        functions.push(Function {
            name: (*name).into(),
            offset,
            words: bytes
                .ok_or("a symbol outside the image")?
                .chunks_exact(4)
                .filter_map(|bytes| Some(u32::from_le_bytes(bytes.try_into().ok()?)))
                .collect(),
        });
    }
    Ok(functions)
}
