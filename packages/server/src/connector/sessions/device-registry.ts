// Manages the connected devices of this node, their sessions and the messages between them.
import { closeCodes } from '@switchyard/contract';
import type { AuditRecorder, Author } from '../../audit/index.ts';
import type { Clock, Database, Ids, Log } from '../../platform/index.ts';
import { deviceKeyOf, isSameSpot, type PlacedTerminal } from '../devices/connector-devices.ts';
import type { PresenceStore } from '../devices/device-presence.ts';
import { createDepartures } from '../devices/record-disconnects.ts';
import { createHeldRoom } from '../forwarding/resume-buffer.ts';
import type { Peer } from '../forwarding/websocket-connections.ts';
import type { Backplane, Message } from '../nodes/backplane.ts';
import type { FarSessions } from '../nodes/index.ts';
import { endingOf, type LostRight } from '../protocol/connector-fault.ts';
import type { ConnectorMetrics } from '../runtime/connector-metrics.ts';
import type { ConnectorTimes } from '../runtime/connector-settings.ts';
import { decideClaim } from './claim-rules.ts';
import { renewedIn } from './claim-token.ts';
import {
  type Claimant,
  createSession,
  type Ending,
  type KeptPlace,
  type Session,
} from './session.ts';
import { createAddresses } from './session-addresses.ts';
import { askFormer, keptIn, keptMessage } from './session-migration.ts';

/** The topic of all messages about a device. */
export const deviceTopic = (deviceKey: string): string => `device.${deviceKey}`;

/** A claim, as a node sends it to the node of the device. */
export type ClaimAsked = Claimant & {
  readonly takeOver: boolean;
  readonly force: boolean;
  readonly resumeToken?: string;
  readonly author: Author;
};
export type Claimed = {
  readonly sessionId: string;
  readonly resumeToken: string;
  readonly sessionUrl: string;
  readonly expiresInMs: number;
  readonly isResumed: boolean;
};
/** The device has connected to another node, so the claim must go to that node. */
type Moved = { readonly moved: true };
export type ClaimRefused = {
  readonly code: 'device_claimed' | 'takeover_refused' | 'device_offline';
  readonly retryAfterMs: number;
};

type Entry = {
  readonly key: string;
  device: PlacedTerminal;
  peer: Peer | undefined;
  connectionId: string;
  /** The registration number of the connection; a higher number is newer. */
  order: number;
  session: Session | undefined;
  lastSeenAt: number;
  /** The certificate or the application of the registration; the server rechecks it regularly. */
  thumbprint: string | undefined;
  clientId: string | undefined;
  disown: () => void;
  /** Resolves when the previous node of the device has answered, or has not answered in time. */
  arrived: Promise<void>;
  /** The device is connected to another node, so this node publishes no status of it. */
  hasMoved: boolean;
};

export type Hub = ReturnType<typeof createHub>;

type Deps = {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly audit: Pick<AuditRecorder, 'record'>;
  readonly database: Database;
  readonly times: ConnectorTimes;
  readonly backplane: Backplane;
  readonly presence: PresenceStore;
  readonly metrics: ConnectorMetrics;
  /** Omitted if there is no other node; then a device can be connected only here. */
  readonly far: Pick<FarSessions, 'offer'> | undefined;
  /** Returns the address at which a POS connects to a session of this node. */
  readonly addressOf: (sessionId: string) => string;
};

const offlineRetryMs = 5000;
const isConnected = ({ peer }: Entry): boolean => peer !== undefined;
const isOwn = ({ session }: Entry, { sessionId, owner }: SessionAsked): boolean =>
  session?.id === sessionId && session.claimant.owner === owner;
const attachedOf = ({ connectionId, order }: Entry): Message => ({
  kind: 'attached',
  connectionId,
  order,
});
const superseded = { code: closeCodes.superseded, word: 'superseded' } as const;
const released = { code: closeCodes.released, word: 'released' } as const;
const movedAway = { code: closeCodes.restarting, word: 'moved' } as const;

