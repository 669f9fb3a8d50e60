// The settings of the Cloud Connector: part of the one table.
import { choice, integer, type Reader, ValueFault } from './setting-values.ts';

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

export const connectorSettings = {
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
