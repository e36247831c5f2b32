// SPDX-License-Identifier: GPL-2.0

//! The kinds of probes, one row each.

use core::ops::Deref;

use crate::engine::language::types::Type;
use crate::engine::record::Class;

/// Largest number of instances of a return probe that a definition may request.
pub const MAX_MAXACTIVE: u32 = 4096;

/// Largest number of beginnings of a pair that a definition may request.
pub const MAX_PAIRS: u32 = 1 << 20;

/// The properties of a kind.
#[derive(Debug)]
pub struct Row {
    /// The letter that starts a definition. Unused for a kind without a `location`.
    pub letter: char,
    /// Group of events without a group in their definition.
    pub default_group: &'static str,
    /// The grammar of the location; `None` for predefined events, which have no definition.
    pub location: Option<Location>,
    /// Suffix of the location in a listed definition.
    pub suffix: &'static str,
    /// The kind if the location ends in `%return`.
    pub returning: Option<ProbeKind>,
    /// The kind if the location ends in `%return` and is a list of patterns.
    pub returning_many: Option<ProbeKind>,
    /// The limit of the number behind the letter: concurrent calls or open pairs. `None` if there
    /// is no such number.
    pub most_followed: Option<u32>,
    /// The kind if the location is in a file.
    pub in_file: Option<ProbeKind>,
    /// Whether a function's return fires it: then it has a return value, a return address and,
    /// in the kernel, a duration.
    pub is_return: bool,
    /// Whether programs are probed: then all memory is the program's.
    pub is_user: bool,
    /// The origin of the function's arguments.
    pub arguments: ArgumentsFrom,
    /// Why registers cannot be fetched, if they cannot.
    pub no_registers: Option<&'static str>,
    /// Why words of the stack cannot be fetched, if they cannot.
    pub no_stack: Option<&'static str>,
    /// The variables that only this kind has.
    pub own: &'static [OwnVariable],
    /// The class of the records.
    pub class: &'static Class,
    /// What reports the hits.
    pub mechanism: Mechanism,
}

/// A variable that only one kind has: a value that the mechanism tells of each hit.
#[derive(Debug)]
pub struct OwnVariable {
    /// Its name, without the `$`.
    pub name: &'static str,
    /// The type if the definition gives none.
    pub base: Type,
}

/// The index among the registers of a kind's first own variable. No architecture has so many.
pub const FIRST_OWN: u8 = 248;

/// The variables of a sample.
const OF_SAMPLE: &[OwnVariable] = &[
    OwnVariable {
        name: "user",
        base: Type::U8,
    },
    OwnVariable {
        name: "idle",
        base: Type::U8,
    },
];

/// The variables of a watchpoint.
const OF_WATCHPOINT: &[OwnVariable] = &[
    OwnVariable {
        name: "addr",
        base: Type::DEFAULT,
    },
    OwnVariable {
        name: "value",
        base: Type::DEFAULT,
    },
];

/// The grammar of a location, and how an event without a name is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location {
    /// A symbol with an offset, or an address. The event is named after letter and location.
    Text,
    /// The name of a function, or a list of patterns. The event is named after the function, with
    /// `__entry` or `__exit`.
    Function,
    /// The name of a tracepoint. The event has the tracepoint's name.
    Tracepoint,
    /// The path of a file with an offset or a symbol in it. The event is named after both.
    File,
    /// The names of another event. The event has the other event's name.
    Event,
    /// The names of two events, with keys. The event has the second event's name.
    Pair,
    /// A period. The event is named after letter and period.
    Period,
    /// Data, and how it is accessed. The event is named after letter, symbol and offset.
    Watched,
}

impl Location {
    /// Returns an example of such a location, for remedies.
    pub fn example(self) -> &'static str {
        match self {
            Self::Text => "SYMBOL",
            Self::Function => "FUNCTION",
            Self::Tracepoint => "TRACEPOINT",
            Self::File => "PATH:OFFSET",
            Self::Event => "GROUP.EVENT",
            Self::Pair => "GROUP.EVENT GROUP.EVENT",
            Self::Period => "99hz",
            Self::Watched => "rw@SYMBOL:8",
        }
    }
}

/// The origin of the arguments of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentsFrom {
    /// The registers and the stack, if the location is the entry of a function.
    Registers,
    /// Registers and stack as ftrace saves them at the entry of a function.
    Entry,
    /// Values that were saved at the function's entry.
    Saved,
    /// The arguments of a tracepoint. Its function has one parameter before them, for its own use.
    Passed,
    /// The fields of an event.
    Fields,
}

