/** The checks of an acquirer, one after the other: what the SPI asks of every server. */
import type { SpiAnswer } from '@switchyard/contract';
import { type Bench, demand, type Message, type Told } from './acquirer-test-client.ts';
import { strangeKey } from './signing-keys.ts';

export type Check = {
  readonly group: 'signatures' | 'messages' | 'payments' | 'money' | 'unknown outcomes';
  readonly name: string;
  /** Left out of a run that names no amount that is declined. */
  readonly needsDecline?: true;
  run(bench: Bench): Promise<void>;
};

const sales = '/v1/payments';
const tooOldSeconds = 900;
const atOnce = 10;

function approved(answer: SpiAnswer, amount: number, what: string): void {
  const { outcome, responseCode = 'none', amount: told } = answer;
  demand(outcome === 'Approved', `${what} is ${outcome} with ${responseCode}, not Approved`);
  demand(told === amount, `${what} is approved for ${told}, not for ${amount}`);
}

function declined(answer: SpiAnswer, what: string): void {
  const { outcome, responseCode } = answer;
  demand(outcome === 'Declined', `${what} is ${outcome}, not Declined`);
  demand(responseCode !== undefined, `${what} is declined without a responseCode`);
}

function refused({ status, value }: Told, statuses: readonly number[], what: string): void {
  demand(statuses.includes(status), `${what} is answered ${status}, not ${statuses.join(' or ')}`);
  const outcome = (value as { outcome?: unknown } | undefined)?.outcome;
  demand(outcome !== 'Approved', `${what} is approved`);
}

async function sold(bench: Bench, amount = bench.terms.amount): Promise<Message> {
  const sale = bench.payment('Sale', { amount });
  approved(await bench.answer(sales, sale), amount, 'the sale');
  return sale;
}

async function held(bench: Bench, amount = bench.terms.amount): Promise<Message> {
  const hold = bench.payment('Authorization', { amount });
  approved(await bench.answer(sales, hold), amount, 'the hold');
  return hold;
}

const capture = (bench: Bench, of: Message, amount: number, final = false) =>
  bench.answer('/v1/captures', bench.follow(of, { amount, final }));

const refund = (bench: Bench, of: Message, amount: number) =>
  bench.answer('/v1/refunds', bench.follow(of, { amount }));

/** Parts of the amount of the run: with 1000 they are 400, 300 and 700. */
const part = ({ terms }: Bench, tenths: number) => Math.floor((terms.amount * tenths) / 10);

const signatureChecks: Check[] = [
  {
    group: 'signatures',
    name: 'an echo is answered Ready, signed',
    async run(bench) {
      const told = await bench.ask('/v1/echo', { sentAt: bench.message({})['sentAt'] });
      demand(told.status === 200, `it is answered ${told.status}`);
      demand(told.isGenuine, told.fault);
      const { status } = told.value as { status?: unknown };
      demand(status === 'Ready', `it says ${String(status)}`);
    },
  },
  {
    group: 'signatures',
    name: 'a request without a signature is refused',
    async run(bench) {
      refused(await bench.ask(sales, bench.payment('Sale'), { unsigned: true }), [401], 'it');
    },
  },
  {
    group: 'signatures',
    name: 'a body that was changed on its way is refused',
    async run(bench) {
      const sale = bench.payment('Sale');
      const sentBody = JSON.stringify({ ...sale, amount: sale.amount * 2 });
      refused(await bench.ask(sales, sale, { sentBody }), [401], 'it');
    },
  },
  {
    group: 'signatures',
    name: 'a signature of a key that is not known is refused',
    async run(bench) {
      refused(await bench.ask(sales, bench.payment('Sale'), { key: strangeKey() }), [401], 'it');
    },
  },
  {
    group: 'signatures',
    name: 'a signature of fifteen minutes ago is refused',
    async run(bench) {
      const sale = bench.payment('Sale');
      const created = Math.floor(Date.parse(String(sale['sentAt'])) / 1000) - tooOldSeconds;
      refused(await bench.ask(sales, sale, { created }), [401], 'it');
    },
  },
  {
    group: 'signatures',
    name: 'the very same request is refused the second time',
    async run(bench) {
      const [first, second] = await bench.replay(sales, bench.payment('Sale'), 2);
      demand(first?.isGenuine === true, 'the first is not answered with a good signature');
      demand(second !== undefined, 'there is no second answer');
      refused(second, [401], 'the second');
    },
  },
];

