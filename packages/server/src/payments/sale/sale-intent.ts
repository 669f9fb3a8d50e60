// The types of a sale on its way to the acquirer.
import type { ProcessRequest } from '@switchyard/contract';
import type { Caller } from '../../http/index.ts';
import type { AcquirerContract, Names } from '../../provisioning/index.ts';
import type { PresentedCard } from '../card-input/read-card.ts';
import type {
  AuthorizationContext,
  StoredEvent,
  TransactionRecord,
} from '../transaction/transaction.ts';

export type IdentifiedSale = {
  caller: Caller;
  request: ProcessRequest;
  location: Names;
  card: PresentedCard;
  /** Keyed hash of the card. */
  cardFingerprint: string;
  requestFingerprint: Record<string, unknown>;
};

/** A sale that is stored and not sent yet, with its card data in memory only. */
export type SaleIntent = {
  request: ProcessRequest;
  card: PresentedCard;
  transaction: Omit<TransactionRecord, 'events'> & { events: [StoredEvent, ...StoredEvent[]] };
  context: AuthorizationContext;
  failoverContracts: readonly AcquirerContract[];
};

export type SaleResult = { transaction: TransactionRecord; replayed: boolean };
