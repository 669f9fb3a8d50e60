// Classifies addresses: public, loopback, or special purpose.
import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';

/** IANA's special-purpose registry of IPv4, and multicast. */
const specialIpv4Ranges = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const;

/** Inside 2000::/3, the only public range: tunnels to IPv4, documentation, benchmarks. */
const specialIpv6Ranges = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const;

const nonPublicIpv4 = new BlockList();
for (const [net, bits] of specialIpv4Ranges) nonPublicIpv4.addSubnet(net, bits, 'ipv4');
const globalIpv6 = new BlockList();
globalIpv6.addSubnet('2000::', 3, 'ipv6');
const nonPublicIpv6 = new BlockList();
for (const [net, bits] of specialIpv6Ranges) nonPublicIpv6.addSubnet(net, bits, 'ipv6');

/** False for text that is not an address. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !nonPublicIpv4.check(address, 'ipv4');
  if (isIP(address) !== 6) return false;
  return globalIpv6.check(address, 'ipv6') && !nonPublicIpv6.check(address, 'ipv6');
}

export function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
}

/** The network of one subscriber: an IPv6 /64 is one household or one machine. */
export function subscriberNetwork(address: string): string {
  if (!isIPv6(address) || address.startsWith('::ffff:')) return address;
  const [head = '', tail = ''] = address.split('::');
  const groupsBeforeGap = head.split(':').filter((group) => group !== '');
  const groupsAfterGap = tail.split(':').filter((group) => group !== '');
  const zeros = Array.from(
    { length: Math.max(0, 8 - groupsBeforeGap.length - groupsAfterGap.length) },
    () => '0',
  );
  return [...groupsBeforeGap, ...zeros, ...groupsAfterGap].slice(0, 4).join(':');
}
