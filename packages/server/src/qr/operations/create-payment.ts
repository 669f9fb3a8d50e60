// Creates a QR payment: stores the intent, calls the provider and stores its answer.
import { defined, ProblemError, type QrRequest, throwProblem } from '@switchyard/contract';
import type { Caller } from '../../http/index.ts';
import { isoTime, withUnknownOutcome } from '../../platform/index.ts';
import { toldBy } from '../provider-queries/query-provider.ts';
import type { PickedService, Place } from '../providers/index.ts';
import { settle, settleReport } from '../runtime/commit-steps.ts';
import type { QrDeps } from '../runtime/qr-dependencies.ts';
import { nextChange } from '../runtime/running-payments.ts';
import { isOpen } from '../transaction/build-change.ts';
import { answerMs, duplicateWaitMs, graceMs } from '../transaction/limits.ts';
import { isAnswered } from '../transaction/payment-views.ts';
import type { LoadedQr, QrFacts, QrRow, StoredEvent } from '../transaction/records.ts';
import {
  checkCurrency,
  checkRequest,
  fingerprintOf,
  refuseReuse,
  scenarioOf,
} from '../transaction/request-rules.ts';
import { maybeServerId } from './find-payment.ts';

export type Created = { loaded: LoadedQr; replayed: boolean };

type Terminal = { organizationId: string; merchantId: string; deviceId: string };
type Wanted = { request: QrRequest; terminal: Terminal; facts: QrFacts };
type Key = { organizationId: string; merchantId: string; clientTransactionId: string };

const keyText = ({ organizationId, merchantId, clientTransactionId }: Key) =>
  `${organizationId}|${merchantId}|${clientTransactionId}`;

const nobodysStatuses: ReadonlySet<number> = new Set([404, 405, 410]);

/** @throws Refusal permission_denied */
function terminalOf({ organizationId, merchantId, deviceId }: Caller): Terminal {
  if (deviceId === undefined || merchantId === undefined) {
    return throwProblem('permission_denied', 'A QR payment needs the token of a device.');
  }
  return { organizationId, merchantId, deviceId };
}

/**
 * Creates a QR payment, or returns the payment that already has the identifier.
 *
 * @throws Refusal of the fields, the configuration or the identifier; provider_unavailable
 */
export async function createPayment(
  deps: QrDeps,
  caller: Caller,
  request: QrRequest,
): Promise<Created> {
  const terminal = terminalOf(caller);
  checkRequest(request);
  const { paymentType, paymentScenario, order, clientTransactionId } = request;
  const facts: QrFacts = {
    paymentType,
    paymentScenario,
    scenario: scenarioOf(request),
    ...defined({ order }),
    request: fingerprintOf(request, terminal.deviceId, deps.markOf),
  };
  const { organizationId, merchantId } = terminal;
  const key = { organizationId, merchantId, clientTransactionId };
  const running = deps.running.find(keyText(key));
  if (running !== undefined) {
    const known = await replay(deps, key, facts.request, running);
    if (known !== undefined) return known;
  }
  let taken = false;
  const loaded = await deps.running.run(keyText(key), async () => {
    const begun = await begin(deps, { request, terminal, facts }, key);
    taken = begun.replayed;
    return begun.loaded;
  });
  return { loaded, replayed: taken };
}

/** A replay returns the stored payment, even if the server would refuse a new payment now. */
async function begin(deps: QrDeps, wanted: Wanted, key: Key): Promise<Created> {
  const { facts, terminal } = wanted;
  let at: { service: PickedService; place: Place };
  try {
    checkCurrency(wanted.request, deps.clock.now());
    at = await whereTo(deps, terminal, wanted.request, facts);
  } catch (error) {
    const known =
      error instanceof ProblemError ? await replay(deps, key, facts.request) : undefined;
    if (known === undefined) throw error;
    return known;
  }
  await refuseServerId(deps, key);
  const row = intentOf(deps, wanted, at);
  const event: StoredEvent = {
    sequence: 1,
    type: 'qr.created',
    at: row.createdAt,
    data: { status: 'Created', changes: {} },
  };
  if (!(await deps.store.begin(row, event))) {
    const known = await replay(deps, key, facts.request);
    return (
      known ??
      throwProblem(
        'concurrent_modification',
        'Another request changed this transaction at the same time. Retry the request.',
      )
    );
  }
  deps.failPoints.hit('after-intent');
  const intent: LoadedQr = { row, operations: [], news: [] };
  const loaded = await withUnknownOutcome(() => ask(deps, intent, wanted.request, at.place));
  return { loaded, replayed: false };
}

