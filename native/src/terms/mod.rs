//! Texts as the keyword arm sees them: numbered terms and how often each occurs.
//!
//! A text is brought to NFKC and lower case and cut into words, the maximal runs of `\w` (Unicode).
//! A word is stemmed by the English Snowball algorithm. Stretches of Chinese, Japanese, Korean and Thai,
//! which do not part words by spaces, become single characters and pairs of neighbours instead.
//! A term's id is the 64-bit FNV-1a hash of its UTF-8 bytes, folded to 32 bits by exclusive or.

mod script;
mod words;

use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;

use words::{Stretch, stretches};

/// Changes whenever a text may get other terms than before: stored terms of another version are made anew.
pub const VERSION: i32 = 1;

/// A term that occurs more often in one text counts as this often.
pub const MAX_COUNT: u16 = 0x7fff;

/// The terms of one text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// Distinct ids, ascending.
    pub ids: Vec<i32>,
    /// How often each occurs, at most [`MAX_COUNT`].
    pub counts: Vec<u16>,
}

/// The terms of a text.
pub fn tokenize(text: &str) -> Terms {
    let mut occurrences = Vec::new();
    visit(text, |term| occurrences.push(id(term)));
    occurrences.sort_unstable();
    let (mut ids, mut counts) = (Vec::new(), Vec::new());
    for same in occurrences.chunk_by(|a, b| a == b) {
        ids.push(same[0]);
        counts.push(u16::try_from(same.len()).unwrap_or(MAX_COUNT).min(MAX_COUNT));
    }
    Terms { ids, counts }
}

/// Calls `take` with each term of a text in turn.
pub fn visit(text: &str, mut take: impl FnMut(&str)) {
    let stemmer = Stemmer::create(Algorithm::English);
    let folded = text.nfkc().collect::<String>().to_lowercase();
    for stretch in stretches(&folded) {
        match stretch {
            Stretch::Word(word) => take(&stemmer.stem(word)),
            Stretch::Unspaced(run) => visit_unspaced(run, &mut take),
        }
    }
}

fn visit_unspaced(run: &str, take: &mut impl FnMut(&str)) {
    let mut previous = None;
    for (start, character) in run.char_indices() {
        let end = start + character.len_utf8();
        take(&run[start..end]);
        if let Some(before) = previous {
            take(&run[before..end]);
        }
        previous = Some(start);
    }
}

/// The id of a term.
pub fn id(term: &str) -> i32 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let hash = term.bytes().fold(0xcbf2_9ce4_8422_2325, step);
    ((hash ^ hash >> 32) as u32).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::{MAX_COUNT, id, tokenize, visit};

    fn terms(text: &str) -> Vec<String> {
        let mut terms = Vec::new();
        visit(text, |term| terms.push(term.to_owned()));
        terms
    }

    #[test]
    fn words_are_folded_and_stemmed() {
        assert_eq!(terms("Running, ＦＵＬＬ width: 2 ½ cafés!"), ["run", "full", "width", "2", "1", "2", "café"]);
    }

    #[test]
    fn unspaced_scripts_become_characters_and_pairs() {
        assert_eq!(terms("FastAPI构建服务"), ["fastapi", "构", "建", "构建", "服", "建服", "务", "服务"]);
        assert_eq!(terms("字"), ["字"]);
    }

    #[test]
    fn marks_stay_in_their_words() {
        assert_eq!(terms("हिन्दी में कُتُب"), ["हिन्दी", "में", "कُتُب"]);
    }

    #[test]
    fn what_holds_no_letter_or_digit_is_no_word() {
        assert_eq!(terms("__ ❤️ 👨‍👩‍👧 …"), [] as [&str; 0]);
    }

    #[test]
    fn counts_saturate() {
        let found = tokenize(&"a ".repeat(40_000));
        assert_eq!((found.ids, found.counts), (vec![id("a")], vec![MAX_COUNT]));
    }

    #[test]
    fn ids_are_the_documented_hash() {
        // FNV-1a of nothing is its offset basis.
        assert_eq!(id(""), (0xcbf2_9ce4_u32 ^ 0x8422_2325).cast_signed());
        assert_eq!(id("a"), (0xaf63_dc4c_u32 ^ 0x8601_ec8c).cast_signed());
    }
}
