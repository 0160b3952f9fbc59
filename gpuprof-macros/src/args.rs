//! Reads the arguments of the attribute as they are written: which ones, in which form. Whether they make sense is
//! [`crate::validate`]'s question; a list with a slip in it still yields all its other arguments.

use crate::errors::Mistakes;
use proc_macro2::{Ident, TokenStream, TokenTree};
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{Error, Expr, Result, Token, token};

/// One argument as written.
pub(crate) struct Raw {
    pub(crate) key: Ident,
    pub(crate) form: Form,
}

/// What follows the name of an argument.
pub(crate) enum Form {
    /// Nothing: `cpu`.
    Word,
    /// `= EXPR`
    Value(Box<Expr>),
    /// `(…)`, which no argument takes.
    List(token::Paren),
    /// `=` and something that is no expression; the mistake is recorded.
    Broken,
}

/// Splits the list; what cannot be read is a mistake and is skipped up to the next comma.
pub(crate) fn parse(tokens: TokenStream, mistakes: &mut Mistakes) -> Vec<Raw> {
    let list = |input: ParseStream| {
        let mut found = Vec::new();
        while !input.is_empty() {
            let read = argument(input, mistakes);
            found.extend(mistakes.take(read));
            if !input.is_empty() && !input.peek(Token![,]) {
                mistakes.push(input.error("expected `,` between arguments"));
                skip_to_comma(input)?;
            }
            input.parse::<Option<Token![,]>>()?;
        }
        Ok(found)
    };
    // The closure fails only where a token stream ends inside a token, which it cannot.
    Parser::parse2(list, tokens).unwrap_or_default()
}

fn argument(input: ParseStream, mistakes: &mut Mistakes) -> Result<Raw> {
    if !input.peek(syn::Ident::peek_any) {
        let error = input.error(format!(
            "expected the name of an argument; accepted: {}",
            crate::validate::accepted(None)
        ));
        skip_to_comma(input)?;
        return Err(error);
    }
    let key = input.call(Ident::parse_any)?;
    let form = if input.peek(Token![=]) {
        let equals: Token![=] = input.parse()?;
        value(input, &key, equals, mistakes)?
    } else if input.peek(token::Paren) {
        let content;
        let paren = syn::parenthesized!(content in input);
        content.parse::<TokenStream>()?;
        Form::List(paren)
    } else {
        Form::Word
    };
    Ok(Raw { key, form })
}

fn value(
    input: ParseStream,
    key: &Ident,
    equals: Token![=],
    mistakes: &mut Mistakes,
) -> Result<Form> {
    if input.is_empty() || input.peek(Token![,]) {
        let what = format!("expected a value after `{key} =`");
        mistakes.push(Error::new(equals.span, what));
        return Ok(Form::Broken);
    }
    match input.parse::<Expr>() {
        Ok(value) => Ok(Form::Value(Box::new(value))),
        Err(error) => {
            mistakes.push(error);
            skip_to_comma(input)?;
            Ok(Form::Broken)
        }
    }
}

fn skip_to_comma(input: ParseStream) -> Result<()> {
    while !input.is_empty() && !input.peek(Token![,]) {
        input.parse::<TokenTree>()?;
    }
    Ok(())
}
