//! Loading a space from streams of COPY BINARY: whatever borders their pieces have it is the same index, and what
//! is no such stream is refused, without a panic and without memory for what it only claims.

use _native::index::SpaceIndex;
use _native::index::columns::Record;
use _native::index::loader::Loader;
use _native::index::row::{MemoryType, NEVER, Row, State, Visibility};
use _native::kernel::Isa;
use proptest::collection::{btree_set, vec};
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::Index;

const DIMENSIONS: usize = 3;
/// 2000 by the count of 1970, in microseconds.
const EPOCH: i64 = 946_684_800_000_000;

fn index() -> SpaceIndex {
    SpaceIndex::new(DIMENSIONS, Isa::Scalar).unwrap()
}

prop_compose! {
    fn rows()(ids in btree_set(any::<u64>(), 0..12))(
        rows in ids.into_iter().map(|id| row(u128::from(id) << 60)).collect::<Vec<_>>()
    ) -> Vec<Row> {
        rows
    }
}

prop_compose! {
    fn row(id: u128)(
        agent in "[a-c]|é{1,3}",
        tags in vec("[t-v]|ü", 0..3),
        session_id in of("[s-u]"),
        source in of("[é-ü]{0,2}"),
        text in any::<u128>(),
        importance in 0f64..=2.0,
        created in -EPOCH..EPOCH,
        expires in prop_oneof![Just(NEVER), EPOCH..2 * EPOCH],
        terms in btree_set(any::<i32>(), 0..5),
        vectors in vec(vec(0u16..0x7c00, DIMENSIONS), 0..4),
        shared in any::<bool>(),
        archived in any::<bool>(),
    ) -> Row {
        let counts = (0..terms.len()).map(|i| i as u16 * 9 + 1).collect();
        Row {
            id, agent, tags, session_id, source, text, importance, created, expires, counts, vectors,
            memory_type: if shared { MemoryType::Procedural } else { MemoryType::Episodic },
            visibility: if shared { Visibility::Shared } else { Visibility::Private },
            state: if archived { State::Archived } else { State::Active },
            terms: terms.into_iter().collect(),
        }
    }
}

fn count<T>(values: &[T]) -> [u8; 4] {
    i32::try_from(values.len()).unwrap().to_be_bytes()
}

fn field(out: &mut Vec<u8>, value: &[u8]) {
    out.extend(count(value));
    out.extend(value);
}

fn optional(out: &mut Vec<u8>, value: Option<&[u8]>) {
    match value {
        Some(value) => field(out, value),
        None => out.extend((-1i32).to_be_bytes()),
    }
}

fn array(out: &mut Vec<u8>, oid: i32, elements: &[Vec<u8>]) {
    let mut value = [i32::from(!elements.is_empty()), 0, oid].map(i32::to_be_bytes).concat();
    if !elements.is_empty() {
        value.extend([count(elements), 1i32.to_be_bytes()].concat());
    }
    for element in elements {
        field(&mut value, element);
    }
    field(out, &value);
}

fn stream(rows: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut out = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0".to_vec();
    out.extend(rows.flatten());
    out.extend((-1i16).to_be_bytes());
    out
}

fn memory(row: &Row) -> Vec<u8> {
    let mut out = 14i16.to_be_bytes().to_vec();
    field(&mut out, &row.id.to_be_bytes());
    field(&mut out, row.agent.as_bytes());
    field(&mut out, if row.memory_type == MemoryType::Episodic { b"episodic" } else { b"procedural" });
    field(&mut out, if row.visibility == Visibility::Shared { b"shared" } else { b"private" });
    field(&mut out, if row.state == State::Active { b"active" } else { b"archived" });
    array(&mut out, 25, &row.tags.iter().map(|tag| tag.clone().into_bytes()).collect::<Vec<_>>());
    optional(&mut out, row.session_id.as_ref().map(String::as_bytes));
    optional(&mut out, row.source.as_ref().map(String::as_bytes));
    field(&mut out, &[row.text.to_be_bytes(), [7; 16]].concat());
    field(&mut out, &row.importance.to_be_bytes());
    field(&mut out, &(row.created - EPOCH).to_be_bytes());
    let expires = (row.expires - EPOCH).to_be_bytes();
    optional(&mut out, (row.expires != NEVER).then_some(&expires));
    array(&mut out, 23, &row.terms.iter().map(|term| term.to_be_bytes().to_vec()).collect::<Vec<_>>());
    array(&mut out, 21, &row.counts.iter().map(|count| count.to_be_bytes().to_vec()).collect::<Vec<_>>());
    out
}

