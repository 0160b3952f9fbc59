//! The page of a comparison, piece by piece.

use crate::compare::html::to_html;
use crate::compare::{
    Comparison, Fact, Figure, Item, Kind, Measure, Options, Side, Verdict, compare, to_text,
};
use crate::profile::Profile;

fn item(name: &str, verdict: Verdict, change: Option<(f64, f64, f64)>) -> Item {
    let figure = |ns: f64| {
        let figure = Figure {
            runs: 5,
            ns,
            calls: 1,
            p95_ns: None,
        };
        Some(figure)
    };
    Item {
        kind: Kind::Kernel,
        name: name.to_owned(),
        measure: Measure::Kernel,
        old: figure(31_300.0).filter(|_| verdict != Verdict::New),
        new: figure(32_300.0).filter(|_| verdict != Verdict::Gone),
        verdict,
        change: change.map(|(_, change, _)| change),
        interval: change.map(|(low, _, high)| (low, high)),
        p: change.map(|_| 0.000_01),
        ranks_differ: true,
        measured_change: None,
        notes: Vec::new(),
    }
}

fn comparison(items: Vec<Item>) -> Comparison {
    let side = Side {
        runs: 5,
        wall_ns: 1_000_000_000,
        simulated: false,
    };
    Comparison {
        old: side.clone(),
        new: side,
        options: Options::default(),
        warnings: Vec::new(),
        facts: Vec::new(),
        items,
    }
}

/// The text of a page as a reader sees it.
fn text_of(page: &str) -> String {
    let (_, body) = page.split_once("<body>").unwrap();
    let pieces = body.split('<').map(|piece| match piece.split_once('>') {
        Some((_, text)) => text,
        None => piece,
    });
    let text: String = pieces.collect();
    let text = text.replace("&lt;", "<").replace("&gt;", ">");
    text.replace("&#39;", "'").replace("&amp;", "&")
}

#[test]
fn a_row_has_the_cells_of_the_text_and_a_picture_of_its_interval() {
    let mut slower = item("kernel_2", Verdict::Slower, Some((0.0365, 0.0447, 0.0529)));
    slower.notes = vec!["+3.26 % as measured".into(), "calls per run 1 → 2".into()];
    let new = item("fused", Verdict::New, None);
    let page = to_html(&comparison(vec![slower, new]));
    let row = "<tbody class=\"slower\"><tr><th scope=\"row\">kernel_2 (kernel)</th>\
        <td class=\"verdict\">SLOWER</td><td class=\"old\">31.3 µs</td>\
        <td class=\"new-time\">32.3 µs</td><td class=\"change\">+4.47 %</td>\
        <td class=\"range-cell\"><svg class=\"interval\" viewBox=\"0 0 200 16\" \
        preserveAspectRatio=\"none\" aria-hidden=\"true\">\
        <rect class=\"band\" x=\"70.0\" y=\"0\" width=\"60.0\" height=\"16\"/>\
        <path class=\"zero\" d=\"M100 0V16\"/>\
        <rect class=\"range\" x=\"136.5\" y=\"4\" width=\"16.4\" height=\"8\"/>\
        <path class=\"change\" d=\"M144.7 1V15\"/></svg>+3.65 % to +5.29 %</td>\
        <td class=\"p\">&lt;0.0001</td></tr>\
        <tr class=\"notes\"><td colspan=\"7\"><p>+3.26 % as measured</p>\
        <p>calls per run 1 → 2</p></td></tr></tbody>\n\
        <tbody class=\"new\"><tr><th scope=\"row\">fused (kernel)</th>\
        <td class=\"verdict\">NEW</td><td class=\"old\">–</td>\
        <td class=\"new-time\">32.3 µs</td>\
        <td class=\"change\">–</td><td class=\"range-cell\">–</td>\
        <td class=\"p\">–</td></tr></tbody>\n\
        </table>";
    assert!(page.contains(row), "{page}");
    assert!(page.contains("on an axis of ± 10 %;"), "{page}");
    assert!(page.contains("The grey band is ± 3 %."), "{page}");
}

