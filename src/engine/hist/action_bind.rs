// SPDX-License-Identifier: GPL-2.0

//! Binds the actions of a new histogram to variables, fields and synthetic events. A field that an
//! action uses becomes a variable.

use super::action_parse::{is_keyword, matched, WrittenAction, WrittenHandler};
use super::expr_parse::{is_expression, qualified, ExprContext, ParsedValue};
use super::field_hist::{self, FieldHistogram};
use super::find_var::{find_variable, is_named, on_event, unknown, OnEvent};
use super::inter::{ActionSort, HistHandler, InterEvent};
use super::parse::HistRequest;
use super::scope::HistScope;
use super::spec::Spec;
use super::value_shape::ValueShape;
use super::value_shape::{SynthField, ValueSort};
use super::variable::{VarRef, VarRefs, VarRole, MAX_REFS};
use crate::engine::language::lex::Span;
use crate::engine::record::Layout;
use crate::engine::refusal::error::{Error, Kind};
use crate::sys::{Box, Vec};

/// The result of binding a parameter: a reference, or a histogram that must be set first.
enum Param {
    Bound(VarRef),
    Needs(FieldHistogram),
}

impl HistRequest<'_> {
    /// Binds the actions of this histogram, which is about to be set on an event with `layout`. If
    /// another histogram must be set first, returns that one; set it, then parse the trigger again.
    ///
    /// # Errors
    ///
    /// A refusal.
    pub fn bind(
        &mut self,
        layout: &Layout,
        scope: &dyn HistScope,
    ) -> Result<Option<FieldHistogram>, Error> {
        self.check_names(scope)?;
        let Some(mut inter) = self.spec.inter.take() else {
            return Ok(None);
        };
        // From here on fields are found without the variables that the trigger defines.
        let matched = matched(&self.written)?;
        let mut binder = Binder {
            layout,
            scope,
            spec: &self.spec,
            matched: &matched,
            inter: &mut inter,
        };
        for (n, written) in self.written.iter().enumerate() {
            if let Some(needed) = binder.action(n, written)? {
                return Ok(Some(needed));
            }
        }
        self.spec.inter = Some(inter);
        Ok(None)
    }

    /// Refuses a variable name that another histogram of the event already defines.
    fn check_names(&self, scope: &dyn HistScope) -> Result<(), Error> {
        let own = OnEvent::named(scope.own());
        for name in &self.names {
            if on_event(scope, own, name.bytes).is_some() {
                return Err(name.error(Kind::DuplicateVar));
            }
        }
        Ok(())
    }
}

/// The state of binding.
struct Binder<'p, 'a> {
    layout: &'p Layout,
    scope: &'p dyn HistScope,
    spec: &'p Spec,
    matched: &'p [OnEvent<'a>],
    inter: &'p mut Box<InterEvent>,
}

