//! Attention.

use proptest::collection::vec;
use proptest::prelude::*;

use super::{assert_near, on_each_isa};
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
    fn expected(&self, head: usize, token: usize, text: std::ops::Range<usize>) -> Vec<f64> {
        let number = |part, dimension, token| f64::from(self.number(part, head, dimension, token));
        let score = |key| (0..self.heads.size).map(|d| number(0, d, token) * number(1, d, key)).sum::<f64>();
        let powers: Vec<f64> = text.clone().map(|key| score(key).exp2()).collect();
        let total: f64 = powers.iter().sum();
        let mix = |d| text.clone().zip(&powers).map(|(key, power)| power / total * number(2, d, key)).sum();
        (0..self.heads.size).map(mix).collect()
    }

    fn texts(&self) -> impl Iterator<Item = std::ops::Range<usize>> {
        self.lengths.iter().scan(0, |start, length| {
            *start += length;
            Some(*start - length..*start)
        })
    }
}

fn places(a: usize, b: usize, c: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..a * b * c).map(move |number| (number / (b * c), number / c % b, number % c))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn values_are_mixed_by_the_softmax_of_scores_within_each_text(case in cases()) {
        let (panels, stride, rows) = (case.panels(), case.stride(), case.tokens());
        let mixed = on_each_isa(|isa| {
            let mut mixed = vec![0.0; rows * stride];
            let mut room = Room::new(case.heads, 47);
            for text in case.texts() {
                let heads = case.heads;
                isa.run(Attend { heads, panels: &panels, rows, text, mixed: &mut mixed, stride, room: &mut room });
            }
            mixed
        });
        for text in case.texts() {
            for (token, head) in text.clone().flat_map(|token| (0..case.heads.count).map(move |head| (token, head))) {
                let found = &mixed[token * stride + head * case.heads.size..];
                for (found, expected) in found.iter().zip(case.expected(head, token, text.clone())) {
                    assert_near(*found, expected, 2e-5);
                }
            }
        }
    }
}
