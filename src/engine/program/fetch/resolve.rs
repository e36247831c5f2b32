// SPDX-License-Identifier: GPL-2.0

//! Resolves the expression of an argument: the origin of the value, the reads that lead to the
//! recorded value, and its type.

use core::{fmt, mem};

use super::by_value::in_memory;
use super::compile::{of_user, ArgumentShape, Compiler, MAX_LINKS};
use super::members::{LowBits, TypeWalk};
use super::named::{add, named_type};
use super::passed::{at_entry, low_bits, no_dot};
use super::program::{saved_words, Constant, Hop, LoadOrigin, Store, FILE_START};
use super::target;
use super::unknown::too_few;
use super::whole;
use crate::engine::definition::ast::{self, Argument, Expression, StepKind};
use crate::engine::definition::task::TaskNumber;
use crate::engine::language::lex::{self, Span};
use crate::engine::language::types::{Bits, Derived, PathOf, Shown, Stored, Type, Width};
use crate::engine::program::btf::{BtfFunction, BtfValue};
use crate::engine::refusal::error::{Error, Kind};
use crate::engine::refusal::foreign;
use crate::engine::refusal::suggest::distance::Nearest;
use crate::engine::refusal::suggest::suggest;
use crate::engine::util::text::Plain;
use crate::sys::Vec;

/// Maximum number of words that a return probe saves at the entry of a function: the kernel's
/// limit.
const MAX_SAVED: usize = 512;

