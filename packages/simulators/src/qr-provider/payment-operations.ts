// The operations of the reference provider: create, find, cancel and refund a payment.
import { createHmac, randomBytes } from 'node:crypto';
import { EmvError } from '@switchyard/emv';
import {
  type CancelQrPayment,
  type CreateQrPayment,
  ProviderProblemError,
  type QrDisplay,
  type QrPaymentAnswer,
  type QrProvider,
  type RefundQrPayment,
} from '@switchyard/sdk-provider';
import type { Clock } from '../clock.ts';
import type { IsBroken } from './fault-modes.ts';
import { merchantCodeText, renderDisplay } from './merchant-qr-code.ts';
import type { PaymentJournal } from './payment-journal.ts';
import {
  isOpen,
  isPaid,
  type Payment,
  type PaymentStep,
  paymentAnswer,
  type Refund,
  refundAnswer,
  refundTotals,
} from './payment-record.ts';
import { readScannedCode } from './read-scanned-code.ts';
import type { PaymentStepRunner } from './run-payment-steps.ts';
import {
  type PaymentScript,
  refundFailure,
  refundScriptForAmount,
  scriptForAmount,
} from './test-amounts.ts';

type Deps = {
  readonly journal: PaymentJournal;
  readonly stepRunner: PaymentStepRunner;
  readonly clock: Clock;
  readonly stepMs: number;
  readonly display: QrDisplay['type'];
  readonly fingerprintKey: Buffer;
  readonly isBroken: IsBroken;
};

const idBytes = 10;
const newId = (prefix: string) => prefix + randomBytes(idBytes).toString('hex').toUpperCase();
const pollAfterMs = 3_000;
const retryAfterSeconds = 1;

function throwProblem(
  status: number,
  code: string,
  paymentStatus?: Payment['status'],
  more: { retryAfterSeconds?: number } = {},
): never {
  const facts = { status, code, ...more };
  throw new ProviderProblemError(paymentStatus === undefined ? facts : { ...facts, paymentStatus });
}

/** @example const provider = createDesk(deps); await provider.create(payment); */
export function createReferenceProvider(deps: Deps): QrProvider {
  const { journal, clock, isBroken } = deps;
  return {
    create: createPayments(deps),
    find(platformTransactionId) {
      const payment = journal.payments.get(platformTransactionId);
      if (payment === undefined) {
        return isBroken('knows-everything')
          ? { providerTransactionId: newId('QR'), status: 'Pending' }
          : undefined;
      }
      const answer = paymentAnswer(payment);
      const contradictsEvents = isBroken('contradicts-events') && isPaid(payment);
      return contradictsEvents ? { ...answer, status: 'Pending' } : answer;
    },
    cancel: createCancels(deps),
    refund: createRefunds(deps),
    findRefund(platformTransactionId, refundId) {
      const payment = journal.payments.get(platformTransactionId);
      const refund = payment?.refunds.findLast((each) => each.refundId === refundId);
      if (payment !== undefined && refund !== undefined) return refundAnswer(payment, refund);
      return isBroken('knows-every-refund') ? { refundId, status: 'Completed' } : undefined;
    },
    health: () => ({ status: 'Up' }),
    activate: () => ({
      status: 'Accepted',
      parameters: { since: new Date(clock.now()).toISOString() },
    }),
  };
}

/** The steps of a payment after its answer. */
function plannedSteps(
  script: PaymentScript,
  payment: Payment,
  now: number,
  stepMs: number,
): PaymentStep[] {
  if (!isOpen(payment)) return [];
  const next = script.next ?? (['Scanned', 'Completed'] as const);
  const steps: PaymentStep[] = next.map((to, at) => ({ at: now + (at + 1) * stepMs, to }));
  if (script.falseStatus !== undefined) {
    steps.push({ at: now + (next.length + 1) * stepMs, to: script.falseStatus, isLie: true });
  }
  if (script.staysOpen !== true) steps.push({ at: payment.expiresAt, to: 'Expired' });
  if (script.isPaidLate === true) {
    steps.push({ at: payment.expiresAt + stepMs + 1, to: 'Completed', isForced: true });
  }
  return steps;
}

