// Accepts the control connections of points of sale, with an access token that allows claims.
import { connectorLimits, connectorPaths, ProblemError, throwProblem } from '@switchyard/contract';
import { actorOf } from '../../audit/index.ts';
import { clientKeyOf, type VerifyToken, type WebSocketRoute } from '../../http/index.ts';
import { type Clock, createConcurrencyCounter, type Log } from '../../platform/index.ts';
import type { WebSocketConnections } from '../forwarding/websocket-connections.ts';
import type { ConnectorMetrics } from '../runtime/connector-metrics.ts';
import type { ConnectorSettings, ConnectorTimes } from '../runtime/connector-settings.ts';
import { createTokenBuckets } from '../runtime/token-bucket.ts';
import { claimTokenOf } from '../sessions/claim-token.ts';
import type { Claims } from './claim-requests.ts';
import { createSessionRevoker } from './end-revoked-sessions.ts';
import { openPosConnection, type PosConnection } from './pos-connection.ts';

type Deps = {
  readonly settings: Pick<ConnectorSettings, 'connectorConnections'>;
  readonly verifyToken: VerifyToken;
  readonly clock: Clock;
  readonly log: Log;
  readonly webSockets: WebSocketConnections;
  readonly claims: Claims;
  readonly times: ConnectorTimes;
  readonly metrics: ConnectorMetrics;
};

/** The limit for each client; a shop that reconnects after a power cut stays far below it. */
const connectionRate = { burst: 2000, perSecond: 100 };
/**
 * Limits the claims: one client may have as many as there are connections, all clients twice as
 * many.
 */
const claimsPerConnection = 2;
/** The limit for each connection. */
const messageRate = { burst: 200, perSecond: 50 };

/** @example const { route, tick } = createPosListener(deps); http.upgrades.add(route); */
export function createPosListener(deps: Deps) {
  const { webSockets, claims, times, metrics, clock, log, settings } = deps;
  const connections = new Set<PosConnection>();
  const connectionBuckets = createTokenBuckets(connectionRate);
  const connectionsMax = settings.connectorConnections;
  const claimLimit = createConcurrencyCounter({
    perKey: connectionsMax,
    total: claimsPerConnection * connectionsMax,
  });
  const sessionRevoker = createSessionRevoker({
    claims,
    now: clock.now,
    log,
    pendingMax: claimsPerConnection * connectionsMax,
    sessionMaxMs: times.sessionMaxMs,
  });
  metrics.observeClaims(claimLimit.total);

  const route: WebSocketRoute = {
    path: connectorPaths.posListener,
    bearer: 'required',
    maxMessageBytes: connectorLimits.controlMessageMaxBytes,
    isOnDeviceListener: false,
    async accept({ caller, token, presentedCertificate: presented, id }) {
      if (caller === undefined || token === undefined) {
        return throwProblem(
          'token_missing',
          'The access token is missing. Send it in the Authorization header.',
        );
      }
      if (!caller.permissions.has('cc.pos') || (await claims.roleFault(caller)) !== undefined) {
        throwProblem(
          'role_missing',
          'The application does not have the role Point-of-sale Terminal.',
        );
      }
      const hasCapacity = webSockets.size() < settings.connectorConnections;
      if (!hasCapacity || !connectionBuckets.take(clientKeyOf(caller), clock.now())) {
        throw new ProblemError(
          'rate_limited',
          'The server has too many open connections, or the client opens connections too often. Retry after 5 seconds.',
          { retryAfterMs: 5000 },
        );
      }
      return {
        onOpen(socket) {
          const peer = webSockets.add(socket, 'pos', id);
          const messageBuckets = createTokenBuckets(messageRate);
          const connection = openPosConnection({
            peer,
            claims,
            claimLimit,
            caller,
            token,
            presentedCertificate: presented,
            verify: deps.verifyToken,
            posCallerOf: (callerNow) => ({
              caller: callerNow,
              author: actorOf(callerNow, id),
              token: claimTokenOf(callerNow),
            }),
            claimDeadline: clock.now() + times.claimWithinMs,
            now: clock.now,
            slowReaderMs: times.slowReaderMs,
            takeMessage: () => messageBuckets.take('', clock.now()),
            onFault: ({ code }) => {
              metrics.countFault(code);
              log.info({ correlationId: id, code }, 'a point of sale received an error');
            },
            revoke: sessionRevoker.revoke,
            onError: (error) =>
              log.error({ err: error, correlationId: id }, 'a message of a point of sale failed'),
          });
          connections.add(connection);
          peer.onClose(() => connections.delete(connection));
        },
      };
    },
  };

  return {
    route,
    tick(now: number): void {
      for (const connection of connections) connection.tick(now);
    },
    /**
     * Rechecks the token of each connection, one after the other and mostly from the cache. It does
     * not wait for the ends of sessions, because a node that does not answer would delay all other
     * checks.
     *
     * @throws if some checks failed, after all others have run
     */
    async recheck(): Promise<void> {
      sessionRevoker.retry();
      let failed = 0;
      let cause: unknown;
      for (const connection of [...connections]) {
        try {
          await connection.recheck();
        } catch (error) {
          failed += 1;
          cause = error;
        }
      }
      if (failed > 0) throw new Error(`${failed} connections could not be rechecked`, { cause });
    },
    /** The caller stops this after the last recheck. */
    stop: sessionRevoker.stop,
  };
}
