// Accepts the second, permanent connection of a device, which carries the session data.
import { connectorLimits, connectorPaths, throwProblem } from '@switchyard/contract';
import { errors } from 'jose';
import type { Handshake, WebSocketRoute } from '../../http/index.ts';
import type { ClientVerifier } from '../../identity/index.ts';
import type { AssignedTerminal, ConnectorDevices } from '../devices/check-device-access.ts';
import type { PresenceStore } from '../devices/device-presence.ts';
import type { WebSocketConnections } from '../forwarding/websocket-connections.ts';
import { ConnectorFault } from '../protocol/connector-fault.ts';
import type { DeviceRegistry } from '../sessions/device-registry.ts';
import { mayRegister } from './authenticate-registration.ts';
import type { ConnectionTokenClaims } from './connection-tokens.ts';

type Deps = {
  readonly verify: (token: string) => Promise<ConnectionTokenClaims>;
  readonly devices: ConnectorDevices;
  readonly clients: Pick<ClientVerifier, 'currentPermissions'>;
  readonly presence: PresenceStore;
  readonly webSockets: WebSocketConnections;
  readonly deviceRegistry: DeviceRegistry;
  readonly onDisconnectError: (error: unknown) => void;
};

/** @example http.upgrades.add(createDeviceConnectionRoute(deps)); */
export function createDeviceConnectionRoute(deps: Deps): WebSocketRoute {
  const { devices, clients, presence, webSockets, deviceRegistry } = deps;

  async function requireActiveApplication(organizationId: string, clientId: string): Promise<void> {
    const permissions = await clients.currentPermissions(organizationId, clientId);
    if (permissions === undefined) {
      throwProblem(
        'token_invalid',
        'The application with which the device registered is disabled.',
      );
    } else if (!mayRegister(permissions)) {
      throwProblem(
        'role_missing',
        'The application with which the device registered no longer has the role Point-of-sale Terminal.',
      );
    }
  }

  async function verifyConnectionToken({
    token,
    key,
    presentedCertificate,
  }: Handshake): Promise<ConnectionTokenClaims> {
    let connectionClaims: ConnectionTokenClaims;
    try {
      connectionClaims = await deps.verify(token ?? '');
    } catch (error) {
      if (error instanceof errors.JWTExpired)
        throwProblem('token_expired', 'The token has expired.');
      if (error instanceof errors.JOSEError)
        throwProblem('token_invalid', 'The token is not valid.');
      throw error;
    }
    const { connectionId, thumbprint, clientId, organizationId } = connectionClaims;
    if (connectionId !== key)
      throwProblem(
        'token_invalid',
        'The token belongs to another connection. Register the device again.',
      );
    if (thumbprint !== undefined && thumbprint !== (await presentedCertificate.thumbprint())) {
      throwProblem('token_invalid', 'The token is bound to another certificate.');
    }
    if (clientId !== undefined) await requireActiveApplication(organizationId, clientId);
    return connectionClaims;
  }

  async function requireDevice({
    organizationId,
    physicalDeviceId,
    logicalDeviceId,
  }: ConnectionTokenClaims): Promise<AssignedTerminal> {
    let device: AssignedTerminal;
    try {
      device = await devices.requireUsable(await devices.find(organizationId, physicalDeviceId));
    } catch (error) {
      if (!(error instanceof ConnectorFault)) throw error;
      return throwProblem(
        'device_not_active',
        'The device, its store or its merchant is disabled, or the Cloud Connector is not active for it.',
      );
    }
    if (device.logicalDeviceId === logicalDeviceId) return device;
    return throwProblem(
      'session_gone',
      'The device was assigned to another store after it registered. Register it again.',
    );
  }

  return {
    path: `${connectorPaths.deviceConnections}/:key`,
    bearer: 'own',
    maxMessageBytes: connectorLimits.messageMaxBytes,
    isOnDeviceListener: true,
    async accept(handshake) {
      const connectionClaims = await verifyConnectionToken(handshake);
      const device = await requireDevice(connectionClaims);
      const { connectionId, order } = connectionClaims;
      if (!(await presence.connect(device, { connectionId, order }))) {
        throwProblem(
          'session_gone',
          'The connection was already used, or the device has a newer one. Register the device again.',
        );
      }
      const { id } = handshake;
      return {
        onOpen(socket, rawSocket) {
          deviceRegistry.addConnection(
            device,
            webSockets.add(socket, 'device', id, rawSocket),
            connectionClaims,
          );
        },
        onAbort() {
          presence.disconnect(device, connectionId).catch(deps.onDisconnectError);
        },
      };
    },
  };
}
