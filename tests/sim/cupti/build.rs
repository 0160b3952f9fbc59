//! Gives the simulated libcupti the SONAME of the real one of CUDA 13.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcupti.so.13");
}
