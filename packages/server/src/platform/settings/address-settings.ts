// Settings of the addresses: where a process listens, how clients reach it, and where tenants may lead it.
import { BlockList, isIP } from 'node:net';
import { isLoopbackHost } from '../net/address-classes.ts';
import type { AllowedAddress } from '../net/ssrf-guard.ts';
import { integer, listOf, publicUrl, text, ValueError } from './value-readers.ts';

const port = integer(0, 65_535);
const maxProxies = 64;

function parseProxy(part: string): string {
  const [, proxyHost = '', digits] = /^(.{1,64}):(\d{1,5})$/.exec(part) ?? [];
  const isPort = Number(digits) >= 1 && Number(digits) <= 65_535;
  if (!isPort || !isLoopbackHost(proxyHost)) {
    throw new ValueError(`holds "${part}", not host:port with a loopback host`);
  }
  return `${proxyHost}:${Number(digits)}`;
}

const maxAllowed = 64;
const allowedPattern = /^(?:\[([^\]]{1,64})\]|([^:]{1,64})):(\d{1,5})(?:-(\d{1,5}))?$/;

function parseAllowedAddress(part: string): AllowedAddress {
  const [, range6, range4, from, to = from] = allowedPattern.exec(part) ?? [];
  const range = range6 ?? range4;
  const portFrom = Number(from);
  const portTo = Number(to);
  if (range === undefined || !(portFrom >= 1 && portFrom <= portTo && portTo <= 65_535)) {
    throw new ValueError(
      `holds "${part}", not range:port or range:port-port, such as 10.1.0.0/16:8583 or [fd00::/8]:443`,
    );
  }
  if (!isAddressRange(range)) throw new ValueError(`holds "${range}", not an address or a range`);
  return { range, portFrom, portTo };
}

function isAddressRange(range: string): boolean {
  const [address = '', bits, ...rest] = range.split('/');
  const family = isIP(address);
  if (family === 0 || rest.length > 0) return false;
  if (bits === undefined) return true;
  if (!/^\d{1,3}$/.test(bits)) return false;
  try {
    new BlockList().addSubnet(address, Number(bits), family === 4 ? 'ipv4' : 'ipv6');
    return true;
  } catch {
    return false;
  }
}

const proxies = listOf('host:port on loopback', maxProxies, parseProxy);
const host = text('host name or address', /^[A-Za-z0-9.:_-]{1,255}$/);

export const addressSettings = {
  host: {
    ...host,
    name: 'HOST',
    description:
      'Host name or address of the API and device listeners: `0.0.0.0` or `::` for every address of the machine, `localhost` behind a proxy on the same machine.',
    defaultDescription: '`localhost` in `demo` and `test`; required in `production`',
  },
  port: {
    ...port,
    name: 'PORT',
    default: '8443',
    description: 'Port of the API; 0 selects a free port.',
  },
  devicePort: {
    ...port,
    name: 'DEVICE_PORT',
    default: '9021',
    description: 'Port of the device listener (mutual TLS).',
  },
  acquirerPort: {
    ...port,
    name: 'ACQUIRER_PORT',
    default: '8583',
    description: 'Port of the acquirer host simulator, started in `demo`.',
  },
  acquirerTlsProxies: {
    ...proxies,
    name: 'ACQUIRER_TLS_PROXIES',
    description:
      'Addresses of proxies on this machine that add TLS to acquirer connections. Write them as in the acquirer links. In `production` a link without TLS can use only these addresses.',
    defaultDescription:
      'in `demo` every loopback address; in `test` the loopback addresses of `ALLOWED_ADDRESSES`; none in `production`',
  },
  allowedAddresses: {
    ...listOf('range:port or range:port-port', maxAllowed, parseAllowedAddress),
    name: 'ALLOWED_ADDRESSES',
    description:
      'Private and loopback addresses, with ports, to which the platform may connect for organisations (acquirer links, webhooks, providers). Examples: `10.1.0.0/16:8583`, `[fd00::/8]:443`, `192.168.0.7:9000-9010`.',
    defaultDescription: 'loopback in `demo`; none elsewhere',
  },
  allowedPorts: {
    ...listOf('port', maxAllowed, integer(1, 65_535).read),
    name: 'ALLOWED_PORTS',
    description:
      'Additional ports, besides 443 and 8443, to which the platform may connect at public addresses for webhooks and providers. Only for `production`.',
    defaultDescription: 'every port in `demo` and `test`; none in `production`',
  },
  qrProviderPort: {
    ...port,
    name: 'QR_PROVIDER_PORT',
    default: '8585',
    description:
      'Port of the QR provider simulator, started in `demo`. The platform selects a free port if the value is 0 or the port is in use.',
  },
  metricsHost: {
    ...host,
    name: 'METRICS_HOST',
    default: '127.0.0.1',
    description: 'Host name or address of the listener for metrics and health.',
  },
  metricsPort: {
    ...port,
    name: 'METRICS_PORT',
    default: '9464',
    description: 'Port of the listener for metrics and health.',
  },
  baseUrl: {
    ...publicUrl,
    name: 'BASE_URL',
    description: 'Public URL of the API.',
    defaultDescription: '`https://localhost:{PORT}` in `demo` and `test`; required in `production`',
  },
  authUrl: {
    ...publicUrl,
    name: 'AUTH_URL',
    description: 'Public URL of the authorization server.',
    defaultDescription: 'the `BASE_URL`',
  },
  deviceAuthUrl: {
    ...publicUrl,
    name: 'DEVICE_AUTH_URL',
    description: 'Public URL of the device listener.',
    defaultDescription: '`https://{host of BASE_URL}:{DEVICE_PORT}`',
  },
  portalDomain: {
    ...text('domain name', /^(?:[a-z0-9-]{1,63}\.)*[a-z0-9-]{1,63}$/),
    name: 'PORTAL_DOMAIN',
    description:
      'Domain of the portals and sign-in pages. Each user domain has its own host: `{user domain}.{PORTAL_DOMAIN}`.',
  },
} as const;