#[test]
fn facts_and_warnings_stand_above_the_rows() {
    let mut comparison = comparison(vec![item("a", Verdict::Unsure, None)]);
    let fact = |key: &str, old: &str, new: &str| Fact {
        key: key.into(),
        old: old.into(),
        new: new.into(),
    };
    comparison.facts = vec![fact("program", "train", "train"), fact("commit", "", "9a8")];
    comparison.warnings = vec!["the runs are few".into()];
    comparison.new.simulated = true;
    let page = to_html(&comparison);
    let parts = [
        "<title>1 UNSURE · gpuprof diff</title>",
        "<h1>1 UNSURE</h1>\n<p class=\"simulated\" role=\"note\">simulated device: GPU times are \
         modelled, not measured; 5 old runs against 5 new runs; median wall time 1.00 s → 1.00 s \
         (+0.00 %), which is not judged</p>\n<ul class=\"warnings\">\n\
         <li>warning: the runs are few</li>\n</ul>\n</header>",
        "<tr><th scope=\"row\">program</th><td colspan=\"2\">train</td></tr>\n\
         <tr class=\"differs\"><th scope=\"row\">commit</th><td>none</td><td>9a8</td></tr>\n",
        "<th scope=\"col\">Function / kernel</th><th scope=\"col\">Verdict</th>",
    ];
    let mut rest = page.as_str();
    for part in parts {
        let found = rest.split_once(part);
        (_, rest) = found.unwrap_or_else(|| panic!("{part} in {page}"));
    }
}

#[test]
fn a_page_says_what_the_text_says() {
    let run = |name: &str, cpu_ns: u64| super::formats::run(name, cpu_ns);
    let old = [1_000, 1_001, 1_002, 1_001, 1_000].map(|us| run("step<'T>", us * 1_000));
    let new = [1_100, 1_101, 1_102, 1_101, 1_100].map(|us| run("step<'T>", us * 1_000));
    for (old, new) in [(&old[..], &new[..]), (&old[..1], &new[..1])] {
        let comparison = compare(old, new, &Options::default());
        let page = text_of(&to_html(&comparison));
        let text = to_text(&comparison, 30, false);
        let facts = text.replace(": ", "  ").replace(" → ", "  ");
        let page = page.replace(": ", "").replace(" → ", "");
        for piece in facts.split("  ").flat_map(str::lines).map(str::trim) {
            assert!(page.contains(piece), "{piece:?} in {page}");
        }
    }
}

#[test]
fn hostile_text_is_no_markup_anywhere() {
    let hostile = "</td><img src=x onerror='a()'>\"&amp;";
    let safe = "&lt;/td&gt;&lt;img src=x onerror=&#39;a()&#39;&gt;&quot;&amp;amp;";
    let mut row = item(hostile, Verdict::Same, Some((0.0, 0.0, 0.0)));
    row.notes = vec![hostile.into()];
    let mut comparison = comparison(vec![row]);
    comparison.warnings = vec![hostile.into()];
    comparison.facts = vec![Fact {
        key: hostile.into(),
        old: hostile.into(),
        new: "other".into(),
    }];
    let page = to_html(&comparison);
    assert!(!page.contains("<img"), "{page}");
    assert_eq!(page.matches(safe).count(), 5, "{page}");

    let control = item("a\u{1b}[31m\u{202e}", Verdict::Same, None);
    let page = to_html(&self::comparison(vec![control]));
    assert!(page.contains("a\\u{1b}[31m\\u{202e} (kernel)"), "{page}");
}

#[test]
fn a_page_needs_nothing_from_anywhere() {
    let page = to_html(&comparison(vec![item("a", Verdict::Same, None)]));
    assert!(page.contains("content=\"default-src 'none'; style-src 'sha256-"));
    for absent in [
        "<script", "http:", "https:", "url(", "@import", "style=", "href=",
    ] {
        assert!(!page.contains(absent), "{absent}");
    }
}

#[test]
fn without_items_there_is_a_heading_and_no_table_of_them() {
    let runs = [Profile::default()];
    let page = to_html(&compare(&runs, &runs, &Options::default()));
    assert!(page.contains("<h1>no function that ran</h1>"), "{page}");
    assert!(!page.contains("<table"), "{page}");
    assert!(
        page.ends_with("<main>\n</main>\n</body>\n</html>\n"),
        "{page}"
    );
}

#[test]
fn rows_beyond_two_thousand_are_counted() {
    let items = (0..3_200).map(|at| item(&format!("k{at}"), Verdict::Same, None));
    let page = to_html(&comparison(items.collect()));
    assert_eq!(page.matches("<tbody class=\"same\">").count(), 2_000);
    assert!(page.contains("<th scope=\"row\" colspan=\"7\">… 1,200 more</th>"));
    assert!(page.contains("<h1>3200 SAME</h1>"));
}
