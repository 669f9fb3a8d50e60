// Server-side request forgery guard: decides to which addresses the platform connects for a tenant.
import { BlockList, isIP, isIPv4, type LookupFunction } from 'node:net';
import { isLoopbackHost, isPublicAddress } from './address-classes.ts';
import { type AddressLookup, createAddressLookup, type ResolvedAddress } from './dns-lookup.ts';
import { addressRefusedCode } from './outgoing-request.ts';

/** Addresses and ports that the operator allows although they are not public. */
export type AllowedAddress = {
  /** An address, or a range in CIDR form. */
  readonly range: string;
  readonly portFrom: number;
  readonly portTo: number;
};

export type AddressGuard = {
  /** The fault of a host and port that is visible without a lookup; undefined if there is none. */
  findHostFault(host: string, port: number): string | undefined;
  /** Also resolves a name. A name that cannot be resolved now has no fault: each connection checks it. */
  resolveHostFault(host: string, port: number): Promise<string | undefined>;
  /** Checks the addresses at each connection and returns the checked addresses, so that DNS cannot change them. */
  lookupFor(port: number): LookupFunction;
};

type GuardOptions = {
  readonly allowsLoopback: boolean;
  readonly allowedAddresses?: readonly AllowedAddress[] | undefined;
  /** Ports at public addresses; all ports if undefined. */
  readonly ports?: readonly number[] | undefined;
  readonly lookup?: AddressLookup | undefined;
};

const notPublic =
  'must resolve to a public address, or to an address and port that the operator of the platform allows';

export const addressRefusedError = () =>
  Object.assign(new Error('resolves to an address that is not allowed'), {
    code: addressRefusedCode,
  });

/** Other programs read a name that ends in a number as an IPv4 address (WHATWG URL, "ends in a number"). */
const endsInNumber = /(?:^|\.)(?:\d+|0x[\da-f]*)\.?$/i;

/** RFC 6761, 6.3: systems resolve each of these names to loopback. */
const isNameOfLoopback = /(?:^|\.)localhost\.?$/i;

const loopbackAddresses = ['127.0.0.1', '::1'];

function createMatcher({ range, portFrom, portTo }: AllowedAddress) {
  const [address = '', bits] = range.split('/');
  const family = isIPv4(address) ? 'ipv4' : 'ipv6';
  const list = new BlockList();
  if (bits === undefined) list.addAddress(address, family);
  else list.addSubnet(address, Number(bits), family);
  return {
    hasPort: (port: number) => port >= portFrom && port <= portTo,
    hasAddress: (candidate: string) => list.check(candidate, isIPv4(candidate) ? 'ipv4' : 'ipv6'),
  };
}

/** @example const guard = createAddressGuard({ allowsLoopback: false }); guard.findHostFault('10.0.0.1', 443); */
export function createAddressGuard(options: GuardOptions): AddressGuard {
  const { allowsLoopback, ports, lookup = createAddressLookup() } = options;
  const matchers = (options.allowedAddresses ?? []).map(createMatcher);

  function isAllowed(address: string, port: number): boolean {
    if (isPublicAddress(address) && ports?.includes(port) !== false) return true;
    if (allowsLoopback && isLoopbackHost(address)) return true;
    return matchers.some((matcher) => matcher.hasPort(port) && matcher.hasAddress(address));
  }

  /** Mixed results are refused. `localhost` always has two addresses, of which one may be allowed. */
  function selectAllowed(host: string, port: number, addresses: readonly ResolvedAddress[]) {
    const isOther = ({ address }: ResolvedAddress) =>
      !isAllowed(address, port) && !(isLoopbackHost(host) && loopbackAddresses.includes(address));
    if (addresses.some(isOther)) return [];
    return addresses.filter(({ address }) => isAllowed(address, port));
  }

  function findHostFault(host: string, port: number): string | undefined {
    const isPortAllowed =
      ports?.includes(port) !== false ||
      (allowsLoopback && isLoopbackHost(host)) ||
      matchers.some(({ hasPort }) => hasPort(port));
    if (!isPortAllowed) return `must use port ${ports?.join(', ')}, not ${port}`;
    if (isIP(host) !== 0) return isAllowed(host, port) ? undefined : notPublic;
    if (isLoopbackHost(host)) {
      const isSomeAllowed = loopbackAddresses.some((address) => isAllowed(address, port));
      return isSomeAllowed ? undefined : notPublic;
    }
    if (isNameOfLoopback.test(host)) return notPublic;
    return endsInNumber.test(host) ? 'must be a host name or a complete IP address' : undefined;
  }

  return {
    findHostFault,
    async resolveHostFault(host, port) {
      const fault = findHostFault(host, port);
      if (fault !== undefined) return fault;
      const addresses = await lookup(host).catch(() => []);
      if (addresses.length === 0) return undefined;
      return selectAllowed(host, port, addresses).length > 0 ? undefined : notPublic;
    },
    lookupFor: (port) => (host, lookupOptions, done) => {
      lookup(host).then(
        (addresses) => {
          const allowed = selectAllowed(host, port, addresses);
          const [first] = allowed;
          if (first === undefined) done(addressRefusedError(), '');
          else if (lookupOptions.all === true) done(null, allowed);
          else done(null, first.address, first.family);
        },
        (error: NodeJS.ErrnoException) => done(error, ''),
      );
    },
  };
}
