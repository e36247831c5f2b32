// SPDX-License-Identifier: GPL-2.0

//! A definition as it was written: names, location and fetch arguments, before any symbol,
//! register value or type information is looked up.
//!
//! Everything is owned, so that a definition outlives the write it came from; columns refer
//! to its [`Command`](crate::engine::language::lex::Command).

use core::fmt::{self, Write};

use crate::engine::definition::file_place::FilePlace;
use crate::engine::definition::kind::ProbeKind;
use crate::engine::definition::period::Period;
use crate::engine::definition::task::TaskNumber;
use crate::engine::definition::watched::Watched;
use crate::engine::language::functions::{self, Patterns};
use crate::engine::language::lex::Command;
use crate::engine::language::types::TypeSpec;
use crate::engine::record::Layout;
use crate::engine::refusal::error::{Error, Kind};
use crate::engine::util::text::{Appender, Plain};
use crate::sys::{Box, Vec};

/// Largest number of fetch arguments.
pub const MAX_ARGS: usize = 128;
/// Longest fetch argument, without its name.
pub const MAX_ARG_LEN: usize = 255;
/// Longest name of an argument.
pub const MAX_ARG_NAME_LEN: usize = 32;
/// Longest name of an event or a group.
pub const MAX_NAME_LEN: usize = 63;
/// Deepest nesting of dereferences and typecasts.
pub const MAX_NESTING: usize = 8;

/// The request in one line of `kprobe_events`.
#[derive(Debug, PartialEq, Eq)]
pub enum Request {
    /// Create a probe, or append it to the event of the same name.
    Create(Definition),
    /// Delete probes.
    Delete(Deletion),
}

/// The location of a probe.
#[derive(Debug, PartialEq, Eq)]
pub enum Place {
    /// `[MODULE:]SYMBOL[#N|#*][+OFFSET]`, or the name of a tracepoint.
    Symbol {
        /// Symbol with its module, as written.
        name: Vec<u8>,
        /// Selects among symbols of the same name.
        which: Which,
        /// Offset from the symbol, in bytes.
        offset: u32,
    },
    /// A kernel address.
    Address(u64),
    /// A location in a file, of the programs that have mapped it.
    File(FilePlace),
    /// The entries of the functions that a list of patterns selects.
    Functions(Patterns),
    /// `GROUP.EVENT`: another event.
    Event {
        /// Its group.
        group: Vec<u8>,
        /// Its name.
        event: Vec<u8>,
    },
    /// `GROUP.EVENT(KEY,...)` twice: the event that begins a pair, and the one that ends it.
    Pair(Vec<PairSide>),
    /// The time between two ticks.
    Every(Period),
    /// Data that is watched.
    Data(Watched),
    /// None: an action of a trigger makes the event.
    None,
}

/// An event that begins or ends a pair.
#[derive(Debug, PartialEq, Eq)]
pub struct PairSide {
    /// Its group.
    pub group: Vec<u8>,
    /// Its name.
    pub event: Vec<u8>,
    /// The fields by which the two hits are matched.
    pub keys: Vec<Vec<u8>>,
    /// Column of the group.
    pub at: usize,
}

impl fmt::Display for PairSide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", Plain(&self.group), Plain(&self.event))?;
        for (n, key) in self.keys.iter().enumerate() {
            let before = if n == 0 { '(' } else { ',' };
            write!(f, "{before}{}", Plain(key))?;
        }
        f.write_str(if self.keys.is_empty() { "" } else { ")" })
    }
}

/// Which of several symbols of one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The only one.
    Only,
    /// `#N`: the N-th in the order of `/proc/kallsyms`, counted from 1.
    Number(u16),
    /// `#*`: each of them, as a probe of its own.
    All,
}

impl fmt::Display for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Which::Only => Ok(()),
            Which::Number(n) => write!(f, "#{n}"),
            Which::All => f.write_str("#*"),
        }
    }
}

