// Adapter for acquirers that implement the published HTTP acquirer SPI (ADR 0033).
import { randomBytes } from 'node:crypto';
import { type Clock, isLoopbackHost, isoTime, type Log, pause } from '../../platform/index.ts';
import type { TlsIdentity } from '../keys/client-certificate-store.ts';
import type {
  AcquirerConnection,
  AcquirerOutcome,
  AcquirerRequest,
  HttpJsonLink,
  LateAnswer,
} from '../spi/acquirer-spi.ts';
import { createCalls } from './acquirer-http-client.ts';
import { createReadiness } from './acquirer-readiness.ts';
import { createAnswerVerifier, type LinkSigner } from './http-message-signatures.ts';
import { type Asked, createExchange, type Exchange } from './signed-exchange.ts';
import { type GenuineAnswer, type SpiAsked, spiOutcomeOf, toSpiMessage } from './spi-messages.ts';

export { createLinkSigners, type LinkSigners } from './request-signers.ts';

type Deps = {
  link: HttpJsonLink;
  signer: LinkSigner;
  /** TLS client certificate for the acquirer. */
  identity?: TlsIdentity | undefined;
  timeoutMs: number;
  clock: Clock;
  log: Log;
  onLateAnswer: (late: LateAnswer) => void;
  onState?: ((available: boolean) => void) | undefined;
};

/** Maximum concurrent messages; further messages get `NotSent`. */
const inFlightMax = 5000;
const enquireEveryMs = 250;
/** An enquiry needs at least this time. */
const enquiryLeastMs = 100;
const echoTimeoutMs = 5000;
const nonceBytes = 16;
const drainLookMs = 20;

const mayAnswerLater = (status: number) => status === 429 || status >= 500;

/** Sends enquiries until the outcome is known or the deadline passes; undefined if it stays unknown. */
async function enquire(
  exchange: Exchange,
  clock: Clock,
  asked: SpiAsked,
  until: number,
): Promise<AcquirerOutcome | undefined> {
  const { messageId } = asked.message;
  for (;;) {
    const timeoutMs = until - clock.now();
    if (timeoutMs < enquiryLeastMs) return undefined;
    const found = await exchange.ask('/v1/enquiries', { messageId }, { timeoutMs });
    if (found.result === 'Answered') {
      const { status, answer } = found.genuine;
      // The message may still arrive later: only a reversal is safe.
      if (answer.outcome === 'NotFound') return undefined;
      if (answer.outcome === 'NotProcessed') {
        // The enquiry itself was not processed: the outcome of the message stays unknown.
        if (!mayAnswerLater(status)) return undefined;
      } else {
        const outcome = spiOutcomeOf(asked, found.genuine);
        if (outcome !== 'Pending') return outcome;
      }
    }
    await pause(Math.min(enquireEveryMs, Math.max(0, until - clock.now())));
  }
}

/** Calls the callback at the first call only. */
function once(act: (() => void) | undefined): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    act?.();
  };
}

/** Returns the response code of a late approval or decline. */
function lateCode(asked: SpiAsked, late: GenuineAnswer): string | undefined {
  const outcome = spiOutcomeOf(asked, late);
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
  const place = { host, port, tls, identity: deps.identity, lateMs: timeoutMs };
  const calls = createCalls(place);
  const echoCalls = createCalls({ ...place, connectionsMax: 1 });
  const exchange = createExchange({
    calls,
    echoCalls,
    clock,
    signer: deps.signer,
    verifier: createAnswerVerifier(settings.acquirerKeys),
    nonce: () => randomBytes(nonceBytes).toString('base64url'),
    prefix: settings.path ?? '',
  });
  const readiness = createReadiness({
    echo: () => exchange.echo(isoTime(clock.now()), Math.min(timeoutMs, echoTimeoutMs)),
    onChange(isReady) {
      if (isReady) log.info({ host, port }, 'acquirer is ready');
      else log.warn({ host, port }, 'acquirer is not ready');
      deps.onState?.(isReady && !isClosed);
    },
  });
  let inFlight = 0;
  let isClosed = false;

  async function outcomeOf(
    sent: SpiAsked,
    asked: Asked,
    { until, answersBefore }: { until: number; answersBefore: number },
  ): Promise<AcquirerOutcome> {
    switch (asked.result) {
      case 'NotSent':
        readiness.lost(answersBefore);
        return { outcome: 'NotSent', reason: asked.reason };
      case 'Timeout':
        readiness.doubt();
        return { outcome: 'Unknown', reason: 'Timeout' };
      case 'NotGenuine':
        log.warn(
          { messageId: sent.message.messageId },
          'acquirer response has an invalid signature',
        );
        return { outcome: 'Unknown', reason: 'InvalidResponse' };
      case 'ConnectionLost': {
        readiness.doubt();
        const found = await enquire(exchange, clock, sent, until);
        return found ?? { outcome: 'Unknown', reason: 'ConnectionLost' };
      }
      case 'Answered': {
        const outcome = spiOutcomeOf(sent, asked.genuine);
        // An overload response does not prove readiness: the next echo decides.
        if (outcome === 'Pending' || outcome.outcome !== 'NotSent') readiness.seen();
        if (outcome !== 'Pending') return outcome;
        const found = await enquire(exchange, clock, sent, until);
        return found ?? { outcome: 'Unknown', reason: 'Timeout' };
      }
    }
  }

  async function send(request: AcquirerRequest, onSent?: () => void): Promise<AcquirerOutcome> {
    const until = clock.now() + timeoutMs;
    const answersBefore = readiness.answers();
    const sentAt = isoTime(clock.now());
    const sent = toSpiMessage(request, settings.institutionId, sentAt);
    const { organizationId, transactionId, kind } = request;
    const left = once(onSent);
    const asked = await exchange.ask(sent.path, sent.message, {
      timeoutMs,
      onSent: left,
      onLate(late) {
        const responseCode = lateCode(sent, late);
        if (responseCode === undefined) return;
        deps.onLateAnswer({ organizationId, transactionId, kind, responseCode });
      },
    });
    // A response may arrive before the request is completely written.
    if (asked.result !== 'NotSent') left();
    return outcomeOf(sent, asked, { until, answersBefore });
  }

  return {
    available: () => readiness.isReady() && !isClosed,
    zonePinKey: () => settings.zonePinKey,
    async send(request, onSent) {
      if (isClosed || !readiness.isReady()) return { outcome: 'NotSent', reason: 'not ready' };
      if (inFlight >= inFlightMax) return { outcome: 'NotSent', reason: 'busy' };
      inFlight += 1;
      try {
        return await send(request, onSent);
      } finally {
        inFlight -= 1;
      }
    },
    async close() {
      isClosed = true;
      readiness.stop();
      const until = clock.now() + timeoutMs;
      while (inFlight > 0 && clock.now() < until) await pause(drainLookMs);
      calls.close();
      echoCalls.close();
    },
  };
}
