// SPDX-License-Identifier: GPL-2.0

//! Makes the probe of a definition: finds and judges the location, compiles the fetch arguments,
//! and registers the probe.

use super::{watchpoints, Definitions};
use crate::{
    engine::{
        definition::{
            ast::{self, Definition, Place, Request},
            kind::Mechanism,
            parse::{self, Grammar},
        },
        filter::Filter,
        language::lex::Command,
        program::{
            btf::Btf,
            fetch::{self, PathOffsets, Program, Target},
        },
        record::{Class, Layout},
        refusal::error::{Error as Refusal, Kind},
        util::text::Plain,
    },
    events::{
        event::Event,
        event_file::EventFile,
        probe::Probe,
        registry::{
            set::NO_WRITE,
            write::{NewEvent, Write},
        },
    },
    formats::Format,
    kapi::{functions::MAX_RETURN_WORDS, memory, paths, symbol::Symbol},
    source::{
        functions::SiteGroup,
        location::{self, Found},
        machine::MACHINE,
        names::KernelFunctions,
        namesakes, points, types,
    },
    sys::{AllocError, Box, Vec},
};
use kernel::{prelude::*, sync::Arc};

/// Maximum number of functions of one event whose parameters are looked up by name: each lookup
/// walks the kernel's types.
const MAX_BY_NAME: usize = 256;

/// Memory that a definition takes, in bytes, roughly.
const MEMORY: usize = 64 << 10;

/// The name of a function and of its module, as far as known.
type InModule<'a> = (Option<&'a [u8]>, Option<&'a [u8]>);

/// Which arguments there are at a location.
#[derive(Clone, Copy)]
struct ArgumentsAt<'a> {
    /// Whether it is the entry of a function.
    at_entry: bool,
    /// Where a static point of a program has its arguments, if it is one.
    point: Option<&'a [u8]>,
}

impl ArgumentsAt<'_> {
    /// The entry of a function.
    const ENTRY: Self = Self {
        at_entry: true,
        point: None,
    };
}

