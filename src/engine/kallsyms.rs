// SPDX-License-Identifier: GPL-2.0

//! The kernel's own symbol table: all addresses of a name.
//!
//! The kernel finds a symbol by its name, but exports no function that returns the number
//! of symbols with that name. The table is six arrays in memory, written by the kernel's
//! `scripts/kallsyms.c`:
//!
//! - names, in the order of addresses: a length, in one or two bytes of seven bits each,
//!   and that many tokens; the concatenated texts of the tokens are the type letter and the
//!   name;
//! - markers: the offset in the names of each 256th symbol;
//! - the texts of the tokens, NUL-terminated, and the offset of each of them;
//! - offsets: the distance of each symbol from its own entry there;
//! - sequence: the numbers of the symbols in the order of their names, as three bytes each,
//!   the highest first.
//!
//! It is read through [`Memory`], which may fail. The caller compares an address with what
//! the kernel returns, because the format of the table is not stable.

mod scan;

pub use scan::{each_function, each_like, Texts};

use crate::sys::{AllocError, Vec};
use core::cmp::Ordering;

/// Memory that can be read at an address.
pub trait Memory {
    /// Fills `out` from `address`; returns false if it cannot be read.
    fn read(&mut self, address: u64, out: &mut [u8]) -> bool;
}

/// The addresses of the arrays.
#[derive(Clone, Copy, Debug)]
pub struct Tables {
    /// `kallsyms_num_syms`, of 4 bytes.
    pub count: u64,
    /// `kallsyms_names`.
    pub names: u64,
    /// `kallsyms_markers`, of 4 bytes each.
    pub markers: u64,
    /// `kallsyms_token_table`.
    pub token_table: u64,
    /// `kallsyms_token_index`, of 2 bytes each.
    pub token_index: u64,
    /// `kallsyms_offsets`, of 4 bytes each.
    pub offsets: u64,
    /// `kallsyms_seqs_of_names`.
    pub sequence: u64,
}

/// Calls `each` with the address of every symbol called `name`; returns `None` if the table
/// cannot be read.
pub fn each_address<M: Memory>(
    tables: &Tables,
    memory: &mut M,
    seen: &mut Seen,
    name: &[u8],
    mut each: impl FnMut(u64),
) -> Option<()> {
    let mut table = Table::new(tables, memory)?;
    let mut low = table.first_from(seen, name)?;
    while low < table.count {
        let symbol = table.in_order_of_names(low)?;
        let at = table.name(symbol)?;
        if table.compare(at, name)?.is_ne() {
            break;
        }
        each(table.address(symbol)?);
        low = low.checked_add(1)?;
    }
    Some(())
}

/// Where the names are with which each search begins, once they were found: it takes a
/// walk over up to 255 others.
#[derive(Debug)]
pub struct Seen(Vec<u64>);

/// Number of names that are remembered: those of the first nine comparisons of a search.
const SEEN: usize = 512;

impl Seen {
    /// Makes a memory without names.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    pub fn new() -> Result<Self, AllocError> {
        let mut names = Vec::with_capacity(SEEN)?;
        for _ in 0..SEEN {
            names.push(0)?;
        }
        Ok(Self(names))
    }

    fn get(&self, node: usize) -> Option<u64> {
        self.0.get(node).copied().filter(|at| *at != 0)
    }

    fn set(&mut self, node: usize, at: u64) {
        if let Some(seen) = self.0.get_mut(node) {
            *seen = at;
        }
    }
}

/// Bytes that are read at once. A divisor of the page size, so that a read does not touch a
/// page beyond the table.
const BLOCK: usize = 256;

/// The block of memory that was read last.
struct Block {
    at: Option<u64>,
    bytes: [u8; BLOCK],
}

impl Block {
    const EMPTY: Self = Self {
        at: None,
        bytes: [0; BLOCK],
    };

    fn byte<M: Memory>(&mut self, memory: &mut M, address: u64) -> Option<u8> {
        self.rest(memory, address)?.first().copied()
    }

    /// Returns the bytes from `address` to the end of its block.
    fn rest<M: Memory>(&mut self, memory: &mut M, address: u64) -> Option<&[u8]> {
        const MASK: u64 = BLOCK as u64 - 1;
        let at = address & !MASK;
        if self.at != Some(at) {
            self.at = None;
            if !memory.read(at, &mut self.bytes) {
                return None;
            }
            self.at = Some(at);
        }
        // CAST: Less than the size of a block.
        self.bytes.get((address & MASK) as usize..)
    }
}

/// The table, while it is being read.
struct Table<'a, M> {
    tables: &'a Tables,
    memory: &'a mut M,
    /// The number of symbols.
    count: u32,
    names: Block,
    tokens: Block,
}

