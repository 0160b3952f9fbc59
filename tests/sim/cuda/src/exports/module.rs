//! Module Management, Execution Control and Occupancy of the driver API reference.

use simbase::activity::Module;

use super::driver_functions;
use crate::abi::{CText, Handle, HostPointer, Out, Params};
use crate::kernels::{self, Kernel, Launch};
use crate::module::{attribute, entry_names};
use crate::objects::Operation;
use crate::objects::{EntryNames, Function};
use crate::result_codes::{Answer, Code};
use crate::{device, executor, state, stream_queue};

/// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`.
const DYNAMIC_SHARED: i32 = 8;
/// The first bytes of images that are not text: an ELF cubin, and two kinds of fat binary.
const BINARY: [[u8; 4]; 3] = [
    *b"\x7fELF",
    [0x50, 0xed, 0x55, 0xba],
    [0xb1, 0x43, 0x62, 0x46],
];

driver_functions! {
    fn cuModuleLoad(out: Out<Handle>, path: CText) {
        let image = std::fs::read(path.get()?).map_err(|_| Code::FILE_NOT_FOUND)?;
        let is_binary = BINARY.iter().any(|magic| image.starts_with(magic));
        let names = if is_binary {
            EntryNames::Any
        } else {
            entry_names(&String::from_utf8_lossy(&image))
        };
        out.write(state::lock_initialized()?.load_module(names)?)
    }

    fn cuModuleLoadData(out: Out<Handle>, image: CText) {
        let is_binary = BINARY.contains(&image.magic()?);
        let names = if is_binary { EntryNames::Any } else { entry_names(&image.get()?) };
        out.write(state::lock_initialized()?.load_module(names)?)
    }

    fn cuModuleGetFunction(out: Out<Handle>, module: Handle, name: CText) {
        out.write(state::lock_initialized()?.function(module, &name.get()?)?)
    }

    /// NOT_FOUND: no known kernel has globals.
    fn cuModuleGetGlobal_v2(_address: Out<u64>, _bytes: Out<usize>, module: Handle, _name: CText) {
        state::lock_initialized()?.modules.get(module)?;
        Err(Code::NOT_FOUND)
    }

    fn cuModuleUnload(module: Handle) {
        {
            let mut state = state::lock_initialized()?;
            state.current_context()?;
            state.modules.get(module)?;
            state.check_unsafe_call()?;
        }
        executor::drain();
        state::lock_initialized()?.unload_module(module)
    }

    fn cuFuncGetAttribute(value: Out<i32>, number: i32, function: Handle) {
        let state = state::lock_initialized()?;
        let function = state.functions.get(function)?;
        value.write(attribute(function, state.resources(&function.name), number)?)
    }

    /// Only the dynamic shared memory has an effect, up to the limit of a block that opts in.
    fn cuFuncSetAttribute(function: Handle, number: i32, value: i32) {
        let mut state = state::lock_initialized()?;
        let function = state.functions.get_mut(function)?;
        match (number, u32::try_from(value)) {
            (DYNAMIC_SHARED, Ok(bytes)) if bytes <= device::SHARED_PER_BLOCK_OPTIN => {
                function.dynamic_shared = bytes;
                Ok(())
            }
            (9, _) => Ok(()),
            _ => Err(Code::INVALID_VALUE),
        }
    }

    /// A preference without effect.
    fn cuFuncSetCacheConfig(function: Handle, _config: i32) {
        state::lock_initialized()?.functions.get(function).map(drop)
    }

    fn cuLaunchKernel(
        function: Handle,
        grid_x: u32,
        grid_y: u32,
        grid_z: u32,
        block_x: u32,
        block_y: u32,
        block_z: u32,
        shared_bytes: u32,
        stream: Handle,
        params: Params,
        extra: HostPointer,
    ) {
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        let mut state = stream_queue::lock_with_room(stream)?;
        let stream = state.resolve_stream_of_current_context(stream)?;
        let function = state.functions.get(function)?;
        if function.context != state.current_context()? {
            return Err(Code::INVALID_HANDLE);
        }
        let kernel = match function.kernel {
            Some(kernel) => kernel,
            None if state.unknown_kernels_fail => return Err(report_unknown(&function.name)),
            None => kernels::no_op(&function.name),
        };
        let module = state.modules.get(function.module)?.reported;
        let code = (kernel, module);
        let launch = launch(function, code, grid, block, shared_bytes, params, extra)?;
        state.submit(stream, Operation::Launch(launch))
    }

    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: Out<i32>,
        function: Handle,
        block_size: i32,
        shared_bytes: usize,
    ) {
        state::lock_initialized()?.functions.get(function)?;
        blocks.write(occupancy(block_size, shared_bytes)?)
    }

    fn cuOccupancyMaxPotentialBlockSizeWithFlags(
        grid_size: Out<i32>,
        block_size: Out<i32>,
        function: Handle,
        block_to_shared: Option<extern "C" fn(i32) -> usize>,
        shared_bytes: usize,
        limit: i32,
        _flags: u32,
    ) {
        state::lock_initialized()?.functions.get(function)?;
        let (grid, block) = max_potential_block_size(block_to_shared, shared_bytes, limit)?;
        grid_size.write(grid)?;
        block_size.write(block)
    }

    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks: Out<i32>,
        function: Handle,
        block_size: i32,
        shared_bytes: usize,
        _flags: u32,
    ) {
        state::lock_initialized()?.functions.get(function)?;
        blocks.write(occupancy(block_size, shared_bytes)?)
    }
}

