// SPDX-License-Identifier: GPL-2.0

//! `Vec` beside std's.

use crate::element::{live, Element, Nothing, Tracked, Wide};
use ferroprobe_kernel::{
    alloc::{flags::GFP_KERNEL, AllocError, Allocator, KVec, KVmalloc, Kmalloc, Vec},
    heap::Heap,
};
use proptest::{collection::vec, prelude::*};
use std::vec::Vec as StdVec;

/// What is done to an array.
#[derive(Clone, Debug)]
enum Op {
    Push(u32),
    PushWithin(u32),
    Pop,
    Remove(usize),
    Truncate(usize),
    Clear,
    Reserve(usize),
    Extend(StdVec<u32>),
    Retain(u32),
    Spare(usize),
    Reverse,
    FromElem(u32, usize),
    WithCapacity(usize),
    Consume(usize),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => any::<u32>().prop_map(Op::Push),
        2 => any::<u32>().prop_map(Op::PushWithin),
        2 => Just(Op::Pop),
        2 => (0..12usize).prop_map(Op::Remove),
        1 => (0..20usize).prop_map(Op::Truncate),
        1 => Just(Op::Clear),
        2 => (0..40usize).prop_map(Op::Reserve),
        3 => vec(any::<u32>(), 0..12).prop_map(Op::Extend),
        2 => any::<u32>().prop_map(Op::Retain),
        2 => (0..6usize).prop_map(Op::Spare),
        1 => Just(Op::Reverse),
        1 => (any::<u32>(), 0..9usize).prop_map(|(value, count)| Op::FromElem(value, count)),
        1 => (0..9usize).prop_map(Op::WithCapacity),
        1 => (0..12usize).prop_map(Op::Consume),
    ]
}

/// An array, and the numbers that it must have.
struct Both<T: Element, A: Allocator> {
    tested: Vec<T, A>,
    model: StdVec<u32>,
}

impl<T: Element, A: Allocator> Both<T, A> {
    /// Does what may allocate; leaves the model to the caller.
    fn allocate(&mut self, op: &Op) -> Result<(), AllocError> {
        match op {
            Op::Push(number) => self.tested.push(T::make(*number), GFP_KERNEL),
            Op::Reserve(count) => self.tested.reserve(*count, GFP_KERNEL),
            Op::Extend(numbers) => {
                let values: StdVec<T> = numbers.iter().map(|n| T::make(*n)).collect();
                self.tested.extend_from_slice(&values, GFP_KERNEL)
            }
            Op::FromElem(number, count) => {
                self.tested = Vec::from_elem(T::make(*number), *count, GFP_KERNEL)?;
                Ok(())
            }
            Op::WithCapacity(count) => {
                self.tested = Vec::with_capacity(*count, GFP_KERNEL)?;
                Ok(())
            }
            _ => {
                self.change(op);
                Ok(())
            }
        }
    }

    /// Does to the model what `allocate` did.
    fn follow(&mut self, op: &Op) {
        let number = |number: &u32| T::make(*number).number();
        match op {
            Op::Push(value) => self.model.push(number(value)),
            Op::Extend(values) => self.model.extend(values.iter().map(number)),
            Op::FromElem(value, count) => self.model = vec![number(value); *count],
            Op::WithCapacity(_) => self.model.clear(),
            _ => {}
        }
        match op {
            Op::Reserve(count) | Op::WithCapacity(count) => {
                assert!(self.tested.capacity() - self.tested.len() >= *count);
            }
            _ => {}
        }
    }

    /// Does to both what does not allocate.
    fn change(&mut self, op: &Op) {
        let Self { tested, model } = self;
        match op {
            Op::PushWithin(number) => {
                let has_room = tested.capacity() > tested.len();
                let expected = T::make(*number).number();
                match tested.push_within_capacity(T::make(*number)) {
                    Ok(()) => model.push(expected),
                    Err(error) => {
                        assert!(!has_room);
                        assert_eq!(error.0.number(), expected);
                    }
                }
            }
            Op::Pop => assert_eq!(tested.pop().map(|value| value.number()), model.pop()),
            Op::Remove(index) => {
                let removed = tested.remove(*index).ok().map(|value| value.number());
                let expected = (*index < model.len()).then(|| model.remove(*index));
                assert_eq!(removed, expected);
            }
            Op::Truncate(length) => {
                tested.truncate(*length);
                model.truncate(*length);
            }
            Op::Clear => {
                tested.clear();
                model.clear();
            }
            Op::Retain(mask) => {
                let mut seen = StdVec::new();
                let is_kept = |index: usize| mask >> (index % 32) & 1 != 0;
                tested.retain(|value| {
                    seen.push(value.number());
                    is_kept(seen.len())
                });
                assert_eq!(seen, *model);
                let mut index = 0;
                model.retain(|_| {
                    index += 1;
                    is_kept(index)
                });
            }
            Op::Spare(count) => {
                let spare = tested.spare_capacity_mut();
                let count = (*count).min(spare.len());
                for place in &mut spare[..count] {
                    place.write(T::make(3));
                }
                // SAFETY: They were written above.
                unsafe { tested.inc_len(count) };
                model.resize(model.len() + count, T::make(3).number());
            }
            Op::Reverse => {
                tested.reverse();
                model.reverse();
            }
            Op::Consume(count) => {
                let mut rest = std::mem::take(tested).into_iter();
                let mut expected = std::mem::take(model).into_iter();
                for _ in 0..*count {
                    assert_eq!(rest.len(), expected.len());
                    assert_eq!(rest.next().map(|value| value.number()), expected.next());
                }
            }
            other => unreachable!("{other:?} allocates"),
        }
    }