function createPayments(deps: Deps): (message: CreateQrPayment) => Promise<QrPaymentAnswer> {
  const { journal, stepRunner, clock, isBroken } = deps;

  /** A keyed hash of the request. It covers the scanned code, which the provider does not store. */
  const fingerprintOf = (message: CreateQrPayment): string => {
    const { clientTransactionId, paymentType, paymentScenario, amount, merchant } = message;
    const facts = [clientTransactionId, paymentType, paymentScenario, message.scannedPaymentId];
    const all = [
      ...facts,
      amount.amount,
      amount.currency,
      merchant.merchantId,
      merchant.terminalId,
    ];
    return createHmac('sha256', deps.fingerprintKey)
      .update(JSON.stringify(all))
      .digest('base64url');
  };

  async function displayOf(payment: Payment): Promise<{ display?: QrDisplay }> {
    if (payment.code === undefined || payment.status !== 'Pending') return {};
    return {
      display: await renderDisplay(
        payment.code,
        scriptForAmount(payment.amount).display ?? deps.display,
      ),
    };
  }

  async function answerOf(payment: Payment): Promise<QrPaymentAnswer> {
    const answer = { ...paymentAnswer(payment), ...(await displayOf(payment)) };
    const makesTwo = isBroken('repeat-makes-two') ? { providerTransactionId: newId('QR') } : {};
    return isOpen(payment) ? { ...answer, pollAfterMs, ...makesTwo } : { ...answer, ...makesTwo };
  }

  function findSamePayment(message: CreateQrPayment, fingerprint: string): Payment | undefined {
    const existing = journal.payments.get(message.platformTransactionId);
    if (existing === undefined) return undefined;
    // The cancel came before the payment: the record has no content and stays cancelled.
    const isSame = existing.fingerprint === '' || existing.fingerprint === fingerprint;
    if (isSame || isBroken('accepts-other-content')) return existing;
    return throwProblem(409, 'payment_differs', existing.status);
  }

  function startPayment(message: CreateQrPayment, fingerprint: string): Payment {
    const { platformTransactionId, clientTransactionId, paymentScenario, amount } = message;
    const { scannedPaymentId, eventsUrl, expiresAt, merchant, serviceId } = message;
    const script = scriptForAmount(amount.amount);
    const isScanned = scannedPaymentId !== undefined || paymentScenario === 'merchantscan';
    const payment: Payment = {
      platformTransactionId,
      clientTransactionId,
      eventsUrl,
      fingerprint,
      serviceId,
      providerTransactionId: newId('QR'),
      merchantId: merchant.merchantId,
      scenario: isScanned ? 'merchantscan' : 'consumerscan',
      amount: amount.amount,
      currency: amount.currency,
      createdAt: clock.now(),
      expiresAt: Date.parse(expiresAt),
      status: script.isDisplayLater === true ? 'Created' : 'Pending',
      refunds: [],
      sequence: 0,
      steps: [],
      unsent: [],
    };
    if (isScanned) applyScannedCode(payment, scannedPaymentId, script);
    else payment.code = merchantCodeOf(message, payment.providerTransactionId);
    payment.steps = plannedSteps(script, payment, payment.createdAt, deps.stepMs);
    return payment;
  }

  function applyScannedCode(
    payment: Payment,
    scanned: string | undefined,
    script: PaymentScript,
  ): void {
    if (scanned === undefined) throwProblem(422, 'scanned_code_missing');
    const scannedCode = readScannedCode(scanned);
    if (!scannedCode.isReadable) {
      payment.status = 'Declined';
      payment.failure = scannedCode.failure;
      return;
    }
    payment.payer = scannedCode.payer;
    const atOnce = script.atOnce ?? 'Completed';
    const approves = isBroken('approves-declined') && atOnce === 'Declined';
    payment.status = approves ? 'Completed' : atOnce;
    const { failure } = script;
    if (failure !== undefined && !approves && !isOpen(payment)) payment.failure = failure;
  }

  return async (message) => {
    const fingerprint = fingerprintOf(message);
    const existing = findSamePayment(message, fingerprint);
    if (existing !== undefined) return answerOf(existing);
    const { amount } = message.amount;
    const { refusal, delivery } = scriptForAmount(amount);
    if (refusal === 503) throwProblem(503, 'busy', undefined, { retryAfterSeconds });
    if (refusal !== undefined) {
      throwProblem(refusal, refusal === 422 ? 'amount_not_supported' : 'not_now');
    }
    const payment = startPayment(message, fingerprint);
    journal.write(payment);
    const answer = await answerOf(payment);
    if (delivery === 'after-event') {
      await stepRunner.runStep(payment, { at: clock.now(), to: 'Completed' });
      await stepRunner.waitUntilSent(payment);
    }
    stepRunner.scheduleNextStep(payment);
    return answer;
  };
}

/** @throws ProviderProblemError where a code cannot hold the amount or currency */
function merchantCodeOf(message: CreateQrPayment, providerTransactionId: string): string {
  try {
    return merchantCodeText(message, providerTransactionId);
  } catch (error) {
    if (error instanceof EmvError || error instanceof RangeError) {
      return throwProblem(422, 'currency_not_supported');
    }
    throw error;
  }
}

