// Reads the TCP segment of a captured packet: link layer, VLAN tags, IPv4 or IPv6.
import type { Packet } from './capture-file.ts';

export type TcpSegment = {
  /** Address and port. */
  readonly source: string;
  readonly destination: string;
  readonly sourcePort: number;
  readonly destinationPort: number;
  readonly sequence: number;
  readonly isSyn: boolean;
  readonly isAcknowledgement: boolean;
  readonly isReset: boolean;
  readonly payload: Buffer;
};

/** A packet without a TCP segment; `reason` if a segment may be in it that cannot be read. */
export type OtherPacket = { readonly reason?: string };

const other: OtherPacket = {};
const etherTypes = { ipv4: 0x0800, ipv6: 0x86dd } as const;
const vlanTypes: readonly number[] = [0x8100, 0x88a8, 0x9100];
const tcpProtocol = 6;
const fragmentReason = 'fragments of IP packets are not joined: their bytes are missing';

/** Where the IP header begins, for each link type: bytes before it, or a function that finds it. */
const linkLayers: Readonly<Record<number, (bytes: Buffer) => number | undefined>> = {
  // BSD loopback, in the byte order of the recording machine, and OpenBSD loopback: a family in 4 bytes.
  0: () => 4,
  108: () => 4,
  1: (bytes) => skipEtherTypes(bytes, 12),
  // Raw IP: the numbers of pcap files and of some systems.
  12: () => 0,
  14: () => 0,
  101: () => 0,
  228: () => 0,
  229: () => 0,
  // Linux cooked capture, versions 1 and 2: the protocol is at the end, or at the start.
  113: (bytes) => skipEtherTypes(bytes, 14),
  276: (bytes) =>
    bytes.length >= 20 && Object.values<number>(etherTypes).includes(bytes.readUInt16BE(0))
      ? 20
      : undefined,
};

/** Skips VLAN tags; undefined if the packet is not IP. */
function skipEtherTypes(bytes: Buffer, start: number): number | undefined {
  for (let at = start; at + 2 <= bytes.length; at += 4) {
    const type = bytes.readUInt16BE(at);
    if (!vlanTypes.includes(type))
      return type === etherTypes.ipv4 || type === etherTypes.ipv6 ? at + 2 : undefined;
  }
  return undefined;
}

/** A packet of TCP without its link layer; `tcp` has no padding of the link layer. */
type IpPacket = { readonly source: string; readonly destination: string; readonly tcp: Buffer };

function readIpv4(bytes: Buffer): IpPacket | OtherPacket {
  if (bytes.length < 20) return other;
  const headerBytes = ((bytes[0] ?? 0) & 0xf) * 4;
  if (bytes[9] !== tcpProtocol || headerBytes < 20) return other;
  // More fragments follow, or this is not the first one.
  if ((bytes.readUInt16BE(6) & 0x3fff) !== 0) return { reason: fragmentReason };
  // The length is 0 if the network card cuts the packet after the recording.
  const length = bytes.readUInt16BE(2) || bytes.length;
  return {
    source: bytes.subarray(12, 16).join('.'),
    destination: bytes.subarray(16, 20).join('.'),
    tcp: bytes.subarray(headerBytes, length),
  };
}

const ipv6HeaderBytes = 40;
const ipv6Fragment = 44;
/** Hop-by-hop options, routing, destination options: a next header, and a length in units of 8 bytes. */
const ipv6Extensions: readonly number[] = [0, 43, 60];

const ipv6Text = (bytes: Buffer): string =>
  `[${bytes.toString('hex').replace(/(.{4})(?!$)/g, '$1:')}]`;

function readIpv6(bytes: Buffer): IpPacket | OtherPacket {
  if (bytes.length < ipv6HeaderBytes) return other;
  const end = ipv6HeaderBytes + (bytes.readUInt16BE(4) || bytes.length);
  let next = bytes[6];
  let at = ipv6HeaderBytes;
  while (next !== undefined && ipv6Extensions.includes(next) && at + 2 <= bytes.length) {
    next = bytes[at];
    at += ((bytes[at + 1] ?? 0) + 1) * 8;
  }
  if (next === ipv6Fragment) return { reason: fragmentReason };
  if (next !== tcpProtocol) return other;
  return {
    source: ipv6Text(bytes.subarray(8, 24)),
    destination: ipv6Text(bytes.subarray(24, 40)),
    tcp: bytes.subarray(at, end),
  };
}

const flags = { syn: 0x02, reset: 0x04, acknowledgement: 0x10 } as const;

/** @returns undefined for a link type that is not supported */
export function readTcpSegment({ linkType, bytes }: Packet): TcpSegment | OtherPacket | undefined {
  const findIp = linkLayers[linkType];
  if (findIp === undefined) return undefined;
  const start = findIp(bytes);
  if (start === undefined || start >= bytes.length) return other;
  const ip = bytes.subarray(start);
  const version = (ip[0] ?? 0) >> 4;
  if (version !== 4 && version !== 6) return other;
  const packet = version === 4 ? readIpv4(ip) : readIpv6(ip);
  if (!('tcp' in packet)) return packet;
  const { source, destination, tcp } = packet;
  if (tcp.length < 20) return other;
  const [sourcePort, destinationPort] = [tcp.readUInt16BE(0), tcp.readUInt16BE(2)];
  const bits = tcp[13] ?? 0;
  return {
    source: `${source}:${sourcePort}`,
    destination: `${destination}:${destinationPort}`,
    sourcePort,
    destinationPort,
    sequence: tcp.readUInt32BE(4),
    isSyn: (bits & flags.syn) !== 0,
    isAcknowledgement: (bits & flags.acknowledgement) !== 0,
    isReset: (bits & flags.reset) !== 0,
    payload: tcp.subarray(((tcp[12] ?? 0) >> 4) * 4),
  };
}
