// SPDX-License-Identifier: GPL-2.0

//! What is said if something cannot be done: one line, with the reason.

use std::fmt;

/// Why something is not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal(String);

/// What most functions here return.
pub type Result<T> = std::result::Result<T, Refusal>;

impl Refusal {
    /// A refusal for the reason `text`.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The same refusal, with what it is about before it.
    #[must_use]
    pub fn about(self, what: impl fmt::Display) -> Self {
        Self(format!("{what}: {}", self.0))
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refusal {}

impl From<gimli::Error> for Refusal {
    fn from(error: gimli::Error) -> Self {
        Self(format!("damaged debug information: {error}"))
    }
}

impl From<object::Error> for Refusal {
    fn from(error: object::Error) -> Self {
        Self(format!("damaged ELF file: {error}"))
    }
}

impl From<std::io::Error> for Refusal {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<serde_json::Error> for Refusal {
    fn from(error: serde_json::Error) -> Self {
        Self(error.to_string())
    }
}

/// Returns a refusal with a formatted text.
#[macro_export]
macro_rules! refuse {
    ($($text:tt)*) => {
        return Err($crate::error::Refusal::new(format!($($text)*)))
    };
}
