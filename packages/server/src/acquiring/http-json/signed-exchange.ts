// Sends a signed request to an HTTP acquirer, verifies the response signature and parses the body.
import { SpiAnswer, SpiEchoAnswer, type SpiPath } from '@switchyard/contract';
import type { Static, TSchema } from 'typebox';
import { Compile } from 'typebox/schema';
import type { Clock } from '../../platform/index.ts';
import type { ExchangeResult } from '../spi/acquirer-spi.ts';
import type { AcquirerHttpClient } from './acquirer-http-client.ts';
import {
  type ReceivedResponse,
  type RequestSigner,
  type ResponseVerifier,
  signRequest,
} from './http-message-signatures.ts';

/** A response with a valid signature and schema. */
export type VerifiedResponse<Body = SpiAnswer> = { status: number; body: Body };

/** `Ready`: signed response that the acquirer accepts payments. `NoResponse`: no HTTP response. */
export type EchoResult = 'Ready' | 'NotReady' | 'NoResponse';

type ExchangeOptions = {
  timeoutMs: number;
  onPossiblySent?: (() => void) | undefined;
  onLateResponse?: (lateResponse: VerifiedResponse) => void;
};

export type SignedExchange = ReturnType<typeof createSignedExchange>;

type Ports = {
  httpClient: AcquirerHttpClient;
  /** A separate client, so that echoes do not wait for payment connections. */
  echoHttpClient: Pick<AcquirerHttpClient, 'post'>;
  signer: RequestSigner;
  verifier: ResponseVerifier;
  clock: Clock;
  createNonce: () => string;
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

const parseAnswer = createBodyParser(SpiAnswer);
const parseEchoAnswer = createBodyParser(SpiEchoAnswer);

export function createSignedExchange(ports: Ports) {
  const { httpClient, echoHttpClient, signer, verifier, clock, pathPrefix } = ports;

  function signMessage<Body>(
    path: SpiPath,
    message: object,
    parse: (body: Buffer) => Body | undefined,
  ) {
    const body = JSON.stringify(message);
    const fullPath = pathPrefix + path;
    const signatureInput = { path: fullPath, body, now: clock.now(), nonce: ports.createNonce() };
    const { headers, signature } = signRequest(signer, signatureInput);
    return {
      call: { path: fullPath, headers, body },
      verify(received: ReceivedResponse): VerifiedResponse<Body> | undefined {
        if (!verifier.isValidSignature(received, signature, clock.now())) return undefined;
        const parsedBody = parse(received.body);
        return parsedBody && { status: received.status, body: parsedBody };
      },
    };
  }

  return {
    async sendSigned(
      path: SpiPath,
      message: object,
      { timeoutMs, onPossiblySent, onLateResponse }: ExchangeOptions,
    ): Promise<ExchangeResult<VerifiedResponse>> {
      const { call, verify } = signMessage(path, message, parseAnswer);
      const exchangeResult = await httpClient.post({
        ...call,
        timeoutMs,
        onPossiblySent,
        onLateResponse:
          onLateResponse &&
          ((received) => {
            const lateResponse = verify(received);
            if (lateResponse !== undefined) onLateResponse(lateResponse);
          }),
      });
      if (exchangeResult.result !== 'Responded') return exchangeResult;
      const response = verify(exchangeResult.response);
      return response ? { result: 'Responded', response } : { result: 'InvalidResponse' };
    },
    async echo(sentAt: string, timeoutMs: number): Promise<EchoResult> {
      const { call, verify } = signMessage('/v1/echo', { sentAt }, parseEchoAnswer);
      const exchangeResult = await echoHttpClient.post({ ...call, timeoutMs });
      if (exchangeResult.result !== 'Responded') return 'NoResponse';
      const response = verify(exchangeResult.response);
      return response?.status === 200 && response.body.status === 'Ready' ? 'Ready' : 'NotReady';
    },
  };
}
