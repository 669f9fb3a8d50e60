// The service of each message category. The dialogue handles Abort, TransactionStatus and Event itself.
import type { Category, StructureName } from '@switchyard/nexo';
import { ServiceError, type ServiceHandler } from '../context/service-context.ts';
import { batch } from './batch-service.ts';
import {
  balanceInquiry,
  cardAcquisition,
  loyalty,
  storedValue,
} from './card-and-account-services.ts';
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
} from './device-services.ts';
import { admin, diagnosis, enableService, login, logout } from './login-and-admin-services.ts';
import { payment } from './payment-service.ts';
import { getTotals, reconciliation } from './reconciliation-services.ts';
import { reversal } from './reversal-service.ts';

type ServiceCategory = Exclude<Category, 'Abort' | 'TransactionStatus' | 'Event'>;
type BodyOf<Of extends ServiceCategory> = Of extends 'InputUpdate' ? 'InputUpdate' : `${Of}Request`;
type Services = { readonly [Of in ServiceCategory]: ServiceHandler<BodyOf<Of> & StructureName> };

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

/** The service of a category; the message reader has already checked the body. */
export function findService(category: Category): ServiceHandler<never> {
  if (!Object.hasOwn(services, category)) throw new ServiceError('UnavailableService');
  return services[category as ServiceCategory] as ServiceHandler<never>;
}