impl Write<'_> {
    /// Applies one line. If it defines probes at several places, returns the places and makes no
    /// probe; see [`Write::create_at`].
    #[inline(never)]
    pub(crate) fn line(
        &mut self,
        command: &Command,
        grammar: Grammar,
    ) -> Result<Vec<Place>, Refusal> {
        let definition = match grammar.request(command, MACHINE)? {
            Request::Create(definition) => definition,
            Request::Delete(deletion) => {
                self.delete(&deletion)?;
                return Ok(Vec::new());
            }
        };
        if definition.kind.mechanism == Mechanism::Sender {
            self.create_caused_event(definition)?;
            return Ok(Vec::new());
        }
        if definition.place.is_each() {
            return self.registry.definitions.places(&definition);
        }
        self.create(command, (boxed(definition)?, None))?;
        Ok(Vec::new())
    }

    /// Adds the probe of `command` at one of its places.
    #[inline(never)]
    pub(crate) fn create_at(&mut self, command: &Command, place: Place) -> Result<(), Refusal> {
        let Request::Create(mut one) = parse::request(command, MACHINE)? else {
            return Ok(());
        };
        parse::set_place(&mut one, place)?;
        self.create(command, (boxed(one)?, None))
    }

    /// Adds the probe of `definition` to the event of its names, which is made if needed. A
    /// ready-made event brings its own record class.
    #[inline(never)]
    pub(super) fn create(
        &mut self,
        command: &Command,
        (mut definition, class): (KBox<Definition>, Option<&'static Class>),
    ) -> Result<(), Refusal> {
        let definitions = &mut *self.registry.definitions;
        if is_taken(&definition) || definitions.calls.have(&definition) {
            return Err(Refusal::new(Kind::EventExist, 0));
        }
        let (names, points) = (&mut definitions.names, &definitions.points);
        let originals = Iterator::chain(definitions.set.originals(), self.added.originals());
        let found = location::find(&definition, names, points, originals);
        let found = found.map_err(|refusal| {
            let (names, types) = (&mut definitions.names, &mut definitions.types);
            let refusal = namesakes::describe(refusal, &definition, names, types);
            definitions.calls.advise(refusal, &definition)
        })?;
        if let Some(site) = found.as_ref().and_then(Found::open_site) {
            self.pending_sites.add(site, definition.place_at)?;
        }
        definitions.expand(&mut definition, found.as_ref())?;
        let compiled = definitions.compile(&definition, found.as_ref());
        let (program, mut layout) =
            compiled.map_err(|refusal| definitions.calls.advise(refusal, &definition))?;
        if let Some(class) = class {
            layout.class = class;
        }
        check_kept(&definition, &program)?;
        self.add_compiled(command, (definition, found), (program, layout))
    }

    /// Adds the probe of `definition` at `found`, whose arguments are compiled. It is no part of
    /// [`Self::create`], as compiling them takes much stack.
    #[inline(never)]
    fn add_compiled(
        &mut self,
        command: &Command,
        (definition, found): (KBox<Definition>, Option<Found>),
        (program, layout): (Box<Program>, Layout),
    ) -> Result<(), Refusal> {
        if !memory::suffices(MEMORY) {
            return Err(Refusal::new(Kind::NoMemory, 0));
        }
        self.make_way(&definition)?;
        if let Some(other) = self.other_of(&definition) {
            return Err(other.belongs_to_other(Kind::EventExist, 0));
        }
        let first = self.siblings(&definition).next();
        let known = first.map(|probe| probe.event.clone());
        {
            let siblings = self.siblings(&definition);
            let mut described = siblings.map(|probe| ast::DefinedProbe {
                definition: probe.definition(),
                layout: &probe.format().layout,
            });
            definition.check_append(&layout, command, &mut described)?;
        }
        // As in the kernel, refusals of the event's name come first.
        if let Some(found) = &found {
            found.check_returns(&definition)?;
        }
        let (event, format) = match known {
            Some(event) => {
                let format = event.format.replaced_by(&definition, layout)?;
                (event, format)
            }
            None => self.new_event(&definition, layout)?,
        };
        let no_memory = |_| Refusal::new(Kind::NoMemory, 0);
        let definition = Arc::init(KBox::into_inner(definition), GFP_KERNEL).map_err(no_memory)?;
        let registry = &*self.registry;
        let sources = registry.arming.sources(&registry.definitions.points);
        let recorded = (format, program);
        let probe = Probe::new(event, definition, found.as_ref(), recorded, &sources);
        let probe = probe.map_err(|refusal| watchpoints::with_holders(refusal, self.all()))?;
        self.add(probe)
    }

    /// Makes the event of `definition`, which has no probes after the write. It takes over the
    /// filters of a deleted event of the same names, but not its id: records of that may be in the
    /// buffer, or in user space.
    #[inline(never)]
    pub(super) fn new_event(
        &mut self,
        definition: &Definition,
        layout: Layout,
    ) -> Result<(Arc<Event>, Arc<Format>), Refusal> {
        let registry = &mut *self.registry;
        let (definitions, instances) = (&mut *registry.definitions, &registry.instances);
        let mut before = None;
        if self.deletes {
            let mut probes = definitions.set.named(definition, NO_WRITE);
            before = probes.next().map(|probe| probe.event.clone());
        }
        let format = Format::new(definition, definitions.numbers.take()?, layout)?;
        let filter = |instance| match before.as_ref().and_then(|before| before.file(instance)) {
            Some(file) => filter_again(&file, &format.layout, definitions.functions()),
            None => Ok(None),
        };
        let files = instances.new_files(filter, |_| Refusal::new(Kind::NoMemory, 0))?;
        let files = (files, instances.top().buffer.clone());
        let event = Event::new(format.clone(), files, self.owner.clone())?;
        self.new.push(NewEvent {
            event: event.clone(),
            replaces: before,
        })?;
        Ok((event, format))
    }
}

impl Definitions {
    /// Returns each place that `definition` matches.
    #[inline(never)]
    fn places(&mut self, definition: &Definition) -> Result<Vec<Place>, Refusal> {
        match definition.kind.mechanism {
            Mechanism::Tracepoint => points::each(definition, &self.points),
            _ => namesakes::each(definition, &mut self.names),
        }
    }

    /// Compiles the fetch arguments of `definition`. `found` is its location, `None` if the module
    /// is not loaded.
    pub(super) fn compile(
        &mut self,
        definition: &Definition,
        found: Option<&Found>,
    ) -> Result<(Box<Program>, Layout), Refusal> {
        if let Some((groups, arg)) = found
            .and_then(Found::groups)
            .zip(types::of_function(definition))
        {
            return self.compile_for_all(definition, groups, arg.at);
        }
        let function = (
            found.and_then(Found::function),
            found.and_then(Found::module),
        );
        self.compile_in(definition, arguments_at(definition, found), function)
    }

    /// Compiles the fetch arguments of `definition`, whose hits are in no known function.
    #[inline(never)]
    pub(super) fn compile_alone(
        &mut self,
        definition: &Definition,
    ) -> Result<(Box<Program>, Layout), Refusal> {
        self.compile_in(definition, arguments_at(definition, None), (None, None))
    }

