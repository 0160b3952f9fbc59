//! The page as a file: its size, that names stay names, and that its numbers are the report's. What
//! it does in a browser is tested by `cargo xtask pages`.

mod profiles;

use std::io::{self, Write};

use gpuprof_report::html;
use gpuprof_report::profile::{Device, Metric, Profile};
use profiles::{
    MARKUP, digits, kernel_source, large, options, report, set_source_file, stall_line, training,
    with_limits, with_markup, with_stalls, with_steps,
};
use serde_json::{Value, json};

fn page(profile: &Profile) -> String {
    let mut out = Vec::new();
    html::write(profile, &mut out).unwrap();
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
fn shares_of_peaks_are_those_of_sampled_kernels_and_functions() {
    assert_eq!(data(&page(&digits()))["peaks"], Value::Null);
    let mut profile = with_limits(digits());
    profile.kernels[2].counters = None;
    // Whether the memory limits it is unknown.
    let means = &mut profile.kernels[1].counters.as_mut().unwrap().means;
    means.retain(|mean| mean.metric != Metric::DramRead);
    let peaks = &data(&page(&profile))["peaks"];
    assert_eq!(peaks["bound_share"], json!(0.6));
    let kernels = peaks["kernels"].as_object().unwrap();
    assert_eq!(kernels.keys().collect::<Vec<_>>(), ["0", "3", "4"]);
    let shares = json!([
        ["XU", 0.938],
        ["L1/shared", 0.7223],
        ["issue", 0.4683],
        ["ALU", 0.288],
        ["FP64", 0.1172],
        ["L2", 0.0402],
        ["memory", 0.028],
        ["tensor", 0],
    ]);
    let expected = json!({"mark": "", "shares": shares});
    assert_eq!(kernels["0"], expected);
    assert_eq!(kernels["3"]["mark"], json!("≈"));
    assert_eq!(peaks["functions"], json!({"0": expected}));
}

/// With the text of a file whose markup lies near the sampled lines.
fn page_with_source(profile: &Profile) -> String {
    let texts = html::SourceTexts::read(profile, None);
    let mut out = Vec::new();
    html::write_with_source(profile, &texts, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn lines_of_source_stand_beside_their_samples() {
    assert_eq!(data(&page(&digits()))["source"], Value::Null);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("adam.cu");
    std::fs::write(&file, kernel_source()).unwrap();
    let mut profile = with_stalls(digits());
    set_source_file(&mut profile, &file);
    profile.started_at.clear();
    let source = &data(&page_with_source(&profile))["source"];
    let kernels = source["kernels"].as_array().unwrap();
    // The others have no lines, or too few samples.
    assert_eq!(kernels.len(), 1);
    assert_eq!(kernels[0]["name"], json!("adam_step"));
    assert_eq!(kernels[0]["samples"], json!(10_000));
    assert_eq!(
        kernels[0]["reasons"][0],
        json!(["for global or local memory", 6_200])
    );
    let lines = json!([
        [
            0,
            41,
            6_000,
            "for global or local memory",
            "DFMA, F2F.F64.F32"
        ],
        [0, 47, 1_300, "at a barrier of the block", ""],
        [0, 39, 1_200, "issues", ""],
    ]);
    assert_eq!(kernels[0]["lines"], lines);
    assert_eq!(source["omitted"], json!(0));
    let [of_file] = &source["files"].as_array().unwrap()[..] else {
        panic!("{source}");
    };
    // Without its folders.
    assert_eq!(of_file["name"], json!("adam.cu"));
    let texts = of_file["lines"].as_object().unwrap();
    assert_eq!(texts.len(), 13);
    assert_eq!(texts["47"], json!("    __syncthreads();"));
    // A page is passed on: what `write` is not given is not in it.
    let without = page(&profile);
    assert!(!without.contains("__syncthreads"));
    let source = &data(&without)["source"];
    assert_eq!(source["kernels"][0]["lines"], lines);
    assert_eq!(source["files"], json!([{"name": "adam.cu", "lines": {}}]));
}

#[test]
fn markup_in_a_source_file_is_text() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("adam.cu");
    std::fs::write(&file, kernel_source()).unwrap();
    let mut profile = with_stalls(digits());
    set_source_file(&mut profile, &file);
    profile.started_at.clear();
    let kernels = &mut profile.stalls.as_mut().unwrap().kernels;
    kernels[0].lines[2].line = 32;
    let page = page_with_source(&profile);
    assert_eq!(page.matches("<script").count(), 2);
    assert_eq!(page.matches("</script").count(), 2);
    assert!(!page.contains("<img") && !page.contains(['\u{202e}', '\u{2028}']));
    let text = &data(&page)["source"]["files"][0]["lines"]["31"];
    let shown = text.as_str().unwrap();
    assert!(
        shown.starts_with("</script></title></pre><img src=x"),
        "{shown}"
    );
    assert!(shown.ends_with("\\u{202e}{{data}}"), "{shown}");
}

#[test]
fn lines_of_double_precision_need_no_samples() {
    let mut profile = with_stalls(digits());
    profile.stalls = None;
    let source = &data(&page(&profile))["source"];
    assert_eq!(source["kernels"][0]["samples"], json!(0));
    let lines = json!([[0, 41, 0, "", "DFMA, F2F.F64.F32"]]);
    assert_eq!(source["kernels"][0]["lines"], lines);
}

#[test]
fn source_of_many_kernels_keeps_the_page_small() {
    let folder = tempfile::tempdir().unwrap();
    let long = format!("{}\n", "x".repeat(5_000)).repeat(500);
    let mut profile = with_stalls(digits());
    let kernels = &mut profile.stalls.as_mut().unwrap().kernels;
    let first = kernels.remove(0);
    kernels.clear();
    for number in 0..1_000 {
        let file = folder.path().join(format!("{}.cu", number % 40));
        std::fs::write(&file, &long).unwrap();
        let file = file.to_string_lossy();
        let mut kernel = first.clone();
        kernel.name = format!("kernel {number}");
        let line = |line: u32| stall_line(&file, 10 * line, &[("wait", 5)]);
        kernel.lines = (1..=50).map(line).collect();
        kernels.push(kernel);
    }
    profile.started_at.clear();
    let small = page(&digits()).len();
    let page = page_with_source(&profile);
    let source = &data(&page)["source"];
    assert_eq!(source["kernels"].as_array().unwrap().len(), 24);
    // And the one with a line of double precision.
    assert_eq!(source["omitted"], json!(977));
    let has_text = |file: &&Value| !file["lines"].as_object().unwrap().is_empty();
    let files = source["files"].as_array().unwrap();
    assert_eq!(
        (files.len(), files.iter().filter(has_text).count()),
        (24, 16)
    );
    assert!(page.len() < small + 800_000, "{} bytes", page.len());
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
