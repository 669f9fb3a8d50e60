// Manages the connected devices of this node, their sessions and the messages between them.
import { closeCodes } from '@switchyard/contract';
import type { AuditRecorder, Author } from '../../audit/index.ts';
import type { Clock, Database, Ids, Log } from '../../platform/index.ts';
import {
  type AssignedTerminal,
  deviceKeyOf,
  isSameAssignment,
} from '../devices/check-device-access.ts';
import type { PresenceStore } from '../devices/device-presence.ts';
import { createDisconnectRecorder } from '../devices/device-presence.ts';
import { createBufferBudget } from '../forwarding/resume-buffer.ts';
import type { WebSocketConnection } from '../forwarding/websocket-connections.ts';
import type { Backplane, Message } from '../nodes/backplane.ts';
import type { RemoteSessions } from '../nodes/index.ts';
import { type RevocationReason, sessionEndForRevocation } from '../protocol/connector-fault.ts';
import type { ConnectorMetrics } from '../runtime/connector-metrics.ts';
import type { ConnectorTimes } from '../runtime/connector-settings.ts';
import { decideClaim } from './claim-rules.ts';
import { readRenewedToken } from './claim-token.ts';
import {
  type Claimant,
  createSession,
  type ResumableSession,
  type Session,
  type SessionEnd,
} from './session.ts';
import { createSessionAddresses } from './session-addresses.ts';
import {
  readResumableSession,
  requestFromPreviousNode,
  resumableSessionNodeMessage,
} from './session-migration.ts';

/** The topic of all messages about a device. */
export const deviceTopic = (deviceKey: string): string => `device.${deviceKey}`;

/** A claim, as a node sends it to the node of the device. */
export type ClaimRequest = Claimant & {
  readonly takeOver: boolean;
  readonly force: boolean;
  readonly resumeToken?: string;
  readonly author: Author;
};
export type ClaimResult = {
  readonly sessionId: string;
  readonly resumeToken: string;
  readonly sessionUrl: string;
  readonly expiresInMs: number;
  readonly isResumed: boolean;
};
/** The device has connected to another node, so the claim must go to that node. */
type Moved = { readonly moved: true };
export type ClaimRejection = {
  readonly code: 'device_claimed' | 'takeover_refused' | 'device_offline';
  readonly retryAfterMs: number;
};

type DeviceEntry = {
  readonly key: string;
  device: AssignedTerminal;
  peer: WebSocketConnection | undefined;
  connectionId: string;
  /** The registration number of the connection; a higher number is newer. */
  order: number;
  session: Session | undefined;
  lastSeenAt: number;
  /** The certificate or the application of the registration; the server rechecks it regularly. */
  thumbprint: string | undefined;
  clientId: string | undefined;
  stopAnswering: () => void;
  /** Resolves when the previous node of the device has answered, or has not answered in time. */
  previousNodeAnswered: Promise<void>;
  /** The device is connected to another node, so this node publishes no status of it. */
  hasMoved: boolean;
};

export type DeviceRegistry = ReturnType<typeof createDeviceRegistry>;

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
  readonly remoteSessions: Pick<RemoteSessions, 'publish'> | undefined;
  /** Returns the address at which a POS connects to a session of this node. */
  readonly sessionUrlOf: (sessionId: string) => string;
};

const offlineRetryMs = 5000;
const isConnected = ({ peer }: DeviceEntry): boolean => peer !== undefined;
const isOwnSession = ({ session }: DeviceEntry, { sessionId, owner }: SessionRequest): boolean =>
  session?.id === sessionId && session.claimant.owner === owner;
const attachedMessage = ({ connectionId, order }: DeviceEntry): Message => ({
  kind: 'attached',
  connectionId,
  order,
});
const supersededEnd = { code: closeCodes.superseded, reason: 'superseded' } as const;
const releasedEnd = { code: closeCodes.released, reason: 'released' } as const;
const movedEnd = { code: closeCodes.restarting, reason: 'moved' } as const;

async function auditForcedTakeover(
  { database, audit }: Deps,
  entry: DeviceEntry,
  request: ClaimRequest,
) {
  const { organizationId, logicalDeviceId: id, merchantId } = entry.device;
  await database.transaction((trx) =>
    audit.record(trx, {
      ...request.author,
      organizationId,
      action: 'terminalSession.takenOver',
      entity: { type: 'logicalDevice', id, merchantId },
      after: { owner: request.owner },
    }),
  );
}

