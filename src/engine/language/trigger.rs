// SPDX-License-Identifier: GPL-2.0

//! Triggers: actions on a hit, besides recording it.
//!
//! The language is ftrace's: `TRIGGER[:COUNT] [if FILTER]` sets a trigger, and `!TRIGGER`
//! removes it.

mod parse;

pub use parse::{parse, Count, EventName, Trigger, TriggerRequest};

/// Documentation of a trigger.
#[derive(Clone, Copy, Debug)]
pub struct TriggerRow {
    /// Its name.
    pub name: &'static str,
    /// Usage, behind the name.
    pub usage: &'static str,
    /// Its effect.
    pub help: &'static str,
}

/// The triggers in the order of the help text.
pub const ROWS: &[TriggerRow] = &[
    row("traceon", "[:COUNT]", "records from now on"),
    row("traceoff", "[:COUNT]", "records no longer"),
    row("snapshot", "[:COUNT]", "sets the buffer aside"),
    row("stacktrace", "[:COUNT]", "records the stack of the kernel"),
    row("enable_event", ":GROUP:EVENT[:COUNT]", "enables that event"),
    row("disable_event", ":GROUP:EVENT[:COUNT]", "disables it"),
    row(
        "enable_hist",
        ":GROUP:EVENT[:COUNT]",
        "its histograms count",
    ),
    row("disable_hist", ":GROUP:EVENT[:COUNT]", "they pause"),
    row(
        "hist",
        ":keys=FIELD[.MODIFIER],...",
        "counts hits by these\n\
         [:vals=FIELD,...][:sort=FIELD,...][:size=N][:pause|cont|clear]\n\
         [:<var1>=<field|var_ref|numeric_literal>[,<var2>=...]], with + - * /;\n\
         a field can be any field, or the special string 'common_stacktrace',\n\
         a var_ref is $<var> or <group>.<event>.$<var>\n\
         [:<handler>.<action>]; handlers: onmatch(<group>.<event>), onmax(var), onchange(var)\n\
         actions: trace(<synthetic_event>,param list), <synthetic_event>(param list),\n\
         save(field,...), snapshot()",
    ),
];

const fn row(name: &'static str, usage: &'static str, help: &'static str) -> TriggerRow {
    TriggerRow { name, usage, help }
}
