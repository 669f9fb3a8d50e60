/** Makes sales online, and offline if the platform is not reachable or the operator requires it. */
import type { OfflineReason, ProcessRequest, Transaction } from '@switchyard/contract';
import type { PaymentClient } from '../payments/payment-client.ts';
import { DeviceError } from '../support/device-error.ts';
import { type DeviceLog, errorLogFields, safeLog } from '../support/device-log.ts';
import type { OfflineApproval, OfflineQueue, OfflineSale, UploadResult } from './offline-queue.ts';

/**
 * The options of a sale processor. `approve` gets an offline approval from the chip and the
 * terminal. If it returns no code, the sale is not made.
 *
 * @example
 * const options: SaleProcessorOptions = { payments, queue, approve: async (sale) => chip.approveOffline(sale) };
 */
export type SaleProcessorOptions = {
  readonly payments: PaymentClient;
  readonly queue: OfflineQueue;
  approve(sale: ProcessRequest, reason: OfflineReason): Promise<string | undefined>;
  /** Receives the result of each uploaded sale. */
  onUploaded?(result: UploadResult): void;
  readonly log?: DeviceLog;
};

/**
 * How a sale was made.
 *
 * @example
 * if (made.mode === 'Online' && made.transaction.approved) print(made.transaction.receipt?.cardholder);
 */
export type SaleResult =
  | { readonly mode: 'Online'; readonly transaction: Transaction }
  | { readonly mode: 'Offline'; readonly sale: OfflineSale; readonly reason: OfflineReason };

/**
 * Sells online and offline.
 *
 * @example
 * const processor: SaleProcessor = createSaleProcessor(options);
 */
export type SaleProcessor = {
  /** Why sales are made offline; undefined if they are made online. */
  readonly offlineReason: OfflineReason | undefined;
  /**
   * Checks the platform. If it is available, the sale processor uploads the waiting sales and sells
   * online again.
   */
  checkPlatform(signal?: AbortSignal): Promise<OfflineReason | undefined>;
  /** In standalone mode all sales are offline and the sale processor sends no requests. */
  setStandalone(isStandalone: boolean): void;
  sell(sale: ProcessRequest, signal?: AbortSignal): Promise<SaleResult>;
};

const unavailable = 503;

/** A fault with a status means that the platform was reached, even if it gave no token. */
const notSentReason = ({ status }: DeviceError): OfflineReason =>
  status === undefined ? 'NoConnection' : 'ServerUnavailable';

/**
 * Returns a reason only if the sale was certainly not processed. A sale without an answer may have
 * been paid, and an offline sale would charge the customer twice.
 */
function offlineReasonFor(error: unknown): OfflineReason | undefined {
  if (!(error instanceof DeviceError)) return undefined;
  if (error.kind === 'NotSent') return notSentReason(error);
  const { status, problem } = error;
  if (status !== unavailable || problem?.outcome !== 'NotProcessed') return undefined;
  return problem.code.startsWith('acquirer') ? 'AcquirerUnavailable' : 'ServerUnavailable';
}

/**
 * Makes a sale processor that sells online if possible. Otherwise it sells offline, within the
 * limits of its queue and with a code from `approve`. It never repeats a sale offline that may have
 * been processed online.
 *
 * @param options - the payments, the queue and the approval function
 * @returns the sale processor, in online mode
 * @example
 * ```ts
 * const processor = createSaleProcessor({ payments, queue, approve: (sale) => chip.approveOffline(sale) });
 * const made = await processor.sell(sale);
 * setInterval(() => processor.checkPlatform(), 30_000);
 * ```
 */
export function createSaleProcessor(options: SaleProcessorOptions): SaleProcessor {
  const { payments, queue, approve } = options;
  const log = safeLog(options.log);
  let isStandalone = false;
  let offlineReason: OfflineReason | undefined;

  async function sellOffline(sale: ProcessRequest, reason: OfflineReason): Promise<SaleResult> {
    const authorizationCode = await approve(sale, reason);
    if (authorizationCode === undefined) {
      throw new DeviceError('Refused', 'the sale was not approved offline', {
        code: 'offline_declined',
      });
    }
    const approval: OfflineApproval = { authorizationCode, reason };
    log.info({ reason }, 'sold offline');
    return { mode: 'Offline', sale: queue.add(sale, approval), reason };
  }

  function onResult(result: UploadResult): void {
    const { outcome } = result;
    log.info({ outcome, ...(outcome === 'Refused' ? { code: result.code } : {}) }, 'uploaded');
    options.onUploaded?.(result);
  }

  async function findOfflineReason(signal?: AbortSignal): Promise<OfflineReason | undefined> {
    try {
      const { offlineAdvised } = await payments.getAvailability(signal);
      return offlineAdvised ? 'AcquirerUnavailable' : undefined;
    } catch (error) {
      if (!(error instanceof DeviceError) || error.kind === 'Aborted') throw error;
      return error.kind === 'NotSent' ? notSentReason(error) : 'ServerUnavailable';
    }
  }

  return {
    get offlineReason() {
      return isStandalone ? 'DeviceStandalone' : offlineReason;
    },
    async checkPlatform(signal) {
      if (isStandalone) return 'DeviceStandalone';
      offlineReason = await findOfflineReason(signal);
      const uploadOptions = signal === undefined ? { onResult } : { onResult, signal };
      if (offlineReason === undefined) await queue.upload(payments, uploadOptions);
      return offlineReason;
    },
    setStandalone(standalone) {
      isStandalone = standalone;
    },
    async sell(sale, signal) {
      if (isStandalone) return sellOffline(sale, 'DeviceStandalone');
      if (offlineReason !== undefined) return sellOffline(sale, offlineReason);
      try {
        return { mode: 'Online', transaction: await payments.sell(sale, signal) };
      } catch (error) {
        const reason = offlineReasonFor(error);
        if (reason === undefined) throw error;
        log.warn({ reason, ...errorLogFields(error) }, 'sales are made offline');
        offlineReason = reason;
        return sellOffline(sale, reason);
      }
    },
  };
}