/// The mechanism that reports the hits of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// A kprobe.
    Entry,
    /// A kretprobe.
    Return,
    /// A probe of a tracepoint.
    Tracepoint,
    /// A handler of functions' entries.
    Function,
    /// A handler of functions' returns.
    FunctionReturn,
    /// A uprobe.
    User,
    /// A uprobe of returns.
    UserReturn,
    /// A handler of system calls.
    Call,
    /// A handler of whole system calls.
    WholeCall,
    /// An interrupt: a timer's, or a watchpoint's trap.
    Interrupt,
    /// Another event, or an action of a trigger.
    Sender,
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident { $($row:tt)* })*) => {
        /// When a probe fires.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ProbeKind {
            $($(#[$doc])* $kind,)*
        }

        impl ProbeKind {
            /// All kinds.
            pub const ALL: &'static [ProbeKind] = &[$(ProbeKind::$kind,)*];
        }

        impl Deref for ProbeKind {
            type Target = Row;

            #[inline]
            fn deref(&self) -> &Row {
                match self {
                    $(ProbeKind::$kind => {
                        const ROW: &Row = &Row { $($row)* };
                        ROW
                    })*
                }
            }
        }
    };
}

/// The row of a kprobe, from which the others differ.
const PLAIN: Row = Row {
    letter: 'p',
    default_group: "kprobes",
    location: Some(Location::Text),
    suffix: "",
    returning: None,
    returning_many: None,
    most_followed: None,
    in_file: None,
    is_return: false,
    is_user: false,
    arguments: ArgumentsFrom::Registers,
    no_registers: None,
    no_stack: None,
    own: &[],
    class: Class::PROBE,
    mechanism: Mechanism::Entry,
};

/// The row of a system call's event, which is predefined.
const CALL: Row = Row {
    letter: 's',
    default_group: "syscalls",
    location: None,
    arguments: ArgumentsFrom::Entry,
    class: Class::ENTER,
    mechanism: Mechanism::Call,
    ..PLAIN
};

/// The row of a probe of a program.
const USER: Row = Row {
    default_group: "uprobes",
    location: Some(Location::File),
    returning: Some(ProbeKind::UserReturn),
    is_user: true,
    mechanism: Mechanism::User,
    ..PLAIN
};

const FUNCTION: Row = Row {
    letter: 'f',
    default_group: "fprobes",
    location: Some(Location::Function),
    returning: Some(ProbeKind::FunctionReturn),
    returning_many: Some(ProbeKind::FunctionsReturn),
    arguments: ArgumentsFrom::Entry,
    no_registers: Some("f has arguments, and p has registers"),
    mechanism: Mechanism::Function,
    ..PLAIN
};

/// The row of an event that other events cause.
const CAUSED: Row = Row {
    arguments: ArgumentsFrom::Fields,
    no_registers: Some("an event has fields, and no registers"),
    no_stack: Some("an event has fields, and no stack"),
    class: Class::EVENT,
    mechanism: Mechanism::Sender,
    ..PLAIN
};

