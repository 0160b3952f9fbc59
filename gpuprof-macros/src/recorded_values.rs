//! The values that `args(…)` records with each call on the time line.

use crate::amounts;
use crate::argument_table::usage;
use crate::errors::Errors;
use crate::group_precedence::bare;
use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Error, Expr, Result, Token, token};

/// Values of one call. Each is formatted with every call that is recorded.
const MAX_VALUES: usize = 16;

/// One value of `args(…)`.
#[derive(Clone)]
pub(crate) struct RecordedValue {
    /// As written: `rows = m.rows()`; otherwise the expression as the compiler prints it.
    pub(crate) name: String,
    pub(crate) value: Expr,
    /// What the name is made of.
    named_by: TokenStream,
}

/// The list between the parentheses. Whatever cannot be parsed is an error and is skipped up to
/// the next comma; `None` if there was one.
///
/// # Errors
/// If the input ends inside a token, which it cannot.
pub(crate) fn parse(input: ParseStream, errors: &mut Errors) -> Result<Option<Vec<RecordedValue>>> {
    let mut found = Vec::new();
    let mut is_complete = true;
    while !input.is_empty() {
        let read = value(input);
        match errors.record(read.and_then(|value| expect_end(input, value))) {
            Some(value) => found.push(value),
            None => {
                is_complete = false;
                while !input.is_empty() && !input.peek(Token![,]) {
                    input.parse::<TokenTree>()?;
                }
            }
        }
        input.parse::<Option<Token![,]>>()?;
    }
    Ok(is_complete.then_some(found))
}

/// `EXPR` or `name = EXPR`.
fn value(input: ParseStream) -> Result<RecordedValue> {
    let is_named = input.peek(syn::Ident::peek_any)
        && !input.peek(Token![_])
        && input.peek2(Token![=])
        && !input.peek2(Token![==]);
    if is_named {
        let name = input.call(Ident::parse_any)?;
        let equals: Token![=] = input.parse()?;
        if input.is_empty() || input.peek(Token![,]) {
            let what = format!("expected a value after `{name} =`");
            return Err(Error::new(equals.span, what));
        }
        return Ok(RecordedValue {
            name: name.unraw().to_string(),
            value: input.parse()?,
            named_by: name.into_token_stream(),
        });
    }
    let value: Expr = input.parse()?;
    if let Expr::Assign(assignment) = &value {
        let what = "the name of a value is one word: `rows = m.rows()`";
        return Err(Error::new_spanned(&assignment.left, what));
    }
    Ok(RecordedValue {
        // Long ones have several lines.
        name: bare(&value)
            .to_token_stream()
            .to_string()
            .replace('\n', " "),
        named_by: value.to_token_stream(),
        value,
    })
}

/// The value, if a comma or the end follows.
fn expect_end(input: ParseStream, value: RecordedValue) -> Result<RecordedValue> {
    if input.is_empty() || input.peek(Token![,]) {
        return Ok(value);
    }
    let name = &value.name;
    Err(match value.value {
        Expr::Path(_) if input.peek(Token![:]) => {
            input.error(format!("a value follows `=`, not `:`; write `{name} = …`"))
        }
        _ => input.error("expected `,` between values"),
    })
}

/// Checks all values together, and that none of them leaves the function.
///
/// # Errors
/// On each value that is wrong.
pub(crate) fn check(key: &Ident, parens: token::Paren, values: &[RecordedValue]) -> Result<()> {
    let mut errors = Errors::default();
    if values.is_empty() {
        let what = format!("`{key}` must not be empty; {}", usage(key));
        errors.push(Error::new(parens.span.join(), what));
    }
    for (index, recorded) in values.iter().enumerate() {
        let RecordedValue { name, value, .. } = recorded;
        errors.record(amounts::check_flow(&key.to_string(), value));
        if values[..index].iter().any(|earlier| earlier.name == *name) {
            let what = format!("`{name}` is in `{key}` twice; give one another name: `other = …`");
            errors.push(Error::new_spanned(&recorded.named_by, what));
        }
    }
    if let Some(surplus) = values.get(MAX_VALUES) {
        let what = format!(
            "`{key}` takes at most {MAX_VALUES} values; combine some of them: `shape = (m, n)`"
        );
        errors.push(Error::new_spanned(&surplus.value, what));
    }
    errors.into_result()
}