/**
 * Refuses a client identifier that is the server's identifier of another payment.
 *
 * @throws Refusal client_id_invalid
 */
async function refuseServerId(deps: QrDeps, key: Key): Promise<void> {
  const { organizationId, clientTransactionId } = key;
  if (!maybeServerId(clientTransactionId)) return;
  const transactionId = clientTransactionId.toLowerCase();
  if ((await deps.store.find({ organizationId, transactionId })) === undefined) return;
  throwProblem(
    'client_id_invalid',
    'This clientTransactionId equals a server transaction identifier. Send another identifier.',
    {
      errors: [
        {
          pointer: '/clientTransactionId',
          code: 'client_id_invalid',
          detail: 'Is an identifier of the server.',
        },
      ],
    },
  );
}

async function whereTo(
  deps: QrDeps,
  { organizationId, merchantId, deviceId }: Terminal,
  { paymentType, paymentAmount: { currency } }: QrRequest,
  { scenario }: QrFacts,
): Promise<{ service: PickedService; place: Place }> {
  const { providers } = deps;
  const [place, service] = await Promise.all([
    providers.place(organizationId, { deviceId, currency, merchantId }),
    providers.pick(organizationId, { deviceId, paymentType, scenario }),
  ]);
  if (service === undefined) {
    return throwProblem('payment_type_not_enabled', 'No active service takes this payment here.', {
      errors: [
        {
          pointer: '/paymentType',
          code: 'payment_type_not_enabled',
          detail: 'No service that is active for the device declares it.',
        },
      ],
    });
  }
  return { service, place };
}

function intentOf(
  deps: QrDeps,
  { request, terminal, facts }: Wanted,
  { service, place }: { service: PickedService; place: Place },
): QrRow {
  const now = deps.clock.now();
  const iso = isoTime(now);
  const { amount, currency } = request.paymentAmount;
  return {
    organizationId: terminal.organizationId,
    transactionId: deps.ids.uuid(),
    merchantId: place.merchantId,
    storeId: place.storeId,
    deviceId: terminal.deviceId,
    clientTransactionId: request.clientTransactionId,
    serviceId: service.serviceId,
    providerId: service.providerId,
    providerTransactionId: undefined,
    position: {
      phase: 'Created',
      amount,
      currency,
      paid: 0,
      refunded: 0,
      refundReserved: 0,
      settled: 0,
      ending: null,
      hold: null,
      sequence: 0,
    },
    status: 'Created',
    version: 1,
    operationCount: 0,
    providerEvents: 0,
    looks: 0,
    expiresAt: now + deps.payWithinMs,
    // If the process crashes before the answer, the next poll continues the payment.
    dueAt: now + answerMs + graceMs,
    facts,
    createdAt: iso,
    updatedAt: iso,
  };
}

/** Shorter codes could match ordinary words in the text. */
const scannedCharsLeast = 6;

/** Masks the scanned code in the provider's answer, because the server must not store it. */
function hidden<Words extends object>(words: Words, scanned: string): Words {
  if (scanned.length < scannedCharsLeast) return words;
  const clean = Object.entries(words).map(([name, value]: [string, unknown]) => {
    if (typeof value === 'string') return [name, value.replaceAll(scanned, 'x'.repeat(4))];
    return [name, typeof value === 'object' && value !== null ? hidden(value, scanned) : value];
  });
  return Object.fromEntries(clean) as Words;
}

