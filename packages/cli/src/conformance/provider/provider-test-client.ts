/** The client of the provider checks: signs calls and measures the responses. */
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
import { membersOf, parseJson } from '../../http/problem-details.ts';
import type { Clock } from '../../runtime/clock.ts';
import { expectConformity } from '../nonconformity-error.ts';
import type { EventReceiver } from './event-receiver.ts';

/** Deliberate errors in a request. */
export type Deviation = {
  /** Sent and signed in place of the message. */
  readonly body?: string;
  /** Sent in place of the signed body. */
  readonly sentBody?: string;
  /** Signed in place of the path of a GET. */
  readonly signedPath?: string;
  readonly agoSeconds?: number;
  readonly keys?: readonly Buffer[];
  readonly unsigned?: true;
};

export type TestResponse = {
  readonly status: number;
  readonly value: Record<string, unknown>;
  readonly body: string;
  readonly bytes: number;
  readonly ms: number;
  readonly contentType: string;
};

export type TestData = {
  readonly paymentType: string;
  readonly currency: string;
  readonly amount: number;
  readonly pendingAmount: number;
  readonly paidAmount: number | undefined;
  readonly declinedAmount: number | undefined;
  readonly scanned: string | undefined;
  /** The maximum time of a response. */
  readonly answerMs: number;
  /** How long to wait for an outcome. */
  readonly waitMs: number;
  /** How long to watch for unexpected further events. */
  readonly settleMs: number;
  /** How long to wait for a repeated event. */
  readonly retryMs: number;
};

export type ProviderTestClient = {
  readonly testData: TestData;
  readonly key: Buffer;
  readonly receiver: EventReceiver;
  readonly clock: Clock;
  payment(members?: Partial<CreateQrPayment>): CreateQrPayment;
  get(path: string, deviation?: Deviation): Promise<TestResponse>;
  post(path: string, message: object, deviation?: Deviation): Promise<TestResponse>;
  /** Creates a payment and expects a response of the SPI. */
  createPayment(payment: CreateQrPayment): Promise<QrPaymentAnswer>;
  status(payment: CreateQrPayment): Promise<QrPaymentAnswer>;
  cancel(payment: CreateQrPayment, reason?: CancelReason): Promise<CancelAnswer>;
  createRefundRequest(
    payment: CreateQrPayment,
    amount: number,
    refundId?: string,
  ): object & { refundId: string };
  refund(payment: CreateQrPayment, amount: number, refundId?: string): Promise<RefundAnswer>;
};

type ProviderTestClientOptions = {
  readonly transport: Transport;
  readonly url: URL;
  readonly key: Buffer;
  readonly clock: Clock;
  readonly testData: TestData;
  readonly receiver: EventReceiver;
};

const expiresInMs = 180_000;
const detailMaxChars = 200;

