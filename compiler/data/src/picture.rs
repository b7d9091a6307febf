//! Pictures as arrays of rows of pixels.
//!
//! | type | pixels |
//! |---|---|
//! | `[h][w]u8`, `[h][w]u16` | grey, 0 is black |
//! | `[h][w]f32`, `[h][w]f64` (`f16`) | grey from 0 to 1; what lies outside is cut off when it is written |
//! | `[h][w]bool` | white where it is true |
//! | `[h][w]u32` | `0xAARRGGBB`, as in Futhark |
//! | `[h][w][3]t`, `[h][w](t, t, t)` | red, green, blue |
//! | `[h][w][4]t`, `[h][w](t, t, t, t)` | and opacity |
//!
//! Pictures are converted to what is asked for when they are read: coloured ones become grey by their brightness, deeper ones lose bits.

use crate::DataError;
use crate::format::Picture;
use crate::guard::guarded;
use crate::source::Source;
use crate::tree::Tree;
use image::{DynamicImage, ImageFormat, ImageReader, Limits};
use par_runtime::{Array, Prim, Value, ValueType, f16};
use std::io::{BufReader, Write};

/// Bytes that a decoder may take for every byte of a file, and at least.
const EXPANSION: u64 = 2048;
const AT_LEAST: u64 = 64 << 20;

/// Form of a pixel that a program asks for.
struct Wanted {
    /// 1, 3 or 4; none: as the file has it.
    channels: Option<usize>,
    prim: Prim,
}

fn wanted(ty: &ValueType) -> Option<Wanted> {
    let ValueType::Array { elem: row, .. } = ty else { return None };
    let ValueType::Array { elem: pixel, .. } = &**row else { return None };
    match &**pixel {
        ValueType::Prim(prim) => Some(Wanted { channels: Some(1), prim: *prim }),
        ValueType::Array { elem, size, .. } => match **elem {
            ValueType::Prim(prim) => {
                let channels = size.as_ref().and_then(|s| s.trim_end_matches("i64").parse().ok());
                Some(Wanted { channels, prim })
            }
            _ => None,
        },
        ValueType::Tuple(types) => match types.first()? {
            ValueType::Prim(prim) => Some(Wanted { channels: Some(types.len()), prim: *prim }),
            _ => None,
        },
        _ => None,
    }
}

/// Reads a picture as the type wants it.
pub fn read(source: &mut Source, format: Picture, ty: &ValueType) -> Result<Tree, DataError> {
    let wanted = wanted(ty).ok_or_else(|| {
        format!("a picture is of type [h][w]t, [h][w][3]t or [h][w][4]t, but {ty} is expected")
    })?;
    let format = match format {
        Picture::Png => ImageFormat::Png,
        Picture::Pnm => ImageFormat::Pnm,
    };
    let limit = source.len().saturating_mul(EXPANSION).max(AT_LEAST);
    let picture = guarded(|| {
        source.rewind()?;
        let mut reader = ImageReader::with_format(BufReader::new(source), format);
        let mut limits = Limits::default();
        limits.max_alloc = Some(limit);
        reader.limits(limits);
        reader.decode().map_err(|e| DataError::new(format!("the picture cannot be read: {e}")))
    })?;
    let (width, height) = (picture.width() as usize, picture.height() as usize);
    let channels = wanted.channels.unwrap_or(if picture.color().has_alpha() { 4 } else { 3 });
    let pixels = pixels(picture, channels, wanted.prim)?;
    let row = match wanted.channels {
        Some(1) => Tree::Scalars(pixels),
        _ => Tree::array(channels, Tree::Scalars(pixels)),
    };
    Ok(Tree::array(height, Tree::array(width, row)))
}

fn pixels(picture: DynamicImage, channels: usize, prim: Prim) -> Result<Array, DataError> {
    let wide = |picture: DynamicImage| match channels {
        1 => Some(picture.into_luma16().into_raw()),
        3 => Some(picture.into_rgb16().into_raw()),
        4 => Some(picture.into_rgba16().into_raw()),
        _ => None,
    };
    let narrow = |picture: DynamicImage| match channels {
        1 => Some(picture.into_luma8().into_raw()),
        3 => Some(picture.into_rgb8().into_raw()),
        4 => Some(picture.into_rgba8().into_raw()),
        _ => None,
    };
    let scaled = |x: &u16| f64::from(*x) / 65535.0;
    let array = match prim {
        Prim::U8 => narrow(picture).map(|p| Array::from_slice(&p)),
        Prim::Bool => {
            narrow(picture).map(|p| Array::from_slice(&p.iter().map(|x| *x >= 128).collect::<Vec<_>>()))
        }
        Prim::U16 => wide(picture).map(|p| Array::from_slice(&p)),
        Prim::F16 => wide(picture)
            .map(|p| Array::from_slice(&p.iter().map(|x| f16::from_f64(scaled(x))).collect::<Vec<_>>())),
        Prim::F32 => {
            wide(picture).map(|p| Array::from_slice(&p.iter().map(|x| scaled(x) as f32).collect::<Vec<_>>()))
        }
        Prim::F64 => wide(picture).map(|p| Array::from_slice(&p.iter().map(scaled).collect::<Vec<_>>())),
        Prim::U32 if channels == 1 => {
            let all = picture.into_rgba8().into_raw();
            let packed = all.chunks_exact(4).map(|p| u32::from_be_bytes([p[3], p[0], p[1], p[2]]));
            Some(Array::from_slice(&packed.collect::<Vec<_>>()))
        }
        other => return Err(format!("the pixels of a picture cannot be read as {other}").into()),
    };
    array.ok_or_else(|| format!("a pixel has 1, 3 or 4 numbers, but {channels} are expected").into())
}

