// SPDX-License-Identifier: GPL-2.0

//! Which addresses control reaches other than from the instruction before: by jumps of the
//! function, by jump labels, and by fixups of exceptions; and where it may leave.

use crate::arch::Arch;
use crate::image::Image;
use ferroprobe_engine::engine::code::arch::isa::Flow;
use ferroprobe_engine::engine::code::arch::Arch as EngineArch;
use ferroprobe_engine::engine::code::placement::tables::{landing, Sites};
use ferroprobe_engine::engine::code::placement::{Facts, JudgedFunction, Placement};
use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap};
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

/// How control goes in a function.
#[derive(Default)]
struct Paths {
    /// Where jumps lead, `None` if one leads anywhere.
    targets: Option<BTreeSet<u64>>,
    /// The instructions behind which control does not just go on: where each ends, by where it
    /// begins, and whether it is a conditional branch.
    exits: BTreeMap<u64, (u64, bool)>,
}

/// Those of a function, `None` if the file has no code.
type Known = Option<Rc<Paths>>;

/// Code that is left at its end alone, up to the next branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Straight {
    /// Where it begins: at a target of jumps, or behind a jump.
    pub start: u64,
    /// Where the instruction is that ends it.
    pub exit: u64,
    /// Whether that is a conditional branch.
    pub branches: bool,
}

/// The arrivals of a file.
pub struct Arrivals<'a, 'd> {
    image: &'a Image<'d>,
    landings: OnceCell<Vec<u64>>,
    functions: RefCell<HashMap<u64, Known>>,
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
        let Some(paths) = self.paths(ranges) else {
            return true;
        };
        let targets = paths.targets.as_ref();
        targets.is_none_or(|targets| targets.contains(&address))
            || self.landings().binary_search(&address).is_ok()
    }

    /// The straight code that `address` is in, of the function with code at `ranges`; `None` if the
    /// file has no code.
    pub fn straight(&self, ranges: &[(u64, u64)], address: u64) -> Option<Straight> {
        let paths = self.paths(ranges)?;
        let (first, end) = ranges
            .iter()
            .find(|(start, end)| (*start..*end).contains(&address))?;
        let behind_exit = paths.exits.range(*first..address).next_back();
        let behind_exit = behind_exit.map_or(*first, |(_, (end, _))| *end);
        let targets = paths.targets.iter().flatten().copied();
        let landings = self.landings().iter().copied();
        let target = targets
            .chain(landings)
            .filter(|target| (*first..=address).contains(target))
            .max();
        let exit = paths.exits.range(address..*end).next();
        Some(Straight {
            start: behind_exit.max(target.unwrap_or(*first)),
            exit: exit.map_or(*end, |(at, _)| *at),
            branches: exit.is_some_and(|(_, (_, branches))| *branches),
        })
    }

    fn paths(&self, ranges: &[(u64, u64)]) -> Known {
        let (first, _) = ranges.first()?;
        if let Some(known) = self.functions.borrow().get(first) {
            return known.clone();
        }
        let paths = self.read(ranges).map(Rc::new);
        self.functions.borrow_mut().insert(*first, paths.clone());
        paths
    }

    /// Decodes a function.
    fn read(&self, ranges: &[(u64, u64)]) -> Option<Paths> {
        let mut targets = Some(BTreeSet::new());
        let mut exits = BTreeMap::new();
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
                let at = start.checked_add(boundary.offset as u64)?;
                let end = at.checked_add(boundary.len as u64)?;
                match insn.flow {
                    Flow::Branch(distance) | Flow::Jump(distance) => {
                        let branches = matches!(insn.flow, Flow::Branch(_));
                        exits.insert(at, (end, branches));
                        if let Some(targets) = &mut targets {
                            targets.insert(end.wrapping_add_signed(distance));
                        }
                    }
                    Flow::Away => {
                        exits.insert(at, (end, false));
                        // An indirect jump leads anywhere.
                        if matches!(boundary.mnemonic, "jmp" | "br") {
                            targets = None;
                        }
                    }
                    Flow::Next | Flow::Call(_) => {}
                }
            }
        }
        Some(Paths { targets, exits })
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
