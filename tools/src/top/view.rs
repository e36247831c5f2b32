// SPDX-License-Identifier: GPL-2.0

//! The views of what is counted, and the histogram of an event that each needs.

use super::source::NameKey;
use crate::trace::definition::Meaning;
use crate::trace::format::Format;
use crate::trace::value;

/// Keys of which a histogram has room.
const SIZE: u32 = 8192;

/// What rows are counted by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum View {
    /// Events, functions, or what the source tells apart.
    Names,
    /// Processes.
    Processes,
    /// The values of a field.
    Field(String),
    /// Errors, with the names.
    Errors,
    /// Powers of two of a field.
    Bars(String),
    /// The hits that took longest.
    Slowest,
}

impl View {
    /// What it is called, also behind `--by`.
    pub fn title(&self) -> &str {
        match self {
            Self::Names => "name",
            Self::Processes => "process",
            Self::Errors => "error",
            Self::Slowest => "slowest",
            Self::Field(name) | Self::Bars(name) => name,
        }
    }
}

/// An event that is counted.
#[derive(Debug, Clone, Default)]
pub struct Subject {
    /// `GROUP/NAME`.
    pub event: String,
    /// What its hits are called; `None` if after the functions that they are of.
    pub label: Option<String>,
    /// Its filter for the kernel.
    pub filter: Option<String>,
    /// Its fields.
    pub format: Format,
    /// What the definition says of its fields.
    pub meanings: Vec<(String, Meaning)>,
    /// What tells its hits apart, if it is not their name.
    pub name: Option<NameKey>,
    /// The field with the process, if that is not the current one.
    pub process: Option<&'static str>,
}

/// A key of a histogram.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistKey {
    /// The field with its modifier, as the kernel lists it.
    pub text: String,
    /// How it is shown.
    pub shown: Shown,
}

/// How a key is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// The event's label, whatever the key is.
    Label,
    /// What the kernel shows.
    AsIs,
    /// A task and its pid.
    Task,
    /// A system call.
    Call,
    /// A symbol.
    Symbol,
    /// A disk.
    Device,
    /// The function of a stack that waits for a lock.
    Waiter,
    /// A power of two.
    Power(value::Kind),
}

/// A histogram of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    /// Its keys.
    pub keys: Vec<HistKey>,
    /// The text of the trigger.
    pub trigger: String,
}

impl Histogram {
    /// The keys, as the kernel lists them.
    pub fn key_text(&self) -> String {
        let keys: Vec<&str> = self.keys.iter().map(|key| key.text.as_str()).collect();
        keys.join(",")
    }
}

impl Subject {
    fn meaning(&self, field: &str) -> Option<Meaning> {
        let mut meanings = self.meanings.iter();
        meanings.find_map(|(name, meaning)| (name == field).then_some(*meaning))
    }

    /// How a field is shown.
    pub fn kind(&self, field: &str) -> value::Kind {
        match self.meaning(field) {
            Some(meaning) => meaning.into(),
            None if self.format.is_hexadecimal(field) => value::Kind::Hexadecimal,
            None if value::is_size(field) => value::Kind::Size,
            None if field == "ret" && self.format.is_signed(field) => value::Kind::Errno,
            None => value::Kind::Plain,
        }
    }

    fn field_of(&self, kind: value::Kind) -> Option<&str> {
        let is_of = |name: &&str| self.format.is_number(name) && self.kind(name) == kind;
        self.format.names().find(is_of)
    }

    /// The field with nanoseconds.
    pub fn duration(&self) -> Option<&str> {
        self.field_of(value::Kind::Duration)
    }

    /// The field with bytes.
    pub fn bytes(&self) -> Option<&str> {
        self.field_of(value::Kind::Size)
    }

    /// The field with an error.
    fn error(&self) -> Option<&str> {
        let errno = self.field_of(value::Kind::Errno);
        errno.filter(|field| self.format.is_signed(field))
    }

    /// The views that it has, the usual ones first.
    pub fn views(&self) -> Vec<View> {
        let mut views = vec![View::Names, View::Processes];
        views.extend(self.error().map(|_| View::Errors));
        let is_key = |field: &str| {
            matches!(self.name, Some(NameKey::Call(name) | NameKey::Field(name)) if name == field)
                || self.process == Some(field)
        };
        for field in self.format.names().filter(|field| !is_key(field)) {
            let name = field.to_string();
            match self.kind(field) {
                value::Kind::Errno => {}
                value::Kind::Duration | value::Kind::Size => {
                    if self.format.is_number(field) {
                        views.push(View::Bars(name));
                    }
                }
                _ if self.format.is_number(field) || self.format.is_text(field) => {
                    views.push(View::Field(name));
                }
                _ => {}
            }
        }
        views.extend(self.duration().map(|_| View::Slowest));
        views
    }

