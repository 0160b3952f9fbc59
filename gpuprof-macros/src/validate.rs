//! Checks where the attribute is and whether its arguments fit together there. Every message is on
//! the token that is wrong and says what is accepted.

use crate::argument_list::RawArgument;
use crate::argument_table::{self, AttributeTarget};
use crate::argument_values::Args;
use crate::errors::Errors;
use crate::parsed_item::{ContainerKind, Item};
use crate::suggest;
use proc_macro2::{Ident, TokenTree};
use syn::{Attribute, Error};

pub(crate) fn is_gpu_profile(attribute: &Attribute) -> bool {
    attribute
        .path()
        .segments
        .last()
        .is_some_and(|last| last.ident == "gpu_profile")
}

/// What the attribute is on; `None` and an error if it may not be on this item.
pub(crate) fn target(item: &Item, errors: &mut Errors) -> Option<AttributeTarget> {
    for again in item
        .attrs()
        .iter()
        .filter(|attribute| is_gpu_profile(attribute))
    {
        let what = "`#[gpu_profile]` is given twice; put all arguments into one";
        errors.push(Error::new_spanned(again, what));
    }
    match item {
        Item::Function(function) => {
            if let Some(constant) = &function.sig.constness {
                let what = "a `const fn` also runs in the compiler, where there is nothing to \
                            measure; remove `const` or the attribute";
                errors.push(Error::new(constant.span, what));
            }
            Some(AttributeTarget::Function)
        }
        Item::Container(container) if container.kind != ContainerKind::Trait => {
            Some(AttributeTarget::Block)
        }
        Item::Container(container) => {
            let hint = "a `trait`; put it on its methods that have a body";
            errors.push(misplaced(&container.keyword, hint));
            None
        }
        Item::Other(other) => {
            let hint = match other.keyword.to_string().as_str() {
                "fn" => "a function without a body".to_owned(),
                "mod" => "a `mod` in another file; put it on the functions there".to_owned(),
                word @ ("enum" | "extern") => format!("an `{word}`"),
                "let" => "a `let`; begin the body of a closure with `gpuprof::scope!(\"name\");`"
                    .to_owned(),
                "|" | "move" => {
                    "a closure; begin its body with `gpuprof::scope!(\"name\");`".to_owned()
                }
                _ if other.is_expression() => {
                    "a part of a function; put `gpuprof::scope!(\"name\");` into it".to_owned()
                }
                word if word.starts_with(char::is_alphabetic) => format!("a `{word}`"),
                sign => format!("`{sign}`"),
            };
            errors.push(misplaced(&other.keyword, &hint));
            None
        }
    }
}

fn misplaced(keyword: &TokenTree, what: &str) -> Error {
    let rule = "`#[gpu_profile]` goes on a function with a body, an inline `mod` or an `impl` \
                block, not on";
    Error::new(keyword.span(), format!("{rule} {what}"))
}

/// Checks each argument by itself and all of them together.
pub(crate) fn arguments(
    written: &[RawArgument],
    target: Option<AttributeTarget>,
    errors: &mut Errors,
) -> Args {
    let mut args = Args::default();
    for (index, argument) in written.iter().enumerate() {
        let key = &argument.key;
        if written[..index].iter().any(|earlier| earlier.key == *key) {
            errors.push(Error::new(key.span(), format!("`{key}` is given twice")));
        } else if is_accepted(key, target, errors) {
            errors.record(args.set(argument));
        }
    }
    check_combination(written, errors);
    args
}

/// Whether this target takes an argument of this name.
fn is_accepted(key: &Ident, target: Option<AttributeTarget>, errors: &mut Errors) -> bool {
    let name = key.to_string();
    let what = match argument_table::is_for_blocks(&name) {
        None if name == "graph" => "unknown argument `graph`: replayed kernels are attributed by \
             CUPTI, without an argument; run the program with `GPUPROF_CUPTI=on`"
            .to_owned(),
        None => {
            let hint = suggest::nearest(&name, argument_table::names())
                .map(|near| format!(", did you mean `{near}`?"))
                .unwrap_or_default();
            let list = argument_table::list(target);
            format!("unknown argument `{name}`{hint}\naccepted: {list}")
        }
        Some(_) if name == "skip" => {
            "`skip` is used without other arguments, on a function or block inside an annotated \
             `mod` or `impl`"
                .to_owned()
        }
        Some(false) if target == Some(AttributeTarget::Block) => format!(
            "`{name}` belongs on a single function; a `mod` or `impl` takes: {}",
            argument_table::list(target)
        ),
        Some(_) => return true,
    };
    errors.push(Error::new(key.span(), what));
    false
}

fn check_combination(written: &[RawArgument], errors: &mut Errors) {
    let find = |name: &str| written.iter().find(|argument| argument.key == name);
    if let (Some(precision), None) = (find("precision"), find("flops")) {
        let what = "`precision` says what `flops` are computed in; add `flops = EXPR`";
        errors.push(Error::new(precision.key.span(), what));
    }
    if !written.iter().any(|argument| argument.key == "cpu") {
        return;
    }
    let about_gpu = ["stream", "sample"];
    for other in written
        .iter()
        .filter(|argument| about_gpu.iter().any(|name| argument.key == name))
    {
        let what = format!(
            "`{}` is about GPU time, which `cpu` turns off; keep one of the two",
            other.key
        );
        errors.push(Error::new(other.key.span(), what));
    }
}
