// Sends signed requests to an HTTP acquirer and verifies its responses (RFC 9421, Ed25519, ADR 0033).
import { createPublicKey, hash, randomBytes, verify as verifySignature } from 'node:crypto';
import {
  SpiAnswer,
  SpiEchoAnswer,
  type SpiPath,
  signSpiMessage,
  verifySpiMessage,
} from '@switchyard/contract';
import type { Static, TSchema } from 'typebox';
import { Compile } from 'typebox/schema';
import { createSigningKey, isoTime, publicSigningKey } from '../../platform/index.ts';
import type { ConnectionPorts, ExchangeResult, HttpJsonLink } from '../spi/acquirer-spi.ts';
import { createAcquirerHttpClient, type ReceivedResponse } from './acquirer-http-client.ts';

type LinkKeyId = { organizationId: string; linkId: string; keyVersion: number };

export type RequestSigner = ReturnType<RequestSigners['signerFor']>;

export type RequestSigners = ReturnType<typeof createRequestSigners>;

/** Keys are derived from the master key and not stored. */
export function createRequestSigners(masterKey: Buffer) {
  const deriveKey = ({ organizationId, linkId, keyVersion }: LinkKeyId) =>
    createSigningKey(masterKey, `acquirer link|${organizationId}|${linkId}|${keyVersion}`);
  return {
    signerFor(link: LinkKeyId) {
      const { key, sign } = deriveKey(link);
      const signBase64 = (text: string) => Buffer.from(sign(text), 'base64url').toString('base64');
      return { keyId: key.kid, signBase64 };
    },
    /** Public keys for the acquirer: the current key and the next key for rotation. */
    publicKeysFor: (link: LinkKeyId) => ({
      current: deriveKey(link).key,
      next: deriveKey({ ...link, keyVersion: link.keyVersion + 1 }).key,
    }),
  };
}

/** A response with a valid signature and schema. */
export type VerifiedResponse<Body = SpiAnswer> = { status: number; body: Body };

/** `Ready`: signed response that the acquirer accepts payments. `NoResponse`: no HTTP response. */
export type EchoResult = 'Ready' | 'NotReady' | 'NoResponse';

type ExchangeOptions = {
  timeoutMs: number;
  /** Not covered by the signature: it says nothing about the payment. */
  traceparent?: string | undefined;
  onPossiblySent?: (() => void) | undefined;
  onLateResponse?: (lateResponse: VerifiedResponse) => void;
};

export type SignedExchange = ReturnType<typeof createSignedExchange>;

type Options = Pick<ConnectionPorts, 'addressGuard' | 'clock' | 'timeoutMs' | 'tlsIdentity'> & {
  link: HttpJsonLink;
  signer: RequestSigner;
};

const nonceBytes = 16;

const sha256 = (body: string | Buffer) => hash('sha256', body, 'base64');

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

/** @throws Error if a public key of the acquirer is invalid */
export function createSignedExchange(options: Options) {
  const { addressGuard, link, signer, clock, timeoutMs, tlsIdentity } = options;
  const { host, port, tls = false, path: pathPrefix = '', acquirerKeys } = link.settings;
  const httpOptions = {
    addressGuard,
    host,
    port,
    tls,
    tlsIdentity,
    lateResponseWindowMs: timeoutMs,
  };
  const httpClient = createAcquirerHttpClient(httpOptions);
  // A separate client, so that echoes do not wait for payment connections.
  const echoHttpClient = createAcquirerHttpClient({ ...httpOptions, maxConnections: 1 });
  const keysById = new Map(
    acquirerKeys.map((x) => {
      const { kty, crv, kid } = publicSigningKey(x);
      return [kid, createPublicKey({ key: { kty, crv, x }, format: 'jwk' })];
    }),
  );

  function isValidSignature(
    { status, headers, body }: ReceivedResponse,
    requestSignature: string,
  ): boolean {
    const parts = { status, requestSignature, sha256: sha256(body) };
    const { fault } = verifySpiMessage(parts, headers, {
      now: clock.now(),
      verify(keyId, text, signature) {
        const key = keysById.get(keyId);
        return (
          key && verifySignature(null, Buffer.from(text), key, Buffer.from(signature, 'base64'))
        );
      },
    });
    return fault === undefined;
  }

  function signMessage<Body>(
    spiPath: SpiPath,
    message: object,
    parse: (body: Buffer) => Body | undefined,
  ) {
    const path = pathPrefix + spiPath;
    const body = JSON.stringify(message);
    const { headers, signature } = signSpiMessage(
      { method: 'POST', path, sha256: sha256(body) },
      {
        created: Math.floor(clock.now() / 1000),
        keyId: signer.keyId,
        nonce: randomBytes(nonceBytes).toString('base64url'),
      },
      signer.signBase64,
    );
    return {
      call: { path, headers, body },
      /** The response signature must cover the request signature. */
      verify(received: ReceivedResponse): VerifiedResponse<Body> | undefined {
        if (!isValidSignature(received, signature)) return undefined;
        const parsedBody = parse(received.body);
        return parsedBody && { status: received.status, body: parsedBody };
      },
    };
  }

  return {
    async sendSigned(
      path: SpiPath,
      message: object,
      { timeoutMs, traceparent, onPossiblySent, onLateResponse }: ExchangeOptions,
    ): Promise<ExchangeResult<VerifiedResponse>> {
      const { call, verify } = signMessage(path, message, parseAnswer);
      const exchangeResult = await httpClient.post({
        ...call,
        headers: traceparent === undefined ? call.headers : { ...call.headers, traceparent },
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
    async echo(timeoutMs: number): Promise<EchoResult> {
      const sentAt = isoTime(clock.now());
      const { call, verify } = signMessage('/v1/echo', { sentAt }, parseEchoAnswer);
      const exchangeResult = await echoHttpClient.post({ ...call, timeoutMs });
      if (exchangeResult.result !== 'Responded') return 'NoResponse';
      const response = verify(exchangeResult.response);
      return response?.status === 200 && response.body.status === 'Ready' ? 'Ready' : 'NotReady';
    },
    close(): void {
      httpClient.close();
      echoHttpClient.close();
    },
  };
}
