//! Finds the names that a function's parameters bind, in order: the values that may have a stream.

use proc_macro2::Ident;
use syn::{Attribute, FnArg, Pat, Signature};

/// One name that the body can use, `self` included.
pub(crate) struct Binding {
    /// The `#[cfg]`s of its parameter, without which the name does not exist.
    pub(crate) cfgs: Vec<Attribute>,
    pub(crate) ident: Ident,
    /// Bound by `ref`: it refers to a part of a parameter that the call may own.
    pub(crate) by_ref: bool,
}

/// Every name bound by the parameters, the receiver first.
pub(crate) fn bindings(signature: &Signature) -> Vec<Binding> {
    let mut found = Vec::new();
    for input in &signature.inputs {
        let (attrs, mut names) = match input {
            FnArg::Receiver(receiver) => {
                let this = Ident::new("self", receiver.self_token.span);
                (&receiver.attrs, vec![(this, false)])
            }
            FnArg::Typed(typed) => (&typed.attrs, names(&typed.pat)),
        };
        let cfgs: Vec<Attribute> = attrs
            .iter()
            .filter(|attr| attr.path().is_ident("cfg"))
            .cloned()
            .collect();
        found.extend(names.drain(..).map(|(ident, by_ref)| Binding {
            cfgs: cfgs.clone(),
            ident,
            by_ref,
        }));
    }
    found
}

/// The names that a pattern binds.
pub(crate) fn bindings_in_pattern(pattern: &Pat) -> Vec<Ident> {
    let names = names(pattern).into_iter();
    names.map(|(ident, _)| ident).collect()
}

/// The names that a pattern binds, and whether by `ref`. `_`, literals and paths bind nothing. All
/// sides of `a | b` bind the same names, so the first suffices.
fn names(pattern: &Pat) -> Vec<(Ident, bool)> {
    match pattern {
        Pat::Ident(name) => {
            let mut found = vec![(name.ident.clone(), name.by_ref.is_some())];
            if let Some((_, inner)) = &name.subpat {
                found.extend(names(inner));
            }
            found
        }
        Pat::Paren(inner) => names(&inner.pat),
        Pat::Reference(inner) => names(&inner.pat),
        Pat::Type(inner) => names(&inner.pat),
        Pat::Or(sides) => sides.cases.first().map(names).unwrap_or_default(),
        Pat::Tuple(tuple) => names_in_all(tuple.elems.iter()),
        Pat::TupleStruct(tuple) => names_in_all(tuple.elems.iter()),
        Pat::Slice(slice) => names_in_all(slice.elems.iter()),
        Pat::Struct(fields) => names_in_all(fields.fields.iter().map(|field| &*field.pat)),
        _ => Vec::new(),
    }
}

fn names_in_all<'a>(patterns: impl Iterator<Item = &'a Pat>) -> Vec<(Ident, bool)> {
    patterns.flat_map(names).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_binding_is_found_in_order() {
        let signature = "fn f(mut self: Box<Self>, a: A, _: B, (ref b, [c, .., 3]): C, \
                         S { d, e: Some(f), .. }: S, g @ (h, _): D, (V(i) | W(i)): E, &r#type: &F)";
        let signature: syn::Signature = syn::parse_str(signature).unwrap();
        let found: Vec<String> = super::bindings(&signature)
            .iter()
            .map(|found| found.ident.to_string())
            .collect();
        assert_eq!(found.join(" "), "self a b c d f g h i r#type");
    }
}
