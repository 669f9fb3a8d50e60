/** What the checks of a provider are done with: signed calls, and the events that come back. */
import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import {
  CancelAnswer,
  type CancelReason,
  type CreateQrPayment,
  isProviderId,
  type ProviderAmount,
  providerCallHeaders,
  providerCallText,
  providerPaths,
  QrPaymentAnswer,
  RefundAnswer,
} from '@switchyard/contract';
import type { TSchema } from 'typebox';
import { Value } from 'typebox/value';
import type { Transport } from '../../http/https-transport.ts';
import type { Clock } from '../../runtime/clock.ts';
import { demand } from '../acquirer/acquirer-test-client.ts';
import type { Listener } from './event-receiver.ts';

/** What is bent on purpose. */
export type Bent = {
  /** Sent and signed in place of the message. */
  readonly body?: string;
  /** Sent in place of what was signed. */
  readonly sentBody?: string;
  /** What is signed of a call without a body. */
  readonly signedPath?: string;
  readonly agoSeconds?: number;
  readonly keys?: readonly Buffer[];
  readonly unsigned?: true;
};

export type Told = {
  readonly status: number;
  readonly value: Record<string, unknown>;
  readonly body: string;
  readonly bytes: number;
  readonly ms: number;
  readonly contentType: string;
};

export type Terms = {
  readonly paymentType: string;
  readonly currency: string;
  readonly amount: number;
  readonly pendingAmount: number;
  readonly paidAmount: number | undefined;
  readonly declinedAmount: number | undefined;
  readonly scanned: string | undefined;
  /** How long an answer may take. */
  readonly answerMs: number;
  /** How long an outcome is waited for. */
  readonly waitMs: number;
  /** How long it is looked whether more comes. */
  readonly settleMs: number;
  /** How long a repeated event is waited for. */
  readonly retryMs: number;
};

export type ProviderBench = {
  readonly terms: Terms;
  readonly key: Buffer;
  readonly listener: Listener;
  readonly clock: Clock;
  payment(members?: Partial<CreateQrPayment>): CreateQrPayment;
  get(path: string, bent?: Bent): Promise<Told>;
  post(path: string, message: object, bent?: Bent): Promise<Told>;
  /** Begins a payment, and demands an answer of the shape of the SPI. */
  begin(payment: CreateQrPayment): Promise<QrPaymentAnswer>;
  status(of: CreateQrPayment): Promise<QrPaymentAnswer>;
  cancel(of: CreateQrPayment, reason?: CancelReason): Promise<CancelAnswer>;
  refundAsked(
    of: CreateQrPayment,
    amount: number,
    refundId?: string,
  ): object & { refundId: string };
  refund(of: CreateQrPayment, amount: number, refundId?: string): Promise<RefundAnswer>;
};

type Deps = {
  readonly transport: Transport;
  readonly url: URL;
  readonly key: Buffer;
  readonly clock: Clock;
  readonly terms: Terms;
  readonly listener: Listener;
};

const expiresInMs = 180_000;
const saidMax = 200;

/** The place of a run: one merchant, one terminal. */
function placeOf(): CreateQrPayment['merchant'] {
  return {
    merchantId: randomUUID(),
    name: 'Conformance Test',
    acquirerId: randomUUID(),
    acquirerName: 'Conformance Test',
    storeId: randomUUID(),
    storeName: 'Test Store',
    terminalId: randomUUID(),
    mcc: '5411',
    country: 'DE',
    timeZone: 'Europe/Berlin',
  };
}