impl<'b> Compiler<'_, 'b> {
    /// Reduces an argument to origin, links and store.
    #[inline(never)]
    pub(super) fn shape(&mut self, arg: &Argument) -> Result<ArgumentShape, Error> {
        if let ast::Origin::Text(text) = &arg.expression.origin {
            return self.constant(arg, text);
        }
        let mut walk = TypeWalk {
            origin: LoadOrigin::Immediate(0),
            links: Vec::new(),
            value: None,
            structure: None,
            inside: 0,
            is_whole: arg.spec.is_of_structure(),
            is_named: arg.spec.base.shown() == Shown::Enum,
            path: None,
            bits: None,
            low: None,
            words: None,
            at: arg.expression.source_at,
        };
        if let Some(members) = self.origin(&mut walk, &arg.expression)? {
            walk.members(members)?;
        }
        // Members are followed here and not in a callee, which would need more stack.
        for n in 0..arg.expression.steps.len() {
            if let Some(members) = self.step(&mut walk, &arg.expression, n)? {
                walk.members(members)?;
            }
        }
        match arg.spec.path {
            None => {}
            Some(PathOf::Full) => self.full_path(arg, &mut walk)?,
            Some(of) => self.path(arg, of, &mut walk)?,
        }
        self.settled(arg, &mut walk)
    }

    /// Returns the shape of an argument after its last step.
    #[inline(never)]
    fn settled(&mut self, arg: &Argument, walk: &mut TypeWalk<'b>) -> Result<ArgumentShape, Error> {
        let whole = match walk.is_whole && walk.path.is_none() {
            true => Some(self.whole(arg, walk)?),
            false => None,
        };
        let (base, bits) = recorded_type(arg, walk)?;
        self.name_values(arg, walk, base)?;
        if walk.links.len() > MAX_LINKS {
            return Err(Error::new(Kind::TooManyOps, arg.text_at));
        }
        let (origin, mut links) = (walk.origin, mem::take(&mut walk.links));
        let store = match walk.path {
            Some(path) => path,
            None => store(arg, (base, whole), bits, origin, &mut links)
                .map_err(|error| self.register_as_memory(arg, error))?,
        };
        let (store, base) = match arg.spec.derived {
            None => (store, base),
            Some(what) => derived(what, store, base),
        };
        let store = match (base == Type::CHANGES, store) {
            (true, Store::Whole { offset, size, .. }) => {
                self.changes(arg, (origin, &links), (offset, size))?
            }
            (_, store) => store,
        };
        let is_stack = matches!(
            arg.expression.origin,
            ast::Origin::StackPointer | ast::Origin::Stack(_)
        );
        if let Some(why) = self.kind.no_stack.filter(|_| is_stack) {
            let refusal = Error::new(Kind::BadVar, arg.expression.source_at);
            return Err(refusal.with_detail(format_args!("{why}")));
        }
        let store = match self.kind.is_user {
            true => of_user(&mut links, store),
            false => store,
        };
        Ok(ArgumentShape {
            origin,
            links,
            store,
            base,
        })
    }

    /// Adds a remedy to `error`, the refusal of a text or an array, if the value is a register.
    #[cold]
    #[inline(never)]
    fn register_as_memory(&self, arg: &Argument, error: Error) -> Error {
        let isa = self.target.arch.isa();
        let ast::Origin::Register(register) = arg.expression.origin else {
            return error;
        };
        let mut names = isa.registers().iter();
        match names.find(|name| isa.register(name) == Some(register)) {
            Some(name) if error.kind == Kind::BadString && arg.expression.steps.is_empty() => error
                .with_detail(format_args!(
                    "a register is no memory: write +0(%{}) for that to which it points",
                    Plain(name)
                )),
            _ => error,
        }
    }

    /// Stores the text of `\"..."` and its NUL.
    fn constant(&mut self, arg: &Argument, text: &[u8]) -> Result<ArgumentShape, Error> {
        let too_big = |_| Error::new(Kind::EventTooBig, arg.text_at);
        let start = u16::try_from(self.program.texts.len()).map_err(too_big)?;
        self.program.texts.extend_from_slice(text)?;
        self.program.texts.push(0)?;
        let len = u16::try_from(text.len().saturating_add(1)).map_err(too_big)?;
        let store = Store::Constant(Constant { start, len, at: 0 });
        let origin = LoadOrigin::Immediate(0);
        Ok(ArgumentShape {
            origin,
            links: Vec::new(),
            store,
            base: Type::STRING,
        })
    }

    /// Returns the function whose entry or return is probed, if BTF knows it. Looked up
    /// once, because that walks over all types.
    #[inline(never)]
    pub(super) fn function(&mut self) -> Option<BtfFunction<'b>> {
        if let Some(known) = self.function {
            return known;
        }
        let name = self.target.function;
        let found = self
            .target
            .btf
            .zip(name)
            .and_then(|(btf, name)| btf.function(name));
        self.function = Some(found);
        found
    }

    /// Begins `walk` with the origin of `expression`. Returns members that belong to the origin.
    #[inline(never)]
    fn origin<'e>(
        &mut self,
        walk: &mut TypeWalk<'b>,
        expression: &'e Expression,
    ) -> Result<Option<Span<'e>>, Error> {
        let at = expression.source_at;
        let isa = self.target.arch.isa();
        walk.origin = match &expression.origin {
            ast::Origin::Register(reg) | ast::Origin::Own(reg) => LoadOrigin::Register(*reg),
            ast::Origin::StackPointer => LoadOrigin::Register(isa.stack_register()),
            ast::Origin::Stack(n) => LoadOrigin::Stack(*n),
            ast::Origin::Argument(n) if self.target.point.is_some() => {
                self.of_point(walk, *n)?;
                walk.origin
            }
            ast::Origin::Argument(n) => {
                let is_followed = walk.is_whole || has_members(expression);
                let parameter = self.parameter(usize::from(*n), at)?;
                let value = parameter.or_else(|| self.parameter_of(usize::from(*n)));
                walk.value = value.filter(|_| is_followed || walk.is_named);
                self.passed(walk, (*n, value), is_followed)?;
                if let Some(parameter) = parameter {
                    walk.low = low_bits(&parameter);
                }
                walk.origin
            }
            ast::Origin::ReturnValue => {
                let is_followed = walk.is_whole || has_members(expression);
                self.result(walk, is_followed)?;
                walk.origin
            }
            ast::Origin::Duration => LoadOrigin::Since(self.saved(LoadOrigin::Now, at)?),
            ast::Origin::Nanoseconds => LoadOrigin::Now,
            ast::Origin::Task(which) => LoadOrigin::Task(*which),
            ast::Origin::Current => {
                let is_typed = walk.is_whole || has_members(expression);
                let btf = self.target.btf.filter(|_| is_typed);
                walk.structure = btf.and_then(|btf| btf.structure(b"task_struct"));
                LoadOrigin::Current
            }
            ast::Origin::Immediate(value) => LoadOrigin::Immediate(*value),
            ast::Origin::FileStart => LoadOrigin::Register(FILE_START),
            // `attach` has replaced it.
            ast::Origin::Field(_) => return Err(Error::new(Kind::BadAttachArg, at)),
            ast::Origin::Symbol { name, offset } => match self.target.symbols.address(name) {
                Some(address) => {
                    let first = expression.steps.first().map(|step| &step.action);
                    let last = expression.steps.last().map(|step| &step.action);
                    let is_this = matches!(first, Some(StepKind::ThisCpu));
                    let is_followed = walk.is_whole || matches!(last, Some(StepKind::Members(_)));
                    let is_typed = is_this && is_followed && *offset == 0;
                    let btf = self.target.btf.filter(|_| is_typed);
                    walk.structure = btf.and_then(|btf| btf.per_cpu_variable(name));
                    LoadOrigin::Immediate(address.wrapping_add_signed(*offset))
                }
                None => return Err(self.no_data_symbol(name, at)),
            },
            ast::Origin::Variable {
                name,
                path,
                path_at,
            } => {
                let path = Span {
                    bytes: path,
                    at: *path_at,
                };
                return self.variable(walk, Span { bytes: name, at }, path);
            }
            ast::Origin::Name(name) => {
                let is_followed = walk.is_whole || has_members(expression);
                self.name(walk, name, is_followed)?;
                walk.origin
            }
            ast::Origin::AllArguments => return Err(Error::new(Kind::NosupBtfarg, at)),
            ast::Origin::Comm | ast::Origin::Text(_) => {
                return Err(Error::new(Kind::BadFetchArg, at))
            }
        };
        Ok(None)
    }

    /// Returns the type of a tracepoint's argument `n`, if BTF knows it.
    #[inline(never)]
    fn parameter(&mut self, n: usize, at: usize) -> Result<Option<BtfValue<'b>>, Error> {
        let Some(function) = self.function().filter(|_| self.are_passed()) else {
            return Ok(None);
        };
        match target::parameters(&function, self.kind).nth(n) {
            Some(parameter) => Ok(Some(parameter.value)),
            None => {
                let count = target::parameters(&function, self.kind).count();
                Err(too_few(count, at))
            }
        }
    }

    /// If `arg` is an argument of the function by number, returns its type, if BTF knows the
    /// function.
    pub(super) fn argument_itself(&mut self, arg: &Argument) -> Option<BtfValue<'b>> {
        match (&arg.expression.origin, &*arg.expression.steps) {
            (ast::Origin::Argument(n), []) => self.parameter_of(usize::from(*n)),
            _ => None,
        }
    }

    /// Returns the type of the function's parameter `n`, if BTF knows the function.
    fn parameter_of(&mut self, n: usize) -> Option<BtfValue<'b>> {
        let kind = self.kind;
        let mut all = self.function().into_iter();
        let parameter = all.find_map(|function| target::parameters(&function, kind).nth(n));
        parameter.map(|parameter| parameter.value)
    }

    /// Returns the index of the word in which a return probe saves `origin` at entry.
    #[inline(never)]
    pub(super) fn saved(&mut self, origin: LoadOrigin, at: usize) -> Result<u16, Error> {
        let entry = &mut self.program.entry;
        let slot = match entry.iter().position(|saved| *saved == origin) {
            Some(slot) => slot,
            None => {
                entry.push(origin)?;
                entry.len().saturating_sub(1)
            }
        };
        u16::try_from(slot).map_err(|_| Error::new(Kind::BadArgNum, at))
    }

    /// Returns the refusal of the unknown data symbol `name`.
    #[cold]
    #[inline(never)]
    pub(super) fn no_data_symbol(&mut self, name: &[u8], at: usize) -> Error {
        let error = Error::new(Kind::NoDataSymbol, at);
        if self.parameter_called(name).is_some() {
            let name = Plain(name);
            return error.with_detail(format_args!("{name} is a parameter: write it without @"));
        }
        let mut nearest = Nearest::to_wrong_symbol(name);
        self.target.symbols.each_similar_data(&mut nearest);
        let name = Plain(name);
        match nearest.is_none() {
            true => error.with_detail(format_args!(
                "there is no symbol {name}, see /proc/kallsyms"
            )),
            false => error.with_detail(format_args!(
                "there is no symbol {name}, did you mean {nearest}?"
            )),
        }
    }

    /// Begins `walk` with a bare name: a parameter, or the syntax of 2009.
    #[inline(never)]
    fn name(
        &mut self,
        walk: &mut TypeWalk<'b>,
        name: &[u8],
        is_followed: bool,
    ) -> Result<(), Error> {
        let at = walk.at;
        if let Some((n, value)) = self.parameter_called(name) {
            walk.value = Some(value);
            self.passed(walk, (n, Some(value)), is_followed)?;
            if self.are_passed() {
                walk.low = low_bits(&value);
            }
            return Ok(());
        }
        if let Some(number) = self.argument_of_2009(name) {
            return self.passed(walk, (number, None), false);
        }
        if let Some(origin) = self.dialect(name, at)? {
            walk.origin = origin;
            return Ok(());
        }
        Err(self.no_name(name, at))
    }

    /// Returns whether parameters have names where the probe is.
    fn has_names(&self) -> bool {
        self.kind.is_return || self.target.at_entry
    }

    /// Returns index, counted from zero, and type of the parameter `name`. Out of line, because the
    /// caller goes deep.
    #[inline(never)]
    fn parameter_called(&mut self, name: &[u8]) -> Option<(u16, BtfValue<'b>)> {
        let function = self.function().filter(|_| self.has_names())?;
        let mut n = 0u16;
        for parameter in target::parameters(&function, self.kind) {
            if parameter.name == name {
                return Some((n, parameter.value));
            }
            n = n.saturating_add(1);
        }
        None
    }

    /// Returns the refusal of the unknown `name`.
    #[cold]
    #[inline(never)]
    fn no_name(&mut self, name: &[u8], at: usize) -> Error {
        let (kind, here) = (self.kind, self.has_names());
        let function = self.function();
        let any = function.filter(|f| target::parameters(f, kind).next().is_some());
        let error = match (self.target.btf.is_some() && here, any) {
            (false, _) if !kind.is_in_function() => Error::new(Kind::NosupBtfarg, at)
                .with_detail(format_args!("no function begins: write a register")),
            (false, _) if self.target.btf.is_some() => {
                Error::new(Kind::NosupBtfarg, at).with_detail(format_args!(
                    "parameters have names at a function's entry only: write a register, or the symbol without an offset"
                ))
            }
            (false, _) => Error::new(Kind::NosupBtfarg, at),
            (true, None) => Error::new(Kind::NoBtfEntry, at),
            (true, Some(function)) => suggest(Error::new(Kind::NoBtfarg, at), name, |each| {
                target::parameters(&function, kind).for_each(|parameter| each(parameter.name));
            }),
        };
        match foreign::variable(name) {
            Some(meant) => error.with_detail(format_args!("did you mean {meant}?")),
            None => error,
        }
    }

    /// Returns the number of the argument that `name`, `aN`, means in the syntax of 2009.
    fn argument_of_2009(&self, name: &[u8]) -> Option<u16> {
        let digits = name.strip_prefix(b"a")?;
        lex::decimal(digits).and_then(|n| u16::try_from(n).ok())
    }

    /// Resolves another name in the syntax of 2009: `sN`, `sa`, `rv`, `ra`, `rNAME`.
    #[inline(never)]
    fn dialect(&mut self, name: &[u8], at: usize) -> Result<Option<LoadOrigin>, Error> {
        let isa = self.target.arch.isa();
        let number = |digits: &[u8]| lex::decimal(digits).and_then(|n| u16::try_from(n).ok());
        Ok(match name {
            _ if self.are_passed() => None,
            b"rv" if self.kind.is_return => Some(LoadOrigin::Register(isa.return_register())),
            b"rv" => return Err(Error::new(Kind::RetvalOnProbe, at)),
            b"ra" if self.kind.is_return => Some(LoadOrigin::ReturnAddress),
            b"ra" if self.target.at_entry => Some(at_entry(isa.return_address())),
            b"sa" => Some(LoadOrigin::Register(isa.stack_register())),
            [b's', digits @ ..] => number(digits).map(LoadOrigin::Stack),
            [b'r', register @ ..] => {
                let register = isa.register(register).or(isa.register(name));
                register.map(LoadOrigin::Register)
            }
            _ => None,
        })
    }

    /// Takes step `n` of `expression`. Returns members that belong to it.
    #[inline(never)]
    fn step<'e>(
        &mut self,
        walk: &mut TypeWalk<'b>,
        expression: &'e Expression,
        n: usize,
    ) -> Result<Option<Span<'e>>, Error> {
        let Some(step) = expression.steps.get(n) else {
            return Ok(None);
        };
        walk.at = step.at;
        match &step.action {
            StepKind::Dereference { offset, user } => {
                let read = walk.structure.filter(|_| *offset == 0 && !*user);
                walk.links.push(Hop::Read {
                    offset: *offset,
                    user: *user,
                })?;
                walk.forget();
                walk.value = read;
            }
            StepKind::ThisCpu => {
                // A variable's structure; the value is its address.
                let structure = walk.structure.filter(|_| walk.links.is_empty());
                walk.links.push(Hop::ThisCpu)?;
                walk.forget();
                walk.structure = structure;
            }
            StepKind::Members(path) => {
                if walk.value.is_none() && walk.structure.is_none() {
                    let kind = match self.target.btf {
                        Some(_) => Kind::NoBtfEntry,
                        None => Kind::NosupBtfarg,
                    };
                    return Err(Error::new(kind, step.at));
                }
                let path = Span {
                    bytes: path,
                    at: step.at,
                };
                if let Some(words) = walk.words.take() {
                    return self.part(walk, words, path);
                }
                if let (Some(path), true) = (path.strip(b"."), walk.links.is_empty()) {
                    if let Some(name) = ValueName::of(expression) {
                        return Err(no_dot(walk.value, &name, path));
                    }
                }
                return Ok(Some(path));
            }
            StepKind::Cast(cast) => {
                let next = expression.steps.get(n.saturating_add(1));
                return self.cast(walk, (cast, step.at), next);
            }
        }
        Ok(None)
    }

    /// Adds the shape of the structure that the value is or points to. Returns its size in bytes.
    #[inline(never)]
    fn whole(&mut self, arg: &Argument, walk: &mut TypeWalk<'b>) -> Result<u16, Error> {
        let structure = walk.whole()?;
        let index = u8::try_from(self.layout.fields.len()).unwrap_or(u8::MAX);
        let Some(shape) = whole::shape(structure, index, arg.spec.base == Type::CHANGES)? else {
            return Err(Error::new(Kind::BadBtfTid, walk.at));
        };
        let size = shape.size;
        add(&mut self.layout.shapes, shape)?;
        Ok(size)
    }

    /// Arranges that a structure of `size` bytes, at `offset` from where the parameter of `origin`
    /// points, is saved at the function's entry; returns how it is recorded at the return.
    #[inline(never)]
    fn changes(
        &mut self,
        arg: &Argument,
        (origin, links): (LoadOrigin, &[Hop]),
        (offset, size): (i64, u16),
    ) -> Result<Store, Error> {
        let program = &mut self.program;
        let slot = match origin {
            LoadOrigin::EntryData(slot) if links.is_empty() => program.entry.get(usize::from(slot)),
            _ => None,
        };
        let (Some(&LoadOrigin::Register(reg)), Ok(offset)) = (slot, i32::try_from(offset)) else {
            return Err(Error::new(Kind::BadType, arg.type_at).with_detail(format_args!(
                "changes are those of what a parameter in a register points to, at the return of its function: r, and $argN or its name"
            )));
        };
        let too_big = |_| Error::new(Kind::EventTooBig, arg.text_at);
        let first = u16::try_from(program.entry.len()).map_err(too_big)?;
        program
            .entry
            .push(LoadOrigin::AreReadable { reg, offset, size })?;
        for start in saved_words(size) {
            let offset = offset.saturating_add(i32::from(start));
            program.entry.push(LoadOrigin::Behind { reg, offset })?;
        }
        if program.entry.len() > MAX_SAVED {
            return Err(
                Error::new(Kind::EventTooBig, arg.text_at).with_detail(format_args!(
                    "what is saved at the entry of a function has at most {} bytes",
                    MAX_SAVED.saturating_mul(8)
                )),
            );
        }
        Ok(Store::Changes {
            offset: i64::from(offset),
            size,
            first,
            at: 0,
        })
    }
}

