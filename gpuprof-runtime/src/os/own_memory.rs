//! The memory of this process, read so that an address of nothing is an error and not a fault.

use std::ffi::c_void;
use std::{io, ptr};

/// Why memory was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadError {
    /// A part of it is not mapped, or may not be read.
    NotMapped,
    /// The system has no `process_vm_readv`, or forbids it.
    Forbidden,
}

/// A block of memory that is mapped as a whole or not at all: a page, or a part of one.
const BLOCK: usize = 1 << 12;

/// What one call reads at most.
pub(crate) const MAX_PARTS: usize = 16;

/// Reads by `process_vm_readv`, which the kernel checks. Not to be kept across a fork.
#[derive(Debug)]
pub(crate) struct OwnMemory {
    pid: libc::pid_t,
    /// The block that was read last; 0 if none was.
    block_start: usize,
    block: [u8; BLOCK],
}

impl OwnMemory {
    pub(crate) fn open() -> Self {
        Self {
            // SAFETY: the call takes nothing and cannot fail.
            pid: unsafe { libc::getpid() },
            block_start: 0,
            block: [0; BLOCK],
        }
    }

    /// Copies the memory from `address` on. After an error `into` may have a part of it.
    pub(crate) fn read(&self, address: usize, into: &mut [u8]) -> Result<(), ReadError> {
        let len = into.len();
        if len == 0 {
            return Ok(());
        }
        match self.read_parts(&[address], len, into)? {
            1 => Ok(()),
            _ => Err(ReadError::NotMapped),
        }
    }

    /// The same for memory that does not change, of which more is read from the same block.
    pub(crate) fn read_nearby(&mut self, address: usize, into: &mut [u8]) -> Result<(), ReadError> {
        let start = address & !(BLOCK - 1);
        let at = address - start;
        let range = at..at + into.len();
        if start == 0 || range.end > BLOCK {
            return self.read(address, into);
        }
        if start != self.block_start {
            self.block_start = 0;
            if read_parts(self.pid, &[start], BLOCK, &mut self.block)? == 0 {
                return Err(ReadError::NotMapped);
            }
            self.block_start = start;
        }
        if let Some(read) = self.block.get(range) {
            into.copy_from_slice(read);
        }
        Ok(())
    }

    /// Copies `len` bytes from each address, at most [`MAX_PARTS`], one after another. Returns of
    /// how many, which are the first ones. An error says that there is none.
    pub(crate) fn read_parts(
        &self,
        addresses: &[usize],
        len: usize,
        into: &mut [u8],
    ) -> Result<usize, ReadError> {
        read_parts(self.pid, addresses, len, into)
    }

    /// The word at `address`.
    pub(crate) fn word(&self, address: usize) -> Result<usize, ReadError> {
        let mut bytes = [0; size_of::<usize>()];
        self.read(address, &mut bytes)?;
        Ok(usize::from_ne_bytes(bytes))
    }
}

fn read_parts(
    pid: libc::pid_t,
    addresses: &[usize],
    len: usize,
    into: &mut [u8],
) -> Result<usize, ReadError> {
    let local = libc::iovec {
        iov_base: into.as_mut_ptr().cast(),
        iov_len: into.len(),
    };
    let mut remote = [libc::iovec {
        iov_base: ptr::null_mut(),
        iov_len: 0,
    }; MAX_PARTS];
    let mut parts = 0;
    for (part, address) in remote.iter_mut().zip(addresses) {
        part.iov_base = *address as *mut c_void;
        part.iov_len = len;
        parts += 1;
    }
    // SAFETY: the kernel writes at most as many bytes as `into` has, and accepts any address
    // to read from.
    let read =
        unsafe { libc::process_vm_readv(pid, &raw const local, 1, remote.as_ptr(), parts, 0) };
    match usize::try_from(read) {
        Ok(read) => Ok(read.checked_div(len).unwrap_or_default()),
        Err(_) => Err(match io::Error::last_os_error().raw_os_error() {
            Some(libc::EFAULT) => ReadError::NotMapped,
            _ => ReadError::Forbidden,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, OwnMemory, ReadError};

    #[test]
    fn what_is_mapped_is_read_and_what_is_not_is_an_error() {
        let memory = OwnMemory::open();
        let values = [7_usize, 9];
        assert_eq!(memory.word(&raw const values[1] as usize), Ok(9));
        for address in [0, 8, usize::MAX - 8, 1 << 62] {
            let read = memory.word(address);
            assert_eq!(read, Err(ReadError::NotMapped), "{address:x}");
        }
    }

    #[test]
    fn parts_are_read_up_to_the_first_that_is_not_mapped() {
        let memory = OwnMemory::open();
        let values = [7_u8, 9];
        let addresses = [
            &raw const values[1] as usize,
            values.as_ptr() as usize,
            8,
            16,
        ];
        let mut read = [0; 4];
        assert_eq!(memory.read_parts(&addresses[..2], 1, &mut read[..2]), Ok(2));
        assert_eq!(memory.read_parts(&addresses, 1, &mut read), Ok(2));
        assert_eq!(read, [9, 7, 0, 0]);
        let none = memory.read_parts(&addresses[2..], 1, &mut read);
        assert_eq!(none, Err(ReadError::NotMapped));
    }

    #[test]
    fn what_is_nearby_is_read_with_its_block() {
        let mut memory = OwnMemory::open();
        let mut values: Vec<u8> = (0..3 * BLOCK)
            .map(|at| at as u8 ^ (at >> 8) as u8)
            .collect();
        let expected = values.clone();
        let base = values.as_ptr() as usize;
        let to_block = base.next_multiple_of(BLOCK) - base;
        // In one block, across its end, and at both ends of the next one.
        for at in [
            8,
            to_block - 4,
            to_block,
            to_block + BLOCK - 8,
            to_block + BLOCK,
        ] {
            let mut read = [0; 8];
            assert_eq!(memory.read_nearby(base + at, &mut read), Ok(()));
            assert_eq!(read, expected[at..at + 8], "{at}");
        }
        // The block is copied once.
        values[to_block + BLOCK + 16] ^= 1;
        let mut read = [0; 1];
        assert_eq!(
            memory.read_nearby(base + to_block + BLOCK + 16, &mut read),
            Ok(())
        );
        assert_eq!(read[0], expected[to_block + BLOCK + 16]);
        assert_eq!(memory.read_nearby(8, &mut read), Err(ReadError::NotMapped));
        let beyond = memory.read_nearby(usize::MAX - 2 * BLOCK, &mut read);
        assert_eq!(beyond, Err(ReadError::NotMapped));
    }
}
