//! The page as a file: its size, that names stay names, and that its numbers are the report's. What
//! it does in a browser is tested by `cargo xtask pages`.

mod profiles;

use std::io::{self, Write};

use gpuprof_report::html::{self, HtmlOptions};
use gpuprof_report::profile::{Device, Profile};
use gpuprof_report::trace::{CpuSpan, Gap, Trace};
use profiles::{
    MARKUP, digits, large, long_time_line, options, report, time_line, training, with_markup,
    with_steps,
};
use serde_json::{Value, json};

fn page(profile: &Profile) -> String {
    let mut out = Vec::new();
    html::write(profile, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn page_with(profile: &Profile, trace: &Trace) -> String {
    let mut options = HtmlOptions::default();
    options.time_line = Some(trace);
    let mut out = Vec::new();
    html::write_with(profile, &options, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// The data that the script draws from.
fn data(page: &str) -> Value {
    let (_, after) = page.split_once("id=\"profile\">").unwrap();
    let (json, _) = after.split_once("</script>").unwrap();
    serde_json::from_str(json).unwrap()
}

fn recorded(name: &str) -> Profile {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recorded");
    let text = std::fs::read_to_string(format!("{folder}/{name}.json")).unwrap();
    gpuprof_report::json::from_str(&text).unwrap()
}

/// The cells of one row of a table, by heading.
fn row<'a>(table: &'a Value, name: &Value) -> Vec<(&'a str, &'a Value)> {
    let names = table["names"].as_array().unwrap();
    let at = names.iter().position(|known| known == name).unwrap();
    let columns = table["columns"].as_array().unwrap().iter();
    let cell = |column: &'a Value| {
        let sparse = column["sparse"].get(at.to_string());
        (
            column["heading"].as_str().unwrap(),
            sparse.unwrap_or(&column["values"][at]),
        )
    };
    columns.map(cell).collect()
}

#[test]
fn a_thousand_functions_of_20_buckets_take_less_than_a_megabyte() {
    let profile = large(1_000);
    let step = &profile.functions[7];
    assert_eq!(step.cpu.histogram.len(), 20);
    assert_eq!(step.gpu.as_ref().unwrap().times.histogram.len(), 20);
    let page = page(&profile);
    assert!(page.len() < 1_000_000, "{} bytes", page.len());
    let functions = data(&page)["functions"]["rows"].as_array().unwrap().len();
    assert_eq!(functions, 1_000);
}

#[test]
fn markup_in_names_is_text() {
    let page = page(&with_markup(&digits()));
    // Its data, its script, and no third.
    assert_eq!(page.matches("<script").count(), 2);
    assert_eq!(page.matches("</script").count(), 2);
    assert_eq!(page.matches("</title>").count(), 1);
    assert_eq!(page.matches("</pre>").count(), 1);
    assert!(!page.contains("<img"));
    assert!(!page.contains(['\u{202e}', '\u{2028}']));
    let data = data(&page);
    // As the text report shows it, down to the last character that is none.
    let shown = MARKUP
        .replace('\u{202e}', "\\u{202e}")
        .replace('\u{2028}', "\\u{2028}");
    assert_eq!(data["program"], json!(format!("{shown}digits")));
    let name = data["functions"]["rows"][0][0].as_str().unwrap();
    assert!(name.starts_with(&shown), "{name}");
    // The only other places are the title, the heading and the report for readers without scripts.
    let escaped = "&lt;/script&gt;&lt;/title&gt;&lt;/pre&gt;&lt;img src=x onerror=&quot;window";
    assert!(page.contains(&format!("<title>{escaped}")));
    assert!(page.contains(&format!("<h1>{escaped}")));
}

#[test]
fn nothing_is_loaded_and_no_name_is_parsed_as_markup() {
    let page = page(&digits());
    for wrong in [
        "http:",
        "https:",
        "src=",
        "<link",
        "@import",
        "url(",
        "innerHTML",
        "eval(",
    ] {
        assert!(!page.contains(wrong), "{wrong}");
    }
    let (_, policy) = page
        .split_once("Content-Security-Policy\" content=\"")
        .unwrap();
    let (policy, _) = policy.split_once('"').unwrap();
    let parts: Vec<&str> = policy.split("; ").collect();
    let [nothing, style, script, base, form] = parts.as_slice() else {
        panic!("{policy}");
    };
    assert_eq!(
        [*nothing, *base, *form],
        [
            "default-src 'none'",
            "base-uri 'none'",
            "form-action 'none'"
        ]
    );
    assert!(style.starts_with("style-src 'sha256-"), "{style}");
    assert!(script.starts_with("script-src 'sha256-"), "{script}");
}

#[test]
fn the_same_profile_makes_the_same_bytes() {
    for profile in [digits(), training(), large(300)] {
        assert_eq!(page(&profile), page(&profile.clone()));
    }
}

#[test]
fn rows_and_headings_are_those_of_the_report() {
    let digits = recorded("04_train_digits");
    let data = data(&page(&digits));
    let tables = &data["tables"];
    // Of the call tree a name is the function's row in the other table.
    let names = tables["functions"]["names"].as_array().unwrap();
    let step = names
        .iter()
        .position(|name| *name == json!("step"))
        .unwrap();
    assert_eq!(
        row(&tables["tree"], &json!(step))[..6],
        [
            ("Busy(%)", &json!(0.95958)),
            ("Busy(ms)", &json!(25_871_742)),
            ("Idle(%)", &json!(0.83162)),
            ("Calls", &json!(660)),
            ("Avg(ms)", &json!(39_200)),
            ("CPU(ms)", &json!(143_702_112)),
        ]
    );
    let kernels = row(&tables["activities"], &json!("matmul_tiled"));
    let heading = |at: usize| kernels[at].0;
    assert_eq!(
        [heading(1), heading(4), heading(10)],
        ["Total(ms)", "Med(µs)", "Block"]
    );
    assert_eq!(kernels[10].1, &json!("16×16"));
    assert_eq!(tables["api"]["names"][0], json!("cuLaunchKernel"));
    // Sampled: the mark stands beside the number.
    let spans = tables["tree"]["columns"]
        .as_array()
        .unwrap()
        .last()
        .unwrap();
    assert_eq!(spans["heading"], json!("Span(ms)"));
    let marks = spans["marks"].as_object().unwrap().values();
    assert_eq!(marks.filter(|mark| *mark == "~").count(), 14);
    assert_eq!(data["gpu_time"], json!("GPU busy 27.0 ms (11.3 %)"));
}

#[test]
fn without_scripts_the_page_is_the_report() {
    let profile = digits();
    let page = page(&profile);
    let (_, after) = page.split_once("<noscript>").unwrap();
    let (text, _) = after.split_once("</noscript>").unwrap();
    let text = text
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&#39;", "'");
    let text = text.replace("&quot;", "\"").replace("&amp;", "&");
    let mut options = options(None);
    options.limit = std::num::NonZeroUsize::new(60);
    assert!(text.contains(&report(&profile, &options)), "{text}");
}

#[test]
fn a_simulated_device_is_named_in_the_title() {
    let mut profile = training();
    let mut device = Device::default();
    device.simulated = true;
    profile.devices = vec![device];
    let page = page(&profile);
    assert!(page.contains("<title>train (simulated device) · gpuprof</title>"));
    assert_eq!(data(&page)["simulated"], json!(true));
}

#[test]
fn steps_are_drawn_if_there_are_any() {
    assert_eq!(data(&page(&training()))["steps"], Value::Null);
    let steps = &data(&page(&with_steps(training())))["steps"];
    assert_eq!(steps["count"], json!(1_300));
    assert_eq!(steps["first"], json!(301));
    assert_eq!(steps["series"].as_array().unwrap().len(), 1_000);
    assert_eq!(steps["series"][399], json!(180_000_000));
    assert_eq!(steps["slowest"][0], json!([17, 210_000_000]));
    // A document may say anything.
    let mut profile = with_steps(training());
    let steps = profile.steps.as_mut().unwrap();
    steps.count = 3;
    steps.series_ns = (0..5_000).collect();
    steps.slowest = vec![steps.slowest[0]; 500];
    let steps = &data(&page(&profile))["steps"];
    assert_eq!(steps["first"], json!(4_001));
    assert_eq!(steps["series"][0], json!(4_000));
    assert_eq!(steps["series"].as_array().unwrap().len(), 1_000);
    assert_eq!(steps["slowest"].as_array().unwrap().len(), 10);
}

#[test]
fn a_time_line_is_drawn_if_it_is_given() {
    assert_eq!(data(&page(&digits()))["time_line"], Value::Null);
    let page = page_with(&digits(), &time_line());
    assert_eq!(page.matches("<script").count(), 2);
    let line = &data(&page)["time_line"];
    assert_eq!((&line["events"], &line["shown"]), (&json!(12), &json!(12)));
    assert_eq!(line["length_ns"], json!(28_000_000));
    assert_eq!(line["is_full"], json!(false));
    let text = |at: &Value| line["texts"][at.as_u64().unwrap() as usize].clone();
    let rows = line["rows"].as_array().unwrap();
    let names: Vec<_> = (rows.iter())
        .map(|row| (text(&row["group"]), text(&row["name"])))
        .collect();
    let gpu = json!("GPU 0 · NVIDIA H200");
    assert_eq!(
        names,
        [
            (json!("CPU"), json!("main (101)")),
            (gpu.clone(), json!("stream 7")),
            (gpu, json!("stream 7 · spans")),
        ]
    );
    // Start since the one before, duration, depth and kind.
    let numbers = |event: &Value| event.as_array().unwrap()[..4].to_vec();
    let thread = rows[0]["events"].as_array().unwrap();
    assert_eq!(thread.len(), 6);
    for (event, expected) in thread.iter().zip([
        [0, 5_000_000, 0, 0],
        [1_000_000, 1_000_000, 1, 0],
        [200_000, 10_000, 2, 1],
        [18_800_000, 5_000_000, 0, 0],
    ]) {
        assert_eq!(json!(numbers(event)), json!(expected));
    }
    let details = |event: &Value| {
        let lines = &line["details"][event[5].as_u64().unwrap() as usize];
        lines
            .as_array()
            .unwrap()
            .iter()
            .map(text)
            .collect::<Vec<_>>()
    };
    assert_eq!(details(&thread[3])[0], json!("batch = 1"));
    let [copy, kernel] = [0, 1].map(|at| &rows[1]["events"][at]);
    assert_eq!(
        (text(&copy[4]), &copy[6]),
        (json!("Memcpy HtoD"), &json!(4_000_000))
    );
    let softmax = "void softmax(float const*, float const*, float*, int)";
    assert_eq!((text(&kernel[4]), &kernel[3]), (json!(softmax), &json!(2)));
    assert_eq!(
        details(kernel),
        [
            json!("grid 8×4×1, block 32×8×1"),
            json!("40 registers per thread, 2048 B shared memory per block"),
            json!("launched by digits::epoch"),
        ]
    );
}

#[test]
fn the_newest_events_are_drawn_and_take_less_than_300_kb() {
    let without = page(&digits()).len();
    let trace = long_time_line();
    let page = page_with(&digits(), &trace);
    assert!(
        page.len() - without < 300_000,
        "{} bytes",
        page.len() - without
    );
    let line = &data(&page)["time_line"];
    assert_eq!(
        (&line["events"], &line["shown"]),
        (&json!(12_000), &json!(5_000))
    );
    // The newest 5,000 are the last two events of step 1,166 and all of the 833 after it.
    let spans = line["rows"][2]["events"].as_array().unwrap();
    assert_eq!(spans.len(), 834);
    assert_eq!(line["length_ns"], json!(16_663_000_000_u64));
    // The first of them began before the time from which on all are there.
    assert_eq!(spans[0][0], json!(-4_900_000));
}

#[test]
fn a_time_line_of_any_kind_is_bounded() {
    let mut trace = Trace::default();
    // Each with a thread that is not listed, a long name of its own, and at the same time.
    for number in 0..20_000 {
        let mut span = CpuSpan::default();
        (span.thread, span.name) = (number, number);
        (span.start_ns, span.end_ns) = (u64::MAX - 1, u64::MAX);
        span.args = vec![("x".repeat(500), number.to_string()); 40];
        trace.names.push(format!("{number}{}", "é".repeat(400)));
        trace.cpu_spans.push(span);
    }
    let mut gap = Gap::default();
    (gap.start_ns, gap.end_ns, gap.events) = (u64::MAX, 0, u64::MAX);
    trace.gaps.push(gap);
    let without = page(&digits()).len();
    let page = page_with(&digits(), &trace);
    assert!(
        page.len() - without < 500_000,
        "{} bytes",
        page.len() - without
    );
    let line = &data(&page)["time_line"];
    assert_eq!(line["events"], json!(20_001));
    assert!(line["shown"].as_u64().unwrap() <= 5_000);
    assert_eq!(line["is_full"], json!(true));
    assert!(line["rows"].as_array().unwrap().len() <= 200);
    // Nothing at all.
    let line = &data(&page_with(&digits(), &Trace::default()))["time_line"];
    assert_eq!((&line["shown"], &line["rows"]), (&json!(0), &json!([])));
}

#[test]
fn a_profile_without_a_call_is_a_whole_page() {
    let page = page(&Profile::default());
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    let data = data(&page);
    assert_eq!(data["remarks"], json!([]));
    assert_eq!(data["tables"]["tree"]["rows"], json!([]));
}

#[test]
fn an_error_of_the_writer_is_returned() {
    struct Full(usize);
    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.0 == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            let taken = bytes.len().min(self.0);
            self.0 -= taken;
            Ok(taken)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    for room in [0, 100, 50_000] {
        let error = html::write(&digits(), &mut Full(room)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull, "{room}");
    }
}
