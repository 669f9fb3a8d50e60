/**
 * The control messages of the connector: JSON texts of at most 4 KiB; unknown members are ignored.
 */
import { type Static, type TProperties, Type } from 'typebox';
import { claimCodeForm } from '../schemas/devices/terminal-ownership-claims.ts';
import { connectorLimits } from './limits.ts';

const message = <Members extends TProperties>(members: Members, description: string) =>
  Type.Object(members, { additionalProperties: true, description });

/** {MAKE_MODEL}-{serial}, or only the serial number. */
const tsn = Type.String({
  minLength: 1,
  maxLength: 128,
  pattern: '^[A-Za-z0-9_.-]+$',
  description: 'Terminal serial number: `{MAKE_MODEL}-{serial}`, or the serial number alone.',
  examples: ['AXIUM_DX8000-10000001'],
});

const posId = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 64,
    pattern: '^[A-Za-z0-9._:-]+$',
    description:
      'Which point of sale it is; applications of the aggregator must say it. Client and `posId` own a claim.',
  }),
);

const requestId = Type.String({
  minLength: 1,
  maxLength: 64,
  description: 'Made by the client; the answer carries it.',
  examples: ['1'],
});

const correlationId = Type.String({ description: 'Names the fault in the log of the platform.' });
const seconds = (description: string) => Type.Integer({ minimum: 0, description });
const secret = (description: string) => Type.String({ minLength: 1, maxLength: 4096, description });
const moment = Type.String({ format: 'date-time', description: 'RFC 3339, UTC.' });

/**
 * The first message of a device. `type` may be absent. The credentials of
 * `custom_registration_data` may be in the message itself or in `customRegistrationData`, in snake
 * case or camel case.
 *
 * @example
 * const register: RegisterMessage = { type: 'register', tsn: 'AXIUM_DX8000-10000001' };
 */
export const RegisterMessage = message(
  {
    type: Type.Optional(Type.Literal('register')),
    tsn,
    client_id: Type.Optional(secret('Of the application that the device registers with.')),
    client_secret: Type.Optional(secret('Its secret.')),
    softwareVersion: Type.Optional(Type.String({ maxLength: 64 })),
    claimCode: Type.Optional(
      Type.String({
        pattern: claimCodeForm,
        description:
          'The claim code that the terminal shows while it is not claimed; a person enters it within 15 minutes.',
        examples: ['K7QM-2F9X'],
      }),
    ),
  },
  'The registration of a device. The credentials may also be named `clientId` and `clientSecret`, or stand ' +
    'below `customRegistrationData` or `custom_registration_data`, as an object or as its text.',
);
export type RegisterMessage = Static<typeof RegisterMessage>;

/**
 * The address and token of the device's next connection. The platform closes the first one.
 *
 * @example
 * const socket = new WebSocket(registered.connectionUrl, { headers: { authorization: `Bearer ${registered.token}` } });
 */
export const RegisteredMessage = message(
  {
    type: Type.Literal('registered'),
    tsn,
    connectionUrl: Type.String({ format: 'uri' }),
    token: secret('A JWT for one connection.'),
    tokenType: Type.Literal('Bearer'),
    expiresIn: seconds('Until the token expires.'),
    heartbeatSeconds: seconds('Between two pings of the platform.'),
    maxMessageBytes: Type.Integer({ minimum: 1 }),
  },
  'The answer to a registration.',
);
export type RegisteredMessage = Static<typeof RegisteredMessage>;

/**
 * A point of sale requests a session with a terminal.
 *
 * @example
 * const claim: ClaimMessage = { type: 'claim', requestId: '1', tsn: 'AXIUM_DX8000-10000001', waitSeconds: 10 };
 */
export const ClaimMessage = message(
  {
    type: Type.Literal('claim'),
    requestId,
    tsn,
    posId,
    waitSeconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: connectorLimits.waitSecondsMax,
        description: 'How long to wait for a terminal that is away or in use.',
      }),
    ),
    takeOver: Type.Optional(
      Type.Boolean({ description: 'Ends the session that the same owner has already.' }),
    ),
    force: Type.Optional(
      Type.Boolean({ description: 'With `takeOver`: also where data flows. It is audited.' }),
    ),
    resumeToken: Type.Optional(secret('Of the session that was cut off.')),
  },
  'A request for a session.',
);
export type ClaimMessage = Static<typeof ClaimMessage>;

/**
 * The session is reserved. Its address is valid for one use within a minute.
 *
 * @example
 * const session = new WebSocket(claimed.sessionUrl);
 */
