//! Handles for driver objects. A handle carries its object's kind and its slot's generation, so a
//! destroyed one, one of another kind and a made-up one are all told from a living one. Must never
//! import driver state.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::abi::{Answer, Handle};
use crate::codes::Code;

const KIND_SHIFT: u32 = 56;
const GENERATION_SHIFT: u32 = 28;
const INDEX_SHIFT: u32 = 4;
const INDEX_MASK: u64 = (1 << (GENERATION_SHIFT - INDEX_SHIFT)) - 1;

static REUSE: AtomicBool = AtomicBool::new(false);

/// Whether a destroyed object's handle may be given out again.
pub(crate) fn reuse_handles(reuse: bool) {
    REUSE.store(reuse, Ordering::Release);
}

/// Whether it may.
pub(crate) fn reuses_handles() -> bool {
    REUSE.load(Ordering::Acquire)
}

/// Objects of one kind by handle.
pub(crate) struct Table<T> {
    kind: u64,
    slots: Vec<Slot<T>>,
    free: Vec<usize>,
}

struct Slot<T> {
    generation: u32,
    value: Option<T>,
}

impl<T> Table<T> {
    /// An empty table; `kind` is from 1 to 127 and its own for each table.
    pub(crate) const fn new(kind: u8) -> Table<T> {
        Table {
            kind: (kind as u64) << KIND_SHIFT,
            slots: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Takes `value` in and gives its handle, which no object had before unless [`reuse_handles`]
    /// says otherwise.
    pub(crate) fn insert(&mut self, value: T) -> Handle {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot {
                generation: 0,
                value: None,
            });
            self.slots.len() - 1
        });
        let slot = &mut self.slots[index];
        if slot.generation == 0 || !reuses_handles() {
            slot.generation = (slot.generation + 1) & ((1 << (KIND_SHIFT - GENERATION_SHIFT)) - 1);
        }
        slot.value = Some(value);
        handle(self.kind, slot.generation, index)
    }

    /// The object of `handle`; INVALID_HANDLE where it has none.
    pub(crate) fn get(&self, handle: Handle) -> Answer<&T> {
        let index = self.index(handle)?;
        self.slots[index].value.as_ref().ok_or(Code::INVALID_HANDLE)
    }

    /// The object of `handle`, to change; INVALID_HANDLE where it has none.
    pub(crate) fn get_mut(&mut self, handle: Handle) -> Answer<&mut T> {
        let index = self.index(handle)?;
        self.slots[index].value.as_mut().ok_or(Code::INVALID_HANDLE)
    }

    /// Takes the object of `handle` out; INVALID_HANDLE where it has none.
    pub(crate) fn remove(&mut self, handle: Handle) -> Answer<T> {
        let index = self.index(handle)?;
        let value = self.slots[index].value.take().ok_or(Code::INVALID_HANDLE)?;
        self.free.push(index);
        Ok(value)
    }

    /// Drops every object that `keep` refuses, and gives what their handles were.
    pub(crate) fn retain(&mut self, keep: impl Fn(&T) -> bool) -> Vec<Handle> {
        let mut dropped = Vec::new();
        for (index, slot) in self.slots.iter_mut().enumerate() {
            if slot.value.as_ref().is_some_and(|value| !keep(value)) {
                slot.value = None;
                self.free.push(index);
                dropped.push(handle(self.kind, slot.generation, index));
            }
        }
        dropped
    }

    /// Every living object.
    pub(crate) fn values(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().filter_map(|slot| slot.value.as_ref())
    }

    /// Every living object, to change.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.slots.iter_mut().filter_map(|slot| slot.value.as_mut())
    }

    fn index(&self, handle: Handle) -> Answer<usize> {
        let index = (handle >> INDEX_SHIFT & INDEX_MASK) as usize;
        let generation = self.slots.get(index).map_or(0, |slot| slot.generation);
        if generation != 0 && self::handle(self.kind, generation, index) == handle {
            Ok(index)
        } else {
            Err(Code::INVALID_HANDLE)
        }
    }
}

fn handle(kind: u64, generation: u32, index: usize) -> Handle {
    kind | u64::from(generation) << GENERATION_SHIFT | (index as u64) << INDEX_SHIFT
}