type AddressValues = {
  readonly host: string | undefined;
  readonly port: number;
  readonly devicePort: number;
  readonly baseUrl: string | undefined;
  readonly authUrl: string | undefined;
  readonly deviceAuthUrl: string | undefined;
  readonly connectorNodeUrl: string | undefined;
};

export type Addresses = {
  readonly host: string;
  readonly baseUrl: string;
  readonly authUrl: string;
  readonly deviceAuthUrl: string;
  readonly connectorNodeUrl: string;
};

/** Derives missing URLs from the others: the device listener has the host of the API and its own port. */
export function resolveAddresses(values: AddressValues): Addresses {
  const baseUrl = values.baseUrl ?? `https://localhost:${values.port}`;
  return {
    host: values.host ?? 'localhost',
    baseUrl,
    authUrl: values.authUrl ?? baseUrl,
    deviceAuthUrl:
      values.deviceAuthUrl ?? `https://${new URL(baseUrl).hostname}:${values.devicePort}`,
    connectorNodeUrl: values.connectorNodeUrl ?? baseUrl,
  };
}

/** Where acquirer links without TLS may lead; undefined allows all of loopback. */
export function allowedAcquirerProxies(settings: {
  readonly environment: string;
  readonly acquirerTlsProxies: readonly string[] | undefined;
}): readonly string[] | undefined {
  return settings.environment === 'production' ? (settings.acquirerTlsProxies ?? []) : undefined;
}

type GuardSettings = {
  readonly environment: string;
  readonly acquirerTlsProxies: readonly string[] | undefined;
  readonly allowedAddresses: readonly AllowedAddress[] | undefined;
  readonly allowedPorts: readonly number[] | undefined;
};

/** Rules for the addresses of webhooks and providers. */
export function outgoingCallRules({
  environment,
  allowedAddresses = [],
  allowedPorts = [],
}: GuardSettings) {
  return {
    allowsLoopback: environment === 'demo',
    allowedAddresses,
    ports: environment === 'production' ? [443, 8443, ...allowedPorts] : undefined,
  };
}

/** The operator names the proxies to acquirers, so links may lead there. */
function proxyAddresses(proxy: string): readonly AllowedAddress[] {
  const separator = proxy.lastIndexOf(':');
  const port = Number(proxy.slice(separator + 1));
  const name = proxy.slice(0, separator);
  const ranges = name === 'localhost' ? ['127.0.0.1', '::1'] : [name];
  return ranges.map((range) => ({ range, portFrom: port, portTo: port }));
}

/** Rules for acquirer links: hosts use their own ports, so each public port is allowed. */
export function acquirerLinkRules({
  environment,
  acquirerTlsProxies = [],
  allowedAddresses = [],
}: GuardSettings) {
  return {
    allowsLoopback: environment === 'demo',
    allowedAddresses: [...allowedAddresses, ...acquirerTlsProxies.flatMap(proxyAddresses)],
  };
}

/**
 * In production the operator must set both: otherwise no other machine reaches the process, or
 * clients get URLs of their own machine.
 */
export const addressProductionRules: readonly ((host: AddressValues) => string | false)[] = [
  ({ host }) =>
    host === undefined &&
    'SWITCHYARD_HOST must be set: 0.0.0.0 or :: for every address of the machine, localhost behind a proxy on the same machine',
  ({ baseUrl }) =>
    baseUrl === undefined &&
    'SWITCHYARD_BASE_URL must be set: the URL of the API for clients, terminals and users',
];
