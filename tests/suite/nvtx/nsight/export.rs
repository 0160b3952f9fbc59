//! The JSON export of an Nsight Systems report: the ranges of gpuprof's domain, and nsys's remarks.
//!
//! One event per line; the first line is the table of strings. Numbers of 64 bits are strings. The
//! event types are those of `ENUM_NSYS_EVENT_TYPE` in nsys's documentation of its exports.

use std::collections::BTreeMap;

use serde_json::Value;

/// The domain of every range that gpuprof opens.
const DOMAIN: &str = "gpuprof";

const CATEGORY: u64 = 33;
const DIAGNOSTIC: u64 = 49;
const PUSH_POP: u64 = 59;
const START_END: u64 = 60;
const DOMAIN_CREATE: u64 = 75;

/// How a range was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// Pushed and popped on one thread.
    PushPop,
    /// Started and ended, on whatever threads.
    StartEnd,
}

/// One range.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Range {
    pub(super) name: String,
    pub(super) style: Style,
    /// Process and thread in one number, as nsys writes it; of a started range, the thread of its
    /// start.
    pub(super) thread: String,
    /// ns since the profile's beginning.
    pub(super) start: i64,
    /// `None`: it never ended.
    pub(super) end: Option<i64>,
    /// ARGB.
    pub(super) color: Option<u64>,
    /// The category's name.
    pub(super) category: Option<String>,
    /// The value with its type, such as `UInt32Value 7`.
    pub(super) payload: Option<String>,
}

/// What nsys says about the profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Remark {
    /// `Info`, `Warning`, `Error`.
    pub(super) level: String,
    pub(super) text: String,
}

/// One report.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Report {
    /// The ranges of gpuprof's domain.
    pub(super) ranges: Vec<Range>,
    /// How many ranges other domains have.
    pub(super) in_other_domains: usize,
    pub(super) remarks: Vec<Remark>,
}

impl Report {
    /// Reads an export.
    ///
    /// # Errors
    /// A text for the user: it is no export, or an event lacks what its type must have.
    pub(super) fn read(text: &str) -> Result<Report, String> {
        let mut lines = text.lines();
        let parse = |line: &str| {
            serde_json::from_str::<Value>(line).map_err(|error| format!("nsys export: {error}"))
        };
        let first = parse(lines.next().unwrap_or_default())?;
        let strings = first["data"].as_array().ok_or("nsys export: no strings")?;
        let events = lines.map(parse).collect::<Result<Vec<_>, _>>()?;
        let nvtx = |kind: u64| {
            let events = events.iter().filter(move |event| event["Type"] == kind);
            events.map(|event| &event["NvtxEvent"])
        };
        let ours: Vec<_> = nvtx(DOMAIN_CREATE)
            .filter(|event| event["Text"] == DOMAIN)
            .map(|event| &event["DomainId"])
            .collect();
        let is_ours = |event: &&Value| ours.contains(&&event["DomainId"]);
        let categories: BTreeMap<_, _> = nvtx(CATEGORY)
            .filter(is_ours)
            .filter_map(|event| Some((event["Category"].as_str()?, event["Text"].as_str()?)))
            .collect();
        let mut report = Report::default();
        for (kind, style) in [(PUSH_POP, Style::PushPop), (START_END, Style::StartEnd)] {
            for event in nvtx(kind) {
                if is_ours(&event) {
                    let range = range(event, style, strings, &categories);
                    let incomplete = || format!("nsys export: an incomplete range: {event}");
                    report.ranges.push(range.ok_or_else(incomplete)?);
                } else {
                    report.in_other_domains += 1;
                }
            }
        }
        let diagnostics = events.iter().filter(|event| event["Type"] == DIAGNOSTIC);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
        report.remarks.extend(diagnostics.map(|event| Remark {
            level: text(&event["DiagnosticEvent"]["Level"]),
            text: text(&event["DiagnosticEvent"]["Text"]),
        }));
        Ok(report)
    }
}

