// SPDX-License-Identifier: GPL-2.0

//! The definitions for programs that are drawn record what their variables have.
//!
//! `FERROPROBE_SEEDS=FIRST-LAST` draws other programs than those of every run. Of these, about one
//! expression in a thousand differs, for two reasons: GCC executes what is left of a branch that the
//! program does not take, after it has made both branches one; and in loops that it unrolls, it
//! says sometimes that a variable is still where it was.

#![cfg(target_arch = "x86_64")]

mod support;

use std::fmt::Write;
use support::compare::{compare, on_lines, oracle};

/// Programs that GCC describes rightly.
const SEEDS: [u64; 6] = [1, 2, 3, 4, 6, 7];

/// A program that is being drawn.
struct Draw {
    state: u64,
    text: String,
    /// Variables in scope, and whether they may be assigned.
    variables: Vec<(String, bool)>,
    names: u32,
    /// Functions that may be called: those drawn before.
    functions: u32,
}

const TYPES: [&str; 9] = [
    "int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "int64_t", "uint64_t",
    "bool",
];

impl Draw {
    fn below(&mut self, limit: u64) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 11) % limit
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("v{}", self.names)
    }

    fn value(&mut self) -> String {
        match self.below(4) {
            0 => format!("{}", self.below(300) as i64 - 100),
            _ => {
                let at = self.below(self.variables.len() as u64) as usize;
                self.variables[at].0.clone()
            }
        }
    }

    fn expression(&mut self, depth: u32) -> String {
        if depth == 0 {
            return self.value();
        }
        let (left, right) = (self.expression(depth - 1), self.value());
        match self.below(8) {
            0 => left,
            1 => format!("({})({left})", self.pick(&TYPES)),
            2 => format!("(({left}) >> {})", self.below(7)),
            3 => format!("(int64_t)((uint64_t)({left}) << {})", self.below(7)),
            _ => {
                let operator = self.pick(&["+", "-", "^", "|", "&", "*", "<"]);
                format!("(({left}) {operator} (int64_t)({right}))")
            }
        }
    }

    /// Some of the variables in scope.
    fn see(&mut self) -> String {
        let mut seen: Vec<String> = Vec::new();
        for _ in 0..4 {
            let at = self.below(self.variables.len() as u64) as usize;
            let name = self.variables[at].0.clone();
            if !seen.contains(&name) {
                seen.push(name);
            }
        }
        format!("SEE({})", seen.join(", "))
    }

    fn line(&mut self, depth: usize, text: &str) {
        let see = self.see();
        let _ = writeln!(self.text, "{}{see} {text}", "\t".repeat(depth));
    }

    fn plain(&mut self, depth: usize, text: &str) {
        let _ = writeln!(self.text, "{}{text}", "\t".repeat(depth));
    }

    fn block(&mut self, depth: usize, statements: u64) {
        let known = self.variables.len();
        for _ in 0..statements {
            self.statement(depth);
        }
        self.variables.truncate(known);
    }

    fn assignable(&mut self) -> Option<String> {
        let names: Vec<_> = self
            .variables
            .iter()
            .filter(|(_, may)| *may)
            .cloned()
            .collect();
        let at = self.below(names.len().max(1) as u64) as usize;
        names.get(at).map(|(name, _)| name.clone())
    }

    fn statement(&mut self, depth: usize) {
        match self.below(if depth < 4 { 12 } else { 8 }) {
            0..=2 => {
                let (kind, value, name) = (self.pick(&TYPES), self.expression(2), self.name());
                self.line(depth, &format!("{kind} {name} = {value};"));
                self.variables.push((name, true));
            }
            3 | 4 => {
                let value = self.expression(2);
                if let Some(name) = self.assignable() {
                    let operator = self.pick(&["", "+", "-", "^", "|"]);
                    self.line(depth, &format!("{name} {operator}= {value};"));
                }
            }
            5 => {
                let value = self.expression(1);
                if let Some(name) = self.assignable() {
                    self.line(depth, &format!("{name} = opaque({value});"));
                }
            }
            6 => {
                let value = self.expression(1);
                self.line(depth, &format!("use({value});"));
            }
            7 => {
                let arguments = [self.expression(1), self.value(), self.value()].join(", ");
                if let (Some(name), true) = (self.assignable(), self.functions > 0) {
                    let function = self.below(self.functions.into());
                    self.line(depth, &format!("{name} = f{function}({arguments});"));
                }
            }
            8 | 9 => {
                let condition = self.expression(2);
                self.line(depth, &format!("if (({condition}) & 1) {{"));
                self.block(depth + 1, 3);
                self.plain(depth, "} else {");
                self.block(depth + 1, 2);
                self.plain(depth, "}");
            }
            _ => {
                let (name, count) = (self.name(), 1 + self.below(4));
                self.plain(
                    depth,
                    &format!("for (int {name} = 0; {name} < {count}; {name}++) {{"),
                );
                self.variables.push((name, false));
                self.block(depth + 1, 3);
                self.variables.pop();
                self.plain(depth, "}");
            }
        }
    }

    fn function(&mut self) {
        let number = self.functions;
        let attribute = self.pick(&["static inline", "NOINLINE", "static"]);
        let kinds = [self.pick(&TYPES), self.pick(&TYPES), self.pick(&TYPES)];
        let names = [self.name(), self.name(), self.name()];
        let parameters = kinds.iter().zip(&names);
        let parameters: Vec<_> = parameters
            .map(|(kind, name)| format!("{kind} {name}"))
            .collect();
        let result = self.pick(&TYPES);
        self.variables = names.map(|name| (name, true)).into();
        let parameters = parameters.join(", ");
        self.plain(
            0,
            &format!("\n{attribute} {result} f{number}({parameters})\n{{"),
        );
        for _ in 0..8 {
            self.statement(1);
        }
        let value = self.expression(2);
        self.line(1, &format!("return {value};"));
        self.plain(0, "}");
        self.functions += 1;
    }

    fn program(seed: u64) -> String {
        let mut draw = Self {
            state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            text: "// SPDX-License-Identifier: GPL-2.0\n\n#include \"see.h\"\n".into(),
            variables: Vec::new(),
            names: 0,
            functions: 0,
        };
        for _ in 0..5 {
            draw.function();
        }
        draw.plain(0, "\nint main(void)\n{\n\tbegin();");
        for function in 0..5 {
            for arguments in ["1, 2, 3", "-7, 300, 70000", "0x123456789abcdef, -1, 0"] {
                draw.plain(1, &format!("use(f{function}({arguments}));"));
            }
        }
        draw.plain(1, "return 0;\n}");
        draw.text
    }
}

