//! The attribute `#[gpu_profile]` of gpuprof, which re-exports and documents it. Use the crate
//! `gpuprof`.
//!
//! The stages: `argument_list`, `recorded_values` and `item` parse; `validate` checks, with
//! `argument_values` for each value and `argument_table` for the accepted arguments; `container`
//! walks blocks of functions; `expand`, `async_fn`, `amounts` and `stream_expressions` write the
//! result.

mod amounts;
mod argument_list;
mod argument_table;
mod argument_values;
mod async_fn;
mod bench_attribute;
mod container;
mod errors;
mod expand;
mod future_fn;
mod group_precedence;
mod literals_and_return_types;
mod parameter_bindings;
mod parsed_item;
mod recorded_values;
mod scope_name;
mod stream_expressions;
mod stream_types;
mod suggest;
mod unused;
mod validate;

use errors::Errors;
use group_precedence::replace_all;
use proc_macro2::TokenStream;

/// Profiles a function, or every function of an inline `mod` or an `impl` block. The crate
/// `gpuprof` has the manual.
#[proc_macro_attribute]
pub fn gpu_profile(
    arguments: proc_macro::TokenStream,
    annotated: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    profile(arguments.into(), annotated.into()).into()
}

/// Registers a function as a benchmark. The crate `gpuprof` has the manual.
#[proc_macro_attribute]
pub fn gpu_bench(
    arguments: proc_macro::TokenStream,
    annotated: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    bench_attribute::expand(replace_all(arguments.into()), annotated.into()).into()
}

/// The name of a `scope!`, checked. Not public.
#[doc(hidden)]
#[proc_macro]
pub fn __checked_scope_name(name: proc_macro::TokenStream) -> proc_macro::TokenStream {
    scope_name::checked(name.into()).into()
}

fn profile(arguments: TokenStream, annotated: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let written = argument_list::parse(replace_all(arguments), &mut errors);
    let item = errors.record(syn::parse2::<parsed_item::Item>(annotated.clone()));
    let target = item
        .as_ref()
        .and_then(|item| validate::target(item, &mut errors));
    let args = validate::arguments(&written, target, &mut errors);

    // In the place of an expression there is room for the error alone.
    let is_expression =
        matches!(&item, Some(parsed_item::Item::Other(other)) if other.is_expression());
    let annotated = if is_expression {
        TokenStream::new()
    } else {
        annotated
    };
    let measures = errors.is_empty() && cfg!(feature = "enable");
    let expanded = match item {
        // Also without spans: the marks inside the block have to go.
        Some(parsed_item::Item::Container(container)) => {
            errors.record(container::functions(container, measures.then_some(&args)))
        }
        Some(parsed_item::Item::Function(function)) if measures => {
            Some(expand::function(*function, &args, false))
        }
        _ => None,
    };
    errors.append_to(expanded.unwrap_or(annotated))
}
