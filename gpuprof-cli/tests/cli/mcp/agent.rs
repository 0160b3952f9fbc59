//! An agent that has started the command, and speaks the protocol by hand.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::gpuprof;

pub(super) struct Agent {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    asked: u64,
}

impl Agent {
    pub(super) fn of(source: &str) -> Self {
        Self::start(gpuprof(&["mcp", source]))
    }

    /// With the folder in which live programs have their sockets.
    pub(super) fn with_runtime_folder(source: &str, folder: &Path) -> Self {
        let mut command = gpuprof(&["mcp", source]);
        command.env("XDG_RUNTIME_DIR", folder);
        Self::start(command)
    }

    fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the command");
        let mut agent = Self {
            input: child.stdin.take().expect("a pipe"),
            output: BufReader::new(child.stdout.take().expect("a pipe")),
            child,
            asked: 0,
        };
        let found = agent.ask(
            "initialize",
            json!({
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"},
            }),
        );
        assert_eq!(found["serverInfo"]["name"], "gpuprof");
        assert_eq!(found["protocolVersion"], "2025-06-18");
        assert_eq!(found["capabilities"], json!({"tools": {}}));
        agent.say(r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#);
        agent
    }

    /// Sends a line.
    pub(super) fn say(&mut self, line: &str) {
        writeln!(self.input, "{line}").expect("it listens");
    }

    /// The result of a request.
    pub(super) fn ask(&mut self, method: &str, parameters: Value) -> Value {
        let mut answer = self.answer(method, parameters);
        assert_eq!(answer["error"], Value::Null, "{answer}");
        answer["result"].take()
    }

    /// The error of a request that the protocol refuses.
    pub(super) fn ask_refused(&mut self, method: &str, parameters: Value) -> Value {
        self.answer(method, parameters)["error"].take()
    }

    /// The text that a tool answers, or its problem.
    pub(super) fn call(&mut self, tool: &str, arguments: Value) -> Result<String, String> {
        let result = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        let content = result["content"].as_array().expect("content");
        assert_eq!(content.len(), 1, "{result}");
        let text = content[0]["text"].as_str().expect("text").to_owned();
        match result["isError"].as_bool() {
            Some(true) => Err(text),
            _ => Ok(text),
        }
    }

    fn answer(&mut self, method: &str, parameters: Value) -> Value {
        self.asked += 1;
        let request = json!({
            "jsonrpc": "2.0", "id": self.asked, "method": method, "params": parameters,
        });
        self.say(&request.to_string());
        let answer = self.hear();
        assert_eq!(answer["id"], self.asked, "{answer}");
        answer
    }

    /// The next line that it says.
    pub(super) fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("a line");
        assert!(!line.is_empty(), "it ended instead of an answer");
        serde_json::from_str(&line).expect("each line is JSON")
    }

    /// Goes away. The command ends then, as a success.
    pub(super) fn end(self) {
        let Self {
            mut child,
            input,
            output,
            ..
        } = self;
        drop(input);
        let code = child.wait().expect("it ends").code();
        assert_eq!(code, Some(0));
        assert_eq!(output.lines().count(), 0, "it said more than was asked");
    }
}
