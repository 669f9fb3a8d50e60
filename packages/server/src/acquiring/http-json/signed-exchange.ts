// Sends a signed request to an HTTP acquirer, verifies the response signature and parses the body.
import { SpiAnswer, SpiEchoAnswer, type SpiPath } from '@switchyard/contract';
import type { Static, TSchema } from 'typebox';
import { Compile } from 'typebox/schema';
import type { Clock } from '../../platform/index.ts';
import type { AcquirerHttpClient } from './acquirer-http-client.ts';
import type { EchoResult } from './acquirer-readiness.ts';
import {
  type ReceivedResponse,
  type RequestSigner,
  type ResponseVerifier,
  signRequest,
} from './http-message-signatures.ts';
import type { VerifiedResponse } from './spi-messages.ts';

export type SignedExchangeResult =
  | { result: 'Responded'; verified: VerifiedResponse }
  | { result: 'NotSent'; reason: string }
  | { result: 'Timeout' | 'ConnectionLost' | 'InvalidSignature' };

export type SignedExchange = {
  sendSigned(
    path: SpiPath,
    message: object,
    options: {
      timeoutMs: number;
      onPossiblySent?: (() => void) | undefined;
      onLateResponse?: (lateResponse: VerifiedResponse) => void;
    },
  ): Promise<SignedExchangeResult>;
  /** Sends an echo that asks whether the acquirer accepts payments. */
  echo(sentAt: string, timeoutMs: number): Promise<EchoResult>;
};

type Deps = {
  httpClient: AcquirerHttpClient;
  /** A separate client, so that echoes do not wait for payment connections. */
  echoHttpClient: Pick<AcquirerHttpClient, 'post'>;
  signer: RequestSigner;
  verifier: ResponseVerifier;
  clock: Clock;
  /** Returns a new nonce for each request. */
  createNonce: () => string;
  /** Path prefix of the SPI at this acquirer, such as `/switchyard`. */
  pathPrefix: string;
};

function createBodyParser<Schema extends TSchema>(schema: Schema) {
  const compiled = Compile(schema);
  return (body: Buffer): Static<Schema> | undefined => {
    try {
      const value: unknown = JSON.parse(body.toString('utf8'));
      return compiled.Check(value) ? (value as Static<Schema>) : undefined;
    } catch {
      // Invalid JSON counts as an invalid response.
      return undefined;
    }
  };
}

const parseResponse = createBodyParser(SpiAnswer);
const parseEchoResponse = createBodyParser(SpiEchoAnswer);

/** @example const { ask } = createExchange({ calls, echoCalls, signer, verifier, clock, nonce, prefix: '' }); */
export function createSignedExchange(deps: Deps): SignedExchange {
  const { httpClient: calls, signer, verifier, clock } = deps;

  function signMessage(path: SpiPath, message: object) {
    const body = JSON.stringify(message);
    const fullPath = deps.pathPrefix + path;
    const signatureInput = { path: fullPath, body, now: clock.now(), nonce: deps.createNonce() };
    const { headers, signature } = signRequest(signer, signatureInput);
    const isGenuine = (answer: ReceivedResponse) =>
      verifier.isValidSignature(answer, signature, clock.now());
    return { call: { path: fullPath, headers, body }, isGenuine };
  }

  return {
    async sendSigned(path, message, { timeoutMs, onPossiblySent: onSent, onLateResponse: onLate }) {
      const { call, isGenuine } = signMessage(path, message);
      const verifyAndParse = (received: ReceivedResponse): VerifiedResponse | undefined => {
        if (!isGenuine(received)) return undefined;
        const verifiedResponse = parseResponse(received.body);
        return verifiedResponse && { status: received.status, response: verifiedResponse };
      };
      const httpResult = await calls.post({
        ...call,
        timeoutMs,
        onPossiblySent: onSent,
        onLateResponse:
          onLate &&
          ((received) => {
            const lateResponse = verifyAndParse(received);
            if (lateResponse !== undefined) onLate(lateResponse);
          }),
      });
      if (httpResult.result !== 'Responded') return httpResult;
      const verifiedResponse = verifyAndParse(httpResult.response);
      return verifiedResponse === undefined
        ? { result: 'InvalidSignature' }
        : { result: 'Responded', verified: verifiedResponse };
    },
    async echo(sentAt, timeoutMs) {
      const { call, isGenuine } = signMessage('/v1/echo', { sentAt });
      const httpResult = await deps.echoHttpClient.post({ ...call, timeoutMs });
      if (httpResult.result !== 'Responded') return 'NoResponse';
      const { response: answer } = httpResult;
      if (answer.status !== 200 || !isGenuine(answer)) return 'NotReady';
      return parseEchoResponse(answer.body)?.status === 'Ready' ? 'Ready' : 'NotReady';
    },
  };
}
