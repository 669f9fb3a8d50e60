// Creates a QR payment: stores the intent, calls the provider and stores its answer.
import { defined, ProblemError, type QrRequest, throwProblem } from '@switchyard/contract';
import type { Caller } from '../../http/index.ts';
import { bucketOf, isoTime, isUuidV7, withUnknownOutcome } from '../../platform/index.ts';
import { paymentReportOf } from '../provider-queries/query-provider.ts';
import type { MerchantDetails, SelectedService } from '../providers/index.ts';
import { commitPaymentReport, commitWithRetry } from '../runtime/commit-steps.ts';
import type { QrDeps } from '../runtime/qr-dependencies.ts';
import { waitForChange } from '../runtime/running-payments.ts';
import { isOpen } from '../transaction/build-change.ts';
import { duplicateWaitMs, providerTimeoutMs, storeGraceMs } from '../transaction/limits.ts';
import {
  requestFingerprint,
  requireActiveCurrency,
  requireSameRequest,
  requireValidRequest,
  scenarioOf,
} from '../transaction/payment-request-rules.ts';
import { isAnswered } from '../transaction/payment-views.ts';
import type { LoadedPayment, QrFacts, QrRow, StoredEvent } from '../transaction/records.ts';

export type CreateResult = { loaded: LoadedPayment; replayed: boolean };

type Terminal = { organizationId: string; merchantId: string; deviceId: string };
type PaymentInput = { request: QrRequest; terminal: Terminal; facts: QrFacts };
type ClientIdentifier = { organizationId: string; merchantId: string; clientTransactionId: string };

const runningKey = ({ organizationId, merchantId, clientTransactionId }: ClientIdentifier) =>
  `${organizationId}|${merchantId}|${clientTransactionId}`;

const wrongAddressStatuses: ReadonlySet<number> = new Set([404, 405, 410]);

/** @throws ProblemError permission_denied */
function requireTerminal({ organizationId, merchantId, deviceId }: Caller): Terminal {
  if (deviceId === undefined || merchantId === undefined) {
    return throwProblem('permission_denied', 'A QR payment needs the token of a device.');
  }
  return { organizationId, merchantId, deviceId };
}

/**
 * Creates a QR payment, or returns the payment that already has the identifier.
 *
 * @throws ProblemError of the fields, the configuration or the identifier; provider_unavailable
 */
export async function createPayment(
  deps: QrDeps,
  caller: Caller,
  request: QrRequest,
): Promise<CreateResult> {
  const terminal = requireTerminal(caller);
  requireValidRequest(request);
  const { paymentType, paymentScenario, order, clientTransactionId } = request;
  const facts: QrFacts = {
    paymentType,
    paymentScenario,
    scenario: scenarioOf(request),
    ...defined({ order }),
    request: requestFingerprint(request, terminal.deviceId, deps.digestOf),
  };
  const { organizationId, merchantId } = terminal;
  const key = { organizationId, merchantId, clientTransactionId };
  const running = deps.runningPayments.find(runningKey(key));
  if (running !== undefined) {
    const replayed = await waitForFirstRequest(deps, key, facts.request, running);
    if (replayed !== undefined) return replayed;
  }
  let isReplay = false;
  const loaded = await deps.runningPayments.run(runningKey(key), async () => {
    const started = await storeIntent(deps, { request, terminal, facts }, key);
    isReplay = started.replayed;
    return started.loaded;
  });
  return { loaded, replayed: isReplay };
}

