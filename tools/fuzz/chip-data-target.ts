// BER-TLV and the chip data in it: each parsed object must lie in the bytes, after the previous one.
import {
  bytesOf,
  type ChipData,
  de55Tags,
  decodeTlv,
  EmvError,
  encodeTlv,
  leavesOf,
  parseChipData,
  type TlvObject,
  tagTable,
} from '@switchyard/emv';
import { type FuzzTarget, isParserError, MisreadError, mutateInput } from './fuzz-target.ts';
import { randomForInput, type SeededRandom } from './seeded-input.ts';

const soundInputs = 96;
const templates = ['77', '70', 'A5', '6F', 'E1', 'BF0C'];
const makersTags = ['DF8101', 'FF8105', '9F5D', 'C1', '1F8105'];

function filled(chance: SeededRandom, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let at = 0; at < length; at += 1) bytes[at] = chance.below(256);
  return bytes;
}

/** Without a tag twice, not even in two templates. */
function objectsOf(chance: SeededRandom, used: Set<string>, depth = 0): TlvObject[] {
  const objects: TlvObject[] = [];
  for (let objectsLeft = 1 + chance.below(5); objectsLeft > 0; objectsLeft -= 1) {
    const nested = depth < 4 && chance.oneIn(4);
    const tag = chance.pick(nested ? templates : [...Object.keys(tagTable), ...makersTags]);
    if (used.has(tag) || tag === '71' || tag === '72') continue;
    used.add(tag);
    if (nested) {
      const children = objectsOf(chance, used, depth + 1);
      objects.push({ tag, value: encodeTlv(children), children });
    } else {
      const { lengthMin = 0, lengthMax = 200 } = tagTable[tag] ?? {};
      objects.push({
        tag,
        value: filled(chance, lengthMin + chance.below(lengthMax - lengthMin + 1)),
      });
    }
  }
  return objects;
}

const trees = Array.from({ length: soundInputs }, (_, index) =>
  encodeTlv(objectsOf(randomForInput(soundInputs, index), new Set())),
);

/** An invented card number; it needs no valid check digit here. */
const digitsOf = (chance: SeededRandom, length: number): string =>
  Array.from({ length }, (_, at) => (at === 0 ? '4' : String(chance.below(10)))).join('');

function chipOf(chance: SeededRandom): Buffer {
  const pan = digitsOf(chance, 12 + chance.below(8));
  const even = (text: string) => (text.length % 2 === 0 ? text : `${text}F`);
  const track = even(`${pan}D3012201${digitsOf(chance, chance.below(9))}`);
  const object = (tag: string, hex: string) => ({ tag, value: bytesOf(hex) });
  const all = [
    ...(chance.oneIn(4) ? [] : [object('57', track)]),
    ...(chance.oneIn(2) ? [object('5A', even(pan)), object('5F24', '301231')] : []),
    object('9F02', '000000001234'),
    object('5F2A', '0978'),
    object('9F26', '1122334455667788'),
    object('9F27', '80'),
    object('9A', '261122'),
    object('5F20', '4142432F44'),
  ];
  const body = encodeTlv(all);
  return chance.oneIn(3) ? encodeTlv([{ tag: '77', value: body }]) : body;
}

const chips = Array.from({ length: soundInputs }, (_, index) =>
  chipOf(randomForInput(index, soundInputs)),
);

/** A reader of one header by the letter of ISO/IEC 8825-1, without the other's tables and caches. */
function headerAt(bytes: Buffer, at: number): { tag: string; start: number; length: number } {
  let next = at + 1;
  if (((bytes[at] ?? 0) & 0x1f) === 0x1f) {
    while (((bytes[next] ?? 0) & 0x80) !== 0) next += 1;
    next += 1;
  }
  const tag = bytes.toString('hex', at, next).toUpperCase();
  const first = bytes[next] ?? 0;
  if (first < 0x80) return { tag, start: next + 1, length: first };
  const count = first & 0x7f;
  let length = 0;
  for (let index = 1; index <= count; index += 1)
    length = length * 256 + (bytes[next + index] ?? 0);
  return { tag, start: next + 1 + count, length };
}

/** The objects fill their bytes: in order, without a gap but for padding. */
function assertTiles(
  bytes: Buffer,
  from: number,
  end: number,
  objects: readonly TlvObject[],
): void {
  let at = from;
  for (const { tag, value, children } of objects) {
    const start = value.byteOffset - bytes.byteOffset;
    let header = headerAt(bytes, at);
    while (header.start !== start || header.tag !== tag) {
      const isPadding = bytes[at] === 0x00 || bytes[at] === 0xff;
      if (!isPadding || at >= start)
        throw new MisreadError('an object that is not where it was found');
      at += 1;
      header = headerAt(bytes, at);
    }
    if (header.length !== value.length)
      throw new MisreadError('a length that the bytes do not say');
    if (children !== undefined) assertTiles(bytes, start, start + value.length, children);
    at = start + value.length;
  }
  for (; at < end; at += 1) {
    if (bytes[at] !== 0x00 && bytes[at] !== 0xff)
      throw new MisreadError('bytes that were not read');
  }
}

function readTree(input: Buffer): TlvObject[] | undefined {
  try {
    return decodeTlv(input);
  } catch (error) {
    if (isParserError(error, EmvError)) return undefined;
    throw error;
  }
}

const treeTarget: FuzzTarget = {
  name: 'BER-TLV',
  makeInput: (chance) => mutateInput(trees, chance),
  readInput(input) {
    const objects = readTree(input);
    if (objects === undefined) return false;
    assertTiles(input, 0, input.length, objects);
    const again = encodeTlv(objects);
    if (!encodeTlv(decodeTlv(again)).equals(again))
      throw new MisreadError('a form that is not canonical');
    return true;
  },
};

/** The card that a plain look at the objects finds. */
function assertCard(chip: ChipData, leaves: ReadonlyMap<string, Buffer>): void {
  const plain = leaves.get('5A')?.toString('hex').toUpperCase().replace(/F+$/, '');
  const track = leaves.get('57')?.toString('hex').toUpperCase();
  const pan = plain ?? track?.split('D')[0];
  if (chip.pan !== pan || !/^\d{12,19}$/.test(pan)) throw new MisreadError('another card number');
  const expiry =
    leaves.get('5F24')?.toString('hex').slice(0, 4) ?? track?.split('D')[1]?.slice(0, 4);
  if (chip.expiry !== expiry) throw new MisreadError('another expiry date');
  const amount = leaves.get('9F02')?.toString('hex');
  if (chip.amount !== (amount === undefined ? undefined : Number(amount))) {
    throw new MisreadError('another amount');
  }
}

const chipTarget: FuzzTarget = {
  name: 'chip data',
  makeInput: (chance) => mutateInput(chips, chance),
  readInput(input) {
    let chip: ChipData;
    try {
      chip = parseChipData(input.toString('hex'));
    } catch (error) {
      if (isParserError(error, EmvError)) return false;
      throw error;
    }
    assertCard(chip, leavesOf(decodeTlv(input)));
    for (const { tag } of decodeTlv(bytesOf(chip.forDe55))) {
      if (!de55Tags.has(tag)) throw new MisreadError('an object that must not leave');
    }
    return true;
  },
};

export const chipDataTargets: readonly FuzzTarget[] = [treeTarget, chipTarget];
