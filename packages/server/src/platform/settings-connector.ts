// The settings of the Cloud Connector: part of the one table.
import { isLoopbackHost } from './loopback.ts';
import {
  choice,
  filePath,
  integer,
  publicUrl,
  type Reader,
  secretUrl,
  ValueFault,
} from './setting-values.ts';

const familiesMax = 32;

const families: Reader<readonly string[]> = {
  type: 'names, separated by spaces or commas',
  read(value) {
    const names = value.split(/[\s,]+/).filter((name) => name !== '');
    if (names.length === 0) throw new ValueFault('is empty');
    const wrong = names.find((name) => !/^[A-Za-z0-9_-]{1,64}$/.test(name));
    if (wrong !== undefined) throw new ValueFault(`holds "${wrong}", not a name`);
    if (names.length > familiesMax) throw new ValueFault(`holds more than ${familiesMax}`);
    return names.map((name) => name.toLowerCase());
  },
};

const natsAddress = secretUrl('nats', 'tls');

/** One server: of the others of its cluster it tells by itself. */
const natsUrl: Reader<string> = {
  type: 'URL (nats, tls), with user and password or a token before the host',
  read(value) {
    const { hostname, pathname, search, hash, username, password } = new URL(
      natsAddress.read(value),
    );
    if (hostname === '') throw new ValueFault('names no host');
    if (pathname.length > 1 || search !== '' || hash !== '') {
      throw new ValueFault('has more than credentials, host and port');
    }
    try {
      decodeURIComponent(username + password);
    } catch {
      throw new ValueFault('has a user or password that is not percent-encoded');
    }
    return value;
  },
};

export const connectorSettings = {
  natsUrl: {
    ...natsUrl,
    name: 'NATS_URL',
    description:
      'NATS between several nodes of the connector; one node needs none. `tls://` asks for TLS; beyond loopback `production` wants it, and credentials.',
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
}) => string | false;

export const connectorRules: readonly ConnectorRule[] = [
  ({ natsCertFile, natsKeyFile }) =>
    (natsCertFile === undefined) !== (natsKeyFile === undefined) &&
    'SWITCHYARD_NATS_CERT_FILE and SWITCHYARD_NATS_KEY_FILE must be set together',
  ({ natsUrl: url, natsCaFile, natsCertFile }) =>
    (natsCaFile ?? natsCertFile) !== undefined &&
    url?.startsWith('tls://') !== true &&
    'SWITCHYARD_NATS_URL must be tls:// where certificates are set for it',
];

const isBeyond = (url: string) => !isLoopbackHost(new URL(url).hostname.replace(/^\[|\]$/g, ''));

export const connectorProductionRules: readonly ConnectorRule[] = [
  ({ natsUrl: url }) =>
    url !== undefined &&
    !url.startsWith('tls://') &&
    isBeyond(url) &&
    'SWITCHYARD_NATS_URL must be tls:// beyond this machine',
  ({ natsUrl: url, natsCertFile }) =>
    url !== undefined &&
    new URL(url).username === '' &&
    natsCertFile === undefined &&
    isBeyond(url) &&
    'SWITCHYARD_NATS_URL must hold credentials, or SWITCHYARD_NATS_CERT_FILE be set',
];
