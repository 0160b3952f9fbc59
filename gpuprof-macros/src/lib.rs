//! The attribute `#[gpu_profile]` of gpuprof, which re-exports and documents it. Use the crate `gpuprof`.
//!
//! The way of an annotated item: `args` and `item` parse, `validate` checks, `container` walks blocks of functions,
//! `expand` writes the result. This file only passes on what one stage hands to the next. Nothing in this crate may know
//! how spans are measured: it writes names of `gpuprof::__private` and no more.

mod args;
mod bindings;
mod container;
mod errors;
mod expand;
mod future_fn;
mod item;
mod rewrite;
mod suggest;
mod validate;

use errors::Mistakes;
use proc_macro2::TokenStream;

/// Profiles a function, or every function of an inline `mod` or an `impl` block. The crate `gpuprof` has the manual.
#[proc_macro_attribute]
pub fn gpu_profile(
    arguments: proc_macro::TokenStream,
    annotated: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    profile(arguments.into(), annotated.into()).into()
}

fn profile(arguments: TokenStream, annotated: TokenStream) -> TokenStream {
    let mut mistakes = Mistakes::default();
    let raw = args::parse(arguments, &mut mistakes);
    let item = mistakes.take(syn::parse2::<item::Item>(annotated.clone()));
    let place = item
        .as_ref()
        .and_then(|item| validate::place(item, &mut mistakes));
    let args = validate::arguments(raw, place, &mut mistakes);
    if let Some(item::Item::Function(function)) = &item {
        validate::fits(&args, expand::is_async(function), &mut mistakes);
    }

    let expanded = match item {
        Some(item::Item::Container(container)) => {
            let wanted = (mistakes.is_empty() && cfg!(feature = "enable")).then_some(&args);
            mistakes.take(container::functions(container, wanted))
        }
        Some(item::Item::Function(function)) if mistakes.is_empty() && cfg!(feature = "enable") => {
            Some(expand::function(*function, &args))
        }
        _ => None,
    };
    mistakes.beside(expanded.unwrap_or(annotated))
}
