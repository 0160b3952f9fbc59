//! How the structs of a profile are declared: each figure once, with its name, its type, its
//! meaning, and how outputs take it.

/// Declares a struct of a profile: `pub FIELD: TYPE [, json(flatten)] [, unless default];`.
///
/// In JSON a field has its name. `json(flatten)` writes the fields of the field in its place, and
/// `unless default` omits the field if it holds its default. With the feature `serde` the struct is
/// read and written by serde in the same way, and tests describe it in the schema.
macro_rules! figures {
    (@write $fields:ident, $name:ident, $value:expr) => {
        $fields.field(stringify!($name), &$value)
    };
    (@write $fields:ident, $name:ident, $value:expr, flatten) => {
        $crate::json_writer::Object::write_fields(&$value, $fields)
    };
    (@write $fields:ident, $name:ident, $value:expr $(, $flatten:ident)?; unless default) => {
        if !$crate::figures::is_default(&$value) {
            $crate::figures::figures!(@write $fields, $name, $value $(, $flatten)?);
        }
    };
    (
        $(#[$attribute:meta])*
        pub struct $struct:ident {
            $(
                $(#[$field_attribute:meta])*
                pub $field:ident: $type:ty $(, json($json:ident))? $(, unless $default:ident)?;
            )*
        }
    ) => {
        $(#[$attribute])*
        #[cfg_attr(
            feature = "serde",
            derive(serde::Serialize, serde::Deserialize),
            serde(default)
        )]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        pub struct $struct {
            $(
                $(#[$field_attribute])*
                $(#[cfg_attr(feature = "serde", serde($json))])?
                $(
                    #[cfg_attr(
                        feature = "serde",
                        serde($default, skip_serializing_if = "crate::figures::is_default")
                    )]
                )?
                pub $field: $type,
            )*
        }

        impl $crate::json_writer::Object for $struct {
            fn write_fields(&self, fields: &mut $crate::json_writer::Fields<'_>) {
                $(
                    $crate::figures::figures!(
                        @write fields, $field, self.$field $(, $json)? $(; unless $default)?
                    );
                )*
            }
        }
    };
}

pub(crate) use figures;

/// Whether a field may be omitted.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
