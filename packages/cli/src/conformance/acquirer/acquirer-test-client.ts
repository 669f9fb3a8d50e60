/** What the checks are done with: signed questions, and answers whose signatures are looked at. */
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
  spiSignatureInput,
  spiSignatureLabel,
} from '@switchyard/contract';
import { Value } from 'typebox/value';
import type { Incoming, Transport } from '../../http/https-transport.ts';
import type { Clock } from '../../runtime/clock.ts';
import { keyIdOf, type OwnKey } from './signing-keys.ts';

/** What a check found not to be as the SPI says. */
export class NonconformityError extends Error {}

export function demand(isSo: boolean, detail: string): asserts isSo {
  if (!isSo) throw new NonconformityError(detail);
}

/** What is bent on purpose. */
export type Bent = {
  readonly body?: string;
  readonly created?: number;
  readonly key?: OwnKey;
  readonly unsigned?: boolean;
  /** Sent in place of what was signed. */
  readonly sentBody?: string;
};

export type Told = {
  readonly status: number;
  /** Signed by the acquirer, and for this question. */
  readonly isGenuine: boolean;
  /** Why not. */
  readonly fault: string;
  readonly value: unknown;
};

export type Terms = {
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

export type Bench = {
  readonly terms: Terms;
  /** One message with an identifier of its own. */
  message(members: Record<string, unknown>, transactionId?: string): Message;
  payment(kind: 'Sale' | 'Authorization', members?: Record<string, unknown>): Message;
  follow(of: Message, members: Record<string, unknown>): Message;
  ask(path: SpiPath, message: object, bent?: Bent): Promise<Told>;
  /** The same bytes as often as asked, signature and all. */
  replay(path: SpiPath, message: object, times: number): Promise<Told[]>;
  /** Asks, and demands a signed answer of the shape of the SPI to this very message. */
  answer(path: SpiPath, message: Message | { messageId: string }): Promise<SpiAnswer>;
};

type Deps = {
  readonly transport: Transport;
  readonly url: URL;
  readonly key: OwnKey;
  readonly acquirerKey: KeyObject;
  readonly acquirerKeyX: string;
  readonly clock: Clock;
  readonly terms: Terms;
};

type Signed = { headers: Record<string, string>; body: string; signature: string };

const nonceBytes = 16;
const tracesMax = 1_000_000;

function headerOf({ headers }: Incoming, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : undefined;
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

const detailMax = 200;

/** What the server says of itself: it often tells at once what is wrong. */
function detailOf(value: unknown): string | undefined {
  const { detail } = (value ?? {}) as { detail?: unknown };
  return typeof detail === 'string' ? detail.slice(0, detailMax) : undefined;
}

function faultOf(deps: Deps, incoming: Incoming, requestSignature: string): string | undefined {
  const signature = readSpiSignature({
    signatureInput: headerOf(incoming, 'signature-input'),
    signature: headerOf(incoming, 'signature'),
  });
  if (signature === undefined) return 'it carries no signature of the SPI';
  const digest = spiContentDigest(createHash('sha256').update(incoming.body).digest('base64'));
  if (headerOf(incoming, 'content-digest') !== digest) return 'its Content-Digest does not fit';
  if (!coversSpiComponents(signature, spiAnswerComponents)) {
    return `its signature does not cover ${spiAnswerComponents.join(' ')}`;
  }
  if (signature.keyId !== keyIdOf(deps.acquirerKeyX)) {
    return `its keyid is ${signature.keyId}, not the thumbprint ${keyIdOf(deps.acquirerKeyX)}`;
  }
  if (!isFreshSpiSignature(signature, deps.clock.now())) return 'its signature is not of now';
  const base = spiSignatureBase(signature.input, {
    '"@status"': String(incoming.status),
    '"content-digest"': digest,
    [spiAnswerComponents[2]]: requestSignature,
  });
  const bytes = Buffer.from(signature.signature, 'base64');
  if (base !== undefined && verify(null, Buffer.from(base), deps.acquirerKey, bytes)) {
    return undefined;
  }
  return 'its signature does not fit';
}

/** @example const bench = createBench({ transport, url, key, acquirerKey, acquirerKeyX, clock, terms }); */
export function createBench(deps: Deps): Bench {
  const { terms, clock } = deps;
  const prefix = deps.url.pathname.replace(/\/$/, '');
  let trace = randomInt(tracesMax);

  function signed(path: SpiPath, message: object, bent: Bent): Signed {
    const body = bent.body ?? JSON.stringify(message);
    const key = bent.key ?? deps.key;
    const digest = spiContentDigest(createHash('sha256').update(body).digest('base64'));
    const created = bent.created ?? Math.floor(clock.now() / 1000);
    const nonce = randomBytes(nonceBytes).toString('base64url');
    const given = { created, keyId: key.keyId, nonce };
    const input = spiSignatureInput(spiRequestComponents, given);
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
    if (bent.unsigned !== true) {
      headers['signature-input'] = `${spiSignatureLabel}=${input}`;
      headers['signature'] = `${spiSignatureLabel}=${signature}`;
    }
    return { headers, body: bent.sentBody ?? body, signature };
  }

  async function send(path: SpiPath, { headers, body, signature }: Signed): Promise<Told> {
    const url = new URL(prefix + path, deps.url);
    const incoming = await deps.transport.send({ method: 'POST', url, headers, body });
    const fault = faultOf(deps, incoming, signature);
    const value = parsed(incoming.body);
    return { status: incoming.status, isGenuine: fault === undefined, fault: fault ?? '', value };
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
      institutionId: terms.institutionId,
      merchantId: terms.merchantId,
      mcc: terms.mcc,
      terminalId: terms.terminalId,
      traceNumber,
      retrievalReference,
      localTime: at.slice(11, 19).replaceAll(':', ''),
      localDate: at.slice(5, 10).replace('-', ''),
      amount: terms.amount,
      currency: terms.currency,
      ...members,
    };
  }

  const ask = (path: SpiPath, asked: object, bent: Bent = {}) =>
    send(path, signed(path, asked, bent));

  return {
    terms,
    message,
    payment: (kind, members = {}) =>
      message({
        kind,
        entryMode: 'Keyed',
        isRemoteOrder: false,
        card: terms.card,
        ...members,
      }),
    follow: (of, members) =>
      message({ original: of.messageId, ...members }, String(of['transactionId'])),
    ask,
    async replay(path, asked, times) {
      const same = signed(path, asked, {});
      const told: Told[] = [];
      for (let time = 0; time < times; time += 1) told.push(await send(path, same));
      return told;
    },
    async answer(path, asked) {
      const told = await ask(path, asked);
      const said = detailOf(told.value);
      const heard = `HTTP ${told.status}${said === undefined ? '' : `, “${said}”`}`;
      demand(told.isGenuine, `the answer (${heard}) is not to be trusted: ${told.fault}`);
      demand(Value.Check(SpiAnswer, told.value), 'the answer is not of the shape of the SPI');
      const { messageId } = told.value;
      demand(messageId === asked.messageId, `the answer names another message: ${messageId}`);
      return told.value;
    },
  };
}
