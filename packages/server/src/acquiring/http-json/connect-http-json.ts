// Adapter for acquirers that implement the published HTTP acquirer SPI (ADR 0033).
import { randomBytes } from 'node:crypto';
import { type Clock, isLoopbackHost, isoTime, type Log, pause } from '../../platform/index.ts';
import type { TlsIdentity } from '../keys/client-certificate-store.ts';
import type {
  AcquirerConnection,
  AcquirerOutcome,
  AcquirerRequest,
  HttpJsonLink,
  LateResponse,
} from '../spi/acquirer-spi.ts';
import { createAcquirerHttpClient } from './acquirer-http-client.ts';
import { createAcquirerReadiness } from './acquirer-readiness.ts';
import { createResponseVerifier, type RequestSigner } from './http-message-signatures.ts';
import {
  createSignedExchange,
  type SignedExchange,
  type SignedExchangeResult,
} from './signed-exchange.ts';
import {
  type SpiRequest,
  toSpiMessage,
  toSpiOutcome,
  type VerifiedResponse,
} from './spi-messages.ts';

export {
  createRequestSigners,
  type RequestSigners,
} from './request-signers.ts';

type Deps = {
  link: HttpJsonLink;
  signer: RequestSigner;
  /** TLS client certificate for the acquirer. */
  tlsIdentity?: TlsIdentity | undefined;
  timeoutMs: number;
  clock: Clock;
  log: Log;
  onLateResponse: (late: LateResponse) => void;
  onAvailabilityChange?: ((available: boolean) => void) | undefined;
};

/** Maximum concurrent messages; further messages get `NotSent`. */
const maxInFlight = 5000;
const enquiryIntervalMs = 250;
/** An enquiry needs at least this time. */
const minEnquiryTimeMs = 100;
const echoTimeoutMs = 5000;
const nonceBytes = 16;
const drainPollIntervalMs = 20;

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
      const { status, response: answer } = enquiryResult.verified;
      // The message may still arrive later: only a reversal is safe.
      if (answer.outcome === 'NotFound') return undefined;
      if (answer.outcome === 'NotProcessed') {
        // The enquiry itself was not processed: the outcome of the message stays unknown.
        if (!isRetryableStatus(status)) return undefined;
      } else {
        const outcome = toSpiOutcome(request, enquiryResult.verified);
        if (outcome !== 'Pending') return outcome;
      }
    }
    await pause(Math.min(enquiryIntervalMs, Math.max(0, deadline - clock.now())));
  }
}

/** Calls the callback at the first call only. */
function once(callback: (() => void) | undefined): () => void {
  let wasCalled = false;
  return () => {
    if (wasCalled) return;
    wasCalled = true;
    callback?.();
  };
}

/** Returns the response code of a late approval or decline. */
function lateResponseCode(request: SpiRequest, lateResponse: VerifiedResponse): string | undefined {
  const outcome = toSpiOutcome(request, lateResponse);
  if (outcome === 'Pending') return undefined;
  return 'responseCode' in outcome ? outcome.responseCode : undefined;
}

/**
 * Connects to an acquirer over HTTP.
 *
 * @throws Error if the host is not on loopback and TLS is off, or if a public key is invalid
 * @example const connection = connectHttpJson({ link, signer, timeoutMs: 10_000, clock, log, onLateAnswer });
 */
