// SPDX-License-Identifier: GPL-2.0

//! Definitions of synthetic events: `NAME TYPE FIELD[; TYPE FIELD]...`.
//!
//! The grammar is the kernel's, including its old form without semicolons. A field is compiled as
//! an argument that is fetched from the register with its index.

use crate::engine::definition::ast::{
    Argument, Definition, Deletion, Expression, Origin, Place, Request, Step, StepKind,
    MAX_ARG_NAME_LEN, MAX_NAME_LEN,
};
use crate::engine::definition::kind::ProbeKind;
use crate::engine::language::lex::{self, Command, Span};
use crate::engine::language::types::{Type, TypeSpec};
use crate::engine::refusal::error::{Error, Kind};
use crate::sys::Vec;

use super::naming::RESERVED_NAMES;

/// Maximum number of fields: the kernel's `SYNTH_FIELDS_MAX`.
const MAX_FIELDS: usize = 64;

/// The group of synthetic events.
pub const SYNTHETIC_GROUP: &[u8] = b"synthetic";

/// Longest text of a field, with its NUL: the kernel's `STR_VAR_LEN_MAX`.
const MAX_TEXT: u64 = 256;

/// Frames of a field that is a stack: the kernel's `HIST_STACKTRACE_DEPTH`.
pub const SYNTHETIC_STACK: u8 = 16;

/// Parses a line of `synthetic_events`: a definition, or `!NAME` with anything behind it.
pub(super) fn request(command: &Command) -> Result<Request, Error> {
    let head = command.word(0).and_then(|word| word.strip(b"!"));
    let Some(name) = head else {
        return synthetic(command).map(Request::Create);
    };
    if name.bytes.is_empty() {
        return Err(name.error(Kind::SynthInvalidCmd));
    }
    Ok(Request::Delete(Deletion {
        group: Some(Vec::from_slice(SYNTHETIC_GROUP)?),
        event: Some(name.to_vec()?),
        place: None,
        args: Vec::new(),
    }))
}

/// Parses a line of `synthetic_events` that defines an event.
///
/// # Errors
///
/// The kinds of synthetic events.
pub fn synthetic(command: &Command) -> Result<Definition, Error> {
    let text = Span {
        bytes: command.text(),
        at: 0,
    };
    definition(text)
}

/// Parses a line of `dynamic_events`: the same definition behind `s:` or `s:synthetic/`.
pub(super) fn prefixed(command: &Command) -> Result<Definition, Error> {
    let text = Span {
        bytes: command.text(),
        at: 0,
    };
    let text = text.skip(2);
    let end = text.find(b' ').unwrap_or(text.bytes.len());
    match text.take(end).find(b'/') {
        None => definition(text),
        Some(slash) if text.take(slash).bytes == SYNTHETIC_GROUP => {
            definition(text.around(slash).1)
        }
        Some(_) => Err(Error::new(Kind::SynthInvalidDynCmd, 0)),
    }
}

/// Parses what follows the prefix.
fn definition(text: Span<'_>) -> Result<Definition, Error> {
    let mut parts = FieldParts(Some(text));
    let first = parts.next().unwrap_or(text);
    let mut words = FieldWords(first);
    let name = words.next().unwrap_or(first);
    // The first field stands before the first semicolon.
    if FieldWords(first).count() < 3 {
        return Err(Error::new(Kind::SynthInvalidCmd, 0));
    }
    if !lex::is_identifier(name.bytes) {
        return Err(name.error(Kind::SynthBadName));
    }
    if name.bytes.len() > MAX_NAME_LEN {
        return Err(name
            .error(Kind::SynthBadName)
            .with_detail(format_args!("it has at most {MAX_NAME_LEN} characters")));
    }
    let mut definition = Definition {
        kind: ProbeKind::Synthetic,
        maxactive: 0,
        group: Vec::from_slice(SYNTHETIC_GROUP)?,
        event: name.to_vec()?,
        place: Place::None,
        place_at: name.at,
        args: Vec::new(),
        condition: None,
    };
    fields(&mut definition, words)?;
    for part in parts {
        fields(&mut definition, FieldWords(part))?;
    }
    Ok(definition)
}

