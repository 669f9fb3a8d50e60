/** Sells: online where the platform can be reached, on the terminal's own where it cannot or must not. */
import type { OfflineReason, ProcessRequest, Transaction } from '@switchyard/contract';
import { DeviceError } from './errors.ts';
import { type DeviceLog, faultFacts, guardedLog } from './log.ts';
import type { OfflineApproval, OfflineQueue, OfflineSale, UploadResult } from './offline-queue.ts';
import type { PaymentClient } from './payment-client.ts';

/**
 * What a till needs. `approve` asks chip and terminal whether they take the sale on their own; without
 * a code it is not made.
 *
 * @example
 * const options: TillOptions = { payments, queue, approve: async (sale) => chip.approveOffline(sale) };
 */
export type TillOptions = {
  readonly payments: PaymentClient;
  readonly queue: OfflineQueue;
  approve(sale: ProcessRequest, reason: OfflineReason): Promise<string | undefined>;
  /** Hears of each sale that was uploaded. */
  onUploaded?(result: UploadResult): void;
  readonly log?: DeviceLog;
};

/**
 * How a sale was made.
 *
 * @example
 * if (made.mode === 'Online' && made.transaction.approved) print(made.transaction.receipt?.cardholder);
 */
export type Sold =
  | { readonly mode: 'Online'; readonly transaction: Transaction }
  | { readonly mode: 'Offline'; readonly sale: OfflineSale; readonly reason: OfflineReason };

/**
 * Sells online and offline.
 *
 * @example
 * const till: Till = createTill(options);
 */
export type Till = {
  /** Why sales are made offline; undefined online. */
  readonly offlineReason: OfflineReason | undefined;
  /** Asks the platform, and takes up work with it again: what waits is uploaded. */
  probe(signal?: AbortSignal): Promise<OfflineReason | undefined>;
  /** Standalone: all sales are made offline, and nothing is asked, until it is switched off. */
  setStandalone(isStandalone: boolean): void;
  sell(sale: ProcessRequest, signal?: AbortSignal): Promise<Sold>;
};

const unavailable = 503;

/** A platform that answered, if only that it gives no token now, was connected. */
const unsentReason = ({ status }: DeviceError): OfflineReason =>
  status === undefined ? 'NoConnection' : 'ServerUnavailable';

/**
 * Only where it is certain that nothing was processed: a sale whose answer was lost may have been
 * paid, and to make it again on the terminal would take the money twice.
 */
function reasonOf(error: unknown): OfflineReason | undefined {
  if (!(error instanceof DeviceError)) return undefined;
  if (error.kind === 'NotSent') return unsentReason(error);
  const { status, problem } = error;
  if (status !== unavailable || problem?.outcome !== 'NotProcessed') return undefined;
  return problem.code.startsWith('acquirer') ? 'AcquirerUnavailable' : 'ServerUnavailable';
}

/**
 * Makes a till that sells online while it can, and offline while it must: within the limits of its
 * queue, and where `approve` gives a code. It never makes a sale offline whose online try may have
 * been processed.
 *
 * @param options - payments, queue, and who approves
 * @returns the till, online
 * @example
 * ```ts
 * const till = createTill({ payments, queue, approve: (sale) => chip.approveOffline(sale) });
 * const made = await till.sell(sale);
 * setInterval(() => till.probe(), 30_000);
 * ```
 */
export function createTill(options: TillOptions): Till {
  const { payments, queue, approve } = options;
  const log = guardedLog(options.log);
  let isStandalone = false;
  let reason: OfflineReason | undefined;

  async function sellOffline(sale: ProcessRequest, because: OfflineReason): Promise<Sold> {
    const authorizationCode = await approve(sale, because);
    if (authorizationCode === undefined) {
      throw new DeviceError('Refused', 'the sale was not approved offline', {
        code: 'offline_declined',
      });
    }
    const approval: OfflineApproval = { authorizationCode, reason: because };
    log.info({ reason: because }, 'sold offline');
    return { mode: 'Offline', sale: queue.add(sale, approval), reason: because };
  }

  function onResult(result: UploadResult): void {
    const { outcome } = result;
    log.info({ outcome, ...(outcome === 'Refused' ? { code: result.code } : {}) }, 'uploaded');
    options.onUploaded?.(result);
  }

  async function ask(signal?: AbortSignal): Promise<OfflineReason | undefined> {
    try {
      const { offlineAdvised } = await payments.isAvailable(signal);
      return offlineAdvised ? 'AcquirerUnavailable' : undefined;
    } catch (error) {
      if (!(error instanceof DeviceError) || error.kind === 'Aborted') throw error;
      return error.kind === 'NotSent' ? unsentReason(error) : 'ServerUnavailable';
    }
  }

  return {
    get offlineReason() {
      return isStandalone ? 'DeviceStandalone' : reason;
    },
    async probe(signal) {
      if (isStandalone) return 'DeviceStandalone';
      reason = await ask(signal);
      const more = signal === undefined ? { onResult } : { onResult, signal };
      if (reason === undefined) await queue.upload(payments, more);
      return reason;
    },
    setStandalone(is) {
      isStandalone = is;
    },
    async sell(sale, signal) {
      if (isStandalone) return sellOffline(sale, 'DeviceStandalone');
      if (reason !== undefined) return sellOffline(sale, reason);
      try {
        return { mode: 'Online', transaction: await payments.sell(sale, signal) };
      } catch (error) {
        const because = reasonOf(error);
        if (because === undefined) throw error;
        log.warn({ reason: because, ...faultFacts(error) }, 'sales are made offline');
        reason = because;
        return sellOffline(sale, because);
      }
    },
  };
}
