//! Short names that tell the kernels of a profile apart.
//!
//! Kernels of equal short names keep the template arguments in which they differ, from the first
//! one on, if there is room. What is left gets a number.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::outline::{LIST, Outline, arguments, outline_of_argument, without_namespaces};
use super::short::outline;
use crate::collectives::Collective;
use crate::sorting::sort_by_key;

/// Limit of the characters of a name with arguments,
const MAX_CHARS: usize = 60;
/// of which arguments may take so many in any case.
const MIN_ARGUMENT_CHARS: usize = 24;
/// Limit of the lists inside one another in which a difference is looked for.
const MAX_DEPTH: u32 = 8;

/// The short names of a profile's kernels by their full names. No two are equal, and each depends
/// on nothing but the full names, unless two of these are equal.
#[must_use]
pub fn short_names(full: &[&str]) -> Vec<String> {
    let outlines: Vec<Outline<'_>> = full.iter().map(|full| outline(full)).collect();
    let mut names: Vec<String> = outlines.iter().map(|short| short.text.clone()).collect();
    for (text, same) in groups(outlines.iter().map(|short| short.text.as_str())) {
        if same.len() > 1 && text.contains(LIST) {
            let outlines: Vec<_> = same.iter().filter_map(|at| outlines.get(*at)).collect();
            let chars = text.chars().count() + MIN_ARGUMENT_CHARS;
            let room = Room {
                chars: chars.max(MAX_CHARS),
                innermost_chars: 0,
                depth: 0,
            };
            let told = tell_apart(text, &outlines, room);
            for (at, told) in same.iter().zip(told) {
                if let Some(name) = names.get_mut(*at) {
                    *name = told.text;
                }
            }
        }
    }
    for (name, full) in names.iter_mut().zip(full) {
        if let Some(collective) = Collective::of_kernel(full) {
            *name = collective.to_string();
        }
    }
    number(&mut names, full);
    names
}

/// Adds a number to all but the first of equal names, in order of the full names.
fn number(names: &mut [String], full: &[&str]) {
    let equal: Vec<Vec<usize>> = groups(names.iter().map(String::as_str))
        .into_values()
        .filter(|same| same.len() > 1)
        .collect();
    for mut same in equal {
        sort_by_key(&mut same, |at| full.get(*at));
        for (number, at) in (1..).zip(same).skip(1) {
            if let Some(name) = names.get_mut(at) {
                *name += &format!(" #{number}");
            }
        }
    }
}

/// The indices of each text.
fn groups<'a>(texts: impl Iterator<Item = &'a str>) -> BTreeMap<&'a str, Vec<usize>> {
    let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, text) in texts.enumerate() {
        groups.entry(text).or_default().push(index);
    }
    groups
}

/// What a text may take.
#[derive(Clone, Copy)]
struct Room {
    chars: usize,
    /// If only the innermost arguments are shown; 0 for a name, which is shown in full.
    innermost_chars: usize,
    /// Lists around the text.
    depth: u32,
}

impl Room {
    /// That of the arguments of a text.
    fn inside(self, parts: &[&str]) -> Self {
        let around = parts.iter().map(|part| part.chars().count()).sum();
        let chars = self.chars.saturating_sub(around);
        Self {
            chars,
            innermost_chars: if self.depth > 0 {
                self.innermost_chars
            } else {
                chars
            },
            depth: self.depth + 1,
        }
    }

    fn admits(self, told: &Told) -> bool {
        told.text.chars().count() <= self.chars
            || told.innermost.chars().count() <= self.innermost_chars
    }
}

/// A text with the arguments in which it differs from others of its outline.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Told {
    text: String,
    /// Only the innermost of these arguments.
    innermost: String,
}

impl Told {
    fn plain(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            innermost: text.to_owned(),
        }
    }
}

/// One of several texts with the same outline.
struct Member<'a> {
    lists: Vec<Vec<&'a str>>,
    /// By list and argument, in this order.
    kept: Vec<((usize, usize), Told)>,
    told: Told,
    /// Members of one class are not yet told apart.
    class: usize,
}

impl<'a> Member<'a> {
    /// Empty beyond the last one.
    fn argument(&self, (list, index): (usize, usize)) -> &'a str {
        let argument = self.lists.get(list).and_then(|list| list.get(index));
        argument.copied().unwrap_or_default()
    }

    fn keep(&mut self, position: (usize, usize), told: Told, parts: &[&str], room: Room) {
        self.kept.push((position, told));
        let told = self.tell(parts, room);
        if room.admits(&told) {
            self.told = told;
        } else {
            self.kept.pop();
        }
    }

    /// `outline<…, 64, …>` with the kept arguments, or `outline<…64…>` if that is too long.
    fn tell(&self, parts: &[&str], room: Room) -> Told {
        let mut innermost = String::new();
        for (at, (_, told)) in self.kept.iter().enumerate() {
            innermost += if at > 0 { "…" } else { "" };
            innermost += &told.innermost;
        }
        let text = with_lists(parts, |list, text| self.write_list(list, text));
        if text.chars().count() <= room.chars {
            return Told { text, innermost };
        }
        let first = self.kept.first().map(|((list, _), _)| *list);
        let text = with_lists(parts, |list, text| {
            text.push('…');
            if first == Some(list) {
                *text += &innermost;
                text.push('…');
            }
        });
        Told { text, innermost }
    }

    fn write_list(&self, list: usize, text: &mut String) {
        let arguments = self.lists.get(list).map_or(0, Vec::len);
        let mut is_left_out = false;
        for index in 0..arguments {
            let kept = self.kept.iter().find(|(at, _)| *at == (list, index));
            if kept.is_none() && is_left_out {
                continue;
            }
            is_left_out = kept.is_none();
            *text += if index > 0 { ", " } else { "" };
            *text += kept.map_or("…", |(_, told)| &told.text);
        }
    }
}

