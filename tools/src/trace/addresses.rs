// SPDX-License-Identifier: GPL-2.0

//! The names of addresses in the kernel's code, by `/proc/kallsyms`.

/// Code that is further behind a symbol is not called after it.
const FAR: u64 = 16 << 20;

/// The symbols of code, by their addresses.
#[derive(Debug, Default)]
pub struct Addresses {
    symbols: Vec<(u64, String)>,
}

impl Addresses {
    /// Reads the symbols of the running kernel; there are none if they cannot be read.
    pub fn of_kernel() -> Self {
        Self::read(&std::fs::read_to_string("/proc/kallsyms").unwrap_or_default())
    }

    /// Reads the text of `/proc/kallsyms`.
    pub fn read(text: &str) -> Self {
        let mut symbols: Vec<(u64, String)> = text.lines().filter_map(symbol).collect();
        // A stable sort: the first of several at one address stays the first.
        symbols.sort_by_key(|(address, _)| *address);
        symbols.dedup_by_key(|(address, _)| *address);
        Self { symbols }
    }

    /// The symbol that `address` is in or behind, with the offset.
    pub fn name(&self, address: u64) -> Option<String> {
        let behind = self
            .symbols
            .partition_point(|(symbol, _)| *symbol <= address);
        let (symbol, name) = self.symbols.get(behind.checked_sub(1)?)?;
        match address - symbol {
            0 => Some(name.clone()),
            offset if offset < FAR => Some(format!("{name}+{offset:#x}")),
            _ => None,
        }
    }
}

/// A line of the file, if it is one of code: the address, and the name.
fn symbol(line: &str) -> Option<(u64, String)> {
    let mut words = line.split_ascii_whitespace();
    let address = u64::from_str_radix(words.next()?, 16).ok()?;
    let is_code = matches!(words.next()?, "t" | "T" | "w" | "W");
    let name = words.next().filter(|name| !name.starts_with("__pfx_"))?;
    (is_code && address != 0).then(|| (address, name.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_the_name_of_the_function_that_it_is_in() {
        let names = Addresses::read(
            "ffffffff81000000 T _stext\nffffffff81000100 t __pfx_one\n\
             ffffffff81000110 t one\nffffffff81000110 T alias\nffffffff81000200 d data\n\
             ffffffffc0000000 t two\t[mod]\n",
        );
        for (address, expected) in [
            (0xffff_ffff_8100_0110, Some("one")),
            (0xffff_ffff_8100_0204, Some("one+0xf4")),
            (0xffff_ffff_c000_0008, Some("two+0x8")),
            (0xffff_ffff_9100_0000, None),
            (0x1000, None),
        ] {
            assert_eq!(names.name(address).as_deref(), expected, "{address:#x}");
        }
        assert_eq!(Addresses::default().name(0x1000), None);
    }
}
