// The settings of where a process listens and how others address it: part of the one table, with rules of their own.
import { BlockList, isIP } from 'node:net';
import { isLoopbackHost } from '../net/address-classes.ts';
import type { AllowedAddress } from '../net/ssrf-guard.ts';
import { integer, publicUrl, several, text, ValueFault } from './value-readers.ts';

const port = integer(0, 65_535);
const proxiesMax = 64;

function checkProxy(part: string): string {
  const [, at = '', digits] = /^(.{1,64}):(\d{1,5})$/.exec(part) ?? [];
  const isPort = Number(digits) >= 1 && Number(digits) <= 65_535;
  if (!isPort || !isLoopbackHost(at)) {
    throw new ValueFault(`holds "${part}", not host:port with a loopback host`);
  }
  return `${at}:${Number(digits)}`;
}

const allowedMax = 64;
const allowedForm = /^(?:\[([^\]]{1,64})\]|([^:]{1,64})):(\d{1,5})(?:-(\d{1,5}))?$/;

function readAllowedAddress(part: string): AllowedAddress {
  const [, range6, range4, from, to = from] = allowedForm.exec(part) ?? [];
  const range = range6 ?? range4;
  const portFrom = Number(from);
  const portTo = Number(to);
  if (range === undefined || !(portFrom >= 1 && portFrom <= portTo && portTo <= 65_535)) {
    throw new ValueFault(
      `holds "${part}", not range:port or range:port-port, such as 10.1.0.0/16:8583 or [fd00::/8]:443`,
    );
  }
  if (!isAddressRange(range)) throw new ValueFault(`holds "${range}", not an address or a range`);
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

const proxies = several('host:port on loopback', proxiesMax, checkProxy);
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
  acquirerProxies: {
    ...proxies,
    name: 'ACQUIRER_TLS_PROXIES',
    description:
      'Where proxies to acquirers listen on this machine, as acquirer links name them: in `production` links without TLS may lead there alone.',
    defaultDescription:
      'in `demo` every loopback address; in `test` those of `ALLOWED_ADDRESSES`; none in `production`',
  },
  allowedAddresses: {
    ...several('range:port or range:port-port', allowedMax, readAllowedAddress),
    name: 'ALLOWED_ADDRESSES',
    description:
      'Private and loopback addresses to which acquirer links, webhooks and providers of tenants may lead, with their ports: `10.1.0.0/16:8583`, `[fd00::/8]:443`, `192.168.0.7:9000-9010`.',
    defaultDescription: 'loopback in `demo`; none elsewhere',
  },
  allowedPorts: {
    ...several('port', allowedMax, integer(1, 65_535).read),
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

type Given = {
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
export function addressesOf(given: Given): Addresses {
  const baseUrl = given.baseUrl ?? `https://localhost:${given.port}`;
  return {
    host: given.host ?? 'localhost',
    baseUrl,
    authUrl: given.authUrl ?? baseUrl,
    deviceAuthUrl:
      given.deviceAuthUrl ?? `https://${new URL(baseUrl).hostname}:${given.devicePort}`,
    connectorNodeUrl: given.connectorNodeUrl ?? baseUrl,
  };
}

/** Where acquirer links without TLS may lead; undefined where that is all of loopback. */
export function acquirerProxiesOf(settings: {
  readonly environment: string;
  readonly acquirerProxies: readonly string[] | undefined;
}): readonly string[] | undefined {
  return settings.environment === 'production' ? (settings.acquirerProxies ?? []) : undefined;
}

type GuardSettings = {
  readonly environment: string;
  readonly acquirerProxies: readonly string[] | undefined;
  readonly allowedAddresses: readonly AllowedAddress[] | undefined;
  readonly allowedPorts: readonly number[] | undefined;
};

/** What addresses of webhooks and providers may lead to. */
export function callRulesOf({
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
function allowProxy(proxy: string): readonly AllowedAddress[] {
  const at = proxy.lastIndexOf(':');
  const port = Number(proxy.slice(at + 1));
  const name = proxy.slice(0, at);
  const ranges = name === 'localhost' ? ['127.0.0.1', '::1'] : [name];
  return ranges.map((range) => ({ range, portFrom: port, portTo: port }));
}

/** What acquirer links may lead to: hosts have ports of their own, so each public port is allowed. */
export function linkRulesOf({
  environment,
  acquirerProxies = [],
  allowedAddresses = [],
}: GuardSettings) {
  return {
    allowsLoopback: environment === 'demo',
    allowedAddresses: [...allowedAddresses, ...acquirerProxies.flatMap(allowProxy)],
  };
}

/**
 * A process that nobody reaches, and one that gives out addresses of the machine that asks, both start without
 * a word: in production somebody has to say what is meant, be it loopback.
 */
export const addressProductionRules: readonly ((given: Given) => string | false)[] = [
  ({ host: given }) =>
    given === undefined &&
    'SWITCHYARD_HOST must be set: 0.0.0.0 or :: for every address of the machine, localhost where a proxy stands before it there',
  ({ baseUrl }) =>
    baseUrl === undefined &&
    'SWITCHYARD_BASE_URL must be set: the address of the API that clients, terminals and people are told',
];
