//! Finds products by their text.

pub mod index;
pub mod query;

pub use index::InvertedIndex;
pub use query::{parse_query, Query};
