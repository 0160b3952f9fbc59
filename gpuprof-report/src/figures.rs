//! How the structs of a profile are declared: each figure once, with its name, its type, its
//! meaning, and what is done with it.

/// Declares a struct of a profile, or of what a viewer reads, of fields
/// `pub NAME: TYPE [= RULE] [, column(GROUP, MEANING)] [, json(flatten)] [, unless default];`.
///
/// The end of a name is its unit: `_ns`, `_bytes`, `_per_s`.
///
/// `RULE` says what the field of several profiles, merged, is. Either all fields have one, and the
/// struct is a [`Sum`], or none has.
///
/// | rule | the field of a merged profile |
/// |---|---|
/// | `sum` | their [`Sum`] |
/// | `max`, `min` | the largest; the smallest that is known |
/// | `any`, `all` | whether it holds for any of them; for all of them |
/// | `first` | the first that is not the default |
/// | `union` | what is in any of them, without repeats |
/// | `special` | decided in `merge/` |
///
/// `column` gives the field a column of its name in the tables of `GROUP`, in CSV and in Parquet;
/// see [`HasColumns`](crate::columns::HasColumns).
///
/// In JSON a field has its name. `json(flatten)` writes the fields of the field in its place, and
/// `unless default` omits the field if it holds its default. With the feature `serde` the struct is
/// read and written by serde in the same way, and tests describe it in the schema.
macro_rules! figures {
    (@add sum, $sum:expr, $more:expr) => {
        $crate::figures::Sum::add(&mut $sum, &$more)
    };
    (@add max, $sum:expr, $more:expr) => {
        $sum = $sum.max($more)
    };
    (@add min, $sum:expr, $more:expr) => {
        $sum = [$sum, $more].into_iter().flatten().min()
    };
    (@add any, $sum:expr, $more:expr) => {
        $sum |= $more
    };
    (@add all, $sum:expr, $more:expr) => {
        $sum &= $more
    };
    (@add first, $sum:expr, $more:expr) => {
        if $crate::figures::is_default(&$sum) {
            $sum.clone_from(&$more);
        }
    };
    (@add union, $sum:expr, $more:expr) => {
        for more in &$more {
            if !$sum.contains(more) {
                $sum.push(more.clone());
            }
        }
    };
    (@add special, $sum:expr, $more:expr) => {};

    (@each_sum sum, $each:ident, $name:ident, $value:expr) => {
        $crate::figures::Sum::each_sum(&$value, stringify!($name), $each)
    };
    (@each_sum $rule:ident, $each:ident, $name:ident, $value:expr) => {};

    (@write $fields:ident, $name:ident, $value:expr) => {
        $fields.field(stringify!($name), &$value)
    };
    (@write $fields:ident, $name:ident, $value:expr, flatten) => {
        $crate::json_writer::JsonObject::write_fields(&$value, $fields)
    };
    (@write $fields:ident, $name:ident, $value:expr $(, $flatten:ident)?; unless default) => {
        if !$crate::figures::is_default(&$value) {
            $crate::figures::figures!(@write $fields, $name, $value $(, $flatten)?);
        }
    };

    // With rules.
    (
        $(#[$attribute:meta])*
        pub struct $struct:ident {
            $(
                $(#[$field_attribute:meta])*
                pub $field:ident: $type:ty = $rule:ident
                $(, column($group:ident, $meaning:literal))?
                $(, json($json:ident))? $(, unless $default:ident)?;
            )*
        }
    ) => {
        $crate::figures::figures! {
            $(#[$attribute])*
            pub struct $struct {
                $(
                    $(#[$field_attribute])*
                    pub $field: $type $(, json($json))? $(, unless $default)?;
                )*
            }
        }

        impl $crate::figures::Sum for $struct {
            fn add(&mut self, more: &Self) {
                $($crate::figures::figures!(@add $rule, self.$field, more.$field);)*
            }

            fn each_sum(&self, _: &'static str, each: &mut dyn FnMut(&'static str, u64)) {
                $($crate::figures::figures!(@each_sum $rule, each, $field, self.$field);)*
            }
        }

        impl $crate::columns::HasColumns for $struct {
            const COLUMNS: &'static [$crate::columns::FigureColumn<Self>] = &[$($(
                $crate::columns::FigureColumn {
                    group: $crate::columns::ColumnGroup::$group,
                    name: stringify!($field),
                    meaning: $meaning,
                    kind: <$type as $crate::columns::ColumnNumber>::KIND,
                    value: |row| $crate::columns::ColumnNumber::value(&row.$field),
                },
            )?)*];
        }
    };

    // Without rules.
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

        impl $crate::json_writer::JsonObject for $struct {
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

/// A figure that can be added over profiles, or over the rows of one.
pub(crate) trait Sum {
    /// Adds `more`. A whole number stays at the largest one; the fields of a struct follow their
    /// rules.
    fn add(&mut self, more: &Self);

    /// Calls `each` for every 64-bit number that [`add`](Self::add) adds up, with the name of its
    /// field, in the same order for all values. `name` is the field that this one is in.
    fn each_sum(&self, name: &'static str, each: &mut dyn FnMut(&'static str, u64));
}

impl Sum for u64 {
    fn add(&mut self, more: &Self) {
        *self = self.saturating_add(*more);
    }

    fn each_sum(&self, name: &'static str, each: &mut dyn FnMut(&'static str, u64)) {
        each(name, *self);
    }
}

