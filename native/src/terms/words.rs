//! Words: maximal runs of `\w`.

use regex_syntax::is_word_character;
use unicode_normalization::char::is_combining_mark;

use super::script::is_unspaced;

/// A piece of a run of `\w`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stretch<'a> {
    /// Of scripts that part words by spaces: one word.
    Word(&'a str),
    /// Of scripts that do not.
    Unspaced(&'a str),
}

/// The stretches of a text. A run is parted where scripts change between spaced and unspaced; a mark belongs with
/// what it stands on. Words without a letter or digit (underscores, joiners, lone marks) are left out.
pub(super) fn stretches(text: &str) -> impl Iterator<Item = Stretch<'_>> {
    let runs = text.split(|character| !is_word_character(character));
    runs.flat_map(parts).filter(|stretch| match stretch {
        Stretch::Word(word) => word.chars().any(is_letter_or_digit),
        Stretch::Unspaced(_) => true,
    })
}

fn parts(mut run: &str) -> impl Iterator<Item = Stretch<'_>> {
    std::iter::from_fn(move || {
        let unspaced = is_unspaced(run.chars().next()?);
        let end = run.find(|next| stands_alone(next) && is_unspaced(next) != unspaced).unwrap_or(run.len());
        let (part, rest) = run.split_at(end);
        run = rest;
        Some(if unspaced { Stretch::Unspaced(part) } else { Stretch::Word(part) })
    })
}

/// Whether a word character is a letter, digit or underscore rather than a mark or joiner.
fn stands_alone(character: char) -> bool {
    is_letter_or_digit(character) || character == '_'
}

fn is_letter_or_digit(character: char) -> bool {
    character.is_alphanumeric() && !is_combining_mark(character)
}
