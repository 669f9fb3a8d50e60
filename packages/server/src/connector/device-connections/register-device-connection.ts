// Accepts the first connection of a device, which registers it and returns an address and a token.
import {
  closeCodes,
  connectorLimits,
  connectorPaths,
  ProblemError,
  type RegisteredMessage,
} from '@switchyard/contract';
import type {
  AcceptedUpgrade,
  CertificateReader,
  Handshake,
  WebSocketRoute,
} from '../../http/index.ts';
import type { CertificateHolder } from '../../identity/index.ts';
import { type Clock, type Ids, type Log, subscriberNetwork } from '../../platform/index.ts';
import type { PresenceStore } from '../devices/device-presence.ts';
import type {
  WebSocketConnection,
  WebSocketConnections,
} from '../forwarding/websocket-connections.ts';
import {
  ConnectorFault,
  closeCodeForFault,
  errorMessageText,
} from '../protocol/connector-fault.ts';
import type { ConnectorMetrics } from '../runtime/connector-metrics.ts';
import type { ConnectorSettings, ConnectorTimes } from '../runtime/connector-settings.ts';
import { createTokenBuckets } from '../runtime/token-bucket.ts';
import {
  type RegisterDevice,
  readDeviceCertificate,
  readRegistration,
} from './authenticate-registration.ts';
import type { ConnectionTokenClaims } from './connection-tokens.ts';

type Deps = {
  readonly settings: Pick<
    ConnectorSettings,
    'connectorConnections' | 'connectorNodeUrl' | 'deviceAuthUrl'
  >;
  readonly certificates: CertificateReader<CertificateHolder>;
  readonly ids: Ids;
  readonly clock: Clock;
  readonly log: Log;
  readonly webSockets: WebSocketConnections;
  readonly times: ConnectorTimes;
  readonly metrics: ConnectorMetrics;
  readonly presence: Pick<PresenceStore, 'register'>;
  readonly sign: (connection: ConnectionTokenClaims) => Promise<string>;
  readonly register: RegisterDevice;
};

/** The limit for each IP address: very many devices may share one address. */
const connectionRate = { burst: 10_000, perSecond: 500 };

/** Connections without authentication may use at most this share of all connections. */
const unauthenticatedShare = 0.25;

const webSocketUrl = (url: string): string => url.replace(/^http/, 'ws');

/** @example const { route, tick } = createRegistrationListener(deps); http.upgrades.add(route); */
export function createRegistrationListener(deps: Deps) {
  const { settings, webSockets, times, metrics, clock, log } = deps;
  const waiting = new Map<WebSocketConnection, number>();
  const connectionBuckets = createTokenBuckets(connectionRate);
  const unauthenticatedMax = Math.ceil(settings.connectorConnections * unauthenticatedShare);

  async function registerDevice(handshake: Handshake, text: string): Promise<RegisteredMessage> {
    const registration = readRegistration(text);
    const certificate = await readDeviceCertificate(deps.certificates, { raw: handshake.request });
    const { device, ...credential } = await deps.register(registration, certificate);
    const connectionId = deps.ids.secret();
    const order = await deps.presence.register(device);
    const { organizationId, physicalDeviceId, logicalDeviceId, tsn } = device;
    const connection = {
      organizationId,
      physicalDeviceId,
      logicalDeviceId,
      tsn,
      connectionId,
      order,
    };
    const base = handshake.isDeviceListener ? settings.deviceAuthUrl : settings.connectorNodeUrl;
    return {
      type: 'registered',
      tsn,
      connectionUrl: `${webSocketUrl(base)}${connectorPaths.deviceConnections}/${connectionId}`,
      token: await deps.sign({ ...connection, ...credential }),
      tokenType: 'Bearer',
      expiresIn: Math.ceil(times.connectionTokenMs / 1000),
      heartbeatSeconds: Math.ceil(times.heartbeatMs / 1000),
      maxMessageBytes: connectorLimits.messageMaxBytes,
    };
  }

  function sendFault(peer: WebSocketConnection, error: unknown): void {
    const { correlationId } = peer;
    const isInternal = !(error instanceof ConnectorFault);
    if (isInternal) log.error({ err: error, correlationId }, 'a registration failed');
    const fault = isInternal ? new ConnectorFault('unavailable') : error;
    const { code } = fault;
    metrics.countFault(code);
    log.info({ correlationId, code }, 'a device was not registered');
    peer.send(errorMessageText(fault, correlationId));
    peer.close(closeCodeForFault(code), code);
  }

  async function handleMessage(
    peer: WebSocketConnection,
    handshake: Handshake,
    data: Buffer,
    isBinary: boolean,
  ) {
    // The server ignores a second message while it handles the first one.
    if (!waiting.delete(peer)) return;
    try {
      if (isBinary) throw new ConnectorFault('bad_message');
      const registered = await registerDevice(handshake, data.toString());
      peer.send(JSON.stringify(registered));
      peer.close(closeCodes.done, 'registered');
    } catch (error) {
      sendFault(peer, error);
    }
  }

  const route: WebSocketRoute = {
    path: connectorPaths.deviceListener,
    bearer: 'optional',
    maxMessageBytes: connectorLimits.controlMessageMaxBytes,
    isOnDeviceListener: true,
    accept: async (handshake) => {
      const hasCapacity =
        webSockets.size() < settings.connectorConnections &&
        webSockets.countOf('registration') < unauthenticatedMax;
      if (
        !hasCapacity ||
        !connectionBuckets.take(subscriberNetwork(handshake.address), clock.now())
      ) {
        throw new ProblemError(
          'rate_limited',
          'The server has too many open connections, or the client opens connections too often. Retry after 5 seconds.',
          { retryAfterMs: 5000 },
        );
      }
      return acceptConnection(handshake);
    },
  };

  const acceptConnection = (handshake: Handshake): AcceptedUpgrade => ({
    onOpen(socket) {
      const peer = webSockets.add(socket, 'registration', handshake.id);
      waiting.set(peer, clock.now() + times.registerWithinMs);
      peer.onMessage((data, isBinary) => void handleMessage(peer, handshake, data, isBinary));
      peer.onClose(() => waiting.delete(peer));
    },
  });

  return {
    route,
    tick(now: number): void {
      for (const [peer, until] of waiting) {
        if (now < until) continue;
        waiting.delete(peer);
        sendFault(peer, new ConnectorFault('timeout'));
      }
    },
  };
}
