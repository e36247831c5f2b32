// SPDX-License-Identifier: GPL-2.0

//! Evaluates what a definition fetches, on the registers and the memory of a process.

use ferroprobe_tools::image::Image;
use nix::libc::user_regs_struct;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// A process that stands at a probe.
pub struct Machine<'a, 'd> {
    /// Its registers.
    pub registers: user_regs_struct,
    /// Its memory.
    pub memory: &'a File,
    /// Its symbols.
    pub image: &'a Image<'d>,
}

impl Machine<'_, '_> {
    fn register(&self, name: &str) -> u64 {
        let registers = &self.registers;
        match name {
            "ax" => registers.rax,
            "bx" => registers.rbx,
            "cx" => registers.rcx,
            "dx" => registers.rdx,
            "si" => registers.rsi,
            "di" => registers.rdi,
            "bp" => registers.rbp,
            "sp" => registers.rsp,
            "r8" => registers.r8,
            "r9" => registers.r9,
            "r10" => registers.r10,
            "r11" => registers.r11,
            "r12" => registers.r12,
            "r13" => registers.r13,
            "r14" => registers.r14,
            "r15" => registers.r15,
            name => panic!("no register {name}"),
        }
    }

    fn bytes<const N: usize>(&self, address: u64) -> [u8; N] {
        let mut bytes = [0; N];
        let read = self.memory.read_exact_at(&mut bytes, address);
        read.unwrap_or_else(|error| panic!("{address:#x}: {error}"));
        bytes
    }

    /// The address of `SYMBOL[+OFFSET]`.
    fn symbol(&self, text: &str) -> u64 {
        let (name, offset) = text.split_once('+').unwrap_or((text, "0"));
        let mut symbols = self.image.symbols().iter();
        let symbol = symbols.find(|symbol| symbol.name == name).expect(text);
        symbol.address + offset.parse::<u64>().expect(text)
    }

    /// The address that `text` reads, if it is a read.
    fn address(&self, text: &str) -> Option<u64> {
        if let Some(symbol) = text.strip_prefix('@') {
            return Some(self.symbol(symbol));
        }
        let sign = match text.as_bytes().first()? {
            b'+' => 1,
            b'-' => -1,
            _ => return None,
        };
        let (offset, inner) = text[1..].strip_suffix(')')?.split_once('(')?;
        let offset = offset.strip_prefix('u').unwrap_or(offset);
        let offset: i64 = offset.parse().expect(text);
        Some(self.value(inner).wrapping_add_signed(sign * offset))
    }

    /// The 64 bits that `text` fetches.
    fn value(&self, text: &str) -> u64 {
        if let Some(name) = text.strip_prefix('%') {
            return self.register(name);
        }
        if let Some(number) = text.strip_prefix('\\') {
            let number = number.parse::<i128>().expect(text);
            return number as u64;
        }
        u64::from_le_bytes(self.bytes(self.address(text).expect(text)))
    }

    /// What an argument `FETCH:TYPE` records.
    pub fn record(&self, argument: &str) -> i64 {
        let (text, kind) = argument.rsplit_once(':').expect(argument);
        let (bits, start, width) = match kind.strip_prefix('b') {
            Some(field) => {
                let (bits, rest) = field.split_once('@').expect(kind);
                let (start, width) = rest.split_once('/').expect(kind);
                let number = |text: &str| text.parse::<u32>().expect(kind);
                (number(bits), number(start), number(width))
            }
            None => {
                let bits = kind[1..].parse().expect(kind);
                (bits, 0, bits)
            }
        };
        // Only as many bytes are read as the type has.
        let raw = match (self.address(text), width) {
            (Some(address), 8) => u8::from_le_bytes(self.bytes(address)).into(),
            (Some(address), 16) => u16::from_le_bytes(self.bytes(address)).into(),
            (Some(address), 32) => u32::from_le_bytes(self.bytes(address)).into(),
            (Some(address), _) => u64::from_le_bytes(self.bytes(address)),
            (None, _) => self.value(text),
        };
        let raw = raw >> start;
        let shift = 64 - bits;
        match kind.starts_with('s') {
            true => (raw << shift) as i64 >> shift,
            false => (raw << shift >> shift) as i64,
        }
    }
}
