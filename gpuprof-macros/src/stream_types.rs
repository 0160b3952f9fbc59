//! Whether a parameter is written as one of cudarc's types that have a stream. If such a function
//! never has one, the type is of another version of cudarc than gpuprof's.

use syn::{FnArg, GenericArgument, PathArguments, Signature, Type};

/// What cudarc calls its types that have a stream.
const STREAM_TYPES: [&str; 4] = ["CudaStream", "CudaSlice", "CudaView", "CudaViewMut"];
/// Pointers that have the stream of what they point to, always.
const POINTERS: [&str; 4] = ["Arc", "Rc", "Box", "Pin"];

/// Whether a parameter has such a type, by its spelling.
pub(crate) fn names_stream(signature: &Signature) -> bool {
    signature.inputs.iter().any(|input| match input {
        FnArg::Typed(typed) => is_stream(&typed.ty),
        FnArg::Receiver(_) => false,
    })
}

fn is_stream(of: &Type) -> bool {
    match of {
        Type::Reference(reference) => is_stream(&reference.elem),
        Type::Paren(inner) => is_stream(&inner.elem),
        Type::Group(inner) => is_stream(&inner.elem),
        Type::Path(path) => {
            let Some(last) = path.path.segments.last() else {
                return false;
            };
            let is_one_of = |names: &[&str]| names.iter().any(|name| last.ident == name);
            match &last.arguments {
                PathArguments::AngleBracketed(inner) if is_one_of(&POINTERS) => {
                    inner.args.iter().any(|argument| match argument {
                        GenericArgument::Type(inner) => is_stream(inner),
                        _ => false,
                    })
                }
                _ => is_one_of(&STREAM_TYPES),
            }
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::names_stream;

    #[test]
    fn cudarcs_types_are_known_by_their_spelling() {
        for (written, found) in [
            ("&CudaStream", true),
            ("Arc<driver::CudaStream>", true),
            ("&mut old::CudaSlice<f32>", true),
            ("Option<&CudaStream>", false),
            ("&[CudaSlice<f32>]", false),
            ("Vec<Arc<CudaStream>>", false),
            ("Arc<Model>", false),
        ] {
            let signature = syn::parse_str(&format!("fn f(&self, n: u32, x: {written})"));
            assert_eq!(names_stream(&signature.unwrap()), found, "{written}");
        }
    }
}
