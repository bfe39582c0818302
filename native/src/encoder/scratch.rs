//! The memory of one stream: all that a pass needs, allocated once.

use crate::encoder::buffer::Buffer;
use crate::encoder::forward::{BLOCK, CHUNK};
use crate::encoder::kernel::tile::COLUMNS;
use crate::encoder::layers::attention::Room;
use crate::encoder::layers::codes::Codes;
use crate::encoder::model::Sizes;

/// Intermediate results of one chunk. Its size follows from the model's sizes alone.
#[derive(Debug)]
pub(super) struct Scratch {
    /// The residual stream, [rows, panels].
    pub hidden: Buffer<f32>,
    /// What the next linear step takes in.
    pub codes: Codes,
    /// Queries, keys and values, [panels, rows].
    pub qkv: Buffer<f32>,
    /// What attention gives, [rows, stride].
    pub mixed: Buffer<f32>,
    pub mixed_stride: usize,
    pub room: Room,
    /// Inside the feed-forward step of one block, [rows, stride].
    pub wide: Buffer<f32>,
    pub wide_stride: usize,
    pub wide_codes: Codes,
    /// One row.
    pub row: Buffer<f32>,
}

impl Scratch {
    pub fn new(sizes: &Sizes) -> Self {
        let rows = sizes.window.max(CHUNK);
        let panels = sizes.dimensions.div_ceil(COLUMNS);
        let (heads, wide) = (sizes.heads, sizes.width.div_ceil(COLUMNS));
        // An odd number of panels, so that rows do not meet in the same few lines of the first-level cache.
        let wide_stride = (wide | 1) * COLUMNS;
        let mixed_stride = (panels + 1) * COLUMNS;
        Self {
            hidden: Buffer::new(rows * panels * COLUMNS),
            codes: Codes::new(rows, sizes.dimensions),
            qkv: Buffer::new(3 * heads.count * heads.panels() * rows * COLUMNS),
            mixed: Buffer::new(rows * mixed_stride),
            mixed_stride,
            room: Room::new(heads, sizes.window),
            wide: Buffer::new(BLOCK * wide_stride),
            wide_stride,
            wide_codes: Codes::new(BLOCK, wide * COLUMNS),
            row: Buffer::new(panels * COLUMNS),
        }
    }

    /// Bytes on the heap.
    pub fn bytes(&self) -> usize {
        let floats = [self.hidden.bytes(), self.qkv.bytes(), self.mixed.bytes(), self.wide.bytes(), self.row.bytes()];
        let codes = [self.codes.bytes(), self.wide_codes.bytes(), self.room.bytes()];
        floats.iter().chain(&codes).sum()
    }
}
