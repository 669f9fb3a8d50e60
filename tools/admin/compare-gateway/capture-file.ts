// Reads the packets of a capture file: pcap or pcapng, in either byte order.
import { type ReportFault, TraceError } from './recorded-message.ts';

export type Packet = {
  /** Epoch ms; undefined if the file has no time. */
  readonly atMs: number | undefined;
  readonly linkType: number;
  readonly bytes: Buffer;
  /** The byte of the file with which the record of the packet begins. */
  readonly offset: number;
};

type ByteSource = ReturnType<typeof createByteSource>;

/** No capture program writes longer records; a longer one is a damaged file. */
const maxRecordBytes = 16 * 1024 * 1024;

/** Reads a stream in parts of exact lengths. Its memory is one chunk and one part. */
export function createByteSource(chunks: AsyncIterable<Buffer>) {
  const iterator = chunks[Symbol.asyncIterator]();
  let buffered: Buffer = Buffer.alloc(0);
  let offset = 0;

  async function fill(length: number): Promise<void> {
    while (buffered.length < length) {
      const { value, done } = await iterator.next();
      if (done === true) return;
      buffered = buffered.length === 0 ? value : Buffer.concat([buffered, value]);
    }
  }

  return {
    offset: () => offset,
    /** The next bytes, which the next `read` returns again. */
    async peek(length: number): Promise<Buffer> {
      if (buffered.length < length) await fill(length);
      return buffered.subarray(0, length);
    },
    /** Fewer bytes only at the end of the stream. */
    async read(length: number): Promise<Buffer> {
      if (buffered.length < length) await fill(length);
      const bytes = buffered.subarray(0, length);
      buffered = buffered.subarray(bytes.length);
      offset += bytes.length;
      return bytes;
    },
    /** The rest of the stream, in chunks. */
    async *rest(): AsyncGenerator<Buffer> {
      yield buffered;
      for (;;) {
        const { value, done } = await iterator.next();
        if (done === true) return;
        yield value;
      }
    },
  };
}

/** Numbers of a file in its byte order. */
type Numbers = { u16(bytes: Buffer, at: number): number; u32(bytes: Buffer, at: number): number };

const littleEndian: Numbers = {
  u16: (bytes, at) => bytes.readUInt16LE(at),
  u32: (bytes, at) => bytes.readUInt32LE(at),
};
const bigEndian: Numbers = {
  u16: (bytes, at) => bytes.readUInt16BE(at),
  u32: (bytes, at) => bytes.readUInt32BE(at),
};

const pcapHeaderBytes = 24;
const pcapRecordHeaderBytes = 16;
const linkTypeMask = 0xffff;

/**
 * Magic numbers of pcap, read in big-endian order: 0xa1b2c3d4 and 0xd4c3b2a1 (µs), 0xa1b23c4d and 0x4d3cb2a1 (ns). The
 * fraction of a second is in units of `unitMs`.
 */
const pcapFormats: Readonly<Record<number, { numbers: Numbers; unitMs: number }>> = {
  2712847316: { numbers: bigEndian, unitMs: 1e-3 },
  3569595041: { numbers: littleEndian, unitMs: 1e-3 },
  2712812621: { numbers: bigEndian, unitMs: 1e-6 },
  1295823521: { numbers: littleEndian, unitMs: 1e-6 },
};
const sectionHeaderBlock = 0x0a0d0d0a;
const magicBytes = 4;

/** Whether a file begins as a capture file does. */
export const isCapture = (start: Buffer): boolean =>
  start.length >= magicBytes &&
  (start.readUInt32BE(0) === sectionHeaderBlock || start.readUInt32BE(0) in pcapFormats);

const endsInsideRecord = 'the file ends inside a packet: the recording was interrupted';

/**
 * @param report gets the end of an interrupted recording
 * @throws TraceError for a damaged file
 */
export async function* readPackets(
  source: ByteSource,
  report: ReportFault,
): AsyncGenerator<Packet> {
  const magic = (await source.peek(magicBytes)).readUInt32BE(0);
  const format = pcapFormats[magic];
  if (format === undefined) yield* readBlocks(source, report);
  else yield* readRecords(source, format, report);
}

async function* readRecords(
  source: ByteSource,
  { numbers, unitMs }: { numbers: Numbers; unitMs: number },
  report: ReportFault,
): AsyncGenerator<Packet> {
  const header = await source.read(pcapHeaderBytes);
  if (header.length < pcapHeaderBytes) throw new TraceError('the capture file has no header');
  const linkType = numbers.u32(header, 20) & linkTypeMask;
  for (;;) {
    const offset = source.offset();
    const record = await source.read(pcapRecordHeaderBytes);
    if (record.length === 0) return;
    const length = record.length < pcapRecordHeaderBytes ? 0 : numbers.u32(record, 8);
    if (length > maxRecordBytes) throw damagedFile(offset);
    const atMs =
      record.length < pcapRecordHeaderBytes
        ? undefined
        : numbers.u32(record, 0) * 1000 + numbers.u32(record, 4) * unitMs;
    const bytes = await source.read(length);
    if (record.length < pcapRecordHeaderBytes || bytes.length < length) {
      report({ reason: endsInsideRecord, position: `byte ${offset}` });
      return;
    }
    yield { atMs, linkType, bytes, offset };
  }
}

