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
} from '../devices/connector-devices.ts';
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
export type Wanted = {
  readonly tsn: string;
  readonly posId?: string | undefined;
  readonly waitSeconds?: number | undefined;
  readonly takeOver?: boolean | undefined;
  readonly force?: boolean | undefined;
  readonly resumeToken?: string | undefined;
};

export type Got = ClaimResult & { readonly device: AssignedTerminal; readonly owner: string };

export type DeviceState = {
  readonly tsn: string;
  readonly online: boolean;
  readonly claimed: boolean;
  readonly lastSeenAt?: number;
};

/** The caller of a request, with the author for the audit log. */
export type Asking = {
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
const lookAgainMs = 1000;
/** The NATS client tries to reconnect within this time. */
const awaySeconds = 5;

/** A device may move to another node during a request. */
const movesMax = 3;
/** If a device connected within this time, the server waits briefly and repeats its request. */
const justMs = 2000;
const arriveMs = 100;

/** The owner is a client and its point of sale; an organisation-wide client must send a `posId`. */
export function ownerOf(caller: Caller, posId: string | undefined): string {
  const { clientId, entityType, userId } = caller;
  if (entityType === 'tenant' && posId === undefined) throwFault('pos_id_required');
  // All portal users share one client, so each user is a separate point of sale.
  const who = userId === undefined ? clientId : `${clientId}:${userId}`;
  return `${who}/${posId ?? ''}`;
}

/** A user has individual rights, which the token verification checks. */
const isApplication = ({ userId }: Caller): boolean => userId === undefined;

const refusedBy = (message: Message): ClaimRejection | undefined =>
  'code' in message ? (message as unknown as ClaimRejection) : undefined;

/** @example const got = await claims.claim(asking, { tsn }, signal); */
export function createClaims({ clock, backplane, devices, clients, presence }: Deps) {
  /**
   * A token outlives the role of its application. Returns undefined if the application still has
   * the role.
   */
  async function roleFault(caller: Caller): Promise<RevocationReason | undefined> {
    if (!isApplication(caller)) return undefined;
    const permissions = await clients.currentPermissions(caller.organizationId, caller.clientId);
    if (permissions === undefined) return 'unauthorized';
    return permissions.includes('cc.pos') ? undefined : 'role_missing';
  }

  /** An unknown device and a device of another organisation or merchant give the same error. */
  async function deviceOf({ caller }: Asking, tsn: string): Promise<AssignedTerminal> {
    const fault = await roleFault(caller);
    if (fault !== undefined) throwFault(fault);
    const found = await devices.find(caller.organizationId, tsn);
    const isIn = caller.merchantId === undefined || caller.merchantId === found?.merchantId;
    if (found === undefined || !isIn) return throwFault('device_unknown');
    if (caller.storeId !== undefined && caller.storeId !== found.storeId) throwFault('wrong_store');
    return devices.requireUsable(found);
  }

  /** Resolves when the device changes, after a short time, or on abort. */
  function news(deviceKey: string, waitMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        end();
        signal.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, Math.min(waitMs, lookAgainMs));
      const end = backplane.subscribe(deviceTopic(deviceKey), done);
      signal.addEventListener('abort', done);
    });
  }

  async function askOnce(device: AssignedTerminal, message: Message): Promise<Message | undefined> {
    try {
      return await backplane.request(deviceKeyOf(device), message);
    } catch (error) {
      if (!(error instanceof BackplaneError)) throw error;
      const { organizationId, physicalDeviceId } = device;
      const seen = (await presence.find(organizationId, [physicalDeviceId])).get(physicalDeviceId);
      if (seen?.isOnline === true)
        throwFault('node_unreachable', { retryAfterSeconds: awaySeconds });
      return undefined;
    }
  }

  /** The database may know a new connection before NATS does. */
  async function hasJustConnected(device: AssignedTerminal): Promise<boolean> {
    const { organizationId, physicalDeviceId } = device;
    const seen = (await presence.find(organizationId, [physicalDeviceId])).get(physicalDeviceId);
    return seen?.isOnline === true && clock.now() - seen.lastSeenAt < justMs;
  }

  /** Sends a request to the node that has the device, even if the device moves in between. */
  async function ask(device: AssignedTerminal, message: Message): Promise<Message | undefined> {
    for (let turn = 0; turn < movesMax; turn += 1) {
      const answer = await askOnce(device, message);
      if (answer !== undefined && answer['moved'] !== true) return answer;
      if (answer === undefined) {
        if (!(await hasJustConnected(device))) return undefined;
        await news(deviceKeyOf(device), arriveMs, new AbortController().signal);
      }
    }
    return undefined;
  }

  /** Returns undefined if no node answered. */
  async function releaseAt(
    { device, owner }: Pick<Got, 'device' | 'owner'>,
    sessionId: string,
    word?: RevocationReason,
  ): Promise<boolean | undefined> {
    const asked = { kind: 'release', sessionId, owner, ...defined({ word }) };
    const answer = await ask(device, asked);
    return answer === undefined ? undefined : answer['released'] === true;
  }

  const offline: ClaimRejection = { code: 'device_offline', retryAfterMs: 5000 };

  async function claimUntil(
    device: AssignedTerminal,
    asked: ClaimRequest,
    until: number,
    signal: AbortSignal,
  ): Promise<ClaimResult> {
    const key = deviceKeyOf(device);
    for (;;) {
      const answer = (await ask(device, { kind: 'claim', ...asked })) ?? offline;
      const refused = refusedBy(answer as Message);
      if (refused === undefined) return answer as unknown as ClaimResult;
      const left = until - clock.now();
      if (left <= 0 || signal.aborted || refused.code === 'takeover_refused') {
        const retryAfterSeconds = Math.ceil(refused.retryAfterMs / 1000);
        throw new ConnectorFault(refused.code satisfies ConnectorFaultCode, { retryAfterSeconds });
      }
      await news(key, left, signal);
    }
  }

  return {
    roleFault,

    async claim(asking: Asking, wanted: Wanted, signal: AbortSignal): Promise<Got> {
      const { caller, author, token } = asking;
      const owner = ownerOf(caller, wanted.posId);
      const device = await deviceOf(asking, wanted.tsn);
      const { organizationId, clientId } = caller;
      const asked: ClaimRequest = {
        owner,
        organizationId,
        clientId,
        author,
        byRole: isApplication(caller),
        ...defined({ token }),
        takeOver: wanted.takeOver ?? false,
        force: wanted.force ?? false,
        ...defined({ resumeToken: wanted.resumeToken }),
      };
      const until = clock.now() + (wanted.waitSeconds ?? 0) * 1000;
      return { ...(await claimUntil(device, asked, until, signal)), device, owner };
    },

    /** Returns the status of a usable device; throws a fault for any other device. */
    async status(asking: Asking, named: string): Promise<DeviceState> {
      const device = await deviceOf(asking, named);
      const { tsn, organizationId, physicalDeviceId } = device;
      const answer = await ask(device, { kind: 'status' });
      if (answer !== undefined) {
        const { online, claimed, lastSeenAt } = answer;
        const seen = { lastSeenAt: Number(lastSeenAt) };
        return { tsn, online: online === true, claimed: claimed === true, ...seen };
      }
      const seen = (await presence.find(organizationId, [physicalDeviceId])).get(physicalDeviceId);
      const at = defined({ lastSeenAt: seen?.lastSeenAt });
      return { tsn, online: false, claimed: false, ...at };
    },

    /** Returns the device and the owner that a claim of this caller would have. */
    async own(
      asking: Asking,
      { tsn, posId }: Pick<Wanted, 'tsn' | 'posId'>,
    ): Promise<Pick<Got, 'device' | 'owner'>> {
      return { device: await deviceOf(asking, tsn), owner: ownerOf(asking.caller, posId) };
    },

    /** Informs the node of the device that the session now uses another token. */
    renewed(
      { device, owner }: Pick<Got, 'device' | 'owner'>,
      sessionId: string,
      token: ClaimToken,
    ): void {
      backplane.publish(
        deviceTopic(deviceKeyOf(device)),
        tokenRenewedMessage(sessionId, owner, token),
      );
    },

    /** Returns false if the session has ended or never belonged to this owner. */
    async release(got: Pick<Got, 'device' | 'owner'>, sessionId: string): Promise<boolean> {
      return (await releaseAt(got, sessionId)) === true;
    },

    /**
     * Ends a session whose point of sale has lost its rights. Returns false if no node answered: a
     * node without NATS may still have the session.
     *
     * @param word - the reason that the server sends to the point of sale
     */
    async cut(
      got: Pick<Got, 'device' | 'owner'>,
      sessionId: string,
      word: RevocationReason,
    ): Promise<boolean> {
      return (await releaseAt(got, sessionId, word)) !== undefined;
    },

    /** True if the session continues, or if the server cannot find this out now. */
    async holds(
      { device, owner }: Pick<Got, 'device' | 'owner'>,
      sessionId: string,
    ): Promise<boolean> {
      try {
        return (await ask(device, { kind: 'holds', sessionId, owner }))?.['holds'] === true;
      } catch (error) {
        if (error instanceof ConnectorFault) return true;
        throw error;
      }
    },

    /**
     * Calls `heard` at each change of the device.
     *
     * @returns a function that ends the subscription
     */
    watch(device: AssignedTerminal, heard: (message: Message) => void): () => void {
      return backplane.subscribe(deviceTopic(deviceKeyOf(device)), heard);
    },
  };
}
