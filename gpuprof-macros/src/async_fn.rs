//! Rewrites an `async fn` as the compiler does: the body becomes an `async` block that owns the
//! parameters and drops them in the same order, and the function returns that block's future. With
//! the span around the block instead of inside it, a call keeps one copy of its parameters.
//!
//! The function stays an `async fn`, with two copies, if something else reads the word `async`:
//! another attribute macro below this one, or a lint behind `#[must_use]` or `#[expect]`.

use crate::argument_values::Args;
use crate::literals_and_return_types::replace_impl_trait;
use crate::parameter_bindings;
use crate::parsed_item::FunctionItem;
use crate::unused;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::spanned::Spanned;
use syn::{Attribute, FnArg, Pat, ReturnType, Type};

/// Attributes that mean the same on an `async fn` and on a function that returns a future.
///
/// `expect` is not one of them: the lint that it names may be about the word `async`.
const PASSIVE: [&str; 9] = [
    "allow",
    "cfg",
    "cold",
    "deny",
    "deprecated",
    "doc",
    "forbid",
    "inline",
    "warn",
];

/// Whether none of these attributes may depend on the word `async`.
pub(crate) fn are_passive(attributes: &[Attribute]) -> bool {
    attributes.iter().all(|attribute| {
        let path = attribute.path();
        let tool = path.segments.len() > 1
            && ["clippy", "rustfmt", "diagnostic"]
                .iter()
                .any(|tool| path.segments[0].ident == tool);
        tool || PASSIVE.iter().any(|name| path.is_ident(name))
    })
}

/// The parts of an `async` block that stands for the body of an `async fn`.
pub(crate) struct AsyncBlock {
    /// Mentions every parameter in order, so that the block owns them from the call on.
    pub(crate) owns: TokenStream,
    /// Binds the parameters as the user wrote them.
    pub(crate) binds: TokenStream,
    /// Whether argument expressions may use names that exist only after `binds`. Otherwise the span
    /// begins first, so that a parameter is not kept twice while the block yields.
    pub(crate) binds_first: bool,
    /// Fixes the type of the block, which `?` and closures in the body may need.
    pub(crate) unreachable_return: TokenStream,
}

/// Moves the patterns of the parameters from the signature into the block. `private`: the path of
/// the items that generated code uses, at the place of the return type.
pub(crate) fn block(function: &mut FunctionItem, args: &Args, private: &TokenStream) -> AsyncBlock {
    let site = Span::mixed_site();
    let mut owns = TokenStream::new();
    let mut binds = TokenStream::new();
    let mut binds_first = false;
    for (index, input) in function.sig.inputs.iter_mut().enumerate() {
        let typed = match input {
            FnArg::Receiver(receiver) => {
                let this = Ident::new("self", receiver.self_token.span);
                owns.extend(quote_spanned!(site=> let _ = &#this;));
                continue;
            }
            FnArg::Typed(typed) => typed,
        };
        let (cfgs, lints): (Vec<_>, Vec<_>) = std::mem::take(&mut typed.attrs)
            .into_iter()
            .partition(unused::is_cfg);
        let pattern = std::mem::replace(&mut *typed.pat, Pat::Verbatim(TokenStream::new()));
        let mut allow = None;
        let whole = match simple(&pattern) {
            Some(name) => {
                if unused::is_argument(args, name) {
                    allow = Some(quote_spanned!(site=> #[allow(unused_variables)]));
                }
                name.clone()
            }
            None => {
                let here = site.located_at(pattern.span());
                let whole = Ident::new(&format!("__arg{index}"), here);
                // What the pattern leaves in it is dropped after what it binds.
                binds.extend(quote_spanned! {site=>
                    #(#cfgs)*
                    #[allow(unused_mut, clippy::shadow_same)]
                    let mut #whole = #whole;
                });
                binds_first |= !parameter_bindings::bindings_in_pattern(&pattern).is_empty();
                whole
            }
        };
        owns.extend(quote_spanned! {site=>
            #(#cfgs)*
            #[allow(clippy::used_underscore_binding)]
            let _ = &#whole;
        });
        binds.extend(quote_spanned! {site=>
            #(#cfgs)*
            #[allow(clippy::shadow_same, clippy::used_underscore_binding)]
            #(#lints)*
            #allow
            let #pattern = #whole;
        });
        typed.attrs = cfgs;
        *typed.pat = Pat::Verbatim(whole.into_token_stream());
    }
    AsyncBlock {
        owns,
        binds,
        binds_first,
        unreachable_return: unreachable_return(private, &function.sig.output),
    }
}

/// The name of a parameter that is `name` or `mut name`.
fn simple(pattern: &Pat) -> Option<&Ident> {
    match pattern {
        Pat::Ident(name) if name.by_ref.is_none() && name.subpat.is_none() => Some(&name.ident),
        _ => None,
    }
}

/// Whether the type is `!`, which cannot be named in `impl Future<Output = …>`.
pub(crate) fn is_never(output: &ReturnType) -> bool {
    matches!(output, ReturnType::Type(_, output) if matches!(**output, Type::Never(_)))
}

/// An unreachable `return` of the type.
fn unreachable_return(private: &TokenStream, output: &ReturnType) -> TokenStream {
    let site = Span::mixed_site();
    let output = match output {
        ReturnType::Default => quote_spanned!(site=> ()),
        // Its name is unstable but in the return type of a function.
        _ if is_never(output) => {
            quote_spanned!(site=> <fn() -> ! as #private::FunctionOutput>::Output)
        }
        ReturnType::Type(_, output) => replace_impl_trait(output.to_token_stream()),
    };
    let here = site.located_at(output.span());
    quote_spanned! {here=>
        if false {
            #[allow(clippy::diverging_sub_expression)]
            return #private::never_returns::<#output>();
        }
    }
}

/// Makes the signature that of a function that returns the block's future, if it can be.
/// Otherwise the function stays an `async fn`.
pub(crate) fn returns_future(function: &mut FunctionItem) -> bool {
    let site = Span::mixed_site();
    if is_never(&function.sig.output) || !are_passive(&function.attrs) {
        return false;
    }
    let output = match &function.sig.output {
        ReturnType::Default => quote_spanned!(site=> ()),
        ReturnType::Type(_, output) => output.to_token_stream(),
    };
    // Of this crate's edition, by its spans: it captures every lifetime, as an `async fn` does.
    let future = quote_spanned!(site=> impl ::core::future::Future<Output = #output>);
    function.sig.asyncness = None;
    function.sig.output = ReturnType::Type(syn::Token![->](site), Box::new(Type::Verbatim(future)));
    true
}

#[cfg(test)]
mod tests {
    use super::are_passive;
    use syn::Attribute;

    #[test]
    fn attributes_of_others_keep_an_async_fn_as_it_is() {
        let passive = |text: &str| {
            let attributes = syn::parse::Parser::parse_str(Attribute::parse_outer, text);
            are_passive(&attributes.unwrap())
        };
        assert!(passive(
            "#[doc = \"x\"] #[inline(never)] #[clippy::msrv = \"1\"] #[cfg(test)]"
        ));
        for attribute in [
            "#[must_use]",
            "#[tokio::main]",
            "#[async_trait]",
            "#[cfg_attr(a, b)]",
        ] {
            assert!(!passive(attribute), "{attribute}");
        }
    }
}
