// Remembers the sales of a trace, because captures, refunds and reversals name them by their numbers.
import { defined } from '@switchyard/contract';
import type {
  AcquirerReference,
  AcquirerRequest,
} from '../../../packages/server/src/acquiring/index.ts';
import { createRecentEntries } from './recent-entries.ts';

/** Without track, PIN, security code and chip data, which later messages do not have. */
export type RecordedSale = Pick<
  AcquirerRequest,
  'amount' | 'card' | 'currency' | 'entryMode' | 'mcc' | 'amounts' | 'isRemoteOrder'
> & {
  /** With the retrieval reference number of the host if it assigns one. */
  reference: AcquirerReference;
  /** Of the terminal for an offline sale, otherwise of the approval. */
  authorizationCode?: string;
  hasResponse: boolean;
};

export function toRecordedSale(request: AcquirerRequest): RecordedSale {
  const { reference, amount, card, currency, entryMode, mcc } = request;
  const { amounts, isRemoteOrder, authorizationCode } = request;
  return {
    reference,
    amount,
    card,
    currency,
    entryMode,
    mcc,
    hasResponse: false,
    ...defined({ amounts, isRemoteOrder, authorizationCode }),
  };
}

/** The numbers with which a message names its original. */
export type OriginalNumbers = {
  readonly terminalId: string;
  readonly stan?: string | undefined;
  /** DE7, or DE13 with DE12. */
  readonly sentAt?: string | undefined;
  readonly rrn?: string | undefined;
  readonly authorizationCode?: string | undefined;
};

/** The minimum number of last sales in memory. */
const salesMin = 20_000;
const keysPerSale = 5;
const traceDigits = 6;

/** The most exact numbers first. */
function listKeys({ terminalId, rrn, sentAt, ...numbers }: OriginalNumbers): string[] {
  const { authorizationCode: code } = numbers;
  const keys: string[] = [];
  // Original data has the last six digits of a trace number.
  const stan = numbers.stan?.padStart(traceDigits, '0').slice(-traceDigits);
  if (stan !== undefined && sentAt !== undefined) keys.push(`sent ${terminalId} ${stan} ${sentAt}`);
  if (rrn !== undefined) keys.push(`rrn ${terminalId} ${rrn}`);
  if (stan !== undefined) keys.push(`stan ${terminalId} ${stan}`);
  if (code !== undefined) keys.push(`code ${terminalId} ${code}`);
  return keys;
}

export type RecordedSales = ReturnType<typeof createRecordedSales>;

export function createRecordedSales() {
  const sales = createRecentEntries<RecordedSale>(salesMin * keysPerSale);

  function numbersOf({ reference, authorizationCode }: RecordedSale): OriginalNumbers[] {
    const { terminalId, stan, rrn, transmittedAt, localDate, localTime } = reference;
    return [
      { terminalId, stan, sentAt: transmittedAt, rrn, authorizationCode },
      { terminalId, stan, sentAt: localDate + localTime },
    ];
  }

  return {
    add(sale: RecordedSale): void {
      const keys = numbersOf(sale).flatMap(listKeys);
      for (const key of new Set(keys)) sales.set(key, sale);
    },
    find(numbers: OriginalNumbers): RecordedSale | undefined {
      for (const key of listKeys(numbers)) {
        const sale = sales.get(key);
        if (sale !== undefined) return sale;
      }
      return undefined;
    },
  };
}
