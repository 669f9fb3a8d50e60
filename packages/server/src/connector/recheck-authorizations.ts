// Rechecks the rights of connected devices and clients, and disconnects those that lost them.
import { closeCodes } from '@switchyard/contract';
import type { ClientVerifier } from '../identity/index.ts';
import { createPoller, type Poller } from '../platform/index.ts';
import { mayRegister } from './device-connections/authenticate-registration.ts';
import type { ConnectorDevices } from './devices/check-device-access.ts';
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
  readonly pause: (ms: number) => Promise<void>;
  readonly signal: AbortSignal;
  readonly onError: (error: unknown) => void;
};

/** The maximum number of devices in one query. */
const devicesPerQuery = 500;
/** The number of client checks in parallel; the cache answers most of them. */
const parallelChecks = 4;

/** @throws if some checks failed, after all others have run */
async function checkAll<Item>(items: readonly Item[], check: (item: Item) => Promise<void>) {
  const errors: unknown[] = [];
  const recordError = (cause: unknown) => void errors.push(cause);
  for (let from = 0; from < items.length; from += parallelChecks) {
    await Promise.all(
      items.slice(from, from + parallelChecks).map((item) => check(item).catch(recordError)),
    );
  }
  const failedCount = errors.length;
  if (failedCount > 0) throw new Error(`${failedCount} checks failed`, { cause: errors.at(-1) });
}

/** @example createAuthorizationRecheck({ devices, clients, deviceRegistry, now, roundMs, pause, signal, onError }).start(); */
export function createAuthorizationRecheck({
  devices,
  clients,
  deviceRegistry,
  now,
  roundMs,
  pause,
  signal,
  onError,
}: Deps): Poller {
  /**
   * Tokens that one round found invalid. A message about a newer token of the session may arrive
   * before the next round.
   */
  const invalidTokens = new Set<string>();

  /** Returns the applications of these devices that are disabled or have lost their role. */
  async function findInvalidClients(
    devicesInPortion: readonly ConnectedTerminal[],
    recordError: (cause: unknown) => void,
  ): Promise<ReadonlyMap<string, RevocationReason>> {
    const clientKeys = devicesInPortion.flatMap(({ device: { organizationId }, clientId }) =>
      clientId === undefined ? [] : [[`${organizationId}/${clientId}`, organizationId, clientId]],
    );
    const invalidClients = new Map<string, RevocationReason>();
    const byKey = new Map(clientKeys.map((one) => [one[0], one] as const));
    await checkAll([...byKey.values()], async ([name = '', organizationId = '', clientId = '']) => {
      const permissions = await clients.currentPermissions(organizationId, clientId);
      if (permissions === undefined) invalidClients.set(name, 'unauthorized');
      else if (!mayRegister(permissions)) invalidClients.set(name, 'role_missing');
    }).catch(recordError);
    return invalidClients;
  }

  /** Checks all of these devices with a few queries. */
  async function recheckDevices(
    devicesInPortion: readonly ConnectedTerminal[],
    recordError: (cause: unknown) => void,
  ): Promise<void> {
    const certificates = devicesInPortion.flatMap(({ device: { organizationId }, thumbprint }) =>
      thumbprint === undefined ? [] : { organizationId, thumbprint },
    );
    const valid = await clients.findActiveCertificates(certificates);
    const invalidClients = await findInvalidClients(devicesInPortion, recordError);
    const faultsByDevice = await devices.findFaults(devicesInPortion.map(({ device }) => device));
    for (const { device, connectionId, thumbprint, clientId } of devicesInPortion) {
      const hasValidCertificate = thumbprint === undefined || valid.has(thumbprint);
      const reason = hasValidCertificate
        ? (invalidClients.get(`${device.organizationId}/${clientId}`) ?? faultsByDevice.get(device))
        : 'unauthorized';
      if (reason === undefined) continue;
      // A device with a new assignment may reconnect with the credentials of that assignment.
      const code = reason === 'moved' ? closeCodes.restarting : closeCodeForFault(reason);
      deviceRegistry.disconnectDevice(device, connectionId, { code, reason });
    }
  }

  async function recheckClients(): Promise<void> {
    const claimants = new Map(
      deviceRegistry
        .claimants()
        .map((claimant) => [`${claimant.organizationId}/${claimant.clientId}`, claimant]),
    );
    await checkAll([...claimants.values()], async ({ organizationId, clientId, byRole }) => {
      const permissions = await clients.currentPermissions(organizationId, clientId);
      const hasLostRole = byRole === true && permissions?.includes('cc.pos') === false;
      if (permissions !== undefined && !hasLostRole) return;
      const reason: RevocationReason = hasLostRole ? 'role_missing' : 'unauthorized';
      const isOfClient = (claimant: Claimant) =>
        claimant.organizationId === organizationId && claimant.clientId === clientId;
      deviceRegistry.endSessions(isOfClient, sessionEndForRevocation(reason));
    });
  }

  /** Includes sessions without a control connection, which no other check covers. */
  async function recheckTokens(): Promise<void> {
    const claimTokens = deviceRegistry.claimants().flatMap(({ token }) => token ?? []);
    // An expired token was valid before, so its sessions continue.
    const valid = claimTokens.filter(({ expiresAt }) => now() < expiresAt);
    const byKey = new Map(valid.map((token) => [token.tokenId, token]));
    for (const tokenId of invalidTokens) if (!byKey.has(tokenId)) invalidTokens.delete(tokenId);
    await checkAll([...byKey.values()], async (token) => {
      const { tokenId } = token;
      const permissions = await clients.currentPermissionsOfToken(token);
      if (permissions?.includes('cc.pos') === true) {
        invalidTokens.delete(tokenId);
        return;
      }
      if (!invalidTokens.has(tokenId)) {
        invalidTokens.add(tokenId);
        return;
      }
      const reason: RevocationReason = permissions === undefined ? 'unauthorized' : 'role_missing';
      deviceRegistry.endSessions(
        (claimant) => claimant.token?.tokenId === tokenId,
        sessionEndForRevocation(reason),
      );
    });
  }

  async function runRound(): Promise<void> {
    let startedAt = performance.now();
    const errors: unknown[] = [];
    const recordError = (cause: unknown) => void errors.push(cause);
    await recheckClients().catch(recordError);
    await recheckTokens().catch(recordError);
    const all = deviceRegistry.connectedDevices();
    const portionCount = Math.max(1, Math.ceil(all.length / devicesPerQuery));
    for (let at = 0; at < portionCount && !signal.aborted; at += 1) {
      await recheckDevices(
        all.slice(at * devicesPerQuery, (at + 1) * devicesPerQuery),
        recordError,
      ).catch(recordError);
      // The rest after the last portion is part of the round, so each round checks each device
      // once.
      await pause(Math.max(0, roundMs / portionCount - (performance.now() - startedAt)));
      startedAt = performance.now();
    }
    // The round reports faults and throws none, so that they do not delay the next round.
    const failedCount = errors.length;
    if (failedCount > 0)
      onError(new Error(`${failedCount} checks failed`, { cause: errors.at(-1) }));
  }

  return createPoller({
    pollMs: roundMs,
    onError,
    async poll() {
      await runRound();
      return !signal.aborted;
    },
  });
}