export function connectHttpJson(deps: Deps): AcquirerConnection {
  const { clock, log, timeoutMs } = deps;
  const { settings, name } = deps.link;
  const tls = settings.tls === true;
  if (!tls && !isLoopbackHost(settings.host)) {
    throw new Error(`The acquirer link ${name} requires TLS, because its host is not on loopback.`);
  }
  const { host, port } = settings;
  const httpOptions = {
    host,
    port,
    tls,
    tlsIdentity: deps.tlsIdentity,
    lateResponseWindowMs: timeoutMs,
  };
  const httpClient = createAcquirerHttpClient(httpOptions);
  const echoHttpClient = createAcquirerHttpClient({ ...httpOptions, maxConnections: 1 });
  const signedExchange = createSignedExchange({
    httpClient,
    echoHttpClient,
    clock,
    signer: deps.signer,
    verifier: createResponseVerifier(settings.acquirerKeys),
    createNonce: () => randomBytes(nonceBytes).toString('base64url'),
    pathPrefix: settings.path ?? '',
  });
  const readiness = createAcquirerReadiness({
    sendEcho: () => signedExchange.echo(isoTime(clock.now()), Math.min(timeoutMs, echoTimeoutMs)),
    onChange(isReady) {
      if (isReady) log.info({ host, port }, 'acquirer is ready');
      else log.warn({ host, port }, 'acquirer is not ready');
      deps.onAvailabilityChange?.(isReady && !isClosed);
    },
  });
  let inFlightCount = 0;
  let isClosed = false;

  async function resolveOutcome(
    request: SpiRequest,
    exchangeResult: SignedExchangeResult,
    { until: deadline, answersBefore: responsesBefore }: { until: number; answersBefore: number },
  ): Promise<AcquirerOutcome> {
    switch (exchangeResult.result) {
      case 'NotSent':
        readiness.recordSendFailure(responsesBefore);
        return { outcome: 'NotSent', reason: exchangeResult.reason };
      case 'Timeout':
        readiness.checkNow();
        return { outcome: 'Unknown', reason: 'Timeout' };
      case 'InvalidSignature':
        log.warn(
          { messageId: request.message.messageId },
          'acquirer response has an invalid signature',
        );
        return { outcome: 'Unknown', reason: 'InvalidResponse' };
      case 'ConnectionLost': {
        readiness.checkNow();
        const found = await enquireOutcome(signedExchange, clock, request, deadline);
        return found ?? { outcome: 'Unknown', reason: 'ConnectionLost' };
      }
      case 'Responded': {
        const outcome = toSpiOutcome(request, exchangeResult.verified);
        // An overload response does not prove readiness: the next echo decides.
        if (outcome === 'Pending' || outcome.outcome !== 'NotSent') readiness.recordResponse();
        if (outcome !== 'Pending') return outcome;
        const found = await enquireOutcome(signedExchange, clock, request, deadline);
        return found ?? { outcome: 'Unknown', reason: 'Timeout' };
      }
    }
  }

  async function sendRequest(
    request: AcquirerRequest,
    onPossiblySent?: () => void,
  ): Promise<AcquirerOutcome> {
    const deadline = clock.now() + timeoutMs;
    const responsesBefore = readiness.countResponses();
    const sentAt = isoTime(clock.now());
    const spiRequest = toSpiMessage(request, settings.institutionId, sentAt);
    const { organizationId, transactionId, kind } = request;
    const notifyPossiblySent = once(onPossiblySent);
    const exchangeResult = await signedExchange.sendSigned(spiRequest.path, spiRequest.message, {
      timeoutMs,
      onPossiblySent: notifyPossiblySent,
      onLateResponse(lateResponse) {
        const responseCode = lateResponseCode(spiRequest, lateResponse);
        if (responseCode === undefined) return;
        deps.onLateResponse({ organizationId, transactionId, kind, responseCode });
      },
    });
    // A response may arrive before the request is completely written.
    if (exchangeResult.result !== 'NotSent') notifyPossiblySent();
    return resolveOutcome(spiRequest, exchangeResult, {
      until: deadline,
      answersBefore: responsesBefore,
    });
  }

  return {
    isAvailable: () => readiness.isReady() && !isClosed,
    getZonePinKey: () => settings.zonePinKey,
    async send(request, onPossiblySent) {
      if (isClosed || !readiness.isReady()) return { outcome: 'NotSent', reason: 'not ready' };
      if (inFlightCount >= maxInFlight) return { outcome: 'NotSent', reason: 'busy' };
      inFlightCount += 1;
      try {
        return await sendRequest(request, onPossiblySent);
      } finally {
        inFlightCount -= 1;
      }
    },
    async close() {
      isClosed = true;
      readiness.stop();
      const deadline = clock.now() + timeoutMs;
      while (inFlightCount > 0 && clock.now() < deadline) await pause(drainPollIntervalMs);
      httpClient.close();
      echoHttpClient.close();
    },
  };
}
