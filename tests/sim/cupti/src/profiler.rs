//! A profiler that uses the loaded library beside others, by the functions of a subscriber. As with
//! [`crate::Cupti`], everything goes through functions that `dlsym` finds in the library.

use std::ffi::{CString, c_char, c_void};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use libloading::os::unix::Library;
use simbase::library::loaded;

use crate::load::SONAME;

const MAX_PROFILERS: usize = 2;

/// `CUpti_SubscriberParams`.
#[repr(C)]
struct Params {
    size: usize,
    name: *const c_char,
    holder: *mut c_char,
    holder_size: usize,
    allow_multiple: u8,
    padding: [u8; 7],
}

type Called = extern "C" fn(*const c_void, u32, u32, *const i32);
type Request = extern "C" fn(*mut *mut u8, *mut usize, *mut usize, *const c_void);
type Complete = extern "C" fn(*mut u8, usize, usize, *const c_void);

/// A profiler that is subscribed.
#[derive(Debug)]
pub struct Profiler {
    functions: &'static Functions,
    handle: usize,
    slot: &'static Slot,
}

/// What a profiler has received.
#[derive(Debug)]
struct Slot {
    is_taken: AtomicBool,
    handle: AtomicUsize,
    callbacks: AtomicU64,
    /// The kinds of the records.
    records: Mutex<Vec<u32>>,
}

static SLOTS: [Slot; MAX_PROFILERS] = [const {
    Slot {
        is_taken: AtomicBool::new(false),
        handle: AtomicUsize::new(0),
        callbacks: AtomicU64::new(0),
        records: Mutex::new(Vec::new()),
    }
}; MAX_PROFILERS];

macro_rules! functions {
    ($($field:ident = $symbol:literal: $type:ty),* $(,)?) => {
        #[derive(Debug)]
        struct Functions {
            $($field: $type),*
        }

        impl Functions {
            fn find(library: &Library) -> Option<Functions> {
                Some(Functions {
                    $($field: {
                        // SAFETY: the type is that of the header.
                        let symbol = unsafe { library.get::<$type>($symbol) }.ok()?;
                        *symbol
                    }),*
                })
            }
        }
    };
}

functions! {
    subscribe = b"cuptiSubscribe_v2":
        extern "C" fn(&mut usize, Called, *const c_void, &Params) -> u32,
    unsubscribe = b"cuptiUnsubscribe": extern "C" fn(usize) -> u32,
    enable_callback = b"cuptiEnableCallback": extern "C" fn(u32, usize, u32, u32) -> u32,
    register = b"cuptiActivityRegisterCallbacks_v2":
        extern "C" fn(usize, Request, Complete) -> u32,
    enable = b"cuptiActivityEnable_v2": extern "C" fn(usize, u32, *const c_void) -> u32,
    disable = b"cuptiActivityDisable_v2": extern "C" fn(usize, u32, *const c_void) -> u32,
    set_attribute = b"cuptiActivitySetAttribute_v2":
        extern "C" fn(usize, u32, &mut usize, &u8) -> u32,
    next = b"cuptiActivityGetNextRecord_v2":
        extern "C" fn(usize, *mut u8, usize, &mut *mut u8) -> u32,
    flush = b"cuptiActivityFlushAll": extern "C" fn(u32) -> u32,
}

impl Profiler {
    /// Subscribes, beside others if it `shares`.
    ///
    /// # Errors
    /// The code with which the library refuses.
    ///
    /// # Panics
    /// If the simulated library is not loaded, the name holds a NUL, or two are subscribed already.
    pub fn subscribe(name: &str, shares: bool) -> Result<Profiler, u32> {
        let functions = functions();
        let index = SLOTS
            .iter()
            .position(|slot| !slot.is_taken.load(Ordering::Acquire));
        let Some((index, slot)) = index.and_then(|index| Some((index, SLOTS.get(index)?))) else {
            panic!("too many profilers");
        };
        let Ok(name) = CString::new(name) else {
            panic!("{name:?} holds a NUL");
        };
        let params = Params {
            size: size_of::<Params>(),
            name: name.as_ptr(),
            holder: std::ptr::null_mut(),
            holder_size: 0,
            allow_multiple: shares.into(),
            padding: [0; 7],
        };
        let mut handle = 0;
        let user = std::ptr::from_ref(slot).cast();
        accepted((functions.subscribe)(&mut handle, called, user, &params))?;
        slot.is_taken.store(true, Ordering::Release);
        slot.handle.store(handle, Ordering::Release);
        let profiler = Profiler {
            functions,
            handle,
            slot,
        };
        let complete: Complete = match index {
            0 => complete::<0>,
            _ => complete::<1>,
        };
        accepted((functions.register)(handle, request, complete))?;
        Ok(profiler)
    }