impl Place {
    /// Returns whether it selects each symbol of a name.
    pub fn is_each(&self) -> bool {
        matches!(
            self,
            Place::Symbol {
                which: Which::All,
                ..
            }
        )
    }

    /// Returns the path of the file in which it is.
    pub fn path(&self) -> Option<&[u8]> {
        match self {
            Place::File(place) => Some(&place.path),
            _ => None,
        }
    }

    /// Returns module and symbol of a symbolic location.
    pub fn symbol(&self) -> Option<(Option<&[u8]>, &[u8])> {
        let name = match self {
            Place::Symbol { name, .. } => name,
            Place::Data(watched) => watched.symbol.as_ref()?,
            _ => return None,
        };
        match name.iter().position(|&b| b == b':') {
            Some(colon) => Some((name.get(..colon), name.get(colon.saturating_add(1)..)?)),
            None => Some((None, name)),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Symbol {
                name,
                which,
                offset: 0,
            } => write!(f, "{}{which}", Plain(name)),
            Place::Symbol {
                name,
                which,
                offset,
            } => write!(f, "{}{which}+{offset}", Plain(name)),
            Place::Address(address) => write!(f, "{address:#x}"),
            Place::File(place) => write!(f, "{place}"),
            Place::Functions(patterns) => write!(f, "{patterns}"),
            Place::Event { group, event } => write!(f, "{}.{}", Plain(group), Plain(event)),
            Place::Pair(sides) => {
                for (n, side) in sides.iter().enumerate() {
                    write!(f, "{}{side}", if n == 0 { "" } else { " " })?;
                }
                Ok(())
            }
            Place::Every(period) => write!(f, "{period}"),
            Place::Data(watched) => write!(f, "{watched}"),
            Place::None => Ok(()),
        }
    }
}

/// A probe definition.
#[derive(Debug, PartialEq, Eq)]
pub struct Definition {
    /// When it fires.
    pub kind: ProbeKind,
    /// Number of concurrent calls that can be followed; 0 for the default.
    pub maxactive: u32,
    /// Group of the event.
    pub group: Vec<u8>,
    /// Name of the event, given or generated.
    pub event: Vec<u8>,
    /// The location of the probe.
    pub place: Place,
    /// Column of the location in the command.
    pub place_at: usize,
    /// The fetch arguments.
    pub args: Vec<Argument>,
    /// The filter on the hits of the other event.
    // Boxed: few definitions have one, and definitions are passed by value.
    pub condition: Option<Box<Condition>>,
}

/// A filter in a definition: `if FILTER`.
#[derive(Debug, PartialEq, Eq)]
pub struct Condition {
    /// The filter.
    pub text: Vec<u8>,
    /// Its column.
    pub at: usize,
}

impl Definition {
    /// Writes the definition as a line of `kprobe_events`, with its line feed. Parsing the
    /// line gives the same definition again.
    ///
    /// # Errors
    ///
    /// The errors of `out`.
    pub fn write_line(&self, out: &mut dyn Write) -> fmt::Result {
        if self.kind == ProbeKind::Synthetic {
            write!(out, "s:{}/{}\t", Plain(&self.group), Plain(&self.event))?;
            return self.write_fields(out);
        }
        out.write_char(self.kind.letter)?;
        if self.maxactive > 0 {
            write!(out, "{}", self.maxactive)?;
        }
        write!(
            out,
            ":{}/{} {}{}",
            Plain(&self.group),
            Plain(&self.event),
            self.place,
            self.kind.suffix
        )?;
        for arg in &self.args {
            match arg.expression.origin {
                // Expands to arguments with names of their own.
                Origin::AllArguments => write!(out, " {}", Plain(&arg.text))?,
                _ => write!(out, " {}={}", Plain(&arg.name), Plain(&arg.text))?,
            }
        }
        if let Some(condition) = &self.condition {
            write!(out, " if {}", Plain(&condition.text))?;
        }
        out.write_char('\n')
    }

