/** Builds the responses to completed payments and reversals. */

import { defined, type OperationAnswer, type Transaction } from '@switchyard/contract';
import { type Structure, toAmount } from '@switchyard/nexo';
import { type Approval, requiresSignature } from './authorize-sale.ts';
import { receiptsOf } from './receipts.ts';
import { successResponse } from './service-context.ts';

const entryModes = {
  Tap: ['Contactless'],
  Insert: ['ICC'],
  Swipe: ['MagStripe'],
  Key: ['Keyed'],
} as const;

type Verified = NonNullable<Structure<'PaymentResult'>['AuthenticationMethod']>;

function verifiedBy({ card, way, isPinVerified }: Approval): Verified {
  if (isPinVerified) return ['OfflinePIN'];
  if (way === 'Key') return ['Bypass'];
  if (card.verification === 'Device') return ['UnknownMethod'];
  return requiresSignature(card.verification, way) ? ['SignatureCapture'] : ['Bypass'];
}

/** `approval` is omitted after a reload, because the card data is lost. */
export function approvedPaymentResponse(
  saleData: Structure<'SaleData'>,
  transaction: Transaction,
  approval?: Approval,
): Structure<'PaymentResponse'> {
  const { transactionId, createdAt, currency, card, receipt, authorizedAmount } = transaction;
  const { authorizationCode, retrievalReferenceNumber } = transaction;
  const { acquirerMerchantId, terminalId } = receipt?.merchant ?? {};
  const cardData = defined({ PaymentBrand: card?.scheme, MaskedPan: card?.maskedNumber });
  return {
    Response: successResponse,
    SaleData: saleData,
    POIData: { POITransactionID: { TransactionID: transactionId, TimeStamp: createdAt } },
    PaymentResult: {
      PaymentType: 'Normal',
      PaymentInstrumentData: {
        PaymentInstrumentType: 'Card',
        CardData: {
          ...cardData,
          ...defined({ EntryMode: approval === undefined ? undefined : entryModes[approval.way] }),
        },
      },
      AmountsResp: { Currency: currency, AuthorizedAmount: toAmount(authorizedAmount, currency) },
      OnlineFlag: true,
      ...defined({
        AuthenticationMethod: approval === undefined ? undefined : verifiedBy(approval),
      }),
      PaymentAcquirerData: defined({
        MerchantID: acquirerMerchantId,
        AcquirerPOIID: terminalId,
        ApprovalCode: authorizationCode,
        AcquirerTransactionID:
          retrievalReferenceNumber === undefined
            ? undefined
            : {
                TransactionID: retrievalReferenceNumber,
                TimeStamp: createdAt,
              },
      }),
    },
    PaymentReceipt: receiptsOf(transaction),
  };
}

export function reversalResponse(
  original: Structure<'OriginalPOITransaction'>,
  { operation, ...transaction }: Transaction & OperationAnswer,
): Structure<'ReversalResponse'> {
  const { currency, updatedAt } = transaction;
  const TransactionID = operation?.operationId ?? transaction.transactionId;
  const amount = operation?.amount ?? transaction.amount;
  return {
    Response: successResponse,
    POIData: { POITransactionID: { TransactionID, TimeStamp: operation?.createdAt ?? updatedAt } },
    OriginalPOITransaction: original,
    ReversedAmount: toAmount(amount, currency),
    PaymentReceipt: receiptsOf(transaction),
  };
}
