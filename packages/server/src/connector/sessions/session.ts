// Handles one session between a device and a point of sale: its phases, its data and its end.
import { hash, timingSafeEqual } from 'node:crypto';
import { closeCodes } from '@switchyard/contract';
import type { Clock, Ids } from '../../platform/index.ts';
import {
  createForwarder,
  type Forwarder,
  type MessageEndpoint,
} from '../forwarding/forward-messages.ts';
import {
  type BufferBudget,
  type BufferedMessage,
  createResumeBuffer,
} from '../forwarding/resume-buffer.ts';
import type { WebSocketConnection } from '../forwarding/websocket-connections.ts';
import type { ForwardingMetrics } from '../runtime/connector-metrics.ts';
import type { ConnectorTimes } from '../runtime/connector-settings.ts';
import type { SessionPhase, SessionState } from './claim-rules.ts';
import type { ClaimToken } from './claim-token.ts';

/** The client that claims a device, as the node of the device receives it. */
export type Claimant = {
  readonly owner: string;
  readonly organizationId: string;
  readonly clientId: string;
  /** True for an application, which must keep its role; a user has individual rights. */
  readonly byRole?: boolean;
  /** Omitted by a claim for a single exchange, which ends by itself. */
  readonly token?: ClaimToken;
};

/** A session that its claimant can resume, without the resume token itself. */
export type ResumableSession = {
  readonly sessionId: string;
  readonly claimant: Claimant;
  readonly tokenHash: string;
  /** A duration and not a time, because the clocks of nodes differ. */
  readonly remainingMs: number;
};

export type SessionEnd = { readonly code: number; readonly reason: string };

export type Session = {
  readonly id: string;
  readonly resumeToken: string;
  /** Contains the last token of the control connection. */
  readonly claimant: Claimant;
  setToken(token: ClaimToken): void;
  state(): SessionState;
  isOpen(): boolean;
  hasResumeToken(token: string | undefined): boolean;
  /** Returns true once: only the first client with the address can connect. */
  useAddress(): boolean;
  open(end: MessageEndpoint): void;
  receiveFromPos(data: Buffer, isBinary: boolean): void;
  receiveFromDevice(data: Buffer, isBinary: boolean): void;
  /** The point of sale has disconnected; returns false if the session is not kept for it. */
  posDisconnected(end: MessageEndpoint): boolean;
  /** The device has disconnected: the session informs the POS and is kept for it. */
  deviceDisconnected(): void;
  /**
   * The session to keep after the device has moved to another node; undefined if its time is over.
   */
  toResumableSession(): ResumableSession | undefined;
  /** Closes the connection of the POS, and drops the stored messages. */
  close(ending: SessionEnd): void;
  /** Stores the messages that the previous session stored for the same owner. */
  bufferMessages(messages: readonly BufferedMessage[]): void;
  takeBufferedMessages(): readonly BufferedMessage[];
  /** Returns a pending end: an expired session, or a reader that is too slow. */
  findDueEnd(now: number): { ending: SessionEnd; slow?: 'device' } | undefined;
};

type Deps = {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly times: ConnectorTimes;
  readonly metrics: ForwardingMetrics;
  readonly bufferBudget: BufferBudget;
  /** Returns the current connection of the device. */
  readonly device: () => WebSocketConnection | undefined;
};

const sessionExpired = {
  ending: { code: closeCodes.sessionExpired, reason: 'session_expired' },
} as const;

const digest = (text: string) => hash('sha256', text, 'buffer');

type Relay = {
  readonly end: MessageEndpoint;
  readonly toPos: Forwarder;
  readonly toDevice: Forwarder;
};

/**
 * @param resumableSession - the session of another node that this session continues
 * @example const session = createSession(deps, claimant, false);
 */
