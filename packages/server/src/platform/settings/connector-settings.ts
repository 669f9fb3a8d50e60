// Settings of the Cloud Connector.
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
  if (url.hostname === '') throw new ValueError('contains no host');
  if (url.pathname.length > 1 || url.search !== '' || url.hash !== '') {
    throw new ValueError('must contain only credentials, host and port');
  }
  try {
    decodeURIComponent(url.username + url.password);
  } catch {
    throw new ValueError('has a user or password that is not percent-encoded');
  }
  return url;
}

/** Servers of one cluster; they announce further servers by themselves. */
const natsUrl: ValueReader<string> = {
  type: 'one or more URLs (nats, tls), separated by commas; only the first contains the credentials (user:password@ or token@)',
  read(value) {
    const urls = value.split(',').map((server) => parseNatsServer(server.trim()));
    if (urls.length > maxNatsServers) {
      throw new ValueError(`names more than ${maxNatsServers} servers`);
    }
    if (new Set(urls.map(({ protocol }) => protocol)).size > 1) {
      throw new ValueError('mixes nats:// and tls://');
    }
    const [, ...others] = urls;
    if (others.some(({ username, password }) => username !== '' || password !== '')) {
      throw new ValueError('has credentials in a URL other than the first');
    }
    return value;
  },
};

export const connectorSettings = {
  natsUrl: {
    ...natsUrl,
    name: 'NATS_URL',
    description:
      'NATS server, or the servers of one NATS cluster. Several connector nodes need it; a single node does not. If NATS runs on another machine, `production` requires `tls://` and credentials.',
    secret: true,
    defaultDescription: 'none: this node is the only one',
  },
  natsCaFile: {
    ...filePath,
    name: 'NATS_CA_FILE',
    description: 'Certificates of the authority that issued the NATS server certificate, PEM.',
    defaultDescription: 'the authorities that Node.js trusts',
  },
  natsCertFile: {
    ...filePath,
    name: 'NATS_CERT_FILE',
    description: 'Client certificate chain of this node for NATS, PEM.',
  },
  natsKeyFile: {
    ...filePath,
    name: 'NATS_KEY_FILE',
    description: 'Private key of the certificate in `NATS_CERT_FILE`, PEM.',
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
      'Public URL of this node for the sessions of its devices. Set it if several nodes share one `BASE_URL`. Otherwise session data passes through NATS.',
    defaultDescription: 'the `BASE_URL`',
  },
  connectorFamilies: {
    ...families,
    name: 'CONNECTOR_FAMILIES',
    default: 'axium tetra',
    description: 'Device families that the Cloud Connector supports.',
  },
  connectorSessionAuth: {
    ...choice('url', 'bearer'),
    name: 'CONNECTOR_SESSION_AUTH',
    default: 'url',
    description:
      'Authentication of a point of sale at the start of a session. `url`: the single-use URL is sufficient. `bearer`: the access token is also required.',
  },
  connectorIdleSeconds: {
    ...integer(60, 86_400),
    name: 'CONNECTOR_IDLE_SECONDS',
    default: '3600',
    description: 'Time after which a session without data ends, in seconds.',
  },
  connectorResumeSeconds: {
    ...integer(0, 300),
    name: 'CONNECTOR_RESUME_SECONDS',
    default: '30',
    description:
      'Time, in seconds, during which a disconnected point of sale can resume its session. Messages of the device are buffered. `0` ends the session at once.',
  },
  connectorConnections: {
    ...integer(10, 200_000),
    name: 'CONNECTOR_CONNECTIONS',
    default: '9000',
    description:
      'Maximum number of open WebSockets of this process. It refuses further connections; their clients can retry later. Each WebSocket needs one file descriptor.',
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
    'SWITCHYARD_NATS_URL must be tls:// if certificates are set for it',
  ({ natsUrl: url, natsCredentialsFile }) =>
    natsCredentialsFile !== undefined &&
    (url === undefined || parseUrls(url)[0]?.username !== '') &&
    'SWITCHYARD_NATS_CREDENTIALS_FILE needs a SWITCHYARD_NATS_URL without credentials',
];

const parseUrls = (text: string) => text.split(',').map((server) => new URL(server.trim()));
const isBeyondLoopback = (text: string) =>
  parseUrls(text).some(({ hostname }) => !isLoopbackHost(hostname.replace(/^\[|\]$/g, '')));

export const connectorProductionRules: readonly ConnectorRule[] = [
  ({ natsUrl: url }) =>
    url !== undefined &&
    !url.startsWith('tls://') &&
    isBeyondLoopback(url) &&
    'SWITCHYARD_NATS_URL must be tls:// for other machines',
  ({ natsUrl: url, natsCertFile, natsCredentialsFile }) =>
    url !== undefined &&
    parseUrls(url)[0]?.username === '' &&
    (natsCertFile ?? natsCredentialsFile) === undefined &&
    isBeyondLoopback(url) &&
    'SWITCHYARD_NATS_URL must hold credentials, or SWITCHYARD_NATS_CREDENTIALS_FILE or SWITCHYARD_NATS_CERT_FILE be set',
];
