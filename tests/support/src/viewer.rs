//! A viewer that says what a test tells it to.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use crate::program::{Folder, Running};
use gpuprof_report::live::{
    Changes, FunctionRow, Head, MAX_FRAME_BYTES, from_json, read_document, read_frame, socket_name,
    write_frame,
};

pub struct Viewer(pub UnixStream);

/// The socket of a program in `folder`.
pub fn socket(folder: &Folder, program: &Running) -> PathBuf {
    folder.path("gpuprof").join(socket_name(program.id()))
}

impl Viewer {
    pub fn connect(folder: &Folder, program: &Running) -> Self {
        let stream = UnixStream::connect(socket(folder, program)).expect("the socket is open");
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .expect("a limit");
        Self(stream)
    }

    /// The head of the answer to `request`.
    pub fn ask(&mut self, request: &str) -> io::Result<Head> {
        write_frame(&mut self.0, request.as_bytes())?;
        let frame = read_frame(&mut self.0, MAX_FRAME_BYTES)?;
        let frame = frame.ok_or(io::ErrorKind::UnexpectedEof)?;
        Ok(from_json(&frame).expect("a head"))
    }

    pub fn changes(&mut self) -> Changes {
        let head = self.ask("changes").expect("an answer");
        assert_eq!(head.error, None);
        let frame = read_frame(&mut self.0, MAX_FRAME_BYTES).expect("an answer");
        from_json(&frame.expect("an answer")).expect("changes")
    }

    pub fn document(&mut self, request: &str) -> Vec<u8> {
        let head = self.ask(request).expect("an answer");
        assert_eq!(head.error, None);
        let mut text = Vec::new();
        read_document(&mut self.0, &mut text).expect("a whole document");
        text
    }
}

/// The row of a function, by the end of its name.
pub fn row<'a>(changes: &'a Changes, function: &str) -> Option<&'a FunctionRow> {
    let end = format!("::{function}");
    changes
        .functions
        .iter()
        .find(|row| row.name.ends_with(&end))
}
