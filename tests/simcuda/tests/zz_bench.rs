//! bench
mod common;
use common::*;
use cudarc::driver::{LaunchConfig, PushKernelArg};
#[test]
fn bench() {
    let _sim = simcuda::install().unwrap();
    let (context, stream) = context_and_stream();
    let image = stream.alloc_zeros::<f32>(512*512).unwrap();
    let mask = stream.alloc_zeros::<f32>(169).unwrap();
    let mut out = stream.alloc_zeros::<f32>(512*512).unwrap();
    for name in ["convolve_double","convolve_single","convolve_tiled"] {
        let kernel = function(&context, name);
        stream.synchronize().unwrap();
        let t = std::time::Instant::now();
        for _ in 0..4 {
        let (h,w)=(512_i32,512_i32);
        let mut launch = stream.launch_builder(&kernel);
        launch.arg(&image).arg(&mask).arg(&mut out).arg(&h).arg(&w);
        let g = if name=="convolve_tiled" {(16,8,1)} else {(32,32,1)};
        unsafe { launch.launch(LaunchConfig{grid_dim:g,block_dim:(16,16,1),shared_mem_bytes:0}) }.unwrap();
        }
        let q = t.elapsed();
        stream.synchronize().unwrap();
        println!("{name} 4 launches queued {q:?} done {:?}", t.elapsed());
    }
    let f = function(&context, "saxpy");
    let n = 1<<22;
    let x = stream.alloc_zeros::<f32>(n).unwrap(); let mut y = stream.alloc_zeros::<f32>(n).unwrap();
    stream.synchronize().unwrap();
    let t = std::time::Instant::now();
    saxpy(&stream,&f,1.0,&x,&mut y).unwrap();
    stream.synchronize().unwrap();
    println!("saxpy 4M {:?}", t.elapsed());
    let e = event(cudarc::driver::sys::CUevent_flags::CU_EVENT_DEFAULT);
    let t = std::time::Instant::now();
    for _ in 0..100_000 { record(e,&stream).unwrap(); }
    println!("record {:?}", t.elapsed()/100_000);
    stream.synchronize().unwrap();
    let t = std::time::Instant::now();
    for _ in 0..100_000 { query(e).unwrap(); }
    println!("query {:?}", t.elapsed()/100_000);
}
