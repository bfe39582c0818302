//! The collector against the order of answers written out plainly.

use std::collections::BTreeSet;

use _native::topk::{Candidate, Collector, Runs, TIE};
use proptest::collection::vec;
use proptest::prelude::*;

/// Scores that tie exactly, within the tie, across it and not at all.
const STEPS: [f64; 6] = [0.0, 4e-6, 9e-6, 1.4e-5, 3e-5, 0.1];

fn candidates() -> impl Strategy<Value = Vec<Candidate>> {
    let one = (0..3usize, 0..STEPS.len(), 0..20i64, 0..12u128);
    vec(one, 0..300).prop_map(|all| {
        let each = all.into_iter().enumerate();
        let made = each.map(|(place, (base, step, created, text))| Candidate {
            score: 0.2 * base as f64 + STEPS[step],
            created,
            // Ids in no order of arrival.
            id: place as u128 * 7919 % 1009,
            text,
            cosine: 0.0,
            lexical: 0.0,
            place: (0, place as u32),
        });
        made.collect()
    })
}

fn plainly(mut rows: Vec<Candidate>, k: usize, collapse: bool, least: f64) -> Vec<u128> {
    rows.retain(|row| row.score >= least);
    rows.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.created.cmp(&a.created)).then(a.id.cmp(&b.id)));
    if collapse {
        let mut first = BTreeSet::new();
        rows.retain(|row| first.insert(row.text));
    }
    let mut answer = Vec::new();
    while let Some(leader) = rows.first().copied() {
        let (mut group, rest): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.score >= leader.score - TIE);
        group.sort_by_key(|row| (-row.created, row.id));
        answer.extend(group.iter().map(|row| row.id));
        rows = rest;
    }
    answer.truncate(k);
    answer
}

fn collected(rows: &[Candidate], k: usize, collapse: bool, least: f64) -> Vec<u128> {
    let pass = |runs| {
        let mut collector = Collector::new(k, collapse, least, runs);
        for &row in rows {
            collector.offer(row);
        }
        collector.finish()
    };
    let best = pass(Runs::Cuttable).or_else(|| pass(Runs::Whole)).expect("whole runs always tell");
    best.iter().map(|row| row.id).collect()
}

proptest! {
    #[test]
    fn the_best_k_are_those_of_the_plain_order(
        rows in candidates(),
        k in 1usize..8,
        collapse in any::<bool>(),
        least in prop_oneof![Just(f64::NEG_INFINITY), Just(0.2)],
    ) {
        let expected = plainly(rows.clone(), k, collapse, least);
        prop_assert_eq!(collected(&rows, k, collapse, least), expected.clone());
        let mut turned = rows;
        turned.reverse();
        prop_assert_eq!(collected(&turned, k, collapse, least), expected);
    }
}

#[test]
fn a_run_that_was_cut_too_early_is_found_out() {
    let row = |place: u32, score, created, text| Candidate {
        score,
        created,
        id: u128::from(place),
        text,
        cosine: 0.0,
        lexical: 0.0,
        place: (0, place),
    };
    // Forty texts of one score, then better, older rows of the texts that came first among them.
    let crowd = (0..40).map(|n| row(n, 1.0, 1000 - i64::from(n), u128::from(n)));
    let better = (0..30).map(|n| row(100 + n, 1.0 + 5e-6, -i64::from(n), u128::from(n)));
    let rows: Vec<_> = crowd.chain(better).collect();
    assert_eq!(collected(&rows, 3, true, 0.0), [30, 31, 32]);
    let mut collector = Collector::new(3, true, 0.0, Runs::Cuttable);
    for &row in &rows {
        collector.offer(row);
    }
    assert_eq!(collector.finish(), None);
}
