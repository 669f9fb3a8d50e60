/** The fields of a sale: amount, currency, device and result. */
import { Select } from '@mantine/core';
import { errorsByField } from '../../api/api-errors.ts';
import { AmountField } from '../../components/forms/amount-field.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useFormats } from '../../session/use-session.ts';
import { type SimulatedOutcome, simulatedOutcomes } from './simulated-outcomes.ts';
import type { DeviceOption } from './use-devices.ts';
import type { SaleInput } from './use-sale-input.ts';

const currencies = ['EUR', 'USD', 'JPY'];

export function SaleFields({
  order,
  fault,
}: {
  readonly order: SaleInput;
  readonly fault?: unknown;
}) {
  const t = useTranslate('virtual-terminal');
  const formats = useFormats();
  const { currency, text, asked, outcome } = order;
  return (
    <>
      <div className="sy-vt-pair">
        <AmountField
          label={t('amount')}
          text={text}
          currency={currency}
          error={errorsByField(fault)['amount']}
          onChange={(next, amount) => {
            order.setText(next);
            order.setAmount(amount);
          }}
        />
        <Select
          label={t('currency')}
          data={currencies}
          value={currency}
          allowDeselect={false}
          onChange={(value) => order.setCurrency(value ?? 'EUR')}
        />
      </div>
      {order.method !== 'Qr' && (
        <Select
          label={t('outcome')}
          description={
            outcome !== '' && asked !== undefined
              ? t('becomes', { amount: formats.money(asked, currency) })
              : t('outcomeHint')
          }
          data={[
            { value: '', label: t('outcomes.ok') },
            ...simulatedOutcomes.map((value) => ({ value, label: t(`outcomes.${value}`) })),
          ]}
          value={outcome}
          allowDeselect={false}
          onChange={(value) => order.setOutcome((value ?? '') as SimulatedOutcome)}
        />
      )}
    </>
  );
}

export function DeviceField({
  choices,
  value,
  onChange,
}: {
  readonly choices: readonly DeviceOption[];
  readonly value: string | undefined;
  readonly onChange: (deviceId: string) => void;
}) {
  const t = useTranslate('virtual-terminal');
  if (choices.length === 0) return null;
  return (
    <Select
      label={t('device')}
      data={[...choices]}
      value={value ?? null}
      allowDeselect={false}
      onChange={(next) => next !== null && onChange(next)}
    />
  );
}
