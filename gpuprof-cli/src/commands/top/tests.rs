//! Screens of 80×24 and 200×50 against those in `screens/`. `WRITE_SCREENS=1` writes them.

use std::path::Path;
use std::{env, fs};

use gpuprof_report::live::{Head, from_json, write_frame};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::screen::{ScreenState, View, draw};
use super::top_model::{TopModel, TopSort};
use crate::live::answering;

/// Answers of a program of two devices and three threads, a second or two apart.
const ANSWERS: [&str; 3] = [
    r#"{"reset": true, "wall_ns": 10000000000, "offered_ns": 10000000000, "live_ns": 4000000,
        "next_ms": 1000,
            "functions": [
                {"id": 0, "name": "digits::train::step", "calls": 1000, "cpu_ns": 90000000,
                 "gpu_ns": 4100000000, "gpu_self_ns": 100000000, "busy_ns": 3900000000},
                {"id": 1, "name": "digits::model::Net::forward_and_keep_activations",
                 "calls": 64000, "cpu_ns": 70000000, "gpu_ns": 2050000000,
                 "gpu_self_ns": 2050000000, "busy_ns": 2000000000},
                {"id": 2, "name": "digits::data::load", "calls": 10, "cpu_ns": 900000000}],
            "threads": [
                {"tid": 100, "name": "digits", "calls": 65000, "cpu_ns": 160000000},
                {"tid": 101, "name": "loader", "calls": 10, "cpu_ns": 900000000,
                 "running": "digits::data::load", "running_ns": 40000000},
                {"tid": 102, "name": "old", "calls": 1, "cpu_ns": 5}],
            "devices": [
                {"device": 0, "name": "NVIDIA H200 (simulated device)", "timed_calls": 65000,
                 "gpu_ns": 2150000000, "busy_ns": 4000000000},
                {"device": 1, "name": "NVIDIA H200 (simulated device)", "timed_calls": 0}]}"#,
    r#"{"wall_ns": 11000000000, "offered_ns": 11000000000, "live_ns": 5000000,
        "next_ms": 1000,
            "functions": [
                {"id": 0, "name": "digits::train::step", "calls": 1100, "cpu_ns": 99000000,
                 "gpu_ns": 4510000000, "gpu_self_ns": 110000000, "busy_ns": 4290000000,
                 "open_calls": 1, "open_ns": 2000000},
                {"id": 1, "name": "digits::model::Net::forward_and_keep_activations",
                 "calls": 70400, "cpu_ns": 77000000, "gpu_ns": 2255000000,
                 "gpu_self_ns": 2255000000, "busy_ns": 2200000000}],
            "threads": [
                {"tid": 100, "name": "digits", "calls": 71500, "cpu_ns": 176000000,
                 "running": "digits::train::step", "running_ns": 2000000}],
            "ended_threads": [102],
            "devices": [
                {"device": 0, "name": "NVIDIA H200 (simulated device)", "timed_calls": 71500,
                 "gpu_ns": 2365000000, "busy_ns": 4400000000}]}"#,
    r#"{"wall_ns": 13000000000, "offered_ns": 13000000000, "live_ns": 6000000,
        "next_ms": 2000,
            "functions": [
                {"id": 0, "name": "digits::train::step", "calls": 1200, "cpu_ns": 108000000,
                 "gpu_ns": 4920000000, "gpu_self_ns": 120000000, "busy_ns": 4680000000,
                 "open_calls": 1, "open_ns": 3000000}],
            "devices": [
                {"device": 0, "name": "NVIDIA H200 (simulated device)", "timed_calls": 71600,
                 "gpu_ns": 2375000000, "busy_ns": 4600000000}]}"#,
];

fn model() -> TopModel {
    let mut model = TopModel::default();
    (model.pid, model.program) = (4_711, "digits".to_owned());
    for answer in ANSWERS {
        model.apply(from_json(answer.as_bytes()).expect("changes"));
    }
    model
}

fn screen((columns, lines): (u16, u16), view: View, ended: Option<&str>) -> String {
    let mut choice = ScreenState {
        view,
        sort: TopSort::Gpu,
        offset: 0,
        is_paused: false,
    };
    let mut terminal = Terminal::new(TestBackend::new(columns, lines)).expect("memory");
    let drawn = terminal.draw(|frame| draw(frame, &model(), &mut choice, ended));
    let buffer = drawn.expect("memory").buffer.clone();
    let lines = (0..lines).map(|y| {
        let cells = (0..columns).map(|x| buffer[(x, y)].symbol());
        cells.collect::<String>().trim_end().to_owned() + "\n"
    });
    lines.collect()
}

