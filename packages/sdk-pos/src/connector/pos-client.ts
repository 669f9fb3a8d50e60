/** The client of the Cloud Connector for a point of sale. */

import { type DeviceStatusMessage, defined } from '@switchyard/contract';
import {
  type Clock,
  type RandomSource,
  requireSecureUrl,
  systemClock,
  systemRandom,
} from '@switchyard/sdk-core';
import { createAccessTokens, type PosCredentials } from '../network/access-tokens.ts';
import type { PosTls } from '../network/http-post.ts';
import { createPosError, PosError } from '../support/pos-error.ts';
import { createControlConnection } from './control-connection.ts';
import {
  type ClaimOptions,
  claimSession,
  type Session,
  type SessionHandlers,
} from './terminal-session.ts';

/**
 * Whether a terminal is connected.
 *
 * @example
 * const status: DeviceStatus = await client.status('AXIUM_DX8000-10000001');
 */
export type DeviceStatus = {
  readonly tsn: string;
  readonly online: boolean;
  /** A point of sale, possibly this one, has a session with the terminal. */
  readonly claimed: boolean;
  readonly lastSeenAt?: string | undefined;
};

/**
 * How a point of sale reaches the platform.
 *
 * @example
 * const settings: PosClientSettings = {
 *   baseUrl: 'https://pay.example',
 *   credentials: { tokenUrl, clientId: 'acme-pos-3', clientSecret },
 * };
 */
export type PosClientSettings = {
  readonly baseUrl: string;
  readonly credentials: PosCredentials;
  /** Identifies the point of sale. An application of the aggregator must set it. */
  readonly posId?: string | undefined;
  readonly tls?: PosTls | undefined;
  /** The time limit of a handshake and of an answer; default 10 s. */
  readonly timeoutMs?: number | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: RandomSource | undefined;
  /** A terminal of this client's sessions connected or disconnected. */
  readonly onDeviceStatus?: ((status: DeviceStatus) => void) | undefined;
  /** The control connection opened or closed; `error` says why it closed or could not open. */
  readonly onConnection?: ((isOpen: boolean, error?: PosError) => void) | undefined;
};

/**
 * A point of sale at the connector.
 *
 * @example
 * const client: PosClient = createPosClient(settings);
 */
export type PosClient = {
  /** @throws PosError: `Connector` with an error code of the connector, or `Transport` */
  readonly claim: (
    tsn: string,
    options: ClaimOptions,
    handlers: SessionHandlers,
  ) => Promise<Session>;
  readonly status: (
    tsn: string,
    options?: { readonly signal?: AbortSignal },
  ) => Promise<DeviceStatus>;
  /** Closes the control connection. Open sessions continue until they are released or end. */
  readonly close: () => void;
};

const defaultTimeoutMs = 10_000;

function toDeviceStatus(message: DeviceStatusMessage): DeviceStatus {
  const { tsn, online, claimed, lastSeenAt } = message;
  return { tsn, online, claimed, ...defined({ lastSeenAt }) };
}

/**
 * Makes a client of the Cloud Connector. It connects at first use. The control connection stays
 * open while a session is held, reconnects with growing pauses, and gets a new token before the old
 * one expires. The platform closes a connection that has no claims, as after a restart; the client
 * then reconnects at the next call.
 *
 * @param settings - the address and the credentials
 * @returns the client; call `close` when it is no longer needed
 * @throws PosError `address_invalid` for an address without TLS that is not on this machine
 * @example
 * const client = createPosClient({ baseUrl, credentials: { tokenUrl, clientId, clientSecret } });
 * const session = await client.claim(tsn, { waitSeconds: 10 }, { onMessage, onConnectionLost });
 * await session.send(text);
 * await session.release();
 */
export function createPosClient(settings: PosClientSettings): PosClient {
  const { baseUrl, credentials, posId, tls = {}, timeoutMs = defaultTimeoutMs } = settings;
  const { clock = systemClock, random = systemRandom } = settings;
  if ('tokenUrl' in credentials)
    requireSecureUrl(credentials.tokenUrl, 'tokenUrl', 'https', createPosError);
  const tokens = createAccessTokens({ credentials, tls, timeoutMs, clock });
  const control = createControlConnection({
    baseUrl,
    tokens,
    tls,
    timeoutMs,
    clock,
    random,
    onDeviceStatus: (message) => settings.onDeviceStatus?.(toDeviceStatus(message)),
    onConnectionChange: (isOpen, error) => settings.onConnection?.(isOpen, error),
  });
  return {
    claim: (tsn, options, handlers) =>
      claimSession({ control, tokens, tls, timeoutMs, clock, posId }, tsn, options, handlers),
    async status(tsn, { signal } = {}) {
      const answer = await control.request({ type: 'status', tsn }, timeoutMs, signal);
      if (answer.type === 'deviceStatus') return toDeviceStatus(answer);
      throw new PosError(
        'Connector',
        `the connector answered a status request with ${answer.type}`,
        {
          code: 'answer_unreadable',
        },
      );
    },
    close: () => control.close(),
  };
}
