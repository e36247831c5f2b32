// SPDX-License-Identifier: GPL-2.0

//! Functions, structures and their members by name.

use super::{after, word, Btf, BtfKind, BtfType, Groups, Raw};
use crate::engine::language::types::{Shown, Type as Printed, Width};

/// Deepest nesting of anonymous members that is searched.
const MAX_ANONYMOUS: usize = 16;

/// Deepest nesting of arrays whose size is computed.
const MAX_ARRAYS: usize = 8;

/// The section of per-CPU variables, the only variables in BTF.
const PER_CPU: &[u8] = b".data..percpu";

/// The prototype of a function.
#[derive(Clone, Copy, Debug)]
pub struct BtfFunction<'a> {
    btf: Btf<'a>,
    prototype: BtfType<'a>,
}

/// A parameter of a function.
#[derive(Clone, Copy, Debug)]
pub struct Parameter<'a> {
    /// Its name; empty if it has none.
    pub name: &'a [u8],
    /// Its type.
    pub value: BtfValue<'a>,
}

/// The parameters of a function, in order.
pub struct ParameterIter<'a> {
    function: BtfFunction<'a>,
    rest: Groups<'a, 2>,
}

impl<'a> Iterator for ParameterIter<'a> {
    type Item = Parameter<'a>;

    fn next(&mut self) -> Option<Parameter<'a>> {
        let [name, id] = self.rest.next()?;
        let name = self.function.btf.string(name)?;
        let value = self.function.value(id)?;
        (id != 0).then_some(Parameter { name, value })
    }
}

/// The type of a value, together with its blob.
#[derive(Clone, Copy, Debug)]
pub struct BtfValue<'a> {
    btf: Btf<'a>,
    bare: BtfType<'a>,
}

/// The identity of a type: types with the same identity point to the same types.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TypeIdentity {
    words: [u32; 3],
    /// Offset of the rest of the type in the blob.
    tail: usize,
}

/// A member of a structure.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    /// Offset from the start of the structure, in bits.
    pub bit_offset: u32,
    /// Size in bits of a bitfield, otherwise `None`.
    pub bit_size: Option<u8>,
    /// Its type.
    pub value: BtfValue<'a>,
}