/** A replay returns the stored payment, even if the server would refuse a new payment now. */
async function storeIntent(
  deps: QrDeps,
  input: PaymentInput,
  key: ClientIdentifier,
): Promise<CreateResult> {
  const { facts, terminal } = input;
  let serviceAndMerchant: { service: SelectedService; merchant: MerchantDetails };
  try {
    requireActiveCurrency(input.request, deps.clock.now());
    serviceAndMerchant = await findServiceAndMerchant(deps, terminal, input.request, facts);
  } catch (error) {
    const replayed =
      error instanceof ProblemError
        ? await waitForFirstRequest(deps, key, facts.request)
        : undefined;
    if (replayed === undefined) throw error;
    return replayed;
  }
  await requireNoServerId(deps, key);
  const row = createIntent(deps, input, serviceAndMerchant);
  const event: StoredEvent = {
    sequence: 1,
    type: 'qr.created',
    at: row.createdAt,
    data: { status: 'Created', changes: {} },
  };
  if (!(await deps.store.begin(row, event))) {
    const replayed = await waitForFirstRequest(deps, key, facts.request);
    return (
      replayed ??
      throwProblem(
        'concurrent_modification',
        'Another request changed this transaction at the same time. Retry the request.',
      )
    );
  }
  deps.failPoints.hit('after-intent');
  const intent: LoadedPayment = { row, operations: [], newEvents: [] };
  const loaded = await withUnknownOutcome(() =>
    createAtProvider(deps, intent, input.request, serviceAndMerchant.merchant),
  );
  return { loaded, replayed: false };
}

/**
 * Refuses a client identifier that is the server's identifier of another payment.
 *
 * @throws ProblemError client_id_invalid
 */
