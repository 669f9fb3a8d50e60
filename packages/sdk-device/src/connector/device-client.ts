/**
 * Keeps a terminal connected to the platform: registers, connects, and reconnects after a break.
 */
import { closeCodes, connectorFaults, defined } from '@switchyard/contract';
import {
  backoffDelay,
  type Clock,
  defaultRetryDelays,
  errorText,
  type RandomSource,
  type RetryDelays,
  refusalDelay,
  requireSecureUrl,
  restartDelay,
  systemClock,
  systemRandom,
  type WebsocketClose,
} from '@switchyard/sdk-core';
import type { DeviceTls } from '../network/http-client.ts';
import { createDeviceError, DeviceError } from '../support/device-error.ts';
import { type DeviceLog, errorLogFields, safeLog } from '../support/device-log.ts';
import { type DataConnection, openDataConnection } from './data-connection.ts';
import { createEmitter, type DeviceEvents, type DeviceState } from './device-events.ts';
import type { RegistrationData } from './device-properties.ts';
import { createActivityTracker } from './pos-activity.ts';
import { registerDevice } from './registration.ts';

/**
 * The options of a device client. `registrationData` and `tls` may be functions. The client calls
 * them for each attempt, so it uses a renewed certificate without a restart.
 *
 * @example
 * const options: DeviceClientOptions = {
 *   tsn: 'AXIUM_DX8000-10000001',
 *   registerUrl: 'wss://pay.example/cloud-connector/v1/device-listener',
 *   tls: { ca, cert, key },
 *   registrationData: { client_id: clientId, client_secret: clientSecret },
 * };
 */
export type DeviceClientOptions = {
  /** `{MAKE_MODEL}-{serial}`, or only the serial number. */
  readonly tsn: string;
  readonly registerUrl: string;
  readonly tls?: DeviceTls | (() => DeviceTls | Promise<DeviceTls>);
  readonly registrationData?:
    | RegistrationData
    | (() => RegistrationData | Promise<RegistrationData>);
  readonly softwareVersion?: string;
  /**
   * The claim code on the display, from {@link makeClaimCode}. The client calls a function for each
   * attempt. While the platform answers `device_not_claimed`, the client keeps sending the code.
   */
  readonly claimCode?: string | (() => string | undefined);
  /** The time limit of a handshake and of the registration; default 10,000. */
  readonly timeoutMs?: number;
  readonly retryDelays?: Partial<RetryDelays>;
  /** After this time without data, the point of sale counts as finished; default 30,000. */
  readonly posIdleMs?: number;
  readonly log?: DeviceLog;
  readonly clock?: Clock;
  readonly random?: RandomSource;
};

/**
 * A terminal at the Cloud Connector.
 *
 * @example
 * const client: DeviceClient = createDeviceClient(options);
 */
export type DeviceClient = {
  readonly state: DeviceState;
  /** Starts the client, which then runs by itself. A second call has no effect while it runs. */
  start(options?: { signal?: AbortSignal }): void;
  /** Resolves when the connection is closed. */
  stop(): Promise<void>;
  /**
   * Sends data to the point of sale that has the session: a string as text, bytes as binary.
   *
   * @throws DeviceError `not_connected`, `message_too_large`, `slow_connection`, `connection_lost`
   */
  send(data: string | Uint8Array): Promise<void>;
  /** @returns a function that removes the listener */
  on<Name extends keyof DeviceEvents>(name: Name, listener: DeviceEvents[Name]): () => void;
};

type ConnectionEnd = WebsocketClose & { readonly livedMs: number };

const defaultTimeoutMs = 10_000;
const defaultPosIdleMs = 30_000;
/** A connection that lasted this long resets the pauses to the shortest one. */
const stableAfterMs = 10_000;
const reasonSeparator = ':';

/**
 * Converts a close code and reason to an error. The reason is the fault's code and a correlation
 * ID.
 */
function closeError({ code, reason }: WebsocketClose): DeviceError {
  const [codeFromReason = '', correlationId] = reason.split(reasonSeparator);
  const fault = Object.entries(connectorFaults).find(
    ([name, known]) =>
      name === codeFromReason || ('closeCode' in known && known.closeCode === code && code >= 4000),
  );
  const name = codeFromReason || fault?.[0] || `closed_${code}`;
  return new DeviceError('Refused', `the connection was closed with ${code}: ${name}`, {
    code: name,
    status: code,
    retryable: fault === undefined ? true : fault[1].retryable,
    ...defined({ correlationId }),
  });
}

function toDeviceError(error: unknown): DeviceError {
  if (error instanceof DeviceError) return error;
  return new DeviceError('NotSent', errorText(error), {
    code: 'failed',
    retryable: true,
    cause: error,
  });
}

/**
 * Makes a client that keeps a terminal reachable for points of sale. It opens two outbound
 * WebSockets: it registers on the first and connects with the received token on the second. After a
 * failure or a break it pauses and starts again.
 *
 * @param options - the terminal, the address and the credentials
 * @returns the client; it opens no connection before `start`
 * @throws DeviceError `address_invalid` for an address without TLS that is not on this machine
 * @example
 * ```ts
 * const client = createDeviceClient({ tsn, registerUrl, tls, registrationData });
 * client.on('message', async ({ data }) => client.send(await answerTo(data.toString('utf8'))));
 * client.on('error', (error) => console.error(error.code, error.message));
 * client.start();
 * ```
 */