const messageChecks: Check[] = [
  {
    group: 'messages',
    name: 'what is no JSON is refused, signed, and says that nothing was processed',
    async run(bench) {
      const told = await bench.ask(sales, {}, { body: '{"messageId":' });
      refused(told, [400], 'it');
      demand(told.isGenuine, told.fault);
    },
  },
  {
    group: 'messages',
    name: 'a payment without an amount is refused',
    async run(bench) {
      const { amount: _amount, ...less } = bench.payment('Sale');
      const told = await bench.ask(sales, less);
      refused(told, [400, 422], 'it');
      const { outcome } = told.value as { outcome?: unknown };
      demand(outcome === 'NotProcessed', `its outcome is ${String(outcome)}, not NotProcessed`);
    },
  },
  {
    group: 'messages',
    name: 'members that it does not know are ignored',
    async run(bench) {
      const sale = bench.payment('Sale', { aMemberOfLater: { version: 2 } });
      approved(await bench.answer(sales, sale), sale.amount, 'the sale');
    },
  },
];

const paymentChecks: Check[] = [
  {
    group: 'payments',
    name: 'a sale is approved, with its amount and its currency',
    async run(bench) {
      const sale = bench.payment('Sale');
      const answer = await bench.answer(sales, sale);
      approved(answer, sale.amount, 'the sale');
      demand(answer.currency === sale.currency, `its currency is ${answer.currency}`);
    },
  },
  {
    group: 'payments',
    name: 'an authorisation of nothing verifies the card',
    async run(bench) {
      const asked = bench.payment('Authorization', { amount: 0 });
      const { outcome } = await bench.answer(sales, asked);
      demand(outcome === 'Approved', `it is ${outcome}`);
    },
  },
  {
    group: 'payments',
    name: 'an amount that is declined is declined, and again (--declined-amount)',
    needsDecline: true,
    async run(bench) {
      const { declinedAmount } = bench.terms;
      demand(declinedAmount !== undefined, 'no amount is named that is declined');
      const sale = bench.payment('Sale', { amount: declinedAmount });
      const first = await bench.answer(sales, sale);
      declined(first, 'the sale');
      const again = await bench.answer(sales, { ...sale, repeat: true });
      demand(again.responseCode === first.responseCode, 'the repeat has another responseCode');
    },
  },
];

const moneyChecks: Check[] = [
  {
    group: 'money',
    name: 'a hold is captured in parts, never above it, and the last one lets go of the rest',
    async run(bench) {
      const hold = await held(bench);
      const [small, rest] = [part(bench, 4), part(bench, 3)];
      approved(await capture(bench, hold, small), small, 'the first capture');
      declined(await capture(bench, hold, part(bench, 7)), 'a capture above what is left');
      approved(await capture(bench, hold, rest, true), rest, 'the last capture');
      declined(await capture(bench, hold, rest), 'a capture after the last one');
    },
  },
  {
    group: 'money',
    name: 'refunds give back what was captured, and no more',
    async run(bench) {
      const sale = await sold(bench);
      const most = part(bench, 7);
      approved(await refund(bench, sale, most), most, 'the first refund');
      declined(await refund(bench, sale, most), 'a refund above what is left');
      const rest = sale.amount - most;
      approved(await refund(bench, sale, rest), rest, 'the refund of the rest');
      declined(await refund(bench, sale, 1), 'a refund when nothing is left');
    },
  },
  {
    group: 'money',
    name: 'a capture in another currency is declined',
    async run(bench) {
      const hold = await held(bench);
      const currency = bench.terms.currency === 'USD' ? 'EUR' : 'USD';
      const asked = bench.follow(hold, { currency, final: true });
      declined(await bench.answer('/v1/captures', asked), 'the capture');
    },
  },
  {
    group: 'money',
    name: 'a hold is reversed down to what remains',
    async run(bench) {
      const hold = await held(bench);
      const remainingAmount = part(bench, 4);
      const amount = hold.amount - remainingAmount;
      const reversal = bench.follow(hold, { amount, remainingAmount });
      const { outcome } = await bench.answer('/v1/reversals', reversal);
      demand(outcome === 'Approved', `the reversal is ${outcome}`);
      declined(await capture(bench, hold, part(bench, 7)), 'a capture above what remains');
      approved(await capture(bench, hold, remainingAmount, true), remainingAmount, 'the capture');
    },
  },
];

