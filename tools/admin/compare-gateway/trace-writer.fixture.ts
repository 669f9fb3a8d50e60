// Writes traces for tests: JSON lines, pcap and pcapng, with the packets of TCP connections.
import { crc32 } from 'node:zlib';

export type LinkLayer =
  | 'ethernet'
  | 'vlan'
  | 'linux-cooked'
  | 'linux-cooked-2'
  | 'raw'
  | 'loopback';
type ByteOrder = 'little' | 'big';

export type TestPacket = { atMs: number; bytes: Buffer };

const linkTypes: Readonly<Record<LinkLayer, number>> = {
  ethernet: 1,
  vlan: 1,
  'linux-cooked': 113,
  'linux-cooked-2': 276,
  raw: 101,
  loopback: 0,
};

const u16 = (value: number, order: ByteOrder = 'big'): Buffer => {
  const bytes = Buffer.alloc(2);
  if (order === 'big') bytes.writeUInt16BE(value);
  else bytes.writeUInt16LE(value);
  return bytes;
};
const u32 = (value: number, order: ByteOrder = 'big'): Buffer => {
  const bytes = Buffer.alloc(4);
  if (order === 'big') bytes.writeUInt32BE(value >>> 0);
  else bytes.writeUInt32LE(value >>> 0);
  return bytes;
};

export type Endpoint = { address: string; port: number };

export type SegmentFacts = {
  source: Endpoint;
  destination: Endpoint;
  sequence: number;
  acknowledgement?: number;
  flags?: number;
  payload?: Buffer;
};

export const tcpFlags = { fin: 0x01, syn: 0x02, reset: 0x04, push: 0x08, acknowledgement: 0x10 };

function tcpBytes({ source, destination, sequence, ...rest }: SegmentFacts): Buffer {
  const { acknowledgement = 0, flags = tcpFlags.acknowledgement | tcpFlags.push } = rest;
  const { payload = Buffer.alloc(0) } = rest;
  const options = Buffer.from('01010101', 'hex');
  return Buffer.concat([
    u16(source.port),
    u16(destination.port),
    u32(sequence),
    u32(acknowledgement),
    Buffer.of(6 << 4, flags),
    u16(65_535),
    u16(0),
    u16(0),
    options,
    payload,
  ]);
}

const isIpv6 = ({ address }: Endpoint): boolean => address.includes(':');

function ipv6Address({ address }: Endpoint): Buffer {
  const [start = '', end = ''] = address.split('::');
  const words = (text: string) => (text === '' ? [] : text.split(':'));
  const [first, last] = [words(start), words(end)];
  const zeros = Array.from({ length: 8 - first.length - last.length }, () => '0');
  return Buffer.concat([...first, ...zeros, ...last].map((word) => u16(Number.parseInt(word, 16))));
}

function ipBytes(facts: SegmentFacts): Buffer {
  const tcp = tcpBytes(facts);
  const { source, destination } = facts;
  if (isIpv6(source)) {
    // With a header of destination options in front of TCP.
    const extension = Buffer.from('0600010400000000', 'hex');
    return Buffer.concat([
      u32(0x60000000),
      u16(extension.length + tcp.length),
      Buffer.of(60, 64),
      ipv6Address(source),
      ipv6Address(destination),
      extension,
      tcp,
    ]);
  }
  const octets = ({ address }: Endpoint) => Buffer.from(address.split('.').map(Number));
  return Buffer.concat([
    Buffer.of(0x45, 0),
    u16(20 + tcp.length),
    u32(0x00004000),
    Buffer.of(64, 6),
    u16(0),
    octets(source),
    octets(destination),
    tcp,
  ]);
}

/** A packet with its link layer; short frames of Ethernet have padding. */
export function packetBytes(link: LinkLayer, facts: SegmentFacts): Buffer {
  const ip = ipBytes(facts);
  const etherType = u16(isIpv6(facts.source) ? 0x86dd : 0x0800);
  const addresses = Buffer.alloc(12, 0x02);
  switch (link) {
    case 'raw':
      return ip;
    case 'loopback':
      return Buffer.concat([u32(2, 'little'), ip]);
    case 'linux-cooked':
      return Buffer.concat([Buffer.alloc(14), etherType, ip]);
    case 'linux-cooked-2':
      return Buffer.concat([etherType, Buffer.alloc(18), ip]);
    default: {
      const tags = link === 'vlan' ? [u16(0x88a8), u16(7), u16(0x8100), u16(12)] : [];
      const frame = Buffer.concat([addresses, ...tags, etherType, ip]);
      return Buffer.concat([frame, Buffer.alloc(Math.max(0, 60 - frame.length), 0xee)]);
    }
  }
}

