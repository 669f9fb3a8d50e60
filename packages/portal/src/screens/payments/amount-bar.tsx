/** A bar of the captured, refunded and released amounts. */
import { Money } from '../../components/values/values.tsx';
import { useTranslate } from '../../locales/index.ts';

export type Amounts = {
  readonly amount: number;
  readonly authorizedAmount: number;
  readonly capturedAmount: number;
  readonly cancelledAmount: number;
  readonly refundedAmount: number;
};

export function AmountBar({
  amounts,
  currency,
}: {
  readonly amounts: Amounts;
  readonly currency: string;
}) {
  const t = useTranslate('payments');
  const { amount, authorizedAmount, capturedAmount, cancelledAmount, refundedAmount } = amounts;
  const netAmount = capturedAmount - refundedAmount;
  const open = Math.max(0, authorizedAmount - capturedAmount - cancelledAmount);
  const whole = Math.max(amount, netAmount + refundedAmount + open + cancelledAmount, 1);
  const parts = [
    ['kept', netAmount],
    ['refunded', refundedAmount],
    ['open', open],
    ['cancelled', cancelledAmount],
  ] as const;
  const figures = [
    ['authorized', authorizedAmount],
    ['captured', capturedAmount],
    ['refunded', refundedAmount],
    ['cancelled', cancelledAmount],
  ] as const;
  return (
    <>
      <div className="sy-amount-bar" aria-hidden="true">
        {parts
          .filter(([, part]) => part > 0)
          .map(([name, part]) => (
            <span key={name} data-part={name} style={{ flexGrow: part / whole }} />
          ))}
      </div>
      <dl className="sy-amounts">
        {figures.map(([name, figure]) => (
          <div key={name} data-part={name}>
            <dt>{t(`amounts.${name}`)}</dt>
            <dd>
              <Money amount={figure} currency={currency} />
            </dd>
          </div>
        ))}
      </dl>
    </>
  );
}
