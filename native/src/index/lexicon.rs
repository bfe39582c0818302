//! BM25 of one search, with statistics of the rows that the caller may see.

use super::postings::Posting;
use super::request::Request;
use super::slices::Slice;

const K1: f64 = 0.9;
const B: f64 = 0.4;

/// The query's terms with their weights.
pub struct Lexicon {
    /// Term id and its share in a document that holds nothing else: occurrences in the query · idf.
    weights: Vec<(i32, f64)>,
    /// Share of a document's length in the norm of its counts.
    per_length: f64,
}

impl Lexicon {
    /// Counts the terms over the alive rows of all slices.
    pub fn count(slices: &[Option<Slice<'_>>], request: &Request) -> Self {
        let sum = |(rows, lengths), slice: &Slice<'_>| {
            let (more, longer) = slice.totals();
            (rows + more, lengths + longer)
        };
        let (rows, lengths): (u64, u64) = slices.iter().flatten().fold((0, 0), sum);
        let query = request.terms.iter().zip(&request.counts);
        let weights = query.filter_map(|(&term, &repeats)| {
            let holding: u64 = slices.iter().flatten().map(|slice| holding(slice, term)).sum();
            (holding > 0).then(|| (term, f64::from(repeats) * idf(rows, holding)))
        });
        let weights: Vec<_> = weights.collect();
        // Where a term was found, lengths are above 0.
        let per_length = if weights.is_empty() { 0.0 } else { K1 * B * rows as f64 / lengths as f64 };
        Self { weights, per_length }
    }

    /// BM25 of each row under the masks of `slice`, into `out`. Terms add up in the order of their ids.
    pub fn fill(&self, slice: &Slice<'_>, out: &mut Vec<f64>) {
        out.clear();
        out.resize(slice.end_row() - slice.first_row(), 0.0);
        let lengths = &slice.segment.columns.lengths;
        for &(term, weight) in &self.weights {
            for posting in postings(slice, term) {
                let row = usize::from(posting.row);
                let count = f64::from(posting.count);
                let norm = K1 * (1.0 - B) + self.per_length * f64::from(lengths[row]);
                out[row - slice.first_row()] += weight * count / (count + norm);
            }
        }
    }
}

fn idf(rows: u64, holding: u64) -> f64 {
    (((rows - holding) as f64 + 0.5) / (holding as f64 + 0.5)).ln_1p()
}

fn postings<'a>(slice: &Slice<'a>, term: i32) -> &'a [Posting] {
    slice.segment.postings.of(term, slice.first_row(), slice.end_row())
}

/// How many alive rows of the slice hold the term.
fn holding(slice: &Slice<'_>, term: i32) -> u64 {
    let postings = postings(slice, term);
    if slice.is_full() {
        return postings.len() as u64;
    }
    postings.iter().filter(|posting| slice.is_alive(usize::from(posting.row))).count() as u64
}
