// Handles one session between a device and a point of sale: its phases, its data and its end.
import { hash, timingSafeEqual } from 'node:crypto';
import { closeCodes } from '@switchyard/contract';
import type { Clock, Ids } from '../../platform/index.ts';
import { createLane, type End, type Lane } from '../forwarding/forward-messages.ts';
import { createHeld, type HeldMessage, type HeldRoom } from '../forwarding/resume-buffer.ts';
import type { Peer } from '../forwarding/websocket-connections.ts';
import type { RelayMetrics } from '../runtime/connector-metrics.ts';
import type { ConnectorTimes } from '../runtime/connector-settings.ts';
import type { Phase, Standing } from './claim-rules.ts';
import type { HeldToken } from './claim-token.ts';

/** The client that claims a device, as the node of the device receives it. */
export type Claimant = {
  readonly owner: string;
  readonly organizationId: string;
  readonly clientId: string;
  /** True for an application, which must keep its role; a user has individual rights. */
  readonly byRole?: boolean;
  /** Omitted by a claim for a single exchange, which ends by itself. */
  readonly token?: HeldToken;
};

/** A session that is kept for its claimant, without the resume token itself. */
export type KeptPlace = {
  readonly sessionId: string;
  readonly claimant: Claimant;
  readonly tokenHash: string;
  /** A duration and not a time, because the clocks of nodes differ. */
  readonly leftMs: number;
};

export type Ending = { readonly code: number; readonly word: string };

export type Session = {
  readonly id: string;
  readonly resumeToken: string;
  /** Contains the last token of the control connection. */
  readonly claimant: Claimant;
  renewed(token: HeldToken): void;
  standing(): Standing;
  isOpen(): boolean;
  hasToken(token: string | undefined): boolean;
  /** Returns true once: only the first client with the address can connect. */
  useAddress(): boolean;
  open(end: End): void;
  fromPos(data: Buffer, isBinary: boolean): void;
  fromDevice(data: Buffer, isBinary: boolean): void;
  /** The point of sale has disconnected; returns false if the session is not kept for it. */
  posLost(end: End): boolean;
  /** The device has disconnected: the session informs the POS and is kept for it. */
  deviceLost(): void;
  /**
   * The session to keep after the device has moved to another node; undefined if its time is over.
   */
  place(): KeptPlace | undefined;
  /** Closes the connection of the POS, and drops the stored messages. */
  close(ending: Ending): void;
  /** Stores the messages that the previous session stored for the same owner. */
  hold(messages: readonly HeldMessage[]): void;
  takeHeld(): readonly HeldMessage[];
  /** Returns a pending end: an expired session, or a reader that is too slow. */
  due(now: number): { ending: Ending; slow?: 'device' } | undefined;
};

type Deps = {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly times: ConnectorTimes;
  readonly metrics: RelayMetrics;
  readonly heldRoom: HeldRoom;
  /** Returns the current connection of the device. */
  readonly device: () => Peer | undefined;
};

const ended = { ending: { code: closeCodes.sessionExpired, word: 'session_expired' } } as const;

const digest = (text: string) => hash('sha256', text, 'buffer');

type Relay = { readonly end: End; readonly toPos: Lane; readonly toDevice: Lane };

/**
 * @param kept - the session of another node that this session continues
 * @example const session = createSession(deps, claimant, false);
 */
