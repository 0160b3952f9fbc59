//! Names and types without the content of their template lists.

/// Stands for a template list.
pub(super) const LIST: &str = "<…>";

/// A text with [`LIST`] for each template list, and the content of these lists.
#[derive(Debug)]
pub(super) struct Outline<'a> {
    pub(super) text: String,
    pub(super) lists: Vec<&'a str>,
}

/// The outline of a type or value.
pub(super) fn outline_of_argument(text: &str) -> Outline<'_> {
    let mut outline = Outline {
        text: String::new(),
        lists: Vec::new(),
    };
    // Of the list that is open, or else of the text after the last one.
    let mut start = 0;
    let (mut depth, mut before) = (0_u32, b'-');
    for (at, next) in text.bytes().enumerate() {
        match next {
            b'<' if depth > 0 => depth += 1,
            b'<' if !matches!(before, b' ' | b'(' | b'-') => {
                outline.text += text.get(start..at).unwrap_or_default();
                outline.text += LIST;
                (start, depth) = (at + 1, 1);
            }
            b'>' if depth > 0 && before != b'-' => {
                depth -= 1;
                if depth == 0 {
                    outline.lists.extend(text.get(start..at));
                    start = at + 1;
                }
            }
            _ => {}
        }
        before = next;
    }
    match text.get(start..).unwrap_or_default() {
        rest if depth > 0 => outline.lists.push(rest),
        rest => outline.text += rest,
    }
    outline
}

/// The arguments of a template list.
pub(super) fn arguments(list: &str) -> Vec<&str> {
    let mut arguments = Vec::new();
    let (mut start, mut depth, mut before) = (0, 0_i32, b' ');
    for (at, next) in list.bytes().enumerate() {
        match next {
            b'<' | b'(' | b'[' | b'{' => depth += 1,
            b'>' if before == b'-' => {}
            b'>' | b')' | b']' | b'}' => depth -= 1,
            b',' if depth <= 0 => {
                arguments.extend(list.get(start..at).map(str::trim));
                start = at + 1;
            }
            _ => {}
        }
        before = next;
    }
    arguments.extend(list.get(start..).map(str::trim));
    arguments
}

/// The last part of every qualified name in an outline: `Layout<…>` for `cute::Layout<…>`.
pub(super) fn without_namespaces(outline: &str) -> String {
    if !outline.contains("::") {
        return outline.to_owned();
    }
    let mut bare = String::with_capacity(outline.len());
    let mut name_start = 0;
    let text = outline.replace("(anonymous namespace)::", "");
    let mut rest = text.as_str();
    while let Some(next) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("::") {
            if name_start < bare.len() {
                bare.truncate(name_start);
            } else {
                bare.push_str("::");
                name_start = bare.len();
            }
            rest = after;
            continue;
        }
        bare.push(next);
        if !next.is_alphanumeric() && next != '_' {
            name_start = bare.len();
        }
        rest = rest.get(next.len_utf8()..).unwrap_or_default();
    }
    bare
}

#[cfg(test)]
mod tests {
    use super::{arguments, outline_of_argument, without_namespaces};

    #[test]
    fn an_argument_has_a_text_and_its_lists() {
        for (argument, text, lists, bare) in [
            ("128", "128", vec![], "128"),
            ("float const*", "float const*", vec![], "float const*"),
            (
                "cute::tuple<cute::C<64>, int> const&",
                "cute::tuple<…> const&",
                vec!["cute::C<64>, int"],
                "tuple<…> const&",
            ),
            (
                "a::B<int>::c::D<(f)(x->y), 2>",
                "a::B<…>::c::D<…>",
                vec!["int", "(f)(x->y), 2"],
                "B<…>::D<…>",
            ),
            (
                "at::native::fill(int)::{lambda()#1}",
                "at::native::fill(int)::{lambda()#1}",
                vec![],
                "fill(int)::{lambda()#1}",
            ),
            (
                "(anonymous namespace)::Op<a::T>",
                "(anonymous namespace)::Op<…>",
                vec!["a::T"],
                "Op<…>",
            ),
            ("a<b", "a<…>", vec!["b"], "a<…>"),
            ("a::", "a::", vec![], ""),
            ("", "", vec![], ""),
        ] {
            let outline = outline_of_argument(argument);
            assert_eq!(
                (&*outline.text, &outline.lists),
                (text, &lists),
                "{argument}"
            );
            assert_eq!(without_namespaces(text), bare);
        }
    }

    #[test]
    fn commas_outside_of_brackets_part_arguments() {
        for (list, expected) in [
            ("int", vec!["int"]),
            (
                "a<b, c>, (d, e), {f, g}",
                vec!["a<b, c>", "(d, e)", "{f, g}"],
            ),
            ("x->y, 2", vec!["x->y", "2"]),
            ("a>, b", vec!["a>", "b"]),
            ("", vec![""]),
        ] {
            assert_eq!(arguments(list), expected);
        }
    }
}
