/** The close codes of each kind of connection of the connector, and their meaning for the peer. */
import { type CloseCode, closeCodes, connectorFaults } from './connector-faults.ts';

/**
 * A kind of WebSocket of the connector.
 *
 * @example
 * const channel: ConnectorChannel = 'posListener';
 */
export type ConnectorChannel = 'deviceListener' | 'deviceConnection' | 'posListener' | 'session';

/**
 * One way in which a connection can end.
 *
 * @example
 * const closing = closingsOf('session').find(({ code }) => code === event.code);
 */
export type Closing = {
  readonly code: number;
  /**
   * The possible codes at the start of the close reason; empty if RFC 6455 leaves the reason empty.
   */
  readonly reasons: readonly string[];
  readonly description: string;
};

const everywhere = ['deviceListener', 'deviceConnection', 'posListener', 'session'] as const;
const inUse = ['deviceConnection', 'session'] as const;
const whereDevicesAreNamed = ['deviceListener', 'deviceConnection', 'session'] as const;

type Row = {
  readonly code: CloseCode;
  readonly channels: readonly ConnectorChannel[];
  /** Reasons in addition to the faults that have this close code. */
  readonly words?: readonly string[];
  readonly description: string;
};

const rows: readonly Row[] = [
  {
    code: closeCodes.done,
    channels: ['deviceListener'],
    words: ['registered'],
    description: 'The step is done: connect to the address that the answer names.',
  },
  { code: closeCodes.invalidText, channels: everywhere, description: 'A text that is no UTF-8.' },
  {
    code: closeCodes.messageTooLarge,
    channels: everywhere,
    description: 'A message over the limit of this connection.',
  },
  {
    code: closeCodes.fault,
    channels: ['deviceListener'],
    description: 'A fault of the platform: register again, after a pause that grows.',
  },
  {
    code: closeCodes.restarting,
    channels: ['deviceListener', 'posListener'],
    description: 'The service restarts: connect again after a random pause of up to 30 s.',
  },
  {
    code: closeCodes.restarting,
    channels: inUse,
    words: ['moved'],
    description:
      'The service restarts: connect again after a random pause of up to 30 s. With `moved`: the device ' +
      'was taken to another place, and registers again by the credentials of that place.',
  },
  {
    code: closeCodes.released,
    channels: ['session'],
    words: ['released'],
    description: 'It was released.',
  },
  {
    code: closeCodes.superseded,
    channels: inUse,
    words: ['superseded'],
    description:
      'A newer connection or claim took the place of this one: do not come back by yourself.',
  },
  {
    code: closeCodes.sessionExpired,
    channels: ['session'],
    words: ['session_expired'],
    description: 'Nothing was said for too long, or the session has lasted as long as one may.',
  },
  {
    code: closeCodes.deviceDisconnected,
    channels: ['session'],
    words: ['device_disconnected'],
    description:
      'The terminal is gone: claim again with the `resumeToken`, and ask it what became of a payment.',
  },
  {
    code: closeCodes.badMessage,
    channels: ['deviceListener', 'posListener'],
    description: 'The message is not one of those of this connection, or not JSON.',
  },
  {
    code: closeCodes.unauthorized,
    channels: everywhere,
    description: 'Credentials are missing or wrong, or have been taken back.',
  },
  {
    code: closeCodes.roleMissing,
    channels: everywhere,
    description: 'The application has not the role, or not any more.',
  },
  {
    code: closeCodes.deviceUnknown,
    channels: ['deviceListener'],
    description: 'No terminal that the credentials give access to has this serial number.',
  },
  {
    code: closeCodes.deviceAmbiguous,
    channels: ['deviceListener'],
    description: 'Several terminals have this serial number: give make and model too.',
  },
  {
    code: closeCodes.timeout,
    channels: ['deviceListener', 'posListener'],
    description: 'No registration in ten seconds, or no claim in a minute.',
  },
  {
    code: closeCodes.deviceDisabled,
    channels: whereDevicesAreNamed,
    description: 'The terminal is not enabled or not assigned to a store.',
  },
  {
    code: closeCodes.notServed,
    channels: whereDevicesAreNamed,
    description: 'The service is not active for this terminal, or does not serve its family.',
  },
  {
    code: closeCodes.rateLimited,
    channels: everywhere,
    description: 'Too many messages or pings: connect again after a pause.',
  },
  {
    code: closeCodes.tokenExpired,
    channels: ['posListener'],
    description: 'The access token has expired: connect with a new one.',
  },
  {
    code: closeCodes.slowConsumer,
    channels: [...inUse, 'posListener'],
    words: ['slow_consumer'],
    description: 'Messages were not read for too long.',
  },
];

/** Sent by the WebSocket library, before the connector receives the message. */
const ofFrames: readonly Closing[] = [
  { code: 1002, reasons: [], description: 'A frame that RFC 6455 does not allow.' },
  { code: 1008, reasons: [], description: 'A message in more fragments than it needs.' },
];

const wordsOfFaults = (code: number): string[] =>
  Object.entries(connectorFaults).flatMap(([word, fault]) =>
    'closeCode' in fault && fault.closeCode === code ? [word] : [],
  );

/**
 * The close codes that the platform uses for a kind of connection, in ascending order.
 *
 * @param channel - the kind of connection
 * @example
 * for (const { code, description } of closingsOf('session')) print(code, description);
 */
export function closingsOf(channel: ConnectorChannel): readonly Closing[] {
  const applicationCodes = rows.flatMap(({ code, channels, words = [], description }) => {
    const reasons = [...wordsOfFaults(code), ...words];
    return channels.includes(channel) ? [{ code, reasons, description }] : [];
  });
  return [...ofFrames, ...applicationCodes].sort((one, other) => one.code - other.code);
}