impl<'a> Binder<'_, 'a> {
    /// Binds action `n`.
    fn action(
        &mut self,
        n: usize,
        written: &WrittenAction<'a>,
    ) -> Result<Option<FieldHistogram>, Error> {
        let tracked = match written.handler {
            WrittenHandler::Match(_) => None,
            WrittenHandler::Max(text) => Some(self.track(text, b"__max")?),
            WrittenHandler::Change(text) => Some(self.track(text, b"__change")?),
        };
        let args = match written.sort {
            ActionSort::Snapshot => Vec::new(),
            ActionSort::Save => {
                self.save(written)?;
                Vec::new()
            }
            ActionSort::Trace => match self.trace(written)? {
                Ok(args) => args,
                Err(needed) => return Ok(Some(needed)),
            },
        };
        let Some(action) = self.inter.actions.get_mut(n) else {
            return Ok(None);
        };
        action.args = args;
        if let Some(kept) = tracked {
            match &mut action.handler {
                HistHandler::Max(tracked) | HistHandler::Change(tracked) => {
                    (tracked.value, tracked.at, tracked.signed) = kept;
                }
                HistHandler::Match { .. } => {}
            }
        }
        Ok(None)
    }

    /// Returns the reference to the tracked variable `text`, where its value is kept, and whether
    /// it is signed. Refuses texts and stacks: their value is an address, which does not change.
    fn track(&mut self, text: Span<'_>, hidden: &[u8]) -> Result<(u8, usize, bool), Error> {
        let Some(name) = text.strip(b"$") else {
            return Err(text.error(Kind::OnxNotVar));
        };
        let Some(reference) = self.own(name.bytes) else {
            return Err(name.error(Kind::OnxVarNotFound));
        };
        if self.own(hidden).is_some() {
            return Err(text.error(Kind::OnxVarCreateFail));
        }
        if reference.shape.sort != ValueSort::Number {
            let what = SynthField::of(reference.shape);
            return Err(name.error(Kind::OnxNotNumber).with_detail(format_args!(
                "this is {what}: make it a key, then each has an entry of its own"
            )));
        }
        let signed = reference.shape.signed;
        let number = self.refer(reference, text)?;
        Ok((number, self.inter.track(), signed))
    }

    /// Makes variables of the fields that `save()` names.
    fn save(&mut self, written: &WrittenAction<'a>) -> Result<(), Error> {
        let mut all = self.inter.variables.iter();
        if all.any(|var| var.role == VarRole::Saved) {
            return Err(written.word.error(Kind::TooManySaveActions));
        }
        for &param in &written.params {
            let parsed = self.field(param);
            let parsed = parsed.map_err(|refusal| instead(refusal, Kind::FieldVarCreateFail))?;
            self.add(VarRole::Saved, param, parsed)?;
        }
        Ok(())
    }

    /// Binds the parameters of a synthetic event; returns the references that supply its fields.
    fn trace(
        &mut self,
        written: &WrittenAction<'a>,
    ) -> Result<Result<Vec<u8>, FieldHistogram>, Error> {
        let event = written.event;
        if is_keyword(written.word) && event == written.word {
            return Err(event.error(Kind::SynthEventNotFound));
        }
        let Some(fields) = self.scope.synthetic(event.bytes) else {
            return Err(event.error(Kind::SynthEventNotFound));
        };
        let mut args = Vec::new();
        for (n, &param) in written.params.iter().enumerate() {
            let (reference, at) = match self.param(param, written.handler)? {
                (Param::Needs(needed), _) => return Ok(Err(needed)),
                (Param::Bound(reference), at) => (reference, at),
            };
            let shape = reference.shape;
            let Some(field) = fields.get(n) else {
                return Err(count_mismatch(event, fields));
            };
            if !field.takes(shape) {
                return Err(at.error(Kind::SynthTypeMismatch).with_detail(format_args!(
                    "field {} takes {field}, this is {}",
                    n.saturating_add(1),
                    SynthField::of(shape)
                )));
            }
            args.push(self.refer(reference, param)?)?;
        }
        if args.len() != fields.len() {
            return Err(count_mismatch(event, fields));
        }
        Ok(Ok(args))
    }

    /// Binds one parameter; returns it with the part of its name behind the event.
    fn param(
        &mut self,
        text: Span<'a>,
        handler: WrittenHandler<'a>,
    ) -> Result<(Param, Span<'a>), Error> {
        let own = OnEvent::named(self.scope.own());
        let (event, name) = qualified(text);
        let is_own = event.is_none_or(|event| event.is_same(&own));
        let on = match (event, handler) {
            (None, WrittenHandler::Match(matched)) => Some(matched),
            (event, _) => event,
        };
        if let Some(variable) = name.strip(b"$") {
            let found = match self.own(variable.bytes).filter(|_| is_own) {
                Some(own) => Ok(own),
                None => find_variable(self.scope, on, (self.matched, None), variable),
            };
            let found = found.map_err(|refusal| match refusal.kind {
                Kind::VarNotFound => unknown(self.scope, variable, Kind::ParamNotFound),
                _ => refusal,
            })?;
            return Ok((Param::Bound(found), name));
        }
        let mut refusal = None;
        if is_own {
            let mut all = self.inter.variables.iter();
            let known = all.find(|var| var.role == VarRole::Field && *var.name == *name.bytes);
            if let Some(known) = known {
                let (at, shape) = (known.at, known.shape);
                return Ok((Param::Bound(own_ref(at, shape)), name));
            }
            match self.field(name) {
                Ok(parsed) => {
                    let shape = parsed.shape;
                    let at = self.add(VarRole::Field, name, parsed)?;
                    return Ok((Param::Bound(own_ref(at, shape)), name));
                }
                Err(error) => refusal = Some(instead(error, Kind::FieldVarParseFail)),
            }
        }
        let other = on.filter(|on| !on.is_same(&own));
        let Some(on) = other else {
            let refusal = refusal.unwrap_or_else(|| name.error(Kind::FieldVarParseFail));
            return Err(refusal);
        };
        let found = field_hist::find_or_need(self.scope, self.spec, on, name)?;
        Ok((
            match found {
                Ok(reference) => Param::Bound(reference),
                Err(needed) => Param::Needs(needed),
            },
            name,
        ))
    }

    /// Makes a variable of a field of the histogram's own event.
    fn field(&mut self, text: Span<'a>) -> Result<ParsedValue, Error> {
        if is_expression(text) {
            return Err(text.error(Kind::FieldVarParseFail));
        }
        let mut all = self.inter.variables.iter();
        if all.any(|var| is_named(var, text.bytes)) {
            return Err(text.error(Kind::VarCreateFindFail));
        }
        let mut context = ExprContext {
            layout: self.layout,
            scope: self.scope,
            own: &[],
            matched: self.matched,
            refs: &mut VarRefs::default(),
        };
        context.parse(text)
    }

    fn add(&mut self, role: VarRole, name: Span<'_>, parsed: ParsedValue) -> Result<usize, Error> {
        // The field becomes a variable, and the parameter a reference to it.
        let refs = self.inter.refs.0.len();
        if role == VarRole::Field && refs >= MAX_REFS {
            return Err(name.error(Kind::TooManyFieldVars));
        }
        let value = (parsed.source, parsed.shape);
        Ok(self.inter.add(role, (name.bytes, parsed.text), value)?)
    }

    /// Returns a reference to the variable `name`, if this trigger defines it.
    fn own(&self, name: &[u8]) -> Option<VarRef> {
        let mut all = self.inter.variables.iter();
        let found = all.find(|var| is_named(var, name))?;
        Some(own_ref(found.at, found.shape))
    }

    fn refer(&mut self, reference: VarRef, text: Span<'_>) -> Result<u8, Error> {
        let number = self.inter.refs.add(reference)?;
        number.ok_or(text.error(Kind::HistTooManyRefs))
    }
}