function membersOf(body: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** What a server says of itself tells at once what is wrong. */
export function heard({ status, value }: Told): string {
  const said = value['detail'] ?? value['title'] ?? value['code'];
  const isText = typeof said === 'string';
  return `HTTP ${status}${isText ? `, “${said.slice(0, saidMax)}”` : ''}`;
}

const isFine = ({ status }: Told) => status >= 200 && status <= 202;

/** Demands an answer that the platform could read. */
export function shaped<Schema extends TSchema>(told: Told, schema: Schema, what: string) {
  demand(isFine(told), `${what} is answered ${heard(told)}`);
  demand(
    /^application\/json\b/i.test(told.contentType),
    `${what} is answered as ${told.contentType || 'nothing'}, not as application/json`,
  );
  const [fault] = Value.Errors(schema, told.value);
  const where =
    fault === undefined ? '' : `${fault.instancePath.slice(1) || 'it'} ${fault.message}`;
  demand(fault === undefined, `${what} is answered in another shape: ${where}`);
}

/** @example const bench = createProviderBench({ transport, url, key, clock, terms, listener }); */
export function createProviderBench(deps: Deps): ProviderBench {
  const { terms, clock, listener, url } = deps;
  const place = placeOf();
  const prefix = url.pathname.replace(/\/+$/, '');

  function signed(text: string, { agoSeconds = 0, keys = [deps.key], unsigned }: Bent) {
    if (unsigned === true) return {};
    const id = `msg_${randomBytes(16).toString('base64url')}`;
    const timestamp = String(Math.floor(clock.now() / 1000) - agoSeconds);
    const signatures = keys.map(
      (key) =>
        `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${text}`).digest('base64')}`,
    );
    return {
      [providerCallHeaders.id]: id,
      [providerCallHeaders.timestamp]: timestamp,
      [providerCallHeaders.signature]: signatures.join(' '),
    };
  }

  async function send(method: string, path: string, text: string, bent: Bent): Promise<Told> {
    const target = new URL(url);
    target.pathname = `${prefix}${path}` || '/';
    const isPost = method === 'POST';
    const type: Record<string, string> = isPost ? { 'content-type': 'application/json' } : {};
    const headers = { accept: 'application/json', ...type, ...signed(text, bent) };
    const body = isPost ? { body: bent.sentBody ?? text } : {};
    const began = performance.now();
    const incoming = await deps.transport.send({ method, url: target, headers, ...body });
    const ms = Math.round(performance.now() - began);
    const answered = incoming.body.toString('utf8');
    return {
      status: incoming.status,
      value: membersOf(answered),
      body: answered,
      bytes: incoming.body.length,
      ms,
      contentType: String(incoming.headers['content-type'] ?? ''),
    };
  }

  const get: ProviderBench['get'] = (path, bent = {}) =>
    send('GET', path, providerCallText('GET', bent.signedPath ?? path), bent);
  const post: ProviderBench['post'] = (path, message, bent = {}) =>
    send('POST', path, bent.body ?? JSON.stringify(message), bent);

  function payment(members: Partial<CreateQrPayment> = {}): CreateQrPayment {
    const platformTransactionId = members.platformTransactionId ?? randomUUID();
    const now = clock.now();
    const amount: ProviderAmount = { amount: terms.amount, currency: terms.currency };
    return {
      platformTransactionId,
      clientTransactionId: randomUUID(),
      serviceId: randomUUID(),
      paymentType: terms.paymentType,
      paymentScenario: 'consumerscan',
      amount,
      order: { orderId: randomUUID(), orderDescription: 'Conformance test' },
      merchant: place,
      createdAt: new Date(now).toISOString(),
      expiresAt: new Date(now + expiresInMs).toISOString(),
      eventsUrl: listener.urlOf(platformTransactionId),
      ...members,
    };
  }

  function refundAsked(
    { platformTransactionId, amount }: CreateQrPayment,
    minor: number,
    refundId: string = randomUUID(),
  ) {
    const money = { amount: minor, currency: amount.currency };
    const requestedAt = new Date(clock.now()).toISOString();
    return { refundId, platformTransactionId, amount: money, reason: 'Merchant', requestedAt };
  }

  return {
    terms,
    key: deps.key,
    listener,
    clock,
    payment,
    get,
    post,
    refundAsked,
    async begin(asked) {
      const told = await post(providerPaths.payments, asked);
      shaped(told, QrPaymentAnswer, 'the payment');
      const answer = told.value as QrPaymentAnswer;
      const { providerTransactionId: id } = answer;
      demand(isProviderId(id), `its identifier ${id} could be the number of a card`);
      return answer;
    },
    async status({ platformTransactionId }) {
      const told = await get(providerPaths.payment(platformTransactionId));
      shaped(told, QrPaymentAnswer, 'the status');
      return told.value as QrPaymentAnswer;
    },
    async cancel({ platformTransactionId }, reason = 'Merchant') {
      const requestedAt = new Date(clock.now()).toISOString();
      const asked = { platformTransactionId, reason, requestedAt };
      const told = await post(providerPaths.cancel(platformTransactionId), asked);
      const { paymentStatus } = told.value;
      if (told.status === 409 && Value.Check(CancelAnswer, { status: paymentStatus })) {
        return { status: paymentStatus } as CancelAnswer;
      }
      shaped(told, CancelAnswer, 'the cancel');
      return told.value as CancelAnswer;
    },
    async refund(of, amount, refundId) {
      const asked = refundAsked(of, amount, refundId);
      const told = await post(providerPaths.refunds(of.platformTransactionId), asked);
      shaped(told, RefundAnswer, 'the refund');
      const answer = told.value as RefundAnswer;
      demand(answer.refundId === asked.refundId, `it names another refund: ${answer.refundId}`);
      return answer;
    },
  };
}
