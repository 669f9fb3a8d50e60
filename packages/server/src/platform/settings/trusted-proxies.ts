// Reads SWITCHYARD_TRUST_PROXY: private ranges and single addresses.
import { BlockList, isIP } from 'node:net';
import { splitList, ValueError, type ValueReader } from './value-readers.ts';

/** RFC 1918, 6598, 3927, 4193 and 4291: addresses that no client on the internet can have. */
const privateRanges = [
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['100.64.0.0', 10],
  ['169.254.0.0', 16],
  ['127.0.0.0', 8],
  ['fc00::', 7],
  ['fe80::', 10],
] as const;

/** A proxy may set `Client-Cert`, so a wide public range would let clients present any certificate. */
export const trustedProxies: ValueReader<readonly string[]> = {
  type: 'addresses, or private ranges in CIDR form, separated by spaces or commas',
  read(value) {
    const ranges = splitList(value);
    for (const range of ranges) checkRange(range);
    return ranges;
  },
};

function checkRange(range: string): void {
  const [address = '', prefix, ...rest] = range.split('/');
  const family = isIP(address);
  const bits = family === 4 ? 32 : 128;
  const length = prefix === undefined ? bits : prefixLength(prefix);
  if (family === 0 || address.includes('%') || rest.length > 0 || !(length <= bits)) {
    throw new ValueError(`holds "${range}", not an address or a range such as 10.0.0.0/8`);
  }
  if (family === 6 && isMapped(address)) {
    throw new ValueError(`holds "${range}", an IPv4 address in IPv6 form; write it as IPv4`);
  }
  if (length < bits && !isPrivate(address, family, length)) {
    throw new ValueError(
      `holds "${range}", a range that is not private; name each public address of a proxy by itself`,
    );
  }
}

const prefixLength = (digits: string) =>
  /^(?:0|[1-9]\d{0,2})$/.test(digits) ? Number(digits) : Number.NaN;

/** `::ffff:10.0.0.1` and `::10.0.0.1`: libraries differ in how they compare these with IPv4. */
function isMapped(address: string): boolean {
  const { hostname } = new URL(`http://[${address}]`);
  return /^\[::ffff:/.test(hostname) || address.includes('.');
}

function isPrivate(address: string, family: number, length: number): boolean {
  const type = family === 4 ? 'ipv4' : 'ipv6';
  return privateRanges.some(([network, networkLength]) => {
    if (isIP(network) !== family || length < networkLength) return false;
    const list = new BlockList();
    list.addSubnet(network, networkLength, type);
    return list.check(address, type);
  });
}
