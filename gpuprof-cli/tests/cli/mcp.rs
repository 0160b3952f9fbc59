//! `gpuprof mcp`: what an agent is told of a profile and a running program, and that nothing else
//! comes out.

mod agent;
mod waits;
mod why;
mod wrong_lines;

use std::fs;
use std::path::Path;

use gpuprof_report::compare::{self, ComparisonOptions, compare};
use gpuprof_report::json;
use gpuprof_report::profile::Profile;
use gpuprof_report::table::{self, TableOptions};
use serde_json::{Value, json};

use super::{SMALL, ended, gpuprof, live_program, recorded};
use agent::Agent;

fn digits() -> (String, Profile) {
    let path = recorded("04_train_digits");
    let text = fs::read_to_string(&path).expect("a recorded profile");
    let profile = json::from_str(&text).expect("a profile");
    (path.to_str().expect("UTF-8").to_owned(), profile)
}

/// A file in a folder of its own.
fn file(text: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("profile.json");
    fs::write(&path, text).expect("a file");
    let path = path.to_str().expect("UTF-8").to_owned();
    (folder, path)
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn an_agent_sees_six_tools_that_only_read() {
    let mut agent = Agent::of("profile.json");
    let tools = agent.ask("tools/list", json!({}));
    let tools = tools["tools"].as_array().expect("tools").clone();
    let mut parameters = Vec::new();
    for tool in &tools {
        assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool}");
        assert!(
            tool["description"]
                .as_str()
                .is_some_and(|text| text.len() > 80)
        );
        let names = tool["inputSchema"]["properties"].as_object();
        let names: Vec<&str> = names
            .into_iter()
            .flatten()
            .map(|(name, _)| &**name)
            .collect();
        let required = tool["inputSchema"]["required"].clone();
        parameters.push((tool["name"].as_str().expect("a name"), names, required));
    }
    assert_eq!(
        parameters,
        [
            ("diff", vec!["limit", "new", "old"], json!(["old"])),
            ("findings", vec!["function"], Value::Null),
            ("function", vec!["name"], json!(["name"])),
            ("kernels", vec!["function", "limit"], Value::Null),
            ("summary", vec!["full", "limit"], Value::Null),
            ("why", vec!["name"], json!(["name"])),
        ]
    );
    agent.end();
}

#[test]
fn the_summary_is_the_report() {
    let (path, profile) = digits();
    let mut agent = Agent::of(&path);
    for (asked, limit, full) in [
        (json!({}), 30, false),
        (json!({"limit": 3}), 3, false),
        (json!({"full": true}), 30, true),
    ] {
        let mut options = TableOptions::default();
        options.limit = std::num::NonZeroUsize::new(limit);
        options.full = full;
        options.full_report = Some("full = true");
        let mut report = Vec::new();
        table::write(&profile, &options, &mut report).expect("memory");
        let report = String::from_utf8(report).expect("UTF-8");
        assert_eq!(agent.call("summary", asked), Ok(report));
    }
    agent.end();
}

#[test]
fn a_function_has_its_paths_and_no_histogram() {
    let (_folder, path) = file(SMALL);
    let mut agent = Agent::of(&path);
    let answer = agent
        .call("function", json!({"name": "step"}))
        .expect("a function");
    let answer = parsed(&answer);
    for (field, expected) in [
        ("name", json!("model::step")),
        ("file", json!("src/model.rs")),
        ("line", json!(7)),
        ("calls", json!(3)),
        ("findings", json!([])),
        ("nested_functions", json!([])),
        ("more_paths", json!(0)),
        (
            "paths",
            json!([{
                "path": ["train", "model::step"], "label": null, "calls": 3,
                "cpu_total_ns": 9300, "cpu_self_ns": 9300,
                "gpu_total_ns": 3600000, "gpu_self_ns": 3600000,
            }]),
        ),
    ] {
        assert_eq!(answer[field], expected, "{field}");
    }
    assert_eq!(answer["gpu"]["total_ns"], 3_600_000);
    assert_eq!(answer["cpu"]["mean_ns"], 3100);
    assert!(!answer.to_string().contains("histogram"));
    // An exact name is meant, even if others contain it.
    let outer = agent
        .call("function", json!({"name": "train"}))
        .expect("a function");
    assert_eq!(parsed(&outer)["nested_functions"], json!(["model::step"]));
    agent.end();
}

