//! Adjusts user expressions and return types so that the generated code compiles.

use proc_macro2::{Group, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Expr, Lit, LitInt, Token};

/// If an expression has only unsuffixed integer literals, adds `u64` to each (or `i64` if it may be
/// `signed` and every literal fits); otherwise they would default to `i32`.
pub(crate) fn suffix_integer_literals(expression: &Expr, signed: bool) -> Expr {
    let mut expression = expression.clone();
    let mut literals = Vec::new();
    if bare_integers(&mut expression, &mut literals) {
        let small = literals.iter().all(|int| int.base10_parse::<i64>().is_ok());
        let suffix = if signed && small { "i64" } else { "u64" };
        for int in literals {
            *int = LitInt::new(&format!("{int}{suffix}"), int.span());
        }
    }
    expression
}

/// Collects the literals; returns false if the expression contains anything but unsuffixed
/// integers.
fn bare_integers<'a>(expression: &'a mut Expr, literals: &mut Vec<&'a mut LitInt>) -> bool {
    match expression {
        Expr::Lit(literal) => match &mut literal.lit {
            Lit::Int(int) if int.suffix().is_empty() => {
                literals.push(int);
                true
            }
            _ => false,
        },
        Expr::Binary(binary) => {
            bare_integers(&mut binary.left, literals) && bare_integers(&mut binary.right, literals)
        }
        Expr::Unary(unary) => bare_integers(&mut unary.expr, literals),
        Expr::Paren(inner) => bare_integers(&mut inner.expr, literals),
        _ => false,
    }
}

/// Replaces each `impl Trait` in a return type by `_`, because `impl Trait` is not allowed inside
/// an expression.
pub(crate) fn replace_impl_trait(output: TokenStream) -> TokenStream {
    let mut kept = TokenStream::new();
    let mut tokens = output.into_iter().peekable();
    let mut after_dash = false;
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Ident(word) if word == "impl" => {
                let mut open = 0_u32;
                while let Some(next) = tokens.peek() {
                    let sign = sign(next);
                    match sign {
                        '<' => open += 1,
                        ',' if open == 0 => break,
                        '>' if !after_dash && open == 0 => break,
                        '>' if !after_dash => open -= 1,
                        _ => {}
                    }
                    after_dash = sign == '-';
                    tokens.next();
                }
                Token![_](word.span()).to_tokens(&mut kept);
            }
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), replace_impl_trait(group.stream()));
                inner.set_span(group.span());
                kept.extend([TokenTree::Group(inner)]);
            }
            other => kept.extend([other]),
        }
    }
    kept
}

fn sign(token: &TokenTree) -> char {
    match token {
        TokenTree::Punct(punct) => punct.as_char(),
        _ => ' ',
    }
}

#[cfg(test)]
mod tests {
    use super::{replace_impl_trait, suffix_integer_literals};
    use quote::ToTokens;

    #[test]
    fn every_impl_trait_is_left_to_inference_and_nothing_else() {
        for (written, wanted) in [
            ("Result<impl Iterator<Item = u8> + '_, E>", "Result<_, E>"),
            ("(impl Fn(u8) -> Vec<u8> + use<'a>, u8)", "(_, u8)"),
            ("Option<Box<impl Copy>>", "Option<Box<_>>"),
            ("impl Fn() -> u8", "_"),
            ("[fn(u8) -> &'a str; { N }]", "[fn(u8) -> &'a str; { N }]"),
        ] {
            let tokens = replace_impl_trait(written.parse().unwrap()).to_string();
            let wanted: proc_macro2::TokenStream = wanted.parse().unwrap();
            assert_eq!(tokens.replace(' ', ""), wanted.to_string().replace(' ', ""));
        }
    }

    #[test]
    fn bare_integers_get_a_type_and_other_expressions_stay() {
        for (written, signed, wanted) in [
            ("5_000_000_000", false, "5_000_000_000u64"),
            ("4 * (0xFF + 1)", false, "4u64*(0xFFu64+1u64)"),
            ("-3", true, "-3i64"),
            ("18446744073709551615", true, "18446744073709551615u64"),
            ("3u8", false, "3u8"),
            ("4 * x.len()", false, "4*x.len()"),
            ("2.5", true, "2.5"),
        ] {
            let tokens = suffix_integer_literals(&syn::parse_str(written).unwrap(), signed)
                .to_token_stream();
            assert_eq!(tokens.to_string().replace(' ', ""), wanted);
        }
    }
}
