// SPDX-License-Identifier: GPL-2.0

//! Expands `$arg*` to one argument for each parameter of the function, and names an unnamed `$argN`
//! after its parameter, if BTF has the names.

use super::target::{self, Target};
use super::unknown::too_few;
use crate::engine::definition::ast::{Argument, Definition, Expression, Origin, MAX_ARGS};
use crate::engine::definition::parse::{self, RESERVED_NAMES};
use crate::engine::language::lex;
use crate::engine::language::types::TypeSpec;
use crate::engine::program::btf::Parameter;
use crate::engine::refusal::error::{Errno, Error, Kind};
use crate::sys::Vec;

/// Longest list of parameters that replaces `$arg*`; ftrace's limit is 128.
const MAX_LIST: usize = 1024;

/// Expands `$arg*`, and names unnamed `$argN`, in `definition`. After an error it has no arguments.
///
/// # Errors
///
/// `NOFENTRY_ARGS`, `NOSUP_BTFARG`, `NO_BTFARG`, `NO_BTF_ENTRY`, `ARGS_2LONG`,
/// `USED_ARG_NAME`, `TOO_MANY_ARGS`.
pub fn expand(definition: &mut Definition, target: &Target<'_>) -> Result<(), Error> {
    if !definition.args.iter().any(is_meta) {
        return Ok(());
    }
    let here = definition.kind.is_return || target.at_entry;
    let function = target
        .btf
        .zip(target.function)
        .and_then(|(btf, name)| btf.function(name));
    let mut parameters = Vec::new();
    for parameter in function
        .filter(|_| here)
        .iter()
        .flat_map(|f| target::parameters(f, definition.kind))
    {
        parameters.push(parameter)?;
    }
    let mut expanded = Vec::new();
    for arg in core::mem::take(&mut definition.args) {
        let at = arg.at;
        if arg.expression.origin == Origin::AllArguments {
            if !here {
                return Err(Error::new(Kind::NofentryArgs, at));
            }
            if parameters.is_empty() {
                return Err(Error::new(Kind::NosupBtfarg, at).with_errno(Errno::EOPNOTSUPP));
            }
            for parameter in &parameters {
                let arg = named(parameter, expanded.len(), at, &[], TypeSpec::DEFAULT, at)?;
                expanded.push(arg)?;
            }
            let lengths = parameters.iter().map(|p| p.name.len().saturating_add(1));
            if lengths.fold(0, usize::saturating_add) > MAX_LIST {
                return Err(Error::new(Kind::Args2long, at));
            }
            continue;
        }
        match (is_meta(&arg), &arg.expression.origin) {
            (true, Origin::Argument(n)) if !parameters.is_empty() => {
                let parameter = parameters.get(usize::from(*n));
                let parameter = parameter.ok_or_else(|| too_few(parameters.len(), at))?;
                let suffix = arg.text.iter().position(|&b| b == b':');
                let suffix = suffix
                    .and_then(|colon| arg.text.get(colon..))
                    .unwrap_or(&[]);
                expanded.push(named(
                    parameter,
                    expanded.len(),
                    at,
                    suffix,
                    arg.spec,
                    arg.type_at,
                )?)?;
            }
            _ => expanded.push(arg)?,
        }
    }
    parse::make_unique(&mut expanded)?;
    check(&expanded)?;
    definition.args = expanded;
    Ok(())
}

/// Returns whether the argument is written as `$arg*` or `$argN` without a name.
fn is_meta(arg: &Argument) -> bool {
    let origin = &arg.expression.origin;
    arg.at == arg.text_at
        && arg.expression.steps.is_empty()
        && matches!(origin, Origin::AllArguments | Origin::Argument(_))
}

/// Returns the argument at `index` for `parameter`, with the type of the argument it
/// replaces.
fn named(
    parameter: &Parameter<'_>,
    index: usize,
    at: usize,
    suffix: &[u8],
    spec: TypeSpec,
    type_at: usize,
) -> Result<Argument, Error> {
    if !lex::is_identifier(parameter.name) {
        return Err(Error::new(Kind::NoBtfEntry, at));
    }
    let mut text = Vec::from_slice(parameter.name)?;
    text.extend_from_slice(suffix)?;
    let expression = Expression {
        origin: Origin::Name(Vec::from_slice(parameter.name)?),
        source_at: at,
        steps: Vec::new(),
    };
    Ok(Argument {
        name: parse::generated_arg_name(parameter.name, &expression, index)?,
        text,
        at,
        text_at: at,
        type_at,
        expression,
        spec,
    })
}

/// Repeats the checks of number and names.
fn check(args: &[Argument]) -> Result<(), Error> {
    if let Some(arg) = args.get(MAX_ARGS) {
        return Err(Error::new(Kind::TooManyArgs, arg.at));
    }
    for (n, arg) in args.iter().enumerate() {
        let before = args.get(..n).unwrap_or(&[]);
        let used = before.iter().any(|other| *other.name == *arg.name);
        if used || RESERVED_NAMES.contains(&&*arg.name) {
            return Err(Error::new(Kind::UsedArgName, arg.at));
        }
    }
    Ok(())
}
