//! Frames: a length of four bytes, the most significant first, and so many bytes.

use std::io::{self, ErrorKind, Read, Write};

/// The longest frame that is read, bytes.
pub const MAX_FRAME_BYTES: usize = 64 << 20;

/// The longest document that a viewer reads, bytes.
pub const MAX_DOCUMENT_BYTES: u64 = 4 << 30;

/// The longest part of a document in one frame, bytes.
pub const PART_BYTES: usize = 64 << 10;

/// How much of a frame is read at once: memory grows with what has come, whatever its length says.
const READ_BYTES: u64 = 64 << 10;

/// Writes one frame.
///
/// # Errors
/// Those of `out`; [`ErrorKind::InvalidInput`] if the frame is longer than [`MAX_FRAME_BYTES`].
pub fn write_frame(out: &mut dyn Write, content: &[u8]) -> io::Result<()> {
    if content.len() > MAX_FRAME_BYTES {
        return Err(ErrorKind::InvalidInput.into());
    }
    let length = u32::try_from(content.len()).map_err(|_| ErrorKind::InvalidInput)?;
    out.write_all(&length.to_be_bytes())?;
    out.write_all(content)
}

/// Reads one frame of at most `limit` bytes. `None`: the other side closed the connection between
/// two frames.
///
/// # Errors
/// Those of `from`; [`ErrorKind::InvalidData`] if the frame is longer than `limit`,
/// [`ErrorKind::UnexpectedEof`] if the connection ends within it.
pub fn read_frame(from: &mut dyn Read, limit: usize) -> io::Result<Option<Vec<u8>>> {
    let mut head = Vec::new();
    from.take(4).read_to_end(&mut head)?;
    if head.is_empty() {
        return Ok(None);
    }
    let head = <[u8; 4]>::try_from(head).map_err(|_| ErrorKind::UnexpectedEof)?;
    let length = u32::from_be_bytes(head) as usize;
    if length > limit {
        return Err(ErrorKind::InvalidData.into());
    }
    let mut content = Vec::new();
    while content.len() < length {
        let missing = (length - content.len()) as u64;
        let read = from
            .take(missing.min(READ_BYTES))
            .read_to_end(&mut content)?;
        if read == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(Some(content))
}

/// Writes a document as frames of at most [`PART_BYTES`].
#[derive(Debug)]
pub struct DocumentWriter<W> {
    out: W,
    part: Vec<u8>,
}

impl<W: Write> DocumentWriter<W> {
    /// Writes the frames to `out`.
    pub fn new(out: W) -> Self {
        Self {
            out,
            part: Vec::new(),
        }
    }

    /// Writes what is left, and the empty frame that ends the document.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn end(mut self) -> io::Result<()> {
        self.flush()?;
        write_frame(&mut self.out, &[])
    }
}

impl<W: Write> Write for DocumentWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = PART_BYTES.saturating_sub(self.part.len());
        let taken = bytes.len().min(room);
        self.part.extend(bytes.iter().take(taken));
        if self.part.len() >= PART_BYTES {
            self.flush()?;
        }
        Ok(taken)
    }

    /// Writes what is not written yet as a frame of its own.
    fn flush(&mut self) -> io::Result<()> {
        if !self.part.is_empty() {
            write_frame(&mut self.out, &self.part)?;
            self.part.clear();
        }
        Ok(())
    }
}

/// Reads a document that a [`DocumentWriter`] wrote into `out`. Returns its bytes.
///
/// # Errors
/// Those of both sides; [`ErrorKind::InvalidData`] if a part is longer than [`PART_BYTES`] or the
/// document than [`MAX_DOCUMENT_BYTES`], [`ErrorKind::UnexpectedEof`] if its end is missing.
pub fn read_document(from: &mut dyn Read, out: &mut dyn Write) -> io::Result<u64> {
    let mut bytes = 0;
    loop {
        let part = read_frame(from, PART_BYTES)?.ok_or(ErrorKind::UnexpectedEof)?;
        if part.is_empty() {
            return Ok(bytes);
        }
        bytes += part.len() as u64;
        if bytes > MAX_DOCUMENT_BYTES {
            return Err(ErrorKind::InvalidData.into());
        }
        out.write_all(&part)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(bytes: &[u8], limit: usize) -> ErrorKind {
        let error = read_frame(&mut &*bytes, limit).expect_err("it is no frame");
        error.kind()
    }

    #[test]
    fn frames_read_back_in_order() {
        let mut sent = Vec::new();
        let long = vec![7; 200_000];
        for content in [&b"hello"[..], b"", &long] {
            write_frame(&mut sent, content).unwrap();
        }
        assert_eq!(&sent[..9], b"\0\0\0\x05hello");
        let mut from = &*sent;
        for content in [&b"hello"[..], b"", &long] {
            let read = read_frame(&mut from, 200_000).unwrap();
            assert_eq!(read.as_deref(), Some(content));
        }
        assert_eq!(read_frame(&mut from, 1).unwrap(), None);
    }

    #[test]
    fn a_frame_that_is_too_long_or_cut_is_an_error() {
        assert_eq!(kind(b"\0\0\0\x06hello!", 5), ErrorKind::InvalidData);
        assert_eq!(kind(b"\xff\xff\xff\xff", 5), ErrorKind::InvalidData);
        assert_eq!(kind(b"\0\0\0\x06hello", 6), ErrorKind::UnexpectedEof);
        assert_eq!(kind(b"\0\0", 6), ErrorKind::UnexpectedEof);
    }

    #[test]
    fn memory_grows_with_what_came_and_not_with_the_stated_length() {
        struct Greedy(usize);
        impl Read for Greedy {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                assert!(buffer.len() <= READ_BYTES as usize, "{}", buffer.len());
                let more = buffer.len().min(self.0);
                self.0 -= more;
                Ok(more)
            }
        }
        // Zeros are a length of 0 and then too few bytes: only the length of the frame is large.
        let mut from = io::Read::chain(&b"\x04\0\0\0"[..], Greedy(100));
        let error = read_frame(&mut from, MAX_FRAME_BYTES).expect_err("it is cut");
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
    }

    #[test]
    fn a_document_reads_back_whole_and_a_cut_one_is_an_error() {
        let text: Vec<u8> = (0..PART_BYTES * 2 + 5).map(|byte| byte as u8).collect();
        let mut sent = Vec::new();
        let mut writer = DocumentWriter::new(&mut sent);
        writer.write_all(&text).unwrap();
        writer.end().unwrap();
        // Three parts and the end.
        assert_eq!(sent.len(), text.len() + 4 * 4);
        let mut read = Vec::new();
        let bytes = read_document(&mut &*sent, &mut read).unwrap();
        assert_eq!((bytes, read), (text.len() as u64, text));
        let cut = &sent[..sent.len() - 4];
        let error = read_document(&mut &*cut, &mut io::sink()).expect_err("its end is missing");
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
    }
}
