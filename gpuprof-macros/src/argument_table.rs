//! The table of the attribute's arguments, and the texts that list what is accepted.

use proc_macro2::Ident;

/// What the attribute is on.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum AttributeTarget {
    Function,
    /// `mod` or `impl`.
    Block,
}

struct KnownArgument {
    name: &'static str,
    /// How it is written.
    form: &'static str,
    /// Whether a block of functions takes it too.
    in_block: bool,
}

const fn argument(name: &'static str, form: &'static str, in_block: bool) -> KnownArgument {
    KnownArgument {
        name,
        form,
        in_block,
    }
}

/// Every argument. The tables in the documentation are compared with this one.
const ARGUMENTS: [KnownArgument; 15] = [
    argument("name", "name = \"conv/forward\"", false),
    argument("stream", "stream = EXPR", true),
    argument("cpu", "cpu", true),
    argument("bytes", "bytes = EXPR", false),
    argument("flops", "flops = EXPR", false),
    argument("precision", "precision = f16_tensor", false),
    argument("items", "items = EXPR", false),
    argument("label", "label = EXPR", false),
    argument("args", "args(EXPR, name = EXPR)", false),
    argument("payload", "payload = EXPR", false),
    argument("color", "color = 0x76B900", true),
    argument("category", "category = \"forward\"", true),
    argument("sample", "sample = N", true),
    argument("skip", "skip", false),
    argument("crate", "crate = path", true),
];

/// The words that `precision` takes, and the variants of `gpuprof_report::profile::Precision`.
pub(crate) const PRECISIONS: [(&str, &str); 9] = [
    ("f64", "F64"),
    ("f32", "F32"),
    ("f16", "F16"),
    ("f64_tensor", "F64Tensor"),
    ("tf32_tensor", "Tf32Tensor"),
    ("f16_tensor", "F16Tensor"),
    ("bf16_tensor", "Bf16Tensor"),
    ("f8_tensor", "F8Tensor"),
    ("i8_tensor", "I8Tensor"),
];

pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    ARGUMENTS.iter().map(|argument| argument.name)
}

/// Whether a block takes the argument; `None` if no such argument exists.
pub(crate) fn is_for_blocks(name: &str) -> Option<bool> {
    let argument = ARGUMENTS.iter().find(|argument| argument.name == name)?;
    Some(argument.in_block)
}

/// The arguments that this target takes, as one line of text; without a target, those of a
/// function.
pub(crate) fn list(target: Option<AttributeTarget>) -> String {
    let is_taken = |argument: &&KnownArgument| match target {
        Some(AttributeTarget::Block) => argument.in_block,
        _ => argument.name != "skip",
    };
    let forms: Vec<String> = ARGUMENTS
        .iter()
        .filter(is_taken)
        .map(|argument| format!("`{}`", argument.form))
        .collect();
    forms.join(", ")
}

/// What the argument takes as its value, with an example.
pub(crate) fn usage(key: &Ident) -> String {
    match key.to_string().as_str() {
        "name" => "`name` takes a string: `name = \"conv/forward\"`".to_owned(),
        "category" => "`category` takes a string: `category = \"forward\"`".to_owned(),
        "stream" => {
            "`stream` takes an expression that has a stream, or several: `stream = self.stream`, \
             `stream = [a, b]`"
                .to_owned()
        }
        "cpu" => "`cpu` takes no value".to_owned(),
        "precision" => format!(
            "`precision` takes what `flops` are computed in, one of {}: `precision = f16_tensor`",
            PRECISIONS.map(|(word, _)| word).join(", ")
        ),
        "color" => {
            "`color` takes a number from 0 to 0xFFFFFF, red, green, blue: `color = 0x76B900`"
                .to_owned()
        }
        "sample" => {
            "`sample` takes a whole number N of at least 1, to time one call in N: `sample = 100`"
                .to_owned()
        }
        "crate" => "`crate` takes the path to gpuprof: `crate = my_crate::gpuprof`".to_owned(),
        "label" => "`label` takes an integer or a string slice, which tells calls apart: \
             `label = self.index`"
            .to_owned(),
        "args" => "`args` takes a list of values, which may have names: `args(batch, x.len(), \
             rows = m.rows())`"
            .to_owned(),
        "payload" => {
            "`payload` takes an integer or a floating-point number: `payload = x.len()`".to_owned()
        }
        _ => format!("`{key}` takes a number, how many in one call: `{key} = 4 * x.len()`"),
    }
}

#[cfg(test)]
mod tests {
    use super::ARGUMENTS;

    /// The forms in the first column of the table whose heading begins with `| argument |`.
    fn documented(page: &str) -> Vec<String> {
        let lines = page
            .lines()
            .map(|line| line.trim_start_matches("///").trim());
        let table = lines
            .skip_while(|line| !line.starts_with("| argument"))
            .skip(2)
            .take_while(|line| line.starts_with('|'));
        let forms = table.flat_map(|row| {
            let cell = row.split('|').nth(1).unwrap();
            cell.split('`').skip(1).step_by(2)
        });
        forms.map(str::to_owned).collect()
    }

    #[test]
    fn the_documentation_lists_every_argument_in_its_form() {
        let mut forms = ARGUMENTS.map(|argument| argument.form.to_owned());
        forms.sort();
        for (name, page) in [
            ("src/lib.rs", include_str!("../../src/lib.rs")),
            ("docs/attribute.md", include_str!("../../docs/attribute.md")),
        ] {
            let mut documented = documented(page);
            documented.sort();
            assert_eq!(documented, forms, "{name}");
        }
    }
}
