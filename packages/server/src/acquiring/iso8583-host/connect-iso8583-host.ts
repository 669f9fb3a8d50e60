// Adapter for ISO 8583 hosts over TCP, configured by a host table.
import { defined } from '@switchyard/contract';
import type { CompiledHost, Message } from '@switchyard/iso8583';
import { LRUCache } from 'lru-cache';
import { lruCacheOptions } from '../../platform/index.ts';
import type { Hsm } from '../../vault/index.ts';
import type { ZoneKeyRing } from '../keys/import-zone-keys.ts';
import {
  type AcquirerConnection,
  type AcquirerOutcome,
  type ConnectionPorts,
  type Iso8583HostLink,
  type LateResponse,
  requireTls,
} from '../spi/acquirer-spi.ts';
import { isAmbiguousDecline } from '../spi/check-outcome.ts';
import { openHostLink } from './host-session-pool.ts';
import { toAcquirerOutcome, toIso8583Message } from './payment-messages.ts';
import { readAssignedReference } from './retrieval-reference.ts';

type Options = ConnectionPorts & {
  link: Iso8583HostLink;
  compiledHost: CompiledHost;
  /** Not needed if the host requires no MAC and accepts no PIN. */
  hsm?: Pick<Hsm, 'mac'> | undefined;
  keyRing?: ZoneKeyRing | undefined;
};

const maxUnansweredRequests = 10_000;

/** @throws Error if the host is not on loopback and TLS is off */
export function connectIso8583Host(options: Options): AcquirerConnection {
  const { link, hsm, keyRing, timeoutMs, compiledHost } = options;
  const { tls = false, connections: connectionCount = 1, institutionId } = link.settings;
  const { takeOriginalNumbers, table, correlation } = compiledHost;
  requireTls(link);
  // Requests after a time-out or an ambiguous response. They identify a late response.
  const unansweredRequests = new LRUCache<
    string,
    Pick<LateResponse, 'organizationId' | 'transactionId' | 'kind'>
  >(lruCacheOptions(maxUnansweredRequests));

  function reportLateResponse(response: Message): void {
    const key = correlation.keyOf(response);
    const lateRequest = unansweredRequests.get(key);
    if (lateRequest === undefined) return;
    unansweredRequests.delete(key);
    options.onLateResponse({
      ...lateRequest,
      responseCode: response.fields[39] ?? '',
      ...defined({ retrievalReference: readAssignedReference(response, table.retrievalReference) }),
    });
  }

  const hostLink = openHostLink({
    ...options,
    ...link.settings,
    tls,
    connectionCount,
    onUnmatchedResponse: reportLateResponse,
  });

  return {
    numberFormats: {
      traceNumber: table.traceNumber,
      formatRetrievalReference: compiledHost.formatRetrievalReference,
    },
    isAvailable: hostLink.isAvailable,
    getConnections: () => ({
      wanted: connectionCount,
      signedOn: hostLink.countSignedOnSessions(),
      ...defined({ lastFault: hostLink.findFault() }),
    }),
    requestKeys: hostLink.requestKeys,
    getZonePinKey: () => (hsm === undefined ? undefined : keyRing?.getPinKey()),
    async send(request, onPossiblySent, span) {
      if (span !== undefined) span.attributes['network.protocol.name'] = 'iso8583';
      const message = takeOriginalNumbers(toIso8583Message(request, institutionId, table));
      const exchangeResult = await hostLink.sendRequest(message, timeoutMs, onPossiblySent);
      const { result } = exchangeResult;
      if (result === 'NotSent') return { outcome: 'NotSent', reason: exchangeResult.reason };
      const { currency } = request;
      const outcome: AcquirerOutcome =
        result === 'Responded'
          ? toAcquirerOutcome(message, exchangeResult.response, currency, compiledHost)
          : { outcome: 'Unknown', reason: result };
      // After an invalid or ambiguous response the correct response may still arrive.
      if (outcome.outcome === 'Unknown' || isAmbiguousDecline(outcome)) {
        const { organizationId, transactionId, kind } = request;
        unansweredRequests.set(correlation.keyOf(message), { organizationId, transactionId, kind });
      }
      return outcome;
    },
    close: () => hostLink.close(timeoutMs),
  };
}
