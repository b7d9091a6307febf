//! Instructions that work on whole vectors, at 128, 256 and 512 bits.
//!
//! Those of 128 and 256 bits have VEX encodings, which leave no state to switch; those of 512 bits have EVEX encodings. What a
//! width does not have is `INVALID`; at 512 bits comparisons result in mask registers.

use super::inst::View;
use iced_x86::Code;
use iced_x86::Code::*;

/// The encodings of an instruction by width.
#[derive(Clone, Copy)]
pub struct Row([Code; 3]);

impl Row {
    /// The encoding for vectors of a width, if there is one.
    pub fn at(self, view: View) -> Option<Code> {
        let code = match view {
            View::Y => self.0[1],
            View::Z => self.0[2],
            _ => self.0[0],
        };
        (code != INVALID).then_some(code)
    }
}

/// The instruction for lanes of 1, 2, 4 or 8 bytes.
pub fn by_bytes(bytes: u32, rows: [Row; 4]) -> Row {
    rows[bytes.trailing_zeros() as usize]
}

macro_rules! rows {
    ($($name:ident $x:ident $y:ident $z:ident)*) => {
        $(pub const $name: Row = Row([$x, $y, $z]);)*
    };
}

#[rustfmt::skip]
rows! {
    ADDPS VEX_Vaddps_xmm_xmm_xmmm128 VEX_Vaddps_ymm_ymm_ymmm256 EVEX_Vaddps_zmm_k1z_zmm_zmmm512b32_er
    ADDPD VEX_Vaddpd_xmm_xmm_xmmm128 VEX_Vaddpd_ymm_ymm_ymmm256 EVEX_Vaddpd_zmm_k1z_zmm_zmmm512b64_er
    SUBPS VEX_Vsubps_xmm_xmm_xmmm128 VEX_Vsubps_ymm_ymm_ymmm256 EVEX_Vsubps_zmm_k1z_zmm_zmmm512b32_er
    SUBPD VEX_Vsubpd_xmm_xmm_xmmm128 VEX_Vsubpd_ymm_ymm_ymmm256 EVEX_Vsubpd_zmm_k1z_zmm_zmmm512b64_er
    MULPS VEX_Vmulps_xmm_xmm_xmmm128 VEX_Vmulps_ymm_ymm_ymmm256 EVEX_Vmulps_zmm_k1z_zmm_zmmm512b32_er
    MULPD VEX_Vmulpd_xmm_xmm_xmmm128 VEX_Vmulpd_ymm_ymm_ymmm256 EVEX_Vmulpd_zmm_k1z_zmm_zmmm512b64_er
    DIVPS VEX_Vdivps_xmm_xmm_xmmm128 VEX_Vdivps_ymm_ymm_ymmm256 EVEX_Vdivps_zmm_k1z_zmm_zmmm512b32_er
    DIVPD VEX_Vdivpd_xmm_xmm_xmmm128 VEX_Vdivpd_ymm_ymm_ymmm256 EVEX_Vdivpd_zmm_k1z_zmm_zmmm512b64_er
    MINPS VEX_Vminps_xmm_xmm_xmmm128 VEX_Vminps_ymm_ymm_ymmm256 EVEX_Vminps_zmm_k1z_zmm_zmmm512b32_sae
    MINPD VEX_Vminpd_xmm_xmm_xmmm128 VEX_Vminpd_ymm_ymm_ymmm256 EVEX_Vminpd_zmm_k1z_zmm_zmmm512b64_sae
    MAXPS VEX_Vmaxps_xmm_xmm_xmmm128 VEX_Vmaxps_ymm_ymm_ymmm256 EVEX_Vmaxps_zmm_k1z_zmm_zmmm512b32_sae
    MAXPD VEX_Vmaxpd_xmm_xmm_xmmm128 VEX_Vmaxpd_ymm_ymm_ymmm256 EVEX_Vmaxpd_zmm_k1z_zmm_zmmm512b64_sae
    PADDB VEX_Vpaddb_xmm_xmm_xmmm128 VEX_Vpaddb_ymm_ymm_ymmm256 EVEX_Vpaddb_zmm_k1z_zmm_zmmm512
    PSUBB VEX_Vpsubb_xmm_xmm_xmmm128 VEX_Vpsubb_ymm_ymm_ymmm256 EVEX_Vpsubb_zmm_k1z_zmm_zmmm512
    PADDW VEX_Vpaddw_xmm_xmm_xmmm128 VEX_Vpaddw_ymm_ymm_ymmm256 EVEX_Vpaddw_zmm_k1z_zmm_zmmm512
    PSUBW VEX_Vpsubw_xmm_xmm_xmmm128 VEX_Vpsubw_ymm_ymm_ymmm256 EVEX_Vpsubw_zmm_k1z_zmm_zmmm512
    PADDD VEX_Vpaddd_xmm_xmm_xmmm128 VEX_Vpaddd_ymm_ymm_ymmm256 EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32
    PSUBD VEX_Vpsubd_xmm_xmm_xmmm128 VEX_Vpsubd_ymm_ymm_ymmm256 EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32
    PADDQ VEX_Vpaddq_xmm_xmm_xmmm128 VEX_Vpaddq_ymm_ymm_ymmm256 EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64
    PSUBQ VEX_Vpsubq_xmm_xmm_xmmm128 VEX_Vpsubq_ymm_ymm_ymmm256 EVEX_Vpsubq_zmm_k1z_zmm_zmmm512b64
    PMULLW VEX_Vpmullw_xmm_xmm_xmmm128 VEX_Vpmullw_ymm_ymm_ymmm256 EVEX_Vpmullw_zmm_k1z_zmm_zmmm512
    PMULLD VEX_Vpmulld_xmm_xmm_xmmm128 VEX_Vpmulld_ymm_ymm_ymmm256 EVEX_Vpmulld_zmm_k1z_zmm_zmmm512b32
    PSLLVD VEX_Vpsllvd_xmm_xmm_xmmm128 VEX_Vpsllvd_ymm_ymm_ymmm256 EVEX_Vpsllvd_zmm_k1z_zmm_zmmm512b32
    PSRLVD VEX_Vpsrlvd_xmm_xmm_xmmm128 VEX_Vpsrlvd_ymm_ymm_ymmm256 EVEX_Vpsrlvd_zmm_k1z_zmm_zmmm512b32
    PSRAVD VEX_Vpsravd_xmm_xmm_xmmm128 VEX_Vpsravd_ymm_ymm_ymmm256 EVEX_Vpsravd_zmm_k1z_zmm_zmmm512b32
    PSLLVQ VEX_Vpsllvq_xmm_xmm_xmmm128 VEX_Vpsllvq_ymm_ymm_ymmm256 EVEX_Vpsllvq_zmm_k1z_zmm_zmmm512b64
    PSRLVQ VEX_Vpsrlvq_xmm_xmm_xmmm128 VEX_Vpsrlvq_ymm_ymm_ymmm256 EVEX_Vpsrlvq_zmm_k1z_zmm_zmmm512b64
    PSRAVQ INVALID INVALID EVEX_Vpsravq_zmm_k1z_zmm_zmmm512b64
    PMULUDQ VEX_Vpmuludq_xmm_xmm_xmmm128 VEX_Vpmuludq_ymm_ymm_ymmm256 EVEX_Vpmuludq_zmm_k1z_zmm_zmmm512b64
    PMULLQ INVALID INVALID EVEX_Vpmullq_zmm_k1z_zmm_zmmm512b64
    AND VEX_Vpand_xmm_xmm_xmmm128 VEX_Vpand_ymm_ymm_ymmm256 EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32
    ANDN VEX_Vpandn_xmm_xmm_xmmm128 VEX_Vpandn_ymm_ymm_ymmm256 EVEX_Vpandnd_zmm_k1z_zmm_zmmm512b32
    OR VEX_Vpor_xmm_xmm_xmmm128 VEX_Vpor_ymm_ymm_ymmm256 EVEX_Vpord_zmm_k1z_zmm_zmmm512b32
    XOR VEX_Vpxor_xmm_xmm_xmmm128 VEX_Vpxor_ymm_ymm_ymmm256 EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32
    PMINSB VEX_Vpminsb_xmm_xmm_xmmm128 VEX_Vpminsb_ymm_ymm_ymmm256 EVEX_Vpminsb_zmm_k1z_zmm_zmmm512
    PMINSW VEX_Vpminsw_xmm_xmm_xmmm128 VEX_Vpminsw_ymm_ymm_ymmm256 EVEX_Vpminsw_zmm_k1z_zmm_zmmm512
    PMINSD VEX_Vpminsd_xmm_xmm_xmmm128 VEX_Vpminsd_ymm_ymm_ymmm256 EVEX_Vpminsd_zmm_k1z_zmm_zmmm512b32
    PMINUB VEX_Vpminub_xmm_xmm_xmmm128 VEX_Vpminub_ymm_ymm_ymmm256 EVEX_Vpminub_zmm_k1z_zmm_zmmm512
    PMINUW VEX_Vpminuw_xmm_xmm_xmmm128 VEX_Vpminuw_ymm_ymm_ymmm256 EVEX_Vpminuw_zmm_k1z_zmm_zmmm512
    PMINUD VEX_Vpminud_xmm_xmm_xmmm128 VEX_Vpminud_ymm_ymm_ymmm256 EVEX_Vpminud_zmm_k1z_zmm_zmmm512b32
    PMINSQ INVALID INVALID EVEX_Vpminsq_zmm_k1z_zmm_zmmm512b64
    PMINUQ INVALID INVALID EVEX_Vpminuq_zmm_k1z_zmm_zmmm512b64
    PMAXSB VEX_Vpmaxsb_xmm_xmm_xmmm128 VEX_Vpmaxsb_ymm_ymm_ymmm256 EVEX_Vpmaxsb_zmm_k1z_zmm_zmmm512
    PMAXSW VEX_Vpmaxsw_xmm_xmm_xmmm128 VEX_Vpmaxsw_ymm_ymm_ymmm256 EVEX_Vpmaxsw_zmm_k1z_zmm_zmmm512
    PMAXSD VEX_Vpmaxsd_xmm_xmm_xmmm128 VEX_Vpmaxsd_ymm_ymm_ymmm256 EVEX_Vpmaxsd_zmm_k1z_zmm_zmmm512b32
    PMAXUB VEX_Vpmaxub_xmm_xmm_xmmm128 VEX_Vpmaxub_ymm_ymm_ymmm256 EVEX_Vpmaxub_zmm_k1z_zmm_zmmm512
    PMAXUW VEX_Vpmaxuw_xmm_xmm_xmmm128 VEX_Vpmaxuw_ymm_ymm_ymmm256 EVEX_Vpmaxuw_zmm_k1z_zmm_zmmm512
    PMAXUD VEX_Vpmaxud_xmm_xmm_xmmm128 VEX_Vpmaxud_ymm_ymm_ymmm256 EVEX_Vpmaxud_zmm_k1z_zmm_zmmm512b32
    PMAXSQ INVALID INVALID EVEX_Vpmaxsq_zmm_k1z_zmm_zmmm512b64
    PMAXUQ INVALID INVALID EVEX_Vpmaxuq_zmm_k1z_zmm_zmmm512b64
    PABSB VEX_Vpabsb_xmm_xmmm128 VEX_Vpabsb_ymm_ymmm256 EVEX_Vpabsb_zmm_k1z_zmmm512
    PABSW VEX_Vpabsw_xmm_xmmm128 VEX_Vpabsw_ymm_ymmm256 EVEX_Vpabsw_zmm_k1z_zmmm512
    PABSD VEX_Vpabsd_xmm_xmmm128 VEX_Vpabsd_ymm_ymmm256 EVEX_Vpabsd_zmm_k1z_zmmm512b32
    PABSQ INVALID INVALID EVEX_Vpabsq_zmm_k1z_zmmm512b64
    PCMPEQB VEX_Vpcmpeqb_xmm_xmm_xmmm128 VEX_Vpcmpeqb_ymm_ymm_ymmm256 INVALID
    PCMPGTB VEX_Vpcmpgtb_xmm_xmm_xmmm128 VEX_Vpcmpgtb_ymm_ymm_ymmm256 INVALID
    PCMPB INVALID INVALID EVEX_Vpcmpb_kr_k1_zmm_zmmm512_imm8
    PCMPUB INVALID INVALID EVEX_Vpcmpub_kr_k1_zmm_zmmm512_imm8
    PCMPEQW VEX_Vpcmpeqw_xmm_xmm_xmmm128 VEX_Vpcmpeqw_ymm_ymm_ymmm256 INVALID
    PCMPGTW VEX_Vpcmpgtw_xmm_xmm_xmmm128 VEX_Vpcmpgtw_ymm_ymm_ymmm256 INVALID
    PCMPW INVALID INVALID EVEX_Vpcmpw_kr_k1_zmm_zmmm512_imm8
    PCMPUW INVALID INVALID EVEX_Vpcmpuw_kr_k1_zmm_zmmm512_imm8
    PCMPEQD VEX_Vpcmpeqd_xmm_xmm_xmmm128 VEX_Vpcmpeqd_ymm_ymm_ymmm256 INVALID
    PCMPGTD VEX_Vpcmpgtd_xmm_xmm_xmmm128 VEX_Vpcmpgtd_ymm_ymm_ymmm256 INVALID
    PCMPD INVALID INVALID EVEX_Vpcmpd_kr_k1_zmm_zmmm512b32_imm8
    PCMPUD INVALID INVALID EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8
    PCMPEQQ VEX_Vpcmpeqq_xmm_xmm_xmmm128 VEX_Vpcmpeqq_ymm_ymm_ymmm256 INVALID
    PCMPGTQ VEX_Vpcmpgtq_xmm_xmm_xmmm128 VEX_Vpcmpgtq_ymm_ymm_ymmm256 INVALID
    PCMPQ INVALID INVALID EVEX_Vpcmpq_kr_k1_zmm_zmmm512b64_imm8
    PCMPUQ INVALID INVALID EVEX_Vpcmpuq_kr_k1_zmm_zmmm512b64_imm8
    CMPPS VEX_Vcmpps_xmm_xmm_xmmm128_imm8 VEX_Vcmpps_ymm_ymm_ymmm256_imm8 EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae
    SQRTPS VEX_Vsqrtps_xmm_xmmm128 VEX_Vsqrtps_ymm_ymmm256 EVEX_Vsqrtps_zmm_k1z_zmmm512b32_er
    ROUNDPS VEX_Vroundps_xmm_xmmm128_imm8 VEX_Vroundps_ymm_ymmm256_imm8 EVEX_Vrndscaleps_zmm_k1z_zmmm512b32_imm8_sae
    FMADD213PS VEX_Vfmadd213ps_xmm_xmm_xmmm128 VEX_Vfmadd213ps_ymm_ymm_ymmm256 EVEX_Vfmadd213ps_zmm_k1z_zmm_zmmm512b32_er
    BLENDVPS VEX_Vblendvps_xmm_xmm_xmmm128_xmm VEX_Vblendvps_ymm_ymm_ymmm256_ymm EVEX_Vblendmps_zmm_k1z_zmm_zmmm512b32
    CMPPD VEX_Vcmppd_xmm_xmm_xmmm128_imm8 VEX_Vcmppd_ymm_ymm_ymmm256_imm8 EVEX_Vcmppd_kr_k1_zmm_zmmm512b64_imm8_sae
    SQRTPD VEX_Vsqrtpd_xmm_xmmm128 VEX_Vsqrtpd_ymm_ymmm256 EVEX_Vsqrtpd_zmm_k1z_zmmm512b64_er
    ROUNDPD VEX_Vroundpd_xmm_xmmm128_imm8 VEX_Vroundpd_ymm_ymmm256_imm8 EVEX_Vrndscalepd_zmm_k1z_zmmm512b64_imm8_sae
    FMADD213PD VEX_Vfmadd213pd_xmm_xmm_xmmm128 VEX_Vfmadd213pd_ymm_ymm_ymmm256 EVEX_Vfmadd213pd_zmm_k1z_zmm_zmmm512b64_er
    BLENDVPD VEX_Vblendvpd_xmm_xmm_xmmm128_xmm VEX_Vblendvpd_ymm_ymm_ymmm256_ymm EVEX_Vblendmpd_zmm_k1z_zmm_zmmm512b64
    PBLENDVB VEX_Vpblendvb_xmm_xmm_xmmm128_xmm VEX_Vpblendvb_ymm_ymm_ymmm256_ymm EVEX_Vpblendmb_zmm_k1z_zmm_zmmm512
    PBLENDMW INVALID INVALID EVEX_Vpblendmw_zmm_k1z_zmm_zmmm512
    PSLLW VEX_Vpsllw_xmm_xmm_xmmm128 VEX_Vpsllw_ymm_ymm_xmmm128 EVEX_Vpsllw_zmm_k1z_zmm_xmmm128
    PSLLW_BY VEX_Vpsllw_xmm_xmm_imm8 VEX_Vpsllw_ymm_ymm_imm8 EVEX_Vpsllw_zmm_k1z_zmmm512_imm8
    PSLLD VEX_Vpslld_xmm_xmm_xmmm128 VEX_Vpslld_ymm_ymm_xmmm128 EVEX_Vpslld_zmm_k1z_zmm_xmmm128
    PSLLD_BY VEX_Vpslld_xmm_xmm_imm8 VEX_Vpslld_ymm_ymm_imm8 EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8
    PSLLQ VEX_Vpsllq_xmm_xmm_xmmm128 VEX_Vpsllq_ymm_ymm_xmmm128 EVEX_Vpsllq_zmm_k1z_zmm_xmmm128
    PSLLQ_BY VEX_Vpsllq_xmm_xmm_imm8 VEX_Vpsllq_ymm_ymm_imm8 EVEX_Vpsllq_zmm_k1z_zmmm512b64_imm8
    PSRLW VEX_Vpsrlw_xmm_xmm_xmmm128 VEX_Vpsrlw_ymm_ymm_xmmm128 EVEX_Vpsrlw_zmm_k1z_zmm_xmmm128
    PSRLW_BY VEX_Vpsrlw_xmm_xmm_imm8 VEX_Vpsrlw_ymm_ymm_imm8 EVEX_Vpsrlw_zmm_k1z_zmmm512_imm8
    PSRLD VEX_Vpsrld_xmm_xmm_xmmm128 VEX_Vpsrld_ymm_ymm_xmmm128 EVEX_Vpsrld_zmm_k1z_zmm_xmmm128
    PSRLD_BY VEX_Vpsrld_xmm_xmm_imm8 VEX_Vpsrld_ymm_ymm_imm8 EVEX_Vpsrld_zmm_k1z_zmmm512b32_imm8
    PSRLQ VEX_Vpsrlq_xmm_xmm_xmmm128 VEX_Vpsrlq_ymm_ymm_xmmm128 EVEX_Vpsrlq_zmm_k1z_zmm_xmmm128
    PSRLQ_BY VEX_Vpsrlq_xmm_xmm_imm8 VEX_Vpsrlq_ymm_ymm_imm8 EVEX_Vpsrlq_zmm_k1z_zmmm512b64_imm8
    PSRAW VEX_Vpsraw_xmm_xmm_xmmm128 VEX_Vpsraw_ymm_ymm_xmmm128 EVEX_Vpsraw_zmm_k1z_zmm_xmmm128
    PSRAW_BY VEX_Vpsraw_xmm_xmm_imm8 VEX_Vpsraw_ymm_ymm_imm8 EVEX_Vpsraw_zmm_k1z_zmmm512_imm8
    PSRAD VEX_Vpsrad_xmm_xmm_xmmm128 VEX_Vpsrad_ymm_ymm_xmmm128 EVEX_Vpsrad_zmm_k1z_zmm_xmmm128
    PSRAD_BY VEX_Vpsrad_xmm_xmm_imm8 VEX_Vpsrad_ymm_ymm_imm8 EVEX_Vpsrad_zmm_k1z_zmmm512b32_imm8
    PSRAQ INVALID INVALID EVEX_Vpsraq_zmm_k1z_zmm_xmmm128
    PSRAQ_BY INVALID INVALID EVEX_Vpsraq_zmm_k1z_zmmm512b64_imm8
    PMOVSXBW VEX_Vpmovsxbw_xmm_xmmm64 VEX_Vpmovsxbw_ymm_xmmm128 EVEX_Vpmovsxbw_zmm_k1z_ymmm256
    PMOVSXWD VEX_Vpmovsxwd_xmm_xmmm64 VEX_Vpmovsxwd_ymm_xmmm128 EVEX_Vpmovsxwd_zmm_k1z_ymmm256
    PMOVSXDQ VEX_Vpmovsxdq_xmm_xmmm64 VEX_Vpmovsxdq_ymm_xmmm128 EVEX_Vpmovsxdq_zmm_k1z_ymmm256
    PMOVSXBD VEX_Vpmovsxbd_xmm_xmmm32 VEX_Vpmovsxbd_ymm_xmmm64 EVEX_Vpmovsxbd_zmm_k1z_xmmm128
    PMOVSXBQ VEX_Vpmovsxbq_xmm_xmmm16 VEX_Vpmovsxbq_ymm_xmmm32 EVEX_Vpmovsxbq_zmm_k1z_xmmm64
    PMOVSXWQ VEX_Vpmovsxwq_xmm_xmmm32 VEX_Vpmovsxwq_ymm_xmmm64 EVEX_Vpmovsxwq_zmm_k1z_xmmm128
    PMOVZXBW VEX_Vpmovzxbw_xmm_xmmm64 VEX_Vpmovzxbw_ymm_xmmm128 EVEX_Vpmovzxbw_zmm_k1z_ymmm256
    PMOVZXWD VEX_Vpmovzxwd_xmm_xmmm64 VEX_Vpmovzxwd_ymm_xmmm128 EVEX_Vpmovzxwd_zmm_k1z_ymmm256
    PMOVZXDQ VEX_Vpmovzxdq_xmm_xmmm64 VEX_Vpmovzxdq_ymm_xmmm128 EVEX_Vpmovzxdq_zmm_k1z_ymmm256
    PMOVZXBD VEX_Vpmovzxbd_xmm_xmmm32 VEX_Vpmovzxbd_ymm_xmmm64 EVEX_Vpmovzxbd_zmm_k1z_xmmm128
    PMOVZXBQ VEX_Vpmovzxbq_xmm_xmmm16 VEX_Vpmovzxbq_ymm_xmmm32 EVEX_Vpmovzxbq_zmm_k1z_xmmm64
    PMOVZXWQ VEX_Vpmovzxwq_xmm_xmmm32 VEX_Vpmovzxwq_ymm_xmmm64 EVEX_Vpmovzxwq_zmm_k1z_xmmm128
    PACKSSWB VEX_Vpacksswb_xmm_xmm_xmmm128 VEX_Vpacksswb_ymm_ymm_ymmm256 EVEX_Vpacksswb_zmm_k1z_zmm_zmmm512
    PACKUSWB VEX_Vpackuswb_xmm_xmm_xmmm128 VEX_Vpackuswb_ymm_ymm_ymmm256 EVEX_Vpackuswb_zmm_k1z_zmm_zmmm512
    PACKSSDW VEX_Vpackssdw_xmm_xmm_xmmm128 VEX_Vpackssdw_ymm_ymm_ymmm256 EVEX_Vpackssdw_zmm_k1z_zmm_zmmm512b32
    PACKUSDW VEX_Vpackusdw_xmm_xmm_xmmm128 VEX_Vpackusdw_ymm_ymm_ymmm256 EVEX_Vpackusdw_zmm_k1z_zmm_zmmm512b32
    SHUFPS VEX_Vshufps_xmm_xmm_xmmm128_imm8 VEX_Vshufps_ymm_ymm_ymmm256_imm8 EVEX_Vshufps_zmm_k1z_zmm_zmmm512b32_imm8
    CVTDQ2PS VEX_Vcvtdq2ps_xmm_xmmm128 VEX_Vcvtdq2ps_ymm_ymmm256 EVEX_Vcvtdq2ps_zmm_k1z_zmmm512b32_er
    CVTTPS2DQ VEX_Vcvttps2dq_xmm_xmmm128 VEX_Vcvttps2dq_ymm_ymmm256 EVEX_Vcvttps2dq_zmm_k1z_zmmm512b32_sae
    CVTDQ2PD VEX_Vcvtdq2pd_xmm_xmmm64 VEX_Vcvtdq2pd_ymm_xmmm128 EVEX_Vcvtdq2pd_zmm_k1z_ymmm256b32_er
    CVTPS2PD VEX_Vcvtps2pd_xmm_xmmm64 VEX_Vcvtps2pd_ymm_xmmm128 EVEX_Vcvtps2pd_zmm_k1z_ymmm256b32_sae
    CVTPD2PS VEX_Vcvtpd2ps_xmm_xmmm128 VEX_Vcvtpd2ps_xmm_ymmm256 EVEX_Vcvtpd2ps_ymm_k1z_zmmm512b64_er
    MOVUPS VEX_Vmovups_xmm_xmmm128 VEX_Vmovups_ymm_ymmm256 EVEX_Vmovups_zmm_k1z_zmmm512
    MOVUPS_TO VEX_Vmovups_xmmm128_xmm VEX_Vmovups_ymmm256_ymm EVEX_Vmovups_zmmm512_k1z_zmm
    PBROADCASTB VEX_Vpbroadcastb_xmm_xmmm8 VEX_Vpbroadcastb_ymm_xmmm8 EVEX_Vpbroadcastb_zmm_k1z_xmmm8
    PBROADCASTW VEX_Vpbroadcastw_xmm_xmmm16 VEX_Vpbroadcastw_ymm_xmmm16 EVEX_Vpbroadcastw_zmm_k1z_xmmm16
    PBROADCASTD VEX_Vpbroadcastd_xmm_xmmm32 VEX_Vpbroadcastd_ymm_xmmm32 EVEX_Vpbroadcastd_zmm_k1z_xmmm32
    PBROADCASTQ VEX_Vpbroadcastq_xmm_xmmm64 VEX_Vpbroadcastq_ymm_xmmm64 EVEX_Vpbroadcastq_zmm_k1z_xmmm64
    PMOVM2B INVALID INVALID EVEX_Vpmovm2b_zmm_kr
    PMOVB2M INVALID INVALID EVEX_Vpmovb2m_kr_zmm
    PMOVM2W INVALID INVALID EVEX_Vpmovm2w_zmm_kr
    PMOVW2M INVALID INVALID EVEX_Vpmovw2m_kr_zmm
    PMOVM2D INVALID INVALID EVEX_Vpmovm2d_zmm_kr
    PMOVD2M INVALID INVALID EVEX_Vpmovd2m_kr_zmm
    PMOVM2Q INVALID INVALID EVEX_Vpmovm2q_zmm_kr
    PMOVQ2M INVALID INVALID EVEX_Vpmovq2m_kr_zmm
}
