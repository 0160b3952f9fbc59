//! The page as a file: its size, that names stay names, and that its numbers are the report's. What
//! it does in a browser is tested by `cargo xtask pages`.

mod profiles;

use std::io::{self, Write};

use gpuprof_report::html;
use gpuprof_report::profile::{Device, Metric, Profile};
use profiles::{
    MARKUP, digits, large, options, report, training, with_limits, with_markup, with_steps,
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