#[test]
fn a_name_that_says_no_function_or_several_lists_them() {
    let (path, _) = digits();
    let mut agent = Agent::of(&path);
    let mut function = |name: &str| agent.call("function", json!({"name": name}));
    let none = function("relu_bckward").expect_err("there is none");
    let expected = "relu_bckward: no function has this name; did you mean \
                    gpu::Gpu::relu_backward? There are: train, step, ";
    assert!(none.starts_with(expected), "{none}");
    let several = function("gpu::Gpu::").expect_err("there are eight");
    let expected = "gpu::Gpu::: 8 functions have this in their name: gpu::Gpu::product, ";
    assert!(several.starts_with(expected), "{several}");
    let one = function("gpu::Gpu::su").expect("there is one");
    assert_eq!(parsed(&one)["name"], "gpu::Gpu::sum");
    agent.end();
}

#[test]
fn kernels_are_those_of_the_program_or_of_a_function() {
    let (path, profile) = digits();
    let mut agent = Agent::of(&path);
    let mut names = |asked: Value| {
        let answer = parsed(&agent.call("kernels", asked).expect("kernels"));
        let kernels = answer["kernels"].as_array().expect("a list").clone();
        let name = |kernel: &Value| kernel["name"].as_str().expect("a name").to_owned();
        let names: Vec<String> = kernels.iter().map(name).collect();
        (
            names,
            answer["more_kernels"].as_u64().expect("a count") as usize,
        )
    };
    let all: Vec<String> = profile
        .kernels
        .iter()
        .map(|kernel| kernel.name.clone())
        .collect();
    assert_eq!(names(json!({})), (all.clone(), 0));
    assert_eq!(
        names(json!({"limit": 2})),
        (all[..2].to_vec(), all.len() - 2)
    );
    let product = vec!["matmul_tiled".to_owned()];
    assert_eq!(
        names(json!({"function": "gpu::Gpu::product"})),
        (product, 0)
    );
    agent.end();

    let (_folder, path) = file(SMALL);
    let mut agent = Agent::of(&path);
    assert_eq!(
        agent.call("kernels", json!({})),
        Err("kernels are not in this profile: run the program with GPUPROF_CUPTI=on".to_owned())
    );
    agent.end();
}

#[test]
fn findings_are_those_of_the_profile_or_of_a_function() {
    let (path, profile) = digits();
    let mut agent = Agent::of(&path);
    let all = parsed(&agent.call("findings", json!({})).expect("findings"));
    let expected = serde_json::to_value(&profile.findings).expect("JSON");
    assert_eq!(all["findings"], expected);
    assert_eq!(all["wall_ns"], profile.wall_ns);
    assert_eq!(
        all["commands"].as_array().map(Vec::len),
        Some(profile.commands.len())
    );
    let asked = json!({"function": "transpose"});
    let one = parsed(&agent.call("findings", asked).expect("findings"));
    let rules: Vec<_> = one["findings"].as_array().into_iter().flatten().collect();
    assert_eq!(rules.len(), 1);
    assert_eq!(rules[0]["function"], "gpu::Gpu::transpose");
    agent.end();
}

#[test]
fn a_comparison_is_that_of_gpuprof_diff() {
    let (path, profile) = digits();
    let mut faster = profile.clone();
    for function in &mut faster.functions {
        function.cpu.total_ns /= 2;
    }
    let (_folder, other) = file(&json::to_string(&faster));
    let mut agent = Agent::of(&path);
    let expected = |old: &Profile, new: &Profile| {
        let comparison = compare(
            std::slice::from_ref(old),
            std::slice::from_ref(new),
            &ComparisonOptions::default(),
        );
        Ok(compare::to_text(&comparison, 30, false))
    };
    let against = json!({"old": [&other]});
    assert_eq!(agent.call("diff", against), expected(&faster, &profile));
    let both = json!({"old": [&path], "new": [&other]});
    assert_eq!(agent.call("diff", both), expected(&profile, &faster));
    assert_eq!(
        agent.call("diff", json!({"old": []})),
        Err("old: name at least one run to compare with".to_owned())
    );
    agent.end();
}

