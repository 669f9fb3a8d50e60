// Handles the requests of a point of sale for a device on any node: claim, status and release.
import { type ConnectorFaultCode, defined } from '@switchyard/contract';
import type { Author } from '../../audit/index.ts';
import type { Caller } from '../../http/index.ts';
import type { ClientVerifier } from '../../identity/index.ts';
import type { Clock } from '../../platform/index.ts';
import {
  type AssignedTerminal,
  type ConnectorDevices,
  deviceKeyOf,
} from '../devices/check-device-access.ts';
import type { PresenceStore } from '../devices/device-presence.ts';
import { type Backplane, BackplaneError, type Message } from '../nodes/backplane.ts';
import { ConnectorFault, type RevocationReason, throwFault } from '../protocol/connector-fault.ts';
import { type ClaimToken, tokenRenewedMessage } from '../sessions/claim-token.ts';
import {
  type ClaimRejection,
  type ClaimRequest,
  type ClaimResult,
  deviceTopic,
} from '../sessions/device-registry.ts';

/** A claim with the member names of the protocol. */
export type ClaimOptions = {
  readonly tsn: string;
  readonly posId?: string | undefined;
  readonly waitSeconds?: number | undefined;
  readonly takeOver?: boolean | undefined;
  readonly force?: boolean | undefined;
  readonly resumeToken?: string | undefined;
};

export type ClaimedDevice = ClaimResult & {
  readonly device: AssignedTerminal;
  readonly owner: string;
};

export type DeviceStatus = {
  readonly tsn: string;
  readonly online: boolean;
  readonly claimed: boolean;
  readonly lastSeenAt?: number;
};

/** The caller of a request, with the author for the audit log. */
export type PosCaller = {
  readonly caller: Caller;
  readonly author: Author;
  /** Set if the session must end when the server revokes this token. */
  readonly token?: ClaimToken;
};

export type Claims = ReturnType<typeof createClaims>;

type Deps = {
  readonly clock: Clock;
  readonly backplane: Backplane;
  readonly devices: ConnectorDevices;
  readonly clients: Pick<ClientVerifier, 'currentPermissions'>;
  readonly presence: PresenceStore;
};

/** The longest wait before the next attempt: another client may claim a free device first. */
const recheckMs = 1000;
/** The NATS client tries to reconnect within this time. */
const natsRetrySeconds = 5;

/** A device may move to another node during a request. */
const movesMax = 3;
/** If a device connected within this time, the server waits briefly and repeats its request. */
const recentlyMs = 2000;
const registrationWaitMs = 100;

/** The owner is a client and its point of sale; an organisation-wide client must send a `posId`. */
export function ownerOf(caller: Caller, posId: string | undefined): string {
  const { clientId, entityType, userId } = caller;
  if (entityType === 'tenant' && posId === undefined) throwFault('pos_id_required');
  // All portal users share one client, so each user is a separate point of sale.
  const clientAndUser = userId === undefined ? clientId : `${clientId}:${userId}`;
  return `${clientAndUser}/${posId ?? ''}`;
}

/** A user has individual rights, which the token verification checks. */
const isApplication = ({ userId }: Caller): boolean => userId === undefined;

const readRejection = (message: Message): ClaimRejection | undefined =>
  'code' in message ? (message as unknown as ClaimRejection) : undefined;