impl<'a> Btf<'a> {
    /// Returns the function called `name`.
    ///
    /// A clone that the compiler made, `NAME.isra.0` or `NAME.constprop.0`, is another function
    /// than `NAME`, although it may have the same parameters: where the remaining ones are passed
    /// is unknown.
    pub fn function(&self, name: &[u8]) -> Option<BtfFunction<'a>> {
        let found = self.find(name, |kind| kind == BtfKind::Function)?;
        self.prototype_of(&found)
    }

    pub(super) fn prototype_of(&self, function: &BtfType<'a>) -> Option<BtfFunction<'a>> {
        let prototype = self.by_id(function.raw.size_or_type)?;
        (prototype.kind() == BtfKind::Prototype).then_some(BtfFunction {
            btf: *self,
            prototype,
        })
    }

    /// Calls `visit` with the functions of this blob, without the base's, whose names begin with
    /// `prefix`, and with the rest of the name.
    pub fn each_function(&self, prefix: &[u8], mut visit: impl FnMut(&'a [u8], BtfFunction<'a>)) {
        let mut rest = self.types;
        while let Some(raw) = Raw::read(rest) {
            let found = BtfType { raw };
            if found.kind() == BtfKind::Function {
                let name = self
                    .string(raw.name)
                    .and_then(|name| name.strip_prefix(prefix));
                if let Some((name, function)) = name.zip(self.prototype_of(&found)) {
                    visit(name, function);
                }
            }
            match after(rest) {
                Some(next) => rest = next,
                None => break,
            }
        }
    }

    /// Calls `visit` with the names and types of the structures and unions in this blob and in the
    /// base.
    pub fn each_structure(&self, visit: &mut dyn FnMut(&'a [u8], BtfValue<'a>)) {
        for part in [Some(*self), self.base.copied()].into_iter().flatten() {
            let mut rest = part.types;
            while let Some(raw) = Raw::read(rest) {
                let bare = BtfType { raw };
                if matches!(bare.kind(), BtfKind::Struct | BtfKind::Union) {
                    if let Some(name) = part.string(raw.name) {
                        visit(name, BtfValue { btf: *self, bare });
                    }
                }
                match after(rest) {
                    Some(next) => rest = next,
                    None => break,
                }
            }
        }
    }

    /// Calls `visit` with the value of each enumerator called `name`, of this blob and of the base.
    pub fn each_number(&self, name: &[u8], visit: &mut dyn FnMut(u64)) {
        for part in [Some(*self), self.base.copied()].into_iter().flatten() {
            let mut rest = part.types;
            while let Some(raw) = Raw::read(rest) {
                let bare = BtfType { raw };
                let step = match bare.kind() {
                    BtfKind::Enum => 8,
                    BtfKind::Enum64 => 12,
                    _ => usize::MAX,
                };
                let found = raw.tail.chunks_exact(step).position(|each| {
                    word(each, 0).is_some_and(|offset| part.is_named(offset, name))
                });
                let of = BtfValue { btf: *self, bare };
                if let Some((_, value)) = found.and_then(|n| of.enumerator(n)) {
                    visit(value);
                }
                match after(rest) {
                    Some(next) => rest = next,
                    None => break,
                }
            }
        }
    }

    /// Returns the type of the per-CPU variable called `name`, here or in the base.
    pub fn per_cpu_variable(&self, name: &[u8]) -> Option<BtfValue<'a>> {
        let mut rest = self.types;
        while let Some(raw) = Raw::read(rest) {
            let section = BtfType { raw };
            let is_it = section.kind() == BtfKind::Section && self.is_named(raw.name, PER_CPU);
            for [id, ..] in section.groups::<3>().take_while(|_| is_it) {
                let variable = self.by_id(id)?;
                let is_one = variable.kind() == BtfKind::Variable;
                if is_one && self.is_named(variable.raw.name, name) {
                    let bare = self.bare(variable.raw.size_or_type)?;
                    return Some(BtfValue { btf: *self, bare });
                }
            }
            rest = after(rest)?;
        }
        self.base?.per_cpu_variable(name)
    }

    /// Calls `visit` with the structures and unions called `name` in this blob or, if there are
    /// none, in the base: files that do not see each other may have different ones.
    pub fn each_structure_called(&self, name: &[u8], mut visit: impl FnMut(BtfValue<'a>)) {
        let is_one = |kind| matches!(kind, BtfKind::Struct | BtfKind::Union);
        for part in [Some(*self), self.base.copied()].into_iter().flatten() {
            let (mut rest, mut is_here) = (part.types, false);
            while let Some(raw) = Raw::read(rest) {
                let bare = BtfType { raw };
                if is_one(bare.kind()) && !name.is_empty() && part.is_named(raw.name, name) {
                    is_here = true;
                    visit(BtfValue { btf: *self, bare });
                }
                match after(rest) {
                    Some(next) => rest = next,
                    None => break,
                }
            }
            if is_here {
                break;
            }
        }
    }

    /// Returns the first structure or union called `name`.
    pub fn structure(&self, name: &[u8]) -> Option<BtfValue<'a>> {
        let bare = self.find(name, |kind| {
            matches!(kind, BtfKind::Struct | BtfKind::Union)
        })?;
        Some(BtfValue { btf: *self, bare })
    }
}