/// Displays a value as it was written.
struct ValueName<'a>(&'a ast::Origin);

impl<'a> ValueName<'a> {
    /// Returns the argument or result that `expression` begins with; `None` for other origins.
    fn of(expression: &'a Expression) -> Option<Self> {
        let origin = &expression.origin;
        let is_one = matches!(
            origin,
            ast::Origin::Name(_) | ast::Origin::Argument(_) | ast::Origin::ReturnValue
        );
        is_one.then_some(Self(origin))
    }
}

impl fmt::Display for ValueName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ast::Origin::Name(name) => write!(f, "{}", Plain(name)),
            ast::Origin::Argument(n) => write!(f, "$arg{}", n.saturating_add(1)),
            _ => f.write_str("$retval"),
        }
    }
}

/// Returns whether members follow the origin of `expression`.
fn has_members(expression: &Expression) -> bool {
    let first = expression.steps.first().map(|step| &step.action);
    matches!(first, Some(StepKind::Members(_)))
}

/// Returns the type to record: the user's, otherwise BTF's. Appends the read that text behind a
/// pointer needs.
fn recorded_type(arg: &Argument, walk: &mut TypeWalk<'_>) -> Result<(Type, Option<Bits>), Error> {
    let low = walk.low.filter(|_| walk.links.is_empty());
    let (mut base, bits) = asked_type(arg, walk)?;
    if walk.is_named {
        base = named_type(arg, walk.value, base)?;
    }
    Ok((base, cut(low, base, bits)))
}

