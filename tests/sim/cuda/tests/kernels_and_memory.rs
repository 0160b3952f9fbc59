//! Kernels compute results, memory is checked, and modules contain the functions of their PTX.

mod common;

use common::{context_and_stream, function, saxpy, virtual_clock};
use cudarc::driver::sys::CUresult;
use cudarc::driver::{LaunchConfig, PushKernelArg, result};
use cudarc::nvrtc::Ptx;

/// y = a*x + y for all elements; surplus threads of the last block do nothing.
#[test]
fn saxpy_computes() {
    let (_sim, _turn) = virtual_clock();
    let (context, stream) = context_and_stream();
    let kernel = function(&context, "saxpy");
    let x: Vec<f32> = (0..1003).map(|i| i as f32).collect();
    let device_x = stream.clone_htod(&x).unwrap();
    let mut y = stream.clone_htod(&vec![1.0_f32; 1003]).unwrap();
    saxpy(&stream, &kernel, 2.0, &device_x, &mut y).unwrap();
    saxpy(&stream, &kernel, 1.0, &device_x, &mut y).unwrap();
    let expected: Vec<f32> = x.iter().map(|x| 3.0 * x + 1.0).collect();
    assert_eq!(stream.clone_dtoh(&y).unwrap(), expected);
}

/// The three convolutions agree with the formula in f64, for an image whose sides are not multiples
/// of blocks and a mask without symmetry.
#[test]
fn convolutions_compute() {
    let (_sim, _turn) = virtual_clock();
    let (context, stream) = context_and_stream();
    let (height, width) = (37_i32, 53_i32);
    let pixel = |i: i32, j: i32| ((i * 31 + j * 17) % 101) as f32 / 101.0;
    let weight = |k: i32, l: i32| (k * 13 + l) as f32 / 1000.0 - 0.05;
    let image: Vec<f32> = (0..height)
        .flat_map(|i| (0..width).map(move |j| pixel(i, j)))
        .collect();
    let mask: Vec<f32> = (0..13)
        .flat_map(|k| (0..13).map(move |l| weight(k, l)))
        .collect();
    let (image, mask) = (
        stream.clone_htod(&image).unwrap(),
        stream.clone_htod(&mask).unwrap(),
    );
    for (name, block, per_block) in [
        ("convolve_double", (16, 16, 1), (16, 16)),
        ("convolve_single", (16, 16, 1), (16, 16)),
        ("convolve_tiled", (32, 8, 1), (32, 64)),
    ] {
        let kernel = function(&context, name);
        let mut out = stream
            .clone_htod(&vec![f32::NAN; (height * width) as usize])
            .unwrap();
        let grid = (
            (width as u32).div_ceil(per_block.0),
            (height as u32).div_ceil(per_block.1),
            1,
        );
        let mut launch = stream.launch_builder(&kernel);
        launch
            .arg(&image)
            .arg(&mask)
            .arg(&mut out)
            .arg(&height)
            .arg(&width);
        let config = LaunchConfig {
            grid_dim: grid,
            block_dim: block,
            shared_mem_bytes: 0,
        };
        // SAFETY: the arguments are the kernel's.
        unsafe { launch.launch(config) }.unwrap();
        let out = stream.clone_dtoh(&out).unwrap();
        for i in 0..height {
            for j in 0..width {
                let mut sum = 0.0_f64;
                for (k, l) in (0..13).flat_map(|k| (0..13).map(move |l| (k, l))) {
                    let (row, column) = (i - k + 6, j - l + 6);
                    if (0..height).contains(&row) && (0..width).contains(&column) {
                        sum += f64::from(weight(k, l)) * f64::from(pixel(row, column));
                    }
                }
                let got = f64::from(out[(i * width + j) as usize]);
                assert!(
                    (got - sum).abs() < 1e-4,
                    "{name} at {i},{j}: {got} instead of {sum}"
                );
            }
        }
    }
}

/// An unknown kernel can be loaded, and its launch returns NOT_SUPPORTED.
#[test]
fn an_unknown_kernel_fails_its_launch() {
    let (_sim, _turn) = virtual_clock();
    let (context, stream) = context_and_stream();
    let module = context
        .load_module(Ptx::from_src(".visible .entry unheard_of(\n)\n{ ret; }"))
        .unwrap();
    let kernel = module.load_function("unheard_of").unwrap();
    let mut launch = stream.launch_builder(&kernel);
    // SAFETY: the kernel takes nothing.
    let answer = unsafe { launch.launch(LaunchConfig::for_num_elems(1)) };
    assert_eq!(
        answer.map(drop).unwrap_err().0,
        CUresult::CUDA_ERROR_NOT_SUPPORTED
    );
    stream.synchronize().unwrap();
}

/// cuModuleGetFunction: NOT_FOUND for a name the module lacks, also when a comment mentions it.
#[test]
fn a_missing_function_is_not_found() {
    let (_sim, _turn) = virtual_clock();
    let (context, _stream) = context_and_stream();
    let module = context
        .load_module(Ptx::from_src("// .entry ghost(\n.entry saxpy (\n) {}"))
        .unwrap();
    assert!(module.load_function("saxpy").is_ok());
    assert_eq!(
        module.load_function("ghost").unwrap_err().0,
        CUresult::CUDA_ERROR_NOT_FOUND
    );
}

