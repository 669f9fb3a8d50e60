// Takes an offline sale in: once for each number of the terminal, durable before the terminal is told (ADR 0038).
import { refuse } from '@switchyard/contract';
import type { Resolved } from '../../provisioning/index.ts';
import { takenOverOffline } from '../card-input/ksn-replay-check.ts';
import { dataUseOf, refuseReusedData } from '../card-input/ksn-sql.ts';
import type { PresentedCard } from '../card-input/read-card.ts';
import type { PaymentsDeps } from '../deps.ts';
import type { Intent } from '../sale/authorize-sale.ts';
import { replayOr, replaySale, type SaleKey, unlessReused } from '../sale/sale-idempotency.ts';
import { factsOf, type LoadedTransaction } from '../transaction/transaction.ts';
import { checkCurrency, checkExpiry, checkNotAfter } from '../validation/expiry-checks.ts';
import {
  type Counter,
  checkCertificate,
  checkLimits,
  checkMoment,
  counterOf,
  differentSales,
  identityOf,
  madeAt,
  type OfflineRequest,
  refuseCount,
} from '../validation/validate-offline-sale.ts';
import { captureModeFor } from '../validation/validate-sale-request.ts';
import { gapJob, gapSettleMs } from './missing-sequence-numbers.ts';
import type { NewUpload, Stored } from './offline-sql.ts';
import { offlineJob } from './submit-offline-sale.ts';

export type Upload = {
  organizationId: string;
  request: OfflineRequest;
  resolved: Resolved;
  card: PresentedCard;
  /** The keyed hash of the card. */
  mark: string;
  fingerprint: Record<string, unknown>;
  key: SaleKey;
  /** The sale as it will be stored; called once nothing is left that could refuse it. */
  makeIntent(): Promise<Intent>;
};

type Answer = { loaded: LoadedTransaction; replayed: boolean };

/**
 * Stores an offline sale, or tells what became of the one that the terminal has counted with the same
 * number, under whichever identifier it came first.
 *
 * @throws Refusal of the members, the time, the contract; client_id_reused, offline_sequence_reused
 */
export async function storeOffline(deps: PaymentsDeps, upload: Upload): Promise<Answer> {
  const { request, card, key, fingerprint, organizationId } = upload;
  const now = deps.clock.now();
  try {
    checkNotAfter(request, now);
    checkMoment(request, now);
    checkExpiry(card, madeAt(request.offlineData));
    checkCurrency(request, madeAt(request.offlineData));
    checkCertificate(card);
  } catch (refusal) {
    return replayOr(refusal, unlessReused(replaySale(deps, key, fingerprint)));
  }
  const known = await replaySale(deps, key, fingerprint);
  if (known !== undefined) return known;
  const counter = counterFor(deps, upload);
  const { terminalSequence } = request.offlineData;
  const twin = await deps.offline.find(organizationId, counter, terminalSequence);
  if (twin !== undefined) return tellTwin(deps, upload, twin);
  const elsewhere = await soldElsewhere(deps, upload);
  if (elsewhere !== undefined) return { loaded: elsewhere, replayed: true };
  const { contract } = upload.resolved;
  // Whatever was sold without the platform is captured: the goods are gone.
  captureModeFor({ ...request, captureMode: 'Immediate' }, contract);
  checkLimits(request, contract.offlineLimits, now);
  const seen: { instead?: Exclude<Stored, { result: 'Stored' }> } = {};
  const loaded = await deps.running.run(key.text, async () => {
    const intent = storedOf(await upload.makeIntent());
    const stored = await storeOnce(deps, upload, await newUpload(deps, upload, counter, intent));
    if (stored.result === 'Stored') return intent.loaded;
    seen.instead = stored;
    return undefined;
  });
  // Out of the work, since it may wait for another sale that only a sweep ends.
  if (seen.instead !== undefined) return otherwise(deps, upload, seen.instead);
  if (loaded === undefined) throw new Error('an upload came to nothing');
  deps.jobs.poke();
  return { loaded, replayed: false };
}

function counterFor(deps: PaymentsDeps, { request, resolved, fingerprint }: Upload): Counter {
  const { device, contract } = resolved;
  const of = { deviceId: device?.deviceId, contractId: contract.contractId };
  const mark = () => `sale:${deps.vault.digest(JSON.stringify(identityOf(fingerprint)))}`;
  return counterOf(of, request, mark);
}

