//! JSON-RPC in lines on standard input and output. The transport of rmcp ignores lines that are no
//! JSON, and refuses wrong requests without their id.

use std::io;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{ClientRequest, ErrorData, JsonRpcMessage};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::{Transport, stdio};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Stdin, Stdout};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

/// The longest line that is read.
const MAX_LINE: usize = 16 << 20;

/// What is answered here: rmcp takes these methods with wrong parameters for unknown ones.
const METHODS: [&str; 4] = ["initialize", "ping", "tools/call", "tools/list"];

type McpMessage = RxJsonRpcMessage<RoleServer>;

/// The agent's end. Waiting for a message may be cancelled at any time, and goes on with the next
/// wait.
pub(super) struct AgentConnection {
    input: BufReader<Stdin>,
    output: Arc<Mutex<Stdout>>,
    line: Vec<u8>,
    is_too_long: bool,
    refusing: Option<JoinHandle<io::Result<()>>>,
}

/// Why a line is no message, for the request with this id.
struct Refusal {
    id: Value,
    error: ErrorData,
}

impl AgentConnection {
    pub(super) fn new() -> Self {
        let (input, output) = stdio();
        Self {
            input: BufReader::new(input),
            output: Arc::new(Mutex::new(output)),
            line: Vec::new(),
            is_too_long: false,
            refusing: None,
        }
    }

    /// Reads to the end of a line. Returns whether there is one; a line that the input ends in is
    /// none.
    async fn read_line(&mut self) -> io::Result<bool> {
        loop {
            let read = self.input.fill_buf().await?;
            if read.is_empty() {
                return Ok(false);
            }
            let end = read.iter().position(|byte| *byte == b'\n');
            let length = end.map_or(read.len(), |end| end + 1);
            self.is_too_long |= self.line.len() + length > MAX_LINE;
            if self.is_too_long {
                self.line.clear()
            } else {
                self.line.extend_from_slice(&read[..length])
            }
            self.input.consume(length);
            if end.is_some() {
                return Ok(true);
            }
        }
    }
}

impl Transport<RoleServer> for AgentConnection {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        write(Arc::clone(&self.output), message)
    }

    async fn receive(&mut self) -> Option<McpMessage> {
        loop {
            if let Some(refusing) = &mut self.refusing {
                let refused = refusing.await;
                self.refusing = None;
                refused.ok()?.ok()?;
            }
            if !self.read_line().await.ok()? {
                return None;
            }
            let read = if std::mem::take(&mut self.is_too_long) {
                Err(Refusal::of_no_json())
            } else {
                message(self.line.trim_ascii())
            };
            self.line.clear();
            match read {
                Ok(Some(message)) => return Some(message),
                Ok(None) => {}
                Err(Refusal { id, error }) => {
                    let answer = json!({"jsonrpc": "2.0", "id": id, "error": error});
                    let written = write(Arc::clone(&self.output), answer);
                    self.refusing = Some(tokio::spawn(written));
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.output.lock().await.flush().await
    }
}

async fn write(output: Arc<Mutex<Stdout>>, message: impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(&message)?;
    line.push(b'\n');
    let mut output = output.lock().await;
    output.write_all(&line).await?;
    output.flush().await
}

impl Refusal {
    fn of_no_json() -> Self {
        Self {
            id: Value::Null,
            error: ErrorData::parse_error("this line is no JSON", None),
        }
    }
}

/// The message of a line; `None` if there is none that has an answer.
fn message(line: &[u8]) -> Result<Option<McpMessage>, Refusal> {
    if line.is_empty() {
        return Ok(None);
    }
    let value: Value = serde_json::from_slice(line).map_err(|_| Refusal::of_no_json())?;
    let has = |field: &str| value.get(field).is_some();
    let id = match &value["id"] {
        id @ (Value::Number(_) | Value::String(_)) => id.clone(),
        _ => Value::Null,
    };
    let is_request = value["jsonrpc"] == "2.0" && value["method"].is_string() && !id.is_null();
    let wrong_parameters = || ErrorData::invalid_params("these parameters are wrong", None);
    let error = match serde_json::from_slice::<McpMessage>(line) {
        Ok(JsonRpcMessage::Request(request)) if is_misread(&request.request) => wrong_parameters(),
        Ok(message) => return Ok(Some(message)),
        Err(_) if is_request => wrong_parameters(),
        // Notifications and answers.
        Err(_) if has("method") && !has("id") || has("result") || has("error") => return Ok(None),
        Err(_) => ErrorData::invalid_request("this is no request of JSON-RPC 2.0", None),
    };
    Err(Refusal { id, error })
}

fn is_misread(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::CustomRequest(custom) => METHODS.contains(&&*custom.method),
        _ => false,
    }
}