/// Adds the fields of `words` to `definition`.
#[inline(never)]
fn fields(definition: &mut Definition, mut words: FieldWords<'_>) -> Result<(), Error> {
    while let Some(first) = words.next() {
        let (prefix, c_type) = match first.bytes {
            b"unsigned" => (&b"unsigned "[..], words.next()),
            _ => (&b""[..], Some(first)),
        };
        let name = words.next();
        let (c_type, name) = match (prefix.is_empty(), c_type, name) {
            (_, Some(c_type), Some(name)) => (c_type, name),
            (false, _, _) => return Err(first.error(Kind::SynthIncompleteType)),
            (true, _, _) => return Err(first.error(Kind::SynthInvalidField)),
        };
        if definition.args.len() >= MAX_FIELDS {
            return Err(Error::new(Kind::SynthTooManyFields, 0));
        }
        let index = definition.args.len();
        let field = field(index, (prefix, c_type), name)?;
        if definition.args.iter().any(|other| other.name == field.name) {
            return Err(name
                .error(Kind::SynthBadName)
                .with_detail(format_args!("another field is called so")));
        }
        definition.args.push(field)?;
    }
    Ok(())
}

/// Returns field `index`, whose type is `prefix` and `c_type`.
fn field(
    index: usize,
    (prefix, c_type): (&[u8], Span<'_>),
    written: Span<'_>,
) -> Result<Argument, Error> {
    let (name, array) = match written.find(b'[') {
        Some(bracket) => (written.take(bracket), written.skip(bracket)),
        None => (written, written.skip(written.bytes.len())),
    };
    let bad_name = || written.error(Kind::SynthBadName);
    if !lex::is_identifier(name.bytes) {
        return Err(bad_name());
    }
    if RESERVED_NAMES.contains(&name.bytes) {
        return Err(bad_name().with_detail(format_args!("all events have a field of that name")));
    }
    if name.bytes.len() > MAX_ARG_NAME_LEN {
        return Err(bad_name().with_detail(format_args!(
            "a field's name has at most {MAX_ARG_NAME_LEN} characters"
        )));
    }
    let mut whole = Vec::from_slice(prefix)?;
    whole.extend_from_slice(c_type.bytes)?;
    whole.extend_from_slice(array.bytes)?;
    let spec = spec(&whole).map_err(|_| match array.bytes.is_empty() {
        true => c_type.error(Kind::SynthInvalidType),
        false => written.error(Kind::SynthInvalidArraySpec),
    })?;
    let mut steps = Vec::new();
    if spec.base.is_text() || spec.count.is_some() {
        // The value is the address of the string, or of the stack: a number of frames and the
        // frames.
        steps.push(Step {
            action: StepKind::Dereference {
                offset: if spec.base.is_text() { 0 } else { 8 },
                user: false,
            },
            at: written.at,
        })?;
    }
    Ok(Argument {
        name: name.to_vec()?,
        text: whole,
        at: c_type.at,
        text_at: written.at,
        type_at: c_type.at,
        expression: Expression {
            origin: Origin::Register(u8::try_from(index).unwrap_or(u8::MAX)),
            source_at: written.at,
            steps,
        },
        spec,
    })
}

/// The type does not exist.
struct NoType;

/// Parses a C type.
fn spec(c_type: &[u8]) -> Result<TypeSpec, NoType> {
    let known: &[u8] = match c_type {
        b"char" => b"s8",
        b"unsigned char" | b"bool" => b"u8",
        b"int" | b"pid_t" => b"s32",
        b"unsigned int" => b"u32",
        b"long" => b"s64",
        b"unsigned long" => b"u64",
        b"gfp_t" => b"x32",
        b"s8" | b"s16" | b"s32" | b"s64" | b"u8" | b"u16" | b"u32" | b"u64" => c_type,
        _ => return array(c_type),
    };
    Type::named(known).map(TypeSpec::of).ok_or(NoType)
}

/// Returns the type `char[N]`, `char[]`, or `long[]`, which is a stack.
fn array(c_type: &[u8]) -> Result<TypeSpec, NoType> {
    let signless = c_type.strip_prefix(b"unsigned ").unwrap_or(c_type);
    if let Some(count) = signless.strip_prefix(b"char[") {
        let count = count.strip_suffix(b"]").ok_or(NoType)?;
        let fits = |size| (1..=MAX_TEXT).contains(&size);
        return match count.is_empty() || lex::unsigned(count).is_some_and(fits) {
            true => Ok(TypeSpec::of(Type::STRING)),
            false => Err(NoType),
        };
    }
    let frames = signless.strip_prefix(b"long[").ok_or(NoType)?;
    let is_array = frames.ends_with(b"]");
    let base = Type::named(b"symbol").filter(|_| is_array).ok_or(NoType)?;
    Ok(TypeSpec {
        count: Some(SYNTHETIC_STACK),
        ..TypeSpec::of(base)
    })
}

/// The parts of a text between semicolons.
struct FieldParts<'a>(Option<Span<'a>>);