fn compare(name: &str, found: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/commands/top/screens");
    let path = folder.join(name);
    if env::var_os("WRITE_SCREENS").is_some() {
        fs::create_dir_all(&folder).expect("the folder");
        fs::write(&path, found).expect("the file");
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(found, expected, "{name}; WRITE_SCREENS=1 writes it");
}

#[test]
fn each_view_fits_80_and_200_columns() {
    for (view, name) in [
        (View::Functions, "functions"),
        (View::Threads, "threads"),
        (View::Devices, "devices"),
    ] {
        for (columns, lines) in [(80, 24), (200, 50)] {
            let found = screen((columns, lines), view, None);
            compare(&format!("{name}-{columns}x{lines}.txt"), &found);
        }
    }
}

#[test]
fn rates_are_those_of_the_last_refresh() {
    let model = model();
    // 100 calls and 0.41 s of GPU time in 2 s.
    let step = &model.functions[&0];
    assert_eq!((step.rates.calls_per_s, step.rates.gpu), (50.0, 0.205));
    assert_eq!(Vec::from(step.history.clone()), [100.0, 50.0]);
    // It did not change in the last refresh.
    let forward = &model.functions[&1];
    assert_eq!(forward.rates.calls_per_s, 0.0);
    assert_eq!(Vec::from(forward.history.clone()), [6_400.0, 0.0]);
    assert_eq!(model.devices[&0].rates.gpu, 0.1);
    // Its row is three seconds old.
    let loader = &model.threads[&101];
    assert_eq!(model.running_ns(loader), 3_040_000_000);
    assert!(!model.threads.contains_key(&102));
    let longest = model.running();
    assert_eq!(longest.first().map(|(_, row)| row.tid), Some(101));
}

#[test]
fn a_small_or_empty_screen_is_no_panic() {
    for size in [(0, 0), (1, 1), (3, 40), (79, 2), (500, 3)] {
        for view in [View::Functions, View::Threads, View::Devices] {
            let _ = screen(size, view, Some("the program has ended"));
        }
    }
    let first = screen((80, 24), View::Functions, Some("the program has ended"));
    assert!(
        first.starts_with("[the program has ended] digits 4711"),
        "{first}"
    );
}

#[test]
fn each_order_has_its_key() {
    let names = |sort| -> Vec<u32> {
        let model = model();
        let rows = model.functions(sort);
        rows.iter().map(|one| one.row.id).collect()
    };
    assert_eq!(names(TopSort::Gpu), [0, 1, 2]);
    assert_eq!(names(TopSort::Cpu), [2, 0, 1]);
    assert_eq!(names(TopSort::Calls), [1, 0, 2]);
    assert_eq!(names(TopSort::Rate), [0, 2, 1]);
    assert_eq!(names(TopSort::Name), [2, 1, 0]);
}

#[test]
fn no_answer_of_a_hostile_program_is_a_panic() {
    let mut random = fastrand::Rng::with_seed(19);
    let mut shown = 0;
    for _ in 0..400 {
        let mut answers = Vec::new();
        write_frame(&mut answers, Head::new("train", 7).to_json().as_bytes()).expect("memory");
        let mut answers = vec![answers];
        for text in ANSWERS {
            let mut answer = Vec::new();
            let text = hostile(text, &mut random);
            write_frame(&mut answer, Head::new("train", 7).to_json().as_bytes()).expect("memory");
            write_frame(&mut answer, &text).expect("memory");
            if random.u8(..8) == 0 {
                let at = random.usize(..answer.len());
                answer[at] = random.u8(..);
            }
            if random.u8(..8) == 0 {
                answer.truncate(random.usize(..answer.len()));
                // The program ends the connection after the last one.
                answers.push(answer);
                break;
            }
            answers.push(answer);
        }
        let mut connection = answering(answers).expect("its first answer is good");
        let mut model = TopModel::new(&connection);
        while let Ok(changes) = connection.changes() {
            model.apply(changes);
            shown += 1;
            let text = super::tables::to_text(&model, TopSort::Rate);
            assert!(!text.contains('\u{1b}'), "{text}");
            let mut terminal = Terminal::new(TestBackend::new(80, 24)).expect("memory");
            let mut choice = ScreenState {
                view: View::Threads,
                sort: TopSort::Cpu,
                offset: usize::MAX,
                is_paused: true,
            };
            terminal
                .draw(|frame| draw(frame, &model, &mut choice, None))
                .expect("memory");
            // One line up is seen at once, however often the user pressed down.
            assert!(choice.offset <= model.threads.len());
        }
    }
    // Not all of them are refused.
    assert!(shown > 100, "{shown}");
}

/// The text with other numbers, names and bytes.
fn hostile(text: &str, random: &mut fastrand::Rng) -> Vec<u8> {
    let mut text = text.to_owned();
    for _ in 0..random.usize(..4) {
        let (from, to) = [
            ("1000000000", "18446744073709551615"),
            (
                "\"calls\": 1",
                "\"calls\": 0, \"open_calls\": 18446744073709551615, \"x\": 1",
            ),
            ("digits", "\\u001b[31m\\u202e"),
            ("\"id\": 0", "\"id\": 4294967295"),
            ("ns\": 2", "ns\": -2"),
            ("true", "false"),
            ("[", "[["),
        ][random.usize(..7)];
        text = text.replace(from, to);
    }
    let mut bytes = text.into_bytes();
    if random.u8(..4) == 0 {
        let at = random.usize(..bytes.len());
        bytes[at] = random.u8(..);
    }
    bytes
}
