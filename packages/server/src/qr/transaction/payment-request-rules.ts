// Validates a request before it has an effect, and compares it with the first one. Pure.
import { defined, type ErrorCode, type QrRequest, throwProblem } from '@switchyard/contract';
import { holdsCardNumber } from '@switchyard/emv';
import { isActiveCurrency } from '@switchyard/money';
import type { ScanScenario } from './records.ts';

const fieldError = (pointer: string, code: ErrorCode, detail: string) => ({
  errors: [{ pointer, code, detail }],
});

/**
 * A scanned code always means `merchantscan`, even if the request names another scenario.
 *
 * @throws ProblemError field_required
 */
export function scenarioOf({
  paymentScenario,
  scannedPaymentId,
}: Pick<QrRequest, 'paymentScenario' | 'scannedPaymentId'>): ScanScenario {
  if (scannedPaymentId !== undefined) return 'merchantscan';
  if (paymentScenario.toLowerCase() === 'consumerscan') return 'consumerscan';
  return throwProblem('field_required', 'scannedPaymentId is required with merchantscan.', {
    ...fieldError('/scannedPaymentId', 'field_required', 'Is required with merchantscan.'),
  });
}

/**
 * Only for new payments: a replay still succeeds after the currency has ended.
 *
 * @throws ProblemError currency_unknown; `time` decides whether a currency is active
 */
export function requireActiveCurrency({ paymentAmount }: QrRequest, time: number): void {
  if (isActiveCurrency(paymentAmount.currency, time)) return;
  throwProblem('currency_unknown', 'The currency is not active.', {
    ...fieldError('/paymentAmount/currency', 'currency_unknown', 'Is no active ISO 4217 code.'),
  });
}

/** Checks that do not depend on the time. @throws ProblemError of the fields */
export function requireValidRequest(request: QrRequest): void {
  const { clientTransactionId, order } = request;
  // Only a new payment needs a currency that is still active, and `create-payment.ts` checks it.
  requireActiveCurrency(request, 0);
  requireValidIdentifier(clientTransactionId, '/clientTransactionId');
  if (order === undefined || !holdsCardNumber(JSON.stringify(order))) return;
  throwProblem('field_invalid', 'A field contains text that looks like a card number.', {
    ...fieldError('/order', 'field_invalid', 'Looks like a card number.'),
  });
}

/** The server stores and shows the identifier unchanged. @throws ProblemError client_id_invalid */
export function requireValidIdentifier(id: string | undefined, pointer: string): void {
  if (id === undefined || !holdsCardNumber(id)) return;
  throwProblem('client_id_invalid', 'The identifier contains text that looks like a card number.', {
    ...fieldError(pointer, 'client_id_invalid', 'Looks like a card number.'),
  });
}

/** The fingerprint of a request. It contains the scanned code only as a keyed digest. */
export function requestFingerprint(
  request: QrRequest,
  deviceId: string,
  digestOf: (text: string) => string,
): Record<string, unknown> {
  const { paymentType, paymentAmount, order, scannedPaymentId } = request;
  return {
    paymentType,
    paymentScenario: request.paymentScenario.toLowerCase(),
    paymentAmount: `${paymentAmount.amount} ${paymentAmount.currency}`,
    deviceId,
    ...defined({
      orderId: order?.orderId === undefined ? undefined : order.orderId.toLowerCase(),
      orderDescription: order?.orderDescription === undefined ? undefined : order.orderDescription,
      scannedPaymentId: scannedPaymentId === undefined ? undefined : digestOf(scannedPaymentId),
    }),
  };
}

const pointers: Readonly<Record<string, string>> = {
  orderId: '/order/orderId',
  orderDescription: '/order/orderDescription',
};

/** @throws ProblemError client_id_reused, which names members and never values */
export function requireSameRequest(
  first: Record<string, unknown>,
  second: Record<string, unknown>,
  identifierName: 'clientTransactionId' | 'clientOperationId',
): void {
  const names = [...new Set([...Object.keys(first), ...Object.keys(second)])].filter(
    (name) => first[name] !== second[name],
  );
  if (names.length === 0) return;
  throwProblem('client_id_reused', `This ${identifierName} was used for a different request.`, {
    errors: names.sort().map((name) => ({
      pointer: pointers[name] ?? `/${name}`,
      code: 'client_id_reused',
      detail: 'Differs from the first request.',
    })),
  });
}