/** The merchant data of a run, the same in all payments. */
function testMerchant(): CreateQrPayment['merchant'] {
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

/** The status and the problem detail of a response, for the details of failed checks. */
export function describeResponse({ status, value }: TestResponse): string {
  const detail = value['detail'] ?? value['title'] ?? value['code'];
  const isText = typeof detail === 'string';
  return `HTTP ${status}${isText ? `, “${detail.slice(0, detailMaxChars)}”` : ''}`;
}

const isAccepted = ({ status }: TestResponse) => status >= 200 && status <= 202;

/** Expects a response that the platform can read. */
export function expectShape<Schema extends TSchema>(
  response: TestResponse,
  schema: Schema,
  subject: string,
) {
  expectConformity(isAccepted(response), `${subject} is answered ${describeResponse(response)}`);
  expectConformity(
    /^application\/json\b/i.test(response.contentType),
    `${subject} is answered as ${response.contentType || 'nothing'}, not as application/json`,
  );
  const [fault] = Value.Errors(schema, response.value);
  const where =
    fault === undefined ? '' : `${fault.instancePath.slice(1) || 'it'} ${fault.message}`;
  expectConformity(
    fault === undefined,
    `${subject}: the response does not match the SPI: ${where}`,
  );
}

/** @example const client = createProviderTestClient({ transport, url, key, clock, testData, receiver }); */
export function createProviderTestClient(options: ProviderTestClientOptions): ProviderTestClient {
  const { testData, clock, receiver, url } = options;
  const testMerchantData = testMerchant();
  const prefix = url.pathname.replace(/\/+$/, '');

  function signatureHeaders(
    text: string,
    { agoSeconds = 0, keys = [options.key], unsigned }: Deviation,
  ) {
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

  async function send(
    method: string,
    path: string,
    text: string,
    deviation: Deviation,
  ): Promise<TestResponse> {
    const target = new URL(url);
    target.pathname = `${prefix}${path}` || '/';
    const isPost = method === 'POST';
    const type: Record<string, string> = isPost ? { 'content-type': 'application/json' } : {};
    const headers = { accept: 'application/json', ...type, ...signatureHeaders(text, deviation) };
    const body = isPost ? { body: deviation.sentBody ?? text } : {};
    const startedAt = performance.now();
    const incoming = await options.transport.send({ method, url: target, headers, ...body });
    const ms = Math.round(performance.now() - startedAt);
    const bodyText = incoming.body.toString('utf8');
    return {
      status: incoming.status,
      value: membersOf(parseJson(incoming.body)),
      body: bodyText,
      bytes: incoming.body.length,
      ms,
      contentType: String(incoming.headers['content-type'] ?? ''),
    };
  }

  const get: ProviderTestClient['get'] = (path, deviation = {}) =>
    send('GET', path, providerCallText('GET', deviation.signedPath ?? path), deviation);
  const post: ProviderTestClient['post'] = (path, message, deviation = {}) =>
    send('POST', path, deviation.body ?? JSON.stringify(message), deviation);

  function payment(members: Partial<CreateQrPayment> = {}): CreateQrPayment {
    const platformTransactionId = members.platformTransactionId ?? randomUUID();
    const now = clock.now();
    const amount: ProviderAmount = { amount: testData.amount, currency: testData.currency };
    return {
      platformTransactionId,
      clientTransactionId: randomUUID(),
      serviceId: randomUUID(),
      paymentType: testData.paymentType,
      paymentScenario: 'consumerscan',
      amount,
      order: { orderId: randomUUID(), orderDescription: 'Conformance test' },
      merchant: testMerchantData,
      createdAt: new Date(now).toISOString(),
      expiresAt: new Date(now + expiresInMs).toISOString(),
      eventsUrl: receiver.urlOf(platformTransactionId),
      ...members,
    };
  }

  function createRefundRequest(
    { platformTransactionId, amount }: CreateQrPayment,
    minor: number,
    refundId: string = randomUUID(),
  ) {
    const refundAmount = { amount: minor, currency: amount.currency };
    const requestedAt = new Date(clock.now()).toISOString();
    return {
      refundId,
      platformTransactionId,
      amount: refundAmount,
      reason: 'Merchant',
      requestedAt,
    };
  }

  return {
    testData,
    key: options.key,
    receiver,
    clock,
    payment,
    get,
    post,
    createRefundRequest,
    async createPayment(request) {
      const response = await post(providerPaths.payments, request);
      expectShape(response, QrPaymentAnswer, 'the payment');
      const answer = response.value as QrPaymentAnswer;
      const { providerTransactionId: id } = answer;
      expectConformity(isProviderId(id), `its identifier ${id} looks like a card number`);
      return answer;
    },
    async status({ platformTransactionId }) {
      const response = await get(providerPaths.payment(platformTransactionId));
      expectShape(response, QrPaymentAnswer, 'the status');
      return response.value as QrPaymentAnswer;
    },
    async cancel({ platformTransactionId }, reason = 'Merchant') {
      const requestedAt = new Date(clock.now()).toISOString();
      const request = { platformTransactionId, reason, requestedAt };
      const response = await post(providerPaths.cancel(platformTransactionId), request);
      const { paymentStatus } = response.value;
      if (response.status === 409 && Value.Check(CancelAnswer, { status: paymentStatus })) {
        return { status: paymentStatus } as CancelAnswer;
      }
      expectShape(response, CancelAnswer, 'the cancel');
      return response.value as CancelAnswer;
    },
    async refund(payment, amount, refundId) {
      const request = createRefundRequest(payment, amount, refundId);
      const response = await post(providerPaths.refunds(payment.platformTransactionId), request);
      expectShape(response, RefundAnswer, 'the refund');
      const answer = response.value as RefundAnswer;
      expectConformity(
        answer.refundId === request.refundId,
        `it names another refund: ${answer.refundId}`,
      );
      return answer;
    },
  };
}