impl<'a> Iterator for FieldParts<'a> {
    type Item = Span<'a>;

    fn next(&mut self) -> Option<Span<'a>> {
        let (part, behind) = self.0?.first_item(b';');
        self.0 = behind;
        Some(part)
    }
}

/// The words of a text.
#[derive(Clone)]
struct FieldWords<'a>(Span<'a>);

impl<'a> Iterator for FieldWords<'a> {
    type Item = Span<'a>;

    fn next(&mut self) -> Option<Span<'a>> {
        let start = self.0.find_by(|byte| byte != b' ')?;
        let text = self.0.skip(start);
        let end = text.find(b' ').unwrap_or(text.bytes.len());
        self.0 = text.skip(end);
        Some(text.take(end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Definition, Error> {
        synthetic(&Command::new(line.as_bytes()).unwrap())
    }

    fn listed(line: &str) -> String {
        let mut out = String::new();
        parse(line).unwrap().write_fields(&mut out).unwrap();
        out
    }

    #[test]
    fn fields_are_listed_as_by_the_kernel() {
        for line in [
            "e u64 a; u64 b;",
            "e u64 a ; u64 b ;",
            "e u64 a ;u64 b",
            "e u64 a u64 b",
        ] {
            assert_eq!(listed(line), "u64 a; u64 b\n", "{line}");
        }
        assert_eq!(listed("e char a[10]"), "char[10] a\n");
        assert_eq!(listed("e char a[]"), "char[] a\n");
        assert_eq!(listed("e unsigned long[] st"), "unsigned long[] st\n");
        assert_eq!(listed("e  unsigned int  x"), "unsigned int x\n");
    }

    #[test]
    fn what_is_wrong_is_shown() {
        // The caret stands behind the bar.
        for (line, kind) in [
            ("e |chr arg", Kind::SynthInvalidType),
            ("e |unsigned arg", Kind::SynthIncompleteType),
            ("e char |str]; int v", Kind::SynthBadName),
            ("|mye-vent char str[]", Kind::SynthBadName),
            ("e char |st-r[]", Kind::SynthBadName),
            ("e char str;|[]", Kind::SynthInvalidField),
            ("e char str; |int", Kind::SynthInvalidField),
            ("e char |str[; int v", Kind::SynthInvalidArraySpec),
            ("e char |str[kdjdk]", Kind::SynthInvalidArraySpec),
            ("e char |str[257]", Kind::SynthInvalidArraySpec),
            ("e char |str[0]", Kind::SynthInvalidArraySpec),
            ("e int |v[2]", Kind::SynthInvalidArraySpec),
            ("|mye;vent char str[]", Kind::SynthInvalidCmd),
            ("|e ; char str[]", Kind::SynthInvalidCmd),
            ("|e", Kind::SynthInvalidCmd),
            ("|; char str[]", Kind::SynthInvalidCmd),
            ("|;e char str[]", Kind::SynthInvalidCmd),
            ("e int a; int |a", Kind::SynthBadName),
            ("e int |common_pid", Kind::SynthBadName),
        ] {
            let at = line.find('|').unwrap();
            let error = parse(&line.replace('|', "")).unwrap_err();
            assert_eq!((error.kind, error.at), (kind, at), "{line}");
        }
        let mut many = String::from("e");
        for n in 0..65 {
            many.push_str(&format!(" int f{n};"));
        }
        assert_eq!(parse(&many).unwrap_err().kind, Kind::SynthTooManyFields);
    }
}
