// Encodes the names that an authority may certify (RFC 5280, 4.2.1.10), which limits the damage of a stolen key.
import { isIP } from 'node:net';

export const nameConstraintsOid = '2.5.29.30';

const sequence = 0x30;
const permittedSubtrees = 0xa0;
const dnsName = 0x82;
const ipAddress = 0x87;

/** DER of NameConstraints that permit exactly these names and addresses, and subdomains of the names. */
export function encodeNameConstraints(names: readonly string[]): Buffer {
  const subtrees = names.map((name) => tlv(sequence, generalName(name)));
  return tlv(sequence, tlv(permittedSubtrees, Buffer.concat(subtrees)));
}

function generalName(name: string): Buffer {
  if (isIP(name) === 0) return tlv(dnsName, Buffer.from(name, 'ascii'));
  const address = isIP(name) === 4 ? Buffer.from(name.split('.').map(Number)) : ipv6(name);
  return tlv(ipAddress, Buffer.concat([address, Buffer.alloc(address.length, 0xff)]));
}

function ipv6(name: string): Buffer {
  const groups = (part: string | undefined) =>
    part === undefined || part === ''
      ? []
      : part.split(':').map((group) => Number.parseInt(group, 16));
  const [head, tail] = name.split('::');
  const firstGroups = groups(head);
  const lastGroups = groups(tail);
  const zeros = Array.from({ length: 8 - firstGroups.length - lastGroups.length }, () => 0);
  const bytes = [...firstGroups, ...zeros, ...lastGroups].flatMap((group) => [
    group >> 8,
    group & 0xff,
  ]);
  return Buffer.from(bytes);
}

function tlv(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const size =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.of(tag, ...size), content]);
}