    /// Compiles the fetch arguments of `definition` in the given function, as far as that is known.
    #[inline(never)]
    fn compile_in(
        &mut self,
        definition: &Definition,
        arguments: ArgumentsAt<'_>,
        function: InModule<'_>,
    ) -> Result<(Box<Program>, Layout), Refusal> {
        let needs_types = types::are_needed(definition);
        match self.compile_once(definition, needs_types, arguments, function) {
            // With types the refusal knows whether it is a parameter.
            Err(refusal) if refusal.kind == Kind::NoDataSymbol && !needs_types => {
                self.compile_once(definition, true, arguments, function)
            }
            compiled => compiled,
        }
    }

    /// Does that with type information or without.
    #[inline(never)]
    fn compile_once(
        &mut self,
        definition: &Definition,
        needs_types: bool,
        arguments: ArgumentsAt<'_>,
        function: InModule<'_>,
    ) -> Result<(Box<Program>, Layout), Refusal> {
        self.with_target(needs_types, arguments, function, |target| {
            fetch::compile(definition, target)
        })?
    }

    /// Compiles the fetch arguments of `definition`, and checks that they mean the same in all
    /// functions of `groups`. `at` is the column of the first argument that depends on the
    /// function.
    #[inline(never)]
    fn compile_for_all(
        &mut self,
        definition: &Definition,
        groups: &[SiteGroup],
        at: usize,
    ) -> Result<(Box<Program>, Layout), Refusal> {
        let count = groups.iter().map(|group| group.sites.len());
        let count = count.fold(0, usize::saturating_add);
        if count > MAX_BY_NAME {
            let refusal = Refusal::new(Kind::NosupBtfarg, at);
            return Err(refusal.with_detail(format_args!(
                "{count} functions, where names are looked up in at most {MAX_BY_NAME}: use $argN"
            )));
        }
        let mut first = None;
        for site in groups.iter().flat_map(|group| group.sites.iter()) {
            let compiled = self.compile_at(definition, site.function)?;
            match &first {
                None => first = Some(compiled),
                Some(first) if is_same(first, &compiled) => {}
                Some(_) => return Err(differs(site.function, at)),
            }
        }
        // Without functions, parameters have no names.
        first.map_or_else(
            || self.compile_in(definition, ArgumentsAt::ENTRY, (None, None)),
            Ok,
        )
    }

    /// Compiles the fetch arguments of `definition` at the entry of the function at `address`.
    #[inline(never)]
    fn compile_at(
        &mut self,
        definition: &Definition,
        address: u64,
    ) -> Result<(Box<Program>, Layout), Refusal> {
        let symbol = Symbol::boxed(address).map_err(|_| AllocError)?;
        let name = symbol.as_ref().map(|symbol| symbol.name());
        let module = symbol.as_ref().and_then(|symbol| symbol.module());
        match self.compile_in(definition, ArgumentsAt::ENTRY, (name, module)) {
            Err(refusal) => Err(in_function(refusal, name)),
            compiled => compiled,
        }
    }

    /// Checks that the arguments of `probe` mean the same in the functions of `group` as in its
    /// present ones.
    pub(super) fn check_parameters(
        &mut self,
        probe: &Probe,
        group: &SiteGroup,
    ) -> Result<(), Refusal> {
        let definition = probe.definition();
        let Some(arg) = types::of_function(definition) else {
            return Ok(());
        };
        for site in &group.sites {
            let (program, layout) = self.compile_at(definition, site.function)?;
            if Some(&*program) != probe.program() || layout != probe.format().layout {
                return Err(differs(site.function, arg.at));
            }
        }
        Ok(())
    }

    /// Expands `$arg*` and the like in `definition`.
    #[inline(never)]
    fn expand(
        &mut self,
        definition: &mut Definition,
        found: Option<&Found>,
    ) -> Result<(), Refusal> {
        let needs_types = types::are_needed(definition);
        let arguments = arguments_at(definition, found);
        let function = (
            found.and_then(Found::function),
            found.and_then(Found::module),
        );
        self.with_target(needs_types, arguments, function, |target| {
            fetch::expand(definition, target)
        })?
    }