/// [`recorded_type`], for a value whose bits are all defined.
fn asked_type(arg: &Argument, walk: &mut TypeWalk<'_>) -> Result<(Type, Option<Bits>), Error> {
    let (spec, Some(value)) = (arg.spec, walk.value) else {
        return Ok((arg.spec.base, arg.spec.bits));
    };
    if spec.base.is_structure() {
        return Ok((spec.base, None));
    }
    if spec.explicit && (!walk.is_named || walk.bits.is_none()) {
        if spec.base.is_string() && !value.is_text() {
            let is_fit = match spec.is_joined {
                true => value.pointee().is_some(),
                false => value.is_text_pointer(),
            };
            if !is_fit {
                return Err(Error::new(Kind::BadType4str, walk.at));
            }
            let user = spec.base.stored() == Stored::UserString;
            walk.links.push(Hop::Read { offset: 0, user })?;
        }
        return Ok((spec.base, spec.bits));
    }
    let value = match walk.links.is_empty() {
        // The value is in a register, or begins there.
        true if value.size().is_none_or(|size| size > 8) => value,
        true => value.unwrapped(),
        false => in_memory(value, walk.at)?,
    };
    let base = value.printed().unwrap_or(Type::DEFAULT);
    match walk.bits {
        None => Ok((base, None)),
        Some((offset, width)) => {
            let ty = bitfield_type(base, offset, width);
            let base = ty.ok_or(Error::new(Kind::BadBitfield, walk.at))?;
            Ok((
                base,
                Some(Bits {
                    width,
                    offset,
                    signed: base.is_signed(),
                    is_swapped: false,
                }),
            ))
        }
    }
}