export function createSession(
  deps: Deps,
  initialClaimant: Claimant,
  isResumed: boolean,
  resumableSession?: ResumableSession,
): Session {
  const { clock, ids, times, metrics } = deps;
  const resumeToken = ids.secret();
  const tokenHash =
    resumableSession === undefined
      ? digest(resumeToken)
      : Buffer.from(resumableSession.tokenHash, 'hex');
  const resumeBuffer = createResumeBuffer(deps.bufferBudget);
  let claimant = initialClaimant;
  let phase: SessionPhase = resumableSession === undefined ? 'Reserved' : 'Resumable';
  let isAddressUsed = false;
  let reservedAt = clock.now();
  let expiresAt = clock.now() + (resumableSession?.remainingMs ?? times.sessionUrlMs);
  let openedAt = 0;
  let lastDataAt = 0;
  let relay: Relay | undefined;

  function closeRelay(): MessageEndpoint | undefined {
    const stopped = relay;
    relay = undefined;
    stopped?.toPos.stop();
    stopped?.toDevice.stop();
    return stopped?.end;
  }

  function keepForOwner(): void {
    phase = 'Resumable';
    expiresAt = clock.now() + times.resumeMs;
  }

  function createRelay(device: WebSocketConnection, end: MessageEndpoint): Relay {
    const now = clock.now;
    const toPos = createForwarder({ from: device, to: end, now, onForwarded: metrics.countToPos });
    const toDevice = createForwarder({
      from: end,
      to: device,
      now,
      onForwarded: metrics.countToDevice,
    });
    return { end, toPos, toDevice };
  }

  const session: Session = {
    id: resumableSession?.sessionId ?? ids.secret(),
    resumeToken,
    get claimant() {
      return claimant;
    },
    setToken(token) {
      claimant = { ...claimant, token };
    },
    state: () => ({ owner: claimant.owner, phase, isResumed, reservedAt, lastDataAt, expiresAt }),
    isOpen: () => phase === 'Open',
    hasResumeToken: (token) => token !== undefined && timingSafeEqual(digest(token), tokenHash),
    useAddress() {
      if (phase !== 'Reserved' || isAddressUsed || clock.now() >= expiresAt) return false;
      isAddressUsed = true;
      reservedAt = clock.now();
      return true;
    },
    open(end) {
      const device = deps.device();
      if (device === undefined) {
        keepForOwner();
        end.close(closeCodes.deviceDisconnected, 'device_disconnected');
        return;
      }
      phase = 'Open';
      openedAt = clock.now();
      lastDataAt = openedAt;
      relay = createRelay(device, end);
      for (const { data, isBinary } of resumeBuffer.takeAll()) relay.toPos.forward(data, isBinary);
    },
    receiveFromPos(data, isBinary) {
      lastDataAt = clock.now();
      relay?.toDevice.forward(data, isBinary);
    },
    receiveFromDevice(data, isBinary) {
      lastDataAt = clock.now();
      if (relay !== undefined) {
        relay.toPos.forward(data, isBinary);
        return;
      }
      // A message that comes before the new owner connects was meant for the previous owner.
      const isMeantForOwner = isResumed || phase === 'Resumable';
      if (!isMeantForOwner || !resumeBuffer.add({ data, isBinary })) metrics.countDropped(1);
    },
    posDisconnected(end) {
      if (relay?.end !== end) return true;
      closeRelay();
      keepForOwner();
      return times.resumeMs > 0;
    },
    deviceDisconnected() {
      metrics.countDropped(resumeBuffer.takeAll().length);
      if (phase !== 'Open') return;
      keepForOwner();
      closeRelay()?.close(closeCodes.deviceDisconnected, 'device_disconnected');
    },
    toResumableSession() {
      const now = clock.now();
      const remainingMs = Math.min(
        times.resumeMs,
        phase === 'Open' ? times.resumeMs : expiresAt - now,
      );
      if (remainingMs <= 0) return undefined;
      return {
        sessionId: session.id,
        claimant,
        tokenHash: tokenHash.toString('hex'),
        remainingMs,
      };
    },
    close({ code, reason }) {
      metrics.countDropped(resumeBuffer.takeAll().length);
      closeRelay()?.close(code, reason);
    },
    bufferMessages(messages) {
      for (const message of messages) resumeBuffer.add(message);
    },
    takeBufferedMessages: resumeBuffer.takeAll,
    findDueEnd(now) {
      if (phase !== 'Open') return now >= expiresAt ? sessionExpired : undefined;
      if (now - lastDataAt >= times.idleMs || now - openedAt >= times.sessionMaxMs)
        return sessionExpired;
      const isSlow = (forwarder: Forwarder | undefined) =>
        now - (forwarder?.slowSince() ?? now) >= times.slowReaderMs;
      if (isSlow(relay?.toPos)) {
        return { ending: { code: closeCodes.slowConsumer, reason: 'slow_consumer' } };
      }
      if (!isSlow(relay?.toDevice)) return undefined;
      const ending = { code: closeCodes.deviceDisconnected, reason: 'device_disconnected' };
      return { ending, slow: 'device' };
    },
  };
  return session;
}
