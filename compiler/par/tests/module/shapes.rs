/// The program `shapes.par`.
#[derive(Clone)]
pub struct Shapes {
    program: ::par::embed::Program,
}

const FILES: &[(&str, &str)] = &[
    ("rows.par", "-- | The sum of every row.\ndef sums (xss: [][]f32) : []f32 = map f32.sum xss\n"),
    ("shapes.par", "import \"rows\"\n\ntype point = {x: f32, y: f32}\ntype shape = #circle point f32 | #polygon ([]point) | #nothing\n\nentry row_sums (rows: [][]f32) : []f32 = sums rows\nentry twice (xsss: [][][]i32) : [][][]i32 = map (map (map (* 2))) xsss\nentry transposed [n] [m] (xs: [n][m]f64) : [m][n]f64 = transpose xs\nentry areas (shapes: []shape) : []f32 =\n  map (\\s -> match s\n             case #circle _ r -> f32.pi * r * r\n             case #polygon ps -> f32.i64 (length ps)\n             case #nothing -> 0) shapes\nentry moved (by: point) (shapes: []shape) : []shape =\n  let move (p: point) = {x = p.x + by.x, y = p.y + by.y}\n  in map (\\s -> match s\n                case #circle p r -> #circle (move p) r\n                case #polygon ps -> #polygon (map move ps)\n                case #nothing -> #nothing) shapes\nentry type' (self: u8) (flags: []bool) : (u8, bool) = (self, and flags)\nentry failing (xs: []i32) : i32 = head xs\n-- A shape alone is of the same type as one among others.\nentry corners (s: shape) : []point = match s case #polygon ps -> ps case _ -> []\n"),
];

impl Shapes {
    /// Compiles the program.
    pub fn new(context: &::par::Context) -> ::core::result::Result<Shapes, ::par::Error> {
        ::core::result::Result::Ok(Shapes { program: context.compile_embedded("shapes.par", FILES)? })
    }

    /// `row_sums : [][]f32 -> []f32`
    pub fn row_sums(&self, rows: &::par::Ragged<Vec<f32>>) -> ::core::result::Result<Vec<f32>, ::par::Error> {
        self.program.call("row_sums", (rows,))
    }

    /// `twice : [][][]i32 -> [][][]i32`
    pub fn twice(&self, xsss: &::par::Ragged<::par::Ragged<Vec<i32>>>) -> ::core::result::Result<::par::Ragged<::par::Ragged<Vec<i32>>>, ::par::Error> {
        self.program.call("twice", (xsss,))
    }

    /// `transposed : [n][m]f64 -> [m][n]f64`
    pub fn transposed(&self, xs: &[Vec<f64>]) -> ::core::result::Result<Vec<Vec<f64>>, ::par::Error> {
        self.program.call("transposed", (xs,))
    }

    /// `areas : [](#circle {x: f32, y: f32} f32 | #nothing | #polygon []{x: f32, y: f32}) -> []f32`
    pub fn areas(&self, shapes: &[AreasShapes]) -> ::core::result::Result<Vec<f32>, ::par::Error> {
        self.program.call("areas", (shapes,))
    }

    /// `moved : {x: f32, y: f32} -> [](#circle {x: f32, y: f32} f32 | #nothing | #polygon []{x: f32, y: f32}) -> [](#circle {x: f32, y: f32} f32 | #nothing | #polygon []{x: f32, y: f32})`
    pub fn moved(&self, by: &MovedBy, shapes: &[AreasShapes]) -> ::core::result::Result<Vec<AreasShapes>, ::par::Error> {
        self.program.call("moved", (by, shapes))
    }

    /// `type' : u8 -> []bool -> (u8, bool)`
    pub fn type_prime(&self, self_: u8, flags: &[bool]) -> ::core::result::Result<(u8, bool), ::par::Error> {
        self.program.call("type'", (self_, flags))
    }

    /// `failing : []i32 -> i32`
    pub fn failing(&self, xs: &[i32]) -> ::core::result::Result<i32, ::par::Error> {
        self.program.call("failing", (xs,))
    }

    /// `corners : #circle {x: f32, y: f32} f32 | #nothing | #polygon []{x: f32, y: f32} -> []{x: f32, y: f32}`
    pub fn corners(&self, s: &AreasShapes) -> ::core::result::Result<Vec<MovedBy>, ::par::Error> {
        self.program.call("corners", (s,))
    }
}

/// `#circle {x: f32, y: f32} f32 | #nothing | #polygon []{x: f32, y: f32}`
#[derive(Clone, Debug, PartialEq, ::par::IntoPar, ::par::FromPar)]
pub enum AreasShapes {
    /// `#circle`
    #[par(name = "circle")]
    Circle(MovedBy, f32),
    /// `#nothing`
    #[par(name = "nothing")]
    Nothing,
    /// `#polygon`
    #[par(name = "polygon")]
    Polygon(Vec<MovedBy>),
}

/// `{x: f32, y: f32}`
#[derive(Clone, Debug, PartialEq, ::par::IntoPar, ::par::FromPar)]
pub struct MovedBy {
    /// `x`
    #[par(name = "x")]
    pub x: f32,
    /// `y`
    #[par(name = "y")]
    pub y: f32,
}