/// cuLaunchKernel: a block of more than 1024 threads is INVALID_VALUE.
#[test]
fn a_launch_beyond_the_limits_is_refused() {
    let (_sim, _turn) = virtual_clock();
    let (context, stream) = context_and_stream();
    let kernel = function(&context, "saxpy");
    let y = stream.alloc_zeros::<f32>(8).unwrap();
    let config = LaunchConfig {
        grid_dim: (1, 1, 1),
        block_dim: (1024, 2, 1),
        shared_mem_bytes: 0,
    };
    let mut launch = stream.launch_builder(&kernel);
    launch.arg(&8_u32).arg(&1.0_f32).arg(&y).arg(&y);
    // SAFETY: the arguments are saxpy's.
    let answer = unsafe { launch.launch(config) };
    assert_eq!(
        answer.map(drop).unwrap_err().0,
        CUresult::CUDA_ERROR_INVALID_VALUE
    );
}

/// An allocation beyond the device's memory is OUT_OF_MEMORY; freed memory is available again; a
/// second free is INVALID_VALUE.
#[test]
fn memory_is_accounted_for() {
    let (_sim, _turn) = virtual_clock();
    let (context, stream) = context_and_stream();
    let (before, total) = context.mem_get_info().unwrap();
    let block = stream.alloc_zeros::<u8>(1 << 20).unwrap();
    assert_eq!(context.mem_get_info().unwrap(), (before - (1 << 20), total));
    drop(block);
    assert_eq!(context.mem_get_info().unwrap(), (before, total));
    let all = stream.alloc_zeros::<u8>(total).map(drop);
    assert_eq!(all.unwrap_err().0, CUresult::CUDA_ERROR_OUT_OF_MEMORY);
    // SAFETY: nothing reads the memory.
    let address = unsafe { result::malloc_sync(64) }.unwrap();
    // SAFETY: allocated above.
    unsafe { result::free_sync(address) }.unwrap();
    // SAFETY: the simulator validates addresses.
    let again = unsafe { result::free_sync(address) };
    assert_eq!(again.unwrap_err().0, CUresult::CUDA_ERROR_INVALID_VALUE);
}

/// More launches than the deferred queue takes, without a synchronize, give the right results.
#[test]
fn a_full_queue_is_drained() {
    let (_sim, _turn) = virtual_clock();
    let (context, stream) = context_and_stream();
    let kernel = function(&context, "saxpy");
    let x = stream.clone_htod(&[1.0_f32; 8]).unwrap();
    let mut y = stream.alloc_zeros(8).unwrap();
    for _ in 0..5_000 {
        saxpy(&stream, &kernel, 1.0, &x, &mut y).unwrap();
    }
    assert_eq!(stream.clone_dtoh(&y).unwrap(), [5_000.0; 8]);
}

/// Managed memory has one address for host and device.
#[test]
fn managed_memory_is_shared() {
    let (_sim, _turn) = virtual_clock();
    let (context, stream) = context_and_stream();
    // SAFETY: written before it is read.
    let mut data = unsafe { context.alloc_unified::<f32>(32, true) }.unwrap();
    data.as_mut_slice().unwrap().fill(1.0);
    data.prefetch().unwrap();
    let kernel = function(&context, "saxpy");
    let x = stream.clone_htod(&[2.0_f32; 32]).unwrap();
    let mut launch = stream.launch_builder(&kernel);
    launch.arg(&32_u32).arg(&3.0_f32).arg(&x).arg(&mut data);
    // SAFETY: the arguments are saxpy's.
    unsafe { launch.launch(LaunchConfig::for_num_elems(32)) }.unwrap();
    stream.synchronize().unwrap();
    assert_eq!(data.as_slice().unwrap(), [7.0; 32]);
}

/// A kernel of cudarc's numbered examples.
#[test]
fn a_kernel_of_cudarcs_examples_is_known_by_its_name() {
    let (_sim, _turn) = virtual_clock();
    let (context, stream) = context_and_stream();
    let module = context
        .load_module(Ptx::from_src(".visible .entry sin_kernel() {}"))
        .unwrap();
    let kernel = module.load_function("sin_kernel").unwrap();
    let x = stream.clone_htod(&[0.5_f32, 1.0, 2.0]).unwrap();
    let mut y = stream.clone_htod(&[9.0_f32; 3]).unwrap();
    let mut launch = stream.launch_builder(&kernel);
    launch.arg(&mut y).arg(&x).arg(&2_i32);
    // SAFETY: these are sin_kernel's parameters.
    unsafe { launch.launch(LaunchConfig::for_num_elems(3)) }.unwrap();
    let expected = [0.5_f32.sin(), 1.0_f32.sin(), 9.0];
    assert_eq!(stream.clone_dtoh(&y).unwrap(), expected);
}
