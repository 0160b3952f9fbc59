//! `GPUPROF_METRICS`: where metrics are served and written.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

/// Where metrics go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(not(feature = "metrics"), allow(dead_code))]
pub(crate) struct Metrics {
    /// Address of the listener, with its placeholders.
    pub(crate) listen: Option<String>,
    /// Text files, with their placeholders.
    pub(crate) files: Vec<PathBuf>,
}

impl Metrics {
    /// Parses `off`, or a comma list of at most one `listen=ADDRESS` and of `prometheus=PATH`.
    pub(super) fn parse(value: &str) -> Option<Self> {
        let mut metrics = Self::default();
        if value == "off" {
            return Some(metrics);
        }
        for item in value.split(',') {
            let (name, value) = item.trim().split_once('=')?;
            match name {
                "listen" if metrics.listen.is_none() => {
                    address(&with_zero_placeholders(value))?;
                    metrics.listen = Some(value.to_owned());
                }
                "prometheus" if !value.is_empty() => {
                    // The program may change its working directory later.
                    let path = std::path::absolute(value);
                    metrics.files.push(path.unwrap_or_else(|_| value.into()));
                }
                _ => return None,
            }
        }
        Some(metrics)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.listen.is_none() && self.files.is_empty()
    }
}

/// The text that placeholders with numbers would give.
fn with_zero_placeholders(value: &str) -> String {
    value.replace("{rank}", "0").replace("{pid}", "0")
}

/// An address whose placeholders are filled in: `IP:PORT`, `localhost:PORT`, or a port of
/// 127.0.0.1. A port may be the sum of two numbers, such as `9464+3`.
pub(crate) fn address(text: &str) -> Option<SocketAddr> {
    let (host, port) = match text.rsplit_once(':') {
        None => ("localhost", text),
        Some(parts) => parts,
    };
    let ip: IpAddr = match host {
        "localhost" => Ipv4Addr::LOCALHOST.into(),
        _ => {
            let inner = host
                .strip_prefix('[')
                .and_then(|host| host.strip_suffix(']'));
            match inner {
                Some(v6) => v6.parse::<Ipv6Addr>().ok()?.into(),
                None => host.parse::<Ipv4Addr>().ok()?.into(),
            }
        }
    };
    let port = port.split('+').try_fold(0_u16, |sum, part| {
        let part = part.parse::<u16>().ok()?;
        sum.checked_add(part)
    })?;
    // An address of IPv4 in the form of IPv6 is what it is in IPv4: perhaps of this machine alone.
    Some(SocketAddr::new(ip.to_canonical(), port))
}

#[cfg(test)]
mod tests {
    use super::{Metrics, address};

    #[test]
    fn an_address_is_of_this_machine_unless_another_is_written() {
        let shown = |text: &str| address(text).map(|address| address.to_string());
        for (text, expected) in [
            ("9464", "127.0.0.1:9464"),
            ("localhost:9464", "127.0.0.1:9464"),
            ("9464+3", "127.0.0.1:9467"),
            ("0.0.0.0:0", "0.0.0.0:0"),
            ("[::1]:9464", "[::1]:9464"),
            ("[::ffff:127.0.0.1]:9464", "127.0.0.1:9464"),
            ("[::ffff:10.0.0.1]:9464", "10.0.0.1:9464"),
        ] {
            assert_eq!(shown(text).as_deref(), Some(expected), "{text}");
        }
        for wrong in [
            "",
            ":9464",
            "::1:9464",
            "example.com:80",
            "65536",
            "65535+1",
            "9464+",
            "-1",
        ] {
            assert_eq!(shown(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_list_has_one_address_and_any_number_of_files() {
        let metrics = Metrics::parse("listen=9464+{rank}, prometheus=/a/{rank}.prom,prometheus=/b")
            .expect("a list");
        assert_eq!(metrics.listen.as_deref(), Some("9464+{rank}"));
        assert_eq!(
            metrics.files,
            ["/a/{rank}.prom", "/b"].map(std::path::PathBuf::from)
        );
        assert_eq!(Metrics::parse("off"), Some(Metrics::default()));
        for wrong in [
            "on",
            "listen",
            "listen=",
            "listen=1,listen=2",
            "prometheus=",
            "listen=1,",
        ] {
            assert_eq!(Metrics::parse(wrong), None, "{wrong}");
        }
    }
}