    /// Writes the fields of a synthetic event, `TYPE NAME; ...`, and a line feed.
    ///
    /// # Errors
    ///
    /// The errors of `out`.
    pub fn write_fields(&self, out: &mut dyn Write) -> fmt::Result {
        for (n, field) in self.args.iter().enumerate() {
            let before = if n == 0 { "" } else { "; " };
            write!(out, "{before}{} {}", Plain(&field.text), Plain(&field.name))?;
        }
        out.write_char('\n')
    }

    /// Returns group and name of the event that is its location.
    pub fn attached_to(&self) -> Option<(&[u8], &[u8])> {
        match &self.place {
            Place::Event { group, event } => Some((group, event)),
            _ => None,
        }
    }
}

/// A defined probe, with the layout of its arguments.
pub struct DefinedProbe<'a> {
    /// Its definition.
    pub definition: &'a Definition,
    /// The layout of its records.
    pub layout: &'a Layout,
}

impl Definition {
    /// Checks whether a probe with this definition and `layout` may be appended to the
    /// event of the same name, whose probes are `existing`. `command` is the definition's
    /// text.
    ///
    /// # Errors
    ///
    /// `DIFF_PROBE_TYPE`, `DIFF_ARG_TYPE`, `SAME_PROBE`.
    #[inline(never)]
    pub fn check_append(
        &self,
        layout: &Layout,
        command: &Command,
        existing: &mut dyn Iterator<Item = DefinedProbe<'_>>,
    ) -> Result<(), Error> {
        for probe in existing {
            let other = probe.definition;
            if self.kind != other.kind {
                return Err(self.is_taken(Error::new(Kind::DiffProbeType, 0)));
            }
            if let Some(n) = layout.difference(probe.layout) {
                // Past the last argument the caret goes behind the command.
                let at = match self.args.get(n) {
                    Some(arg) => arg.at,
                    None => command.column(command.len()),
                };
                return Err(self.is_taken(Error::new(Kind::DiffArgType, at)));
            }
            let mut pairs = self.args.iter().zip(&other.args);
            if self.place == other.place && pairs.all(|(a, b)| *a.text == *b.text) {
                return Err(Error::new(Kind::SameProbe, 0));
            }
        }
        Ok(())
    }
}

impl Definition {
    /// Returns `error` with the remedy for an event of the same name that differs.
    #[cold]
    #[inline(never)]
    fn is_taken(&self, error: Error) -> Error {
        error.with_detail(format_args!(
            "choose another name, or write -:{}/{} first",
            Plain(&self.group),
            Plain(&self.event)
        ))
    }
}

/// One fetch argument of a definition.
#[derive(Debug, PartialEq, Eq)]
pub struct Argument {
    /// Name, given or generated.
    pub name: Vec<u8>,
    /// The argument as written, without its name.
    pub text: Vec<u8>,
    /// Column of the argument, with its name.
    pub at: usize,
    /// Column of its text.
    pub text_at: usize,
    /// Column of its type, or of its text if it has none.
    pub type_at: usize,
    /// What is fetched.
    pub expression: Expression,
    /// The type as which it is recorded.
    pub spec: TypeSpec,
}

/// The origin of a value, and the steps applied to the value.
#[derive(Debug, PartialEq, Eq)]
pub struct Expression {
    /// The innermost part.
    pub origin: Origin,
    /// Column of the origin.
    pub source_at: usize,
    /// The steps, innermost first.
    pub steps: Vec<Step>,
}

