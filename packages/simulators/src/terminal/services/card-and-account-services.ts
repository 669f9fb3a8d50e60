// Card acquisition, and the gift cards and points that the simulator stores itself.
import { defined } from '@switchyard/contract';
import { amountReason, NexoError, type Structure, toAmount, toMinorUnits } from '@switchyard/nexo';
import { maskAccountId, maskNumber } from '../cards/mask-account-ids.ts';
import { nexoEntryModes } from '../cards/test-cards.ts';
import {
  type ReplyBody,
  type ServiceCall,
  type ServiceContext,
  ServiceError,
  successResponse,
} from '../context/service-context.ts';
import { readCard } from '../payments/read-card.ts';
import {
  type AccountBalances,
  balanceOf,
  changeBalance,
} from '../storage/gift-card-and-point-balances.ts';

function poiDataOf({ serialNumber, now, store }: ServiceContext): Structure<'POIData'> {
  const number = store.read().transactions + 1;
  store.update({ transactions: number });
  const TransactionID = `${serialNumber}-${now().toString(36)}-${number}`;
  return {
    POITransactionID: { TransactionID, TimeStamp: new Date(now()).toISOString() },
  };
}

export async function cardAcquisition(
  call: ServiceCall<'CardAcquisitionRequest'>,
  context: ServiceContext,
): Promise<ReplyBody> {
  const { runtime, show, now, times } = context;
  runtime.acquiredCard = undefined;
  const card = await readCard(call, context, { amount: 0, text: 'Welcome' });
  const POIData = poiDataOf(context);
  const reference = POIData.POITransactionID.TransactionID;
  runtime.acquiredCard = {
    card,
    reference,
    saleId: call.header.SaleID,
    until: now() + times.cardWaitMs,
  };
  show('Message', 'Please wait', 'for the cashier');
  const answer: Structure<'CardAcquisitionResponse'> = {
    Response: successResponse,
    SaleData: call.body.SaleData,
    POIData,
    PaymentBrand: [card.brand],
    PaymentInstrumentData: {
      PaymentInstrumentType: 'Card',
      CardData: {
        PaymentBrand: card.brand,
        MaskedPan: maskNumber(card.number),
        EntryMode: [nexoEntryModes[card.entry]],
      },
    },
  };
  return answer;
}

/** Accounts are stored under a keyed hash, because a till may send a card number. */
function accountOf({ pad }: ServiceContext, id: string | undefined): string {
  if (id === undefined || id === '') throw new ServiceError('InvalidCard', 'account_missing');
  return pad.pseudonymOf(id);
}

function requireBalanceChange(
  accounts: AccountBalances,
  kind: keyof AccountBalances,
  number: string,
  difference: number,
): AccountBalances {
  const after = changeBalance(accounts, kind, number, difference);
  if (after === undefined) throw new ServiceError('Refusal', 'balance_insufficient');
  return after;
}

export function balanceInquiry(
  { body }: ServiceCall<'BalanceInquiryRequest'>,
  context: ServiceContext,
): ReplyBody {
  const { accounts } = context.store.read();
  const card = body.PaymentAccountReq?.PaymentInstrumentData?.StoredValueAccountID;
  const member = body.LoyaltyAccountReq?.LoyaltyAccountID;
  if (member !== undefined) {
    const points = balanceOf(accounts, 'points', accountOf(context, member.LoyaltyID));
    if (points === undefined) throw new ServiceError('NotFound', 'account_not_found');
    const answer: Structure<'BalanceInquiryResponse'> = {
      Response: successResponse,
      LoyaltyAccountStatus: {
        LoyaltyAccount: { LoyaltyAccountID: maskAccountId(member) },
        CurrentBalance: points,
        LoyaltyUnit: 'Point',
      },
    };
    return answer;
  }
  if (card === undefined)
    throw new ServiceError('UnavailableService', 'account_type_not_supported');
  const balance = balanceOf(
    accounts,
    'giftCards',
    accountOf(context, card.StoredValueID ?? card.Value),
  );
  if (balance === undefined) throw new ServiceError('NotFound', 'gift_card_not_found');
  const answer: Structure<'BalanceInquiryResponse'> = {
    Response: successResponse,
    PaymentAccountStatus: { CurrentBalance: toAmount(balance, 'EUR'), Currency: 'EUR' },
  };
  return answer;
}

