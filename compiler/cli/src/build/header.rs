//! Interface of a library for C: its header, and the functions behind it.
//!
//! ```text
//! entry norm (xs: []f32): f32
//!
//! par_status stats_norm(const par_options *options, const par_value *xs, float *result);
//! ```

use par::{Entry, Prim, ValueType};
use std::collections::HashSet;
use std::fmt::Write;

/// The header that all libraries share.
const VALUES: &str = include_str!("../../../native/include/par_value.h");

/// The texts of a library.
pub struct Interface {
    /// `NAME.h`.
    pub header: String,
    /// Code that is compiled into the library.
    pub code: String,
    /// The name of the image.
    pub image: String,
    /// The functions of the program.
    own: Vec<String>,
}

impl Interface {
    /// All functions of the header.
    pub fn functions(&self) -> Vec<String> {
        let scalars = Prim::ALL.iter().flat_map(|p| {
            ["par", "par_array", "par_value", "par_value_data"].map(|before| format!("{before}_{p}"))
        });
        let others = OTHERS.iter().map(|f| f.to_string());
        scalars.chain(others).chain(self.own.iter().cloned()).collect()
    }
}

/// Functions that do not exist per scalar type.
const OTHERS: &[&str] = &[
    "par_error_message",
    "par_error_status",
    "par_token_new",
    "par_token_cancel",
    "par_token_free",
    "par_ragged",
    "par_tuple",
    "par_record",
    "par_constructor",
    "par_value_copy",
    "par_value_free",
    "par_value_rank",
    "par_value_size",
    "par_value_offsets",
    "par_value_count",
    "par_value_part",
    "par_value_field",
    "par_value_constructor",
    "par_value_text",
    "par_value_type",
    "par_text_free",
];

/// Representation of a parameter or a result in C.
enum Passed {
    /// As a number: its name in Par, its type in C.
    Number(&'static str, &'static str),
    Handle,
}

/// Header and code for the entry points of a program; the name of every function begins with that of the library.
pub fn interface(library: &str, entries: &[&Entry]) -> Interface {
    let prefix = identifier(library);
    let image = format!("{prefix}_par_image");
    let guard = format!("{}_H", prefix.to_uppercase());
    let mut header = format!(
        "/* Made by `par build --lib`. Every function calls an entry point of the program: it gives a status, and its results\n \
         * through its last parameters, which are left alone if it fails. Handles are the caller's to free. `options` may be NULL. */\n\
         #ifndef {guard}\n#define {guard}\n\n{VALUES}\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n"
    );
    let mut code = format!(
        "#include \"{library}.h\"\n\nextern const char {image}[];\n\
         par_status par_image_call(const void *, const char *, const par_options *, size_t, const par_value *const *, par_value **);\n\
         par_value *par_image_read(const void *, const char *, size_t, const char *);\n\
         par_status par_image_run_on(const void *, const char *, size_t);\n\
         par_value *par_image_upload(const void *, const par_value *);\n"
    );
    let chooser = format!("{prefix}_run_on");
    let choose = format!("par_status {chooser}(const char *backend, size_t device)");
    let _ = write!(
        header,
        "\n/* What later calls run on: \"cpu\", which is so at first, \"cuda\" for the GPU of that number, or \"auto\" for a GPU where there is one.\n \
         * Programs for GPUs are built with --gpu. */\n{choose};\n"
    );
    let _ = write!(code, "\n{choose} {{\n  return par_image_run_on({image}, backend, device);\n}}\n");
    let uploader = format!("{prefix}_upload");
    let upload = format!("par_value *{uploader}(const par_value *value)");
    let _ = write!(
        header,
        "\n/* A value with elements on the GPU, if that is what calls run on: arguments of several calls are copied there once. */\n{upload};\n"
    );
    let _ = write!(code, "\n{upload} {{\n  return par_image_upload({image}, value);\n}}\n");
    let mut own = vec![chooser, uploader];
    let mut taken: HashSet<String> = own.iter().cloned().collect();
    for entry in entries {
        let function = unique(&format!("{prefix}_{}", identifier(&entry.name)), &mut taken);
        own.extend([function.clone(), format!("{function}_read")]);
        let declared = declaration(&function, entry);
        let reader = format!("par_value *{function}_read(size_t parameter, const char *text)");
        let _ = write!(
            header,
            "\n/* {}\n * The second function makes an argument, whose parameter it names by number from 0, of a text in Par's notation. */\n{declared};\n{reader};\n",
            comment(&entry.to_string())
        );
        let _ = write!(code, "\n{declared} {{\n{}}}\n", body(entry, &image));
        let name = c_text(&entry.name);
        let _ =
            write!(code, "\n{reader} {{\n  return par_image_read({image}, {name}, parameter, text);\n}}\n");
    }
    header += "\n#ifdef __cplusplus\n}\n#endif\n#endif\n";
    Interface { header, code, image, own }
}

