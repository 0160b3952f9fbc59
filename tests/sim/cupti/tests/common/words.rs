//! Calls whose parameters are a struct: here an array of 64-bit words, of which the first is the
//! size in bytes. Smaller fields have a word of their own or share one.

use simbase::library::loaded;

/// Calls a function; returns its code and the words afterwards.
pub(crate) fn call_words<const N: usize>(symbol: &str, mut words: [u64; N]) -> (u32, [u64; N]) {
    let library = loaded("libcupti.so.13").expect("it is installed");
    // SAFETY: every function takes the address of its parameters, which begin with their size.
    let function = unsafe { library.get::<extern "C" fn(*mut u64) -> u32>(symbol) };
    let code = function.expect("it is exported")(words.as_mut_ptr());
    (code, words)
}

/// The address of something as a word.
pub(crate) fn address<T: ?Sized>(of: &T) -> u64 {
    std::ptr::from_ref(of).cast::<u8>() as u64
}