/// The parts of an outline with what is written between them.
fn with_lists(parts: &[&str], write: impl Fn(usize, &mut String)) -> String {
    let mut text = String::with_capacity(2 * MAX_CHARS);
    for (at, part) in parts.iter().enumerate() {
        if let Some(list) = at.checked_sub(1) {
            text.push('<');
            write(list, &mut text);
            text.push('>');
        }
        text += part;
    }
    text
}

/// Shows texts of one outline with the arguments in which they differ, as long as there is room.
fn tell_apart(outline: &str, texts: &[&Outline<'_>], room: Room) -> Vec<Told> {
    let mut members: Vec<Member<'_>> = texts
        .iter()
        .map(|text| Member {
            lists: text.lists.iter().map(|list| arguments(list)).collect(),
            kept: Vec::new(),
            told: Told::plain(outline),
            class: 0,
        })
        .collect();
    let parts: Vec<&str> = outline.split(LIST).collect();
    let mut classes = 1;
    for list in 0..parts.len() - 1 {
        let lengths = members.iter().filter_map(|member| member.lists.get(list));
        let longest = lengths.map(Vec::len).max().unwrap_or(0);
        for index in 0..longest {
            if classes == members.len() {
                break;
            }
            classes = keep(&mut members, (list, index), &parts, room);
        }
    }
    members.into_iter().map(|member| member.told).collect()
}

/// Lets members that differ from others of their class keep the argument of one position, if it
/// fits. Returns the number of classes.
fn keep(members: &mut [Member<'_>], position: (usize, usize), parts: &[&str], room: Room) -> usize {
    let mut by_class: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (at, member) in members.iter().enumerate() {
        by_class.entry(member.class).or_default().push(at);
    }
    let before = by_class.len();
    for class in by_class.into_values() {
        let of_class = class.iter().filter_map(|at| members.get(*at));
        let arguments: Vec<&str> = of_class.map(|member| member.argument(position)).collect();
        if are_equal(&arguments) {
            continue;
        }
        let told = tell_arguments(&arguments, room.inside(parts));
        if are_equal(&told) {
            continue;
        }
        for (at, told) in class.iter().zip(told) {
            if let Some(member) = members.get_mut(*at) {
                member.keep(position, told, parts, room);
            }
        }
    }
    let texts = groups(members.iter().map(|member| member.told.text.as_str()));
    let classes: Vec<Vec<usize>> = texts.into_values().collect();
    for (class, same) in classes.iter().enumerate() {
        for at in same {
            if let Some(member) = members.get_mut(*at) {
                member.class = class;
            }
        }
    }
    classes.len().max(before)
}

fn are_equal<T: PartialEq>(all: &[T]) -> bool {
    all.iter().all(|one| Some(one) == all.first())
}

/// Shows the arguments that several texts have in one position, without their namespaces if these
/// make no difference.
fn tell_arguments(texts: &[&str], room: Room) -> Vec<Told> {
    let mut distinct = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    let places: Vec<usize> = texts
        .iter()
        .map(|text| {
            *places.entry(text).or_insert_with(|| {
                distinct.push(outline_of_argument(text));
                distinct.len() - 1
            })
        })
        .collect();
    let bare: Vec<String> = distinct
        .iter()
        .map(|full| without_namespaces(&full.text))
        .collect();
    let mut in_namespaces: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (bare, full) in bare.iter().zip(&distinct) {
        in_namespaces.entry(bare).or_default().insert(&full.text);
    }
    let shown = bare.iter().zip(&distinct).map(|(bare, full)| {
        let full_texts = in_namespaces.get(bare.as_str());
        let is_unique = full_texts.is_none_or(|texts| texts.len() == 1);
        if is_unique { bare } else { &full.text }
    });
    let mut told = vec![Told::default(); distinct.len()];
    for (shown, same) in groups(shown.map(String::as_str)) {
        let of_text: Vec<&Outline<'_>> = same.iter().filter_map(|at| distinct.get(*at)).collect();
        let of_text = if of_text.len() > 1 && room.depth <= MAX_DEPTH {
            tell_apart(shown, &of_text, room)
        } else {
            vec![Told::plain(shown); of_text.len()]
        };
        for (at, one) in same.into_iter().zip(of_text) {
            if let Some(told) = told.get_mut(at) {
                *told = one;
            }
        }
    }
    let places = places.into_iter();
    places
        .map(|at| told.get(at).cloned().unwrap_or_default())
        .collect()
}

#[cfg(test)]
mod tests;
