/** Stores the sales that a terminal approved offline, encrypted, until the platform has them. */
import { hkdfSync } from 'node:crypto';
import {
  defined,
  type OfflineData,
  type OfflineReason,
  type ProcessRequest,
  type Transaction,
  terminalSequenceMax,
} from '@switchyard/contract';
import { type Clock, systemClock } from '@switchyard/sdk-core';
import type { PaymentClient } from '../payments/payment-client.ts';
import { DeviceError, invalidError } from '../support/device-error.ts';
import { openEncryptedLineFile } from './encrypted-line-file.ts';
import {
  findOfflineRefusal,
  hashCardNumber,
  isOfflineCapable,
  type OfflineLimits,
  type QueuedSale,
} from './offline-limits.ts';

/**
 * The options of a queue. Store the key in the terminal's key store, not beside the file.
 *
 * @example
 * const options: OfflineQueueOptions = { file: 'data/offline', key, limits: { count: 200, ageHours: 72 } };
 */
export type OfflineQueueOptions = {
  readonly file: string;
  /** 32 bytes. */
  readonly key: Uint8Array;
  readonly limits?: OfflineLimits;
  /** The serial number of the hardware, if the device identifier can move to other hardware. */
  readonly serialNumber?: string;
  readonly clock?: Clock;
};

/**
 * How the chip or the terminal approved a sale.
 *
 * @example
 * const approval: OfflineApproval = { authorizationCode: '9A01B2', reason: 'NoConnection' };
 */
export type OfflineApproval = {
  /** From the chip or the terminal, 1 to 6 letters and digits. */
  readonly authorizationCode: string;
  readonly reason: OfflineReason;
};

/**
 * A sale in the queue.
 *
 * @example
 * const { clientTransactionId, terminalSequence }: OfflineSale = queue.add(sale, approval);
 */
export type OfflineSale = {
  readonly clientTransactionId: string;
  readonly amount: number;
  readonly currency: string;
  readonly terminalSequence: number;
  readonly authorizedAt: string;
  /**
   * The code with which the platform refused the sale. It waits until the operator discards it.
   * With `entity_out_of_scope` it waits until the terminal is back at the merchant of the sale.
   */
  readonly refusalCode?: string;
};

/**
 * The result of an upload. `Unsent` ends the run; the next run sends this sale and the later ones.
 *
 * @example
 * if (result.outcome === 'Refused') callSupport(result.sale, result.code);
 */
export type UploadResult =
  | { readonly outcome: 'Stored'; readonly sale: OfflineSale; readonly transaction: Transaction }
  | { readonly outcome: 'Refused'; readonly sale: OfflineSale; readonly code: string }
  | { readonly outcome: 'Unsent'; readonly sale: OfflineSale; readonly error: DeviceError };

/**
 * A queue of offline sales.
 *
 * @example
 * const queue: OfflineQueue = openOfflineQueue(options);
 */
export type OfflineQueue = {
  /** Waiting and refused sales, in the order in which they were made. */
  readonly sales: readonly OfflineSale[];
  /** Durable when it returns. @throws DeviceError with an {@link OfflineRefusalReason} as its code */
  add(sale: ProcessRequest, approval: OfflineApproval): OfflineSale;
  /** Uploads the waiting sales one after the other. A call during an upload joins that upload. */
  upload(
    payments: Pick<PaymentClient, 'sell'>,
    options?: { signal?: AbortSignal; onResult?(result: UploadResult): void },
  ): Promise<UploadResult[]>;
  /** Deletes a refused sale after the operator has checked it. */
  discard(clientTransactionId: string): void;
  close(): void;
};

type QueueEntry = {
  readonly sale: ProcessRequest;
  readonly data: OfflineData;
  readonly card?: string;
  readonly refused?: string;
};
type QueueLine =
  | { readonly put: QueueEntry }
  | { readonly done: string }
  | { readonly refused: string; readonly code: string }
  | { readonly count: number };