fn own_ref(at: usize, shape: ValueShape) -> VarRef {
    VarRef {
        owner: None,
        at,
        shape,
        once: false,
        constant: None,
    }
}

/// Returns `refusal` of a field with the kernel's `kind`, and with its details.
fn instead(refusal: Error, kind: Kind) -> Error {
    if !matches!(
        refusal.kind,
        Kind::HistFieldNotFound | Kind::FieldVarParseFail | Kind::HistArray
    ) {
        return refusal;
    }
    let error = Error::new(kind, refusal.at);
    match refusal.has_detail() {
        true => error.with_detail(format_args!(
            "{}",
            crate::engine::util::text::Plain(refusal.detail())
        )),
        false => error,
    }
}

fn count_mismatch(event: Span<'_>, fields: &[SynthField]) -> Error {
    let error = event.error(Kind::SynthCountMismatch);
    error.with_detail(format_args!("it has {} fields", fields.len()))
}

impl SynthField {
    /// Returns the synthetic field that holds values of `shape`.
    fn of(shape: ValueShape) -> Self {
        Self {
            sort: shape.sort,
            size: shape.size,
            signed: shape.signed,
        }
    }

    /// Returns whether this field can hold values of `shape`. As in the kernel, size and sign of a
    /// number must match.
    fn takes(&self, shape: ValueShape) -> bool {
        let is_number = self.sort == ValueSort::Number;
        let has_size = (self.size, self.signed) == (shape.size, shape.signed);
        self.sort == shape.sort && (!is_number || has_size)
    }
}

impl core::fmt::Display for SynthField {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.sort {
            ValueSort::Number => {
                let sign = if self.signed { 's' } else { 'u' };
                write!(f, "{sign}{}", u16::from(self.size).saturating_mul(8))
            }
            ValueSort::Text => f.write_str("a string"),
            ValueSort::Stack => f.write_str("a stack"),
        }
    }
}
