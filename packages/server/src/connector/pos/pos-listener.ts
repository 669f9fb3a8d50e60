// Accepts the control connections of points of sale, with an access token that allows claims.
import { connectorLimits, connectorPaths, ProblemError, throwProblem } from '@switchyard/contract';
import { actorOf } from '../../audit/index.ts';
import { clientKeyOf, type VerifyToken, type WebSocketRoute } from '../../http/index.ts';
import type { Clock, Log } from '../../platform/index.ts';
import type { WebSocketConnections } from '../forwarding/websocket-connections.ts';
import { createConcurrencyLimit } from '../runtime/concurrency-limit.ts';
import type { ConnectorMetrics } from '../runtime/connector-metrics.ts';
import type { ConnectorSettings, ConnectorTimes } from '../runtime/connector-settings.ts';
import { createTokenBuckets } from '../runtime/token-bucket.ts';
import { claimTokenOf } from '../sessions/claim-token.ts';
import type { Claims } from './claim-requests.ts';
import { createCuts } from './end-revoked-sessions.ts';
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
const connectsOf = { burst: 2000, perSecond: 100 };
/**
 * Limits the claims: one client may have as many as there are connections, all clients twice as
 * many.
 */
const claimsForEach = 2;
/** The limit for each connection. */
const messagesOf = { burst: 200, perSecond: 50 };

/** @example const { route, tick } = createPosListener(deps); http.upgrades.add(route); */
export function createPosListener(deps: Deps) {
  const { webSockets, claims, times, metrics, clock, log, settings } = deps;
  const connections = new Set<PosConnection>();
  const connects = createTokenBuckets(connectsOf);
  const most = settings.connectorConnections;
  const places = createConcurrencyLimit({ perKey: most, total: claimsForEach * most });
  const cuts = createCuts({
    claims,
    now: clock.now,
    log,
    most: claimsForEach * most,
    livesMs: times.sessionMaxMs,
  });
  metrics.observeClaims(places.inUse);

  const route: WebSocketRoute = {
    path: connectorPaths.posListener,
    bearer: 'required',
    maxMessageBytes: connectorLimits.controlMessageMaxBytes,
    isOnDeviceListener: false,
    async accept({ caller, token, presentedCertificate: presented, id }) {
      if (caller === undefined || token === undefined) {
        return throwProblem('token_missing', 'A point of sale shows its access token.');
      }
      if (!caller.permissions.has('cc.pos') || (await claims.roleFault(caller)) !== undefined) {
        throwProblem('role_missing', 'The application has not the role Point-of-sale Terminal.');
      }
      const isRoom = webSockets.size() < settings.connectorConnections;
      if (!isRoom || !connects.take(clientKeyOf(caller), clock.now())) {
        throw new ProblemError('rate_limited', 'Too many connections.', { retryAfterMs: 5000 });
      }
      return {
        onOpen(socket) {
          const peer = webSockets.add(socket, 'pos', id);
          const messages = createTokenBuckets(messagesOf);
          const connection = openPosConnection({
            peer,
            claims,
            places,
            caller,
            token,
            presented,
            verify: deps.verifyToken,
            askingOf: (asking) => ({
              caller: asking,
              author: actorOf(asking, id),
              token: claimTokenOf(asking),
            }),
            claimBy: clock.now() + times.claimWithinMs,
            now: clock.now,
            slowMs: times.slowReaderMs,
            mayAsk: () => messages.take('', clock.now()),
            told: ({ code }) => {
              metrics.countFault(code);
              log.info({ correlationId: id, code }, 'a point of sale was refused');
            },
            cut: cuts.add,
            broken: (error) => log.error({ err: error, correlationId: id }, 'a claim met a fault'),
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
      cuts.again();
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
      if (failed > 0) throw new Error(`${failed} connections could not be looked at`, { cause });
    },
    /** The caller stops this after the last recheck. */
    stop: cuts.stop,
  };
}