const damagedFile = (offset: number) =>
  new TraceError(`the capture file is damaged: no valid record at byte ${offset}`);

/** An interface of a pcapng file. */
type CaptureInterface = { linkType: number; snapLength: number; tickMs: number };

const blockTypes = { interface: 1, packet: 2, simplePacket: 3, enhancedPacket: 6 } as const;
const byteOrderMagic = 0x1a2b3c4d;
const blockHeaderBytes = 8;
const blockTrailerBytes = 4;
const minBlockBytes = 12;
const tickOption = 9;
const highestBit = 0x80;

/** The unit of the times of an interface: a power of 10, or of 2 if the highest bit is set; default 1 µs. */
function readTickMs(options: Buffer, numbers: Numbers): number {
  for (let at = 0; at + 4 <= options.length; ) {
    const [code, length] = [numbers.u16(options, at), numbers.u16(options, at + 2)];
    if (code === 0) break;
    const value = options[at + 4];
    if (code === tickOption && length === 1 && value !== undefined) {
      const seconds = value < highestBit ? 10 ** -value : 2 ** -(value - highestBit);
      return seconds * 1000;
    }
    at += 4 + Math.ceil(length / 4) * 4;
  }
  return 1e-3;
}

function readInterface(body: Buffer, numbers: Numbers): CaptureInterface {
  return {
    linkType: numbers.u16(body, 0),
    snapLength: numbers.u32(body, 4),
    tickMs: readTickMs(body.subarray(8), numbers),
  };
}

const ticksPerHighWord = 2 ** 32;

/** A packet of a block; undefined for blocks without a packet. */
function readPacketBlock(
  type: number,
  body: Buffer,
  numbers: Numbers,
  interfaces: readonly CaptureInterface[],
): Omit<Packet, 'offset'> | undefined {
  if (type === blockTypes.simplePacket) {
    const [first] = interfaces;
    if (first === undefined) return undefined;
    const { linkType, snapLength } = first;
    const length = Math.min(numbers.u32(body, 0), snapLength || maxRecordBytes);
    return { atMs: undefined, linkType, bytes: body.subarray(4, 4 + length) };
  }
  if (type !== blockTypes.enhancedPacket && type !== blockTypes.packet) return undefined;
  const number = type === blockTypes.packet ? numbers.u16(body, 0) : numbers.u32(body, 0);
  const captureInterface = interfaces[number];
  if (captureInterface === undefined) return undefined;
  const ticks = numbers.u32(body, 4) * ticksPerHighWord + numbers.u32(body, 8);
  const { linkType, tickMs } = captureInterface;
  const length = numbers.u32(body, 12);
  return { atMs: ticks * tickMs, linkType, bytes: body.subarray(20, 20 + length) };
}

/** Bytes of the fixed part in front of a packet or of the options of an interface. */
const minBodyBytes: Readonly<Record<number, number>> = {
  [blockTypes.interface]: 8,
  [blockTypes.packet]: 20,
  [blockTypes.simplePacket]: 4,
  [blockTypes.enhancedPacket]: 20,
};

async function* readBlocks(source: ByteSource, report: ReportFault): AsyncGenerator<Packet> {
  let numbers = littleEndian;
  let interfaces: CaptureInterface[] = [];
  for (;;) {
    const offset = source.offset();
    const start = await source.peek(minBlockBytes);
    if (start.length === 0) return;
    if (start.length < minBlockBytes) {
      report({ reason: endsInsideRecord, position: `byte ${offset}` });
      return;
    }
    const isSection = start.readUInt32BE(0) === sectionHeaderBlock;
    if (isSection) {
      // Each section has its own byte order and its own interfaces.
      numbers = start.readUInt32BE(8) === byteOrderMagic ? bigEndian : littleEndian;
      if (numbers.u32(start, 8) !== byteOrderMagic) throw damagedFile(offset);
      interfaces = [];
    }
    const [type, length] = [numbers.u32(start, 0), numbers.u32(start, 4)];
    if (length < minBlockBytes || length % 4 !== 0 || length > maxRecordBytes)
      throw damagedFile(offset);
    const block = await source.read(length);
    if (block.length < length) {
      report({ reason: endsInsideRecord, position: `byte ${offset}` });
      return;
    }
    if (isSection) continue;
    const body = block.subarray(blockHeaderBytes, length - blockTrailerBytes);
    if (body.length < (minBodyBytes[type] ?? 0)) throw damagedFile(offset);
    if (type === blockTypes.interface) interfaces.push(readInterface(body, numbers));
    const packet = readPacketBlock(type, body, numbers, interfaces);
    if (packet !== undefined) yield { ...packet, offset };
  }
}
