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
  coversSpiComponents,
  isFreshSpiSignature,
  readSpiSignature,
  SpiAnswer,
  type SpiPath,
  spiAnswerComponents,
  spiContentDigest,
  spiRequestComponents,
  spiSignatureBase,
  spiSignatureInputHeader,
  spiSignatureLabel,
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

function headerOf({ headers }: HttpResponse, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : undefined;
}

const detailMax = 200;

/** The detail of the problem document of the server, which often names the cause. */
function problemDetail(value: unknown): string | undefined {
  const { detail } = (value ?? {}) as { detail?: unknown };
  return typeof detail === 'string' ? detail.slice(0, detailMax) : undefined;
}

function findSignatureError(
  options: AcquirerTestClientOptions,
  incoming: HttpResponse,
  requestSignature: string,
): string | undefined {
  const signature = readSpiSignature({
    signatureInput: headerOf(incoming, 'signature-input'),
    signature: headerOf(incoming, 'signature'),
  });
  if (signature === undefined) return 'the response has no signature of the SPI';
  const digest = spiContentDigest(createHash('sha256').update(incoming.body).digest('base64'));
  if (headerOf(incoming, 'content-digest') !== digest)
    return 'its Content-Digest does not match the body';
  if (!coversSpiComponents(signature, spiAnswerComponents)) {
    return `its signature does not cover ${spiAnswerComponents.join(' ')}`;
  }
  if (signature.keyId !== keyIdOf(options.acquirerKeyX)) {
    return `its keyid is ${signature.keyId}, not the thumbprint ${keyIdOf(options.acquirerKeyX)}`;
  }
  if (!isFreshSpiSignature(signature, options.clock.now()))
    return 'the creation time of its signature is too old or in the future';
  const base = spiSignatureBase(signature.input, {
    '"@status"': String(incoming.status),
    '"content-digest"': digest,
    [spiAnswerComponents[2]]: requestSignature,
  });
  const bytes = Buffer.from(signature.signature, 'base64');
  if (base !== undefined && verify(null, Buffer.from(base), options.acquirerKey, bytes)) {
    return undefined;
  }
  return 'its signature is invalid';
}

/** @example const client = createAcquirerTestClient({ transport, url, key, acquirerKey, acquirerKeyX, clock, terms }); */
export function createAcquirerTestClient(options: AcquirerTestClientOptions): AcquirerTestClient {
  const { testData, clock } = options;
  const prefix = options.url.pathname.replace(/\/$/, '');
  let trace = randomInt(tracesMax);

  function signRequest(path: SpiPath, message: object, deviation: Deviation): SignedRequest {
    const body = deviation.body ?? JSON.stringify(message);
    const key = deviation.key ?? options.key;
    const digest = spiContentDigest(createHash('sha256').update(body).digest('base64'));
    const created = deviation.created ?? Math.floor(clock.now() / 1000);
    const nonce = randomBytes(nonceBytes).toString('base64url');
    const parameters = { created, keyId: key.keyId, nonce };
    const input = spiSignatureInputHeader(spiRequestComponents, parameters);
    const base = spiSignatureBase(input, {
      '"@method"': 'POST',
      '"@path"': prefix + path,
      '"content-digest"': digest,
    });
    const signature = `:${sign(null, Buffer.from(base ?? ''), key.privateKey).toString('base64')}:`;
    const headers: Record<string, string> = {
      'content-type': 'application/json',
      accept: 'application/json',
      'content-digest': digest,
    };
    if (deviation.unsigned !== true) {
      headers['signature-input'] = `${spiSignatureLabel}=${input}`;
      headers['signature'] = `${spiSignatureLabel}=${signature}`;
    }
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
