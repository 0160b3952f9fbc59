//! `#[gpu_bench]`: registers a function as a benchmark, once for each combination of its types and
//! of the values of its parameters.

use crate::errors::Errors;
use crate::suggest;
use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Error, Expr, FnArg, GenericParam, ItemFn, LitStr, Pat, Result, Token, Type, bracketed};

/// One argument: `name = "…"`, `types = […]`, `args = […]` or `PARAMETER = […]`.
enum BenchArgument {
    Name(LitStr),
    Types(Ident, Vec<Type>),
    Values(Ident, Vec<Expr>),
}

impl Parse for BenchArgument {
    fn parse(input: ParseStream) -> Result<Self> {
        let key: Ident = input.parse()?;
        input.parse::<Token![=]>()?;
        if key == "name" {
            return Ok(Self::Name(input.parse()?));
        }
        if !input.peek(syn::token::Bracket) {
            let what = format!("expected a list: `{key} = [A, B, …]`");
            return Err(Error::new(input.span(), what));
        }
        let content;
        bracketed!(content in input);
        if content.is_empty() {
            return Err(Error::new(key.span(), format!("`{key}` has no values")));
        }
        if key == "types" {
            let types = Punctuated::<Type, Token![,]>::parse_terminated(&content)?;
            return Ok(Self::Types(key, types.into_iter().collect()));
        }
        let values = Punctuated::<Expr, Token![,]>::parse_terminated(&content)?;
        Ok(Self::Values(key, values.into_iter().collect()))
    }
}

/// A parameter after the first one.
struct BenchParameter {
    name: Ident,
    ty: Type,
    values: Vec<Expr>,
}

/// The function, followed by its registration, or by what is wrong.
pub(crate) fn expand(arguments: TokenStream, annotated: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let list = Punctuated::<BenchArgument, Token![,]>::parse_terminated;
    let arguments = errors.record(syn::parse::Parser::parse2(list, arguments));
    let function = syn::parse2::<ItemFn>(annotated.clone()).map_err(|error| {
        Error::new(
            error.span(),
            "#[gpu_bench] is for functions: fn NAME(bench: Bench, …) -> …",
        )
    });
    let function = errors.record(function);
    let registered = match (arguments, function) {
        (Some(arguments), Some(function)) => {
            errors.record(registration(arguments.into_iter().collect(), &function))
        }
        _ => None,
    };
    let mut tokens = annotated;
    tokens.extend(registered);
    errors.append_to(tokens)
}

fn registration(arguments: Vec<BenchArgument>, function: &ItemFn) -> Result<TokenStream> {
    let signature = &function.sig;
    if let Some(asyncness) = &signature.asyncness {
        let what = "a benchmark is not async; block on the future in the closure";
        return Err(Error::new(asyncness.span(), what));
    }
    let mut parameters = parameters(function)?;
    let (mut title, mut types) = (None, Vec::new());
    for argument in arguments {
        match argument {
            BenchArgument::Name(name) => title = Some(name),
            BenchArgument::Types(key, all) => {
                let generics = signature.generics.params.iter();
                let of_types = generics.filter(|one| matches!(one, GenericParam::Type(_)));
                if of_types.count() != 1 {
                    let what = "`types` is for functions with one type parameter: fn NAME<T>(…)";
                    return Err(Error::new(key.span(), what));
                }
                types = all;
            }
            BenchArgument::Values(key, values) => set_values(&mut parameters, &key, values)?,
        }
    }
    if types.is_empty() && !signature.generics.params.is_empty() {
        let what = "this function is generic: add `types = [A, B, …]`";
        return Err(Error::new(signature.generics.span(), what));
    }
    if let Some(missing) = parameters.iter().find(|one| one.values.is_empty()) {
        let name = &missing.name;
        let what = format!("the parameter `{name}` has no values: add `{name} = [A, B, …]`");
        return Err(Error::new(name.span(), what));
    }
    Ok(entry(function, title, &types, &parameters))
}