fn range(
    event: &Value,
    style: Style,
    strings: &[Value],
    categories: &BTreeMap<&str, &str>,
) -> Option<Range> {
    // Registered strings are in the table; gpuprof registers all its names.
    let id = usize::try_from(event["TextId"].as_u64()?).ok()?;
    let payload = event["Payload"].as_object().and_then(|payload| {
        let (kind, value) = payload.iter().next()?;
        let value = value
            .as_str()
            .map_or_else(|| value.to_string(), String::from);
        Some(format!("{kind} {value}"))
    });
    let category = event["Category"].as_str().map(|id| {
        let name = categories.get(id);
        name.map_or_else(|| format!("nameless category {id}"), ToString::to_string)
    });
    Some(Range {
        name: strings.get(id)?.as_str()?.into(),
        style,
        thread: event["GlobalTid"].as_str()?.into(),
        start: nanoseconds(&event["Timestamp"])?,
        end: nanoseconds(&event["EndTimestamp"]),
        color: event["Color"].as_u64(),
        category,
        payload,
    })
}

fn nanoseconds(value: &Value) -> Option<i64> {
    value.as_str()?.parse().ok()
}

pub(super) mod tests {
    use support::tests;

    use super::*;

    pub(crate) const TESTS: &[(&str, fn())] = tests![
        ranges_carry_what_the_attribute_said,
        other_domains_are_counted_only,
        other_text_is_refused,
    ];

    const EXPORT: &str = concat!(
        r#"{"data":["Info","green","waits"]}"#,
        "\n",
        r#"{"Type":49,"DiagnosticEvent":{"Source":"Analysis","Level":"Info","#,
        r#""Text":"Profiling has started."}}"#,
        "\n",
        r#"{"Type":75,"NvtxEvent":{"Type":75,"Timestamp":"1","Text":"gpuprof","#,
        r#""GlobalTid":"7","DomainId":"2"}}"#,
        "\n",
        r#"{"Type":33,"NvtxEvent":{"Type":33,"Timestamp":"2","Category":"1","#,
        r#""Text":"forward","GlobalTid":"7","DomainId":"2"}}"#,
        "\n",
        r#"{"Type":59,"NvtxEvent":{"Type":59,"Timestamp":"3","Category":"1","#,
        r#""Color":4285970688,"Payload":{"UInt64Value":"18446744073709551615"},"#,
        r#""GlobalTid":"7","EndTimestamp":"9","TextId":1,"DomainId":"2"}}"#,
        "\n",
        r#"{"Type":60,"NvtxEvent":{"Type":60,"Timestamp":"-4","Payload":{"UInt32Value":7},"#,
        r#""GlobalTid":"7","EndGlobalTid":"8","TextId":2,"DomainId":"2"}}"#,
        "\n",
        r#"{"Type":59,"NvtxEvent":{"Type":59,"Timestamp":"5","GlobalTid":"7","#,
        r#""EndTimestamp":"6","Text":"theirs","DomainId":"0"}}"#,
        "\n",
    );

    fn ranges_carry_what_the_attribute_said() {
        let report = Report::read(EXPORT).expect("an export");
        let green = Range {
            name: "green".into(),
            style: Style::PushPop,
            thread: "7".into(),
            start: 3,
            end: Some(9),
            color: Some(0xff76_b900),
            category: Some("forward".into()),
            payload: Some("UInt64Value 18446744073709551615".into()),
        };
        let waits = Range {
            name: "waits".into(),
            style: Style::StartEnd,
            thread: "7".into(),
            start: -4,
            end: None,
            color: None,
            category: None,
            payload: Some("UInt32Value 7".into()),
        };
        assert_eq!(report.ranges, [green, waits]);
    }

    fn other_domains_are_counted_only() {
        let report = Report::read(EXPORT).expect("an export");
        assert_eq!((report.in_other_domains, report.remarks.len()), (1, 1));
    }

    fn other_text_is_refused() {
        for text in ["", "nothing", "{}\n"] {
            assert!(Report::read(text).is_err(), "{text}");
        }
    }
}