impl<'a> BtfFunction<'a> {
    /// Returns the type of the return value; `None` for invalid BTF.
    pub fn returned(&self) -> Option<BtfValue<'a>> {
        self.value(self.prototype.raw.size_or_type)
    }

    /// Returns the parameters, in order. A variable argument list ends them.
    pub fn parameters(&self) -> ParameterIter<'a> {
        ParameterIter {
            function: *self,
            rest: self.prototype.groups(),
        }
    }

    /// Returns the parameters, each as the offset of its name and the number of its type.
    pub(super) fn raw_parameters(&self) -> impl Iterator<Item = [u32; 2]> + 'a {
        self.prototype.groups::<2>()
    }

    /// Returns the blob that it is from.
    pub(super) fn btf(&self) -> Btf<'a> {
        self.btf
    }

    fn value(&self, id: u32) -> Option<BtfValue<'a>> {
        Some(BtfValue {
            btf: self.btf,
            bare: self.btf.bare(id)?,
        })
    }
}

impl<'a> BtfValue<'a> {
    /// Returns the blob that it is from.
    pub(super) fn btf(&self) -> Btf<'a> {
        self.btf
    }

    /// Returns its type, without typedefs and qualifiers.
    /// Returns the identity of the type.
    pub fn type_identity(&self) -> TypeIdentity {
        let raw = &self.bare.raw;
        TypeIdentity {
            words: [raw.name, raw.info, raw.size_or_type],
            tail: raw.tail.as_ptr().addr(),
        }
    }

    pub(super) fn bare(&self) -> BtfType<'a> {
        self.bare
    }

    /// Returns a value of the type with this number.
    pub(super) fn of_id(&self, id: u32) -> Option<BtfValue<'a>> {
        let btf = self.btf;
        let bare = btf.bare(id)?;
        Some(BtfValue { btf, bare })
    }

    /// Returns bits and signedness of an integer.
    pub(super) fn integer(&self) -> Option<(u8, bool)> {
        integer(&self.bare)
    }

    /// Returns whether it is `void`.
    pub fn is_void(&self) -> bool {
        self.bare.kind() == BtfKind::Void
    }

    /// Returns its size in bytes; `None` if it is unknown, or more than 255.
    pub fn size(&self) -> Option<u8> {
        match self.bare.kind() {
            BtfKind::Int | BtfKind::Enum | BtfKind::Enum64 | BtfKind::Struct | BtfKind::Union => {
                u8::try_from(self.bare.raw.size_or_type).ok()
            }
            BtfKind::Pointer => Some(8),
            _ => None,
        }
    }

    /// Returns its size in bytes, also of an array; `None` if it is unknown.
    pub fn bytes(&self) -> Option<u32> {
        let (mut value, mut count) = (*self, 1u32);
        for _ in 0..MAX_ARRAYS {
            match value.bare.kind() {
                BtfKind::Array => {
                    let (element, elements) = value.element()?;
                    count = count.checked_mul(elements)?;
                    value = element;
                }
                BtfKind::Pointer => return count.checked_mul(8),
                BtfKind::Int
                | BtfKind::Enum
                | BtfKind::Enum64
                | BtfKind::Struct
                | BtfKind::Union => return count.checked_mul(value.bare.raw.size_or_type),
                _ => return None,
            }
        }
        None
    }

    /// Returns type and number of the elements of an array; 0 if the number is unknown.
    pub fn element(&self) -> Option<(BtfValue<'a>, u32)> {
        let [element, _, count] = self.bare.groups::<3>().next()?;
        let bare = self.btf.bare(element)?;
        let btf = self.btf;
        self.is_array().then_some((BtfValue { btf, bare }, count))
    }

    /// Returns whether it is a structure or union.
    pub fn is_structure(&self) -> bool {
        matches!(self.bare.kind(), BtfKind::Struct | BtfKind::Union)
    }

    /// Returns whether it is an array.
    pub fn is_array(&self) -> bool {
        self.bare.kind() == BtfKind::Array
    }

    /// Returns the name of a structure or union, even of an incomplete one; empty if it has none.
    pub fn structure_name(&self) -> Option<&'a [u8]> {
        let is_one = matches!(
            self.bare.kind(),
            BtfKind::Struct | BtfKind::Union | BtfKind::Forward
        );
        is_one.then(|| self.btf.string(self.bare.raw.name).unwrap_or_default())
    }

    /// Unwraps single-member structures: returns the member, unless it is a bitfield, and so on.
    pub fn unwrapped(&self) -> BtfValue<'a> {
        let mut value = *self;
        for _ in 0..MAX_ANONYMOUS {
            match value.only_member() {
                Some(member) => value = member,
                None => break,
            }
        }
        value
    }

    fn only_member(&self) -> Option<BtfValue<'a>> {
        if !self.is_structure() {
            return None;
        }
        let mut members = self.bare.groups::<3>();
        // The third number has the offset, and the size of a bitfield.
        match (members.next(), members.next()) {
            (Some([_, id, 0]), None) => Some(BtfValue {
                btf: self.btf,
                bare: self.btf.bare(id)?,
            }),
            _ => None,
        }
    }

    /// Returns the type it points to. The outer `Option` is `None` if it is not a pointer, the
    /// inner one for invalid BTF.
    pub fn pointee(&self) -> Option<Option<BtfValue<'a>>> {
        if self.bare.kind() != BtfKind::Pointer {
            return None;
        }
        let bare = self.btf.bare(self.bare.raw.size_or_type);
        Some(bare.map(|bare| BtfValue {
            btf: self.btf,
            bare,
        }))
    }

    /// Returns whether it is an array of characters.
    pub fn is_text(&self) -> bool {
        if self.bare.kind() != BtfKind::Array {
            return false;
        }
        let Some([element, ..]) = self.bare.groups::<3>().next() else {
            return false;
        };
        self.btf
            .bare(element)
            .is_some_and(|bare| is_character(&bare))
    }

    /// Returns whether it is a pointer to characters.
    pub fn is_text_pointer(&self) -> bool {
        let pointee = self.pointee().flatten();
        pointee.is_some_and(|value| is_character(&value.bare))
    }

    /// Returns how it is printed if the user gives no type; `None` for the default.
    pub fn printed(&self) -> Option<Printed> {
        let (shown, width) = match self.bare.kind() {
            // A packed one. The kernel would read four bytes.
            BtfKind::Enum if self.bare.raw.size_or_type < 4 => {
                let bits = self.bare.raw.size_or_type.saturating_mul(8);
                let shown = match self.bare.flag() {
                    true => Shown::Signed,
                    false => Shown::Unsigned,
                };
                (shown, Width::from_bits(bits.into())?)
            }
            BtfKind::Enum => (Shown::Signed, Width::W32),
            BtfKind::Enum64 => (Shown::Signed, Width::W64),
            BtfKind::Pointer => (Shown::Hex, Width::W64),
            BtfKind::Int => {
                let (bits, signed) = integer(&self.bare)?;
                match (Width::from_bits(u64::from(bits)), signed) {
                    (Some(width), true) => (Shown::Signed, width),
                    (Some(width), false) => (Shown::Unsigned, width),
                    (None, _) => (Shown::Unsigned, Width::W64),
                }
            }
            _ => return None,
        };
        Printed::number(shown, width)
    }

    /// Finds `name` among the members of a structure, including its anonymous members.
    pub fn member(&self, name: &[u8]) -> Option<Member<'a>> {
        if name.is_empty() {
            return None;
        }
        self.find_member(|other, _, _| other == name)
    }

    /// Calls `each` with the names of the members of a structure; members of an anonymous
    /// member count as its own.
    pub fn each_member(&self, each: &mut dyn FnMut(&[u8])) {
        // The predicate accepts none.
        let _ = self.find_member(|name, _, _| {
            each(name);
            false
        });
    }

    /// Returns the name of a structure that has a member `name` of its own and whose name is longer
    /// than this structure's by a word before or behind it, as the kernel names what extends a
    /// structure: `sockaddr_in` and `inet_sock`. The shortest, if there are several.
    pub fn extension_with(&self, name: &[u8]) -> Option<&'a [u8]> {
        let own = self.structure_name()?;
        // A structure whose end is open, and which stands for any of its kind.
        let own = own.strip_suffix(b"_unsized").unwrap_or(own);
        if own.is_empty() {
            return None;
        }
        let mut found: Option<&'a [u8]> = None;
        self.btf.each_structure(&mut |other, structure| {
            let is_shorter = found.is_none_or(|found| other.len() < found.len());
            let is_longer = || {
                let behind = other.strip_prefix(own).and_then(|rest| rest.first());
                let before = other.strip_suffix(own).and_then(|rest| rest.last());
                behind == Some(&b'_') || before == Some(&b'_')
            };
            if is_shorter && is_longer() && structure.member(name).is_some() {
                found = Some(other);
            }
        });
        found
    }

    /// Returns whether `is_meant` accepts the name, the type and the offset in bits of a member of
    /// a structure.
    pub fn has_member(
        &self,
        is_meant: &mut dyn FnMut(&'a [u8], BtfValue<'a>, u32) -> bool,
    ) -> bool {
        let found = self.find_member(|name, id, bit_offset| {
            let bare = self.btf.bare(id);
            bare.is_some_and(|bare| {
                let btf = self.btf;
                is_meant(name, BtfValue { btf, bare }, bit_offset)
            })
        });
        found.is_some()
    }

    /// Returns the first member of a structure whose name, type number and offset in bits
    /// `is_meant` accepts.
    fn find_member(
        &self,
        mut is_meant: impl FnMut(&'a [u8], u32, u32) -> bool,
    ) -> Option<Member<'a>> {
        if !self.is_structure() {
            return None;
        }
        // Type numbers take less stack than types.
        let mut stack = [(0u32, 0u32); MAX_ANONYMOUS];
        let mut depth = 0usize;
        let (mut base, mut structure) = (0u32, self.bare);
        // Bounds the walk if invalid BTF nests a structure in itself.
        for _ in 0..MAX_ANONYMOUS.pow(2) {
            for [name_offset, id, offset] in structure.groups::<3>() {
                let (bits, size) = if structure.flag() {
                    (
                        offset & 0xff_ffff,
                        u8::try_from(offset >> 24).ok().filter(|&n| n != 0),
                    )
                } else {
                    (offset, None)
                };
                let bit_offset = base.checked_add(bits)?;
                if name_offset == 0 {
                    let inner = self.btf.bare(id)?;
                    let is_structure = matches!(inner.kind(), BtfKind::Struct | BtfKind::Union);
                    if let Some(slot) = stack.get_mut(depth).filter(|_| is_structure) {
                        *slot = (bit_offset, id);
                        depth = depth.saturating_add(1);
                    }
                    continue;
                }
                let name = self.btf.string(name_offset);
                if name.is_some_and(|name| is_meant(name, id, bit_offset)) {
                    let value = BtfValue {
                        btf: self.btf,
                        bare: self.btf.bare(id)?,
                    };
                    return Some(Member {
                        bit_offset,
                        bit_size: size,
                        value,
                    });
                }
            }
            depth = depth.checked_sub(1)?;
            let id;
            (base, id) = *stack.get(depth)?;
            structure = self.btf.bare(id)?;
        }
        None
    }
}

/// Returns bits and signedness of an integer type.
fn integer(bare: &BtfType<'_>) -> Option<(u8, bool)> {
    if bare.kind() != BtfKind::Int {
        return None;
    }
    let [encoding] = bare.groups::<1>().next()?;
    let bits = u8::try_from(encoding & 0xff).ok()?;
    Some((bits, encoding >> 24 & 1 != 0))
}

/// Returns whether a type is one byte wide; `char` is unsigned in the kernel, but `signed
/// char *` is text as well.
fn is_character(bare: &BtfType<'_>) -> bool {
    integer(bare).is_some_and(|(bits, _)| bits == 8)
}
