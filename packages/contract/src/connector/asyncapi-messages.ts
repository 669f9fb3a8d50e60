/** The messages of the connector in the AsyncAPI document. */
import type { TSchema } from 'typebox';
import { type Json, publicSchema, ref } from '../events/asyncapi-schema-and-ref.ts';
import { connectorFaults } from './connector-faults.ts';
import {
  ClaimedMessage,
  ClaimMessage,
  ConnectorErrorMessage,
  DeviceStatusMessage,
  RegisteredMessage,
  RegisterMessage,
  ReleasedMessage,
  ReleaseMessage,
  RenewTokenMessage,
  StatusMessage,
  TokenRenewedMessage,
} from './control-messages.ts';

const tsn = 'AXIUM_DX8000-10000001';
const sessionId = 'Ck4cOhvqYw3nQ0mFv1zJr8Zb2dXkT5sLg7uHiA9eWpo';
const socketsUrl = 'wss://api.example/cloud-connector/v1';

type MessageDescription = {
  readonly schema: TSchema;
  readonly summary: string;
  readonly example: Json;
};

const controlMessageDescriptions = {
  Register: {
    schema: RegisterMessage,
    summary: 'A device says which one it is.',
    example: { type: 'register', tsn, client_id: 'till-7', client_secret: 'of-till-7' },
  },
  Registered: {
    schema: RegisteredMessage,
    summary: 'Where the device connects next, and with which token.',
    example: {
      type: 'registered',
      tsn,
      token: 'eyJhbGciOiJIUzI1NiJ9.e30.c2ln',
      tokenType: 'Bearer',
      connectionUrl: `${socketsUrl}/device-connections/${sessionId}`,
      expiresIn: 120,
      heartbeatSeconds: 25,
      maxMessageBytes: 1_048_576,
    },
  },
  Claim: {
    schema: ClaimMessage,
    summary: 'A point of sale asks for a session with a terminal.',
    example: { type: 'claim', requestId: '1', tsn, posId: 'till-1', waitSeconds: 10 },
  },
  Claimed: {
    schema: ClaimedMessage,
    summary: 'The session is reserved; its address is good once.',
    example: {
      type: 'claimed',
      requestId: '1',
      tsn,
      sessionId,
      expiresIn: 60,
      sessionUrl: `${socketsUrl}/sessions/${sessionId}`,
      resumeToken: 'p3VtYw8Qn1rXc5JkZ0aLbD7sTgUeHiM2oFvNqRyWxKE',
    },
  },
  Status: {
    schema: StatusMessage,
    summary: 'A point of sale requests the status of a terminal.',
    example: { type: 'status', requestId: '2', tsn },
  },
  DeviceStatus: {
    schema: DeviceStatusMessage,
    summary:
      'The status of a terminal; without a `requestId` if the status of a claimed terminal changed.',
    example: {
      type: 'deviceStatus',
      requestId: '2',
      tsn,
      online: true,
      claimed: false,
      lastSeenAt: '2026-03-01T12:30:00.000Z',
    },
  },
  Release: {
    schema: ReleaseMessage,
    summary: 'Ends a session of one’s own.',
    example: { type: 'release', requestId: '3', sessionId },
  },
  Released: {
    schema: ReleasedMessage,
    summary: 'The session is over; the terminal is free.',
    example: { type: 'released', requestId: '3', sessionId },
  },
  RenewToken: {
    schema: RenewTokenMessage,
    summary: 'A new access token, before the old one expires.',
    example: { type: 'renewToken', requestId: '4', token: 'eyJhbGciOiJFUzI1NiJ9.e30.c2ln' },
  },
  TokenRenewed: {
    schema: TokenRenewedMessage,
    summary: 'The new token holds.',
    example: { type: 'tokenRenewed', requestId: '4', expiresIn: 3600 },
  },
  ConnectorError: {
    schema: ConnectorErrorMessage,
    summary:
      'The error of a request. The connection stays open after an error response, except after ' +
      '`bad_message`.',
    example: {
      type: 'error',
      requestId: '1',
      correlationId: '0198b7a2-6f3c-7d41-9a55-2f1f6f0e7c11',
      error: {
        code: 'device_offline',
        message: connectorFaults.device_offline.summary,
        retryable: true,
        retryAfterSeconds: 5,
      },
    },
  },
} as const satisfies Readonly<Record<string, MessageDescription>>;

export type ControlMessageName = keyof typeof controlMessageDescriptions;
/** `TerminalData` is the data that the platform forwards unchanged. */
export type ConnectorMessageName = ControlMessageName | 'TerminalData';

const controlMessages = Object.entries(controlMessageDescriptions) as readonly [
  ControlMessageName,
  MessageDescription,
][];

const schemaNameOf = (name: ControlMessageName) => `${name}Message`;

const answersByName = {
  correlationId: {
    location: '$message.payload#/requestId',
    description: 'The answer to a message carries the name that its sender gave it.',
  },
};

function controlMessage(
  name: ControlMessageName,
  { schema, summary, example }: MessageDescription,
): Json {
  return {
    name,
    title: name,
    summary,
    contentType: 'application/json',
    ...('requestId' in (schema as unknown as { properties: Json }).properties ? answersByName : {}),
    payload: ref(`components/schemas/${schemaNameOf(name)}`),
    examples: [{ name: 'sample', payload: example }],
  };
}

const terminalData: Json = {
  name: 'TerminalData',
  title: 'TerminalData',
  summary: 'The data between a terminal and its point of sale: any text or any bytes.',
  description:
    'The platform does not read it: text stays text, binary stays binary, and the order stays. By custom ' +
    'it is a message of Nexo Retailer in JSON.',
  contentType: 'application/octet-stream',
  payload: ref('components/schemas/TerminalData'),
};

/** The schema of the error message, with all fault codes and whether each is retryable. */
function errorSchema(): Json {
  const schema = publicSchema(ConnectorErrorMessage) as {
    properties: { error: { properties: { code: Json } } };
  };
  const faults = Object.entries(connectorFaults).map(([word, { summary, retryable }]) => [
    word,
    { summary, retryable },
  ]);
  schema.properties.error.properties.code = {
    type: 'string',
    enum: Object.keys(connectorFaults),
    description: 'The error code. Later versions may add codes.',
    'x-faults': Object.fromEntries(faults),
  };
  return schema;
}

/** All messages of the connector, by name. */
export const connectorMessages = (): Json => ({
  ...Object.fromEntries(controlMessages.map(([name, one]) => [name, controlMessage(name, one)])),
  TerminalData: terminalData,
});

/** The payload schemas of those messages. */
export const connectorSchemas = (): Json => ({
  ...Object.fromEntries(
    controlMessages.map(([name, { schema }]) => [schemaNameOf(name), publicSchema(schema)]),
  ),
  [schemaNameOf('ConnectorError')]: errorSchema(),
  TerminalData: { description: 'A text or binary message as it was sent, of at most a mebibyte.' },
});