// Of the kinds with one letter, the one for locations without `%return` comes first.
kinds! {
    /// Before the instruction at its location is executed.
    Probe {
        returning: Some(ProbeKind::Return),
        in_file: Some(ProbeKind::UserProbe),
        ..PLAIN
    }
    /// When the function at its location returns.
    Return {
        letter: 'r',
        returning: Some(ProbeKind::Return),
        in_file: Some(ProbeKind::UserReturn),
        most_followed: Some(MAX_MAXACTIVE),
        is_return: true,
        arguments: ArgumentsFrom::Saved,
        class: Class::RETURN,
        mechanism: Mechanism::Return,
        ..PLAIN
    }
    /// Before a program executes the instruction at its location.
    UserProbe {
        ..USER
    }
    /// When the function of a program at its location returns.
    UserReturn {
        letter: 'r',
        is_return: true,
        class: Class::RETURN,
        mechanism: Mechanism::UserReturn,
        ..USER
    }
    /// When the kernel reaches the tracepoint.
    Tracepoint {
        letter: 't',
        default_group: "tracepoints",
        location: Some(Location::Tracepoint),
        arguments: ArgumentsFrom::Passed,
        no_registers: Some("a tracepoint has arguments, and no registers"),
        no_stack: Some("a tracepoint has no stack"),
        mechanism: Mechanism::Tracepoint,
        ..PLAIN
    }
    /// When the function at its location begins, as ftrace sees it.
    Function {
        ..FUNCTION
    }
    /// When the function at its location returns, as ftrace sees it.
    FunctionReturn {
        suffix: "%return",
        is_return: true,
        arguments: ArgumentsFrom::Saved,
        class: Class::RETURN,
        mechanism: Mechanism::Return,
        ..FUNCTION
    }
    /// When one of the functions that a list of patterns selects returns, as ftrace sees it.
    FunctionsReturn {
        suffix: "%return",
        is_return: true,
        arguments: ArgumentsFrom::Saved,
        class: Class::RETURN,
        mechanism: Mechanism::FunctionReturn,
        ..FUNCTION
    }
    /// When a system call begins.
    Enter {
        ..CALL
    }
    /// When a system call returns.
    Exit {
        ..CALL
    }
    /// A whole system call, when it returns.
    Call {
        default_group: "calls",
        mechanism: Mechanism::WholeCall,
        ..CALL
    }
    /// When another event is hit.
    Event {
        letter: 'e',
        default_group: "eprobes",
        location: Some(Location::Event),
        ..CAUSED
    }
    /// When the second event of a pair is hit.
    Pair {
        letter: 'b',
        default_group: "pairs",
        location: Some(Location::Pair),
        most_followed: Some(MAX_PAIRS),
        ..CAUSED
    }
    /// When a period has passed, on each CPU.
    Sample {
        letter: 'c',
        default_group: "samples",
        location: Some(Location::Period),
        own: OF_SAMPLE,
        mechanism: Mechanism::Interrupt,
        ..PLAIN
    }
    /// When the data at its location has been accessed.
    Watchpoint {
        letter: 'w',
        default_group: "watchpoints",
        location: Some(Location::Watched),
        own: OF_WATCHPOINT,
        mechanism: Mechanism::Interrupt,
        ..PLAIN
    }
    /// When an action of a histogram emits it.
    Synthetic {
        letter: 's',
        default_group: "synthetic",
        location: None,
        class: Class::SYNTHETIC,
        ..CAUSED
    }
}

impl Row {
    /// Returns whether a location is in a function, or is the function.
    pub fn is_in_function(&self) -> bool {
        !matches!(self.location, Some(Location::Period | Location::Watched))
    }

    /// Returns the variable `text`, which begins with `$`, if only this kind has it, with its index
    /// among the registers.
    pub fn own_variable(&self, text: &[u8]) -> Option<(u8, &'static OwnVariable)> {
        let name = text.strip_prefix(b"$")?;
        let known = self.own.iter().zip(FIRST_OWN..);
        let mut known = known.filter(|(own, _)| own.name.as_bytes() == name);
        known.next().map(|(own, index)| (index, own))
    }
}

impl ProbeKind {
    /// Returns the kind of a definition that starts with `letter`, for a location without
    /// `%return`.
    pub fn by_letter(letter: u8) -> Option<(Self, Location)> {
        Self::ALL.iter().find_map(|&kind| {
            let location = kind.location?;
            (kind.letter == char::from(letter)).then_some((kind, location))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_is_of_one_grammar() {
        for kind in ProbeKind::ALL {
            let letter = u8::try_from(kind.letter).expect("ASCII");
            let first = ProbeKind::by_letter(letter);
            let location = first.map(|(_, location)| location);
            assert!(location == kind.location || kind.is_user, "{kind:?}");
            let Some((first, _)) = first else { continue };
            let others = [first.returning, first.returning_many, first.in_file];
            assert!(first == *kind || others.contains(&Some(*kind)), "{kind:?}");
            let is_other = first.default_group != kind.default_group;
            assert_eq!(is_other, kind.is_user, "{kind:?}");
        }
    }

    #[test]
    fn what_returns_is_a_return() {
        for kind in ProbeKind::ALL {
            let returning = [kind.returning, kind.returning_many];
            let mut returning = returning.iter().flatten();
            assert!(returning.all(|kind| kind.is_return), "{kind:?}");
            assert_eq!(
                kind.is_return && !kind.is_user,
                kind.arguments == ArgumentsFrom::Saved,
                "{kind:?}"
            );
            assert!(
                kind.most_followed.is_none() || kind.is_return || *kind == ProbeKind::Pair,
                "{kind:?}"
            );
        }
    }
}