fn declaration(function: &str, entry: &Entry) -> String {
    let mut taken = HashSet::from(["options".to_string()]);
    let mut params = vec!["const par_options *options".to_string()];
    for (name, ty) in &entry.params {
        let name = unique(&identifier(name), &mut taken);
        params.push(match passed(ty) {
            Passed::Number(_, c) => format!("{c} {name}"),
            Passed::Handle => format!("const par_value *{name}"),
        });
    }
    for (i, ty) in results(entry).iter().enumerate() {
        let name = unique(&result_name(entry, i), &mut taken);
        params.push(match passed(ty) {
            Passed::Number(_, c) => format!("{c} *{name}"),
            Passed::Handle => format!("par_value **{name}"),
        });
    }
    format!("par_status {function}({})", params.join(", "))
}

/// Makes handles of numbers, calls, and takes the results apart.
fn body(entry: &Entry, image: &str) -> String {
    let mut taken = HashSet::from(["options".to_string()]);
    let names: Vec<String> = entry.params.iter().map(|p| unique(&identifier(&p.0), &mut taken)).collect();
    let count = names.len();
    let mut out =
        format!("  const par_value *par_args_[{}];\n  par_value *par_result_ = NULL;\n", count.max(1));
    for (i, (name, (_, ty))) in names.iter().zip(&entry.params).enumerate() {
        let value = match passed(ty) {
            Passed::Number(t, _) => format!("par_{t}({name})"),
            Passed::Handle => name.clone(),
        };
        let _ = writeln!(out, "  par_args_[{i}] = {value};");
    }
    let name = c_text(&entry.name);
    let _ = writeln!(
        out,
        "  par_status par_status_ = par_image_call({image}, {name}, options, {count}, par_args_, &par_result_);"
    );
    for (i, (_, ty)) in entry.params.iter().enumerate() {
        if let Passed::Number(..) = passed(ty) {
            let _ = writeln!(out, "  par_value_free((par_value *)par_args_[{i}]);");
        }
    }
    out += "  if (par_status_ != PAR_OK) return par_status_;\n";
    let several = matches!(entry.ret, ValueType::Tuple(_));
    for (i, ty) in results(entry).iter().enumerate() {
        let place = unique(&result_name(entry, i), &mut taken);
        let _ = match (passed(ty), several) {
            (Passed::Number(t, _), false) => {
                writeln!(out, "  par_status_ = par_value_{t}(par_result_, {place});")
            }
            (Passed::Number(t, _), true) => writeln!(
                out,
                "  {{ par_value *part = par_value_part(par_result_, {i}); par_value_{t}(part, {place}); par_value_free(part); }}"
            ),
            (Passed::Handle, false) => writeln!(out, "  *{place} = par_result_;\n  par_result_ = NULL;"),
            (Passed::Handle, true) => writeln!(out, "  *{place} = par_value_part(par_result_, {i});"),
        };
    }
    out + "  par_value_free(par_result_);\n  return par_status_;\n"
}