    /// Asserts that both have the same.
    fn check(&mut self) {
        let numbers: StdVec<u32> = self.tested.iter().map(Element::number).collect();
        assert_eq!(numbers, self.model);
        assert_eq!(self.tested.is_empty(), self.model.is_empty());
        assert!(self.tested.capacity() >= self.tested.len());
        let counted = live();
        let mut all = 0;
        for value in &mut self.tested {
            let copy = value.clone();
            all += live() - counted;
            drop(copy);
        }
        assert_eq!(counted, all, "elements that are not in the array");
    }
}

/// Does the operations, each of which fails if its flag says so and it allocates.
fn run<T: Element, A: Allocator>(ops: &[(Op, bool)]) {
    Heap::run(|heap| {
        let mut both = Both::<T, A> {
            tested: Vec::new(),
            model: StdVec::new(),
        };
        for (op, fails) in ops {
            let before = (both.tested.as_ptr(), both.tested.capacity());
            let requests = heap.requests();
            if *fails {
                heap.fail_after(0);
            }
            let result = both.allocate(op);
            let failed = *fails && !heap.will_fail();
            heap.fail_no_more();
            assert_eq!(result.is_err(), failed, "{op:?}");
            match failed {
                true => {
                    let after = (both.tested.as_ptr(), both.tested.capacity());
                    assert_eq!(after, before, "an array changed that could not grow");
                }
                false => both.follow(op),
            }
            assert!(heap.requests() - requests <= 1, "{op:?} asked twice");
            both.check();
        }
        drop(both);
        assert_eq!(live(), 0);
    });
}

fn run_with_all<T: Element>(ops: &[(Op, bool)]) {
    run::<T, Kmalloc>(ops);
    run::<T, KVmalloc>(ops);
}

proptest! {
    #[test]
    fn does_what_stds_does(ops in vec((op(), prop::bool::weighted(0.2)), 0..40)) {
        run_with_all::<Tracked>(&ops);
        run_with_all::<Wide>(&ops);
        run_with_all::<Nothing>(&ops);
    }

    #[test]
    fn has_the_bytes_that_were_put_there(
        parts in vec(vec(any::<u8>(), 0..300), 0..20),
    ) {
        Heap::run(|heap| {
            let mut bytes = KVec::new();
            for part in &parts {
                bytes.extend_from_slice(part, GFP_KERNEL).unwrap();
            }
            assert_eq!(*bytes, *parts.concat());
            assert!(heap.requests() <= parts.len());
        });
    }
}

#[test]
fn pushing_asks_for_memory_seldom() {
    Heap::run(|heap| {
        let mut numbers = KVec::new();
        for number in 0..1000u16 {
            numbers.push(number, GFP_KERNEL).unwrap();
        }
        assert!(heap.requests() <= 11, "{} requests", heap.requests());
        let requests = heap.requests();
        numbers.reserve(3000, GFP_KERNEL).unwrap();
        for number in 1000..4000 {
            numbers.push(number, GFP_KERNEL).unwrap();
        }
        assert_eq!(heap.requests(), requests + 1);
        assert!(numbers.iter().copied().eq(0..4000));
    });
}

#[test]
fn no_memory_is_asked_for_what_cannot_be() {
    Heap::run(|heap| {
        let mut words = KVec::<u64>::new();
        words.push(5, GFP_KERNEL).unwrap();
        let requests = heap.requests();
        for count in [usize::MAX, usize::MAX / 8, isize::MAX.unsigned_abs() / 8] {
            assert_eq!(words.reserve(count, GFP_KERNEL), Err(AllocError));
        }
        assert!(KVec::<u64>::with_capacity(usize::MAX, GFP_KERNEL).is_err());
        assert_eq!((heap.requests(), &*words), (requests, &[5][..]));

        let mut nothings = KVec::<()>::new();
        nothings.reserve(usize::MAX, GFP_KERNEL).unwrap();
        nothings.push((), GFP_KERNEL).unwrap();
        assert_eq!(nothings.reserve(usize::MAX, GFP_KERNEL), Err(AllocError));
        assert_eq!((heap.requests(), nothings.len()), (requests, 1));
    });
}

#[test]
fn a_debug_output_is_that_of_the_elements() {
    Heap::run(|_| {
        let numbers = KVec::from_elem(3, 2, GFP_KERNEL).unwrap();
        assert_eq!(format!("{numbers:?}"), "[3, 3]");
    });
}
