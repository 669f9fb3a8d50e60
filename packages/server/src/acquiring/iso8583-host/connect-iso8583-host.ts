// Adapter for ISO 8583 hosts over TCP, configured by a dialect table.
import { defined } from '@switchyard/contract';
import type { Host, Message } from '@switchyard/iso8583';
import { LRUCache } from 'lru-cache';
import { atMost, type Clock, isLoopbackHost, type Log } from '../../platform/index.ts';
import type { Hsm } from '../../vault/index.ts';
import type { TlsIdentity } from '../keys/client-certificate-store.ts';
import type { ZoneKeyRing } from '../keys/zone-key-exchange.ts';
import type {
  AcquirerConnection,
  AcquirerOutcome,
  AcquirerRequest,
  Iso8583HostLink,
  LateResponse,
} from '../spi/acquirer-spi.ts';
import { isAmbiguousDecline } from '../spi/ambiguous-response.ts';
import { type ExchangeResult, openHostLink } from './host-link.ts';
import { correlationKey, toAcquirerOutcome, toIso8583Message } from './iso8583-messages.ts';

export type Iso8583HostDeps = {
  link: Iso8583HostLink;
  /** The host's table, compiled. */
  compiledHost: Host;
  /** Not needed if the host requires no MAC and accepts no PIN. */
  hsm?: Hsm | undefined;
  keyRing?: ZoneKeyRing | undefined;
  /** TLS client certificate for the host. */
  tlsIdentity?: TlsIdentity | undefined;
  timeoutMs: number;
  clock: Clock;
  log: Log;
  onLateResponse: (late: LateResponse) => void;
  onAvailabilityChange?: (available: boolean) => void;
};

const maxUnansweredRequests = 10_000;

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
  const unansweredRequests = new LRUCache<string, Omit<LateResponse, 'responseCode'>>(
    atMost(maxUnansweredRequests),
  );

  const hostLink = openHostLink({
    host: settings.host,
    port: settings.port,
    tls: settings.tls === true,
    tlsIdentity: deps.tlsIdentity,
    compiledHost: deps.compiledHost,
    tpdu: settings.tpdu,
    connectionCount: settings.connections,
    hsm: deps.hsm,
    keyRing: deps.keyRing,
    clock: deps.clock,
    log: deps.log,
    ...defined({ onAvailabilityChange: deps.onAvailabilityChange }),
    onUnmatchedResponse: (answer) => {
      const key = correlationKey(answer);
      const lateRequest = unansweredRequests.get(key);
      if (lateRequest === undefined) return;
      unansweredRequests.delete(key);
      deps.onLateResponse({ ...lateRequest, responseCode: answer.fields[39] ?? '' });
    },
  });

  const { time: originalTime } = deps.compiledHost.table.originalData;
  const { amountIs } = deps.compiledHost.table.replacement;

  function toOutcome(
    request: AcquirerRequest,
    requestMessage: Message,
    exchangeResult: ExchangeResult,
  ): AcquirerOutcome {
    switch (exchangeResult.result) {
      case 'Responded':
        return toAcquirerOutcome(
          requestMessage,
          exchangeResult.response,
          request.currency,
          amountIs,
        );
      case 'NotSent':
        return { outcome: 'NotSent', reason: exchangeResult.reason };
      default:
        return { outcome: 'Unknown', reason: exchangeResult.result };
    }
  }

  return {
    isAvailable: hostLink.isAvailable,
    getConnectionCounts: () => ({
      wanted: settings.connections ?? 1,
      signedOn: hostLink.countSignedOnSessions(),
    }),
    getZonePinKey: () => (deps.hsm === undefined ? undefined : deps.keyRing?.getPinKey()),
    async send(request, onPossiblySent) {
      const message = toIso8583Message(request, settings.institutionId, originalTime);
      const exchangeResult = await hostLink.sendRequest(message, deps.timeoutMs, onPossiblySent);
      const outcome = toOutcome(request, message, exchangeResult);
      // After an invalid or ambiguous response the correct response may still arrive.
      if (outcome.outcome === 'Unknown' || isAmbiguousDecline(outcome)) {
        const { organizationId, transactionId, kind } = request;
        unansweredRequests.set(correlationKey(message), { organizationId, transactionId, kind });
      }
      return outcome;
    },
    close: () => hostLink.close(deps.timeoutMs),
  };
}