/// The block size with the most active threads, and the number of blocks that fills the device. The
/// block size is a multiple of the warp and at most `limit` (0: the device's limit). Of equal ones
/// it is the largest.
fn max_potential_block_size(
    block_to_shared: Option<extern "C" fn(i32) -> usize>,
    shared_bytes: usize,
    limit: i32,
) -> Answer<(i32, i32)> {
    let max_threads = match u32::try_from(limit).map_err(|_| Code::INVALID_VALUE)? {
        0 => device::MAX_THREADS_PER_BLOCK,
        limit => limit.min(device::MAX_THREADS_PER_BLOCK),
    };
    let mut best = (0, 0, 0);
    for block in (device::WARP..=max_threads).step_by(device::WARP as usize) {
        let block = block as i32;
        let shared = block_to_shared.map_or(shared_bytes, |shared| shared(block));
        let blocks = occupancy(block, shared)?;
        best = best.max((blocks * block, block, blocks));
    }
    Ok((best.2 * device::SM_COUNT, best.1))
}

/// Checks a launch and reads its arguments. INVALID_VALUE beyond the device's limits, and for
/// arguments in `extra`.
fn launch(
    function: &Function,
    (kernel, module): (&'static Kernel, &'static Module),
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u32,
    params: Params,
    extra: HostPointer,
) -> Answer<Launch> {
    let within = |size: [u32; 3], limits: [u32; 3]| {
        size.iter()
            .zip(limits)
            .all(|(n, limit)| (1..=limit).contains(n))
    };
    let threads = block
        .iter()
        .try_fold(1_u32, |product, n| product.checked_mul(*n));
    if !within(grid, device::MAX_GRID)
        || !within(block, device::MAX_BLOCK)
        || threads.is_none_or(|threads| threads > device::MAX_THREADS_PER_BLOCK)
        || shared_bytes > function.dynamic_shared.max(device::SHARED_PER_BLOCK)
    {
        return Err(Code::INVALID_VALUE);
    }
    if (params.is_null() && !kernel.params.is_empty()) || extra.address() != 0 {
        return Err(Code::INVALID_VALUE);
    }
    let mut args = Vec::with_capacity(kernel.params.iter().sum());
    for (index, size) in kernel.params.iter().enumerate() {
        params.append(index, *size, &mut args)?;
    }
    Ok(Launch {
        kernel,
        module,
        args,
        grid,
        block,
        shared: shared_bytes,
    })
}

/// NOT_SUPPORTED. The first launch of each kernel prints a line on standard error.
fn report_unknown(name: &str) -> Code {
    use std::collections::BTreeSet;
    use std::sync::{Mutex, PoisonError};
    static REPORTED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    if REPORTED
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .insert(name.to_owned())
    {
        eprintln!("simulated device: kernel `{name}` is unknown; its launch returns NOT_SUPPORTED");
    }
    Code::NOT_SUPPORTED
}

/// Blocks per multiprocessor, limited by threads, block slots and shared memory.
fn occupancy(block_size: i32, shared_bytes: usize) -> Answer<i32> {
    let threads = u32::try_from(block_size)
        .ok()
        .filter(|n| *n > 0)
        .ok_or(Code::INVALID_VALUE)?;
    let by_threads = device::THREADS_PER_SM / threads.next_multiple_of(device::WARP);
    let by_shared = (64_usize << 10)
        .checked_div(shared_bytes)
        .unwrap_or(usize::MAX);
    Ok(by_threads
        .min(device::BLOCKS_PER_SM)
        .min(by_shared.try_into().unwrap_or(u32::MAX)) as i32)
}
