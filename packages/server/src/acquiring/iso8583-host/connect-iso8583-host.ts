// Adapter for ISO 8583 hosts over TCP, configured by a dialect table.
import { defined } from '@switchyard/contract';
import type { Host, Message } from '@switchyard/iso8583';
import { LRUCache } from 'lru-cache';
import { atMost, type Clock, isLoopbackHost, type Log } from '../../platform/index.ts';
import type { Hsm } from '../../vault/index.ts';
import type { TlsIdentity } from '../keys/client-certificate-store.ts';
import type { KeyRing } from '../keys/zone-key-exchange.ts';
import type {
  AcquirerConnection,
  AcquirerOutcome,
  AcquirerRequest,
  Iso8583HostLink,
  LateAnswer,
} from '../spi/acquirer-spi.ts';
import { mayBeBooked } from '../spi/ambiguous-response.ts';
import { type Exchange, openLink } from './host-link.ts';
import { correlationKey, outcomeOf, toMessage } from './iso8583-messages.ts';

export type Iso8583HostDeps = {
  link: Iso8583HostLink;
  /** The host's table, compiled. */
  host: Host;
  /** Not needed if the host requires no MAC and accepts no PIN. */
  hsm?: Hsm | undefined;
  keys?: KeyRing | undefined;
  /** TLS client certificate for the host. */
  identity?: TlsIdentity | undefined;
  timeoutMs: number;
  clock: Clock;
  log: Log;
  onLateAnswer: (late: LateAnswer) => void;
  onState?: (available: boolean) => void;
};

const forgottenMax = 10_000;

/**
 * Connects to a host and reconnects after a loss.
 *
 * @throws Error if the host is not on loopback and TLS is off.
 * @example const connection = connectIso8583Host({ link, host, timeoutMs: 10_000, clock, log, onLateAnswer });
 */
export function connectIso8583Host(deps: Iso8583HostDeps): AcquirerConnection {
  const { settings } = deps.link;
  if (settings.tls !== true && !isLoopbackHost(settings.host)) {
    throw new Error(
      `The acquirer link ${deps.link.name} requires TLS, because its host is not on loopback.`,
    );
  }
  // Requests after a time-out or an ambiguous response. They identify a late response.
  const givenUp = new LRUCache<string, Omit<LateAnswer, 'responseCode'>>(atMost(forgottenMax));

  const link = openLink({
    host: settings.host,
    port: settings.port,
    tls: settings.tls === true,
    identity: deps.identity,
    spoken: deps.host,
    tpdu: settings.tpdu,
    connections: settings.connections,
    hsm: deps.hsm,
    keys: deps.keys,
    clock: deps.clock,
    log: deps.log,
    ...defined({ onState: deps.onState }),
    onUnmatched: (answer) => {
      const key = correlationKey(answer);
      const late = givenUp.get(key);
      if (late === undefined) return;
      givenUp.delete(key);
      deps.onLateAnswer({ ...late, responseCode: answer.fields[39] ?? '' });
    },
  });

  const { time: originalTime } = deps.host.table.originalData;
  const { amountIs } = deps.host.table.replacement;

  function toOutcome(request: AcquirerRequest, sent: Message, exchange: Exchange): AcquirerOutcome {
    switch (exchange.result) {
      case 'Answered':
        return outcomeOf(sent, exchange.answer, request.currency, amountIs);
      case 'NotSent':
        return { outcome: 'NotSent', reason: exchange.reason };
      default:
        return { outcome: 'Unknown', reason: exchange.result };
    }
  }

  return {
    available: link.available,
    connections: () => ({ wanted: settings.connections ?? 1, signedOn: link.signedOn() }),
    zonePinKey: () => (deps.hsm === undefined ? undefined : deps.keys?.pinKey()),
    async send(request, onSent) {
      const message = toMessage(request, settings.institutionId, originalTime);
      const exchange = await link.exchange(message, deps.timeoutMs, onSent);
      const outcome = toOutcome(request, message, exchange);
      // After an invalid or ambiguous response the correct response may still arrive.
      if (outcome.outcome === 'Unknown' || mayBeBooked(outcome)) {
        const { organizationId, transactionId, kind } = request;
        givenUp.set(correlationKey(message), { organizationId, transactionId, kind });
      }
      return outcome;
    },
    close: () => link.close(deps.timeoutMs),
  };
}
