//! Amounts of work: `bytes`, `flops` and `items`. Their sums, differences and products are computed
//! in `f64`, where `2 * m * n * k` of `u32` does not overflow.

use crate::literals_and_return_types::suffix_integer_literals;
use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};
use syn::spanned::Spanned;
use syn::{BinOp, Error, Expr, UnOp};

/// The expression as an `f64`: `+`, `-` and `*` of that type, and each of their operands converted.
pub(crate) fn to_f64(private: &TokenStream, expression: &Expr) -> TokenStream {
    let site = Span::mixed_site();
    match expression {
        Expr::Binary(binary) if is_exact(&binary.op) => {
            let here = site.located_at(expression.span());
            let left = to_f64(private, &binary.left);
            let right = to_f64(private, &binary.right);
            let op = &binary.op;
            quote_spanned!(here=> (#left #op #right))
        }
        Expr::Paren(inner) => to_f64(private, &inner.expr),
        Expr::Group(inner) => to_f64(private, &inner.expr),
        operand => {
            let operand = suffix_integer_literals(operand, false);
            let here = site.located_at(operand.span());
            quote_spanned!(here=> #private::Amount::amount(#operand))
        }
    }
}

fn is_exact(op: &BinOp) -> bool {
    matches!(op, BinOp::Add(_) | BinOp::Sub(_) | BinOp::Mul(_))
}

/// Rejects a minus sign before an operand.
///
/// # Errors
/// On the sign.
pub(crate) fn check_signs(key: &str, expression: &Expr) -> Result<(), Error> {
    match expression {
        Expr::Binary(binary) if is_exact(&binary.op) => {
            check_signs(key, &binary.left)?;
            check_signs(key, &binary.right)
        }
        Expr::Paren(inner) => check_signs(key, &inner.expr),
        Expr::Group(inner) => check_signs(key, &inner.expr),
        Expr::Unary(unary) => match unary.op {
            UnOp::Neg(minus) => {
                let what = format!(
                    "`{key}` must not be negative: it is the work of one call, such as \
                     `{key} = 4 * x.len()`"
                );
                Err(Error::new(minus.span, what))
            }
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

/// Rejects what would leave the function: the span begins with the call and cannot end it.
///
/// # Errors
/// On the `?`, `return` or `await`.
pub(crate) fn check_flow(key: &str, expression: &Expr) -> Result<(), Error> {
    fn search(tokens: TokenStream) -> Option<TokenTree> {
        tokens.into_iter().find_map(|token| match token {
            TokenTree::Group(group) => search(group.stream()),
            TokenTree::Punct(sign) if sign.as_char() == '?' => Some(TokenTree::Punct(sign)),
            TokenTree::Ident(word) if word == "return" || word == "await" => {
                Some(TokenTree::Ident(word))
            }
            _ => None,
        })
    }
    match search(expression.to_token_stream()) {
        Some(token) => {
            let (word, instead) = match token.to_string().as_str() {
                "?" => ("?", "write a fallback such as `x.unwrap_or(0)`"),
                "await" => (".await", "pass the value as a parameter"),
                _ => ("return", "write an expression with a value"),
            };
            let what = format!(
                "`{key}` cannot use `{word}`: it is evaluated before the function's code, and must \
                 neither end nor delay the call; {instead}"
            );
            Err(Error::new(token.span(), what))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::to_f64;
    use quote::quote;

    #[test]
    fn sums_and_products_convert_each_operand() {
        for (written, wanted) in [
            ("n", "a(n)"),
            ("2 * m * n", "((a(2u64) * a(m)) * a(n))"),
            ("(x.len() - 1) + 0.5", "((a(x.len()) - a(1u64)) + a(0.5))"),
            ("4 * n / 2", "a(4 * n / 2)"),
            ("m as u64 * n.pow(2)", "(a(m as u64) * a(n.pow(2)))"),
        ] {
            let found = to_f64(&quote!(p), &syn::parse_str(written).unwrap())
                .to_string()
                .replace(' ', "")
                .replace("p::Amount::amount", "a");
            assert_eq!(found, wanted.replace(' ', ""));
        }
    }
}
