//! Handles for driver objects. A handle contains its object's kind and its slot's generation, so
//! that the handle of a destroyed object, one of another kind and an invented one are all invalid.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::abi::Handle;
use crate::result_codes::{Answer, Code};

const KIND_SHIFT: u32 = 56;
const GENERATION_SHIFT: u32 = 28;
const INDEX_SHIFT: u32 = 4;
const INDEX_MASK: u64 = (1 << (GENERATION_SHIFT - INDEX_SHIFT)) - 1;

static REUSES: AtomicBool = AtomicBool::new(false);

/// Sets whether a new object may have a destroyed object's handle.
pub(crate) fn reuse_handles(reuse: bool) {
    REUSES.store(reuse, Ordering::Release);
}

/// Whether a new object may have a destroyed object's handle.
pub(crate) fn reuses_handles() -> bool {
    REUSES.load(Ordering::Acquire)
}

/// Objects of one kind by handle.
pub(crate) struct HandleTable<T> {
    kind: u64,
    slots: Vec<Slot<T>>,
    free: Vec<usize>,
}

struct Slot<T> {
    generation: u32,
    value: Option<T>,
}

impl<T> HandleTable<T> {
    /// An empty table. `kind` is from 1 to 127 and unique to the table.
    pub(crate) const fn new(kind: u8) -> HandleTable<T> {
        HandleTable {
            kind: (kind as u64) << KIND_SHIFT,
            slots: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Inserts `value` and returns its handle, which is new unless [`reuse_handles`] allows reuse.
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

    /// The object of `handle`, or INVALID_HANDLE.
    pub(crate) fn get(&self, handle: Handle) -> Answer<&T> {
        let index = self.index(handle)?;
        self.slots[index].value.as_ref().ok_or(Code::INVALID_HANDLE)
    }

    /// The object of `handle`, or INVALID_HANDLE.
    pub(crate) fn get_mut(&mut self, handle: Handle) -> Answer<&mut T> {
        let index = self.index(handle)?;
        self.slots[index].value.as_mut().ok_or(Code::INVALID_HANDLE)
    }

    /// Removes the object of `handle`, or returns INVALID_HANDLE.
    pub(crate) fn remove(&mut self, handle: Handle) -> Answer<T> {
        let index = self.index(handle)?;
        let value = self.slots[index].value.take().ok_or(Code::INVALID_HANDLE)?;
        self.free.push(index);
        Ok(value)
    }

    /// Removes every object for which `keep` is false, and returns their handles.
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

    pub(crate) fn values(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().filter_map(|slot| slot.value.as_ref())
    }

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