export function createSession(
  deps: Deps,
  claimedBy: Claimant,
  isResumed: boolean,
  kept?: KeptPlace,
): Session {
  const { clock, ids, times, metrics } = deps;
  const resumeToken = ids.secret();
  const tokenHash = kept === undefined ? digest(resumeToken) : Buffer.from(kept.tokenHash, 'hex');
  const held = createHeld(deps.heldRoom);
  let claimant = claimedBy;
  let phase: Phase = kept === undefined ? 'Reserved' : 'Resumable';
  let isAddressUsed = false;
  let reservedAt = clock.now();
  let endsAt = clock.now() + (kept?.leftMs ?? times.sessionUrlMs);
  let openedAt = 0;
  let dataAt = 0;
  let relay: Relay | undefined;

  function stopRelay(): End | undefined {
    const stopped = relay;
    relay = undefined;
    stopped?.toPos.end();
    stopped?.toDevice.end();
    return stopped?.end;
  }

  function keep(): void {
    phase = 'Resumable';
    endsAt = clock.now() + times.resumeMs;
  }

  function relayTo(device: Peer, end: End): Relay {
    const now = clock.now;
    const toPos = createLane({ from: device, to: end, now, passed: metrics.toPos });
    const toDevice = createLane({ from: end, to: device, now, passed: metrics.toDevice });
    return { end, toPos, toDevice };
  }

  const session: Session = {
    id: kept?.sessionId ?? ids.secret(),
    resumeToken,
    get claimant() {
      return claimant;
    },
    renewed(token) {
      claimant = { ...claimant, token };
    },
    standing: () => ({ owner: claimant.owner, phase, isResumed, reservedAt, dataAt, endsAt }),
    isOpen: () => phase === 'Open',
    hasToken: (token) => token !== undefined && timingSafeEqual(digest(token), tokenHash),
    useAddress() {
      if (phase !== 'Reserved' || isAddressUsed || clock.now() >= endsAt) return false;
      isAddressUsed = true;
      reservedAt = clock.now();
      return true;
    },
    open(end) {
      const device = deps.device();
      if (device === undefined) {
        keep();
        end.close(closeCodes.deviceDisconnected, 'device_disconnected');
        return;
      }
      phase = 'Open';
      openedAt = clock.now();
      dataAt = openedAt;
      relay = relayTo(device, end);
      for (const { data, isBinary } of held.take()) relay.toPos.pass(data, isBinary);
    },
    fromPos(data, isBinary) {
      dataAt = clock.now();
      relay?.toDevice.pass(data, isBinary);
    },
    fromDevice(data, isBinary) {
      dataAt = clock.now();
      if (relay !== undefined) {
        relay.toPos.pass(data, isBinary);
        return;
      }
      // A message that comes before the new owner connects was meant for the previous owner.
      const isForOwner = isResumed || phase === 'Resumable';
      if (!isForOwner || !held.keep({ data, isBinary })) metrics.dropped(1);
    },
    posLost(end) {
      if (relay?.end !== end) return true;
      stopRelay();
      keep();
      return times.resumeMs > 0;
    },
    deviceLost() {
      metrics.dropped(held.take().length);
      if (phase !== 'Open') return;
      keep();
      stopRelay()?.close(closeCodes.deviceDisconnected, 'device_disconnected');
    },
    place() {
      const now = clock.now();
      const leftMs = Math.min(times.resumeMs, phase === 'Open' ? times.resumeMs : endsAt - now);
      if (leftMs <= 0) return undefined;
      return { sessionId: session.id, claimant, tokenHash: tokenHash.toString('hex'), leftMs };
    },
    close({ code, word }) {
      metrics.dropped(held.take().length);
      stopRelay()?.close(code, word);
    },
    hold(messages) {
      for (const message of messages) held.keep(message);
    },
    takeHeld: held.take,
    due(now) {
      if (phase !== 'Open') return now >= endsAt ? ended : undefined;
      if (now - dataAt >= times.idleMs || now - openedAt >= times.absoluteMs) return ended;
      const slowFor = (lane: Lane | undefined) => now - (lane?.slowSince() ?? now) >= times.slowMs;
      if (slowFor(relay?.toPos)) {
        return { ending: { code: closeCodes.slowConsumer, word: 'slow_consumer' } };
      }
      if (!slowFor(relay?.toDevice)) return undefined;
      const ending = { code: closeCodes.deviceDisconnected, word: 'device_disconnected' };
      return { ending, slow: 'device' };
    },
  };
  return session;
}
