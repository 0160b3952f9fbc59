//! How the library is linked.

fn main() {
    // Its threads and exit handlers outlast a `dlclose`.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