async function auditForce({ database, audit }: Deps, entry: Entry, asked: ClaimAsked) {
  const { organizationId, logicalDeviceId: id, merchantId } = entry.device;
  await database.transaction((trx) =>
    audit.record(trx, {
      ...asked.author,
      organizationId,
      action: 'terminalSession.takenOver',
      entity: { type: 'logicalDevice', id, merchantId },
      after: { owner: asked.owner },
    }),
  );
}

/** @example const hub = createHub(deps); hub.attach(device, peer, facts); */
export function createHub(deps: Deps) {
  const { clock, times, backplane, presence, metrics, log } = deps;
  const entries = new Map<string, Entry>();
  /** The keys are session identifiers, which are the secret part of the session addresses. */
  const sessions = new Map<string, Entry>();
  const heldRoom = createHeldRoom();
  const departures = createDepartures({ presence, log });
  const addresses = createAddresses({ sessions, endSession, released, far: deps.far });
  metrics.sessions(() => sessions.size);

  const stateOf = ({ peer, session, lastSeenAt }: Entry): Message => ({
    kind: 'status',
    online: peer !== undefined,
    claimed: session !== undefined,
    // A connected device answers each heartbeat, so its last contact is now.
    lastSeenAt: peer === undefined ? lastSeenAt : clock.now(),
  });
  const tell = (entry: Entry) => backplane.publish(deviceTopic(entry.key), stateOf(entry));

  function forget(entry: Entry): void {
    if (entry.peer !== undefined || entry.session !== undefined) return;
    if (entries.get(entry.key) !== entry) return;
    entries.delete(entry.key);
    entry.disown();
  }

  function endSession(entry: Entry, ending: Ending): void {
    const { session } = entry;
    if (session === undefined) return;
    entry.session = undefined;
    sessions.delete(session.id);
    session.close(ending);
    const { code, word } = ending;
    const { id: sessionId } = session;
    addresses.withdraw(sessionId);
    backplane.publish(deviceTopic(entry.key), { kind: 'ended', sessionId, code, word });
    // This node does not know the status of a device on another node.
    if (!entry.hasMoved) tell(entry);
    forget(entry);
  }

  function startSession(
    entry: Entry,
    claimant: Claimant,
    isResumed: boolean,
    kept?: KeptPlace,
  ): Session {
    const { ids } = deps;
    const device = () => entry.peer;
    const given = { clock, ids, times, metrics, heldRoom, device };
    const made = createSession(given, claimant, isResumed, kept);
    entry.session = made;
    sessions.set(made.id, entry);
    addresses.offer(made.id);
    tell(entry);
    return made;
  }

  function cutMoved(entry: Entry): void {
    entry.hasMoved = true;
    // Other nodes must receive this message before they see the end of the session.
    const place = entry.session?.place();
    if (place !== undefined) backplane.publish(deviceTopic(entry.key), keptMessage(place, entry));
    endSession(entry, { code: closeCodes.deviceDisconnected, word: 'device_disconnected' });
    entry.peer?.close(superseded.code, superseded.word);
    entry.disown();
  }

  async function cutIfMoved(entry: Entry): Promise<boolean> {
    // The device may have moved to another node without a message to this node, so the database
    // decides.
    const { device, connectionId } = entry;
    if (deps.far === undefined) return false;
    const moved = await presence.superseded([{ device, connectionId }]);
    if (!moved.has(connectionId) || entry.connectionId !== connectionId) return false;
    cutMoved(entry);
    return true;
  }

  async function claim(entry: Entry, asked: ClaimAsked): Promise<Claimed | ClaimRefused | Moved> {
    if (await cutIfMoved(entry)) return { moved: true };
    // An expired session counts as ended, even if the regular check has not ended it yet.
    const due = entry.session?.due(clock.now());
    if (due !== undefined) endSession(entry, due.ending);
    const { session } = entry;
    const hasToken = session?.hasToken(asked.resumeToken) ?? false;
    const decided = decideClaim(session?.standing(), { ...asked, hasToken }, clock.now(), times);
    if (decided.kind === 'Refused') return decided;
    if (!isConnected(entry)) return { code: 'device_offline', retryAfterMs: offlineRetryMs };
    if (decided.kind === 'TakenOver' && decided.isForced) {
      await auditForce(deps, entry, asked);
      // A session that began during the audit stays; the audit record shows only the attempt.
      if (entry.session !== session) return { code: 'device_claimed', retryAfterMs: 0 };
      if (!isConnected(entry)) return { code: 'device_offline', retryAfterMs: offlineRetryMs };
    }
    const { owner, organizationId, clientId, byRole = false, token } = asked;
    const claimant = { owner, organizationId, clientId, byRole, ...(token && { token }) };
    const made = createNext(entry, claimant, decided.kind === 'Resumed');
    return {
      sessionId: made.id,
      resumeToken: made.resumeToken,
      sessionUrl: deps.addressOf(made.id),
      expiresInMs: times.sessionUrlMs,
      isResumed: decided.kind === 'Resumed',
    };
  }

  function createNext(entry: Entry, claimant: Claimant, isResumed: boolean): Session {
    const former = entry.session;
    const heldBefore = isResumed ? (former?.takeHeld() ?? []) : [];
    endSession(entry, superseded);
    const made = startSession(entry, claimant, isResumed);
    made.hold(heldBefore);
    return made;
  }

  async function answer(entry: Entry, message: Message): Promise<Message> {
    if (message['kind'] === 'attached') {
      heedNews(entry, message);
      return {};
    }
    await entry.arrived;
    switch (message['kind']) {
      case 'claim':
        return claim(entry, message as unknown as ClaimAsked);
      case 'status':
        return stateOf(entry);
      case 'holds':
        return { holds: isOwn(entry, message as unknown as SessionAsked) };
      case 'release':
        return { released: release(entry, message as unknown as SessionAsked) };
      default:
        throw new Error(`the connector knows no message ${String(message['kind'])}`);
    }
  }

  function release(entry: Entry, asked: SessionAsked): boolean {
    if (!isOwn(entry, asked)) return false;
    endSession(entry, asked.word === undefined ? released : endingOf(asked.word));
    return true;
  }

  function detach(entry: Entry, connectionId: string): void {
    if (entry.connectionId !== connectionId) return;
    entry.peer = undefined;
    entry.lastSeenAt = clock.now();
    if (entry.hasMoved) {
      forget(entry);
      return;
    }
    entry.session?.deviceLost();
    if (times.resumeMs === 0) endSession(entry, superseded);
    departures.note(entry.device, connectionId);
    tell(entry);
    forget(entry);
  }

  function keep(entry: Entry, news: Message): void {
    // A kept session is only for a connected device that has no session yet.
    if (!isConnected(entry) || entry.hasMoved || entry.session !== undefined) return;
    const kept = keptIn(news, entry, times.resumeMs);
    if (kept !== undefined) startSession(entry, kept.claimant, true, kept);
  }

  function heedNews(entry: Entry, news: Message): void {
    const { kind, connectionId, order } = news;
    if (kind === 'kept') keep(entry, news);
    const token = kind === 'renewed' ? renewedIn(news) : undefined;
    if (token && isOwn(entry, news as unknown as SessionAsked)) entry.session?.renewed(token);
    // The newer of two connections wins, on any node. The database numbers the connections, because
    // the clocks of nodes differ.
    if (kind !== 'attached' || connectionId === entry.connectionId) return;
    if (Number(order) >= entry.order) cutMoved(entry);
  }

  async function arrive(entry: Entry): Promise<void> {
    const { key, connectionId } = entry;
    if (deps.far !== undefined) await askFormer(backplane, key, attachedOf(entry), times.formerMs);
    if (entry.connectionId === connectionId)
      backplane.publish(deviceTopic(entry.key), attachedOf(entry));
  }

  function listen(entry: Entry): () => void {
    const news = backplane.subscribe(deviceTopic(entry.key), (told) => heedNews(entry, told));
    // This starts before the node answers for the device, because it calls the previous node.
    entry.arrived = arrive(entry).catch((error: unknown) => {
      log.error({ err: error }, 'the node that had a device could not be asked');
    });
    const ends = [backplane.own(entry.key, (message) => answer(entry, message)), news];
    return () => {
      for (const end of ends) end();
    };
  }

  function entryFor(device: PlacedTerminal): Entry {
    const key = deviceKeyOf(device);
    const known = entries.get(key);
    if (known !== undefined) return known;
    const at = { lastSeenAt: clock.now(), connectionId: '', order: 0, disown: () => {} };
    const arrived = Promise.resolve();
    const none = { peer: undefined, session: undefined };
    const by = { thumbprint: undefined, clientId: undefined };
    const made: Entry = { key, device, ...none, ...by, ...at, arrived, hasMoved: false };
    entries.set(key, made);
    return made;
  }

  return {
    /** Registers a connected device and closes its previous connection. */
    attach(
      device: PlacedTerminal,
      peer: Peer,
      { connectionId, order, thumbprint, clientId }: Connection,
    ): void {
      const entry = entryFor(device);
      const former = entry.peer;
      // If the server admitted two connections at the same time, the older one may come last.
      if (former !== undefined && order < entry.order) {
        peer.close(superseded.code, superseded.word);
        return;
      }
      entry.disown();
      const isElsewhere = !isSameSpot(entry.device, device);
      if (!isElsewhere) entry.session?.deviceLost();
      Object.assign(entry, { device, connectionId, order, peer, thumbprint, clientId });
      entry.hasMoved = false;
      // A claim for the previous assignment is not valid for the new one, so the session ends.
      if (isElsewhere) endSession(entry, movedAway);
      entry.lastSeenAt = clock.now();
      entry.disown = listen(entry);
      former?.close(superseded.code, superseded.word);
      peer.onMessage((data, isBinary) => {
        if (entry.peer !== peer) return;
        if (entry.session === undefined) metrics.dropped(1);
        else entry.session.fromDevice(data, isBinary);
      });
      peer.onClose(() => detach(entry, connectionId));
      tell(entry);
      // A newer connection on another node may not have informed this node yet.
      cutIfMoved(entry).catch((error: unknown) => {
        log.error({ err: error }, 'a device could not be compared with other nodes');
      });
    },

    useAddress: addresses.useAddress,
    join: addresses.join,
    knows: addresses.knows,

    /**
     * Announces the devices of this node again, and disconnects those that moved to another node.
     */
    async compare(): Promise<void> {
      const here = [...entries.values()].filter(({ peer }) => peer !== undefined);
      for (const entry of here) backplane.publish(deviceTopic(entry.key), attachedOf(entry));
      const moved = await presence.superseded(here);
      for (const entry of here) if (moved.has(entry.connectionId)) cutMoved(entry);
    },

    /** Ends expired sessions and disconnects peers that do not read. */
    tick(now: number): void {
      for (const entry of sessions.values()) {
        const due = entry.session?.due(now);
        if (due === undefined) continue;
        if (due.slow === 'device') entry.peer?.close(closeCodes.slowConsumer, 'slow_consumer');
        endSession(entry, due.ending);
      }
    },

    /** Returns all devices that are connected here, for the recheck. */
    connected: (): readonly Connected[] =>
      [...entries.values()].filter(({ peer }) => peer !== undefined),

    /** Disconnects a device that may not use the connector any more. */
    cutDevice(device: PlacedTerminal, connectionId: string, ending: Ending): void {
      const entry = entries.get(deviceKeyOf(device));
      // If the device has reconnected since then, the server checked it at that time.
      if (entry?.connectionId !== connectionId) return;
      endSession(entry, ending);
      entry.peer?.close(ending.code, ending.word);
    },

    settled: departures.settled,
    claimants: () => [...sessions.values()].flatMap(({ session }) => session?.claimant ?? []),

    /** Ends all sessions for which `isMeant` is true. */
    cutClaims(isMeant: (claimant: Claimant) => boolean, ending: Ending): void {
      for (const entry of [...sessions.values()]) {
        if (entry.session && isMeant(entry.session.claimant)) endSession(entry, ending);
      }
    },
  };
}

/** A registered connection of a device, with its credential: a certificate or an application. */
type Connection = {
  readonly connectionId: string;
  readonly order: number;
  readonly thumbprint?: string;
  readonly clientId?: string;
};
export type Connected = Pick<Entry, 'device' | 'thumbprint' | 'clientId' | 'connectionId'>;
type SessionAsked = {
  readonly sessionId: string;
  readonly owner: string;
  readonly word?: LostRight;
};
