//! Names and details of events, each once, within a limit.

use std::collections::HashMap;

use super::json_text::JsonText;
use crate::sanitize;

/// Bytes of all texts and lists of details.
const MAX_BYTES: usize = 100_000;
/// Bytes that a position in a list takes.
const POSITION_BYTES: usize = 6;
/// Lines of details of an event.
const MAX_LINES: usize = 16;

/// The lists so far.
pub(super) struct Texts {
    texts: Vec<String>,
    known_texts: HashMap<String, usize>,
    details: Vec<Vec<usize>>,
    known_details: HashMap<Vec<usize>, usize>,
    room: usize,
    is_full: bool,
}

impl Default for Texts {
    fn default() -> Self {
        Self {
            // In place of what has no room.
            texts: vec![sanitize::ELLIPSIS.to_string()],
            known_texts: HashMap::new(),
            details: Vec::new(),
            known_details: HashMap::new(),
            room: MAX_BYTES,
            is_full: false,
        }
    }
}

impl Texts {
    /// Where a text is in the list; that of an ellipsis if there is no room for it.
    pub(super) fn position(&mut self, text: &str) -> usize {
        let text = sanitize::name(text);
        if let Some(known) = self.known_texts.get(text.as_ref()) {
            return *known;
        }
        if !self.takes(text.len()) {
            return 0;
        }
        let position = self.texts.len();
        self.known_texts.insert(text.clone().into_owned(), position);
        self.texts.push(text.into_owned());
        position
    }

    /// Where these lines are in the list of details; `None` without a line or room.
    pub(super) fn details(&mut self, lines: impl IntoIterator<Item = String>) -> Option<usize> {
        let lines = lines.into_iter().take(MAX_LINES);
        let lines: Vec<usize> = lines.map(|line| self.position(&line)).collect();
        if lines.is_empty() {
            return None;
        }
        if let Some(known) = self.known_details.get(&lines) {
            return Some(*known);
        }
        if !self.takes(lines.len() * POSITION_BYTES) {
            return None;
        }
        let position = self.details.len();
        self.known_details.insert(lines.clone(), position);
        self.details.push(lines);
        Some(position)
    }

    fn takes(&mut self, bytes: usize) -> bool {
        let left = self.room.checked_sub(bytes);
        self.is_full |= left.is_none();
        self.room = left.unwrap_or(self.room);
        left.is_some()
    }

    /// Adds both lists, and whether anything had no room.
    pub(super) fn write(&self, json: &mut JsonText) {
        json.key("texts").strings(&self.texts);
        json.key("details").array(|json| {
            for lines in &self.details {
                json.array(|json| lines.iter().for_each(|at| json.integer(*at as u64)));
            }
        });
        json.key("is_full").boolean(self.is_full);
    }
}