/// The origin of a value.
#[derive(Debug, PartialEq, Eq)]
pub enum Origin {
    /// `%REG`: a register, by its index.
    Register(u8),
    /// `$stack`: the stack pointer.
    StackPointer,
    /// `$stackN`: a word of the stack.
    Stack(u16),
    /// `$argN`: an argument of the function, counted from zero here.
    Argument(u16),
    /// `$arg*`: all arguments of the function.
    AllArguments,
    /// `$retval`: the return value.
    ReturnValue,
    /// `$duration`: how long the call took.
    Duration,
    /// `$nsecs`: the time of the hit.
    Nanoseconds,
    /// `$user` and others: a variable that only this kind has, by its index among the registers.
    Own(u8),
    /// `$tgid` and others: a number of the current task.
    Task(TaskNumber),
    /// `$comm`: the name of the current task.
    Comm,
    /// `$current`: the address of the current task's `task_struct`.
    Current,
    /// `\NUMBER`, and the address of `@ADDRESS`.
    Immediate(u64),
    /// `\"text"`.
    Text(Vec<u8>),
    /// The address of `@SYMBOL[+|-OFFSET]`.
    Symbol {
        /// The data symbol.
        name: Vec<u8>,
        /// Offset from the symbol, in bytes.
        offset: i64,
    },
    /// `@VARIABLE->MEMBER`, `@VARIABLE[CPU]`: a variable of the kernel with members behind it.
    Variable {
        /// The data symbol.
        name: Vec<u8>,
        /// The members behind the name, beginning with `->`, `.` or `[`.
        path: Vec<u8>,
        /// Column of the members.
        path_at: usize,
    },
    /// A bare name: a parameter known from BTF, or the syntax of 2009.
    Name(Vec<u8>),
    /// The address at which the probed file would begin in memory; `@+OFFSET` reads at an offset
    /// from there.
    FileStart,
    /// A field of the other event, or `$comm` if that event has no such field.
    Field(Vec<u8>),
}

/// One step of an expression.
#[derive(Debug, PartialEq, Eq)]
pub struct Step {
    /// The action.
    pub action: StepKind,
    /// Column to which an error of this step points.
    pub at: usize,
}

/// The operation of a step.
#[derive(Debug, PartialEq, Eq)]
pub enum StepKind {
    /// `+|-[u]OFFSET(...)`: the value is an address to read from.
    Dereference {
        /// Added to the address.
        offset: i64,
        /// Whether the address is in user memory.
        user: bool,
    },
    /// `this_cpu_ptr(...)`: the value becomes an address of this CPU's copy.
    ThisCpu,
    /// `->MEMBER.MEMBER->MEMBER`, by the BTF type of the value. Stored without a leading `->`, but
    /// with a leading `.` or `[`.
    Members(Vec<u8>),
    /// `(STRUCT[,FIELD])...->MEMBER...`: like [`StepKind::Members`], by a named type.
    Cast(Cast),
}

/// A typecast and the members behind it.
#[derive(Debug, PartialEq, Eq)]
pub struct Cast {
    /// Name of the structure.
    pub structure: Vec<u8>,
    /// Column of the name.
    pub structure_at: usize,
    /// The member of the structure that the value points to (`container_of()`).
    pub field: Option<Vec<u8>>,
    /// Column of that member.
    pub field_at: usize,
    /// The members, without a leading arrow; empty if a later step has them.
    pub members: Vec<u8>,
}

/// A deletion: `-:[GROUP/][EVENT] [PLACE [NAME=ARG...]]`, or a definition with `!` before
/// it.
#[derive(Debug, PartialEq, Eq)]
pub struct Deletion {
    /// Only events of this group.
    pub group: Option<Vec<u8>>,
    /// Only the event of this name.
    pub event: Option<Vec<u8>>,
    /// Only the probe at this location, as written.
    pub place: Option<Vec<u8>>,
    /// Only the probe whose first arguments are these, as `NAME=ARG`.
    pub args: Vec<Vec<u8>>,
}