const outcomeChecks: Check[] = [
  {
    group: 'unknown outcomes',
    name: 'the same message again has the same answer and no second effect',
    async run(bench) {
      const sale = bench.payment('Sale');
      const first = await bench.answer(sales, sale);
      const second = await bench.answer(sales, { ...sale, repeat: true });
      for (const name of ['outcome', 'responseCode', 'authorizationCode', 'amount'] as const) {
        demand(first[name] === second[name], `${name} is another one the second time`);
      }
      approved(await refund(bench, sale, sale.amount), sale.amount, 'the refund of it');
      declined(await refund(bench, sale, sale.amount), 'a refund of it as if it were two');
    },
  },
  {
    group: 'unknown outcomes',
    name: 'ten of the same message at once are one payment',
    async run(bench) {
      const sale = bench.payment('Sale');
      const asked = Array.from({ length: atOnce }, (_, at) => ({ ...sale, repeat: at > 0 }));
      const answers = await Promise.all(asked.map((each) => bench.answer(sales, each)));
      const codes = new Set(answers.map((each) => `${each.outcome} ${each.authorizationCode}`));
      demand(codes.size === 1, `they have ${codes.size} different answers`);
    },
  },
  {
    group: 'unknown outcomes',
    name: 'another message under a messageId that was used is refused',
    async run(bench) {
      const sale = await sold(bench);
      const told = await bench.ask(sales, { ...sale, amount: sale.amount + 1 });
      refused(told, [409, 422], 'it');
      demand(told.isGenuine, told.fault);
    },
  },
  {
    group: 'unknown outcomes',
    name: 'an enquiry tells what became of a message, and that another one never came',
    async run(bench) {
      const sale = await sold(bench);
      const found = await bench.answer('/v1/enquiries', { messageId: sale.messageId });
      approved(found, sale.amount, 'the message');
      const { messageId } = bench.payment('Sale');
      const never = await bench.answer('/v1/enquiries', { messageId });
      demand(never.outcome === 'NotFound', `one that never came is ${never.outcome}`);
    },
  },
  {
    group: 'unknown outcomes',
    name: 'a reversal takes all back, and a second one is taken without effect',
    async run(bench) {
      const sale = await sold(bench);
      for (const time of ['the first', 'the second']) {
        const { outcome } = await bench.answer('/v1/reversals', bench.follow(sale, {}));
        demand(outcome === 'Approved', `${time} reversal is ${outcome}`);
      }
      declined(await refund(bench, sale, sale.amount), 'a refund of what was reversed');
    },
  },
  {
    group: 'unknown outcomes',
    name: 'a reversal of a payment that never came is declined with 25',
    async run(bench) {
      const never = bench.payment('Sale');
      const answer = await bench.answer('/v1/reversals', bench.follow(never, {}));
      declined(answer, 'the reversal');
      demand(answer.responseCode === '25', `its responseCode is ${answer.responseCode}`);
    },
  },
];

export const checks: readonly Check[] = [
  ...signatureChecks,
  ...messageChecks,
  ...paymentChecks,
  ...moneyChecks,
  ...outcomeChecks,
];
