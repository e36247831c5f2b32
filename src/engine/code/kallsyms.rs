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
//! - the texts of the tokens, NUL-terminated, and the offset of each of them;
//! - offsets: where each symbol is, relative to an [`OffsetOrigin`];
//! - sequence: the numbers of the symbols in the order of their names, as three bytes each,
//!   the highest first.
//!
//! It is read through [`TableMemory`], which may fail. As its format may change, the caller
//! compares an address with the one that the kernel's own lookup returns.

mod block;
mod index;
mod scan;

pub use block::{OffsetOrigin, TableMemory, Tables};
pub use index::NameIndex;
pub use scan::{each_function, each_like, Sought};

use block::{array, Block};

use core::cmp::Ordering;

/// Calls `each` with the address of every symbol called `name`; returns `None` if the table
/// cannot be read.
pub fn each_address<M: TableMemory>(
    (tables, index): (&Tables, &mut NameIndex),
    memory: &mut M,
    name: &[u8],
    mut each: impl FnMut(u64),
) -> Option<()> {
    let mut table = SymbolTable::new(tables, index, memory)?;
    let mut low = table.first_from(name)?;
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

/// The table, while it is being read.
struct SymbolTable<'a, M> {
    tables: &'a Tables,
    index: &'a mut NameIndex,
    memory: &'a mut M,
    /// The number of symbols.
    count: u32,
    names: Block,
}

impl<'a, M: TableMemory> SymbolTable<'a, M> {
    fn new(tables: &'a Tables, index: &'a mut NameIndex, memory: &'a mut M) -> Option<Self> {
        let count = u32::from_le_bytes(array(memory, tables.count)?);
        Some(Self {
            tables,
            index,
            memory,
            count,
            names: Block::EMPTY,
        })
    }

    fn array<const N: usize>(&mut self, address: u64) -> Option<[u8; N]> {
        array(self.memory, address)
    }

