// Which service answers which category. Abort, TransactionStatus and Event are the dialogue's own.
import type { Category, Structure, StructureName } from '@switchyard/nexo';
import {
  type Inside,
  type Reply,
  type Service,
  ServiceFault,
  succeeded,
  type Work,
} from '../work.ts';
import { balanceInquiry, cardAcquisition, loyalty, storedValue } from './acquisition.ts';
import {
  cardReaderApdu,
  cardReaderInit,
  cardReaderPowerOff,
  display,
  input,
  inputUpdate,
  pin,
  print,
  sound,
  transmit,
} from './devices.ts';
import { payment } from './payment.ts';
import { reversal } from './reversal.ts';
import { admin, diagnosis, enableService, login, logout } from './session.ts';
import { getTotals, reconciliation } from './totals.ts';

type Served = Exclude<Category, 'Abort' | 'TransactionStatus' | 'Event'>;
type BodyOf<Of extends Served> = Of extends 'InputUpdate' ? 'InputUpdate' : `${Of}Request`;
type Services = { readonly [Of in Served]: Service<BodyOf<Of> & StructureName> };

const batchMax = 20;

function performedOf(reply: Reply): Structure<'PerformedTransaction'> {
  const { Response, SaleData, POIData, PaymentResult, LoyaltyResult, ReversedAmount } = reply;
  const members = { SaleData, POIData, PaymentResult, LoyaltyResult, ReversedAmount };
  const held = Object.entries(members).filter(([, value]) => value !== undefined);
  return { Response, ...Object.fromEntries(held) } as Structure<'PerformedTransaction'>;
}

/** One after the other; what fails is told in its place, and the rest goes on. */
async function batch(work: Work<'BatchRequest'>, inside: Inside): Promise<Reply> {
  const wanted = work.body.TransactionToPerform ?? [];
  if (wanted.length > batchMax) throw new ServiceFault('NotAllowed', `${batchMax} at most`);
  const performed: Structure<'PerformedTransaction'>[] = [];
  for (const { PaymentRequest, LoyaltyRequest, ReversalRequest } of wanted) {
    try {
      const reply =
        PaymentRequest !== undefined
          ? await payment({ ...work, body: PaymentRequest }, inside)
          : LoyaltyRequest !== undefined
            ? loyalty({ ...work, body: LoyaltyRequest }, inside)
            : ReversalRequest !== undefined
              ? await reversal({ ...work, body: ReversalRequest }, inside)
              : {};
      performed.push(performedOf(reply));
    } catch (error) {
      if (!(error instanceof ServiceFault)) throw error;
      const { condition, additional } = error;
      performed.push({
        Response: {
          Result: 'Failure',
          ErrorCondition: condition,
          ...(additional === undefined ? {} : { AdditionalResponse: additional }),
        },
      });
    }
  }
  const answer: Structure<'BatchResponse'> = {
    Response: succeeded,
    PerformedTransaction: performed,
  };
  return answer;
}

const services: Services = {
  Login: login,
  Logout: logout,
  Payment: payment,
  CardAcquisition: cardAcquisition,
  Reversal: reversal,
  Loyalty: loyalty,
  StoredValue: storedValue,
  BalanceInquiry: balanceInquiry,
  Batch: batch,
  Reconciliation: reconciliation,
  GetTotals: getTotals,
  Diagnosis: diagnosis,
  EnableService: enableService,
  Admin: admin,
  Display: display,
  Input: input,
  InputUpdate: inputUpdate,
  Print: print,
  Sound: sound,
  Transmit: transmit,
  PIN: pin,
  CardReaderInit: cardReaderInit,
  CardReaderAPDU: cardReaderApdu,
  CardReaderPowerOff: cardReaderPowerOff,
};

/** The service of a category; a reading has found its body to be one of that category. */
export function serviceOf(category: Category): Service<never> {
  if (!Object.hasOwn(services, category)) throw new ServiceFault('UnavailableService');
  return services[category as Served] as Service<never>;
}
