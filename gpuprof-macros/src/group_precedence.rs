//! Keeps the precedence of an expression that macro_rules passes on as `$value`. The compiler puts
//! an invisible group around it, and ignores that group in tokens which an attribute has taken
//! apart: `2 * $value` with `1 + 2` would become `2 * 1 + 2`.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use syn::Expr;

/// Replaces the invisible groups whose precedence matters by parentheses, at every depth.
pub(crate) fn replace_all(tokens: TokenStream) -> TokenStream {
    let replaced = tokens.into_iter().map(|token| match replace(token) {
        TokenTree::Group(group) => {
            TokenTree::Group(with_stream(&group, replace_all(group.stream())))
        }
        other => other,
    });
    replaced.collect()
}

/// With parentheses, if this is an invisible group around an expression that needs them. A type or
/// a pattern that reads like one (`&T`, `-1`) means the same in parentheses.
pub(crate) fn replace(token: TokenTree) -> TokenTree {
    match &token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::None => {
            match syn::parse2(group.stream()) {
                Ok(
                    Expr::Binary(_)
                    | Expr::Cast(_)
                    | Expr::Closure(_)
                    | Expr::Range(_)
                    | Expr::Reference(_)
                    | Expr::Unary(_),
                ) => {
                    let mut parens = Group::new(Delimiter::Parenthesis, group.stream());
                    parens.set_span(group.span());
                    TokenTree::Group(parens)
                }
                _ => token,
            }
        }
        _ => token,
    }
}

/// Without parentheses, and without the invisible ones that macro_rules puts around `$value`.
pub(crate) fn bare(mut value: &Expr) -> &Expr {
    loop {
        value = match value {
            Expr::Paren(inner) if inner.attrs.is_empty() => &inner.expr,
            Expr::Group(inner) if inner.attrs.is_empty() => &inner.expr,
            _ => return value,
        }
    }
}

fn with_stream(group: &Group, stream: TokenStream) -> Group {
    let mut changed = Group::new(group.delimiter(), stream);
    changed.set_span(group.span());
    changed
}

#[cfg(test)]
mod tests {
    use super::replace_all;
    use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

    /// The tokens with `$value` in the place of each `x`.
    fn with_value(tokens: TokenStream, value: &str) -> TokenStream {
        let replaced = tokens.into_iter().map(|token| match token {
            TokenTree::Ident(word) if word == "x" => {
                TokenTree::Group(Group::new(Delimiter::None, value.parse().unwrap()))
            }
            TokenTree::Group(group) => TokenTree::Group(super::with_stream(
                &group,
                with_value(group.stream(), value),
            )),
            other => other,
        });
        replaced.collect()
    }

    #[test]
    fn expressions_get_parentheses_and_nothing_else_does() {
        for (value, wanted) in [
            ("1 + 2", "f(2 * (1 + 2))"),
            ("-1", "f(2 * (-1))"),
            ("&a", "f(2 * (&a))"),
            ("a as u8", "f(2 * (a as u8))"),
            ("a.b(1)", "f(2 * a.b(1))"),
            ("a", "f(2 * a)"),
            ("{ 1 }", "f(2 * { 1 })"),
            ("Vec<u8>", "f(2 * Vec<u8>)"),
            ("let a = 1;", "f(2 * let a = 1;)"),
        ] {
            let tokens = with_value("f(2 * x)".parse().unwrap(), value);
            let found = replace_all(tokens).to_string().replace(' ', "");
            assert_eq!(found, wanted.replace(' ', ""), "{value}");
        }
    }
}
