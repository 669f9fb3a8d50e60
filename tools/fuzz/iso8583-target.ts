// ISO 8583: every dialect, and the frames around the messages.
import * as codec from '@switchyard/iso8583';
import {
  compileDialect,
  createDeframer,
  type DialectTable,
  encodeFrame,
  type FieldFormat,
  type FrameFormat,
  Iso8583Error,
  type Message,
} from '@switchyard/iso8583';
import { type FuzzTarget, isParserError, MisreadError, mutateInput } from './fuzz-target.ts';
import { randomForInput, type SeededRandom } from './seeded-input.ts';

const soundMessages = 96;
const valueMax = 40;
const fieldsMax = 24;
const frameBytesMax = 4096;

function isTable(value: unknown): value is DialectTable {
  return typeof value === 'object' && value !== null && 'bitmapSize' in value && 'fields' in value;
}

/** All dialects of the package, so that a new dialect is fuzzed automatically. */
const tables: readonly DialectTable[] = Object.values(codec).filter(isTable);

const letters: Readonly<Record<string, string>> = {
  n: '0123456789',
  an: 'ABCXYZ019 ',
  ans: 'ABCxyz019 .-/&',
  z: '0123456789=',
  b: '0123456789ABCDEF',
};

function text(chance: SeededRandom, from: string, length: number): string {
  let made = '';
  for (let bytesLeft = length; bytesLeft > 0; bytesLeft -= 1)
    made += from[chance.below(from.length)];
  return made;
}

function valueFor({ content, size, max }: FieldFormat, chance: SeededRandom): string {
  const length = size === 'fixed' ? max : chance.below(Math.min(max, valueMax) + 1);
  if (content === 'x+n') return chance.pick(['C', 'D']) + text(chance, letters['n'] ?? '', max - 1);
  if (content === 'b' || content === 'tlv') return text(chance, letters['b'] ?? '', length * 2);
  return text(chance, letters[content] ?? '', length);
}

function soundMessage(table: DialectTable, chance: SeededRandom): Message {
  const fieldNumbers = Object.keys(table.fields).map(Number);
  const fields: Message['fields'] = {};
  for (let fieldsLeft = 1 + chance.below(fieldsMax); fieldsLeft > 0; fieldsLeft -= 1) {
    const field = chance.pick(fieldNumbers);
    const format = table.fields[field];
    if (format !== undefined) fields[field] = valueFor(format, chance);
  }
  const mti = table.mti === 'none' ? '' : text(chance, letters['n'] ?? '', 4);
  return { mti, fields };
}

/** Hexadecimal digits are read in both cases and written in one. */
const inOneCase = (bytes: Buffer): string => bytes.toString('latin1').toUpperCase();

/**
 * What was read must be all that the bytes say: written again it gives them back. The one freedom
 * is a second bitmap that names nothing, which is not written.
 */
function assertSame(table: DialectTable, read: Message, input: Buffer, again: Buffer): void {
  if (input.equals(again) || inOneCase(input) === inOneCase(again)) return;
  const bitmapBytes = table.bitmap === 'binary' ? 8 : 16;
  const hasSecond = Object.keys(read.fields).some((field) => Number(field) > 64);
  const isEmptyBitmap = !hasSecond && input.length - again.length === bitmapBytes;
  if (!isEmptyBitmap) throw new MisreadError('the message that was read is not the one that came');
}

function dialectTarget(table: DialectTable): FuzzTarget {
  const dialect = compileDialect(table);
  const sound = Array.from({ length: soundMessages }, (_, index) =>
    dialect.encode(soundMessage(table, randomForInput(soundMessages, index))),
  );
  return {
    name: table.name,
    makeInput: (chance) => mutateInput(sound, chance),
    readInput(input) {
      let read: Message;
      try {
        read = dialect.decode(input);
      } catch (error) {
        if (isParserError(error, Iso8583Error)) return false;
        throw error;
      }
      assertSame(table, read, input, dialect.encode(read));
      return true;
    },
  };
}

const frames: readonly FrameFormat[] = [
  { length: 'binary2' },
  { length: 'bcd2' },
  { length: 'ascii4' },
  { length: 'vml4' },
  { length: 'ascii4', inclusive: true },
  { length: 'binary2', headerBytes: 5 },
  { length: 'binary4le', beforeLength: '0000' },
  { length: 'ebcdic5', inclusive: true, headerBytes: 5 },
  { length: 'hex4', end: 'ETX' },
  { length: 'none', start: 'STX', end: 'ETX', lrc: true },
];

/** The frames of a stream up to where it is lost, and how it was lost. */
function cut(format: FrameFormat, chunks: readonly Buffer[]): string[] {
  const deframer = createDeframer(format, { maxBytes: frameBytesMax });
  const payloads: string[] = [];
  try {
    for (const chunk of chunks) {
      for (const { payload, header } of deframer.push(chunk)) {
        payloads.push(`${header.toString('hex')} ${payload.toString('hex')}`);
      }
    }
    payloads.push(`held ${deframer.heldBytes()}`);
  } catch (error) {
    if (!isParserError(error, Iso8583Error)) throw error;
    payloads.push((error as Error).message);
  }
  return payloads;
}

/** Frames before the loss may come in one push or never, where all came as one chunk. */
function assertSameFrames(whole: readonly string[], pieces: readonly string[]): void {
  const isLost = !(whole.at(-1) ?? '').startsWith('held');
  const same = isLost ? pieces.at(-1) === whole.at(-1) : pieces.join() === whole.join();
  if (!same) throw new MisreadError('the frames depend on how the stream was cut');
}

function frameTarget(format: FrameFormat, name: string): FuzzTarget {
  const header = Buffer.from('6000010002', 'hex').subarray(0, format.headerBytes ?? 0);
  const sound = Array.from({ length: soundMessages }, (_, index) => {
    const chance = randomForInput(soundMessages, index);
    const parts = Array.from({ length: 1 + chance.below(4) }, () =>
      encodeFrame(format, Buffer.alloc(chance.below(120), chance.below(256)), { header }),
    );
    return Buffer.concat(parts);
  });
  return {
    name,
    makeInput: (chance) => mutateInput(sound, chance),
    readInput(input) {
      const whole = cut(format, [input]);
      const step = 1 + (input.length % 7);
      const chunks: Buffer[] = [];
      for (let at = 0; at < input.length; at += step) chunks.push(input.subarray(at, at + step));
      assertSameFrames(whole, cut(format, chunks));
      return (whole.at(-1) ?? '').startsWith('held');
    },
  };
}

export const iso8583Targets: readonly FuzzTarget[] = [
  ...tables.map(dialectTarget),
  ...frames.map((format, index) => frameTarget(format, `frames ${format.length} ${index + 1}`)),
];
