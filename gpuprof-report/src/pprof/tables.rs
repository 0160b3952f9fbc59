//! What samples refer to by number: frames and texts.

use std::borrow::Cow;
use std::collections::HashMap;

use super::messages::Function;
use crate::call_paths::Leaf;
use crate::profile::{CopyKind, KernelStats, Profile, TreeNode, labelled};
use crate::sanitize;

/// A frame of a call path, as what it is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Frame<'a> {
    Function {
        /// Index into the profile's functions.
        function: Option<u32>,
        name: &'a str,
        label: Option<&'a str>,
    },
    Kernel {
        name: &'a str,
        symbol: &'a str,
    },
    Copies(CopyKind),
    Fixed(&'static str),
}

impl<'a> Frame<'a> {
    pub(super) fn of_node(node: &'a TreeNode) -> Self {
        Self::Function {
            function: node.function,
            name: &node.name,
            label: node.label.as_deref(),
        }
    }

    /// `None` for the innermost function of the path.
    pub(super) fn of_leaf(leaf: Leaf<'a>) -> Option<Self> {
        match leaf {
            Leaf::Kernel(kernel) => Some(Self::of_kernel(kernel)),
            Leaf::Copies(copies) => Some(Self::Copies(copies.kind)),
            _ => leaf.fixed_name().map(Self::Fixed),
        }
    }

    fn of_kernel(kernel: &'a KernelStats) -> Self {
        let full_name = Some(&kernel.full_name).filter(|name| !name.is_empty());
        Self::Kernel {
            name: full_name.unwrap_or(&kernel.name),
            symbol: &kernel.symbol,
        }
    }
}

/// The frames and texts so far.
pub(super) struct Tables<'a> {
    ids: HashMap<Frame<'a>, u64>,
    functions: Vec<Function>,
    texts: HashMap<String, i64>,
}

impl Default for Tables<'_> {
    fn default() -> Self {
        Self {
            ids: HashMap::new(),
            functions: Vec::new(),
            // The text that stands for none.
            texts: HashMap::from([(String::new(), 0)]),
        }
    }
}

impl<'a> Tables<'a> {
    /// Id of the location of a frame, and of its function.
    pub(super) fn location(&mut self, frame: Frame<'a>, profile: &Profile) -> u64 {
        if let Some(&id) = self.ids.get(&frame) {
            return id;
        }
        let mut function = self.function(frame, profile);
        function.id = u64::try_from(self.functions.len()).unwrap_or(u64::MAX) + 1;
        let id = function.id;
        self.functions.push(function);
        self.ids.insert(frame, id);
        id
    }

    fn function(&mut self, frame: Frame<'a>, profile: &Profile) -> Function {
        let mut of = Function::default();
        match frame {
            Frame::Function {
                function,
                name,
                label,
            } => {
                let index = function.and_then(|index| usize::try_from(index).ok());
                if let Some(known) = index.and_then(|index| profile.functions.get(index)) {
                    of.filename = self.text(&whole(&known.file));
                    of.start_line = i64::from(known.line);
                }
                of.name = match label {
                    Some(label) => self.name(&labelled(name, label)),
                    None => self.name(name),
                };
            }
            Frame::Kernel { name, symbol } => {
                of.name = self.name(name);
                of.system_name = self.text(&whole(symbol));
            }
            Frame::Copies(kind) => of.name = self.text(&kind.row_name()),
            Frame::Fixed(name) => of.name = self.text(name),
        }
        of
    }

    /// Readers take a frame without a name for an address.
    fn name(&mut self, name: &str) -> i64 {
        match whole(name) {
            name if name.trim().is_empty() => self.text("(unnamed)"),
            name => self.text(&name),
        }
    }

    /// Number of a text.
    pub(super) fn text(&mut self, text: &str) -> i64 {
        if let Some(&number) = self.texts.get(text) {
            return number;
        }
        let number = i64::try_from(self.texts.len()).unwrap_or(i64::MAX);
        self.texts.insert(text.to_owned(), number);
        number
    }

    /// The functions by id, and the texts by number.
    pub(super) fn into_parts(self) -> (Vec<Function>, Vec<String>) {
        let mut texts: Vec<(String, i64)> = self.texts.into_iter().collect();
        texts.sort_unstable_by_key(|(_, number)| *number);
        let texts = texts.into_iter().map(|(text, _)| text).collect();
        (self.functions, texts)
    }
}

/// A text with unsafe characters escaped, however long it is.
fn whole(text: &str) -> Cow<'_, str> {
    sanitize::short(text, usize::MAX)
}
