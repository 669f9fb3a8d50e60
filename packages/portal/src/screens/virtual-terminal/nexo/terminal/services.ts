/** The terminal services by category: payment, reversal, diagnosis, login and logout. */
import type { OperationAnswer, Transaction } from '@switchyard/contract';
import {
  amountReason,
  type Category,
  NexoError,
  type OpenValue,
  passOnReason,
  type Structure,
  type StructureName,
  toMinorUnits,
} from '@switchyard/nexo';
import { type Approval, authorizeSale, requiresSignature, type Sale } from './authorize-sale.ts';
import { approvedPaymentResponse, reversalResponse } from './payment-responses.ts';
import { confirmSale, reverseSale } from './sale-outcome.ts';
import {
  type ServiceContext,
  type ServiceRequest,
  type ServiceResponse,
  successResponse,
} from './service-context.ts';
import { ServiceError } from './service-error.ts';
import type { PendingReversal } from './terminal-storage.ts';

function minor(amount: number, currency: string): number {
  try {
    return toMinorUnits(amount, currency);
  } catch (error) {
    if (!(error instanceof NexoError)) throw error;
    throw new ServiceError('NotAllowed', amountReason(error));
  }
}

function saleOf({ body }: ServiceRequest<'PaymentRequest'>): Sale {
  const { Currency: currency, RequestedAmount } = body.PaymentTransaction.AmountsReq;
  const type = body.PaymentData?.PaymentType ?? 'Normal';
  const { OriginalPOITransaction: original } = body.PaymentTransaction;
  if (type === 'Refund' && original?.POITransactionID === undefined) {
    throw new ServiceError('NotAllowed', 'unreferenced_refund_not_supported');
  }
  if (type !== 'Normal') throw new ServiceError('UnavailableService', 'payment_type_not_supported');
  const amount = minor(RequestedAmount ?? 0, currency);
  if (amount <= 0) throw new ServiceError('NotAllowed', 'amount_missing');
  return { amount, currency, saleData: body.SaleData };
}

/**
 * Reverses the sale if the cardholder does not sign, or if another terminal has replaced this one.
 */
async function collectSignature(
  { signal }: Pick<ServiceRequest, 'signal'>,
  inside: ServiceContext,
  sale: Sale,
  { card, way, transaction }: Approval,
): Promise<void> {
  const { panel, storage, now } = inside;
  const { clientTransactionId, transactionId } = transaction;
  const undo = () =>
    reverseSale(inside, { clientTransactionId, reason: 'CustomerCancel', until: now() });
  if (requiresSignature(card.verification, way)) {
    try {
      await panel.waitForSignature(sale, signal);
    } catch (error) {
      panel.show({ state: 'Busy', sum: sale });
      await undo();
      if (!(error instanceof ServiceError)) throw error;
      throw new ServiceError(error.condition, 'signature_missing_reversed', transactionId);
    }
    panel.show({ state: 'Busy', sum: sale });
    const { pending } = storage.read();
    if (pending?.kind === 'Sale') storage.save({ pending: { ...pending, isSignatureDue: false } });
  }
  if (!inside.isReplaced()) return;
  await undo();
  throw new ServiceError('Aborted', 'terminal_replaced_reversed', transactionId);
}

async function payment(
  work: ServiceRequest<'PaymentRequest'>,
  inside: ServiceContext,
): Promise<ServiceResponse> {
  const sale = saleOf(work);
  const approval = await authorizeSale(work, inside, sale);
  await collectSignature(work, inside, sale, approval);
  const transaction = await confirmSale(inside, approval.transaction);
  const { amount, currency } = sale;
  inside.panel.show({ state: 'Approved', sum: { amount, currency } });
  return approvedPaymentResponse(sale.saleData, transaction, { ...approval, transaction });
}

const refusals: Readonly<Record<string, OpenValue<'ErrorCondition'>>> = {
  transaction_not_found: 'NotFound',
  permission_denied: 'UnavailableService',
};
const enquiriesMost = 60;

/** Repeats the request after a lost response; the same identifier makes it the same operation. */
export async function performReversal(
  { platform, pause, times }: ServiceContext,
  { transactionId, verb, body }: PendingReversal,
): Promise<Transaction & OperationAnswer> {
  for (let tries = 1; ; tries += 1) {
    const response = await platform.operate(transactionId, verb, body);
    if (response.outcome === 'Answered') return requireSuccess(response.transaction);
    if (response.outcome === 'Refused') {
      throw new ServiceError(
        refusals[response.code] ?? 'NotAllowed',
        passOnReason(response.code),
        transactionId,
      );
    }
    if (tries === enquiriesMost) {
      throw new ServiceError('UnreachableHost', 'outcome_unknown', transactionId);
    }
    await pause(times.enquiryMs);
  }
}

/** A pending operation counts as success, because the platform completes it. */
function requireSuccess(answer: Transaction & OperationAnswer): Transaction & OperationAnswer {
  const { operation, transactionId } = answer;
  const status = operation?.status ?? 'Succeeded';
  if (status !== 'Declined' && status !== 'Failed') return answer;
  throw new ServiceError(
    'Refusal',
    passOnReason(operation?.response?.reason ?? status),
    transactionId,
  );
}

