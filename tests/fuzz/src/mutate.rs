// SPDX-License-Identifier: GPL-2.0

//! Makes inputs by recombining and damaging seeds.

/// A source of inputs; the same seeds and number give the same inputs.
pub struct Mutator {
    seeds: Vec<Vec<u8>>,
    state: u64,
}

impl Mutator {
    /// `number` chooses the sequence.
    pub fn new(seeds: Vec<Vec<u8>>, number: u64) -> Self {
        assert!(!seeds.is_empty(), "a target has seeds");
        Self {
            seeds,
            state: number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
        }
    }

    /// Marsaglia's xorshift64.
    fn next(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() >> 16) as usize % n.max(1)
    }

    fn seed(&mut self) -> Vec<u8> {
        let n = self.below(self.seeds.len());
        self.seeds[n].clone()
    }

    /// The next input.
    pub fn input(&mut self) -> Vec<u8> {
        let mut input = self.seed();
        for _ in 0..self.below(6) {
            self.damage(&mut input);
        }
        input
    }

    fn damage(&mut self, input: &mut Vec<u8>) {
        const USEFUL: &[u8] = b"+-@$%()[]:=\\\"'.,>#/!&| \n\t\0\xff0189abprsux*?{}";
        let at = self.below(input.len() + 1);
        let end = at + self.below((input.len() - at).min(12) + 1);
        match self.below(7) {
            0 => input.insert(at, USEFUL[self.below(USEFUL.len())]),
            1 => drop(input.drain(at..end)),
            2 => {
                let piece = input[at..end].to_vec();
                let times = self.below(12);
                input.splice(at..at, piece.repeat(times));
            }
            3 => {
                let other = self.seed();
                let from = self.below(other.len() + 1);
                let to = from + self.below(other.len() - from + 1);
                input.splice(at..end, other[from..to].iter().copied());
            }
            4 => {
                let number = self.next() >> self.below(64);
                let text = match self.below(3) {
                    0 => format!("{number}"),
                    1 => format!("{number:#x}"),
                    _ => format!("-{number}"),
                };
                input.splice(at..end, text.bytes());
            }
            5 if at < input.len() => input[at] = self.next() as u8,
            _ if at < input.len() => input[at] ^= 1 << self.below(8),
            _ => {}
        }
    }
}
