// Cards that are read before anything is paid, and the accounts that the simulator keeps itself.
import { defined } from '@switchyard/contract';
import { amountReason, NexoError, type Structure, toAmount, toMinorUnits } from '@switchyard/nexo';
import { echoed, masked } from '../cards/mask-account-ids.ts';
import {
  type Inside,
  type Reply,
  ServiceFault,
  succeeded,
  type Work,
} from '../context/service-context.ts';
import { readCard } from '../payments/read-card.ts';
import { type Accounts, balanceOf, changed } from '../storage/gift-card-and-point-balances.ts';

const entryModes = { Chip: ['ICC'], Tap: ['Contactless'], Stripe: ['MagStripe'] } as const;

function poiDataOf({ serialNumber, now, keeper }: Inside): Structure<'POIData'> {
  const number = keeper.read().transactions + 1;
  keeper.keep({ transactions: number });
  const TransactionID = `${serialNumber}-${now().toString(36)}-${number}`;
  return {
    POITransactionID: { TransactionID, TimeStamp: new Date(now()).toISOString() },
  };
}

export async function cardAcquisition(
  work: Work<'CardAcquisitionRequest'>,
  inside: Inside,
): Promise<Reply> {
  const { moment, show, now, times } = inside;
  moment.held = undefined;
  const card = await readCard(work, inside, { amount: 0, text: 'Welcome' });
  const POIData = poiDataOf(inside);
  const reference = POIData.POITransactionID.TransactionID;
  moment.held = { card, reference, saleId: work.header.SaleID, until: now() + times.card };
  show('Message', 'Please wait', 'for the cashier');
  const answer: Structure<'CardAcquisitionResponse'> = {
    Response: succeeded,
    SaleData: work.body.SaleData,
    POIData,
    PaymentBrand: [card.brand],
    PaymentInstrumentData: {
      PaymentInstrumentType: 'Card',
      CardData: {
        PaymentBrand: card.brand,
        MaskedPan: masked(card.number),
        EntryMode: entryModes[card.entry],
      },
    },
  };
  return answer;
}

/** Accounts are kept under a name of the pad: a till may name a card number. */
function accountOf({ pad }: Inside, id: string | undefined): string {
  if (id === undefined || id === '') throw new ServiceFault('InvalidCard', 'account_missing');
  return pad.nameOf(id);
}

function change(accounts: Accounts, kind: keyof Accounts, number: string, by: number): Accounts {
  const after = changed(accounts, kind, number, by);
  if (after === undefined) throw new ServiceFault('Refusal', 'balance_insufficient');
  return after;
}

export function balanceInquiry({ body }: Work<'BalanceInquiryRequest'>, inside: Inside): Reply {
  const { accounts } = inside.keeper.read();
  const card = body.PaymentAccountReq?.PaymentInstrumentData?.StoredValueAccountID;
  const member = body.LoyaltyAccountReq?.LoyaltyAccountID;
  if (member !== undefined) {
    const points = balanceOf(accounts, 'points', accountOf(inside, member.LoyaltyID));
    if (points === undefined) throw new ServiceFault('NotFound', 'account_not_found');
    const answer: Structure<'BalanceInquiryResponse'> = {
      Response: succeeded,
      LoyaltyAccountStatus: {
        LoyaltyAccount: { LoyaltyAccountID: echoed(member) },
        CurrentBalance: points,
        LoyaltyUnit: 'Point',
      },
    };
    return answer;
  }
  if (card === undefined)
    throw new ServiceFault('UnavailableService', 'account_type_not_supported');
  const left = balanceOf(
    accounts,
    'giftCards',
    accountOf(inside, card.StoredValueID ?? card.Value),
  );
  if (left === undefined) throw new ServiceFault('NotFound', 'gift_card_not_found');
  const answer: Structure<'BalanceInquiryResponse'> = {
    Response: succeeded,
    PaymentAccountStatus: { CurrentBalance: toAmount(left, 'EUR'), Currency: 'EUR' },
  };
  return answer;
}

const signs = { Activate: 1, Load: 1, Reserve: 0, Unload: -1, Reverse: -1, Duplicate: 0 } as const;

function loaded(
  inside: Inside,
  before: Accounts,
  data: Structure<'StoredValueData'>,
): { readonly accounts: Accounts; readonly result: Structure<'StoredValueResult'> } {
  const { StoredValueTransactionType: type, Currency = 'EUR', ItemAmount = 0 } = data;
  const id = data.StoredValueAccountID;
  if (Currency !== 'EUR') throw new ServiceFault('NotAllowed', 'currency_not_supported');
  let amount: number;
  try {
    amount = toMinorUnits(ItemAmount, Currency);
  } catch (error) {
    if (!(error instanceof NexoError)) throw error;
    throw new ServiceFault('NotAllowed', amountReason(error));
  }
  const number = accountOf(inside, id?.StoredValueID ?? id?.Value);
  const isKnown = balanceOf(before, 'giftCards', number) !== undefined;
  if (isKnown === (type === 'Activate')) {
    throw new ServiceFault(isKnown ? 'NotAllowed' : 'NotFound', 'gift_card_state');
  }
  const accounts = change(before, 'giftCards', number, signs[type] * amount);
  const left = balanceOf(accounts, 'giftCards', number) ?? 0;
  const result: Structure<'StoredValueResult'> = {
    StoredValueTransactionType: type,
    Currency,
    ItemAmount,
    ...defined({
      StoredValueAccountStatus:
        id === undefined
          ? undefined
          : {
              StoredValueAccountID: echoed(id),
              CurrentBalance: toAmount(left, Currency),
            },
    }),
  };
  return { accounts, result };
}

export function storedValue(work: Work<'StoredValueRequest'>, inside: Inside): Reply {
  const { header, body, commit } = work;
  commit();
  let { accounts } = inside.keeper.read();
  // Where one is refused, none is done.
  const StoredValueResult = body.StoredValueData.map((data) => {
    const done = loaded(inside, accounts, data);
    ({ accounts } = done);
    return done.result;
  });
  const answer: Structure<'StoredValueResponse'> = {
    Response: succeeded,
    SaleData: body.SaleData,
    POIData: poiDataOf(inside),
    StoredValueResult,
  };
  inside.keeper.keep({ accounts, answerDue: { header, body: answer } });
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

export function loyalty(work: Work<'LoyaltyRequest'>, inside: Inside): Reply {
  const { LoyaltyTransaction: transaction, LoyaltyData = [], SaleData } = work.body;
  work.commit();
  const [data] = LoyaltyData;
  const id = data?.LoyaltyAccountID;
  if (id === undefined) throw new ServiceFault('InvalidCard', 'account_missing');
  const { AmountValue, Value } = data?.LoyaltyAmount ?? {};
  const wanted = Math.trunc(AmountValue ?? Value ?? transaction.TotalAmount ?? 0);
  const by = pointsOf[transaction.LoyaltyTransactionType] * wanted;
  const number = accountOf(inside, id.LoyaltyID);
  const accounts = change(inside.keeper.read().accounts, 'points', number, by);
  const answer: Structure<'LoyaltyResponse'> = {
    Response: succeeded,
    SaleData,
    POIData: poiDataOf(inside),
    LoyaltyResult: [
      {
        LoyaltyAccount: { LoyaltyAccountID: echoed(id) },
        CurrentBalance: balanceOf(accounts, 'points', number) ?? 0,
        LoyaltyAmount: { LoyaltyUnit: 'Point', AmountValue: wanted },
      },
    ],
  };
  inside.keeper.keep({ accounts, answerDue: { header: work.header, body: answer } });
  return answer;
}
