//! Attention.

use std::ops::Range;

use proptest::collection::vec;
use proptest::prelude::*;

use super::{assert_near, on_each_isa};
use crate::encoder::Isa;
use crate::encoder::kernel::tile::COLUMNS;
use crate::encoder::layers::attention::{Attend, Heads, Room};

/// Texts side by side, with queries, keys and values of every head.
#[derive(Debug, Clone)]
struct Case {
    heads: Heads,
    lengths: Vec<usize>,
    /// [3, heads, size, tokens].
    numbers: Vec<f32>,
}

fn cases() -> impl Strategy<Value = Case> {
    let size = prop_oneof![1usize..40, Just(64), Just(96)];
    (1usize..4, size, vec(prop_oneof![1usize..34, Just(16), Just(47)], 1..4)).prop_flat_map(|(count, size, lengths)| {
        let tokens: usize = lengths.iter().sum();
        vec(-2f32..2.0, 3 * count * size * tokens).prop_map(move |numbers| Case {
            heads: Heads { count, size },
            lengths: lengths.clone(),
            numbers,
        })
    })
}

impl Case {
    fn tokens(&self) -> usize {
        self.lengths.iter().sum()
    }

    fn stride(&self) -> usize {
        (self.heads.count * self.heads.size).next_multiple_of(COLUMNS) + COLUMNS
    }

    fn number(&self, part: usize, head: usize, dimension: usize, token: usize) -> f32 {
        self.numbers[((part * self.heads.count + head) * self.heads.size + dimension) * self.tokens() + token]
    }

    /// As a linear step leaves them, heads padded with zeros.
    fn panels(&self) -> Vec<[f32; COLUMNS]> {
        let Heads { count, size } = self.heads;
        let mut panels = vec![[0.0; COLUMNS]; 3 * count * self.heads.panels() * self.tokens()];
        for (part, head, dimension) in places(3, count, size) {
            let panel = (part * count + head) * self.heads.panels() + dimension / COLUMNS;
            for token in 0..self.tokens() {
                panels[panel * self.tokens() + token][dimension % COLUMNS] = self.number(part, head, dimension, token);
            }
        }
        panels
    }

    /// The mix of one head for one token of the text that `text` are the tokens of, in double precision.
    fn expected(&self, head: usize, token: usize, text: Range<usize>) -> Vec<f64> {
        let number = |part, dimension, token| f64::from(self.number(part, head, dimension, token));
        let score = |key| (0..self.heads.size).map(|d| number(0, d, token) * number(1, d, key)).sum::<f64>();
        self.mix(head, &text.clone().map(score).collect::<Vec<_>>(), text)
    }

    /// The same from queries and keys that are rounded to codes.
    fn expected_of_codes(&self, head: usize, token: usize, text: Range<usize>) -> Vec<f64> {
        let dimensions = || 0..self.heads.size;
        let keys = |d| text.clone().map(move |token| self.number(1, head, d, token));
        let sizes = dimensions().flat_map(|d| text.clone().map(move |token| self.number(0, head, d, token).abs()));
        let ends: Vec<_> = dimensions().map(|d| (keys(d).reduce(f32::min), keys(d).reduce(f32::max))).collect();
        let ends: Vec<_> = ends.into_iter().map(|(low, high)| (low.unwrap_or(0.0), high.unwrap_or(0.0))).collect();
        let query_step = (sizes.fold(0.0, f32::max) / 127.0).max(1e-12);
        let key_step = (ends.iter().map(|(low, high)| high - low).fold(0.0, f32::max) / 254.0).max(1e-12);
        let query = |d| code(self.number(0, head, d, token), query_step);
        let key = |d, key| code(self.number(1, head, d, key) - 0.5 * (ends[d].0 + ends[d].1), key_step);
        let worth = f64::from(query_step * key_step);
        let score = |token| worth * dimensions().map(|d| query(d) * key(d, token)).sum::<f64>();
        self.mix(head, &text.clone().map(score).collect::<Vec<_>>(), text)
    }

    /// The values of a text by the softmax of scores.
    fn mix(&self, head: usize, scores: &[f64], text: Range<usize>) -> Vec<f64> {
        let powers: Vec<f64> = scores.iter().map(|score| score.exp2()).collect();
        let total: f64 = powers.iter().sum();
        let value = |d, token| f64::from(self.number(2, head, d, token));
        let mix = |d| text.clone().zip(&powers).map(|(key, power)| power / total * value(d, key)).sum();
        (0..self.heads.size).map(mix).collect()
    }

