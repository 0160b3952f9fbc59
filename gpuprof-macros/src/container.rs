//! Expands the functions of an annotated `mod` or `impl` block, nested blocks and the default
//! methods of traits included. Leaves out `const fn`, functions without a body and items with their
//! own attribute.

use crate::argument_list::{self, Form};
use crate::argument_values::Args;
use crate::async_fn;
use crate::errors::Errors;
use crate::expand;
use crate::parsed_item::{Container, FunctionItem, Item};
use crate::validate::is_gpu_profile;
use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};
use syn::parse::{ParseStream, Parser};
use syn::{Attribute, Expr, Meta, Path, Result};

/// The block with each of its functions expanded by `args`. Without `args`, only the marks that
/// belong to the block (`#[gpu_profile(skip)]`) are removed.
///
/// # Errors
/// If an item or a signature cannot be parsed.
pub(crate) fn functions(container: Container, args: Option<&Args>) -> Result<TokenStream> {
    expand_block(container, args, false)
}

/// `keeps_async`: a block around this one has an attribute that may depend on the word `async`.
fn expand_block(
    container: Container,
    args: Option<&Args>,
    keeps_async: bool,
) -> Result<TokenStream> {
    let keeps_async = keeps_async || !async_fn::are_passive(&container.attrs);
    let walk = |input: ParseStream| {
        let mut body = TokenStream::new();
        for inner in input.call(Attribute::parse_inner)? {
            inner.to_tokens(&mut body);
        }
        while !input.is_empty() {
            body.extend(expand_item(input.parse()?, args, keeps_async)?);
        }
        Ok(body)
    };
    let body = walk.parse2(container.body.stream())?;
    Ok(Item::Container(container.with_body(body)).into_token_stream())
}

fn expand_item(mut item: Item, args: Option<&Args>, keeps_async: bool) -> Result<TokenStream> {
    let args = match mark(&item) {
        ItemAttribute::Own(index) => {
            if let Some(path) = args.and_then(|args| args.krate.as_ref()) {
                let attribute = &mut item.attrs_mut()[index];
                if !names_crate(attribute) {
                    *attribute = with_crate(attribute, path);
                }
            }
            return Ok(item.into_token_stream());
        }
        ItemAttribute::Skip(index) => {
            item.attrs_mut().remove(index);
            None
        }
        ItemAttribute::None => args,
    };
    match (item, args) {
        (Item::Container(block), args) => expand_block(block, args, keeps_async),
        (Item::Function(function), Some(args)) if function.sig.constness.is_none() => {
            let args = args_for(args, &function);
            Ok(expand::function(*function, &args, keeps_async))
        }
        (item, _) => Ok(item.into_token_stream()),
    }
}

/// An item's own attribute, by its index.
enum ItemAttribute {
    None,
    /// `#[gpu_profile(…)]`, which replaces the block's and which the compiler expands later.
    Own(usize),
    /// `#[gpu_profile(skip)]`
    Skip(usize),
}

fn mark(item: &Item) -> ItemAttribute {
    let Some(index) = item.attrs().iter().position(is_gpu_profile) else {
        return ItemAttribute::None;
    };
    // `skip` on anything else is an error, which the attribute reports itself if it stays there.
    let can_skip = !matches!(item, Item::Other(_));
    match &item.attrs()[index].meta {
        Meta::List(list) if can_skip && is_skip(&list.tokens) => ItemAttribute::Skip(index),
        _ => ItemAttribute::Own(index),
    }
}

fn is_skip(tokens: &TokenStream) -> bool {
    match &argument_list::parse(tokens.clone(), &mut Errors::default())[..] {
        [only] => only.key == "skip" && matches!(only.form, Form::Word),
        _ => false,
    }
}

fn names_crate(attribute: &Attribute) -> bool {
    match &attribute.meta {
        Meta::List(list) => argument_list::parse(list.tokens.clone(), &mut Errors::default())
            .iter()
            .any(|argument| argument.key == "crate"),
        _ => false,
    }
}

/// The attribute with `crate = path` added.
fn with_crate(attribute: &Attribute, krate: &Path) -> Attribute {
    let site = Span::mixed_site();
    let arguments = match &attribute.meta {
        Meta::List(list) => list.tokens.clone(),
        _ => TokenStream::new(),
    };
    let ends = arguments.clone().into_iter().last();
    let comma = match ends {
        Some(TokenTree::Punct(end)) if end.as_char() == ',' => None,
        Some(_) => Some(quote_spanned!(site=> ,)),
        None => None,
    };
    let path = attribute.path();
    let mut changed = attribute.clone();
    let meta = quote_spanned!(site=> #path(#arguments #comma crate = #krate));
    if let Ok(meta) = syn::parse2(meta) {
        changed.meta = meta;
    }
    changed
}

/// The block's arguments that apply to this function: one without `self` has no `self.stream`.
fn args_for(args: &Args, function: &FunctionItem) -> Args {
    let mut args = args.clone();
    let takes_self = function.sig.receiver().is_some();
    args.stream = args
        .stream
        .filter(|streams| takes_self || !streams.iter().any(mentions_self));
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
