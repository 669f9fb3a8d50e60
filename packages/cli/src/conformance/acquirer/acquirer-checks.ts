/** The conformance checks of an acquirer server, in their order. */
import type { SpiAnswer } from '@switchyard/contract';
import { expectConformity } from '../nonconformity-error.ts';
import type { AcquirerTestClient, Message, TestResponse } from './acquirer-test-client.ts';
import { createUnknownKey } from './signing-keys.ts';

export type AcquirerCheck = {
  readonly group: 'signatures' | 'messages' | 'payments' | 'money' | 'unknown outcomes';
  readonly name: string;
  /** Skipped without --declined-amount. */
  readonly needsDeclinedAmount?: true;
  run(client: AcquirerTestClient): Promise<void>;
};

const paymentsPath = '/v1/payments';
const tooOldSeconds = 900;
const concurrentRequests = 10;

function expectApproved(answer: SpiAnswer, amount: number, subject: string): void {
  const { outcome, responseCode = 'none', amount: response } = answer;
  expectConformity(
    outcome === 'Approved',
    `${subject} is ${outcome} with ${responseCode}, not Approved`,
  );
  expectConformity(
    response === amount,
    `${subject} is approved for ${response}, not for ${amount}`,
  );
}

function expectDeclined(answer: SpiAnswer, subject: string): void {
  const { outcome, responseCode } = answer;
  expectConformity(outcome === 'Declined', `${subject} is ${outcome}, not Declined`);
  expectConformity(responseCode !== undefined, `${subject} is declined without a responseCode`);
}

function expectRefused(
  { status, value }: TestResponse,
  statuses: readonly number[],
  subject: string,
): void {
  expectConformity(
    statuses.includes(status),
    `${subject} is answered ${status}, not ${statuses.join(' or ')}`,
  );
  const outcome = (value as { outcome?: unknown } | undefined)?.outcome;
  expectConformity(outcome !== 'Approved', `${subject} is approved`);
}

async function approvedSale(
  client: AcquirerTestClient,
  amount = client.testData.amount,
): Promise<Message> {
  const sale = client.payment('Sale', { amount });
  expectApproved(await client.expectAnswer(paymentsPath, sale), amount, 'the sale');
  return sale;
}

async function approvedAuthorization(
  client: AcquirerTestClient,
  amount = client.testData.amount,
): Promise<Message> {
  const authorization = client.payment('Authorization', { amount });
  expectApproved(
    await client.expectAnswer(paymentsPath, authorization),
    amount,
    'the authorisation',
  );
  return authorization;
}

const capture = (client: AcquirerTestClient, original: Message, amount: number, final = false) =>
  client.expectAnswer('/v1/captures', client.followUp(original, { amount, final }));

const refund = (client: AcquirerTestClient, original: Message, amount: number) =>
  client.expectAnswer('/v1/refunds', client.followUp(original, { amount }));

/** A part of the test amount in tenths: 4 tenths of 1000 are 400. */
const partOfAmount = ({ testData }: AcquirerTestClient, tenths: number) =>
  Math.floor((testData.amount * tenths) / 10);

const signatureChecks: AcquirerCheck[] = [
  {
    group: 'signatures',
    name: 'an echo is answered Ready, signed',
    async run(client) {
      const response = await client.send('/v1/echo', { sentAt: client.message({})['sentAt'] });
      expectConformity(response.status === 200, `it is answered ${response.status}`);
      expectConformity(response.isGenuine, response.signatureError);
      const { status } = response.value as { status?: unknown };
      expectConformity(status === 'Ready', `it says ${String(status)}`);
    },
  },
  {
    group: 'signatures',
    name: 'a request without a signature is refused',
    async run(client) {
      expectRefused(
        await client.send(paymentsPath, client.payment('Sale'), { unsigned: true }),
        [401],
        'it',
      );
    },
  },
  {
    group: 'signatures',
    name: 'a body that was changed after signing is refused',
    async run(client) {
      const sale = client.payment('Sale');
      const sentBody = JSON.stringify({ ...sale, amount: sale.amount * 2 });
      expectRefused(await client.send(paymentsPath, sale, { sentBody }), [401], 'it');
    },
  },
  {
    group: 'signatures',
    name: 'a signature of an unknown key is refused',
    async run(client) {
      expectRefused(
        await client.send(paymentsPath, client.payment('Sale'), { key: createUnknownKey() }),
        [401],
        'it',
      );
    },
  },
  {
    group: 'signatures',
    name: 'a signature that is fifteen minutes old is refused',
    async run(client) {
      const sale = client.payment('Sale');
      const created = Math.floor(Date.parse(String(sale['sentAt'])) / 1000) - tooOldSeconds;
      expectRefused(await client.send(paymentsPath, sale, { created }), [401], 'it');
    },
  },
  {
    group: 'signatures',
    name: 'an identical request is refused the second time',
    async run(client) {
      const [first, second] = await client.replay(paymentsPath, client.payment('Sale'), 2);
      expectConformity(first?.isGenuine === true, 'the first response has no valid signature');
      expectConformity(second !== undefined, 'the second request got no response');
      expectRefused(second, [401], 'the second');
    },
  },
];