    /// Calls `work` with what is known of the probed location.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory to read type information.
    fn with_target<R>(
        &mut self,
        needs_types: bool,
        arguments: ArgumentsAt<'_>,
        function: InModule<'_>,
        work: impl FnOnce(&mut Target<'_>) -> R,
    ) -> Result<R, AllocError> {
        let names = &mut self.names;
        let work = |btf: Option<Btf<'_>>| {
            work(&mut Target {
                arch: MACHINE.arch,
                at_entry: arguments.at_entry,
                point: arguments.point,
                symbols: names,
                paths: PathOffsets {
                    dentry_name: paths::DENTRY_NAME,
                    file_dentry: paths::FILE_DENTRY,
                },
                btf,
                function: function.0,
            })
        };
        if needs_types {
            self.types.with(function.1, work)
        } else {
            Ok(work(None))
        }
    }
}

/// Moves `definition` to the heap: a probe is made below little of the stack.
#[inline(never)]
pub(super) fn boxed(definition: Definition) -> Result<KBox<Definition>, Refusal> {
    KBox::new(definition, GFP_KERNEL).map_err(|_| Refusal::new(Kind::NoMemory, 0))
}

/// Compiles the filter of `file`, if any, for records with `layout`. The event has no triggers:
/// with one, it could not be deleted.
fn filter_again(
    file: &EventFile,
    layout: &Layout,
    mut functions: KernelFunctions<'_>,
) -> Result<Option<Arc<Filter>>, Refusal> {
    let plan = file.plan();
    let Some(filter) = plan.filter() else {
        return Ok(None);
    };
    let again = Filter::compile(filter.text(), layout, &mut functions);
    let again = again.map_err(|refusal| match refusal.kind {
        Kind::NoMemory => refusal,
        kind => Refusal::new(Kind::FilterLost, 0).with_detail(format_args!(
            "{}: {}",
            Plain(filter.text()),
            kind.text()
        )),
    })?;
    let again = Arc::new(again, GFP_KERNEL);
    again.map(Some).map_err(|_| Refusal::new(Kind::NoMemory, 0))
}

/// Returns whether two programs and their layouts are equal.
#[inline(never)]
fn is_same(one: &(Box<Program>, Layout), other: &(Box<Program>, Layout)) -> bool {
    one == other
}

/// Returns the refusal of the argument at column `at`, which means something else in the function
/// at `address`.
#[cold]
#[inline(never)]
fn differs(address: u64, at: usize) -> Refusal {
    let refusal = Refusal::new(Kind::NoBtfarg, at);
    match Symbol::at(address) {
        Some(symbol) => refusal.with_detail(format_args!(
            "{} has another parameter or type of that name: use $argN",
            Plain(symbol.name())
        )),
        None => refusal,
    }
}

/// Checks that the kernel can keep what `program` saves at the entry of one of many functions until
/// its return.
///
/// # Errors
///
/// `TOO_MANY_ARGS`, with the caret under the last argument.
fn check_kept(definition: &Definition, program: &Program) -> Result<(), Refusal> {
    if definition.kind.mechanism != Mechanism::FunctionReturn
        || program.entry_words() <= MAX_RETURN_WORDS
    {
        return Ok(());
    }
    let at = definition
        .args
        .last()
        .map_or(definition.place_at, |arg| arg.at);
    Err(
        Refusal::new(Kind::TooManyArgs, at).with_detail(format_args!(
        "the kernel keeps {MAX_RETURN_WORDS} values from the entry to the return, and these are {}",
        program.entry_words()
    )),
    )
}

/// Returns `refusal` of an argument with the name of the function, if it has no other detail.
#[cold]
#[inline(never)]
fn in_function(refusal: Refusal, name: Option<&[u8]>) -> Refusal {
    match name {
        Some(name) if !refusal.has_detail() => {
            refusal.with_detail(format_args!("in {}", Plain(name)))
        }
        _ => refusal,
    }
}

/// Returns which arguments there are at the location of `definition`. `found` is that location, `None`
/// if the module is not loaded.
fn arguments_at<'a>(definition: &Definition, found: Option<&'a Found>) -> ArgumentsAt<'a> {
    let at_entry = match (found, &definition.place) {
        (Some(found), _) => found.at_entry,
        (None, place) => matches!(place, Place::Symbol { offset: 0, .. }),
    };
    let point = found.and_then(Found::point_arguments);
    ArgumentsAt { at_entry, point }
}

/// Returns whether the event's directory would collide with a file.
pub(super) fn is_taken(definition: &Definition) -> bool {
    let above: [&[u8]; 4] = [b"enable", b"ftrace", b"header_event", b"header_page"];
    let files: [&[u8]; 2] = [b"enable", b"filter"];
    above.contains(&&*definition.group)
        || files.contains(&&*definition.group)
        || files.contains(&&*definition.event)
}
