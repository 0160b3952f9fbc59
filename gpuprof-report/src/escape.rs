//! Text within markup.

/// `text` with the characters that HTML interprets as references: for content and quoted
/// attributes.
pub(crate) fn html(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            _ => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::html;

    #[test]
    fn markup_becomes_text() {
        assert_eq!(
            html("</pre><img src=\"x\" onerror='f(1)&&g()'>é"),
            "&lt;/pre&gt;&lt;img src=&quot;x&quot; onerror=&#39;f(1)&amp;&amp;g()&#39;&gt;é"
        );
    }
}