/** A pcap file in microseconds, or nanoseconds. */
export function pcapFile(
  link: LinkLayer,
  packets: readonly TestPacket[],
  { order = 'little', nanoseconds = false }: { order?: ByteOrder; nanoseconds?: boolean } = {},
): Buffer {
  const magic = nanoseconds ? 0xa1b23c4d : 0xa1b2c3d4;
  const unitsPerMs = nanoseconds ? 1e6 : 1e3;
  const header = [u32(magic, order), u16(2, order), u16(4, order), u32(0, order), u32(0, order)];
  return Buffer.concat([
    ...header,
    u32(262_144, order),
    u32(linkTypes[link], order),
    ...packets.flatMap(({ atMs, bytes }) => [
      u32(Math.floor(atMs / 1000), order),
      u32(Math.round((atMs % 1000) * unitsPerMs), order),
      u32(bytes.length, order),
      u32(bytes.length, order),
      bytes,
    ]),
  ]);
}

/** A pcapng file of one section with a comment in each packet. */
export function pcapngFile(
  link: LinkLayer,
  packets: readonly TestPacket[],
  { order = 'little', nanoseconds = false }: { order?: ByteOrder; nanoseconds?: boolean } = {},
): Buffer {
  const block = (type: number, body: Buffer): Buffer => {
    const padded = Buffer.concat([body, Buffer.alloc((4 - (body.length % 4)) % 4)]);
    const length = u32(padded.length + 12, order);
    return Buffer.concat([u32(type, order), length, padded, length]);
  };
  const option = (code: number, value: Buffer) =>
    Buffer.concat([
      u16(code, order),
      u16(value.length, order),
      value,
      Buffer.alloc((4 - (value.length % 4)) % 4),
    ]);
  const endOfOptions = u32(0, order);
  const section = Buffer.concat([
    u32(0x1a2b3c4d, order),
    u16(1, order),
    u16(0, order),
    Buffer.alloc(8, 0xff),
  ]);
  const resolution = nanoseconds ? [option(9, Buffer.of(9)), endOfOptions] : [];
  const captureInterface = Buffer.concat([
    u16(linkTypes[link], order),
    u16(0, order),
    u32(0, order),
    ...resolution,
  ]);
  const packetBlock = ({ atMs, bytes }: TestPacket): Buffer => {
    const ticks = BigInt(Math.round(atMs * 1000)) * (nanoseconds ? 1000n : 1n);
    const padding = Buffer.alloc((4 - (bytes.length % 4)) % 4);
    return block(
      6,
      Buffer.concat([
        u32(0, order),
        u32(Number(ticks >> 32n), order),
        u32(Number(ticks & 0xffffffffn), order),
        u32(bytes.length, order),
        u32(bytes.length, order),
        bytes,
        padding,
        option(1, Buffer.from('comment')),
        endOfOptions,
      ]),
    );
  };
  return Buffer.concat([
    block(0x0a0d0d0a, section),
    block(1, captureInterface),
    // Statistics of the interface, which a reader skips.
    block(5, Buffer.alloc(12)),
    ...packets.map(packetBlock),
  ]);
}

/** Writes the packets of one connection: its sides send, and a test changes the order. */
export function createTestConnection({
  link,
  client,
  server,
  startMs,
}: {
  link: LinkLayer;
  client: Endpoint;
  server: Endpoint;
  startMs: number;
}) {
  // Close to the end of the numbers, so that they continue with 0.
  const sequences = { client: 0xffffffee, server: crc32(String(client.port)) };
  let atMs = startMs;
  const packet = (from: 'client' | 'server', facts: Partial<SegmentFacts>): TestPacket => {
    const [source, destination] = from === 'client' ? [client, server] : [server, client];
    const other = from === 'client' ? 'server' : 'client';
    const all = {
      source,
      destination,
      sequence: sequences[from],
      acknowledgement: sequences[other],
      ...facts,
    };
    atMs += 1;
    return { atMs, bytes: packetBytes(link, all) };
  };
  return {
    open(): TestPacket[] {
      const first = packet('client', { flags: tcpFlags.syn, acknowledgement: 0 });
      const second = packet('server', { flags: tcpFlags.syn | tcpFlags.acknowledgement });
      sequences.client = (sequences.client + 1) >>> 0;
      sequences.server = (sequences.server + 1) >>> 0;
      return [first, second, packet('client', {})];
    },
    send(from: 'client' | 'server', payload: Buffer): TestPacket {
      const sent = packet(from, { payload });
      sequences[from] = (sequences[from] + payload.length) >>> 0;
      return sent;
    },
    /** One byte that the other side has already received. */
    keepAlive: (from: 'client' | 'server'): TestPacket =>
      packet(from, { sequence: (sequences[from] - 1) >>> 0, payload: Buffer.alloc(1) }),
    close: (from: 'client' | 'server'): TestPacket =>
      packet(from, { flags: tcpFlags.fin | tcpFlags.acknowledgement }),
  };
}

export type TestMessage = {
  direction: 'ToHost' | 'FromHost';
  atMs: number;
  /** With length and TPDU. */
  frame: Buffer;
};

export const jsonLines = (messages: readonly TestMessage[]): string =>
  messages
    .map(({ direction, atMs, frame }) =>
      JSON.stringify({
        time: new Date(atMs).toISOString(),
        direction,
        connection: 'gateway-1',
        frame: frame.toString('hex'),
      }),
    )
    .join('\n');
