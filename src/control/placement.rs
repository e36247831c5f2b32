// SPDX-License-Identifier: GPL-2.0

//! `placement`: write a symbol or an address, read the map of that function:
//! each instruction, and whether a probe can be placed there.

use super::{rejected::Rejected, text::TextOps};
use crate::{
    engine::{
        language::lex,
        refusal::error::{Error as Refusal, Kind},
        util::text::Plain,
    },
    kapi::symbol,
    tracer::Tracer,
};
use core::fmt;
use kernel::sync::Arc;

pub(super) const FILE: TextOps<Tracer> = TextOps::writable(show, store);

fn show(tracer: &Arc<Tracer>, out: &mut dyn fmt::Write) -> fmt::Result {
    let Some(address) = *tracer.mapped.lock() else {
        return out.write_str("# write a symbol or an address of the text to this file first\n");
    };
    let live = {
        let mut registry = tracer.registry.lock();
        registry.definitions.live(address)
    };
    let live = live.map_err(|_| fmt::Error)?;
    let Some(live) = live else {
        return writeln!(out, "# {address:#x} is in no function that can be read");
    };
    let (name, start) = live.symbol();
    writeln!(out, "# {} at {start:#x}", Plain(name))?;
    writeln!(out, "# offset   len  insn       verdict")?;
    let written = live.judged(|placement| {
        for boundary in placement.map() {
            writeln!(out, "{}", boundary.map_err(|_| fmt::Error)?)?;
        }
        Ok(())
    });
    written.unwrap_or(Err(fmt::Error))
}

fn store(data: &Arc<Tracer>, text: &[u8]) -> Result<(), Rejected> {
    // After a failed write the file does not show the former function.
    *data.mapped.lock() = None;
    let place = text.trim_ascii();
    let address = match lex::unsigned(place) {
        Some(address) => address,
        None => match symbol::lookup_bytes(place) {
            Some(address) => address,
            None => {
                let refusal = Refusal::new(Kind::FileNoSymbol, 0);
                if let Some(symbol) = before_offset(place) {
                    return Err(refusal
                        .with_detail(format_args!(
                            "the map is of the whole function: write {}",
                            Plain(symbol)
                        ))
                        .into());
                }
                let mut registry = data.registry.lock();
                return Err(registry
                    .definitions
                    .add_similar_names(refusal, place)
                    .into());
            }
        },
    };
    let live = data.registry.lock().definitions.live(address)?;
    if live.is_none() {
        return Err(Refusal::new(Kind::FileNoFunction, 0).into());
    }
    *data.mapped.lock() = Some(address);
    Ok(())
}

/// Returns a location without its `+OFFSET`.
fn before_offset(place: &[u8]) -> Option<&[u8]> {
    let plus = place.iter().position(|&byte| byte == b'+')?;
    place.get(..plus)
}