/** @example const claimedDevice = await claims.claim(posCaller, { tsn }, signal); */
export function createClaims({ clock, backplane, devices, clients, presence }: Deps) {
  /**
   * A token outlives the role of its application. Returns undefined if the application still has
   * the role.
   */
  async function findRoleFault(caller: Caller): Promise<RevocationReason | undefined> {
    if (!isApplication(caller)) return undefined;
    const permissions = await clients.currentPermissions(caller.organizationId, caller.clientId);
    if (permissions === undefined) return 'unauthorized';
    return permissions.includes('cc.pos') ? undefined : 'role_missing';
  }

  /** An unknown device and a device of another organisation or merchant give the same error. */
  async function requireDevice({ caller }: PosCaller, tsn: string): Promise<AssignedTerminal> {
    const fault = await findRoleFault(caller);
    if (fault !== undefined) throwFault(fault);
    const terminal = await devices.find(caller.organizationId, tsn);
    const isInScope = caller.merchantId === undefined || caller.merchantId === terminal?.merchantId;
    if (terminal === undefined || !isInScope) return throwFault('device_unknown');
    if (caller.storeId !== undefined && caller.storeId !== terminal.storeId)
      throwFault('wrong_store');
    return devices.requireUsable(terminal);
  }

  /** Resolves when the device changes, after a short time, or on abort. */
  function waitForChange(deviceKey: string, waitMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        unsubscribe();
        signal.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, Math.min(waitMs, recheckMs));
      const unsubscribe = backplane.subscribe(deviceTopic(deviceKey), done);
      signal.addEventListener('abort', done);
    });
  }

  async function requestOnce(
    device: AssignedTerminal,
    message: Message,
  ): Promise<Message | undefined> {
    try {
      return await backplane.request(deviceKeyOf(device), message);
    } catch (error) {
      if (!(error instanceof BackplaneError)) throw error;
      const { organizationId, physicalDeviceId } = device;
      const presenceNow = (await presence.find(organizationId, [physicalDeviceId])).get(
        physicalDeviceId,
      );
      if (presenceNow?.isOnline === true)
        throwFault('node_unreachable', { retryAfterSeconds: natsRetrySeconds });
      return undefined;
    }
  }

  /** The database may know a new connection before NATS does. */
  async function hasJustConnected(device: AssignedTerminal): Promise<boolean> {
    const { organizationId, physicalDeviceId } = device;
    const presenceNow = (await presence.find(organizationId, [physicalDeviceId])).get(
      physicalDeviceId,
    );
    return presenceNow?.isOnline === true && clock.now() - presenceNow.lastSeenAt < recentlyMs;
  }

  /** Sends a request to the node that has the device, even if the device moves in between. */
  async function requestFromDeviceNode(
    device: AssignedTerminal,
    message: Message,
  ): Promise<Message | undefined> {
    for (let attempt = 0; attempt < movesMax; attempt += 1) {
      const answer = await requestOnce(device, message);
      if (answer !== undefined && answer['moved'] !== true) return answer;
      if (answer === undefined) {
        if (!(await hasJustConnected(device))) return undefined;
        await waitForChange(deviceKeyOf(device), registrationWaitMs, new AbortController().signal);
      }
    }
    return undefined;
  }

  /** Returns undefined if no node answered. */
  async function releaseOnNode(
    { device, owner }: Pick<ClaimedDevice, 'device' | 'owner'>,
    sessionId: string,
    reason?: RevocationReason,
  ): Promise<boolean | undefined> {
    const releaseRequest = { kind: 'release', sessionId, owner, ...defined({ reason }) };
    const answer = await requestFromDeviceNode(device, releaseRequest);
    return answer === undefined ? undefined : answer['released'] === true;
  }

  const offlineRejection: ClaimRejection = { code: 'device_offline', retryAfterMs: 5000 };

  async function claimUntil(
    device: AssignedTerminal,
    claimRequest: ClaimRequest,
    waitUntil: number,
    signal: AbortSignal,
  ): Promise<ClaimResult> {
    const key = deviceKeyOf(device);
    for (;;) {
      const answer =
        (await requestFromDeviceNode(device, { kind: 'claim', ...claimRequest })) ??
        offlineRejection;
      const rejection = readRejection(answer as Message);
      if (rejection === undefined) return answer as unknown as ClaimResult;
      const remainingMs = waitUntil - clock.now();
      if (remainingMs <= 0 || signal.aborted || rejection.code === 'takeover_refused') {
        const retryAfterSeconds = Math.ceil(rejection.retryAfterMs / 1000);
        throw new ConnectorFault(rejection.code satisfies ConnectorFaultCode, {
          retryAfterSeconds,
        });
      }
      await waitForChange(key, remainingMs, signal);
    }
  }

  return {
    roleFault: findRoleFault,

    async claim(
      posCaller: PosCaller,
      options: ClaimOptions,
      signal: AbortSignal,
    ): Promise<ClaimedDevice> {
      const { caller, author, token } = posCaller;
      const owner = ownerOf(caller, options.posId);
      const device = await requireDevice(posCaller, options.tsn);
      const { organizationId, clientId } = caller;
      const claimRequest: ClaimRequest = {
        owner,
        organizationId,
        clientId,
        author,
        byRole: isApplication(caller),
        ...defined({ token }),
        takeOver: options.takeOver ?? false,
        force: options.force ?? false,
        ...defined({ resumeToken: options.resumeToken }),
      };
      const waitUntil = clock.now() + (options.waitSeconds ?? 0) * 1000;
      return { ...(await claimUntil(device, claimRequest, waitUntil, signal)), device, owner };
    },

    /** Returns the status of a usable device; throws a fault for any other device. */
    async status(posCaller: PosCaller, tsnOrSerial: string): Promise<DeviceStatus> {
      const device = await requireDevice(posCaller, tsnOrSerial);
      const { tsn, organizationId, physicalDeviceId } = device;
      const answer = await requestFromDeviceNode(device, { kind: 'status' });
      if (answer !== undefined) {
        const { online, claimed, lastSeenAt } = answer;
        return {
          tsn,
          online: online === true,
          claimed: claimed === true,
          lastSeenAt: Number(lastSeenAt),
        };
      }
      const presenceNow = (await presence.find(organizationId, [physicalDeviceId])).get(
        physicalDeviceId,
      );
      const at = defined({ lastSeenAt: presenceNow?.lastSeenAt });
      return { tsn, online: false, claimed: false, ...at };
    },

    /** Returns the device and the owner that a claim of this caller would have. */
    async findDeviceAndOwner(
      posCaller: PosCaller,
      { tsn, posId }: Pick<ClaimOptions, 'tsn' | 'posId'>,
    ): Promise<Pick<ClaimedDevice, 'device' | 'owner'>> {
      return {
        device: await requireDevice(posCaller, tsn),
        owner: ownerOf(posCaller.caller, posId),
      };
    },

    /** Informs the node of the device that the session now uses another token. */
    publishRenewedToken(
      { device, owner }: Pick<ClaimedDevice, 'device' | 'owner'>,
      sessionId: string,
      token: ClaimToken,
    ): void {
      backplane.publish(
        deviceTopic(deviceKeyOf(device)),
        tokenRenewedMessage(sessionId, owner, token),
      );
    },

    /** Returns false if the session has ended or never belonged to this owner. */
    async release(
      claimedDevice: Pick<ClaimedDevice, 'device' | 'owner'>,
      sessionId: string,
    ): Promise<boolean> {
      return (await releaseOnNode(claimedDevice, sessionId)) === true;
    },

    /**
     * Ends a session whose point of sale has lost its rights. Returns false if no node answered: a
     * node without NATS may still have the session.
     *
     * @param reason - the reason that the server sends to the point of sale
     */
    async revoke(
      claimedDevice: Pick<ClaimedDevice, 'device' | 'owner'>,
      sessionId: string,
      reason: RevocationReason,
    ): Promise<boolean> {
      return (await releaseOnNode(claimedDevice, sessionId, reason)) !== undefined;
    },

    /** True if the session continues, or if the server cannot find this out now. */
    async hasSession(
      { device, owner }: Pick<ClaimedDevice, 'device' | 'owner'>,
      sessionId: string,
    ): Promise<boolean> {
      try {
        return (
          (await requestFromDeviceNode(device, { kind: 'holds', sessionId, owner }))?.['holds'] ===
          true
        );
      } catch (error) {
        if (error instanceof ConnectorFault) return true;
        throw error;
      }
    },

    /**
     * Calls `onMessage` at each change of the device.
     *
     * @returns a function that ends the subscription
     */
    watch(device: AssignedTerminal, onMessage: (message: Message) => void): () => void {
      return backplane.subscribe(deviceTopic(deviceKeyOf(device)), onMessage);
    },
  };
}
