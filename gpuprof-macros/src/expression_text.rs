//! The source text of an expression, on one line and with the usual spaces. The compiler passes
//! tokens without the spaces between them.

use proc_macro2::{Delimiter, Group, Spacing, TokenStream, TokenTree};
use quote::ToTokens;
use syn::Expr;

/// Words after which a value follows, with a space.
const KEYWORDS: [&str; 20] = [
    "as", "async", "break", "const", "continue", "dyn", "else", "for", "if", "impl", "in", "let",
    "loop", "match", "move", "mut", "ref", "return", "unsafe", "while",
];

/// The text, such as `x.len()` or `2 * n + 1`.
pub(crate) fn text(expression: &Expr) -> String {
    text_of(expression.to_token_stream())
}

fn text_of(tokens: TokenStream) -> String {
    let mut writer = ExpressionWriter {
        text: String::new(),
        end: TextEnd::Start,
        open_angles: 0,
        in_closure: false,
    };
    writer.write_all(tokens);
    writer.text
}

/// What the text ends with.
#[derive(Clone, Copy, PartialEq)]
enum TextEnd {
    /// Nothing, or what belongs to the value that follows: `&`, `x.`, `a::`.
    Start,
    /// `a::`, after which `<` begins a list of types.
    Path,
    /// A name, a literal or a group.
    Value,
    /// What a space follows: `a +`, `a,`, `mut`.
    Space,
}

struct ExpressionWriter {
    text: String,
    end: TextEnd,
    /// Open `<` around types.
    open_angles: usize,
    /// Among the parameters of a closure.
    in_closure: bool,
}

impl ExpressionWriter {
    fn write_all(&mut self, tokens: TokenStream) {
        let mut tokens = tokens.into_iter().peekable();
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Group(group) => self.group(&group),
                TokenTree::Ident(word) => self.value(&word.to_string()),
                TokenTree::Literal(literal) => self.value(&literal.to_string()),
                TokenTree::Punct(first) => {
                    let mut sign = first.as_char().to_string();
                    let mut spacing = first.spacing();
                    while let (Spacing::Joint, Some(TokenTree::Punct(next))) =
                        (spacing, tokens.peek())
                    {
                        sign.push(next.as_char());
                        spacing = next.spacing();
                        tokens.next();
                    }
                    let calls_macro = matches!(tokens.peek(), Some(TokenTree::Group(_)));
                    self.sign(&sign, calls_macro);
                }
            }
        }
    }

    fn push(&mut self, spaced: bool, text: &str, end: TextEnd) {
        if spaced && !self.text.is_empty() {
            self.text.push(' ');
        }
        self.text.push_str(text);
        self.end = end;
    }

    fn value(&mut self, text: &str) {
        let spaced = matches!(self.end, TextEnd::Value | TextEnd::Space);
        let end = if KEYWORDS.contains(&text) {
            TextEnd::Space
        } else {
            TextEnd::Value
        };
        self.push(spaced, text, end);
    }

    fn group(&mut self, group: &Group) {
        let inner = text_of(group.stream());
        let spaced = self.end == TextEnd::Space;
        let (spaced, text) = match group.delimiter() {
            Delimiter::Parenthesis => (spaced, format!("({inner})")),
            Delimiter::Bracket => (spaced, format!("[{inner}]")),
            Delimiter::Brace if inner.is_empty() => (true, "{}".to_owned()),
            Delimiter::Brace => (true, format!("{{ {inner} }}")),
            Delimiter::None => return self.write_all(group.stream()),
        };
        self.push(spaced, &text, TextEnd::Value);
    }

    fn sign(&mut self, sign: &str, calls_macro: bool) {
        let after_value = self.end == TextEnd::Value;
        let spaced = matches!(self.end, TextEnd::Value | TextEnd::Space);
        match sign {
            "," | ";" | ":" => self.push(false, sign, TextEnd::Space),
            "." | ".." | "..=" if after_value => self.push(false, sign, TextEnd::Start),
            "::" => self.push(self.end == TextEnd::Space, sign, TextEnd::Path),
            "?" => self.push(false, sign, TextEnd::Value),
            "!" if after_value && calls_macro => self.push(false, sign, TextEnd::Start),
            "<" if !after_value || self.open_angles > 0 => {
                self.open_angles += 1;
                self.push(self.end == TextEnd::Space, sign, TextEnd::Start);
            }
            _ if sign.bytes().all(|byte| byte == b'>') && self.open_angles >= sign.len() => {
                self.open_angles -= sign.len();
                self.push(false, sign, TextEnd::Value);
            }
            "|" if self.in_closure => {
                self.in_closure = false;
                self.push(false, sign, TextEnd::Space);
            }
            "||" if !after_value => self.push(spaced, sign, TextEnd::Space),
            // A sign before a value, such as `-x`; a lifetime.
            _ if !after_value => {
                self.in_closure |= sign == "|";
                self.push(spaced, sign, TextEnd::Start);
            }
            _ => self.push(true, sign, TextEnd::Space),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn spaces_are_those_of_usual_source_text() {
        for source in [
            "x",
            "r#type",
            "x.len()",
            "self.rows().len()",
            "pair.0.1",
            "*x",
            "&mut x[1]",
            "&&x",
            "-x - -1",
            "!a && !b || c",
            "2 * (m + n) / 3 % k",
            "a << 2 >> 1",
            "a < b && b > c",
            "(a <= b) != (c == d)",
            "x as f32",
            "std::mem::size_of::<Vec<Option<T>>>()",
            "::core::any::type_name::<&'static str>()",
            "<T as Shape<N>>::SIZE",
            "Vec::<(A, B)>::new()",
            "[a, b]",
            "[0; 3]",
            "(m, n)",
            "&x[1..n]",
            "..",
            "..=3",
            "0..=n + 1",
            "format!(\"{x:?}, {}\", y + 1)",
            "Point { x: 1, y }",
            "if a { b } else { !c }",
            "match x { Some(y) if y > 1 => -y, _ => {} }",
            "x.iter().map(|&(a, b)| a * b).sum::<u32>()",
            "x.unwrap_or_else(|| 3)",
            "unsafe { *x }",
            "move |x: &u8| x + 1",
            "'a'",
        ] {
            let expression = syn::parse_str(source).unwrap();
            assert_eq!(text(&expression), source);
        }
        let loose = syn::parse_str("x . len (\n) +y [ 0 ]").unwrap();
        assert_eq!(text(&loose), "x.len() + y[0]");
    }
}
