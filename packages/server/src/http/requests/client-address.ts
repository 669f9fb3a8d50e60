// The IP address of the client, read from X-Forwarded-For when a trusted proxy sent the request; also for WebSocket handshakes.
import type { IncomingMessage } from 'node:http';
import { BlockList, isIPv6 } from 'node:net';

/** Matches addresses and ranges such as `10.0.0.0/8`. @example const isTrusted = createAddressMatcher(['10.0.0.0/8']); isTrusted(socket.remoteAddress); */
export function createAddressMatcher(
  ranges: readonly string[],
): (address: string | undefined) => boolean {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', prefix] = range.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    if (prefix === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(prefix), family);
  }
  return (address) =>
    address !== undefined && list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}

/** @example const addressOf = createClientAddressReader(settings.trustProxy); addressOf(request); */
export function createClientAddressReader(
  trustedProxy: readonly string[] = [],
): (request: Pick<IncomingMessage, 'headers' | 'socket'>) => string {
  const isTrusted = createAddressMatcher(trustedProxy);
  return ({ headers, socket }) => {
    let address = socket.remoteAddress ?? '';
    const forwardedFor = String(headers['x-forwarded-for'] ?? '').split(',');
    for (const hop of forwardedFor.map((each) => each.trim()).toReversed()) {
      if (hop === '' || !isTrusted(address)) break;
      address = hop;
    }
    return address;
  };
}