impl Deletion {
    /// Returns whether `definition` is to be deleted.
    pub fn matches(&self, definition: &Definition) -> bool {
        let same = |wanted: &Option<Vec<u8>>, name: &[u8]| {
            wanted.as_ref().is_none_or(|wanted| **wanted == *name)
        };
        if let Place::Pair(_) = definition.place {
            return self.matches_pair(definition);
        }
        let has_names =
            same(&self.group, &definition.group) && same(&self.event, &definition.event);
        if definition.kind == ProbeKind::Synthetic {
            // As in the kernel, the fields are ignored.
            return has_names;
        }
        has_names
            && self
                .place
                .as_ref()
                .is_none_or(|place| same_place(place, &definition.place))
            && self.args.len() <= definition.args.len()
            && self
                .args
                .iter()
                .zip(definition.args.iter())
                .all(|(wanted, arg)| {
                    let rest = wanted
                        .strip_prefix(&*arg.name)
                        .and_then(|r| r.strip_prefix(b"="));
                    rest == Some(&*arg.text)
                })
    }
}

impl Deletion {
    /// [`Deletion::matches`] for a pair, whose second event is the first word behind the place.
    fn matches_pair(&self, definition: &Definition) -> bool {
        let same = |wanted: &Option<Vec<u8>>, name: &[u8]| {
            wanted.as_ref().is_none_or(|wanted| **wanted == *name)
        };
        let mut line = Vec::new();
        if definition.write_line(&mut Appender(&mut line)).is_err() {
            return false;
        }
        let mut words = line.trim_ascii().split(|&byte| byte == b' ').skip(1);
        let mut wanted = Iterator::chain(self.place.iter(), &self.args);
        same(&self.group, &definition.group)
            && same(&self.event, &definition.event)
            && wanted.all(|wanted| words.next() == Some(&**wanted))
    }
}

/// Returns the text behind `#N` or `#*` at the start of `text`, if that equals `which`.
fn behind_which(text: &[u8], which: Which) -> Option<&[u8]> {
    let Some(text) = text.strip_prefix(b"#") else {
        return (which == Which::Only).then_some(text);
    };
    if let Some(rest) = text.strip_prefix(b"*") {
        return (which != Which::Only).then_some(rest);
    }
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, rest) = text.split_at_checked(digits)?;
    let number = crate::engine::language::lex::decimal(number).and_then(|n| u16::try_from(n).ok());
    (number.map(Which::Number) == Some(which)).then_some(rest)
}

/// Returns whether `text` denotes `place`. Offsets and addresses are compared as numbers, in any
/// base.
fn same_place(text: &[u8], place: &Place) -> bool {
    let span = crate::engine::language::lex::Span { bytes: text, at: 0 };
    if let Place::File(place) = place {
        return FilePlace::parse(span).is_ok_and(|(written, _)| written == *place);
    }
    let text = text.strip_suffix(b"%return").unwrap_or(text);
    match place {
        Place::Address(address) => crate::engine::language::lex::unsigned(text) == Some(*address),
        Place::Functions(patterns) => {
            let list = crate::engine::language::lex::Span { bytes: text, at: 0 };
            text == patterns.text()
                || text.contains(&b'-')
                    && Patterns::parse(list, core::iter::empty()).as_ref() == Ok(patterns)
        }
        Place::Every(period) => Period::written(text).as_ref() == Some(period),
        Place::Data(watched) => {
            let word = crate::engine::language::lex::Span { bytes: text, at: 0 };
            Watched::parse(word).as_ref() == Ok(watched)
        }
        Place::None | Place::Pair(_) | Place::File(_) => false,
        Place::Event { group, event } => {
            let rest = text.strip_prefix(&**group);
            let separator = rest.and_then(|rest| rest.split_first());
            separator.is_some_and(|(byte, name)| matches!(byte, b'.' | b'/') && name == &**event)
        }
        Place::Symbol {
            name,
            which,
            offset,
        } => {
            let Some(rest) = functions::behind_place(text, name) else {
                return false;
            };
            let Some(rest) = behind_which(rest, *which) else {
                return false;
            };
            match rest.strip_prefix(b"+") {
                Some(number) => {
                    crate::engine::language::lex::unsigned(number) == Some(u64::from(*offset))
                }
                None => rest.is_empty() && *offset == 0,
            }
        }
    }
}