const messageChecks: AcquirerCheck[] = [
  {
    group: 'messages',
    name: 'a body that is not JSON is refused with a signed NotProcessed response',
    async run(client) {
      const response = await client.send(paymentsPath, {}, { body: '{"messageId":' });
      expectRefused(response, [400], 'it');
      expectConformity(response.isGenuine, response.signatureError);
    },
  },
  {
    group: 'messages',
    name: 'a payment without an amount is refused',
    async run(client) {
      const { amount: _amount, ...less } = client.payment('Sale');
      const response = await client.send(paymentsPath, less);
      expectRefused(response, [400, 422], 'it');
      const { outcome } = response.value as { outcome?: unknown };
      expectConformity(
        outcome === 'NotProcessed',
        `its outcome is ${String(outcome)}, not NotProcessed`,
      );
    },
  },
  {
    group: 'messages',
    name: 'unknown members are ignored',
    async run(client) {
      const sale = client.payment('Sale', { aMemberOfLater: { version: 2 } });
      expectApproved(await client.expectAnswer(paymentsPath, sale), sale.amount, 'the sale');
    },
  },
];

const paymentChecks: AcquirerCheck[] = [
  {
    group: 'payments',
    name: 'a sale is approved, with its amount and its currency',
    async run(client) {
      const sale = client.payment('Sale');
      const answer = await client.expectAnswer(paymentsPath, sale);
      expectApproved(answer, sale.amount, 'the sale');
      expectConformity(answer.currency === sale.currency, `its currency is ${answer.currency}`);
    },
  },
  {
    group: 'payments',
    name: 'an authorisation of amount 0 verifies the card',
    async run(client) {
      const message = client.payment('Authorization', { amount: 0 });
      const { outcome } = await client.expectAnswer(paymentsPath, message);
      expectConformity(outcome === 'Approved', `it is ${outcome}`);
    },
  },
  {
    group: 'payments',
    name: 'the amount of --declined-amount is declined, also when it is repeated',
    needsDeclinedAmount: true,
    async run(client) {
      const { declinedAmount } = client.testData;
      expectConformity(declinedAmount !== undefined, '--declined-amount is missing');
      const sale = client.payment('Sale', { amount: declinedAmount });
      const first = await client.expectAnswer(paymentsPath, sale);
      expectDeclined(first, 'the sale');
      const again = await client.expectAnswer(paymentsPath, { ...sale, repeat: true });
      expectConformity(
        again.responseCode === first.responseCode,
        'the repeat has another responseCode',
      );
    },
  },
];

const moneyChecks: AcquirerCheck[] = [
  {
    group: 'money',
    name: 'an authorisation is captured in parts up to its amount, and the final capture releases the rest',
    async run(client) {
      const authorization = await approvedAuthorization(client);
      const [small, rest] = [partOfAmount(client, 4), partOfAmount(client, 3)];
      expectApproved(await capture(client, authorization, small), small, 'the first capture');
      expectDeclined(
        await capture(client, authorization, partOfAmount(client, 7)),
        'a capture above the remaining amount',
      );
      expectApproved(await capture(client, authorization, rest, true), rest, 'the last capture');
      expectDeclined(await capture(client, authorization, rest), 'a capture after the last one');
    },
  },
  {
    group: 'money',
    name: 'refunds return the captured amount, and no more',
    async run(client) {
      const sale = await approvedSale(client);
      const firstAmount = partOfAmount(client, 7);
      expectApproved(await refund(client, sale, firstAmount), firstAmount, 'the first refund');
      expectDeclined(
        await refund(client, sale, firstAmount),
        'a refund above the remaining amount',
      );
      const rest = sale.amount - firstAmount;
      expectApproved(await refund(client, sale, rest), rest, 'the refund of the rest');
      expectDeclined(await refund(client, sale, 1), 'a refund after the full refund');
    },
  },
  {
    group: 'money',
    name: 'a capture in another currency is declined',
    async run(client) {
      const authorization = await approvedAuthorization(client);
      const currency = client.testData.currency === 'USD' ? 'EUR' : 'USD';
      const message = client.followUp(authorization, { currency, final: true });
      expectDeclined(await client.expectAnswer('/v1/captures', message), 'the capture');
    },
  },
  {
    group: 'money',
    name: 'an authorisation is partly reversed to a remaining amount',
    async run(client) {
      const authorization = await approvedAuthorization(client);
      const remainingAmount = partOfAmount(client, 4);
      const amount = authorization.amount - remainingAmount;
      const reversal = client.followUp(authorization, { amount, remainingAmount });
      const { outcome } = await client.expectAnswer('/v1/reversals', reversal);
      expectConformity(outcome === 'Approved', `the reversal is ${outcome}`);
      expectDeclined(
        await capture(client, authorization, partOfAmount(client, 7)),
        'a capture above the remaining amount',
      );
      expectApproved(
        await capture(client, authorization, remainingAmount, true),
        remainingAmount,
        'the capture',
      );
    },
  },
];