#[test]
fn no_value_of_a_drawn_program_is_wrong() {
    let seeds = std::env::var("FERROPROBE_SEEDS");
    let seeds: Vec<u64> = match seeds.as_ref().ok().and_then(|seeds| seeds.split_once('-')) {
        Some((first, last)) => {
            let number = |text: &str| text.parse().expect("FERROPROBE_SEEDS=FIRST-LAST");
            (number(first)..=number(last)).collect()
        }
        None => SEEDS.into(),
    };
    let (mut wrong, mut recorded, mut refused) = (Vec::new(), 0, 0);
    for seed in seeds {
        let folder = tempfile::tempdir().expect("a folder");
        let program = folder.path().join("drawn.c");
        std::fs::write(&program, Draw::program(seed)).expect("a program");
        let spots = on_lines(&program, &oracle(&program));
        for flags in [
            &["-O2", "-fwrapv"][..],
            &["-Os", "-fwrapv", "-fno-omit-frame-pointer"],
        ] {
            let outcome = compare(&program, &spots, "gcc", flags);
            recorded += outcome.recorded;
            refused += outcome.refused;
            let all = outcome.wrong.into_iter();
            wrong.extend(all.map(|(_, text)| format!("seed {seed} {flags:?} {text}")));
        }
    }
    println!(
        "{recorded} recorded, {refused} refused, {} wrong",
        wrong.len()
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        recorded > refused / 2,
        "{recorded} recorded, {refused} refused"
    );
}