/** The states of a completely reversed sale. */
const takenBack: readonly string[] = ['Refunded', 'Cancelled', 'Reversed'];

async function currencyOf({ platform }: ServiceContext, id: string): Promise<string> {
  const response = await platform.find(id);
  if (response.outcome === 'Answered') {
    const { state, currency } = response.transaction;
    if (takenBack.includes(state)) throw new ServiceError('NotAllowed', 'already_refunded', id);
    return currency;
  }
  if (response.outcome === 'Refused')
    throw new ServiceError('NotFound', passOnReason(response.code));
  throw new ServiceError('UnreachableHost', 'original_lookup_failed');
}

async function reversal(
  work: ServiceRequest<'ReversalRequest'>,
  inside: ServiceContext,
): Promise<ServiceResponse> {
  const { storage, platform, panel, now } = inside;
  const { OriginalPOITransaction: original, ReversedAmount: requestedAmount } = work.body;
  const transactionId = original.POITransactionID?.TransactionID;
  if (transactionId === undefined) throw new ServiceError('NotAllowed', 'original_missing');
  work.commit();
  panel.show({ state: 'Busy' });
  const currency = await currencyOf(inside, transactionId);
  const amount =
    requestedAmount === undefined ? {} : { amount: minor(requestedAmount, currency), currency };
  const verb = (await platform.reversalOperation(transactionId)) ?? 'cancel';
  const number = storage.read().transactions + 1;
  const clientOperationId = `${work.header.ServiceID}-${now().toString(36)}-${number}`;
  const reason = verb === 'cancel' ? { cancelReason: 'Functional' } : {};
  const pending: PendingReversal = {
    kind: 'Reversal',
    header: work.header,
    original,
    transactionId,
    verb,
    body: { ...amount, ...reason, clientOperationId },
  };
  storage.save({ transactions: number, pending });
  const done = await performReversal(inside, pending);
  const reversedAmount = done.operation?.amount ?? done.amount;
  panel.show({ state: 'Reversed', sum: { amount: reversedAmount, currency } });
  return reversalResponse(original, done);
}

function statusOf(isReachable: boolean): Structure<'POIStatus'> {
  return {
    GlobalStatus: 'OK',
    SecurityOKFlag: true,
    PEDOKFlag: true,
    CardReaderOKFlag: true,
    PrinterStatus: 'OK',
    CommunicationOKFlag: isReachable,
  };
}

async function diagnosis(
  { header, body }: ServiceRequest<'DiagnosisRequest'>,
  inside: ServiceContext,
) {
  const isRequested = body.HostDiagnosisFlag === true;
  const isReachable = !isRequested || (await inside.platform.isAvailable());
  const { loggedIn } = inside.storage.read().dialogue;
  const answer: Structure<'DiagnosisResponse'> = {
    Response: successResponse,
    LoggedSaleID: loggedIn.includes(header.SaleID) ? [header.SaleID] : [],
    POIStatus: statusOf(isReachable),
    ...(isRequested
      ? { HostStatus: [{ AcquirerID: 'Switchyard', IsReachableFlag: isReachable }] }
      : {}),
  };
  return answer;
}

function login(
  _work: ServiceRequest<'LoginRequest'>,
  { tsn, now }: ServiceContext,
): Structure<'LoginResponse'> {
  return {
    Response: successResponse,
    POISystemData: {
      DateTime: new Date(now()).toISOString(),
      POISoftware: {
        ManufacturerID: 'Switchyard',
        ApplicationName: 'Terminal in a page',
        SoftwareVersion: '0.1.0',
      },
      POITerminalData: {
        TerminalEnvironment: 'Attended',
        POICapabilities: ['CustomerDisplay', 'CustomerInput', 'MagStripe', 'ICC', 'EMVContactless'],
        POISerialNumber: tsn.slice(tsn.lastIndexOf('-') + 1),
      },
      POIStatus: statusOf(true),
    },
  };
}

type Service<Name extends StructureName> = (
  work: ServiceRequest<Name>,
  inside: ServiceContext,
) => Promise<ServiceResponse> | ServiceResponse;

type Services = {
  readonly Payment: Service<'PaymentRequest'>;
  readonly Reversal: Service<'ReversalRequest'>;
  readonly Diagnosis: Service<'DiagnosisRequest'>;
  readonly Login: Service<'LoginRequest'>;
  readonly Logout: Service<'LogoutRequest'>;
};

const services: Services = {
  Payment: payment,
  Reversal: reversal,
  Diagnosis: diagnosis,
  Login: login,
  Logout: () => ({ Response: successResponse }),
};

/** @throws ServiceError if this terminal does not support the category */
export function serviceForCategory(category: Category): Service<never> {
  if (!Object.hasOwn(services, category)) throw new ServiceError('UnavailableService');
  return services[category as keyof Services] as Service<never>;
}