function createCancels({
  journal,
  stepRunner,
  clock,
  stepMs,
  isBroken,
}: Deps): QrProvider['cancel'] {
  const failures = new Map<string, number>();

  /** Records a cancel of an unknown payment, whose request may still arrive. */
  function cancelUnknownPayment(platformTransactionId: string) {
    const payment: Payment = {
      platformTransactionId,
      providerTransactionId: newId('QR'),
      clientTransactionId: '',
      merchantId: '',
      scenario: 'consumerscan',
      amount: 0,
      currency: '',
      eventsUrl: '',
      createdAt: clock.now(),
      expiresAt: clock.now(),
      fingerprint: '',
      status: 'Cancelled',
      refunds: [],
      sequence: 0,
      steps: [],
      unsent: [],
    };
    if (!isBroken('forgets-cancel')) journal.write(payment);
    return { status: 'Cancelled' as const };
  }

  function countFailure(payment: Payment): void {
    const id = payment.platformTransactionId;
    const count = (failures.get(id) ?? 0) + 1;
    failures.set(id, count);
    if (count <= 2) throwProblem(500, 'not_now');
    failures.delete(id);
  }

  return async ({ platformTransactionId }: CancelQrPayment) => {
    const payment = journal.payments.get(platformTransactionId);
    if (payment === undefined) return cancelUnknownPayment(platformTransactionId);
    const { providerTransactionId } = payment;
    const { onCancel } = scriptForAmount(payment.amount);
    if (isOpen(payment)) {
      if (isBroken('refuses-cancel')) throwProblem(422, 'cancel_not_supported', payment.status);
      if (onCancel === 'error-twice') countFailure(payment);
      if (onCancel === 'paid-before') {
        await stepRunner.runStep(payment, { at: clock.now(), to: 'Completed' });
        return throwProblem(409, 'already_paid', payment.status);
      }
      payment.status = 'Cancelled';
      payment.steps = payment.steps.filter(({ isForced }) => isForced === true);
      if (onCancel === 'paid-afterwards' || isBroken('pays-cancelled')) {
        payment.steps.push({ at: clock.now() + stepMs, to: 'Completed', isForced: true });
      }
      journal.write(payment);
      stepRunner.scheduleNextStep(payment);
    } else if (isPaid(payment) && isBroken('cancels-paid')) {
      return { providerTransactionId, status: 'Cancelled' };
    }
    return { providerTransactionId, status: payment.status };
  };
}

function createRefunds({
  journal,
  stepRunner,
  clock,
  stepMs,
  isBroken,
}: Deps): QrProvider['refund'] {
  function requireRefundable(
    payment: Payment,
    { amount, currency }: RefundQrPayment['amount'],
  ): void {
    if (isBroken('refuses-refund')) throwProblem(422, 'refund_not_supported', payment.status);
    if (!isPaid(payment) && !isBroken('refunds-unpaid')) {
      throwProblem(422, 'payment_not_paid', payment.status);
    }
    if (currency !== payment.currency) throwProblem(422, 'currency_differs', payment.status);
    const { claimed } = refundTotals(payment);
    if (claimed + amount > payment.amount && !isBroken('refunds-too-much')) {
      throwProblem(422, 'refund_too_much', payment.status);
    }
  }

  function recordRefund(payment: Payment, { refundId, amount }: RefundQrPayment): Refund {
    const { atOnce, next } = refundScriptForAmount(amount.amount);
    const refund: Refund = {
      refundId,
      providerRefundId: newId('RF'),
      amount: amount.amount,
      status: atOnce ?? 'Completed',
      ...(atOnce === 'Declined' ? { failure: refundFailure } : {}),
    };
    payment.refunds.push(refund);
    if (isPaid(payment)) stepRunner.settleRefunds(payment);
    if (next !== undefined) payment.steps.push({ at: clock.now() + stepMs, to: next, refundId });
    journal.write(payment);
    stepRunner.scheduleNextStep(payment);
    return refund;
  }

  return (message) => {
    const payment = journal.payments.get(message.platformTransactionId);
    if (payment === undefined) return throwProblem(404, 'payment_not_found');
    const existing = payment.refunds.find(({ refundId }) => refundId === message.refundId);
    if (existing !== undefined && !isBroken('refunds-twice')) {
      if (existing.amount !== message.amount.amount)
        throwProblem(409, 'refund_differs', payment.status);
      return refundAnswer(payment, existing);
    }
    requireRefundable(payment, message.amount);
    return refundAnswer(payment, recordRefund(payment, message));
  };
}