#[test]
fn nothing_of_a_file_that_is_no_profile_comes_out() {
    let (_folder, secret) = file(r#"{"schema": "gpuprof.profile/1", "program": ["s3cret"]}"#);
    let (_other, path) = file(SMALL);
    let mut agent = Agent::of(&path);
    let folder = Path::new(&secret).parent().expect("a folder");
    let folder = folder.to_str().expect("UTF-8");
    for (asked, shown) in [
        (&*secret, &*secret),
        (folder, folder),
        (&format!("{folder}/*.json"), &format!("{folder}/*.json")),
        ("/", "/"),
        ("/no/where.json", "/no/where.json"),
        ("/no/*.json", "/no/*.json"),
        // The agent's own words, and what never ends, are not read as files.
        ("-", "standard input"),
        ("/dev/stdin", "/dev/stdin"),
        ("/dev/zero", "/dev/zero"),
    ] {
        assert_eq!(
            agent.call("diff", json!({"old": [asked]})),
            Err(format!("{shown}: no profile is there"))
        );
    }
    agent.end();
}

#[test]
fn each_answer_is_of_the_profile_as_it_is_then() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("profile.json");
    let name = path.to_str().expect("UTF-8").to_owned();
    let mut agent = Agent::of(&name);
    assert_eq!(
        agent.call("summary", json!({})),
        Err(format!(
            "{name}: no such file; run the program with GPUPROF_REPORT=json={name} to make it"
        ))
    );
    let calls = |agent: &mut Agent| {
        let answer = agent.call("function", json!({"name": "model::step"}));
        parsed(&answer.expect("a function"))["calls"].clone()
    };
    fs::write(&path, SMALL).expect("a file");
    assert_eq!(calls(&mut agent), 3);
    fs::write(&path, SMALL.replace("\"calls\": 3,", "\"calls\": 4,")).expect("a file");
    assert_eq!(calls(&mut agent), 4);
    fs::write(&path, "{").expect("a file");
    let problem = agent.call("summary", json!({})).expect_err("it is cut");
    assert!(problem.starts_with(&name), "{problem}");
    fs::write(&path, r#"{"schema": "gpuprof.profile/1"}"#).expect("a file");
    for (tool, asked) in [
        ("summary", json!({})),
        ("function", json!({"name": "step"})),
    ] {
        let (Ok(answer) | Err(answer)) = agent.call(tool, asked);
        assert_eq!(answer, "no profiled function has run", "{tool}");
    }
    agent.end();
}

#[test]
fn a_running_program_is_asked_for_each_answer() {
    let folder = tempfile::tempdir().expect("a folder");
    live_program::serve(folder.path(), 41, SMALL);
    let mut agent = Agent::with_runtime_folder("41", folder.path());
    for _ in 0..2 {
        let answer = agent.call("function", json!({"name": "model::step"}));
        assert_eq!(parsed(&answer.expect("a function"))["calls"], 3);
    }
    agent.end();
    let mut agent = Agent::with_runtime_folder("42", folder.path());
    let problem = agent
        .call("summary", json!({}))
        .expect_err("nobody is there");
    assert!(
        problem.starts_with("42: this process offers no live view; start it with"),
        "{problem}"
    );
    agent.end();
}

#[test]
fn wrong_questions_are_refused_and_the_next_is_answered() {
    let (_folder, path) = file(SMALL);
    let mut agent = Agent::of(&path);
    agent.say("");
    for (tool, asked, problem) in [
        ("summary", json!({"limt": 3}), "unknown field `limt`"),
        ("summary", json!({"limit": -1}), "-1"),
        ("function", json!({}), "missing field `name`"),
        ("kernels", json!({"function": 3}), "expected a string"),
    ] {
        let refused = agent.call(tool, asked).expect_err("it is wrong");
        assert!(refused.contains(problem), "{refused}");
    }
    let refused = agent.ask_refused("tools/call", json!({"name": "write", "arguments": {}}));
    assert_eq!(refused["message"], "tool not found");
    assert!(agent.call("summary", json!({})).is_ok());
    agent.end();
}

#[test]
fn nothing_is_written() {
    let (folder, path) = file(SMALL);
    let before = fs::metadata(&path)
        .and_then(|file| file.modified())
        .expect("a file");
    let mut agent = Agent::of(&path);
    for tool in ["summary", "findings"] {
        agent.call(tool, json!({})).expect("an answer");
    }
    agent.end();
    let after = fs::metadata(&path)
        .and_then(|file| file.modified())
        .expect("a file");
    assert_eq!(before, after);
    let entries = |path: &Path| fs::read_dir(path).expect("a folder").count();
    assert_eq!(entries(folder.path()), 1);
}

#[test]
fn an_agent_that_goes_away_without_a_word_is_no_failure() {
    let ended = ended(gpuprof(&["mcp", "profile.json"]));
    assert_eq!(
        (ended.code, &*ended.stdout, &*ended.stderr),
        (Some(0), "", "")
    );
}
