//! The program and the libraries that it has loaded.

use std::ffi::c_void;

/// Where the library or program begins that has something at `address`. `None` if none has.
pub(crate) fn base_of(address: usize) -> Option<usize> {
    // SAFETY: all fields are integers and raw pointers, for which zero is a value.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: the call accepts any address, and `info` is valid for a write.
    let found = unsafe { libc::dladdr(address as *const c_void, &raw mut info) } != 0;
    found.then_some(info.dli_fbase as usize)
}

#[cfg(test)]
mod tests {
    use super::base_of;

    fn other() {}

    #[test]
    fn functions_of_one_library_have_one_base_and_data_on_the_heap_has_none() {
        let here = base_of(base_of as *const () as usize);
        assert!(here.is_some());
        assert_eq!(here, base_of(other as *const () as usize));
        assert_ne!(here, base_of(libc::getpid as *const () as usize));
        assert_eq!(base_of(Box::new(7).as_ref() as *const i32 as usize), None);
    }
}