impl<'a, M: Memory> Table<'a, M> {
    fn new(tables: &'a Tables, memory: &'a mut M) -> Option<Self> {
        let mut table = Self {
            tables,
            memory,
            count: 0,
            names: Block::EMPTY,
            tokens: Block::EMPTY,
        };
        table.count = u32::from_le_bytes(table.array(tables.count)?);
        Some(table)
    }

    fn array<const N: usize>(&mut self, address: u64) -> Option<[u8; N]> {
        let mut array = [0; N];
        self.memory.read(address, &mut array).then_some(array)
    }

    /// Returns the index, in the order of names, of the first symbol that is not before `name`.
    fn first_from(&mut self, seen: &mut Seen, name: &[u8]) -> Option<u32> {
        let (mut low, mut high) = (0, self.count);
        // The comparisons of a search are nodes of a tree: this is the number of the node.
        let mut node = 1usize;
        while low < high {
            let middle = low.midpoint(high);
            let at = match seen.get(node) {
                Some(at) => at,
                None => {
                    let symbol = self.in_order_of_names(middle)?;
                    let at = self.name(symbol)?;
                    seen.set(node, at);
                    at
                }
            };
            let is_before = self.compare(at, name)?.is_lt();
            if is_before {
                low = middle.checked_add(1)?;
            } else {
                high = middle;
            }
            node = node
                .saturating_mul(2)
                .saturating_add(usize::from(is_before));
        }
        Some(low)
    }

    /// Returns the number of the symbol at `index` in the order of names.
    fn in_order_of_names(&mut self, index: u32) -> Option<u32> {
        let at = u64::from(index).checked_mul(3)?;
        let [high, middle, low] = self.array(self.tables.sequence.checked_add(at)?)?;
        Some(u32::from_be_bytes([0, high, middle, low]))
    }

    fn address(&mut self, symbol: u32) -> Option<u64> {
        let at = u64::from(symbol).checked_mul(4)?;
        let entry = self.tables.offsets.checked_add(at)?;
        let distance = i32::from_le_bytes(self.array(entry)?);
        entry.checked_add_signed(i64::from(distance))
    }

    /// Returns the address of the name of a symbol, which begins with its length.
    fn name(&mut self, symbol: u32) -> Option<u64> {
        let marker = u64::from(symbol >> 8).checked_mul(4)?;
        let marker = u32::from_le_bytes(self.array(self.tables.markers.checked_add(marker)?)?);
        let at = self.tables.names.checked_add(u64::from(marker))?;
        self.skip(at, symbol & 0xff)
    }

    /// Returns the address behind `count` names from `at` on.
    fn skip(&mut self, mut at: u64, mut count: u32) -> Option<u64> {
        while count > 0 {
            // As far as the block goes and lengths are of one byte.
            let block = self.names.rest(self.memory, at)?;
            let mut passed = 0usize;
            while let Some(&length) = block.get(passed) {
                if length & 0x80 != 0 || count == 0 {
                    break;
                }
                passed = passed.wrapping_add(usize::from(length).wrapping_add(1));
                count = count.wrapping_sub(1);
            }
            at = at.checked_add(u64::try_from(passed).ok()?)?;
            if passed == 0 {
                let (tokens, length) = self.length(at)?;
                at = tokens.checked_add(length)?;
                count = count.wrapping_sub(1);
            }
        }
        Some(at)
    }

    /// Returns the length at `at` and the address behind it.
    fn length(&mut self, at: u64) -> Option<(u64, u64)> {
        let low = self.names.byte(self.memory, at)?;
        let next = at.checked_add(1)?;
        if low & 0x80 == 0 {
            return Some((next, u64::from(low)));
        }
        let high = self.names.byte(self.memory, next)?;
        let length = u64::from(low & 0x7f) | u64::from(high) << 7;
        Some((next.checked_add(1)?, length))
    }

