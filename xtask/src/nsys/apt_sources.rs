//! The machine's own apt sources with one more component, as text.
//!
//! The machine's mirror and keys work and are trusted there, so this project names none. Only the
//! distribution's own entries are used: another repository could fail, or offer a package of the
//! same name.

/// A distribution whose repositories hold Nsight Systems.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Distribution {
    /// Such as `bookworm`.
    pub(super) codename: String,
    /// The component that Nsight Systems is in.
    pub(super) component: &'static str,
}

/// Suite names that refer to another release over time.
const MOVING: [&str; 5] = ["stable", "testing", "unstable", "sid", "oldstable"];

impl Distribution {
    /// Reads `/etc/os-release`; `None` if the distribution is not known to have Nsight Systems.
    ///
    /// Debian has it in non-free (tested on 12), Ubuntu in multiverse (untested).
    pub(super) fn of(os_release: &str) -> Option<Distribution> {
        let value = |key: &str| {
            let line = os_release
                .lines()
                .find_map(|line| line.strip_prefix(key)?.strip_prefix('='))?;
            Some(line.trim_matches(['"', '\'']))
        };
        let component = match value("ID")? {
            "debian" => "non-free",
            "ubuntu" => "multiverse",
            _ => return None,
        };
        Some(Distribution {
            codename: value("VERSION_CODENAME")?.into(),
            component,
        })
    }

    /// The distribution's entries of a one-line-style file (`sources.list`, `*.list`), with the
    /// component added.
    pub(super) fn one_line(&self, text: &str) -> String {
        let mut out = String::new();
        for line in text.lines() {
            let line = line.split('#').next().unwrap_or_default().trim();
            // `deb [options] address suite component...`: options may hold spaces.
            let (head, rest) = match line.split_once(']') {
                Some((options, rest)) => (format!("{options}]"), rest),
                None => match line.split_once(char::is_whitespace) {
                    Some((kind, rest)) => (kind.into(), rest),
                    None => continue,
                },
            };
            let words: Vec<&str> = rest.split_whitespace().collect();
            let [_, suite, components @ ..] = words.as_slice() else {
                continue;
            };
            if head.split_whitespace().next() == Some("deb") && self.is_ours(&[suite], components) {
                let more = self.missing(components);
                out.push_str(&format!("{head} {}{more}\n", words.join(" ")));
            }
        }
        out
    }

    /// The same for a deb822-style file (`*.sources`), which has paragraphs.
    pub(super) fn paragraphs(&self, text: &str) -> String {
        let mut out = String::new();
        // Comments may be between the lines of a field.
        let lines: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
        for paragraph in lines.split(|line| line.trim().is_empty()) {
            let types = field(paragraph, "types");
            let components = field(paragraph, "components");
            let enabled = field(paragraph, "enabled").first() != Some(&"no");
            let ours = self.is_ours(&field(paragraph, "suites"), &components);
            if !(enabled && ours && types.contains(&"deb")) {
                continue;
            }
            for line in paragraph {
                out.push_str(line);
                if value(line, "components").is_some() {
                    out.push_str(&self.missing(&components));
                }
                out.push('\n');
            }
            out.push('\n');
        }
        out
    }

    fn is_ours(&self, suites: &[&str], components: &[&str]) -> bool {
        let ours = |suite: &&str| {
            let (name, _) = suite.split_once('-').unwrap_or((suite, ""));
            name == self.codename || MOVING.contains(&name)
        };
        suites.iter().any(ours) && components.contains(&"main")
    }

    fn missing(&self, components: &[&str]) -> String {
        if components.contains(&self.component) {
            String::new()
        } else {
            format!(" {}", self.component)
        }
    }
}

/// The words of a field, those of its continuation lines included.
fn field<'a>(paragraph: &[&'a str], name: &str) -> Vec<&'a str> {
    let mut words = Vec::new();
    let mut inside = false;
    for line in paragraph {
        if let Some(value) = value(line, name) {
            inside = true;
            words.extend(value.split_whitespace());
        } else if inside && line.starts_with([' ', '\t']) {
            words.extend(line.split_whitespace());
        } else {
            inside = false;
        }
    }
    words
}

/// The text after `name:`; field names are case-insensitive.
fn value<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let (key, value) = line.split_once(':')?;
    key.eq_ignore_ascii_case(name).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bookworm() -> Distribution {
        Distribution::of("ID=debian\nVERSION_CODENAME=bookworm\n").expect("Debian has it")
    }

    #[test]
    fn debian_and_ubuntu_have_it_in_different_components() {
        assert_eq!(bookworm().component, "non-free");
        let ubuntu = Distribution::of("VERSION_CODENAME=noble\nID=ubuntu\nID_LIKE=debian\n");
        assert_eq!(ubuntu.expect("it has it").component, "multiverse");
        assert_eq!(Distribution::of("ID=fedora\nVERSION_CODENAME=\"\"\n"), None);
    }

    #[test]
    fn paragraphs_keep_address_and_key_and_gain_the_component() {
        let text = "\
Types: deb deb-src
# a comment
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /keys/debian.gpg

Types: deb
URIs: http://mirror.example/security
Suites: bookworm-security
components: main contrib non-free
";
        let expected = "\
Types: deb deb-src
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main non-free
Signed-By: /keys/debian.gpg

Types: deb
URIs: http://mirror.example/security
Suites: bookworm-security
components: main contrib non-free

";
        assert_eq!(bookworm().paragraphs(text), expected);
    }

    #[test]
    fn other_peoples_repositories_stay_out() {
        let text = "\
Types: deb
URIs: http://other.example/node
Suites: nodistro
Components: main

Types: deb
URIs: http://other.example/docker
Suites: bookworm
Components: stable

Types: deb-src
URIs: http://mirror.example/debian
Suites: bookworm
Components: main

Enabled: no
Types: deb
URIs: http://mirror.example/debian
Suites: bookworm
Components: main
";
        assert_eq!(bookworm().paragraphs(text), "");
        let lines = "deb http://other.example/x cloud-bookworm main\n\
                     deb-src http://m.example/d bookworm main\n";
        assert_eq!(bookworm().one_line(lines), "");
    }

    #[test]
    fn lines_keep_their_options() {
        let text = "\
# deb http://old.example/debian bookworm main
deb [arch=amd64 signed-by=/keys/d.gpg] http://mirror.example/debian bookworm main contrib # ours
deb http://mirror.example/debian stable-updates main non-free
";
        let expected = "\
deb [arch=amd64 signed-by=/keys/d.gpg] http://mirror.example/debian bookworm main contrib non-free
deb http://mirror.example/debian stable-updates main non-free
";
        assert_eq!(bookworm().one_line(text), expected);
    }
}
