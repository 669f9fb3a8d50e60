/** An input for an amount, with the decimals of the currency and the number format of the user. */
import { TextInput } from '@mantine/core';
import { useFormats } from '../../session/use-session.ts';
import { parseAmount } from './amount-text.ts';

export function AmountField({
  label,
  description,
  text,
  currency,
  error,
  isFirst = false,
  onChange,
}: {
  readonly label: string;
  readonly description?: string;
  readonly text: string;
  readonly currency: string;
  /** The error text; false if the value is valid. */
  readonly error?: string | false | undefined;
  readonly isFirst?: boolean;
  /** Called with the typed text, and with the amount if the text is valid. */
  readonly onChange: (text: string, amount: number | undefined) => void;
}) {
  const { locale } = useFormats();
  return (
    <TextInput
      label={label}
      description={description}
      inputMode="decimal"
      autoComplete="off"
      maxLength={20}
      value={text}
      error={error}
      rightSection={<span className="sy-currency">{currency}</span>}
      rightSectionWidth={52}
      data-autofocus={isFirst}
      onChange={({ currentTarget: { value } }) =>
        onChange(value, parseAmount(value, currency, locale))
      }
    />
  );
}