    /// Records a `CUpti_ActivityKind` from now on.
    ///
    /// # Errors
    /// As [`Profiler::subscribe`], and so the other functions.
    pub fn enable(&self, kind: u32) -> Result<(), u32> {
        accepted((self.functions.enable)(self.handle, kind, std::ptr::null()))
    }

    /// Ends that.
    pub fn disable(&self, kind: u32) -> Result<(), u32> {
        accepted((self.functions.disable)(
            self.handle,
            kind,
            std::ptr::null(),
        ))
    }

    /// Has the library record replays of graphs as a whole, for all.
    pub fn hide_graph_nodes(&self) -> Result<(), u32> {
        let mut size = 1;
        accepted((self.functions.set_attribute)(
            self.handle,
            20,
            &mut size,
            &1,
        ))
    }

    /// Has itself called back in the driver function of this callback id.
    pub fn watch(&self, cbid: u32) -> Result<(), u32> {
        accepted((self.functions.enable_callback)(1, self.handle, 1, cbid))
    }

    /// Has the library return the buffers of all subscribers.
    pub fn flush(&self) -> Result<(), u32> {
        accepted((self.functions.flush)(0))
    }

    /// How many records of a kind it has received.
    pub fn records(&self, kind: u32) -> usize {
        let records = self
            .slot
            .records
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        records.iter().filter(|of| **of == kind).count()
    }

    /// How often it was called back at the beginning of a call.
    pub fn callbacks(&self) -> u64 {
        self.slot.callbacks.load(Ordering::Acquire)
    }

    /// Leaves.
    pub fn unsubscribe(self) -> Result<(), u32> {
        let result = accepted((self.functions.unsubscribe)(self.handle));
        self.slot
            .records
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
        self.slot.callbacks.store(0, Ordering::Release);
        self.slot.is_taken.store(false, Ordering::Release);
        result
    }
}

fn accepted(code: u32) -> Result<(), u32> {
    if code == 0 { Ok(()) } else { Err(code) }
}

fn functions() -> &'static Functions {
    static FUNCTIONS: OnceLock<Functions> = OnceLock::new();
    FUNCTIONS.get_or_init(|| {
        let library = loaded(SONAME);
        let functions = library.as_ref().and_then(Functions::find);
        std::mem::forget(library);
        match functions {
            Some(functions) => functions,
            None => panic!("the library with the functions of a subscriber is not loaded"),
        }
    })
}

extern "C" fn called(slot: *const c_void, _: u32, _: u32, site: *const i32) {
    // SAFETY: `subscribe` passes a static.
    let slot = unsafe { &*slot.cast::<Slot>() };
    // SAFETY: the data of a call begins with its site.
    if unsafe { site.read() } == 0 {
        slot.callbacks.fetch_add(1, Ordering::AcqRel);
    }
}

extern "C" fn request(
    buffer: *mut *mut u8,
    size: *mut usize,
    max_records: *mut usize,
    _: *const c_void,
) {
    const WORDS: usize = 1 << 14;
    // Never freed. Words, because CUPTI requires an alignment of 8.
    let memory = Box::leak(vec![0_u64; WORDS].into_boxed_slice()).as_mut_ptr();
    // SAFETY: the library passes a valid place for each of the three.
    unsafe { buffer.write(memory.cast()) };
    // SAFETY: as above.
    unsafe { size.write(WORDS * 8) };
    // SAFETY: as above.
    unsafe { max_records.write(0) };
}

extern "C" fn complete<const INDEX: usize>(
    buffer: *mut u8,
    _: usize,
    valid: usize,
    _: *const c_void,
) {
    let slot = &SLOTS[INDEX];
    let handle = slot.handle.load(Ordering::Acquire);
    let mut records = slot.records.lock().unwrap_or_else(PoisonError::into_inner);
    let mut record = std::ptr::null_mut();
    while (functions().next)(handle, buffer, valid, &mut record) == 0 {
        // SAFETY: each record begins with its kind.
        records.push(unsafe { record.cast::<u32>().read() });
    }
}
