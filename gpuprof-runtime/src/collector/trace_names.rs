//! The names of a time line, each of which it has once.

use rustc_hash::FxHashMap;

use crate::cupti;
use crate::site::Site;
use crate::stats::path_ids::{CallPath, ROOT};
use gpuprof_report::profile::labelled;

pub(super) struct TraceNames<'a> {
    list: Vec<String>,
    numbers: FxHashMap<String, u32>,
    of_paths: FxHashMap<u32, u32>,
    of_calls: FxHashMap<(bool, u32), u32>,
    of_stacks: FxHashMap<u16, u32>,
    paths: &'a [CallPath],
    sites: &'a [&'static Site],
    lines: &'a cupti::LineCache,
}

impl<'a> TraceNames<'a> {
    pub(super) fn new(
        paths: &'a [CallPath],
        sites: &'a [&'static Site],
        lines: &'a cupti::LineCache,
    ) -> Self {
        Self {
            list: Vec::new(),
            numbers: FxHashMap::default(),
            of_paths: FxHashMap::default(),
            of_calls: FxHashMap::default(),
            of_stacks: FxHashMap::default(),
            paths,
            sites,
            lines,
        }
    }

    pub(super) fn into_list(self) -> Vec<String> {
        self.list
    }

    /// The number of a name.
    pub(super) fn number(&mut self, name: String) -> u32 {
        if let Some(&number) = self.numbers.get(&name) {
            return number;
        }
        let number = self.list.len() as u32;
        self.list.push(name.clone());
        self.numbers.insert(name, number);
        number
    }

    /// The name of the function of a call path, with its label.
    pub(super) fn path(&mut self, path: u32) -> u32 {
        if let Some(&name) = self.of_paths.get(&path) {
            return name;
        }
        let known = self.paths.get(path as usize).filter(|_| path != ROOT);
        let site = known.and_then(|known| self.sites.get(known.site as usize));
        let name = known
            .zip(site)
            .map(|(path, site)| match site.label_of(path.label) {
                Some(label) => labelled(site.name(), &label.to_string()),
                None => site.name().to_owned(),
            });
        let name = self.number(name.unwrap_or_else(|| "(unknown)".to_owned()));
        self.of_paths.insert(path, name);
        name
    }

    /// The name of a CUDA call.
    pub(super) fn api(&mut self, is_runtime: bool, cbid: u32) -> u32 {
        if let Some(&name) = self.of_calls.get(&(is_runtime, cbid)) {
            return name;
        }
        let name = self.number(cupti::call_name(is_runtime, cbid));
        self.of_calls.insert((is_runtime, cbid), name);
        name
    }

    /// The source line of a recorded stack; `None` if none was recorded.
    pub(super) fn launch_line(&mut self, stack: u16) -> Option<u32> {
        if let Some(&name) = self.of_stacks.get(&stack) {
            return Some(name);
        }
        let line = self.lines.recorded_line(stack)?;
        let name = self.number(line);
        self.of_stacks.insert(stack, name);
        Some(name)
    }
}
