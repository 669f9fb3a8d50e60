// Character sets and content classes as 256-entry tables, looked up byte by byte.
import type { Charset, Content, HexEncoding } from './dialect-table.ts';

// IBM code page 037, the usual EBCDIC of card hosts: index = wire byte, value = Latin-1 code.
const CODE_PAGE_037 = Buffer.from(
  '000102039c09867f978d8e0b0c0d0e0f101112139d8508871819928f1c1d1e1f' +
    '80818283840a171b88898a8b8c050607909116939495960498999a9b14159e1a' +
    '20a0e2e4e0e1e3e5e7f1a22e3c282b7c26e9eaebe8edeeefecdf21242a293bac' +
    '2d2fc2c4c0c1c3c5c7d1a62c255f3e3ff8c9cacbc8cdcecfcc603a2340273d22' +
    'd8616263646566676869abbbf0fdfeb1b06a6b6c6d6e6f707172aabae6b8c6a4' +
    'b57e737475767778797aa1bfd0dddeae5ea3a5b7a9a7b6bcbdbe5b5dafa8b4d7' +
    '7b414243444546474849adf4f6f2f3f57d4a4b4c4d4e4f505152b9fbfcf9faff' +
    '5cf7535455565758595ab2d4d6d2d3d530313233343536373839b3dbdcd9da9f',
  'hex',
);

/** Code pages 1047 and 500 are 037 with a few characters at other bytes. */
function pageWith(characters: { readonly [byte: number]: string }): Uint8Array {
  const page = new Uint8Array(CODE_PAGE_037);
  for (const [byte, character] of Object.entries(characters)) {
    page[Number(byte)] = character.charCodeAt(0);
  }
  return page;
}

const CODE_PAGE_1047 = pageWith({
  95: '^',
  173: '[',
  176: '\u00ac',
  186: '\u00dd',
  187: '\u00a8',
  189: ']',
});

const CODE_PAGE_500 = pageWith({
  74: '[',
  79: '!',
  90: ']',
  95: '^',
  176: '\u00a2',
  186: '\u00ac',
  187: '|',
});

const LATIN_1 = Uint8Array.from({ length: 256 }, (_, code) => code);

/** Wire byte to Latin-1 code. */
export const toLatin1: Record<Charset, Uint8Array> = {
  ascii: LATIN_1,
  ebcdic: new Uint8Array(CODE_PAGE_037),
  ebcdic1047: CODE_PAGE_1047,
  ebcdic500: CODE_PAGE_500,
};

function inverse(page: Uint8Array): Uint8Array {
  const wireBytes = new Uint8Array(256);
  for (const [wire, latin1] of page.entries()) wireBytes[latin1] = wire;
  return wireBytes;
}

/** Latin-1 code to wire byte. */
export const fromLatin1: Record<Charset, Uint8Array> = {
  ascii: LATIN_1,
  ebcdic: inverse(toLatin1.ebcdic),
  ebcdic1047: inverse(CODE_PAGE_1047),
  ebcdic500: inverse(CODE_PAGE_500),
};

/** The character set of hexadecimal characters; digits and letters are the same in every code page. */
export function hexCharset(encoding: HexEncoding, text: Charset): Charset {
  if (encoding === 'hex') return text;
  return encoding === 'hexAscii' ? 'ascii' : 'ebcdic';
}

function permitted(pattern: RegExp): Uint8Array {
  return LATIN_1.map((code) => (pattern.test(String.fromCharCode(code)) ? 1 : 0));
}

const DIGITS = permitted(/[0-9]/);

/** For each kind of content, 1 at the Latin-1 codes that it permits. */
export const permittedCodes: Record<Exclude<Content, 'b' | 'tlv'>, Uint8Array> = {
  n: DIGITS,
  'x+n': DIGITS,
  an: permitted(/[0-9A-Za-z ]/),
  // Latin-1 letters are let through: names of card acceptors hold them.
  ans: permitted(/[\x20-\x7e\xa0-\xff]/),
  z: permitted(/[0-9=D]/),
};

/** 1 at the sign characters of `x+n`: credit, debit, and the 0 of hosts that send no sign. */
export const signCodes = permitted(/[CD0]/);
