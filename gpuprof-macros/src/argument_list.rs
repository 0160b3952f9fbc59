//! Parses the attribute's argument list: names, and the form of what follows each. A list with an
//! error in it still yields all its other arguments.

use crate::argument_table;
use crate::errors::Errors;
use crate::recorded_values::{self, RecordedValue};
use proc_macro2::{Group, Ident, TokenStream, TokenTree};
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{Error, Expr, Result, Token, token};

/// One argument as written, unchecked.
pub(crate) struct RawArgument {
    pub(crate) key: Ident,
    pub(crate) form: Form,
}

/// What follows the name of an argument.
pub(crate) enum Form {
    /// Nothing: `cpu`.
    Word,
    /// `= EXPR`
    Value(Box<Expr>),
    /// `(…)` after `args`.
    Values(token::Paren, Vec<RecordedValue>),
    /// Another group in parentheses, brackets or braces, which no argument takes.
    Group(Group),
    /// Something that cannot be parsed; the error is recorded.
    Invalid,
}

/// Splits the list. Whatever cannot be parsed is an error and is skipped up to the next comma.
pub(crate) fn parse(tokens: TokenStream, errors: &mut Errors) -> Vec<RawArgument> {
    let list = |input: ParseStream| {
        let mut found = Vec::new();
        while !input.is_empty() {
            let read = argument(input, errors);
            found.extend(errors.record(read));
            if !input.is_empty() && !input.peek(Token![,]) {
                errors.push(input.error("expected `,` between arguments"));
                skip_to_comma(input)?;
            }
            input.parse::<Option<Token![,]>>()?;
        }
        Ok(found)
    };
    // The closure fails only where a token stream ends inside a token, which it cannot.
    Parser::parse2(list, tokens).unwrap_or_default()
}

fn argument(input: ParseStream, errors: &mut Errors) -> Result<RawArgument> {
    if !input.peek(syn::Ident::peek_any) {
        let error = input.error(format!(
            "expected the name of an argument; accepted: {}",
            argument_table::list(None)
        ));
        skip_to_comma(input)?;
        return Err(error);
    }
    let key = input.call(Ident::parse_any)?;
    let form = if input.peek(Token![=]) {
        let equals: Token![=] = input.parse()?;
        value(input, &key, equals, errors)?
    } else if input.peek(Token![:]) {
        let colon: Token![:] = input.parse()?;
        let what = format!("a value follows `=`, not `:`; write `{key} = …`");
        errors.push(Error::new(colon.span, what));
        skip_to_comma(input)?;
        Form::Invalid
    } else if key == "args" && input.peek(token::Paren) {
        let content;
        let parens = syn::parenthesized!(content in input);
        let values = recorded_values::parse(&content, errors)?;
        values.map_or(Form::Invalid, |values| Form::Values(parens, values))
    } else if input.peek(token::Paren) || input.peek(token::Bracket) || input.peek(token::Brace) {
        Form::Group(input.parse()?)
    } else {
        Form::Word
    };
    Ok(RawArgument { key, form })
}

fn value(input: ParseStream, key: &Ident, equals: Token![=], errors: &mut Errors) -> Result<Form> {
    if input.is_empty() || input.peek(Token![,]) {
        let what = format!("expected a value after `{key} =`");
        errors.push(Error::new(equals.span, what));
        return Ok(Form::Invalid);
    }
    match input.parse::<Expr>() {
        Ok(value) => Ok(Form::Value(Box::new(value))),
        Err(error) => {
            errors.push(error);
            skip_to_comma(input)?;
            Ok(Form::Invalid)
        }
    }
}

fn skip_to_comma(input: ParseStream) -> Result<()> {
    while !input.is_empty() && !input.peek(Token![,]) {
        input.parse::<TokenTree>()?;
    }
    Ok(())
}