/// Returns the bits to extract if the value is only the `low` bits of what `base` reads. `asked`
/// are bits of the value itself.
fn cut(low: Option<LowBits>, base: Type, asked: Option<Bits>) -> Option<Bits> {
    let low = low.filter(|_| base.stored() == Stored::Value);
    let Some(low) = low else {
        return asked;
    };
    if let Some(asked) = asked {
        let offset = asked.offset.saturating_add(low.offset);
        return Some(Bits { offset, ..asked });
    }
    let bits = base.size().saturating_mul(8);
    (low.offset > 0 || bits > low.width).then_some(Bits {
        width: low.width.min(bits),
        offset: low.offset,
        signed: low.signed,
        is_swapped: false,
    })
}

/// Returns the type at least as wide as `base` that contains the whole bitfield.
fn bitfield_type(base: Type, offset: u8, width: u8) -> Option<Type> {
    let end = offset.checked_add(width)?;
    let widths = [Width::W8, Width::W16, Width::W32, Width::W64];
    let fits = |w: &Width| w.bits() >= end && w.bytes() >= base.size();
    let container = widths.into_iter().find(fits)?;
    let shown = match base.shown() {
        shown @ (Shown::Signed | Shown::Hex) => shown,
        _ => Shown::Unsigned,
    };
    Type::number(shown, container)
}

