/**
 * The connector's part of the AsyncAPI document: its WebSockets, their clients and their close
 * codes.
 */
import { defined } from '../defined.ts';
import { type Json, ref } from '../events/asyncapi-schema-and-ref.ts';
import {
  type ConnectorMessageName,
  connectorMessages,
  connectorSchemas,
} from './asyncapi-messages.ts';
import { connectorLimits } from './limits.ts';
import { connectorPaths } from './paths.ts';
import { type ConnectorChannel, closingsOf } from './websocket-close-codes.ts';

/** The addresses of the WebSockets. */
export type ConnectorPlaces = {
  readonly baseUrl: string;
  /** The address for devices with certificates; absent if there is none. */
  readonly deviceUrl?: string | undefined;
  /** Whether a point of sale also sends its access token to the session address. */
  readonly sessionAuth?: 'url' | 'bearer' | undefined;
};

const securitySchemes: Json = {
  posToken: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'An access token of an application with the role "Point-of-sale Terminal".',
  },
  connectionToken: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description:
      'The `token` of the registration, for this one connection. Where the device registered with a ' +
      'certificate it shows the same again.',
  },
  deviceCertificate: {
    type: 'X509',
    description: 'The certificate of the terminal that `tsn` names, at the server for devices.',
  },
  sessionKey: {
    type: 'apiKey',
    in: 'password',
    description: 'The secret at the end of the `sessionUrl`, good once.',
  },
  registrationCredentials: {
    type: 'userPassword',
    description:
      '`client_id` and `client_secret` in the message: of a point of sale or of an application of devices.',
  },
};

type ChannelFacts = {
  readonly address: string;
  readonly title: string;
  readonly description: string;
  readonly servers: readonly ('sockets' | 'deviceSockets')[];
  readonly maxMessageBytes: number;
  /** Whether the handshake requires the Authorization header or accepts it. */
  readonly authorization: 'required' | 'optional';
  readonly parameters?: Json;
  readonly messages: readonly ConnectorMessageName[];
};

const secretPart = (description: string): Json => ({ key: { description } });

const channels: Readonly<Record<ConnectorChannel, ChannelFacts>> = {
  deviceListener: {
    address: connectorPaths.deviceListener,
    title: 'Where a device registers',
    description:
      `A device sends one message within ${connectorLimits.registerWithinSeconds} seconds, is answered, and ` +
      'this connection is closed.',
    servers: ['sockets', 'deviceSockets'],
    maxMessageBytes: connectorLimits.controlMessageMaxBytes,
    authorization: 'optional',
    messages: ['Register', 'Registered', 'ConnectorError'],
  },
  deviceConnection: {
    address: `${connectorPaths.deviceConnections}/{key}`,
    title: 'The connection of a device',
    description:
      'It stays open, and carries what the device and its point of sale say to each other. The whole ' +
      'address is the `connectionUrl` of the registration, and may name another host than this document.',
    servers: ['sockets', 'deviceSockets'],
    maxMessageBytes: connectorLimits.messageMaxBytes,
    authorization: 'required',
    parameters: secretPart('The end of the `connectionUrl`, good once.'),
    messages: ['TerminalData'],
  },
  posListener: {
    address: connectorPaths.posListener,
    title: 'The control connection of a point of sale',
    description:
      `A point of sale claims and releases terminals on it, at most ${connectorLimits.claimsPerConnection} at a ` +
      'time, and receives the status of claimed terminals. Open sessions continue after it closes.',
    servers: ['sockets'],
    maxMessageBytes: connectorLimits.controlMessageMaxBytes,
    authorization: 'required',
    messages: [
      ...(['Claim', 'Claimed', 'Status', 'DeviceStatus', 'Release', 'Released'] as const),
      ...(['RenewToken', 'TokenRenewed', 'ConnectorError'] as const),
    ],
  },
  session: {
    address: `${connectorPaths.sessions}/{key}`,
    title: 'A session of a point of sale with a terminal',
    description:
      'The whole address is the `sessionUrl` of the claim, and may name another host than this document; ' +
      `it is good once, for ${connectorLimits.sessionUrlSeconds} seconds.`,
    servers: ['sockets'],
    maxMessageBytes: connectorLimits.messageMaxBytes,
    authorization: 'optional',
    parameters: secretPart('The end of the `sessionUrl`: a secret.'),
    messages: ['TerminalData'],
  },
};

const headersOf = (authorization: 'required' | 'optional'): Json => ({
  type: 'object',
  ...(authorization === 'required' ? { required: ['Authorization'] } : {}),
  properties: {
    Authorization: { type: 'string', description: '`Bearer ` and the token.' },
  },
});

function channelOf(name: ConnectorChannel, addresses: ConnectorPlaces): Json {
  const { servers, maxMessageBytes, authorization, messages, ...facts } = channels[name];
  const needsToken = name === 'session' && addresses.sessionAuth === 'bearer';
  return {
    ...facts,
    servers: servers
      .filter((server) => server === 'sockets' || addresses.deviceUrl !== undefined)
      .map((server) => ref(`servers/${server}`)),
    messages: Object.fromEntries(messages.map((one) => [one, ref(`components/messages/${one}`)])),
    bindings: {
      ws: {
        method: 'GET',
        headers: headersOf(needsToken ? 'required' : authorization),
        bindingVersion: '0.1.0',
      },
    },
    'x-max-message-bytes': maxMessageBytes,
    'x-close-codes': closingsOf(name),
  };
}

