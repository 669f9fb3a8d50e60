// The adapter for hosts that speak ISO 8583:1987 over TCP.
import { compileDialect, iso1987BinaryEmv, type Message } from '@switchyard/iso8583';
import { LRUCache } from 'lru-cache';
import { type Clock, isLoopbackHost, type Log } from '../../platform/index.ts';
import type {
  AcquirerConnection,
  AcquirerLink,
  AcquirerOutcome,
  AcquirerRequest,
  LateAnswer,
} from '../types.ts';
import { type Exchange, openLink } from './link.ts';
import { correlationKey, outcomeOf, toMessage } from './messages.ts';

type Deps = {
  link: AcquirerLink;
  timeoutMs: number;
  clock: Clock;
  log: Log;
  onLateAnswer: (late: LateAnswer) => void;
  onState?: (available: boolean) => void;
};

const dialect = compileDialect(iso1987BinaryEmv);
const forgottenMax = 10_000;

/**
 * Connects to a host and keeps the connection.
 *
 * @throws Error where the link leaves loopback without TLS.
 * @example const connection = connectIso8583Host({ link, timeoutMs: 10_000, clock, log, onLateAnswer });
 */
export function connectIso8583Host(deps: Deps): AcquirerConnection {
  const { settings } = deps.link;
  if (settings.tls !== true && !isLoopbackHost(settings.host)) {
    throw new Error(`The acquirer link ${deps.link.name} leaves loopback and needs TLS.`);
  }
  // Requests that were given up, so that an answer that comes after all can be told of.
  const givenUp = new LRUCache<string, Omit<LateAnswer, 'responseCode'>>({ max: forgottenMax });

  const link = openLink({
    host: settings.host,
    port: settings.port,
    tls: settings.tls === true,
    dialect,
    clock: deps.clock,
    log: deps.log,
    ...(deps.onState === undefined ? {} : { onState: deps.onState }),
    onUnmatched: (answer) => {
      const key = correlationKey(answer);
      const late = givenUp.get(key);
      if (late === undefined) return;
      givenUp.delete(key);
      deps.onLateAnswer({ ...late, responseCode: answer.fields[39] ?? '' });
    },
  });

  function toOutcome(request: AcquirerRequest, sent: Message, exchange: Exchange): AcquirerOutcome {
    switch (exchange.result) {
      case 'Answered':
        return outcomeOf(sent, exchange.answer, request.currency);
      case 'NotSent':
        return { outcome: 'NotSent', reason: exchange.reason };
      default:
        return { outcome: 'Unknown', reason: exchange.result };
    }
  }

  return {
    available: link.available,
    async send(request, onSent) {
      const message = toMessage(request, settings.institutionId);
      const exchange = await link.exchange(message, deps.timeoutMs, onSent);
      const outcome = toOutcome(request, message, exchange);
      // Also after an answer that answers something else: the right one may still be on its way.
      if (outcome.outcome === 'Unknown') {
        const { organizationId, transactionId, kind } = request;
        givenUp.set(correlationKey(message), { organizationId, transactionId, kind });
      }
      return outcome;
    },
    close: () => link.close(deps.timeoutMs),
  };
}
