/** The services of the terminal, by category: payments, reversals, and what it tells of itself. */
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
import { type Approval, authorise, isSigned, type Sale } from './authorize-sale.ts';
import { approvedAnswer, reversedAnswer } from './payment-responses.ts';
import { confirmed, takeBack } from './sale-outcome.ts';
import { type Inside, type Reply, succeeded, type Work } from './service-context.ts';
import { ServiceFault } from './service-error.ts';
import type { PendingReversal } from './terminal-storage.ts';

function minor(amount: number, currency: string): number {
  try {
    return toMinorUnits(amount, currency);
  } catch (error) {
    if (!(error instanceof NexoError)) throw error;
    throw new ServiceFault('NotAllowed', amountReason(error));
  }
}

function saleOf({ body }: Work<'PaymentRequest'>): Sale {
  const { Currency: currency, RequestedAmount } = body.PaymentTransaction.AmountsReq;
  const type = body.PaymentData?.PaymentType ?? 'Normal';
  const { OriginalPOITransaction: original } = body.PaymentTransaction;
  if (type === 'Refund' && original?.POITransactionID === undefined) {
    throw new ServiceFault('NotAllowed', 'unreferenced_refund_not_supported');
  }
  if (type !== 'Normal') throw new ServiceFault('UnavailableService', 'payment_type_not_supported');
  const amount = minor(RequestedAmount ?? 0, currency);
  if (amount <= 0) throw new ServiceFault('NotAllowed', 'amount_missing');
  return { amount, currency, saleData: body.SaleData };
}

/** Who does not sign has not paid; and a terminal that was replaced cannot tell the till that somebody has. */
async function endWith(
  { signal }: Pick<Work, 'signal'>,
  inside: Inside,
  sale: Sale,
  { card, way, transaction }: Approval,
): Promise<void> {
  const { panel, keeper, now } = inside;
  const { clientTransactionId, transactionId } = transaction;
  const undo = () =>
    takeBack(inside, { clientTransactionId, reason: 'CustomerCancel', until: now() });
  if (isSigned(card.verification, way)) {
    try {
      await panel.waitForSignature(sale, signal);
    } catch (error) {
      panel.show({ state: 'Busy', sum: sale });
      await undo();
      if (!(error instanceof ServiceFault)) throw error;
      throw new ServiceFault(error.condition, 'signature_missing_reversed', transactionId);
    }
    panel.show({ state: 'Busy', sum: sale });
    const { pending } = keeper.read();
    if (pending?.kind === 'Sale') keeper.save({ pending: { ...pending, isSignatureDue: false } });
  }
  if (!inside.isReplaced()) return;
  await undo();
  throw new ServiceFault('Aborted', 'terminal_replaced_reversed', transactionId);
}

async function payment(work: Work<'PaymentRequest'>, inside: Inside): Promise<Reply> {
  const sale = saleOf(work);
  const approval = await authorise(work, inside, sale);
  await endWith(work, inside, sale, approval);
  const transaction = await confirmed(inside, approval.transaction);
  const { amount, currency } = sale;
  inside.panel.show({ state: 'Approved', sum: { amount, currency } });
  return approvedAnswer(sale.saleData, transaction, { ...approval, transaction });
}

const refusals: Readonly<Record<string, OpenValue<'ErrorCondition'>>> = {
  transaction_not_found: 'NotFound',
  permission_denied: 'UnavailableService',
};
const enquiriesMost = 60;

/** A try whose answer was lost is made again: under the same identifier it is the same operation. */
export async function operated(
  { platform, pause, times }: Inside,
  { transactionId, verb, body }: PendingReversal,
): Promise<Transaction & OperationAnswer> {
  for (let tries = 1; ; tries += 1) {
    const response = await platform.operate(transactionId, verb, body);
    if (response.outcome === 'Answered') return doneOf(response.transaction);
    if (response.outcome === 'Refused') {
      throw new ServiceFault(
        refusals[response.code] ?? 'NotAllowed',
        passOnReason(response.code),
        transactionId,
      );
    }
    if (tries === enquiriesMost) {
      throw new ServiceFault('UnreachableHost', 'outcome_unknown', transactionId);
    }
    await pause(times.enquiryMs);
  }
}

/** What is pending is the platform's to bring to its end: it was taken on for good. */
function doneOf(answer: Transaction & OperationAnswer): Transaction & OperationAnswer {
  const { operation, transactionId } = answer;
  const status = operation?.status ?? 'Succeeded';
  if (status !== 'Declined' && status !== 'Failed') return answer;
  throw new ServiceFault(
    'Refusal',
    passOnReason(operation?.response?.reason ?? status),
    transactionId,
  );
}

/** States in which all of a sale went back. */
const takenBack: readonly string[] = ['Refunded', 'Cancelled', 'Reversed'];

async function currencyOf({ platform }: Inside, id: string): Promise<string> {
  const response = await platform.find(id);
  if (response.outcome === 'Answered') {
    const { state, currency } = response.transaction;
    if (takenBack.includes(state)) throw new ServiceFault('NotAllowed', 'already_refunded', id);
    return currency;
  }
  if (response.outcome === 'Refused') throw new ServiceFault('NotFound', passOnReason(response.code));
  throw new ServiceFault('UnreachableHost', 'original_lookup_failed');
}

async function reversal(work: Work<'ReversalRequest'>, inside: Inside): Promise<Reply> {
  const { keeper, platform, panel, now } = inside;
  const { OriginalPOITransaction: original, ReversedAmount: requestedAmount } = work.body;
  const transactionId = original.POITransactionID?.TransactionID;
  if (transactionId === undefined) throw new ServiceFault('NotAllowed', 'original_missing');
  work.commit();
  panel.show({ state: 'Busy' });
  const currency = await currencyOf(inside, transactionId);
  const amount = requestedAmount === undefined ? {} : { amount: minor(requestedAmount, currency), currency };
  const verb = (await platform.takesBack(transactionId)) ?? 'cancel';
  const number = keeper.read().transactions + 1;
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
  keeper.save({ transactions: number, pending });
  const done = await operated(inside, pending);
  const reversedAmount = done.operation?.amount ?? done.amount;
  panel.show({ state: 'Reversed', sum: { amount: reversedAmount, currency } });
  return reversedAnswer(original, done);
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

async function diagnosis({ header, body }: Work<'DiagnosisRequest'>, inside: Inside) {
  const isRequested = body.HostDiagnosisFlag === true;
  const isReachable = !isRequested || (await inside.platform.isAvailable());
  const { loggedIn } = inside.keeper.read().dialogue;
  const answer: Structure<'DiagnosisResponse'> = {
    Response: succeeded,
    LoggedSaleID: loggedIn.includes(header.SaleID) ? [header.SaleID] : [],
    POIStatus: statusOf(isReachable),
    ...(isRequested
      ? { HostStatus: [{ AcquirerID: 'Switchyard', IsReachableFlag: isReachable }] }
      : {}),
  };
  return answer;
}

function login(_work: Work<'LoginRequest'>, { tsn, now }: Inside): Structure<'LoginResponse'> {
  return {
    Response: succeeded,
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
  work: Work<Name>,
  inside: Inside,
) => Promise<Reply> | Reply;

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
  Logout: () => ({ Response: succeeded }),
};

/** A reading has found the body to be one of the category. @throws ServiceFault for what this terminal does not do */
export function serviceOf(category: Category): Service<never> {
  if (!Object.hasOwn(services, category)) throw new ServiceFault('UnavailableService');
  return services[category as keyof Services] as Service<never>;
}