/// Returns store and type for recording what is derived, by `what`, from the value of `store`.
fn derived(what: Derived, store: Store, base: Type) -> (Store, Type) {
    let (offset, read, bits) = match store {
        Store::Text { offset, .. } => (offset, 0, None),
        Store::Memory {
            offset,
            width,
            bits,
            ..
        } => (offset, width, bits),
        Store::Value { bits, .. } => (0, 0, bits),
        _ => return (store, base),
    };
    let at = 0;
    let store = match what.is_text() {
        true => Store::FixedText { offset, at, what },
        false => Store::Derived {
            what,
            offset,
            read,
            bits,
        },
    };
    (store, what.recorded())
}

/// Chooses how the value is recorded, and removes the last link if the type reads memory itself.
#[inline(never)]
fn store(
    arg: &Argument,
    (base, whole): (Type, Option<u16>),
    bits: Option<Bits>,
    origin: LoadOrigin,
    links: &mut Vec<Hop>,
) -> Result<Store, Error> {
    let count = arg.spec.count;
    let last = links.last().copied();
    let wrong = |kind| Err(Error::new(kind, arg.type_at));
    match base.stored() {
        stored @ (Stored::KernelString | Stored::UserString) => {
            let is_one = count.is_none() && !arg.spec.is_joined;
            let is_cgroup = origin == LoadOrigin::Task(TaskNumber::Cgroup) && last.is_none();
            if is_cgroup && is_one && stored == Stored::KernelString {
                return Ok(Store::CgroupPath);
            }
            let (offset, user_pointers) = match (last, origin) {
                (Some(Hop::Read { offset, user }), _) => (offset, user),
                (None, LoadOrigin::Immediate(_)) if is_one => (0, false),
                _ => return wrong(Kind::BadString),
            };
            links.pop();
            let user = user_pointers || stored == Stored::UserString;
            Ok(match count {
                None if arg.spec.is_joined => Store::Joined {
                    offset,
                    user_pointers,
                    user,
                },
                None => Store::Text { offset, user },
                Some(count) => Store::Texts {
                    offset,
                    user_pointers,
                    user,
                    count,
                },
            })
        }
        Stored::SymbolName => {
            let constant = matches!(
                arg.expression.origin,
                ast::Origin::StackPointer
                    | ast::Origin::Current
                    | ast::Origin::Duration
                    | ast::Origin::Nanoseconds
                    | ast::Origin::Task(_)
                    | ast::Origin::Immediate(_)
            );
            match last {
                Some(Hop::Read { user: true, .. } | Hop::ThisCpu) => wrong(Kind::BadSymstring),
                None if constant => wrong(Kind::BadSymstring),
                _ if count.is_some() => wrong(Kind::BadString),
                _ => Ok(Store::Symbol),
            }
        }
        Stored::Structure => match (last, whole) {
            (Some(Hop::Read { offset, user }), Some(size)) => {
                links.pop();
                let at = 0;
                Ok(Store::Whole {
                    offset,
                    user,
                    size,
                    at,
                })
            }
            _ => wrong(Kind::BadString),
        },
        Stored::Value => match (last, count) {
            (Some(Hop::Read { offset, user }), count) => {
                links.pop();
                let count = count.unwrap_or(1);
                Ok(Store::Memory {
                    offset,
                    user,
                    width: base.size(),
                    bits,
                    count,
                })
            }
            (_, None) => Ok(Store::Value {
                bits,
                width: base.size(),
            }),
            (_, Some(_)) => wrong(Kind::BadString),
        },
    }
}
