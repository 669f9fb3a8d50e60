// Rechecks the rights of connected devices and clients, and disconnects those that lost them.
import { closeCodes } from '@switchyard/contract';
import type { ClientVerifier } from '../identity/index.ts';
import { createPoller, type Poller } from '../platform/index.ts';
import { mayRegister } from './device-connections/device-registration.ts';
import type { ConnectorDevices } from './devices/connector-devices.ts';
import {
  closeCodeForFault,
  type RevocationReason,
  sessionEndForRevocation,
} from './protocol/connector-fault.ts';
import type { ConnectedTerminal, DeviceRegistry } from './sessions/device-registry.ts';
import type { Claimant } from './sessions/session.ts';

type Deps = {
  readonly devices: Pick<ConnectorDevices, 'findFaults'>;
  readonly clients: Pick<
    ClientVerifier,
    'currentPermissions' | 'currentPermissionsOfToken' | 'findActiveCertificates'
  >;
  readonly deviceRegistry: Pick<
    DeviceRegistry,
    'connectedDevices' | 'disconnectDevice' | 'claimants' | 'endSessions'
  >;
  readonly now: () => number;
  /** A round is spread over this time, and the next round follows it. */
  readonly roundMs: number;
  /** Ends early when the process stops. */
  readonly rest: (ms: number) => Promise<void>;
  readonly signal: AbortSignal;
  readonly onError: (error: unknown) => void;
};

/** The maximum number of devices in one query. */
const portion = 500;
/** The number of client checks in parallel; the cache answers most of them. */
const atOnce = 4;

/** @throws if some checks failed, after all others have run */
async function inTurns<Item>(items: readonly Item[], look: (item: Item) => Promise<void>) {
  const causes: unknown[] = [];
  const note = (cause: unknown) => void causes.push(cause);
  for (let from = 0; from < items.length; from += atOnce) {
    await Promise.all(items.slice(from, from + atOnce).map((item) => look(item).catch(note)));
  }
  const faults = causes.length;
  if (faults > 0) throw new Error(`${faults} could not be looked at`, { cause: causes.at(-1) });
}

/** @example createRecheck({ devices, clients, hub, now, roundMs, rest, signal, onError }).start(); */
export function createRecheck({
  devices,
  clients,
  deviceRegistry,
  now,
  roundMs,
  rest,
  signal,
  onError,
}: Deps): Poller {
  /**
   * Tokens that one round found invalid. A message about a newer token of the session may arrive
   * before the next round.
   */
  const fallenTokens = new Set<string>();

  /** Returns the applications of these devices that are disabled or have lost their role. */
  async function fallenOf(
    some: readonly ConnectedTerminal[],
    note: (cause: unknown) => void,
  ): Promise<ReadonlyMap<string, RevocationReason>> {
    const named = some.flatMap(({ device: { organizationId }, clientId }) =>
      clientId === undefined ? [] : [[`${organizationId}/${clientId}`, organizationId, clientId]],
    );
    const fallen = new Map<string, RevocationReason>();
    const each = new Map(named.map((one) => [one[0], one] as const));
    await inTurns([...each.values()], async ([name = '', organizationId = '', clientId = '']) => {
      const permissions = await clients.currentPermissions(organizationId, clientId);
      if (permissions === undefined) fallen.set(name, 'unauthorized');
      else if (!mayRegister(permissions)) fallen.set(name, 'role_missing');
    }).catch(note);
    return fallen;
  }

  /** Checks all of these devices with a few queries. */
  async function lookAt(
    some: readonly ConnectedTerminal[],
    note: (cause: unknown) => void,
  ): Promise<void> {
    const bound = some.flatMap(({ device: { organizationId }, thumbprint }) =>
      thumbprint === undefined ? [] : { organizationId, thumbprint },
    );
    const good = await clients.findActiveCertificates(bound);
    const fallen = await fallenOf(some, note);
    const faults = await devices.findFaults(some.map(({ device }) => device));
    for (const { device, connectionId, thumbprint, clientId } of some) {
      const isProven = thumbprint === undefined || good.has(thumbprint);
      const word = isProven
        ? (fallen.get(`${device.organizationId}/${clientId}`) ?? faults.get(device))
        : 'unauthorized';
      if (word === undefined) continue;
      // A device with a new assignment may reconnect with the credentials of that assignment.
      const code = word === 'moved' ? closeCodes.restarting : closeCodeForFault(word);
      deviceRegistry.disconnectDevice(device, connectionId, { code, reason: word });
    }
  }

  async function lookAtClients(): Promise<void> {
    const claimants = new Map(
      deviceRegistry
        .claimants()
        .map((claimant) => [`${claimant.organizationId}/${claimant.clientId}`, claimant]),
    );
    await inTurns([...claimants.values()], async ({ organizationId, clientId, byRole }) => {
      const permissions = await clients.currentPermissions(organizationId, clientId);
      const isLost = byRole === true && permissions?.includes('cc.pos') === false;
      if (permissions !== undefined && !isLost) return;
      const word: RevocationReason = isLost ? 'role_missing' : 'unauthorized';
      const isOfClient = (claimant: Claimant) =>
        claimant.organizationId === organizationId && claimant.clientId === clientId;
      deviceRegistry.endSessions(isOfClient, sessionEndForRevocation(word));
    });
  }

  /** Includes sessions without a control connection, which no other check covers. */
  async function lookAtTokens(): Promise<void> {
    const held = deviceRegistry.claimants().flatMap(({ token }) => token ?? []);
    // An expired token was valid before, so its sessions continue.
    const good = held.filter(({ expiresAt }) => now() < expiresAt);
    const each = new Map(good.map((token) => [token.tokenId, token]));
    for (const tokenId of fallenTokens) if (!each.has(tokenId)) fallenTokens.delete(tokenId);
    await inTurns([...each.values()], async (token) => {
      const { tokenId } = token;
      const permissions = await clients.currentPermissionsOfToken(token);
      if (permissions?.includes('cc.pos') === true) {
        fallenTokens.delete(tokenId);
        return;
      }
      if (!fallenTokens.has(tokenId)) {
        fallenTokens.add(tokenId);
        return;
      }
      const word: RevocationReason = permissions === undefined ? 'unauthorized' : 'role_missing';
      deviceRegistry.endSessions(
        (claimant) => claimant.token?.tokenId === tokenId,
        sessionEndForRevocation(word),
      );
    });
  }

  async function round(): Promise<void> {
    let began = performance.now();
    const causes: unknown[] = [];
    const note = (cause: unknown) => void causes.push(cause);
    await lookAtClients().catch(note);
    await lookAtTokens().catch(note);
    const all = deviceRegistry.connectedDevices();
    const portions = Math.max(1, Math.ceil(all.length / portion));
    for (let at = 0; at < portions && !signal.aborted; at += 1) {
      await lookAt(all.slice(at * portion, (at + 1) * portion), note).catch(note);
      // The rest after the last portion is part of the round, so each round checks each device
      // once.
      await rest(Math.max(0, roundMs / portions - (performance.now() - began)));
      began = performance.now();
    }
    // The round reports faults and throws none, so that they do not delay the next round.
    const faults = causes.length;
    if (faults > 0) onError(new Error(`${faults} looks met a fault`, { cause: causes.at(-1) }));
  }

  return createPoller({
    pollMs: roundMs,
    onError,
    async poll() {
      await round();
      return !signal.aborted;
    },
  });
}