impl Sum for u32 {
    fn add(&mut self, more: &Self) {
        *self = self.saturating_add(*more);
    }

    fn each_sum(&self, _: &'static str, _: &mut dyn FnMut(&'static str, u64)) {}
}

impl Sum for f64 {
    fn add(&mut self, more: &Self) {
        *self += more;
    }

    fn each_sum(&self, _: &'static str, _: &mut dyn FnMut(&'static str, u64)) {}
}

/// The sum of those that are known.
impl<T: Sum + Default> Sum for Option<T> {
    fn add(&mut self, more: &Self) {
        if let Some(more) = more {
            self.get_or_insert_default().add(more);
        }
    }

    fn each_sum(&self, name: &'static str, each: &mut dyn FnMut(&'static str, u64)) {
        match self {
            Some(value) => value.each_sum(name, each),
            None => T::default().each_sum(name, each),
        }
    }
}

#[cfg(test)]
#[expect(unreachable_pub, reason = "structs of a profile are public")]
mod tests {
    use super::Sum;
    use crate::json_writer::document;

    figures! {
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Inner {
            pub calls: u64 = sum;
        }
    }

    figures! {
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Row {
            pub name: String = first;
            pub ns: u64 = sum, unless default;
            pub bytes: Option<f64> = sum;
            pub inner: Option<Inner> = sum;
            pub flat: Inner = sum, json(flatten), unless default;
            pub longest: u64 = max;
            pub clock: Option<u32> = min;
            pub is_partial: bool = any;
            pub is_exact: bool = all;
            pub reasons: Vec<u32> = union;
            pub mean: u64 = special;
        }
    }

    fn row(name: &str, ns: u64, clock: Option<u32>, reasons: &[u32]) -> Row {
        Row {
            name: name.to_owned(),
            ns,
            bytes: (ns > 2).then_some(0.5),
            inner: (ns > 2).then_some(Inner { calls: 3 }),
            flat: Inner { calls: ns },
            longest: ns,
            clock,
            is_partial: ns > 2,
            is_exact: ns > 2,
            reasons: reasons.to_vec(),
            mean: ns,
        }
    }

    #[test]
    fn fields_are_added_by_their_rules() {
        let mut sum = row("", 2, None, &[7, 9]);
        sum.add(&row("a", u64::MAX, Some(5), &[9, 4]));
        sum.add(&row("b", 1, Some(8), &[]));
        let expected = Row {
            name: "a".to_owned(),
            ns: u64::MAX,
            bytes: Some(0.5),
            inner: Some(Inner { calls: 3 }),
            flat: Inner { calls: u64::MAX },
            longest: u64::MAX,
            clock: Some(5),
            is_partial: true,
            is_exact: false,
            reasons: vec![7, 9, 4],
            mean: 2,
        };
        assert_eq!(sum, expected);
    }

    #[test]
    fn each_sum_is_that_of_nested_structs_too() {
        let sums = |row: &Row| {
            let mut sums = Vec::new();
            row.each_sum("row", &mut |name, value| sums.push((name, value)));
            sums
        };
        let four = sums(&row("a", 4, None, &[]));
        assert_eq!(four, [("ns", 4), ("calls", 3), ("calls", 4)]);
        let one = sums(&row("a", 1, None, &[]));
        assert_eq!(one, [("ns", 1), ("calls", 0), ("calls", 1)]);
    }

    #[test]
    fn the_document_has_every_field_but_defaults_that_may_be_omitted() {
        let names = |row: &Row| {
            let text = document(row);
            let keys = text
                .lines()
                .filter_map(|line| line.trim().split_once("\": "));
            let names: Vec<String> = keys.map(|(key, _)| key.replace('"', "")).collect();
            names.join(" ")
        };
        let always = "longest clock is_partial is_exact reasons mean";
        let filled = row("a", 1, None, &[]);
        assert_eq!(
            names(&filled),
            format!("name ns bytes inner calls {always}")
        );
        let omitted = format!("name bytes inner {always}");
        assert_eq!(names(&Row::default()), omitted);
    }
}