const signs = { Activate: 1, Load: 1, Reserve: 0, Unload: -1, Reverse: -1, Duplicate: 0 } as const;

function changeGiftCard(
  context: ServiceContext,
  before: AccountBalances,
  data: Structure<'StoredValueData'>,
): { readonly accounts: AccountBalances; readonly result: Structure<'StoredValueResult'> } {
  const { StoredValueTransactionType: type, Currency = 'EUR', ItemAmount = 0 } = data;
  const id = data.StoredValueAccountID;
  if (Currency !== 'EUR') throw new ServiceError('NotAllowed', 'currency_not_supported');
  let amount: number;
  try {
    amount = toMinorUnits(ItemAmount, Currency);
  } catch (error) {
    if (!(error instanceof NexoError)) throw error;
    throw new ServiceError('NotAllowed', amountReason(error));
  }
  const number = accountOf(context, id?.StoredValueID ?? id?.Value);
  const isKnown = balanceOf(before, 'giftCards', number) !== undefined;
  if (isKnown === (type === 'Activate')) {
    throw new ServiceError(isKnown ? 'NotAllowed' : 'NotFound', 'gift_card_state');
  }
  const accounts = requireBalanceChange(before, 'giftCards', number, signs[type] * amount);
  const balance = balanceOf(accounts, 'giftCards', number) ?? 0;
  const result: Structure<'StoredValueResult'> = {
    StoredValueTransactionType: type,
    Currency,
    ItemAmount,
    ...defined({
      StoredValueAccountStatus:
        id === undefined
          ? undefined
          : {
              StoredValueAccountID: maskAccountId(id),
              CurrentBalance: toAmount(balance, Currency),
            },
    }),
  };
  return { accounts, result };
}

export function storedValue(
  call: ServiceCall<'StoredValueRequest'>,
  context: ServiceContext,
): ReplyBody {
  const { header, body, preventAbort: commit } = call;
  commit();
  let { accounts } = context.store.read();
  // All items succeed, or none.
  const StoredValueResult = body.StoredValueData.map((data) => {
    const done = changeGiftCard(context, accounts, data);
    ({ accounts } = done);
    return done.result;
  });
  const answer: Structure<'StoredValueResponse'> = {
    Response: successResponse,
    SaleData: body.SaleData,
    POIData: poiDataOf(context),
    StoredValueResult,
  };
  context.store.update({ accounts, answerDue: { header, body: answer } });
  return answer;
}

const pointsOf = {
  Award: 1,
  Redemption: -1,
  Rebate: -1,
  AwardRefund: -1,
  RedemptionRefund: 1,
  RebateRefund: 1,
} as const;

export function loyalty(call: ServiceCall<'LoyaltyRequest'>, context: ServiceContext): ReplyBody {
  const { LoyaltyTransaction: transaction, LoyaltyData = [], SaleData } = call.body;
  call.preventAbort();
  const [data] = LoyaltyData;
  const id = data?.LoyaltyAccountID;
  if (id === undefined) throw new ServiceError('InvalidCard', 'account_missing');
  const { AmountValue, Value } = data?.LoyaltyAmount ?? {};
  const points = Math.trunc(AmountValue ?? Value ?? transaction.TotalAmount ?? 0);
  const difference = pointsOf[transaction.LoyaltyTransactionType] * points;
  const number = accountOf(context, id.LoyaltyID);
  const accounts = requireBalanceChange(
    context.store.read().accounts,
    'points',
    number,
    difference,
  );
  const answer: Structure<'LoyaltyResponse'> = {
    Response: successResponse,
    SaleData,
    POIData: poiDataOf(context),
    LoyaltyResult: [
      {
        LoyaltyAccount: { LoyaltyAccountID: maskAccountId(id) },
        CurrentBalance: balanceOf(accounts, 'points', number) ?? 0,
        LoyaltyAmount: { LoyaltyUnit: 'Point', AmountValue: points },
      },
    ],
  };
  context.store.update({ accounts, answerDue: { header: call.header, body: answer } });
  return answer;
}