const cardKeyBytes = 32;
const compactAfterLines = 2_000;
const codeForm = /^[A-Za-z0-9]{1,6}$/;
const temporaryStatuses = new Set([401, 403, 408, 429]);
/**
 * The sale names a merchant, a store or a device that the terminal no longer belongs to. It does
 * not block other sales, and each run tries it again because the terminal may return.
 */
const otherMerchantCode = 'entity_out_of_scope';

const shouldSend = ({ refused }: QueueEntry): boolean =>
  refused === undefined || refused === otherMerchantCode;

const toOfflineSale = ({ sale, data, refused }: QueueEntry): OfflineSale => ({
  clientTransactionId: sale.clientTransactionId,
  amount: sale.amount,
  currency: sale.currency,
  terminalSequence: data.terminalSequence,
  authorizedAt: data.authorizedAt,
  ...defined({ refusalCode: refused }),
});

const toQueuedSale = ({ sale, data, card }: QueueEntry): QueuedSale => ({
  amount: sale.amount,
  currency: sale.currency,
  card,
  authorizedAt: Date.parse(data.authorizedAt),
});

function readLines(lines: readonly QueueLine[]): {
  entries: Map<string, QueueEntry>;
  count: number;
} {
  const entries = new Map<string, QueueEntry>();
  let count = 0;
  for (const line of lines) {
    if ('put' in line) {
      entries.set(line.put.sale.clientTransactionId, line.put);
      count = line.put.data.terminalSequence;
    } else if ('done' in line) entries.delete(line.done);
    else if ('count' in line) count = line.count;
    else {
      const entry = entries.get(line.refused);
      if (entry !== undefined) entries.set(line.refused, { ...entry, refused: line.code });
    }
  }
  return { entries, count };
}

/**
 * False for faults that pass by themselves or that the operator can correct: the sale stays in the
 * queue.
 */
function isFinalRefusal({ kind, retryable, status, problem }: DeviceError): boolean {
  return (
    kind === 'Refused' && problem !== undefined && !retryable && !temporaryStatuses.has(status ?? 0)
  );
}

/**
 * Opens a queue of offline sales in its own file with mode 0600. Each line is sealed with
 * AES-256-GCM and bound to its line number. Only one process may use the file at a time. After a
 * kill, no sale is lost that `add` returned, and none is booked twice: the platform detects a
 * repeated sale by its identifier and its sequence number.
 *
 * @param options - file, key and limits
 * @returns the queue, with the sales of an earlier process
 * @throws DeviceError `queue_damaged` if a line was changed or the key is wrong; `key_invalid`
 * @example
 * ```ts
 * const queue = openOfflineQueue({ file: 'data/offline', key, limits: { count: 200, sums: { EUR: 500_000 } } });
 * queue.add(sale, { authorizationCode: '9A01B2', reason: 'NoConnection' });
 * for (const { outcome, sale } of await queue.upload(payments)) console.log(sale.clientTransactionId, outcome);
 * ```
 */