    fn texts(&self) -> impl Iterator<Item = Range<usize>> {
        self.lengths.iter().scan(0, |start, length| {
            *start += length;
            Some(*start - length..*start)
        })
    }
}

/// The nearest code.
fn code(number: f32, step: f32) -> f64 {
    (f64::from(number) * f64::from(1.0 / step)).round_ties_even()
}

fn places(a: usize, b: usize, c: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..a * b * c).map(move |number| (number / (b * c), number / c % b, number % c))
}

/// What each instruction set makes of it, [tokens, stride].
fn mixed(case: &Case) -> Vec<f32> {
    on_each_isa(|isa| attend(case, isa))
}

fn attend(case: &Case, isa: Isa) -> Vec<f32> {
    let (panels, stride, rows, heads) = (case.panels(), case.stride(), case.tokens(), case.heads);
    let mut mixed = vec![0.0; rows * stride];
    let mut room = Room::new(heads, *case.lengths.iter().max().expect("a text"));
    for text in case.texts() {
        isa.run(Attend { heads, panels: &panels, rows, text, mixed: &mut mixed, stride, room: &mut room });
    }
    mixed
}

/// One text of one head.
fn alone(size: usize, tokens: usize, number: impl Fn(usize, usize, usize) -> f32) -> Case {
    let numbers = places(3, size, tokens).map(|(part, dimension, token)| number(part, dimension, token)).collect();
    Case { heads: Heads { count: 1, size }, lengths: vec![tokens], numbers }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Values are within 2, and their codes within half a step, 5e-4; shares within 8e-5 and a 16,000th of the largest.
    /// Codes of queries and keys move scores by some hundredths.
    #[test]
    fn values_are_mixed_by_the_softmax_of_scores_within_each_text(case in cases()) {
        let mixed = mixed(&case);
        let (mut squares, mut count) = (0.0, 0.0);
        for text in case.texts() {
            for (token, head) in text.clone().flat_map(|token| (0..case.heads.count).map(move |head| (token, head))) {
                let found = &mixed[token * case.stride() + head * case.heads.size..];
                let plain = case.expected(head, token, text.clone());
                for ((found, plain), expected) in
                    found.iter().zip(plain).zip(case.expected_of_codes(head, token, text.clone()))
                {
                    assert_near(*found, expected, 2e-3);
                    squares += (f64::from(*found) - plain).powi(2);
                    count += 1.0;
                }
            }
        }
        assert!((squares / count).sqrt() < 0.1, "{}", (squares / count).sqrt());
    }
}

#[test]
fn a_long_text_is_mixed_run_by_run() {
    let number = |part: usize, dimension: usize, token: usize| {
        ((part * 37 + dimension * 11 + token * 7 + token * token % 13) % 101) as f32 / 50.0 - 1.0
    };
    for tokens in [127, 128, 129, 255, 300] {
        let case = alone(26, tokens, number);
        let mixed = mixed(&case);
        for token in [0, tokens / 2, tokens - 1] {
            let expected = case.expected_of_codes(0, token, 0..tokens);
            for (found, expected) in mixed[token * case.stride()..].iter().zip(expected) {
                assert_near(*found, expected, 1e-3);
            }
        }
    }
}

/// All queries and keys and values are as large as any, of one sign, and all shares equal.
#[test]
fn the_largest_sums_fit() {
    for (size, sign) in [(32, 1.0), (32, -1.0), (64, 1.0)] {
        for number in mixed(&alone(size, 300, |part, _, _| if part == 1 { 3.0 } else { 3.0 * sign })).chunks(size + 32)
        {
            number[..size].iter().for_each(|&number| assert_near(number, 3.0 * f64::from(sign), 1e-5));
        }
    }
}

#[test]
fn zeros_have_equal_shares() {
    let case = alone(10, 21, |part, _, token| if part == 2 { token as f32 } else { 0.0 });
    mixed(&case).chunks(case.stride()).for_each(|row| assert_near(row[3], 10.0, 5e-3));
}

#[test]
fn what_is_no_number_is_seen_in_all_that_it_meets() {
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        for place in [0, 1, 2] {
            let case = alone(40, 37, |part, dimension, token| {
                if (part, dimension, token) == (place, 35, 20) { bad } else { dimension as f32 - token as f32 / 8.0 }
            });
            for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
                for row in attend(&case, isa).chunks(case.stride()) {
                    // A value's panel has one step; what a query or a key spoils are the shares of all.
                    let columns = if place == 2 { 32..40 } else { 0..40 };
                    assert!(row[columns].iter().all(|number| number.is_nan()), "{bad} in part {place} on {isa}");
                }
            }
        }
    }
}
