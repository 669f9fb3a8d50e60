// Creates the connector: WebSockets of devices and points of sale, and the messages between them.
import { connectorPaths } from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import type { AuditRecorder } from '../audit/index.ts';
import type { CertificateReader, VerifyToken, WebSocketUpgrades } from '../http/index.ts';
import type { CertificateHolder, ClientVerifier } from '../identity/index.ts';
import {
  type Clock,
  createPoller,
  type Database,
  type Ids,
  type Log,
  type Metrics,
  pause,
  type Tracer,
} from '../platform/index.ts';
import { createDeviceConnectionRoute } from './device-connections/accept-device-connection.ts';
import { createRegisterDevice } from './device-connections/authenticate-registration.ts';
import { createConnectionTokens } from './device-connections/connection-tokens.ts';
import { createRegistrationListener } from './device-connections/register-device-connection.ts';
import {
  type ConnectorDevicesDeps,
  createConnectorDevices,
} from './devices/check-device-access.ts';
import { createDeviceList } from './devices/device-list.ts';
import { registerDeviceListRoutes } from './devices/device-list-routes.ts';
import { createPresenceStore, leaseRenewalMs } from './devices/device-presence.ts';
import { createPresencePublisher } from './devices/presence-events.ts';
import type { MessageEndpoint } from './forwarding/forward-messages.ts';
import { createWebSocketConnections } from './forwarding/websocket-connections.ts';
import { BackplaneError, createLocalBackplane } from './nodes/backplane.ts';
import type { Nodes } from './nodes/index.ts';
import { createPosListener } from './pos/accept-control-connection.ts';
import { createSessionRoute } from './pos/accept-session-connection.ts';
import { createClaims } from './pos/claim-requests.ts';
import { createAuthorizationRecheck } from './recheck-authorizations.ts';
import { createConnectorMetrics } from './runtime/connector-metrics.ts';
import {
  type ConnectorSettings,
  type ConnectorTimes,
  connectorTimesOf,
} from './runtime/connector-settings.ts';
import { createDeviceRegistry } from './sessions/device-registry.ts';
import type { PosSessionConnection } from './sessions/session-addresses.ts';

export type { DevicePresence } from './devices/device-presence.ts';
export { presenceEvents } from './devices/presence-events.ts';
export type { MessageEndpoint } from './forwarding/forward-messages.ts';
export type { Backplane, Message } from './nodes/backplane.ts';
export { openNodes } from './nodes/index.ts';
export type { ClaimOptions, DeviceStatus, PosCaller } from './pos/claim-requests.ts';
export { createRetailApi, type RetailTimes, retailEvents } from './retail-api/index.ts';
export type { ConnectorSettings, ConnectorTimes } from './runtime/connector-settings.ts';

export type Connector = ReturnType<typeof createConnector>;

export type ConnectorDeps = {
  readonly settings: ConnectorSettings;
  readonly masterKey: Buffer;
  readonly database: Database;
  readonly verifyToken: VerifyToken;
  readonly certificates: CertificateReader<CertificateHolder>;
  readonly clients: ClientVerifier;
  readonly provisioning: ConnectorDevicesDeps['provisioning'];
  readonly catalog: ConnectorDevicesDeps['catalog'];
  readonly audit: Pick<AuditRecorder, 'record'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly tracer?: Tracer | undefined;
  /** Omitted if this node is the only one. */
  readonly nodes?: Nodes | undefined;
  /** Times that replace the defaults of the protocol. */
  readonly times?: Partial<ConnectorTimes> | undefined;
};

type RepeatedTask = { pollMs: number; work(): Promise<void>; onError(error: unknown): void };

type RecheckOptions = {
  readonly roundMs: number;
  readonly now: () => number;
  readonly signal: AbortSignal;
  readonly onError: (text: string) => (error: unknown) => void;
};

/** Repeats the work with a pause after each run, even if there is more to do. */
const createRepeatedTask = ({ pollMs, work, onError }: RepeatedTask) =>
  createPoller({
    pollMs,
    onError,
    async poll() {
      await work();
      return false;
    },
  });

/** Creates the pollers that recheck devices and points of sale. */
function createRechecks(
  {
    posListener,
    ...recheckDeps
  }: Pick<
    Parameters<typeof createAuthorizationRecheck>[0],
    'devices' | 'clients' | 'deviceRegistry'
  > & {
    readonly posListener: Pick<ReturnType<typeof createPosListener>, 'recheck'>;
  },
  { roundMs, now, signal, onError }: RecheckOptions,
) {
  return [
    createAuthorizationRecheck({
      ...recheckDeps,
      roundMs,
      now,
      signal,
      pause: (ms: number) => pause(ms, signal),
      onError: onError('the server could not recheck the devices'),
    }),
    createRepeatedTask({
      pollMs: roundMs,
      work: posListener.recheck,
      onError: onError('the server could not recheck the connections of points of sale'),
    }),
  ];
}

