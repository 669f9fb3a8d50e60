/** The client of the acquirer checks: signs requests and verifies the signatures of responses. */
import {
  createHash,
  type KeyObject,
  randomBytes,
  randomInt,
  randomUUID,
  sign,
  verify,
} from 'node:crypto';
import {
  SpiAnswer,
  type SpiPath,
  type SpiSignatureFault,
  signSpiMessage,
  spiAnswerComponents,
  verifySpiMessage,
} from '@switchyard/contract';
import { Value } from 'typebox/value';
import type { HttpResponse, Transport } from '../../http/https-transport.ts';
import { parseJson } from '../../http/problem-details.ts';
import type { Clock } from '../../runtime/clock.ts';
import { expectConformity } from '../nonconformity-error.ts';
import { keyIdOf, type SigningKey } from './signing-keys.ts';

/** Deliberate errors in a request. */
export type Deviation = {
  readonly body?: string;
  readonly created?: number;
  readonly key?: SigningKey;
  readonly unsigned?: boolean;
  /** Sent in place of the signed body. */
  readonly sentBody?: string;
};

export type TestResponse = {
  readonly status: number;
  /** Whether the acquirer signed the response, for this request. */
  readonly isGenuine: boolean;
  /** The reason why the signature is invalid; empty if it is valid. */
  readonly signatureError: string;
  readonly value: unknown;
};

export type TestData = {
  readonly merchantId: string;
  readonly terminalId: string;
  readonly institutionId: string;
  readonly mcc: string;
  readonly currency: string;
  readonly amount: number;
  readonly card: { readonly number: string; readonly expiry: string };
  readonly declinedAmount: number | undefined;
};

export type Message = Record<string, unknown> & {
  messageId: string;
  amount: number;
  currency: string;
};

export type AcquirerTestClient = {
  readonly testData: TestData;
  /** A new message with its own identifiers. */
  message(members: Record<string, unknown>, transactionId?: string): Message;
  payment(kind: 'Sale' | 'Authorization', members?: Record<string, unknown>): Message;
  followUp(original: Message, members: Record<string, unknown>): Message;
  send(path: SpiPath, message: object, deviation?: Deviation): Promise<TestResponse>;
  /** Sends the same signed request several times. */
  replay(path: SpiPath, message: object, times: number): Promise<TestResponse[]>;
  /** Sends a message and expects a signed response of the SPI that names this message. */
  expectAnswer(path: SpiPath, message: Message | { messageId: string }): Promise<SpiAnswer>;
};

type AcquirerTestClientOptions = {
  readonly transport: Transport;
  readonly url: URL;
  readonly key: SigningKey;
  readonly acquirerKey: KeyObject;
  readonly acquirerKeyX: string;
  readonly clock: Clock;
  readonly testData: TestData;
};

type SignedRequest = { headers: Record<string, string>; body: string; signature: string };

const nonceBytes = 16;
const tracesMax = 1_000_000;

const sha256 = (body: string | Buffer) => createHash('sha256').update(body).digest('base64');

const detailMax = 200;

/** The detail of the problem document of the server, which often names the cause. */
function problemDetail(value: unknown): string | undefined {
  const { detail } = (value ?? {}) as { detail?: unknown };
  return typeof detail === 'string' ? detail.slice(0, detailMax) : undefined;
}

const signatureErrors: Readonly<Record<Exclude<SpiSignatureFault, 'key_unknown'>, string>> = {
  missing: 'the response has no signature of the SPI',
  digest_wrong: 'its Content-Digest does not match the body',
  components_missing: `its signature does not cover ${spiAnswerComponents.join(' ')}`,
  stale: 'the creation time of its signature is too old or in the future',
  wrong: 'its signature is invalid',
};

function findSignatureError(
  { acquirerKey, acquirerKeyX, clock }: AcquirerTestClientOptions,
  { status, headers, body }: HttpResponse,
  requestSignature: string,
): string | undefined {
  const expectedKeyId = keyIdOf(acquirerKeyX);
  const parts = { status, requestSignature, sha256: sha256(body) };
  const verification = verifySpiMessage(parts, headers, {
    now: clock.now(),
    verify(keyId, text, signature) {
      if (keyId !== expectedKeyId) return undefined;
      return verify(null, Buffer.from(text), acquirerKey, Buffer.from(signature, 'base64'));
    },
  });
  if (verification.fault === undefined) return undefined;
  return verification.fault === 'key_unknown'
    ? `its keyid is ${verification.keyId}, not the thumbprint ${expectedKeyId}`
    : signatureErrors[verification.fault];
}

