// A second reader of messages, for tests. It shares no code with the package, and reads a notation of its own.

/**
 * A field is `number:size style`. Size: `a3` digits of a length in ASCII, `c2` bytes of a packed one, `b1` of a binary
 * one, or the number of units. Style: `A` ASCII, `E` EBCDIC, `P` packed digits behind a leading zero, `L` packed digits
 * before a trailing zero, `Z` packed track 2, `H` bytes.
 */
export type HostNotation = {
  /** Bytes in front of the message type and after the message. */
  readonly before: number;
  readonly after?: number;
  readonly mti: 'A' | 'E' | 'P';
  readonly bitmap: 'text' | 'bytes';
  readonly fields: string;
};

type Style = 'A' | 'E' | 'P' | 'L' | 'Z' | 'H';

const ebcdic = new Map<number, string>([
  [0x40, ' '],
  [0x4e, '+'],
  [0x60, '-'],
  [0x7e, '='],
]);
for (const [start, text] of [
  [0xc1, 'ABCDEFGHI'],
  [0xd1, 'JKLMNOPQR'],
  [0xe2, 'STUVWXYZ'],
  [0xf0, '0123456789'],
] as const)
  for (const [index, character] of [...text].entries()) ebcdic.set(start + index, character);

const byteCount = (style: Style, units: number) =>
  style === 'P' || style === 'L' || style === 'Z' ? Math.ceil(units / 2) : units;

function read(style: Style, bytes: Buffer, units: number): string {
  const hex = bytes.toString('hex').toUpperCase();
  switch (style) {
    case 'A':
      return bytes.toString('latin1');
    case 'E':
      return [...bytes].map((byte) => ebcdic.get(byte) ?? '?').join('');
    case 'P':
      return hex.slice(hex.length - units);
    case 'L':
      return hex.slice(0, units);
    case 'Z':
      return hex.slice(0, units).replace('D', '=');
    case 'H':
      return hex;
  }
}

/** @returns message type and fields as they are on the wire; bytes in hexadecimal digits */
export function decodeSecondly(notation: HostNotation, frame: Buffer) {
  let at = notation.before;
  const nextBytes = (count: number) => {
    at += count;
    return frame.subarray(at - count, at);
  };
  const mti = read(notation.mti, nextBytes(byteCount(notation.mti, 4)), 4);
  const readBitmap = () =>
    notation.bitmap === 'text' ? nextBytes(16).toString('latin1') : nextBytes(8).toString('hex');
  let bits = BigInt(`0x${readBitmap()}`).toString(2).padStart(64, '0');
  if (bits.startsWith('1')) bits += BigInt(`0x${readBitmap()}`).toString(2).padStart(64, '0');
  const formats = new Map(
    notation.fields.split(/\s+/).map((field) => {
      const [number, format = ''] = field.split(':');
      return [Number(number), format];
    }),
  );
  const fields: Record<string, string> = {};
  for (const [index, bit] of [...bits].entries()) {
    const number = index + 1;
    if (bit === '0' || number === 1) continue;
    const [, kind, digits, style] =
      /^([acb]?)(\d+)([AEPLZH])$/.exec(formats.get(number) ?? '') ?? [];
    if (digits === undefined) throw new Error(`no format for field ${number}`);
    const size = Number(digits);
    const length = { a: 'latin1', c: 'hex', b: 'hex' } as const;
    const units =
      kind === 'a' || kind === 'c' || kind === 'b'
        ? Number.parseInt(nextBytes(size).toString(length[kind]), kind === 'b' ? 16 : 10)
        : size;
    fields[number] = read(style as Style, nextBytes(byteCount(style as Style, units)), units);
  }
  const rest = frame.length - at;
  if (rest !== (notation.after ?? 0)) throw new Error(`${rest} bytes after the last field`);
  return { mti, fields };
}