export function openOfflineQueue(options: OfflineQueueOptions): OfflineQueue {
  const { limits = {}, serialNumber, clock = systemClock } = options;
  const file = openEncryptedLineFile(options.file, options.key);
  const hashKey = Buffer.from(
    hkdfSync('sha256', options.key, '', 'switchyard cards', cardKeyBytes),
  );
  const stored = readLines(file.lines as readonly QueueLine[]);
  const { entries } = stored;
  let { count } = stored;
  let lineCount = file.lines.length;
  let uploading: Promise<UploadResult[]> | undefined;

  /** Compacts the file before it appends, so that the file and the memory stay the same. */
  function write(line: QueueLine): void {
    if (lineCount >= compactAfterLines + entries.size) {
      const puts = [...entries.values()].map((put): QueueLine => ({ put }));
      file.rewrite([...puts, { count } satisfies QueueLine]);
      lineCount = puts.length + 1;
    }
    file.append(line);
    lineCount += 1;
  }

  function add(sale: ProcessRequest, { authorizationCode, reason }: OfflineApproval): OfflineSale {
    const { clientTransactionId: id, amount, currency } = sale;
    if (entries.has(id)) throw invalidError('offline_known', 'the sale is already in the queue');
    if (!codeForm.test(authorizationCode)) throw invalidError('field_invalid', 'authorizationCode');
    if (!isOfflineCapable(sale))
      throw invalidError('offline_kind', 'the sale needs the platform and cannot be made offline');
    const card = hashCardNumber(sale, hashKey);
    const now = clock.now();
    const queued = [...entries.values()].map(toQueuedSale);
    const refusal = findOfflineRefusal({ amount, currency, card }, queued, limits, now);
    if (refusal !== undefined)
      throw invalidError(refusal, 'the sale exceeds the limits of offline sales');
    const terminalSequence = count >= terminalSequenceMax ? 1 : count + 1;
    const data: OfflineData = {
      authorizedAt: new Date(now).toISOString(),
      authorizationCode,
      terminalSequence,
      reason,
      ...defined({ serialNumber }),
    };
    const entry: QueueEntry = { sale, data, ...defined({ card }) };
    write({ put: entry });
    entries.set(id, entry);
    count = terminalSequence;
    return toOfflineSale(entry);
  }

  async function send(
    payments: Pick<PaymentClient, 'sell'>,
    entry: QueueEntry,
    signal?: AbortSignal,
  ): Promise<UploadResult> {
    const { sale, data } = entry;
    const id = sale.clientTransactionId;
    const { notAfter: _late, ...rest } = sale;
    try {
      const upload = { ...rest, offlineTransaction: true, offlineData: data };
      const transaction = await payments.sell(upload, signal);
      write({ done: id });
      entries.delete(id);
      return { outcome: 'Stored', sale: toOfflineSale(entry), transaction };
    } catch (error) {
      if (!(error instanceof DeviceError)) throw error;
      const isOtherMerchant = error.kind === 'Refused' && error.code === otherMerchantCode;
      if (!isOtherMerchant && !isFinalRefusal(error)) {
        return { outcome: 'Unsent', sale: toOfflineSale(entry), error };
      }
      if (entry.refused !== error.code) write({ refused: id, code: error.code });
      entries.set(id, { ...entry, refused: error.code });
      return { outcome: 'Refused', sale: toOfflineSale(entry), code: error.code };
    }
  }

  function deferForMerchant(entry: QueueEntry): UploadResult {
    const error = invalidError(
      otherMerchantCode,
      'the sale has no merchantId and the terminal now belongs to another merchant',
    );
    return { outcome: 'Unsent', sale: toOfflineSale(entry), error };
  }

  async function uploadAll(
    ...[payments, { signal, onResult } = {}]: Parameters<OfflineQueue['upload']>
  ): Promise<UploadResult[]> {
    const results: UploadResult[] = [];
    let hasMerchantChanged = false;
    for (const entry of [...entries.values()].filter(shouldSend)) {
      if (signal?.aborted === true) break;
      // The platform would book a sale without a merchant for the terminal's current merchant.
      const isDeferred = hasMerchantChanged && entry.sale.merchantId === undefined;
      const result = isDeferred ? deferForMerchant(entry) : await send(payments, entry, signal);
      results.push(result);
      onResult?.(result);
      if (result.outcome === 'Refused' && result.code === otherMerchantCode)
        hasMerchantChanged = true;
      if (result.outcome === 'Unsent' && !isDeferred) break;
    }
    return results;
  }

  return {
    get sales() {
      return [...entries.values()].map(toOfflineSale);
    },
    add,
    upload(...given) {
      uploading ??= uploadAll(...given).finally(() => {
        uploading = undefined;
      });
      return uploading;
    },
    discard(id) {
      if (entries.get(id)?.refused === undefined) {
        throw invalidError('offline_waits', 'only a refused sale can be discarded');
      }
      write({ done: id });
      entries.delete(id);
    },
    close: () => file.close(),
  };
}
