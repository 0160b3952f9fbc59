//! Walks the items of an annotated `mod` or `impl` block, nested blocks and the default methods of traits included, and
//! leaves alone what is not a function with a body, what cannot be profiled (`const fn`) and what has its own attribute.

use crate::args::{self, Form};
use crate::errors::Mistakes;
use crate::expand;
use crate::item::{Container, Function, Item};
use crate::validate::{Args, is_gpu_profile};
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::parse::{ParseStream, Parser};
use syn::{Attribute, Expr, Meta, Result};

/// The block with every function of it profiled as `args` say. Without `args`, only the marks that belong to the block
/// (`#[gpu_profile(skip)]`) are taken away.
///
/// # Errors
/// Where an item or a signature cannot be read.
pub(crate) fn functions(container: Container, args: Option<&Args>) -> Result<TokenStream> {
    let walk = |input: ParseStream| {
        let mut body = TokenStream::new();
        for inner in input.call(Attribute::parse_inner)? {
            inner.to_tokens(&mut body);
        }
        while !input.is_empty() {
            body.extend(one(input.parse()?, args)?);
        }
        Ok(body)
    };
    let body = walk.parse2(container.body.stream())?;
    Ok(Item::Container(container.with_body(body)).into_token_stream())
}

fn one(mut item: Item, args: Option<&Args>) -> Result<TokenStream> {
    let args = match mark(&item) {
        Mark::Own(index) => {
            if let Some(path) = args.and_then(|args| args.krate.as_ref()) {
                let attribute = &mut item.attrs_mut()[index];
                if !names_crate(attribute) {
                    *attribute = expand::with_crate(attribute, path);
                }
            }
            return Ok(item.into_token_stream());
        }
        Mark::Skip(index) => {
            item.attrs_mut().remove(index);
            None
        }
        Mark::None => args,
    };
    match (item, args) {
        (Item::Container(block), args) => functions(block, args),
        (Item::Function(function), Some(args)) if function.sig.constness.is_none() => {
            let args = fitting(args, &function);
            Ok(expand::function(*function, &args))
        }
        (item, _) => Ok(item.into_token_stream()),
    }
}

/// What an item inside the block says about itself; the index is that of the attribute that says it.
enum Mark {
    None,
    /// Its own `#[gpu_profile(…)]`, which wins and which the compiler expands later.
    Own(usize),
    Skip(usize),
}

fn mark(item: &Item) -> Mark {
    let Some(index) = item.attrs().iter().position(is_gpu_profile) else {
        return Mark::None;
    };
    // On anything else `skip` means nothing; left in place it reports that itself.
    let can_skip = !matches!(item, Item::Other(_));
    match &item.attrs()[index].meta {
        Meta::List(list) if can_skip && is_skip(&list.tokens) => Mark::Skip(index),
        _ => Mark::Own(index),
    }
}

fn is_skip(tokens: &TokenStream) -> bool {
    match &args::parse(tokens.clone(), &mut Mistakes::default())[..] {
        [only] => only.key == "skip" && matches!(only.form, Form::Word),
        _ => false,
    }
}

fn names_crate(attribute: &Attribute) -> bool {
    match &attribute.meta {
        Meta::List(list) => args::parse(list.tokens.clone(), &mut Mistakes::default())
            .iter()
            .any(|argument| argument.key == "crate"),
        _ => false,
    }
}

/// The block's arguments as far as they fit this function: one without `self` has no `self.stream`, and an asynchronous
/// one goes into no graph.
fn fitting(args: &Args, function: &Function) -> Args {
    let mut args = args.clone();
    let takes_self = function.sig.receiver().is_some();
    args.stream = args
        .stream
        .filter(|streams| takes_self || !streams.iter().any(mentions_self));
    args.graph = args.graph.filter(|_| !expand::is_async(function));
    args
}

fn mentions_self(expression: &Expr) -> bool {
    fn search(tokens: TokenStream) -> bool {
        tokens.into_iter().any(|token| match token {
            TokenTree::Ident(word) => word == "self",
            TokenTree::Group(group) => search(group.stream()),
            _ => false,
        })
    }
    search(expression.to_token_stream())
}