/** @example const client = createAcquirerTestClient({ transport, url, key, acquirerKey, acquirerKeyX, clock, terms }); */
export function createAcquirerTestClient(options: AcquirerTestClientOptions): AcquirerTestClient {
  const { testData, clock } = options;
  const prefix = options.url.pathname.replace(/\/$/, '');
  let trace = randomInt(tracesMax);

  function signRequest(path: SpiPath, message: object, deviation: Deviation): SignedRequest {
    const body = deviation.body ?? JSON.stringify(message);
    const key = deviation.key ?? options.key;
    const created = deviation.created ?? Math.floor(clock.now() / 1000);
    const nonce = randomBytes(nonceBytes).toString('base64url');
    const { headers: signed, signature } = signSpiMessage(
      { method: 'POST', path: prefix + path, sha256: sha256(body) },
      { created, keyId: key.keyId, nonce },
      (text) => sign(null, Buffer.from(text), key.privateKey).toString('base64'),
    );
    const { 'content-digest': digest } = signed;
    const headers: Record<string, string> = {
      'content-type': 'application/json',
      accept: 'application/json',
      ...(deviation.unsigned === true ? { 'content-digest': digest } : signed),
    };
    return { headers, body: deviation.sentBody ?? body, signature };
  }

  async function sendSigned(
    path: SpiPath,
    { headers, body, signature }: SignedRequest,
  ): Promise<TestResponse> {
    const url = new URL(prefix + path, options.url);
    const incoming = await options.transport.send({ method: 'POST', url, headers, body });
    const signatureError = findSignatureError(options, incoming, signature);
    const value = parseJson(incoming.body);
    return {
      status: incoming.status,
      isGenuine: signatureError === undefined,
      signatureError: signatureError ?? '',
      value,
    };
  }

  function message(members: Record<string, unknown>, transactionId: string = randomUUID()) {
    trace = (trace + 1) % tracesMax;
    const traceNumber = String(Math.max(1, trace)).padStart(6, '0');
    const at = new Date(clock.now()).toISOString();
    const retrievalReference = `CT${at.slice(5, 7)}${at.slice(8, 10)}${traceNumber}`;
    return {
      messageId: `${transactionId}-${retrievalReference}`,
      repeat: false,
      transactionId,
      sentAt: at,
      institutionId: testData.institutionId,
      merchantId: testData.merchantId,
      mcc: testData.mcc,
      terminalId: testData.terminalId,
      traceNumber,
      retrievalReference,
      localTime: at.slice(11, 19).replaceAll(':', ''),
      localDate: at.slice(5, 10).replace('-', ''),
      amount: testData.amount,
      currency: testData.currency,
      ...members,
    };
  }

  const send = (path: SpiPath, message: object, deviation: Deviation = {}) =>
    sendSigned(path, signRequest(path, message, deviation));

  return {
    testData,
    message,
    payment: (kind, members = {}) =>
      message({
        kind,
        entryMode: 'Keyed',
        isRemoteOrder: false,
        card: testData.card,
        ...members,
      }),
    followUp: (original, members) =>
      message({ original: original.messageId, ...members }, String(original['transactionId'])),
    send,
    async replay(path, message, times) {
      const request = signRequest(path, message, {});
      const response: TestResponse[] = [];
      for (let time = 0; time < times; time += 1) response.push(await sendSigned(path, request));
      return response;
    },
    async expectAnswer(path, message) {
      const response = await send(path, message);
      const problem = problemDetail(response.value);
      const summary = `HTTP ${response.status}${problem === undefined ? '' : `, “${problem}”`}`;
      expectConformity(
        response.isGenuine,
        `the answer (${summary}) has no valid signature: ${response.signatureError}`,
      );
      expectConformity(
        Value.Check(SpiAnswer, response.value),
        'the response does not match the schema of the SPI',
      );
      const { messageId } = response.value;
      expectConformity(
        messageId === message.messageId,
        `the response names another message: ${messageId}`,
      );
      return response.value;
    },
  };
}
