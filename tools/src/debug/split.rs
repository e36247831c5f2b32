// SPDX-License-Identifier: GPL-2.0

//! Split debug information (`-gsplit-dwarf`, `CONFIG_DEBUG_INFO_SPLIT`): the linked file has a
//! *skeleton* of each unit, with what the linker had to relocate. The rest is in a `.dwo` file for
//! each source file, or in one package, `FILE.dwp`.
//!
//! Sources: DWARF 5, 7.3; for DWARF 4 <https://gcc.gnu.org/wiki/DebugFission>.

use crate::data::{Data, Slice};
use crate::error::{Refusal, Result};
use crate::image::Image;
use crate::refuse;
use gimli::{
    Dwarf, DwarfPackage, DwarfSections, DwoId, EndianSlice, IndexSectionId, LittleEndian, SectionId,
};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

type Unit<'s> = gimli::Unit<Slice<'s>>;

/// The package, the sections of one unit in it, and those with its locations.
type Packed<'s> = (PathBuf, Dwarf<Slice<'s>>, &'s [u8]);

/// The part of a unit that is in another file.
pub struct Part<'s> {
    /// The sections that it is in.
    pub dwarf: Dwarf<Slice<'s>>,
    /// The unit that was left in the linked file; the line table is its.
    pub skeleton: Unit<'s>,
    /// `.debug_loc.dwo` of DWARF 4, `.debug_loclists.dwo` of DWARF 5.
    pub locations: &'s [u8],
}

/// A package of split units.
struct Package {
    path: PathBuf,
    units: DwarfPackage<Slice<'static>>,
    debug_loc: &'static [u8],
    debug_loclists: &'static [u8],
}

/// Where the other parts of the units of one file are.
pub struct Parts {
    file: PathBuf,
    package: OnceLock<Result<Option<Package>>>,
}

impl Parts {
    /// Of the file at `path`.
    pub fn of(path: &Path) -> Self {
        Self {
            file: path.into(),
            package: OnceLock::new(),
        }
    }

