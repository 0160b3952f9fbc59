//! The statics of the runtime. Its state is in the collector, which is one of them; each of the
//! others is here with the reason why it is not a field of the collector.

use std::collections::BTreeMap;
use std::path::Path;

use proc_macro2::{TokenStream, TokenTree};

use super::layers::RUNTIME;
use super::parse_modules::{self, is_punct};

const COLLECTOR: &str = "collector/mod.rs COLLECTOR";

/// The reason of statics within `thread_local!`.
const THREAD_LOCAL: &str = "each thread has its own";

/// The statics by their reasons: a file of the runtime and its statics in each line.
const STATICS: [(&str, &[&str]); 7] = [
    ("it is the collector", &[COLLECTOR]),
    (
        THREAD_LOCAL,
        &[
            "cupti/collect/api_callbacks.rs OPEN_API_CALLS",
            "cupti/collect/cuda_call_rings.rs SENDER",
            "cupti/collect/graph_nodes.rs LATEST_CREATOR UPDATE",
            "cupti/collect/launch_stacks.rs SAMPLING",
            "cupti/collect/call_gate.rs HERE",
            "os/mod.rs THREAD_ID",
            "os/own_work.rs IS_HERE",
            "os/random.rs TEST_SEED",
            "session/exit.rs MAIN_THREAD_END",
            "span/instrumented.rs HANDED_OVER",
            "span/thread_state.rs EXIT_GUARD THREAD",
            "stats/profiled_call.rs INNERMOST",
            "nvtx_ranges/pushed_ranges.rs HAS_PUSHED PUSHED",
            "tracing_layer/callsites.rs LATEST",
            "tracing_layer/entered_spans.rs ENTERED",
            "tracing_layer/latest_spans.rs LATEST",
        ],
    ),
    (
        "a signal handler, fork handler, callback of a C library or other copy of gpuprof reads or \
         changes it, and must \
         not wait until a collector is made",
        &[
            "cupti/collect/buffers.rs POOL",
            "cupti/collect/cuda_call_rings.rs NEW_RINGS",
            "cupti/collect/handover.rs OFFER",
            "cupti/collect/launch_stacks.rs IS_ON",
            "cupti/collect/lifecycle.rs ONCE RESUMED_AT RUNNING SHUTTING_DOWN STARTS SUBSCRIPTION \
             UNAVAILABLE",
            "cupti/collect/bounded_queue.rs CALLBACK_EVENTS",
            "cupti/collect/call_gate.rs GATE INSIDE IS_CLOSED IS_COUNTING",
            "cupti/collect/python/locations.rs LOCATIONS",
            "cupti/collect/python/mod.rs PYTHON",
            "cupti/collect/stack_table.rs STACKS",
            "cupti/collect/used_contexts.rs CONTEXTS IS_WATCHED KNOWN",
            "nvtx_ranges/names.rs OTHER_RANGES",
            "nvtx_ranges/started_ranges.rs NEXT STARTED",
            "session/elf_note.rs OWN_COPY",
            "os/fork.rs IS_CHILD",
            "os/noted_descriptor.rs PLACES",
            "os/thread_scheduling.rs ON_LOAD PROCESSORS",
            "session/exit.rs OWNER STATE",
            "session/signals.rs ARRIVAL OWNER RECEIVED",
            "site/dynamic_sites.rs SITES",
        ],
    ),
    (
        "it is on the hot path: a call of a profiled function may read or change it",
        &[
            "clock.rs IS_COUNTER LONG_TICKS ROUGH_SCALE SCALE SOURCE",
            "collector/default_stream.rs IS_SET",
            "driver/table.rs DRIVER",
            "os/own_work.rs SKIPPED",
            "stats/memory_limit.rs COUNTER_MEMORY",
            "stats/profiled_call.rs NEXT_ID",
            "stats/window_epoch.rs CURRENT",
        ],
    ),
    (
        "it is set up once in a process, below the collector or before there is one",
        &[
            "driver/table.rs REPLACED",
            "nvtx.rs DOMAIN",
            "os/fork.rs ONCE",
            "os/random.rs NUMBER PROCESS_SEED",
            "session/api.rs ONCE",
            "span/overhead.rs ONCE SPAN_TICKS",
            "tracing_layer/callsites.rs CALLSITES",
        ],
    ),
    (
        "it is a table that never changes, or the site of a function",
        &[
            "cupti/collect/callback_ids.rs DRIVER_PURPOSES RUNTIME_PURPOSES",
            "span/overhead.rs SITE",
        ],
    ),
    (
        "a process has one listener of each kind, which answers for all windows and is stopped at \
         exit",
        &[
            "session/live/answers.rs BEGAN",
            "session/live/rate_limit.rs ANSWERS",
            "session/live/recording.rs RECORDING",
            "session/live/socket.rs FILE",
            "session/metrics/files.rs FILES",
            "session/metrics/scrape.rs PLACE SCRAPES",
            "session/serving/process_end.rs HAS_ENDED",
        ],
    ),
];

