//! The tools that an agent sees: their names, descriptions and parameters.

use rmcp::handler::server::wrapper::Parameters;
use rmcp::{ServerHandler, tool, tool_handler, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

use super::answers;
use super::profile_source::{self, ProfileSource};
use super::why;

/// Answers questions about one profile.
#[derive(Clone, Debug)]
pub(super) struct Tools {
    source: ProfileSource,
}

/// Parameters of `summary`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SummaryParameters {
    /// The most functions to list; 0 for all. Kernels and API calls have a third of it.
    #[serde(default = "summary_rows")]
    limit: usize,
    /// Every row, column and line.
    #[serde(default)]
    full: bool,
}

fn summary_rows() -> usize {
    30
}

/// Parameters of `function`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FunctionParameters {
    /// The function's name, or a part of it that no other function has.
    name: String,
}

/// Parameters of `kernels`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Kernels {
    /// The function that launched them, or a part of its name; without it, the whole program.
    function: Option<String>,
    /// The most kernels to list; 0 for all.
    #[serde(default = "kernel_rows")]
    limit: usize,
}

fn kernel_rows() -> usize {
    20
}

/// Parameters of `findings`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Findings {
    /// The function they are about, or a part of its name; without it, the whole program.
    function: Option<String>,
}

/// Parameters of `why`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Why {
    /// The name of a function or kernel, or a part of it that no other has.
    name: String,
}

/// Parameters of `diff`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Diff {
    /// Runs of the old version: JSON profiles, folders of them, or patterns such as old/*.json.
    old: Vec<String>,
    /// Runs of the new version; without them, the profile that the other tools look at.
    #[serde(default)]
    new: Vec<String>,
    /// The most rows without a change; the others are counted.
    #[serde(default = "summary_rows")]
    limit: usize,
}

#[tool_router]
impl Tools {
    pub(super) fn new(source: ProfileSource) -> Self {
        Self { source }
    }

    /// The report: what to look at first, GPU and CPU time of each function, kernels, copies, and
    /// what the measurement does not cover. Begin here.
    #[tool(annotations(title = "Report", read_only_hint = true, open_world_hint = false))]
    async fn summary(
        &self,
        Parameters(asked): Parameters<SummaryParameters>,
    ) -> Result<String, String> {
        self.answer(move |source| {
            let profile = source.profile()?;
            Ok(answers::summary(&profile, asked.limit, asked.full))
        })
        .await
    }

    /// All that was measured of one function, as JSON: calls, CPU and GPU times, stated work,
    /// memory, copies, API calls, labels, the call paths that lead to it, the functions that it
    /// calls, and its findings. Times are nanoseconds. `kernels` has its kernels.
    #[tool(annotations(title = "Function", read_only_hint = true, open_world_hint = false))]
    async fn function(
        &self,
        Parameters(asked): Parameters<FunctionParameters>,
    ) -> Result<String, String> {
        self.answer(move |source| answers::function(&source.profile()?, &asked.name))
            .await
    }

    /// Kernels as JSON, longest total time first: of the program, or those that one function
    /// launched itself, outside the functions that it calls. Runs, times in nanoseconds, grid,
    /// registers, shared memory, and hardware counters if they were sampled. They are known if the
    /// program ran with GPUPROF_CUPTI=on.
    #[tool(annotations(title = "Kernels", read_only_hint = true, open_world_hint = false))]
    async fn kernels(&self, Parameters(asked): Parameters<Kernels>) -> Result<String, String> {
        self.answer(move |source| {
            let profile = source.profile()?;
            answers::kernels(&profile, asked.function.as_deref(), asked.limit)
        })
        .await
    }

    /// What to improve, as JSON, largest gain first: the evidence, what to try, and the most wall
    /// time in nanoseconds that it can save. An empty list means that no rule found anything.
    #[tool(annotations(title = "Findings", read_only_hint = true, open_world_hint = false))]
    async fn findings(&self, Parameters(asked): Parameters<Findings>) -> Result<String, String> {
        self.answer(move |source| answers::findings(&source.profile()?, asked.function.as_deref()))
            .await
    }

    /// Why a function or kernel is slow, as JSON: its time and share of the GPU's time, what limits
    /// it by hardware counters (`bound`), how close it came to the peak of each unit (1 is the
    /// peak), from how many samples, for what its warps waited and at which source lines
    /// (`stalls`; shares are of the samples in the kernel), lines that use double precision,
    /// findings that name it, and what to switch on if this was not measured (`know_more`). Units:
    /// `issue` is instructions, `ALU` integers and logic, `XU` conversions and special functions.
    /// `latency`: no unit reaches 0.6, the threads wait; with the achieved occupancy, or else the
    /// theoretical one of the launch.
    #[tool(annotations(title = "Why slow", read_only_hint = true, open_world_hint = false))]
    async fn why(&self, Parameters(asked): Parameters<Why>) -> Result<String, String> {
        self.answer(move |source| why::why(&source.profile()?, &asked.name))
            .await
    }

    /// Compares two versions of the program by their runs: which functions and kernels became
    /// faster or slower, with confidence intervals. Five runs of each decide what one cannot.
    #[tool(annotations(
        title = "ProfileComparison",
        read_only_hint = true,
        open_world_hint = false
    ))]
    async fn diff(&self, Parameters(asked): Parameters<Diff>) -> Result<String, String> {
        self.answer(move |source| {
            let old = profile_source::runs(&asked.old)?;
            let new = match asked.new.as_slice() {
                [] => vec![source.profile()?],
                paths => profile_source::runs(paths)?,
            };
            answers::diff(&old, &new, asked.limit)
        })
        .await
    }
}

impl Tools {
    /// Makes an answer on another thread: reading a profile takes a while, and a running program
    /// may take its time.
    async fn answer(
        &self,
        make: impl FnOnce(&ProfileSource) -> Result<String, String> + Send + 'static,
    ) -> Result<String, String> {
        let source = self.source.clone();
        let made = tokio::task::spawn_blocking(move || make(&source)).await;
        made.unwrap_or_else(|_| Err("this answer could not be made: a fault of gpuprof".into()))
    }
}

#[tool_handler(
    name = "gpuprof",
    instructions = "Profile of a Rust program that launches CUDA kernels, by gpuprof. Begin with \
                    `summary`; then ask for `findings`, for a `function` and its `kernels`, and \
                    `why` one is slow, and compare runs with `diff`. Nothing is changed by asking."
)]
impl ServerHandler for Tools {}
