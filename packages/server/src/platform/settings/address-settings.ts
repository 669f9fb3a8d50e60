// The settings of where a process listens and how others address it: part of the one table, with rules of their own.
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
      'Where the API and device listeners listen: `0.0.0.0` or `::` for every address of the machine, `localhost` where a proxy stands before them on it.',
    defaultDescription: '`localhost` in `demo` and `test`; needed in `production`',
  },
  port: {
    ...port,
    name: 'PORT',
    default: '8443',
    description: 'Port of the API; 0 takes a free one.',
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
      'Where proxies to acquirers listen on this machine, as acquirer links name them: in `production` links without TLS may lead there alone.',
    defaultDescription:
      'in `demo` every loopback address; in `test` those of `ALLOWED_ADDRESSES`; none in `production`',
  },
  allowedAddresses: {
    ...listOf('range:port or range:port-port', maxAllowed, parseAllowedAddress),
    name: 'ALLOWED_ADDRESSES',
    description:
      'Private and loopback addresses to which acquirer links, webhooks and providers of tenants may lead, with their ports: `10.1.0.0/16:8583`, `[fd00::/8]:443`, `192.168.0.7:9000-9010`.',
    defaultDescription: 'loopback in `demo`; none elsewhere',
  },
  allowedPorts: {
    ...listOf('port', maxAllowed, integer(1, 65_535).read),
    name: 'ALLOWED_PORTS',
    description:
      'Ports, beside 443 and 8443, that webhooks and providers of tenants may use at public addresses in `production`.',
    defaultDescription: 'every port in `demo` and `test`; none in `production`',
  },
  qrProviderPort: {
    ...port,
    name: 'QR_PROVIDER_PORT',
    default: '8585',
    description:
      'Port of the reference provider of QR payments, started in `demo`; where it is taken, or 0, a free one.',
  },
  metricsHost: {
    ...host,
    name: 'METRICS_HOST',
    default: '127.0.0.1',
    description: 'Where metrics and health listen.',
  },
  metricsPort: {
    ...port,
    name: 'METRICS_PORT',
    default: '9464',
    description: 'Port of metrics and health.',
  },
  baseUrl: {
    ...publicUrl,
    name: 'BASE_URL',
    description: 'The API as clients address it.',
    defaultDescription: '`https://localhost:{PORT}` in `demo` and `test`; needed in `production`',
  },
  authUrl: {
    ...publicUrl,
    name: 'AUTH_URL',
    description: 'The authorization server as clients address it.',
    defaultDescription: 'the `BASE_URL`',
  },
  deviceAuthUrl: {
    ...publicUrl,
    name: 'DEVICE_AUTH_URL',
    description: 'The device listener as devices address it.',
    defaultDescription: '`https://{host of BASE_URL}:{DEVICE_PORT}`',
  },
  portalDomain: {
    ...text('domain name', /^(?:[a-z0-9-]{1,63}\.)*[a-z0-9-]{1,63}$/),
    name: 'PORTAL_DOMAIN',
    description:
      'The domain under which each client has its portal and its sign-in page, `{client}.{PORTAL_DOMAIN}`.',
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

/** What is not said follows from what is: devices find their listener where the API is, at its own port. */
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

/** Where acquirer links without TLS may lead; undefined where that is all of loopback. */
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

/** What addresses of webhooks and providers may lead to. */
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

/** Proxies to acquirers are named by the operator, so links may lead there. */
function proxyAddresses(proxy: string): readonly AllowedAddress[] {
  const separator = proxy.lastIndexOf(':');
  const port = Number(proxy.slice(separator + 1));
  const name = proxy.slice(0, separator);
  const ranges = name === 'localhost' ? ['127.0.0.1', '::1'] : [name];
  return ranges.map((range) => ({ range, portFrom: port, portTo: port }));
}

/** What acquirer links may lead to: hosts have ports of their own, so each public port is allowed. */
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
 * A process that nobody reaches, and one that gives out addresses of the machine that asks, both start without
 * a word: in production somebody has to say what is meant, be it loopback.
 */
export const addressProductionRules: readonly ((given: AddressValues) => string | false)[] = [
  ({ host: given }) =>
    given === undefined &&
    'SWITCHYARD_HOST must be set: 0.0.0.0 or :: for every address of the machine, localhost where a proxy stands before it there',
  ({ baseUrl }) =>
    baseUrl === undefined &&
    'SWITCHYARD_BASE_URL must be set: the address of the API that clients, terminals and people are told',
];