type OperationFacts = {
  readonly action: 'send' | 'receive';
  readonly channel: ConnectorChannel;
  readonly summary: string;
  readonly message: ConnectorMessageName;
  readonly replies?: readonly ConnectorMessageName[];
  readonly security?: readonly string[];
};

const pos = { channel: 'posListener', security: ['posToken'] } as const;
const session = { channel: 'session', security: ['sessionKey'] } as const;
const device = { channel: 'deviceConnection', security: ['connectionToken'] } as const;

const operations = {
  registerDevice: {
    action: 'receive',
    channel: 'deviceListener',
    message: 'Register',
    replies: ['Registered', 'ConnectorError'],
    security: ['deviceCertificate', 'registrationCredentials'],
    summary: 'Registers a device, by its certificate, by credentials, or by both.',
  },
  tellDeviceFault: {
    action: 'send',
    channel: 'deviceListener',
    message: 'ConnectorError',
    summary: 'Sends a device that did not register in time the reason for the close.',
  },
  claimTerminal: {
    ...pos,
    action: 'receive',
    message: 'Claim',
    replies: ['Claimed', 'ConnectorError'],
    summary: 'Reserves a session with a terminal.',
  },
  askForStatus: {
    ...pos,
    action: 'receive',
    message: 'Status',
    replies: ['DeviceStatus', 'ConnectorError'],
    summary: 'Sends the status of a terminal.',
  },
  releaseTerminal: {
    ...pos,
    action: 'receive',
    message: 'Release',
    replies: ['Released', 'ConnectorError'],
    summary: 'Ends a session.',
  },
  renewToken: {
    ...pos,
    action: 'receive',
    message: 'RenewToken',
    replies: ['TokenRenewed', 'ConnectorError'],
    summary: 'Lets the connection go on with a new access token.',
  },
  tellDeviceStatus: {
    ...pos,
    action: 'send',
    message: 'DeviceStatus',
    summary:
      'Sends the point of sale that claimed a terminal its status when it connects or disconnects.',
  },
  tellPosFault: {
    ...pos,
    action: 'send',
    message: 'ConnectorError',
    summary: 'Sends a point of sale the reason for the close.',
  },
  receiveFromDevice: {
    ...device,
    action: 'receive',
    message: 'TerminalData',
    summary: 'Takes what the device says to its point of sale.',
  },
  sendToDevice: {
    ...device,
    action: 'send',
    message: 'TerminalData',
    summary: 'Passes on to the device what its point of sale says.',
  },
  receiveFromPos: {
    ...session,
    action: 'receive',
    message: 'TerminalData',
    summary: 'Takes what the point of sale says to its device.',
  },
  sendToPos: {
    ...session,
    action: 'send',
    message: 'TerminalData',
    summary: 'Passes on to the point of sale what its device says.',
  },
} as const satisfies Readonly<Record<string, OperationFacts>>;

function operationOf(facts: OperationFacts, { sessionAuth, deviceUrl }: ConnectorPlaces): Json {
  const { action, channel, summary, message, replies, security = [] } = facts;
  const channelSecurity =
    channel === 'session' && sessionAuth === 'bearer' ? ['posToken'] : security;
  const schemes = channelSecurity.filter(
    (name) => name !== 'deviceCertificate' || deviceUrl !== undefined,
  );
  const at = ref(`channels/${channel}`);
  const messageRefs = (names: readonly ConnectorMessageName[]) =>
    names.map((name) => ref(`channels/${channel}/messages/${name}`));
  return {
    action,
    channel: at,
    summary,
    ...(schemes.length === 0
      ? {}
      : { security: schemes.map((name) => ref(`components/securitySchemes/${name}`)) }),
    messages: messageRefs([message]),
    ...defined({
      reply: replies === undefined ? undefined : { channel: at, messages: messageRefs(replies) },
    }),
  };
}

function serverAt(address: string, description: string): Json {
  const { protocol, host, pathname } = new URL(address);
  return {
    host,
    ...(pathname === '/' ? {} : { pathname }),
    protocol: protocol === 'http:' ? 'ws' : 'wss',
    description,
  };
}

function mapped<Key extends string, Facts>(
  table: Readonly<Record<Key, Facts>>,
  write: (key: Key, facts: Facts) => Json,
): Json {
  const all = Object.entries(table) as [Key, Facts][];
  return Object.fromEntries(all.map(([key, facts]) => [key, write(key, facts)]));
}

/** The connector's part of the document. */
export const connectorParts = (addresses: ConnectorPlaces) => ({
  servers: {
    sockets: serverAt(addresses.baseUrl, 'The WebSockets of the platform.'),
    ...defined({
      deviceSockets:
        addresses.deviceUrl === undefined
          ? undefined
          : serverAt(addresses.deviceUrl, 'The same for devices that show their certificates.'),
    }),
  },
  channels: mapped(channels, (name) => channelOf(name, addresses)),
  operations: mapped<string, OperationFacts>(operations, (_name, one) =>
    operationOf(one, addresses),
  ),
  messages: connectorMessages(),
  schemas: connectorSchemas(),
  securitySchemes,
});