    /// The histogram that a view needs; `None` if this event has none for it.
    pub fn histogram(&self, view: &View) -> Option<Histogram> {
        let key = |text: String, shown: Shown| HistKey { text, shown };
        let mut filter = self.filter.clone();
        let keys = match view {
            View::Names => vec![self.name_key()],
            View::Processes => vec![match self.process {
                Some(field) => key(field.into(), Shown::AsIs),
                None => key("common_pid.execname".into(), Shown::Task),
            }],
            View::Field(field) if self.format.has(field) => {
                let number = self.format.is_number(field);
                vec![match (field.as_str(), self.kind(field)) {
                    ("dev", _) if number => key(field.clone(), Shown::Device),
                    ("lock", _) if number => key(format!("{field}.sym"), Shown::Symbol),
                    (_, value::Kind::Hexadecimal) if number => {
                        key(format!("{field}.hex"), Shown::AsIs)
                    }
                    _ => key(field.clone(), Shown::AsIs),
                }]
            }
            View::Errors => {
                let error = self.error()?;
                let failed = format!("{error} < 0 && {error} >= -4095");
                filter = Some(match filter {
                    Some(filter) => format!("({filter}) && {failed}"),
                    None => failed,
                });
                vec![self.name_key(), key(format!("{error}.errno"), Shown::AsIs)]
            }
            View::Bars(field) if self.format.is_number(field) => {
                let shown = Shown::Power(self.kind(field));
                vec![key(format!("{field}.log2"), shown)]
            }
            _ => return None,
        };
        let mut values = vec!["hitcount".to_string()];
        if !matches!(view, View::Bars(_)) {
            if let Some(duration) = self.duration() {
                values.extend([duration.into(), format!("{duration}.max")]);
            }
            values.extend(self.bytes().map(String::from));
        }
        let mut histogram = Histogram {
            keys,
            trigger: String::new(),
        };
        let filter = filter.map_or(String::new(), |filter| format!(" if {filter}"));
        histogram.trigger = format!(
            "hist:keys={}:vals={}:size={SIZE}{filter}",
            histogram.key_text(),
            values.join(",")
        );
        Some(histogram)
    }

    /// What tells its hits apart. Events of one place need no key: the processor is a short one.
    fn name_key(&self) -> HistKey {
        let (text, shown) = match (self.name, &self.label) {
            (Some(NameKey::Call(field)), _) => (format!("{field}.syscall"), Shown::Call),
            (Some(NameKey::Field(field)), _) => (field.into(), Shown::AsIs),
            (Some(NameKey::Waiter), _) => ("common_stacktrace".into(), Shown::Waiter),
            (None, Some(_)) => ("common_cpu".into(), Shown::Label),
            (None, None) if self.format.has("__probe_func") => {
                ("__probe_func.sym".into(), Shown::Symbol)
            }
            (None, None) => ("__probe_ip.sym".into(), Shown::Symbol),
        };
        HistKey { text, shown }
    }
}

/// The views of several events: each one once, the slowest hits last.
pub fn all(subjects: &[Subject]) -> Vec<View> {
    let mut views: Vec<View> = Vec::new();
    for view in subjects.iter().flat_map(Subject::views) {
        if !views.contains(&view) {
            views.push(view);
        }
    }
    // Errors of a later event stand behind the fields of the first.
    let rank = |view: &View| match view {
        View::Names => 0,
        View::Processes => 1,
        View::Errors => 2,
        View::Field(_) => 3,
        View::Bars(_) => 4,
        View::Slowest => 5,
    };
    views.sort_by_key(rank);
    views
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// `r vfs_read file:path count $retval:errno $duration`.
    pub(crate) fn subject() -> Subject {
        let format = "\
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned long __probe_func;\toffset:8;\tsize:8;\tsigned:0;
\tfield:__data_loc char[] file;\toffset:24;\tsize:4;\tsigned:0;
\tfield:u64 count;\toffset:32;\tsize:8;\tsigned:0;
\tfield:s64 ret;\toffset:40;\tsize:8;\tsigned:1;
\tfield:u64 duration;\toffset:48;\tsize:8;\tsigned:0;
";
        Subject {
            event: "g/read".into(),
            label: Some("vfs_read".into()),
            format: Format::parse(format),
            meanings: vec![
                ("ret".into(), Meaning::Errno),
                ("duration".into(), Meaning::Duration),
            ],
            ..Subject::default()
        }
    }

    #[test]
    fn the_fields_of_an_event_make_its_views() {
        let titles: Vec<String> = all(&[subject(), subject()])
            .iter()
            .map(|view| view.title().to_string())
            .collect();
        let expected = [
            "name", "process", "error", "file", "count", "duration", "slowest",
        ];
        assert_eq!(titles, expected);
    }

    #[test]
    fn a_view_is_a_histogram_of_the_event() {
        let mut subject = subject();
        let trigger = |subject: &Subject, view: View| {
            let histogram = subject.histogram(&view);
            histogram.map(|histogram| histogram.trigger)
        };
        assert_eq!(
            trigger(&subject, View::Names).as_deref(),
            Some("hist:keys=common_cpu:vals=hitcount,duration,duration.max,count:size=8192")
        );
        subject.filter = Some("count > 1 || ret < 0".into());
        assert_eq!(
            trigger(&subject, View::Bars("duration".into())).as_deref(),
            Some("hist:keys=duration.log2:vals=hitcount:size=8192 if count > 1 || ret < 0")
        );
        let errors = trigger(&subject, View::Errors).expect("a trigger");
        assert!(errors.starts_with("hist:keys=common_cpu,ret.errno:vals="));
        assert!(errors.ends_with(" if (count > 1 || ret < 0) && ret < 0 && ret >= -4095"));
        subject.label = None;
        let names = trigger(&subject, View::Names).expect("a trigger");
        assert!(names.starts_with("hist:keys=__probe_func.sym:"), "{names}");
        assert_eq!(trigger(&subject, View::Field("nosuch".into())), None);
        assert_eq!(trigger(&subject, View::Slowest), None);
    }
}