    /// Opens the other part of `skeleton`, a unit of `dwarf`; `Err` has the skeleton itself if it
    /// is no skeleton and so has all.
    pub fn open<'s>(
        &self,
        dwarf: &Dwarf<Slice<'s>>,
        skeleton: Unit<'s>,
    ) -> Result<std::result::Result<(Unit<'s>, Part<'s>), Unit<'s>>> {
        let Some(name) = skeleton.dwo_name()? else {
            return Ok(Err(skeleton));
        };
        let name = dwarf.attr_string(&skeleton, name)?;
        let name = String::from_utf8_lossy(name.slice()).into_owned();
        let Some(id) = skeleton.dwo_id else {
            refuse!("damaged debug information: {name} has no number");
        };
        let packed = self.packed(dwarf, id)?;
        let (path, other, locations) = match packed {
            Some(found) => found,
            None => self.single(dwarf, &skeleton, &name)?,
        };
        let mut units = other.units();
        while let Some(header) = units.next()? {
            let mut unit = other.unit(header)?;
            if unit.dwo_id == Some(id) {
                unit.copy_relocated_attributes(&skeleton);
                let part = Part {
                    dwarf: other,
                    skeleton,
                    locations,
                };
                return Ok(Ok((unit, part)));
            }
        }
        refuse!(
            "{} is of another build: compile both at once",
            path.display()
        );
    }

    /// The sections of the unit `id` in the package, if there is one.
    fn packed<'s>(&self, dwarf: &Dwarf<Slice<'s>>, id: DwoId) -> Result<Option<Packed<'s>>> {
        let package = self.package.get_or_init(|| Package::beside(&self.file));
        let Some(package) = package.as_ref().map_err(Clone::clone)? else {
            return Ok(None);
        };
        let path = package.path.clone();
        let Some(row) = package.units.cu_index.find(id.0) else {
            refuse!("{} is of another build: run dwp again", path.display());
        };
        let mut locations: &[u8] = &[];
        for section in package.units.cu_index.sections(row)? {
            let bytes = match section.section {
                IndexSectionId::DebugLoc => package.debug_loc,
                IndexSectionId::DebugLocLists => package.debug_loclists,
                _ => continue,
            };
            let (from, size) = (section.offset as usize, section.size as usize);
            let bytes = bytes.get(from..from.saturating_add(size));
            locations = bytes.ok_or_else(|| Refusal::new("damaged package: its index"))?;
        }
        let dwarf = package.units.cu_sections(row, dwarf)?;
        Ok(Some((path, dwarf, locations)))
    }

    /// The sections of the file `name`.
    fn single<'s>(
        &self,
        dwarf: &Dwarf<Slice<'s>>,
        skeleton: &Unit<'s>,
        name: &str,
    ) -> Result<(PathBuf, Dwarf<Slice<'s>>, &'s [u8])> {
        let folder = skeleton.comp_dir.as_ref();
        let folder = folder.map(|folder| String::from_utf8_lossy(folder.slice()).into_owned());
        let folder = PathBuf::from(folder.unwrap_or_default());
        let beside = self.file.parent().unwrap_or(Path::new("."));
        // Relative to where it was compiled; a build tree that was moved has it below itself.
        let mut places = vec![folder.join(name), beside.join(name)];
        places.extend(Path::new(name).file_name().map(|name| beside.join(name)));
        let Some(path) = places.iter().find(|path| path.exists()) else {
            refuse!(
                "a part of its debug information is in {name}, which is neither below {} nor beside the file: keep the build tree, or pack the .dwo files by dwp into {}",
                folder.display(),
                package_of(&self.file).display()
            );
        };
        let about = |refusal: Refusal| refusal.about(path.display());
        let image = open(path)?;
        let load = |id| section(image, id);
        let sections = DwarfSections::load(load).map_err(about)?;
        let mut other = sections.borrow(|bytes| EndianSlice::new(bytes, LittleEndian));
        other.make_dwo(dwarf);
        let locations = load(match skeleton.encoding().version {
            ..=4 => SectionId::DebugLoc,
            _ => SectionId::DebugLocLists,
        });
        Ok((path.clone(), other, locations.map_err(about)?))
    }
}

impl Package {
    /// The package of the file at `path`, if there is one.
    fn beside(path: &Path) -> Result<Option<Self>> {
        let path = package_of(path);
        if !path.exists() {
            return Ok(None);
        }
        let about = |refusal: Refusal| refusal.about(path.display());
        let image = open(&path)?;
        let load = |id| section(image, id);
        let slice = |id| load(id).map(|bytes| EndianSlice::new(bytes, LittleEndian));
        let units =
            DwarfPackage::load(slice, EndianSlice::new(&[], LittleEndian)).map_err(about)?;
        Ok(Some(Self {
            units,
            debug_loc: load(SectionId::DebugLoc).map_err(about)?,
            debug_loclists: load(SectionId::DebugLocLists).map_err(about)?,
            path,
        }))
    }
}

/// Where the package of a file is: `vmlinux.dwp`.
fn package_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(".dwp");
    name.into()
}

/// The file at `path`, which stays open until the program ends: units of it may be in use until
/// then, and a call opens no file twice but for another unit.
fn open(path: &Path) -> Result<&'static Image<'static>> {
    let data: &'static Data = Box::leak(Box::new(Data::open(path)?));
    let image = Image::parse(data).map_err(|refusal| refusal.about(path.display()))?;
    Ok(Box::leak(Box::new(image)))
}

/// A section of a `.dwo` file or a package, empty if it has none.
fn section(image: &'static Image<'static>, id: SectionId) -> Result<&'static [u8]> {
    let Some(name) = id.dwo_name() else {
        return Ok(&[]);
    };
    Ok(match image.debug_section(name)? {
        Cow::Borrowed(bytes) => bytes,
        Cow::Owned(bytes) => bytes.leak(),
    })
}
