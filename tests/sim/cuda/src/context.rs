//! Contexts (API reference, Context Management and Primary Context Management). The stack of
//! current contexts belongs to a thread and is in `thread`.

use std::collections::BTreeMap;

use simbase::activity::ResourceChange;

use crate::abi::Handle;
use crate::handle_table;
use crate::objects::{Context, Stream};
use crate::result_codes::{Answer, Code};
use crate::state::State;
use crate::thread;

/// A primary context has the handle `PRIMARY + ordinal` each time it is created, as with the real
/// driver, so that a test notices code that identifies contexts by handle alone. `cuCtxGetId`
/// returns another id each time.
const PRIMARY: Handle = 0x10 << 56 | 0x1000;
/// Other contexts have `CREATED | number << 4`.
const CREATED: Handle = 0x10 << 56 | 1 << 40;
/// Stack size, printf buffer, malloc heap (bytes); synchronization depth and pending launches of
/// the device runtime.
const LIMITS: [usize; 5] = [1 << 10, 1 << 20, 8 << 20, 2, 2048];

/// The handle of the primary context of `device`.
pub(crate) fn primary(device: u32) -> Handle {
    PRIMARY + (Handle::from(device) << 4)
}

impl State {
    /// The context `handle`, whatever its stored error; INVALID_CONTEXT if it does not exist.
    pub(crate) fn context(&self, handle: Handle) -> Answer<&Context> {
        self.contexts.get(&handle).ok_or(Code::INVALID_CONTEXT)
    }

    /// The calling thread's current context: INVALID_CONTEXT without one, CONTEXT_IS_DESTROYED if
    /// it was destroyed, else its stored error if it has one.
    pub(crate) fn current_context(&self) -> Answer<Handle> {
        let handle = thread::current_context();
        if handle == 0 {
            return Err(Code::INVALID_CONTEXT);
        }
        let context = self
            .contexts
            .get(&handle)
            .ok_or(Code::CONTEXT_IS_DESTROYED)?;
        context.sticky.map_or(Ok(handle), Err)
    }

    /// The stored error of context `handle`, if it has one.
    pub(crate) fn check_sticky_error(&self, handle: Handle) -> Answer {
        self.contexts
            .get(&handle)
            .and_then(|context| context.sticky)
            .map_or(Ok(()), Err)
    }

    /// Stores an asynchronous error in context `handle`, unless it has one.
    pub(crate) fn set_sticky_error(&mut self, handle: Handle, code: Code) {
        if let Some(context) = self.contexts.get_mut(&handle) {
            context.sticky.get_or_insert(code);
        }
    }

    /// The device with this ordinal, or INVALID_DEVICE.
    pub(crate) fn device(&self, ordinal: i32) -> Answer<u32> {
        u32::try_from(ordinal)
            .ok()
            .filter(|device| *device < self.device_count)
            .ok_or(Code::INVALID_DEVICE)
    }

    /// Retains the primary context of `device`, and creates it first if it does not exist.
    pub(crate) fn retain_primary(&mut self, device: u32) -> Handle {
        let handle = primary(device);
        match self.contexts.get_mut(&handle) {
            Some(context) => context.users += 1,
            None => self.insert_context(handle, device),
        }
        handle
    }

    /// Releases the primary context, and destroys it unless somebody else retains it.
    pub(crate) fn release_primary(&mut self, handle: Handle) {
        let Some(context) = self.contexts.get_mut(&handle) else {
            return;
        };
        context.users = context.users.saturating_sub(1);
        if context.users == 0 {
            self.destroy_context(handle);
        }
    }

    /// A new context that is not the device's primary one.
    pub(crate) fn create_context(&mut self, device: u32) -> Handle {
        let number = if handle_table::reuses_handles() {
            (1..).find(|number| !self.contexts.contains_key(&(CREATED | number << 4)))
        } else {
            None
        };
        let handle = CREATED | number.unwrap_or_else(|| self.new_id()) << 4;
        self.insert_context(handle, device);
        handle
    }

    fn insert_context(&mut self, handle: Handle, device: u32) {
        self.orphaned_events.mark_all_reused();
        let id = self.new_id();
        let legacy_id = self.new_id();
        let legacy = self.streams.insert(Stream::new(handle, legacy_id, 0, 0));
        let context = Context {
            device,
            id,
            users: 1,
            sticky: None,
            legacy,
            per_thread: BTreeMap::new(),
            destroyed_streams_end: 0,
            limits: LIMITS,
            cache: 0,
        };
        self.contexts.insert(handle, context);
        self.add_resource_change(ResourceChange::ContextCreated { context: handle });
    }

    /// When all work queued in `context` ends, in ns of the simulator's clock.
    pub(crate) fn context_tail(&self, context: Handle) -> u64 {
        let destroyed = self.context(context);
        let destroyed = destroyed.map(|context| context.destroyed_streams_end);
        self.streams
            .values()
            .filter(|stream| stream.context == context)
            .map(|stream| stream.tail)
            .chain(destroyed)
            .max()
            .unwrap_or(0)
    }

    /// Destroys context `handle` with everything created in it. Must be called from
    /// [`crate::executor::drain_then`].
    pub(crate) fn destroy_context(&mut self, handle: Handle) {
        let Some(destroyed) = self.contexts.remove(&handle) else {
            return;
        };
        self.streams.retain(|stream| stream.context != handle);
        let orphaned = self.events.retain(|event| event.context != handle);
        self.orphaned_events.extend(destroyed.id, orphaned);
        self.functions.retain(|function| function.context != handle);
        let modules = self.modules.values();
        let unloaded: Vec<_> = modules
            .filter(|module| module.context == handle)
            .map(|module| module.reported)
            .collect();
        for module in unloaded {
            self.add_resource_change(ResourceChange::ModuleUnloaded { module });
        }
        self.modules.retain(|module| module.context != handle);
        self.graphs.retain(|graph| graph.context != handle);
        self.executables.retain(|graph| graph.context != handle);
        self.captures.retain(|_, capture| capture.context != handle);
        self.memory.remove_context(handle);
        let number = destroyed.id as u32;
        self.add_resource_change(ResourceChange::ContextDestroyed {
            context: handle,
            number,
        });
    }
}
