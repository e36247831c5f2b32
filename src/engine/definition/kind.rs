// SPDX-License-Identifier: GPL-2.0

//! The kinds of probes: a row for each says what tells it from the others.

use core::ops::Deref;

use crate::engine::record::Class;

/// Largest number of instances of a return probe that a definition may request.
pub const MAX_MAXACTIVE: u32 = 4096;

/// Largest number of beginnings of a pair that a definition may request.
pub const MAX_PAIRS: u32 = 1 << 20;

/// The properties of a kind.
#[derive(Debug)]
pub struct Row {
    /// The letter that starts such a definition; no definition starts with the letter of a
    /// kind that has no grammar of the location.
    pub letter: char,
    /// Group of such an event if the definition names none.
    pub default_group: &'static str,
    /// How the location is written; `None` if no definition defines such probes: these events
    /// always exist.
    pub location: Option<Location>,
    /// What is written behind the location, in a definition as it is listed.
    pub suffix: &'static str,
    /// The kind of a definition with this letter whose location ends in `%return`.
    pub returning: Option<ProbeKind>,
    /// The same if the location is a list of patterns.
    pub returning_many: Option<ProbeKind>,
    /// The largest number that may follow the letter: how many concurrent calls or pairs can be
    /// followed. `None` if no number may follow.
    pub most_followed: Option<u32>,
    /// Whether it is hit when a function returns: then there are a return value, a return
    /// address and a duration.
    pub is_return: bool,
    /// The origin of the function's arguments.
    pub arguments: ArgumentsFrom,
    /// Why a definition cannot name registers, if it cannot.
    pub no_registers: Option<&'static str>,
    /// Why a definition cannot name words of the stack, if it cannot.
    pub no_stack: Option<&'static str>,
    /// The class of its records.
    pub class: &'static Class,
    /// What reports the hits.
    pub mechanism: Mechanism,
}

/// How a location is written, and how an event is called whose definition gives no name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location {
    /// A symbol with an offset, or an address. The event is called by letter and location.
    Text,
    /// The name of a function, or a list of patterns. The event is called by the function and
    /// whether it begins or returns.
    Function,
    /// The name of a tracepoint. The event is called as the tracepoint.
    Tracepoint,
    /// The names of another event. The event is called as that one.
    Event,
    /// The names of two events, with their keys. The event is called as the second one.
    Pair,
}

impl Location {
    /// Returns what stands for such a location in a remedy.
    pub fn example(self) -> &'static str {
        match self {
            Self::Text => "SYMBOL",
            Self::Function => "FUNCTION",
            Self::Tracepoint => "TRACEPOINT",
            Self::Event => "GROUP.EVENT",
            Self::Pair => "GROUP.EVENT GROUP.EVENT",
        }
    }
}

/// The origin of the arguments of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentsFrom {
    /// The registers and the stack, if the location is the entry of a function.
    Registers,
    /// The same, as ftrace keeps them at the entry of a function.
    Entry,
    /// What was saved when the function began.
    Saved,
    /// What a tracepoint passes. Its function has one parameter before them, for its own use.
    Passed,
    /// The fields of an event.
    Fields,
}

/// What reports the hits of a kind.
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
    /// A handler of system calls.
    Call,
    /// A handler of whole system calls.
    WholeCall,
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

/// A kind of which little is special.
const PLAIN: Row = Row {
    letter: 'p',
    default_group: "kprobes",
    location: Some(Location::Text),
    suffix: "",
    returning: None,
    returning_many: None,
    most_followed: None,
    is_return: false,
    arguments: ArgumentsFrom::Registers,
    no_registers: None,
    no_stack: None,
    class: Class::PROBE,
    mechanism: Mechanism::Entry,
};

/// An event that always exists.
const CALL: Row = Row {
    letter: 's',
    default_group: "syscalls",
    location: None,
    arguments: ArgumentsFrom::Entry,
    class: Class::ENTER,
    mechanism: Mechanism::Call,
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

/// An event that others cause.
const CAUSED: Row = Row {
    arguments: ArgumentsFrom::Fields,
    no_registers: Some("an event has fields, and no registers"),
    no_stack: Some("an event has fields, and no stack"),
    class: Class::EVENT,
    mechanism: Mechanism::Sender,
    ..PLAIN
};

// Where kinds share a letter, the first is that of a location without `%return`.
kinds! {
    /// Before the instruction at its location is executed.
    Probe {
        returning: Some(ProbeKind::Return),
        ..PLAIN
    }
    /// When the function at its location returns.
    Return {
        letter: 'r',
        returning: Some(ProbeKind::Return),
        most_followed: Some(MAX_MAXACTIVE),
        is_return: true,
        arguments: ArgumentsFrom::Saved,
        class: Class::RETURN,
        mechanism: Mechanism::Return,
        ..PLAIN
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
    /// When an event ends what another one has begun.
    Pair {
        letter: 'b',
        default_group: "pairs",
        location: Some(Location::Pair),
        most_followed: Some(MAX_PAIRS),
        ..CAUSED
    }
    /// When an action of a trigger makes it.
    Synthetic {
        letter: 's',
        default_group: "synthetic",
        location: None,
        class: Class::SYNTHETIC,
        ..CAUSED
    }
}

impl ProbeKind {
    /// Returns the kind of a definition that starts with `letter`, if its location does not end
    /// in `%return`.
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
            assert_eq!(
                first.map(|(_, location)| location),
                kind.location,
                "{kind:?}"
            );
            let Some((first, _)) = first else { continue };
            let returning = [first.returning, first.returning_many];
            assert!(
                first == *kind || returning.contains(&Some(*kind)),
                "{kind:?}"
            );
            assert_eq!(first.default_group, kind.default_group, "{kind:?}");
        }
    }

    #[test]
    fn what_returns_is_a_return() {
        for kind in ProbeKind::ALL {
            let returning = [kind.returning, kind.returning_many];
            let mut returning = returning.iter().flatten();
            assert!(returning.all(|kind| kind.is_return), "{kind:?}");
            assert_eq!(
                kind.is_return,
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