/** @example const connector = createConnector(deps); connector.register(http.upgrades); connector.start(); */
export function createConnector(deps: ConnectorDeps) {
  const { settings, clock, log, clients, nodes } = deps;
  const backplane = nodes?.backplane ?? createLocalBackplane();
  const remoteSessions = nodes?.remoteSessions;
  const times = connectorTimesOf(settings, deps.times);
  const node = settings.instanceName;
  const metrics = createConnectorMetrics(deps.metrics);
  const webSockets = createWebSocketConnections({ clock, log, metrics: deps.metrics, times });
  const devices = createConnectorDevices(deps);
  const presence = createPresenceStore({ database: deps.database, clock, node });
  const sessionsUrl = settings.connectorNodeUrl.replace(/^http/, 'ws') + connectorPaths.sessions;
  const addressOf = (sessionId: string) => `${sessionsUrl}/${sessionId}`;
  const deviceRegistry = createDeviceRegistry({
    ...deps,
    times,
    backplane,
    presence,
    metrics,
    remoteSessions,
    sessionUrlOf: addressOf,
  });
  const tokenLifeMs = times.connectionTokenMs;
  const tokens = createConnectionTokens({
    masterKey: deps.masterKey,
    clock,
    node,
    issuer: settings.baseUrl,
    lifeMs: tokenLifeMs,
  });
  const claims = createClaims({ clock, backplane, devices, clients, presence });
  const sharedDeps = { ...deps, webSockets, times, metrics };
  const registerDevice = createRegisterDevice({ devices, clients });
  const { sign } = tokens;
  const deviceListener = createRegistrationListener({
    ...sharedDeps,
    presence,
    register: registerDevice,
    sign,
  });
  const posListener = createPosListener({ ...sharedDeps, claims });
  const stopping = new AbortController();
  const { signal } = stopping;
  const onError = (text: string) => (error: unknown) => log.error({ err: error }, text);
  const onDisconnectError = onError('the server could not store that a device disconnected');
  const recheckTargets = { devices, clients, deviceRegistry, posListener };
  const pollers = [
    ...createRechecks(recheckTargets, {
      roundMs: times.recheckMs,
      now: clock.now,
      signal,
      onError,
    }),
    createRepeatedTask({
      pollMs: leaseRenewalMs,
      work: () => presence.renew(deviceRegistry.connectedDevices()).then(deviceRegistry.reconcile),
      onError: onError('the server could not renew the presence of its devices'),
    }),
    createPresencePublisher({ database: deps.database, clock, log, times }),
  ];
  let tickTimer: NodeJS.Timeout | undefined;
  nodes?.onConnectionChange(onNodesChange);

  function onNodesChange(isUp: boolean): void {
    if (isUp)
      deviceRegistry
        .reconcile()
        .catch(onError('the server could not compare its devices with other nodes'));
  }

  function tick(): void {
    const now = clock.now();
    for (const part of [webSockets, deviceRegistry, deviceListener, posListener]) part.tick(now);
    remoteSessions?.tick(now);
  }

  return {
    /** True if this node reaches the other nodes; undefined if it is the only node. */
    nodesAreUp: () => nodes?.isUp(),
    /** The operations of a POS control connection, for callers in this process. */
    claims,
    presence,
    backplane,
    /** Connects a POS of this process to a session on any node; returns undefined if this fails. */
    async joinSession(
      sessionId: string,
      end: MessageEndpoint,
    ): Promise<PosSessionConnection | undefined> {
      if (deviceRegistry.useAddress(sessionId)) return deviceRegistry.join(sessionId, end);
      if (remoteSessions === undefined || deviceRegistry.hasSession(sessionId)) return undefined;
      try {
        return (await remoteSessions.useAddress(sessionId, undefined))?.(end);
      } catch (error) {
        if (error instanceof BackplaneError) return undefined;
        throw error;
      }
    },
    /** Registers the routes that show the connected devices to operators. */
    registerDeviceRoutes(app: FastifyInstance): void {
      registerDeviceListRoutes(
        app,
        createDeviceList({ database: deps.database, clock, backplane }),
      );
    },
    register(upgrades: Pick<WebSocketUpgrades, 'add'>): void {
      upgrades.add(deviceListener.route);
      upgrades.add(posListener.route);
      upgrades.add(
        createSessionRoute({
          settings,
          webSockets,
          deviceRegistry,
          remoteSessions,
          tracer: deps.tracer,
        }),
      );
      upgrades.add(
        createDeviceConnectionRoute({
          verify: tokens.verify,
          devices,
          clients,
          presence,
          webSockets,
          deviceRegistry,
          onDisconnectError,
        }),
      );
    },
    start(): void {
      tickTimer = setInterval(tick, times.tickMs);
      for (const { start } of pollers) start();
    },
    /**
     * Closes all connections, so that the peers reconnect elsewhere. The HTTP server must refuse
     * new handshakes before this call.
     */
    async stop(): Promise<void> {
      clearInterval(tickTimer);
      stopping.abort();
      await Promise.all(pollers.map(({ stop }) => stop()));
      await posListener.stop();
      await webSockets.stop();
      await deviceRegistry.waitForIdle();
      await backplane.close();
    },
  };
}
