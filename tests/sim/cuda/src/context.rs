//! Contexts and each thread's stack of current ones (API reference, Context Management and Primary
//! Context Management).

use std::cell::Cell;
use std::collections::BTreeMap;

use crate::abi::{Answer, Handle};
use crate::codes::Code;
use crate::handle_table;
use crate::state::State;
use crate::stream::Stream;

/// Primary contexts have the handle `PRIMARY + ordinal`, the same each time they come to life: like
/// the real driver's, so that who keys by handle alone is found out. `cuCtxGetId` tells the lives
/// apart.
const PRIMARY: Handle = 0x10 << 56 | 0x1000;
/// Other contexts have `CREATED | number << 4`.
const CREATED: Handle = 0x10 << 56 | 1 << 40;
/// Stack size, printf buffer, malloc heap (bytes); device runtime synchronization depth and pending
/// launches.
const LIMITS: [usize; 5] = [1 << 10, 1 << 20, 8 << 20, 2, 2048];
/// How deep a thread's stack of contexts may grow.
const DEPTH: usize = 32;

thread_local! {
    // Without destructors: calls from exit handlers still find them.
    static STACK: [Cell<Handle>; DEPTH] = const { [const { Cell::new(0) }; DEPTH] };
    static HEIGHT: Cell<usize> = const { Cell::new(0) };
}

/// One living context.
pub(crate) struct Context {
    pub(crate) device: u32,
    pub(crate) id: u64,
    /// How often the primary context was retained; 1 for others.
    pub(crate) users: u64,
    /// The first asynchronous error; every later call in the context answers it.
    pub(crate) sticky: Option<Code>,
    pub(crate) legacy: Handle,
    /// The stream behind handle 0x2, by thread.
    pub(crate) per_thread: BTreeMap<u64, Handle>,
    /// When the work of destroyed streams has ended, in ns of the simulator's clock.
    pub(crate) orphaned: u64,
    /// The values of `CU_LIMIT_*`, by their number.
    pub(crate) limits: [usize; 5],
    /// `CU_FUNC_CACHE_*`: a preference without effect.
    pub(crate) cache: i32,
}

/// The handle of the primary context of `device`.
pub(crate) fn primary(device: u32) -> Handle {
    PRIMARY + (Handle::from(device) << 4)
}

/// The calling thread's current context, 0 for none. It may have been destroyed.
pub(crate) fn top() -> Handle {
    match HEIGHT.get() {
        0 => 0,
        height => STACK.with(|stack| stack[height - 1].get()),
    }
}

/// Pushes `context` on the calling thread's stack; OUT_OF_MEMORY past its depth.
pub(crate) fn push(context: Handle) -> Answer {
    let height = HEIGHT.get();
    STACK.with(|stack| match stack.get(height) {
        Some(slot) => {
            slot.set(context);
            HEIGHT.set(height + 1);
            Ok(())
        }
        None => Err(Code::OUT_OF_MEMORY),
    })
}

/// Pops the calling thread's current context; none where the stack is empty.
pub(crate) fn pop() -> Option<Handle> {
    let popped = top();
    HEIGHT.set(HEIGHT.get().saturating_sub(1));
    (popped != 0).then_some(popped)
}

/// `cuCtxSetCurrent`: replaces the top of the stack; 0 pops it.
pub(crate) fn replace_top(context: Handle) -> Answer {
    pop();
    if context == 0 { Ok(()) } else { push(context) }
}

impl State {
    /// The living context `handle`, its stored error not looked at; INVALID_CONTEXT otherwise.
    pub(crate) fn living(&self, handle: Handle) -> Answer<&Context> {
        self.contexts.get(&handle).ok_or(Code::INVALID_CONTEXT)
    }

    /// The calling thread's current context: INVALID_CONTEXT without one, CONTEXT_IS_DESTROYED when
    /// it has been, and its stored error where it has one.
    pub(crate) fn current(&self) -> Answer<Handle> {
        let handle = top();
        if handle == 0 {
            return Err(Code::INVALID_CONTEXT);
        }
        let context = self
            .contexts
            .get(&handle)
            .ok_or(Code::CONTEXT_IS_DESTROYED)?;
        context.sticky.map_or(Ok(handle), Err)
    }

    /// Answers the stored error of context `handle`, where it has one.
    pub(crate) fn healthy(&self, handle: Handle) -> Answer {
        self.contexts
            .get(&handle)
            .and_then(|context| context.sticky)
            .map_or(Ok(()), Err)
    }

    /// Stores an asynchronous error in context `handle`; the first one stays.
    pub(crate) fn poison(&mut self, handle: Handle, code: Code) {
        if let Some(context) = self.contexts.get_mut(&handle) {
            context.sticky.get_or_insert(code);
        }
    }

    /// The device with this ordinal; INVALID_DEVICE where there is none.
    pub(crate) fn device(&self, ordinal: i32) -> Answer<u32> {
        u32::try_from(ordinal)
            .ok()
            .filter(|device| *device < self.devices)
            .ok_or(Code::INVALID_DEVICE)
    }

    /// Retains the primary context of `device`, bringing it to life first.
    pub(crate) fn retain_primary(&mut self, device: u32) -> Handle {
        let handle = primary(device);
        match self.contexts.get_mut(&handle) {
            Some(context) => context.users += 1,
            None => self.bring_to_life(handle, device),
        }
        handle
    }

    /// Lets go of the primary context, and ends it where nobody has retained it meanwhile.
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
        self.bring_to_life(handle, device);
        handle
    }

    fn bring_to_life(&mut self, handle: Handle, device: u32) {
        self.gone.overtake();
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
            orphaned: 0,
            limits: LIMITS,
            cache: 0,
        };
        self.contexts.insert(handle, context);
    }

    /// Ends context `handle` with everything made in it. Only for [`crate::executor::drain_then`].
    pub(crate) fn destroy_context(&mut self, handle: Handle) {
        self.contexts.remove(&handle);
        self.streams.retain(|stream| stream.context != handle);
        let gone = self.events.retain(|event| event.context != handle);
        self.gone.take_in(gone);
        self.functions.retain(|function| function.context != handle);
        self.modules.retain(|module| module.context != handle);
        self.graphs.retain(|graph| graph.context != handle);
        self.executables.retain(|graph| graph.context != handle);
        self.captures.retain(|_, capture| capture.context != handle);
        self.memory.release_context(handle);
    }
}