/// The parameters after the first one, which is the benchmark.
fn parameters(function: &ItemFn) -> Result<Vec<BenchParameter>> {
    let inputs = &function.sig.inputs;
    if inputs.is_empty() {
        let what = "a benchmark takes a `Bench` first: fn NAME(bench: Bench, …)";
        return Err(Error::new(function.sig.paren_token.span.join(), what));
    }
    let parameter = |input: &FnArg| match input {
        FnArg::Typed(typed) => match &*typed.pat {
            Pat::Ident(pattern) => Ok(BenchParameter {
                name: pattern.ident.clone(),
                ty: (*typed.ty).clone(),
                values: Vec::new(),
            }),
            other => Err(Error::new(
                other.span(),
                "a parameter of a benchmark has a name",
            )),
        },
        FnArg::Receiver(receiver) => Err(Error::new(
            receiver.span(),
            "a benchmark is no method: it takes no `self`",
        )),
    };
    if let Some(FnArg::Receiver(receiver)) = inputs.first() {
        return Err(Error::new(
            receiver.span(),
            "a benchmark is no method: it takes no `self`",
        ));
    }
    inputs.iter().skip(1).map(parameter).collect()
}

fn set_values(parameters: &mut [BenchParameter], key: &Ident, values: Vec<Expr>) -> Result<()> {
    let names: Vec<String> = parameters.iter().map(|one| one.name.to_string()).collect();
    let wanted = match parameters {
        [only] if key == "args" => Some(only),
        _ => parameters.iter_mut().find(|one| one.name == *key),
    };
    let Some(parameter) = wanted else {
        let what = match (key == "args", names.as_slice()) {
            (_, []) => format!("`{key}` needs a parameter after the first one"),
            (true, _) => format!(
                "`args` is for one parameter; here are several: {} = […]",
                names.join(" = […], ")
            ),
            (false, _) => {
                let known = names.iter().map(String::as_str).chain(["name", "types"]);
                match suggest::nearest(&key.to_string(), known) {
                    Some(near) => format!("no parameter is called `{key}`; did you mean `{near}`?"),
                    None => format!(
                        "no parameter is called `{key}`; accepted: name, types, {}",
                        names.join(", ")
                    ),
                }
            }
        };
        return Err(Error::new(key.span(), what));
    };
    if !parameter.values.is_empty() {
        return Err(Error::new(
            key.span(),
            format!("`{key}` has its values already"),
        ));
    }
    parameter.values = values;
    Ok(())
}

fn entry(
    function: &ItemFn,
    title: Option<LitStr>,
    types: &[Type],
    parameters: &[BenchParameter],
) -> TokenStream {
    let name = &function.sig.ident;
    let title = title.unwrap_or_else(|| LitStr::new(&name.to_string(), name.span()));
    let support = quote!(::gpuprof::bench::registry);
    let shown_types = types
        .iter()
        .map(|ty| quote!(#ty).to_string().replace(' ', ""));
    let axes = parameters
        .iter()
        .map(|BenchParameter { name, ty, values }| {
            let name = name.to_string();
            quote! {
                #support::Axis::new(#name, {
                    let values: ::std::vec::Vec<#ty> = ::std::vec![#(#values),*];
                    values.iter().map(|value| ::std::format!("{value:?}")).collect()
                })
            }
        });
    let numbers = 0..parameters.len();
    let locals: Vec<Ident> = (0..parameters.len())
        .map(|number| Ident::new(&format!("argument_{number}"), Span::mixed_site()))
        .collect();
    let values = parameters.iter().zip(&locals).zip(numbers).map(
        |((BenchParameter { ty, values, .. }, local), number)| {
            quote! {
                let values: ::std::vec::Vec<#ty> = ::std::vec![#(#values),*];
                let ::core::option::Option::Some(#local) =
                    values.into_iter().nth(at.get(#number).copied().unwrap_or(0))
                else {
                    return #support::no_value();
                };
            }
        },
    );
    let call = match types {
        [] => quote!(#support::Returned::into_found(#name(bench #(, #locals)*))),
        types => {
            let arms = types.iter().enumerate().map(|(number, ty)| {
                let call = quote!(#name::<#ty>(bench #(, #locals)*));
                quote!(#number => #support::Returned::into_found(#call))
            });
            quote! {
                match at_type {
                    #(#arms,)*
                    _ => #support::no_value(),
                }
            }
        }
    };
    quote! {
        const _: () = {
            #support::inventory::submit! {
                #support::BenchmarkEntry {
                    name: #title,
                    module: ::core::module_path!(),
                    types: &[#(#shown_types),*],
                    axes: || ::std::vec![#(#axes),*],
                    run: |bench, at_type, at| {
                        let _ = (at_type, at);
                        #(#values)*
                        #call
                    },
                }
            }
        };
    }
}