/** Creates the payment at the provider after the intent is durable, and stores the answer. */
async function ask(
  deps: QrDeps,
  loaded: LoadedQr,
  request: QrRequest,
  place: Place,
): Promise<LoadedQr> {
  const { row } = loaded;
  const { scannedPaymentId } = request;
  const { amount, currency } = row.position;
  // A process that was paused must not create a payment that another process has ended.
  const isLate = deps.clock.now() > Date.parse(row.createdAt) + graceMs;
  const answer = isLate
    ? ({ outcome: 'NotSent', reason: 'timed_out' } as const)
    : await deps.providers.create(place, {
        organizationId: row.organizationId,
        serviceId: row.serviceId,
        amount,
        currency,
        transactionId: row.transactionId,
        clientTransactionId: row.clientTransactionId,
        paymentType: row.facts.paymentType,
        paymentScenario: row.facts.scenario,
        ...defined({ scannedPaymentId, order: row.facts.order }),
        createdAt: new Date(row.createdAt),
        expiresAt: new Date(row.expiresAt),
      });
  deps.failPoints.hit('after-send');
  const answered = true as const;
  const withoutScanned = <Words extends object>(words: Words) =>
    hidden(words, scannedPaymentId ?? '');
  switch (answer.outcome) {
    case 'Answered': {
      const told = toldBy(answer);
      const { failure, payer } = withoutScanned({ failure: told.failure, payer: told.payer });
      return settleReport(deps, loaded, { ...told, failure, payer }, { answered });
    }
    case 'Refused': {
      const { code = 'refused', text, reason, status } = answer;
      const failure = withoutScanned({ code, ...defined({ text }) });
      // The provider refused the signature or the address, and not the payment.
      const isOurs = reason === 'signature' || nobodysStatuses.has(status);
      const said = isOurs ? 'Failed' : 'Declined';
      return settleReport(deps, loaded, { said, failure }, { answered });
    }
    case 'NotSent': {
      const failure = { code: answer.reason };
      return settleReport(deps, loaded, { said: 'Failed', failure }, { answered });
    }
    default:
      return askSoon(deps, loaded);
  }
}

/** The payment may exist at the provider, so the server polls its status from now on. */
function askSoon(deps: QrDeps, loaded: LoadedQr): Promise<LoadedQr> {
  return settle(deps, loaded, ({ row, operations }) => {
    const at = deps.clock.now();
    const soon = at + 1000;
    // After a provider event or a cancel, the next poll is already scheduled.
    const isMoved = row.position.phase !== 'Created' || operations.some(isOpen);
    return {
      at,
      type: 'qr.noted',
      changes: {},
      askAt: isMoved ? Math.max(soon, row.dueAt ?? soon) : soon,
      data: { reason: 'Unanswered', answered: true },
    };
  });
}

/** Whether the first caller still waits: it has no answer, and its time is not over. */
async function isAsked({ store, dueClock }: QrDeps, { row, news }: LoadedQr): Promise<boolean> {
  const createdAt = Date.parse(row.createdAt);
  if (dueClock.hasPassed(createdAt + answerMs + graceMs, createdAt)) return false;
  return row.version === 1 || !isAnswered(news ?? (await store.shownEvents(row)));
}

/**
 * Waits for the first request with the identifier, in this or another process, and returns the
 * payment. The limit is the provider's answer time plus two seconds.
 */
async function replay(
  deps: QrDeps,
  key: Key,
  fingerprint: Record<string, unknown>,
  running?: Promise<LoadedQr>,
): Promise<Created | undefined> {
  const { organizationId, clientTransactionId, merchantId } = key;
  const until = deps.dueClock.now() + answerMs + duplicateWaitMs;
  const find = async () => {
    const [found] = await deps.store.findByClientId(
      organizationId,
      clientTransactionId,
      merchantId,
    );
    return found;
  };
  // If the first request fails, the duplicate reads the database itself.
  let loaded = (await running?.catch(() => undefined)) ?? (await find());
  if (loaded === undefined) return undefined;
  refuseReuse(loaded.row.facts.request, fingerprint, 'clientTransactionId');
  while (deps.dueClock.now() < until && (await isAsked(deps, loaded))) {
    await nextChange(deps.live, loaded.row, loaded.row.version, 250);
    loaded = (await find()) ?? loaded;
  }
  return { loaded, replayed: true };
}