/** @example const registry = createDeviceRegistry(deps); registry.addConnection(device, peer, connection); */
export function createDeviceRegistry(deps: Deps) {
  const { clock, times, backplane, presence, metrics, log } = deps;
  const entries = new Map<string, DeviceEntry>();
  /** The keys are session identifiers, which are the secret part of the session addresses. */
  const sessions = new Map<string, DeviceEntry>();
  const bufferBudget = createBufferBudget();
  const disconnectRecorder = createDisconnectRecorder(presence, log);
  const addresses = createSessionAddresses({
    sessions,
    endSession,
    releasedEnd,
    remoteSessions: deps.remoteSessions,
  });
  metrics.observeSessions(() => sessions.size);

  const statusMessage = ({ peer, session, lastSeenAt }: DeviceEntry): Message => ({
    kind: 'status',
    online: peer !== undefined,
    claimed: session !== undefined,
    // A connected device answers each heartbeat, so its last contact is now.
    lastSeenAt: peer === undefined ? lastSeenAt : clock.now(),
  });
  const publishStatus = (entry: DeviceEntry) =>
    backplane.publish(deviceTopic(entry.key), statusMessage(entry));

  function removeIfUnused(entry: DeviceEntry): void {
    if (entry.peer !== undefined || entry.session !== undefined) return;
    if (entries.get(entry.key) !== entry) return;
    entries.delete(entry.key);
    entry.stopAnswering();
  }

  function endSession(entry: DeviceEntry, sessionEnd: SessionEnd): void {
    const { session } = entry;
    if (session === undefined) return;
    entry.session = undefined;
    sessions.delete(session.id);
    session.close(sessionEnd);
    const { code, reason } = sessionEnd;
    const { id: sessionId } = session;
    addresses.withdraw(sessionId);
    backplane.publish(deviceTopic(entry.key), { kind: 'ended', sessionId, code, reason });
    // This node does not know the status of a device on another node.
    if (!entry.hasMoved) publishStatus(entry);
    removeIfUnused(entry);
  }

  function startSession(
    entry: DeviceEntry,
    claimant: Claimant,
    isResumed: boolean,
    resumableSession?: ResumableSession,
  ): Session {
    const { ids } = deps;
    const device = () => entry.peer;
    const sessionDeps = { clock, ids, times, metrics, bufferBudget, device };
    const newSession = createSession(sessionDeps, claimant, isResumed, resumableSession);
    entry.session = newSession;
    sessions.set(newSession.id, entry);
    addresses.publish(newSession.id);
    publishStatus(entry);
    return newSession;
  }

  function disconnectMoved(entry: DeviceEntry): void {
    entry.hasMoved = true;
    // Other nodes must receive this message before they see the end of the session.
    const resumableSession = entry.session?.toResumableSession();
    if (resumableSession !== undefined)
      backplane.publish(
        deviceTopic(entry.key),
        resumableSessionNodeMessage(resumableSession, entry),
      );
    endSession(entry, { code: closeCodes.deviceDisconnected, reason: 'device_disconnected' });
    entry.peer?.close(supersededEnd.code, supersededEnd.reason);
    entry.stopAnswering();
  }

  async function disconnectIfMoved(entry: DeviceEntry): Promise<boolean> {
    // The device may have moved to another node without a message to this node, so the database
    // decides.
    const { device, connectionId } = entry;
    if (deps.remoteSessions === undefined) return false;
    const moved = await presence.findSuperseded([{ device, connectionId }]);
    if (!moved.has(connectionId) || entry.connectionId !== connectionId) return false;
    disconnectMoved(entry);
    return true;
  }

  async function claim(
    entry: DeviceEntry,
    request: ClaimRequest,
  ): Promise<ClaimResult | ClaimRejection | Moved> {
    if (await disconnectIfMoved(entry)) return { moved: true };
    // An expired session counts as ended, even if the regular check has not ended it yet.
    const dueEnd = entry.session?.findDueEnd(clock.now());
    if (dueEnd !== undefined) endSession(entry, dueEnd.ending);
    const { session } = entry;
    const hasResumeToken = session?.hasResumeToken(request.resumeToken) ?? false;
    const decision = decideClaim(
      session?.state(),
      { ...request, hasResumeToken },
      clock.now(),
      times,
    );
    if (decision.kind === 'Refused') return decision;
    if (!isConnected(entry)) return { code: 'device_offline', retryAfterMs: offlineRetryMs };
    if (decision.kind === 'TakenOver' && decision.isForced) {
      await auditForcedTakeover(deps, entry, request);
      // A session that began during the audit stays; the audit record shows only the attempt.
      if (entry.session !== session) return { code: 'device_claimed', retryAfterMs: 0 };
      if (!isConnected(entry)) return { code: 'device_offline', retryAfterMs: offlineRetryMs };
    }
    const { owner, organizationId, clientId, byRole = false, token } = request;
    const claimant = { owner, organizationId, clientId, byRole, ...(token && { token }) };
    const newSession = replaceSession(entry, claimant, decision.kind === 'Resumed');
    return {
      sessionId: newSession.id,
      resumeToken: newSession.resumeToken,
      sessionUrl: deps.sessionUrlOf(newSession.id),
      expiresInMs: times.sessionUrlMs,
      isResumed: decision.kind === 'Resumed',
    };
  }

  function replaceSession(entry: DeviceEntry, claimant: Claimant, isResumed: boolean): Session {
    const previous = entry.session;
    const bufferedMessages = isResumed ? (previous?.takeBufferedMessages() ?? []) : [];
    endSession(entry, supersededEnd);
    const newSession = startSession(entry, claimant, isResumed);
    newSession.bufferMessages(bufferedMessages);
    return newSession;
  }

  async function answerRequest(entry: DeviceEntry, message: Message): Promise<Message> {
    if (message['kind'] === 'attached') {
      applyMessage(entry, message);
      return {};
    }
    await entry.previousNodeAnswered;
    switch (message['kind']) {
      case 'claim':
        return claim(entry, message as unknown as ClaimRequest);
      case 'status':
        return statusMessage(entry);
      case 'holds':
        return { holds: isOwnSession(entry, message as unknown as SessionRequest) };
      case 'release':
        return { released: release(entry, message as unknown as SessionRequest) };
      default:
        throw new Error(`unknown connector message: ${String(message['kind'])}`);
    }
  }

  function release(entry: DeviceEntry, request: SessionRequest): boolean {
    if (!isOwnSession(entry, request)) return false;
    endSession(
      entry,
      request.reason === undefined ? releasedEnd : sessionEndForRevocation(request.reason),
    );
    return true;
  }

  function removeConnection(entry: DeviceEntry, connectionId: string): void {
    if (entry.connectionId !== connectionId) return;
    entry.peer = undefined;
    entry.lastSeenAt = clock.now();
    if (entry.hasMoved) {
      removeIfUnused(entry);
      return;
    }
    entry.session?.deviceDisconnected();
    if (times.resumeMs === 0) endSession(entry, supersededEnd);
    disconnectRecorder.record(entry.device, connectionId);
    publishStatus(entry);
    removeIfUnused(entry);
  }

  function continueResumableSession(entry: DeviceEntry, message: Message): void {
    // A resumable session is only for a connected device that has no session yet.
    if (!isConnected(entry) || entry.hasMoved || entry.session !== undefined) return;
    const resumableSession = readResumableSession(message, entry, times.resumeMs);
    if (resumableSession !== undefined)
      startSession(entry, resumableSession.claimant, true, resumableSession);
  }

  function applyMessage(entry: DeviceEntry, message: Message): void {
    const { kind, connectionId, order } = message;
    if (kind === 'resumableSession') continueResumableSession(entry, message);
    const token = kind === 'renewed' ? readRenewedToken(message) : undefined;
    if (token && isOwnSession(entry, message as unknown as SessionRequest))
      entry.session?.setToken(token);
    // The newer of two connections wins, on any node. The database numbers the connections, because
    // the clocks of nodes differ.
    if (kind !== 'attached' || connectionId === entry.connectionId) return;
    if (Number(order) >= entry.order) disconnectMoved(entry);
  }

  async function announceConnection(entry: DeviceEntry): Promise<void> {
    const { key, connectionId } = entry;
    if (deps.remoteSessions !== undefined)
      await requestFromPreviousNode(
        backplane,
        key,
        attachedMessage(entry),
        times.previousNodeWaitMs,
      );
    if (entry.connectionId === connectionId)
      backplane.publish(deviceTopic(entry.key), attachedMessage(entry));
  }

  function startAnswering(entry: DeviceEntry): () => void {
    const unsubscribe = backplane.subscribe(deviceTopic(entry.key), (message) =>
      applyMessage(entry, message),
    );
    // This starts before the node answers for the device, because it calls the previous node.
    entry.previousNodeAnswered = announceConnection(entry).catch((error: unknown) => {
      log.error({ err: error }, 'the server could not reach the previous node of a device');
    });
    const stopRequests = backplane.answerRequests(entry.key, (message) =>
      answerRequest(entry, message),
    );
    return () => {
      stopRequests();
      unsubscribe();
    };
  }

  function findOrCreateEntry(device: AssignedTerminal): DeviceEntry {
    const key = deviceKeyOf(device);
    const existing = entries.get(key);
    if (existing !== undefined) return existing;
    const entry: DeviceEntry = {
      key,
      device,
      peer: undefined,
      connectionId: '',
      order: 0,
      session: undefined,
      lastSeenAt: clock.now(),
      thumbprint: undefined,
      clientId: undefined,
      stopAnswering: () => {},
      previousNodeAnswered: Promise.resolve(),
      hasMoved: false,
    };
    entries.set(key, entry);
    return entry;
  }

  return {
    /** Registers a connected device and closes its previous connection. */
    addConnection(
      device: AssignedTerminal,
      peer: WebSocketConnection,
      { connectionId, order, thumbprint, clientId }: Connection,
    ): void {
      const entry = findOrCreateEntry(device);
      const previous = entry.peer;
      // If the server admitted two connections at the same time, the older one may come last.
      if (previous !== undefined && order < entry.order) {
        peer.close(supersededEnd.code, supersededEnd.reason);
        return;
      }
      entry.stopAnswering();
      const hasNewAssignment = !isSameAssignment(entry.device, device);
      if (!hasNewAssignment) entry.session?.deviceDisconnected();
      Object.assign(entry, { device, connectionId, order, peer, thumbprint, clientId });
      entry.hasMoved = false;
      // A claim for the previous assignment is not valid for the new one, so the session ends.
      if (hasNewAssignment) endSession(entry, movedEnd);
      entry.lastSeenAt = clock.now();
      entry.stopAnswering = startAnswering(entry);
      previous?.close(supersededEnd.code, supersededEnd.reason);
      peer.onMessage((data, isBinary) => {
        if (entry.peer !== peer) return;
        if (entry.session === undefined) metrics.countDropped(1);
        else entry.session.receiveFromDevice(data, isBinary);
      });
      peer.onClose(() => removeConnection(entry, connectionId));
      publishStatus(entry);
      // A newer connection on another node may not have informed this node yet.
      disconnectIfMoved(entry).catch((error: unknown) => {
        log.error({ err: error }, 'the server could not compare a device with other nodes');
      });
    },

    useAddress: addresses.useAddress,
    join: addresses.join,
    hasSession: addresses.hasSession,

    /**
     * Announces the devices of this node again, and disconnects those that moved to another node.
     */
    async reconcile(): Promise<void> {
      const connectedEntries = [...entries.values()].filter(({ peer }) => peer !== undefined);
      for (const entry of connectedEntries)
        backplane.publish(deviceTopic(entry.key), attachedMessage(entry));
      const moved = await presence.findSuperseded(connectedEntries);
      for (const entry of connectedEntries)
        if (moved.has(entry.connectionId)) disconnectMoved(entry);
    },

    /** Ends expired sessions and disconnects peers that do not read. */
    tick(now: number): void {
      for (const entry of sessions.values()) {
        const dueEnd = entry.session?.findDueEnd(now);
        if (dueEnd === undefined) continue;
        if (dueEnd.slow === 'device') entry.peer?.close(closeCodes.slowConsumer, 'slow_consumer');
        endSession(entry, dueEnd.ending);
      }
    },

    /** Returns all devices that are connected here, for the recheck. */
    connectedDevices: (): readonly ConnectedTerminal[] =>
      [...entries.values()].filter(({ peer }) => peer !== undefined),

    /** Disconnects a device that may not use the connector any more. */
    disconnectDevice(device: AssignedTerminal, connectionId: string, sessionEnd: SessionEnd): void {
      const entry = entries.get(deviceKeyOf(device));
      // If the device has reconnected since then, the server checked it at that time.
      if (entry?.connectionId !== connectionId) return;
      endSession(entry, sessionEnd);
      entry.peer?.close(sessionEnd.code, sessionEnd.reason);
    },

    waitForIdle: disconnectRecorder.waitForIdle,
    claimants: () => [...sessions.values()].flatMap(({ session }) => session?.claimant ?? []),

    /** Ends all sessions for which `isMeant` is true. */
    endSessions(isMeant: (claimant: Claimant) => boolean, sessionEnd: SessionEnd): void {
      for (const entry of [...sessions.values()]) {
        if (entry.session && isMeant(entry.session.claimant)) endSession(entry, sessionEnd);
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
export type ConnectedTerminal = Pick<
  DeviceEntry,
  'device' | 'thumbprint' | 'clientId' | 'connectionId'
>;
type SessionRequest = {
  readonly sessionId: string;
  readonly owner: string;
  readonly reason?: RevocationReason;
};