    /// Returns the index, in the order of names, of the first symbol that is not before `name`.
    fn first_from(&mut self, name: &[u8]) -> Option<u32> {
        let (mut low, mut high) = (0, self.count);
        // The comparisons of all searches form a tree: this is the number of the node.
        let mut node = 1usize;
        while low < high {
            let middle = low.midpoint(high);
            let at = match self.index.seen(node) {
                Some(at) => at,
                None => {
                    let symbol = self.in_order_of_names(middle)?;
                    let at = self.name(symbol)?;
                    self.index.see(node, at);
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
        let offset = self.array(entry)?;
        self.tables.origin.address(entry, offset)
    }

    /// Returns the address of the name of a symbol, which begins with its length.
    fn name(&mut self, symbol: u32) -> Option<u64> {
        let (mark, behind) = self.index.before(symbol)?;
        let at = self.tables.names.checked_add(mark)?;
        self.names.skip(self.memory, at, behind)
    }

    /// Compares the name at `at` with `name`.
    fn compare(&mut self, at: u64, name: &[u8]) -> Option<Ordering> {
        let (mut at, mut length) = self.names.length(self.memory, at)?;
        // The first letter is the type of the symbol.
        let mut is_type = true;
        let mut rest = name;
        while length > 0 {
            // Up to the end of the block.
            let block = self.names.rest(self.memory, at)?;
            let here = usize::try_from(length)
                .unwrap_or(usize::MAX)
                .min(block.len());
            for &token in block.get(..here)? {
                let mut text = self.index.text(token);
                if is_type {
                    is_type = false;
                    text = text.get(1..)?;
                }
                rest = match rest.strip_prefix(text) {
                    Some(rest) => rest,
                    None => return Some(text.cmp(rest)),
                };
            }
            // CAST: Lossless.
            at = at.checked_add(here as u64)?;
            length = length.checked_sub(here as u64)?;
        }
        Some(match rest {
            [] => Ordering::Equal,
            _ => Ordering::Less,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Memory made of arrays at chosen addresses.
    struct Arrays(std::vec::Vec<(u64, std::vec::Vec<u8>)>);

    impl TableMemory for Arrays {
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
        token_table: 0x40_0000,
        token_index: 0x50_0000,
        offsets: 0x60_0000,
        origin: OffsetOrigin::Entry,
        sequence: 0x70_0000,
    };

    /// Returns the table of `symbols`, as `scripts/kallsyms.c` writes it: one token for
    /// each letter, and one for the most common start. What begins with `=` is data.
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
        let (mut names, mut offsets) = (vec![], vec![]);
        for (number, (address, name)) in symbols.iter().enumerate() {
            let tokens = match (name.strip_prefix("name_"), name.strip_prefix('=')) {
                (Some(rest), _) => [&[SHORT], rest.as_bytes()].concat(),
                (None, Some(data)) => [b"D", data.as_bytes()].concat(),
                (None, None) => [b"T", name.as_bytes()].concat(),
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
            (TABLES.token_table, texts),
            (TABLES.token_index, index),
            (TABLES.offsets, offsets),
            (TABLES.sequence, sequence),
        ])
    }

    fn index(memory: &mut Arrays) -> NameIndex {
        NameIndex::read(&TABLES, memory).unwrap().unwrap()
    }

    fn addresses(
        memory: &mut Arrays,
        index: &mut NameIndex,
        name: &str,
    ) -> Option<std::vec::Vec<u64>> {
        let mut found = vec![];
        let name = name.as_bytes();
        each_address((&TABLES, index), memory, name, |at| found.push(at))?;
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
        let mut index = index(&mut memory);
        let mut at = |name: &str| addresses(&mut memory, &mut index, name).unwrap();
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
    fn offsets_are_relative_to_their_origin() {
        let address =
            |origin: OffsetOrigin, offset: i32| origin.address(0x5000, offset.to_le_bytes());
        assert_eq!(address(OffsetOrigin::Entry, -0x1000), Some(0x4000));
        assert_eq!(address(OffsetOrigin::Entry, -0x5001), None);
        // The kernel's text may be more than 2 GiB behind the base.
        let base = 0xffff_ffff_0000_0000;
        assert_eq!(address(OffsetOrigin::Base(base), 0x10), Some(base + 0x10));
        assert_eq!(
            address(OffsetOrigin::Base(base), -0x10),
            Some(base + 0xffff_fff0)
        );
        assert_eq!(address(OffsetOrigin::BaseOrPerCpu(base), 0x10), Some(0x10));
        assert_eq!(address(OffsetOrigin::BaseOrPerCpu(base), -1), Some(base));
        assert_eq!(
            address(OffsetOrigin::BaseOrPerCpu(base), -0x11),
            Some(base + 0x10)
        );
    }

    #[test]
    fn names_behind_a_mark_are_found() {
        let names: std::vec::Vec<_> = (0..1000).map(|n| format!("f{:03}", n / 2)).collect();
        let symbols: std::vec::Vec<_> = names
            .iter()
            .enumerate()
            .map(|(n, name)| (0x1000 + 16 * n as u64, name.as_str()))
            .collect();
        let mut memory = table(&symbols);
        let mut index = index(&mut memory);
        // The second time, where the searches begin is remembered.
        for n in (0..500).chain(0..500) {
            let at = 0x1000 + 32 * n;
            let found = addresses(&mut memory, &mut index, &format!("f{n:03}"));
            assert_eq!(found, Some(vec![at, at + 16]));
        }
        assert!((1..512).filter(|&node| index.seen(node).is_some()).count() > 400);
    }

    fn functions(memory: &mut Arrays, prefix: &str) -> std::vec::Vec<(String, u64)> {
        let mut index = index(memory);
        let mut found = vec![];
        let range = (prefix.as_bytes(), &(0x1000..0x9000));
        each_function((&TABLES, &mut index), memory, range, |name, at| {
            found.push((String::from_utf8(name.to_vec()).unwrap(), at));
            true
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
    fn similar_symbols_are_found() {
        use crate::engine::refusal::suggest::distance::Nearest;

        let long = "long_".repeat(30);
        let mut symbols = std::vec![
            (0x1000, "name_show"),
            (0x1100, "vfs_read"),
            (0x1200, "vfs_readv.isra.0"),
            (0x1300, "vfs_reae.cold"),
            (0x9100, "vfs_rea"),
            (0x1400, &long),
            (0x9200, "=jiffies"),
            (0x9300, "=vfs_rear"),
            (0x1600, "=jiffier"),
            (0x9400, "init_task"),
        ];
        let others: std::vec::Vec<_> = (0..1000).map(|n| format!("other{n}")).collect();
        symbols.extend((0x2000..).zip(others.iter().map(String::as_str)));
        let mut memory = table(&symbols);
        let mut index = index(&mut memory);
        let text = 0x1000..0x9000;
        let (functions, data) = (Sought::Functions(&text), Sought::Data(&text));
        for (sought, typo, found) in [
            (functions, "vfs_raed", "vfs_read, vfs_readv.isra.0"),
            (functions, "nam_shw", "name_show"),
            (functions, "vfs_reaecold", "vfs_reae.cold"),
            (functions, "vfs_readv.isr.0", "vfs_readv.isra.0"),
            (functions, &long[1..], &long),
            (functions, "jifies", ""),
            (functions, "nothing", ""),
            (functions, "init_tsak", ""),
            (data, "jifies", "jiffies"),
            (data, "vfs_raed", "vfs_rea, vfs_rear"),
            (data, "init_tsak", "init_task"),
        ] {
            let mut nearest = Nearest::to_wrong(typo.as_bytes());
            let wanted = (nearest.look(), sought);
            each_like((&TABLES, &mut index), &mut memory, wanted, |name| {
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
            // The texts may end where nothing can be read.
            let Some(mut index) = NameIndex::read(&TABLES, &mut memory).unwrap() else {
                continue;
            };
            assert_eq!(addresses(&mut memory, &mut index, "a"), None, "{missing}");
            let all = (&b""[..], &(0..u64::MAX));
            let _ = each_function((&TABLES, &mut index), &mut memory, all, |_, _| true);
        }
        // More symbols than there are.
        for count in [[0xff; 4], [0, 0, 1, 0]] {
            let mut nonsense = table(&[(0x1000, "a")]);
            nonsense.0[0].1 = count.to_vec();
            if let Some(mut index) = NameIndex::read(&TABLES, &mut nonsense).unwrap() {
                let _ = addresses(&mut nonsense, &mut index, "a");
            }
        }
    }
}
