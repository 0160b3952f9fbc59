//! Gives the simulated driver the SONAME that cudarc's own `dlopen` looks for.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcuda.so");
}