    /// Compares the name at `at` with `name`.
    fn compare(&mut self, at: u64, name: &[u8]) -> Option<Ordering> {
        let (at, length) = self.length(at)?;
        // The first letter is the type of the symbol.
        let mut is_type = true;
        let mut rest = name.iter();
        for index in 0..length {
            let token = self.names.byte(self.memory, at.checked_add(index)?)?;
            let entry = u64::from(token).checked_mul(2)?;
            let text = u16::from_le_bytes(self.array(self.tables.token_index.checked_add(entry)?)?);
            let mut from = self.tables.token_table.checked_add(u64::from(text))?;
            loop {
                let letter = self.tokens.byte(self.memory, from)?;
                from = from.checked_add(1)?;
                match letter {
                    0 => break,
                    _ if is_type => is_type = false,
                    _ => match letter.cmp(rest.next().unwrap_or(&0)) {
                        Ordering::Equal => {}
                        other => return Some(other),
                    },
                }
            }
        }
        Some(match rest.next() {
            Some(_) => Ordering::Less,
            None => Ordering::Equal,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Memory made of arrays at chosen addresses.
    struct Arrays(std::vec::Vec<(u64, std::vec::Vec<u8>)>);

    impl Memory for Arrays {
        fn read(&mut self, address: u64, out: &mut [u8]) -> bool {
            // A block may begin before an array and end behind it, within a page.
            let Some((start, bytes)) = self.0.iter().find(|(start, bytes)| {
                start >> 12 == address >> 12
                    || (*start..start + bytes.len() as u64).contains(&address)
            }) else {
                return false;
            };
            for (index, byte) in out.iter_mut().enumerate() {
                let at = (address + index as u64).checked_sub(*start);
                *byte = at
                    .and_then(|at| bytes.get(at as usize).copied())
                    .unwrap_or(0);
            }
            true
        }
    }

    const TABLES: Tables = Tables {
        count: 0x10_0000,
        names: 0x20_0020,
        markers: 0x30_0000,
        token_table: 0x40_0000,
        token_index: 0x50_0000,
        offsets: 0x60_0000,
        sequence: 0x70_0000,
    };

    /// Returns the table of `symbols`, as `scripts/kallsyms.c` writes it: one token for
    /// each letter, and one for the most common start.
    fn table(symbols: &[(u64, &str)]) -> Arrays {
        const SHORT: u8 = 1;
        let mut symbols = symbols.to_vec();
        symbols.sort();
        let (mut texts, mut index) = (vec![], vec![]);
        for token in 0..=255 {
            index.extend_from_slice(&(texts.len() as u16).to_le_bytes());
            match token {
                SHORT => texts.extend_from_slice(b"tname_"),
                token if token.is_ascii_graphic() => texts.push(token),
                _ => {}
            }
            texts.push(0);
        }
        let (mut names, mut markers, mut offsets) = (vec![], vec![], vec![]);
        for (number, (address, name)) in symbols.iter().enumerate() {
            if number % 256 == 0 {
                markers.extend_from_slice(&(names.len() as u32).to_le_bytes());
            }
            let tokens = match name.strip_prefix("name_") {
                Some(rest) => [&[SHORT], rest.as_bytes()].concat(),
                None => [b"T", name.as_bytes()].concat(),
            };
            match tokens.len() {
                short @ 0..128 => names.push(short as u8),
                long => names.extend_from_slice(&[(long & 0x7f) as u8 | 0x80, (long >> 7) as u8]),
            }
            names.extend_from_slice(&tokens);
            let entry = TABLES.offsets + 4 * number as u64;
            offsets.extend_from_slice(&((address.wrapping_sub(entry)) as i32).to_le_bytes());
        }
        let mut order: std::vec::Vec<_> = (0..symbols.len()).collect();
        order.sort_by_key(|&number| (symbols[number].1, number));
        let mut sequence = vec![];
        for number in order {
            sequence.extend_from_slice(&(number as u32).to_be_bytes()[1..]);
        }
        Arrays(vec![
            (TABLES.count, (symbols.len() as u32).to_le_bytes().to_vec()),
            (TABLES.names, names),
            (TABLES.markers, markers),
            (TABLES.token_table, texts),
            (TABLES.token_index, index),
            (TABLES.offsets, offsets),
            (TABLES.sequence, sequence),
        ])
    }

    fn addresses(memory: &mut Arrays, seen: &mut Seen, name: &str) -> Option<std::vec::Vec<u64>> {
        let mut found = vec![];
        each_address(&TABLES, memory, seen, name.as_bytes(), |at| found.push(at))?;
        Some(found)
    }

    #[test]
    fn all_addresses_of_a_name_are_found() {
        let long = "long_".repeat(60);
        let mut memory = table(&[
            (0x1000, "name_show"),
            (0x1100, "vfs_read"),
            (0x1200, "name_show"),
            (0x1300, "name_shown"),
            (0x1400, &long),
            (0x1500, "name_sho"),
            (0x7f00_0000, "name_show"),
        ]);
        let mut seen = Seen::new().unwrap();
        let mut at = |name: &str| addresses(&mut memory, &mut seen, name).unwrap();
        assert_eq!(at("name_show"), [0x1000, 0x1200, 0x7f00_0000]);
        assert_eq!(at("vfs_read"), [0x1100]);
        assert_eq!(at("name_shown"), [0x1300]);
        assert_eq!(at("name_sho"), [0x1500]);
        assert_eq!(at(&long), [0x1400]);
        for absent in ["", "a", "name_", "name_showx", "vfs_rea", "zz", "Tvfs_read"] {
            assert!(at(absent).is_empty(), "{absent}");
        }
    }

    #[test]
    fn names_behind_a_marker_are_found() {
        let names: std::vec::Vec<_> = (0..1000).map(|n| format!("f{:03}", n / 2)).collect();
        let symbols: std::vec::Vec<_> = names
            .iter()
            .enumerate()
            .map(|(n, name)| (0x1000 + 16 * n as u64, name.as_str()))
            .collect();
        let mut memory = table(&symbols);
        let mut seen = Seen::new().unwrap();
        // The second time, where the searches begin is remembered.
        for n in (0..500).chain(0..500) {
            let at = 0x1000 + 32 * n;
            let found = addresses(&mut memory, &mut seen, &format!("f{n:03}"));
            assert_eq!(found, Some(vec![at, at + 16]));
        }
        assert!(seen.0.iter().filter(|at| **at != 0).count() > 400);
    }

    fn functions(memory: &mut Arrays, prefix: &str) -> std::vec::Vec<(String, u64)> {
        let texts = Texts::read(&TABLES, memory).unwrap().unwrap();
        let mut seen = Seen::new().unwrap();
        let mut found = vec![];
        let range = (prefix.as_bytes(), &(0x1000..0x9000));
        each_function((&TABLES, &texts), memory, &mut seen, range, |name, at| {
            found.push((String::from_utf8(name.to_vec()).unwrap(), at));
        })
        .unwrap();
        found.sort();
        found
    }

    #[test]
    fn functions_are_found_by_the_start_of_their_names() {
        let names: std::vec::Vec<_> = (0..1000).map(|n| format!("f{:03}", n / 2)).collect();
        let mut symbols: std::vec::Vec<_> = names
            .iter()
            .enumerate()
            .map(|(n, name)| (0x1000 + 16 * n as u64, name.as_str()))
            .collect();
        let long = "long_".repeat(60);
        symbols.extend([(0xa000, "f100"), (0x8fff, "name_show"), (0x0fff, "f101")]);
        symbols.push((0x8000, &long));
        let mut memory = table(&symbols);
        let mut expected: std::vec::Vec<_> = symbols
            .iter()
            .filter(|(at, _)| (0x1000..0x9000).contains(at))
            .map(|(at, name)| (name.to_string(), *at))
            .collect();
        expected.sort();
        assert_eq!(functions(&mut memory, ""), expected);
        for prefix in [
            "f", "f1", "f10", "f100", "f999", "long_l", "name_", "a", "zz",
        ] {
            let mut some = expected.clone();
            some.retain(|(name, _)| name.starts_with(prefix));
            assert_eq!(functions(&mut memory, prefix), some, "{prefix}");
        }
    }

    #[test]
    fn similar_functions_are_found() {
        use crate::engine::nearest::Nearest;

        let long = "long_".repeat(30);
        let mut symbols = std::vec![
            (0x1000, "name_show"),
            (0x1100, "vfs_read"),
            (0x1200, "vfs_readv.isra.0"),
            (0x1300, "vfs_reae.cold"),
            (0x9100, "vfs_rea"),
            (0x1400, &long),
        ];
        let others: std::vec::Vec<_> = (0..1000).map(|n| format!("other{n}")).collect();
        symbols.extend((0x2000..).zip(others.iter().map(String::as_str)));
        let mut memory = table(&symbols);
        let texts = Texts::read(&TABLES, &mut memory).unwrap().unwrap();
        for (typo, found) in [
            ("vfs_raed", "vfs_read, vfs_readv.isra.0"),
            ("nam_shw", "name_show"),
            ("vfs_reaecold", "vfs_reae.cold"),
            (&long[1..], &long),
            ("nothing", ""),
        ] {
            let mut nearest = Nearest::to_wrong(typo.as_bytes());
            let look = (nearest.look(), &(0x1000..0x9000));
            each_like((&TABLES, &texts), &mut memory, look, |name| {
                nearest.consider_symbol(name)
            })
            .unwrap();
            assert_eq!(nearest.to_string(), found, "{typo}");
        }
    }

    #[test]
    fn a_table_that_cannot_be_read_tells_nothing() {
        let full = table(&[(0x1000, "a"), (0x1100, "b")]);
        for missing in 0..full.0.len() {
            let mut memory = table(&[(0x1000, "a"), (0x1100, "b")]);
            memory.0.remove(missing);
            let mut seen = Seen::new().unwrap();
            assert_eq!(addresses(&mut memory, &mut seen, "a"), None, "{missing}");
            let Some(texts) = Texts::read(&TABLES, &mut memory).unwrap() else {
                continue;
            };
            let all = (&b""[..], &(0..u64::MAX));
            let _ = each_function((&TABLES, &texts), &mut memory, &mut seen, all, |_, _| {});
        }
        let mut nonsense = table(&[(0x1000, "a")]);
        // More symbols than there are.
        nonsense.0[0].1 = vec![0xff; 4];
        let _ = addresses(&mut nonsense, &mut Seen::new().unwrap(), "a");
    }
}
