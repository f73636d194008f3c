//! An inverted index in memory.

use std::collections::HashMap;

/// Where a word occurs, and how often.
#[derive(Debug, Clone, PartialEq)]
pub struct Posting {
    pub document: u32,
    pub count: u32,
}

/// Words and the documents they are in.
#[derive(Default)]
pub struct InvertedIndex {
    postings: HashMap<String, Vec<Posting>>,
    lengths: HashMap<u32, usize>,
}

impl InvertedIndex {
    /// Adds a document under a number of its own.
    pub fn insert(&mut self, document: u32, text: &str) {
        let words = tokenize(text);
        self.lengths.insert(document, words.len());
        for word in words {
            let list = self.postings.entry(word).or_default();
            match list.last_mut() {
                Some(last) if last.document == document => last.count += 1,
                _ => list.push(Posting { document, count: 1 }),
            }
        }
    }

    /// The documents with any of the words, best first.
    pub fn search(&self, words: &[String]) -> Vec<u32> {
        let mut scores: HashMap<u32, f64> = HashMap::new();
        for word in words {
            let Some(list) = self.postings.get(word) else { continue };
            let rarity = inverse_document_frequency(self.lengths.len(), list.len());
            for posting in list {
                *scores.entry(posting.document).or_default() += rarity * f64::from(posting.count);
            }
        }
        let mut found: Vec<_> = scores.into_iter().collect();
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        found.into_iter().map(|(document, _)| document).collect()
    }
}

/// Rare words tell more than common ones.
pub fn inverse_document_frequency(documents: usize, with_word: usize) -> f64 {
    (1.0 + documents as f64 / with_word as f64).ln()
}

/// Lower-case words, without punctuation.
pub fn tokenize(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokenize_drops_punctuation() {
        assert_eq!(tokenize("Green tea, 100 g"), ["green", "tea", "100", "g"]);
    }
}
