// The settings of the Cloud Connector: part of the one table.
import { isLoopbackHost } from '../net/address-classes.ts';
import {
  choice,
  filePath,
  integer,
  listOf,
  publicUrl,
  secretUrl,
  ValueError,
  type ValueReader,
} from './value-readers.ts';

const maxFamilies = 32;

const families = listOf('name', maxFamilies, (part) => {
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(part)) throw new ValueError(`holds "${part}", not a name`);
  return part.toLowerCase();
});

const natsAddress = secretUrl('nats', 'tls');

const maxNatsServers = 8;

function parseNatsServer(value: string): URL {
  const url = new URL(natsAddress.read(value));
  if (url.hostname === '') throw new ValueError('names no host');
  if (url.pathname.length > 1 || url.search !== '' || url.hash !== '') {
    throw new ValueError('has more than credentials, host and port');
  }
  try {
    decodeURIComponent(url.username + url.password);
  } catch {
    throw new ValueError('has a user or password that is not percent-encoded');
  }
  return url;
}

/** Servers of one cluster; of further ones they tell by themselves. */
const natsUrl: ValueReader<string> = {
  type: 'URLs (nats, tls) separated by commas, the first with user and password or a token before the host',
  read(value) {
    const urls = value.split(',').map((one) => parseNatsServer(one.trim()));
    if (urls.length > maxNatsServers) {
      throw new ValueError(`names more than ${maxNatsServers} servers`);
    }
    if (new Set(urls.map(({ protocol }) => protocol)).size > 1) {
      throw new ValueError('mixes nats:// and tls://');
    }
    const [, ...others] = urls;
    if (others.some(({ username, password }) => username !== '' || password !== '')) {
      throw new ValueError('has credentials in another than its first URL');
    }
    return value;
  },
};

export const connectorSettings = {
  natsUrl: {
    ...natsUrl,
    name: 'NATS_URL',
    description:
      'NATS between several nodes of the connector, or the servers of its cluster; one node needs none. `tls://` asks for TLS; beyond loopback `production` wants it, and credentials.',
    secret: true,
    defaultDescription: 'none: this node is the only one',
  },
  natsCaFile: {
    ...filePath,
    name: 'NATS_CA_FILE',
    description: 'Certificates of the authority that vouches for NATS, PEM.',
    defaultDescription: 'the authorities that Node knows',
  },
  natsCertFile: {
    ...filePath,
    name: 'NATS_CERT_FILE',
    description: 'Certificate chain with which this node shows itself to NATS, PEM.',
  },
  natsKeyFile: {
    ...filePath,
    name: 'NATS_KEY_FILE',
    description: 'Private key of that certificate, PEM.',
  },
  natsCredentialsFile: {
    ...filePath,
    name: 'NATS_CREDENTIALS_FILE',
    description: 'Credentials file of NATS (`.creds`), in place of those in the URL.',
  },
  connectorNodeUrl: {
    ...publicUrl,
    name: 'CONNECTOR_NODE_URL',
    description:
      'This very node as points of sale address it: sessions with devices of this node begin so. Needed where several nodes stand behind one `BASE_URL` and data shall not pass NATS.',
    defaultDescription: 'the `BASE_URL`',
  },
  connectorFamilies: {
    ...families,
    name: 'CONNECTOR_FAMILIES',
    default: 'axium tetra',
    description: 'Families of devices that the Cloud Connector serves.',
  },
  connectorSessionAuth: {
    ...choice('url', 'bearer'),
    name: 'CONNECTOR_SESSION_AUTH',
    default: 'url',
    description:
      'Whether the single-use address of a session is enough, or its POS shows its access token there again.',
  },
  connectorIdleSeconds: {
    ...integer(60, 86_400),
    name: 'CONNECTOR_IDLE_SECONDS',
    default: '3600',
    description: 'How long a session may be without data.',
  },
  connectorResumeSeconds: {
    ...integer(0, 300),
    name: 'CONNECTOR_RESUME_SECONDS',
    default: '30',
    description:
      'How long a session is kept for its point of sale that was cut off, with what the device says meanwhile; `0` ends it at once.',
  },
  connectorConnections: {
    ...integer(10, 200_000),
    name: 'CONNECTOR_CONNECTIONS',
    default: '9000',
    description:
      'WebSockets that this process holds open; more are told to come back. Each needs a file handle of the process.',
  },
} as const;

type ConnectorRule = (values: {
  readonly natsUrl: string | undefined;
  readonly natsCaFile: string | undefined;
  readonly natsCertFile: string | undefined;
  readonly natsKeyFile: string | undefined;
  readonly natsCredentialsFile: string | undefined;
}) => string | false;

export const connectorRules: readonly ConnectorRule[] = [
  ({ natsCertFile, natsKeyFile }) =>
    (natsCertFile === undefined) !== (natsKeyFile === undefined) &&
    'SWITCHYARD_NATS_CERT_FILE and SWITCHYARD_NATS_KEY_FILE must be set together',
  ({ natsUrl: url, natsCaFile, natsCertFile }) =>
    (natsCaFile ?? natsCertFile) !== undefined &&
    url?.startsWith('tls://') !== true &&
    'SWITCHYARD_NATS_URL must be tls:// where certificates are set for it',
  ({ natsUrl: url, natsCredentialsFile }) =>
    natsCredentialsFile !== undefined &&
    (url === undefined || parseUrls(url)[0]?.username !== '') &&
    'SWITCHYARD_NATS_CREDENTIALS_FILE needs a SWITCHYARD_NATS_URL without credentials',
];

const parseUrls = (text: string) => text.split(',').map((one) => new URL(one.trim()));
const isBeyondLoopback = (text: string) =>
  parseUrls(text).some(({ hostname }) => !isLoopbackHost(hostname.replace(/^\[|\]$/g, '')));

export const connectorProductionRules: readonly ConnectorRule[] = [
  ({ natsUrl: url }) =>
    url !== undefined &&
    !url.startsWith('tls://') &&
    isBeyondLoopback(url) &&
    'SWITCHYARD_NATS_URL must be tls:// beyond this machine',
  ({ natsUrl: url, natsCertFile, natsCredentialsFile }) =>
    url !== undefined &&
    parseUrls(url)[0]?.username === '' &&
    (natsCertFile ?? natsCredentialsFile) === undefined &&
    isBeyondLoopback(url) &&
    'SWITCHYARD_NATS_URL must hold credentials, or SWITCHYARD_NATS_CREDENTIALS_FILE or SWITCHYARD_NATS_CERT_FILE be set',
];
