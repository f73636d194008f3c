//! The query language: words, "phrases", and -excluded words.

use std::fmt;

#[derive(Debug, Default, PartialEq)]
pub struct Query {
    pub wanted: Vec<String>,
    pub excluded: Vec<String>,
    pub phrases: Vec<String>,
}

#[derive(Debug, PartialEq)]
pub enum QueryError {
    UnbalancedQuote(usize),
    OnlyExclusions,
}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QueryError::UnbalancedQuote(at) => write!(f, "unbalanced quote at column {at}"),
            QueryError::OnlyExclusions => write!(f, "a query must want something"),
        }
    }
}

impl std::error::Error for QueryError {}

/// Reads what a customer typed.
pub fn parse_query(text: &str) -> Result<Query, QueryError> {
    let mut query = Query::default();
    for (at, piece) in text.split('"').enumerate() {
        if at % 2 == 1 {
            query.phrases.push(piece.to_lowercase());
            continue;
        }
        for word in piece.split_whitespace() {
            match word.strip_prefix('-') {
                Some(rest) => query.excluded.push(rest.to_lowercase()),
                None => query.wanted.push(word.to_lowercase()),
            }
        }
    }
    if text.matches('"').count() % 2 == 1 {
        return Err(QueryError::UnbalancedQuote(text.rfind('"').unwrap_or(0)));
    }
    if query.wanted.is_empty() && query.phrases.is_empty() {
        return Err(QueryError::OnlyExclusions);
    }
    Ok(query)
}