fn vector(id: u128, vector: &[u16]) -> Vec<u8> {
    let mut out = 2i16.to_be_bytes().to_vec();
    field(&mut out, &id.to_be_bytes());
    let mut value = vec![0, vector.len() as u8, 0, 0];
    value.extend(vector.iter().flat_map(|half| half.to_be_bytes()));
    field(&mut out, &value);
    out
}

/// The streams of some rows and of their vectors.
fn pair(rows: &[Row]) -> Vec<u8> {
    let vectors = rows.iter().flat_map(|row| row.vectors.iter().map(|halves| vector(row.id, halves)));
    [stream(rows.iter().map(memory)), stream(vectors)].concat()
}

/// The streams of all rows, as many to a pair as `batch`; the last pair is empty.
fn streams(rows: &[Row], batch: usize) -> Vec<u8> {
    rows.chunks(batch).chain([&[][..]]).flat_map(pair).collect()
}

/// Loads pieces of at most `size` bytes.
fn load(data: &[u8], size: usize) -> Option<SpaceIndex> {
    let (mut loader, index) = (Loader::default(), index());
    data.chunks(size).try_for_each(|piece| loader.feed(&index, piece)).ok()?;
    loader.finish(&index).ok()?;
    Some(index)
}

fn contents(index: &SpaceIndex) -> Vec<(Record, usize)> {
    let snapshot = index.snapshot();
    let parts = snapshot.parts.iter().map(|part| &part.segment);
    let rows =
        parts.flat_map(|part| (0..part.rows()).map(|row| (part.columns.get(row), part.vectors.owners().count(row))));
    let mut rows: Vec<_> = rows.collect();
    rows.sort_by_key(|(record, _)| record.id);
    rows
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn streams_in_any_pieces_are_the_rows(rows in rows(), batch in 1usize..6, size in 1usize..200) {
        let loaded = load(&streams(&rows, batch), size).unwrap();
        let applied = index();
        applied.apply(rows, &[]).unwrap();
        prop_assert_eq!(contents(&loaded), contents(&applied));
    }

    #[test]
    fn what_is_cut_off_is_refused(rows in rows(), cut in any::<Index>(), size in 1usize..200) {
        let mut data = streams(&rows, 4);
        let pairs = rows.chunks(4).map(pair).chain([pair(&[])]);
        let whole: Vec<_> = pairs.scan(0, |end, pair| { *end += pair.len(); Some(*end) }).collect();
        data.truncate(1 + cut.index(data.len()));
        prop_assert_eq!(load(&data, size).is_some(), whole.contains(&data.len()));
    }

    #[test]
    fn no_bytes_are_a_panic(
        rows in rows(),
        changes in vec((any::<Index>(), any::<u8>()), 1..4),
        cut in any::<Index>(),
        size in 1usize..200,
    ) {
        let mut data = streams(&rows, 4);
        for (place, byte) in changes {
            let place = place.index(data.len());
            data[place] = byte;
        }
        data.truncate(cut.index(data.len()) + 1);
        // Whether it is refused or a stream still: both are answers.
        if let Some(index) = load(&data, size) {
            prop_assert!(index.snapshot().rows() <= rows.len());
        }
    }

    #[test]
    fn what_is_no_stream_is_refused(data in vec(any::<u8>(), 1..300), size in 1usize..200) {
        prop_assert!(load(&data, size).is_none());
    }
}

#[test]
fn after_a_fault_nothing_is_taken() {
    let (mut loader, index) = (Loader::default(), index());
    assert!(loader.feed(&index, &[1; 30]).is_err());
    assert!(loader.feed(&index, &streams(&[], 1)).is_err());
    assert!(loader.finish(&index).is_err());
}

#[test]
fn nothing_at_all_is_an_empty_space() {
    assert_eq!(load(&[], 1).unwrap().snapshot().rows(), 0);
}

#[test]
fn lengths_and_counts_that_lie_are_refused_without_their_memory() {
    for lie in [i32::MAX, 1 << 30, -2, i32::MIN] {
        let mut row = 14i16.to_be_bytes().to_vec();
        row.extend(lie.to_be_bytes());
        row.extend([0; 64]);
        assert!(load(&stream([row].into_iter()), 7).is_none(), "{lie}");
        let mut row = 2i16.to_be_bytes().to_vec();
        field(&mut row, &[0; 16]);
        row.extend(lie.to_be_bytes());
        let data = [stream(std::iter::empty()), stream([row].into_iter())].concat();
        assert!(load(&data, 7).is_none(), "{lie}");
    }
}