export const ClaimedMessage = message(
  {
    type: Type.Literal('claimed'),
    requestId,
    tsn,
    sessionId: Type.String(),
    sessionUrl: Type.String({ format: 'uri' }),
    expiresIn: seconds('Until an unused address expires.'),
    resumeToken: secret('Gets the session back after a break.'),
    resumed: Type.Optional(Type.Boolean({ description: 'The session is the one from before.' })),
  },
  'The answer to a claim.',
);
export type ClaimedMessage = Static<typeof ClaimedMessage>;

/**
 * A point of sale requests the status of a terminal.
 *
 * @example
 * const status: StatusMessage = { type: 'status', requestId: '2', tsn: '10000001' };
 */
export const StatusMessage = message(
  { type: Type.Literal('status'), requestId, tsn },
  'A question about a terminal.',
);
export type StatusMessage = Static<typeof StatusMessage>;

/**
 * The status of a terminal. The platform also sends it, without a `requestId`, when the status of a
 * claimed terminal changes.
 *
 * @example
 * if (message.type === 'deviceStatus' && message.online) await resume(message.tsn);
 */
export const DeviceStatusMessage = message(
  {
    type: Type.Literal('deviceStatus'),
    requestId: Type.Optional(requestId),
    tsn,
    online: Type.Boolean(),
    claimed: Type.Boolean({
      description: 'A point of sale, possibly this one, has a session with the terminal.',
    }),
    lastSeenAt: Type.Optional(moment),
  },
  'The status of a terminal.',
);
export type DeviceStatusMessage = Static<typeof DeviceStatusMessage>;

/**
 * Ends a session of the point of sale. With `tsn`, and `posId` if the claim had one, it also ends a
 * session that was claimed over another control connection.
 *
 * @example
 * const release: ReleaseMessage = { type: 'release', requestId: '3', sessionId };
 */
export const ReleaseMessage = message(
  {
    type: Type.Literal('release'),
    requestId,
    sessionId: Type.String({ maxLength: 128 }),
    tsn: Type.Optional(tsn),
    posId,
  },
  'The end of a session.',
);
export type ReleaseMessage = Static<typeof ReleaseMessage>;

/**
 * The session has ended and the terminal is free.
 *
 * @example
 * if (answer.type === 'released') done(answer.sessionId);
 */
export const ReleasedMessage = message(
  { type: Type.Literal('released'), requestId, sessionId: Type.String() },
  'The answer to a release.',
);
export type ReleasedMessage = Static<typeof ReleasedMessage>;

/**
 * A new access token for a control connection, sent before the old one expires.
 *
 * @example
 * const renew: RenewTokenMessage = { type: 'renewToken', requestId: '4', token };
 */
export const RenewTokenMessage = message(
  {
    type: Type.Literal('renewToken'),
    requestId: Type.Optional(requestId),
    token: secret('A new access token of the same client.'),
  },
  'A new token for a connection.',
);
export type RenewTokenMessage = Static<typeof RenewTokenMessage>;

/**
 * The new token is accepted.
 *
 * @example
 * renewAgainIn(renewed.expiresIn);
 */
export const TokenRenewedMessage = message(
  {
    type: Type.Literal('tokenRenewed'),
    requestId: Type.Optional(requestId),
    expiresIn: seconds('Until it expires.'),
  },
  'The answer to a new token.',
);
export type TokenRenewedMessage = Static<typeof TokenRenewedMessage>;

/**
 * A fault. The connection of a point of sale stays open; the connection of a device is closed.
 *
 * @example
 * if (message.type === 'error' && message.error.retryable) await again(message.error.retryAfterSeconds);
 */
export const ConnectorErrorMessage = message(
  {
    type: Type.Literal('error'),
    requestId: Type.Optional(requestId),
    error: message(
      {
        code: Type.String({ description: 'A word of `connectorFaults`.' }),
        message: Type.String(),
        retryable: Type.Boolean(),
        retryAfterSeconds: Type.Optional(seconds('Before which it is of no use.')),
        level: Type.Optional(
          Type.String({
            description:
              'Where the service is not enabled: Organization, Merchant, Store or LogicalDevice.',
          }),
        ),
      },
      'The error.',
    ),
    correlationId,
  },
  'A fault.',
);
export type ConnectorErrorMessage = Static<typeof ConnectorErrorMessage>;

/**
 * The messages that a point of sale may send on its control connection.
 *
 * @example
 * const sent: PosMessage = { type: 'status', requestId: '2', tsn: '10000001' };
 */
export type PosMessage = ClaimMessage | StatusMessage | ReleaseMessage | RenewTokenMessage;

/**
 * The messages that the platform sends to the point of sale.
 *
 * @example
 * const received = JSON.parse(text) as PosAnswer;
 */
export type PosAnswer =
  | ClaimedMessage
  | DeviceStatusMessage
  | ReleasedMessage
  | TokenRenewedMessage
  | ConnectorErrorMessage;
