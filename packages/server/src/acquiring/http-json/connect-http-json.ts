// Adapter for acquirers that implement the published HTTP acquirer SPI (ADR 0033).
import { type Clock, isoTime, pause, type Span } from '../../platform/index.ts';
import {
  type AcquirerConnection,
  type AcquirerOutcome,
  type AcquirerRequest,
  type ConnectionPorts,
  drain,
  type ExchangeResult,
  type HttpJsonLink,
  requireTls,
} from '../spi/acquirer-spi.ts';
import { createAcquirerReadiness } from './acquirer-readiness.ts';
import {
  createSignedExchange,
  type RequestSigner,
  type SignedExchange,
  type VerifiedResponse,
} from './signed-exchange.ts';
import { type SpiRequest, toSpiMessage, toSpiOutcome } from './spi-messages.ts';

type Options = ConnectionPorts & { link: HttpJsonLink; signer: RequestSigner };

/** Maximum concurrent messages; further messages get `NotSent`. */
const maxInFlight = 5000;
const enquiryIntervalMs = 250;
const minEnquiryTimeMs = 100;
const echoTimeoutMs = 5000;

const isRetryableStatus = (status: number) => status === 429 || status >= 500;

/** Sends enquiries until the outcome is known or the deadline passes; undefined if it stays unknown. */
async function enquireOutcome(
  exchange: SignedExchange,
  clock: Clock,
  request: SpiRequest,
  deadline: number,
): Promise<AcquirerOutcome | undefined> {
  const { messageId } = request.message;
  for (;;) {
    const timeoutMs = deadline - clock.now();
    if (timeoutMs < minEnquiryTimeMs) return undefined;
    const enquiryResult = await exchange.sendSigned('/v1/enquiries', { messageId }, { timeoutMs });
    if (enquiryResult.result === 'Responded') {
      const { status, body } = enquiryResult.response;
      // The message may still arrive later: only a reversal is safe.
      if (body.outcome === 'NotFound') return undefined;
      // The enquiry itself was not processed: the outcome of the message stays unknown.
      const isUnprocessed = body.outcome === 'NotProcessed';
      if (isUnprocessed && !isRetryableStatus(status)) return undefined;
      const outcome = isUnprocessed ? 'Pending' : toSpiOutcome(request, enquiryResult.response);
      if (outcome !== 'Pending') return outcome;
    }
    await pause(Math.min(enquiryIntervalMs, Math.max(0, deadline - clock.now())));
  }
}

/** @throws Error if the host is not on loopback and TLS is off, or if a public key is invalid */
export function connectHttpJson(options: Options): AcquirerConnection {
  const { clock, log, timeoutMs, link } = options;
  const { host, port, institutionId, zonePinKey } = link.settings;
  requireTls(link);
  const signedExchange = createSignedExchange(options);
  const readiness = createAcquirerReadiness({
    sendEcho: () => signedExchange.echo(Math.min(timeoutMs, echoTimeoutMs)),
    onChange(isReady) {
      if (isReady) log.info({ host, port }, 'acquirer is ready');
      else log.warn({ host, port }, 'acquirer is not ready');
      options.onAvailabilityChange?.(isReady && !isClosed);
    },
  });
  let inFlightCount = 0;
  let isClosed = false;

  async function resolveOutcome(
    request: SpiRequest,
    exchangeResult: ExchangeResult<VerifiedResponse>,
    deadline: number,
    responsesBefore: number,
  ): Promise<AcquirerOutcome> {
    if (exchangeResult.result === 'NotSent') {
      readiness.recordSendFailure(responsesBefore);
      return { outcome: 'NotSent', reason: exchangeResult.reason };
    }
    if (exchangeResult.result === 'Responded') {
      const outcome = toSpiOutcome(request, exchangeResult.response);
      // An overload response does not prove readiness: the next echo decides.
      if (outcome === 'Pending' || outcome.outcome !== 'NotSent') readiness.recordResponse();
      if (outcome !== 'Pending') return outcome;
    } else if (exchangeResult.result === 'InvalidResponse') {
      const { messageId } = request.message;
      log.warn({ messageId }, 'acquirer response has an invalid signature or body');
    } else readiness.checkNow();
    const { result } = exchangeResult;
    const isEnquiryUseful = result === 'Responded' || result === 'ConnectionLost';
    const outcome = isEnquiryUseful
      ? await enquireOutcome(signedExchange, clock, request, deadline)
      : undefined;
    return outcome ?? { outcome: 'Unknown', reason: result === 'Responded' ? 'Timeout' : result };
  }

  async function sendRequest(
    request: AcquirerRequest,
    onPossiblySent?: () => void,
    span?: Span,
  ): Promise<AcquirerOutcome> {
    const deadline = clock.now() + timeoutMs;
    const responsesBefore = readiness.countResponses();
    const sentAt = isoTime(clock.now());
    const spiRequest = toSpiMessage(request, institutionId, sentAt);
    const { organizationId, transactionId, kind } = request;
    let isReported = false;
    function notifyPossiblySent(): void {
      if (!isReported) onPossiblySent?.();
      isReported = true;
    }
    const exchangeResult = await signedExchange.sendSigned(spiRequest.path, spiRequest.message, {
      timeoutMs,
      traceparent: span?.traceparent,
      onPossiblySent: notifyPossiblySent,
      onLateResponse(lateResponse) {
        const outcome = toSpiOutcome(spiRequest, lateResponse);
        if (outcome === 'Pending' || !('responseCode' in outcome)) return;
        const { responseCode } = outcome;
        options.onLateResponse({ organizationId, transactionId, kind, responseCode });
      },
    });
    // A response may arrive before the request is completely written.
    if (exchangeResult.result !== 'NotSent') notifyPossiblySent();
    return resolveOutcome(spiRequest, exchangeResult, deadline, responsesBefore);
  }

  return {
    isAvailable: () => readiness.isReady() && !isClosed,
    getZonePinKey: () => zonePinKey,
    async send(request, onPossiblySent, span) {
      if (span !== undefined) span.attributes['network.protocol.name'] = 'http';
      if (isClosed || !readiness.isReady()) return { outcome: 'NotSent', reason: 'not ready' };
      if (inFlightCount >= maxInFlight) return { outcome: 'NotSent', reason: 'busy' };
      inFlightCount += 1;
      try {
        return await sendRequest(request, onPossiblySent, span);
      } finally {
        inFlightCount -= 1;
      }
    },
    async close() {
      isClosed = true;
      readiness.stop();
      await drain(() => inFlightCount === 0, timeoutMs);
      signedExchange.close();
    },
  };
}
