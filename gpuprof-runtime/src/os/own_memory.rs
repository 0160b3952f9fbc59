//! The memory of this process, read so that an address of nothing is an error and not a fault.

use std::ffi::c_void;
use std::io;

/// Why memory was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadError {
    /// A part of it is not mapped, or may not be read.
    NotMapped,
    /// The system has no `process_vm_readv`, or forbids it.
    Forbidden,
}

/// Reads by `process_vm_readv`, which the kernel checks.
#[derive(Debug)]
pub(crate) struct OwnMemory {
    pid: libc::pid_t,
}

impl OwnMemory {
    /// Not to be kept across a fork.
    pub(crate) fn open() -> Self {
        // SAFETY: the call takes nothing and cannot fail.
        let pid = unsafe { libc::getpid() };
        Self { pid }
    }

    /// Copies the memory from `address` on. After an error `into` may have a part of it.
    pub(crate) fn read(&self, address: usize, into: &mut [u8]) -> Result<(), ReadError> {
        let local = libc::iovec {
            iov_base: into.as_mut_ptr().cast(),
            iov_len: into.len(),
        };
        let remote = libc::iovec {
            iov_base: address as *mut c_void,
            iov_len: into.len(),
        };
        // SAFETY: the kernel writes at most as many bytes as `into` has, and accepts any address
        // to read from.
        let read = unsafe {
            libc::process_vm_readv(self.pid, &raw const local, 1, &raw const remote, 1, 0)
        };
        match usize::try_from(read) {
            Ok(read) if read == into.len() => Ok(()),
            Ok(_) => Err(ReadError::NotMapped),
            Err(_) => Err(match io::Error::last_os_error().raw_os_error() {
                Some(libc::EFAULT) => ReadError::NotMapped,
                _ => ReadError::Forbidden,
            }),
        }
    }

    /// The word at `address`.
    pub(crate) fn word(&self, address: usize) -> Result<usize, ReadError> {
        let mut bytes = [0; size_of::<usize>()];
        self.read(address, &mut bytes)?;
        Ok(usize::from_ne_bytes(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::{OwnMemory, ReadError};

    #[test]
    fn what_is_mapped_is_read_and_what_is_not_is_an_error() {
        let memory = OwnMemory::open();
        let values = [7_usize, 9];
        assert_eq!(memory.word(&raw const values[1] as usize), Ok(9));
        let mut none = [];
        assert_eq!(memory.read(values.as_ptr() as usize, &mut none), Ok(()));
        for address in [0, 8, usize::MAX - 8, 1 << 62] {
            assert_eq!(
                memory.word(address),
                Err(ReadError::NotMapped),
                "{address:x}"
            );
        }
    }
}