/// Writes an array of rows of pixels. Irregular rows are rows of pixels if they have one length.
pub fn write(tree: &Tree, format: Picture, out: &mut dyn Write) -> Result<(), DataError> {
    let (width, height, channels, data) = taken_apart(&evened(tree.clone())).ok_or_else(|| {
        let found = tree.type_name();
        format!("a picture is of type [h][w]t, [h][w][3]t or [h][w][4]t with t u8, u16, f32, f64 or bool, or [h][w]u32, not {found}")
    })?;
    let side = |n: usize| u32::try_from(n).ok().filter(|n| *n > 0);
    let (Some(width), Some(height)) = (side(width), side(height)) else {
        return Err(format!("a picture of {width} x {height} pixels cannot be written").into());
    };
    let picture = picture(width, height, channels, &data).ok_or("the picture's size is out of range")?;
    let mut bytes = std::io::Cursor::new(Vec::new());
    let encoded = match format {
        Picture::Png => picture.write_to(&mut bytes, ImageFormat::Png),
        // These have no opacity.
        Picture::Pnm => without_opacity(picture).write_to(&mut bytes, ImageFormat::Pnm),
    };
    encoded.map_err(|e| DataError::new(format!("the picture cannot be written: {e}")))?;
    out.write_all(bytes.get_ref())?;
    Ok(())
}

/// The bytes of a PNG file.
pub fn png(value: Value) -> Result<Vec<u8>, DataError> {
    let mut bytes = Vec::new();
    write(&Tree::of(value)?, Picture::Png, &mut bytes)?;
    Ok(bytes)
}

/// The width that a PNG file says it has.
pub fn png_width(bytes: &[u8]) -> usize {
    bytes.get(16..20).map_or(0, |b| b.iter().fold(0, |n, b| n << 8 | usize::from(*b)))
}

/// Rows of one length as such.
fn evened(tree: Tree) -> Tree {
    let Tree::Fixed(n, elem) = tree else { return tree };
    let elem = match *elem {
        Tree::Lists(offsets, elem) => {
            let starts = offsets.slice::<i64>();
            let first = starts.get(1).copied().unwrap_or(0);
            match starts.windows(2).all(|w| w[1] - w[0] == first) {
                true => Tree::array(first as usize, *elem),
                false => Tree::Lists(offsets, elem),
            }
        }
        elem => evened(elem),
    };
    Tree::array(n, elem)
}

fn without_opacity(picture: DynamicImage) -> DynamicImage {
    match picture {
        DynamicImage::ImageRgba8(_) => picture.into_rgb8().into(),
        DynamicImage::ImageRgba16(_) => picture.into_rgb16().into(),
        other => other,
    }
}

/// Width, height, numbers for each pixel, and the numbers.
fn taken_apart(tree: &Tree) -> Option<(usize, usize, usize, Array)> {
    let Tree::Fixed(height, row) = tree else { return None };
    let Tree::Fixed(width, pixel) = &**row else { return None };
    let (channels, data) = match &**pixel {
        Tree::Scalars(data) => (1, data.clone()),
        Tree::Fixed(channels @ (3 | 4), elem) => match &**elem {
            Tree::Scalars(data) => (*channels, data.clone()),
            _ => return None,
        },
        Tree::Fields(fields) if matches!(fields.len(), 3 | 4) => {
            let parts: Option<Vec<&Array>> = fields.iter().map(|(_, t)| crate::fit::scalars(t)).collect();
            (fields.len(), crate::fit::woven_if_alike(&parts?)?)
        }
        _ => return None,
    };
    let fits = match data.prim() {
        Prim::U32 => channels == 1,
        prim => prim.is_float() || matches!(prim, Prim::U8 | Prim::U16 | Prim::Bool),
    };
    fits.then_some((*width, *height, channels, data))
}

fn picture(width: u32, height: u32, channels: usize, data: &Array) -> Option<DynamicImage> {
    let level = |x: f64| (x.clamp(0.0, 1.0) * 255.0).round() as u8;
    let bytes: Vec<u8> = match data.prim() {
        Prim::U16 => return deep(width, height, channels, data.slice::<u16>().to_vec()),
        Prim::U32 => {
            let pixels = data.slice::<u32>().iter().map(|p| p.to_be_bytes());
            let all = pixels.flat_map(|[a, r, g, b]| [r, g, b, a]).collect();
            return image::RgbaImage::from_raw(width, height, all).map(DynamicImage::from);
        }
        Prim::U8 => data.slice::<u8>().to_vec(),
        Prim::Bool => data.slice::<bool>().iter().map(|b| if *b { 255 } else { 0 }).collect(),
        Prim::F16 => data.slice::<f16>().iter().map(|x| level(x.to_f64())).collect(),
        Prim::F32 => data.slice::<f32>().iter().map(|x| level(f64::from(*x))).collect(),
        _ => data.slice::<f64>().iter().map(|x| level(*x)).collect(),
    };
    match channels {
        1 => image::GrayImage::from_raw(width, height, bytes).map(DynamicImage::from),
        3 => image::RgbImage::from_raw(width, height, bytes).map(DynamicImage::from),
        _ => image::RgbaImage::from_raw(width, height, bytes).map(DynamicImage::from),
    }
}

fn deep(width: u32, height: u32, channels: usize, all: Vec<u16>) -> Option<DynamicImage> {
    match channels {
        1 => image::ImageBuffer::from_raw(width, height, all).map(DynamicImage::ImageLuma16),
        3 => image::ImageBuffer::from_raw(width, height, all).map(DynamicImage::ImageRgb16),
        _ => image::ImageBuffer::from_raw(width, height, all).map(DynamicImage::ImageRgba16),
    }
}
