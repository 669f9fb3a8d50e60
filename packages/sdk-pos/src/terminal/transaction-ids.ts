import { defined } from '@switchyard/contract';
import type { StoredService } from './service-store.ts';

type TransactionReference = { TransactionID: string };
type OriginalReference = { POITransactionID?: TransactionReference | undefined };

/** The identifiers with which a person finds the payment of a request. */
export function transactionIdsOf(
  body: object,
): Pick<StoredService, 'transactionId' | 'originalTransactionId'> {
  const { SaleData, PaymentTransaction, OriginalPOITransaction } = body as {
    SaleData?: { SaleTransactionID?: TransactionReference };
    PaymentTransaction?: { OriginalPOITransaction?: OriginalReference };
    OriginalPOITransaction?: OriginalReference;
  };
  const original = PaymentTransaction?.OriginalPOITransaction ?? OriginalPOITransaction;
  return defined({
    transactionId: SaleData?.SaleTransactionID?.TransactionID,
    originalTransactionId: original?.POITransactionID?.TransactionID,
  });
}
