// SPDX-License-Identifier: GPL-2.0

//! Builds a BTF blob from the text of `tests/data/lang-btf.txt`.

pub struct Builder {
    types: Vec<u8>,
    strings: Vec<u8>,
}

impl Builder {
    fn string(&mut self, text: &str) -> u32 {
        if text == "-" {
            return 0;
        }
        let at = self.strings.len() as u32;
        self.strings.extend_from_slice(text.as_bytes());
        self.strings.push(0);
        at
    }

    fn words(&mut self, words: &[u32]) {
        for word in words {
            self.types.extend_from_slice(&word.to_le_bytes());
        }
    }

    fn line(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |text: &str| text.parse::<u32>().expect(line);
        let pair = |text: &str| {
            let parts: Vec<&str> = text.split(':').collect();
            (
                parts[0].to_string(),
                parts[1..].iter().map(|p| number(p)).collect::<Vec<u32>>(),
            )
        };
        match words[0] {
            "int" => {
                let name = self.string(words[1]);
                let bits = number(words[2]);
                let signed = u32::from(words[3] == "signed") << 24;
                self.words(&[name, 1 << 24, bits / 8, signed | bits]);
            }
            "float" => {
                let name = self.string(words[1]);
                self.words(&[name, 16 << 24, number(words[2])]);
            }
            "pointer" => self.words(&[0, 2 << 24, number(words[1])]),
            "const" => self.words(&[0, 10 << 24, number(words[1])]),
            "typedef" => {
                let name = self.string(words[1]);
                self.words(&[name, 8 << 24, number(words[2])]);
            }
            "array" => self.words(&[0, 3 << 24, 0, number(words[1]), 2, number(words[2])]),
            "fwd" => {
                let name = self.string(words[1]);
                self.words(&[name, 7 << 24, 0]);
            }
            sort @ ("enum" | "packed") => {
                let name = self.string(words[1]);
                let values: Vec<_> = words[2..].iter().map(|v| pair(v)).collect();
                let size = if sort == "packed" { 1 } else { 4 };
                self.words(&[name, 6 << 24 | values.len() as u32, size]);
                for (name, numbers) in values {
                    let name = self.string(&name);
                    self.words(&[name, numbers[0]]);
                }
            }
            sort @ ("struct" | "union") => {
                let name = self.string(words[1]);
                let members: Vec<_> = words[3..].iter().map(|m| pair(m)).collect();
                let flag = members.iter().any(|(_, numbers)| numbers.len() == 3);
                let kind = if sort == "struct" { 4 } else { 5 };
                let info = u32::from(flag) << 31 | kind << 24 | members.len() as u32;
                self.words(&[name, info, number(words[2])]);
                for (name, numbers) in members {
                    let name = self.string(&name);
                    let size = numbers.get(2).copied().unwrap_or(0);
                    self.words(&[name, numbers[0], size << 24 | numbers[1]]);
                }
            }
            "prototype" => {
                self.words(&[0, 13 << 24 | (words.len() - 2) as u32, number(words[1])]);
                for (name, numbers) in words[2..].iter().map(|p| pair(p)) {
                    let name = self.string(&name);
                    self.words(&[name, numbers[0]]);
                }
            }
            "func" => {
                let name = self.string(words[1]);
                self.words(&[name, 12 << 24, number(words[2])]);
            }
            "variable" => {
                let name = self.string(words[1]);
                self.words(&[name, 14 << 24, number(words[2]), 1]);
            }
            "per-cpu" => {
                let name = self.string(".data..percpu");
                self.words(&[name, 15 << 24 | (words.len() - 1) as u32, 0]);
                for variable in &words[1..] {
                    self.words(&[number(variable), 0, 8]);
                }
            }
            other => panic!("{other}: {line}"),
        }
    }

    fn finish(self) -> Vec<u8> {
        let mut blob = vec![0x9f, 0xeb, 1, 0];
        let types = self.types.len() as u32;
        for word in [24, 0, types, types, self.strings.len() as u32] {
            blob.extend_from_slice(&word.to_le_bytes());
        }
        blob.extend_from_slice(&self.types);
        blob.extend_from_slice(&self.strings);
        blob
    }
}

/// The blob that `text` describes; `first_string` is what a base ends with.
pub fn build(text: &str) -> Vec<u8> {
    let mut builder = Builder {
        types: vec![],
        strings: vec![0],
    };
    for line in text
        .lines()
        .filter(|l| !l.is_empty() && !l.starts_with('#'))
    {
        builder.line(line);
    }
    builder.finish()
}

/// That of the tests.
pub fn sample() -> Vec<u8> {
    build(include_str!("../../../data/lang-btf.txt"))
}