const outcomeChecks: AcquirerCheck[] = [
  {
    group: 'unknown outcomes',
    name: 'a repeated message gets the same response and has no second effect',
    async run(client) {
      const sale = client.payment('Sale');
      const first = await client.expectAnswer(paymentsPath, sale);
      const second = await client.expectAnswer(paymentsPath, { ...sale, repeat: true });
      for (const name of ['outcome', 'responseCode', 'authorizationCode', 'amount'] as const) {
        expectConformity(first[name] === second[name], `${name} differs the second time`);
      }
      expectApproved(await refund(client, sale, sale.amount), sale.amount, 'the refund of it');
      expectDeclined(await refund(client, sale, sale.amount), 'a second refund of the same amount');
    },
  },
  {
    group: 'unknown outcomes',
    name: 'ten identical concurrent messages are one payment',
    async run(client) {
      const sale = client.payment('Sale');
      const message = Array.from({ length: concurrentRequests }, (_, at) => ({
        ...sale,
        repeat: at > 0,
      }));
      const answers = await Promise.all(
        message.map((each) => client.expectAnswer(paymentsPath, each)),
      );
      const codes = new Set(answers.map((each) => `${each.outcome} ${each.authorizationCode}`));
      expectConformity(codes.size === 1, `they have ${codes.size} different answers`);
    },
  },
  {
    group: 'unknown outcomes',
    name: 'another message with a used messageId is refused',
    async run(client) {
      const sale = await approvedSale(client);
      const response = await client.send(paymentsPath, { ...sale, amount: sale.amount + 1 });
      expectRefused(response, [409, 422], 'it');
      expectConformity(response.isGenuine, response.signatureError);
    },
  },
  {
    group: 'unknown outcomes',
    name: 'an enquiry returns the outcome of a message, and NotFound for an unknown one',
    async run(client) {
      const sale = await approvedSale(client);
      const answer = await client.expectAnswer('/v1/enquiries', { messageId: sale.messageId });
      expectApproved(answer, sale.amount, 'the message');
      const { messageId } = client.payment('Sale');
      const unknown = await client.expectAnswer('/v1/enquiries', { messageId });
      expectConformity(unknown.outcome === 'NotFound', `an unknown message is ${unknown.outcome}`);
    },
  },
  {
    group: 'unknown outcomes',
    name: 'a reversal reverses the whole payment, and a second one has no effect',
    async run(client) {
      const sale = await approvedSale(client);
      for (const time of ['the first', 'the second']) {
        const { outcome } = await client.expectAnswer('/v1/reversals', client.followUp(sale, {}));
        expectConformity(outcome === 'Approved', `${time} reversal is ${outcome}`);
      }
      expectDeclined(await refund(client, sale, sale.amount), 'a refund of a reversed payment');
    },
  },
  {
    group: 'unknown outcomes',
    name: 'a reversal of an unknown payment is declined with 25',
    async run(client) {
      const unknown = client.payment('Sale');
      const answer = await client.expectAnswer('/v1/reversals', client.followUp(unknown, {}));
      expectDeclined(answer, 'the reversal');
      expectConformity(answer.responseCode === '25', `its responseCode is ${answer.responseCode}`);
    },
  },
];

export const acquirerChecks: readonly AcquirerCheck[] = [
  ...signatureChecks,
  ...messageChecks,
  ...paymentChecks,
  ...moneyChecks,
  ...outcomeChecks,
];