/** With card data that a sale at the till has used, which came to nothing, it is stored all the same. */
async function storeOnce(
  deps: PaymentsDeps,
  { request }: Upload,
  upload: NewUpload,
): Promise<Stored> {
  const stored = await deps.offline.store(upload);
  if (stored.result !== 'SerialReused' || upload.use === undefined) return stored;
  const use = await takenOverOffline(deps, upload.use, request);
  return deps.offline.store({ ...upload, use });
}

/** Somebody was faster, or the terminal has sold too much. */
async function otherwise(
  deps: PaymentsDeps,
  upload: Upload,
  stored: Exclude<Stored, { result: 'Stored' }>,
): Promise<Answer> {
  if (stored.result === 'Twin') return tellTwin(deps, upload, stored.transactionId);
  if (stored.result === 'CountExceeded') {
    return refuseCount(upload.resolved.contract.offlineLimits.maxCount);
  }
  if (stored.result === 'SerialReused') return refuseReusedData();
  const { key, fingerprint } = upload;
  const known = await replaySale(deps, key, fingerprint);
  return known ?? refuse('concurrent_modification', 'The identifier was in use a moment ago.');
}

/** The number was uploaded before: the same sale is told as it stands, another one is refused. */
async function tellTwin(
  deps: PaymentsDeps,
  { organizationId, fingerprint }: Upload,
  transactionId: string,
): Promise<Answer> {
  const loaded = await deps.store.findById(organizationId, transactionId);
  if (loaded === undefined) throw new Error('an uploaded sale has vanished');
  const names = differentSales(factsOf(loaded).request, fingerprint);
  if (names.length === 0) return { loaded, replayed: true };
  const { clientTransactionId, state } = loaded.row;
  return refuse('offline_sequence_reused', 'The terminal has used this number before.', {
    errors: names.map((name) => ({
      pointer: `/${name}`,
      code: 'offline_sequence_reused',
      detail: 'Differs from the sale that has this number.',
    })),
    extensions: { transaction: { transactionId, clientTransactionId, state } },
  });
}

/**
 * The very sale, uploaded before with another terminal named, or none: a till that names its hardware
 * only the second time must not charge twice.
 */
async function soldElsewhere(
  deps: PaymentsDeps,
  { organizationId, request, resolved, fingerprint }: Upload,
): Promise<LoadedTransaction | undefined> {
  const { merchantId } = resolved.merchant;
  const sequence = request.offlineData.terminalSequence;
  const authorizedAt = madeAt(request.offlineData);
  const of = { organizationId, merchantId, sequence, authorizedAt };
  const ids = await deps.offline.findElsewhere(of);
  const found = await Promise.all(ids.map((id) => deps.store.findById(organizationId, id)));
  return found.find(
    (each) => each !== undefined && differentSales(factsOf(each).request, fingerprint).length === 0,
  );
}

/** The intent of a sale that nobody is asked about yet. */
function storedOf(intent: Intent): Intent {
  const { row, events, operations } = intent.loaded;
  const [first] = events;
  if (first === undefined) throw new Error('an intent without its event');
  const data = { ...first.data, state: 'Stored', changes: { phase: 'Stored' } } as const;
  return {
    ...intent,
    loaded: {
      row: { ...row, state: 'Stored', position: { ...row.position, phase: 'Stored' } },
      events: [{ ...first, type: 'transaction.stored', data }],
      operations,
    },
  };
}

async function newUpload(
  deps: PaymentsDeps,
  { organizationId, request, resolved, card, mark }: Upload,
  counter: Counter,
  { loaded, facts }: Intent,
): Promise<NewUpload> {
  const { row, events } = loaded;
  const [event] = events;
  if (event === undefined) throw new Error('an intent without its event');
  const payload = { transactionId: row.transactionId };
  const now = deps.clock.now();
  const { chipData } = card;
  return {
    ...counter,
    row,
    event,
    sequence: request.offlineData.terminalSequence,
    authorizedAt: madeAt(request.offlineData),
    chipData:
      chipData === undefined
        ? undefined
        : await deps.vault.seal(organizationId, row.transactionId, Buffer.from(chipData)),
    maxCount: resolved.contract.offlineLimits.maxCount,
    use: dataUseOf(request, { organizationId, merchantId: row.merchantId, mark, at: now }),
    outboxId: deps.ids.uuid(),
    job: { organizationId, kind: offlineJob, payload, dueAt: now, lane: facts.linkId },
    gapId: deps.ids.uuid(),
    gapJob: { organizationId, kind: gapJob, payload, dueAt: now + gapSettleMs },
  };
}
