//! `PostgreSQL`'s rows as `COPY … TO STDOUT (FORMAT binary)` sends them.
//!
//! The format is that of the manual, [COPY, Binary Format](https://www.postgresql.org/docs/current/sql-copy.html):
//! a header, then for each row the number of its fields and each field behind its length, all big-endian, and a
//! number of −1 at the end. Values are as the send functions of their types write them.

use crate::error::{Fault, require};

const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";

/// More than any row of ours takes: what claims to be larger is no row.
const MAX_ROW: usize = 16 << 20;

/// The OID of an array's elements is behind its number of dimensions and its flags.
const ARRAY_HEAD: usize = 20;

/// What comes next in a stream.
#[derive(Debug)]
pub enum Next<'a> {
    /// A row.
    Row(Fields<'a>),
    /// The stream's end; another one may follow.
    End,
    /// Nothing whole yet.
    Part,
}

/// Cuts streams of one kind after another into rows, whatever pieces they come in.
#[derive(Debug, Default)]
pub struct Cutter {
    inside: bool,
}

impl Cutter {
    /// Whether a stream has begun and not ended.
    pub const fn is_inside(&self) -> bool {
        self.inside
    }

    /// Takes from `data` what comes next: a row of `columns` fields, or the end.
    pub fn next<'a>(&mut self, columns: usize, data: &mut &'a [u8]) -> Result<Next<'a>, Fault> {
        if !self.inside {
            if data.len() < HEADER.len() {
                return Ok(Next::Part);
            }
            let (header, rest) = data.split_at(HEADER.len());
            require(header == HEADER, || "a stream must begin with the header of COPY BINARY".into())?;
            (self.inside, *data) = (true, rest);
        }
        let Some((count, rest)) = data.split_first_chunk() else { return Ok(Next::Part) };
        let count = i16::from_be_bytes(*count);
        if count == -1 {
            (self.inside, *data) = (false, rest);
            return Ok(Next::End);
        }
        require(usize::try_from(count) == Ok(columns), || format!("a row must have {columns} fields, not {count}"))?;
        let Some(length) = length_of(columns, rest)? else { return Ok(Next::Part) };
        let (fields, rest) = rest.split_at(length);
        *data = rest;
        Ok(Next::Row(Fields(fields)))
    }
}

/// Bytes of the next `columns` fields with their lengths; `None` where they are not all there.
fn length_of(columns: usize, data: &[u8]) -> Result<Option<usize>, Fault> {
    let mut rest = data;
    for _ in 0..columns {
        let Some((length, after)) = rest.split_first_chunk() else { return Ok(None) };
        let length = usize::try_from(i32::from_be_bytes(*length).max(0)).unwrap_or(MAX_ROW);
        require(data.len() - after.len() + length <= MAX_ROW, || "a row is too long".into())?;
        let Some((_, after)) = after.split_at_checked(length) else { return Ok(None) };
        rest = after;
    }
    Ok(Some(data.len() - rest.len()))
}

/// The fields of one row, in their order.
#[derive(Debug)]
pub struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    /// The next field as it is; `None` for NULL.
    pub fn raw(&mut self) -> Result<Option<&'a [u8]>, Fault> {
        let missing = || Fault::new("a field is missing");
        let (length, rest) = self.0.split_first_chunk().ok_or_else(missing)?;
        let Ok(length) = usize::try_from(i32::from_be_bytes(*length)) else {
            require(*length == (-1i32).to_be_bytes(), || "a length must not be negative".into())?;
            self.0 = rest;
            return Ok(None);
        };
        let (field, rest) = rest.split_at_checked(length).ok_or_else(missing)?;
        self.0 = rest;
        Ok(Some(field))
    }

    fn present(&mut self, what: &str) -> Result<&'a [u8], Fault> {
        self.raw()?.ok_or_else(|| Fault::new(format!("{what} must not be NULL")))
    }

    /// The next field, of `N` bytes.
    pub fn fixed<const N: usize>(&mut self, what: &str) -> Result<[u8; N], Fault> {
        fixed(self.present(what)?, what)
    }

    /// The next field, a text.
    pub fn text(&mut self, what: &str) -> Result<&'a str, Fault> {
        text(self.present(what)?, what)
    }

    /// The next field, a text; `None` for NULL.
    pub fn optional_text(&mut self, what: &str) -> Result<Option<&'a str>, Fault> {
        self.raw()?.map(|field| text(field, what)).transpose()
    }

    /// The next field, a time: microseconds since 1970; `None` for NULL.
    pub fn time(&mut self, what: &str) -> Result<Option<i64>, Fault> {
        /// From 1970 to `PostgreSQL`'s zero, the beginning of 2000.
        const EPOCH: i64 = 946_684_800_000_000;
        let Some(field) = self.raw()? else { return Ok(None) };
        let time = i64::from_be_bytes(fixed(field, what)?).checked_add(EPOCH);
        time.map(Some).ok_or_else(|| Fault::new(format!("{what} is out of range")))
    }

    /// The next field, an array of one dimension, element by element.
    pub fn array<T>(&mut self, what: &str, each: impl Fn(&'a [u8]) -> Result<T, Fault>) -> Result<Vec<T>, Fault> {
        let field = self.present(what)?;
        let wrong = || Fault::new(format!("{what} must be an array of one dimension without NULL"));
        let dimensions = field.first_chunk().map(|head| i32::from_be_bytes(*head)).ok_or_else(wrong)?;
        if dimensions == 0 {
            return Ok(Vec::new());
        }
        let (head, elements) = field.split_at_checked(ARRAY_HEAD).filter(|_| dimensions == 1).ok_or_else(wrong)?;
        let count = head[12..].first_chunk().map(|count| i32::from_be_bytes(*count));
        let count = count.and_then(|count| usize::try_from(count).ok()).ok_or_else(wrong)?;
        let mut elements = Fields(elements);
        // A count may lie: each element takes at least the four bytes of its length.
        let mut values = Vec::with_capacity(count.min(elements.0.len() / 4));
        for _ in 0..count {
            values.push(each(elements.raw()?.ok_or_else(wrong)?)?);
        }
        elements.finish()?;
        Ok(values)
    }

    /// The next field, a `halfvec`: half-precision bits.
    pub fn halves(&mut self, what: &str) -> Result<Vec<u16>, Fault> {
        let field = self.present(what)?;
        let wrong = || Fault::new(format!("{what} must be a halfvec"));
        let (head, body) = field.split_first_chunk::<4>().ok_or_else(wrong)?;
        let (pairs, rest) = body.as_chunks();
        let count = usize::from(u16::from_be_bytes([head[0], head[1]]));
        if count != pairs.len() || !rest.is_empty() {
            return Err(wrong());
        }
        Ok(pairs.iter().map(|pair| u16::from_be_bytes(*pair)).collect())
    }

    /// Whether all fields were taken.
    pub fn finish(self) -> Result<(), Fault> {
        require(self.0.is_empty(), || "there is more than was said".into())
    }
}

/// A value of `N` bytes.
pub fn fixed<const N: usize>(field: &[u8], what: &str) -> Result<[u8; N], Fault> {
    field.try_into().map_err(|_| Fault::new(format!("{what} must have {N} bytes, not {}", field.len())))
}

/// A text.
pub fn text<'a>(field: &'a [u8], what: &str) -> Result<&'a str, Fault> {
    std::str::from_utf8(field).map_err(|_| Fault::new(format!("{what} must be UTF-8")))
}
