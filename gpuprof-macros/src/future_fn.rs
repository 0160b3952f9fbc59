//! Recognizes functions without `async` whose last expression is a future: `Box::pin(async move { …
//! })`, which is what `async_trait` writes, or `async move { … }` in a function that returns `impl
//! Future`. Works on tokens; bodies are never parsed.

use crate::group_precedence;
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use syn::{ReturnType, Type, TypeParamBound};

/// A body, divided at the future in its last expression.
pub(crate) struct FutureTail {
    /// The statements before the last expression.
    pub(crate) before: TokenStream,
    /// `Box::pin`, with its path; `None` for a bare block.
    pub(crate) wrapper: Option<Wrapper>,
    /// `async move { … }`
    pub(crate) future: TokenStream,
}

/// The call around the block.
pub(crate) struct Wrapper {
    pub(crate) path: TokenStream,
    /// The parentheses of the call, for their span.
    pub(crate) parens: Group,
}

/// The future in the tail of a body, if the tail is one.
pub(crate) fn tail(body: &TokenStream, output: &ReturnType) -> Option<FutureTail> {
    let tokens: Vec<TokenTree> = body
        .clone()
        .into_iter()
        .map(group_precedence::replace)
        .collect();
    match tokens.last()? {
        TokenTree::Group(parens) if parens.delimiter() == Delimiter::Parenthesis => {
            boxed_block(&tokens, parens)
        }
        TokenTree::Group(block) if block.delimiter() == Delimiter::Brace => returns_future(output)
            .then(|| bare_block(&tokens))
            .flatten(),
        _ => None,
    }
}

fn boxed_block(tokens: &[TokenTree], parens: &Group) -> Option<FutureTail> {
    let mut future: Vec<TokenTree> = parens.stream().into_iter().collect();
    if future.last().is_some_and(|token| is_punct(token, ',')) {
        future.pop();
    }
    if async_block(&future)? != 0 {
        return None;
    }
    let end = tokens.len() - 1;
    let start = path_start(tokens, end);
    let names: Vec<&TokenTree> = tokens[start..end]
        .iter()
        .filter(|token| !is_punct(token, ':'))
        .collect();
    let pins = matches!(names[..], [.., of, name] if is_word(of, "Box") && is_word(name, "pin"));
    (pins && begins_statement(&tokens[..start])).then(|| FutureTail {
        before: tokens[..start].iter().cloned().collect(),
        wrapper: Some(Wrapper {
            path: tokens[start..end].iter().cloned().collect(),
            parens: parens.clone(),
        }),
        future: future.into_iter().collect(),
    })
}

fn bare_block(tokens: &[TokenTree]) -> Option<FutureTail> {
    let start = async_block(tokens)?;
    begins_statement(&tokens[..start]).then(|| FutureTail {
        before: tokens[..start].iter().cloned().collect(),
        wrapper: None,
        future: tokens[start..].iter().cloned().collect(),
    })
}

/// The index of the `async {}` or `async move {}` that these tokens end with.
fn async_block(tokens: &[TokenTree]) -> Option<usize> {
    match tokens {
        [before @ .., word, moves, TokenTree::Group(block)]
            if is_word(word, "async")
                && is_word(moves, "move")
                && block.delimiter() == Delimiter::Brace =>
        {
            Some(before.len())
        }
        [before @ .., word, TokenTree::Group(block)]
            if is_word(word, "async") && block.delimiter() == Delimiter::Brace =>
        {
            Some(before.len())
        }
        _ => None,
    }
}

/// The index of the path that ends before `end`.
fn path_start(tokens: &[TokenTree], end: usize) -> usize {
    let in_path = |token: &TokenTree| matches!(token, TokenTree::Ident(_)) || is_punct(token, ':');
    let length = tokens[..end]
        .iter()
        .rev()
        .take_while(|token| in_path(token))
        .count();
    end - length
}

/// Whether a new expression can begin after these tokens.
fn begins_statement(before: &[TokenTree]) -> bool {
    match before.last() {
        None => true,
        Some(TokenTree::Group(block)) => block.delimiter() == Delimiter::Brace,
        Some(token) => is_punct(token, ';'),
    }
}

fn returns_future(output: &ReturnType) -> bool {
    let ReturnType::Type(_, output) = output else {
        return false;
    };
    let Type::ImplTrait(output) = &**output else {
        return false;
    };
    output.bounds.iter().any(|bound| match bound {
        TypeParamBound::Trait(bound) => bound
            .path
            .segments
            .last()
            .is_some_and(|segment| segment.ident == "Future"),
        _ => false,
    })
}

fn is_word(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident == word)
}

fn is_punct(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == sign)
}

#[cfg(test)]
mod tests {
    use super::tail;

    #[test]
    fn futures_made_in_the_last_expression_are_found() {
        for (output, body) in [
            ("", "Box::pin(async move { 1 })"),
            ("", "let x = 1; ::std::boxed::Box::pin(async { x },)"),
            ("", "if a { return b; } Box::pin(async move {})"),
            ("-> impl Future<Output = u8>", "let x = 1; async move { x }"),
            ("-> impl Send + std::future::Future", "async {}"),
        ] {
            let found = tail(&body.parse().unwrap(), &syn::parse_str(output).unwrap());
            assert!(found.is_some(), "{body}");
        }
    }

    #[test]
    fn other_last_expressions_are_left_alone() {
        for (output, body) in [
            ("", ""),
            ("", "async move { 1 }"),
            ("", "Box::pin(inner(async move {}))"),
            ("", "Box::pin(async move {}.map(f))"),
            ("", "Rc::pin(async move {})"),
            ("", "let x = Box::pin(async move {});"),
            ("", "run(Box::pin(async move {}))"),
            ("", "wrap + Box::pin(async move {})"),
            ("-> impl Future", "if x { async {} } else { async {} }"),
            ("-> impl Future", "ready(async {})"),
            ("-> impl Send", "async {}"),
        ] {
            let found = tail(&body.parse().unwrap(), &syn::parse_str(output).unwrap());
            assert!(found.is_none(), "{body}");
        }
    }
}
