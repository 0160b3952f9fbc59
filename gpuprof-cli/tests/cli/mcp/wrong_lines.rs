//! Lines that are no requests of the protocol.

use serde_json::{Value, json};

use super::{Agent, file};
use crate::SMALL;

#[test]
fn what_is_no_request_is_refused_with_its_id_or_with_null() {
    let (_folder, path) = file(SMALL);
    let mut agent = Agent::of(&path);
    for (line, id, code) in [
        (r#"{"jsonrpc": "2.0", "id": "#, Value::Null, -32700),
        ("no JSON", Value::Null, -32700),
        ("\u{fffd}", Value::Null, -32700),
        ("[]", Value::Null, -32600),
        (r#"{"jsonrpc": "2.0"}"#, Value::Null, -32600),
        (r#"{"jsonrpc": "2.0", "id": 71}"#, json!(71), -32600),
        (r#"{"id": "a", "method": "tools/list"}"#, json!("a"), -32600),
        (
            r#"{"jsonrpc": "2.0", "id": 72, "method": 7}"#,
            json!(72),
            -32600,
        ),
        (
            r#"{"jsonrpc": "2.0", "id": 73, "method": "tools/list", "params": 7}"#,
            json!(73),
            -32602,
        ),
        (
            r#"{"jsonrpc": "2.0", "id": 74, "method": "tools/call", "params": [1]}"#,
            json!(74),
            -32602,
        ),
        (
            r#"{"jsonrpc": "2.0", "id": 75, "method": "tools/call"}"#,
            json!(75),
            -32602,
        ),
        (
            r#"{"jsonrpc": "2.0", "id": 76, "method": "tools/call", "params": {"nam": 1}}"#,
            json!(76),
            -32602,
        ),
        (
            r#"{"jsonrpc": "2.0", "id": 77, "method": "nothing"}"#,
            json!(77),
            -32601,
        ),
    ] {
        agent.say(line);
        let answer = agent.hear();
        assert_eq!(answer.get("id"), Some(&id), "{line}: {answer}");
        assert_eq!(answer["error"]["code"], code, "{line}: {answer}");
        assert_eq!(answer["jsonrpc"], "2.0", "{line}: {answer}");
    }
    // Nobody waits for an answer to a notification.
    agent.say(r#"{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": 7}"#);
    assert!(agent.call("summary", json!({})).is_ok());
    agent.end();
}
