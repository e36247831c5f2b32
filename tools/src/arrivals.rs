// SPDX-License-Identifier: GPL-2.0

//! Which addresses control reaches other than from the instruction before: by jumps of the
//! function, by jump labels, and by fixups of exceptions.

use crate::arch::Arch;
use crate::image::Image;
use ferroprobe_engine::engine::arch::isa::Flow;
use ferroprobe_engine::engine::arch::Arch as EngineArch;
use ferroprobe_engine::engine::placement::tables::{landing, Sites};
use ferroprobe_engine::engine::placement::{Facts, JudgedFunction, Placement};
use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

/// The tables of places that code jumps to: their names, the symbols around them where they are no
/// section, and the length of an entry.
const TABLES: [(&str, &str, &str, usize); 2] = [
    (
        "__jump_table",
        "__start___jump_table",
        "__stop___jump_table",
        16,
    ),
    ("__ex_table", "__start___ex_table", "__stop___ex_table", 12),
];

/// Where a function is reached, `None` if that is not known.
type Targets = Option<Rc<BTreeSet<u64>>>;

/// The arrivals of a file.
pub struct Arrivals<'a, 'd> {
    image: &'a Image<'d>,
    landings: OnceCell<Vec<u64>>,
    functions: RefCell<HashMap<u64, Targets>>,
}

impl<'a, 'd> Arrivals<'a, 'd> {
    /// Of `image`.
    pub fn new(image: &'a Image<'d>) -> Self {
        Self {
            image,
            landings: OnceCell::new(),
            functions: RefCell::default(),
        }
    }

    /// Whether something other than the instruction before may lead to `address`, in the function
    /// with code at `ranges`. So it is if the file has no code.
    pub fn is_target(&self, ranges: &[(u64, u64)], address: u64) -> bool {
        let Some((first, _)) = ranges.first() else {
            return true;
        };
        let known = self.functions.borrow().get(first).cloned();
        let targets = known.unwrap_or_else(|| {
            let targets = self.targets(ranges).map(Rc::new);
            self.functions.borrow_mut().insert(*first, targets.clone());
            targets
        });
        targets.is_none_or(|targets| targets.contains(&address))
            || self.landings().binary_search(&address).is_ok()
    }

    /// Where the jumps of a function lead.
    fn targets(&self, ranges: &[(u64, u64)]) -> Option<BTreeSet<u64>> {
        let mut targets = BTreeSet::new();
        for (start, end) in ranges {
            let section = self.image.section_at(*start)?;
            let code = self.image.code(section)?;
            let from = usize::try_from(start.checked_sub(section.address)?).ok()?;
            let to = usize::try_from(end.checked_sub(section.address)?).ok()?;
            let function = JudgedFunction {
                name: b"",
                address: *start,
                bytes: code.get(from..to)?,
                arch: match self.image.arch {
                    Arch::X86_64 => EngineArch::X86_64,
                    Arch::Arm64 => EngineArch::Arm64,
                },
                facts: Facts {
                    all_patches_known: true,
                    ..Facts::default()
                },
            };
            for boundary in Placement::of(function).map() {
                let boundary = boundary.ok()?;
                let insn = boundary.insn?;
                match insn.flow {
                    Flow::Branch(distance) | Flow::Jump(distance) => {
                        let end = start.checked_add((boundary.offset + boundary.len) as u64)?;
                        targets.insert(end.wrapping_add_signed(distance));
                    }
                    // An indirect jump leads anywhere.
                    Flow::Away if matches!(boundary.mnemonic, "jmp" | "br") => return None,
                    Flow::Away | Flow::Next | Flow::Call(_) => {}
                }
            }
        }
        Some(targets)
    }

    fn landings(&self) -> &[u64] {
        self.landings.get_or_init(|| {
            let mut found = Vec::new();
            for (section, start, end, len) in TABLES {
                if let Some((address, bytes)) = self.image.table(section, start, end) {
                    let sites = Sites::new(address, &bytes, len);
                    found.extend(sites.filter_map(|(entry, place)| landing(entry, place)));
                }
            }
            found.sort_unstable();
            found
        })
    }
}