/// The results: of a tuple its components.
fn results(entry: &Entry) -> &[ValueType] {
    match &entry.ret {
        ValueType::Tuple(types) => types,
        ty => std::slice::from_ref(ty),
    }
}

fn result_name(entry: &Entry, index: usize) -> String {
    if let ValueType::Tuple(_) = entry.ret { format!("result{index}") } else { "result".to_string() }
}

fn passed(ty: &ValueType) -> Passed {
    match ty {
        ValueType::Prim(prim) => Passed::Number(prim.name(), c_type(*prim)),
        _ => Passed::Handle,
    }
}

/// The type in C of a scalar type.
pub fn c_type(prim: Prim) -> &'static str {
    match prim {
        Prim::I8 => "int8_t",
        Prim::I16 => "int16_t",
        Prim::I32 => "int32_t",
        Prim::I64 => "int64_t",
        Prim::U8 => "uint8_t",
        Prim::U16 | Prim::F16 => "uint16_t",
        Prim::U32 => "uint32_t",
        Prim::U64 => "uint64_t",
        Prim::F32 => "float",
        Prim::F64 => "double",
        Prim::Bool => "bool",
    }
}

/// A name of Par as one of C.
pub fn identifier(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = name.chars().map(plain).collect();
    match name.chars().next() {
        None => "_".to_string(),
        Some(c) if c.is_ascii_digit() => format!("_{name}"),
        _ if RESERVED.split_whitespace().any(|word| word == name) => format!("{name}_"),
        _ => name,
    }
}

/// A name that nothing else has yet.
fn unique(name: &str, taken: &mut HashSet<String>) -> String {
    let mut found = name.to_string();
    while !taken.insert(found.clone()) {
        found.push('_');
    }
    found
}

/// Words of C and of C++ that a name of Par may be.
const RESERVED: &str = "
    alignas alignof and asm auto bool break case catch char class const constexpr continue default
    delete do double else enum explicit export extern false float for friend goto if inline int long
    mutable namespace new not nullptr operator or private protected public register restrict return
    short signed sizeof static struct switch template this throw true try typedef typename union
    unsigned using virtual void volatile while xor";

/// A text in which no comment ends.
fn comment(text: &str) -> String {
    text.replace("*/", "* /")
}

/// A text of C; names of Par need nothing but quotes.
fn c_text(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_of_the_header_is_there() {
        let interface = interface("x", &[]);
        let functions = interface.functions();
        let text: String =
            VALUES.lines().filter(|l| !l.starts_with([' ', '/', '#'])).collect::<Vec<_>>().join("\n");
        let called = |line: &str| {
            let before = line.split('(').next()?;
            before.rsplit([' ', '*']).next().filter(|n| n.starts_with("par_")).map(str::to_string)
        };
        let declared: Vec<String> = text.lines().filter(|l| l.contains('(')).filter_map(called).collect();
        assert!(declared.len() >= OTHERS.len(), "{declared:?}");
        for name in declared {
            assert!(functions.contains(&name), "{name}");
        }
        for name in OTHERS {
            assert!(VALUES.contains(&format!("{name}(")), "{name}");
        }
    }

    #[test]
    fn names_are_those_of_c() {
        assert_eq!(identifier("f'"), "f_");
        assert_eq!(identifier("double"), "double_");
        assert_eq!(identifier("2d"), "_2d");
        let entry = Entry {
            name: "norm".into(),
            params: vec![
                ("options".into(), ValueType::Prim(Prim::F32)),
                ("xs".into(), ValueType::array(ValueType::Prim(Prim::F32))),
            ],
            ret: ValueType::Tuple(vec![
                ValueType::Prim(Prim::Bool),
                ValueType::array(ValueType::Prim(Prim::I8)),
            ]),
        };
        assert_eq!(
            declaration("m_norm", &entry),
            "par_status m_norm(const par_options *options, float options_, const par_value *xs, bool *result0, par_value **result1)"
        );
    }
}