/// Folders that are built for tests alone.
const TESTS: [&str; 3] = ["tests", "loom_tests", "sampling_checks"];

struct Static {
    is_thread_local: bool,
    /// Its type makes the value at the first use.
    is_lazy: bool,
}

/// One line for each static that the table lacks, that is made at its first use, or that is listed
/// for another reason than its own, and for each listed one that does not exist.
pub(crate) fn unlisted(repository: &Path) -> Vec<String> {
    let listed = listed();
    let found = of_runtime(repository);
    let mut problems = Vec::new();
    for (name, of_file) in &found {
        match listed.get(name) {
            None => problems.push(format!(
                "{name}: make it a field of the collector, or list it with its reason"
            )),
            Some(reason) if of_file.is_thread_local != (*reason == THREAD_LOCAL) => {
                problems.push(format!("{name} is listed because {reason}"));
            }
            Some(_) => {}
        }
        if of_file.is_lazy && name != COLLECTOR {
            problems.push(format!("{name} is not const-initialized"));
        }
    }
    let gone = listed.keys().filter(|name| !found.contains_key(*name));
    problems.extend(gone.map(|name| format!("{name} is listed and does not exist")));
    problems
}

/// The reason of each listed static, by its file and name.
fn listed() -> BTreeMap<String, &'static str> {
    let mut listed = BTreeMap::new();
    for (reason, lines) in STATICS {
        for line in lines {
            let (file, names) = line.split_once(' ').expect("a file and its statics");
            listed.extend(
                names
                    .split(' ')
                    .map(|name| (format!("{file} {name}"), reason)),
            );
        }
    }
    listed
}

/// The statics of the runtime outside of tests, by file and name.
fn of_runtime(repository: &Path) -> BTreeMap<String, Static> {
    let root = repository.join(RUNTIME);
    let mut found = BTreeMap::new();
    for path in parse_modules::rust_files(&root) {
        let inside = path.strip_prefix(&root).expect("a file of the folder");
        let is_test = |part: &Path| TESTS.iter().any(|tests| part.ends_with(tests));
        if inside.with_extension("").ancestors().any(is_test) {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a readable file");
        let of_file = statics(text.parse().expect("tokens"), false).into_iter();
        let file = inside.display();
        found.extend(of_file.map(|(name, of_file)| (format!("{file} {name}"), of_file)));
    }
    found
}

/// The statics outside of tests.
fn statics(tokens: TokenStream, is_thread_local: bool) -> Vec<(String, Static)> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let before = |count| at.wrapping_sub(count);
        match token {
            TokenTree::Group(group) => {
                let is_tests =
                    is_word(&tokens, before(2), "mod") && is_word(&tokens, before(1), "tests");
                let is_macro = is_word(&tokens, before(2), "thread_local")
                    && is_punct(&tokens, before(1), '!');
                if !is_tests {
                    found.extend(statics(group.stream(), is_thread_local || is_macro));
                }
            }
            // Not the lifetime.
            TokenTree::Ident(word) if word == "static" && !is_punct(&tokens, before(1), '\'') => {
                let name = at + 1 + usize::from(is_word(&tokens, at + 1, "mut"));
                if is_punct(&tokens, name + 1, ':') {
                    let of_file = Static {
                        is_thread_local,
                        is_lazy: is_lazy(&tokens[name..]),
                    };
                    found.push((tokens[name].to_string(), of_file));
                }
            }
            _ => {}
        }
    }
    found
}

/// Whether the type of a static, which begins with its name, makes its value at the first use.
fn is_lazy(definition: &[TokenTree]) -> bool {
    let of_type = (0..definition.len()).take_while(|at| !is_punct(definition, *at, '='));
    let mut of_type = of_type.map(|at| definition[at].to_string());
    of_type.any(|word| word == "LazyLock" || word == "LazyCell")
}

fn is_word(tokens: &[TokenTree], at: usize, wanted: &str) -> bool {
    matches!(tokens.get(at), Some(TokenTree::Ident(word)) if word == wanted)
}
