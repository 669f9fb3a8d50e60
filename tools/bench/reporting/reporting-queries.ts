// Writes the questions to the reports as HTTP text: any two filters, and the summaries of a day.
import type { LoadRequest } from '../sales/fixed-rate-load.ts';
import { describeFailure, writeRequest } from '../sales/http-text.ts';
import {
  days,
  devicesPerStore,
  merchants,
  paymentReference,
  reportingId,
  storesPerMerchant,
} from './payment-mix.ts';

type Filter = readonly [name: string, write: () => string];
type ReportQueryOptions = {
  readonly authority: string;
  readonly token: string;
  readonly rows: number;
  readonly random: () => number;
};

export type ReportQueries = {
  /** A search with two filters that are not the same. */
  search(): LoadRequest;
  summary(groupBy: string): LoadRequest;
  /** How many pages were full or the last, and how many were short and led on. */
  pages(): { readonly whole: number; readonly incomplete: number };
};

const dayMs = 86_400_000;
const hourMs = 3_600_000;
const limit = 50;

/** One of so many; a fifth of the merchants have half of all payments. */
function chooser(random: () => number) {
  const one = <Word>(words: readonly Word[]): Word =>
    words[Math.floor(random() * words.length)] as Word;
  const merchant = () => Math.floor(merchants * random() ** 2);
  const store = () => merchant() * storesPerMerchant + Math.floor(random() * storesPerMerchant);
  const device = () => store() * devicesPerStore + Math.floor(random() * devicesPerStore);
  return { one, merchant, store, device };
}

function filtersOf({ rows, random }: ReportQueryOptions): Filter[] {
  const { one, merchant, store, device } = chooser(random);
  const now = Date.now();
  const iso = (ms: number) => new Date(ms).toISOString();
  const span = (lengthMs: number) => {
    const from = now - dayMs - random() * (days - 3) * dayMs;
    return `from=${iso(from)}&to=${iso(from + lengthMs)}`;
  };
  const amounts = (width: number) => {
    const least = 100 + Math.floor(random() * (30_000 - width));
    return `amountMin=${least}&amountMax=${least + width}`;
  };
  return [
    ['a day', () => span(dayMs)],
    ['an hour', () => span(hourMs)],
    ['a month', () => span(30 * dayMs)],
    ['merchant', () => `merchantId=${reportingId('m', merchant())}`],
    ['store', () => `storeId=${reportingId('s', store())}`],
    ['device', () => `deviceId=${reportingId('d', device())}`],
    [
      'state',
      () =>
        `state=${one(['Captured', 'Authorized', 'Declined', 'Refunded', 'Expired', 'Reversed'])}`,
    ],
    ['states', () => 'state=PartiallyCaptured,PartiallyRefunded,Failed'],
    ['scheme', () => `scheme=${one(['Visa', 'Mastercard', 'Maestro', 'AmericanExpress', 'Jcb'])}`],
    ['currency', () => `currency=${one(['EUR', 'USD', 'JPY'])}`],
    [
      'answer',
      () =>
        `responseCategory=${one(['Approved', 'SoftDecline', 'HardDecline', 'TechnicalFailure'])}`,
    ],
    [
      'entry mode',
      () => `entryMode=${one(['ContactlessChip', 'ContactChip', 'Keyed', 'MagStripe'])}`,
    ],
    ['one amount', () => amounts(0)],
    ['amounts', () => amounts(one([5, 100, 2000]))],
    ['last four digits', () => `text=${String(Math.floor(random() * 10_000)).padStart(4, '0')}`],
    ['card token', () => `text=${reportingId('c', Math.floor(random() * 3_000_000))}`],
    ['reference', () => `text=${paymentReference(1 + Math.floor(random() * rows))}`],
  ];
}

/** The server refuses a filter that is named twice. */
const membersOf = (text: string) => text.split('&').map((part) => part.split('=')[0]);

export function createReportRequests(options: ReportQueryOptions): ReportQueries {
  const { authority, token, random } = options;
  const filters = filtersOf(options);
  const counts = { whole: 0, incomplete: 0 };
  const write = (path: string) => writeRequest(authority, { path, token });

  function two(): string {
    for (;;) {
      const texts = [0, 1].map(() => filters[Math.floor(random() * filters.length)]?.[1]() ?? '');
      const members = texts.flatMap(membersOf);
      if (new Set(members).size === members.length) return texts.join('&');
    }
  }

  return {
    search: () => ({
      text: write(`/reporting/v1/transactions?limit=${limit}&${two()}`),
      faultOf(answer) {
        if (answer.status !== 200) return describeFailure(answer, '');
        const { bytes, bodyStart, bodyEnd } = answer;
        const { items, nextCursor } = JSON.parse(bytes.toString('utf8', bodyStart, bodyEnd));
        if (items.length === limit || nextCursor === null) counts.whole += 1;
        else counts.incomplete += 1;
        return undefined;
      },
    }),
    summary(groupBy) {
      const ms = Date.now() - dayMs * (1 + Math.floor(random() * (days - 2)));
      const day = new Date(ms).toISOString().slice(0, 10);
      return {
        text: write(`/reporting/v1/summary?from=${day}&to=${day}&groupBy=${groupBy}`),
        faultOf: (answer) => (answer.status === 200 ? undefined : describeFailure(answer, '')),
      };
    },
    pages: () => ({ ...counts }),
  };
}
