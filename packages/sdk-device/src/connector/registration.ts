/** The first connection: registers the device and receives the address of the data connection. */
import { connectorLimits, defined, type RegisteredMessage } from '@switchyard/contract';
import {
  type Clock,
  openWebsocket,
  requireSecureUrl,
  type WebsocketClose,
  withTimeLimit,
} from '@switchyard/sdk-core';
import type { DeviceTls } from '../network/http-client.ts';
import {
  createDeviceError,
  DeviceError,
  invalidError,
  websocketErrors,
} from '../support/device-error.ts';
import type { RegistrationData } from './device-properties.ts';

export type RegistrationSettings = {
  readonly registerUrl: string;
  readonly tsn: string;
  readonly softwareVersion?: string | undefined;
  readonly claimCode?: string | undefined;
  readonly tls: DeviceTls;
  readonly data: RegistrationData;
  readonly timeoutMs: number;
  readonly clock: Clock;
};

const secondMs = 1000;

function registrationMessage({
  tsn,
  softwareVersion,
  claimCode,
  data,
}: RegistrationSettings): string {
  const text = JSON.stringify({
    ...data,
    type: 'register',
    tsn,
    ...defined({ softwareVersion, claimCode }),
  });
  if (Buffer.byteLength(text) <= connectorLimits.controlMessageMaxBytes) return text;
  throw invalidError('registration_too_large', 'the registration is longer than 4 KiB');
}

const badAnswerError = (message: string): DeviceError =>
  new DeviceError('Refused', message, { code: 'bad_answer', retryable: true });

type Members = Readonly<Record<string, unknown>>;

const expiresInSecondsMax = 3_600;
const heartbeatSecondsMax = 300;
/** Sixteen times the usual limit of a platform. */
const messageBytesMax = 16_777_216;

/** Limits a number from the platform, to protect the heartbeat and the memory. */
const limitedNumber = (value: unknown, fallback: number, limit: number): number =>
  typeof value === 'number' && Number.isInteger(value) && value > 0
    ? Math.min(value, limit)
    : fallback;

/** @throws DeviceError with the error code of the platform */
function registrationError(message: Members): DeviceError {
  const error = (typeof message['error'] === 'object' ? message['error'] : null) as Members | null;
  const code = typeof error?.['code'] === 'string' ? error['code'] : 'unknown';
  const seconds = error?.['retryAfterSeconds'];
  const correlationId = message['correlationId'];
  return new DeviceError('Refused', `the registration was refused: ${code}`, {
    code,
    retryable: error?.['retryable'] === true,
    ...(typeof seconds === 'number' ? { retryAfterMs: seconds * secondMs } : {}),
    ...(typeof correlationId === 'string' ? { correlationId } : {}),
  });
}

/** Ignores unknown members and uses defaults for missing numbers. */
function parseAnswer(text: string, registerUrl: string): RegisteredMessage {
  let message: Members;
  try {
    message = JSON.parse(text) as Members;
  } catch {
    throw badAnswerError('the response to the registration is not valid JSON');
  }
  if (message?.['type'] === 'error') throw registrationError(message);
  const { type, connectionUrl, token, tsn } = message ?? {};
  if (type !== 'registered' || typeof connectionUrl !== 'string' || typeof token !== 'string') {
    throw badAnswerError('the response to the registration is invalid');
  }
  const target = requireSecureUrl(connectionUrl, 'connectionUrl', 'wss', createDeviceError);
  if (target.protocol === 'ws:' && !registerUrl.startsWith('ws:')) {
    throw badAnswerError('the connection address has no TLS');
  }
  return {
    type,
    tsn: typeof tsn === 'string' ? tsn : '',
    connectionUrl,
    token,
    tokenType: 'Bearer',
    expiresIn: limitedNumber(
      message['expiresIn'],
      connectorLimits.connectionTokenSeconds,
      expiresInSecondsMax,
    ),
    heartbeatSeconds: limitedNumber(
      message['heartbeatSeconds'],
      connectorLimits.heartbeatSeconds,
      heartbeatSecondsMax,
    ),
    maxMessageBytes: limitedNumber(
      message['maxMessageBytes'],
      connectorLimits.messageMaxBytes,
      messageBytesMax,
    ),
  };
}

const closedBeforeAnswer = ({ code, reason }: WebsocketClose): DeviceError =>
  new DeviceError('Refused', `the connection was closed with ${code} before an answer`, {
    code: reason.split(':')[0] || `closed_${code}`,
    status: code,
    retryable: code < 4000 || code === 4408 || code === 4429,
  });

/** @throws DeviceError */
export async function registerDevice(
  settings: RegistrationSettings,
  signal: AbortSignal,
): Promise<RegisteredMessage> {
  const { registerUrl, tls, timeoutMs, clock } = settings;
  const text = registrationMessage(settings);
  const timeoutError = () =>
    new DeviceError('Refused', 'no answer to the registration', {
      code: 'timeout',
      retryable: true,
    });
  return withTimeLimit(
    timeoutMs,
    { clock, signal, createError: createDeviceError },
    async (limited) => {
      let resolveAnswer: (text: string) => void = () => {};
      let rejectAnswer: (end: WebsocketClose) => void = () => {};
      const answer = new Promise<string>((resolve, reject) => {
        resolveAnswer = resolve;
        rejectAnswer = (end) => reject(closedBeforeAnswer(end));
      });
      const target = {
        url: registerUrl,
        tls,
        timeoutMs,
        clock,
        signal: limited,
        closesOnAbort: true,
        errors: websocketErrors,
        maxMessageBytes: connectorLimits.controlMessageMaxBytes,
      };
      const socket = await openWebsocket(target, {
        onMessage: (data) => resolveAnswer(data.toString('utf8')),
        onClose: (end) => rejectAnswer(end),
      });
      try {
        socket.send(text);
        return parseAnswer(await answer, registerUrl);
      } finally {
        socket.close();
      }
    },
    timeoutError,
  );
}