export function createDeviceClient(options: DeviceClientOptions): DeviceClient {
  const { tsn, registerUrl, clock = systemClock, random = systemRandom } = options;
  const { softwareVersion, timeoutMs = defaultTimeoutMs } = options;
  requireSecureUrl(registerUrl, 'registerUrl', 'wss', createDeviceError);
  const delays: RetryDelays = { ...defaultRetryDelays, ...options.retryDelays };
  const events = createEmitter();
  const log = safeLog(options.log);
  const activity = createActivityTracker({
    clock,
    idleMs: options.posIdleMs ?? defaultPosIdleMs,
    onChange(change) {
      log.info(
        { tsn, ...change },
        change.isActive ? 'a point of sale is active' : 'no point of sale is active',
      );
      events.emit('posActivity', change);
    },
  });
  let state: DeviceState = 'Stopped';
  let connection: DataConnection | undefined;
  let running: { readonly stop: AbortController; readonly over: Promise<void> } | undefined;

  function setState(next: DeviceState, retryInMs?: number): void {
    state = next;
    log.info({ tsn, state, ...defined({ retryInMs }) }, 'state changed');
    events.emit('state', {
      state,
      at: clock.now(),
      ...defined({ retryInMs }),
    });
  }

  /** Registers and connects. Resolves when the connection has ended. */
  async function connectOnce(signal: AbortSignal): Promise<ConnectionEnd> {
    setState('Registering');
    const tls = typeof options.tls === 'function' ? await options.tls() : (options.tls ?? {});
    const registrationData = options.registrationData ?? {};
    const data =
      typeof registrationData === 'function' ? await registrationData() : registrationData;
    const { claimCode: code } = options;
    const claimCode = typeof code === 'function' ? code() : code;
    const registered = await registerDevice(
      { registerUrl, tsn, softwareVersion, claimCode, tls, data, timeoutMs, clock },
      signal,
    );
    setState('Connecting');
    const onMessage = (message: Parameters<DeviceEvents['message']>[0]) => {
      const { data, isBinary } = message;
      log.debug({ tsn, bytes: data.length, isBinary }, 'message received');
      activity.received(data.length);
      events.emit('message', message);
    };
    const opened = await openDataConnection(
      { registered, tls, timeoutMs, clock, onMessage },
      signal,
    );
    const since = clock.now();
    connection = opened;
    setState('Connected');
    try {
      return { ...(await opened.ended), livedMs: clock.now() - since };
    } finally {
      connection = undefined;
      activity.connectionClosed();
    }
  }

  function delayAfter(error: DeviceError, attempt: number): number {
    if (error.status === closeCodes.restarting) return restartDelay(random);
    const ownDelayMs = error.retryable
      ? backoffDelay(attempt, random, delays)
      : refusalDelay(random, delays);
    return Math.max(ownDelayMs, error.retryAfterMs ?? 0);
  }

  async function run(signal: AbortSignal): Promise<DeviceState> {
    for (let attempt = 0; !signal.aborted; attempt += 1) {
      let error: DeviceError;
      try {
        const end = await connectOnce(signal);
        if (end.code === closeCodes.superseded) return 'Superseded';
        if (end.livedMs >= stableAfterMs) attempt = 0;
        error = closeError(end);
      } catch (failure) {
        error = toDeviceError(failure);
      }
      if (signal.aborted) break;
      log.warn({ tsn, ...errorLogFields(error) }, 'not connected');
      events.emit('error', error);
      const delayMs = delayAfter(error, attempt);
      setState('Waiting', delayMs);
      await clock.wait(delayMs, signal);
    }
    return 'Stopped';
  }

  async function runOnce(signal: AbortSignal): Promise<void> {
    const finalState = await run(signal);
    running = undefined;
    setState(finalState);
    if (finalState === 'Superseded') events.emit('superseded');
  }

  return {
    get state() {
      return state;
    },
    start({ signal } = {}) {
      if (running !== undefined) return;
      const stop = new AbortController();
      const stopSignal =
        signal === undefined ? stop.signal : AbortSignal.any([stop.signal, signal]);
      // Starts in a microtask, so that a listener of the first state change can already call
      // `stop`.
      running = { stop, over: Promise.resolve().then(() => runOnce(stopSignal)) };
    },
    async stop() {
      if (running === undefined) return;
      const { over, stop } = running;
      stop.abort();
      await over;
    },
    async send(data) {
      if (connection !== undefined) {
        await connection.send(data);
        const bytes = Buffer.byteLength(data);
        log.debug({ tsn, bytes, isBinary: typeof data !== 'string' }, 'message sent');
        activity.sent(bytes);
        return;
      }
      throw new DeviceError('NotSent', 'the terminal is not connected', {
        code: 'not_connected',
        retryable: true,
      });
    },
    on: events.on,
  };
}