async function requireNoServerId(deps: QrDeps, key: ClientIdentifier): Promise<void> {
  const { organizationId, clientTransactionId } = key;
  if (!isUuidV7(clientTransactionId)) return;
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

async function findServiceAndMerchant(
  deps: QrDeps,
  { organizationId, merchantId, deviceId }: Terminal,
  { paymentType, paymentAmount: { currency } }: QrRequest,
  { scenario }: QrFacts,
): Promise<{ service: SelectedService; merchant: MerchantDetails }> {
  const { providers } = deps;
  const [merchant, service] = await Promise.all([
    providers.merchantDetails(organizationId, { deviceId, currency, merchantId }),
    providers.selectService(organizationId, { deviceId, paymentType, scenario }),
  ]);
  if (service === undefined) {
    return throwProblem(
      'payment_type_not_enabled',
      'No active service of the device supports this paymentType. Activate one, or send another paymentType.',
      {
        errors: [
          {
            pointer: '/paymentType',
            code: 'payment_type_not_enabled',
            detail: 'No service that is active for the device supports it.',
          },
        ],
      },
    );
  }
  return { service, merchant };
}

function createIntent(
  deps: QrDeps,
  { request, terminal, facts }: PaymentInput,
  { service, merchant }: { service: SelectedService; merchant: MerchantDetails },
): QrRow {
  const now = deps.clock.now();
  const iso = isoTime(now);
  const { amount, currency } = request.paymentAmount;
  return {
    organizationId: terminal.organizationId,
    transactionId: deps.ids.uuid(bucketOf(merchant.merchantId)),
    merchantId: merchant.merchantId,
    storeId: merchant.storeId,
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
    pollAttempts: 0,
    expiresAt: now + deps.payWithinMs,
    // If the process crashes before the answer, the next poll continues the payment.
    dueAt: now + providerTimeoutMs + storeGraceMs,
    facts,
    createdAt: iso,
    updatedAt: iso,
  };
}

/** Shorter codes could match ordinary words in the text. */
const maskedCharsMin = 6;

/** Masks the scanned code in the provider's answer, because the server must not store it. */
function maskScannedCode<Words extends object>(values: Words, scanned: string): Words {
  if (scanned.length < maskedCharsMin) return values;
  const clean = Object.entries(values).map(([name, value]: [string, unknown]) => {
    if (typeof value === 'string') return [name, value.replaceAll(scanned, 'x'.repeat(4))];
    return [
      name,
      typeof value === 'object' && value !== null ? maskScannedCode(value, scanned) : value,
    ];
  });
  return Object.fromEntries(clean) as Words;
}

/** Creates the payment at the provider after the intent is durable, and stores the answer. */
async function createAtProvider(
  deps: QrDeps,
  loaded: LoadedPayment,
  request: QrRequest,
  merchant: MerchantDetails,
): Promise<LoadedPayment> {
  const { row } = loaded;
  const { scannedPaymentId } = request;
  const { amount, currency } = row.position;
  // A process that was paused must not create a payment that another process has ended.
  const isLate = deps.clock.now() > Date.parse(row.createdAt) + storeGraceMs;
  const answer = isLate
    ? ({ outcome: 'NotSent', reason: 'timed_out' } as const)
    : await deps.providers.create(merchant, {
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
  const withoutScanned = <Words extends object>(values: Words) =>
    maskScannedCode(values, scannedPaymentId ?? '');
  switch (answer.outcome) {
    case 'Answered': {
      const report = paymentReportOf(answer);
      const { failure, payer } = withoutScanned({ failure: report.failure, payer: report.payer });
      return commitPaymentReport(deps, loaded, { ...report, failure, payer }, { answered });
    }
    case 'Refused': {
      const { code = 'refused', text, reason } = answer;
      const failure = withoutScanned({ code, ...defined({ text }) });
      // The provider refused the signature or the address, and not the payment.
      const isConfigurationFault =
        reason === 'signature' || wrongAddressStatuses.has(answer.status);
      const status = isConfigurationFault ? 'Failed' : 'Declined';
      return commitPaymentReport(deps, loaded, { status, failure }, { answered });
    }
    case 'NotSent': {
      const failure = { code: answer.reason };
      return commitPaymentReport(deps, loaded, { status: 'Failed', failure }, { answered });
    }
    default:
      return scheduleStatusQuery(deps, loaded);
  }
}

/** The payment may exist at the provider, so the server polls its status from now on. */
function scheduleStatusQuery(deps: QrDeps, loaded: LoadedPayment): Promise<LoadedPayment> {
  return commitWithRetry(deps, loaded, ({ row, operations }) => {
    const now = deps.clock.now();
    const nextPollAt = now + 1000;
    // After a provider event or a cancel, the next poll is already scheduled.
    const isMoved = row.position.phase !== 'Created' || operations.some(isOpen);
    return {
      at: now,
      type: 'qr.noted',
      changes: {},
      pollAt: isMoved ? Math.max(nextPollAt, row.dueAt ?? nextPollAt) : nextPollAt,
      data: { reason: 'Unanswered', answered: true },
    };
  });
}

/** Whether the first caller still waits: it has no answer, and its time is not over. */
async function isFirstCallPending(
  { store, dueClock }: QrDeps,
  { row, newEvents }: LoadedPayment,
): Promise<boolean> {
  const createdAt = Date.parse(row.createdAt);
  if (dueClock.hasPassed(createdAt + providerTimeoutMs + storeGraceMs, createdAt)) return false;
  return row.version === 1 || !isAnswered(newEvents ?? (await store.eventsForView(row)));
}

/**
 * Waits for the first request with the identifier, in this or another process, and returns the
 * payment. The limit is the provider's answer time plus two seconds.
 */
async function waitForFirstRequest(
  deps: QrDeps,
  key: ClientIdentifier,
  fingerprint: Record<string, unknown>,
  running?: Promise<LoadedPayment>,
): Promise<CreateResult | undefined> {
  const { organizationId, clientTransactionId, merchantId } = key;
  const until = deps.dueClock.now() + providerTimeoutMs + duplicateWaitMs;
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
  requireSameRequest(loaded.row.facts.request, fingerprint, 'clientTransactionId');
  while (deps.dueClock.now() < until && (await isFirstCallPending(deps, loaded))) {
    await waitForChange(deps.live, loaded.row, loaded.row.version, 250);
    loaded = (await find()) ?? loaded;
  }
  return { loaded, replayed: true };
}
